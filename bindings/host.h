// A host of a world: what connects, and what is known of its associations.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bindings/machine.h"
#include "bindings/options.h"
#include "model/deviations/deviation.h"
#include "model/host/discovery_client.h"
#include "model/host/host.h"
#include "wire/fabrics/transports.h"

namespace fb::python {

/// An asynchronous event, with the log page that was read for it.
struct HostEvent {
  double at = 0;
  host::Controller* controller = nullptr;
  nvme::Event event;
  Bytes log;
};

class HostSide final : private host::ControllerListener {
 public:
  struct Settings {
    std::string transport{fabrics::kRdma};
    std::string hostnqn;  ///< empty: of the name
    std::string policy = "round_robin";
    py::dict tcp;
    py::object product;
    std::vector<std::string> deviations;
    std::string psks;  ///< of TCP: the text of a key file; empty: no TLS
  };
  HostSide(const std::shared_ptr<Box>& box, Machine& machine, const Settings& settings);
  ~HostSide();

  host::Host& host() { return *host_; }
  transport::HostFabric& fabric() { return *fabric_; }
  const std::string& transport() const { return transport_; }
  Machine& machine() { return machine_; }
  World& world() { return world_; }

  /// Any I/O command on one of the controller's queues, without the retries of a namespace. `data` goes with it or is
  /// room.
  Op<host::AdminReply> send_io(host::Controller& controller, const nvme::Sqe& sqe, Bytes data, transport::Direction direction);

  /// The next event that nobody has taken.
  Op<HostEvent> next_event();
  std::size_t events_waiting() const { return events_.size(); }
  struct StateChange {
    double at = 0;
    host::ControllerState state{};
  };
  const std::vector<StateChange>& history(const host::Controller& controller) { return history_[&controller]; }

 private:
  void on_state(host::Controller& controller, host::ControllerState state) override;
  void on_event(host::Controller& controller, const nvme::Event& event, ByteView log) override;

  World& world_;
  Machine& machine_;
  std::string transport_;
  class IoCall;
  std::unique_ptr<host::HostHooks> hooks_;
  std::unique_ptr<TlsEnd> tls_;
  std::unique_ptr<transport::HostFabric> fabric_;
  std::list<std::unique_ptr<IoCall>> calls_;  // outlive the host, which ends them
  std::unique_ptr<host::Host> host_;
  std::deque<HostEvent> events_;
  std::deque<Promise<HostEvent>> waiting_;
  std::map<const host::Controller*, std::vector<StateChange>> history_;  // looked up, never walked
};

void bind_host(py::module_& m);
void bind_raw_queue(py::module_& m);

}  // namespace fb::python
