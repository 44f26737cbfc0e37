#include "networkdirect/ndk/provider/ports.h"

#include "networkdirect/ndk/provider/miniport.h"

namespace fb::ndk::provider {

bool Ports::departs(std::string_view point) const { return card_.departs(point); }

std::optional<std::uint16_t> Ports::take(Taken& among, std::uint16_t port, std::string_view shared) {
  if (port != 0) {
    const bool sharable = departs(shared) || (&among == &ends_ && departs(departure::kPortsShared));
    if (among.contains(port) && !sharable) return std::nullopt;
    among.insert(port);
    return port;
  }
  const std::uint32_t first = departs(departure::kEphemeralOutOfRange) ? kFirstEphemeral - kEphemerals : kFirstEphemeral;
  for (std::uint32_t tries = 0; tries < kEphemerals; ++tries) {
    port = static_cast<std::uint16_t>(first + next_++ % kEphemerals);
    if (listeners_.contains(port) || ends_.contains(port)) continue;
    among.insert(port);
    return port;
  }
  return std::nullopt;
}

std::optional<std::uint16_t> Ports::take_for_listener(std::uint16_t port) { return take(listeners_, port, departure::kListenPortShared); }

std::optional<std::uint16_t> Ports::take_for_end(std::uint16_t port) { return take(ends_, port, departure::kSourcePortShared); }

bool Ports::take_connection(std::uint16_t port, const Endpoint& peer) {
  if (connections_.contains({port, peer}) && !departs(departure::kTupleShared) && !departs(departure::kPortsShared)) return false;
  connections_.insert({port, peer});
  return true;
}

}  // namespace fb::ndk::provider
