// Control messages of any command: headers, classes, lengths, completion codes.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/mctp/exchange.h"
#include "conformance/runner/managed_setup.h"

namespace fb::conformance {
namespace {

/// Requests that a simple endpoint serves and that change nothing, with good data.
struct Harmless {
  Command command;
  Bytes data;
};
const std::vector<Harmless>& harmless() {
  static const std::vector<Harmless> kAll = {
      {Command::get_endpoint_id, {}},
      {Command::get_endpoint_uuid, {}},
      {Command::get_version_support, {0}},
      {Command::get_message_type_support, {}},
      {Command::get_vendor_support, {0}},
      {Command::resolve_endpoint_id, {9}},
      {Command::get_routing_table, {0}},
      {Command::query_hop, {9, 4}},
      {Command::get_network_id, {}},
      {Command::query_rate_limit, {}},
      {Command::query_supported_interfaces, {}},
  };
  return kAll;
}

std::string named(Command command) { return std::string(mctp::control::name_of(command)); }

}  // namespace

CONFORMANCE_CASE(instance_ids_come_back, "mctp.control.instance", roles::endpoint, needs(control_messages)) {
  for (std::uint8_t instance = 0; instance < 32; ++instance) {
    for (const Command command : {Command::get_endpoint_id, Command::get_message_type_support}) {
      const ControlAnswer answer = bench.control(command, {}, {.instance = instance});
      if (!completion_is(check, answer, Completion::success, named(command))) return;
      check.equal("instance ID of the answer to " + named(command), answer.message->body[1] & 0x1F, instance);
    }
  }
  // One that is refused has it too.
  for (const std::uint8_t instance : octets<1, 30>) {
    const ControlAnswer answer = bench.control(static_cast<Command>(0xEF), {}, {.instance = instance});
    check.require(answer.answered(), "an unknown command is answered", answer.describe());
    check.equal("instance ID of a refusal", answer.message->body[1] & 0x1F, instance);
  }
}

CONFORMANCE_CASE(command_codes_come_back, "mctp.control.command", roles::endpoint, needs(control_messages)) {
  for (const Harmless& one : harmless()) {
    const ControlAnswer answer = bench.control(one.command, one.data);
    check.require(answer.answered(), named(one.command) + " is answered", answer.describe());
    check.equal("command code of the answer to " + named(one.command), answer.message->body[2], static_cast<unsigned>(one.command));
  }
  for (const std::uint8_t unknown : octets<0x15, 0x80, 0xEF>) {
    const ControlAnswer answer = bench.control(static_cast<Command>(unknown));
    check.require(answer.answered(), fmt::format("command {:02X}h is answered", unknown), answer.describe());
    check.equal("command code of a refusal", answer.message->body[2], unknown);
  }
}

CONFORMANCE_CASE(answers_are_marked_as_responses, "mctp.control.response-bits", roles::endpoint, needs(control_messages)) {
  for (const Harmless& one : harmless()) {
    const ControlAnswer answer = bench.control(one.command, one.data);
    check.require(answer.answered(), named(one.command) + " is answered", answer.describe());
    const Bytes& body = answer.message->body;
    check.equal("IC and type of the answer to " + named(one.command), body[0], 0);
    check.equal("Rq, D and the reserved bit of the answer to " + named(one.command), body[1] >> 5, 0);
  }
}

CONFORMANCE_CASE(messages_that_are_no_requests_are_not_answered, "mctp.control.class", roles::endpoint, needs(packets)) {
  struct Bits {
    bool owner, request, datagram;
  };
  // All but a request and a datagram of the tag's owner.
  for (const Bits bits : {Bits{true, false, false}, Bits{true, false, true}, Bits{false, true, false}, Bits{false, true, true},
                          Bits{false, false, false}, Bits{false, false, true}}) {
    for (std::uint8_t tag = 0; tag < 8; ++tag) {
      // A refusal by Get MCTP Version Support would be a good request as well, did Rq not matter.
      const Bytes body = bits.request
                             ? control_message(Command::get_endpoint_id, {}, {.datagram = bits.datagram})
                             : control_message(Command::get_version_support, Bytes{0x80}, {.request = false, .datagram = bits.datagram});
      bench.peer().send_message(body, {.tag = tag, .owner = bits.owner});
    }
    if (!silence(bench, check, fmt::format("answer to TO {} Rq {} D {}", bits.owner, bits.request, bits.datagram))) break;
  }
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(datagrams_are_not_answered, "mctp.control.datagram", roles::endpoint, needs(packets)) {
  for (const Harmless& one : harmless()) {
    bench.peer().send_message(control_message(one.command, one.data, {.datagram = true}));
  }
  bench.peer().send_message(control_message(0xEF, {}, {.datagram = true}));
  MctpPacket packet = bench.peer().packet(control_message(Command::get_endpoint_id, {}, {.datagram = true}));
  packet.destination = mctp::kNullEid;
  bench.peer().send(packet);
  silence(bench, check, "answer to datagrams");
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(control_messages_have_no_integrity_check, "mctp.control.integrity-bit", roles::endpoint, needs(packets)) {
  bench.peer().send_message(control_message(Command::get_endpoint_id, {}, {.ic = true}));
  silence(bench, check, "answer to a control message that says it has a check");
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(unknown_commands_are_refused, "mctp.control.unknown", roles::endpoint, needs(control_messages)) {
  std::vector<unsigned> unknown = {0x00};
  for (unsigned command = 0x15; command < mctp::control::kTransportSpecificFirst; ++command) unknown.push_back(command);
  for (const unsigned command : unknown) {
    for (const std::size_t size : {0u, 4u}) {
      const ControlAnswer answer = bench.control(static_cast<Command>(command), Bytes(size));
      if (!completion_is(check, answer, Completion::unsupported_command, fmt::format("command {:02X}h", command))) return;
    }
  }
  // Those of the transport may be there; if not they are refused as well.
  for (unsigned command = mctp::control::kTransportSpecificFirst; command < 0x100; ++command) {
    const ControlAnswer answer = bench.control(static_cast<Command>(command));
    if (!check.that(answer.answered(), fmt::format("command {:02X}h is answered", command), answer.describe())) return;
  }
  serves(bench, check, "a request afterwards");
}

namespace {

struct Wrong {
  Command command;
  std::vector<std::size_t> sizes;
};

/// Each is refused, where the command is known at all: only four have to be.
void are_wrong(EndpointBench& bench, Check& check, const std::vector<Wrong>& all) {
  for (const Wrong& one : all) {
    for (const std::size_t size : one.sizes) {
      // Zeros would do as data, did the length not matter; an EID would be 21h.
      Bytes data(size);
      if (one.command == Command::set_endpoint_id && size > 1) data[1] = 0x21;
      const ControlAnswer answer = bench.control(one.command, data);
      const std::string what = fmt::format("{} with {} bytes of data", named(one.command), size);
      const bool optional = one.command != Command::set_endpoint_id && one.command != Command::get_endpoint_id &&
                            one.command != Command::get_version_support && one.command != Command::get_message_type_support;
      if (optional && answer.completion() == Completion::unsupported_command) continue;
      completion_is(check, answer, Completion::invalid_length, what);
    }
  }
  serves(bench, check, "the EID that it has kept");
}

}  // namespace

CONFORMANCE_CASE(requests_of_a_wrong_length_are_refused, "mctp.control.length", roles::endpoint, needs(packets)) {
  are_wrong(bench, check,
            {{Command::set_endpoint_id, {0, 1, 3, 4}},
             {Command::get_endpoint_id, {1, 2, 61}},
             {Command::get_endpoint_uuid, {1, 16}},
             {Command::get_version_support, {0, 2, 3}},
             {Command::get_message_type_support, {1, 4}},
             {Command::get_vendor_support, {0, 2}},
             {Command::prepare_for_discovery, {1, 4}},
             {Command::query_supported_interfaces, {1, 2}}});
}

CONFORMANCE_CASE(rarer_requests_of_a_wrong_length_are_refused, "mctp.control.length", roles::endpoint, needs(packets),
                 arranged("a network with a name, rates and vendors", [](EmbeddedSetup& setup) {
                   mctp::DeviceOptions& node = setup.managed->drive.node;
                   node.network.emplace().fill(0x41);
                   node.rates.emplace();
                   node.vendors = {{mctp::control::VendorFormat::pci, 0x1B4B, 1}};
                 })) {
  are_wrong(bench, check,
            {{Command::get_vendor_support, {0, 2, 9}},
             {Command::get_network_id, {1, 4, 16}},
             {Command::query_rate_limit, {1, 4}},
             {Command::request_tx_rate_limit, {0, 6, 8}},
             {Command::update_rate_limit, {0, 6, 8}}});
}

CONFORMANCE_CASE(refusals_carry_nothing_but_their_code, "mctp.control.error-size", roles::endpoint, needs(control_messages)) {
  const std::pair<Command, Bytes> refused[] = {
      {static_cast<Command>(0xEF), {}}, {Command::get_endpoint_id, {0}},        {Command::set_endpoint_id, {0, 0xFF}},
      {Command::set_endpoint_id, {0}},  {Command::get_version_support, {0x7D}}, {Command::resolve_endpoint_id, {9}},
  };
  for (const auto& [command, data] : refused) {
    const ControlAnswer answer = bench.control(command, data);
    check.require(answer.answered(), named(command) + " is answered", answer.describe());
    if (answer.ok()) continue;
    check.equal("bytes behind the completion code of a refused " + named(command), answer.data().size(), 0);
  }
}

CONFORMANCE_CASE(control_answers_are_single_packets, "mctp.control.packet", roles::endpoint, needs(packets)) {
  for (const Harmless& one : harmless()) {
    const auto seen = packets_of_answer(bench, check, control_message(one.command, one.data), 1, {.tag = 1});
    check.equal("packets of the answer to " + named(one.command), seen.size(), 1);
    check.that(seen[0].packet.som && seen[0].packet.eom, "the packet is first and last", seen[0].describe());
    check.between("payload of the answer to " + named(one.command), seen[0].packet.payload.size(), std::size_t{4}, mctp::kBaselineUnit);
  }
}

CONFORMANCE_CASE(a_request_that_is_said_again_is_answered_again, "mctp.control.retry", roles::endpoint, needs(control_messages)) {
  for (const Harmless& one : harmless()) {
    const ControlTerms same{.instance = 7, .tag = 2};
    const ControlAnswer first = bench.control(one.command, one.data, same);
    check.require(first.answered(), named(one.command) + " is answered", first.describe());
    for (int again = 0; again < 2; ++again) {
      const ControlAnswer next = bench.control(one.command, one.data, same);
      if (!check.that(next.answered(), named(one.command) + " is answered when said again", next.describe())) return;
      check.bytes("the answer to the same request", next.message->body, first.message->body);
    }
  }
}

CONFORMANCE_CASE(a_burst_of_requests_is_answered_right, "mctp.control.burst", roles::endpoint, needs(packets)) {
  // Different commands, instances and tags at once: each is answered as its own, refused as busy, or dropped.
  const Command asked[] = {Command::get_endpoint_id, Command::get_message_type_support, Command::get_version_support,
                           Command::get_endpoint_id, Command::get_message_type_support, Command::get_version_support};
  bench.peer().forget();
  for (std::uint8_t at = 0; at < 6; ++at) {
    const Bytes data = asked[at] == Command::get_version_support ? Bytes{0} : Bytes{};
    bench.peer().send_message(control_message(asked[at], data, {.instance = static_cast<std::uint8_t>(at + 10)}), {.tag = at});
  }
  bench.peer().wait_until_said();
  unsigned answered = 0;
  while (const auto answer = bench.peer().next_message(bench.answer_within() * 2)) {
    ++answered;
    check.require(answer->body.size() >= 4 && answer->tag < 6, "an answer to one of the requests", "something else");
    check.equal("command of the answer to tag " + std::to_string(answer->tag), answer->body[2], static_cast<unsigned>(asked[answer->tag]));
    check.equal("instance ID of the answer to tag " + std::to_string(answer->tag), answer->body[1] & 0x1F, answer->tag + 10);
    check.equal("completion code in a burst", static_cast<Completion>(answer->body[3]), one_of(Completion::success, Completion::not_ready));
  }
  check.between("answers to six requests", answered, 1u, 6u);
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(it_answers_after_three_tries_at_most, "mctp.control.ready", roles::endpoint, needs(packets), as_found) {
  answers(bench, check, "Get Endpoint ID in three tries", 3);
}

}  // namespace fb::conformance
