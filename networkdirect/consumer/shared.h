// What the objects of one device share: the adapter, its mailbox, and the tables by which keys and contexts are found.
#pragma once

#include <ndspi.h>

#include <deque>
#include <vector>

#include "networkdirect/consumer/com.h"
#include "networkdirect/consumer/mailbox.h"
#include "networkdirect/consumer/networkdirect_device.h"

namespace fb::networkdirect::consumer {

class QueuePair;
class Region;

/// Registered regions by their local keys, which are the device's own: an index in the high 24 bits and in the low byte a
/// count of the index's owners, so that a stale key finds nothing.
class RegionTable {
 public:
  struct Entry {
    std::uint32_t key = 0;  // 0: free
    UINT32 token = 0;       // what the provider calls it
    std::uint64_t base = 0;
    std::uint8_t* data = nullptr;
    std::uint64_t length = 0;
    Region* region = nullptr;
  };
  /// Gives the entry a key.
  std::uint32_t add(Entry entry);
  void remove(std::uint32_t key);
  const Entry* find(std::uint32_t key) const {
    const std::size_t index = key >> 8;
    return index < entries_.size() && entries_[index].key == key ? &entries_[index] : nullptr;
  }
  /// A local buffer as the provider wants it. One that no region knows is made one that no provider knows: requests
  /// fail by their completion.
  ND2_SGE translate(const rdma::Sge& sge) const {
    const Entry* entry = find(sge.lkey);
    if (entry == nullptr) return {nullptr, sge.length, 0};
    // Whatever lies beyond the region is the provider's to find.
    return {reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(entry->data) + (sge.address - entry->base)), sge.length, entry->token};
  }
  bool covers(const rdma::Sge& sge) const {
    const Entry* entry = find(sge.lkey);
    if (entry == nullptr || sge.address < entry->base) return false;
    const std::uint64_t offset = sge.address - entry->base;
    return offset <= entry->length && sge.length <= entry->length - offset;
  }

 private:
  std::vector<Entry> entries_{1};  // index 0 is nobody's: 0 is no key
  std::vector<std::uint8_t> owners_{0};
  std::deque<std::uint32_t> free_;  // the oldest is used first
};

/// Queue pairs by what the provider gives back in each result: results of one that is gone find nothing.
class QueuePairTable {
 public:
  void* add(QueuePair& qp);
  void remove(void* context);
  /// Any but this one; null when there is none.
  QueuePair* other_than(const QueuePair& qp) const;
  QueuePair* find(void* context) const {
    const auto word = reinterpret_cast<std::uintptr_t>(context);
    const std::size_t index = word & 0xFFFFFFFF;
    return index < entries_.size() && entries_[index].owner == word >> 32 ? entries_[index].qp : nullptr;
  }

 private:
  struct Entry {
    QueuePair* qp = nullptr;
    std::uint32_t owner = 0;
  };
  std::vector<Entry> entries_{1};
  std::vector<std::uint32_t> free_;
};

static_assert(sizeof(void*) == 8, "contexts of requests carry 64-bit ids");

struct Shared {
  Shared(World& w, IND2Adapter& a, const ConsumerOptions& o) : world(w), adapter(a), options(o) {}
  bool departs(std::string_view point) const { return options.hooks != nullptr && options.hooks->departs(point); }
  /// Releases an object, and what points say is done to it besides: KIND.leaked, KIND.used_after_release.
  template <class T, class Use>
  void release(Com<T>& object, std::string_view leaked, std::string_view used, Use&& use) const {
    if (!object) return;
    if (departs(leaked)) {
      object.leave();
      return;
    }
    T* const stale = object.get();
    object.reset();
    if (departs(used)) use(*stale);
  }

  World& world;
  IND2Adapter& adapter;
  ConsumerOptions options;
  Mailbox* mailbox = nullptr;
  ND2_ADAPTER_INFO info = {};
  rdma::DeviceLimits limits;
  IpAddress address;
  bool chooses_addresses = false;  ///< the provider's regions have RegisterAt
  RegionTable regions;
  QueuePairTable queue_pairs;
  /// What departures release later than it should be.
  std::vector<Com<IUnknown>> late;
  UINT32 stale_token = 0;  ///< of a region that was deregistered; 0: of none so far
  std::uint32_t next_number = 1;
  // As a device hands addresses out that has its own: ascending, with a page between two regions.
  std::uint64_t next_address = 0x100000;
};

}  // namespace fb::networkdirect::consumer
