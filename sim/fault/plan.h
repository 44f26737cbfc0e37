// A plan says which faults may strike, where and how often; with a seed and the places of a world it becomes a
// schedule. As a file it is YAML:
//
//   name: lossy-path
//   swarm: true                # each world has some of the faults only, drawn by its seed
//   faults:
//     - kind: drop             # fabricbench campaign --list-faults has them all
//       where: host->target    # left out: everywhere that the kind can strike
//       every: 40              # one packet in about so many
//       most: 12               # at one place of one world
//     - kind: delay
//       every: 100
//       amount: [10us, 2ms]    # drawn between the two
//       from: 20               # not before packet 20, and not from 400 on
//       to: 400
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fault/schedule.h"

namespace fb::fault {

struct Rule {
  Kind kind = Kind::drop;
  std::string where;          ///< empty: every place of the kind's site
  std::uint64_t every = 100;  ///< mean distance of two strikes; gaps are uniform between 1 and twice as much less one
  unsigned most = 4;          ///< decisions at one place
  std::uint64_t from = 0;
  std::uint64_t to = 100'000;
  std::uint64_t low = 0, high = 0;  ///< of the amount, both included
  int line = 0;                     ///< where its file has it; 0: no file
};

struct Plan {
  std::string name = "none";
  std::string source;  ///< the file, for Problems
  bool swarm = false;
  std::vector<Rule> rules;
};

/// The schedule of one world. The same seed, plan and places give the same schedule; a further place, or a further
/// rule behind the others, changes no decision of the rest.
Schedule generate(const Plan& plan, std::uint64_t seed, const std::vector<Place>& places);

/// Whether each rule that names a place names one of these, and any rule can strike at all. The Problem tells of the
/// first that cannot, with its line.
Result<void> fits(const Plan& plan, const std::vector<Place>& places);

/// `source` names the text in Problems: "plan.yaml:7: ...".
Result<Plan> parse_plan(std::string_view text, const std::string& source);
std::string to_yaml(const Plan& plan);

}  // namespace fb::fault
