// Controller side of one NVMe-oF queue's transport: command capsules in, data to and from the host,
// response capsules out. RDMA and TCP implement it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/ip.h"
#include "base/result.h"
#include "wire/nvme/status.h"

namespace fb::transport {

class ControllerChannel;

/// A command that arrived. Channels keep a fixed pool of these, one for each receive buffer; it is
/// the subsystem's from on_command() until respond().
struct ArrivedCommand {
  std::array<std::uint8_t, 64> sqe = {};
  ByteView in_capsule;  ///< bytes behind the SQE
  ControllerChannel* channel = nullptr;
  /// Staging memory for the command's data, sized by stage(); owned by the channel.
  MutableBytes data;
  /// The subsystem's, one word of state for a command in progress, and links for its lists.
  std::uint64_t tag = 0;
  ArrivedCommand* next = nullptr;
  /// Not success: the host's data was damaged on its way. Nothing is done with it; this is the answer.
  nvme::Status fault = {};
  std::uint16_t index = 0;  ///< slot number in the channel's pool
};

class ControllerChannelHandler {
 public:
  virtual void on_command(ArrivedCommand& command) = 0;
  /// A pull() has ended: the host's data is in command.data. Not called after on_end().
  virtual void on_pulled(ArrivedCommand& command) = 0;
  /// The connection is gone; all its commands are void. Called once.
  virtual void on_end(std::string_view why) = 0;

 protected:
  ~ControllerChannelHandler() = default;
};

class ControllerChannel {
 public:
  virtual ~ControllerChannel() = default;

  virtual void set_handler(ControllerChannelHandler* handler) = 0;

  /// Checks the command's SGL against the transport's rules for this queue and against the bytes
  /// the command moves; makes command.data that large. A status other than success is what the host
  /// is to be told (NVMe base: SGL rules; nothing has been moved).
  virtual nvme::Status stage(ArrivedCommand& command, std::size_t bytes) = 0;
  /// Gets the host's data into command.data (at once when it came in the capsule); on_pulled()
  /// follows, possibly from inside this call.
  virtual void pull(ArrivedCommand& command) = 0;
  /// Sends the first `bytes` of command.data to the host, ahead of the response.
  virtual void push(ArrivedCommand& command, std::size_t bytes) = 0;
  /// stage() and push() in one, of bytes that nobody ever changes or frees.
  virtual nvme::Status push_constant(ArrivedCommand& command, ByteView data) {
    const nvme::Status status = stage(command, data.size());
    if (!status.ok()) return status;
    std::copy(data.begin(), data.end(), command.data.begin());
    push(command, data.size());
    return status;
  }
  /// Sends the response capsule and gives the command back to the pool. Both this and drop() may come
  /// while a pull() is under way: on_pulled() does not follow then.
  virtual void respond(ArrivedCommand& command, ByteView cqe) = 0;
  /// Gives the command back without a response (aborted by reset).
  virtual void drop(ArrivedCommand& command) = 0;
  /// One more response capsule, in answer to no command: what a deviation sends twice. A channel that
  /// cannot leaves it out.
  virtual void send_extra(ByteView cqe) { (void)cqe; }
  /// Ends the connection. on_end() does not follow.
  virtual void close() = 0;

  /// The queue id that the connection was made for, where the transport says so (RDMA private
  /// data).
  virtual std::optional<std::uint16_t> requested_qid() const = 0;
  /// Entries that the host asked for on the transport level (RDMA: HSQSIZE + 1).
  virtual std::uint32_t entries() const = 0;
  virtual Endpoint peer() const = 0;
  virtual Endpoint local() const = 0;
  /// The PSK identity under which the host has shown its key; empty without TLS.
  virtual std::string_view identity() const { return {}; }
  /// What travels here is encrypted and authenticated by the transport (TLS).
  virtual bool secured() const { return !identity().empty(); }
};

/// Whether a listener takes connections that are not secured by the transport.
enum class ChannelSecurity : std::uint8_t {
  none,     ///< all of them are not
  offered,  ///< both kinds
  required  ///< none that is not
};

/// Limits of the transport that a subsystem announces in Identify.
struct ControllerFabricFacts {
  std::string_view name;                  ///< a name of transports.h
  std::uint8_t trtype = 1;                ///< discovery log TRTYPE
  std::uint32_t in_capsule_bytes = 4096;  ///< I/O queues; IOCCSZ = (64 + this) / 16
  std::uint8_t msdbd = 1;
  std::uint32_t sgls = 0;  ///< Identify Controller SGLS
  ChannelSecurity security = ChannelSecurity::none;
};

/// A listener of one subsystem port. Gives each accepted connection to the acceptor.
class ControllerAcceptor {
 public:
  virtual void on_channel(std::unique_ptr<ControllerChannel> channel) = 0;

 protected:
  ~ControllerAcceptor() = default;
};

class ControllerFabric {
 public:
  virtual ~ControllerFabric() = default;
  virtual ControllerFabricFacts facts() const = 0;
  virtual Endpoint local() const = 0;
};

/// Bounds that a listener holds connection requests against.
struct ControllerFabricOptions {
  std::uint16_t port = 4420;
  std::uint32_t admin_entries_max = 32;  ///< ASQSZ
  std::uint32_t io_entries_max = 128;    ///< CAP.MQES + 1
  std::uint16_t io_queues_max = 64;
  std::uint32_t in_capsule_bytes = 4096;
  std::uint32_t transfer_bytes_max = 1u << 20;  ///< MDTS in bytes; sizes staging memory
  std::uint8_t msdbd = 16;                      ///< descriptors of an SGL in a capsule, at most 16
  std::uint32_t connections_max = 4096;         ///< more are refused for want of resources
  /// Receive buffers of all I/O queues together. Where queues of their own would take more, the
  /// queues of the listener share one pool of this size, and a burst beyond it meets RNR.
  std::size_t receive_memory_max = 64u << 20;
};

}  // namespace fb::transport
