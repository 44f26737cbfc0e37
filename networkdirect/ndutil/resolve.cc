#include "networkdirect/ndutil/resolve.h"

#include <algorithm>

namespace fb::ndutil {

namespace {

bool contains(const std::vector<Address>& all, const Address& address) { return std::find(all.begin(), all.end(), address) != all.end(); }

// Nobody says how long the prefix of an address's network is. Loopback has its own; for the rest, the usual lengths.
bool same_network(const Address& a, const Address& b) {
  if (a.family() != b.family() || a.is_loopback() != b.is_loopback()) return false;
  return a.is_loopback() || a.common_bits(b) >= (a.family() == AF_INET ? 24u : 64u);
}

/// The addresses of the remote's network, the nearest ones first, without the remote itself.
std::vector<Address> neighbours(const Address& remote, const std::vector<Address>& served) {
  std::vector<Address> found;
  for (const Address& address : served) {
    if (same_network(address, remote) && !(address == remote)) found.push_back(address);
  }
  // On loopback all are equally near, and their order is the provider's.
  if (!remote.is_loopback()) {
    std::stable_sort(found.begin(), found.end(),
                     [&](const Address& a, const Address& b) { return a.common_bits(remote) > b.common_bits(remote); });
  }
  return found;
}

/// In which order this process tries to get an address towards one that some process of this machine serves.
std::vector<Address> candidates(const Address& remote, const Neighbourhood& here) {
  std::vector<Address> order;
  const auto add = [&](const Address& address) {
    if (contains(here.served, address) && address.family() == remote.family() && !contains(order, address)) order.push_back(address);
  };
  // Ours from before: the remote, when both ends are in this process, otherwise the end that we have already.
  if (!remote.is_loopback() || contains(here.opened, remote)) add(remote);
  for (const Address& address : here.opened) {
    if (!(address == remote) && same_network(address, remote)) add(address);
  }
  if (here.routed && same_network(*here.routed, remote) && !(*here.routed == remote)) add(*here.routed);
  for (const Address& address : neighbours(remote, here.served)) add(address);
  // Linux takes packets from any of its addresses to any other. Whose the remote is has to be known, though: towards a
  // loopback address of nobody here, nothing but loopback makes sense.
  if (contains(here.served, remote)) {
    for (const Address& address : here.served) {
      if (!(address == remote)) add(address);
    }
  }
  return order;
}

}  // namespace

std::optional<Address> ask_routing(const Address& remote, bool& reachable) {
  const SOCKET probe = WSASocketW(remote.family(), SOCK_DGRAM, IPPROTO_UDP, nullptr, 0, 0);
  reachable = probe != INVALID_SOCKET;
  if (!reachable) return std::nullopt;
  SOCKADDR_INET to = remote.get();
  SOCKADDR_INET from = {};
  DWORD bytes = 0;
  reachable = WSAIoctl(probe, SIO_ROUTING_INTERFACE_QUERY, &to, static_cast<DWORD>(remote.size()), &from, sizeof(from), &bytes, nullptr,
                       nullptr) == 0;
  closesocket(probe);
  return reachable ? Address::from(&from, bytes) : std::nullopt;
}

HRESULT resolve(const Address& remote, const Neighbourhood& here, bool (*can_open)(const Address&), std::optional<Address>& out) {
  if (remote.is_loopback() || contains(here.served, remote)) {
    for (const Address& address : candidates(remote, here)) {
      if (!can_open(address)) continue;
      out = address;
      return ND_SUCCESS;
    }
    // Opening the adapter will say what is wrong.
    if (contains(here.served, remote)) out = remote;
  }
  // Wine says of loopback that it is reached from the network card.
  const bool believable = here.routed && here.routed->is_loopback() == remote.is_loopback();
  if (!out && believable && contains(here.served, *here.routed)) out = here.routed;
  if (!out) {
    const auto nearest = neighbours(remote, here.served);
    if (!nearest.empty()) out = nearest.front();
  }
  return out ? ND_SUCCESS : here.reachable ? ND_INVALID_ADDRESS : ND_NETWORK_UNREACHABLE;
}

}  // namespace fb::ndutil
