// The expectation file of a product: failures that are known, with an owner, a reason, a link, an expiry
// date and the exact signature of the failure. From it follows each case's disposition.
//
//   product: acme target 3.1
//   waivers:
//     - case: connect_refuses_sqsize_*
//       owner: jane
//       reason: fixed in 3.2
//       link: https://tracker/123
//       expires: 2027-01-31
//       signature: "status: Success (0/00h)"
//
// The list of waivers alone is an expectation file too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

struct Waiver {
  std::string case_glob;
  std::string owner;
  std::string reason;
  std::string link;
  std::string expires;  ///< the last day on which it counts: 2027-01-31
  std::string signature;
  std::string place = {};  ///< FILE:LINE
};

/// KnownDeviation::shows of a deviation that depends on a race in the product.
inline constexpr std::string_view kSometimes = "sometimes";

/// An entry of a peer profile, see profiles.h. It has no owner and does not expire: it describes a
/// release that many people have.
struct KnownDeviation {
  std::string requirement;  ///< may be a pattern
  std::string case_glob;    ///< empty: every case of the requirement
  std::string transport;    ///< empty: any
  std::string shows;        ///< "sometimes", where a pass is as good; empty: always
  std::string signature;
  std::string reason;
  std::string source;
};

struct Expectations {
  std::string product;
  std::vector<Waiver> waivers;
  std::vector<KnownDeviation> deviations;
};

/// The Problem names file, line and what is wrong.
Result<Expectations> parse_expectations(const std::string& text, const std::string& name);
Result<Expectations> read_expectations(const std::string& path);

/// "2027-01-31" and an existing day.
bool is_date(std::string_view text);

/// Sets disposition and the waiver of one result. `today` as 2027-01-31. An expired waiver does not count.
void dispose(CaseResult& result, const Expectations& expectations, std::string_view today);

/// What is wrong with the waivers themselves: expired, or naming no case of the suite. One sentence each.
std::vector<std::string> remarks_on(const Expectations& expectations, const std::vector<const CaseInfo*>& suite, std::string_view today);

/// Whether this result makes a run red. INCONCLUSIVE does on an emulated product: whatever a case needs, the bench can arrange there.
bool is_red(const CaseResult& result);

}  // namespace fb::conformance
