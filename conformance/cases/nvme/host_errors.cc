// What a host does with a command that is not answered, and with one that it is to repeat later.
#include <set>

#include "conformance/cases/nvme/host_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/fabrics/property.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kAbort = 0x08, kSetFeatures = 0x09;
constexpr std::uint8_t kHostBehavior = 0x16;
constexpr std::uint64_t kLba = 3000;

/// Writes at kLba are never answered, whatever becomes of them; everything else is. Aborts that took effect are noted.
struct Unanswered {
  std::vector<Instant> aborted;

  void begin(HostBench& bench) {
    bench.script.completion = [this, &bench](const CommandContext& command, MutableBytes cqe) {
      if (is_io(command, opcode::kWrite) && lba_of(command.sqe) == kLba) {
        bench.mark("bench.unanswered");
        return Answer::withhold;
      }
      const bool abort = command.qid == 0 && command.sqe[0] == kAbort;
      if (abort && (cqe[0] & 1) == 0) aborted.push_back(bench.world().now());
      return Answer::send;
    };
  }
};

bool resets(const SeenCommand& seen) {
  return seen.fctype() == 0x00 && seen.cdw(11) == fabrics::property::cc && ((seen.cdw(12) & 1) == 0 || (seen.cdw(12) >> 14 & 3) != 0);
}

std::vector<const SeenCommand*> writes_of(const HostBench& bench) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : io_commands(bench, opcode::kWrite)) {
    if (lba_of(seen->sqe.bytes()) == kLba) found.push_back(seen);
  }
  return found;
}

/// Whether the first of two writes may still be executed when the second one comes.
bool first_may_run(const HostBench& bench, const Unanswered& script, const SeenCommand& first, const SeenCommand& second) {
  if (second.cntlid != first.cntlid) return false;  // of another association: the first one has ended
  const auto between = [&](Instant at) { return at >= first.at && at < second.at; };
  for (const SeenCommand& seen : bench.commands()) {
    const bool begins = seen.fctype() == 0x01 && seen.qid == 0;
    if (seen.cntlid == first.cntlid && (resets(seen) || begins) && between(seen.at)) return false;
  }
  return std::none_of(script.aborted.begin(), script.aborted.end(), between);
}

}  // namespace

CONFORMANCE_CASE(host_repeats_no_write_that_may_still_run, "nvme.host.timeout.once", roles::host, reaches{"bench.unanswered"},
                 lasts(300_s)) {
  bench.connect_product();
  Unanswered script;
  script.begin(bench);
  Bytes& data = bench.keep(host_pattern(512));
  Op<nvme::Status> write = bench.product().write(bench.nsid(), kLba, data);
  bench.run_until([&] { return write.settled() || writes_of(bench).size() > 1; }, 300_s);
  const auto writes = writes_of(bench);
  check.precondition(!writes.empty(), "a write arrives");
  for (std::size_t i = 1; i < writes.size(); ++i) {
    check.that(!first_may_run(bench, script, *writes[i - 1], *writes[i]), "no second write while the first may still be executed",
               "one " + to_string(writes[i]->at - writes[i - 1]->at) + " after the first");
  }
  check.that(writes.size() > 1 || write.settled(), "the write is repeated later, or given up", "neither in five minutes");
  bench.script = {};
  write.wait_for(300_s);
}

CONFORMANCE_CASE(host_aborts_the_command_that_it_means, "nvme.host.abort.names", roles::host, reaches{"bench.unanswered"}, lasts(300_s)) {
  bench.connect_product();
  Unanswered script;
  script.begin(bench);
  Bytes& data = bench.keep(host_pattern(512));
  Op<nvme::Status> write = bench.product().write(bench.nsid(), kLba, data);
  bench.run_until([&] { return write.settled() || !admin_commands(bench, kAbort).empty(); }, 300_s);
  const auto aborts = admin_commands(bench, kAbort);
  check.precondition(!aborts.empty(), "the host sends Abort");
  const auto writes = writes_of(bench);
  check.precondition(writes.size() == 1, "one write without an answer");
  check.equal("SQID in Abort", aborts.front()->cdw(10) & 0xFFFF, writes.front()->qid);
  check.equal("CID in Abort", aborts.front()->cdw(10) >> 16, writes.front()->cid());
  bench.script = {};
  write.wait_for(300_s);
}

CONFORMANCE_CASE(host_aborts_commands_of_every_queue, "nvme.host.abort.queues", roles::host, reaches{"bench.unanswered"}, lasts(300_s)) {
  constexpr std::uint64_t kReads = 6;
  bench.connect_product({.io_queues = 3});
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (!is_io(command, opcode::kRead) || lba_of(command.sqe) < kLba || lba_of(command.sqe) >= kLba + kReads) return Answer::send;
    bench.mark("bench.unanswered");
    return Answer::withhold;
  };
  bench.forget_seen();
  std::vector<Op<nvme::Status>> reads;
  for (std::uint64_t i = 0; i < kReads; ++i) reads.push_back(bench.product().read(bench.nsid(), kLba + i, bench.keep(Bytes(512))));
  const auto leaves = [&] { return std::any_of(bench.commands().begin(), bench.commands().end(), resets); };
  bench.run_until([&] { return leaves() || bench.fabrics_commands(0x01).size() > 0 || admin_commands(bench, kAbort).size() >= 3; }, 300_s);
  std::set<std::uint32_t> named;  // by dword 10
  const auto sent = io_commands(bench, opcode::kRead);
  for (const SeenCommand* abort : admin_commands(bench, kAbort)) {
    const auto sqid = static_cast<std::uint16_t>(abort->cdw(10) & 0xFFFF), cid = static_cast<std::uint16_t>(abort->cdw(10) >> 16);
    const bool meant = std::any_of(sent.begin(), sent.end(), [&](const SeenCommand* read) {
      return read->qid == sqid && read->cid() == cid && read->cntlid == abort->cntlid && read->at <= abort->at;
    });
    const bool fresh = named.insert(abort->cdw(10)).second;
    check.that(meant && fresh, "SQID and CID in Abort are those of a read without an answer, another one each time",
               "SQID " + std::to_string(sqid) + ", CID " + std::to_string(cid));
  }
  bench.script = {};
  for (auto& read : reads) read.wait_for(300_s);
  const bool several = std::any_of(sent.begin(), sent.end(), [&](const SeenCommand* read) { return read->qid != sent.front()->qid; });
  check.precondition(several, "reads go to two queues");
  check.precondition(admin_commands(bench, kAbort).size() > 1, "two reads are aborted");
}

CONFORMANCE_CASE(host_keeps_to_the_limit_of_aborts, "nvme.host.abort.limit", roles::host, lasts(300_s),
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.abort_limit = 1; })) {
  unsigned outstanding = 0, most = 0;
  const auto is_abort = [](const CommandContext& command) { return command.qid == 0 && command.sqe[0] == kAbort; };
  bench.connect_product();
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (is_abort(command)) most = std::max(most, ++outstanding);
    return std::nullopt;
  };
  // Neither the reads nor the Aborts are answered.
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    return is_abort(command) || is_io(command, opcode::kRead) ? Answer::withhold : Answer::send;
  };
  std::vector<Op<nvme::Status>> reads;
  for (std::uint64_t i = 0; i < 4; ++i) {
    reads.push_back(bench.product().read(bench.nsid(), kLba + 8 * i, bench.keep(Bytes(512))));
  }
  // Until the host has had enough of this association.
  const auto leaves = [&] {
    return std::any_of(bench.commands().begin(), bench.commands().end(), resets) || most > 1 || bench.fabrics_commands(0x01).size() > 2;
  };
  bench.run_until(leaves, 300_s);
  check.precondition(most > 0, "the host sends Abort");
  check.that(most <= 1, "one Abort at a time (ACL 0)", std::to_string(most));
  bench.script = {};
  for (auto& read : reads) read.wait_for(300_s);
}

CONFORMANCE_CASE(host_overcomes_a_transient_transport_error, "nvme.host.retry.transient", roles::host, reaches{"bench.refused"}) {
  bench.connect_product();
  Bytes& data = bench.keep(host_pattern(512));
  Bytes& back = bench.keep(Bytes(512));
  check.precondition_success(bench.product().write(bench.nsid(), kLba, data).wait(), "write");
  bool refused = false;
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (refused || !is_io(command, opcode::kRead) || lba_of(command.sqe) != kLba) return std::nullopt;
    refused = true;
    bench.mark("bench.refused");
    return sc::transient_transport_error;
  };
  const auto read = bench.product().read(bench.nsid(), kLba, back).wait_for(120_s);
  check.require(read.has_value(), "the read ends", "it does not");
  check.require_success(*read, "read that met one transient transport error");
  check.bytes("data of the read", back, data);
}

CONFORMANCE_CASE(host_keeps_the_delay_of_a_retry, "nvme.host.retry.delay", roles::host, reaches{"bench.delayed"}) {
  // In no order: if the host mixes two of them up, it waits too short a time once.
  constexpr Duration kDelays[] = {3_s, 4_s, 2_s};
  constexpr Duration kTolerance = Duration::ms(20);
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    const bool controller = command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == 0x01;
    if (!controller || data.size() < 134) return;
    for (std::size_t i = 0; i < 3; ++i) {
      store_le<std::uint16_t>(data.data() + 128 + 2 * i, static_cast<std::uint16_t>(kDelays[i].count_ns() / Duration::ms(100).count_ns()));
    }
  };
  bench.connect_product();
  bool enabled = false;
  for (const SeenCommand* seen : admin_commands(bench, kSetFeatures)) {
    const bool behavior = (seen->cdw(10) & 0xFF) == kHostBehavior && !seen->data.empty();
    if (behavior) enabled = seen->data[0] == 1;
  }
  check.precondition(enabled, "the host enables Advanced Command Retry");
  for (unsigned crd = 1; crd <= 3; ++crd) {
    const std::uint64_t lba = kLba + crd;
    Instant answered = Instant::never(), again = Instant::never();
    const std::size_t connections = bench.connections();
    bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
      if (!is_io(command, opcode::kRead) || lba_of(command.sqe) != lba) return std::nullopt;
      if (answered != Instant::never()) {
        again = std::min(again, bench.world().now());
        return std::nullopt;
      }
      answered = bench.world().now();
      bench.mark("bench.delayed");
      return sc::command_interrupted.with_crd(crd);
    };
    bench.product().read(bench.nsid(), lba, bench.keep(Bytes(512))).wait_for(120_s);
    // Not repeated: that is a host's choice. Sent again after a loss: that is no retry of this answer.
    if (again == Instant::never() || bench.connections() != connections) continue;
    const Duration delay = kDelays[crd - 1];
    check.that(again + kTolerance >= answered + delay,
               "no second attempt within " + to_string(delay) + " (CRD " + std::to_string(crd) + ")",
               "one after " + to_string(again - answered));
  }
  bench.script = {};
  check.precondition(check.performed() > 0, "the host repeats what it was told to repeat later");
}

}  // namespace fb::conformance
