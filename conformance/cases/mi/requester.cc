// What a management requester puts on the wire.
#include <set>

#include "conformance/runner/management_requester_bench.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/sqe.h"

namespace fb::conformance {
namespace {

using mi::Opcode;
using mi::Status;

/// As a request of one form; too short for it is a fault.
template <class L>
View<L> as(const SeenMessage& request, Check& check) {
  check.require(request.body.size() >= L::size + mi::kMicSize, "a request is as long as its form",
                std::to_string(request.body.size()) + " bytes");
  return View<L>{request.body};
}

/// What the requester is told to send: a call of each kind, with what the header says of it.
struct Call {
  std::string_view what;
  mi::MessageKind kind;
  unsigned slot;
  void (*make)(mi::Requester&);
};

nvme::Sqe identify_controller() {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, 0x06).set(nvme::sqe::cdw10, 1);
  return sqe;
}

constexpr Call kCalls[] = {
    {"Read NVMe-MI Data Structure", mi::MessageKind::mi_command, 0, [](mi::Requester& r) { r.read_port(kPlayedEid, 1); }},
    {"a poll in slot 1", mi::MessageKind::mi_command, 1,
     [](mi::Requester& r) { r.command(kPlayedEid, Opcode::subsystem_health_poll, 0, 0, {}, {.slot = 1}); }},
    {"VPD Write of 100 bytes", mi::MessageKind::mi_command, 0, [](mi::Requester& r) { r.write_vpd(kPlayedEid, 3, Bytes(100, 0xA7)); }},
    {"an Admin command", mi::MessageKind::admin_command, 0,
     [](mi::Requester& r) { r.admin(kPlayedEid, 2, identify_controller(), {.dlen = 64}); }},
    {"an Admin command with data in slot 1", mi::MessageKind::admin_command, 1,
     [](mi::Requester& r) {
       nvme::Sqe sqe;
       sqe.set(nvme::sqe::opcode, 0x11);
       r.admin(kPlayedEid, 2, sqe, {.command = {.slot = 1}}, Bytes(1000, 0x3C));
     }},
    {"a PCIe command", mi::MessageKind::pcie_command, 0,
     [](mi::Requester& r) { r.pcie(kPlayedEid, 1, mi::PcieOpcode::configuration_read, 0x10, 4); }},
    {"Get State", mi::MessageKind::control_primitive, 1, [](mi::Requester& r) { r.primitive(kPlayedEid, mi::Primitive::get_state, 1, 1); }},
};

/// Sends each of kCalls and has every message looked at; each is answered, so that the slots get free.
template <class Look>
void for_every_call(ManagementRequesterBench& bench, Look&& look) {
  for (const Call& call : kCalls) {
    call.make(bench.product());
    const SeenMessage request = bench.request();
    look(call, request);
    bench.answer(request, bench.response_to(request, Status::internal_error));
  }
}

std::string of(std::string_view what, const Call& call) { return std::string(what) + " of " + std::string(call.what); }

}  // namespace

CONFORMANCE_CASE(requests_end_with_their_check, "mi.requester.mic", roles::management_requester) {
  for_every_call(bench, [&](const Call& call, const SeenMessage& request) {
    const ByteView message = request.body;
    if (!check.that(message.size() > 8, of("length", call) + " leaves room for a check")) return;
    const std::size_t at = message.size() - mi::kMicSize;
    check.equal(of("integrity check", call), load_le<std::uint32_t>(&message[at]), mi::mic_of(message.first(at)));
  });
}

CONFORMANCE_CASE(requests_have_a_clean_header, "mi.requester.header", roles::management_requester) {
  for_every_call(bench, [&](const Call& call, const SeenMessage& request) {
    const Bytes& body = request.body;
    check.equal(of("byte 0", call), body[0], 0x84);
    check.equal(of("byte 1", call), body[1], static_cast<unsigned>(call.kind) << 3 | call.slot);
    check.equal(of("byte 2", call), body[2], 0);
    check.equal(of("byte 3", call), body[3], 0);
    if (call.kind == mi::MessageKind::mi_command) {
      check.bytes(of("bytes 5 to 7", call), ByteView(body).subspan(5, 3), Bytes(3));
    }
    check.that(request.owner, "the requester owns the tag of " + std::string(call.what));
  });
}

// Bytes that libnvme-mi was seen to send for the same requests, check included.
CONFORMANCE_CASE(requests_are_those_of_other_requesters, "mi.requester.fields", roles::management_requester) {
  struct Known {
    std::string_view what;
    void (*make)(mi::Requester&);
    Bytes bytes;
  };
  using R = mi::Requester;
  const Known kKnown[] = {
      {"the subsystem information", [](R& r) { r.read_subsystem(kPlayedEid); }, {0x84, 0x08, 0, 0, 0, 0, 0,    0,    0,    0,
                                                                                 0,    0,    0, 0, 0, 0, 0xe2, 0x00, 0x06, 0x07}},
      {"port information 1", [](R& r) { r.read_port(kPlayedEid, 1); }, {0x84, 0x08, 0, 0, 0, 0, 0,    0,    0,    0,
                                                                        1,    1,    0, 0, 0, 0, 0x57, 0x04, 0x27, 0xd0}},
      {"controller information 3", [](R& r) { r.read_controller(kPlayedEid, 3); }, {0x84, 0x08, 0, 0, 0, 0, 0,    0,    3,    0,
                                                                                    0,    3,    0, 0, 0, 0, 0x7f, 0x37, 0x71, 0x94}},
      {"a health poll that clears", [](R& r) { r.poll_subsystem(kPlayedEid, true); }, {0x84, 0x08, 0, 0, 1, 0,    0,    0,    0,    0,
                                                                                       0,    0,    0, 0, 0, 0x80, 0xaa, 0xef, 0x81, 0xb4}},
      {"the transmission unit of port 0",
       [](R& r) { r.get_configuration(kPlayedEid, mi::ConfigurationId::transmission_unit); },
       {0x84, 0x08, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0x4b, 0xd7, 0x85, 0x19}},
      {"400 kHz on port 1", [](R& r) { r.set_frequency(kPlayedEid, 1, 2); }, {0x84, 0x08, 0, 0, 3, 0, 0,    0,    1,    2,
                                                                              0,    1,    0, 0, 0, 0, 0xa9, 0x37, 0xbf, 0xf5}},
      {"a unit of 250 on port 1", [](R& r) { r.set_unit(kPlayedEid, 1, 250); }, {0x84, 0x08, 0,    0, 3, 0, 0,    0,    3,    0,
                                                                                 0,    1,    0xfa, 0, 0, 0, 0x7e, 0xe7, 0xa5, 0x39}},
      {"clearing the change of the temperature",
       [](R& r) { r.clear_health(kPlayedEid, 1u << 8); },
       {0x84, 0x08, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0x82, 0x14, 0xad, 0x63}},
  };
  for (const Known& known : kKnown) {
    known.make(bench.product());
    const SeenMessage request = bench.request();
    check.bytes("the request for " + std::string(known.what), request.body, known.bytes);
    bench.answer(request, bench.response_to(request, Status::internal_error));
  }
  // libnvme has the first controller of a list in the wrong byte: here the specification speaks.
  bench.product().read_controllers(kPlayedEid, 0x0105);
  const SeenMessage request = bench.request();
  check.bytes("the request for the controllers from 105h on", ByteView(request.body).first(16),
              Bytes{0x84, 0x08, 0, 0, 0, 0, 0, 0, 0x05, 0x01, 0, 2, 0, 0, 0, 0});
}

CONFORMANCE_CASE(admin_commands_ask_for_whole_dwords, "mi.requester.window", roles::management_requester) {
  struct Window {
    std::uint32_t dofst, dlen;
    std::size_t data;
  };
  constexpr Window kWindows[] = {{0, 4096, 0}, {4092, 4, 0}, {1024, 512, 0}, {0, 1000, 1000}, {0, 4096, 4096}};
  for (const Window& window : kWindows) {
    nvme::Sqe sqe = identify_controller();
    if (window.data != 0) sqe.set(nvme::sqe::opcode, 0x11);
    bench.product().admin(kPlayedEid, 1, sqe, {.dofst = window.dofst, .dlen = window.dlen}, Bytes(window.data, 0x99));
    const SeenMessage request = bench.request();
    const auto view = as<mi::AdminRequest>(request, check);
    check.equal("DLEN", view.get(mi::admin_request::dlen), window.dlen);
    check.equal("DOFST", view.get(mi::admin_request::dofst), window.dofst);
    check.equal("bytes of request data", request.body.size() - mi::AdminRequest::size - mi::kMicSize, window.data);
    check.that(request.body.size() <= mi::kMessageMax, "a request has at most 4,224 bytes");
    bench.answer(request, bench.response_to(request, Status::internal_error));
  }
}

CONFORMANCE_CASE(long_logs_are_read_without_gap, "mi.requester.log-pieces", roles::management_requester) {
  constexpr std::size_t kLength = 2 * 4096 + 512;
  Bytes log(kLength);
  for (std::size_t i = 0; i < kLength; ++i) log[i] = static_cast<std::uint8_t>(i * 13 + i / 256);
  auto reading = bench.product().get_log(kPlayedEid, 1, 0x07, kLength);
  std::size_t next = 0;
  while (next < kLength) {
    const SeenMessage request = bench.request();
    const auto view = as<mi::AdminRequest>(request, check);
    const std::uint32_t dw10 = view.get(mi::admin_request::cdw10), dw11 = view.get(mi::admin_request::cdw11);
    const std::size_t bytes = ((dw10 >> 16 | dw11 << 16) + std::size_t{1}) * 4;
    const std::uint64_t offset = view.get(mi::admin_request::cdw12) | std::uint64_t{view.get(mi::admin_request::cdw13)} << 32;
    check.equal("log page identifier", dw10 & 0xFF, 7u);
    check.require(offset == next, "a piece begins where the one before ended",
                  "offset " + std::to_string(offset) + ", " + std::to_string(next) + " bytes read");
    check.require(bytes <= 4096 && next + bytes <= kLength, "a piece stays within 4,096 bytes and the log",
                  std::to_string(bytes) + " bytes");
    check.equal("DLEN of a piece", view.get(mi::admin_request::dlen), bytes);
    const bool retains = (dw10 >> 15 & 1) != 0;
    check.that(retains || next + bytes == kLength, "RAE is set in every piece but the last", "it is clear at " + std::to_string(next));
    bench.answer(request, bench.admin_response_to(request, ByteView(log).subspan(next, bytes)));
    next += bytes;
  }
  const auto answer = reading.wait();
  check.require(answer.ok(), "the log is read");
  check.bytes("the log", *answer.value, log);
}

CONFORMANCE_CASE(vpd_is_read_without_gap, "mi.requester.vpd-pieces", roles::management_requester) {
  constexpr std::size_t kLength = 600;
  Bytes vpd(kLength);
  for (std::size_t i = 0; i < kLength; ++i) vpd[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  auto reading = bench.product().read_whole_vpd(kPlayedEid, kLength, 250);
  std::size_t next = 0;
  while (next < kLength) {
    const SeenMessage request = bench.request();
    const auto view = as<mi::VpdAccess>(request, check);
    const std::size_t offset = view.get(mi::vpd_access::dofst), bytes = view.get(mi::vpd_access::dlen);
    check.require(offset == next && bytes > 0 && next + bytes <= kLength, "a piece begins where the one before ended",
                  "offset " + std::to_string(offset) + " and " + std::to_string(bytes) + " bytes, " + std::to_string(next) + " read");
    bench.answer(request, bench.response_to(request, Status::success, ByteView(vpd).subspan(next, bytes)));
    next += bytes;
  }
  const auto answer = reading.wait();
  check.require(answer.ok(), "the VPD is read");
  check.bytes("the VPD", *answer.value, vpd);
}

CONFORMANCE_CASE(outstanding_requests_have_their_own_tags, "mi.requester.tag.distinct", roles::management_requester) {
  bench.product().command(kPlayedEid, Opcode::subsystem_health_poll);
  bench.product().command(kPlayedEid, Opcode::subsystem_health_poll, 0, 0, {}, {.slot = 1});
  // Primitives may be sent one at a time, which is no fault: they are asked for all the same.
  for (int i = 0; i < 8; ++i) bench.product().primitive(kPlayedEid, mi::Primitive::get_state);
  std::set<unsigned> outstanding;
  unsigned seen = 0;
  while (const auto request = bench.next_request(Duration::ms(500))) {
    check.that(request->owner, "the requester owns the tag of a request");
    check.that(outstanding.insert(request->tag).second, "a tag is used by one outstanding request",
               "tag " + std::to_string(request->tag) + " is in use");
    ++seen;
  }
  check.that(seen >= 2, "the commands of both slots are sent", std::to_string(seen) + " requests");
  check.that(seen <= 8, "eight requests at most are outstanding", std::to_string(seen) + " requests");
}

CONFORMANCE_CASE(a_slot_has_one_command, "mi.requester.slot.one-command", roles::management_requester) {
  auto first = bench.product().command(kPlayedEid, Opcode::subsystem_health_poll);
  auto second = bench.product().command(kPlayedEid, Opcode::vpd_read, 0, 4);
  auto other = bench.product().command(kPlayedEid, Opcode::vpd_read, 4, 4, {}, {.slot = 1});
  std::vector<SeenMessage> requests;
  while (auto request = bench.next_request(Duration::ms(500))) requests.push_back(std::move(*request));
  check.precondition(!requests.empty(), "the requester sends something");
  const auto in_slot = [&](unsigned slot) {
    return std::count_if(requests.begin(), requests.end(), [&](const SeenMessage& one) { return (one.body[1] & 1u) == slot; });
  };
  check.equal("commands in slot 0 before the first was answered", in_slot(0), 1);
  check.equal("commands in slot 1 meanwhile", in_slot(1), 1);
  // More Processing Required is no end of it.
  bench.answer(requests[0], bench.response_to(requests[0], Status::more_processing, {}, 20u << 8));
  auto third = bench.product().command(kPlayedEid, Opcode::vpd_read, 8, 4);
  check.that(!bench.next_request(Duration::ms(500)).has_value(), "no further command after More Processing Required", "one came");
  bench.answer(requests[0], bench.response_to(requests[0], Status::success, Bytes(8)));
  const auto next = bench.next_request();
  check.require(next.has_value(), "the second command follows the first answer");
  check.equal("its opcode", next->body[4], static_cast<unsigned>(Opcode::vpd_read));
}

}  // namespace fb::conformance
