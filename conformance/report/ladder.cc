#include "conformance/report/ladder.h"

#include <algorithm>
#include <utility>

#include "conformance/runner/runner.h"

namespace fb::conformance {

namespace {

using evidence::Said;

constexpr std::size_t kTextMax = 400;  // a label, a value; more is cut

class Packer {
 public:
  Packer() {
    text("");
    ladder_.fields.emplace_back();
  }

  void add(const Said& said, std::uint64_t gap) {
    Ladder::Row row;
    const std::int64_t now_ns = std::max(last_ns_, said.time.count_ns());
    row.wait_ns = now_ns - last_ns_;
    last_ns_ = now_ns;
    row.layer = text(said.layer);
    row.label = text(said.label);
    row.struck = text(said.struck);
    if (!said.to.empty()) {
      row.from = lane(said.from);
      row.to = lane(said.to);
      std::string& speaker = speakers_[static_cast<std::size_t>(row.from)];
      if (speaker.empty()) speaker = said.actor;
    }
    row.packet = said.packet;
    row.fields = fields(said.fields);
    row.gap = gap;
    ladder_.rows.push_back(row);
  }

  Ladder take(std::uint64_t rest) {
    ladder_.rest = rest;
    // A column is named after who speaks there, where that is known: "bench 10.0.0.1".
    for (std::size_t i = 0; i < ladder_.lanes.size(); ++i) {
      const std::string& address = ladder_.texts[ladder_.lanes[i]];
      const bool told = speakers_[i].empty() || address.find(speakers_[i]) != std::string::npos;
      if (!told) ladder_.lanes[i] = text(speakers_[i] + " " + address);
    }
    return std::move(ladder_);
  }

 private:
  std::uint32_t text(const std::string& value) {
    const std::string kept = value.size() <= kTextMax ? value : value.substr(0, kTextMax) + "…";
    const auto [found, added] = numbers_.try_emplace(kept, static_cast<std::uint32_t>(ladder_.texts.size()));
    if (added) ladder_.texts.push_back(kept);
    return found->second;
  }

  std::uint32_t fields(const std::vector<evidence::SaidField>& all) {
    if (all.empty()) return 0;
    std::vector<std::uint32_t> set;
    for (const evidence::SaidField& one : all) {
      set.push_back(text(one.name));
      set.push_back(text(one.value));
    }
    const auto [found, added] = sets_.try_emplace(set, static_cast<std::uint32_t>(ladder_.fields.size()));
    if (added) ladder_.fields.push_back(std::move(set));
    return found->second;
  }

  std::int32_t lane(const std::string& name) {
    const std::uint32_t number = text(name);
    const auto found = std::find(ladder_.lanes.begin(), ladder_.lanes.end(), number);
    if (found == ladder_.lanes.end()) {
      ladder_.lanes.push_back(number);
      speakers_.emplace_back();
      return static_cast<std::int32_t>(ladder_.lanes.size() - 1);
    }
    return static_cast<std::int32_t>(found - ladder_.lanes.begin());
  }

  Ladder ladder_;
  std::vector<std::string> speakers_;  // beside the lanes
  std::map<std::string, std::uint32_t> numbers_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> sets_;
  std::int64_t last_ns_ = 0;
};

constexpr std::size_t kFaultsShown = 100;

bool is_fault(const Said& said) { return !said.struck.empty() || said.layer == "fault"; }
bool is_state(const Said& said) { return said.to.empty() && said.layer == "state"; }

/// Of the faults that were told since the packet before, those that were done to a packet. What befell a
/// product (a status, a lost key, an ANA change) stands between the arrows.
std::string on_the_wire(std::string_view struck) {
  std::string kept;
  while (!struck.empty()) {
    const std::size_t end = std::min(struck.find("; "), struck.size());
    const std::string_view one = struck.substr(0, end);
    struck.remove_prefix(std::min(end + 2, struck.size()));
    for (const std::string_view thing : {"packet ", "segment ", "frame ", "PDU ", " by "}) {
      if (one.find(thing) == one.npos) continue;
      kept += (kept.empty() ? "" : "; ") + std::string(one);
      break;
    }
  }
  return kept;
}

/// A fault stands at the arrow that it struck; where the arrow follows at once, its words alone say nothing more.
bool is_said_again(const std::vector<Said>& said, std::size_t i) {
  if (said[i].layer != "fault" || said[i].label.empty()) return false;
  std::size_t next = i + 1;
  while (next < said.size() && said[next].to.empty() && (said[next].layer == "fault" || is_state(said[next]))) ++next;
  return next < said.size() && said[next].struck.find(said[i].label) != std::string::npos;
}

/// Which ones are kept, by their places among `said`.
std::vector<bool> choose(const std::vector<Said>& said, const LadderLimits& limits) {
  std::vector<bool> kept(said.size(), true);
  if (said.size() <= limits.head + limits.tail) return kept;
  std::vector<std::size_t> eligible, faults;
  std::size_t failure = said.size();
  for (std::size_t i = 0; i < said.size(); ++i) {
    kept[i] = false;
    if (!limits.states && is_state(said[i])) continue;
    if (failure == said.size() && said[i].label.starts_with(kFailedWords)) failure = eligible.size();
    if (is_fault(said[i]) && faults.size() < kFaultsShown) faults.push_back(eligible.size());
    eligible.push_back(i);
  }
  for (std::size_t i = 0; i < eligible.size(); ++i) {
    const std::size_t away = i > failure ? i - failure : failure - i;
    kept[eligible[i]] = i < limits.head || i + limits.tail >= eligible.size() || (failure < eligible.size() && away <= limits.around);
  }
  for (const std::size_t fault : limits.by_faults == 0 ? std::vector<std::size_t>{} : faults) {
    const std::size_t first = fault - std::min(fault, limits.by_faults);
    for (std::size_t i = first; i < eligible.size() && i <= fault + limits.by_faults; ++i) kept[eligible[i]] = true;
  }
  return kept;
}

}  // namespace

Ladder make_ladder(std::vector<Said> said, std::uint64_t unseen, const LadderLimits& limits) {
  for (Said& one : said) {
    if (!one.struck.empty()) one.struck = on_the_wire(one.struck);
  }
  for (std::size_t i = said.size(); i-- > 0;) {
    if (is_said_again(said, i)) said.erase(said.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const std::vector<bool> kept = choose(said, limits);
  Packer packer;
  std::uint64_t gap = 0;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (kept[i]) {
      packer.add(said[i], gap);
      gap = 0;
    } else if (limits.states || !is_state(said[i])) {
      ++gap;
    }
  }
  return packer.take(gap + unseen);
}

Ladder shortened(const Ladder& ladder, const LadderLimits& limits) {
  const std::vector<Ladder::Row>& rows = ladder.rows;
  const auto failure =
      std::find_if(rows.begin(), rows.end(), [&](const Ladder::Row& row) { return ladder.texts[row.label].starts_with(kFailedWords); });
  const auto failed = static_cast<std::size_t>(failure - rows.begin());
  Ladder less{ladder.texts, ladder.fields, ladder.lanes, {}, ladder.rest};
  std::int64_t wait_ns = 0;
  std::uint64_t gap = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    wait_ns += rows[i].wait_ns;
    gap += rows[i].gap;
    const std::size_t away = i > failed ? i - failed : failed - i;
    const bool kept = i < limits.head || i + limits.tail >= rows.size() || (failed < rows.size() && away <= limits.around);
    if (!kept) {
      ++gap;
      continue;
    }
    less.rows.push_back(rows[i]);
    less.rows.back().wait_ns = std::exchange(wait_ns, 0);
    less.rows.back().gap = std::exchange(gap, 0);
  }
  less.rest += gap;
  return less;
}

}  // namespace fb::conformance
