#include "model/subsystem/persistent_log.h"

#include <algorithm>
#include <array>

#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

namespace pl = nvme::persistent_log;
namespace pe = nvme::persistent_event;
using Type = nvme::PersistentEventType;

namespace {

constexpr std::size_t kUnit = 64 * 1024;
constexpr std::uint64_t kSnapshotHours = 24;

constexpr Type kRecorded[] = {Type::smart_snapshot,      Type::firmware_commit, Type::timestamp_change,  Type::power_on_or_reset,
                              Type::change_namespace,    Type::format_start,    Type::format_completion, Type::sanitize_start,
                              Type::sanitize_completion, Type::set_feature,     Type::telemetry_created, Type::thermal_excursion};

/// The second revision of its data has the NSID in it.
constexpr std::uint8_t revision_of(Type type) { return type == Type::change_namespace ? 2 : 1; }

/// What a product may fail to record, by type.
constexpr std::string_view kOmissions[] = {
    "",
    departure::persistent_no_snapshot,
    departure::persistent_no_firmware,
    departure::persistent_no_timestamp,
    departure::persistent_no_reset,
    "",
    departure::persistent_no_namespace,
    departure::persistent_no_format_start,
    departure::persistent_no_format_end,
    departure::persistent_no_sanitize_start,
    departure::persistent_no_sanitize_end,
    departure::persistent_no_feature,
    departure::persistent_no_telemetry,
    departure::persistent_no_thermal,
};

}  // namespace

bool PersistentLog::records(Type type) const {
  const auto index = static_cast<std::size_t>(type);
  return index >= std::size(kOmissions) || kOmissions[index].empty() || !subsystem_.departs(kOmissions[index]);
}

void PersistentLog::add(Type type, ByteView data, const Controller* by) {
  if (!subsystem_.options().persistent_log.supported || subsystem_.discovery() != nullptr) return;
  take_snapshots();
  push(type, data, by);
}

void PersistentLog::push(Type type, ByteView data, const Controller* by) {
  if (!records(type)) return;
  Record<nvme::PersistentEventHeader> header;
  header.set(pe::type, type)
      .set(pe::revision, revision_of(type))
      .set(pe::ehl, nvme::PersistentEventHeader::size - nvme::kPersistentEventUncounted)
      .set(pe::ehai, nvme::kEventOfNoPort)
      .set(pe::cntlid, by != nullptr ? by->cntlid() : 0u)
      .set(pe::el, data.size());
  if (by != nullptr) header.set(pe::timestamp, ByteView{by->timestamp().bytes()});
  Bytes event(nvme::PersistentEventHeader::size + data.size());
  std::copy(header.bytes().begin(), header.bytes().end(), event.begin());
  std::copy(data.begin(), data.end(), event.begin() + nvme::PersistentEventHeader::size);
  bytes_ += event.size();
  events_.push_front(std::move(event));
  const std::size_t limit = subsystem_.options().persistent_log.size * kUnit - nvme::PersistentLogHeader::size;
  while (bytes_ > limit) {
    bytes_ -= events_.back().size();
    events_.pop_back();
  }
  changed_ = true;
}

/// Health is recorded once a day. Nobody can tell when exactly that was done: it is made up for before anything else
/// is recorded or reported, so that an idle subsystem needs no timer.
void PersistentLog::take_snapshots() {
  const std::uint64_t due = subsystem_.power_on_hours() / kSnapshotHours;
  constexpr std::uint64_t kMost = 64;
  if (due > snapshots_ + kMost) snapshots_ = due - kMost;
  const Controller* const by = subsystem_.controllers().empty() ? nullptr : subsystem_.controllers().begin()->second.get();
  for (; snapshots_ < due && by != nullptr; ++snapshots_) push(Type::smart_snapshot, by->log_smart(), by);
}

/// For a deviation.
void PersistentLog::clear() {
  events_.clear();
  bytes_ = 0;
  changed_ = true;
}

Bytes PersistentLog::report(const Controller& controller) {
  take_snapshots();
  if (changed_ && !subsystem_.departs(departure::persistent_generation)) ++generation_;
  changed_ = false;
  const SubsystemOptions& options = subsystem_.options();
  const bool version_2 = subsystem_.has_version(2, 0);
  Record<nvme::PersistentLogHeader> header;
  std::array<std::uint8_t, 32> recorded = {};
  for (const Type type : kRecorded) {
    const auto bit = static_cast<unsigned>(type);
    recorded[bit / 8] = static_cast<std::uint8_t>(recorded[bit / 8] | 1u << bit % 8);
  }
  const std::size_t whole = nvme::PersistentLogHeader::size + bytes_;
  header.set(pl::lid, static_cast<std::uint8_t>(nvme::LogPage::persistent_event))
      .set(pl::tnev, events_.size() + (subsystem_.departs(departure::persistent_count) ? 1u : 0u))
      .set(pl::tll, whole - (subsystem_.departs(departure::persistent_length) ? 4u : 0u))
      .set(pl::rv, version_2 ? 2u : 1u)
      .set(pl::lhl, nvme::PersistentLogHeader::size - nvme::kPersistentLogUncounted)
      .set(pl::timestamp, ByteView{controller.timestamp().bytes()})
      .set(pl::pcc, 1u)
      .set(pl::vid, options.vid)
      .set(pl::ssvid, options.ssvid)
      .set(pl::seb, ByteView{recorded});
  const MutableBytes bytes = header.mutable_bytes();
  store_le(bytes.data() + pl::poh.offset, subsystem_.power_on_hours());
  put_text(bytes.subspan(pl::sn.offset, pl::sn.size), options.serial, ' ');
  put_text(bytes.subspan(pl::mn.offset, pl::mn.size), options.model, ' ');
  put_text(bytes.subspan(pl::subnqn.offset, pl::subnqn.size), options.nqn, '\0');
  if (version_2) header.set(pl::gnum, generation_);
  Bytes page(whole);
  std::copy(header.bytes().begin(), header.bytes().end(), page.begin());
  auto at = page.begin() + nvme::PersistentLogHeader::size;
  for (const Bytes& event : events_) at = std::copy(event.begin(), event.end(), at);
  return page;
}

}  // namespace fb::subsystem
