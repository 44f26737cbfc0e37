// The responder of an RC queue pair: executes requests in PSN order, answers with acknowledgements,
// NAKs and responses, and replays what a requester asks for again.
//
// Responses leave in PSN order. While a read is being answered over several turns, acknowledgements
// and NAKs of later requests wait: nothing stands in the middle of a train of read responses.
#pragma once

#include <vector>

#include "sim/rdma/softroce/qp_core.h"

namespace fb::softroce {

class RcResponder {
 public:
  RcResponder(QpCore& core, std::uint32_t max_receive_sges);

  /// Ready to receive: PSN, rights and depth from the path's facts.
  void start();
  void stop();
  /// Completes a receive that a broken-off message holds as flushed.
  void flush_held_receive();
  void on_request(const InPacket& packet);
  /// Sends read responses that are due, then what waits for them.
  void work();
  bool work_due() const { return responses_due_ > 0 || ack_wanted_ || late_nak_; }

  std::uint32_t expected_psn() const { return expected_psn_; }
  std::uint32_t msn() const { return msn_; }

 private:
  /// A read or atomic that was accepted, kept for its answer and for replay.
  struct Accepted {
    std::uint64_t address = 0;
    std::uint64_t original = 0;  // atomics: the value before
    std::uint32_t rkey = 0;
    std::uint32_t length = 0;
    std::uint32_t first_psn = 0;
    std::uint32_t last_psn = 0;
    bool atomic = false;
    bool replayed = false;
    bool answered = false;  // every response left once
    // The train being sent; a replay may be a part of the read.
    bool due = false;
    std::uint32_t train_first_psn = 0;
    std::uint32_t train_last_psn = 0;
    std::uint32_t train_next_psn = 0;
    std::uint32_t train_length = 0;
    std::uint64_t train_address = 0;
  };
  enum class Message : std::uint8_t { none, send, write };

  // Requests in order (responder.cc).
  void on_gap();
  void on_send(const InPacket& packet);
  void on_write(const InPacket& packet);
  bool sequence_fits(const InPacket& packet, Message kind);
  bool hold_receive(const InPacket& packet);
  bool place_send(const InPacket& packet);
  bool begin_write(const InPacket& packet);
  bool write_length_fits(const InPacket& packet) const;
  bool place_write(const InPacket& packet);
  void complete_message(const InPacket& packet, rdma::CompletionOpcode opcode);
  void complete_held(rdma::CompletionStatus status);
  void accept_packet(const InPacket& packet);
  void depart_execute_again(const InPacket& packet);

  // Reads, atomics, duplicates (responder_reads.cc).
  void on_read(const InPacket& packet);
  void on_atomic(const InPacket& packet);
  bool may_accept(const InPacket& packet, rdma::Access right);
  Accepted& remember(std::uint32_t first_psn, std::uint32_t count);
  void on_duplicate(const InPacket& packet);
  void replay_read(const InPacket& packet);
  void replay_atomic(const InPacket& packet);
  void begin_train(Accepted& accepted, std::uint32_t psn, std::uint64_t address, std::uint32_t length);
  Accepted* first_due();
  void serve(std::uint32_t packets);
  void send_read_response(Accepted& accepted);
  void send_atomic_response(Accepted& accepted);
  void end_train(Accepted& accepted);

  // Answers (responder.cc).
  void send_ack(std::uint32_t psn, std::uint8_t syndrome);
  void send_pending();
  void on_ack_timer();
  void sequence_nak();
  void not_ready(std::uint32_t psn);
  void nak_when_allowed(std::uint32_t psn, std::uint8_t syndrome);
  /// NAKs a request that cannot be executed and fails the queue pair.
  void refuse(const InPacket& packet, roce::NakCode code, std::string_view why);
  void access_refused(const InPacket& packet, std::string_view why);
  void put_aeth(MutableBytes to, std::uint8_t syndrome) const;

  QpCore& core_;
  bool running_ = false;
  std::uint32_t expected_psn_ = 0;
  std::uint32_t msn_ = 0;
  bool nak_sent_ = false;     // the gap before expected_psn_ has been reported
  bool rnr_waiting_ = false;  // expected_psn_ was refused for want of a receive

  Message message_ = Message::none;
  bool receive_held_ = false;
  ReceiveEntry receive_;
  std::vector<rdma::Sge> receive_sges_;
  std::uint32_t received_bytes_ = 0;
  std::uint64_t write_address_ = 0;
  std::uint32_t write_rkey_ = 0;
  std::uint32_t write_length_ = 0;
  std::uint32_t write_left_ = 0;

  bool ack_wanted_ = false;
  std::uint32_t ack_psn_ = 0;  // newest SEND or WRITE packet that was executed
  bool late_nak_ = false;      // a NAK that waits for the end of a train
  std::uint32_t late_nak_psn_ = 0;
  std::uint8_t late_nak_syndrome_ = 0;

  std::vector<Accepted> accepted_;  // ring, oldest at accepted_first_
  std::size_t accepted_first_ = 0;
  std::size_t accepted_count_ = 0;
  std::uint32_t responses_due_ = 0;
  Timer<RcResponder, &RcResponder::on_ack_timer> ack_timer_{"rc.ack_delay", *this};
};

}  // namespace fb::softroce
