// Operations on the zones of a namespace.
#include <algorithm>

#include "model/host/fault_points.h"
#include "model/host/namespace.h"

namespace fb::host {

namespace {

/// Room for so many zones of one command.
constexpr std::size_t kReportZones = 256;

std::uint32_t order_of(nvme::ZoneReceiveAction action, nvme::ZoneReporting option) {
  constexpr std::uint32_t kPartial = 1u << 16;
  return static_cast<std::uint32_t>(action) | static_cast<std::uint32_t>(option) << 8 | kPartial;
}

}  // namespace

struct Namespace::ZoneCall final : public IoRequest {
  explicit ZoneCall(Namespace& owner) : name_space(owner) {}
  void on_done(nvme::Status status) override { name_space.zone_call_done(*this, status); }

  Namespace& name_space;
  Promise<ZoneAppended> appended;
  Promise<ZoneReport> reported;
  Promise<nvme::Status> sent;
  ZoneReport report;
  Bytes room;
  bool extended = false;
  std::list<std::unique_ptr<IoRequest>>::iterator place;
};

Namespace::ZoneCall& Namespace::start_zone_call(nvme::IoOpcode opcode) {
  auto made = std::make_unique<ZoneCall>(*this);
  ZoneCall& call = *made;
  zone_calls_.push_back(std::move(made));
  call.place = std::prev(zone_calls_.end());
  call.opcode = opcode;
  return call;
}

std::uint64_t Namespace::max_append() const {
  std::uint64_t bytes = max_transfer();
  for (const Path& path : paths_.all()) {
    const ControllerFacts& facts = path.controller->facts();
    if (!facts.identify.empty()) bytes = std::min(bytes, facts.append_max);
  }
  return bytes - bytes % facts_.block_bytes;
}

Op<ZoneAppended> Namespace::zone_append(std::uint64_t start, MutableBytes data) {
  auto made = make_op<ZoneAppended>(world_, "Zone Append at " + std::to_string(start));
  const bool fits = data.size() <= max_append() || departs(point::zone_append_oversized);
  const bool whole = !data.empty() && data.size() % facts_.block_bytes == 0;
  const bool has = facts_.zoned() && max_append() != 0;
  if (!has || !whole || !fits) {
    made.promise.settle({has ? nvme::sc::invalid_field : nvme::sc::invalid_opcode});
    return made.op;
  }
  ZoneCall& call = start_zone_call(nvme::IoOpcode::zone_append);
  call.appended = std::move(made.promise);
  call.lba = start;
  call.blocks = static_cast<std::uint32_t>(data.size() / facts_.block_bytes);
  call.data = data;
  submit(call);
  return made.op;
}

Op<ZoneReport> Namespace::report_zones(std::uint64_t lba, nvme::ZoneReporting option, bool extended) {
  auto made = make_op<ZoneReport>(world_, "report of zones from " + std::to_string(lba));
  if (!facts_.zoned() || (extended && facts_.zones.extension_bytes == 0)) {
    made.promise.settle({facts_.zoned() ? nvme::sc::invalid_field : nvme::sc::invalid_opcode, {}});
    return made.op;
  }
  ZoneCall& call = start_zone_call(nvme::IoOpcode::zone_management_receive);
  call.reported = std::move(made.promise);
  call.extended = extended;
  call.zone_order = order_of(extended ? nvme::ZoneReceiveAction::extended_report : nvme::ZoneReceiveAction::report, option);
  const std::size_t each = nvme::ZoneDescriptor::size + (extended ? facts_.zones.extension_bytes : 0);
  const std::size_t most = std::max<std::size_t>(max_transfer(), nvme::ZoneReportHeader::size + each) & ~std::size_t{3};
  call.room.resize(std::min(most, nvme::ZoneReportHeader::size + kReportZones * each));
  call.lba = lba;
  continue_report(call);
  return made.op;
}

void Namespace::continue_report(ZoneCall& call) {
  call.data = call.room;
  submit(call);
}

Op<nvme::Status> Namespace::zone_send(nvme::ZoneSendAction action, std::uint64_t start, bool all, bool random) {
  auto made = make_op<nvme::Status>(world_, "Zone Management Send at " + std::to_string(start));
  const bool needs_area = random || action == nvme::ZoneSendAction::flush_explicit_zrwa;
  const bool lacks_area = needs_area && facts_.zones.zrwa_blocks == 0;
  if (!facts_.zoned() || action == nvme::ZoneSendAction::set_descriptor_extension || lacks_area) {
    made.promise.settle(facts_.zoned() ? nvme::sc::invalid_field : nvme::sc::invalid_opcode);
    return made.op;
  }
  ZoneCall& call = start_zone_call(nvme::IoOpcode::zone_management_send);
  call.sent = std::move(made.promise);
  call.lba = start;
  call.zone_order = static_cast<std::uint32_t>(action) | (all ? 1u << 8 : 0u) | (random ? 1u << 9 : 0u);
  submit(call);
  return made.op;
}

Op<nvme::Status> Namespace::set_zone_extension(std::uint64_t start, MutableBytes data) {
  auto made = make_op<nvme::Status>(world_, "zone descriptor extension at " + std::to_string(start));
  if (!facts_.zoned() || data.empty() || data.size() != facts_.zones.extension_bytes) {
    made.promise.settle(facts_.zoned() ? nvme::sc::invalid_field : nvme::sc::invalid_opcode);
    return made.op;
  }
  ZoneCall& call = start_zone_call(nvme::IoOpcode::zone_management_send);
  call.sent = std::move(made.promise);
  call.lba = start;
  call.zone_order = static_cast<std::uint32_t>(nvme::ZoneSendAction::set_descriptor_extension);
  call.data = data;
  submit(call);
  return made.op;
}

void Namespace::zone_call_done(ZoneCall& call, nvme::Status status) {
  if (call.reported && status.ok()) {
    const std::size_t extension = call.extended ? facts_.zones.extension_bytes : 0;
    std::vector<nvme::ZoneFacts> part = nvme::read_zone_report(call.room, extension);
    // Ascending, or a broken controller would keep us here for ever.
    const bool goes_on =
        !part.empty() && facts_.zoned() && part.back().start >= call.lba && part.back().start + facts_.zones.zone_blocks < facts_.blocks;
    for (nvme::ZoneFacts& zone : part) call.report.zones.push_back(std::move(zone));
    if (goes_on) {
      call.lba = call.report.zones.back().start + facts_.zones.zone_blocks;
      return continue_report(call);
    }
  }
  const std::unique_ptr<IoRequest> held = std::move(*call.place);
  zone_calls_.erase(call.place);
  if (call.appended) call.appended.settle({status, call.result});
  if (call.sent) call.sent.settle(status);
  if (call.reported) {
    call.report.status = status;
    call.reported.settle(std::move(call.report));
  }
}

}  // namespace fb::host
