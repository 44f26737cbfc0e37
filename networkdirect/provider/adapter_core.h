// What all objects of one open adapter share: the device, its protection domain, its limits, its port space.
#pragma once

#include <memory>
#include <set>

#include "sim/core/loop.h"
#include "networkdirect/provider/fabric.h"
#include "networkdirect/provider/objects.h"

namespace fb::networkdirect {

/// The ports of one address. They are NetworkDirect's own, not those of the host's TCP. On the device's thread.
class PortSpace {
 public:
  /// A port for a listener; 0 draws one. Empty: it is taken, or none is left.
  std::optional<std::uint16_t> take_for_listener(std::uint16_t port);
  void free_listener(std::uint16_t port) { listeners_.erase(port); }
  /// A port to connect from; 0 draws one that no other connector has. Connectors may share a port that they name.
  std::optional<std::uint16_t> take_for_connector(std::uint16_t port);
  void free_connector(std::uint16_t port);
  /// A connection's four numbers, of which two are the adapter's. False: there is such a connection already.
  bool take_connection(std::uint16_t local, const Endpoint& peer) { return connections_.emplace(local, peer).second; }
  void free_connection(std::uint16_t local, const Endpoint& peer) { connections_.erase({local, peer}); }

 private:
  static constexpr std::uint16_t kFirstEphemeral = 49152;
  static constexpr unsigned kEphemerals = 65536 - kFirstEphemeral;
  unsigned next_ = 0;
  std::set<std::uint16_t> listeners_;
  std::multiset<std::uint16_t> connectors_;
  std::set<std::pair<std::uint16_t, Endpoint>> connections_;
};

class AdapterCore final : public Core, public std::enable_shared_from_this<AdapterCore> {
 public:
  static constexpr Kind kKind = Kind::adapter;
  /// On the device's thread.
  AdapterCore(std::shared_ptr<Place> place, UINT64 id);
  ~AdapterCore() override;

  World& world() { return place_->world(); }
  rdma::Device& device() { return place_->device(); }
  Strand& strand() { return place_->strand(); }
  rdma::ProtectionDomain& domain() { return *domain_; }
  PortSpace& ports() { return ports_; }
  const IpAddress& address() const { return address_; }
  /// With InfoVersion as ND_VERSION_2.
  const ND2_ADAPTER_INFO& info() const { return info_; }
  ProviderHooks* hooks() const { return hooks_; }
  bool departs(std::string_view point) const { return hooks_ != nullptr && (behaviour_.departs(point) || hooks_->departs(point)); }
  /// Whether a request is refused for want of resources, this time. From any thread.
  bool refuses() { return hooks_ != nullptr && hooks_->refuses(); }
  /// Whether a request that can end in its call ends there, this time. From any thread.
  bool answers_at_once();
  /// Whether a Send's completion waits for what the peer says, this time. From any thread.
  bool completes_after_response();

  /// Destroys a queue pair from an event of its own: its report may be what brought us here.
  void bury(std::unique_ptr<rdma::QueuePair> qp);

  std::atomic<bool> closed{false};  ///< a departure: the adapter's release ends what was made on it

 private:
  void dig();
  bool draw(std::uint64_t salt, std::atomic<std::uint64_t>& drawn) const;

  std::shared_ptr<Place> place_;
  ProviderHooks* hooks_;
  const Behaviour behaviour_;
  const std::uint64_t seed_;
  std::atomic<std::uint64_t> answers_drawn_{0}, orders_drawn_{0};
  IpAddress address_;
  std::unique_ptr<rdma::ProtectionDomain> domain_;
  PortSpace ports_;
  ND2_ADAPTER_INFO info_ = {};
  std::vector<std::unique_ptr<rdma::QueuePair>> graves_;
  Timer<AdapterCore, &AdapterCore::dig> dig_{"networkdirect.bury", *this};
};

/// Runs `work` on the device's thread and returns what it returns.
template <class Work>
auto on_device(AdapterCore& adapter, Work&& work) {
  decltype(work()) result{};
  adapter.strand().call([&] { result = work(); });
  return result;
}

/// Destroys a core where it belongs, together with its hold on the adapter.
template <class C>
void drop_on_device(std::shared_ptr<AdapterCore> adapter, std::shared_ptr<C>& core) {
  adapter->strand().call([&] { core.reset(); });
}

/// Whether these bytes are mapped at all: a caller's pointer may be wild.
bool is_mapped(const void* memory, std::size_t length);

/// The result of a request of any object: STATUS_PENDING while it goes on.
HRESULT overlapped_result(AdapterCore& adapter, OVERLAPPED* overlapped, BOOL wait);

}  // namespace fb::networkdirect
