// MCTP packets put together to messages, each bus for itself.
#pragma once

#include <map>
#include <tuple>

#include "conformance/evidence/observer.h"

namespace fb::evidence {

class Dissector;

class MctpReader {
 public:
  explicit MctpReader(Dissector& dissector) : dissector_(dissector) {}
  void on_packet(const TraceEvent& event, Sight& at);
  /// A fault struck on some medium: what is under way may lack packets, and the next packet may be changed.
  void disturbed();

 private:
  struct Assembly {
    Bytes message;
    unsigned packets = 0;
    std::uint8_t next = 0;
  };
  /// Bus, source, destination, tag with its owner bit, and the physical source: EID 0 is everybody's.
  using Key = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t, std::uint8_t, std::uint16_t>;

  Dissector& dissector_;
  std::map<Key, Assembly> open_;
  bool disturbed_ = false;
};

}  // namespace fb::evidence
