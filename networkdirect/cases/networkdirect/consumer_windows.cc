// Whether consumers deal rightly with memory windows.
#include "networkdirect/cases/networkdirect/consumer_scene.h"

namespace fb::conformance {
namespace {

constexpr std::uint64_t kOffset = 4096, kLength = 1024;

/// Opens a part of a region to the peer, which reads it, and closes it again.
void open_and_close(NdConsumer& nd, NdLine& line, rdma::MemoryRegion& region) {
  NdProgram& program = nd.program();
  const auto window = networkdirect::create_memory_window(program.device());
  must(window != nullptr, "the consumer makes a window");
  must(window->bind(line.qp(), 501, region, kOffset, kLength, rdma::Access::remote_read), "the consumer binds a window");
  const auto bound = program.completion();
  must(bound && bound->status == rdma::CompletionStatus::success, "a window is bound");
  rdma::SendRequest read;
  read.opcode = rdma::SendOpcode::rdma_read;
  read.remote_address = window->address();
  read.rkey = window->rkey();
  VerbsQueue& peer = nd.peer_accepted();
  must(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  must(peer.post_send(read, nd.peer_memory(), 0, kLength), "the peer reads");
  const auto done = peer.wait_send(Duration::s(10));
  must(done && done->status == rdma::CompletionStatus::success, "the peer reads through the window");
  must(window->invalidate(line.qp(), 502), "the consumer invalidates a window");
  const auto closed = program.completion();
  must(closed && closed->status == rdma::CompletionStatus::success, "a window is closed");
}

/// In a region that is good for nothing but being read.
void use_window(NdConsumer& nd) {
  NdLine& line = nd.connect();
  const auto region = nd.program().another_region(rdma::Access::remote_read);
  open_and_close(nd, line, *region);
}

void judge_window(ConsumerBench& bench, Check& check, Rule rule) {
  keeps(bench, check, rule, {{"queue pair", "Bind"}, {"queue pair", "Invalidate"}, {"memory window", "GetRemoteToken"}}, use_window);
}

}  // namespace

CONFORMANCE_CASE(nd_consumer_binds_in_registered_memory, "networkdirect.consumer.window-registered", roles::consumer) {
  judge_window(bench, check, Rule::bind_unregistered);
}

CONFORMANCE_CASE(nd_consumer_binds_within_the_region, "networkdirect.consumer.window-range", roles::consumer) {
  judge_window(bench, check, Rule::bind_outside_region);
}

CONFORMANCE_CASE(nd_consumer_binds_for_writing_where_it_may, "networkdirect.consumer.window-rights", roles::consumer) {
  judge_window(bench, check, Rule::bind_rights_missing);
}

CONFORMANCE_CASE(nd_consumer_binds_to_some_purpose, "networkdirect.consumer.window-grants", roles::consumer) {
  judge_window(bench, check, Rule::bind_grants_nothing);
}

CONFORMANCE_CASE(nd_consumer_binds_what_is_unbound, "networkdirect.consumer.window-once", roles::consumer) {
  judge_window(bench, check, Rule::bind_of_bound_window);
}

CONFORMANCE_CASE(nd_consumer_invalidates_what_is_bound, "networkdirect.consumer.window-bound", roles::consumer) {
  judge_window(bench, check, Rule::window_not_bound);
}

CONFORMANCE_CASE(nd_consumer_invalidates_where_it_bound, "networkdirect.consumer.window-own-pair", roles::consumer) {
  keeps(bench, check, Rule::window_of_other_queue_pair, {{"queue pair", "Bind"}, {"queue pair", "Invalidate"}}, [](NdConsumer& nd) {
    nd.connect();
    use_window(nd);
  });
}

CONFORMANCE_CASE(nd_consumer_asks_tokens_of_bound_windows, "networkdirect.consumer.window-token", roles::consumer) {
  judge_window(bench, check, Rule::window_token_invalid);
}

CONFORMANCE_CASE(nd_consumer_keeps_memory_of_windows_registered, "networkdirect.consumer.deregister-bound", roles::consumer) {
  keeps(bench, check, Rule::deregister_with_windows, {{"queue pair", "Bind"}, {"memory region", "Deregister"}}, use_window);
}

}  // namespace fb::conformance
