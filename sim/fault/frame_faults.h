// Schedules on the media of MCTP.
#pragma once

#include "sim/fault/points.h"
#include "sim/mctp/medium.h"

namespace fb::fault {

/// What a frame of a medium consists of, as far as its faults go.
enum class FrameShape : std::uint8_t { smbus, serial, pcie };

class FrameFaults final : public mctp::FrameFilter {
 public:
  /// `medium` as the schedule's places name it.
  FrameFaults(Points& points, std::string medium, FrameShape shape) : point_(points.at({Site::frame, std::move(medium)})), shape_(shape) {}
  mctp::FrameVerdict on_frame(mctp::FrameContext& context) override;

 private:
  /// Changes the MCTP header inside the frame and makes its check right; false when there is none to be found.
  bool change_header(const Decision& decision, mctp::FrameContext& context) const;
  Point& point_;
  FrameShape shape_;
};

}  // namespace fb::fault
