// What the two engines of a queue pair share: the facts of the path, memory, counters, and a small
// set of things that the queue pair does for them. The engines do no I/O and read no clock but the
// world's.
#pragma once

#include "sim/rdma/softroce/cm_seam.h"
#include "sim/rdma/softroce/completion_queue.h"
#include "sim/rdma/softroce/counters.h"
#include "sim/rdma/softroce/fault_points.h"
#include "sim/rdma/softroce/memory.h"
#include "wire/rdma/headers.h"
#include "wire/rdma/psn.h"
#include "wire/rdma/syndrome.h"

namespace fb::softroce {

struct EngineOptions {
  /// Request packets (PSNs) in flight per queue pair.
  std::uint32_t window_packets = 128;
  /// Read response packets that one queue pair sends in one turn of the loop.
  std::uint32_t read_burst_packets = 64;
  /// How long an acknowledgement may be held back; zero sends it at the end of the batch.
  Duration ack_delay;
  /// Like Linux rxe: retry count 7 never ends. The specification counts 7 retries.
  bool endless_retry_seven = false;
  /// PSNs, queue pair numbers and key bytes of the device begin a little before they wrap.
  bool near_wrap = false;
};

/// A packet that has passed the device's checks.
struct InPacket {
  roce::Opcode opcode = roce::Opcode::send_only;
  const roce::OpcodeFacts* facts = nullptr;
  std::uint32_t psn = 0;
  bool ack_request = false;
  bool solicited = false;
  ByteView headers;  ///< after the BTH, as long as the opcode says
  ByteView payload;  ///< without the pad
};

struct OutPacket {
  roce::Opcode opcode = roce::Opcode::send_only;
  std::uint32_t psn = 0;
  bool ack_request = false;
  bool solicited = false;
  std::size_t payload_bytes = 0;
};

class QpCore {
 public:
  struct Surroundings {
    World& world;
    MemoryTable& memory;
    SoftCounters& counters;
    SoftHooks* hooks;  ///< null: honest
    const EngineOptions& options;
    std::uint32_t domain;
    std::uint32_t number;  ///< of the queue pair
  };
  explicit QpCore(const Surroundings& surroundings) : s(surroundings) {}
  QpCore(const QpCore&) = delete;
  QpCore& operator=(const QpCore&) = delete;

  /// Room for a packet of `bytes` from the BTH to the pad; commit_packet() seals and sends it.
  virtual MutableBytes begin_packet(std::size_t bytes) = 0;
  virtual void commit_packet() = 0;
  /// Adds the owner's facts and puts it on the queue. An overrun fails the queue pair.
  virtual void complete_send(rdma::Completion completion) = 0;
  virtual void complete_receive(rdma::Completion completion) = 0;
  /// The next posted receive, from the own or the shared queue.
  virtual bool take_receive(ReceiveEntry& entry, std::span<rdma::Sge> sges) = 0;
  /// Into the error state: both engines stop and flush. The user is told.
  virtual void enter_error(std::string_view why) = 0;
  /// Calls the engines' work at the end of the batch or of the turn.
  virtual void want_work() = 0;

  bool departs(Departure point) const { return softroce::departs(s.hooks, point); }
  void mark(std::string_view name) const { s.world.trace().mark(name); }

  /// Begins a packet and writes its BTH and pad. Returns the bytes after the BTH.
  MutableBytes open(const OutPacket& out);

  const Surroundings s;
  PathFacts path;
  std::uint32_t mtu = 1024;
  rdma::Access rights = rdma::Access::none;  ///< what peers may do through this queue pair

 protected:
  ~QpCore() = default;
};

/// Copies between SGE lists and packets. Offsets count through the list as one stretch of bytes.
/// Both return false when a key does not cover its SGE; scatter() then may have copied a part.
bool gather_sges(const QpCore& core, std::span<const rdma::Sge> sges, std::uint32_t offset, MutableBytes to);
bool scatter_sges(const QpCore& core, std::span<const rdma::Sge> sges, std::uint32_t offset, ByteView from);
/// True when gather_sges() would succeed.
bool sges_readable(const QpCore& core, std::span<const rdma::Sge> sges, std::uint32_t offset, std::uint32_t length);

}  // namespace fb::softroce
