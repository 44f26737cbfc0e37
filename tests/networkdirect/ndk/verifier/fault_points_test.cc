// The consumer departs at one point at a time: each is found, by the rule that it breaks.
#include <map>

#include "networkdirect/ndk/consumer/fault_points.h"
#include "tests/leaks_on_purpose.h"
#include "tests/networkdirect/ndk/consumer/rig.h"
#include "tests/networkdirect/ndk/verifier/watch.h"

namespace fb::ndk::verifier {
namespace {

using ndk::testing::DeviceRig;
using ndk::testing::End;
using ndk::testing::kWays;
using ndk::testing::RigOptions;
using ndk::testing::Way;
using rdma::SendOpcode;

const std::map<std::string_view, std::string_view> kRuleOf = {
    {"pd.closed_twice", "closed_twice"},
    {"cq.closed_twice", "closed_twice"},
    {"srq.closed_twice", "closed_twice"},
    {"qp.closed_twice", "closed_twice"},
    {"mr.closed_twice", "closed_twice"},
    {"connector.closed_twice", "closed_twice"},
    {"listener.closed_twice", "closed_twice"},
    {"close.no_completion", "completion_missing"},
    {"pd.leaked", "leaked_object"},
    {"cq.leaked", "leaked_object"},
    {"srq.leaked", "leaked_object"},
    {"qp.leaked", "leaked_object"},
    {"mr.leaked", "leaked_object"},
    {"connector.leaked", "leaked_object"},
    {"listener.leaked", "leaked_object"},
    {"cq.used_after_close", "use_after_close"},
    {"srq.used_after_close", "use_after_close"},
    {"qp.used_after_close", "use_after_close"},
    {"pending.taken_for_done", "token_before_registration"},
    {"mr.token_early", "token_before_registration"},
    {"mr.registered_twice", "registered_twice"},
    {"mr.beyond_mdl", "mdl_too_short"},
    {"mr.close_without_deregister", "region_closed_registered"},
    {"mr.deregistered_twice", "deregister_unregistered"},
    {"mr.register_of_fast", "register_of_fast_region"},
    {"mr.fast_of_plain", "initialize_of_plain_region"},
    {"mr.uninitialised", "fast_region_uninitialized"},
    {"mr.too_many_pages", "initialize_pages_wrong"},
    {"mr.local_only", "fast_remote_denied"},
    {"mdl.changed_in_flight", "mdl_changed_in_flight"},
    {"lam.beyond_mdl", "mdl_too_short"},
    {"lam.released_early", "lam_released_in_use"},
    {"lam.released_twice", "lam_released_twice"},
    {"lam.leaked", "lam_leaked"},
    {"post.bad_token", "sge_token_unknown"},
    {"post.too_many_sges", "sge_count_exceeded"},
    {"post.unknown_flag", "op_flags_unknown"},
    {"post.defer_without_end", "deferred_without_end"},
    {"read.inline", "op_flags_misplaced"},
    {"receive.beside_shared_queue", "receive_beside_shared"},
    {"fast_register.other_offset", "fast_offset_wrong"},
    {"fast_register.beyond_pages", "fast_length_exceeded"},
    {"fast_register.again_valid", "fast_register_of_valid_region"},
    {"invalidate.twice", "invalidate_of_invalid_region"},
    {"invalidate.plain_region", "invalidate_of_plain_region"},
    {"qp.too_deep", "qp_depth_exceeded"},
    {"qp.not_flushed", "deregister_in_use"},
    {"query.in_callback", "irql_too_high"},
    {"cq.too_deep", "cq_depth_exceeded"},
    {"cq.armed_wrongly", "arm_type_unknown"},
    {"cq.polled_in_callback", "cq_calls_overlap"},
    {"connect.too_much_data", "private_data_too_long"},
    {"connect.twice", "connect_twice"},
    {"connect.not_completed", "post_unconnected"},
    {"connect.completed_twice", "complete_connect_twice"},
    {"connect.data_asked_late", "connection_data_late"},
    {"accept.too_much_data", "private_data_too_long"},
    {"accept.twice", "accept_twice"},
    {"accept.then_reject", "reject_after_accept"},
    {"request.unanswered", "request_unanswered"},
    {"request.rejected_twice", "rejected_twice"},
    {"disconnect.unconnected", "disconnect_unconnected"},
    {"disconnect.twice", "disconnected_twice"},
    {"qp.connected_again", "queue_pair_reused"},
    {"qp.closed_connected", "closed_connected"},
    {"listener.listens_twice", "listen_twice"},
    {"cq.never_armed", "cq_never_armed"},
    {"connect.refused_reused", "connector_refused_reused"},
    {"connect.port_shared", "ports_shared"},
    {"receive.late", "receives_late"},
};

struct Departing final : ConsumerHooks {
  explicit Departing(std::string_view p) : point(p) {}
  bool departs(std::string_view asked) override { return asked == point; }
  std::string_view point;
};

/// Connects, if it can.
void connect(DeviceRig& rig, End& end) {
  end.lenient = true;
  end.make_qp();
  if (end.qp == nullptr) return;
  end.post_receive(1, 0, 4096);
  end.connect({rig.b->device.address(), 4420});
  rig.run();
}

/// Everything that consumers do, as far as this one gets.
void use_everything(DeviceRig& rig) {
  rig.b->lenient = true;
  rig.b->listen();
  connect(rig, *rig.a);
  auto fast = rig.a->domain->allocate_fast_region(1 << 16);
  Bytes data(4096);
  if (rig.a->qp != nullptr) {
    rig.a->post(SendOpcode::fast_register, 1, 0, 0, [&](auto& request) {
      request.region = fast.get();
      request.memory = data;
      request.iova = 0x5000000;
      request.access = rdma::Access::local_write | rdma::Access::remote_write;
    });
    rig.run();
    rig.a->post(SendOpcode::local_invalidate, 2, 0, 0, [&](auto& request) { request.invalidate_rkey = fast->rkey(); });
    rig.a->post(SendOpcode::send, 3, 0, 100);
    rig.run();
    rig.a->post(SendOpcode::rdma_read, 4, 0, 100, [&](auto& request) {
      request.remote_address = rig.b->region->address();
      request.rkey = rig.b->region->rkey();
    });
    rig.run();
    // A queue that is armed when it has results already.
    rig.a->cq->cancel_notify();
    for (std::uint64_t id = 5; id < 7; ++id) {
      rig.a->post(SendOpcode::send, id, 0, 8);
      rig.run();
    }
    rig.a->cq->request_notify(*rig.a);
    rig.run();
    rig.a->qp->disconnect();
    rig.run();
  }
  rig.b->refuse = true;
  End refused(rig.a->device);
  connect(rig, refused);
  // One that is destroyed while it is connected.
  rig.b->refuse = false;
  End left(rig.a->device);
  connect(rig, left);
  End beside(rig.a->device);
  connect(rig, beside);
}

std::set<std::string> found_with(std::string_view point, const Way& way, bool shared) {
  const LeaksOnPurpose scope;
  Departing hooks(point);
  try {
    DeviceRig rig(way, {.shared_queue = shared, .hooks = &hooks, .notify_inside_arm = true});
    use_everything(rig);
  } catch (const UserError&) {
    // The provider did not put up with it.
  }
  return found_by_watches();
}

class NdkConsumerDeparture : public ::testing::TestWithParam<std::string_view> {};

std::vector<std::string_view> points() {
  std::vector<std::string_view> names;
  for (const FaultPoint& departure : kConsumerFaultPoints) names.push_back(departure.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Points, NdkConsumerDeparture, ::testing::ValuesIn(points()), [](const auto& point) {
  std::string name(point.param);
  std::ranges::replace(name, '.', '_');
  return name;
});

TEST_P(NdkConsumerDeparture, IsFound) {
  const auto rule = kRuleOf.find(GetParam());
  ASSERT_NE(rule, kRuleOf.end());
  ASSERT_NE(find_rule(rule->second), nullptr);
  std::set<std::string> found;
  for (const Way& way : kWays) {
    if (!way.answers.has_value()) continue;  // what checks nothing need not survive it
    for (const bool shared : {false, true}) found.merge(found_with(GetParam(), way, shared));
  }
  std::string names;
  for (const std::string& name : found) names += name + " ";
  EXPECT_TRUE(found.contains(std::string(rule->second))) << "found: " << names;
}

TEST(NdkConsumerDepartures, TheTableIsThatOfTheConsumer) { EXPECT_EQ(kRuleOf.size(), std::size(kConsumerFaultPoints)); }

}  // namespace
}  // namespace fb::ndk::verifier
