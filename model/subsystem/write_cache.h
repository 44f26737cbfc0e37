// A volatile write cache in front of a store: what was written is seen at once, and is on the medium after a flush.
#pragma once

#include <memory>

#include "model/subsystem/block_store.h"

namespace fb::subsystem {

/// Bytes and writes that a cache holds; beyond that the oldest go to the medium.
struct WriteCacheLimits {
  std::uint64_t bytes = 4 << 20;
  std::size_t writes = 1024;
};

/// Takes the medium over. Of what was not flushed, lose_power() keeps an arbitrary part that a host has to reckon with.
std::unique_ptr<BlockStore> make_write_cache(std::unique_ptr<BlockStore> medium, const WriteCacheLimits& limits = {});

}  // namespace fb::subsystem
