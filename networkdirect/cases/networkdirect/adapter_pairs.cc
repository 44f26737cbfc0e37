// The limits of queue pairs and shared receive queues, as an adapter judges them.
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

struct PairNumbers {
  ULONG receive_depth = 4, initiator_depth = 4, receive_sges = 1, initiator_sges = 1, inline_bytes = 0;
};

NdStatus make_pair(NdEnd& end, IUnknown& receives, IUnknown& initiators, const PairNumbers& n) {
  NdRef<IND2QueuePair> pair;
  return end.adapter().CreateQueuePair(IID_IND2QueuePair, &receives, &initiators, nullptr, n.receive_depth, n.initiator_depth,
                                       n.receive_sges, n.initiator_sges, n.inline_bytes, pair.out());
}

/// A queue pair with one of its numbers one over the limit.
void judge(ProviderBench& bench, Check& check, std::string_view what, ULONG PairNumbers::*number, ULONG ND2_ADAPTER_INFO::*limit,
           HRESULT expected) {
  NdEnd& end = bench.nd().a();
  const auto queue = end.completion_queue();
  PairNumbers numbers;
  says(check, "CreateQueuePair", make_pair(end, *queue, *queue, numbers), {ND_SUCCESS});
  numbers.*number = end.info().*limit + 1;
  says(check, what, make_pair(end, *queue, *queue, numbers), {expected});
}

NdStatus make_shared_queue(NdEnd& end, ULONG depth, ULONG sges) {
  NdRef<IND2SharedReceiveQueue> shared;
  return end.adapter().CreateSharedReceiveQueue(IID_IND2SharedReceiveQueue, end.file(), depth, sges, 0, 0, 0, shared.out());
}

ND2_ADAPTER_INFO with_shared_queues(ProviderBench& bench, Check& check) {
  const ND2_ADAPTER_INFO info = bench.nd().a().info();
  check.precondition(info.MaxSharedReceiveQueueDepth != 0, "the adapter has shared receive queues");
  return info;
}

}  // namespace

CONFORMANCE_CASE(nd_receive_depth_has_its_limit, "networkdirect.adapter.pair-receive-depth", roles::provider) {
  judge(bench, check, "a receive queue that is too deep", &PairNumbers::receive_depth, &ND2_ADAPTER_INFO::MaxReceiveQueueDepth,
        ND_INVALID_PARAMETER_5);
}

CONFORMANCE_CASE(nd_initiator_depth_has_its_limit, "networkdirect.adapter.pair-initiator-depth", roles::provider) {
  judge(bench, check, "an initiator queue that is too deep", &PairNumbers::initiator_depth, &ND2_ADAPTER_INFO::MaxInitiatorQueueDepth,
        ND_INVALID_PARAMETER_6);
}

CONFORMANCE_CASE(nd_receive_buffers_have_their_limit, "networkdirect.adapter.pair-receive-sges", roles::provider) {
  judge(bench, check, "too many buffers for a Receive", &PairNumbers::receive_sges, &ND2_ADAPTER_INFO::MaxReceiveSge,
        ND_INVALID_PARAMETER_7);
}

CONFORMANCE_CASE(nd_initiator_buffers_have_their_limit, "networkdirect.adapter.pair-initiator-sges", roles::provider) {
  judge(bench, check, "too many buffers for a request", &PairNumbers::initiator_sges, &ND2_ADAPTER_INFO::MaxInitiatorSge,
        ND_INVALID_PARAMETER_8);
}

CONFORMANCE_CASE(nd_inline_data_has_its_limit, "networkdirect.adapter.pair-inline", roles::provider) {
  judge(bench, check, "too much inline data", &PairNumbers::inline_bytes, &ND2_ADAPTER_INFO::MaxInlineDataSize, ND_INVALID_PARAMETER_9);
}

CONFORMANCE_CASE(nd_a_pair_wants_completion_queues, "networkdirect.adapter.pair-queues", roles::provider) {
  NdEnd& end = bench.nd().a();
  const auto queue = end.completion_queue();
  const auto region = end.empty_region();
  says(check, "a region in place of the receives' queue", make_pair(end, *region, *queue, {}), {ND_INVALID_PARAMETER_2});
  says(check, "a region in place of the initiator's queue", make_pair(end, *queue, *region, {}), {ND_INVALID_PARAMETER_3});
}

CONFORMANCE_CASE(nd_a_pair_may_have_all_maxima, "networkdirect.adapter.pair-maxima", roles::provider) {
  NdEnd& end = bench.nd().a();
  const ND2_ADAPTER_INFO info = end.info();
  const auto queue = end.completion_queue(2);
  says(
      check, "CreateQueuePair with all maxima",
      make_pair(end, *queue, *queue,
                {info.MaxReceiveQueueDepth, info.MaxInitiatorQueueDepth, info.MaxReceiveSge, info.MaxInitiatorSge, info.MaxInlineDataSize}),
      {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_pair_may_be_deeper_than_its_queue, "networkdirect.adapter.pair-deeper", roles::provider) {
  NdEnd& end = bench.nd().a();
  const auto queue = end.completion_queue(2);
  says(check, "CreateQueuePair", make_pair(end, *queue, *queue, {64, 64, 1, 1, 0}), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_shared_queue_has_its_limit, "networkdirect.adapter.shared-depth", roles::provider) {
  const ND2_ADAPTER_INFO info = with_shared_queues(bench, check);
  says(check, "a shared receive queue that is too deep", make_shared_queue(bench.nd().a(), info.MaxSharedReceiveQueueDepth + 1, 1),
       {ND_INVALID_PARAMETER_3});
}

CONFORMANCE_CASE(nd_shared_buffers_have_their_limit, "networkdirect.adapter.shared-sges", roles::provider) {
  const ND2_ADAPTER_INFO info = with_shared_queues(bench, check);
  says(check, "too many buffers for a shared Receive", make_shared_queue(bench.nd().a(), 4, info.MaxReceiveSge + 1),
       {ND_INVALID_PARAMETER_4});
}

}  // namespace fb::conformance
