// A simulated SMBus or I2C segment: several masters that are slaves as well, arbitration, clock and byte
// timing in virtual time, acknowledgement. A frame is one block write; it is delivered when its STOP is.
//
// Lifetimes: ports go before their segment, the segment before its world.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/mctp/medium.h"
#include "sim/mctp/plain_slave.h"
#include "wire/mctp/smbus.h"

namespace fb::mctp {

struct SmbusOptions {
  std::string name = "smbus";
  std::uint32_t bus = 1;             ///< number in the trace
  std::uint32_t clock_hz = 100'000;  ///< 100,000, 400,000 or 1,000,000; I2C up to 3,400,000
  /// Without it a transfer takes no time; the order of events stays.
  bool timing = true;
  Duration stretch_per_byte{};  ///< by which receivers hold the clock
  /// A master that has sent waits until those who lost against it have had their turn.
  bool fair = true;
};

struct SmbusCounters {
  std::uint64_t transfers = 0;  ///< begun, with those that were not acknowledged
  std::uint64_t delivered = 0;
  std::uint64_t nacks = 0;
  std::uint64_t absent = 0;             ///< of these: nobody has the address
  std::uint64_t arbitrations_lost = 0;  ///< by masters, summed
  Duration busy{};                      ///< time that the bus was taken
};

struct SmbusPortCounters {
  std::uint64_t sent = 0;
  std::uint64_t retries = 0;
  std::uint64_t given_up = 0;
  std::uint64_t received = 0;
  std::array<std::uint64_t, smbus::kFaults> faults{};
};

/// What came of a transaction with a slave; nothing when it did not acknowledge its address.
using SmbusThen = std::function<void(const std::optional<Bytes>& read)>;

class SmbusSegment;

/// One device on the segment.
class SmbusPort final : public Binding {
 public:
  ~SmbusPort() override;

  const BindingFacts& facts() const override { return facts_; }
  PhysicalAddress address() const override { return address_; }
  void set_sink(PacketSink* sink) override { sink_ = sink; }
  void send(const PhysicalAddress& to, ByteView packet) override;
  /// Whatever bytes, to the slave whose address is the first; on_packet_sent() follows.
  void send_frame(Bytes frame);
  /// Writes, and then, behind a repeated START, reads `read` bytes, as SMBus has it for blocks; either
  /// may be empty. Not while a packet is on its way, nor the other way round: a management controller does
  /// this on a port of its own. Not tried again.
  void transact(std::uint8_t address, ByteView write, std::size_t read, SmbusThen then);

  /// Moves the device to another address, as ARP does. False when it is taken.
  bool move_to(std::uint8_t address);
  /// Tries of a packet that is not acknowledged, beyond the first (PN1, PN2).
  void set_retries(int retries) { retries_ = retries; }
  /// Does not acknowledge its address in the next `count` transfers to it.
  void nack_next(int count) { nacks_ = count; }
  /// Unplugged: acknowledges nothing, sends nothing. What waits is given up.
  void set_present(bool present);

  const std::string& name() const { return name_; }
  const SmbusPortCounters& counters() const { return counters_; }

 private:
  friend class SmbusSegment;
  SmbusPort(SmbusSegment& segment, std::string name, std::uint8_t address);

  SmbusSegment& segment_;
  std::string name_;
  PhysicalAddress address_;
  BindingFacts facts_;
  PacketSink* sink_ = nullptr;
  SmbusPortCounters counters_;
  Bytes frame_;
  bool waiting_ = false;
  bool served_ = false;
  bool present_ = true;
  int retries_ = 8;
  int tries_ = 0;
  int nacks_ = 0;
  // A transaction with a plain slave instead of a packet.
  SmbusThen then_;
  std::size_t read_ = 0;
};

class SmbusSegment final : public SlaveBus {
 public:
  explicit SmbusSegment(World& world, const SmbusOptions& options = {});
  ~SmbusSegment();
  SmbusSegment(const SmbusSegment&) = delete;
  SmbusSegment& operator=(const SmbusSegment&) = delete;

  /// A device at an address (8-bit form) that is free and may be given away.
  std::unique_ptr<SmbusPort> attach(std::string name, std::uint8_t address);
  bool is_free(std::uint8_t address) const { return slaves_[address >> 1] == nullptr && plain_[address >> 1] == nullptr; }
  void set_slave(std::uint8_t address, SmbusSlave* slave) override;

  void set_filter(FrameFilter* filter) { filter_ = filter; }
  /// Somebody who is no part of this world has the bus for so long.
  void occupy(Duration span);
  bool busy() const { return current_ != nullptr || occupied_until_ > world_.now(); }

  const SmbusOptions& options() const { return options_; }
  const SmbusCounters& counters() const { return counters_; }

 private:
  friend class SmbusPort;
  enum class Outcome : std::uint8_t { delivered, lost, nack };

  Duration bits(std::size_t count) const;
  Duration transfer_time(std::size_t bytes) const;
  void contend();
  SmbusPort* choose();
  void begin();
  Outcome judge(SmbusPort& master);
  void finish();
  void finish_transaction(SmbusPort& master);
  bool answers(const SmbusPort& master) const;
  std::size_t bytes_on_the_bus(const SmbusPort& master) const;
  void enqueue(SmbusPort& port);
  void receive(SmbusPort& master, ByteView frame);
  void retry(SmbusPort& master);
  void end_for(SmbusPort& master, bool delivered);
  void forget(SmbusPort& port);

  World& world_;
  SmbusOptions options_;
  MediumName medium_;
  std::array<SmbusPort*, 128> slaves_{};
  std::array<SmbusSlave*, 128> plain_{};
  std::vector<SmbusPort*> waiting_;  // masters with a frame, in the order of asking
  SmbusPort* current_ = nullptr;     // whose transfer is on the bus
  Outcome outcome_ = Outcome::delivered;
  std::uint32_t copies_ = 1;
  Bytes on_the_bus_;
  Instant free_at_;  // when the bus has been free for long enough
  Instant occupied_until_;
  FrameFilter* filter_ = nullptr;
  std::uint64_t ordinal_ = 0;
  SmbusCounters counters_;
  Timer<SmbusSegment, &SmbusSegment::begin> begin_{"smbus.begin", *this};
  Timer<SmbusSegment, &SmbusSegment::finish> finish_{"smbus.finish", *this};
};

}  // namespace fb::mctp
