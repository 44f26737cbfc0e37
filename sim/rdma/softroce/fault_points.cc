#include "sim/rdma/softroce/fault_points.h"

namespace fb::softroce {

namespace {

constexpr FaultPoint kSoftFaultPoints[] = {
#define FB_SOFT_FAULT_POINT(id, name, breaks) {name, breaks},
    FB_SOFT_FAULT_POINTS(FB_SOFT_FAULT_POINT)
#undef FB_SOFT_FAULT_POINT
};

}  // namespace

std::span<const FaultPoint> soft_fault_points() { return kSoftFaultPoints; }

std::string_view name_of(Departure point) { return kSoftFaultPoints[static_cast<std::size_t>(point)].name; }

}  // namespace fb::softroce
