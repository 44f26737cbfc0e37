// More Processing Required: commands that take longer than an answer may, and answers that are in time.
#include "conformance/cases/mi/structures.h"
#include "conformance/runner/arranger.h"

namespace fb::conformance {
namespace {

/// A packet of an answer may take that long to cross the medium once it has begun; in real time others keep the machine busy.
Duration crossing(EndpointBench& bench) { return bench.virtual_time() ? Duration::ms(10) : Duration::ms(500); }

/// VPD Read, and Identify through the tunnel, take 850 ms.
constexpr Duration kSlow = Duration::ms(850);
void slow_commands(EmbeddedSetup& setup) {
  for (const mi::SupportedCommand command :
       {mi::SupportedCommand{mi::MessageKind::mi_command, static_cast<std::uint8_t>(mi::Opcode::vpd_read)},
        mi::SupportedCommand{mi::MessageKind::admin_command, 0x06}}) {
    setup.managed->drive.endpoint.durations[command] = kSlow;
  }
}

struct Slow {
  std::string what;
  MiTerms terms;
  MiAnswer answer;
};

/// What came of the slow commands, in both slots.
std::vector<Slow> ask_slow_ones(EndpointBench& bench, Check& check) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  if (!bench.embedded()) bench.arranger().command_time(kSlow);
  std::vector<Slow> all;
  for (const unsigned slot : {0u, 1u}) {
    const MiTerms terms{.slot = slot, .tag = static_cast<std::uint8_t>(2 + slot)};
    const std::string where = " in slot " + std::to_string(slot);
    all.push_back({"a slow VPD Read" + where, terms, bench.request(vpd_request(terms, 16), terms)});
    all.push_back({"a slow Identify" + where, terms, bench.request(long_request(cntlid, terms), terms)});
  }
  for (const Slow& one : all) {
    check.require(one.answer.answered() && one.answer.ok(), one.what + " is answered in the end", one.answer.describe());
  }
  return all;
}

/// All must have asked for time; otherwise there is nothing to look at.
void require_more(Check& check, const Slow& one) {
  check.require(!one.answer.more.empty(), one.what + " has More Processing Required first", "there was none");
}

}  // namespace

CONFORMANCE_CASE(slow_commands_ask_for_time_in_time, "mi.mpr.limit", roles::endpoint, needs(revision_1_2),
                 arranges{{Request::command_time}, &slow_commands}) {
  for (const Slow& one : ask_slow_ones(bench, check)) {
    require_more(check, one);
    check.that(one.answer.took() <= bench.answer_within() + crossing(bench),
               one.what + " is answered for the first time within " + to_string(bench.answer_within()), to_string(one.answer.took()));
  }
}

CONFORMANCE_CASE(a_command_asks_for_time_once, "mi.mpr.once", roles::endpoint, needs(revision_1_2),
                 arranges{{Request::command_time}, &slow_commands}) {
  for (const Slow& one : ask_slow_ones(bench, check)) {
    check.equal("More Processing Required before the answer to " + one.what, one.answer.more.size(), std::size_t{1});
  }
}

CONFORMANCE_CASE(the_time_that_a_command_asks_for_is_enough, "mi.mpr.time", roles::endpoint, needs(revision_1_2),
                 arranges{{Request::command_time}, &slow_commands}) {
  for (const Slow& one : ask_slow_ones(bench, check)) {
    require_more(check, one);
    const Bytes& more = one.answer.more.front().body;
    const Duration asked = Duration::ms(100) * View<mi::MoreProcessing>{more}.get(mi::response::mprt);
    const Duration taken = one.answer.message->first - one.answer.more.front().last;
    check.that(taken <= asked + crossing(bench), one.what + " is answered within the time of its MPRT, " + to_string(asked),
               to_string(taken));
  }
}

CONFORMANCE_CASE(a_long_command_asks_for_all_its_time, "mi.mpr.time", roles::endpoint, needs(revision_1_2),
                 arranged("VPD Read that takes 40 s", &slow_vpd<40'000>)) {
  const MiAnswer answer = bench.request(vpd_request({}, 16));
  const Slow slow{"VPD Read", {}, answer};
  check.require(answer.answered() && answer.ok(), "VPD Read is answered in the end", answer.describe());
  require_more(check, slow);
  const Duration asked = Duration::ms(100) * View<mi::MoreProcessing>{answer.more.front().body}.get(mi::response::mprt);
  const Duration taken = answer.message->first - answer.more.front().last;
  check.that(taken <= asked + crossing(bench), "VPD Read is answered within the time of its MPRT, " + to_string(asked), to_string(taken));
}

CONFORMANCE_CASE(asking_for_time_is_eight_bytes, "mi.mpr.form", roles::endpoint, needs(revision_1_2),
                 arranges{{Request::command_time}, &slow_commands}) {
  for (const Slow& one : ask_slow_ones(bench, check)) {
    require_more(check, one);
    for (const SeenMessage& more : one.answer.more) {
      check.equal("bytes of it, with its check, for " + one.what, more.body.size(), mi::kResponseMin + mi::kMicSize);
      if (more.body.size() > 5) check.equal("byte 5 of it for " + one.what, more.body[5], 0);
      // Tag and owner are how it was found to belong to the command.
      const View<mi::MessageHeader> head{more.body}, last{one.answer.body};
      check.equal("CSI of it for " + one.what, head.get(mi::header::csi), one.terms.slot);
      check.equal("byte 0 of it for " + one.what, more.body[0], one.answer.body[0]);
      check.equal("byte 1 of it for " + one.what, more.body[1], one.answer.body[1]);
    }
  }
}

CONFORMANCE_CASE(commands_are_answered_in_time, "mi.command.time", roles::endpoint, needs(revision_1_2)) {
  const std::uint16_t cntlid = controllers_of(bench).front();
  const Bytes requests[] = {mi_message(0),
                            mi_message(1),
                            mi_message(2, 0x87000000),
                            mi_message(4, 2),
                            vpd_request({}, 16),
                            mi_message(0x7E),
                            admin_message(cntlid, identify_controller_sqe(), 0, 16)};
  for (const Bytes& request : requests) {
    const MiAnswer answer = bench.request(request);
    check.require(answer.answered() || !answer.more.empty(), mi::describe(request) + " is answered", answer.describe());
    check.that(answer.took() <= bench.answer_within() + crossing(bench),
               mi::describe(request) + " is answered, if only by More Processing Required, within " + to_string(bench.answer_within()),
               to_string(answer.took()));
  }
}

}  // namespace fb::conformance
