// What a careless provider of NDK does with adapters and with what it tells about them.
#include "model/deviations/deviation.h"
#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::deviations {

namespace departure = ndk::departure;

DEVIATION(ndk_open_any_major, "ndk.adapter.open-major", Product::ndk_provider, "opens adapters of major versions that it does not have",
          Departs{departure::kOpenMajorUnchecked});
DEVIATION(ndk_open_any_minor, "ndk.adapter.open-minor", Product::ndk_provider, "opens adapters of minor versions that it does not have",
          Departs{departure::kOpenMinorUnchecked});
DEVIATION(ndk_open_says_lowest, "ndk.adapter.open-highest", Product::ndk_provider, "writes another version into headers",
          Departs{departure::kHeaderVersionWrong});
DEVIATION(ndk_header_version_wrong, "ndk.adapter.header-version", Product::ndk_provider, "writes another version into headers",
          Departs{departure::kHeaderVersionWrong});
DEVIATION(ndk_header_type_wrong, "ndk.adapter.header-type", Product::ndk_provider, "leaves the types out of headers",
          Departs{departure::kHeaderTypeWrong});
DEVIATION(ndk_header_reserved_dirty, "ndk.adapter.header-reserved", Product::ndk_provider,
          "keeps something of its own in the reserved part of headers", Departs{departure::kHeaderReservedDirty});
DEVIATION(ndk_tables_short, "ndk.adapter.tables", Product::ndk_provider, "leaves out the functions that later versions have added",
          Departs{departure::kTableShort});
DEVIATION(ndk_info_version_wrong, "ndk.adapter.info", Product::ndk_provider, "tells another version than its headers have",
          Departs{departure::kInfoVersionWrong});
DEVIATION(ndk_info_limit_missing, "ndk.adapter.info-limits", Product::ndk_provider, "tells no depth of completion queues",
          Departs{departure::kInfoLimitMissing});
DEVIATION(ndk_info_small_buffer_accepted, "ndk.adapter.info-small", Product::ndk_provider,
          "writes into buffers that are too small what fits", Departs{departure::kInfoSmallBufferAccepted});
DEVIATION(ndk_info_size_not_told, "ndk.adapter.info-size", Product::ndk_provider, "does not tell the size that it needs",
          Departs{departure::kInfoSizeNotTold});
DEVIATION(ndk_info_few_fast_pages, "ndk.adapter.info-fast-pages", Product::ndk_provider, "takes 15 pages for a fast registration",
          Departs{departure::kInfoFewFastPages});
DEVIATION(ndk_info_technology_missing, "ndk.adapter.info-technology", Product::ndk_provider, "does not tell what it speaks",
          Departs{departure::kInfoTechnologyMissing});
DEVIATION(ndk_info_long_for_old, "ndk.adapter.info-old", Product::ndk_provider, "wants room for later versions from consumers of version 1",
          Departs{departure::kInfoLongForOld});
DEVIATION(ndk_extension_answered, "ndk.adapter.extension", Product::ndk_provider, "says that it has any extension",
          Departs{departure::kExtensionAnswered});
DEVIATION(ndk_adapter_closes_early, "ndk.adapter.close-waits", Product::ndk_provider,
          "does not wait for the last callbacks when an adapter is closed", Departs{departure::kAdapterClosesEarly});
DEVIATION(ndk_dispatch_changes, "ndk.object.dispatch", Product::ndk_provider, "gives a connector another table when it completes",
          Departs{departure::kDispatchChanges});

}  // namespace fb::deviations
