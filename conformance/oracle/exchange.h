// What the oracle knows of who talks to whom, and of one command with its data and its completion.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance/evidence/flows.h"
#include "conformance/evidence/observer.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::oracle {

/// A subsystem by its name. Discovery subsystems share one: they are told apart by their address.
struct Subsystem {
  std::uint64_t number = 0;  ///< from 1, in the order in which they were met
  std::string nqn;
  IpAddress address;  ///< of a discovery subsystem
  bool discovery = false;
  std::set<std::uint32_t> key_value_namespaces = {};  ///< NSIDs that Identify has named as such
};

/// A controller, for as long as the association that made it.
struct Controller {
  std::uint64_t number = 0;  ///< from 1, of all subsystems
  Subsystem* subsystem = nullptr;
  std::uint16_t cntlid = 0;
  std::string hostnqn;
  std::array<std::uint8_t, 16> hostid{};
  bool alive = true;
  bool enabled = false;             ///< CC.EN, as the host wrote it last
  bool may_have_key_values = true;  ///< CC.CSS selects more than the NVM command set, or was not seen
  evidence::Queue* admin = nullptr;
  std::vector<evidence::Queue*> queues = {};  ///< the admin queue first
  ByteView declared = {};                     ///< Identify Controller of one of its subsystem, read before; or empty
};

/// Tables are in the order of numbers: addresses differ from run to run.
struct ByNumber {
  template <class T>
  bool operator()(const T* a, const T* b) const {
    return (a == nullptr ? 0 : a->number) < (b == nullptr ? 0 : b->number);
  }
};

/// Bytes that come in pieces.
class Pieces {
 public:
  void clear() {
    bytes_.clear();
    parts_.clear();
    lost_ = false;
  }
  void put(std::uint64_t offset, ByteView bytes);
  void lose() { lost_ = true; }
  /// All of `length` bytes came, each once.
  bool holds(std::uint64_t length) const {
    return !lost_ && parts_.size() <= 1 && (length == 0 || (parts_.size() == 1 && parts_[0].first == 0 && parts_[0].second >= length));
  }
  /// As many as came in front of the first gap.
  ByteView front() const {
    if (lost_ || parts_.empty() || parts_[0].first != 0) return {};
    return ByteView(bytes_).first(static_cast<std::size_t>(parts_[0].second));
  }

 private:
  Bytes bytes_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts_;  // [from, to), in order
  bool lost_ = false;
};

/// A command, its data, and once it is answered its completion. Valid until it is answered or abandoned.
struct Exchange {
  std::uint64_t number = 0;  ///< of all exchanges, from 1
  evidence::Queue* queue = nullptr;
  Controller* controller = nullptr;
  std::array<std::uint8_t, nvme::kSqeSize> sqe{};
  std::array<std::uint8_t, 16> cqe{};
  Pieces out, in;           ///< to the controller, to the host
  std::uint64_t began = 0;  ///< places in the order of everything that was seen
  std::uint64_t ended = 0;
  std::uint64_t packet = 0;  ///< with the command
  Instant time;              ///< of the command
  evidence::Party sender;    ///< of the command
  std::string actor;         ///< its name, where the trace has one
  std::uint64_t length = 0;  ///< of its data, as its SGL says
  bool length_known = false;
  bool key_value = false;                       ///< an I/O command to a namespace that is known to be of the Key Value command set
  std::vector<nvme::SglDescriptor> keyed = {};  ///< where its data is (RDMA)

  bool admin() const { return queue->qid == 0; }
  bool fabrics() const { return sqe[0] == nvme::kFabricsOpcode; }
  bool is(nvme::AdminOpcode opcode) const { return admin() && sqe[0] == static_cast<std::uint8_t>(opcode); }
  /// The opcodes of the NVM command set mean others in a key value namespace.
  bool is(nvme::IoOpcode opcode) const { return !admin() && !key_value && sqe[0] == static_cast<std::uint8_t>(opcode); }
  bool is(nvme::FabricsType type) const { return fabrics() && sqe[4] == static_cast<std::uint8_t>(type); }
  template <class Layout = nvme::SqeLayout>
  View<Layout> command() const {
    return View<Layout>{ByteView{sqe}};
  }
  template <class Layout = nvme::CqeLayout>
  View<Layout> answer() const {
    return View<Layout>{ByteView{cqe}};
  }
  std::uint32_t nsid() const { return command().get(nvme::sqe::nsid); }
  nvme::Status status() const { return answer().get(nvme::cqe::status).of(sqe[0]); }
  bool ok() const { return status().ok(); }
  Subsystem& subsystem() const { return *controller->subsystem; }
  /// What the command asks the controller for came whole.
  ByteView data_in(std::uint64_t length_wanted) const {
    return in.holds(length_wanted) ? in.front().first(static_cast<std::size_t>(length_wanted)) : ByteView{};
  }
  ByteView data_out() const { return length_known && out.holds(length) ? out.front() : ByteView{}; }
};

}  // namespace fb::oracle
