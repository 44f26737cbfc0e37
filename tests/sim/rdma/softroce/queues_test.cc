// Completion notification, and what the trace is told.
#include "tests/sim/rdma/softroce/rig.h"

namespace fb::softroce {
namespace {

using rdma::SendOpcode;

struct Counter final : rdma::CompletionHandler {
  void on_completions() override { ++calls; }
  int calls = 0;
};

TEST(CompletionQueue, NotifiesOnceAndAtOnceWhenThereIsSomething) {
  Rig rig;
  Counter counter;
  rig.b.receive_cq->request_notify(counter);
  for (std::uint64_t i = 0; i < 4; ++i) rig.b.post_receive(i, 0, 100);
  rig.a.post(SendOpcode::send, 1, 0, 4);
  rig.a.post(SendOpcode::send, 2, 0, 4);
  rig.settle();
  EXPECT_EQ(counter.calls, 1);
  rig.b.receive_cq->request_notify(counter);
  rig.settle();
  EXPECT_EQ(counter.calls, 2);
  EXPECT_EQ(rig.b.receives().size(), 2u);
  rig.b.receive_cq->request_notify(counter);
  rig.settle();
  EXPECT_EQ(counter.calls, 2);
  rig.b.receive_cq->cancel_notify();
  rig.a.post(SendOpcode::send, 3, 0, 4);
  rig.settle();
  EXPECT_EQ(counter.calls, 2);
}

TEST(CompletionQueue, SolicitedOnlyWaitsForSolicitedOrError) {
  Rig rig;
  Counter counter;
  for (std::uint64_t i = 0; i < 4; ++i) rig.b.post_receive(i, 0, 100);
  rig.b.receive_cq->request_notify(counter, true);
  rig.a.post(SendOpcode::send, 1, 0, 4);
  rig.settle();
  EXPECT_EQ(counter.calls, 0);
  rig.a.post(SendOpcode::send, 2, 0, 4, [](auto& r) { r.solicited = true; });
  rig.settle();
  EXPECT_EQ(counter.calls, 1);
  rig.b.receives();
  rig.b.receive_cq->request_notify(counter, true);
  rig.b.qp->fail();
  rig.settle();
  EXPECT_EQ(counter.calls, 2);  // flushed receives
}

struct Listener final : TraceSink {
  void on_event(const TraceEvent& event) override {
    if (event.kind == TraceKind::state) states.push_back(std::string(event.label) + ": " + std::string(event.text));
  }
  std::vector<std::string> states;
};

TEST(Trace, StatesAndMarks) {
  Rig rig;
  Listener listener;
  rig.world->trace().add_sink(listener);
  rig.a.post(SendOpcode::rdma_write, 1, 0, 8);  // no key
  rig.settle();
  ASSERT_EQ(listener.states.size(), 2u);
  EXPECT_NE(listener.states[0].find("RDMA WRITE refused"), std::string::npos) << listener.states[0];
  EXPECT_NE(listener.states[1].find("NAK remote access error received"), std::string::npos);
  EXPECT_EQ(rig.world->trace().marks("rc.nak.fatal.sent"), 1u);
  rig.world->trace().remove_sink(listener);
}

TEST(Counters, AreNamedInOrder) {
  const auto all = named_counters();
  EXPECT_EQ(all.front().name, "packets_sent");
  EXPECT_EQ(all.back().name, "drop_ignored_nak");
}

}  // namespace
}  // namespace fb::softroce
