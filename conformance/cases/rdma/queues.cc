// Queues at their limits, notifications, and keys that a program narrows: to one queue pair, to a length, to a time.
#include <list>

#include "conformance/cases/rdma/asker.h"

namespace fb::conformance {
namespace {

using rdma::CompletionStatus;
using rdma::SendOpcode;
using roce::Opcode;

constexpr std::string_view kOwnKeys = "keys of the interface are its own";

/// Counts how often a completion queue calls.
struct Bell final : rdma::CompletionHandler {
  void on_completions() override { ++rings; }
  int rings = 0;
};

/// How often an armed queue calls while `happen` happens.
template <class Happen>
int calls_during(RdmaBench& bench, rdma::CompletionQueue& queue, bool solicited_only, Happen&& happen) {
  Bell bell;
  queue.request_notify(bell, solicited_only);
  happen();
  bench.world().run_for(Duration::ms(100));
  queue.cancel_notify();
  return bell.rings;
}

rdma::SendRequest registration_of(VerbsMemory& region, MutableBytes memory) {
  rdma::SendRequest request;
  request.id = 30;
  request.opcode = SendOpcode::fast_register;
  request.region = region.region.get();
  request.memory = memory;
  request.iova = 0x10000;
  request.access = kAllRights;
  request.key_byte = 0x42;
  return request;
}

rdma::SendRequest invalidation_of(std::uint32_t key) {
  rdma::SendRequest request;
  request.id = 31;
  request.opcode = SendOpcode::local_invalidate;
  request.invalidate_rkey = key;
  request.fence = true;
  return request;
}

std::optional<CompletionStatus> status_of_next(const RcConnection& c) {
  const auto done = c.queue->wait_send(kAnswerTime);
  return done ? std::optional(done->status) : std::nullopt;
}

}  // namespace

CONFORMANCE_CASE(queues_take_as_many_as_they_were_made_for, "rdma.queue.depth", roles::requester,
                 beyond_interfaces("interfaces have queues of their own")) {
  constexpr std::uint32_t kSpare = 8;  // of the completion queues beyond the depth
  std::list<VerbsUser> users;
  for (const std::uint32_t depth : {1u, 2u, 3u, 4u, 7u, 8u, 16u, 21u}) {
    VerbsUser& user = users.emplace_back(bench.world(), bench.product().device());
    const auto port = static_cast<std::uint16_t>(8000 + depth);
    user.listen(port, {.queue = {.send_entries = depth, .receive_entries = depth}, .receives = 0});
    RawRequest request = asker::kPatient;
    request.port = port;
    const auto facts = bench.peer().connect(request);
    check.precondition(facts.has_value() && user.accepted() != nullptr, "the product did not accept a connection");
    RcConnection c;
    c.facts = *facts;
    c.queue = user.accepted();
    check.precondition(c.queue->wait_event(ConnectionEvent::established, kAnswerTime), "the connection is established");
    bench.peer().inbox().clear();
    auto& memory = user.memory(64);
    auto& buffers = user.memory(std::size_t{64} * (depth + kSpare));
    const std::string what = "a queue pair of depth " + std::to_string(depth);
    std::uint32_t sends = 0, receives = 0;
    while (sends < depth + kSpare && c.queue->post_send(to_there(SendOpcode::send, sends), memory, 0, 16)) ++sends;
    while (receives < depth + kSpare && c.queue->post_receive(buffers, receives, 64 * receives, 64)) ++receives;
    check.between("requests that it takes, " + what, sends, depth, depth + kSpare);
    check.between("receives that it takes, " + what, receives, depth, depth + kSpare);
    for (std::uint32_t i = 0; i < sends; ++i) {
      const auto packet = next_packet(bench, check, "a request that was taken, " + what, "its SEND");
      if (!packet) return;
      check.equal("PSN of a request, " + what, packet->psn, roce::psn_add(c.facts.receive_psn, i));
      acknowledge(bench, c, i, i + 1);
      const auto done = c.queue->wait_send(kAnswerTime);
      if (!expect(check, done.has_value(), "a request that was taken, " + what, "its completion", "none")) return;
      check.equal("the request that completes, " + what, done->id, i);
      check.equal("its status", done->status, CompletionStatus::success);
    }
    for (std::uint32_t i = 0; i < receives; ++i) {
      const Bytes bytes = pattern(20, static_cast<std::uint8_t>(i));
      bench.peer().send(c.request(Opcode::send_only, i, bytes));
      if (!acknowledged(bench, check, c, i, "a SEND to a receive that was taken")) return;
      const auto done = c.queue->wait_receive(kAnswerTime);
      if (!expect(check, done.has_value(), "a receive that was taken, " + what, "its completion", "none")) return;
      check.equal("the receive that completes, " + what, done->id, i);
      check.bytes("its bytes", part(buffers.bytes, std::size_t{64} * i, bytes.size()), bytes);
    }
  }
}

CONFORMANCE_CASE(a_solicited_event_is_for_its_messages, "rdma.completion.solicited", roles::responder, beyond_interfaces(kAllKinds)) {
  const auto c = bench.connect_to_product({.receives = 40, .receive_bytes = 1024}, kSmallPackets);
  bench.peer().inbox().clear();
  auto& memory = bench.product().memory(1024);
  std::uint32_t ordinal = 0;
  for (const bool write : {false, true}) {
    for (const std::size_t length : {std::size_t{16}, kSmallMtu, 3 * kSmallMtu + 1}) {
      for (const Extra extra : {Extra::none, Extra::immediate}) {
        if (write && extra == Extra::none) continue;  // takes no receive
        for (const bool solicited : {false, true}) {
          for (const bool solicited_only : {false, true}) {
            const Message message{.write = write,
                                  .extra = extra,
                                  .bytes = pattern(length),
                                  .to = {memory.address(), memory.rkey(), static_cast<std::uint32_t>(length)},
                                  .solicited = solicited};
            const auto packets = packets_for(c, ordinal, message, kSmallMtu);
            ordinal += static_cast<std::uint32_t>(packets.size());
            const int calls = calls_during(bench, c.queue->receive_queue(), solicited_only, [&] {
              for (const RocePacket& packet : packets) bench.peer().send(packet);
            });
            const std::string what = std::string(solicited ? "a solicited " : "an unsolicited ") + (write ? "WRITE" : "SEND") + " of " +
                                     std::to_string(length) + " bytes, a queue armed for " + (solicited_only ? "solicited" : "all") +
                                     " completions";
            check.equal("notifications for " + what, calls, solicited || !solicited_only ? 1 : 0);
            if (!acknowledged(bench, check, c, ordinal - 1, what)) return;
            const auto done = c.queue->wait_receive(kAnswerTime);
            if (!expect(check, done.has_value(), what, "a completion", "none")) return;
            check.equal("its status", done->status, CompletionStatus::success);
          }
        }
      }
    }
  }
  bench.step("receives that are flushed");
  const int calls = calls_during(bench, c.queue->receive_queue(), true, [&] {
    bench.peer().send(write_only(c, ordinal, {0x1000, 0xDEADBE00, 16}, pattern(16)));
  });
  check.equal("notifications for receives in error, a queue armed for solicited completions", calls, 1);
}

CONFORMANCE_CASE(no_completion_is_lost_in_silence, "rdma.completion.overrun", roles::responder,
                 beyond_interfaces("the interface has completion queues of its own")) {
  constexpr std::uint32_t kCompletions = 12, kMessages = 40;
  const auto c =
      bench.connect_to_product({.queue = {.receive_entries = 64, .receive_completions = kCompletions}, .receives = kMessages + 10});
  bench.peer().inbox().clear();
  std::uint32_t served = 0;
  while (served < kMessages) {
    bench.peer().send(c.request(Opcode::send_only, served, pattern(16)));
    const auto packet = bench.peer().wait_packet(kAnswerTime);
    if (!packet || packet->opcode != Opcode::acknowledge || packet->syndrome() >> 5 != 0) break;
    ++served;
  }
  std::uint32_t completed = 0;
  while (const auto done = c.queue->wait_receive(Duration::ms(1))) {
    if (done->status == CompletionStatus::success) ++completed;
  }
  check.between("completions that nobody had taken, all of them or as many as the queue has", completed, std::min(kCompletions, served),
                served);
  const bool lost = completed < served;
  bench.peer().send(c.request(Opcode::send_only, served, pattern(16)));
  const auto packet = bench.peer().wait_packet(kAnswerTime);
  const bool serves = packet && packet->opcode == Opcode::acknowledge && packet->syndrome() >> 5 == 0;
  check.that(!lost || !serves, "a queue pair whose completions were lost is in error", "it serves further requests");
}

CONFORMANCE_CASE(a_registration_is_no_longer_than_its_region, "rdma.key.fast-limit", roles::requester, needs(registers_by_requests),
                 beyond_interfaces(kOwnKeys)) {
  constexpr std::size_t kPage = 4096;
  auto& behind = bench.product().memory(8 * kPage);
  for (const std::size_t pages : {std::size_t{1}, std::size_t{3}}) {
    auto& region = bench.product().fast_memory(pages * kPage);
    for (const std::size_t over : {std::size_t{1}, kPage, pages * kPage}) {
      const auto c = bench.connect_to_product({.receives = 0}, asker::kPatient);
      const std::string what =
          "a registration of " + std::to_string(pages * kPage + over) + " bytes for a region of " + std::to_string(pages * kPage);
      if (!c.queue->post_send(registration_of(region, MutableBytes(behind.bytes).first(pages * kPage + over)))) continue;
      const auto status = status_of_next(c);
      check.that(status && *status != CompletionStatus::success, what + " fails", "it does not");
    }
    const auto c = bench.connect_to_product({.receives = 0}, asker::kPatient);
    bench.peer().inbox().clear();
    const auto whole = registration_of(region, MutableBytes(behind.bytes).first(pages * kPage));
    check.that(c.queue->post_send(whole), "a whole registration is taken", "it is refused");
    check.that(status_of_next(c) == CompletionStatus::success, "a registration as long as its region succeeds", "it does not");
    bench.peer().send(read_request(c, 0, {0x10000 + pages * kPage - 4, region.rkey(), 4}));
    const auto packet = next_packet(bench, check, "READ of its last bytes", "a READ response");
    if (!packet) return;
    check.bytes("its last bytes", packet->payload, part(behind.bytes, pages * kPage - 4, 4));
  }
}

CONFORMANCE_CASE(a_key_of_one_queue_pair_is_good_for_no_other, "rdma.key.one-queue", roles::responder, needs(registers_by_requests),
                 beyond_interfaces(kOwnKeys)) {
  const auto own = bench.connect_to_product({.receives = 2}, kSmallPackets);
  auto& memory = bench.product().fast_memory(64);
  rdma::SendRequest registration = registration_of(memory, memory.bytes);
  registration.this_queue_only = true;
  own.queue->post_send(registration);
  check.precondition(status_of_next(own) == CompletionStatus::success, "the product could not register memory");
  const Remote to{0x10000, memory.rkey(), 8};
  const Bytes before = memory.bytes;
  std::uint32_t reads = 0;
  const auto served = [&](const std::string& after) {
    bench.peer().inbox().clear();
    bench.peer().send(read_request(own, reads++, to));
    const auto packet = bench.peer().wait_packet(kAnswerTime);
    return expect(check, packet && packet->opcode == Opcode::read_response_only, "READ through its own queue pair" + after, "its bytes",
                  packet ? packet->describe() : "silence");
  };
  if (!served("")) return;
  for (const Opcode opcode : {Opcode::write_only, Opcode::read_request, Opcode::fetch_and_add, Opcode::send_only_with_invalidate}) {
    const auto other = bench.connect_to_product({}, kSmallPackets);
    bench.peer().inbox().clear();
    const std::string what = std::string(roce::facts_of(opcode).name) + " under the key of another queue pair";
    if (opcode == Opcode::send_only_with_invalidate) {
      bench.peer().send(invalidating_send(other, 0, to.rkey));
      const auto done = other.queue->wait_receive(kAnswerTime);
      check.that(!done || done->status != CompletionStatus::success, what + " does not succeed", "it does");
    } else {
      bench.peer().send(opcode == Opcode::write_only     ? write_only(other, 0, to, pattern(8))
                        : opcode == Opcode::read_request ? read_request(other, 0, to)
                                                         : fetch_and_add(other, 0, to.address, to.rkey, 1));
      refused_with(bench, check, {kAccessError}, what);
    }
    check.bytes("memory after " + what, memory.bytes, before);
    if (!served(" after " + what)) return;
  }
}

CONFORMANCE_CASE(a_local_invalidation_waits_for_earlier_requests, "rdma.key.invalidate-order", roles::requester,
                 needs(registers_by_requests), beyond_interfaces(kOwnKeys)) {
  for (const SendOpcode opcode : {SendOpcode::send, SendOpcode::rdma_write, SendOpcode::rdma_read}) {
    const bool read = opcode == SendOpcode::rdma_read;
    const auto c = bench.connect_to_product({.receives = 0}, asker::kPatient);
    auto& memory = bench.product().fast_memory(64);
    c.queue->post_send(registration_of(memory, memory.bytes));
    check.precondition(status_of_next(c) == CompletionStatus::success, "the product could not register memory");
    bench.peer().inbox().clear();
    c.queue->post_send(to_there(opcode, 5), memory, 0, 32);
    c.queue->post_send(invalidation_of(memory.rkey()));
    const std::string what = std::string(read                         ? "READ"
                                         : opcode == SendOpcode::send ? "SEND"
                                                                      : "WRITE") +
                             " before the invalidation of its memory";
    if (!next_packet(bench, check, what, "its packet")) return;
    bench.world().run_for(Duration::ms(1));
    acknowledge(bench, c, 0, 0, kSequenceNak);
    const auto again = next_packet(bench, check, what + ", lost once", "its packet again");
    if (!again) return;
    if (read) {
      bench.peer().send(response(c, Opcode::read_response_only, 0, pattern(32)));
    } else {
      check.bytes("bytes of the packet that is sent again", again->payload, part(memory.bytes, 0, 32));
      acknowledge(bench, c, 0, 1);
    }
    for (const std::uint64_t id : {5u, 31u}) {
      const auto done = c.queue->wait_send(kAnswerTime);
      if (!expect(check, done.has_value(), what, "its completion, and that of the invalidation", "none")) return;
      check.equal("what completes", done->id, id);
      check.equal("its status", done->status, CompletionStatus::success);
    }
    if (read) check.bytes("what the READ brought", part(memory.bytes, 0, 32), pattern(32));
    bench.peer().send(read_request(c, 0, {0x10000, memory.rkey(), 8}));
    refused_with(bench, check, {kAccessError}, "READ after the invalidation");
  }
}

CONFORMANCE_CASE(a_shared_receive_queue_reports_its_limit, "rdma.receive.shared-limit", roles::responder,
                 beyond_interfaces("interfaces have shared receive queues of their own")) {
  const auto c = bench.connect_to_product({.queue = {.shared_receives = true}, .receives = 0}, kSmallPackets);
  bench.peer().inbox().clear();
  auto& memory = bench.product().memory(64 * 64);
  std::uint64_t posted = 0;
  std::uint32_t ordinal = 0;
  for (const std::uint32_t limit : {1u, 2u, 5u, 8u}) {
    while (posted - ordinal < limit + 2) {
      check.require(c.queue->post_receive(memory, posted, 64 * (posted % 64), 64), "a shared receive is taken");
      ++posted;
    }
    bench.product().shared_receives().arm_limit(limit);
    const std::uint64_t before = bench.product().limits_reached();
    for (std::uint32_t left = limit + 2; left-- > limit / 2;) {
      bench.peer().send(c.request(Opcode::send_only, ordinal, pattern(16)));
      if (!acknowledged(bench, check, c, ordinal++, "a SEND to a shared receive")) return;
      if (left < limit) bench.world().run_until([&] { return bench.product().limits_reached() > before; }, kAnswerTime);
      bench.world().run_for(Duration::ms(1));
      check.equal("limit events with " + std::to_string(left) + " receives left of a limit of " + std::to_string(limit),
                  bench.product().limits_reached() - before, left < limit ? 1u : 0u);
      check.that(c.queue->wait_receive(kAnswerTime).has_value(), "the SEND is delivered", "it is not");
    }
  }
}

}  // namespace fb::conformance
