#include "model/subsystem/zones.h"

#include <algorithm>

#include "base/assert.h"

namespace fb::subsystem {

using nvme::ZoneState;
namespace za = nvme::zone_attribute_bits;

namespace {

using Action = nvme::ZoneSendAction;

/// In the order of kStates: what becomes of a single zone, and whether Select All takes it.
struct ActionRow {
  Action action;
  const char* single;  ///< c change, n none, r refused
  const char* all;     ///< x taken
};
constexpr ZoneState kStates[] = {
    ZoneState::empty,  ZoneState::implicitly_opened, ZoneState::explicitly_opened, ZoneState::closed, ZoneState::full, ZoneState::read_only,
    ZoneState::offline};
constexpr ActionRow kActions[] = {
    {Action::close, "rccnrrr", ".xx...."},
    {Action::finish, "ccccnrr", ".xxx..."},
    {Action::open, "ccncrrr", "...x..."},
    {Action::reset, "nccccrr", ".xxxx.."},
    {Action::offline, "rrrrrcn", ".....x."},
    {Action::set_descriptor_extension, "crrrrrr", "......."},
    {Action::flush_explicit_zrwa, "rcccrrr", "......."},
};

const ActionRow* row_of(Action action) {
  const auto* found = std::find_if(std::begin(kActions), std::end(kActions), [&](const ActionRow& row) { return row.action == action; });
  return found == std::end(kActions) ? nullptr : found;
}
std::size_t column_of(ZoneState state) {
  return static_cast<std::size_t>(std::find(std::begin(kStates), std::end(kStates), state) - std::begin(kStates));
}

}  // namespace

ZoneStep step_of(ZoneState state, Action action) {
  const ActionRow* const row = row_of(action);
  const char step = row != nullptr ? row->single[column_of(state)] : 'r';
  return step == 'c' ? ZoneStep::change : step == 'n' ? ZoneStep::none : ZoneStep::refused;
}

bool all_takes(ZoneState state, Action action) {
  const ActionRow* const row = row_of(action);
  return row != nullptr && row->all[column_of(state)] == 'x';
}

ZoneTable::ZoneTable(const ZoneOptions& options, std::uint64_t blocks) : options_(options) {
  if (options_.capacity == 0) options_.capacity = options_.zone_blocks;
  reshape(options_.zone_blocks, options_.capacity, blocks);
}

void ZoneTable::reshape(std::uint64_t zone_blocks, std::uint64_t capacity, std::uint64_t blocks) {
  BENCH_ASSERT(zone_blocks != 0 && capacity != 0 && capacity <= zone_blocks, "a zone holds blocks, at most its size");
  BENCH_ASSERT(blocks >= zone_blocks && blocks % zone_blocks == 0, "a zoned namespace consists of whole zones");
  const bool same = zone_blocks == options_.zone_blocks && capacity == options_.capacity;
  options_.zone_blocks = zone_blocks;
  options_.capacity = capacity;
  const auto count = static_cast<std::size_t>(blocks / zone_blocks);
  for (std::size_t i = count; i < zones_.size(); ++i) move(i, ZoneState::offline);  // nothing is held any more
  if (!same) {
    active_ = open_ = random_ = 0;
    implicit_.clear();
    zones_.clear();
  }
  Zone fresh;
  fresh.capacity = capacity;
  zones_.resize(count, fresh);
}

nvme::ZoneFacts ZoneTable::facts(std::size_t index) const {
  const Zone& zone = zones_[index];
  const bool valid = zone.state == ZoneState::empty || is_active(zone.state);
  return {.start = start_of(index),
          .capacity = zone.capacity,
          .write_pointer = valid ? write_pointer(index) : nvme::kNoWritePointer,
          .state = zone.state,
          .attributes = zone.attributes,
          .extension = zone.extension};
}

bool ZoneTable::exceeds(std::uint64_t slba, std::uint64_t blocks) const {
  const std::size_t index = index_of(slba);
  return slba - start_of(index) + blocks > zones_[index].capacity;
}

bool ZoneTable::offline(std::uint64_t slba, std::uint64_t blocks) const {
  for (std::size_t i = index_of(slba); i <= index_of(slba + blocks - 1); ++i) {
    if (zones_[i].state == ZoneState::offline) return true;
  }
  return false;
}

bool ZoneTable::lacks_active(std::size_t index, std::size_t waits) const {
  if (options_.max_active == 0 || is_active(zones_[index].state)) return false;
  return active_ + leaked_ + waits >= options_.max_active;
}

bool ZoneTable::lacks_open(std::size_t index, std::size_t waits) const {
  if (options_.max_open == 0 || is_open(zones_[index].state)) return false;
  return open_ - implicit_.size() + leaked_ + waits >= options_.max_open;
}

/// Keeps the counts of resources.
void ZoneTable::move(std::size_t index, ZoneState to) {
  Zone& zone = zones_[index];
  const ZoneState from = zone.state;
  if (from == to) return;
  if (!is_active(to)) release_random(index);
  if (from == ZoneState::implicitly_opened) std::erase(implicit_, index);
  if (to == ZoneState::implicitly_opened) implicit_.push_back(index);
  active_ += is_active(to) ? 1 : 0;
  active_ -= is_active(from) ? 1 : 0;
  open_ += is_open(to) ? 1 : 0;
  open_ -= is_open(from) ? 1 : 0;
  zone.state = to;
}

void ZoneTable::make_room(std::size_t index) {
  if (options_.max_open == 0 || is_open(zones_[index].state) || open_ < options_.max_open) return;
  if (!implicit_.empty()) move(implicit_.front(), ZoneState::closed);
}

void ZoneTable::write(std::uint64_t slba, std::uint64_t blocks) {
  const std::uint64_t end = slba + blocks;
  for (std::size_t i = index_of(slba); i < count() && start_of(i) < end; ++i) {
    Zone& zone = zones_[i];
    if (zone.state != ZoneState::empty && !is_active(zone.state)) continue;
    make_room(i);
    if (!is_open(zone.state)) move(i, ZoneState::implicitly_opened);
    zone.written = std::max(zone.written, std::min(end - start_of(i), zone.capacity));
    if (zone.written == zone.capacity) move(i, ZoneState::full);
  }
}

std::uint64_t ZoneTable::slide_of(std::size_t index, std::uint64_t end, std::uint64_t granularity) const {
  const std::uint64_t area = write_pointer(index) + options_.zrwa_blocks;
  if (end <= area) return 0;
  return (end - area + granularity - 1) / granularity * granularity;
}

void ZoneTable::allocate_random(std::size_t index) {
  if (has_random(index)) return;
  zones_[index].attributes |= za::zrwa_valid;
  ++random_;
}

void ZoneTable::release_random(std::size_t index) {
  if (!has_random(index)) return;
  zones_[index].attributes = static_cast<std::uint8_t>(zones_[index].attributes & ~za::zrwa_valid);
  --random_;
}

void ZoneTable::commit(std::size_t index, std::uint64_t blocks) {
  Zone& zone = zones_[index];
  if (!is_active(zone.state)) return;
  make_room(index);
  if (!is_open(zone.state)) move(index, ZoneState::implicitly_opened);
  zone.written = std::min(zone.written + blocks, zone.capacity);
  if (zone.written == zone.capacity) move(index, ZoneState::full);
}

void ZoneTable::open_zone(std::size_t index) {
  make_room(index);
  move(index, ZoneState::explicitly_opened);
}

/// For a deviation.
void ZoneTable::open_implicitly(std::size_t index) {
  make_room(index);
  move(index, ZoneState::implicitly_opened);
}

void ZoneTable::close(std::size_t index) { move(index, ZoneState::closed); }

void ZoneTable::finish(std::size_t index) { move(index, ZoneState::full); }

void ZoneTable::clear(std::size_t index) {
  release_random(index);
  zones_[index].written = 0;
  zones_[index].attributes = 0;
  zones_[index].extension.clear();
}

bool ZoneTable::reset(std::size_t index) {
  Zone& zone = zones_[index];
  move(index, ZoneState::empty);
  clear(index);
  if (!options_.variable_capacity) return false;
  // A medium that wears out: a block less with each of three resets, then a fresh place for the zone.
  constexpr std::uint32_t kWears = 4;
  const std::uint64_t before = zone.capacity;
  const std::uint64_t worn = ++zone.resets % kWears;
  zone.capacity = options_.capacity - std::min(worn, options_.capacity - 1);
  return zone.capacity != before;
}

void ZoneTable::take_offline(std::size_t index) {
  move(index, ZoneState::offline);
  zones_[index].attributes = 0;
  zones_[index].extension.clear();
}

void ZoneTable::set_extension(std::size_t index, ByteView data) {
  Zone& zone = zones_[index];
  zone.extension.assign(data.begin(), data.end());
  zone.extension.resize(extension_bytes());
  zone.attributes |= za::descriptor_extension;
  move(index, ZoneState::closed);
}

void ZoneTable::make_read_only(std::size_t index) { move(index, ZoneState::read_only); }

bool ZoneTable::excursion(std::size_t index) {
  if (!is_active(zones_[index].state)) return false;
  move(index, ZoneState::full);
  zones_[index].attributes |= za::finished_by_controller;
  return true;
}

void ZoneTable::recommend(std::size_t index, std::uint8_t attributes) {
  constexpr unsigned kBoth = za::reset_recommended | za::finish_recommended;
  const unsigned others = zones_[index].attributes & ~kBoth;
  zones_[index].attributes = static_cast<std::uint8_t>(others | (attributes & kBoth));
}

void ZoneTable::on_subsystem_reset() {
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    if (!is_active(zones_[i].state)) continue;
    const bool holds = zones_[i].written != 0 || (zones_[i].attributes & (za::descriptor_extension | za::zrwa_valid)) != 0;
    move(i, holds ? ZoneState::closed : ZoneState::empty);
  }
}

std::vector<std::size_t> ZoneTable::on_write_protected() {
  std::vector<std::size_t> filled;
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    if (!is_active(zones_[i].state)) continue;
    move(i, ZoneState::full);
    filled.push_back(i);
  }
  return filled;
}

void ZoneTable::initialize(bool keep_offline) {
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    if (keep_offline && zones_[i].state == ZoneState::offline) continue;
    move(i, ZoneState::empty);
    clear(i);
  }
}

void ZoneTable::fill() {
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    if (zones_[i].state == ZoneState::offline) continue;
    move(i, ZoneState::full);
    clear(i);
    zones_[i].written = zones_[i].capacity;
  }
}

}  // namespace fb::subsystem
