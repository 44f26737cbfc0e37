// What a management requester makes of answers, good and bad.
#include "conformance/runner/management_requester_bench.h"
#include "wire/mi/events.h"
#include "wire/nvme/sqe.h"

namespace fb::conformance {
namespace {

using mi::Opcode;
using mi::Status;

Op<mi::Reply> ask(ManagementRequesterBench& bench, unsigned slot = 0) {
  return bench.product().command(kPlayedEid, Opcode::subsystem_health_poll, 0, 0, {}, {.slot = slot});
}

/// A request that is answered well has its answer: the requester has not lost its way.
void serves(ManagementRequesterBench& bench, Check& check, std::string_view what) {
  auto reply = ask(bench);
  const auto request = bench.next_request();
  if (!check.that(request.has_value(), "a request after " + std::string(what), "none is sent")) return;
  bench.answer(*request, bench.response_to(*request, Status::success, Bytes(8, 0x21)));
  const mi::Reply got = reply.wait();
  check.that(got.ok(), "the answer after " + std::string(what) + " is taken");
  check.bytes("its data", got.data(), Bytes(8, 0x21));
}

/// `spoil` changes a good answer, check included, to what must not be believed.
template <class Spoil>
void not_believed(ManagementRequesterBench& bench, Check& check, std::string_view what, Spoil&& spoil) {
  auto reply = ask(bench);
  const SeenMessage request = bench.request();
  Bytes message = bench.with_check(bench.response_to(request, Status::success, Bytes(8, 0x66)));
  spoil(message);
  bench.answer_raw(request, message);
  check.that(!reply.wait().ok(), "an answer with " + std::string(what) + " is not believed", "it was success");
  serves(bench, check, what);
}

/// The same with a good check over what was changed.
template <class Spoil>
void not_believed_with_check(ManagementRequesterBench& bench, Check& check, std::string_view what, Spoil&& spoil) {
  not_believed(bench, check, what, [&](Bytes& message) {
    message.resize(message.size() - mi::kMicSize);
    spoil(message);
    message = bench.with_check(std::move(message));
  });
}

Bytes more_processing(ManagementRequesterBench& bench, const SeenMessage& request, std::uint16_t mprt) {
  return bench.response_to(request, Status::more_processing, {}, std::uint32_t{mprt} << 8);
}

}  // namespace

CONFORMANCE_CASE(a_wrong_check_is_not_believed, "mi.requester.check.mic", roles::management_requester) {
  not_believed(bench, check, "a changed bit of its check", [](Bytes& message) { message.back() ^= 0x80; });
  not_believed(bench, check, "a changed bit of its data", [](Bytes& message) { message[9] ^= 0x01; });
  not_believed(bench, check, "a check of 0", [](Bytes& message) { std::fill(message.end() - 4, message.end(), std::uint8_t{0}); });
  not_believed(bench, check, "the check's bytes turned round", [](Bytes& message) { std::reverse(message.end() - 4, message.end()); });
  not_believed(bench, check, "no check", [](Bytes& message) { message.resize(message.size() - 4); });
}

CONFORMANCE_CASE(another_message_type_is_not_believed, "mi.requester.check.type", roles::management_requester, sends_malformed) {
  not_believed_with_check(bench, check, "IC clear", [](Bytes& message) { message[0] = 0x04; });
  // Each of the types that differ in one bit, with the check that NVMe-MI has.
  for (unsigned bit = 0; bit < 7; ++bit) {
    const auto type = static_cast<std::uint8_t>(mi::kNvmeMiType ^ 1u << bit);
    not_believed_with_check(bench, check, "message type " + std::to_string(type),
                            [type](Bytes& message) { message[0] = mi::kIntegrityBit | type; });
  }
}

CONFORMANCE_CASE(a_request_is_no_answer, "mi.requester.check.direction", roles::management_requester) {
  not_believed_with_check(bench, check, "ROR clear", [](Bytes& message) { message[1] &= 0x7F; });
}

CONFORMANCE_CASE(an_answer_of_another_kind_is_not_believed, "mi.requester.check.kind", roles::management_requester) {
  for (const unsigned kind : {0u, 2u, 4u, 5u, 3u}) {
    not_believed_with_check(bench, check, "NMIMT " + std::to_string(kind), [&](Bytes& message) {
      message[1] = static_cast<std::uint8_t>(0x80 | kind << 3);
      message.resize(24);  // long enough for any kind
    });
  }
}

CONFORMANCE_CASE(an_answer_of_the_other_slot_is_not_believed, "mi.requester.check.slot", roles::management_requester) {
  not_believed_with_check(bench, check, "the other CSI", [](Bytes& message) { message[1] ^= 0x01; });
}

CONFORMANCE_CASE(an_answer_cut_short_is_not_believed, "mi.requester.check.size", roles::management_requester, sends_malformed) {
  for (const std::size_t size : {4u, 5u, 7u}) {
    not_believed_with_check(bench, check, std::to_string(size) + " bytes before its check", [&](Bytes& message) { message.resize(size); });
  }
}

CONFORMANCE_CASE(the_answer_of_another_primitive_is_not_believed, "mi.requester.check.primitive-tag", roles::management_requester) {
  auto reply = bench.product().primitive(kPlayedEid, mi::Primitive::get_state);
  const SeenMessage request = bench.request();
  Bytes answer = bench.response_to(request, Status::success);
  answer[5] = static_cast<std::uint8_t>(request.body[5] + 1);
  bench.answer(request, answer);
  check.that(!reply.wait().ok(), "the answer with another TAG is not believed");
  auto good = bench.product().primitive(kPlayedEid, mi::Primitive::get_state);
  const SeenMessage again = bench.request();
  Bytes right = bench.response_to(again, Status::success);
  right[5] = again.body[5];
  bench.answer(again, right);
  check.that(good.wait().ok(), "the answer with its TAG is taken");
}

CONFORMANCE_CASE(each_endpoint_answers_for_itself, "mi.requester.check.source", roles::management_requester, over_buses) {
  auto first = ask(bench);
  auto second = bench.product().command(kOtherPlayedEid, Opcode::subsystem_health_poll);
  const SeenMessage to_first = bench.request();
  const auto to_second = bench.other_endpoint().next_message(Duration::s(10));
  check.precondition(to_second.has_value(), "the second endpoint is asked as well");
  bench.other_endpoint().send_message(bench.with_check(bench.response_to(*to_second, Status::success, Bytes(8, 0x22))),
                                      {.tag = to_second->tag, .owner = false, .destination = to_second->source});
  bench.other_endpoint().wait_until_said();
  bench.answer(to_first, bench.response_to(to_first, Status::success, Bytes(8, 0x11)));
  check.bytes("data of the first endpoint", first.wait().data(), Bytes(8, 0x11));
  check.bytes("data of the second endpoint", second.wait().data(), Bytes(8, 0x22));
}

CONFORMANCE_CASE(lists_of_any_length_are_taken, "mi.requester.odd-lengths", roles::management_requester) {
  constexpr std::uint16_t kCounts[] = {1, 2, 3, 8};
  for (const std::uint16_t count : kCounts) {
    Bytes list(2 + 2 * std::size_t{count});
    store_le<std::uint16_t>(list.data(), count);
    for (std::uint16_t i = 0; i < count; ++i) store_le<std::uint16_t>(list.data() + 2 + 2 * i, static_cast<std::uint16_t>(i + 1));
    auto reading = bench.product().read_controllers(kPlayedEid);
    const SeenMessage request = bench.request();
    bench.answer(request, bench.response_to(request, Status::success, list, static_cast<std::uint32_t>(list.size())));
    const auto answer = reading.wait();
    const std::string what = "a list of " + std::to_string(count);
    if (check.that(answer.ok(), what + " is taken")) check.equal("entries of " + what, answer.value->size(), count);
  }
}

CONFORMANCE_CASE(an_error_is_an_error, "mi.requester.status", roles::management_requester) {
  for (const unsigned status : {0x02u, 0x03u, 0x04u, 0x05u, 0x06u, 0x07u, 0x20u, 0x21u, 0x22u, 0x2Au}) {
    auto reply = ask(bench);
    const SeenMessage request = bench.request();
    const bool located = status == 0x04;
    bench.answer(request, bench.response_to(request, static_cast<Status>(status), {}, located ? 0x000803u : 0u));
    const mi::Reply got = reply.wait();
    check.that(!got.ok(), "status " + words(status) + " is no success");
    check.equal("the status that is told", got.status(), static_cast<Status>(status));
    if (located) check.equal("the location that is told", got.error_at(), mi::ParameterError{8, 3});
  }
  serves(bench, check, "errors");
}

CONFORMANCE_CASE(a_silent_endpoint_is_given_up, "mi.requester.timeout", roles::management_requester) {
  auto reply = ask(bench);
  bench.request();
  const bool ended = bench.world().run_until([&] { return reply.settled(); }, Duration::s(120));
  check.require(ended, "a request without an answer ends within two minutes");
  check.that(!reply.wait().ok(), "it is no success");
  serves(bench, check, "a request without an answer");
}

CONFORMANCE_CASE(tags_without_answer_come_back, "mi.requester.tag.freed", roles::management_requester) {
  for (int i = 0; i < 10; ++i) {
    auto reply = ask(bench, static_cast<unsigned>(i & 1));
    const auto request = bench.next_request(Duration::s(120));
    check.require(request.has_value(), "requests go on after others had no answer", std::to_string(i) + " have been sent");
    bench.world().run_until([&] { return reply.settled(); }, Duration::s(120));
  }
  serves(bench, check, "ten requests without an answer");
}

CONFORMANCE_CASE(more_processing_is_waited_for, "mi.requester.more-processing.waits", roles::management_requester) {
  for (const std::uint16_t units : {std::uint16_t{5}, std::uint16_t{200}}) {
    auto reply = ask(bench);
    const SeenMessage request = bench.request();
    bench.answer(request, more_processing(bench, request, units));
    bench.world().run_until([&] { return reply.settled(); }, Duration::ms(100) * units - Duration::ms(20));
    check.require(!reply.settled(), "the request waits as long as it was told to");
    bench.answer(request, bench.response_to(request, Status::success, Bytes(8, 0x3E)));
    const mi::Reply got = reply.wait();
    check.that(got.ok(), "the response after More Processing Required is taken");
    check.bytes("its data", got.data(), Bytes(8, 0x3E));
  }
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, 0x06).set(nvme::sqe::cdw10, 1);
  auto reply = bench.product().admin(kPlayedEid, 1, sqe, {.dlen = 64});
  const SeenMessage request = bench.request();
  bench.answer(request, more_processing(bench, request, 10));
  bench.answer(request, bench.admin_response_to(request, Bytes(64, 0x47)));
  check.that(reply.wait().admin_ok(), "an Admin response after More Processing Required is taken");
}

CONFORMANCE_CASE(more_processing_may_give_no_time, "mi.requester.more-processing.zero", roles::management_requester) {
  auto reply = ask(bench);
  const SeenMessage request = bench.request();
  bench.answer(request, more_processing(bench, request, 0));
  bench.world().run_until([&] { return reply.settled(); }, Duration::s(1));
  check.require(!reply.settled(), "the request waits although no time was given");
  bench.answer(request, bench.response_to(request, Status::success, Bytes(8)));
  check.that(reply.wait().ok(), "the response a second later is taken");
}

CONFORMANCE_CASE(more_processing_for_ever_is_given_up, "mi.requester.more-processing.bounded", roles::management_requester) {
  auto reply = ask(bench);
  const SeenMessage request = bench.request();
  for (int i = 0; i < 600 && !reply.settled(); ++i) {
    bench.answer(request, more_processing(bench, request, 2));
    bench.world().run_until([&] { return reply.settled(); }, Duration::ms(150));
  }
  check.require(reply.settled(), "a request ends although its endpoint asks for more time for ever", "it waits after 90 s");
  check.that(!reply.wait().ok(), "it is no success");
  serves(bench, check, "More Processing Required for ever");
}

// ---- asynchronous events ----

namespace {

void send_event(ManagementRequesterBench& bench, std::uint8_t generation, std::uint8_t retry, bool good = true) {
  Bytes body = {0x84, 0x28, 0x00, 0x00};
  const Bytes list =
      mi::make_occurrence_list({.generation = generation, .retry = retry, .items = {{.id = 0x06, .context = 1, .specific = {}}}});
  body.insert(body.end(), list.begin(), list.end());
  Bytes message = bench.with_check(std::move(body));
  if (!good) message.back() ^= 0x10;
  bench.endpoint().send_message(message, {.tag = 6});
  bench.endpoint().wait_until_said();
}

/// The acknowledgement: Configuration Set 04h with an enable list of nothing.
bool is_acknowledgement(const SeenMessage& request) {
  return request.body.size() >= 16 + 5 + 4 && request.body[1] == 0x08 && request.body[4] == 0x03 && request.body[8] == 0x04 &&
         request.body[16] == 0;
}

Bytes no_occurrences(ManagementRequesterBench& bench, const SeenMessage& request) {
  return bench.response_to(request, Status::success, mi::make_occurrence_list({}));
}

}  // namespace

CONFORMANCE_CASE(events_are_acknowledged, "mi.requester.event.acknowledged", roles::management_requester) {
  unsigned told = 0;
  bench.product().on_event([&](const mi::EventReport& report) { told += static_cast<unsigned>(report.list.items.size()); });
  send_event(bench, 3, 0);
  const auto request = bench.next_request(Duration::s(5));
  check.require(request.has_value(), "an event is acknowledged");
  check.that(is_acknowledgement(*request), "the acknowledgement is Configuration Set 04h with an empty list", mi::describe(request->body));
  bench.answer(*request, no_occurrences(bench, *request));
  check.equal("events told", told, 1u);
}

CONFORMANCE_CASE(a_repeated_event_is_told_once, "mi.requester.event.once", roles::management_requester) {
  unsigned told = 0;
  bench.product().on_event([&](const mi::EventReport& report) { told += static_cast<unsigned>(report.list.items.size()); });
  for (std::uint8_t retry = 0; retry < 3; ++retry) {
    send_event(bench, 3, retry);
    const auto request = bench.next_request(Duration::s(5));
    // It is sent again because its acknowledgement was lost.
    check.that(request.has_value() && is_acknowledgement(*request), "an event that is sent again is acknowledged again", "it is not");
    if (request) bench.answer(*request, no_occurrences(bench, *request));
  }
  check.equal("events told of one that was sent three times", told, 1u);
  send_event(bench, 4, 0);
  if (const auto request = bench.next_request(Duration::s(5))) bench.answer(*request, no_occurrences(bench, *request));
  check.equal("events told after a new one", told, 2u);
}

CONFORMANCE_CASE(a_damaged_event_is_not_believed, "mi.requester.event.mic", roles::management_requester) {
  unsigned told = 0;
  bench.product().on_event([&](const mi::EventReport& report) { told += static_cast<unsigned>(report.list.items.size()); });
  send_event(bench, 3, 0, false);
  const auto request = bench.next_request(Duration::s(2));
  check.that(!request.has_value(), "a damaged event is not acknowledged");
  check.equal("events told", told, 0u);
  serves(bench, check, "a damaged event");
}

}  // namespace fb::conformance
