// What a host learns from a controller, held to its whole extent: each record of a discovery log, and the time that is announced.
#include "conformance/cases/fabrics/host_setup.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/fabrics/discovery_log.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kGetLogPage = 0x02, kDiscoveryLog = 0x70;

/// More records than fit into 64 KiB.
void many_subsystems(EmbeddedSetup& setup) {
  for (unsigned i = 0; i < 70; ++i) {
    subsystem::SubsystemOptions other;
    other.nqn = "nqn.2026-11.org.example:shelf-" + std::to_string(i);
    setup.more_subsystems.push_back(std::move(other));
  }
}

/// Nothing but the case delays CSTS.RDY.
void ready_at_once(EmbeddedSetup& setup) { setup.subsystem.enable_delay = setup.subsystem.disable_delay = {}; }

}  // namespace

CONFORMANCE_CASE(host_reads_every_discovery_record, "fabrics.host.discovery.every-record", roles::host, furnished{&many_subsystems}) {
  std::vector<bool> read;
  std::uint64_t records = 0;
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    if (command.sqe[0] != kGetLogPage || command.sqe[40] != kDiscoveryLog) return;
    const auto offset = load_le<std::uint64_t>(command.sqe.data() + 48);
    if (offset == 0 && data.size() >= 16) records = load_le<std::uint64_t>(data.data() + 8);
    const std::size_t end = static_cast<std::size_t>(offset) + data.size();
    if (read.size() < end) read.resize(end);
    std::fill(read.begin() + static_cast<std::ptrdiff_t>(offset), read.begin() + static_cast<std::ptrdiff_t>(end), true);
  };
  const auto outcome = bench.product().discover().wait_for(120_s);
  check.precondition(outcome.has_value() && outcome->ok && records != 0, "the host reads the discovery log");
  const std::size_t whole = static_cast<std::size_t>(records + 1) * fabrics::DiscoveryEntry::size;
  read.resize(std::max(read.size(), whole));
  const auto gap = std::find(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(whole), false);
  check.that(gap == read.begin() + static_cast<std::ptrdiff_t>(whole), "each of the " + std::to_string(records) + " records is read",
             "not byte " + std::to_string(gap - read.begin()) + " of " + std::to_string(whole));
}

CONFORMANCE_CASE(host_waits_as_long_as_is_announced, "fabrics.host.init.ready-time", roles::host, furnished{&ready_at_once}) {
  struct Announcement {
    std::uint8_t units;  ///< of 500 ms; the keep alive timeout of the host is longer
    bool in_crto;        ///< beside CAP.TO
  };
  for (const Announcement& each : {Announcement{1, true}, {4, true}, {8, true}, {1, false}, {4, false}, {8, false}}) {
    const std::uint8_t announced = each.units;
    const Duration ready_after = Duration::ms(500) * announced * 9 / 10;
    std::optional<Instant> enabled, disabled;
    bench.script.property_write = [&](std::uint32_t offset, std::uint64_t& value) {
      if (offset != fabrics::property::cc) return true;
      enabled = disabled = std::nullopt;
      ((value & 1) != 0 ? enabled : disabled) = bench.world().now();
      return true;
    };
    bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
      host_setup::with_cap(offset, value, fabrics::cap::to, announced);
      if (!each.in_crto) {
        host_setup::with_cap(offset, value, fabrics::cap::crwms, 0);
        host_setup::with_cap(offset, value, fabrics::cap::crims, 0);
      }
      if (offset == fabrics::property::crto) value = announced | std::uint64_t{announced} << 16;
      if (offset == fabrics::property::csts && enabled && bench.world().now() < *enabled + ready_after) value &= ~std::uint64_t{1};
      if (offset == fabrics::property::csts && disabled && bench.world().now() < *disabled + ready_after) value |= 1;
    };
    const auto outcome = bench.product().connect({.kato_ms = 60'000}).wait_for(60_s);
    check.precondition(enabled.has_value(), "the host enables the controller");
    const std::string time = std::to_string(announced * 500) + " ms" + (each.in_crto ? "" : " without CRTO");
    check.that(outcome && outcome->ok, "the host waits for CSTS.RDY within CAP.TO of " + time, outcome ? outcome->text : "no outcome");
    bench.step("a Controller Reset");
    bool early = false;
    bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
      if (command.qid != 0 || !host_setup::is_connect(command)) return std::nullopt;
      early = early || (disabled && bench.world().now() < *disabled + ready_after);
      disabled = std::nullopt;
      return std::nullopt;
    };
    bench.product().reset().wait_for(60_s);
    check.that(!early, "the host waits for CSTS.RDY = 0 within CAP.TO of " + time, "it connects again before");
    bench.product().disconnect().wait_for(30_s);
    bench.script = {};
  }
}

CONFORMANCE_CASE(host_waits_longer_than_cap_to_can_say, "fabrics.host.init.ready-time", roles::host, furnished{&ready_at_once},
                 lasts(270_s)) {
  // CAP.TO ends at 127.5 s: what is beyond that CRTO alone announces.
  constexpr unsigned kMostOfCap = 0xFF, kReadyUnits = 300;
  Duration ready_after = 120_s;
  std::optional<Instant> enabled;
  bool has_crto = true, says_crto = false;
  bench.script.property_write = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset == fabrics::property::cc && (value & 1) != 0 && !enabled) enabled = bench.world().now();
    return true;
  };
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    host_setup::with_cap(offset, value, fabrics::cap::to, kMostOfCap);
    host_setup::with_cap(offset, value, fabrics::cap::crwms, says_crto ? 1 : 0);
    if (!says_crto) host_setup::with_cap(offset, value, fabrics::cap::crims, 0);
    if (offset == fabrics::property::vs) has_crto = value >= 0x20000;
    if (offset == fabrics::property::crto) value = kReadyUnits;
    if (offset == fabrics::property::csts && enabled && bench.world().now() < *enabled + ready_after) value &= ~std::uint64_t{1};
  };
  const auto by_cap = bench.product().connect({.kato_ms = 600'000}).wait_for(200_s);
  check.precondition(enabled.has_value(), "the host enables the controller");
  check.that(by_cap && by_cap->ok, "the host waits for CSTS.RDY within the longest CAP.TO", by_cap ? by_cap->text : "no outcome");
  bench.product().disconnect().wait_for(30_s);
  enabled = std::nullopt;
  says_crto = true;
  ready_after = 140_s;
  const auto outcome = bench.product().connect({.kato_ms = 600'000}).wait_for(200_s);
  check.precondition(enabled.has_value(), "the host enables the controller");
  check.precondition(has_crto, "the controller is of version 2.0 or later, which CRTO is of");
  check.that(outcome && outcome->ok, "the host waits for CSTS.RDY within CRTO.CRWMT of 150 s", outcome ? outcome->text : "no outcome");
  bench.script = {};
}

}  // namespace fb::conformance
