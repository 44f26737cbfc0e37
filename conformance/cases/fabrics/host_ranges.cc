// What a host does with every value of what controllers and services declare: keep alive times, queue sizes, discovery records.
#include <algorithm>
#include <array>
#include <optional>

#include "conformance/cases/fabrics/host_setup.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/target.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/fabrics/registration.h"
#include "wire/nvme/identify_controller.h"

namespace fb::conformance {

using namespace host_setup;

namespace {

constexpr std::uint8_t kIdentifyController = 0x01;

/// What the bench's controller says of its keep alive timer, and what the host asks for.
struct Timeout {
  std::uint32_t kato_ms;
  std::uint16_t kas;  ///< units of 100 ms
  bool by_traffic;
};
constexpr std::array<Timeout, 6> kTimeouts = {
    {{1000, 1, false}, {1500, 10, false}, {2300, 10, true}, {5000, 30, false}, {15'000, 100, false}, {61'000, 1, true}}};

void announce(HostBench& bench, const Timeout& timeout) {
  bench.script.data_out = [&timeout](const CommandContext& command, MutableBytes data) {
    const bool controller = command.qid == 0 && command.sqe[0] == kIdentify && command.sqe[40] == kIdentifyController;
    if (!controller || data.size() < nvme::kIdentifySize) return;
    MutableView<nvme::IdentifyController> page{data};
    std::uint32_t attributes = View<nvme::IdentifyController>{data}.get(nvme::id_ctrl::ctratt);
    attributes &= ~nvme::ctratt_bits::traffic_based_keep_alive;
    if (timeout.by_traffic) attributes |= nvme::ctratt_bits::traffic_based_keep_alive;
    page.set(nvme::id_ctrl::kas, timeout.kas).set(nvme::id_ctrl::ctratt, attributes);
  };
}

/// The longest silence of an association that does not end.
void keeps_alive(HostBench& bench, Check& check, const Timeout& timeout, const std::string& when) {
  const Duration unit = Duration::ms(timeout.kas * 100);
  const Duration katt = unit * ((Duration::ms(timeout.kato_ms).count_ns() + unit.count_ns() - 1) / unit.count_ns());
  bench.forget_seen();
  Instant last = bench.world().now();
  const Instant end = last + katt * 4;
  bench.run_until([] { return false; }, katt * 4);
  Duration longest;
  const auto heard = [&](Instant at) {
    longest = std::max(longest, at - last);
    last = std::max(last, at);
  };
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.opcode() == kKeepAlive || timeout.by_traffic) heard(seen.at);
  }
  heard(end);
  check.that(longest < katt, "a sign within KATT of " + to_string(katt) + " " + when, to_string(longest) + " without one");
  check.equal("Connects meanwhile " + when, bench.fabrics_commands(kConnect).size(), 0u);
}

/// What a user learns of a discovery log.
void many_kinds(EmbeddedSetup& setup) {
  for (unsigned i = 0; i < 90; ++i) {
    subsystem::SubsystemOptions other;
    other.nqn = "nqn.2026-11.org.example:shelf-" + std::to_string(i) + std::string(i, 'x');
    other.admin_entries_max = static_cast<std::uint16_t>(32 + i);
    setup.more_subsystems.push_back(std::move(other));
  }
}

ByteView record_at(ByteView log, std::size_t index, bool extended) {
  if (!extended) return fabrics::discovery_entry_at(log, index);
  std::size_t at = fabrics::DiscoveryHeader::size;
  const auto fits = [&] { return at + fabrics::ExtendedEntry::size <= log.size(); };
  for (; index > 0 && fits(); --index) at += load_le<std::uint32_t>(&log[at + fabrics::extended_entry::tel.offset]);
  return fits() ? log.subspan(at, fabrics::DiscoveryEntry::size) : ByteView{};
}

}  // namespace

CONFORMANCE_CASE(host_keeps_alive_for_every_timeout, "fabrics.host.keep-alive.every", roles::host, lasts(300_s)) {
  for (const Timeout& timeout : kTimeouts) {
    const std::string which = "with KATO " + std::to_string(timeout.kato_ms) + " ms and KAS " + std::to_string(timeout.kas);
    announce(bench, timeout);
    bench.connect_product({.kato_ms = timeout.kato_ms});
    keeps_alive(bench, check, timeout, which);
    const auto reset = bench.product().reset().wait_for(60_s);
    if (reset && reset->ok) keeps_alive(bench, check, timeout, which + " after a Controller Reset");
    bench.product().disconnect().wait_for(60_s);
  }
}

CONFORMANCE_CASE(host_waits_for_the_end_of_a_shutdown, "fabrics.host.shutdown.awaited", roles::host,
                 arranged("a controller that takes its time to shut down",
                          [](EmbeddedSetup& setup) { setup.subsystem.shutdown_delay = 3_s; })) {
  bench.connect_product();
  const auto associated = [&] {
    const auto& all = bench.subsystem().controllers();
    return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.second->in_association(); });
  };
  std::optional<Instant> asked;
  bool complete = false;
  bench.script.property_write = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset == fabrics::property::cc && (value >> 14 & 3) != 0 && !asked) asked = bench.world().now();
    return true;
  };
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    constexpr unsigned kComplete = 2;
    complete = complete || (offset == fabrics::property::csts && (value >> 2 & 3) == kComplete);
  };
  Op<HostOutcome> leaving = bench.product().disconnect();
  bench.run_until([&] { return leaving.settled() || complete || (asked && !associated()); }, 60_s);
  check.precondition(asked.has_value(), "the host sets CC.SHN");
  check.that(complete, "the association lasts until CSTS.SHST is 10b", "the host left before");
  leaving.wait_for(60_s);
}

CONFORMANCE_CASE(host_waits_as_long_as_rtd3e_announces, "fabrics.host.shutdown.awaited", roles::host, lasts(16_s)) {
  constexpr std::uint32_t kRtd3eUs = 20'000'000;
  constexpr unsigned kBusy = 1, kComplete = 2;
  std::optional<Instant> asked;
  bool complete = false;
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    const bool identifies = command.qid == 0 && command.sqe[0] == kIdentify && command.sqe[40] == kIdentifyController;
    if (identifies && data.size() >= nvme::kIdentifySize) store_le(data.data() + nvme::id_ctrl::rtd3e.offset, kRtd3eUs);
  };
  bench.script.property_write = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset == fabrics::property::cc && (value >> 14 & 3) != 0 && !asked) asked = bench.world().now();
    return true;
  };
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset != fabrics::property::csts || !asked) return;
    const bool done = bench.world().now() >= *asked + 14_s;
    value = (value & ~std::uint64_t{0xC}) | std::uint64_t{done ? kComplete : kBusy} << 2;
    complete = complete || done;
  };
  bench.connect_product({.kato_ms = 120'000});
  Op<HostOutcome> leaving = bench.product().disconnect();
  bench.run_until([&] { return leaving.settled() || complete; }, 60_s);
  check.precondition(asked.has_value(), "the host sets CC.SHN");
  check.that(complete, "the host looks at CSTS until the shutdown of 14 s is complete, which is within RTD3E", "the host left before");
  leaving.wait_for(60_s);
}

CONFORMANCE_CASE(host_uses_queues_of_every_size, "fabrics.host.queues.sizes", roles::host, furnished([](EmbeddedSetup& setup) {
                   // Commands wait for room in the queues of the RDMA device, and none is copied into it.
                   setup.limits.max_queue_entries = 160;
                   setup.limits.max_inline_bytes = 0;
                 })) {
  // MQES is 0's based: 1 is a queue of two entries.
  for (const unsigned mqes : {1u, 2u, 3u, 6u, 15u, 16u, 126u}) {
    bench.script.property_read = [mqes](std::uint32_t offset, std::uint64_t& value) {
      if (offset == fabrics::property::cap) value = (value & ~std::uint64_t{0xFFFF}) | mqes;
    };
    bench.forget_seen();
    const auto connected = bench.product().connect({.queue_entries = 200}).wait_for(60_s);
    if (!connected || !connected->ok) continue;  // hosts may need more entries
    for (const SeenCommand* seen : connects_of(bench, true)) {
      check.that(seen->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::sqsize).raw() <= mqes,
                 "SQSIZE at most MQES " + std::to_string(mqes),
                 std::to_string(seen->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::sqsize).raw()));
    }
    // More than three rounds of the queue at once.
    const std::size_t count = std::min<std::size_t>(3 * mqes + 5, 110);
    std::vector<Bytes*> data;
    std::vector<Op<nvme::Status>> writes;
    for (std::size_t i = 0; i < count; ++i) {
      data.push_back(&bench.keep(Bytes(512 * (1 + i % 3), static_cast<std::uint8_t>(i + mqes))));
      writes.push_back(bench.product().write(bench.nsid(), i * 3, *data[i]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto written = writes[i].wait_for(120_s);
      check.require(written.has_value(), "each write ends with MQES " + std::to_string(mqes), "one does not");
      check.require_success(*written, "write with MQES " + std::to_string(mqes));
    }
    std::vector<Bytes*> back;
    std::vector<Op<nvme::Status>> reads;
    for (std::size_t i = 0; i < count; ++i) {
      back.push_back(&bench.keep(Bytes(data[i]->size())));
      reads.push_back(bench.product().read(bench.nsid(), i * 3, *back[i]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto read = reads[i].wait_for(120_s);
      check.require(read.has_value() && read->ok(), "each read succeeds with MQES " + std::to_string(mqes));
      check.bytes("data read with MQES " + std::to_string(mqes), *back[i], *data[i]);
    }
    bench.product().disconnect().wait_for(60_s);
  }
  check.precondition(check.performed() > 0, "the host connects to a controller with small queues");
}

CONFORMANCE_CASE(host_reports_discovery_records, "fabrics.host.discovery.reported", roles::host,
                 arranged("a log of many records, and a user who asks the host what it has read", &many_kinds)) {
  // As the log crossed the wire: with basic entries, or extended ones for a host that asks for them.
  Bytes log;
  bool extended = false;
  subsystem::CentralizedOptions central;
  central.extended_entries = true;
  bench.target().discovery().set_central(central);
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    if (command.sqe[0] != 0x02 || command.sqe[40] != 0x70) return;
    const auto offset = static_cast<std::size_t>(load_le<std::uint64_t>(command.sqe.data() + 48));
    const bool has_records = offset + data.size() > fabrics::DiscoveryHeader::size;
    if (has_records) extended = (command.sqe[41] & fabrics::discovery_lsp_bits::extended) != 0;
    if (log.size() < offset + data.size()) log.resize(offset + data.size());
    std::copy(data.begin(), data.end(), log.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  // A piece that is whole records, one that is not, one of a few dwords more than a record.
  for (const std::uint32_t part : {16384u, 4100u, 1032u}) {
    host::DiscoveryClient client(bench.emulated_host());
    host::DiscoveryOptions options{.to = bench.at(), .tls = bench.connect_options().tls};
    options.part_bytes = part;
    const auto outcome = client.discover(options).wait_for(120_s);
    const std::string which = " in pieces of " + std::to_string(part) + " bytes";
    check.require(outcome.has_value() && outcome->ok(), "the log is read" + which, "it is not");
    const host::DiscoveryResult& result = outcome->value();
    const View<fabrics::DiscoveryHeader> header{log};
    check.equal("GENCTR" + which, result.genctr, header.get(fabrics::discovery_header::genctr));
    const auto records = static_cast<std::size_t>(header.get(fabrics::discovery_header::numrec));
    check.precondition(records > 64, "more records than fit into 64 KiB");
    check.equal("records" + which, result.entries.size(), records);
    for (std::size_t i = 0; i < std::min(records, result.entries.size()); ++i) {
      namespace field = fabrics::discovery_entry;
      const ByteView bytes = record_at(log, i, extended);
      check.require(!bytes.empty(), "record " + std::to_string(i) + " is read" + which, "it is not");
      const View<fabrics::DiscoveryEntry> entry{bytes};
      const host::DiscoveredEntry& told = result.entries[i];
      const std::string of = " of record " + std::to_string(i) + which;
      check.equal("SUBNQN" + of, told.subnqn, fabrics::terminated_text(entry.get(field::subnqn)).value_or("?"));
      check.equal("TRTYPE" + of, static_cast<unsigned>(told.trtype), static_cast<unsigned>(entry.get(field::trtype)));
      check.equal("ADRFAM" + of, static_cast<unsigned>(told.adrfam), static_cast<unsigned>(entry.get(field::adrfam)));
      check.equal("SUBTYPE" + of, static_cast<unsigned>(told.subtype), static_cast<unsigned>(entry.get(field::subtype)));
      check.equal("PORTID" + of, unsigned{told.portid}, static_cast<unsigned>(entry.get(field::portid)));
      check.equal("CNTLID" + of, unsigned{told.cntlid}, static_cast<unsigned>(entry.get(field::cntlid)));
      check.equal("ASQSZ" + of, unsigned{told.asqsz}, static_cast<unsigned>(entry.get(field::asqsz)));
      check.equal("TREQ" + of, unsigned{told.treq}, static_cast<unsigned>(entry.get(field::treq)));
      check.equal("EFLAGS" + of, unsigned{told.eflags}, static_cast<unsigned>(entry.get(field::eflags)));
      check.equal("TRADDR" + of, told.traddr, text_of(entry.get(field::traddr)));
      check.equal("TRSVCID" + of, told.trsvcid, text_of(entry.get(field::trsvcid)));
      const auto address = IpAddress::parse(told.traddr);
      const auto port = fabrics::decimal_port(entry.get(field::trsvcid));
      check.that(told.usable && port && address && told.to == Endpoint{*address, *port}, "the address to connect to" + of,
                 to_string(told.to));
    }
  }
}

}  // namespace fb::conformance
