// Namespaces that come, go and change while a host looks on, and what it asks to be told of.
#include <map>

#include "conformance/cases/nvme/host_scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kSetFeatures = 0x09, kEventConfiguration = 0x0B;

bool is_event_request(const CommandContext& command) { return command.qid == 0 && command.sqe[0] == opcode::kEventRequest; }

/// A host that hears of namespaces: `change` makes something happen to them.
void tell_of(HostBench& bench, Check& check, const std::function<void()>& change) {
  unsigned events = 0;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (is_event_request(command)) ++events;
    return Answer::send;
  };
  const auto waiting = admin_commands(bench, opcode::kEventRequest).size();
  check.precondition(waiting > 0, "the host sends Asynchronous Event Requests");
  bench.forget_seen();
  change();
  check.precondition(bench.run_until([&] { return events > 0; }, 10_s), "the host wants to hear of namespaces");
  bench.run_until([] { return false; }, 30_s);
  bench.script.completion = {};
}

}  // namespace

CONFORMANCE_CASE(host_finds_a_new_namespace, "nvme.host.namespaces.appear", roles::host, lasts(30_s)) {
  std::uint32_t nsid = 0;
  bench.connect_product();
  tell_of(bench, check, [&] {
    const auto added = bench.subsystem().add_namespace({});
    check.precondition(added.ok(), "one more namespace");
    nsid = added.value()->nsid();
  });
  Bytes& block = bench.keep(Bytes(512));
  const auto read = bench.product().read(nsid, 0, block).wait_for(60_s);
  check.require(read.has_value(), "a read of the new namespace ends", "it does not");
  check.success(*read, "read of the new namespace");
}

CONFORMANCE_CASE(host_leaves_a_namespace_that_is_gone, "nvme.host.namespaces.gone", roles::host, lasts(30_s)) {
  bench.connect_product();
  Bytes& block = bench.keep(Bytes(4096));
  check.precondition_success(bench.product().read(2, 0, block).wait(), "read of namespace 2");
  tell_of(bench, check, [&] { check.precondition(bench.subsystem().remove_namespace(2), "namespace 2 goes"); });
  bench.forget_seen();
  const auto read = bench.product().read(2, 0, block).wait_for(120_s);
  check.require(read.has_value(), "a read of what is gone ends", "it does not");
  check.refused(*read, "read of what is gone");
  std::size_t addressed = 0;
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.qid != 0 && seen.opcode() != 0x7F && seen.nsid() == 2) ++addressed;
  }
  check.equal("I/O commands to what is gone", addressed, 0u);
}

CONFORMANCE_CASE(host_asks_for_the_size_of_a_namespace_that_changed, "nvme.host.namespaces.size", roles::host, lasts(30_s)) {
  bench.connect_product();
  tell_of(bench, check, [&] {
    const bool resized = bench.subsystem().resize_namespace(1, 65536);
    check.precondition(resized, "namespace 1 becomes smaller");
  });
  bool asked = false;
  for (const SeenCommand* seen : admin_commands(bench, opcode::kIdentify)) asked = asked || seen->nsid() == bench.nsid();
  check.that(asked, "Identify of namespace 1 after the notice", "none");
}

CONFORMANCE_CASE(host_keeps_to_the_limit_of_event_requests, "nvme.host.aer.limit", roles::host,
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.aer_limit = 1; })) {
  std::map<std::uint16_t, unsigned> outstanding;
  unsigned most = 0;
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (is_event_request(command)) most = std::max(most, ++outstanding[command.controller->cntlid()]);
    return std::nullopt;
  };
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (is_event_request(command)) --outstanding[command.controller->cntlid()];
    return Answer::send;
  };
  bench.connect_product();
  bench.run_until([] { return false; }, 5_s);
  check.precondition(most > 0, "the host sends Asynchronous Event Requests");
  check.that(most <= 1, "one Asynchronous Event Request at a time (AERL 0)", std::to_string(most));
}

CONFORMANCE_CASE(host_enables_the_notices_that_are_claimed, "nvme.host.aer.claimed", roles::host) {
  // Namespace attributes and ANA alone. Telemetry (bit 10) is claimed elsewhere, SMART warnings (bits 7:0) always.
  constexpr std::uint32_t kClaimed = 0x0900, kNotJudged = 0x04FF;
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    const bool controller = command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == 0x01;
    if (controller && data.size() >= 96) store_le<std::uint32_t>(data.data() + 92, kClaimed);
  };
  bench.product().connect({}).wait_for(30_s);
  std::size_t configured = 0;
  for (const SeenCommand* seen : admin_commands(bench, kSetFeatures)) {
    if ((seen->cdw(10) & 0xFF) != kEventConfiguration) continue;
    ++configured;
    check.equal("notices enabled beyond OAES", seen->cdw(11) & ~(kClaimed | kNotJudged), 0u);
  }
  check.precondition(configured > 0, "the host configures asynchronous events");
}

}  // namespace fb::conformance
