// One short text that says which case ran under which seed against what: enough to run it again on
// another machine, byte for byte.
//
//   fb1:connect_refuses_sqsize_zero:v=0.2.0:seed=1:dut=embedded:dev=a,b:5F3A
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fb::conformance {

struct ReplayToken {
  std::string case_name;
  std::string version;
  std::uint64_t seed = 1;
  std::string dut = "embedded";
  std::vector<std::string> deviations;
  std::string transport = {};  ///< empty: each that the case has
  std::string lane = {};       ///< empty: the plain one
  bool operator==(const ReplayToken&) const = default;
};

std::string to_string(const ReplayToken& token);
/// The Problem says what is wrong with the text (a cut-off one does not pass its check word).
Result<ReplayToken> parse_replay_token(std::string_view text);

}  // namespace fb::conformance
