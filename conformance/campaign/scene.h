// Where hosts work on one namespace that is watched: the world of a campaign, simulated or with somebody's product in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conformance/campaign/recipe.h"
#include "conformance/campaign/shapes.h"
#include "model/host/host.h"

namespace fb::subsystem {
class Subsystem;
}

namespace fb::conformance {

/// Room behind the blocks that are watched: the namespace may grow.
inline constexpr std::uint64_t kSpareBlocks = 64;
inline constexpr std::uint32_t kWatchedNsid = 1;
inline constexpr std::uint32_t kSpareNsid = 2;

class Scene {
 public:
  virtual ~Scene() = default;

  virtual const FabricShape& shape() const = 0;
  virtual std::size_t hosts() const = 0;
  virtual host::Host& host(std::size_t index) = 0;
  /// How a host connects through a path.
  virtual host::ConnectOptions connect_options(std::size_t path) const = 0;
  /// The namespace that is watched, as a host sees it; null where it does not see it.
  virtual host::Namespace* watched(std::size_t host) = 0;

  /// The product, for faults that it makes itself; null where nobody can tell it to.
  virtual subsystem::Subsystem* subsystem() { return nullptr; }
  /// Connections that are there still.
  virtual std::size_t connections() { return 0; }
  /// The product has the commands for it.
  virtual bool can(Deed deed) const {
    (void)deed;
    return true;
  }
  /// A write of so many blocks is not torn by another.
  virtual bool atomic(std::uint32_t blocks) const {
    (void)blocks;
    return true;
  }
  /// How long a step, a recovery or a departure may take.
  virtual Duration patience() const { return Duration::s(3600); }
};

}  // namespace fb::conformance
