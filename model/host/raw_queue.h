// The raw level: one queue that says anything. It connects, sends exactly the entries it is given and
// hands out what comes back; it validates nothing and corrects nothing.
//
//   RawQueue queue(world, fabric, {.to = endpoint});
//   queue.connect_transport().wait();
//   auto reply = queue.send(connect({.hostnqn = "...", .subnqn = "..."})).wait();
//   auto id = queue.send(identify(nvme::Cns::controller), 4096).wait();   // id.data
//
// Several commands may be outstanding. CID 0 means "choose for me" (chosen ones count up from RawQueueOptions::first_cid); any
// other CID is sent as it is, duplicates included. A response goes to the oldest outstanding command
// with its CID; responses that nobody waits for are kept for next_response().
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>

#include "model/host/commands.h"
#include "model/transport/host_channel.h"
#include "sim/core/op.h"
#include "wire/nvme/cqe.h"

namespace fb::host {

/// What came back for a command: a response, or the end of the connection.
struct RawReply {
  std::optional<transport::ChannelEnd> end;  ///< set: there was no response
  nvme::Cqe cqe;
  nvme::StatusFamily family = nvme::StatusFamily::unknown;  ///< of the command, where it is known
  /// The command's buffer afterwards, in either direction.
  Bytes data;
  transport::ResponseFacts facts;
  Instant at;

  bool answered() const { return !end.has_value(); }
  nvme::Status status() const { return cqe.get(nvme::cqe::status).of(family); }
  bool ok() const { return answered() && status().ok(); }
  std::uint32_t dw0() const { return cqe.get(nvme::cqe::dw0); }
  /// DW0 and DW1: the value of a property.
  std::uint64_t value() const { return std::uint64_t{cqe.get(nvme::cqe::dw1)} << 32 | cqe.get(nvme::cqe::dw0); }
  template <class L>
  View<L> as() const {
    return cqe.as<L>();
  }
};

/// How connecting ended.
struct RawConnection {
  bool connected = false;
  transport::ChannelFacts facts;
  transport::ChannelEnd end;  ///< when not connected
};

/// A command with everything that can be said about its transfer.
struct RawCommand {
  nvme::Sqe sqe = {};
  Bytes data = {};  ///< what is sent, or room for what comes
  transport::Direction direction = transport::Direction::none;
  bool allow_in_capsule = true;
  bool keep_dptr = false;  ///< the entry's SGL and PSDT go out as they are
  bool keep_cid = false;   ///< also a CID of 0
};

struct RawQueueOptions {
  Endpoint to = {};
  std::uint16_t qid = 0;
  std::uint16_t entries = 32;
  std::uint16_t cntlid = 0;
  std::uint32_t in_capsule_bytes = 0;
  bool remote_invalidate = true;
  bool secured = false;  ///< see transport::ChannelOptions
  std::string hostnqn = {};
  std::string subnqn = {};
  std::uint16_t first_cid = 1;  ///< of those that it chooses
};

class RawQueue final : private transport::HostChannelHandler {
 public:
  RawQueue(World& world, transport::HostFabric& fabric, const RawQueueOptions& options);
  ~RawQueue();

  Op<RawConnection> connect_transport();

  /// Any record of 64 bytes, without data.
  template <class L>
  Op<RawReply> send(const Record<L>& command) {
    return send_command(RawCommand{.sqe = as_sqe(command)});
  }
  /// With room for `bytes` from the controller.
  template <class L>
  Op<RawReply> send(const Record<L>& command, std::size_t bytes) {
    return send_command(RawCommand{.sqe = as_sqe(command), .data = Bytes(bytes), .direction = transport::Direction::from_controller});
  }
  /// With data to the controller.
  template <class L>
  Op<RawReply> send(const Record<L>& command, ByteView data) {
    return send_command(
        RawCommand{.sqe = as_sqe(command), .data = Bytes(data.begin(), data.end()), .direction = transport::Direction::to_controller});
  }
  Op<RawReply> send(const ConnectCommand& command) { return send(command.sqe, command.data.bytes()); }
  Op<RawReply> send_command(RawCommand command);

  /// Sends without waiting: the response, if any, goes to next_response().
  void post(RawCommand command);
  /// Exactly these bytes as one capsule. Responses go to next_response(). False when not connected.
  bool post_capsule(ByteView capsule);
  /// Exactly these bytes; the response with CID `cid` settles the operation.
  Op<RawReply> send_capsule(ByteView capsule, std::uint16_t cid);

  /// The next response that no sent command claims (at once when one is kept), or the end.
  Op<RawReply> next_response();
  /// Settles when the connection has ended.
  Op<transport::ChannelEnd> ended();
  /// Starts an orderly disconnect; ended() follows.
  void disconnect();

  /// Memory that the controller may reach by hand-made SGLs, until the queue ends.
  struct Exposed {
    Bytes data;
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    /// A keyed descriptor for `length` bytes from `offset`.
    nvme::SglDescriptor sgl(std::uint32_t length, std::uint64_t offset = 0) const {
      return nvme::SglDescriptor::keyed(address + offset, length, key);
    }
  };
  /// Takes a slot for good. The reference stays valid as long as the queue.
  Exposed& expose(Bytes data);

  bool connected() const { return connected_; }
  bool has_ended() const { return end_.has_value(); }
  const std::optional<transport::ChannelEnd>& end() const { return end_; }
  const transport::ChannelFacts& facts() const { return facts_; }
  std::size_t outstanding() const { return calls_.size(); }
  std::uint64_t responses() const { return responses_; }
  const RawQueueOptions& options() const { return options_; }
  World& world() { return world_; }

 private:
  struct Call {
    Promise<RawReply> promise;  ///< empty for posted commands
    Bytes data;
    std::uint16_t cid = 0;
    nvme::StatusFamily family = nvme::StatusFamily::unknown;
    std::optional<std::uint16_t> slot;
    bool answered = false;  ///< waits for its memory
    RawReply reply;
  };

  void on_connected(const transport::ChannelFacts& facts) override;
  void on_response(ByteView cqe, const transport::ResponseFacts& facts) override;
  void on_released(std::uint16_t slot) override;
  void on_end(const transport::ChannelEnd& end) override;

  void start(RawCommand& command, Promise<RawReply> promise);
  std::optional<std::uint16_t> take_slot();
  void settle(std::list<Call>::iterator call);
  void keep(RawReply reply);

  World& world_;
  RawQueueOptions options_;
  std::unique_ptr<transport::HostChannel> channel_;
  bool connected_ = false;
  std::uint16_t next_cid_;
  std::uint64_t responses_ = 0;
  std::vector<std::uint16_t> free_slots_;
  std::list<Call> calls_;  ///< oldest first
  std::deque<RawReply> kept_;
  std::list<std::unique_ptr<Exposed>> exposed_;
  std::vector<std::uint16_t> exposed_slots_;
  std::deque<Promise<RawReply>> waiting_;
  std::vector<Promise<transport::ChannelEnd>> end_waiting_;
  Promise<RawConnection> connecting_;
  transport::ChannelFacts facts_;
  std::optional<transport::ChannelEnd> end_;
};

}  // namespace fb::host
