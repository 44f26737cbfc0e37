// One queue's connection on the controller side of NVMe/TCP. Made by TcpControllerFabric.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "model/transport/tcp_controller.h"

namespace fb::transport {

class TcpControllerChannel final : public ControllerChannel, TcpLinkOwner {
 public:
  TcpControllerChannel(TcpControllerFabric& fabric, std::unique_ptr<net::Stream> stream);
  ~TcpControllerChannel() override;

  void set_handler(ControllerChannelHandler* handler) override { handler_ = handler; }
  nvme::Status stage(ArrivedCommand& command, std::size_t bytes) override;
  void pull(ArrivedCommand& command) override;
  void push(ArrivedCommand& command, std::size_t bytes) override;
  nvme::Status push_constant(ArrivedCommand& command, ByteView data) override;
  void respond(ArrivedCommand& command, ByteView cqe) override;
  void drop(ArrivedCommand& command) override;
  void send_extra(ByteView cqe) override;
  void close() override;
  std::optional<std::uint16_t> requested_qid() const override { return std::nullopt; }
  std::uint32_t entries() const override;
  Endpoint peer() const override { return link_.peer(); }
  Endpoint local() const override { return link_.local(); }
  std::string_view identity() const override { return link_.identity(); }

  /// Ends a connection that has not exchanged ICReq and ICResp.
  void give_up();
  /// Ends one that has, in favour of others.
  void evict();

 private:
  static constexpr std::size_t kChunk = 16;

  struct Command final : ArrivedCommand {
    MutableBytes staging;  ///< ours, from the pool
    ByteView constant;     ///< what goes out without being staged
    std::uint16_t cid = 0;
    std::uint32_t capsule_data = 0;  ///< bytes of in-capsule data, at the start of staging
    std::uint32_t pushed = 0;        ///< bytes to go ahead of the response
    std::uint32_t pulled = 0;        ///< bytes of the host's data that have come
    std::uint32_t asked = 0;         ///< bytes that R2Ts have asked for
    std::uint32_t r2ts = 0;          ///< R2Ts outstanding
    std::uint32_t sending = 0;       ///< PDUs with its data that have not left
    bool in_use = false;             ///< the subsystem's
    bool inside = false;             ///< its data came in the capsule
    Command* next_free = nullptr;
  };
  /// One R2T. Its index is the transfer tag; it stays known until its command is answered, so that
  /// data that comes after its end is told from a tag that never was.
  struct Request {
    Command* command = nullptr;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t received = 0;
    bool done() const { return received == length; }
  };

  bool overlooks(std::string_view check) override;
  std::optional<PduFault> on_header(PduIn& pdu) override;
  std::optional<PduFault> on_pdu(const PduIn& pdu) override;
  void on_link_open() override {}
  void on_sent(std::uint32_t cookie) override;
  void on_link_end(const net::StreamEnd& end, const PduFault* fault) override;

  std::optional<PduFault> check_greeting(const PduIn& pdu);
  void greet(const PduIn& pdu);
  std::optional<PduFault> place_capsule(PduIn& pdu);
  void arrive(const PduIn& pdu);
  std::optional<PduFault> place_data(PduIn& pdu);
  std::optional<PduFault> data_done(const PduIn& pdu);
  nvme::Status prepare(Command& command, std::size_t bytes);
  nvme::Status check_sgl(const Command& command, std::size_t bytes, bool& inside) const;

  static Command& own(ArrivedCommand& command) { return static_cast<Command&>(command); }
  TransportHooks* hooks() const { return fabric_.shared_.hooks; }
  World& world() const { return fabric_.shared_.world; }
  Command* take_command();
  Command& command_at(std::uint32_t index) { return chunks_[index / kChunk][index % kChunk]; }
  void ask(Command& command);
  void send_r2t(Command& command, std::uint32_t length);
  void finish_command(Command& command);
  void free_command(Command& command);
  void forget_requests(const Command& command);
  bool sends_success(const Command& command, ByteView cqe) const;
  void send_data(Command& command, bool success);
  void send_response(ByteView cqe);
  void void_commands();

  TcpControllerFabric& fabric_;
  TcpLink link_;
  ControllerChannelHandler* handler_ = nullptr;
  bool greeted_ = false;  ///< ICReq and ICResp have been exchanged
  bool adopted_ = false;
  bool ended_ = false;
  std::uint16_t qid_ = 0;   ///< what the last Connect said
  bool connected_ = false;  ///< there was one
  bool flow_control_off_ = false;
  std::uint32_t maxr2t_ = 0;
  std::vector<std::unique_ptr<Command[]>> chunks_;
  Command* free_commands_ = nullptr;
  std::uint32_t commands_ = 0;   ///< made so far
  Command* arriving_ = nullptr;  ///< whose capsule is under way
  std::vector<Request> requests_;
  std::vector<std::uint16_t> free_requests_;
  std::array<std::uint8_t, tcp::kTermReqMax> term_data_ = {};
  std::string term_text_;
  Timer<TcpControllerChannel, &TcpControllerChannel::give_up> greeting_{"transport.tcp.greeting", *this};
};

}  // namespace fb::transport
