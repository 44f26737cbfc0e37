// What stands behind the public headers. Everything of a world is a part of it, and goes in the reverse order of its making.
#pragma once

#include <fabricbench/world.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "conformance/evidence/dissector.h"
#include "conformance/evidence/said.h"
#include "conformance/monitors/monitors.h"
#include "model/deviations/deviation.h"
#include "model/faults/hooks.h"
#include "model/host/host.h"
#include "model/host/raw_queue.h"
#include "model/subsystem/target.h"
#include "sim/capture/pcapng.h"
#include "sim/core/world.h"
#include "sim/fault/network_faults.h"
#include "sim/fault/plan.h"
#include "sim/net/link_filter.h"
#include "sim/net/network.h"
#include "sim/net/stream_filter.h"
#include "sim/rdma/softroce/softroce.h"

namespace fabricbench {

/// Calls into the models; what they throw becomes what users catch.
template <class Call>
auto guarded(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const fb::UserError& problem) {
    throw Error(problem.what());
  } catch (const fb::WaitFailure& failure) {
    throw WaitError(failure.what());
  }
}

Status status_of(fb::nvme::Status status);
/// Throws CommandError where it is no success.
void check_status(fb::nvme::Status status, const std::string& what);
fb::nvme::Sqe sqe_of(const Command& command);
template <class Reply>
Completion completion_of(const Reply& reply, bool answered, std::string end) {
  Completion made;
  made.answered = answered;
  made.end = std::move(end);
  if (!answered) return made;
  made.status = status_of(reply.status());
  made.dw0 = reply.cqe.get(fb::nvme::cqe::dw0);
  made.dw1 = reply.cqe.get(fb::nvme::cqe::dw1);
  made.data = reply.data;
  return made;
}
/// Throws UserError for names of no deviation of such a product.
fb::deviations::DeviationSet deviations_named(const std::vector<std::string>& names, const std::vector<fb::deviations::Product>& products,
                                              const std::vector<std::string>& transports);

struct Faults::Part final : fb::net::LinkFilter, fb::net::StreamFilter {
  struct Direction {
    fb::Instant cut_until;
    std::uint64_t drop = 0, dropped = 0;
  };

  fb::net::Verdict on_packet(fb::net::PacketContext& packet) override;
  fb::net::SegmentVerdict on_segment(const fb::net::SegmentContext& segment) override;
  Direction& direction(const std::string& from, const std::string& to);
  void install(std::function<std::vector<fb::fault::Decision>(const fb::fault::Place&)> draw);
  fb::fault::Points* points() { return points_.get(); }

  fb::World* world = nullptr;
  fb::net::SimNetwork* network = nullptr;
  bool has_machines = false;
  std::map<std::string, Direction, std::less<>> directions;

 private:
  std::unique_ptr<fb::fault::Points> points_;
  std::unique_ptr<fb::fault::NetworkFaults> network_faults_;
};

/// A host of the network, with a device for RDMA.
struct Machine {
  Machine(fb::World& world, fb::net::SimNetwork& network, Faults::Part& faults, const std::string& name, const fb::IpAddress& address,
          std::unique_ptr<fb::softroce::SoftHooks> hooks);
  fb::net::SimHost& host;
  fb::IpAddress address;
  std::string address_text;
  std::unique_ptr<fb::softroce::SoftHooks> hooks;
  std::unique_ptr<fb::softroce::SoftRoceDevice> device;
};

/// Listens to the trace of a world.
struct Recorder {
  explicit Recorder(fb::World& world);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  fb::World& world;
  fb::capture::PcapngWriter writer;
  fb::evidence::Dissector dissector;
  fb::evidence::SaidList said;
  fb::monitors::Monitors monitors;
};

struct World::Part {
  explicit Part(std::uint64_t seed);
  ~Part();

  template <class T>
  T& keep(std::unique_ptr<T> part) {
    T& kept = *part;
    parts.push_back(std::shared_ptr<void>(std::move(part)));
    return kept;
  }
  /// For a product of that name, at the next address.
  std::unique_ptr<Machine> make_machine(const std::string& name, std::unique_ptr<fb::softroce::SoftHooks> hooks);

  std::unique_ptr<fb::World> world;
  std::unique_ptr<fb::net::SimNetwork> network;
  Faults::Part faults;
  std::unique_ptr<Recorder> recorder;
  std::vector<std::shared_ptr<void>> parts;
  std::uint8_t machines = 0;
};

}  // namespace fabricbench
