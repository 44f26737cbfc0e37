// The faults of a plan, as far as somebody between a host and a controller can make them happen: on segments, on PDUs, on
// commands and their completions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/faults/hooks.h"
#include "model/proxy/paced_pipe.h"
#include "model/proxy/passage.h"
#include "sim/fault/network_faults.h"
#include "sim/fault/plan.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/status.h"

namespace fb::proxy {

/// Where faults of a schedule can strike in a proxy for this transport.
std::vector<fault::Place> places_of_proxy(std::string_view transport = fabrics::kTcp);
/// The Problem names the first fault of the plan that such a proxy cannot reach, with its line, and what it can.
Result<void> reaches(const fault::Plan& plan, std::string_view transport = fabrics::kTcp);

/// The decision points of one proxy; all of its connections count together, as those of one host and one controller.
struct FaultSites {
  explicit FaultSites(fault::Points& points);
  fault::NetworkFaults network;
  faults::PduFaults by_host, by_controller;
  Passage from_host, from_controller;
  fault::Point& io;
  fault::Point& admin;
  fault::Point& completion;
  fault::Point& media;
  Lane to_controller{.name = "host->target", .index = 0};
  Lane to_host{.name = "target->host", .index = 1};
};

/// What strikes the commands of one connection.
class CommandFaults {
 public:
  explicit CommandFaults(FaultSites& sites) : sites_(sites) {}

  /// A command that the host sends; how much later it is to pass on.
  Duration on_command(ByteView sqe);
  /// What becomes of a PDU of the controller: it is appended to `out`, changed, left out or doubled. False: the connection is
  /// to be reset in its place.
  bool on_answer(Bytes pdu, std::vector<Bytes>& out);

 private:
  struct Struck {
    std::uint8_t opcode = 0;
    std::optional<nvme::Status> status;
    std::optional<fault::Decision> by;        ///< whose status it is
    std::optional<fault::Decision> withheld;  ///< the completion of an admin command
  };
  Duration on_io(const View<nvme::SqeLayout>& sqe, Struck& struck);
  void on_media(std::uint8_t opcode, Struck& struck);
  void on_admin(Struck& struck);
  fault::Point& point_of(const fault::Decision& decision);

  FaultSites& sites_;
  std::optional<std::uint16_t> qid_;             // from Connect
  std::map<std::uint16_t, Struck> outstanding_;  // by command identifier; not those of Fabrics
};

}  // namespace fb::proxy
