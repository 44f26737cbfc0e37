// Keys that the program on the product names itself, and keys that peers invalidate: of another protection domain, or wrong in a
// bit, they are good for nothing, and what they name stays as it is.
#include "conformance/cases/rdma/asker.h"

namespace fb::conformance {
namespace {

using rdma::CompletionStatus;
using rdma::SendOpcode;
using roce::Opcode;

constexpr std::string_view kOneDomain = "NetworkDirect has no atomics and one protection domain, NDK no atomics";
constexpr std::uint32_t kBytes = 8;

/// A local key that is wrong, and memory that nobody may touch under it.
struct WrongKey {
  std::string what;
  VerbsMemory* memory;
  std::uint32_t key;
  rdma::Sge sge() const { return {memory->address(), kBytes, key}; }
};

std::vector<WrongKey> wrong_keys(RdmaBench& bench) {
  VerbsMemory& foreign = bench.product().foreign_memory(64);
  VerbsMemory& own = bench.product().memory(64);
  std::vector<WrongKey> keys = {{"a key of another protection domain", &foreign, foreign.region->lkey()}};
  for (unsigned bit = 0; bit < 32; ++bit)
    keys.push_back({"a key that differs in bit " + std::to_string(bit), &own, own.region->lkey() ^ 1u << bit});
  return keys;
}

/// Answers a READ or an atomic, if the product has sent it all the same.
void answer_if_asked(RdmaBench& bench, const RcConnection& c, SendOpcode opcode) {
  const auto packet = bench.peer().wait_packet(Duration::ms(100));
  if (!packet) return;
  RocePacket answer = opcode == SendOpcode::rdma_read ? response(c, Opcode::read_response_only, 0, pattern(kBytes))
                                                      : response(c, Opcode::atomic_acknowledge, 0, {});
  if (opcode != SendOpcode::rdma_read) answer.atomic_ack.emplace();
  bench.peer().send(answer);
}

/// A fast region that is valid, and the connection through which its peer reads it.
struct OpenRegion {
  RawRoce& peer;
  RcConnection c;
  Remote at;
  std::uint32_t ordinal = 0;
  bool serves(Check& check, std::string_view after) {
    peer.inbox().clear();
    peer.send(read_request(c, ordinal++, {at.address, at.rkey, kBytes}));
    const auto packet = peer.wait_packet(kAnswerTime);
    return expect(check, packet && packet->opcode == Opcode::read_response_only, "READ of a region after " + std::string(after),
                  "its bytes", packet ? packet->describe() : "silence");
  }
};

}  // namespace

CONFORMANCE_CASE(a_request_needs_keys_of_its_own_domain, "rdma.key.local", roles::requester, beyond_interfaces(kOneDomain)) {
  for (const WrongKey& wrong : wrong_keys(bench)) {
    const Bytes before = wrong.memory->bytes;
    for (const SendOpcode opcode : {SendOpcode::send, SendOpcode::rdma_write, SendOpcode::rdma_read, SendOpcode::fetch_and_add}) {
      const auto c = bench.connect_to_product({.receives = 0}, asker::kPatient);
      bench.peer().inbox().clear();
      const rdma::Sge sge = wrong.sge();
      rdma::SendRequest request = to_there(opcode, 5);
      request.sges = {&sge, 1};
      if (!c.queue->post_send(request)) continue;  // as good, and nothing follows
      const std::string what = "a request under " + wrong.what;
      const bool asks = opcode == SendOpcode::rdma_read || opcode == SendOpcode::fetch_and_add;
      if (asks) answer_if_asked(bench, c, opcode);
      const auto done = c.queue->wait_send(kAnswerTime * 10);
      if (!expect(check, done.has_value(), what, "a completion", "none")) return;
      check.that(done->status != CompletionStatus::success, what + " fails", "it succeeds");
      if (!asks) expect(check, bench.peer().silent_for(Duration::ms(1)), what, "no packet", "a packet");
      check.bytes("the memory after " + what, wrong.memory->bytes, before);
    }
  }
}

CONFORMANCE_CASE(a_receive_needs_keys_of_its_own_domain, "rdma.key.local-receive", roles::responder, beyond_interfaces(kOneDomain)) {
  for (const WrongKey& wrong : wrong_keys(bench)) {
    const Bytes before = wrong.memory->bytes;
    const auto c = bench.connect_to_product({.receives = 0}, kSmallPackets);
    bench.peer().inbox().clear();
    const rdma::Sge sge = wrong.sge();
    if (!c.queue->qp().post_receive({7, {&sge, 1}})) continue;
    const std::string what = "a SEND into a receive under " + wrong.what;
    bench.peer().send(c.request(Opcode::send_only, 0, pattern(kBytes)));
    refused_with(bench, check, {kInvalidRequest, kOperationalError}, what);
    const auto done = c.queue->wait_receive(kAnswerTime);
    if (!expect(check, done.has_value(), what, "a completion", "none")) return;
    check.that(done->status != CompletionStatus::success, what + " fails", "it succeeds");
    check.bytes("the memory after " + what, wrong.memory->bytes, before);
  }
}

CONFORMANCE_CASE(an_invalidation_needs_the_whole_key, "rdma.key.invalidate-near", roles::responder, needs(registers_by_requests),
                 beyond_interfaces("keys of the interface are its own")) {
  const auto own = bench.connect_to_product({.receives = 2}, kSmallPackets);
  OpenRegion region{bench.peer(), own, fast_registered(check, own, bench.product().fast_memory(64))};
  for (unsigned bit = 0; bit < 32; ++bit) {
    const auto c = bench.connect_to_product({}, kSmallPackets);
    bench.peer().inbox().clear();
    const std::string what = "an invalidation of a key that differs in bit " + std::to_string(bit);
    bench.peer().send(invalidating_send(c, 0, region.at.rkey ^ 1u << bit));
    const auto done = c.queue->wait_receive(kAnswerTime);
    check.that(!done || done->status != CompletionStatus::success, "the SEND with " + what + " does not succeed", "it does");
    rdma::SendRequest local;
    local.opcode = SendOpcode::local_invalidate;
    local.invalidate_rkey = region.at.rkey ^ 1u << bit;
    const auto d = bench.connect_to_product({}, kSmallPackets);
    if (d.queue->post_send(local)) {
      const auto end = d.queue->wait_send(kAnswerTime);
      check.that(end && end->status != CompletionStatus::success, "the product's own request with " + what + " fails", "it does not");
    }
    if (!region.serves(check, what)) return;
  }
}

CONFORMANCE_CASE(an_invalidation_needs_a_key_of_its_own_domain, "rdma.key.invalidate-domain", roles::responder,
                 needs(registers_by_requests), beyond_interfaces("keys of the interface are its own")) {
  constexpr std::uint16_t kOtherPort = 7998;
  VerbsUser other(bench.world(), bench.product().device());
  other.listen(kOtherPort);
  RawRoce& peer = bench.another_peer();
  peer.begin_ids_at(0x6000);
  RawRequest request = kSmallPackets;
  request.port = kOtherPort;
  const auto facts = peer.connect(request);
  check.precondition(facts.has_value() && other.accepted() != nullptr, "the product did not accept another connection");
  RcConnection there;
  there.facts = *facts;
  there.queue = other.accepted();
  check.precondition(there.queue->wait_event(ConnectionEvent::established, kAnswerTime), "there is another connection");
  OpenRegion region{peer, there, fast_registered(check, there, other.fast_memory(64))};
  VerbsMemory& free = other.fast_memory(64);
  if (!region.serves(check, "its registration")) return;

  const auto c = bench.connect_to_product({}, kSmallPackets);
  bench.peer().inbox().clear();
  bench.peer().send(invalidating_send(c, 0, region.at.rkey));
  const auto received = c.queue->wait_receive(kAnswerTime);
  check.that(!received || received->status != CompletionStatus::success,
             "a SEND that invalidates a key of another protection domain does not succeed", "it does");
  region.serves(check, "a SEND that invalidates it through another domain");

  const auto fails = [&](std::string_view what, const rdma::SendRequest& posted) {
    const auto d = bench.connect_to_product({}, kSmallPackets);
    if (!d.queue->post_send(posted)) return;
    const auto end = d.queue->wait_send(kAnswerTime);
    check.that(end && end->status != CompletionStatus::success, std::string(what) + " of another protection domain fails", "it does not");
    region.serves(check, what);
  };
  rdma::SendRequest local;
  local.opcode = SendOpcode::local_invalidate;
  local.invalidate_rkey = region.at.rkey;
  fails("a local invalidation", local);
  rdma::SendRequest registration;
  registration.opcode = SendOpcode::fast_register;
  registration.region = free.region.get();
  registration.memory = free.bytes;
  registration.iova = 0x20000;
  registration.access = kAllRights;
  registration.key_byte = 0x55;
  fails("a registration of a region", registration);
}

}  // namespace fb::conformance
