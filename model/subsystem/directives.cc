#include "model/subsystem/directives.h"

#include <algorithm>

#include "wire/nvme/sqe.h"

namespace fb::subsystem {

const Directives::Streams* Directives::find(const HostId& host, std::uint32_t nsid) const {
  const auto found = streams_.find({host, nsid});
  return found == streams_.end() ? nullptr : &found->second;
}

Directives::Streams* Directives::find(const HostId& host, std::uint32_t nsid) {
  const auto found = streams_.find({host, nsid});
  return found == streams_.end() ? nullptr : &found->second;
}

void Directives::disable_all(const HostId& host) {
  std::erase_if(streams_, [&](const auto& entry) { return entry.first.first == host; });
}

/// For a deviation.
void Directives::disable_placement(const HostId& host) {
  std::erase_if(placement_, [&](const auto& entry) { return entry.first == host; });
}

void Directives::use(const HostId& host, std::uint32_t nsid, std::uint16_t stream) {
  Streams* const mine = find(host, nsid);
  if (mine == nullptr || stream == 0 || mine->open.contains(stream)) return;
  if (mine->allocated != 0) {
    // Which one makes room is arbitrary.
    if (mine->open.size() >= mine->allocated) mine->open.erase(mine->open.begin());
  } else {
    if (available() == 0) return;  // a write like any other
    if (open_shared() >= available()) {
      for (auto& [key, other] : streams_) {
        if (other.allocated != 0 || other.open.empty()) continue;
        other.open.erase(other.open.begin());
        break;
      }
    }
  }
  mine->open.insert(stream);
}

void Directives::release(const HostId& host, std::uint32_t nsid, std::uint16_t stream) {
  if (Streams* const mine = find(host, nsid)) mine->open.erase(stream);
}

std::uint16_t Directives::allocate(const HostId& host, std::uint32_t nsid, std::uint16_t wanted) {
  Streams* const mine = find(host, nsid);
  if (mine == nullptr) return 0;
  const std::uint16_t given = std::min(wanted, available());
  if (given == 0) return 0;
  mine->allocated = given;
  while (mine->open.size() > given) mine->open.erase(mine->open.begin());
  // Others share what is left.
  for (auto& [key, other] : streams_) {
    while (other.allocated == 0 && !other.open.empty() && open_shared() > available()) {
      other.open.erase(other.open.begin());
    }
  }
  return given;
}

void Directives::release_resources(const HostId& host, std::uint32_t nsid) {
  Streams* const mine = find(host, nsid);
  if (mine == nullptr || mine->allocated == 0) return;
  mine->allocated = 0;
  mine->open.clear();
}

void Directives::close_all(std::uint32_t nsid) {
  for (auto& [key, streams] : streams_) {
    if (key.second == nsid) streams.open.clear();
  }
}

void Directives::release_all(std::uint32_t nsid) {
  for (auto& [key, streams] : streams_) {
    if (key.second == nsid) streams = {};
  }
}

void Directives::forget(std::uint32_t nsid) {
  std::erase_if(streams_, [nsid](const auto& entry) { return entry.first.second == nsid; });
  std::erase_if(placement_, [nsid](const auto& entry) { return entry.second == nsid; });
}

std::uint16_t Directives::allocated(const HostId& host, std::uint32_t nsid) const {
  const Streams* const mine = find(host, nsid);
  return mine == nullptr ? std::uint16_t{0} : mine->allocated;
}

std::uint16_t Directives::open(const HostId& host, std::uint32_t nsid) const {
  const Streams* const mine = find(host, nsid);
  return mine == nullptr ? std::uint16_t{0} : static_cast<std::uint16_t>(mine->open.size());
}

std::vector<std::uint16_t> Directives::open_streams(const HostId& host, std::uint32_t nsid) const {
  std::set<std::uint16_t> ids;
  for (const auto& [key, streams] : streams_) {
    const bool asked = nsid == nvme::kAllNamespaces ? streams.allocated == 0 : key == std::pair{host, nsid};
    if (asked) ids.insert(streams.open.begin(), streams.open.end());
  }
  return {ids.begin(), ids.end()};
}

std::uint16_t Directives::available() const {
  unsigned taken = 0;
  for (const auto& [key, streams] : streams_) taken += streams.allocated;
  return static_cast<std::uint16_t>(options_.streams - taken);
}

std::uint16_t Directives::open_shared() const {
  std::size_t open = 0;
  for (const auto& [key, streams] : streams_) open += streams.allocated == 0 ? streams.open.size() : 0;
  return static_cast<std::uint16_t>(open);
}

}  // namespace fb::subsystem
