// Both sides of every limit that an adapter declares, objects of another adapter, and queues over many turns.
#include <array>
#include <cstring>
#include <deque>

#include "base/rng.h"
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// The five numbers of a queue pair; with a shared receive queue it has three of them.
struct PairTerms {
  ULONG receive_depth = 4, initiator_depth = 4, receive_sges = 1, initiator_sges = 1, inline_bytes = 0;
};

struct Limit {
  std::string_view what;
  ULONG PairTerms::*number;
  ULONG ND2_ADAPTER_INFO::*limit;
  HRESULT plain;   ///< the status for one too many
  HRESULT shared;  ///< the same with a shared receive queue; ND_SUCCESS: it has no such number
};

constexpr std::array<Limit, 5> kLimits = {{
    {"receive queue depth", &PairTerms::receive_depth, &ND2_ADAPTER_INFO::MaxReceiveQueueDepth, ND_INVALID_PARAMETER_5, ND_SUCCESS},
    {"initiator queue depth", &PairTerms::initiator_depth, &ND2_ADAPTER_INFO::MaxInitiatorQueueDepth, ND_INVALID_PARAMETER_6,
     ND_INVALID_PARAMETER_6},
    {"buffers of a Receive", &PairTerms::receive_sges, &ND2_ADAPTER_INFO::MaxReceiveSge, ND_INVALID_PARAMETER_7, ND_SUCCESS},
    {"buffers of a request", &PairTerms::initiator_sges, &ND2_ADAPTER_INFO::MaxInitiatorSge, ND_INVALID_PARAMETER_8,
     ND_INVALID_PARAMETER_7},
    {"inline data", &PairTerms::inline_bytes, &ND2_ADAPTER_INFO::MaxInlineDataSize, ND_INVALID_PARAMETER_9, ND_INVALID_PARAMETER_8},
}};

NdStatus make_pair(NdEnd& end, IUnknown* receives, IUnknown* initiators, IUnknown* shared, const PairTerms& n) {
  NdRef<IND2QueuePair> pair;
  if (shared != nullptr) {
    return end.adapter().CreateQueuePairWithSrq(IID_IND2QueuePair, receives, initiators, shared, nullptr, n.initiator_depth,
                                                n.initiator_sges, n.inline_bytes, pair.out());
  }
  return end.adapter().CreateQueuePair(IID_IND2QueuePair, receives, initiators, nullptr, n.receive_depth, n.initiator_depth, n.receive_sges,
                                       n.initiator_sges, n.inline_bytes, pair.out());
}

void judge_limit(ProviderBench& bench, Check& check, const Limit& limit) {
  NdEnd& end = bench.nd().a();
  const ND2_ADAPTER_INFO info = end.info();
  const auto queue = end.completion_queue();
  PairTerms at, beyond;
  at.*limit.number = info.*limit.limit;
  beyond.*limit.number = info.*limit.limit + 1;
  says(check, std::string(limit.what) + " as the adapter declares", make_pair(end, queue.get(), queue.get(), nullptr, at), {ND_SUCCESS});
  says(check, std::string(limit.what) + ", one more", make_pair(end, queue.get(), queue.get(), nullptr, beyond), {limit.plain});
  if (limit.shared == ND_SUCCESS || info.MaxSharedReceiveQueueDepth == 0) return;
  const auto shared = end.shared_receive_queue();
  says(check, std::string(limit.what) + " with a shared receive queue, as the adapter declares",
       make_pair(end, queue.get(), queue.get(), shared.get(), at), {ND_SUCCESS});
  says(check, std::string(limit.what) + " with a shared receive queue, one more",
       make_pair(end, queue.get(), queue.get(), shared.get(), beyond), {limit.shared});
}

NdStatus make_queue(NdEnd& end, ULONG depth) {
  NdRef<IND2CompletionQueue> queue;
  return end.adapter().CreateCompletionQueue(IID_IND2CompletionQueue, end.file(), depth, 0, 0, queue.out());
}

NdStatus make_shared_queue(NdEnd& end, ULONG depth, ULONG sges) {
  NdRef<IND2SharedReceiveQueue> shared;
  return end.adapter().CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, end.file(), depth, sges, 0, 0, 0, shared.out());
}

/// The addresses of a list, each from where its entry says that it lies; the list must hold them itself.
std::vector<std::string> addresses_in(Check& check, const std::vector<std::uint64_t>& room, ULONG bytes) {
  std::vector<std::string> found;
  const auto* const list = reinterpret_cast<const SOCKET_ADDRESS_LIST*>(room.data());
  const auto* const first = reinterpret_cast<const std::uint8_t*>(room.data());
  for (INT i = 0; i < list->iAddressCount; ++i) {
    SOCKET_ADDRESS entry;
    std::memcpy(&entry, first + offsetof(SOCKET_ADDRESS_LIST, Address) + static_cast<std::size_t>(i) * sizeof entry, sizeof entry);
    const auto* const at = reinterpret_cast<const std::uint8_t*>(entry.lpSockaddr);
    const auto length = static_cast<std::size_t>(entry.iSockaddrLength);
    const bool inside = at >= first && at + length <= first + bytes;
    if (!check.that(inside, "each address lies in the list's own buffer", "it lies elsewhere")) continue;
    NdAddress address;
    std::memcpy(address.room(), at, std::min<std::size_t>(length, address.capacity()));
    const bool v4 = address.get()->sa_family == AF_INET;
    check.equal("length of an address", length, v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    check.equal("port of an address", address.port(), 0);
    found.push_back(to_string(address.address()));
  }
  return found;
}

template <class Source>
std::vector<std::string> list_of(Check& check, std::string_view what, Source& source) {
  ULONG needed = 0;
  says(check, std::string(what) + " without a buffer", source.QueryAddressList(nullptr, &needed), {ND_BUFFER_OVERFLOW});
  std::vector<std::uint64_t> room(needed / 8 + 2, 0xA5A5'A5A5'A5A5'A5A5);
  auto* const list = reinterpret_cast<SOCKET_ADDRESS_LIST*>(room.data());
  ULONG given = needed;
  check.require(says(check, std::string(what) + " with exactly the size", source.QueryAddressList(list, &given), {ND_SUCCESS}),
                "there is a list");
  check.equal("the size afterwards", given, needed);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(room.data());
  check.that(bytes[needed] == 0xA5, "the list is no longer than its size", "it is");
  return addresses_in(check, room, needed);
}

/// What a queue tells of its completions, by the rule of the interface.
class NotifyModel {
 public:
  bool due(ULONG type) const {
    const std::uint64_t from = std::max(told_, taken_);
    return type == ND_CQ_NOTIFY_ANY ? added_ > from : type == ND_CQ_NOTIFY_SOLICITED && solicited_ > from;
  }
  void add(bool solicited) {
    ++added_;
    if (solicited) solicited_ = added_;
  }
  void take(ULONG count) { taken_ += count; }
  void told() { told_ = added_; }
  std::uint64_t present() const { return added_ - taken_; }

 private:
  std::uint64_t added_ = 0, taken_ = 0, told_ = 0, solicited_ = 0;
};

}  // namespace

CONFORMANCE_CASE(nd_receive_depth_has_both_sides, "networkdirect.adapter.pair-receive-depth", roles::provider) {
  judge_limit(bench, check, kLimits[0]);
}
CONFORMANCE_CASE(nd_initiator_depth_has_both_sides, "networkdirect.adapter.pair-initiator-depth", roles::provider) {
  judge_limit(bench, check, kLimits[1]);
}
CONFORMANCE_CASE(nd_receive_buffers_have_both_sides, "networkdirect.adapter.pair-receive-sges", roles::provider) {
  judge_limit(bench, check, kLimits[2]);
}
CONFORMANCE_CASE(nd_initiator_buffers_have_both_sides, "networkdirect.adapter.pair-initiator-sges", roles::provider) {
  judge_limit(bench, check, kLimits[3]);
}
CONFORMANCE_CASE(nd_inline_data_has_both_sides, "networkdirect.adapter.pair-inline", roles::provider) {
  judge_limit(bench, check, kLimits[4]);
}

CONFORMANCE_CASE(nd_a_queue_has_both_limits, "networkdirect.adapter.queue-depth", roles::provider) {
  NdEnd& end = bench.nd().a();
  const ULONG most = end.info().MaxCompletionQueueDepth;
  says(check, "CreateCompletionQueue with one entry", make_queue(end, 1), {ND_SUCCESS});
  says(check, "CreateCompletionQueue as deep as the adapter declares", make_queue(end, most), {ND_SUCCESS});
  for (const ULONG depth : {ULONG{0}, most + 1}) {
    says(check, "CreateCompletionQueue with " + std::to_string(depth) + " entries", make_queue(end, depth),
         {ND_INVALID_PARAMETER_3, ND_INVALID_PARAMETER});
  }
}

CONFORMANCE_CASE(nd_a_shared_queue_has_both_limits, "networkdirect.adapter.shared-depth", roles::provider) {
  NdEnd& end = bench.nd().a();
  const ND2_ADAPTER_INFO info = end.info();
  check.precondition(info.MaxSharedReceiveQueueDepth != 0, "the adapter has shared receive queues");
  for (const ULONG depth : {ULONG{1}, info.MaxSharedReceiveQueueDepth}) {
    says(check, "a shared receive queue with " + std::to_string(depth) + " entries", make_shared_queue(end, depth, 1), {ND_SUCCESS});
  }
  says(check, "a shared receive queue without entries", make_shared_queue(end, 0, 1), {ND_INVALID_PARAMETER_3, ND_INVALID_PARAMETER});
  says(check, "a shared receive queue with one entry too many", make_shared_queue(end, info.MaxSharedReceiveQueueDepth + 1, 1),
       {ND_INVALID_PARAMETER_3});
  says(check, "a shared receive queue with all buffers", make_shared_queue(end, 4, info.MaxReceiveSge), {ND_SUCCESS});
  says(check, "a shared receive queue with one buffer too many", make_shared_queue(end, 4, info.MaxReceiveSge + 1),
       {ND_INVALID_PARAMETER_4});
}

CONFORMANCE_CASE(nd_queues_take_all_depths_up_to_the_limit, "networkdirect.completion.resize-limit", roles::provider) {
  const auto c = bench.nd().prepare();
  if ((c->b.end->info().AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) == 0) {
    says(check, "Resize of an adapter that cannot", c->b.queue->Resize(128), {ND_NOT_SUPPORTED});
    return;
  }
  const ULONG most = c->b.end->info().MaxCompletionQueueDepth;
  for (const ULONG depth : {ULONG{1}, ULONG{7}, most - 1, most}) {
    says(check, "Resize to " + std::to_string(depth), c->b.queue->Resize(depth), {ND_SUCCESS});
  }
  says(check, "Resize over the limit", c->b.queue->Resize(most + 1), {ND_INVALID_PARAMETER});
}

CONFORMANCE_CASE(nd_another_depth_keeps_results_at_any_place, "networkdirect.completion.resize-keeps", roles::provider) {
  NdConnectTerms terms;
  terms.queue_depth = 40;
  terms.a.depth = terms.b.depth = 32;
  const auto c = bench.nd().connect(terms);
  if ((c->b.end->info().AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) == 0) {
    says(check, "Resize of an adapter that cannot", c->b.queue->Resize(128), {ND_NOT_SUPPORTED});
    return;
  }
  std::uintptr_t next = 1, first = 1;
  constexpr ULONG kDepths[] = {41, 300, 37, 13, 40, 300, 14, 600};
  for (int round = 0; round < 48; ++round) {
    for (int i = 0; i < 13; ++i) {
      ND2_SGE into = c->b.memory->sge(0, 64);
      arranged_by(check, "Receive", c->b.qp->Receive(nd_tag(next++), &into, 1));
      arranged_by(check, "Send", c->a.qp->Send(nullptr, nullptr, 0, ND_OP_FLAG_SILENT_SUCCESS));
      if (i == 12)
        arranged_by(check, "Send", c->a.qp->Write(nullptr, nullptr, 0, c->b.memory->address(), c->b.memory->region->GetRemoteToken(), 0));
    }
    ends_as(bench, check, c->a, "the last request", {ND_SUCCESS});
    bench.nd().pass(Duration::us(100));
    // Exactly what is there is enough, one less is not.
    says(check, "Resize below what is there", c->b.queue->Resize(12), {ND_BUFFER_OVERFLOW});
    says(check, "Resize", c->b.queue->Resize(kDepths[round % 8]), {ND_SUCCESS});
    // In parts, so that the oldest lies anywhere.
    ND2_RESULT results[16] = {};
    ULONG taken = 0;
    for (const ULONG most : {1u, 5u, 16u}) {
      const ULONG count = c->b.queue->GetResults(results, most);
      check.that(count <= most, "GetResults returns no more than it is asked for", "it returns " + std::to_string(count));
      for (ULONG i = 0; i < std::min<ULONG>(count, 16); ++i) {
        check.that(results[i].RequestContext == nd_tag(first++), "the results are in order", "they are not");
      }
      taken += count;
    }
    if (!check.equal("results", taken, ULONG{13})) return;
  }
}

CONFORMANCE_CASE(nd_results_are_taken_once_in_batches_of_any_size, "networkdirect.completion.results-once", roles::provider) {
  NdConnectTerms terms;
  terms.queue_depth = terms.a.depth = terms.b.depth = 128;
  const auto c = bench.nd().connect(terms);
  for (const ULONG batch : {1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 32u, 33u, 64u}) {
    const ULONG messages = batch + 1;
    for (std::uintptr_t i = 0; i < messages; ++i) {
      ND2_SGE into = c->b.memory->sge(i * 8, 8);
      arranged_by(check, "Receive", c->b.qp->Receive(nd_tag(100 + i), &into, 1));
      arranged_by(check, "Send", c->a.qp->Send(nd_tag(100 + i), nullptr, 0, 0));
    }
    bench.nd().pass(kNdQuiet);
    const std::string what = "results of " + std::to_string(messages) + ", taken " + std::to_string(batch) + " at a time";
    for (NdSide* const side : {&c->a, &c->b}) {
      std::vector<ND2_RESULT> results(batch);
      std::uintptr_t taken = 0;
      for (const ULONG expected : {batch, ULONG{1}, ULONG{0}}) {
        ULONG count = side->queue->GetResults(results.data(), batch);
        // On a busy machine nothing may have come yet.
        for (int more = 0; more < 100 && count == 0 && expected != 0; ++more) {
          bench.nd().pass(kNdQuiet);
          count = side->queue->GetResults(results.data(), batch);
        }
        if (!check.equal(what, count, expected)) return;
        for (ULONG i = 0; i < count; ++i) {
          if (!check.that(results[i].RequestContext == nd_tag(100 + taken++), "each result comes once, in order", "they do not")) return;
        }
      }
    }
  }
}

CONFORMANCE_CASE(nd_a_queue_holds_what_it_was_made_for, "networkdirect.completion.results-once", roles::provider) {
  // More than providers handle in one go.
  constexpr ULONG kMessages = 200;
  NdConnectTerms terms;
  terms.queue_depth = kMessages;
  terms.a.depth = terms.b.depth = kMessages;
  const auto c = bench.nd().connect(terms);
  for (int round = 0; round < 3; ++round) {
    NdRequest told;
    for (std::uintptr_t i = 0; i < kMessages; ++i) {
      ND2_SGE into = c->b.memory->sge(i * 8, 8);
      check.require(c->b.qp->Receive(nd_tag(1000 + i), &into, 1) == ND_SUCCESS, "Receive is taken");
    }
    const HRESULT called = c->b.queue->Notify(ND_CQ_NOTIFY_ANY, &told);
    for (std::uintptr_t i = 0; i < kMessages; ++i) {
      check.require(c->a.qp->Send(nd_tag(2000 + i), nullptr, 0, 0) == ND_SUCCESS, "Send is taken");
    }
    bench.nd().pass(Duration::s(2));  // as long as a slow machine takes for all of them
    says(check, "Notify", ended(bench, called, told, *c->b.queue), {ND_SUCCESS});
    std::vector<ND2_RESULT> results(kMessages + 1);
    for (auto [side, first] : {std::pair{&c->a, 2000u}, std::pair{&c->b, 1000u}}) {
      std::memset(results.data(), 0x5C, results.size() * sizeof results[0]);
      const ND2_RESULT untouched = results.back();
      check.equal("results", side->queue->GetResults(results.data(), kMessages), kMessages);
      for (std::uintptr_t i = 0; i < kMessages; ++i) {
        if (!check.that(results[i].RequestContext == nd_tag(first + i), "results come in the order of their requests", "they do not"))
          return;
        if (!says(check, "a result", results[i].Status, {ND_SUCCESS})) return;
      }
      check.that(std::memcmp(&results.back(), &untouched, sizeof untouched) == 0, "what is behind the results stays as it was",
                 "it does not");
      check.equal("further results", side->queue->GetResults(results.data(), kMessages), ULONG{0});
    }
  }
}

CONFORMANCE_CASE(nd_queue_pairs_want_objects_of_their_adapter, "networkdirect.adapter.pair-queues", roles::provider) {
  NdEnd &end = bench.nd().a(), &other = bench.nd().b();
  const auto queue = end.completion_queue(), foreign = other.completion_queue();
  const bool apart = end.address() != other.address();
  const auto region = end.empty_region();
  struct Try {
    std::string_view what;
    IUnknown *receives, *initiators;
    HRESULT expected;
  };
  for (const Try& one : {Try{"no queue for Receives", nullptr, queue.get(), ND_INVALID_PARAMETER_2},
                         Try{"no queue for requests", queue.get(), nullptr, ND_INVALID_PARAMETER_3},
                         Try{"a region as the queue for Receives", region.get(), queue.get(), ND_INVALID_PARAMETER_2},
                         Try{"a region as the queue for requests", queue.get(), region.get(), ND_INVALID_PARAMETER_3},
                         Try{"another adapter's queue for Receives", foreign.get(), queue.get(), ND_INVALID_PARAMETER_2},
                         Try{"another adapter's queue for requests", queue.get(), foreign.get(), ND_INVALID_PARAMETER_3}}) {
    if (!apart && (one.receives == foreign.get() || one.initiators == foreign.get())) continue;
    says(check, one.what, make_pair(end, one.receives, one.initiators, nullptr, {}), {one.expected});
    if (end.info().MaxSharedReceiveQueueDepth == 0) continue;
    const auto shared = end.shared_receive_queue();
    says(check, std::string(one.what) + ", with a shared receive queue", make_pair(end, one.receives, one.initiators, shared.get(), {}),
         {one.expected});
  }
  if (end.info().MaxSharedReceiveQueueDepth == 0) return;
  says(check, "a region as the shared receive queue", make_pair(end, queue.get(), queue.get(), region.get(), {}), {ND_INVALID_PARAMETER_4});
  if (!apart) return;
  const auto shared = other.shared_receive_queue();
  says(check, "another adapter's shared receive queue", make_pair(end, queue.get(), queue.get(), shared.get(), {}),
       {ND_INVALID_PARAMETER_4});
}

CONFORMANCE_CASE(nd_every_address_is_in_its_lists, "networkdirect.adapter.address-list", roles::provider) {
  const auto all = list_of(check, "QueryAddressList of the provider", bench.nd().provider());
  for (NdEnd* end : {&bench.nd().a(), &bench.nd().b()}) {
    const auto own = list_of(check, "QueryAddressList of an adapter", end->adapter());
    const std::string address = to_string(end->address());
    check.equal("how often an adapter's list has its address", std::count(own.begin(), own.end(), address), 1);
    check.equal("how often the provider's list has it", std::count(all.begin(), all.end(), address), 1);
    const bool known = std::all_of(own.begin(), own.end(), [&](const auto& one) { return std::count(all.begin(), all.end(), one) == 1; });
    check.that(known, "what an adapter lists the provider lists too", "it does not");
  }
}

CONFORMANCE_CASE(nd_near_addresses_are_foreign, "networkdirect.provider.resolve-foreign", roles::provider) {
  IND2Provider& provider = bench.nd().provider();
  const auto all = list_of(check, "QueryAddressList of the provider", provider);
  for (NdEnd* end : {&bench.nd().a(), &bench.nd().b()}) {
    UINT64 own = 0;
    const NdAddress at(end->address());
    says(check, "ResolveAddress of the own address", provider.ResolveAddress(at.get(), at.length(), &own), {ND_SUCCESS});
    check.equal("the id", own, end->info().AdapterId);
    const unsigned first = end->address().is_v4() ? 12 : 0;
    for (unsigned byte = first; byte < 16; ++byte) {
      auto bytes = end->address().bytes();
      bytes[byte] ^= 0x40;
      const IpAddress other = IpAddress::v6(bytes);
      if (std::count(all.begin(), all.end(), to_string(other)) != 0) continue;
      const NdAddress foreign(other);
      UINT64 id = 0;
      says(check, "ResolveAddress of " + to_string(other), provider.ResolveAddress(foreign.get(), foreign.length(), &id),
           {ND_INVALID_ADDRESS});
    }
    NdRef<IND2Adapter> adapter;
    says(check, "OpenAdapter of the id", provider.OpenAdapter(IID_IND2Adapter, own, adapter.out()), {ND_SUCCESS});
    for (const UINT64 other : {own - 16, own + 16, own ^ (UINT64{1} << 63), UINT64{0}}) {
      NdRef<IND2Adapter> none;
      says(check, "OpenAdapter of another id", provider.OpenAdapter(IID_IND2Adapter, other, none.out()),
           {ND_INVALID_PARAMETER, ND_INVALID_PARAMETER_2});
    }
  }
}

CONFORMANCE_CASE(nd_notifications_follow_the_rule, "networkdirect.completion.notify-once", roles::provider) {
  NdConnectTerms terms;
  terms.a.depth = terms.b.depth = 64;
  const auto c = bench.nd().connect(terms);
  const bool resizes = (c->b.end->info().AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0;
  NotifyModel model;
  struct Waiting {
    std::unique_ptr<NdRequest> request;
    HRESULT called;
    ULONG type;
  };
  std::deque<Waiting> waiting;
  const auto all_end = [&](std::string_view why, HRESULT status) {
    for (Waiting& one : waiting) {
      says(check, "Notify " + std::string(why), ended(bench, one.called, *one.request, *c->b.queue), {status});
    }
    waiting.clear();
  };
  // Always the same turns: what is judged is the provider, not the seed.
  Rng rng(0x6E6F74696679);
  for (int turn = 0; turn < 400; ++turn) {
    switch (rng.next() % 8) {
      case 0:
      case 1:
      case 2: {
        const bool solicited = rng.next() % 2 == 0;
        if (model.present() > 40) break;
        ND2_SGE into = c->b.memory->sge(0, 64);
        arranged_by(check, "Receive", c->b.qp->Receive(nd_tag(1), &into, 1));
        arranged_by(check, "Send", c->a.qp->Send(nullptr, nullptr, 0, solicited ? ND_OP_FLAG_SEND_AND_SOLICIT_EVENT : 0));
        ends_as(bench, check, c->a, "a Send", {ND_SUCCESS});
        bench.nd().pass(Duration::ms(1));
        model.add(solicited);
        const bool tells = std::any_of(waiting.begin(), waiting.end(), [&](const Waiting& one) { return model.due(one.type); });
        if (!tells) break;
        model.told();
        all_end("when a completion came", ND_SUCCESS);
        break;
      }
      case 3:
      case 4:
      case 5: {
        const ULONG type = rng.next() % 2 == 0 ? ND_CQ_NOTIFY_ANY : ND_CQ_NOTIFY_SOLICITED;
        Waiting& one = waiting.emplace_back(Waiting{std::make_unique<NdRequest>(), ND_SUCCESS, type});
        one.called = c->b.queue->Notify(type, &*one.request);
        check.require(one.called == ND_PENDING || one.called == ND_SUCCESS, "Notify is taken",
                      "it answered " + words(NdStatus(one.called)));
        if (!model.due(type)) break;
        model.told();
        all_end("with a completion there", ND_SUCCESS);
        break;
      }
      case 6: {
        ND2_RESULT results[8];
        const auto most = static_cast<ULONG>(rng.next() % 8 + 1);
        // Another depth changes nothing of it.
        if (resizes && turn % 3 == 0) says(check, "Resize", c->b.queue->Resize(turn % 2 == 0 ? 64 : 100), {ND_SUCCESS});
        const ULONG count = c->b.queue->GetResults(results, most);
        check.equal("results", count, static_cast<ULONG>(std::min<std::uint64_t>(most, model.present())));
        model.take(count);
        break;
      }
      default:
        if (rng.next() % 3 != 0) break;
        c->b.queue->CancelOverlappedRequests();
        all_end("when it was cancelled", ND_CANCELED);
        break;
    }
    for (const Waiting& one : waiting) {
      if (!check.that(one.called == ND_PENDING && one.request->pending(), "Notify is pending while nothing new has come",
                      "it has completed"))
        return;
    }
  }
}

CONFORMANCE_CASE(nd_a_threshold_may_be_the_depth, "networkdirect.shared.modify-threshold", roles::provider) {
  NdEnd& end = bench.nd().b();
  check.precondition(end.info().MaxSharedReceiveQueueDepth >= 12, "the adapter has shared receive queues");
  // The depth as it is, the same said, and others.
  for (const auto& [depth, said] : {std::pair<ULONG, ULONG>{8, 0}, {8, 8}, {5, 5}, {12, 12}}) {
    const auto shared = end.shared_receive_queue(8, 2);
    NdConnectTerms terms;
    terms.b.shared = shared.get();
    const auto c = bench.nd().connect(terms);
    const std::string what = " with the depth " + std::to_string(said) + " and the threshold " + std::to_string(depth);
    check.require(says(check, "Modify" + what, shared->Modify(said, depth), {ND_SUCCESS}), "the queue is modified");
    for (std::uintptr_t i = 0; i < depth; ++i) {
      ND2_SGE into = c->b.memory->sge(64 * i, 64);
      check.require(shared->Receive(nd_tag(i), &into, 1) == ND_SUCCESS, "a shared Receive is taken");
    }
    NdRequest request;
    const HRESULT called = shared->Notify(&request);
    bench.nd().pass(Duration::ms(1));
    check.that(called == ND_PENDING && request.pending(), "Notify of a full queue is pending" + what, "it has completed");
    arranged_by(check, "Send", c->a.qp->Send(nullptr, nullptr, 0, ND_OP_FLAG_SILENT_SUCCESS));
    next_result(bench, check, c->b, "a shared Receive");
    says(check, "Notify with one Receive less" + what, ended(bench, called, request, *shared), {ND_SUCCESS});
  }
}

CONFORMANCE_CASE(nd_a_threshold_is_exact, "networkdirect.shared.threshold", roles::provider) {
  NdEnd& end = bench.nd().b();
  check.precondition(end.info().MaxSharedReceiveQueueDepth >= 8, "the adapter has shared receive queues");
  for (const ULONG threshold : {1u, 2u, 5u, 8u}) {
    const auto shared = end.shared_receive_queue(8, threshold);
    NdConnectTerms terms;
    terms.b.shared = shared.get();
    const auto c = bench.nd().connect(terms);
    for (std::uintptr_t i = 0; i < 8; ++i) {
      ND2_SGE into = c->b.memory->sge(64 * i, 64);
      check.require(shared->Receive(nd_tag(i), &into, 1) == ND_SUCCESS, "a shared Receive is taken");
    }
    NdRequest request;
    const HRESULT called = shared->Notify(&request);
    for (ULONG left = 8; left > 0; --left) {
      const bool low = left < threshold;
      bench.nd().pass(Duration::ms(1));
      const std::string at = "with " + std::to_string(left) + " Receives and the threshold " + std::to_string(threshold);
      if (low) {
        says(check, "Notify " + at, ended(bench, called, request, *shared), {ND_SUCCESS});
        break;
      }
      if (!check.that(called == ND_PENDING && request.pending(), "Notify is pending " + at, "it has completed")) break;
      arranged_by(check, "Send", c->a.qp->Send(nullptr, nullptr, 0, ND_OP_FLAG_SILENT_SUCCESS));
      const ND2_RESULT result = next_result(bench, check, c->b, "a shared Receive");
      check.that(result.RequestContext == nd_tag(8 - left), "shared Receives are used in their order", "they are not");
    }
    shared->CancelOverlappedRequests();
    if (threshold == 1) {  // below one are none
      bench.nd().pass(Duration::ms(1));
      check.that(called == ND_SUCCESS || !request.pending(), "Notify without Receives completes", "it is pending");
    }
  }
}

CONFORMANCE_CASE(nd_a_shared_queue_shrinks_to_what_is_posted, "networkdirect.shared.shrink", roles::provider) {
  NdEnd& end = bench.nd().b();
  const ULONG most = end.info().MaxSharedReceiveQueueDepth;
  check.precondition(most >= 12, "the adapter has shared receive queues");
  const auto memory = end.memory(4096);
  const auto shared = end.shared_receive_queue(8);
  ND2_SGE into = memory->sge(0, 64);
  for (std::uintptr_t i = 0; i < 5; ++i) check.require(shared->Receive(nd_tag(i), &into, 1) == ND_SUCCESS, "a shared Receive is taken");
  says(check, "Modify below what is posted", shared->Modify(4, 0), {ND_BUFFER_OVERFLOW});
  says(check, "Modify to what is posted", shared->Modify(5, 0), {ND_SUCCESS});
  says(check, "Modify to the limit", shared->Modify(most, 0), {ND_SUCCESS});
  says(check, "Modify over the limit", shared->Modify(most + 1, 0), {ND_INVALID_PARAMETER, ND_INVALID_PARAMETER_1});
  says(check, "Modify to more", shared->Modify(12, 0), {ND_SUCCESS});
  for (std::uintptr_t i = 5; i < 12; ++i) {
    check.require(says(check, "a shared Receive in a queue of twelve", shared->Receive(nd_tag(i), &into, 1), {ND_SUCCESS}), "it is taken");
  }
}

}  // namespace fb::conformance
