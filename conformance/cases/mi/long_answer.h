// Long answers under way: begun, stopped between two of their packets, counted.
#pragma once

#include "conformance/cases/mi/structures.h"

namespace fb::conformance {

/// Packets that have come with that tag, as answers, since there were `since` of all.
inline std::size_t packets_of(EndpointBench& bench, std::uint8_t tag, std::size_t since = 0) {
  const auto& all = bench.peer().packets();
  const auto belongs = [&](const SeenPacket& one) { return !one.packet.owner && one.packet.tag == tag; };
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(since);
  return static_cast<std::size_t>(std::count_if(from, all.end(), belongs));
}
/// An answer under way: its tag, and how many packets had come before the request.
struct Begun {
  std::uint8_t tag = 0;
  std::size_t since = 0;
};
/// Says `request`.
inline Begun say_long(EndpointBench& bench, Bytes request, const MiTerms& terms) {
  const Begun begun{terms.tag, bench.peer().packets().size()};
  bench.say(std::move(request), terms);
  return begun;
}
/// Says `request` and returns when the first packet of its answer is there.
inline Begun begin_answer(EndpointBench& bench, Bytes request, const MiTerms& terms) {
  const Begun begun = say_long(bench, std::move(request), terms);
  const auto there = [&] { return packets_of(bench, begun.tag, begun.since) != 0; };
  if (!bench.world().run_until(there, Duration::s(5))) throw CannotArrange{"no packet of a long answer"};
  return begun;
}
inline bool ended(EndpointBench& bench, const Begun& begun) {
  const auto& all = bench.peer().packets();
  return std::any_of(all.begin() + static_cast<std::ptrdiff_t>(begun.since), all.end(),
                     [&](const SeenPacket& one) { return !one.packet.owner && one.packet.tag == begun.tag && one.packet.eom; });
}

/// A primitive in the midst of an answer: INCONCLUSIVE when the answer was faster.
inline MiAnswer primitive_amidst(EndpointBench& bench, Check& check, mi::Primitive what, const Begun& begun, unsigned slot = 0) {
  const MiAnswer answer = bench.primitive(what, slot, 0, 0x31);
  if (ended(bench, begun)) {
    check.inconclusive("the answer was whole before " + std::string(name_of(what)) + " was answered");
  }
  return answer;
}

/// Packets that may still come: they were on their way to the medium already.
inline constexpr std::size_t kOnTheirWay = 2;
/// Nothing but what was on its way comes with these tags for some time.
inline bool stopped(EndpointBench& bench, Check& check, std::initializer_list<std::uint8_t> tags, std::string_view what) {
  const std::size_t since = bench.peer().packets().size();
  bench.world().run_for(Duration::ms(300));
  std::size_t came = 0;
  for (const std::uint8_t tag : tags) came += packets_of(bench, tag, since);
  return check.that(came <= kOnTheirWay, what, std::to_string(came) + " packets came afterwards");
}

}  // namespace fb::conformance
