// How a host fills its queues, and how it describes data over RDMA.
#include "conformance/cases/fabrics/host_setup.h"

#include "wire/nvme/sgl.h"

namespace fb::conformance {

using namespace host_setup;

namespace {

// Linux takes no smaller queue.
constexpr std::uint16_t kEntries = 16;
constexpr std::size_t kWrites = 40;

Bytes some(std::size_t bytes) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  return data;
}

/// Writes of 512 bytes, all at once.
std::size_t write_at_once(HostBench& bench) {
  std::vector<Op<nvme::Status>> writes;
  for (std::size_t i = 0; i < kWrites; ++i) writes.push_back(bench.product().write(bench.nsid(), i, bench.keep(some(512))));
  std::size_t done = 0;
  for (auto& write : writes) {
    const auto status = write.wait_for(30_s);
    done += status.has_value() && status->ok();
  }
  return done;
}

void attempt(HostBench& bench, std::uint8_t which, std::size_t bytes) {
  Bytes& data = bench.keep(some(bytes));
  Op<nvme::Status> doing = which == kRead ? bench.product().read(bench.nsid(), 0, data) : bench.product().write(bench.nsid(), 0, data);
  doing.wait_for(30_s);
}

bool without_flow_control(const HostBench& bench) {
  const auto connects = connects_of(bench, true);
  return !connects.empty() && (connects.front()->sqe.bytes()[46] & fabrics::cattr_bits::disable_sq_flow_control) != 0;
}

constexpr host_with kWithoutFlowControl{"disable_sqflow", [](EmbeddedSetup& setup) {
                                          setup.connect.disable_sq_flow_control = true;
                                          setup.subsystem.io_latency = 1_ms;
                                        }};

nvme::SglDescriptor sgl_of(const SeenCommand& seen) {
  return nvme::SglDescriptor::parse(seen.sqe.bytes().subspan(nvme::sqe::sgl1.offset, 16));
}
bool in_capsule(const nvme::SglDescriptor& sgl) {
  return sgl.type == nvme::SglType::data_block && sgl.subtype == nvme::sgl_subtype::offset;
}
/// Bits 1:0 of an opcode, or of a Fabrics command's type, say which way data goes.
bool moves_data(const SeenCommand& seen) { return ((seen.opcode() == kFabrics ? seen.fctype() : seen.opcode()) & 3) != 0; }

std::vector<const SeenCommand*> io_writes(const HostBench& bench) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : bench.commands_of(kWrite)) {
    if (seen->qid != 0) found.push_back(seen);
  }
  return found;
}

}  // namespace

CONFORMANCE_CASE(host_does_not_overfill_a_queue_without_flow_control, "fabrics.host.flow-control.off-bound", roles::host,
                 kWithoutFlowControl) {
  std::uint32_t answered = 0, most = 0, size = 0;
  std::size_t before = 0;  // commands to the queue of an association that is over
  bool agreed = false;
  bench.script.completion = [&](const CommandContext& command, MutableBytes cqe) {
    if (command.qid != 1) return Answer::send;
    if (is_connect(command)) {
      before = bench.commands(1).size() - 1;
      answered = 0;
      agreed = load_le<std::uint16_t>(cqe.data() + 8) == nvme::kSqFlowControlDisabled;
      size = load_le<std::uint16_t>(command.sqe.data() + 44) + 1u;
    }
    most = std::max(most, static_cast<std::uint32_t>(bench.commands(1).size() - before) - answered);
    ++answered;
    return Answer::send;
  };
  // The bench counts them; it does not end the association over the first.
  bench.script.departs = [](std::string_view point) { return point == "sub.sq.overfill"; };
  bench.connect_product({.queue_entries = kEntries});
  check.precondition(without_flow_control(bench) && agreed, "host and controller agree on no SQ flow control");
  write_at_once(bench);
  check.precondition(most >= 2, "several commands at once");
  check.that(most < size, "fewer commands than the queue has entries", std::to_string(most) + " of " + std::to_string(size));
}

CONFORMANCE_CASE(host_does_not_wait_for_sqhd_without_flow_control, "fabrics.host.flow-control.sqhd-reserved", roles::host,
                 kWithoutFlowControl) {
  bench.connect_product({.queue_entries = kEntries});
  check.precondition(without_flow_control(bench), "the host asks for no SQ flow control");
  const std::size_t connections = bench.connections();
  const std::size_t done = write_at_once(bench);
  check.equal("writes that are done", done, kWrites);
  check.equal("connections", bench.connections(), connections);
}

CONFORMANCE_CASE(host_uses_an_entry_again_when_sqhd_says_so, "fabrics.host.flow-control.sqhd-used", roles::host,
                 furnished([](EmbeddedSetup& setup) {
                   setup.subsystem.io_latency = 1_ms;
                   setup.subsystem.flow_control_may_be_off = false;  // not even for a host that asks
                 })) {
  // Heads as counts of entries since the beginning: that of the controller, and a later one that is told.
  std::uint32_t size = 0, head = 0, told = 0, most = 0, at_once = 0, answered = 0;
  std::size_t before = 0;  // commands to the queue of an association that is over
  bench.script.completion = [&](const CommandContext& command, MutableBytes cqe) {
    if (command.qid != 1) return Answer::send;
    if (is_connect(command)) {
      size = load_le<std::uint16_t>(command.sqe.data() + 44) + 1u;
      before = bench.commands(1).size() - 1;
      head = told = answered = 0;
    }
    const auto sent = static_cast<std::uint32_t>(bench.commands(1).size() - before);
    const std::uint32_t sqhd = load_le<std::uint16_t>(cqe.data() + 8);
    if (size < 4 || sqhd >= size) return Answer::send;
    most = std::max(most, sent - told);
    at_once = std::max(at_once, sent - answered);
    ++answered;
    head += (sqhd + size - head % size) % size;
    const std::uint32_t behind = size / 2;
    told = is_connect(command) ? head : std::max(told, head > behind ? head - behind : 0);
    store_le<std::uint16_t>(cqe.data() + 8, static_cast<std::uint16_t>(told % size));
    return Answer::send;
  };
  bench.connect_product({.queue_entries = kEntries});
  write_at_once(bench);
  bench.step("the same for a host that asks for no SQ flow control");
  bench.product().disconnect().wait_for(60_s);
  bench.connect_options().disable_sq_flow_control = true;
  const auto again = bench.product().connect({.queue_entries = kEntries}).wait_for(60_s);
  check.precondition(again.has_value() && again->ok, "the host connects again");
  write_at_once(bench);
  check.precondition(size >= 4 && size <= kWrites, "a queue that can be filled");
  check.precondition(at_once >= 2, "several commands at once");
  check.that(most < size, "the queue is never full, by the SQHD that was told",
             std::to_string(most) + " entries of " + std::to_string(size));
}

CONFORMANCE_CASE(host_says_where_its_data_is_in_the_capsule, "fabrics.host.rdma.in-capsule", roles::host) {
  bench.connect_product();
  attempt(bench, kWrite, 512);
  std::size_t looked = 0;
  for (const SeenCommand* seen : io_writes(bench)) {
    const nvme::SglDescriptor sgl = sgl_of(*seen);
    if (!in_capsule(sgl)) continue;
    ++looked;
    check.equal("offset of the data (ICDOFF is 0)", sgl.address, 0u);
    check.equal("length of the data", std::size_t{sgl.length}, seen->capsule.size() - nvme::kSqeSize);
  }
  check.precondition(looked > 0, "the host sends data in a capsule");
}

CONFORMANCE_CASE(host_needs_a_claim_for_data_in_capsules, "fabrics.host.rdma.in-capsule-claimed", roles::host) {
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    const bool controller = command.qid == 0 && command.sqe[0] == kIdentify && command.sqe[40] == 0x01;
    if (controller && data.size() > 539) data[538] &= static_cast<std::uint8_t>(~0x10u);  // SGLS bit 20
  };
  bench.connect_product();
  attempt(bench, kWrite, 512);
  const auto writes = io_writes(bench);
  check.precondition(!writes.empty(), "a write arrives");
  for (const SeenCommand* seen : writes) {
    check.that(!in_capsule(sgl_of(*seen)), "data described by a key", "an offset in the capsule");
    check.equal("bytes of the capsule", seen->capsule.size(), nvme::kSqeSize);
  }
}

CONFORMANCE_CASE(host_describes_data_as_rdma_can_carry_it, "fabrics.host.rdma.descriptor", roles::host) {
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  if (outcome.has_value() && outcome->ok) {
    attempt(bench, kWrite, 16384);
    attempt(bench, kRead, 16384);
  }
  std::size_t looked = 0;
  for (const SeenCommand& seen : bench.commands()) {
    const nvme::SglDescriptor sgl = sgl_of(seen);
    const auto type = static_cast<unsigned>(sgl.type);
    if (!moves_data(seen) || sgl.length == 0) continue;
    ++looked;
    const bool keyed = type == 4 && (sgl.subtype == 0 || sgl.subtype == 0xF);
    const bool offset = seen.qid != 0 && (type == 0 || type == 3) && sgl.subtype == 1;
    check.that(keyed || offset || type == 5, "a descriptor of this transport",
               "type " + std::to_string(type) + " subtype " + std::to_string(sgl.subtype) + " on queue " + std::to_string(seen.qid));
  }
  check.precondition(looked > 0, "commands with data arrive");
}

}  // namespace fb::conformance
