// The host: a name, an identifier, and the controllers and namespaces that it knows.
//
//   Host host(world, fabric, {});
//   auto connected = host.connect({.to = endpoint, .subnqn = "nqn..."}).wait();
//   Namespace* ns = host.find("nqn...", 1);
//   ns->write(0, data).wait();
//   connected.value()->shutdown().wait();
#pragma once

#include <memory>
#include <vector>

#include "model/host/controller.h"
#include "model/host/namespace.h"

namespace fb::host {

class Host final : private ControllerListener {
 public:
  Host(World& world, transport::HostFabric& fabric, HostOptions options, PathPolicy policy = PathPolicy::round_robin);
  /// Requests that still run are completed with Host Pathing Error.
  ~Host();

  /// A new association. Settles when it is live (with its namespaces found), or has failed for good.
  Op<Controller::Outcome> connect(ConnectOptions options);
  /// Orderly shutdown of every controller; settles when all are gone.
  Op<bool> shutdown_all();
  /// Forgets controllers that are gone. Not to be called from inside an event of theirs.
  void forget_gone();

  std::vector<Controller*> controllers() const;
  std::vector<Namespace*> namespaces() const;
  /// Null when there is none.
  Namespace* find(std::string_view subnqn, std::uint32_t nsid) const;
  Namespace* find(const Controller& controller, std::uint32_t nsid) const;

  /// Told of everything that happens to any controller.
  void add_listener(ControllerListener& listener);
  void remove_listener(ControllerListener& listener);

  const HostOptions& options() const { return options_; }
  World& world() { return world_; }
  transport::HostFabric& fabric() { return fabric_; }

 private:
  void on_state(Controller& controller, ControllerState state) override;
  void on_event(Controller& controller, const nvme::Event& event, ByteView log) override;
  void on_namespaces(Controller& controller) override;
  void on_ana(Controller& controller) override;
  void on_tolerated(Controller& controller, std::string_view what) override;

  void match_namespaces(Controller& controller);
  void check_all_gone();
  // Cross-Controller Reset of a controller that was lost (host_recovery.cc)
  struct Recovery;
  void recover(Controller& lost);
  void ask_for_reset(const std::shared_ptr<Recovery>& recovery);
  void on_reset_answer(const std::shared_ptr<Recovery>& recovery, AdminReply& reply);
  void take_reset_log(Controller& source, ByteView log);
  void end_recovery(Recovery& recovery, bool stopped);
  /// Of a controller that goes away.
  static void forget_recovery(Recovery& recovery);

  World& world_;
  transport::HostFabric& fabric_;
  HostOptions options_;
  PathPolicy policy_;
  bool closing_ = false;
  std::vector<std::unique_ptr<Namespace>> namespaces_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::vector<ControllerListener*> listeners_;
  std::vector<Promise<bool>> all_gone_;
  std::vector<std::shared_ptr<Recovery>> recoveries_;
};

}  // namespace fb::host
