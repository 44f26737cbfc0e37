// Verdict: what the product did. Disposition: how that compares with what was expected of this very
// product. The two are kept apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb::conformance {

/// A one-way ladder: a case's verdict only ever climbs. `skip` is decided before the case and stands
/// beside the ladder.
enum class Verdict : std::uint8_t { none, pass, inconclusive, fail, error, skip };

/// The higher of two rungs.
constexpr Verdict worse(Verdict a, Verdict b) { return a < b ? b : a; }

enum class Disposition : std::uint8_t { as_expected, waived, regression, unexpected_pass };

std::string_view name_of(Verdict verdict);
std::string_view name_of(Disposition disposition);

/// One check that did not hold.
struct Finding {
  std::string what;                   ///< what was looked at: "status of Connect"
  std::vector<std::string> expected;  ///< the legal answers
  std::string seen;
};

/// "what: seen", by which a waiver recognises a failure.
std::string signature_of(const Finding& finding);

}  // namespace fb::conformance
