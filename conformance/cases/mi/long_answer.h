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
inline bool ended(EndpointBench& bench, std::uint8_t tag) {
  const auto& all = bench.peer().packets();
  return std::any_of(all.begin(), all.end(), [&](const SeenPacket& one) {
    return !one.packet.owner && one.packet.tag == tag && one.packet.eom;
  });
}

/// Says `request` and returns when the first packet of its answer is there.
inline void begin_answer(EndpointBench& bench, Bytes request, const MiTerms& terms) {
  const std::size_t before = packets_of(bench, terms.tag);
  bench.say(std::move(request), terms);
  if (!bench.world().run_until([&] { return packets_of(bench, terms.tag) > before; }, Duration::s(5))) {
    throw CannotArrange{"no packet of a long answer"};
  }
}

/// A primitive in the midst of an answer with `tag`: INCONCLUSIVE when the answer was faster.
inline MiAnswer primitive_amidst(EndpointBench& bench, Check& check, mi::Primitive what, std::uint8_t tag,
                                 unsigned slot = 0) {
  const MiAnswer answer = bench.primitive(what, slot, 0, 0x31);
  if (ended(bench, tag))
    check.inconclusive("the answer was whole before " + std::string(name_of(what)) + " was answered");
  return answer;
}

/// Packets that may still come: they were on their way to the medium already.
inline constexpr std::size_t kOnTheirWay = 2;
/// Nothing but what was on its way comes with these tags for some time.
inline bool stopped(EndpointBench& bench, Check& check, std::initializer_list<std::uint8_t> tags,
                    std::string_view what) {
  const std::size_t since = bench.peer().packets().size();
  bench.world().run_for(Duration::ms(300));
  std::size_t came = 0;
  for (const std::uint8_t tag : tags) came += packets_of(bench, tag, since);
  return check.that(came <= kOnTheirWay, what, std::to_string(came) + " packets came afterwards");
}

}  // namespace fb::conformance
