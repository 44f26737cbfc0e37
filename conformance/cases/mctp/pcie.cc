// The PCI Express binding: vendor defined messages, padding, and endpoint discovery.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/mctp/exchange.h"

namespace fb::conformance {
namespace {

constexpr std::size_t kTlpHeader = 16;

std::uint16_t own_number(EndpointBench& bench) { return mctp::bdf_of(bench.peer().binding().address()); }

/// A TLP by hand, every part as given.
struct Tlp {
  std::uint8_t route = 0x72;
  std::uint8_t code = 0;
  std::uint8_t message_code = 0x7F;
  std::uint16_t vendor = 0x1AB4;
  Bytes packet;
};
Bytes bytes_of(EndpointBench& bench, const Tlp& tlp) {
  const std::size_t payload = tlp.packet.size() - 4;
  const std::size_t dwords = (payload + 3) / 4;
  const std::uint16_t to = tlp.route == 0x72 ? mctp::bdf_of(bench.address()) : std::uint16_t{0};
  Bytes bytes(kTlpHeader + dwords * 4);
  bytes[0] = tlp.route;
  store_be<std::uint16_t>(&bytes[2], static_cast<std::uint16_t>(dwords));
  store_be<std::uint16_t>(&bytes[4], own_number(bench));
  bytes[6] = static_cast<std::uint8_t>((dwords * 4 - payload) << 4 | tlp.code);
  bytes[7] = tlp.message_code;
  store_be<std::uint16_t>(&bytes[8], to);
  store_be<std::uint16_t>(&bytes[10], tlp.vendor);
  std::copy(tlp.packet.begin(), tlp.packet.end(), bytes.begin() + 12);
  return bytes;
}
Tlp any_tlp(EndpointBench& bench) {
  Tlp tlp;
  tlp.packet = to_bytes(bench.peer().packet(kAnyRequest));
  return tlp;
}
Tlp broadcast(EndpointBench& bench, Command command) {
  MctpPacket packet = bench.peer().packet(control_message(command));
  packet.destination = mctp::kBroadcastEid;
  Tlp tlp;
  tlp.route = 0x73;
  tlp.packet = to_bytes(packet);
  return tlp;
}

/// The TLPs that the product sends while it is asked for answers of all lengths.
std::vector<Bytes> sent(EndpointBench& bench, Check& check) {
  const std::size_t before = bench.product_frames().size();
  const Bytes requests[] = {kAnyRequest, control_message(Command::get_message_type_support),
                            control_message(Command::get_version_support, Bytes{0}), control_message(0xEF), long_request(bench)};
  for (const Bytes& request : requests) {
    bench.peer().send_message(request);
    what_comes(bench);
  }
  std::vector<Bytes> frames;
  for (std::size_t at = before; at < bench.product_frames().size(); ++at) {
    frames.push_back(bench.product_frames()[at].bytes);
  }
  check.precondition(!frames.empty(), "the product sends something");
  for (const Bytes& frame : frames) {
    check.require(frame.size() > kTlpHeader && frame.size() % 4 == 0, "a TLP of whole dwords with a payload", words_of_bytes(frame));
  }
  return frames;
}

}  // namespace

CONFORMANCE_CASE(messages_are_routed_as_the_binding_says, "mctp.vdm.type", roles::endpoint, as_found) {
  for (const Bytes& tlp : sent(bench, check)) {
    check.equal("format, type and routing", tlp[0], one_of(0x70, 0x72));
    check.equal("traffic class and TH", tlp[1], 0);
    check.equal("TD, EP, ordering and AT", tlp[2] & 0xEC, 0);
  }
}

CONFORMANCE_CASE(messages_carry_the_codes_of_mctp, "mctp.vdm.codes", roles::endpoint, as_found) {
  for (const Bytes& tlp : sent(bench, check)) {
    check.equal("message code", tlp[7], 0x7F);
    check.equal("vendor ID", tlp[10] << 8 | tlp[11], 0x1AB4);
    check.equal("VDM code and the bits above the pad length", tlp[6] & 0xCF, 0);
  }
}

CONFORMANCE_CASE(messages_say_their_length, "mctp.vdm.length", roles::endpoint, as_found) {
  for (const Bytes& tlp : sent(bench, check)) {
    check.equal("length in dwords", (tlp[2] & 3) << 8 | tlp[3], (tlp.size() - kTlpHeader) / 4);
  }
}

CONFORMANCE_CASE(messages_name_who_sends_and_who_is_meant, "mctp.vdm.ids", roles::endpoint, as_found) {
  for (const Bytes& tlp : sent(bench, check)) {
    check.equal("requester ID", tlp[4] << 8 | tlp[5], mctp::bdf_of(bench.address()));
    if (tlp[0] == 0x72) check.equal("target ID", tlp[8] << 8 | tlp[9], own_number(bench));
  }
}

CONFORMANCE_CASE(padding_is_zero_and_at_the_end, "mctp.vdm.padding", roles::endpoint, as_found) {
  unsigned padded = 0;
  for (const Bytes& tlp : sent(bench, check)) {
    const std::size_t pad = tlp[6] >> 4 & 3;
    const std::size_t body = tlp.size() - kTlpHeader - pad;
    padded += pad > 0 ? 1 : 0;
    check.that(pad == 0 || (tlp[15] & 0x40) != 0, "padding with EOM alone", words_of_bytes(tlp));
    for (std::size_t at = tlp.size() - pad; at < tlp.size(); ++at) check.equal("padding byte", tlp[at], 0);
    // Control answers say how long they are.
    if ((tlp[15] & 0xC0) != 0xC0 || (tlp[16] & 0x7F) != 0 || body < 4) continue;
    if (tlp[19] != 0) check.equal("bytes of a refusal", body, 4);
    if (tlp[19] == 0 && tlp[18] == 0x02) check.equal("bytes of Get Endpoint ID", body, 7);
    if (tlp[19] == 0 && tlp[18] == 0x05) check.equal("bytes of Get Message Type Support", body, 5u + tlp[20]);
    if (tlp[19] == 0 && tlp[18] == 0x04) check.equal("bytes of Get MCTP Version Support", body, 5u + 4u * tlp[20]);
  }
  check.that(padded > 0, "answers of odd lengths are padded", "none was");
}

CONFORMANCE_CASE(padding_of_requests_is_no_data, "mctp.vdm.padding-received", roles::endpoint, as_found) {
  // One, none, three and two bytes of padding.
  completion_is(check, bench.control(Command::get_endpoint_id), Completion::success, "a request of 3 bytes");
  completion_is(check, bench.control(Command::get_version_support, {0xFF}), Completion::success, "a request of 4 bytes");
  completion_is(check, bench.control(Command::set_endpoint_id, {1, 0x21}), Completion::success, "a request of 5 bytes");
  completion_is(check, bench.control(static_cast<Command>(0xEF), {1, 2, 3}), Completion::unsupported_command, "a request of 6 bytes");
}

CONFORMANCE_CASE(messages_of_other_vendors_are_ignored, "mctp.vdm.vendor-checked", roles::endpoint, sends_malformed) {
  std::vector<int> vendors = {0xB41A, 0x0000, 0xFFFF, 0x8086, 0x1A00, 0x00B4};
  for (unsigned bit = 0; bit < 16; ++bit) vendors.push_back(0x1AB4 ^ 1 << bit);
  for (const int vendor : vendors) {
    Tlp tlp = any_tlp(bench);
    tlp.vendor = static_cast<std::uint16_t>(vendor);
    bench.peer().send_frame(bytes_of(bench, tlp));
  }
  silence(bench, check, "answer to a message of another vendor");
  serves(bench, check, "a good message afterwards");
}

CONFORMANCE_CASE(messages_with_other_codes_are_ignored, "mctp.vdm.codes-checked", roles::endpoint, sends_malformed) {
  for (std::uint8_t code = 1; code < 16; ++code) {
    Tlp tlp = any_tlp(bench);
    tlp.code = code;
    bench.peer().send_frame(bytes_of(bench, tlp));
  }
  silence(bench, check, "answer to another VDM code");
  for (unsigned bit = 0; bit < 8; ++bit) {
    Tlp other = any_tlp(bench);
    other.message_code = static_cast<std::uint8_t>(0x7F ^ 1u << bit);
    bench.peer().send_frame(bytes_of(bench, other));
  }
  silence(bench, check, "answer to a message with another message code, a vendor defined one of type 0 among them");
  serves(bench, check, "a good message afterwards");
}

// ---- discovery ----

CONFORMANCE_CASE(broadcast_requests_are_answered_to_the_root, "mctp.vdm.broadcast", roles::endpoint) {
  for (const Command command : {Command::prepare_for_discovery, Command::endpoint_discovery}) {
    const std::size_t before = bench.product_frames().size();
    bench.peer().send_frame(bytes_of(bench, broadcast(bench, command)));
    const auto answer = bench.peer().next_message(Duration::s(1));
    const std::string what = std::string(mctp::control::name_of(command)) + " to all";
    if (!check.that(answer.has_value(), what + " is answered", "no answer")) return;
    check.equal("completion code of " + what, answer->body.size() > 3 ? answer->body[3] : 0xFF, 0);
    check.equal("source EID of the answer", answer->source, bench.eid());
    check.require(bench.product_frames().size() > before, "the answer to " + what + " is a frame of the product", "it is not");
    check.equal("routing of the answer to " + what, bench.product_frames()[before].bytes[0], 0x70);
  }
}

CONFORMANCE_CASE(an_undiscovered_endpoint_answers_discovery, "mctp.vdm.discovery.undiscovered", roles::endpoint, sends_malformed) {
  const auto answers_discovery = [&](std::string_view when) {
    for (int again = 0; again < 2; ++again) {
      const ControlAnswer answer = bench.control(Command::endpoint_discovery);
      if (!completion_is(check, answer, Completion::success, fmt::format("Endpoint Discovery {}", when))) return false;
      check.equal("bytes behind the completion code", answer.data().size(), 0);
    }
    bench.peer().send_frame(bytes_of(bench, broadcast(bench, Command::endpoint_discovery)));
    return check.that(bench.peer().next_message(Duration::s(1)).has_value(), fmt::format("Endpoint Discovery to all is answered {}", when),
                      "no answer");
  };
  // Set, and forced.
  for (const std::uint8_t operation : octets<0, 1>) {
    completion_is(check, bench.control(Command::prepare_for_discovery), Completion::success, "Prepare for Endpoint Discovery");
    if (!answers_discovery("before an EID is assigned")) return;
    for (const std::uint8_t none : octets<0x00, 0xFF>) {
      const ControlAnswer refused = bench.control(Command::set_endpoint_id, {operation, none});
      check.that(refused.answered() && !refused.ok(), fmt::format("Set Endpoint ID to {} is refused", none), refused.describe());
    }
    if (!answers_discovery("as long as nothing but a Set Endpoint ID that was refused has come")) return;
    const ControlAnswer assigned = bench.control(Command::set_endpoint_id, {operation, bench.eid()});
    if (!completion_is(check, assigned, Completion::success, "Set Endpoint ID")) return;
    bench.peer().send(bench.peer().packet(control_message(Command::endpoint_discovery)));
    bench.peer().send_frame(bytes_of(bench, broadcast(bench, Command::endpoint_discovery)));
    if (!silence(bench, check, "answer to Endpoint Discovery once an EID is assigned")) return;
  }
}

CONFORMANCE_CASE(a_discovered_endpoint_is_silent_to_discovery, "mctp.vdm.discovery.discovered", roles::endpoint) {
  for (int round = 0; round < 2; ++round) {
    bench.peer().send(bench.peer().packet(control_message(Command::endpoint_discovery)));
    bench.peer().send_frame(bytes_of(bench, broadcast(bench, Command::endpoint_discovery)));
    if (!silence(bench, check, "answer to Endpoint Discovery from an endpoint that has its EID")) return;
    bench.control(Command::prepare_for_discovery);
    bench.assign();
  }
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(prepare_for_discovery_leaves_the_eid, "mctp.vdm.discovery.prepare", roles::endpoint) {
  for (int round = 0; round < 2; ++round) {
    const ControlAnswer answer = bench.control(Command::prepare_for_discovery);
    if (!completion_is(check, answer, Completion::success, "Prepare for Endpoint Discovery")) return;
    check.equal("bytes behind the completion code", answer.data().size(), 0);
    serves(bench, check, "a request to its EID after Prepare for Endpoint Discovery");
  }
}

CONFORMANCE_CASE(the_discovered_flag_can_be_set, "mctp.vdm.discovery.set-discovered", roles::endpoint) {
  bench.control(Command::prepare_for_discovery);
  const ControlAnswer answer = bench.control(Command::set_endpoint_id, {3, 0x71});
  if (!completion_is(check, answer, Completion::success, "Set Endpoint ID 3")) return;
  bench.peer().send(bench.peer().packet(control_message(Command::endpoint_discovery)));
  silence(bench, check, "answer to Endpoint Discovery behind Set Endpoint ID 3");
  serves(bench, check, "the EID that it has kept");
}

}  // namespace fb::conformance
