// A world in virtual time: machines on a network, drives on a bus, and everything that they exchange.
//
//   fabricbench::World world(1);
//   auto subsystem = world.add_subsystem();
//   subsystem.add_namespace();
//   auto host = world.add_host();
//   auto association = host.connect(subsystem);
//   association.write(1, 0, fabricbench::Bytes(512, 0xA5));
//
// The same calls with the same seed have the same outcome and the same digest, whatever the machine.
#pragma once

#include <fabricbench/bus.h>
#include <fabricbench/faults.h>
#include <fabricbench/host.h>
#include <fabricbench/subsystem.h>

#include <memory>
#include <string>
#include <vector>

namespace fabricbench {

/// A rule of the specifications that the traffic broke.
struct FABRICBENCH_API Finding {
  std::string rule;
  std::string requirement;  ///< its id in the ledger
  bool mandatory = true;    ///< false: a recommendation
  std::string actor;        ///< who broke it
  std::string text;
};

class FABRICBENCH_API World {
 public:
  struct FABRICBENCH_INSIDE Part;
  explicit World(std::uint64_t seed = 1);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Subsystem add_subsystem(const SubsystemOptions& options = {});
  Host add_host(const HostOptions& options = {});
  /// `medium` is "smbus", "serial" or "pcie".
  Bus add_bus(const std::string& medium = "smbus");
  Faults faults();

  /// Runs what is due in the next span, and lets that time pass. It costs no real time.
  void run_for(Duration span);
  Duration now() const;
  std::uint64_t seed() const;
  std::uint64_t digest() const;

  /// A line in the ladder and a comment in the capture.
  void note(const std::string& text);
  /// What was exchanged, a line each; of a long exchange the beginning and the end.
  std::string ladder(std::size_t lines = 60) const;
  /// Rules that somebody broke, by now.
  std::vector<Finding> findings();
  /// Every packet, as pcapng.
  void save_capture(const std::string& path) const;

 private:
  std::unique_ptr<Part> part_;
};

/// Of a requirement's id: "NVMe over Fabrics 1.1a, 3.3 Connect: what it asks for". Throws Error where there is none.
FABRICBENCH_API std::string requirement_text(const std::string& id);
/// "0.2.0"
FABRICBENCH_API std::string version();

}  // namespace fabricbench
