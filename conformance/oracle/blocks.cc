// What a Read returns is what was written last: by Write, Zone Append, Write Zeroes and Copy, for each block of each namespace.
// A command that is refused changes nothing, and what Write Uncorrectable has marked is not read.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "conformance/oracle/subjects.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/zones.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;

constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr std::size_t kCellsMax = 1 << 20;  // of a namespace: more is forgotten
constexpr std::size_t kTouchesKept = 64;
constexpr std::uint32_t kBlockMin = 512, kBlockMax = (64 << 10) + 256;

struct Range {
  std::uint64_t first = 0, count = 0;
  std::uint64_t end() const { return first + count < first ? kNever : first + count; }
  bool meets(const Range& other) const { return first < other.first + other.count && other.first < first + count; }
};

using Ranges = std::vector<Range>;
const Range kAll{0, kNever};

std::uint64_t hash_of(ByteView block) {
  std::uint64_t hash = block.size();
  std::size_t at = 0;
  for (; at + 8 <= block.size(); at += 8) hash = mix64(hash ^ load_le<std::uint64_t>(&block[at]));
  for (; at < block.size(); ++at) hash = mix64(hash ^ block[at]);
  return hash;
}

/// The controller says that it has not carried out a command which changes blocks. Of other commands, and with other answers, some
/// of it may have been done.
bool is_refused(const Exchange& one) {
  if (!one.is(IoOpcode::write) && !one.is(IoOpcode::write_zeroes)) return false;
  const nvme::Status status = one.status();
  const auto is = [&](nvme::Status other) { return nvme::same_code(status, other); };
  return is(nvme::sc::invalid_field) || is(nvme::sc::invalid_namespace_or_format) || is(nvme::sc::reservation_conflict) ||
         is(nvme::sc::namespace_write_protected) || is(nvme::sc::aborted_failed_fused) || is(nvme::sc::aborted_missing_fused) ||
         (one.is(IoOpcode::write) && is(nvme::sc::lba_out_of_range));
}

bool is_power_of_two(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// What is known of a block.
struct Cell {
  std::uint64_t hash = 0;
  std::uint32_t size = 0;     ///< as it was transferred; 0: zeroes, whatever the size
  std::uint64_t changed = 0;  ///< when its last change was over
  std::uint64_t packet = 0;   ///< that asked for it
  bool unreadable = false;    ///< marked by Write Uncorrectable
};
using Cells = std::map<std::uint64_t, Cell>;

/// A change that is under way, or was lately.
struct Touch {
  std::uint64_t number = 0;
  Ranges ranges;
  Cells before = {};  ///< what was known of them
  std::uint64_t ended = kNever;
};

struct Space {
  Cells cells;
  std::vector<Touch> touches;
  std::uint64_t forgotten = 0;  ///< who began before that may not conclude
  bool dead = false;            ///< it changes without commands

  void forget(Range range) { cells.erase(cells.lower_bound(range.first), cells.lower_bound(range.end())); }
  void begin(std::uint64_t number, Ranges ranges) {
    Touch& made = touches.emplace_back(Touch{.number = number, .ranges = std::move(ranges)});
    for (const Range& range : made.ranges) {
      const auto to = cells.lower_bound(range.end());
      for (auto at = cells.lower_bound(range.first); at != to;) made.before.insert(cells.extract(at++));
    }
    if (touches.size() <= kTouchesKept) return;
    // The oldest that is over; those that never end stay.
    const auto over = std::find_if(touches.begin(), touches.end(), [](const Touch& touch) { return touch.ended != kNever; });
    if (over == touches.end()) return;
    forgotten = std::max(forgotten, over->ended);
    touches.erase(over);
  }
  /// What was touched is not known from now on; or is what it was, where the command was refused.
  void end(const Exchange& one, bool refused) {
    for (Touch& touch : touches) {
      if (touch.number != one.number) continue;
      touch.ended = one.ended;
      for (const Range& range : touch.ranges) forget(range);
      const bool same = refused && std::all_of(touch.ranges.begin(), touch.ranges.end(),
                                               [&](const Range& range) { return alone(one.number, range, one.began); });
      if (same) cells.merge(touch.before);
      touch.before.clear();
    }
  }
  /// Whether nobody else touched the range since `began`.
  bool alone(std::uint64_t number, Range range, std::uint64_t began) const {
    if (dead || began <= forgotten || cells.size() >= kCellsMax) return false;
    return std::none_of(touches.begin(), touches.end(), [&](const Touch& touch) {
      return touch.number != number && touch.ended >= began &&
             std::any_of(touch.ranges.begin(), touch.ranges.end(), [&](const Range& one) { return one.meets(range); });
    });
  }
};

class Blocks final : public Subject {
 public:
  using Subject::Subject;

  void on_command(const Exchange& one) override {
    if (!complete_) return;
    if (one.admin()) return on_admin(one);
    if (Ranges ranges = changes(one); !ranges.empty()) space_of(one).begin(one.number, std::move(ranges));
  }

  void on_answer(const Exchange& one) override {
    if (!complete_) return;
    if (one.is(AdminOpcode::identify)) on_identify(one);
    if (one.admin()) return on_admin(one);
    if (one.key_value) return;
    switch (static_cast<IoOpcode>(one.sqe[0])) {
      case IoOpcode::read:
        return on_read(one);
      case IoOpcode::verify:
        return judge_marked(one);
      case IoOpcode::compare:
        return on_compare(one);
      case IoOpcode::zone_append:
        return on_append(one);
      default:
        break;
    }
    const Ranges ranges = changes(one);
    if (ranges.empty()) return;
    Space& space = space_of(one);
    const std::vector<Cell> copied = copied_cells(one);
    space.end(one, is_refused(one));
    if (!one.ok() || !space.alone(one.number, ranges[0], one.began)) return;
    if (one.is(IoOpcode::write)) return keep(one, space, ranges[0], one.data_out());
    if (one.is(IoOpcode::write_zeroes)) return keep_zeroes(one, space, ranges[0]);
    if (one.is(IoOpcode::write_uncorrectable)) return keep_marks(one, space, ranges[0]);
    if (one.is(IoOpcode::copy)) keep_copies(one, space, ranges[0], copied);
  }

  // It may still be carried out at any time: its range is never sure again.
  void on_abandoned(const Exchange& one) override {
    if (complete_ && one.admin()) on_admin(one);
    if (complete_ && one.is(IoOpcode::zone_append)) space_of(one).dead = true;
  }

  void on_unsure(const Subsystem* subsystem) override {
    for (auto& [key, space] : spaces_) {
      if (subsystem == nullptr || key.first == subsystem->number) wipe(space, last_);
    }
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint32_t>;  // subsystem, namespace

  Space& space_of(const Exchange& one) {
    last_ = std::max({last_, one.began, one.ended});
    return spaces_[{one.subsystem().number, one.nsid()}];
  }

  static void wipe(Space& space, std::uint64_t now) {
    space.cells.clear();
    space.forgotten = std::max(space.forgotten, now);
  }

  /// Commands that change what namespaces hold, or which there are.
  void on_admin(const Exchange& one) {
    last_ = std::max({last_, one.began, one.ended});
    const bool all = one.is(AdminOpcode::sanitize) || one.is(AdminOpcode::capacity_management) || one.is(AdminOpcode::nvme_mi_send) ||
                     one.is(AdminOpcode::firmware_commit) || one.is(AdminOpcode::namespace_management);
    if (!all && !one.is(AdminOpcode::format_nvm) && !one.is(AdminOpcode::security_send)) return;
    for (auto& [key, space] : spaces_) {
      const bool meant = all || one.nsid() == nvme::kAllNamespaces || one.nsid() == 0 || key.second == one.nsid();
      if (key.first != one.subsystem().number || !meant) continue;
      wipe(space, last_);
      // The media go on changing behind the answer.
      if (one.is(AdminOpcode::sanitize)) space.dead = true;
    }
    if (one.is(AdminOpcode::sanitize)) sanitized_ = true;
  }

  static Range range_of(const Exchange& one) {
    const auto command = one.command<nvme::ReadWriteSqe>();
    return {command.get(nvme::rw_sqe::slba), command.get(nvme::rw_sqe::nlb).count()};
  }

  /// Which blocks a command changes; where that is not known, all of them.
  static Ranges changes(const Exchange& one) {
    if (one.admin() || one.fabrics() || one.key_value) return {};
    switch (static_cast<IoOpcode>(one.sqe[0])) {
      case IoOpcode::write:
      case IoOpcode::write_zeroes:
      case IoOpcode::write_uncorrectable:
        return {range_of(one)};
      case IoOpcode::copy: {
        const auto sources = sources_of(one);
        std::uint64_t blocks = 0;
        for (const Source& source : sources) blocks += source.range.count;
        return {sources.empty() ? kAll : Range{one.command<nvme::CopySqe>().get(nvme::copy_sqe::sdlba), blocks}};
      }
      case IoOpcode::dataset_management:
        return deallocated(one);
      case IoOpcode::zone_management_send:
        return {kAll};
      default:
        return {};
    }
  }

  static Ranges deallocated(const Exchange& one) {
    const auto command = one.command<nvme::DatasetManagementSqe>();
    if (!command.get(nvme::dsm_sqe::ad)) return {};
    const std::size_t count = command.get(nvme::dsm_sqe::nr).count();
    const ByteView data = one.data_out();
    if (data.size() < count * nvme::DsmRange::size) return {kAll};
    Ranges ranges;
    for (std::size_t i = 0; i < count; ++i) {
      const View<nvme::DsmRange> range{data.subspan(i * nvme::DsmRange::size, nvme::DsmRange::size)};
      ranges.push_back({range.get(nvme::dsm_range::slba), range.get(nvme::dsm_range::length)});
    }
    return ranges;
  }

  struct Source {
    std::uint32_t nsid = 0;
    Range range;
  };
  /// Of a Copy, as far as its ranges were seen.
  static std::vector<Source> sources_of(const Exchange& one) {
    const auto command = one.command<nvme::CopySqe>();
    const unsigned format = command.get(nvme::copy_sqe::desfmt);
    const std::size_t count = command.get(nvme::copy_sqe::nr).count();
    const ByteView data = one.data_out();
    if (format >= nvme::kCopyFormats || data.size() < count * nvme::copy_range_bytes(format)) return {};
    std::vector<Source> sources;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t each = nvme::copy_range_bytes(format);
      const nvme::CopySource source = nvme::read_copy_source(data.subspan(i * each, each), format, {});
      sources.push_back({nvme::names_sources(format) ? source.nsid : one.nsid(), {source.slba, source.blocks}});
    }
    return sources;
  }

  /// Bytes of a block as this command transfers it; 0: not known.
  static std::uint32_t block_bytes(const Exchange& one) {
    const std::uint64_t blocks = range_of(one).count;
    if (!one.length_known || one.length % blocks != 0) return 0;
    const std::uint64_t bytes = one.length / blocks;
    return bytes < kBlockMin || bytes > kBlockMax ? 0 : static_cast<std::uint32_t>(bytes);
  }

  void keep(const Exchange& one, Space& space, Range range, ByteView data) {
    const std::uint32_t size = block_bytes(one);
    // With PRACT, protection information within longer metadata is the controller's.
    const bool altered = one.command<nvme::ReadWriteSqe>().get(nvme::rw_sqe::pract) && !is_power_of_two(size);
    if (size == 0 || data.size() < size * range.count || altered) return;
    for (std::uint64_t i = 0; i < range.count; ++i) {
      space.cells[range.first + i] = {hash_of(data.subspan(static_cast<std::size_t>(i * size), size)), size, one.ended, one.packet};
    }
  }

  static void keep_zeroes(const Exchange& one, Space& space, Range range) {
    if (one.command<nvme::ReadWriteSqe>().get(nvme::rw_sqe::deac)) return;
    for (std::uint64_t i = 0; i < range.count; ++i) space.cells[range.first + i] = {0, 0, one.ended, one.packet};
  }

  static void keep_marks(const Exchange& one, Space& space, Range range) {
    for (std::uint64_t i = 0; i < range.count; ++i) {
      space.cells[range.first + i] = {.changed = one.ended, .packet = one.packet, .unreadable = true};
    }
  }

  std::vector<Cell> copied_cells(const Exchange& one) const {
    std::vector<Cell> cells;
    if (!one.is(IoOpcode::copy)) return cells;
    for (const Source& source : sources_of(one)) {
      const auto space = spaces_.find({one.subsystem().number, source.nsid});
      for (std::uint64_t i = 0; i < source.range.count; ++i) {
        cells.push_back({.changed = kNever});
        if (space == spaces_.end()) continue;
        const auto found = space->second.cells.find(source.range.first + i);
        const bool sure = found != space->second.cells.end() && found->second.changed < one.began && !found->second.unreadable;
        if (sure && !space->second.dead) cells.back() = found->second;
      }
    }
    return cells;
  }

  static void keep_copies(const Exchange& one, Space& space, Range range, const std::vector<Cell>& copied) {
    for (std::uint64_t i = 0; i < range.count && i < copied.size(); ++i) {
      Cell cell = copied[static_cast<std::size_t>(i)];
      // Metadata may be protection information, which depends on the place.
      if (cell.changed == kNever || (cell.size != 0 && !is_power_of_two(cell.size))) continue;
      cell.changed = one.ended;
      cell.packet = one.packet;
      space.cells[range.first + i] = cell;
    }
  }

  void on_append(const Exchange& one) {
    Space& space = space_of(one);
    if (!one.ok()) return;
    const Range range{load_le<std::uint64_t>(&one.cqe[0]), range_of(one).count};
    space.forget(range);
    // Reference tags within metadata are those of the place where the blocks went.
    if (is_power_of_two(block_bytes(one)) && space.alone(one.number, range, one.began)) keep(one, space, range, one.data_out());
  }

  /// The blocks of a command that are known, each with its bytes.
  template <class Visit>
  void each_known(const Exchange& one, ByteView data, Visit&& visit) {
    const Range range = range_of(one);
    const std::uint32_t size = block_bytes(one);
    if (size == 0 || data.size() < size * range.count) return;
    const Space& space = space_of(one);
    if (space.dead || sanitized_) return;
    auto cell = space.cells.lower_bound(range.first);
    for (; cell != space.cells.end() && cell->first < range.first + range.count; ++cell) {
      if (cell->second.changed >= one.began || cell->second.unreadable) continue;
      const bool zeroes = cell->second.size == 0;
      if (zeroes ? !is_power_of_two(size) : cell->second.size != size) continue;
      const ByteView block = data.subspan(static_cast<std::size_t>((cell->first - range.first) * size), size);
      const bool same = zeroes ? std::all_of(block.begin(), block.end(), [](std::uint8_t byte) { return byte == 0; })
                               : hash_of(block) == cell->second.hash;
      if (!visit(cell->first, cell->second, same)) return;
    }
  }

  /// Read, Compare and Verify do not succeed where a block was marked and not written since.
  void judge_marked(const Exchange& one) {
    const Range range = range_of(one);
    const Space& space = space_of(one);
    if (space.dead || sanitized_) return;
    for (auto cell = space.cells.lower_bound(range.first); cell != space.cells.end() && cell->first < range.end(); ++cell) {
      if (!cell->second.unreadable || cell->second.changed >= one.began) continue;
      judged(Rule::oracle_data);
      if (!one.ok()) return;
      return say(Rule::oracle_data,
                 fmt::format("{} of LBA {} of namespace {} succeeds, which the command in packet {} marked uncorrectable",
                             nvme::io_opcode_name(one.sqe[0]), cell->first, one.nsid(), cell->second.packet));
    }
  }

  void on_read(const Exchange& one) {
    judge_marked(one);
    if (!one.ok()) return;
    each_known(one, one.data_in(one.length_known ? one.length : kNever), [&](std::uint64_t lba, const Cell& cell, bool same) {
      judged(Rule::oracle_data);
      if (same) return true;
      say(Rule::oracle_data, fmt::format("LBA {} of namespace {} is not what the command in packet {} left there{}", lba, one.nsid(),
                                         cell.packet, cell.size == 0 ? " (zeroes)" : ""));
      return false;
    });
  }

  void on_compare(const Exchange& one) {
    judge_marked(one);
    const bool differs = nvme::same_code(one.status(), nvme::sc::compare_failure);
    // Metadata may be protection information, which is checked and not compared.
    if ((!one.ok() && !differs) || !is_power_of_two(block_bytes(one))) return;
    const Range range = range_of(one);
    std::uint64_t known = 0;
    std::optional<std::uint64_t> other;
    each_known(one, one.data_out(), [&](std::uint64_t lba, const Cell&, bool same) {
      ++known;
      if (!same && !other) other = lba;
      return true;
    });
    if (known == 0) return;
    judged(Rule::oracle_compare);
    if (one.ok() && other) {
      say(Rule::oracle_compare, fmt::format("Compare succeeds, and LBA {} of namespace {} holds something else", *other, one.nsid()));
    } else if (differs && !other && known == range.count) {
      say(Rule::oracle_compare, fmt::format("Compare fails, and LBAs {} to {} of namespace {} hold the same", range.first,
                                            range.first + range.count - 1, one.nsid()));
    }
  }

  // A block that was written is allocated, unless a command has deallocated it since: then it is not among the cells.
  void on_identify(const Exchange& one) {
    const auto command = one.command<nvme::IdentifySqe>();
    const auto found = spaces_.find({one.subsystem().number, one.nsid()});
    const ByteView page = one.data_in(nvme::kIdentifySize);
    const bool asks = command.get(nvme::identify_sqe::cns) == static_cast<std::uint8_t>(nvme::Cns::identify_namespace);
    if (!asks || !one.ok() || page.empty() || found == spaces_.end() || found->second.dead || sanitized_) return;
    const auto written = std::count_if(found->second.cells.begin(), found->second.cells.end(),
                                       [&](const auto& cell) { return cell.second.size != 0 && cell.second.changed < one.began; });
    const std::uint64_t nuse = View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::nuse);
    const bool filled = View<nvme::IdentifyNamespace>{page}.get(nvme::id_ns::nsze) != 0;
    // 0: nothing is said while the namespace cannot be accessed.
    if (!filled || written == 0 || nuse == 0) return;
    judged(Rule::oracle_nuse);
    if (nuse >= static_cast<std::uint64_t>(written)) return;
    say(Rule::oracle_nuse, fmt::format("NUSE of namespace {:#x} is {}, and {} of its blocks are written", one.nsid(), nuse, written));
  }

  std::map<Key, Space> spaces_;
  std::uint64_t last_ = 0;
  bool sanitized_ = false;
};

}  // namespace

std::unique_ptr<Subject> follow_blocks(Reporter& reporter, bool complete) { return std::make_unique<Blocks>(reporter, complete); }

}  // namespace fb::oracle
