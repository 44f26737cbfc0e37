// The requester of an RC queue pair: turns work requests into request packets and responses into
// completions; go-back-N on NAK, implied NAK and timeout, RNR waits, retry counters.
//
// One PSN describes the state of a read as well as of a send: una_psn_ is the oldest PSN that is
// not acknowledged, and for the read at the head it is the next response that is expected.
#pragma once

#include <vector>

#include "sim/rdma/softroce/qp_core.h"

namespace fb::softroce {

struct RequesterLimits {
  std::uint32_t entries = 128;
  std::uint32_t max_sges = 4;
  std::uint32_t max_inline_bytes = 256;
};

class RcRequester {
 public:
  RcRequester(QpCore& core, const RequesterLimits& limits);

  /// False when the queue is full or the request makes no sense.
  bool post(const rdma::SendRequest& request);
  /// Ready to send: PSNs and counters start from the path's facts.
  void start();
  /// No packets any more; what is posted completes as flushed, in order.
  void stop_and_flush();
  /// Sends what may be sent.
  void pump();
  void on_response(const InPacket& packet);

  bool can_send() const { return running_ && !rnr_waiting_ && send_ != tail_; }
  std::uint32_t posted() const { return tail_ - head_; }
  std::uint32_t oldest_unacknowledged_psn() const { return una_psn_; }
  std::uint32_t next_psn() const { return next_psn_; }

 private:
  struct Entry {
    std::uint64_t id = 0;
    std::uint64_t remote_address = 0;
    std::uint64_t compare = 0;
    std::uint64_t swap_or_add = 0;
    MutableBytes memory;     // fast_register
    std::uint64_t iova = 0;  // fast_register
    std::uint32_t rkey = 0;
    std::uint32_t immediate_or_key = 0;
    std::uint32_t length = 0;
    std::uint32_t sge_count = 0;
    std::uint32_t first_psn = 0;
    std::uint32_t last_psn = 0;
    std::uint32_t request_psn = 0;  // reads: where the newest request began
    rdma::SendOpcode opcode = rdma::SendOpcode::send;
    rdma::CompletionStatus error = rdma::CompletionStatus::success;
    rdma::Access access = rdma::Access::none;
    std::uint8_t key_byte = 0;
    bool this_queue_only = false;
    bool signaled = false;
    bool solicited = false;
    bool fence = false;
    bool inlined = false;
    bool started = false;      // PSNs are assigned
    bool asked_again = false;  // reads: more than one request was sent
    bool done = false;         // local operations: executed
  };

  static bool is_local(const Entry& e) {
    return e.opcode == rdma::SendOpcode::fast_register || e.opcode == rdma::SendOpcode::local_invalidate;
  }
  static bool is_atomic(const Entry& e) {
    return e.opcode == rdma::SendOpcode::compare_and_swap || e.opcode == rdma::SendOpcode::fetch_and_add;
  }
  static bool is_read_like(const Entry& e) { return e.opcode == rdma::SendOpcode::rdma_read || is_atomic(e); }
  static bool is_write(const Entry& e) {
    return e.opcode == rdma::SendOpcode::rdma_write || e.opcode == rdma::SendOpcode::rdma_write_with_immediate;
  }

  Entry& at(std::uint32_t index) { return ring_[index & mask_]; }
  std::span<const rdma::Sge> sges_of(std::uint32_t index) const {
    return {sges_.data() + std::size_t{index & mask_} * limits_.max_sges, ring_[index & mask_].sge_count};
  }
  MutableBytes inline_of(std::uint32_t index) {
    return {inline_.data() + std::size_t{index & mask_} * limits_.max_inline_bytes, limits_.max_inline_bytes};
  }
  bool acceptable(const rdma::SendRequest& request, std::uint64_t length) const;

  // Sending (requester.cc).
  bool may_start(Entry& entry);
  void begin_entry(Entry& entry);
  void run_local(Entry& entry);
  bool send_packet(Entry& entry);
  bool send_data(Entry& entry);
  void send_read(Entry& entry);
  void send_atomic(Entry& entry);
  bool ack_needed(const Entry& entry, bool last);
  roce::Opcode data_opcode(const Entry& entry, bool first, bool last) const;
  std::uint32_t outstanding() const { return (next_psn_ - una_psn_) & roce::kPsnMask; }
  std::uint32_t offset_of(const Entry& entry, std::uint32_t psn) const { return ((psn - entry.first_psn) & roce::kPsnMask) * core_.mtu; }
  void sent_until(std::uint32_t psn);

  // Responses (requester_responses.cc).
  void on_acknowledge(const InPacket& packet);
  void on_nak(std::uint32_t psn, std::uint8_t code);
  void on_sequence_nak(std::uint32_t psn);
  void on_rnr_nak(std::uint32_t psn, std::uint8_t timer_code);
  void on_read_response(const InPacket& packet);
  void on_atomic_response(const InPacket& packet);
  bool reach_head(std::uint32_t psn);
  bool read_opcode_fits(const Entry& entry, const InPacket& packet) const;
  bool acknowledge_before(std::uint32_t limit);
  void implied_nak();
  void progress(std::uint32_t una);
  void retire();
  void finish_head();
  void fail_head(rdma::CompletionStatus status, std::string_view why);
  rdma::Completion completion_of(const Entry& entry, rdma::CompletionStatus status) const;

  // Recovery.
  bool spend_retry();
  void rewind();
  void on_ack_timer();
  void on_rnr_timer();
  void arm_ack_timer();
  void settle_ack_timer();
  std::uint32_t retry_limit() const;

  QpCore& core_;
  RequesterLimits limits_;
  std::uint32_t mask_;
  std::vector<Entry> ring_;
  std::vector<rdma::Sge> sges_;
  std::vector<std::uint8_t> inline_;  // allocated by the first inline request

  // head_ <= send_ <= tail_, counted for ever: [head_, send_) was sent, send_ is being sent.
  std::uint32_t head_ = 0;
  std::uint32_t send_ = 0;
  std::uint32_t tail_ = 0;

  std::uint32_t una_psn_ = 0;
  std::uint32_t next_psn_ = 0;
  std::uint32_t sent_end_psn_ = 0;  // one after the newest PSN ever sent
  std::uint32_t reads_in_flight_ = 0;
  std::uint32_t packets_without_ack_request_ = 0;
  std::uint32_t retries_left_ = 0;
  std::uint32_t rnr_retries_left_ = 0;
  std::uint32_t rnr_psn_ = 0;
  bool running_ = false;
  bool rnr_waiting_ = false;
  bool recovering_ = false;      // a NAK has been obeyed and no progress was made since
  bool one_nak_obeyed_ = false;  // only a departure asks
  Instant ack_deadline_;
  Timer<RcRequester, &RcRequester::on_ack_timer> ack_timer_{"rc.ack_timeout", *this};
  Timer<RcRequester, &RcRequester::on_rnr_timer> rnr_timer_{"rc.rnr_timer", *this};
};

}  // namespace fb::softroce
