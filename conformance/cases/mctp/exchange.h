// What the MCTP cases share: verdicts over control answers, and requests that a good endpoint must serve.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "conformance/runner/endpoint_bench.h"

namespace fb::conformance {

/// The bench gives the product no EID: the case speaks to its physical address, whatever EID it has.
struct AsFound {
  void apply(CaseOptions& options) const {
    options.arrange = [](EmbeddedSetup& setup) { setup.managed->assigned = false; };
  }
};
inline constexpr AsFound as_found;

using mctp::control::Command;
using mctp::control::Completion;

/// Bytes to go through, one after the other.
template <int... Values>
inline constexpr std::array<std::uint8_t, sizeof...(Values)> octets = {static_cast<std::uint8_t>(Values)...};

/// There is an answer with one of these completion codes. False otherwise, and the case FAILs.
inline bool completion_is(Check& check, const ControlAnswer& answer, const OneOf<mctp::control::Completion>& legal, std::string_view what) {
  if (!answer.answered()) {
    std::vector<std::string> expected;
    for (const auto one : legal.legal) expected.push_back(words(one));
    check.fails(what, std::move(expected), answer.describe());
    return false;
  }
  return check.equal(what, answer.completion(), legal);
}
inline bool completion_is(Check& check, const ControlAnswer& answer, mctp::control::Completion legal, std::string_view what) {
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

/// Get Endpoint ID to whatever EID the bench speaks to is answered, once in so many tries.
inline bool answers(EndpointBench& bench, Check& check, std::string_view what, int tries = 1) {
  ControlAnswer answer;
  for (int at = 0; at < tries && !answer.ok(); ++at) {
    answer = bench.control(Command::get_endpoint_id, {}, {.instance = static_cast<std::uint8_t>(at & 0x1F)});
  }
  return completion_is(check, answer, Completion::success, what);
}

/// A control message as its bits say.
struct ControlBits {
  bool ic = false;
  bool request = true;
  bool datagram = false;
  std::uint8_t instance = 2;
};
inline Bytes control_message(std::uint8_t command, ByteView data = {}, const ControlBits& bits = {}) {
  Bytes body = {static_cast<std::uint8_t>(bits.ic ? 0x80 : 0),
                static_cast<std::uint8_t>((bits.request ? 0x80 : 0) | (bits.datagram ? 0x40 : 0) | bits.instance), command};
  body.insert(body.end(), data.begin(), data.end());
  return body;
}
inline Bytes control_message(Command command, ByteView data = {}, const ControlBits& bits = {}) {
  return control_message(static_cast<std::uint8_t>(command), data, bits);
}
/// Get Endpoint ID, which every endpoint answers and which changes nothing.
inline const Bytes kAnyRequest = control_message(Command::get_endpoint_id);

/// An Identify of 72 bytes, and with `more` bytes at its end, whose answer is as long as `dlen` says and 24 bytes
/// more: two packets there at least, and nine back for 512 bytes.
inline Bytes long_request(EndpointBench& bench, std::uint32_t dlen = 512, std::size_t more = 0, unsigned slot = 0) {
  nvme::Sqe identify;
  identify.set(nvme::sqe::opcode, nvme::AdminOpcode::identify).set(nvme::sqe::cdw10, 1);
  const auto& controllers = bench.declared().controllers;
  const std::uint16_t cntlid = controllers.empty() ? std::uint16_t{0} : controllers.front();
  Bytes body = admin_message(cntlid, identify, 0, dlen, Bytes(more), {.slot = slot});
  mi::append_mic(body);
  return body;
}

/// More Processing Required, which a slow product may say before it answers.
inline bool asks_for_time(const SeenPacket& seen) {
  const Bytes& body = seen.packet.payload;
  return seen.packet.som && seen.packet.eom && body.size() >= 12 && body[0] == (mi::kNvmeMiType | mi::kIntegrityBit) &&
         body[4] == static_cast<std::uint8_t>(mi::Status::more_processing);
}

/// Every packet that comes until the product has nothing more to say. A message without its end yet has as long as a new one:
/// a product that runs beside other programs may stop between two packets.
inline std::vector<SeenPacket> what_comes(EndpointBench& bench) {
  RawMctp& peer = bench.peer();
  peer.wait_until_said();
  std::vector<SeenPacket> seen;
  const auto patience = [&] { return seen.empty() || !seen.back().packet.eom ? Duration::s(2) : bench.answer_within() * 2; };
  while (auto packet = peer.next_packet(patience())) {
    if (!asks_for_time(*packet)) seen.push_back(std::move(*packet));
  }
  peer.forget();
  return seen;
}
/// The packets of the answer to a message; INCONCLUSIVE below so many.
inline std::vector<SeenPacket> packets_of_answer(EndpointBench& bench, Check& check, ByteView body, std::size_t least,
                                                 const MctpTerms& terms = {}) {
  bench.peer().forget();
  bench.peer().send_message(body, terms);
  std::vector<SeenPacket> seen = what_comes(bench);
  check.precondition(seen.size() >= least, "an answer of so many packets could not be had");
  return seen;
}

}  // namespace fb::conformance
