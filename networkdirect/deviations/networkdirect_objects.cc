// What a careless provider of NetworkDirect does with its objects.
#include "model/deviations/deviation.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::deviations {

namespace departure = networkdirect::departure;

DEVIATION(nd_unknown_unanswered, "networkdirect.objects.unknown", Product::nd_provider, "does not answer for IUnknown",
          Departs{departure::kUnknownUnanswered});
DEVIATION(nd_overlapped_unanswered, "networkdirect.objects.interfaces", Product::nd_provider,
          "has completion queues that do not answer for IND2Overlapped", Departs{departure::kOverlappedUnanswered});
DEVIATION(nd_answers_any_interface, "networkdirect.objects.foreign-interface", Product::nd_provider,
          "hands out its objects for any interface", Departs{departure::kAnswersAnyInterface});
DEVIATION(nd_create_ignores_interface, "networkdirect.objects.created-interface", Product::nd_provider,
          "makes objects whatever interface was asked for", Departs{departure::kCreateIgnoresInterface});
DEVIATION(nd_release_not_zero, "networkdirect.objects.count", Product::nd_provider, "counts references of its own",
          Departs{departure::kReleaseNotZero});
DEVIATION(nd_adapter_release_ends, "networkdirect.objects.adapter-first", Product::nd_provider,
          "registers no memory once the adapter was released", Departs{departure::kAdapterReleaseEnds});
DEVIATION(nd_release_unnoticed, "networkdirect.objects.any-order", Product::nd_provider, "does not notice that its peer went away",
          Departs{departure::kDisconnectUnnoticed});

}  // namespace fb::deviations
