// What programs get of a device on a consumer of NetworkDirect.
#include <array>
#include <span>

#include "networkdirect/cases/consumer_apart.h"
#include "networkdirect/cases/consumer_company.h"
#include "networkdirect/cases/consumer_details.h"
#include "networkdirect/cases/consumer_limits.h"
#include "networkdirect/cases/consumer_walk.h"
#include "networkdirect/cases/networkdirect/consumer_scene.h"

namespace fb::conformance {
namespace {

/// A sweep on each of these kinds of provider, and the verifier's word on all of it.
template <class Sweep>
void judge(ConsumerBench& bench, Check& check, std::span<const std::string_view> kinds, Sweep&& sweep) {
  for (const std::string_view kind : kinds) {
    const auto nd = bench.make_nd({.behaviour = networkdirect::parse_behaviour(kind).value()});
    judge_sweep(*nd, check, sweep);
  }
}

/// All that a provider may be, as far as a consumer meets it in a case that is short. With data-anytime nobody gets the data of a refusal.
constexpr std::array<std::string_view, 4> kEveryKind = {"document,answers=drawn", "document,answers=at-once,order=after-response",
                                                        "connectx-3,-data-anytime", "strict"};
/// Of cases that are long.
constexpr std::array<std::string_view, 2> kTwoKinds = {"document,answers=drawn", "strict"};

/// Each limit of the interface that a device's own comes from.
const std::vector<DeclaredLimit>& declared_limits() {
  constexpr auto entries = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_queue_entries; };
  constexpr auto sges = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_sges; };
  constexpr auto reads = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_reads; };
  constexpr auto inlined = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_inline_bytes; };
  constexpr auto message = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_message_bytes; };
  static const std::vector<DeclaredLimit> kLimits = {{"MaxReceiveQueueDepth=20", "queue entries", entries, 20},
                                                     {"MaxInitiatorQueueDepth=21", "queue entries", entries, 21},
                                                     {"MaxCompletionQueueDepth=22", "queue entries", entries, 22},
                                                     {"MaxSharedReceiveQueueDepth=23", "queue entries", entries, 23},
                                                     {"MaxSharedReceiveQueueDepth=1", "queue entries", entries, 1},
                                                     {"MaxSharedReceiveQueueDepth=0,MaxReceiveQueueDepth=24", "queue entries", entries, 24},
                                                     {"MaxInitiatorSge=3", "buffers", sges, 3},
                                                     {"MaxReceiveSge=2", "buffers", sges, 2},
                                                     {"MaxReadSge=1", "buffers", sges, 1},
                                                     {"MaxInboundReadLimit=5", "Reads", reads, 5},
                                                     {"MaxOutboundReadLimit=6", "Reads", reads, 6},
                                                     {"MaxInlineDataSize=60", "inline data", inlined, 60},
                                                     {"MaxInlineDataSize=0", "inline data", inlined, 0},
                                                     {"MaxTransferLength=9000", "bytes of a message", message, 9000}};
  return kLimits;
}

/// A window over a part of the program's region: bound, invalidated, and bound anew elsewhere.
void use_window(ConsumerStage& stage, NdLine& line, const auto& step) {
  NdProgram& program = stage.program();
  const auto ends = [&](bool taken) {
    if (!taken) throw CannotArrange{"it is not taken"};
    const auto done = program.completion();
    if (!done) throw NeverCame{{"a request does not complete"}};
    if (done->status != rdma::CompletionStatus::success) throw CannotArrange{std::string(rdma::name_of(done->status))};
    return true;
  };
  const auto window = step("a window", [&] {
    auto made = std::shared_ptr<networkdirect::WindowRegion>(networkdirect::create_memory_window(program.device()));
    if (made == nullptr) throw CannotArrange{"the consumer makes no window"};
    return made;
  });
  for (const std::uint64_t offset : {0u, 5000u}) {
    step("a Bind", [&] { return ends(window->bind(line.qp(), 501, program.region(), offset, 700, rdma::Access::remote_read)); });
    // Nobody reads through it here: what a peer would say of it is where the heap put the program's memory.
    step("an Invalidate", [&] { return ends(window->invalidate(line.qp(), 502)); });
  }
}

}  // namespace

CONFORMANCE_CASE(nd_consumer_moves_bytes_of_every_shape, "networkdirect.consumer.remote-token", roles::consumer) {
  judge(bench, check, kTwoKinds, [&](ConsumerStage& stage) {
    ConsumerSweep api(stage);
    TransferSweep(api, check).run();
  });
  judge(bench, check, kTwoKinds, [&](ConsumerStage& stage) { sweep_region_rights(stage, check); });
  judge(bench, check, std::array<std::string_view, 1>{"document,+no-chosen-address"},
        [&](ConsumerStage& stage) { sweep_own_addresses(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_moves_bytes_to_who_asked_it, "networkdirect.consumer.buffer-unchanged", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) {
    ConsumerSweep api(stage, false, true);
    TransferSweep sweep(api, check);
    for (const int from : {0, 1}) sweep.bursts(from);
  });
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_marks(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_has_the_results_of_any_history, "networkdirect.consumer.remote-token", roles::consumer) {
  std::uint64_t seed = 61;
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_histories(stage, check, seed++); });
}

CONFORMANCE_CASE(nd_consumer_shares_receives, "networkdirect.consumer.buffer-token", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_shared(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_connects_in_every_way, "networkdirect.consumer.complete-connect", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_connections(stage, check); });
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_ports(stage, check); });
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_held_replies(stage, check, true); });
}

CONFORMANCE_CASE(nd_consumer_answers_in_every_way, "networkdirect.consumer.listen-once", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_listening(stage, check); });
  judge(bench, check, kTwoKinds, [&](ConsumerStage& stage) { sweep_request_order(stage, check, false); });
}

CONFORMANCE_CASE(nd_consumer_reports_failures, "networkdirect.consumer.buffer-range", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_failures(stage, check); });
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_unfit_messages(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_tells_of_completions, "networkdirect.consumer.notify-type", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_notices(stage, check); });
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_divided_queues(stage, check); });
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_waiting_results(stage, check, true); });
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_end_in_notice(stage, check); });
  judge(bench, check, std::array<std::string_view, 2>{"strict", "document,answers=at-once,+exact-queue"},
        [&](ConsumerStage& stage) { sweep_dead_queue(stage, check, 3); });
}

CONFORMANCE_CASE(nd_consumer_tells_of_completions_in_any_order, "networkdirect.consumer.notify-type", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_any_notices(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_tells_of_low_receives, "networkdirect.consumer.receive-shared", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_low_limits(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_ends_at_any_moment, "networkdirect.consumer.disconnect-once", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_endings(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_gives_up_an_attempt, "networkdirect.consumer.bind-first", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_withdrawals(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_keeps_connections_apart, "networkdirect.consumer.notify-disconnect", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_neighbours(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_tries_in_vain_and_again, "networkdirect.consumer.bind-first", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_unreachable(stage, check, true); });
}

CONFORMANCE_CASE(nd_consumer_has_both_sides_of_each_limit, "networkdirect.consumer.inline-room", roles::consumer) {
  judge(bench, check, kEveryKind, [&](ConsumerStage& stage) { sweep_limits(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_declares_the_least_of_the_limits, "networkdirect.consumer.inline-room", roles::consumer) {
  for (const DeclaredLimit& limit : declared_limits()) {
    const auto nd = bench.make_nd({.behaviour = networkdirect::parse_behaviour("document," + std::string(limit.behaviour)).value()});
    judge_sweep(*nd, check, [&](ConsumerStage& stage) {
      sweep_declared(stage, check, limit);
      const rdma::DeviceLimits limits = stage.program().device().limits();
      check.that(!limits.fast_registration && !limits.remote_invalidation, "the device declares no fast registration", "it does");
      check.equal("bytes of a fast region", limits.max_fast_register_bytes, 0u);
    });
  }
}

CONFORMANCE_CASE(nd_consumer_survives_every_refusal, "networkdirect.consumer.release-all", roles::consumer) {
  for (const std::string_view kind : {"document", "strict"}) {
    sweep_refusals(
        check, true,
        [&](std::uint64_t number) { return bench.make_nd({.behaviour = networkdirect::parse_behaviour(kind).value(), .refuses = number}); },
        [&](ConsumerStage& stage, bool again) {
          use_everything(stage, check, again, [&](NdLine& line, const auto& step) { use_window(stage, line, step); });
        });
  }
}

}  // namespace fb::conformance
