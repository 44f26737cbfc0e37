// What a host does when its association, a keep alive or the invalidation of a key is lost.
#include <algorithm>
#include <utility>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/host_bench.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kConnect = 0x01, kRead = 0x02, kEventRequest = 0x0C, kKeepAlive = 0x18;

bool connects_again(HostBench& bench) { return !bench.fabrics_commands(kConnect).empty(); }

bool associated(HostBench& bench) {
  const auto& all = bench.subsystem().controllers();
  return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.second->in_association(); });
}

bool reads_io(const CommandContext& command) { return command.qid != 0 && command.sqe[0] == kRead; }

Bytes filled(std::size_t bytes, std::uint8_t with) { return Bytes(bytes, with); }

}  // namespace

CONFORMANCE_CASE(host_connects_again_after_a_loss, "fabrics.host.reconnect", roles::host) {
  bench.connect_product();
  bench.forget_seen();
  bench.subsystem().end_associations("the bench ends the association");
  Bytes& block = bench.keep(Bytes(512));
  const Op<nvme::Status> read = bench.product().read(bench.nsid(), 0, block);
  // Ten minutes are what hosts allow themselves before they give a controller up.
  const bool seen = bench.run_until([&] { return connects_again(bench) || read.settled(); }, 700_s);
  check.that(seen, "a new Connect, or an error for what waits", "neither");
}

CONFORMANCE_CASE(host_waits_between_attempts_after_a_loss, "fabrics.host.reconnect.delay", roles::host) {
  bench.connect_product();
  bench.forget_seen();
  bench.script.admission = [](const CommandContext& command) -> std::optional<nvme::Status> {
    if (command.qid != 0 || command.sqe[0] != nvme::kFabricsOpcode || command.sqe[4] != kConnect) return std::nullopt;
    return sc::controller_busy;
  };
  bench.subsystem().end_associations("the bench ends the association");
  check.precondition(bench.run_until([&] { return connects_again(bench); }, 120_s), "the host connects again");
  bench.run_until([] { return false; }, 10_s);
  const std::size_t attempts = bench.fabrics_commands(kConnect).size();
  check.that(attempts <= 100, "attempts have a delay between them", std::to_string(attempts) + " Connects in ten seconds");
  bench.script = {};
}

CONFORMANCE_CASE(host_listens_again_after_a_reset, "fabrics.host.events.after-reset", roles::host) {
  bench.connect_product();
  const auto listens = [&] {
    const auto requests = bench.commands_of(kEventRequest);
    return std::any_of(requests.begin(), requests.end(), [](const SeenCommand* seen) { return seen->qid == 0; });
  };
  bench.run_until(listens, 5_s);
  check.precondition(listens(), "the host sends Asynchronous Event Requests");
  Bytes& block = bench.keep(Bytes(512));
  for (const bool loses : {false, true}) {
    const std::string what = loses ? "the loss of the association" : "a Controller Reset";
    bench.step(what);
    bench.forget_seen();
    if (loses) {
      bench.subsystem().end_associations("the bench ends the association");
      check.precondition(bench.run_until([&] { return connects_again(bench); }, 120_s), "the host connects again");
    } else {
      const auto reset = bench.product().reset().wait_for(60_s);
      if (!reset || !reset->ok) continue;  // not every host resets
    }
    const auto read = bench.product().read(bench.nsid(), 0, block).wait_for(120_s);
    check.precondition(read && read->ok(), "the host reads after " + what);
    check.that(bench.run_until(listens, 10_s), "new Asynchronous Event Requests after " + what, "none");
  }
}

CONFORMANCE_CASE(host_recovers_when_keep_alive_is_not_answered, "fabrics.host.keep-alive.lost", roles::host, reaches{"bench.keep_alive"}) {
  // The controller itself never gives up: only the host can notice.
  bench.script.departs = [](std::string_view point) { return point == "sub.kato.never"; };
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (command.qid != 0 || command.sqe[0] != kKeepAlive) return Answer::send;
    bench.mark("bench.keep_alive");
    return Answer::withhold;
  };
  bench.connect_product({.kato_ms = 5000});
  bench.forget_seen();
  const bool asked = bench.run_until([&] { return !bench.commands_of(kKeepAlive).empty(); }, 60_s);
  check.precondition(asked, "the host sends Keep Alive");
  // KATO is 5 s; some hosts wait a while before they connect again, and some leave that to who uses them.
  check.that(bench.run_until([&] { return connects_again(bench) || !associated(bench); }, 60_s), "the host ends this association",
             "it does nothing");
}

CONFORMANCE_CASE(host_notices_a_bogus_invalidation, "fabrics.host.invalidate.bogus", roles::host, over_rdma, reaches{"bench.wrong_key"},
                 beyond_networkdirect("NetworkDirect has no Send with invalidate")) {
  bench.connect_product();
  bool held = false;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (!reads_io(command) || held) return Answer::send;
    held = true;
    return Answer::withhold;
  };
  Bytes& waiting = bench.keep(Bytes(4096));
  Bytes& block = bench.keep(Bytes(4096));
  Op<nvme::Status> first = bench.product().read(bench.nsid(), 0, waiting);
  check.precondition(bench.run_until([&] { return held; }, 10_s), "the host reads");
  // The answer to the second read invalidates the key of the first, which is still under way.
  bench.script.departs = [&](std::string_view point) {
    if (point != "rdma.invalidate.wrong_key") return false;
    bench.mark("bench.wrong_key");
    return true;
  };
  bench.forget_seen();
  Op<nvme::Status> second = bench.product().read(bench.nsid(), 64, block);
  // Type 4 subtype Fh: nothing is invalidated for a host that does not ask for it.
  const auto asks = [&] {
    const auto reads = bench.commands_of(kRead);
    return !reads.empty() && reads.back()->qid != 0 && reads.back()->sqe.bytes()[39] == 0x4F;
  };
  check.precondition(bench.run_until(asks, 10_s), "the host leaves the invalidation of its keys to the controller");
  // Well before the time at which the first read would be given up for its own sake.
  check.that(bench.run_until([&] { return connects_again(bench); }, 20_s), "the host ends the association",
             "it goes on as if nothing had been");
  bench.script = {};
  first.wait_for(300_s);
  second.wait_for(300_s);
}

CONFORMANCE_CASE(host_takes_back_what_was_not_invalidated, "fabrics.host.invalidate.ignored", roles::host, over_rdma,
                 reaches{"bench.left_key"}) {
  bench.connect_product();
  Bytes& one = bench.keep(filled(8192, 0x11));
  Bytes& two = bench.keep(filled(8192, 0x22));
  check.require_success(bench.product().write(bench.nsid(), 0, one).wait(), "write");
  check.require_success(bench.product().write(bench.nsid(), 64, two).wait(), "write");
  bool reaches_back = false;
  bench.script.departs = [&](std::string_view point) {
    if (point == "rdma.invalidate.never") return true;
    // Once: a host that has ended the association over it finds a controller that behaves.
    if (point != "rdma.data.left_key" || !std::exchange(reaches_back, false)) return false;
    bench.mark("bench.left_key");
    return true;
  };
  // Two at once, so that the next command does not reuse the place of the first.
  Bytes& mine = bench.keep(Bytes(8192));
  Bytes& other = bench.keep(Bytes(8192));
  Bytes& later = bench.keep(Bytes(8192));
  Op<nvme::Status> first = bench.product().read(bench.nsid(), 0, mine);
  Op<nvme::Status> second = bench.product().read(bench.nsid(), 64, other);
  check.require_success(first.wait(), "read whose key is left to the host");
  check.require_success(second.wait(), "another one");
  check.bytes("data of the read", mine, one);
  bench.step("the data of the next read goes to the memory of the first");
  reaches_back = true;
  Op<nvme::Status> third = bench.product().read(bench.nsid(), 64, later);
  third.wait_for(300_s);
  check.bytes("memory of the read that is finished", mine, one);
  bench.step("I/O goes on, with every key left to the host");
  for (std::uint64_t i = 0; i < 20; ++i) {
    Bytes& out = bench.keep(filled(8192, static_cast<std::uint8_t>(0x40 + i)));
    Bytes& in = bench.keep(Bytes(8192));
    const auto written = bench.product().write(bench.nsid(), 16 * i, out).wait_for(300_s);
    const auto read = bench.product().read(bench.nsid(), 16 * i, in).wait_for(300_s);
    check.require(written && written->ok() && read && read->ok(), "later I/O succeeds");
    check.bytes("data of later I/O", in, out);
  }
}

}  // namespace fb::conformance
