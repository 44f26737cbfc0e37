// An emulated target of a world: listeners on machines, subsystems behind them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/machine.h"
#include "bindings/options.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/target.h"

namespace fb::python {

class TargetSide {
 public:
  /// `product` may be None.
  TargetSide(const std::shared_ptr<Box>& box, const py::object& product, const std::vector<std::string>& deviations, Fabric* fabric,
             const std::string& name);

  subsystem::Target& target() { return *target_; }
  /// Throws ValueError for options of no product. MDTS is at most what the listeners move.
  subsystem::Subsystem& add_subsystem(subsystem::SubsystemOptions options);
  /// `security` is "", "offered" or "required"; `psks` the text of a key file. Both are of TCP.
  struct Tls {
    std::string security;
    std::string psks;
  };
  const Endpoint& listen(Machine& machine, const std::string& transport, std::uint16_t portid, const py::dict& options, const py::dict& tcp,
                         const Tls& tls);

 private:
  void bound_transfers(std::uint64_t bytes);

  Box& box_;
  std::uint64_t transfer_most_ = 0;     ///< the least that a listener moves with one command; 0: no listener has a bound
  std::uint64_t transfer_claimed_ = 0;  ///< the most that a subsystem allows
  deviations::DeviationSet deviations_;
  std::unique_ptr<subsystem::SubsystemHooks> hooks_;
  std::vector<std::unique_ptr<TlsEnd>> tls_;                             // outlive the listeners
  std::vector<std::unique_ptr<transport::ControllerFabric>> listeners_;  // outlive the target's channels
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::unique_ptr<subsystem::Target> target_;
};

void bind_target(py::module_& m);

}  // namespace fb::python
