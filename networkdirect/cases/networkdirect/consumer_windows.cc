// Whether consumers deal rightly with memory windows.
#include "networkdirect/cases/consumer_trouble.h"
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

/// Windows in two regions with each set of rights, bound one after the other: the peer reaches what the newest binding opens.
void bind_in_every_way(ConsumerStage& stage, Check& check) {
  using rdma::Access;
  using rdma::SendOpcode;
  NdProgram& program = stage.program();
  const auto first = program.another_region(Access::local_write), second = program.another_region(Access::local_write);
  struct Try {
    bool in_second;
    std::uint64_t offset, length;
    Access access;
    SendOpcode asked;
    std::int64_t at;  ///< from the first byte of the window
    bool good;
  };
  constexpr Access kBoth = Access::remote_read | Access::remote_write;
  for (const Try& one :
       {Try{false, 4096, 1024, kBoth, SendOpcode::rdma_read, 0, true}, Try{false, 4096, 1024, kBoth, SendOpcode::rdma_write, 960, true},
        Try{false, 4096, 1024, kBoth, SendOpcode::rdma_read, 961, false}, Try{true, 333, 64, kBoth, SendOpcode::rdma_write, -1, false},
        Try{true, 333, 64, Access::remote_read, SendOpcode::rdma_write, 0, false},
        Try{true, 333, 64, Access::remote_write, SendOpcode::rdma_read, 0, false},
        Try{true, 333, 64, Access::remote_write, SendOpcode::rdma_write, 0, true},
        Try{true, NdProgram::kBytes - 64, 64, Access::remote_read, SendOpcode::rdma_read, 0, true}}) {
    const auto window = networkdirect::create_memory_window(program.device());
    must(window != nullptr, "the consumer makes a window");
    NdLine& line = stage.connect();
    VerbsQueue& peer = stage.peer_accepted();
    check.require(peer.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected", "it is not");
    const auto bind = [&](rdma::MemoryRegion& in, std::uint64_t offset, std::uint64_t length, Access access) {
      check.require(window->bind(line.qp(), 501, in, offset, length, access), "a Bind is taken", "it is refused");
      const auto done = program.completion();
      check.require(done && done->status == rdma::CompletionStatus::success, "a window is bound", "it is not");
      check.equal("the request of a Bind", done->id, 501u);
    };
    // Somewhere else first.
    bind(*(one.in_second ? first : second), 20000, 32, Access::remote_read);
    const std::uint32_t former = window->rkey();
    check.require(window->invalidate(line.qp(), 502), "an Invalidate is taken", "it is refused");
    const auto closed = program.completion();
    check.require(closed && closed->status == rdma::CompletionStatus::success, "a window is closed", "it is not");
    bind(*(one.in_second ? second : first), one.offset, one.length, one.access);
    check.that(window->rkey() != former, "a window that is bound again has another key", "it has the same");
    const Bytes before(program.memory().begin(), program.memory().end());
    rdma::SendRequest request;
    request.opcode = one.asked;
    request.remote_address = window->address() + static_cast<std::uint64_t>(one.at);
    request.rkey = window->rkey();
    check.require(peer.post_send(request, stage.peer_memory(), 20000, 64), "the peer asks");
    const auto done = peer.wait_send(Duration::s(20));
    check.require(done.has_value(), "the peer's request ends", "it does not");
    const bool reads = one.asked == SendOpcode::rdma_read;
    const std::string name = std::string(reads ? "a Read" : "a Write") + " from byte " + std::to_string(one.at) + " of a window";
    check.equal(name + " succeeds", done->status == rdma::CompletionStatus::success, one.good);
    const std::size_t place = one.offset + static_cast<std::size_t>(one.at);
    Bytes expected = before;
    if (one.good && reads) {
      check.bytes("what " + name + " brought", ByteView(stage.peer_memory().bytes).subspan(20000, 64), ByteView(before).subspan(place, 64));
    } else if (one.good) {
      std::copy_n(stage.peer_memory().bytes.begin() + 20000, 64, expected.begin() + static_cast<std::ptrdiff_t>(place));
    }
    program.pass(Duration::ms(1));
    check.bytes("the memory after " + name, ByteView(program.memory()), expected);
    std::copy(before.begin(), before.end(), program.memory().begin());
    if (one.good) {
      check.require(window->invalidate(line.qp(), 503), "an Invalidate is taken", "it is refused");
      program.completion();
    }
    program.let_go(line);
    while (program.completion(Duration::ms(1))) {
    }
  }
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
  for (const std::string_view kind : {"document,answers=drawn", "strict"}) {
    const auto nd = bench.make_nd({.behaviour = networkdirect::parse_behaviour(kind).value()});
    judge_sweep(*nd, check, [&](ConsumerStage& stage) { bind_in_every_way(stage, check); });
  }
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
