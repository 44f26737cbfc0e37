// Opcodes that do not exist, and Abort.
#include <fmt/format.h>

#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kReservedOpcode = 0x70;
/// Commands are outstanding for a while.
const furnished with_slow_commands{[](EmbeddedSetup& setup) { setup.subsystem.io_latency = Duration::ms(50); }};

}  // namespace

CONFORMANCE_CASE(admin_queue_refuses_an_unknown_opcode, "nvme.opcode.admin-unknown", roles::controller, reaches{"admin.opcode"}) {
  check.status(bench.associate().admin().send(host::any_command(kReservedOpcode)).wait(), sc::invalid_opcode);
}

CONFORMANCE_CASE(io_queue_refuses_an_unknown_opcode, "nvme.opcode.io-unknown", roles::controller, needs(has_namespace),
                 reaches{"io.opcode"}) {
  IoScene scene(bench);
  check.status(scene.io.send(host::any_command(kReservedOpcode, scene.nsid)).wait(), sc::invalid_opcode);
}

CONFORMANCE_CASE(queue_creation_does_not_exist, "nvme.opcode.create-queue", roles::controller) {
  using nvme::AdminOpcode;
  RawAssociation& association = bench.associate();
  for (const AdminOpcode opcode :
       {AdminOpcode::create_io_cq, AdminOpcode::create_io_sq, AdminOpcode::delete_io_sq, AdminOpcode::delete_io_cq}) {
    const auto code = static_cast<std::uint8_t>(opcode);
    auto command = host::any_command(code);
    command.set(nvme::sqe::cdw10, 0x001F0001u);  // 32 entries, queue 1
    check.status(association.admin().send(command).wait(), sc::invalid_opcode, nvme::admin_opcode_name(code));
  }
}

CONFORMANCE_CASE(abort_of_nothing_aborts_nothing, "nvme.abort.unknown", roles::controller, with_slow_commands) {
  RawAssociation& association = bench.associate();
  const auto reply = association.admin().send(host::abort(0, 0x7777)).wait();
  check.require_success(reply);
  check.equal("DW0 bit 0, not aborted", reply.dw0() & nvme::kAbortNotDone, 1u);
  // A command of that identifier is outstanding, but on another queue.
  if (bench.nsid() == 0) return;
  auto read = host::read(bench.nsid(), bench.first_lba(), 1);
  read.set(nvme::sqe::cid, 0x7777);
  auto outstanding = association.open_io().send(read, bench.declared().block_bytes);
  for (const std::uint16_t sqid : {std::uint16_t{0}, bench.io_qid(1)}) {
    const auto other = association.admin().send(host::abort(sqid, 0x7777)).wait();
    if (!other.ok()) continue;  // SQID is of no queue
    check.equal(fmt::format("DW0 bit 0 of Abort with SQID {}, not aborted", sqid), other.dw0() & nvme::kAbortNotDone, 1u);
  }
  check.success(outstanding.wait(), "the command of the other queue");
}

CONFORMANCE_CASE(abort_of_an_event_request_says_what_it_did, "nvme.abort.aer", roles::controller) {
  constexpr std::uint16_t kCid = 0x0A0E;
  RawAssociation& association = bench.associate();
  auto request = host::async_event_request();
  request.set(nvme::sqe::cid, kCid);
  auto event = association.admin().send(request);
  const auto reply = association.admin().send(host::abort(0, kCid)).wait();
  check.require_success(reply);
  if ((reply.dw0() & nvme::kAbortNotDone) != 0) {
    const auto early = event.wait_for(kSilence);
    // It may have an event to tell.
    check.that(!early || early->ok(), "a request that was not aborted stays outstanding, or tells of an event",
               early ? nvme::to_string(early->status()) : "");
    return;
  }
  const auto ended = event.wait_for(kSoon);
  check.require(ended.has_value(), "a request that was aborted is completed");
  check.status(*ended, sc::abort_requested);
  // Its place is free again.
  const std::uint64_t limit = bench.declared().identify().get(nvme::id_ctrl::aerl).count();
  if (limit > 24) return;
  std::vector<Op<host::RawReply>> requests;
  for (std::uint64_t i = 0; i < limit; ++i) requests.push_back(association.admin().send(host::async_event_request()));
  for (auto& later : requests) {
    const auto early = later.wait_for(kSilence / 10);
    check.that(!early || !nvme::same_code(early->status(), sc::async_event_request_limit_exceeded),
               "as many requests as AERL says are taken after an abort", "one of them is refused");
  }
}

}  // namespace fb::conformance
