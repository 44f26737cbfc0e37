// What the MCTP cases share: verdicts over control answers, and requests that a good endpoint must serve.
#pragma once

#include <string>

#include "conformance/runner/endpoint_bench.h"

namespace fb::conformance {

/// There is an answer with one of these completion codes. False otherwise, and the case FAILs.
inline bool completion_is(Check& check, const ControlAnswer& answer, const OneOf<mctp::control::Completion>& legal,
                          std::string_view what) {
  if (!answer.answered()) {
    std::vector<std::string> expected;
    for (const auto one : legal.legal) expected.push_back(words(one));
    check.fails(what, std::move(expected), answer.describe());
    return false;
  }
  return check.equal(what, answer.completion(), legal);
}
inline bool completion_is(Check& check, const ControlAnswer& answer, mctp::control::Completion legal,
                          std::string_view what) {
  return completion_is(check, answer, one_of(legal), what);
}
/// Nothing comes, for twice the time that an answer has.
inline bool silence(EndpointBench& bench, Check& check, std::string_view what) {
  return check.that(bench.silent(), "no " + std::string(what), "something came");
}
/// Get Endpoint ID is answered with the product's EID.
inline bool serves(EndpointBench& bench, Check& check, std::string_view what) {
  const ControlAnswer answer = bench.control(mctp::control::Command::get_endpoint_id);
  if (!completion_is(check, answer, mctp::control::Completion::success, what)) return false;
  check.require(!answer.data().empty(), "Get Endpoint ID says an EID", answer.describe());
  return check.equal("EID in " + std::string(what), answer.data()[0], bench.eid());
}

}  // namespace fb::conformance
