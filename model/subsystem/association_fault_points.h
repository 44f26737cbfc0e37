// More of what fault_points.h lists: what an association counts, keeps and forgets. The self-test of the suite shows that
// each of these is asked for.
#pragma once

#include "model/subsystem/fault_points.h"

namespace fb::subsystem {

namespace departure {
inline constexpr std::string_view traffic_stays = "sub.kato.traffic_stays";
inline constexpr std::string_view event_any_log = "sub.event.any_log";
inline constexpr std::string_view event_reset = "sub.event.reset";
inline constexpr std::string_view queue_short = "sub.sq.short";
}  // namespace departure

inline constexpr FaultPoint kAssociationFaultPoints[] = {
    {departure::traffic_stays, "what was traffic once restarts a traffic based timer for ever"},
    {departure::event_any_log, "reading any log page lets events of every type through again"},
    {departure::event_reset, "a controller reset leaves the masks of events as they are"},
    {departure::queue_short, "a submission queue holds one command less than it should"},
};

}  // namespace fb::subsystem
