// Memory of the own side, by every kind of request that touches it: each bit of its token, and tokens of registrations that are over.
#include <array>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

enum class Use : std::uint8_t { send, receive, shared_receive, read, write };
constexpr std::array<std::pair<Use, std::string_view>, 5> kUses = {{{Use::send, "a Send from "},
                                                                    {Use::receive, "a Receive into "},
                                                                    {Use::shared_receive, "a shared Receive into "},
                                                                    {Use::read, "a Read into "},
                                                                    {Use::write, "a Write from "}}};

/// How the passive side's use of this piece of memory ends, on a connection of its own. Nothing: it cannot be used so.
std::optional<NdStatus> use(ProviderBench& bench, Check& check, Use how, ND2_SGE piece) {
  NdEnd& end = bench.nd().b();
  NdConnectTerms terms;
  NdRef<IND2SharedReceiveQueue> shared;
  if (how == Use::shared_receive) {
    if (end.info().MaxSharedReceiveQueueDepth < 4) return std::nullopt;
    shared = end.shared_receive_queue(4);
    terms.b.shared = shared.get();
  }
  const auto c = bench.nd().connect(terms);
  const UINT32 token = c->a.memory->region->GetRemoteToken();
  ND2_SGE into = c->a.memory->sge(0, 4096), out = c->a.memory->sge(100, piece.BufferLength);
  HRESULT posted = ND_UNSUCCESSFUL;
  switch (how) {
    case Use::send:
      arranged_by(check, "Receive", c->a.qp->Receive(nd_tag(1), &into, 1));
      posted = c->b.qp->Send(nd_tag(2), &piece, 1, 0);
      break;
    case Use::receive:
    case Use::shared_receive:
      posted = how == Use::receive ? c->b.qp->Receive(nd_tag(2), &piece, 1) : shared->Receive(nd_tag(2), &piece, 1);
      if (!FAILED(posted)) arranged_by(check, "Send", c->a.qp->Send(nd_tag(1), &out, 1, 0));
      break;
    case Use::read:
      posted = c->b.qp->Read(nd_tag(2), &piece, 1, c->a.memory->address(100), token, 0);
      break;
    case Use::write:
      posted = c->b.qp->Write(nd_tag(2), &piece, 1, c->a.memory->address(100), token, 0);
      break;
  }
  if (FAILED(posted)) return posted;
  return next_result(bench, check, c->b, "the request").Status;
}

void judge(Check& check, const std::string& what, const std::optional<NdStatus>& status, bool allowed) {
  if (!status) return;
  if (allowed) {
    says(check, what, *status, {ND_SUCCESS});
  } else {
    refused(check, what, *status);
  }
}

/// A region that the case registers as often as it likes.
struct Registered {
  Registered(ProviderBench& b, Check& c) : bench(b), check(c), memory(b.nd().memory().take(8192)), region(b.nd().b().empty_region()) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(i * 3 + i / 256);
    before.assign(memory.begin(), memory.end());
  }
  void make() {
    NdRequest request;
    const HRESULT called = region->Register(memory.data(), 4096, kNdAllRights, &request);
    check.precondition(ended(bench, called, request, *region) == ND_SUCCESS, "Register completes with ND_SUCCESS");
    local = region->GetLocalToken();
    remote = region->GetRemoteToken();
  }
  void drop() {
    NdRequest request;
    const HRESULT called = region->Deregister(&request);
    check.precondition(ended(bench, called, request, *region) == ND_SUCCESS, "Deregister completes with ND_SUCCESS");
  }
  ND2_SGE sge(std::size_t offset, ULONG length, UINT32 token) const { return {memory.data() + offset, length, token}; }
  ProviderBench& bench;
  Check& check;
  MutableBytes memory;
  Bytes before;
  NdRef<IND2MemoryRegion> region;
  UINT32 local = 0, remote = 0;
};

}  // namespace

CONFORMANCE_CASE(nd_each_bit_of_a_local_token_counts, "networkdirect.memory.local-token", roles::provider) {
  Registered one(bench, check);
  one.make();
  unsigned first = 0;
  for (const auto& [how, name] : kUses) {
    for (unsigned bit = first++ % 4; bit < 32; bit += 4) {
      const std::string what = std::string(name) + "memory under a token that differs in bit " + std::to_string(bit);
      judge(check, what, use(bench, check, how, one.sge(0, 64, one.local ^ UINT32{1} << bit)), false);
      check.bytes("the memory after " + what, one.memory, one.before);
    }
    judge(check, std::string(name) + "memory under its token", use(bench, check, how, one.sge(500, 64, one.local)), true);
    std::copy(one.before.begin(), one.before.end(), one.memory.begin());
  }
}

CONFORMANCE_CASE(nd_tokens_end_with_their_registration, "networkdirect.memory.deregister-ends", roles::provider) {
  Registered one(bench, check);
  std::vector<std::pair<UINT32, UINT32>> earlier;
  const auto none_is_good = [&](bool registered) {
    const std::string when = registered ? ", while it is registered anew" : ", once it is deregistered";
    for (const auto& [local, remote] : earlier) {
      for (const auto& [how, name] : kUses) {
        if (local == one.local && registered) continue;
        judge(check, std::string(name) + "memory under a token of an earlier registration" + when,
              use(bench, check, how, one.sge(0, 32, local)), false);
      }
      if (remote == one.remote && registered) continue;
      for (const bool read : {true, false}) {
        const auto c = bench.nd().connect();
        refused(check, std::string(read ? "a Read" : "a Write") + " of the peer with a token of an earlier registration" + when,
                access(bench, check, *c, read, remote_address(one.memory.data()), remote));
      }
      check.bytes("the memory" + when, one.memory, one.before);
    }
  };
  for (int round = 0; round < 3; ++round) {
    one.make();
    none_is_good(true);
    judge(check, "a Send from memory that is registered", use(bench, check, Use::send, one.sge(0, 32, one.local)), true);
    earlier.emplace_back(one.local, one.remote);
    one.drop();
    none_is_good(false);
  }
}

}  // namespace fb::conformance
