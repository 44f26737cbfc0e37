// The message header and the integrity check: what every answer carries, and what is not listened to.
#include "conformance/cases/mi/structures.h"

namespace fb::conformance {
namespace {

struct Asked {
  std::string what;
  Bytes body;
};

/// A controller to speak of, also where answers are not to be believed.
std::uint16_t some_controller(EndpointBench& bench) {
  const MiAnswer list = read_structure(bench, mi::DataType::controller_list);
  const ByteView data = list.data();
  return data.size() >= 4 ? load_le<std::uint16_t>(&data[2]) : std::uint16_t{1};
}

/// Requests that get a good answer and one that gets an error, for each kind of message that a product takes.
std::vector<Asked> of_every_kind(EndpointBench& bench, unsigned slot) {
  const std::uint16_t cntlid = some_controller(bench);
  const MiTerms terms{.slot = slot};
  constexpr auto kGetState = static_cast<std::uint8_t>(mi::Primitive::get_state);
  constexpr std::uint8_t kReserved = 0x7E, kDeleteQueue = 0x00;
  nvme::Sqe prohibited;
  prohibited.set(nvme::sqe::opcode, kDeleteQueue);
  std::vector<Asked> asked = {
      {"Get State", primitive_message(kGetState, slot)},
      {"a reserved primitive", primitive_message(kReserved, slot)},
      {"Read NVMe-MI Data Structure", mi_message(0, 0, 0, {}, terms)},
      {"VPD Read of five bytes", vpd_request(terms, 5)},
      {"an MI command that is reserved", mi_message(kReserved, 0, 0, {}, terms)},
      {"an MI command with a reserved parameter", mi_message(0, 0xFF000000, 0, {}, terms)},
      {"Identify", admin_message(cntlid, identify_controller_sqe(), 0, 24, {}, terms)},
      {"an Admin command that is prohibited", admin_message(cntlid, prohibited, 0, 0, {}, terms)},
  };
  if (bench.declared().supports({mi::MessageKind::pcie_command, 0})) {
    asked.push_back({"PCIe Configuration Read", pcie_message(cntlid, 0, 0, 4, 0, {}, terms)});
  }
  return asked;
}

/// Judges the answer to each, in both slots and with other tags from one to the next.
template <class Judge>
void for_each_answer(EndpointBench& bench, Check& check, Judge&& judge) {
  std::uint8_t tag = 0;
  for (const unsigned slot : {0u, 1u}) {
    for (const Asked& asked : of_every_kind(bench, slot)) {
      const MiAnswer answer = bench.request(asked.body, {.slot = slot, .tag = tag, .within = Duration::s(1)});
      tag = (tag + 3) & 7;
      const std::string what = asked.what + " in slot " + std::to_string(slot);
      if (!check.that(answer.answered() && answer.message->body.size() >= mi::kHeaderSize,
                      what + " is answered by an NVMe-MI message with its tag", answer.describe())) {
        continue;
      }
      judge(what, View<mi::MessageHeader>{asked.body}, answer);
    }
  }
}

using Head = View<mi::MessageHeader>;

/// CRC-32C bit by bit, begun with any value: what a product gets that begins with the wrong one.
std::uint32_t crc_begun_with(std::uint32_t crc, ByteView bytes) {
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
  }
  return ~crc;
}

/// The message with each wrong check that products have been seen to make.
std::vector<Asked> wrongly_checked(const Bytes& body) {
  Bytes good = body;
  mi::append_mic(good);
  std::vector<Asked> wrong;
  const auto with = [&](std::string what, std::uint32_t mic) {
    Bytes message = body;
    message.resize(body.size() + mi::kMicSize);
    store_le(&message[body.size()], mic);
    wrong.push_back({std::move(what), std::move(message)});
  };
  const std::uint32_t mic = mi::mic_of(body);
  with("with a check of 0", 0);
  with("with a check of all ones", 0xFFFFFFFF);
  with("with its check complemented", ~mic);
  with("with its check high byte first", __builtin_bswap32(mic));
  with("with a check begun with 0", crc_begun_with(0, body));
  with("with a check over all but the first byte", mi::mic_of(ByteView{body}.subspan(1)));
  with("with a check over all but the header", mi::mic_of(ByteView{body}.subspan(mi::kHeaderSize)));
  wrong.push_back({"without a check", body});
  for (const std::size_t at : {std::size_t{2}, std::size_t{4}, body.size() - 1, body.size(), body.size() + 3}) {
    Bytes flipped = good;
    flipped[at] ^= at % 2 == 0 ? 0x01 : 0x80;
    wrong.push_back({"with a flipped bit in byte " + std::to_string(at), std::move(flipped)});
  }
  return wrong;
}

/// Says a message whose check, if any, it has already.
void say_as_it_is(EndpointBench& bench, const Bytes& message, std::uint8_t tag = 0) {
  bench.messages().send_message(message, {.tag = tag});
}

}  // namespace

CONFORMANCE_CASE(answers_are_nvme_mi_messages_with_a_check, "mi.message.type", roles::endpoint) {
  for_each_answer(bench, check, [&](const std::string& what, Head, const MiAnswer& answer) {
    check.equal("first byte of the answer to " + what, answer.message->body[0], mi::kIntegrityBit | mi::kNvmeMiType);
  });
}

CONFORMANCE_CASE(answers_say_that_they_are_answers, "mi.message.ror", roles::endpoint) {
  for_each_answer(bench, check, [&](const std::string& what, Head, const MiAnswer& answer) {
    check.equal("ROR of the answer to " + what, Head{answer.message->body}.get(mi::header::ror), true);
  });
}

CONFORMANCE_CASE(answers_are_of_the_kind_of_their_request, "mi.message.nmimt", roles::endpoint) {
  for_each_answer(bench, check, [&](const std::string& what, Head asked, const MiAnswer& answer) {
    check.equal("NMIMT of the answer to " + what, static_cast<unsigned>(Head{answer.message->body}.get(mi::header::nmimt)),
                static_cast<unsigned>(asked.get(mi::header::nmimt)));
  });
}

CONFORMANCE_CASE(answers_name_the_slot_of_their_request, "mi.message.csi", roles::endpoint) {
  for_each_answer(bench, check, [&](const std::string& what, Head asked, const MiAnswer& answer) {
    check.equal("CSI of the answer to " + what, Head{answer.message->body}.get(mi::header::csi), asked.get(mi::header::csi));
  });
}

CONFORMANCE_CASE(reserved_bits_of_the_answers_header_are_clear, "mi.message.reserved", roles::endpoint) {
  for_each_answer(bench, check, [&](const std::string& what, Head, const MiAnswer& answer) {
    const Bytes& body = answer.message->body;
    check.equal("bits 2:1 of byte 1 of the answer to " + what, body[1] & 0x06, 0);
    check.equal("byte 2 of the answer to " + what, body[2], 0);
    check.equal("byte 3 of the answer to " + what, body[3], 0);
  });
}

CONFORMANCE_CASE(answers_end_with_their_integrity_check, "mi.message.mic.sent", roles::endpoint) {
  for_each_answer(bench, check, [&](const std::string& what, Head, const MiAnswer& answer) {
    const ByteView body = answer.message->body;
    if (!check.that(body.size() >= mi::kResponseMin + mi::kMicSize, "the answer to " + what + " has a check",
                    words(body.size()) + " bytes")) {
      return;
    }
    const std::size_t end = body.size() - mi::kMicSize;
    check.equal("integrity check of the answer to " + what, load_le<std::uint32_t>(&body[end]),
                crc_begun_with(0xFFFFFFFF, body.first(end)));
  });
}

CONFORMANCE_CASE(messages_with_a_wrong_check_are_discarded, "mi.message.mic.wrong", roles::endpoint, sends_malformed) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  constexpr auto kPause = static_cast<std::uint8_t>(mi::Primitive::pause);
  const Bytes requests[] = {mi_message(0), mi_message(0, 0, 0, {}, {.slot = 1}), primitive_message(kPause),
                            admin_message(cntlid, identify_controller_sqe(), 0, 24),
                            // Long ones, which with a good check are no more than Invalid Command Size.
                            mi_message(0, 0, 0, Bytes(500)), mi_message(0, 0, 0, Bytes(1500)), mi_message(0, 0, 0, Bytes(4000))};
  for (const Bytes& request : requests) {
    for (const Asked& wrong : wrongly_checked(request)) {
      say_as_it_is(bench, wrong.body);
      if (!silence(bench, check, "answer to " + mi::describe(request) + " " + wrong.what)) return;
    }
  }
  serves(bench, check, "a good request afterwards");
  serves(bench, check, "a good request afterwards in slot 1", 1);
}

CONFORMANCE_CASE(messages_without_the_integrity_bit_are_discarded, "mi.message.ic.clear", roles::endpoint, sends_malformed) {
  for (const Asked& asked : of_every_kind(bench, 0)) {
    for (const bool checked : {true, false}) {
      Bytes message = asked.body;
      message[0] = mi::kNvmeMiType;
      if (checked) mi::append_mic(message);
      say_as_it_is(bench, message);
      if (!silence(bench, check, "answer to " + asked.what + " with IC clear")) return;
    }
  }
  serves(bench, check, "a good request afterwards");
}

CONFORMANCE_CASE(answers_to_nothing_are_discarded, "mi.message.ror.set", roles::endpoint, sends_malformed) {
  for (const unsigned slot : {0u, 1u}) {
    for (const Asked& asked : of_every_kind(bench, slot)) {
      Bytes message = asked.body;
      message[1] |= 0x80;
      bench.say(message);
      if (!silence(bench, check, "answer to " + asked.what + " with ROR set")) return;
    }
    serves(bench, check, "a good request afterwards", slot);
  }
}

CONFORMANCE_CASE(reserved_kinds_of_messages_are_not_executed, "mi.message.nmimt.reserved", roles::endpoint, sends_malformed) {
  for (unsigned kind = 3; kind < 16; ++kind) {
    if (kind == static_cast<unsigned>(mi::MessageKind::pcie_command)) continue;
    Bytes message = mi_message(0);
    message[1] = static_cast<std::uint8_t>(kind << 3);
    const MiAnswer answer = bench.request(message, {.within = bench.answer_within() * 2});
    const bool refused = answer.status() == mi::Status::invalid_opcode || answer.status() == mi::Status::invalid_parameter;
    check.that(!answer.answered() || refused, "NMIMT " + std::to_string(kind) + " is discarded, or refused as invalid", answer.describe());
  }
  serves(bench, check, "a good request afterwards");
}

CONFORMANCE_CASE(messages_above_the_maximum_are_not_executed, "mi.message.size", roles::endpoint, sends_malformed) {
  for (const std::size_t size : {mi::kMessageMax + 4, mi::kMessageMax + 2048}) {
    for (const unsigned slot : {0u, 1u}) {
      Bytes message = mi_message(0, 0, 0, {}, {.slot = slot});
      message.resize(size - mi::kMicSize);
      const MiAnswer answer = bench.request(message, {.slot = slot, .tag = 4, .within = Duration::s(1)});
      check.that(!answer.answered() || answer.status() != mi::Status::success,
                 "a message of " + std::to_string(size) + " bytes is not executed", answer.describe());
      serves(bench, check, "a good request afterwards", slot);
    }
  }
}

CONFORMANCE_CASE(the_longest_answer_is_whole, "mi.message.length", roles::endpoint) {
  const MiAnswer answer = identify_controller(bench, controllers_of(bench).front());
  if (!admin_success(check, answer, "Identify Controller")) return;
  check.equal("bytes of an answer with 4096 bytes of data, with its check", answer.message->body.size(),
              mi::AdminResponse::size + nvme::kIdentifySize + mi::kMicSize);
  if (!answer.message->packets.empty()) {
    check.that(answer.message->packets.front().packet.payload.size() >= mi::kHeaderSize, "the first packet holds the message header",
               answer.message->packets.front().describe());
  }
}

CONFORMANCE_CASE(commands_may_follow_their_answers_at_once, "mi.message.gap", roles::endpoint) {
  for (unsigned i = 0; i < 32; ++i) {
    const MiAnswer answer = bench.command(mi::Opcode::read_data_structure, 0, 0, {}, {.slot = i % 2, .within = Duration::s(1)});
    if (!success(check, answer, "command " + std::to_string(i) + " right behind the answer before it")) return;
  }
}

}  // namespace fb::conformance
