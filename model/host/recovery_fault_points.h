// More of what fault_points.h lists: what a host does when it has lost a controller and another one can reset it. The self-test
// of the suite shows that each of these is asked for.
#pragma once

#include "model/host/fault_points.h"

namespace fb::host {

// clang-format off

#define FB_RECOVERY_FAULT_POINTS(X) \
  X(reset_not_asked, "host.ccr.not_asked", "no Cross-Controller Reset is asked for") \
  X(reset_instance_wrong, "host.ccr.instance", "Cross-Controller Reset has the halves of CIRN exchanged") \
  X(reset_ciu_wrong, "host.ccr.ciu", "Cross-Controller Reset has CIU 0") \
  X(reset_completion_enough, "host.ccr.completion", \
    "a completion of Cross-Controller Reset with IRS 0 is taken for its success") \
  X(reset_failure_enough, "host.ccr.failure", "a Cross-Controller Reset that failed is taken for a success") \
  X(reset_unclaimed, "host.ccr.unclaimed", "Cross-Controller Reset is sent to a controller with CCRL 0") \
  X(reset_again_anywhere, "host.ccr.again", "a failed Cross-Controller Reset is sent to the same controller again") \
  X(reset_log_unread, "host.ccr.log_unread", "the log page of Cross-Controller Resets is not read") \
  X(reset_success_ignored, "host.ccr.success_ignored", "writes wait though a Cross-Controller Reset has succeeded") \
  X(reset_any_entry, "host.ccr.any_entry", "an entry of another instance is taken for the one that was asked for")

// clang-format on

namespace point {
#define FB_RECOVERY_POINT(id, name, breaks) inline constexpr std::string_view id = name;
FB_RECOVERY_FAULT_POINTS(FB_RECOVERY_POINT)
#undef FB_RECOVERY_POINT
}  // namespace point

inline constexpr FaultPoint kRecoveryFaultPoints[] = {
#define FB_RECOVERY_POINT(id, name, breaks) {name, breaks},
    FB_RECOVERY_FAULT_POINTS(FB_RECOVERY_POINT)
#undef FB_RECOVERY_POINT
};

}  // namespace fb::host
