// Puts packets together again: RDMA connections and messages, NVMe/TCP streams and PDUs, capsules, MCTP
// messages. A sink of a world's trace, or fed from a capture file. It never fails: what cannot be read is
// counted and left, and a missing beginning is said.
#pragma once

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
  std::uint64_t tcp = 0, tcp_connections = 0, pdus = 0, encrypted = 0;
  std::uint64_t commands = 0, completions = 0;
  std::uint64_t mctp = 0, mctp_messages = 0, mi_messages = 0;
  std::uint64_t other = 0;    ///< of no protocol that is read here
  std::uint64_t broken = 0;   ///< of one, but not to be read
};

struct DissectorOptions {
  /// Nothing is missing between the packets: a trace of a simulated world, not a capture.
  bool complete = false;
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
  const DissectorOptions& options() const { return options_; }
  /// What is missing, one line each, in the order of its discovery.
  const std::vector<std::string>& remarks() const { return remarks_; }

  // For the readers below.
  template <unsigned Kind, class Tell>
  void tell(Tell&& tell) {
    static_assert(std::has_single_bit(Kind));
    for (Observer* observer : observers_[std::countr_zero(Kind)]) tell(*observer);
  }
  Counts& count() { return counts_; }
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
  Counts counts_;
  std::vector<std::string> remarks_;
  std::uint64_t remarks_left_out_ = 0;
  std::vector<std::unique_ptr<Queue>> queues_;
  Sight at_;                    // of the packet at hand, in a trace
  std::string struck_;          // faults that strike the next packet
  std::int64_t epoch_ns_ = 0;   // of a file: its first packet
  bool begun_ = false;
  std::unique_ptr<RoceReader> roce_;
  std::unique_ptr<TcpReader> tcp_;
  std::unique_ptr<MctpReader> mctp_;
};

}  // namespace fb::evidence
