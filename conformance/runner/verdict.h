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

/// "what: seen".
std::string summary_of(const Finding& finding);

/// The same without what is another value in the next run: counters, times, identifiers, addresses, dumps. What was seen keeps
/// its words, NVMe statuses and FES; N stands for a number, T for a time, X for bytes, ADDRESS for an address. By it a waiver
/// recognises a failure.
std::string signature_of(const Finding& finding);
/// Whether a signature is that of the finding, be it as signature_of() makes it or with the values that were seen once.
bool is_signature_of(std::string_view signature, const Finding& finding);

}  // namespace fb::conformance
