// One world of hosts and a product: workers go through their steps, faults strike, and everything that is read is
// held against what may be there. At the end faults cease, everybody recovers, and all is read once more.
#pragma once

#include <memory>
#include <set>

#include "conformance/campaign/block_truth.h"
#include "conformance/campaign/judge.h"
#include "conformance/campaign/recipe.h"
#include "conformance/campaign/reservation_truth.h"
#include "conformance/campaign/scene.h"
#include "sim/fault/points.h"

namespace fb::conformance {

class FabricRun final : private host::ControllerListener {
 public:
  /// `scene` holds zeroes where it is watched.
  FabricRun(World& world, const Recipe& recipe, std::unique_ptr<Scene> scene, fault::Points& points, Judge& judge);
  ~FabricRun();

  /// The whole life of the world.
  void run();

 private:
  class Worker;
  /// A path whose ANA state goes back to optimized after a while.
  class Mending;

  void on_state(host::Controller& controller, host::ControllerState state) override;
  bool connect_all();
  /// Faults that strike as a step begins.
  void before_step();
  void apply(const fault::Decision& decision);
  void set_path_state(const fault::Decision& decision);
  /// The path is optimized again, unless it is lost for ever.
  void mend(std::uint16_t portid);
  void reset_first_controller();
  /// Whether a fault in the lifetime of a command explains its status.
  bool explained(nvme::Status status, Instant began) const;
  void finish();
  bool recover();
  void read_all(host::Namespace& space);
  void leave();

  World& world_;
  const Recipe& recipe_;
  fault::Points& points_;
  fault::Point& step_point_;
  Judge& judge_;
  BlockTruth truth_;
  ReservationTruth reservations_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Mending>> mendings_;
  std::set<std::uint16_t> lost_paths_;
  std::size_t busy_ = 0;          ///< workers that have steps left
  bool over_ = false;             ///< the world is taken down: what commands still say means nothing
  std::unique_ptr<Scene> scene_;  ///< goes first, and ends the workers' commands
};

}  // namespace fb::conformance
