// More of what fault_points.h lists: Zone Random Write Areas. The self-test of the suite shows that each of these is asked for.
#pragma once

#include "model/subsystem/fault_points.h"

namespace fb::subsystem {

// clang-format off

#define FB_ZRWA_FAULT_POINTS(X)                                                                                          \
  X(zrwa_unasked, "sub.zrwa.open.plain", "Open Zone allocates an area without ZRWAA")                                    \
  X(zrwa_open_plain, "sub.zrwa.open", "Open Zone with ZRWAA allocates no area")                                          \
  X(zrwa_open_writes, "sub.zrwa.open.pointer", "Open Zone with ZRWAA moves the write pointer by a block")                \
  X(zrwa_extension_plain, "sub.zrwa.extension", "Set Zone Descriptor Extension with ZRWAA allocates no area")            \
  X(zrwa_two_less, "sub.zrwa.resources.less", "there are two areas less than NUMZRWA says")                              \
  X(zrwa_finish_leaks, "sub.zrwa.resources.finish", "Finish Zone does not give the area back")                           \
  X(zrwa_reset_leaks, "sub.zrwa.resources.reset", "Reset Zone does not give the area back")                              \
  X(zrwa_counted_together, "sub.zrwa.resources.namespace", "areas of all namespaces are counted together")               \
  X(zrwa_refused_opens, "sub.zrwa.resources.refused", "Open Zone that lacks an area opens the zone all the same")        \
  X(zrwa_in_order, "sub.zrwa.write.order", "an area takes writes in order alone")                                        \
  X(zrwa_pointer_moves, "sub.zrwa.write.pointer", "a write inside of the area moves the write pointer")                  \
  X(zrwa_overwrite_lost, "sub.zrwa.write.overwrite", "a block of the area is written once")                              \
  X(zrwa_never_slides, "sub.zrwa.write.slides", "a write behind the area leaves the write pointer")                      \
  X(zrwa_slides_by_blocks, "sub.zrwa.write.granularity", "a write behind the area moves the write pointer by blocks")    \
  X(zrwa_slides_too_far, "sub.zrwa.write.far", "a write behind the area commits one granule more than it needs")         \
  X(zrwa_short, "sub.zrwa.write.short", "the region behind the area has a block less")                                   \
  X(zrwa_stays_closed, "sub.zrwa.write.opens", "a write into the area leaves the zone closed")                           \
  X(zrwa_zeroes_in_order, "sub.zrwa.write.zeroes", "an area takes Write Zeroes at the write pointer alone")              \
  X(zrwa_first_queue, "sub.zrwa.write.queues", "an area takes writes of I/O queue 1 alone")                              \
  X(zrwa_flush_nothing, "sub.zrwa.flush", "Flush Explicit ZRWA Range leaves the write pointer")                          \
  X(zrwa_flush_erases, "sub.zrwa.flush.data", "Flush Explicit ZRWA Range loses the data")                                \
  X(zrwa_flush_part, "sub.zrwa.flush.whole", "Flush Explicit ZRWA Range commits a granule less than the whole area")     \
  X(zrwa_flush_all, "sub.zrwa.flush.zone", "Flush Explicit ZRWA Range is one of all zones")                              \
  X(zrwa_flush_stays, "sub.zrwa.flush.fills", "a zone that is committed to its capacity stays open")                     \
  X(zrwa_append_moves, "sub.zrwa.append", "a Zone Append that is refused moves the write pointer")                       \
  X(zrwa_close_releases, "sub.zrwa.close", "Close Zone ends the area")                                                   \
  X(zrwa_finish_erases, "sub.zrwa.finish.data", "Finish Zone discards what is in the area")                              \
  X(zrwa_controller_reset, "sub.zrwa.controller_reset", "a controller reset ends all areas")

// clang-format on

namespace departure {
#define FB_ZRWA_CONSTANT(identifier, name, description) inline constexpr std::string_view identifier = name;
FB_ZRWA_FAULT_POINTS(FB_ZRWA_CONSTANT)
#undef FB_ZRWA_CONSTANT
}  // namespace departure

inline constexpr FaultPoint kZrwaFaultPoints[] = {
#define FB_ZRWA_POINT(identifier, name, description) {departure::identifier, description},
    FB_ZRWA_FAULT_POINTS(FB_ZRWA_POINT)
#undef FB_ZRWA_POINT
};

}  // namespace fb::subsystem
