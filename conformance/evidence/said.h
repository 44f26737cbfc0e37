// The evidence in words, one entry a packet or message: what ladder diagrams and lists are drawn from.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "conformance/evidence/observer.h"

namespace fb::evidence {

struct SaidField {
  std::string name;
  std::string value;
};

/// One thing that was said, or a word between them.
struct Said {
  Instant time;
  std::uint64_t packet = 0;  ///< in the capture, from 1
  std::string from;          ///< "10.0.0.1", "EID 9", "host 127.0.0.1" where both have one address; of words the actor
  std::string to;            ///< empty: a word, not an arrow
  std::string actor;         ///< who sent it by name, where that is known: "bench"
  std::string layer;         ///< rdma, cm, nvme, tcp, mctp, mi; words: fault, note, state, verdict
  std::string label;         ///< "SEND Read SLBA=0 CID=5"
  std::vector<SaidField> fields;
  std::string struck;  ///< the fault that struck it, or empty
};

struct SaidOptions {
  std::size_t entries_max = 20'000;  ///< further ones are counted
  bool acknowledgements = true;      ///< plain ACKs of RDMA
  bool segments = false;             ///< TCP segments without a PDU's end: handshakes, FIN and RST are always there
};

class SaidList final : public Observer {
 public:
  explicit SaidList(const SaidOptions& options = {}) : options_(options) {}
  const std::vector<Said>& said() const { return said_; }
  std::vector<Said> take() { return std::move(said_); }
  std::uint64_t left_out() const { return left_out_; }

  void on_roce_packet(const RocePacketSeen& seen) override;
  void on_rdma_message(const RdmaMessageSeen& seen) override;
  void on_cm(const CmSeen& seen) override;
  void on_segment(const SegmentSeen& seen) override;
  void on_pdu(const PduSeen& seen) override;
  void on_command(const CommandSeen& seen) override;
  void on_completion(const CompletionSeen& seen) override;
  void on_mctp_packet(const MctpPacketSeen& seen) override;
  void on_mctp_message(const MctpMessageSeen& seen) override;
  void on_words(const WordsSeen& seen) override;

 private:
  /// The new entry, or nullptr when there are enough.
  Said* add(const Sight& at, std::string_view layer, std::string label);
  /// The entry of this packet, when it was the last one.
  Said* last_of(const Sight& at, std::string_view layer);
  void tell_apart(Said& said, const Sight& at) const;
  SaidOptions options_;
  std::vector<Said> said_;
  std::set<Party> listeners_;  // controllers, as far as connections tell
  std::uint64_t left_out_ = 0;
  std::uint64_t message_packet_ = 0;  // whose SEND carried what comes next
};

}  // namespace fb::evidence
