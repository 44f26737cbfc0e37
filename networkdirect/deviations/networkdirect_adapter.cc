// What a careless provider of NetworkDirect does with its adapters.
#include "model/deviations/deviation.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::deviations {

namespace departure = networkdirect::departure;

DEVIATION(nd_short_list_touched, "networkdirect.provider.list-short", Product::nd_provider,
          "writes to a buffer that is too small for the address list", Departs{departure::kShortListTouched});
DEVIATION(nd_resolve_minds_port, "networkdirect.provider.resolve-port", Product::nd_provider, "resolves no address that has a port",
          Departs{departure::kResolveMindsPort});
DEVIATION(nd_resolve_anything, "networkdirect.provider.resolve-foreign", Product::nd_provider,
          "resolves foreign addresses to its first adapter", Departs{departure::kResolveAnything});
DEVIATION(nd_opens_any_id, "networkdirect.provider.open-id", Product::nd_provider,
          "opens its first adapter for an id that it does not know", Departs{departure::kOpensAnyId});
DEVIATION(nd_info_version_changed, "networkdirect.adapter.info-version", Product::nd_provider,
          "says another version of the information than was asked for", Departs{departure::kInfoVersionChanged});
DEVIATION(nd_info_version_unchecked, "networkdirect.adapter.info-unknown-version", Product::nd_provider,
          "answers in any version of the information", Departs{departure::kInfoVersionUnchecked});
DEVIATION(nd_info_exact_size_refused, "networkdirect.adapter.info-size", Product::nd_provider,
          "wants a larger buffer than the information takes", Departs{departure::kInfoExactSizeRefused});
DEVIATION(nd_info_adapter_id_wrong, "networkdirect.adapter.info-id", Product::nd_provider,
          "says another id than the one it was opened with", Departs{departure::kInfoAdapterIdWrong});
DEVIATION(nd_info_read_sge_too_large, "networkdirect.adapter.info-read-sge", Product::nd_provider,
          "promises more buffers for Reads than for requests", Departs{departure::kInfoReadSgeTooLarge});
DEVIATION(nd_info_threshold_too_large, "networkdirect.adapter.info-inline", Product::nd_provider,
          "advises inline data that it does not take", Departs{departure::kInfoThresholdTooLarge});
DEVIATION(nd_info_caller_data_small, "networkdirect.adapter.info-caller-data", Product::nd_provider,
          "carries 32 bytes of private data with a request", Departs{departure::kInfoCallerDataSmall});
DEVIATION(nd_info_callee_data_small, "networkdirect.adapter.info-callee-data", Product::nd_provider,
          "carries 32 bytes of private data with a reply", Departs{departure::kInfoCalleeDataSmall});
DEVIATION(nd_info_registration_small, "networkdirect.adapter.info-registration", Product::nd_provider,
          "registers no more than 1 MiB at a time", Departs{departure::kInfoRegistrationSmall});
DEVIATION(nd_info_not_in_order, "networkdirect.adapter.info-in-order", Product::nd_provider, "does not say that data is placed in order",
          Departs{departure::kInfoNotInOrder});
DEVIATION(nd_adapter_list_empty, "networkdirect.adapter.address-list", Product::nd_provider, "lists no address of an adapter",
          Departs{departure::kAdapterListEmpty});
DEVIATION(nd_depth_unchecked, "networkdirect.adapter.queue-depth", Product::nd_provider, "makes completion queues of any depth",
          Departs{departure::kDepthUnchecked});
DEVIATION(nd_affinity_refused, "networkdirect.adapter.queue-affinity", Product::nd_provider, "refuses completion queues with an affinity",
          Departs{departure::kAffinityRefused});
DEVIATION(nd_pair_receive_depth_unchecked, "networkdirect.adapter.pair-receive-depth", Product::nd_provider,
          "makes queue pairs with a receive queue deeper than MaxReceiveQueueDepth", Departs{departure::kReceiveDepthUnchecked});
DEVIATION(nd_pair_initiator_depth_unchecked, "networkdirect.adapter.pair-initiator-depth", Product::nd_provider,
          "makes queue pairs with an initiator queue deeper than MaxInitiatorQueueDepth", Departs{departure::kInitiatorDepthUnchecked});
DEVIATION(nd_pair_receive_sges_unchecked, "networkdirect.adapter.pair-receive-sges", Product::nd_provider,
          "makes queue pairs with more buffers for a Receive than MaxReceiveSge", Departs{departure::kReceiveSgesUnchecked});
DEVIATION(nd_pair_initiator_sges_unchecked, "networkdirect.adapter.pair-initiator-sges", Product::nd_provider,
          "makes queue pairs with more buffers for a request than MaxInitiatorSge", Departs{departure::kInitiatorSgesUnchecked});
DEVIATION(nd_pair_inline_bytes_unchecked, "networkdirect.adapter.pair-inline", Product::nd_provider,
          "makes queue pairs with more inline data than MaxInlineDataSize", Departs{departure::kInlineBytesUnchecked});
DEVIATION(nd_queue_number_wrong, "networkdirect.adapter.pair-queues", Product::nd_provider,
          "names the wrong parameter for a bad initiator queue", Departs{departure::kQueueNumberWrong});
DEVIATION(nd_maxima_together_refused, "networkdirect.adapter.pair-maxima", Product::nd_provider,
          "refuses queue pairs that ask for all maxima", Departs{departure::kMaximaTogetherRefused});
DEVIATION(nd_shallow_queue_refused, "networkdirect.adapter.pair-deeper", Product::nd_provider,
          "refuses completion queues that are shallower than the queue pair", Departs{departure::kShallowQueueRefused});
DEVIATION(nd_shared_depth_unchecked, "networkdirect.adapter.shared-depth", Product::nd_provider, "makes shared receive queues of any depth",
          Departs{departure::kSharedDepthUnchecked});
DEVIATION(nd_shared_sges_unchecked, "networkdirect.adapter.shared-sges", Product::nd_provider,
          "makes shared receive queues for any number of buffers", Departs{departure::kSharedSgesUnchecked});

}  // namespace fb::deviations
