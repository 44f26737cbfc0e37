// What a careless provider of NDK does with fast registration and logical addresses.
#include "model/deviations/deviation.h"
#include "networkdirect/ndk/provider/fault_points.h"

namespace fb::deviations {

namespace departure = ndk::departure;

DEVIATION(ndk_fast_limit_unchecked, "ndk.fast.limit", Product::ndk_provider, "promises any number of pages",
          Departs{departure::kFastLimitUnchecked});
DEVIATION(ndk_fast_pages_unchecked, "ndk.fast.pages", Product::ndk_provider, "takes any number of pages",
          Departs{departure::kFastPagesUnchecked});
DEVIATION(ndk_fast_offset_unchecked, "ndk.fast.offset", Product::ndk_provider, "takes any base address",
          Departs{departure::kFastOffsetUnchecked});
DEVIATION(ndk_fast_length_unchecked, "ndk.fast.length", Product::ndk_provider, "cuts registrations to their pages",
          Departs{departure::kFastLengthUnchecked});
DEVIATION(ndk_fast_remote_unchecked, "ndk.fast.remote", Product::ndk_provider, "gives remote rights without remote access",
          Departs{departure::kFastRemoteUnchecked});
DEVIATION(ndk_fast_grants_all, "ndk.fast.rights", Product::ndk_provider, "gives all rights with every registration",
          Departs{departure::kFastGrantsAll});
DEVIATION(ndk_fast_of_plain, "ndk.fast.plain", Product::ndk_provider, "pretends to register plain regions",
          Departs{departure::kFastOfPlain});
DEVIATION(ndk_initialize_of_plain, "ndk.fast.plain-initialize", Product::ndk_provider, "pretends to register plain regions",
          Departs{departure::kFastOfPlain});
DEVIATION(ndk_fast_initialized_twice, "ndk.fast.initialize-once", Product::ndk_provider, "initializes a region that is initialized",
          Departs{departure::kFastInitializedTwice});
DEVIATION(ndk_fast_uninitialized, "ndk.fast.uninitialized", Product::ndk_provider, "pretends to register what is not initialized",
          Departs{departure::kFastUninitialized});
DEVIATION(ndk_fast_token_changes, "ndk.fast.token", Product::ndk_provider, "changes the token with every registration",
          Departs{departure::kFastTokenChanges});
DEVIATION(ndk_fast_read_elsewhere, "ndk.fast.base", Product::ndk_provider, "reads one byte further on", Departs{departure::kReadElsewhere});
DEVIATION(ndk_invalidate_ignored, "ndk.fast.invalidate", Product::ndk_provider, "does not invalidate",
          Departs{departure::kInvalidateIgnored});
DEVIATION(ndk_invalidate_twice, "ndk.fast.invalidate-twice", Product::ndk_provider, "says that requests that have failed have succeeded",
          Departs{departure::kFailureLooksLikeSuccess});
DEVIATION(ndk_invalidate_of_plain, "ndk.fast.invalidate-plain", Product::ndk_provider, "pretends to invalidate plain regions",
          Departs{departure::kInvalidateOfPlain});
DEVIATION(ndk_lam_size_not_told, "ndk.lam.size", Product::ndk_provider, "does not tell the size of mappings",
          Departs{departure::kLamSizeNotTold});
DEVIATION(ndk_lam_size_query_succeeds, "ndk.lam.query", Product::ndk_provider, "says that a mapping is made that has no place",
          Departs{departure::kLamSizeQuerySucceeds});
DEVIATION(ndk_lam_offset_wrong, "ndk.lam.offset", Product::ndk_provider, "tells another offset", Departs{departure::kLamOffsetWrong});
DEVIATION(ndk_lam_pages_unaligned, "ndk.lam.aligned", Product::ndk_provider, "adds the offset to the addresses of pages",
          Departs{departure::kLamPagesUnaligned});
DEVIATION(ndk_lam_chain_unchecked, "ndk.lam.chain", Product::ndk_provider, "takes the first MDL for the whole chain",
          Departs{departure::kLamChainUnchecked});
DEVIATION(ndk_lam_release_keeps, "ndk.lam.release", Product::ndk_provider, "keeps mappings that were released",
          Departs{departure::kLamReleaseKeeps});
DEVIATION(ndk_privileged_refused, "ndk.lam.privileged", Product::ndk_provider, "does not know its privileged token",
          Departs{departure::kPrivilegedRefused});
DEVIATION(ndk_lam_length_unchecked, "ndk.lam.length", Product::ndk_provider, "maps as much as there is",
          Departs{departure::kLamLengthUnchecked});

}  // namespace fb::deviations
