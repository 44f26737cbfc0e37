// More of what fault_points.h lists: single commands and what they leave behind. The self-test of the suite shows that each
// of these is asked for.
#pragma once

#include "model/subsystem/fault_points.h"

namespace fb::subsystem {

namespace departure {
inline constexpr std::string_view copy_cached = "sub.copy.cached";
inline constexpr std::string_view copy_limits_short = "sub.copy.limits_short";
inline constexpr std::string_view event_types_shared = "sub.event.types_shared";
inline constexpr std::string_view reservation_mask_first = "sub.reservation.mask.first";
inline constexpr std::string_view reservation_mask_wide = "sub.reservation.mask.wide";
inline constexpr std::string_view reservation_mask_narrow = "sub.reservation.mask.narrow";
inline constexpr std::string_view reservation_release_all = "sub.reservation.notice.release_all";
inline constexpr std::string_view reservation_type_silent = "sub.reservation.notice.type_silent";
inline constexpr std::string_view zone_all_opens = "sub.zone.all.opens";
inline constexpr std::string_view zone_all_closed = "sub.zone.all.closed";
}  // namespace departure

inline constexpr FaultPoint kCommandFaultPoints[] = {
    {departure::copy_cached, "Copy leaves what it wrote in the cache, whatever FUA says"},
    {departure::copy_limits_short, "a Copy may have one block less than MSSRL and MCL say"},
    {departure::event_types_shared, "an event of one type holds those of all types back"},
    {departure::reservation_mask_first, "a mask of reservation notifications is one of preempted registrations alone"},
    {departure::reservation_mask_wide, "a mask of reservation notifications is one of all namespaces"},
    {departure::reservation_mask_narrow, "a mask of all namespaces is one of the first"},
    {departure::reservation_release_all, "the release of a reservation of all registrants is not told"},
    {departure::reservation_type_silent, "a reservation that changes its type with its holder is not told"},
    {departure::zone_all_opens, "Open Zone of all opens zones of every state"},
    {departure::zone_all_closed, "Reset Zone of all leaves closed zones"},
};

}  // namespace fb::subsystem
