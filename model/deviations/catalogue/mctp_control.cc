// Control messages of an endpoint: any command.
#include "model/deviations/catalogue/mctp_shapes.h"
#include "model/drive/drive.h"

namespace fb::deviations {

namespace {

using mctp::control::Command;
using mctp::control::Completion;
using shape::is;
using shape::succeeded;

// ---- headers of answers ----

void instance_0(ByteView, Bytes& answer) { answer[1] &= 0xE0; }
void next_instance(ByteView, Bytes& answer) { answer[1] = static_cast<std::uint8_t>((answer[1] & 0xE0) | ((answer[1] + 1) & 0x1F)); }
void four_bits_of_the_instance(ByteView, Bytes& answer) { answer[1] &= 0xEF; }
void refusals_of_instance_0(ByteView, Bytes& answer) {
  if (!succeeded(answer)) answer[1] &= 0xE0;
}
void next_command(ByteView, Bytes& answer) { ++answer[2]; }
void refusals_of_command_0(ByteView, Bytes& answer) {
  if (!succeeded(answer)) answer[2] = 0;
}
void says_request(ByteView, Bytes& answer) { answer[1] |= 0x80; }
void says_datagram(ByteView, Bytes& answer) { answer[1] |= 0x40; }
void sets_the_reserved_bit(ByteView, Bytes& answer) { answer[1] |= 0x20; }
void sets_ic(ByteView, Bytes& answer) { answer[0] |= 0x80; }

/// Answers with the instance ID of the request before.
class AnswersTheOneBefore final : public mctp::EndpointHooks {
 public:
  bool control_answer(ByteView request, Bytes& answer) override {
    answer[1] = static_cast<std::uint8_t>((answer[1] & 0xE0) | before_);
    before_ = request[1] & 0x1F;
    return true;
  }

 private:
  std::uint8_t before_ = 0;
};

/// Takes a request for a copy of the one before, when the instance ID and the command are the same.
class IgnoresRetries final : public mctp::EndpointHooks {
 public:
  bool control_answer(ByteView request, Bytes&) override {
    const Bytes now(request.begin(), request.end());
    const bool again = now == before_;
    before_ = now;
    return !again;
  }

 private:
  Bytes before_;
};

/// The same for Set Endpoint ID alone, which it says it cannot do twice.
class RefusesRetriesOfSetEid final : public mctp::EndpointHooks {
 public:
  bool control_answer(ByteView request, Bytes& answer) override {
    if (!is(request, Command::set_endpoint_id)) return true;
    const Bytes now(request.begin(), request.end());
    if (now == before_) answer = shape::refusal(request, Completion::error);
    before_ = now;
    return true;
  }

 private:
  Bytes before_;
};

// ---- what is taken for a request ----

void answers_count_as_requests(Bytes& packet) {
  if (shape::starts_control(packet)) packet[5] |= 0x80;
}
void every_message_owns_its_tag(Bytes& packet) {
  if (shape::starts_control(packet)) packet[3] |= 0x08;
}
void answers_unknown_datagrams(Bytes& packet) {
  if (shape::starts_control(packet) && packet[6] > 0x14) packet[5] &= 0xBF;
}

// ---- completion codes, lengths ----

void unknown_is_an_error(ByteView request, Bytes& answer) {
  if (answer[3] == 0x05) answer = shape::refusal(request, Completion::error);
}
void unknown_succeeds(ByteView, Bytes& answer) {
  if (answer[3] == 0x05) answer[3] = 0;
}
void one_command_more(ByteView, Bytes& answer) {
  if (answer[3] == 0x05 && answer[2] == 0x94) answer[3] = 0;
}
bool silent_about_zero(ByteView request, Bytes&) { return request[2] != 0; }
bool silent_about_the_transports(ByteView request, Bytes&) { return request[2] < 0xF0; }
void wrong_length_is_wrong_data(ByteView, Bytes& answer) {
  if (answer[3] == 0x03) answer[3] = 0x02;
}
void wrong_length_is_an_error(ByteView, Bytes& answer) {
  if (answer[3] == 0x03) answer[3] = 0x01;
}
/// A request that ends early is read on in zeros.
void missing_bytes_are_zero(Bytes& packet) {
  if (!shape::starts_control(packet) || !shape::eom(packet)) return;
  const auto command = static_cast<Command>(packet[6]);
  const bool rate = command == Command::request_tx_rate_limit || command == Command::update_rate_limit;
  const bool one = command == Command::get_version_support || command == Command::get_vendor_support;
  const std::size_t data = command == Command::set_endpoint_id ? 2 : one ? 1 : rate ? 7 : 0;
  if (packet.size() < 7 + data) packet.resize(7 + data);
}
void pads_refusals(ByteView, Bytes& answer) {
  if (!succeeded(answer)) answer.resize(7);
}
void pads_refusals_to_a_dword_more(ByteView, Bytes& answer) {
  if (answer[3] == 0x80 || answer[3] == 0x02) answer.push_back(0);
}
void pads_the_types_to_70_bytes(ByteView, Bytes& answer) {
  if (is(answer, Command::get_message_type_support)) answer.resize(70);
}
/// Cuts the answer to Get MCTP Version Support in two.
class CutsControlAnswers final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    Bytes& packet = packets.front();
    if (!shape::starts_control(packet) || !shape::eom(packet) || packet.size() < 4 + 12) return;
    Bytes rest(packet.begin(), packet.begin() + 4);
    rest.insert(rest.end(), packet.begin() + 4 + 8, packet.end());
    rest[3] = static_cast<std::uint8_t>((rest[3] & 0x7F) | 0x10);
    packet.resize(4 + 8);
    packet[3] &= 0xBF;
    packets.push_back(std::move(rest));
  }
};

/// Hears nothing until a bus owner has tried for long.
class NotReadyYet final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (heard_ >= 10) return;
    ++heard_;
    packet.clear();
  }

 private:
  unsigned heard_ = 0;
};

/// Answers two requests at once with what the second asked for.
class MixesUpABurst final : public mctp::EndpointHooks {
 public:
  bool control_answer(ByteView request, Bytes& answer) override {
    const Bytes now(request.begin(), request.end());
    const bool another = !before_.empty() && before_[2] != request[2];
    if (another) answer[2] = before_[2];
    before_ = now;
    return true;
  }

 private:
  Bytes before_;
};
void busy_is_an_error(ByteView request, Bytes& answer) {
  if ((request[1] & 0x1F) == 12) answer = shape::refusal(request, Completion::error);
}

void after_350_ms(mi::DriveOptions& options) { options.node.policy.answer_after = Duration::ms(350); }

}  // namespace

DEVIATION(answers_with_instance_0, "mctp.control.instance", Product::endpoint, "answers control requests with instance ID 0",
          hooks<ControlAnswers<instance_0>>());
DEVIATION(answers_with_the_next_instance, "mctp.control.instance", Product::endpoint,
          "answers control requests with the next instance ID (F24)", hooks<ControlAnswers<next_instance>>());
DEVIATION(answers_with_four_bits_of_the_instance, "mctp.control.instance", Product::endpoint, "leaves out the highest bit of instance IDs",
          hooks<ControlAnswers<four_bits_of_the_instance>>());
DEVIATION(answers_with_the_instance_before, "mctp.control.instance", Product::endpoint,
          "answers with the instance ID of an earlier request (F23)", hooks<AnswersTheOneBefore>());
DEVIATION(refuses_with_instance_0, "mctp.control.instance", Product::endpoint, "refuses control requests with instance ID 0",
          hooks<ControlAnswers<refusals_of_instance_0>>());
DEVIATION(answers_with_another_command, "mctp.control.command", Product::endpoint,
          "answers control requests with the next command code (F24)", hooks<ControlAnswers<next_command>>());
DEVIATION(refuses_with_command_0, "mctp.control.command", Product::endpoint, "refuses control requests with command code 0",
          hooks<ControlAnswers<refusals_of_command_0>>());
DEVIATION(answers_say_request, "mctp.control.response-bits", Product::endpoint, "sets Rq in control answers",
          hooks<ControlAnswers<says_request>>());
DEVIATION(answers_say_datagram, "mctp.control.response-bits", Product::endpoint, "sets D in control answers",
          hooks<ControlAnswers<says_datagram>>());
DEVIATION(answers_set_the_reserved_bit, "mctp.control.response-bits", Product::endpoint, "sets the reserved bit of control answers",
          hooks<ControlAnswers<sets_the_reserved_bit>>());
DEVIATION(answers_say_that_they_have_a_check, "mctp.control.response-bits", Product::endpoint, "sets IC in control answers",
          hooks<ControlAnswers<sets_ic>>());
DEVIATION(does_not_look_at_rq, "mctp.control.class", Product::endpoint, "does not look at the Rq and D bits",
          Departs{mctp::departure::kControlClass});
DEVIATION(answers_responses_as_requests, "mctp.control.class", Product::endpoint, "takes control responses for requests",
          hooks<PacketsIn<answers_count_as_requests>>());
DEVIATION(answers_control_without_tag_owner, "mctp.control.class", Product::endpoint,
          "does not look at the tag owner bit of control messages", hooks<PacketsIn<every_message_owns_its_tag>>());
DEVIATION(answers_datagrams, "mctp.control.datagram", Product::endpoint, "answers datagrams",
          Departs{mctp::departure::kControlDatagramAnswered});
DEVIATION(refuses_unknown_datagrams, "mctp.control.datagram", Product::endpoint, "refuses datagrams that it does not know",
          hooks<PacketsIn<answers_unknown_datagrams>>());
DEVIATION(takes_control_messages_with_ic, "mctp.control.integrity-bit", Product::endpoint, "takes control messages with IC set",
          Departs{mctp::departure::kControlIc});
DEVIATION(silent_about_unknown_commands, "mctp.control.unknown", Product::endpoint, "is silent about commands that it does not know",
          Departs{mctp::departure::kControlUnknownSilent});
DEVIATION(unknown_commands_are_an_error, "mctp.control.unknown", Product::endpoint, "refuses unknown commands with the generic error",
          hooks<ControlAnswers<unknown_is_an_error>>());
DEVIATION(unknown_commands_succeed, "mctp.control.unknown", Product::endpoint, "says success to unknown commands",
          hooks<ControlAnswers<unknown_succeeds>>());
DEVIATION(one_unknown_command_succeeds, "mctp.control.unknown", Product::endpoint, "says success to the unknown command 94h",
          hooks<ControlAnswers<one_command_more>>());
DEVIATION(silent_about_command_0, "mctp.control.unknown", Product::endpoint, "is silent about command 00h",
          hooks<ControlAnswers<silent_about_zero>>());
DEVIATION(silent_about_commands_of_the_transport, "mctp.control.unknown", Product::endpoint,
          "is silent about commands of transports that it does not have", hooks<ControlAnswers<silent_about_the_transports>>());
DEVIATION(takes_control_requests_that_are_too_long, "mctp.control.length", Product::endpoint,
          "does not check whether requests are too long", Departs{mctp::departure::kControlLength});
DEVIATION(reads_missing_bytes_as_zero, "mctp.control.length", Product::endpoint, "reads what is missing of a control request as zero",
          hooks<PacketsIn<missing_bytes_are_zero>>());
DEVIATION(wrong_length_is_invalid_data, "mctp.control.length", Product::endpoint, "refuses requests of a wrong length for their data",
          hooks<ControlAnswers<wrong_length_is_wrong_data>>());
DEVIATION(wrong_length_is_the_generic_error, "mctp.control.length", Product::endpoint,
          "refuses requests of a wrong length with the generic error", hooks<ControlAnswers<wrong_length_is_an_error>>());
DEVIATION(pads_every_refusal, "mctp.control.error-size", Product::endpoint, "sends refusals as long as answers (F22)",
          hooks<ControlAnswers<pads_refusals>>());
DEVIATION(pads_some_refusals, "mctp.control.error-size", Product::endpoint, "sends a byte behind some completion codes",
          hooks<ControlAnswers<pads_refusals_to_a_dword_more>>());
DEVIATION(sends_control_answers_above_64_bytes, "mctp.control.packet", Product::endpoint, "sends a control answer of 70 bytes",
          hooks<ControlAnswers<pads_the_types_to_70_bytes>>());
DEVIATION(cuts_control_answers_in_two, "mctp.control.packet", Product::endpoint, "sends control answers in several packets",
          hooks<CutsControlAnswers>());
DEVIATION(takes_retries_for_copies, "mctp.control.retry", Product::endpoint, "does not answer a request that is said again",
          hooks<IgnoresRetries>());
DEVIATION(mixes_up_requests_that_come_at_once, "mctp.control.burst", Product::endpoint, "answers a request as another that came with it",
          hooks<MixesUpABurst>());
DEVIATION(fails_requests_that_come_at_once, "mctp.control.burst", Product::endpoint, "says error to a request that comes while it is busy",
          hooks<ControlAnswers<busy_is_an_error>>());
DEVIATION(hears_nothing_at_first, "mctp.control.ready", Product::endpoint, "does not hear the first ten packets after power-on (F20)",
          hooks<NotReadyYet>());
DEVIATION(refuses_set_endpoint_id_said_again, "mctp.control.set-eid.retry", Product::endpoint,
          "says error to Set Endpoint ID that is said again", hooks<RefusesRetriesOfSetEid>());
DEVIATION(ignores_set_endpoint_id_said_again, "mctp.control.set-eid.retry", Product::endpoint,
          "does not answer Set Endpoint ID that is said again", hooks<IgnoresRetries>());
DEVIATION(answers_after_350_ms_on_smbus, "mctp.smbus.answer-time", Product::endpoint,
          "answers control requests when the requester has given up (F23)", AlterDrive{after_350_ms});
DEVIATION(answers_after_350_ms_on_a_serial_line, "mctp.serial.answer-time", Product::endpoint, "answers control requests after 350 ms",
          AlterDrive{after_350_ms});
DEVIATION(answers_after_350_ms_on_pci_express, "mctp.vdm.answer-time", Product::endpoint, "answers control requests after 350 ms",
          AlterDrive{after_350_ms});

}  // namespace fb::deviations
