// One world of managed drives: workers ask over a medium that loses and damages frames, and ask again where no
// answer comes; every answer is held against what the drive said in quiet times.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "conformance/campaign/judge.h"
#include "conformance/campaign/recipe.h"
#include "conformance/campaign/shapes.h"
#include "model/deviations/deviation.h"
#include "model/drive/drive.h"
#include "model/mi/requester.h"
#include "sim/fault/frame_faults.h"
#include "sim/mctp/network.h"

namespace fb::conformance {

class ManagementRun {
 public:
  ManagementRun(World& world, const Recipe& recipe, const ManagementShape& shape, fault::Points& points,
                const deviations::DeviationSet& deviations, Judge& judge);
  ~ManagementRun();

  void run();

 private:
  class Worker;
  /// A drive and what it says of itself when nobody disturbs it.
  struct DriveSide;
  /// What an answer holds; told in an event.
  using Then = std::function<void(const mi::Reply& reply, Bytes content)>;

  void add_drive(std::size_t index, const deviations::DeviationSet& deviations);
  /// `setting`: which of the drive's settings Set Features makes.
  void ask(const Step& step, DriveSide& drive, std::size_t setting, Then then);
  /// Asks everything once, without faults: at the beginning to know the answers, at the end to see them again.
  bool ask_in_peace(DriveSide& drive, bool compare);
  void check(const Step& step, DriveSide& drive, const Bytes& content);
  void before_step();

  World& world_;
  const ManagementShape shape_;
  fault::Points& points_;
  fault::Point& step_point_;
  Judge& judge_;
  fault::FrameFaults frames_;
  std::unique_ptr<mctp::Segment> segment_;
  std::unique_ptr<mctp::EndpointHooks> own_hooks_;
  std::unique_ptr<mi::RequesterHooks> requester_hooks_;
  std::unique_ptr<mctp::Endpoint> own_;
  std::unique_ptr<mi::Requester> requester_;
  std::vector<std::unique_ptr<DriveSide>> drives_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::size_t busy_ = 0;
  bool over_ = false;  ///< what is still told means nothing
};

}  // namespace fb::conformance
