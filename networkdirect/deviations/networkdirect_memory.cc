// What a careless provider of NetworkDirect does with memory.
#include "model/deviations/deviation.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::deviations {

namespace departure = networkdirect::departure;

DEVIATION(nd_register_never_completes, "networkdirect.memory.register", Product::nd_provider, "never completes a registration",
          Departs{departure::kRegisterNeverCompletes});
DEVIATION(nd_empty_registered, "networkdirect.memory.register-nothing", Product::nd_provider, "registers nothing",
          Departs{departure::kEmptyRegistered});
DEVIATION(nd_register_unchecked, "networkdirect.memory.register-unmapped", Product::nd_provider, "registers any address",
          Departs{departure::kRegisterUnchecked});
DEVIATION(nd_register_unlimited, "networkdirect.memory.register-large", Product::nd_provider, "says yes to regions of any size",
          Departs{departure::kRegisterUnlimited});
DEVIATION(nd_register_twice, "networkdirect.memory.register-one", Product::nd_provider,
          "registers another buffer with a region that has one", Departs{departure::kRegisterTwice});
DEVIATION(nd_register_once, "networkdirect.memory.register-again", Product::nd_provider,
          "registers one buffer with a region and never again", Departs{departure::kRegisterOnce});
DEVIATION(nd_read_sink_ignored, "networkdirect.memory.read-sink", Product::nd_provider,
          "gives regions for the data of Reads no right to be written", Departs{departure::kReadSinkIgnored});
DEVIATION(nd_register_flags_unchecked, "networkdirect.memory.register-flags", Product::nd_provider,
          "registers with flags that do not exist", Departs{departure::kRegisterFlagsUnchecked});
DEVIATION(nd_deregister_of_none, "networkdirect.memory.deregister-none", Product::nd_provider, "deregisters a region that has no buffer",
          Departs{departure::kDeregisterOfNone});
DEVIATION(nd_deregister_fails, "networkdirect.memory.deregister", Product::nd_provider, "fails to deregister",
          Departs{departure::kDeregisterFails});
DEVIATION(nd_deregister_keeps_keys, "networkdirect.memory.deregister-ends", Product::nd_provider,
          "leaves access to regions that were deregistered", Departs{departure::kDeregisterKeepsKeys});
DEVIATION(nd_deregister_with_windows, "networkdirect.memory.deregister-bound", Product::nd_provider, "deregisters in spite of windows",
          Departs{departure::kDeregisterWithWindows});
DEVIATION(nd_register_grants_local_write, "networkdirect.memory.local-rights", Product::nd_provider,
          "allows local write that nobody asked for", Departs{departure::kRegisterGrantsLocalWrite});
DEVIATION(nd_register_grants_remote, "networkdirect.memory.remote-rights", Product::nd_provider,
          "allows remote access that nobody asked for", Departs{departure::kRegisterGrantsRemote});
DEVIATION(nd_register_loses_remote, "networkdirect.memory.remote-access", Product::nd_provider, "allows no remote access",
          Departs{departure::kRegisterLosesRemote});
DEVIATION(nd_region_zero_based, "networkdirect.memory.addresses", Product::nd_provider, "counts the addresses of a region from 0",
          Departs{departure::kRegionZeroBased});
DEVIATION(nd_token_in_host_order, "networkdirect.memory.remote-token", Product::nd_provider,
          "gives remote tokens in another order than it takes them", Departs{departure::kTokenInHostOrder});
DEVIATION(nd_region_reaches_too_far, "networkdirect.memory.range-remote", Product::nd_provider, "allows the peer more than the region",
          Departs{departure::kRegisterTooMuch});
DEVIATION(nd_local_region_reaches_too_far, "networkdirect.memory.range-local", Product::nd_provider,
          "takes local buffers beyond the region", Departs{departure::kRegisterTooMuch});
DEVIATION(nd_window_needs_region_rights, "networkdirect.window.access", Product::nd_provider,
          "binds windows in regions with remote rights alone", Departs{departure::kWindowNeedsRegionRights});
DEVIATION(nd_window_token_late, "networkdirect.window.token", Product::nd_provider, "has the token when the Bind has completed",
          Departs{departure::kWindowTokenLate});
DEVIATION(nd_window_grants_all, "networkdirect.window.rights", Product::nd_provider, "grants all rights with every window",
          Departs{departure::kWindowGrantsAll});
DEVIATION(nd_window_too_wide, "networkdirect.window.range", Product::nd_provider, "binds windows that are wider than asked for",
          Departs{departure::kWindowTooWide});
DEVIATION(nd_bind_range_unchecked, "networkdirect.window.bind-range", Product::nd_provider, "binds windows beyond their region",
          Departs{departure::kBindRangeUnchecked});
DEVIATION(nd_bind_rights_unchecked, "networkdirect.window.bind-rights", Product::nd_provider, "binds windows for writing in any region",
          Departs{departure::kBindRightsUnchecked});
DEVIATION(nd_bind_needs_right, "networkdirect.window.no-rights", Product::nd_provider, "wants a right with every Bind",
          Departs{departure::kBindNeedsRight});
DEVIATION(nd_window_for_any_queue, "networkdirect.window.own-pair", Product::nd_provider, "serves the peers of other queue pairs too",
          Departs{departure::kWindowForAnyQueue});
DEVIATION(nd_overlap_refused, "networkdirect.window.overlap", Product::nd_provider, "binds one window in a region",
          Departs{departure::kOverlapRefused});
DEVIATION(nd_invalidate_ignored, "networkdirect.window.invalidate", Product::nd_provider,
          "leaves access through windows that were invalidated", Departs{departure::kInvalidateIgnored});
DEVIATION(nd_invalidate_unbound_taken, "networkdirect.window.invalidate-unbound", Product::nd_provider,
          "invalidates windows that are not bound", Departs{departure::kInvalidateUnboundTaken});
DEVIATION(nd_rebind_refused, "networkdirect.window.rebind", Product::nd_provider, "binds a window once",
          Departs{departure::kRebindRefused});
DEVIATION(nd_local_token_cut, "networkdirect.memory.local-token", Product::nd_provider, "does not look at the highest bit of local tokens",
          Departs{departure::kLocalTokenCut});

}  // namespace fb::deviations
