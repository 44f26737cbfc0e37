// A simulated PCI Express fabric as MCTP sees it: vendor defined messages by ID, to the root complex, and
// from it to all. A message to nobody vanishes without a word.
//
// Lifetimes: ports go before their fabric, the fabric before its world.
#pragma once

#include <map>
#include <memory>

#include "sim/mctp/medium.h"
#include "wire/mctp/vdm.h"

namespace fb::mctp {

struct PcieOptions {
  std::string name = "pcie";
  std::uint32_t bus = 1;  ///< number in the trace
  bool timing = true;
  Duration latency = Duration::ns(600);         ///< of a TLP's last byte
  std::int64_t bytes_per_second = 900'000'000;  ///< of each port's link
};

struct PciePortCounters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t lost = 0;  ///< sent to nobody
  std::array<std::uint64_t, vdm::kFaults> faults{};
};

class PcieFabric;

class PciePort final : public Binding {
 public:
  ~PciePort() override;
  const BindingFacts& facts() const override { return facts_; }
  PhysicalAddress address() const override { return pcie_address(bdf_); }
  void set_sink(PacketSink* sink) override { sink_ = sink; }
  /// Packets to the broadcast EID go to all, when this is the root complex; an empty address and kToRoot
  /// go to the root complex.
  void send(const PhysicalAddress& to, ByteView packet) override;
  /// Whatever bytes as a TLP; on_packet_sent() follows.
  void send_frame(Bytes frame);

  /// A new bus number, as after enumeration. False when it is taken.
  bool move_to(std::uint16_t bdf);
  bool is_root() const { return root_; }
  const std::string& name() const { return name_; }
  const PciePortCounters& counters() const { return counters_; }

 private:
  friend class PcieFabric;
  PciePort(PcieFabric& fabric, std::string name, std::uint16_t bdf, bool root);
  void depart();
  void arrive();

  PcieFabric& fabric_;
  std::string name_;
  std::uint16_t bdf_;
  bool root_;
  BindingFacts facts_;
  PacketSink* sink_ = nullptr;
  PciePortCounters counters_;
  Bytes frame_;
  Timer<PciePort, &PciePort::arrive> arrive_;
};

class PcieFabric {
 public:
  explicit PcieFabric(World& world, const PcieOptions& options = {});
  ~PcieFabric();
  PcieFabric(const PcieFabric&) = delete;
  PcieFabric& operator=(const PcieFabric&) = delete;

  /// A function at a bus, device and function number that is free; one of all is the root complex.
  std::unique_ptr<PciePort> attach(std::string name, std::uint16_t bdf, bool root = false);
  bool is_free(std::uint16_t bdf) const { return !ports_.contains(bdf); }
  void set_filter(FrameFilter* filter) { filter_ = filter; }
  const PcieOptions& options() const { return options_; }

 private:
  friend class PciePort;
  Duration transfer_time(std::size_t bytes) const;
  void deliver(PciePort& sender, ByteView frame);
  void receive(PciePort& sender, PciePort& receiver, ByteView frame);

  World& world_;
  PcieOptions options_;
  MediumName medium_;
  std::map<std::uint16_t, PciePort*> ports_;
  PciePort* root_ = nullptr;
  FrameFilter* filter_ = nullptr;
  std::uint64_t ordinal_ = 0;
};

}  // namespace fb::mctp
