// What programs get of a device on a consumer of NDK, on providers that answer at once, later, and
// as it comes.
#include "networkdirect/cases/consumer_apart.h"
#include "networkdirect/cases/consumer_company.h"
#include "networkdirect/cases/consumer_details.h"
#include "networkdirect/cases/consumer_limits.h"
#include "networkdirect/cases/consumer_walk.h"
#include "networkdirect/cases/ndk/consumer_scene.h"

namespace fb::conformance {
namespace {

/// The last one is the oldest, and no message invalidates anything there.
constexpr std::array<NdkConsumerTerms, 4> kKinds = {{{.behaviour = "answers=at-once", .notify_inside_arm = true},
                                                     {.behaviour = "answers=later", .scattered = true},
                                                     {.behaviour = "answers=drawn", .version = {1, 2}},
                                                     {.behaviour = "strict", .version = {1, 1}}}};

/// A sweep on each kind of provider, and the verifier's word on all of it.
template <class Sweep>
void judge(ConsumerBench& bench, Check& check, Sweep&& sweep, std::size_t kinds = kKinds.size()) {
  for (const NdkConsumerTerms& terms : std::span(kKinds).first(kinds)) {
    const auto ndk = bench.make_ndk(terms);
    judge_sweep(*ndk, check, sweep);
  }
}

/// Each limit of the interface that a device's own comes from.
const std::vector<DeclaredLimit>& declared_limits() {
  constexpr auto entries = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_queue_entries; };
  constexpr auto sges = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_sges; };
  constexpr auto reads = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_reads; };
  constexpr auto inlined = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_inline_bytes; };
  constexpr auto message = [](const rdma::DeviceLimits& limits) -> std::uint64_t { return limits.max_message_bytes; };
  constexpr auto fast = [](const rdma::DeviceLimits& limits) -> std::uint64_t {
    return limits.fast_registration ? limits.max_fast_register_bytes : 0;
  };
  static const std::vector<DeclaredLimit> kLimits = {{"MaxReceiveQueueDepth=20", "queue entries", entries, 20},
                                                     {"MaxInitiatorQueueDepth=21", "queue entries", entries, 21},
                                                     {"MaxCqDepth=22", "queue entries", entries, 22},
                                                     {"MaxSrqDepth=23", "queue entries", entries, 23},
                                                     {"MaxSrqDepth=1", "queue entries", entries, 1},
                                                     {"MaxSrqDepth=0,MaxReceiveQueueDepth=24", "queue entries", entries, 24},
                                                     {"MaxInitiatorRequestSge=3", "buffers", sges, 3},
                                                     {"MaxReceiveRequestSge=2", "buffers", sges, 2},
                                                     {"MaxReadRequestSge=1", "buffers", sges, 1},
                                                     {"MaxInboundReadLimit=5", "Reads", reads, 5},
                                                     {"MaxOutboundReadLimit=6", "Reads", reads, 6},
                                                     {"MaxInlineDataSize=60", "inline data", inlined, 60},
                                                     {"MaxInlineDataSize=0", "inline data", inlined, 0},
                                                     {"MaxTransferLength=9000", "bytes of a message", message, 9000},
                                                     {"FRMRPageCount=3", "bytes of a fast region", fast, 2 * 4096},
                                                     {"FRMRPageCount=2", "bytes of a fast region", fast, 4096},
                                                     {"FRMRPageCount=1", "bytes of a fast region", fast, 0},
                                                     {"FRMRPageCount=0", "bytes of a fast region", fast, 0}};
  return kLimits;
}

/// Of a fast region: what the peer may do with it, from registration to invalidation.
void sweep_fast_regions(ConsumerStage& stage, Check& check) {
  using rdma::Access;
  using rdma::SendOpcode;
  NdProgram& program = stage.program();
  check.precondition(program.device().limits().fast_registration, "the device has fast registration");
  constexpr std::size_t kBytes = 9001;
  constexpr std::uint64_t kAddress = 0x5000'0000;
  Bytes room(kBytes + 200);
  for (std::size_t i = 0; i < room.size(); ++i) room[i] = static_cast<std::uint8_t>(i * 11 + i / 256);
  struct Try {
    std::uint64_t offset;
    std::uint32_t length;
    bool read, write;  ///< what is granted
    bool reads;        ///< what is tried
    bool good;
  };
  for (const Try& one :
       {Try{0, kBytes, true, true, true, true}, Try{0, kBytes, true, true, false, true}, Try{kBytes - 1, 1, true, true, true, true},
        Try{kBytes - 1, 2, true, true, true, false}, Try{~std::uint64_t{0}, 2, true, true, false, false},
        Try{0, 16, true, false, false, false}, Try{0, 16, false, true, true, false}, Try{5, 16, false, true, false, true}}) {
    for (const std::uint64_t shift : {0u, 77u, 4095u}) {
      NdLine& line = stage.connect();
      VerbsQueue& queue = stage.peer_accepted();
      check.require(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
      const auto region = program.domain().allocate_fast_region(3 * 4096 + 4096);
      rdma::SendRequest request;
      request.opcode = SendOpcode::fast_register;
      request.region = region.get();
      request.memory = MutableBytes(room).subspan(100, kBytes);
      request.iova = kAddress + shift;
      request.access =
          Access::local_write | (one.read ? Access::remote_read : Access::none) | (one.write ? Access::remote_write : Access::none);
      const auto registered = performed(check, program, line, request, 0, 0);
      check.require(registered.status == rdma::CompletionStatus::success, "a region is registered",
                    std::string(rdma::name_of(registered.status)));
      check.that(registered.opcode == rdma::CompletionOpcode::fast_register, "the completion is that of a registration", "it is another");
      const Bytes before = room;
      // The program's own requests name it by the same addresses.
      for (const auto& [offset, length] : {std::pair<std::size_t, std::uint32_t>{0, 1}, {kBytes - 1, 1}, {0, kBytes}}) {
        rdma::SendRequest own = stage.towards_peer(SendOpcode::rdma_write, 30000);
        const rdma::Sge sge{kAddress + shift + offset, length, region->lkey()};
        own.id = 77;
        own.sges = {&sge, 1};
        check.require(line.qp().post_send(own), "the program writes out of a fast region");
        const auto written = program.completion();
        check.that(written && written->status == rdma::CompletionStatus::success, "a Write out of a fast region succeeds", "it does not");
        check.bytes("what it brought", ByteView(stage.peer_memory().bytes).subspan(30000, length),
                    ByteView(room).subspan(100 + offset, length));
      }
      rdma::SendRequest access;
      access.opcode = one.reads ? SendOpcode::rdma_read : SendOpcode::rdma_write;
      access.remote_address = kAddress + shift + one.offset;
      access.rkey = region->rkey();
      VerbsMemory& memory = stage.peer_memory();
      check.require(queue.post_send(access, memory, 20000, one.length), "the peer asks");
      const auto done = queue.wait_send(Duration::s(20));
      check.require(done.has_value(), "its request ends", "it does not");
      const std::string name = std::string(one.reads ? "a Read of " : "a Write of ") + std::to_string(one.length) + " bytes";
      check.equal(name + " of a fast region succeeds", done->status == rdma::CompletionStatus::success, one.good);
      program.pass(Duration::ms(1));
      Bytes expected = before;
      if (one.good && one.reads) {
        check.bytes("what it brought", ByteView(memory.bytes).subspan(20000, one.length),
                    ByteView(before).subspan(100 + one.offset, one.length));
      } else if (one.good) {
        std::copy_n(memory.bytes.begin() + 20000, one.length, expected.begin() + 100 + static_cast<std::ptrdiff_t>(one.offset));
      }
      if (one.good) {
        request = {};
        request.opcode = SendOpcode::local_invalidate;
        request.invalidate_rkey = region->rkey();
        const auto closed = program.perform(line, request, 0, 0);
        check.that(closed.status == rdma::CompletionStatus::success, "it is invalidated", std::string(rdma::name_of(closed.status)));
        check.that(closed.opcode == rdma::CompletionOpcode::local_invalidate, "the completion is that of an invalidation", "it is another");
      }
      check.bytes("the memory afterwards", room, expected);
      program.let_go(line);
      while (program.completion(Duration::ms(1))) {
      }
    }
  }
}

/// Fast regions as long as they can be, and a byte longer; a key that is nobody's.
void sweep_fast_limits(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  const rdma::DeviceLimits limits = program.device().limits();
  check.precondition(limits.fast_registration, "the device has fast registration");
  NdLine& line = stage.connect();
  const std::size_t most = limits.max_fast_register_bytes;
  Bytes room(most + 1);
  const auto region = program.domain().allocate_fast_region(most);
  rdma::SendRequest request;
  request.opcode = rdma::SendOpcode::fast_register;
  request.region = region.get();
  request.memory = room;
  request.iova = 0x5000'0000;
  request.access = rdma::Access::remote_read;
  check.that(!line.qp().post_send(request), "a registration of more than there can be is refused", "it is taken");
  request.memory = MutableBytes(room).first(most);
  const auto registered = performed(check, program, line, request, 0, 0);
  check.that(registered.status == rdma::CompletionStatus::success, "a registration of as much as there can be succeeds",
             std::string(rdma::name_of(registered.status)));
  rdma::SendRequest unknown;
  unknown.opcode = rdma::SendOpcode::local_invalidate;
  unknown.invalidate_rkey = region->rkey() ^ 0x00550000;
  const auto closed = performed(check, program, line, unknown, 0, 0);
  check.that(closed.status != rdma::CompletionStatus::success, "an invalidation of a key that is nobody's fails", "it succeeds");
  check.that(line.qp().state() == rdma::QpState::error, "its queue pair is in error", std::string(rdma::name_of(line.qp().state())));
}

/// Messages that invalidate, in both directions.
void sweep_invalidation(ConsumerStage& stage, Check& check) {
  NdProgram& program = stage.program();
  check.precondition(program.device().limits().remote_invalidation, "messages invalidate");
  NdLine& line = stage.connect();
  VerbsQueue& queue = stage.peer_accepted();
  check.require(queue.wait_event(ConnectionEvent::established, Duration::s(10)), "the peer is connected");
  Bytes data(5000, 0x3D);
  const auto region = program.domain().allocate_fast_region(3 * 4096);
  for (int round = 0; round < 3; ++round) {
    rdma::SendRequest request;
    request.opcode = rdma::SendOpcode::fast_register;
    request.region = region.get();
    request.memory = data;
    request.iova = 0x6000'0000;
    request.access = rdma::Access::local_write | rdma::Access::remote_read;
    check.that(program.perform(line, request, 0, 0).status == rdma::CompletionStatus::success, "a region is registered", "it is not");
    check.require(program.receive(line, 0, 64), "the program posts a receive");
    rdma::SendRequest ending;
    ending.opcode = rdma::SendOpcode::send_with_invalidate;
    ending.invalidate_rkey = region->rkey();
    check.require(queue.post_send(ending, stage.peer_memory(), 3, 33), "the peer sends");
    const auto came = program.completion();
    check.require(came.has_value(), "the message comes", "it does not");
    check.that(came->opcode == rdma::CompletionOpcode::receive && came->status == rdma::CompletionStatus::success, "it is a receive",
               "it is not");
    check.that(came->has_invalidate, "the completion says that something was invalidated", "it does not");
    check.equal("what was invalidated", came->invalidated_rkey, region->rkey());
    check.equal("its length", came->byte_length, 33u);
  }
  // The program invalidates by itself.
  rdma::SendRequest own;
  own.opcode = rdma::SendOpcode::fast_register;
  own.region = region.get();
  own.memory = data;
  own.iova = 0x6000'0000;
  own.access = rdma::Access::local_write | rdma::Access::remote_read;
  check.that(performed(check, program, line, own, 0, 0).status == rdma::CompletionStatus::success, "a region is registered", "it is not");
  own = {};
  own.opcode = rdma::SendOpcode::local_invalidate;
  own.invalidate_rkey = region->rkey();
  check.that(performed(check, program, line, own, 0, 0).status == rdma::CompletionStatus::success, "it is invalidated", "it is not");
  VerbsMemory& target = stage.peer().fast_memory(4096);
  rdma::SendRequest opening;
  opening.opcode = rdma::SendOpcode::fast_register;
  opening.region = target.region.get();
  opening.memory = target.bytes;
  opening.iova = 0x7000'0000;
  opening.access = rdma::Access::remote_read;
  check.require(queue.post_send(opening), "the peer registers");
  check.require(queue.wait_send(Duration::s(10)).has_value(), "it is registered");
  check.require(queue.post_receive(stage.peer_memory(), 77, 0, 64), "the peer posts a receive");
  for (std::uint32_t i = 0; i < ListenTerms().receives; ++i) {
    program.perform(line, {}, 0, 1);
    queue.wait_receive(Duration::s(10));
  }
  rdma::SendRequest ending;
  ending.opcode = rdma::SendOpcode::send_with_invalidate;
  ending.invalidate_rkey = target.region->rkey();
  check.that(program.perform(line, ending, 0, 20).status == rdma::CompletionStatus::success, "a message that invalidates is sent",
             "it is not");
  const auto came = queue.wait_receive(Duration::s(10));
  check.require(came.has_value(), "it comes", "it does not");
  check.that(came->has_invalidate, "it invalidates", "it does not");
  check.equal("what it invalidates", came->invalidated_rkey, target.region->rkey());
}

/// A fast region: registered, used by the peer, invalidated, and registered anew over other memory.
void use_fast_region(ConsumerStage& stage, Check& check, NdLine& line, const auto& step) {
  NdProgram& program = stage.program();
  VerbsQueue& peer = stage.peer_accepted();
  const auto succeeds = [&](const rdma::SendRequest& request) {
    const auto done = program.perform(line, request, 0, 0);
    if (done.status != rdma::CompletionStatus::success) throw CannotArrange{std::string(rdma::name_of(done.status))};
    return true;
  };
  const auto region =
      step("a fast region", [&] { return std::shared_ptr<rdma::MemoryRegion>(program.domain().allocate_fast_region(3 * 4096)); });
  for (const std::uint64_t offset : {0u, 5000u}) {
    rdma::SendRequest request;
    request.opcode = rdma::SendOpcode::fast_register;
    request.region = region.get();
    request.memory = program.memory().subspan(offset, 5000);
    request.iova = 0x5000'0000 + offset;
    request.access = rdma::Access::remote_read;
    step("a fast registration", [&] { return succeeds(request); });
    rdma::SendRequest read;
    read.opcode = rdma::SendOpcode::rdma_read;
    read.remote_address = request.iova + 3;
    read.rkey = region->rkey();
    check.require(peer.post_send(read, stage.peer_memory(), 20000, 4997), "the peer reads");
    const auto done = peer.wait_send(Duration::s(10));
    check.require(done && done->status == rdma::CompletionStatus::success, "the peer reads the region", "it does not");
    check.bytes("what it read", ByteView(stage.peer_memory().bytes).subspan(20000, 4997),
                ByteView(program.memory()).subspan(offset + 3, 4997));
    request = {};
    request.opcode = rdma::SendOpcode::local_invalidate;
    request.invalidate_rkey = region->rkey();
    step("an invalidation", [&] { return succeeds(request); });
  }
}

}  // namespace

CONFORMANCE_CASE(ndk_consumer_moves_bytes_of_every_shape, "ndk.consumer.sge-token-unknown", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) {
    ConsumerSweep api(stage);
    TransferSweep(api, check).run();
  });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_region_rights(stage, check); });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_late_memory(stage, check); });
  const auto own_addresses = bench.make_ndk({.behaviour = "+no-chosen-address"});
  judge_sweep(*own_addresses, check, [&](ConsumerStage& stage) { sweep_own_addresses(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_moves_bytes_to_who_asked_it, "ndk.consumer.op-flags-unknown", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) {
    ConsumerSweep api(stage, false, true);
    TransferSweep sweep(api, check);
    for (const int from : {0, 1}) sweep.bursts(from);
  });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_marks(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_has_the_results_of_any_history, "ndk.consumer.op-flags-unknown", roles::consumer) {
  std::uint64_t seed = 61;
  judge(bench, check, [&](ConsumerStage& stage) { sweep_histories(stage, check, seed++); });
}

CONFORMANCE_CASE(ndk_consumer_shares_receives, "ndk.consumer.receive-beside-shared", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_shared(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_connects_in_every_way, "ndk.consumer.complete-connect-twice", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_connections(stage, check); });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_ports(stage, check); });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_held_replies(stage, check, false); });
}

CONFORMANCE_CASE(ndk_consumer_answers_in_every_way, "ndk.consumer.listen-twice", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_listening(stage, check); });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_request_order(stage, check, true); });
}

CONFORMANCE_CASE(ndk_consumer_reports_failures, "ndk.consumer.post-unconnected", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_failures(stage, check); });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_unfit_messages(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_tells_of_completions, "ndk.consumer.arm-type-unknown", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_notices(stage, check); });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_divided_queues(stage, check); });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_waiting_results(stage, check, false); });
  judge(bench, check, [&](ConsumerStage& stage) { sweep_end_in_notice(stage, check); });
  const auto dying = bench.make_ndk({.behaviour = "+queues-fail"});
  judge_sweep(*dying, check, [&](ConsumerStage& stage) { sweep_dead_queue(stage, check, 16); });
}

CONFORMANCE_CASE(ndk_consumer_registers_what_it_is_told, "ndk.consumer.fast-offset-wrong", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_fast_regions(stage, check); });
  const auto few_pages = bench.make_ndk({.behaviour = "FRMRPageCount=3"});
  judge_sweep(*few_pages, check, [&](ConsumerStage& stage) { sweep_fast_limits(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_hears_of_invalidation, "ndk.consumer.invalidate-of-invalid-region", roles::consumer) {
  judge(
      bench, check, [&](ConsumerStage& stage) { sweep_invalidation(stage, check); }, kKinds.size() - 1);
}

CONFORMANCE_CASE(ndk_consumer_tells_of_completions_in_any_order, "ndk.consumer.arm-type-unknown", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_any_notices(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_tells_of_low_receives, "ndk.consumer.receive-beside-shared", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_low_limits(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_ends_at_any_moment, "ndk.consumer.disconnected-twice", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_endings(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_gives_up_an_attempt, "ndk.consumer.connect-twice", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_withdrawals(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_keeps_connections_apart, "ndk.consumer.disconnected-twice", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_neighbours(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_tries_in_vain_and_again, "ndk.consumer.connect-twice", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_unreachable(stage, check, false); });
}

CONFORMANCE_CASE(ndk_consumer_has_both_sides_of_each_limit, "ndk.consumer.sge-count-exceeded", roles::consumer) {
  judge(bench, check, [&](ConsumerStage& stage) { sweep_limits(stage, check); });
}

CONFORMANCE_CASE(ndk_consumer_declares_the_least_of_the_limits, "ndk.consumer.cq-depth-exceeded", roles::consumer) {
  for (const DeclaredLimit& limit : declared_limits()) {
    const auto ndk = bench.make_ndk({.behaviour = limit.behaviour});
    judge_sweep(*ndk, check, [&](ConsumerStage& stage) { sweep_declared(stage, check, limit); });
  }
  for (const auto& [version, invalidates] : {std::pair{NDK_VERSION{1, 1}, false}, std::pair{NDK_VERSION{1, 2}, true}}) {
    const auto ndk = bench.make_ndk({.version = version});
    check.equal("whether messages invalidate", ndk->program().device().limits().remote_invalidation, invalidates);
    ends_well(*ndk, check);
  }
}

CONFORMANCE_CASE(ndk_consumer_survives_every_refusal, "ndk.consumer.leaked-object", roles::consumer) {
  for (const std::string_view answers : {"answers=at-once", "answers=before-return", "answers=later"}) {
    // What pends was promised to the program: when it is refused at last, its queue pair ends.
    sweep_refusals(
        check, answers != "answers=later", [&](std::uint64_t number) { return bench.make_ndk({.behaviour = answers, .refuses = number}); },
        [&](ConsumerStage& stage, bool again) {
          use_everything(stage, check, again, [&](NdLine& line, const auto& step) { use_fast_region(stage, check, line, step); });
        });
  }
}

}  // namespace fb::conformance
