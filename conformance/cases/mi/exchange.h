// What the NVMe-MI cases share: verdicts over answers, and requests that a good endpoint must serve.
#pragma once

#include <string>

#include "conformance/runner/endpoint_bench.h"

namespace fb::conformance {

/// There is an answer, with a good check and one of these statuses. False otherwise, and the case FAILs.
inline bool status_is(Check& check, const MiAnswer& answer, const OneOf<mi::Status>& legal, std::string_view what) {
  if (!answer.answered() || !answer.mic_good) {
    std::vector<std::string> expected;
    for (const mi::Status one : legal.legal) expected.emplace_back(mi::name_of(one));
    check.fails(what, std::move(expected), answer.describe());
    return false;
  }
  return check.equal(what, answer.status(), legal);
}
inline bool status_is(Check& check, const MiAnswer& answer, mi::Status legal, std::string_view what) {
  return status_is(check, answer, one_of(legal), what);
}
inline bool success(Check& check, const MiAnswer& answer, std::string_view what) {
  return status_is(check, answer, mi::Status::success, what);
}
/// The scene of a case: INCONCLUSIVE without it.
inline void precondition(Check& check, const MiAnswer& answer, std::string_view what) {
  if (!answer.ok()) check.inconclusive(std::string(what) + ": " + answer.describe());
}
/// Invalid Parameter that points at this byte and bit.
inline bool invalid_parameter(Check& check, const MiAnswer& answer, const mi::ParameterError& at, std::string_view what) {
  if (!status_is(check, answer, mi::Status::invalid_parameter, what)) return false;
  return check.equal("parameter error location of " + std::string(what), answer.error_at(), at);
}
/// Both levels of an Admin command say success.
inline bool admin_success(Check& check, const MiAnswer& answer, std::string_view what) {
  if (!success(check, answer, what)) return false;
  check.require(answer.body.size() >= mi::AdminResponse::size, "an Admin response has 20 bytes", answer.describe());
  return check.success(answer.nvme_status(), what);
}
/// Nothing comes, for twice the time that an answer has.
inline bool silence(EndpointBench& bench, Check& check, std::string_view what) {
  return check.that(bench.silent(), "no " + std::string(what), "something came");
}
/// A good request is answered: the endpoint lives and its slots are free.
inline bool serves(EndpointBench& bench, Check& check, std::string_view what, unsigned slot = 0) {
  return success(check, bench.command(mi::Opcode::read_data_structure, 0, 0, {}, {.slot = slot}), what);
}

}  // namespace fb::conformance
