// Directives: which are enabled for a host in a namespace, and the streams that are open there (base specification,
// Directives). A stream is known by host, namespace and identifier.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/subsystem/options.h"
#include "model/subsystem/reservations.h"

namespace fb::subsystem {

class Directives {
 public:
  explicit Directives(const DirectiveOptions& options) : options_(options) {}

  /// Some host has a directive enabled somewhere: otherwise what I/O commands say of directives is ignored.
  bool any() const { return !streams_.empty() || !placement_.empty(); }
  bool enabled(const HostId& host, std::uint32_t nsid) const { return streams_.contains({host, nsid}); }
  void enable(const HostId& host, std::uint32_t nsid) { streams_.try_emplace({host, nsid}); }
  /// Its streams and resources are given back.
  void disable(const HostId& host, std::uint32_t nsid) { streams_.erase({host, nsid}); }
  void disable_all(const HostId& host);

  /// Data Placement outlives resets.
  bool placement_enabled(const HostId& host, std::uint32_t nsid) const { return placement_.contains({host, nsid}); }
  void enable_placement(const HostId& host, std::uint32_t nsid, bool on) {
    on ? void(placement_.insert({host, nsid})) : void(placement_.erase({host, nsid}));
  }
  void disable_placement(const HostId& host);

  /// A write names a stream, which is open from then on as far as there are resources.
  void use(const HostId& host, std::uint32_t nsid, std::uint16_t stream);
  void release(const HostId& host, std::uint32_t nsid, std::uint16_t stream);
  /// How many of those wanted are the host's alone now; 0: there are none left.
  std::uint16_t allocate(const HostId& host, std::uint32_t nsid, std::uint16_t wanted);
  void release_resources(const HostId& host, std::uint32_t nsid);

  /// Closes the streams of a namespace.
  void close_all(std::uint32_t nsid);
  /// The same, and what is allocated.
  void release_all(std::uint32_t nsid);
  /// The namespace is gone.
  void forget(std::uint32_t nsid);

  std::uint16_t allocated(const HostId& host, std::uint32_t nsid) const;
  std::uint16_t open(const HostId& host, std::uint32_t nsid) const;
  /// Ascending. NSID FFFFFFFFh: those that use no resources of their own, of all namespaces, each once.
  std::vector<std::uint16_t> open_streams(const HostId& host, std::uint32_t nsid) const;
  /// Resources that are allocated to nobody (NSSA), and open streams that use them (NSSO).
  std::uint16_t available() const;
  std::uint16_t open_shared() const;

 private:
  struct Streams {
    std::set<std::uint16_t> open;
    std::uint16_t allocated = 0;
  };
  const Streams* find(const HostId& host, std::uint32_t nsid) const;
  Streams* find(const HostId& host, std::uint32_t nsid);

  const DirectiveOptions& options_;
  std::map<std::pair<HostId, std::uint32_t>, Streams> streams_;
  std::set<std::pair<HostId, std::uint32_t>> placement_;
};

}  // namespace fb::subsystem
