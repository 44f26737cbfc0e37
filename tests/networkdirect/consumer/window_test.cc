// Memory windows, which only devices on NetworkDirect have.
#include "tests/networkdirect/consumer/rig.h"

namespace fb::networkdirect::testing {
namespace {

using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::SendOpcode;

class Windows : public ::testing::Test {
 protected:
  Windows() {
    rig.connect();
    rig.a->fill(1);
    rig.b->fill(2);
    window = create_memory_window(rig.a->device);
  }
  /// What becomes of a request of the peer's through the window.
  CompletionStatus access(SendOpcode opcode, std::uint64_t id, std::uint64_t offset, std::uint32_t length) {
    const bool taken = rig.b->post(opcode, id, 0, length, [&](rdma::SendRequest& request) {
      request.remote_address = window->address() + offset;
      request.rkey = window->rkey();
    });
    rig.run();
    const rdma::Completion* const done = taken ? rig.b->find(id) : nullptr;
    return done != nullptr ? done->status : CompletionStatus::fatal;
  }

  Rig rig;
  std::unique_ptr<WindowRegion> window;
};

TEST_F(Windows, OpenAPartOfARegion) {
  ASSERT_TRUE(window->bind(*rig.a->qp, 1, *rig.a->region, 4096, 1024, rdma::Access::remote_read));
  EXPECT_EQ(window->address(), rig.a->region->address() + 4096);
  EXPECT_EQ(window->length(), 1024u);
  EXPECT_NE(window->rkey(), rig.a->region->rkey());
  rig.run();
  const rdma::Completion* const bound = rig.a->find(1);
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(bound->opcode, CompletionOpcode::fast_register);
  EXPECT_EQ(bound->status, CompletionStatus::success);
  EXPECT_EQ(access(SendOpcode::rdma_read, 2, 0, 1024), CompletionStatus::success);
  EXPECT_TRUE(std::equal(rig.b->memory.begin(), rig.b->memory.begin() + 1024, rig.a->memory.begin() + 4096));
  EXPECT_EQ(access(SendOpcode::rdma_read, 3, 1, 1024), CompletionStatus::remote_access_error);
}

TEST_F(Windows, GiveTheRightsThatWereAskedFor) {
  ASSERT_TRUE(window->bind(*rig.a->qp, 1, *rig.a->region, 0, 1024, rdma::Access::remote_read));
  EXPECT_EQ(access(SendOpcode::rdma_write, 2, 0, 8), CompletionStatus::remote_access_error);
}

TEST_F(Windows, CloseAndOpenAgain) {
  ASSERT_TRUE(window->bind(*rig.a->qp, 1, *rig.a->region, 0, 1024, rdma::Access::remote_write));
  rig.run();
  ASSERT_TRUE(window->invalidate(*rig.a->qp, 2));
  rig.run();
  const rdma::Completion* const closed = rig.a->find(2);
  ASSERT_NE(closed, nullptr);
  EXPECT_EQ(closed->opcode, CompletionOpcode::local_invalidate);
  EXPECT_EQ(closed->status, CompletionStatus::success);
  ASSERT_TRUE(window->bind(*rig.a->qp, 3, *rig.a->region, 2048, 1024, rdma::Access::remote_write));
  EXPECT_EQ(access(SendOpcode::rdma_write, 4, 0, 1024), CompletionStatus::success);
  EXPECT_TRUE(std::equal(rig.b->memory.begin(), rig.b->memory.begin() + 1024, rig.a->memory.begin() + 2048));
  ASSERT_TRUE(window->invalidate(*rig.a->qp, 5));
  EXPECT_EQ(access(SendOpcode::rdma_write, 6, 0, 8), CompletionStatus::remote_access_error);
}

}  // namespace
}  // namespace fb::networkdirect::testing
