// One queue's connection on the controller side of NVMe over RDMA. Made by RdmaControllerFabric.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/transport/rdma_controller.h"

namespace fb::transport {

class RdmaControllerChannel final : public ControllerChannel, LinkOwner {
 public:
  RdmaControllerChannel(RdmaControllerFabric& fabric, const QueueRequest& request, const rdma::ConnectionFacts& facts);
  ~RdmaControllerChannel() override;

  /// Makes the queue pair and posts the receives. False when there are no resources.
  bool open();
  void accept(rdma::ConnectionRequest& request);

  void set_handler(ControllerChannelHandler* handler) override { handler_ = handler; }
  nvme::Status stage(ArrivedCommand& command, std::size_t bytes) override;
  void pull(ArrivedCommand& command) override;
  void push(ArrivedCommand& command, std::size_t bytes) override;
  void respond(ArrivedCommand& command, ByteView cqe) override;
  void drop(ArrivedCommand& command) override;
  void send_extra(ByteView cqe) override;
  void close() override;
  std::optional<std::uint16_t> requested_qid() const override { return request_.qid; }
  std::uint32_t entries() const override { return request_.entries; }
  Endpoint peer() const override { return peer_; }
  Endpoint local() const override { return fabric_.local(); }

 private:
  static constexpr std::size_t kChunk = 16;

  struct Command final : ArrivedCommand {
    RegisteredPool::Buffer* staging = nullptr;
    SglPlan plan;
    std::uint32_t receive = 0;  ///< index of the receive buffer
    std::uint32_t pushed = 0;   ///< bytes to go ahead of the response
    std::uint32_t reads = 0;    ///< RDMA READs in flight
    bool in_use = false;        ///< the subsystem's
    bool waits = false;         ///< in the queue of pulls
    Command* next_waiting = nullptr;
    Command* next_free = nullptr;
  };

  void on_completion(WorkKind kind, std::uint32_t index, const rdma::Completion&) override;
  void on_established(const rdma::ConnectionFacts& facts) override;
  void on_rejected(std::uint16_t reason, ByteView private_data) override;
  void on_unreachable() override;
  void on_disconnected() override;
  void on_broken(std::string_view why) override;

  static Command& own(ArrivedCommand& command) { return static_cast<Command&>(command); }
  TransportHooks* hooks() const { return fabric_.hooks_; }
  bool admin() const { return request_.qid == 0; }

  Command* take_command();
  Command& command_at(std::uint32_t index) { return chunks_[index / kChunk][index % kChunk]; }
  MutableBytes receive_memory(std::uint32_t index) const;
  void post_receive(std::uint32_t index);
  void arrive(std::uint32_t index, std::uint32_t bytes);
  void deliver(Command& command, std::uint32_t index, std::uint32_t bytes);
  void finish_command(Command& command);
  void free_command(Command& command);

  std::uint32_t reads_of(const Command& command) const;
  bool post_reads(Command& command);
  void drain_pulls();
  void plan_response(ResponseContext& context, Command& command);
  void depart_response(ResponseContext& context, const Command& command);
  std::uint32_t needs(const ResponseContext& context) const;
  void submit(ResponseContext& context);
  std::uint32_t room() const;
  void post_response(ResponseContext& context);
  void post_sends();
  void post_send(const ResponseContext& context);
  void post_writes(const ResponseContext& context, bool last);
  void drain_responses();

  void end(std::string why);
  void void_commands();

  RdmaControllerFabric& fabric_;
  QueueRequest request_;
  Endpoint peer_;
  std::uint32_t read_depth_ = 1;                    ///< RDMA READs that the host serves at a time
  std::uint64_t address_mask_ = ~std::uint64_t{0};  ///< of host memory; a departure forgets bits
  ControllerChannelHandler* handler_ = nullptr;
  std::unique_ptr<RdmaLink> link_;
  bool shared_receives_ = false;
  bool established_ = false;
  bool ended_ = false;
  std::uint32_t capsule_room_ = 0;  ///< bytes behind the SQE that a receive buffer has

  RegisteredBlock receives_;  ///< the queue's own buffers, unless they are shared
  std::vector<std::unique_ptr<Command[]>> chunks_;
  Command* free_commands_ = nullptr;
  std::uint32_t commands_ = 0;  ///< made so far
  Bytes scratch_;
  std::optional<KeyedSegment> left_;  ///< departures: the first that was left to the host

  Command* first_pull_ = nullptr;
  Command* last_pull_ = nullptr;
  /// Responses that wait for room, and responses that the device has; both oldest first.
  ResponseContext* first_waiting_ = nullptr;
  ResponseContext* last_waiting_ = nullptr;
  ResponseContext* first_sent_ = nullptr;
  ResponseContext* last_sent_ = nullptr;
  /// Of the responses that the device has, the newest: their data is posted, their SENDs follow together.
  ResponseContext* first_gathered_ = nullptr;
  std::uint32_t gathered_ = 0;
  std::uint32_t gathered_bytes_ = 0;  ///< their data
  Timer<RdmaControllerChannel, &RdmaControllerChannel::post_sends> sends_{"transport.controller.sends", *this};
};

}  // namespace fb::transport
