// What programs get of a device on a consumer of NetworkDirect.
#include "conformance/cases/consumer_sweep.h"
#include "conformance/runner/consumer_bench.h"

namespace fb::conformance {
namespace {

/// A sweep, and the verifier's word on all of it.
template <class Sweep>
void judge(ConsumerBench& bench, Check& check, Sweep&& sweep) {
  NdConsumer& nd = bench.nd();
  sweep(nd);
  ends_well(nd, check);
}

}  // namespace

CONFORMANCE_CASE(nd_consumer_moves_bytes_of_every_shape, "networkdirect.consumer.remote-token",
                 roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) {
    ConsumerSweep api(stage);
    TransferSweep(api, check).run();
  });
}

CONFORMANCE_CASE(nd_consumer_moves_bytes_to_who_asked_it, "networkdirect.consumer.buffer-unchanged",
                 roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) {
    ConsumerSweep api(stage, false, true);
    TransferSweep sweep(api, check);
    for (const int from : {0, 1}) sweep.bursts(from);
  });
}

CONFORMANCE_CASE(nd_consumer_shares_receives, "networkdirect.consumer.buffer-token",
                 roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_shared(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_connects_in_every_way, "networkdirect.consumer.complete-connect",
                 roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_connections(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_answers_in_every_way, "networkdirect.consumer.listen-once",
                 roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_listening(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_reports_failures, "networkdirect.consumer.buffer-range",
                 roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_failures(stage, check); });
}

CONFORMANCE_CASE(nd_consumer_tells_of_completions, "networkdirect.consumer.notify-type",
                 roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_notices(stage, check); });
}

}  // namespace fb::conformance
