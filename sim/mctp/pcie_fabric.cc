#include "sim/mctp/pcie_fabric.h"

#include <utility>

#include "sim/mctp/hooks.h"

namespace fb::mctp {

PciePort::PciePort(PcieFabric& fabric, std::string name, std::uint16_t bdf, bool root)
    : fabric_(fabric), name_(std::move(name)), bdf_(bdf), root_(root), arrive_("pcie.arrive", *this) {
  facts_.binding = control::BindingId::pcie_vdm;
  facts_.medium = control::MediumId::pcie_3;
  facts_.unit_max = vdm::kUnitMax;
  facts_.unit_step = 4;  // only the last packet may be padded
  facts_.address_size = 2;
  facts_.discovery = true;
  facts_.answer_within = Duration::ms(120);
  facts_.retry_after = Duration::ms(126);
}

PciePort::~PciePort() {
  fabric_.ports_.erase(bdf_);
  if (fabric_.root_ == this) fabric_.root_ = nullptr;
}

void PciePort::send(const PhysicalAddress& to, ByteView packet) {
  vdm::Route route = vdm::Route::by_id;
  std::uint16_t target = to.size == 2 ? bdf_of(to) : std::uint16_t{0};
  const bool for_all = packet.size() > 1 && packet[1] == kBroadcastEid;
  if (root_ && for_all && to.size == 0) route = vdm::Route::broadcast;
  if (!root_ && (to.size == 0 || to == kToRoot)) route = vdm::Route::to_root;
  if (route != vdm::Route::by_id) target = 0;
  vdm::encode(frame_, route, bdf_, target, packet);
  if (hooks_ != nullptr) hooks_->frame_out(frame_);
  depart();
}

void PciePort::send_frame(Bytes frame) {
  frame_ = std::move(frame);
  depart();
}

void PciePort::depart() {
  BENCH_ASSERT(!arrive_.scheduled(), "one packet at a time");
  fabric_.world_.loop().schedule_after(arrive_, fabric_.transfer_time(frame_.size()));
}

void PciePort::arrive() {
  std::uint32_t copies = 1;
  if (fabric_.filter_ != nullptr) {
    FrameContext context{fabric_.medium_.name, name_, fabric_.ordinal_, fabric_.world_.now(), address(), frame_};
    const FrameVerdict verdict = fabric_.filter_->on_frame(context);
    copies = verdict.drop || verdict.nack ? 0 : 1 + verdict.duplicates;
  }
  ++fabric_.ordinal_;
  ++counters_.sent;
  for (; copies > 0; --copies) fabric_.deliver(*this, frame_);
  if (sink_ != nullptr) sink_->on_packet_sent(true);
}

bool PciePort::move_to(std::uint16_t bdf) {
  if (!fabric_.is_free(bdf)) return false;
  fabric_.ports_.erase(bdf_);
  bdf_ = bdf;
  fabric_.ports_.emplace(bdf, this);
  return true;
}

PcieFabric::PcieFabric(World& world, const PcieOptions& options) : world_(world), options_(options), medium_{options.name, options.bus} {
  BENCH_ASSERT(options.bytes_per_second > 0, "a link has a rate");
}

PcieFabric::~PcieFabric() { BENCH_ASSERT(ports_.empty(), "ports go before their fabric"); }

std::unique_ptr<PciePort> PcieFabric::attach(std::string name, std::uint16_t bdf, bool root) {
  BENCH_ASSERT(is_free(bdf) && bdf != bdf_of(kToRoot), "one function a number");
  BENCH_ASSERT(!root || root_ == nullptr, "one root complex");
  std::unique_ptr<PciePort> port(new PciePort(*this, std::move(name), bdf, root));
  ports_.emplace(bdf, port.get());
  if (root) root_ = port.get();
  return port;
}

Duration PcieFabric::transfer_time(std::size_t bytes) const {
  if (!options_.timing) return {};
  const auto wire = static_cast<std::int64_t>(bytes) * 1'000'000'000 / options_.bytes_per_second;
  return options_.latency + Duration::ns(wire);
}

// The route is what the TLP says, right or wrong; what cannot be routed is lost.
void PcieFabric::deliver(PciePort& sender, ByteView frame) {
  const auto head = View<vdm::Header>::over(frame);
  const vdm::Route route = head ? head->get(vdm::header::route) : vdm::Route::by_id;
  if (head && route == vdm::Route::broadcast && sender.root_) {
    // Receivers may come and go in the calls.
    std::vector<std::uint16_t> numbers;
    for (const auto& [bdf, port] : ports_) {
      if (port != &sender) numbers.push_back(bdf);
    }
    for (const std::uint16_t bdf : numbers) {
      if (const auto found = ports_.find(bdf); found != ports_.end()) {
        receive(sender, *found->second, frame);
      }
    }
    return;
  }
  PciePort* receiver = nullptr;
  if (head && route == vdm::Route::to_root) receiver = root_;
  if (head && route == vdm::Route::by_id) {
    const auto found = ports_.find(head->get(vdm::header::target));
    if (found != ports_.end()) receiver = found->second;
  }
  if (receiver == nullptr || receiver == &sender) {
    ++sender.counters_.lost;
    return;
  }
  receive(sender, *receiver, frame);
}

void PcieFabric::receive(PciePort& sender, PciePort& receiver, ByteView frame) {
  Bytes changed;
  if (receiver.hooks_ != nullptr) {
    changed.assign(frame.begin(), frame.end());
    receiver.hooks_->frame_in(changed);
    if (changed.empty()) return;
    frame = changed;
  }
  const auto decoded = vdm::decode(frame);
  if (!decoded) {
    ++receiver.counters_.faults[static_cast<std::size_t>(decoded.error())];
    trace_fault(world_, kTraceDamaged, sender.name_, vdm::name_of(decoded.error()), frame);
    if (receiver.sink_ != nullptr) receiver.sink_->on_damaged();
    return;
  }
  ++receiver.counters_.received;
  const PhysicalAddress source = pcie_address(decoded->requester);
  trace_packet(world_, medium_, sender.name_, control::BindingId::pcie_vdm, source, decoded->packet);
  if (receiver.sink_ != nullptr) receiver.sink_->on_packet(source, decoded->packet);
}

}  // namespace fb::mctp
