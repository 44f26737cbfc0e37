// Puts packets together again: RDMA connections and messages, NVMe/TCP streams and PDUs, capsules, MCTP
// messages. A sink of a world's trace, or fed from a capture file. It never fails: what cannot be read is
// counted and left, and a missing beginning is said.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "conformance/evidence/observer.h"
#include "sim/capture/reader.h"
#include "sim/core/trace.h"

namespace fb::evidence {

struct Counts {
  std::uint64_t packets = 0;
  std::uint64_t roce = 0, rdma_messages = 0, cm = 0, rdma_connections = 0;
  std::uint64_t tcp = 0, tcp_connections = 0, pdus = 0, encrypted = 0, decrypted = 0;
  std::uint64_t commands = 0, completions = 0;
  std::uint64_t mctp = 0, mctp_messages = 0, mi_messages = 0;
  std::uint64_t other = 0;   ///< of no protocol that is read here
  std::uint64_t broken = 0;  ///< of one, but not to be read
};

class TlsKeys;

struct DissectorOptions {
  /// Nothing is missing between the packets: a trace of a simulated world, not a capture.
  bool complete = false;
  /// A file of packets: other programs' traffic is among them, so that only what begins as NVMe/TCP or is a chain of its
  /// PDUs is taken for it; and they may stand in a wrong order by a little.
  bool capture = false;
  std::vector<std::uint16_t> tcp_ports = {};  ///< of NVMe/TCP, beside 4420 and 8009
  TlsKeys* tls_keys = nullptr;                ///< opens TLS connections; captures only
};

/// TCP connections of a capture that carried bytes and were not read.
struct UnreadConnections {
  std::uint64_t other = 0;    ///< they begin with something else than NVMe/TCP or TLS
  std::uint64_t unknown = 0;  ///< their beginning is not there, and no chain of PDUs is in them
};

class RoceReader;
class TcpReader;
class MctpReader;

class Dissector final : public TraceSink {
 public:
  explicit Dissector(const DissectorOptions& options = {});
  ~Dissector() override;

  /// Before the first packet. Observers hear in the order in which they were added.
  void add(Observer& observer);

  void on_event(const TraceEvent& event) override;
  /// A packet of a file.
  void on_packet(const capture::CapturedPacket& packet);

  const Counts& counts() const { return counts_; }
  /// The number of the next packet of a trace, where others are not read here.
  void number_next(std::uint64_t number) { counts_.packets = number - 1; }
  const DissectorOptions& options() const { return options_; }
  /// What is missing, one line each, in the order of its discovery.
  const std::vector<std::string>& remarks() const { return remarks_; }
  /// No more packets come: those that were kept are read.
  void finish();
  UnreadConnections unread_connections() const;

  // For the readers below.
  template <unsigned Kind, class Tell>
  void tell(Tell&& tell) {
    static_assert(std::has_single_bit(Kind));
    for (Observer* observer : observers_[std::countr_zero(Kind)]) tell(*observer);
  }
  Counts& count() { return counts_; }
  /// Whether nobody would find it in front of what it answers, or of what it waits for.
  bool in_order(const CommandSeen& seen) const {
    return std::all_of(everybody_.begin(), everybody_.end(), [&](const Observer* one) { return one->command_in_order(seen); });
  }
  bool in_order(const CompletionSeen& seen) const {
    return std::all_of(everybody_.begin(), everybody_.end(), [&](const Observer* one) { return one->completion_in_order(seen); });
  }
  bool in_order(const RdmaMessageSeen& seen) const {
    return std::all_of(everybody_.begin(), everybody_.end(), [&](const Observer* one) { return one->message_in_order(seen); });
  }
  [[gnu::cold]] void remark(std::string text);
  Queue& new_queue();
  void command(const Sight& at, Queue& queue, ByteView capsule);
  void completion(const Sight& at, Queue& queue, ByteView cqe, std::optional<std::uint32_t> invalidates = {});
  void end_queue(const Sight& at, Queue& queue);

 private:
  template <class Tell>
  void tell_capsule(const Queue& queue, Tell&& how) {
    queue.tcp ? tell<heard::tcp_capsules>(how) : tell<heard::rdma_capsules>(how);
  }
  [[gnu::cold]] void strike(const TraceEvent& event, Sight& at);
  void read(const TraceEvent& event, Sight& at);
  [[gnu::cold]] void read_damaged(const TraceEvent& event, Sight& at);
  DissectorOptions options_;
  std::array<std::vector<Observer*>, heard::kinds> observers_;  // by what they hear
  std::vector<Observer*> everybody_;
  Counts counts_;
  std::vector<std::string> remarks_;
  std::uint64_t remarks_left_out_ = 0;
  std::vector<std::unique_ptr<Queue>> queues_;
  Sight at_;                   // of the packet at hand, in a trace
  std::string struck_;         // faults that strike the next packet
  std::int64_t epoch_ns_ = 0;  // of a file: its first packet
  bool begun_ = false;
  std::unique_ptr<RoceReader> roce_;
  std::unique_ptr<TcpReader> tcp_;
  std::unique_ptr<MctpReader> mctp_;
};

}  // namespace fb::evidence
