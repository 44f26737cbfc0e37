// What NVMe/RDMA asks of a connection request and of a command's SGL, apart from any RDMA device:
// the RDMA controller side and the loopback fabric hold their peers against the same rules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "model/transport/controller_channel.h"
#include "model/transport/hooks.h"
#include "model/transport/host_channel.h"
#include "sim/core/world.h"
#include "wire/fabrics/rdma_private_data.h"
#include "wire/nvme/status.h"

namespace fb::transport {

/// True when hooks are there and ask for the departure.
inline bool departs(TransportHooks* hooks, std::string_view point) { return hooks != nullptr && hooks->departs(point); }

/// Most descriptors that an SGL in a capsule may hold, whatever MSDBD says.
inline constexpr std::size_t kSegmentsMax = 16;

/// One piece of host memory.
struct KeyedSegment {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t key = 0;
  bool invalidate = false;
};

/// Where a command's data lies.
struct SglPlan {
  enum class Kind : std::uint8_t { none, in_capsule, keyed } kind = Kind::none;
  std::uint8_t segments = 0;  ///< keyed: descriptors
  /// in_capsule: offset of the data; keyed with `list`: offset of the descriptors. From the end of
  /// the SQE.
  std::uint32_t offset = 0;
  bool list = false;
  KeyedSegment first;
  KeyedSegment last;
};

struct SglLimits {
  std::uint32_t capsule_room = 0;  ///< bytes behind the SQE that the queue's capsules may have
  std::uint8_t msdbd = 1;
};

/// Checks the SGL of `sqe` for a transfer of `bytes`. `in_capsule` is what came behind the SQE.
/// Success fills `plan`; anything else is the status for the host. A hook that departs at
/// "rdma.sgl.<check>" leaves that check out.
nvme::Status read_sgl(ByteView sqe, ByteView in_capsule, const SglLimits& limits, std::size_t bytes, TransportHooks* hooks, SglPlan& plan);

/// Descriptor `index` of a plan of kind keyed.
KeyedSegment segment_of(const SglPlan& plan, ByteView in_capsule, std::size_t index);

/// What a host asks for in its connection request.
struct QueueRequest {
  std::uint16_t qid = 0;
  std::uint32_t hrqsize = 0;
  std::uint32_t entries = 0;  ///< HSQSIZE + 1
  std::uint16_t cntlid = 0;
};

struct QueueRefusal {
  std::string_view check;
  fabrics::RdmaRejectStatus status;
};

/// Reads CM private data. Fields beyond its end read as zero.
QueueRequest read_queue_request(ByteView private_data);

/// Why the request must be refused, or nothing. `responder_resources` are the reads that the host
/// serves. A hook that departs at "rdma.reject.<check>" leaves that check out.
std::optional<QueueRefusal> check_queue_request(ByteView private_data, std::uint8_t responder_resources,
                                                const ControllerFabricOptions& options, std::uint32_t connections, TransportHooks* hooks);

/// CM private data: 32 bytes of REQ and REP, 4 of REJ. Hooks that depart at "rdma.host.request.<field>"
/// and "rdma.accept.<field>" get a field wrong; private_data_out() sees each last.
Bytes make_queue_request(const ChannelOptions& options, TransportHooks* hooks);
Bytes make_queue_accept(const QueueRequest& request, TransportHooks* hooks);
Bytes make_queue_reject(fabrics::RdmaRejectStatus status, TransportHooks* hooks);

/// The end that a host reports for a reject with these words of the connection manager.
ChannelEnd refused_end(std::uint16_t cm_reason, ByteView private_data);

/// Writes PSDT (an SGL) and the one descriptor of a host's command.
void write_sgl(MutableBytes sqe, const std::array<std::uint8_t, 16>& descriptor);

/// A trace event of a capsule that `actor` ("host", "target") sent or received.
void trace_capsule(World& world, std::string_view actor, bool command, bool sent, std::uint16_t qid, ByteView capsule);

/// What a subsystem says in Identify about an RDMA listener with these options.
ControllerFabricFacts rdma_fabric_facts(const ControllerFabricOptions& options);

}  // namespace fb::transport
