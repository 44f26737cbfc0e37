// Both sides of every limit that an adapter declares, and queues over many turns.
#include <array>
#include <cstring>

#include "base/rng.h"
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

struct PairTerms {
  ULONG receive_depth = 4, initiator_depth = 4, receive_sges = 1, initiator_sges = 1, inline_bytes = 0;
};

struct Limit {
  std::string_view what;
  ULONG PairTerms::*number;
  ULONG NDK_ADAPTER_INFO::*limit;
  bool shared;  ///< a queue pair with a shared receive queue has it too
};

constexpr std::array<Limit, 5> kLimits = {{
    {"receive queue depth", &PairTerms::receive_depth, &NDK_ADAPTER_INFO::MaxReceiveQueueDepth, false},
    {"initiator queue depth", &PairTerms::initiator_depth, &NDK_ADAPTER_INFO::MaxInitiatorQueueDepth, true},
    {"buffers of a receive", &PairTerms::receive_sges, &NDK_ADAPTER_INFO::MaxReceiveRequestSge, false},
    {"buffers of a request", &PairTerms::initiator_sges, &NDK_ADAPTER_INFO::MaxInitiatorRequestSge, true},
    {"inline data", &PairTerms::inline_bytes, &NDK_ADAPTER_INFO::MaxInlineDataSize, true},
}};

NdkStatus make_pair(NdkBench& ndk, NDK_CQ* cq, NdkShared* shared, const PairTerms& n) {
  NDK_PD* const domain = ndk.a().pd();
  const auto& made = ndk.create<NDK_QP>([&](auto c, PVOID x, NDK_QP** p) {
    if (shared != nullptr) {
      return domain->Dispatch->NdkCreateQpWithSrq(domain, cq, cq, shared->srq, nullptr, n.initiator_depth, n.initiator_sges, n.inline_bytes,
                                                  c, x, p);
    }
    return domain->Dispatch->NdkCreateQp(domain, cq, cq, nullptr, n.receive_depth, n.initiator_depth, n.receive_sges, n.initiator_sges,
                                         n.inline_bytes, c, x, p);
  });
  if (made.made() != nullptr) ndk.close(made.made());
  return made.end();
}

NdkStatus make_queue(NdkBench& ndk, ULONG depth) {
  NDK_ADAPTER* const adapter = ndk.a().adapter();
  NdkQueue& nobodys = ndk.keep(std::make_unique<NdkQueue>());
  const auto& made = ndk.create<NDK_CQ>([&](auto c, PVOID x, NDK_CQ** p) {
    return adapter->Dispatch->NdkCreateCq(adapter, depth, &NdkQueue::on_notify, &nobodys, nullptr, c, x, p);
  });
  if (made.made() != nullptr) ndk.close(made.made());
  return made.end();
}

NdkStatus make_shared_queue(NdkBench& ndk, ULONG depth, ULONG sges) {
  NDK_PD* const domain = ndk.a().pd();
  const auto& made = ndk.create<NDK_SRQ>([&](auto c, PVOID x, NDK_SRQ** p) {
    return domain->Dispatch->NdkCreateSrq(domain, depth, sges, 0, nullptr, nullptr, nullptr, c, x, p);
  });
  if (made.made() != nullptr) ndk.close(made.made());
  return made.end();
}

NdkStatus resize(NdkBench& ndk, NdkQueue& queue, ULONG depth) {
  return ndk.request([&](auto c, PVOID x) { return queue.cq->Dispatch->NdkResizeCq(queue.cq, depth, c, x); });
}

/// What a queue tells of its completions, by the rule of the interface: one callback for an arm, for entries that are newer than
/// the last callback; ANY wins over SOLICITED.
class ArmModel {
 public:
  /// Whether the callback comes now.
  bool settles() {
    const std::uint64_t from = std::max(told_, taken_);
    const bool due = armed_ == NDK_CQ_NOTIFY_ANY ? added_ > from : armed_ == NDK_CQ_NOTIFY_SOLICITED && solicited_ > from;
    if (!due) return false;
    armed_ = 0;
    told_ = added_;
    return true;
  }
  void add(bool solicited) {
    ++added_;
    if (solicited) solicited_ = added_;
  }
  void arm(ULONG type) {
    if (armed_ != NDK_CQ_NOTIFY_ANY) armed_ = type;
  }
  void take(std::uint64_t count) { taken_ += count; }
  std::uint64_t present() const { return added_ - taken_; }

 private:
  std::uint64_t added_ = 0, taken_ = 0, told_ = 0, solicited_ = 0;
  ULONG armed_ = 0;  // NDK_CQ_NOTIFY_ERRORS is as good as none here
};

}  // namespace

CONFORMANCE_CASE(ndk_queue_pairs_have_both_sides_of_each_limit, "ndk.qp.limits", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const NDK_ADAPTER_INFO info = ndk.a().info();
  NDK_CQ* const cq = ndk.a().queue().cq;
  NdkShared& shared = ndk.a().shared_receive_queue();
  for (const Limit& limit : kLimits) {
    PairTerms at, beyond;
    at.*limit.number = info.*limit.limit;
    beyond.*limit.number = info.*limit.limit + 1;
    says(check, std::string(limit.what) + " as the adapter declares", make_pair(ndk, cq, nullptr, at), {STATUS_SUCCESS});
    refused(check, std::string(limit.what) + ", one more", make_pair(ndk, cq, nullptr, beyond));
    if (!limit.shared) continue;
    says(check, std::string(limit.what) + " with a shared receive queue, as the adapter declares", make_pair(ndk, cq, &shared, at),
         {STATUS_SUCCESS});
    refused(check, std::string(limit.what) + " with a shared receive queue, one more", make_pair(ndk, cq, &shared, beyond));
  }
}

CONFORMANCE_CASE(ndk_queues_have_both_limits, "ndk.cq.depth", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const ULONG most = ndk.a().info().MaxCqDepth;
  says(check, "NdkCreateCq with one entry", make_queue(ndk, 1), {STATUS_SUCCESS});
  says(check, "NdkCreateCq of MaxCqDepth", make_queue(ndk, most), {STATUS_SUCCESS});
  for (const ULONG depth : {ULONG{0}, most + 1}) refused(check, "NdkCreateCq with " + words(depth) + " entries", make_queue(ndk, depth));
}

CONFORMANCE_CASE(ndk_shared_queues_have_both_sides_of_each_limit, "ndk.srq.limits", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const NDK_ADAPTER_INFO info = ndk.a().info();
  says(check, "NdkCreateSrq with one entry", make_shared_queue(ndk, 1, 1), {STATUS_SUCCESS});
  says(check, "NdkCreateSrq of MaxSrqDepth", make_shared_queue(ndk, info.MaxSrqDepth, 1), {STATUS_SUCCESS});
  says(check, "NdkCreateSrq of MaxReceiveRequestSge", make_shared_queue(ndk, 4, info.MaxReceiveRequestSge), {STATUS_SUCCESS});
  refused(check, "NdkCreateSrq with one entry too many", make_shared_queue(ndk, info.MaxSrqDepth + 1, 1));
  refused(check, "NdkCreateSrq with one buffer too many", make_shared_queue(ndk, 4, info.MaxReceiveRequestSge + 1));
  refused(check, "NdkCreateSrq without entries", make_shared_queue(ndk, 0, 1));
  const NdkMemory& memory = ndk.a().memory(4096);
  for (const ULONG sges : {ULONG{1}, ULONG{2}, info.MaxReceiveRequestSge}) {
    NDK_SRQ* const queue = shared_queue_of(ndk, ndk.a().pd(), 4, sges);
    const std::vector<NDK_SGE> pieces(sges + 1, memory.sge(0, 1));
    refused(check, "NdkSrqReceive with " + words(sges + 1) + " buffers in a queue for " + words(sges),
            queue->Dispatch->NdkSrqReceive(queue, ndk_tag(1), pieces.data(), sges + 1));
    says(check, "NdkSrqReceive with " + words(sges) + " buffers", queue->Dispatch->NdkSrqReceive(queue, ndk_tag(2), pieces.data(), sges),
         {STATUS_SUCCESS});
  }
}

CONFORMANCE_CASE(ndk_fast_regions_have_both_limits, "ndk.fast.limit", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const ULONG most = ndk.a().info().FRMRPageCount;
  const auto initialize = [&](ULONG pages) {
    NDK_MR* const region = ndk.a().region(true);
    return ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkInitializeFastRegisterMr(region, pages, 1, c, x); });
  };
  for (const ULONG pages : {ULONG{1}, most})
    says(check, "a fast region of " + words(pages) + " pages", initialize(pages), {STATUS_SUCCESS});
  says(check, "a fast region of one page too many", initialize(most + 1), {STATUS_IMPLEMENTATION_LIMIT});
  refused(check, "a fast region without pages", initialize(0));
}

CONFORMANCE_CASE(ndk_requests_have_both_sides_of_each_limit, "ndk.qp.full-initiator", roles::provider) {
  NdkBench& ndk = bench.ndk();
  // NDK queues are as deep as they were made: nothing of the kind "one more" is spoken of.
  for (const ULONG depth : {1u, 3u, 8u, 13u}) {
    NdkConnection& c = ndk.connect({.a = {.depth = depth, .sges = 2, .inline_bytes = 16}, .b = {.depth = 64}});
    for (int round = 0; round < 3; ++round) {
      ULONG taken = 0;
      NdkStatus called;
      while (taken <= 4096 && (called = c.a.send(taken, 0, 1)) == STATUS_SUCCESS) ++taken;
      check.that(taken >= depth, "a queue takes as many requests as it was made for", "it took " + words(taken));
      says(check, "one more", called, {STATUS_NO_MORE_ENTRIES, STATUS_INSUFFICIENT_RESOURCES});
      if (taken > 60) break;
      for (ULONG i = 0; i < taken; ++i) arranged_by(check, "NdkReceive", c.b.receive(i));
      for (ULONG i = 0; i < taken; ++i) {
        const NDK_RESULT_EX result = next_result(ndk, check, c.a, "a Send");
        says(check, "a Send", result.Status, {STATUS_SUCCESS});
        check.that(result.RequestContext == ndk_tag(i), "Sends end in their order", "they do not");
        next_result(ndk, check, c.b, "a Receive");
      }
    }
  }
}

CONFORMANCE_CASE(ndk_another_depth_keeps_results_at_any_place, "ndk.cq.resize", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0, "queues get other depths");
  NdkConnection& c = ndk.connect({.a = {.depth = 32}, .b = {.depth = 32}});
  std::uintptr_t next = 1, first = 1;
  constexpr std::array<ULONG, 8> kDepths = {41, 300, 37, 13, 40, 300, 14, 600};
  for (std::size_t round = 0; round < 48; ++round) {
    for (int i = 0; i < 13; ++i) {
      arranged_by(check, "NdkReceive", c.b.receive(next++));
      arranged_by(check, "NdkSend", c.a.send(1, 0, 4, i < 12 ? NDK_OP_FLAG_SILENT_SUCCESS : 0));
    }
    ends_as(ndk, check, c.a, "the last Send", {STATUS_SUCCESS});
    ndk.pass(Duration::us(100));
    resize(ndk, *c.b.queue, 12);  // less than what is there: whatever it answers, nothing is lost
    says(check, "NdkResizeCq", resize(ndk, *c.b.queue, kDepths[round % 8]), {STATUS_SUCCESS});
    ULONG taken = 0;
    for (const ULONG asked : {1u, 5u, 16u}) {
      NDK_RESULT_EX results[16] = {};
      const ULONG count = c.b.queue->cq->Dispatch->NdkGetCqResultsEx(c.b.queue->cq, results, asked);
      check.that(count <= asked, "NdkGetCqResultsEx returns no more than it is asked for", "it returns " + words(count));
      for (ULONG i = 0; i < std::min<ULONG>(count, 16); ++i) {
        check.that(results[i].RequestContext == ndk_tag(first++), "the results are in order", "they are not");
        check.equal("bytes of a message", results[i].BytesTransferred, ULONG{4});
      }
      taken += count;
    }
    if (!check.equal("results", taken, ULONG{13})) return;
  }
}

CONFORMANCE_CASE(ndk_a_queue_holds_what_it_was_made_for, "ndk.qp.order", roles::provider) {
  // More than providers handle in one go.
  constexpr ULONG kMessages = 100;
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect({.a = {.depth = kMessages}, .b = {.depth = kMessages}, .queue_depth = kMessages});
  for (int round = 0; round < 3; ++round) {
    c.b.queue->notified = 0;
    for (std::uintptr_t i = 0; i < kMessages; ++i) check.require(c.b.receive(1000 + i, i * 8, 8) == STATUS_SUCCESS, "NdkReceive is taken");
    c.b.queue->arm(NDK_CQ_NOTIFY_ANY);
    for (std::uintptr_t i = 0; i < kMessages; ++i) check.require(c.a.send(2000 + i, i * 16, 8) == STATUS_SUCCESS, "NdkSend is taken");
    ndk.pass(kNdkQuiet);
    check.equal("callbacks", c.b.queue->notified, 1);
    // Both forms of a result say the same; what is behind the results stays as it was.
    std::vector<NDK_RESULT_EX> results(kMessages + 1);
    std::vector<NDK_RESULT> plain(kMessages + 1);
    std::memset(results.data(), 0x5C, results.size() * sizeof results[0]);
    std::memset(plain.data(), 0x5C, plain.size() * sizeof plain[0]);
    const NDK_RESULT_EX untouched = results.back();
    const NDK_RESULT untouched_plain = plain.back();
    check.equal("results", c.b.queue->cq->Dispatch->NdkGetCqResultsEx(c.b.queue->cq, results.data(), kMessages), kMessages);
    check.equal("plain results", c.a.queue->cq->Dispatch->NdkGetCqResults(c.a.queue->cq, plain.data(), kMessages), kMessages);
    for (std::uintptr_t i = 0; i < kMessages; ++i) {
      const bool in_order = results[i].RequestContext == ndk_tag(1000 + i) && plain[i].RequestContext == ndk_tag(2000 + i);
      if (!check.that(in_order, "results come in the order of their requests", "they do not")) return;
      says(check, "a Receive", results[i].Status, {STATUS_SUCCESS});
      says(check, "a Send", plain[i].Status, {STATUS_SUCCESS});
      check.equal("bytes of a message", results[i].BytesTransferred, ULONG{8});
      check.bytes("a message", ByteView(c.b.memory->bytes).subspan(i * 8, 8), ByteView(c.a.memory->bytes).subspan(i * 16, 8));
    }
    check.that(std::memcmp(&results.back(), &untouched, sizeof untouched) == 0, "what is behind the results stays as it was",
               "it does not");
    check.that(std::memcmp(&plain.back(), &untouched_plain, sizeof untouched_plain) == 0, "what is behind the results stays as it was",
               "it does not");
    check.equal("further results", c.b.queue->cq->Dispatch->NdkGetCqResultsEx(c.b.queue->cq, results.data(), 4), ULONG{0});
  }
}

CONFORMANCE_CASE(ndk_callbacks_follow_the_rule, "ndk.cq.notify-unarmed", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect({.a = {.depth = 60}, .b = {.depth = 60}});
  NdkQueue& queue = *c.b.queue;
  ArmModel model;
  int expected = 0;
  Rng rng(0x61726D);  // always the same turns
  for (int turn = 0; turn < 400; ++turn) {
    switch (rng.next() % 6) {
      case 0:
      case 1: {
        const bool solicited = rng.next() % 2 == 0;
        if (model.present() > 40) break;
        arranged_by(check, "NdkReceive", c.b.receive(1));
        arranged_by(check, "NdkSend", c.a.send(1, 0, 4, solicited ? NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT : 0));
        ends_as(ndk, check, c.a, "a Send", {STATUS_SUCCESS});
        model.add(solicited);
        break;
      }
      case 2:
      case 3: {
        constexpr std::array<ULONG, 3> kTypes = {NDK_CQ_NOTIFY_ANY, NDK_CQ_NOTIFY_SOLICITED, NDK_CQ_NOTIFY_ERRORS};
        const ULONG type = kTypes[rng.next() % 3];
        queue.arm(type);
        if (type != NDK_CQ_NOTIFY_ERRORS) model.arm(type);
        break;
      }
      default: {
        NDK_RESULT_EX results[8];
        const auto most = static_cast<ULONG>(rng.next() % 8 + 1);
        const ULONG count = queue.cq->Dispatch->NdkGetCqResultsEx(queue.cq, results, most);
        check.equal("results", count, static_cast<ULONG>(std::min<std::uint64_t>(most, model.present())));
        model.take(count);
        break;
      }
    }
    ndk.pass(Duration::ms(1));
    if (model.settles()) ++expected;
    if (!check.equal("callbacks", queue.notified, expected)) return;
    if (expected > 0) says(check, "status of the callback", queue.status, {STATUS_SUCCESS});
  }
}

CONFORMANCE_CASE(ndk_moderation_has_an_interval_and_a_count, "ndk.cq.moderation", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition((ndk.b().info().AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED) != 0, "queues can be moderated");
  constexpr ULONG kInfinite = ~ULONG{0};
  struct Try {
    ULONG interval_us, count;
    int messages;
    Duration before;  ///< not yet called back
    Duration after;   ///< called back
  };
  NdkConnection& c = ndk.connect({.a = {.depth = 60}, .b = {.depth = 60}});
  NdkQueue& queue = *c.b.queue;
  for (const Try& one : {Try{0, 10, 1, Duration(), Duration::ms(1)}, Try{500'000, 0, 1, Duration(), Duration::ms(1)},
                         Try{500'000, 1, 1, Duration(), Duration::ms(1)}, Try{500'000, 4, 3, Duration::ms(450), Duration::ms(60)},
                         Try{500'000, 4, 4, Duration(), Duration::ms(1)}, Try{kInfinite, 4, 3, Duration::s(5000), Duration()},
                         Try{200'000, kInfinite, 3, Duration::ms(150), Duration::ms(60)}}) {
    const std::string what = words(one.messages) + " messages with interval " + words(one.interval_us) + " and count " + words(one.count);
    says(check, "NdkControlCqInterruptModeration",
         queue.cq->Dispatch->NdkControlCqInterruptModeration(queue.cq, one.interval_us, one.count), {STATUS_SUCCESS});
    queue.notified = 0;
    queue.arm(NDK_CQ_NOTIFY_ANY);
    for (int i = 0; i < one.messages; ++i) {
      arranged_by(check, "NdkReceive", c.b.receive(1));
      arranged_by(check, "NdkSend", c.a.send(1, 0, 4, NDK_OP_FLAG_SILENT_SUCCESS));
    }
    if (one.before != Duration()) {
      ndk.pass(one.before);
      check.equal("callbacks too early: " + what, queue.notified, 0);
    }
    if (one.after != Duration()) {
      ndk.pass(one.after);
      check.equal("callbacks: " + what, queue.notified, 1);
    }
    queue.look();
    check.equal("results: " + what, queue.results.size(), static_cast<std::size_t>(one.messages));
    queue.results.clear();
    // Off again, so that the next begins with a queue that waits for nothing.
    queue.cq->Dispatch->NdkControlCqInterruptModeration(queue.cq, 0, 0);
    queue.arm(NDK_CQ_NOTIFY_ANY);
    arranged_by(check, "NdkReceive", c.b.receive(1));
    arranged_by(check, "NdkSend", c.a.send(1, 0, 4, NDK_OP_FLAG_SILENT_SUCCESS));
    ndk.pass(Duration::ms(1));
    queue.look();
    queue.results.clear();
  }
}

CONFORMANCE_CASE(ndk_a_threshold_is_exact, "ndk.srq.threshold", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const ULONG threshold : {1u, 2u, 5u, 8u}) {
    NdkShared& shared = ndk.b().shared_receive_queue(8, threshold);
    NdkConnection& c = ndk.connect({.b = {.shared = &shared}});
    for (std::uintptr_t i = 0; i < 8; ++i) check.require(c.b.receive(i, 64 * i, 64) == STATUS_SUCCESS, "NdkSrqReceive is taken");
    for (ULONG left = 8; left > 0; --left) {
      ndk.pass(Duration::ms(1));
      const std::string at = "with " + words(left) + " receives and the threshold " + words(threshold);
      if (!check.equal("callbacks " + at, shared.notified, left < threshold ? 1 : 0) || left < threshold) break;
      arranged_by(check, "NdkSend", c.a.send(1, 0, 4, NDK_OP_FLAG_SILENT_SUCCESS));
      const NDK_RESULT_EX result = next_result(ndk, check, c.b, "a shared receive");
      check.that(result.RequestContext == ndk_tag(8 - left), "shared receives are used in their order", "they are not");
    }
    ndk.pass(Duration::ms(1));
    check.equal("callbacks in the end, with the threshold " + words(threshold), shared.notified, 1);
  }
}

CONFORMANCE_CASE(ndk_a_shared_queue_shrinks_to_what_is_posted, "ndk.srq.shrink", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkShared& shared = ndk.b().shared_receive_queue(8);
  const ULONG most = ndk.b().info().MaxSrqDepth;
  const NDK_SGE into = ndk.b().memory(4096).sge(0, 64);
  const auto post = [&](std::uintptr_t tag) { return NdkStatus(shared.srq->Dispatch->NdkSrqReceive(shared.srq, ndk_tag(tag), &into, 1)); };
  const auto modify = [&](ULONG depth) {
    return ndk.request([&](auto c, PVOID x) { return shared.srq->Dispatch->NdkModifySrq(shared.srq, depth, 0, c, x); });
  };
  for (std::uintptr_t i = 0; i < 5; ++i) check.require(post(i) == STATUS_SUCCESS, "NdkSrqReceive is taken");
  refused(check, "NdkModifySrq below what is posted", modify(4));
  says(check, "NdkModifySrq to what is posted", modify(5), {STATUS_SUCCESS});
  refused(check, "NdkSrqReceive to a full queue", post(9));
  says(check, "NdkModifySrq to the limit", modify(most), {STATUS_SUCCESS});
  refused(check, "NdkModifySrq over the limit", modify(most + 1));
  says(check, "NdkModifySrq to more", modify(12), {STATUS_SUCCESS});
  for (std::uintptr_t i = 5; i < 12; ++i) says(check, "NdkSrqReceive to a queue of twelve", post(i), {STATUS_SUCCESS});
  refused(check, "NdkSrqReceive to a full queue", post(12));
}

}  // namespace fb::conformance
