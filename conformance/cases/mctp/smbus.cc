// The SMBus binding: block writes both ways, and what a packet error check is for.
#include <fmt/format.h>

#include <memory>

#include "conformance/cases/mctp/exchange.h"

namespace fb::conformance {
namespace {

/// The check by the letter: bit for bit, x8 + x2 + x + 1 from 0.
std::uint8_t pec_of(ByteView bytes) {
  unsigned value = 0;
  for (const std::uint8_t byte : bytes) {
    value ^= byte;
    for (int bit = 0; bit < 8; ++bit) value = (value & 0x80) != 0 ? (value << 1 ^ 0x07) & 0xFF : value << 1;
  }
  return static_cast<std::uint8_t>(value);
}

std::uint8_t own_address(EndpointBench& bench) { return bench.peer().binding().address().bytes[0]; }

/// A block write around a packet, without its check.
Bytes unchecked(EndpointBench& bench, ByteView packet) {
  Bytes frame = {bench.address().bytes[0], 0x0F, static_cast<std::uint8_t>(packet.size() + 1),
                 static_cast<std::uint8_t>(own_address(bench) | 1)};
  frame.insert(frame.end(), packet.begin(), packet.end());
  return frame;
}
Bytes checked(Bytes frame) {
  frame.push_back(pec_of(frame));
  return frame;
}
Bytes any_packet(EndpointBench& bench) { return to_bytes(bench.peer().packet(kAnyRequest)); }

/// What the product writes when it is asked for a short answer and a long one.
std::vector<Bytes> written(EndpointBench& bench, Check& check) {
  const std::size_t before = bench.product_frames().size();
  for (const Bytes& request : {kAnyRequest, long_request(bench)}) {
    bench.peer().send_message(request);
    what_comes(bench);
  }
  std::vector<Bytes> frames;
  for (std::size_t at = before; at < bench.product_frames().size(); ++at) {
    frames.push_back(bench.product_frames()[at].bytes);
  }
  check.precondition(!frames.empty(), "the product writes something");
  for (const Bytes& frame : frames) {
    check.require(frame.size() >= 10, "a block write holds a packet", words_of_bytes(frame));
  }
  return frames;
}

}  // namespace

CONFORMANCE_CASE(block_writes_have_the_command_code_of_mctp, "mctp.smbus.command", roles::endpoint, as_found) {
  for (const Bytes& frame : written(bench, check)) check.equal("command code", frame[1], 0x0F);
}

CONFORMANCE_CASE(block_writes_count_their_bytes, "mctp.smbus.count", roles::endpoint, as_found) {
  for (const Bytes& frame : written(bench, check)) {
    check.equal("byte count", frame[2], frame.size() - 4);
  }
}

CONFORMANCE_CASE(block_writes_name_their_sender, "mctp.smbus.source", roles::endpoint, as_found) {
  for (const Bytes& frame : written(bench, check)) {
    check.equal("source address with bit 0 set", frame[3], bench.address().bytes[0] | 1);
    check.equal("address that is written to", frame[0], own_address(bench));
  }
}

CONFORMANCE_CASE(block_writes_have_a_good_check, "mctp.smbus.pec", roles::endpoint, as_found) {
  for (const Bytes& frame : written(bench, check)) {
    check.equal("PEC", frame.back(), pec_of(ByteView(frame).first(frame.size() - 1)));
  }
}

CONFORMANCE_CASE(damaged_block_writes_are_dropped, "mctp.smbus.pec-checked", roles::endpoint, sends_malformed) {
  const Bytes good = checked(unchecked(bench, any_packet(bench)));
  // Every bit of the check, and one of every byte that it covers and that could be another's.
  for (unsigned bit = 0; bit < 8; ++bit) {
    Bytes frame = good;
    frame.back() ^= static_cast<std::uint8_t>(1u << bit);
    bench.peer().send_frame(frame);
  }
  silence(bench, check, "answer to a packet with a wrong PEC");
  for (std::size_t at = 3; at + 1 < good.size(); ++at) {
    Bytes frame = good;
    frame[at] ^= at == 3 ? 0x02 : 0x10;
    bench.peer().send_frame(frame);
  }
  Bytes whole = unchecked(bench, any_packet(bench));
  whole.push_back(pec_of(ByteView(whole).subspan(1)));  // without the address
  if (whole.back() != good.back()) bench.peer().send_frame(whole);
  silence(bench, check, "answer to a packet that was damaged");
  serves(bench, check, "a good packet afterwards");
}

CONFORMANCE_CASE(writes_of_other_protocols_are_ignored, "mctp.smbus.other-command", roles::endpoint, sends_malformed) {
  for (unsigned command = 0; command < 256; ++command) {
    if (command == 0x0F) continue;
    Bytes frame = unchecked(bench, any_packet(bench));
    frame[1] = static_cast<std::uint8_t>(command);
    bench.peer().send_frame(checked(frame));
    if (command % 64 == 63 && !silence(bench, check, "answer to another command code")) break;
  }
  serves(bench, check, "a good packet afterwards");
}

CONFORMANCE_CASE(a_wrong_byte_count_drops_the_packet, "mctp.smbus.count-checked", roles::endpoint, sends_malformed) {
  const Bytes like = unchecked(bench, any_packet(bench));
  for (unsigned count = 0; count < 256; ++count) {
    if (count == like[2]) continue;
    Bytes frame = like;
    frame[2] = static_cast<std::uint8_t>(count);
    bench.peer().send_frame(checked(frame));
    if (count % 32 == 31 && !silence(bench, check, fmt::format("answer to a byte count of up to {}", count))) break;
  }
  serves(bench, check, "a good packet afterwards");
}

CONFORMANCE_CASE(answers_go_to_the_address_of_the_request, "mctp.smbus.reply-address", roles::endpoint,
                 arranged("a second management controller")) {
  serves(bench, check, "the first controller");
  RawMctp& other = bench.another_peer();
  const auto asks = [&](mctp::Eid eid, std::string_view what) {
    other.set_eid(eid);
    other.send(other.packet(kAnyRequest));
    const auto answer = other.next_message(Duration::s(1));
    if (check.that(answer.has_value(), std::string(what) + " is answered at its address", "nothing came there")) {
      check.equal("destination EID of the answer", answer->destination, eid);
    }
    silence(bench, check, "answer at the first controller's address");
  };
  asks(kOtherBenchEid, "another controller");
  // Who has moved to another address with its EID is answered there.
  asks(kBenchEid, "the EID of the first controller from another address");
  serves(bench, check, "the first controller afterwards");
}

CONFORMANCE_CASE(a_packet_that_is_not_acknowledged_is_sent_again, "mctp.smbus.retry", roles::endpoint,
                 arranged("packets that are not acknowledged")) {
  const auto tries = std::make_shared<unsigned>(0);
  bench.on_product_frame = [tries](mctp::FrameContext&) {
    mctp::FrameVerdict verdict;
    verdict.nack = ++*tries <= 8;
    return verdict;
  };
  const ControlAnswer answer = bench.control(Command::get_endpoint_id);
  check.that(answer.ok(), "an answer whose first eight tries were not acknowledged arrives",
             fmt::format("{} after {} tries", answer.describe(), *tries));
  bench.on_product_frame = nullptr;
}

CONFORMANCE_CASE(packets_that_nobody_takes_block_nothing, "mctp.smbus.given-up", roles::endpoint,
                 arranged("packets that are not acknowledged")) {
  const auto tries = std::make_shared<unsigned>(0);
  for (int burst = 0; burst < 3; ++burst) {
    bench.on_product_frame = [tries](mctp::FrameContext&) {
      ++*tries;
      return mctp::FrameVerdict{.nack = true};
    };
    bench.peer().send(bench.peer().packet(kAnyRequest));
    bench.peer().send_message(long_request(bench));
    bench.peer().wait_until_said();
    bench.world().run_for(Duration::s(2));
    bench.on_product_frame = nullptr;
    check.precondition(*tries > 0, "the product has answered nobody");
    bench.peer().forget();
    if (!serves(bench, check, "a request behind answers that nobody acknowledged")) return;
  }
}

CONFORMANCE_CASE(the_address_is_the_one_that_it_declares, "mctp.smbus.address", roles::endpoint) {
  const MiAnswer info =
      bench.command(mi::Opcode::read_data_structure,
                    static_cast<std::uint32_t>(bench.port()) << 16 | static_cast<std::uint32_t>(mi::DataType::port_information) << 24);
  check.precondition(info.ok() && info.data().size() >= mi::PortInfo::size, "Port Information can be read");
  const View<mi::TwoWirePortInfo> port(info.data());
  check.precondition(port.get(mi::port_info::prttyp) == mi::PortType::two_wire, "the port is a two-wire one");
  const std::uint8_t declared = port.get(mi::port_info::cmeaddr);
  check.equal("current endpoint address in Port Information", declared & 0xFE, bench.address().bytes[0]);
}

CONFORMANCE_CASE(smbus_has_no_endpoint_discovery, "mctp.smbus.discovery", roles::endpoint) {
  for (const Command command : {Command::prepare_for_discovery, Command::endpoint_discovery}) {
    completion_is(check, bench.control(command), Completion::unsupported_command,
                  std::string(mctp::control::name_of(command)) + " on SMBus");
  }
  serves(bench, check, "a request afterwards");
}

CONFORMANCE_CASE(smbus_has_no_discovered_flag, "mctp.smbus.set-discovered", roles::endpoint) {
  const ControlAnswer answer = bench.control(Command::set_endpoint_id, {3, 0x71});
  completion_is(check, answer, Completion::invalid_data, "Set Endpoint ID 3 on SMBus");
  serves(bench, check, "the EID that it has kept");
}

}  // namespace fb::conformance
