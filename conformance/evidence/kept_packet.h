// A packet of a capture that stands in front of what it answers: two queues of an adapter, or two ports of a switch, put
// packets into a wrong order by a little. It is kept until the other one is there, or until it is plain that it never comes.
#pragma once

#include <memory>
#include <string>

#include "conformance/evidence/sight.h"

namespace fb::evidence {

/// Packets of the capture that are waited for.
inline constexpr std::uint64_t kKeptFor = 64;
/// Later than any packet: nothing is waited for any more.
inline constexpr std::uint64_t kForEver = ~std::uint64_t{0};

struct KeptPacket {
  KeptPacket(const TraceEvent& of, const Sight& seen)
      : bytes(of.bytes.begin(), of.bytes.end()), struck(seen.struck), event(of), at(seen), until(seen.packet + kKeptFor) {
    event.bytes = bytes;
    if (of.tcp != nullptr) {
      tcp = *of.tcp;
      event.tcp = &tcp;
    }
    at.event = &event;
    at.struck = struck;
  }
  KeptPacket(const KeptPacket&) = delete;
  KeptPacket& operator=(const KeptPacket&) = delete;

  const Bytes bytes;
  const std::string struck;
  TcpFacts tcp;
  TraceEvent event;
  Sight at;
  const std::uint64_t until;  ///< the last packet of the capture that is waited for
};

}  // namespace fb::evidence
