// The port space of one provider: NDK's own, not that of the host's TCP.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "base/ip.h"

namespace fb::ndk {
class Miniport;
}

namespace fb::ndk::provider {

class Ports {
 public:
  static constexpr std::uint16_t kFirstEphemeral = 49152;
  static constexpr std::uint32_t kEphemerals = 16384;

  explicit Ports(const Miniport& card) : card_(card) {}

  /// Takes a port for a listener, or for the local end of connections; 0 takes a free one of the ephemeral range.
  /// Nothing when it is taken, or when none is free. Listeners and local ends do not compete for a port that is named.
  std::optional<std::uint16_t> take_for_listener(std::uint16_t port);
  std::optional<std::uint16_t> take_for_end(std::uint16_t port);
  void free_listener(std::uint16_t port) { erase(listeners_, port); }
  void free_end(std::uint16_t port) { erase(ends_, port); }

  /// A connection from a local port to a peer: false when it exists.
  bool take_connection(std::uint16_t port, const Endpoint& peer);
  void free_connection(std::uint16_t port, const Endpoint& peer) { erase(connections_, {port, peer}); }

 private:
  using Taken = std::multiset<std::uint16_t>;  // a departure takes one twice
  using Connections = std::multiset<std::pair<std::uint16_t, Endpoint>>;
  template <class Set>
  static void erase(Set& set, const typename Set::value_type& value) {
    if (const auto found = set.find(value); found != set.end()) set.erase(found);
  }
  std::optional<std::uint16_t> take(Taken& among, std::uint16_t port, std::string_view shared);
  bool departs(std::string_view point) const;

  const Miniport& card_;
  Taken listeners_, ends_;
  Connections connections_;
  std::uint32_t next_ = 0;
};

}  // namespace fb::ndk::provider
