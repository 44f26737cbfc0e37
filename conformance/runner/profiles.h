// Peer profiles: known, documented deviations of a peer that many people have, chosen by name with
// --profile. One entry says which requirement the peer does not meet, what is seen instead, why, and
// where its source shows it; anything else must pass, and an entry whose case passes makes a run red.
//
//   peer: Linux 6.1 nvmet
//   deviations:
//     - requirement: fabrics.property.cap
//       seen: "CAP.CQR: no"
//       reason: CAP is put together without CQR.
//       source: drivers/nvme/target/core.c nvmet_init_cap
//
// `case` narrows an entry to cases that match it, where a requirement has several; `transport` to runs over
// that one (rdma, tcp). The requirement may be a pattern, and what is seen too, for numbers that differ each time.
// `plays` names the deviations, with commas between, by which an emulated product shows the same (--like); `unplayed` says why
// none does. `shows: sometimes` is for what depends on a race in the peer: a pass is as good.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "conformance/runner/waivers.h"
#include "model/deviations/deviation.h"

namespace fb::conformance {

/// A profile that the program carries: the file below conformance/profiles.
struct BuiltInProfile {
  std::string_view name;
  std::string_view text;
};
/// By name.
std::vector<BuiltInProfile> built_in_profiles();

/// Adds the deviations of a profile to what is expected. The Problem names file, line and what is wrong;
/// a requirement that no ledger holds is wrong.
Result<void> add_profile(const std::string& text, const std::string& name, Expectations& to);

/// The profile of that name, or the file when it ends with .yaml.
Result<void> add_named_profile(const std::string& name, Expectations& to);

/// A line of a profile, and how an emulated product plays it.
struct PlayedLine {
  std::string requirement;
  std::vector<std::string> plays;  ///< deviations
  std::string unplayed;            ///< why none
};
/// The lines of a profile. The Problem as above, and for a line with neither of both, or a deviation that there is not.
Result<std::vector<PlayedLine>> played_lines(const std::string& profile);
/// The deviations of a profile that programs with these products, over these transports, can show.
Result<deviations::DeviationSet> personality(const std::string& profile, const std::vector<deviations::Product>& products,
                                             const std::vector<std::string>& transports);
/// The deviations of these names, and those of a profile; an empty `profile` adds none.
Result<deviations::DeviationSet> with_personality(std::vector<std::string> names, const std::string& profile,
                                                  const std::vector<deviations::Product>& products,
                                                  const std::vector<std::string>& transports);

}  // namespace fb::conformance
