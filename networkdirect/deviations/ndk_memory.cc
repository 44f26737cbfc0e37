// What a careless provider of NDK does with memory regions and memory windows.
#include "model/deviations/deviation.h"
#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::deviations {

namespace departure = ndk::departure;

DEVIATION(ndk_register_loses_remote, "ndk.mr.remote", Product::ndk_provider, "gives no remote rights",
          Departs{departure::kRegisterLosesRemote});
DEVIATION(ndk_register_grants_remote, "ndk.mr.no-remote", Product::ndk_provider, "gives all remote rights with every region",
          Departs{departure::kRegisterGrantsRemote});
DEVIATION(ndk_register_grants_write, "ndk.mr.read-only", Product::ndk_provider, "gives all remote rights with every region",
          Departs{departure::kRegisterGrantsRemote});
DEVIATION(ndk_register_grants_local_write, "ndk.mr.local-write", Product::ndk_provider, "writes to regions without that right",
          Departs{departure::kRegisterGrantsLocalWrite});
DEVIATION(ndk_register_length_unchecked, "ndk.mr.length", Product::ndk_provider, "registers more than the MDLs describe",
          Departs{departure::kRegisterLengthUnchecked});
DEVIATION(ndk_register_twice, "ndk.mr.one", Product::ndk_provider, "pretends to register a region twice",
          Departs{departure::kRegisterTwice});
DEVIATION(ndk_register_once, "ndk.mr.again", Product::ndk_provider, "registers a region once for all", Departs{departure::kRegisterOnce});
DEVIATION(ndk_read_sink_ignored, "ndk.mr.read-sink", Product::ndk_provider, "gives regions for the data of Reads no right to be written",
          Departs{departure::kReadSinkIgnored});
DEVIATION(ndk_register_flags_unchecked, "ndk.mr.flags", Product::ndk_provider, "registers with flags that do not exist",
          Departs{departure::kRegisterFlagsUnchecked});
DEVIATION(ndk_register_of_fast, "ndk.mr.kind", Product::ndk_provider, "pretends to register regions that are for fast registration",
          Departs{departure::kRegisterOfFast});
DEVIATION(ndk_region_too_long, "ndk.mr.bounds", Product::ndk_provider, "lets peers reach a little beyond regions",
          Departs{departure::kRegionTooLong});
DEVIATION(ndk_register_chain_unchecked, "ndk.mr.chain", Product::ndk_provider, "takes the first MDL for the whole chain",
          Departs{departure::kRegisterChainUnchecked});
DEVIATION(ndk_region_zero_based, "ndk.mr.base", Product::ndk_provider, "begins regions at zero", Departs{departure::kRegionZeroBased});
DEVIATION(ndk_deregister_keeps_keys, "ndk.mr.deregister", Product::ndk_provider, "keeps the tokens of regions that were deregistered",
          Departs{departure::kDeregisterKeepsKeys});
DEVIATION(ndk_deregister_with_windows, "ndk.mr.deregister-bound", Product::ndk_provider, "deregisters regions with windows",
          Departs{departure::kDeregisterWithWindows});
DEVIATION(ndk_bind_range_unchecked, "ndk.mw.range", Product::ndk_provider, "binds windows beyond their regions",
          Departs{departure::kBindRangeUnchecked});
DEVIATION(ndk_bind_rights_unchecked, "ndk.mw.rights", Product::ndk_provider, "binds windows for writes in regions without that right",
          Departs{departure::kBindRightsUnchecked});
DEVIATION(ndk_window_for_any_queue, "ndk.mw.queue", Product::ndk_provider, "opens windows for all connections",
          Departs{departure::kWindowForAnyQueue});
DEVIATION(ndk_window_grants_all, "ndk.mw.grants", Product::ndk_provider, "gives all rights with every window",
          Departs{departure::kWindowGrantsAll});
DEVIATION(ndk_window_invalidate_ignored, "ndk.mw.invalidate", Product::ndk_provider, "does not invalidate",
          Departs{departure::kInvalidateIgnored});
DEVIATION(ndk_domains_shared, "ndk.pd.tokens", Product::ndk_provider, "has one protection domain for all",
          Departs{departure::kDomainsShared});
DEVIATION(ndk_domains_mixed, "ndk.pd.objects", Product::ndk_provider, "takes a shared receive queue of any protection domain",
          Departs{departure::kDomainsMixed});
DEVIATION(ndk_local_token_cut, "ndk.mr.local-token", Product::ndk_provider, "does not look at the highest bit of local tokens",
          Departs{departure::kLocalTokenCut});
DEVIATION(ndk_region_too_long_for_owner, "ndk.mr.local-bounds", Product::ndk_provider, "lets requests reach beyond a region",
          Departs{departure::kRegionTooLong});

}  // namespace fb::deviations
