// A simulated serial line between two ends (DSP0253): both directions at once, each at the line's rate.
// What is put on it is bytes: noise can be mixed in, and the receiver finds its way back.
//
// Lifetimes: the ends belong to the line; endpoints on them go before it, the line before its world.
#pragma once

#include <array>
#include <memory>

#include "sim/mctp/medium.h"
#include "wire/mctp/serial.h"

namespace fb::mctp {

/// The receiving half of a serial binding, simulated or real: bytes in, packets to a sink.
class SerialReceiver {
 public:
  explicit SerialReceiver(std::size_t unit_max = serial::kUnitMax, serial::Unescape unescape = serial::Unescape::strict)
      : deframer_(unit_max + kHeaderSize, unescape) {}

  struct Counters {
    std::uint64_t bytes = 0;
    std::uint64_t packets = 0;
    std::array<std::uint64_t, serial::kFaults> faults{};
    std::uint64_t all_faults() const;
  };
  const Counters& counters() const { return counters_; }

  /// Calls packet(bytes) and fault(serial::Fault).
  template <class OnPacket, class OnFault>
  void feed(ByteView bytes, OnPacket&& on_packet, OnFault&& on_fault) {
    counters_.bytes += bytes.size();
    for (const std::uint8_t byte : bytes) {
      const serial::Deframer::Step step = deframer_.push(byte);
      if (step == serial::Deframer::Step::packet) {
        ++counters_.packets;
        on_packet(deframer_.packet());
      } else if (step == serial::Deframer::Step::fault) {
        ++counters_.faults[static_cast<std::size_t>(deframer_.fault())];
        on_fault(deframer_.fault());
      }
    }
  }

 private:
  serial::Deframer deframer_;
  Counters counters_;
};

/// What every serial attachment says of itself.
BindingFacts serial_facts(std::size_t unit_max);

struct SerialOptions {
  std::string name = "serial";
  std::uint32_t bus = 1;         ///< number in the trace
  std::uint32_t baud = 115'200;  ///< ten bits a byte
  bool timing = true;
  std::size_t unit_max = kBaselineUnit;
  serial::Unescape unescape = serial::Unescape::strict;
};

class SerialLine;

class SerialEnd final : public Binding {
 public:
  const BindingFacts& facts() const override { return facts_; }
  PhysicalAddress address() const override { return {}; }
  void set_sink(PacketSink* sink) override { sink_ = sink; }
  void send(const PhysicalAddress& to, ByteView packet) override;
  /// Whatever bytes on the line; on_packet_sent() follows.
  void send_frame(Bytes bytes);
  /// Bytes that reach the other end at once, as noise on the line does.
  void disturb(ByteView noise);
  const SerialReceiver::Counters& counters() const { return receiver_.counters(); }
  const std::string& name() const { return name_; }

 private:
  friend class SerialLine;
  SerialEnd(SerialLine& line, std::string name, const SerialOptions& options);
  void depart();
  void arrive();
  void receive(SerialEnd& sender, ByteView bytes);

  SerialLine& line_;
  std::string name_;
  BindingFacts facts_;
  PacketSink* sink_ = nullptr;
  SerialEnd* other_ = nullptr;
  SerialReceiver receiver_;
  Bytes frame_;
  Timer<SerialEnd, &SerialEnd::arrive> arrive_;
};

class SerialLine {
 public:
  explicit SerialLine(World& world, const SerialOptions& options = {});
  SerialLine(const SerialLine&) = delete;
  SerialLine& operator=(const SerialLine&) = delete;

  SerialEnd& left() { return *left_; }
  SerialEnd& right() { return *right_; }
  void set_filter(FrameFilter* filter) { filter_ = filter; }
  const SerialOptions& options() const { return options_; }

 private:
  friend class SerialEnd;
  Duration transfer_time(std::size_t bytes) const;

  World& world_;
  SerialOptions options_;
  MediumName medium_;
  FrameFilter* filter_ = nullptr;
  std::uint64_t ordinal_ = 0;
  std::unique_ptr<SerialEnd> left_;
  std::unique_ptr<SerialEnd> right_;
};

}  // namespace fb::mctp
