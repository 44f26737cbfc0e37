// Many reads at a time over real UDP sockets: in real time a controller sends their data together and their responses behind it.
#include <gtest/gtest.h>

#include "sim/net/udp_port.h"
#include "tests/bench/rdma_stack.h"

namespace fb::bench {
namespace {

constexpr std::uint64_t kBlocks = 512;

struct Pair {
  std::unique_ptr<World> world = World::make_real(1);
  net::RealHost sockets{*world};
  RdmaTargetSide target{*world, sockets, IpAddress::v4(127, 0, 0, 62), {.blocks = kBlocks, .blocks_written = kBlocks}};
  RdmaHostSide host{*world, sockets, IpAddress::v4(127, 0, 0, 61), target.listener->local()};
};

TEST(RdmaInRealTime, ReadsOfEachSizeBringTheirData) {
  Pair pair;
  pair.host.enable();
  unsigned qid = 0;
  for (const std::uint32_t bytes : {4096u, 16384u, 131072u}) {
    for (const unsigned depth : {1u, 7u, 32u, 100u}) {
      IoLoop io(pair.host, static_cast<std::uint16_t>(depth), bytes, kBlocks,
                IoLoop::Options{.qid = static_cast<std::uint16_t>(++qid), .random = true});
      io.run(depth * 3);
      EXPECT_TRUE(io.holds_pattern()) << bytes << " bytes, " << depth << " at a time";
    }
  }
}

}  // namespace
}  // namespace fb::bench
