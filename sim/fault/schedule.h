// Faults are data: a sparse list of decisions, each at a point with a stable key (where, which one), that a plan
// and a seed write and a world only reads. Taking one away disturbs no other; so a schedule can be replayed, and
// shrunk by leaving decisions out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fault/kinds.h"

namespace fb::fault {

/// "packet:host->target": where things are counted.
struct Place {
  Site site = Site::packet;
  std::string where;
  auto operator<=>(const Place&) const = default;
};
std::string to_string(const Place& place);

/// One thing that goes wrong. As text: "packet:host->target#7 delay 2000000".
struct Decision {
  Place place;
  std::uint64_t ordinal = 0;  ///< counts the place's things from 0
  Kind kind = Kind::drop;
  std::uint64_t amount = 0;  ///< in the kind's unit
  auto operator<=>(const Decision&) const = default;
};
std::string to_string(const Decision& decision);
/// The Problem says what is wrong with the text.
Result<Decision> parse_decision(std::string_view text);
/// In words for people: "drop packet 7 from host to target".
std::string tell(const Decision& decision);

/// What a product promises to get over: more of it, and what fails is nobody's fault.
struct Budget {
  unsigned statuses = 5;                     ///< failed attempts of one command that its host makes good
  unsigned losses = 16;                      ///< of the association, of which one command survives as many
  unsigned frames = 15;                      ///< frames of MCTP that are spoilt: a question is asked once more than that
  std::uint64_t outage_ns = 30'000'000'000;  ///< longest time without any path
};

struct Schedule {
  std::vector<Decision> decisions;  ///< in order, without repetition

  /// Why a product need not get over it: what the schedule asks for beyond the budget. Empty: it has to.
  std::string beyond(const Budget& budget) const;
  /// Some decision changes bytes behind the checks that would notice it.
  bool lies() const;
};

}  // namespace fb::fault
