// Host side of one NVMe-oF queue's transport: capsules out, capsules in, data to and from host
// memory. RDMA and TCP implement it. The queue above it owns command identifiers, SQ flow control
// and timeouts; the channel owns the SGL, registrations and the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ip.h"

namespace fb::transport {

enum class Direction : std::uint8_t { none, to_controller, from_controller };

/// What a channel needs to know before it connects. Queue sizes are counts of entries.
struct ChannelOptions {
  std::uint16_t qid = 0;
  std::uint16_t entries = 32;          ///< SQ size; also the receives posted and the slots
  std::uint16_t cntlid = 0;            ///< goes into the CM private data of an I/O queue
  std::uint32_t in_capsule_bytes = 0;  ///< data room behind the SQE; 0 on the admin queue
  /// Asks the controller to invalidate the key of each command's registration (subtype Fh).
  bool remote_invalidate = true;
  /// TLS before the first PDU, with the key of these two: only where the fabric secures().
  bool secured = false;
  std::string hostnqn = {};
  std::string subnqn = {};
};

/// Why a connection did not come about, or ended.
struct ChannelEnd {
  enum class Kind : std::uint8_t { refused, unreachable, lost, closed } kind = Kind::lost;
  /// refused over RDMA: CM reject reason, and the NVMe/RDMA status (0 when there was none).
  std::uint16_t cm_reason = 0;
  std::uint16_t status = 0;
  std::string text;
};

/// What came with a connection.
struct ChannelFacts {
  std::uint16_t controller_receive_entries = 0;  ///< CRQSIZE as it was sent
  std::uint8_t reads_by_host = 0;                ///< responder resources offered to the host
};

/// What came with a response capsule.
struct ResponseFacts {
  bool invalidated = false;
  std::uint32_t invalidated_key = 0;
  /// NVMe/TCP: SUCCESS in the last C2HData ended the command. No response capsule was sent, so SQHD is not known.
  bool success_flag = false;
  /// NVMe/TCP: not all of the command's data has come. Over RDMA nobody knows.
  bool data_missing = false;
};

class HostChannelHandler {
 public:
  virtual void on_connected(const ChannelFacts& facts) = 0;
  /// A response capsule: 16 bytes, valid during the call.
  virtual void on_response(ByteView cqe, const ResponseFacts& facts) = 0;
  /// The memory of a released slot is the caller's again.
  virtual void on_released(std::uint16_t slot) = 0;
  /// The channel is gone (or was never there). Data of outstanding commands will not move any more.
  virtual void on_end(const ChannelEnd& end) = 0;

 protected:
  ~HostChannelHandler() = default;
};

/// Data of one command. The memory must stay until release() or on_end().
struct HostTransfer {
  Direction direction = Direction::none;
  MutableBytes data;
  bool allow_in_capsule = true;
  /// Raw level: send the DPTR of the SQE as it is; `data` is still registered, see key_of().
  bool keep_dptr = false;
};

class HostChannel {
 public:
  virtual ~HostChannel() = default;

  virtual void connect(const Endpoint& to, const ChannelOptions& options) = 0;
  /// Sends a command capsule. `slot` < entries is the caller's, one command at a time in each. The
  /// channel writes PSDT and DPTR into the SQE. False when nothing can be sent (not connected).
  virtual bool send(std::uint16_t slot, MutableBytes sqe, const HostTransfer& transfer) = 0;
  /// The command in `slot` has been answered: takes its memory back from the controller (a local
  /// invalidation where the response did not bring a remote one). True when the memory and the slot
  /// may be reused at once; otherwise when on_released() is called.
  virtual bool release(std::uint16_t slot, const ResponseFacts& facts) = 0;
  /// Orderly disconnect; on_end(closed) follows.
  virtual void disconnect() = 0;

  /// Raw level: exactly these bytes as one capsule.
  virtual bool send_raw(ByteView capsule) = 0;
  /// Raw level: registers `data` in `slot` without sending; gives the I/O address and key to put
  /// into a hand-made SGL.
  struct RemoteBuffer {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
  };
  virtual RemoteBuffer expose(std::uint16_t slot, MutableBytes data) = 0;
  /// What a channel that is not connected yet waits for: "ICResp", or nothing that has a name.
  virtual std::string_view awaits() const { return {}; }
};

/// Makes channels for one host over one fabric.
class HostFabric {
 public:
  virtual ~HostFabric() = default;
  virtual std::unique_ptr<HostChannel> make_channel(HostChannelHandler& handler) = 0;
  /// a name of transports.h.
  virtual std::string_view name() const = 0;
  /// Whether channels may be secured (TLS, with keys at hand).
  virtual bool secures() const { return false; }
};

}  // namespace fb::transport
