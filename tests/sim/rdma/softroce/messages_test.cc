// Every message of RC, all sizes around the packet borders, all path MTUs: content, completions,
// lengths.
#include <ostream>

#include "sim/rdma/softroce/memory.h"
#include "tests/sim/rdma/softroce/rig.h"

namespace fb::softroce {
namespace {

using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::SendOpcode;

class MessageSizes : public testing::TestWithParam<std::uint8_t> {
 protected:
  static RigOptions options() {
    RigOptions o;
    o.mtu_code = GetParam();
    o.memory = 3 << 20;
    o.psn_a = 0xFFFFFE;  // wraps soon
    return o;
  }
  static std::vector<std::uint32_t> sizes() {
    const std::uint32_t mtu = roce::mtu_bytes(GetParam());
    return {0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu, 5 * mtu + 3, 1 << 20};
  }
};

TEST_P(MessageSizes, Send) {
  Rig rig(options());
  rig.a.fill(1);
  std::uint64_t id = 0;
  for (const std::uint32_t size : sizes()) {
    ASSERT_TRUE(rig.b.post_receive(100 + id, 7, 1 << 20));
    ASSERT_TRUE(rig.a.post(SendOpcode::send, id, 13, size));
    ASSERT_TRUE(rig.settle());
    const auto sent = rig.a.sends();
    const auto received = rig.b.receives();
    ASSERT_EQ(sent.size(), 1u) << size;
    ASSERT_EQ(received.size(), 1u) << size;
    EXPECT_EQ(sent[0].status, CompletionStatus::success);
    EXPECT_EQ(sent[0].id, id);
    EXPECT_EQ(sent[0].opcode, CompletionOpcode::send);
    EXPECT_EQ(sent[0].qp_context, &rig.a);
    EXPECT_EQ(received[0].status, CompletionStatus::success);
    EXPECT_EQ(received[0].id, 100 + id);
    EXPECT_EQ(received[0].byte_length, size);
    EXPECT_FALSE(received[0].has_immediate || received[0].has_invalidate || received[0].solicited);
    EXPECT_TRUE(same(rig.a.bytes(13, size), rig.b.bytes(7, size)));
    ++id;
  }
  EXPECT_EQ(rig.a.device->counters().rewinds, 0u);
}

TEST_P(MessageSizes, WriteTakesNoReceive) {
  Rig rig(options());
  rig.a.fill(2);
  for (const std::uint32_t size : sizes()) {
    ASSERT_TRUE(rig.a.post_to(rig.b, SendOpcode::rdma_write, 1, 5, size, 1001));
    ASSERT_TRUE(rig.settle());
    const auto sent = rig.a.sends();
    ASSERT_EQ(sent.size(), 1u) << size;
    EXPECT_EQ(sent[0].status, CompletionStatus::success);
    EXPECT_EQ(sent[0].opcode, CompletionOpcode::rdma_write);
    EXPECT_TRUE(same(rig.a.bytes(5, size), rig.b.bytes(1001, size)));
    EXPECT_TRUE(rig.b.receives().empty());
  }
}

TEST_P(MessageSizes, WriteWithImmediate) {
  Rig rig(options());
  rig.a.fill(3);
  for (const std::uint32_t size : sizes()) {
    ASSERT_TRUE(rig.b.post_receive(9, 0, 0));
    ASSERT_TRUE(rig.a.post_to(rig.b, SendOpcode::rdma_write_with_immediate, 1, 5, size, 1001, [](auto& r) {
      r.immediate = 0x01020304;
      r.solicited = true;
    }));
    ASSERT_TRUE(rig.settle());
    const auto received = rig.b.receives();
    ASSERT_EQ(received.size(), 1u) << size;
    EXPECT_EQ(received[0].opcode, CompletionOpcode::receive_rdma_with_immediate);
    EXPECT_EQ(received[0].byte_length, size);
    EXPECT_TRUE(received[0].has_immediate && received[0].solicited);
    EXPECT_EQ(received[0].immediate, 0x01020304u);
    EXPECT_TRUE(same(rig.a.bytes(5, size), rig.b.bytes(1001, size)));
    EXPECT_EQ(rig.a.sends().size(), 1u);
  }
}

TEST_P(MessageSizes, Read) {
  Rig rig(options());
  rig.b.fill(4);
  for (const std::uint32_t size : sizes()) {
    ASSERT_TRUE(rig.a.post_to(rig.b, SendOpcode::rdma_read, 1, 11, size, 17));
    ASSERT_TRUE(rig.settle());
    const auto sent = rig.a.sends();
    ASSERT_EQ(sent.size(), 1u) << size;
    EXPECT_EQ(sent[0].status, CompletionStatus::success);
    EXPECT_EQ(sent[0].opcode, CompletionOpcode::rdma_read);
    EXPECT_EQ(sent[0].byte_length, size);
    EXPECT_TRUE(same(rig.a.bytes(11, size), rig.b.bytes(17, size)));
  }
  EXPECT_EQ(rig.a.device->counters().implied_naks, 0u);
}

INSTANTIATE_TEST_SUITE_P(Mtu, MessageSizes, testing::Values(1, 2, 3, 4, 5));

TEST(Messages, ImmediateInvalidateAndSolicited) {
  Rig rig;
  rig.a.fill(1);
  rig.b.post_receive(1, 0, 4096);
  rig.b.post_receive(2, 0, 4096);
  rig.a.post(SendOpcode::send_with_immediate, 1, 0, 3000, [](auto& r) {
    r.immediate = 0xA1B2C3D4;
    r.solicited = true;
  });
  rig.settle();
  auto received = rig.b.receives();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(received[0].has_immediate && received[0].solicited);
  EXPECT_EQ(received[0].immediate, 0xA1B2C3D4u);
  EXPECT_EQ(received[0].byte_length, 3000u);

  // A fast-registered region at b that a invalidates.
  auto fast = rig.b.domain->allocate_fast_region(8192);
  const std::uint32_t key = (fast->rkey() & ~0xFFu) | 0x42;
  rdma::SendRequest registration;
  registration.opcode = SendOpcode::fast_register;
  registration.region = fast.get();
  registration.memory = MutableBytes{rig.b.memory}.subspan(8192, 8192);
  registration.iova = 0xff3beddac1071000;
  registration.access = rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read;
  registration.key_byte = 0x42;
  ASSERT_TRUE(rig.b.qp->post_send(registration));
  rig.settle();
  auto sent = rig.b.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, CompletionStatus::success);
  EXPECT_EQ(sent[0].opcode, CompletionOpcode::fast_register);
  EXPECT_EQ(fast->rkey(), key);
  EXPECT_EQ(fast->address(), 0xff3beddac1071000);

  rig.a.post(SendOpcode::rdma_write, 2, 0, 100, [&](auto& r) {
    r.remote_address = 0xff3beddac1071000 + 8092;
    r.rkey = key;
  });
  rig.a.post(SendOpcode::send_with_invalidate, 3, 0, 16, [&](auto& r) { r.invalidate_rkey = key; });
  rig.settle();
  received = rig.b.receives();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(received[0].has_invalidate);
  EXPECT_EQ(received[0].invalidated_rkey, key);
  EXPECT_TRUE(same(rig.a.bytes(0, 100), rig.b.bytes(16384 - 100, 100)));
  EXPECT_EQ(rig.a.sends().size(), 3u);

  // Used after that, the key is unknown.
  rig.a.post(SendOpcode::rdma_write, 4, 0, 8, [&](auto& r) {
    r.remote_address = 0xff3beddac1071000;
    r.rkey = key;
  });
  rig.settle();
  sent = rig.a.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].status, CompletionStatus::remote_access_error);
}

/// A fast registration over `memory` by `by`, at I/O address `kWindow` under key byte `byte`.
constexpr std::uint64_t kWindow = 0x7000'0000'0000;
CompletionStatus fast_register(Side& side, rdma::QueuePair& by, rdma::MemoryRegion& region, MutableBytes memory, std::uint8_t byte,
                               bool this_queue_only, Rig& rig) {
  rdma::SendRequest request;
  request.opcode = SendOpcode::fast_register;
  request.region = &region;
  request.memory = memory;
  request.iova = kWindow;
  request.access = rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read | rdma::Access::remote_atomic;
  request.key_byte = byte;
  request.this_queue_only = this_queue_only;
  EXPECT_TRUE(by.post_send(request));
  rig.settle();
  const auto sent = side.sends();
  EXPECT_EQ(sent.size(), 1u);
  return sent.empty() ? CompletionStatus::general_error : sent[0].status;
}

/// A second pair of connected queue pairs on the sides of a rig.
struct SecondPair {
  explicit SecondPair(Rig& rig) : a(make(rig.a)), b(make(rig.b)) {
    const auto connect = [&](Side& side, rdma::QueuePair& qp, Side& peer, rdma::QueuePair& other) {
      PathFacts path = rig.facts(peer, 0x300, 0x300);
      path.peer_qpn = other.number();
      side.device->seam_of(qp).to_ready_to_receive(path);
      side.device->seam_of(qp).to_ready_to_send(path);
    };
    connect(rig.a, *a, rig.b, *b);
    connect(rig.b, *b, rig.a, *a);
  }
  static std::unique_ptr<rdma::QueuePair> make(Side& side) {
    rdma::QueuePairOptions options;
    options.send_queue = side.send_cq.get();
    options.receive_queue = side.receive_cq.get();
    options.handler = &side;
    return side.device->create_queue_pair(*side.domain, options);
  }
  std::unique_ptr<rdma::QueuePair> a;
  std::unique_ptr<rdma::QueuePair> b;
};

TEST(Messages, RegionsAtAddressesOfTheCallersChoice) {
  Rig rig;
  rig.a.fill(1);
  Bytes first(4096);
  Bytes second(4096);
  const rdma::Access access = rdma::Access::local_write | rdma::Access::remote_write | rdma::Access::remote_read;
  // They overlap: the keys tell them apart. The addresses need not be round, and may be the last there are.
  for (const std::uint64_t iova : {std::uint64_t{0}, std::uint64_t{0x7FFF'1234'5679}, ~std::uint64_t{0} - 4095 - 100}) {
    SCOPED_TRACE(iova);
    std::fill(first.begin(), first.end(), std::uint8_t{0});
    std::fill(second.begin(), second.end(), std::uint8_t{0});
    const auto one = rig.b.domain->register_memory_at(iova, first, access);
    const auto two = rig.b.domain->register_memory_at(iova + 100, second, access);
    EXPECT_EQ(one->address(), iova);
    EXPECT_EQ(two->address(), iova + 100);
    EXPECT_EQ(one->length(), 4096u);
    EXPECT_NE(one->rkey(), two->rkey());
    const auto towards = [&](const rdma::MemoryRegion& region) {
      return [&](rdma::SendRequest& r) { r.remote_address = iova + 200, r.rkey = region.rkey(); };
    };
    rig.a.post(SendOpcode::rdma_write, 1, 0, 3000, towards(*one));
    rig.a.post(SendOpcode::rdma_write, 2, 5000, 3000, towards(*two));
    rig.a.post(SendOpcode::rdma_read, 3, 20000, 3000, towards(*one));
    rig.settle();
    EXPECT_EQ(rig.a.sends().size(), 3u);
    EXPECT_TRUE(same(rig.a.bytes(0, 3000), ByteView{first}.subspan(200, 3000)));
    EXPECT_TRUE(same(rig.a.bytes(5000, 3000), ByteView{second}.subspan(100, 3000)));
    EXPECT_TRUE(same(rig.a.bytes(0, 3000), rig.a.bytes(20000, 3000)));
    // Locally as well.
    const rdma::Sge sge = two->sge(8, 64);
    ASSERT_TRUE(rig.b.qp->post_receive({4, {&sge, 1}}));
    rig.a.post(SendOpcode::send, 5, 300, 64);
    rig.settle();
    EXPECT_EQ(rig.a.sends().size(), 1u);
    EXPECT_EQ(rig.b.receives().size(), 1u);
    EXPECT_TRUE(same(rig.a.bytes(300, 64), ByteView{second}.subspan(8, 64)));
  }
  // Ordinary regions get the addresses that they would have had without.
  Rig other;
  Bytes memory(64);
  EXPECT_EQ(rig.b.domain->register_memory(memory, access)->address(), other.b.domain->register_memory(memory, access)->address());
}

// One key, used by the peer of its queue pair and by the peer of another, in each way there is.
TEST(Messages, AKeyForOneQueuePairIsUnknownOnOthers) {
  for (const SendOpcode opcode :
       {SendOpcode::rdma_write, SendOpcode::rdma_read, SendOpcode::fetch_and_add, SendOpcode::send_with_invalidate}) {
    for (const bool this_queue_only : {false, true}) {
      for (const bool same_queue : {false, true}) {
        SCOPED_TRACE(static_cast<int>(opcode) * 100 + (this_queue_only ? 10 : 0) + (same_queue ? 1 : 0));
        Rig rig;
        SecondPair second(rig);
        rig.a.fill(1);
        Bytes memory(4096, 0x11);
        const auto region = rig.b.domain->allocate_fast_region(memory.size());
        ASSERT_EQ(fast_register(rig.b, *rig.b.qp, *region, memory, 0x42, this_queue_only, rig), CompletionStatus::success);
        rdma::QueuePair& mine = same_queue ? *rig.b.qp : *second.b;
        rdma::QueuePair& user = same_queue ? *rig.a.qp : *second.a;
        const rdma::Sge into = rig.b.region->sge(0, 64);
        ASSERT_TRUE(mine.post_receive({7, {&into, 1}}));
        const rdma::Sge sge = rig.a.region->sge(0, 8);
        rdma::SendRequest request;
        request.opcode = opcode;
        request.sges = {&sge, 1};
        request.remote_address = kWindow;
        request.rkey = request.invalidate_rkey = region->rkey();
        request.swap_or_add = 1;
        ASSERT_TRUE(user.post_send(request));
        rig.settle();
        const bool good = same_queue || !this_queue_only;
        const auto sent = rig.a.sends();
        if (opcode == SendOpcode::send_with_invalidate) {
          const auto received = rig.b.receives();
          ASSERT_EQ(received.size(), 1u);
          EXPECT_EQ(received[0].status, good ? CompletionStatus::success : CompletionStatus::remote_invalid_request);
        } else {
          ASSERT_EQ(sent.size(), 1u);
          EXPECT_EQ(sent[0].status, good ? CompletionStatus::success : CompletionStatus::remote_access_error);
          EXPECT_EQ(mine.state(), good ? rdma::QpState::ready_to_send : rdma::QpState::error);
        }
        if (!good) {
          EXPECT_EQ(memory, Bytes(4096, 0x11));
          // The rightful user is none the worse for it.
          ASSERT_TRUE(rig.a.post(SendOpcode::rdma_write, 9, 0, 64, [&](auto& r) {
            r.remote_address = kWindow;
            r.rkey = region->rkey();
          }));
          rig.settle();
          EXPECT_TRUE(same(rig.a.bytes(0, 64), ByteView{memory}.first(64)));
        }
      }
    }
  }
}

TEST(Messages, AKeyForOneQueuePairMovesWithTheNextRegistration) {
  Rig rig;
  SecondPair second(rig);
  rig.a.fill(1);
  Bytes memory(4096);
  const auto region = rig.b.domain->allocate_fast_region(memory.size());
  const auto write = [&](rdma::QueuePair& by) {
    const rdma::Sge sge = rig.a.region->sge(0, 64);
    rdma::SendRequest request;
    request.opcode = SendOpcode::rdma_write;
    request.sges = {&sge, 1};
    request.remote_address = kWindow;
    request.rkey = region->rkey();
    EXPECT_TRUE(by.post_send(request));
    rig.settle();
    const auto sent = rig.a.sends();
    return sent.size() == 1 ? sent[0].status : CompletionStatus::general_error;
  };
  const auto invalidate = [&](rdma::QueuePair& by) {
    rdma::SendRequest request;
    request.opcode = SendOpcode::local_invalidate;
    request.invalidate_rkey = region->rkey();
    EXPECT_TRUE(by.post_send(request));
    rig.settle();
    const auto sent = rig.b.sends();
    return sent.size() == 1 ? sent[0].status : CompletionStatus::general_error;
  };
  // Ours, then the other's, then everybody's, then the other's again.
  ASSERT_EQ(fast_register(rig.b, *rig.b.qp, *region, memory, 1, true, rig), CompletionStatus::success);
  EXPECT_EQ(write(*rig.a.qp), CompletionStatus::success);
  EXPECT_EQ(invalidate(*rig.b.qp), CompletionStatus::success);
  ASSERT_EQ(fast_register(rig.b, *second.b, *region, memory, 2, true, rig), CompletionStatus::success);
  EXPECT_EQ(write(*second.a), CompletionStatus::success);
  // Its own side may use the memory on any queue pair.
  const rdma::Sge local{kWindow, 64, region->lkey()};
  ASSERT_TRUE(rig.b.qp->post_receive({1, {&local, 1}}));
  rig.a.post(SendOpcode::send, 2, 128, 64);
  rig.settle();
  EXPECT_EQ(rig.a.sends().size(), 1u);
  EXPECT_TRUE(same(rig.a.bytes(128, 64), ByteView{memory}.first(64)));
  EXPECT_EQ(invalidate(*rig.b.qp), CompletionStatus::success);
  ASSERT_EQ(fast_register(rig.b, *second.b, *region, memory, 3, false, rig), CompletionStatus::success);
  EXPECT_EQ(write(*rig.a.qp), CompletionStatus::success);
  EXPECT_EQ(write(*second.a), CompletionStatus::success);
  EXPECT_EQ(invalidate(*second.b), CompletionStatus::success);
  ASSERT_EQ(fast_register(rig.b, *second.b, *region, memory, 4, true, rig), CompletionStatus::success);
  EXPECT_EQ(write(*second.a), CompletionStatus::success);
  EXPECT_EQ(write(*rig.a.qp), CompletionStatus::remote_access_error);
}

// Regions that overlap, at addresses up to the last, of queue pairs and of nobody, against a table that is kept by hand.
TEST(Messages, MemoryTableFindsWhatIsThereAndNothingElse) {
  Rng rng(7);
  struct Known {
    std::uint32_t key;
    std::uint64_t iova;
    std::uint64_t length;
    std::uint32_t queue;
    std::uint8_t* data;
  };
  for (int round = 0; round < 50; ++round) {
    MemoryTable table(0x100, 3);
    Bytes memory(1 << 12);
    std::vector<Known> known;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t at = rng.below(1024);
      const std::uint64_t length = rng.between(1, 512);
      const MutableBytes piece = MutableBytes{memory}.subspan(at, length);
      const std::uint64_t iova = (rng.below(2) == 0 ? 0x5000 : ~std::uint64_t{0} - 1500) + rng.below(1024);
      const auto queue = static_cast<std::uint32_t>(rng.below(2) == 0 ? 0 : rng.between(0x11, 0x13));
      std::uint32_t key = 0;
      if (queue == 0 && rng.below(2) == 0) {
        key = table.add_at(iova, 1, piece, rdma::Access::remote_write);
      } else {
        key = table.add_fast(1, 512);
        const auto byte = static_cast<std::uint8_t>(rng.next());
        ASSERT_TRUE(table.fast_register(1, key, piece, iova, rdma::Access::remote_write, byte, queue));
        key = (key & ~0xFFu) | byte;
      }
      known.push_back({key, iova, length, queue, piece.data()});
    }
    for (int i = 0; i < 500; ++i) {
      const Known& k = known[rng.below(known.size())];
      const std::uint64_t address = k.iova + rng.below(1200) - 300;
      const std::uint64_t length = rng.between(1, 600);
      const auto asking = static_cast<std::uint32_t>(rng.below(3) == 0 ? 0 : rng.between(0x11, 0x13));
      const auto found = table.find(1, k.key, address, length, rdma::Access::remote_write, nullptr, asking);
      const bool queue_fits = k.queue == 0 || asking == 0 || asking == k.queue;
      // From the distances, which do not wrap.
      const bool inside = address >= k.iova && address - k.iova < k.length && length <= k.length - (address - k.iova);
      const KeyCheck wanted = !queue_fits ? KeyCheck::unknown_key : inside ? KeyCheck::ok : KeyCheck::out_of_range;
      ASSERT_EQ(found.check, wanted) << round << " " << i;
      if (inside && queue_fits) {
        ASSERT_EQ(found.data, k.data + (address - k.iova));
      }
    }
    // A peer may invalidate what it may use.
    for (const Known& k : known) {
      if (k.queue == 0) continue;
      EXPECT_FALSE(table.invalidate(1, k.key, k.queue + 1));
      EXPECT_TRUE(table.invalidate(1, k.key, k.queue));
      EXPECT_FALSE(table.invalidate(1, k.key, k.queue)) << "it is free";
    }
  }
}

TEST(Messages, AtomicsReturnTheOriginalValue) {
  Rig rig;
  store_le<std::uint64_t>(&rig.b.memory[64], 40);
  rig.a.post_to(rig.b, SendOpcode::fetch_and_add, 1, 0, 8, 64, [](auto& r) { r.swap_or_add = 2; });
  rig.a.post_to(rig.b, SendOpcode::compare_and_swap, 2, 8, 8, 64, [](auto& r) {
    r.compare = 42;
    r.swap_or_add = 0x1122334455667788;
  });
  rig.a.post_to(rig.b, SendOpcode::compare_and_swap, 3, 16, 8, 64, [](auto& r) {
    r.compare = 42;
    r.swap_or_add = 7;
  });
  rig.settle();
  const auto sent = rig.a.sends();
  ASSERT_EQ(sent.size(), 3u);
  for (const auto& c : sent) EXPECT_EQ(c.status, CompletionStatus::success);
  EXPECT_EQ(load_le<std::uint64_t>(&rig.a.memory[0]), 40u);
  EXPECT_EQ(load_le<std::uint64_t>(&rig.a.memory[8]), 42u);
  EXPECT_EQ(load_le<std::uint64_t>(&rig.a.memory[16]), 0x1122334455667788u);
  EXPECT_EQ(load_le<std::uint64_t>(&rig.b.memory[64]), 0x1122334455667788u);
}

TEST(Messages, InlineDataAndSgeListsAndUnsignaled) {
  Rig rig;
  rig.a.fill(5);
  const Bytes before = rig.a.memory;
  rig.b.post_receive(1, 0, 4096);
  rig.b.post_receive(2, 4096, 4096);
  rig.a.post(SendOpcode::send, 1, 0, 200, [](auto& r) {
    r.inline_data = true;
    r.signaled = false;
  });
  rig.a.fill(6);  // inline data was copied at post time
  const rdma::Sge sges[] = {rig.a.region->sge(1, 10), rig.a.region->sge(500, 1500), rig.a.region->sge(100, 0), rig.a.region->sge(20, 7)};
  rdma::SendRequest request;
  request.id = 2;
  request.sges = sges;
  ASSERT_TRUE(rig.a.qp->post_send(request));
  rig.settle();
  const auto sent = rig.a.sends();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].id, 2u);
  EXPECT_TRUE(same(rig.b.bytes(0, 200), ByteView{before}.first(200)));
  EXPECT_TRUE(same(rig.b.bytes(4096, 10), rig.a.bytes(1, 10)));
  EXPECT_TRUE(same(rig.b.bytes(4106, 1500), rig.a.bytes(500, 1500)));
  EXPECT_TRUE(same(rig.b.bytes(5606, 7), rig.a.bytes(20, 7)));
}

TEST(Messages, Ipv6) {
  RigOptions o;
  o.address_a = *IpAddress::parse("fd00::1");
  o.address_b = *IpAddress::parse("fd00::2");
  Rig rig(o);
  rig.a.fill(1);
  rig.b.post_receive(1, 0, 8192);
  rig.a.post(SendOpcode::send, 1, 0, 5000);
  rig.settle();
  EXPECT_EQ(rig.b.receives().size(), 1u);
  EXPECT_TRUE(same(rig.a.bytes(0, 5000), rig.b.bytes(0, 5000)));
}

TEST(Messages, FenceWaitsForReadsAndReadDepthIsKept) {
  RigOptions o;
  o.depth = 2;
  Rig rig(o);
  rig.b.fill(1);
  for (std::uint64_t i = 0; i < 6; ++i) {
    rig.a.post_to(rig.b, SendOpcode::rdma_read, i, 100 * i, 100, 100 * i);
  }
  // The fenced write sends what the reads have fetched.
  rig.a.post_to(rig.b, SendOpcode::rdma_write, 6, 0, 600, 2000, [](auto& r) { r.fence = true; });
  rig.settle();
  EXPECT_EQ(rig.a.sends().size(), 7u);
  EXPECT_TRUE(same(rig.b.bytes(0, 600), rig.b.bytes(2000, 600)));
}

TEST(Messages, SharedReceiveQueueAndLimitEvent) {
  RigOptions o;
  o.shared_receive_queue = true;
  Rig rig(o);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(rig.b.post_receive(i, 100 * i, 100));
  rig.b.shared->arm_limit(3);
  rig.a.post(SendOpcode::send, 1, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.b.limits, 0);
  rig.a.post(SendOpcode::send, 2, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.b.limits, 1);
  rig.a.post(SendOpcode::send, 3, 0, 10);
  rig.settle();
  EXPECT_EQ(rig.b.limits, 1);  // one-shot
  const auto received = rig.b.receives();
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[2].id, 2u);
  // In error, what is left stays for others.
  rig.b.qp->fail();
  EXPECT_TRUE(rig.b.receives().empty());
}

TEST(Messages, WindowPacesALongWrite) {
  RigOptions o;
  o.mtu_code = 1;
  o.engine.window_packets = 8;
  o.memory = 1 << 20;
  Rig rig(o);
  rig.a.fill(9);
  rig.a.post_to(rig.b, SendOpcode::rdma_write, 1, 0, 1 << 19, 0);
  // One-way time is 5 us: within it, not more than the window is on its way.
  rig.world->run_for(Duration::us(4));
  EXPECT_EQ(rig.a.device->counters().packets_sent, 8u);
  rig.settle();
  EXPECT_EQ(rig.a.sends().size(), 1u);
  EXPECT_TRUE(same(rig.a.bytes(0, 1 << 19), rig.b.bytes(0, 1 << 19)));
}

}  // namespace
}  // namespace fb::softroce
