// Log pages: offsets of all shapes, the order of errors, and counters that count.
#include <array>

#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::LogPage;

constexpr std::uint8_t kExtended = nvme::lpa_bits::extended_data;

host::RawReply read_log(RawAssociation& association, LogPage page, std::uint32_t bytes, std::uint64_t offset = 0) {
  auto command = host::get_log(page, bytes, offset);
  command.set(nvme::get_log_sqe::rae, true);
  return association.admin().send(command, bytes).wait();
}

std::vector<View<nvme::ErrorEntry>> entries_of(ByteView log) {
  std::vector<View<nvme::ErrorEntry>> entries;
  for (std::size_t at = 0; at + nvme::ErrorEntry::size <= log.size(); at += nvme::ErrorEntry::size) {
    entries.emplace_back(log.subspan(at, nvme::ErrorEntry::size));
  }
  return entries;
}
/// The whole error log, or as much of it as a small transfer takes.
host::RawReply read_errors(ControllerBench& bench, RawAssociation& association) {
  const std::uint64_t entries = std::min<std::uint64_t>(bench.declared().identify().get(nvme::id_ctrl::elpe).count(), 64);
  return read_log(association, LogPage::error_information, static_cast<std::uint32_t>(entries * nvme::ErrorEntry::size));
}

/// The low halves of the counters that Reads and Writes move.
struct Counters {
  std::uint64_t units_read = 0, units_written = 0, reads = 0, writes = 0;
};
Counters read_counters(Check& check, RawAssociation& association) {
  const auto reply = read_log(association, LogPage::smart, nvme::SmartLog::size);
  check.precondition_success(reply, "Get Log Page 02h");
  const auto low = [&](std::size_t offset) { return load_le<std::uint64_t>(reply.data.data() + offset); };
  return {low(nvme::smart::dur.offset), low(nvme::smart::duw.offset), low(nvme::smart::hrc.offset), low(nvme::smart::hwc.offset)};
}

std::optional<std::string> protects_namespaces(const Declared& declared) {
  const auto bit = nvme::nwpc_bits::write_protect;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::nwpc) & bit) != 0) return {};
  return "NWPC bit 0 is clear";
}

constexpr unsigned kTransfers = 128;
constexpr std::uint64_t kDataUnit = 512'000;

/// Writes and reads, a quarter of them as long as may be; answers the bytes of data that went each way.
std::uint64_t move_data(Check& check, IoScene& scene, std::uint64_t most) {
  constexpr std::uint64_t kLongest = 512 * 1024;
  const std::uint64_t longest = std::min<std::uint64_t>(most == 0 ? kLongest : std::min(most, kLongest), scene.blocks * scene.block_bytes);
  const auto blocks = static_cast<std::uint32_t>(std::max<std::uint64_t>(longest / scene.block_bytes, 1));
  const Bytes data = pattern(0x5C, blocks, scene.block_bytes);
  std::uint64_t moved = 0;
  for (unsigned i = 0; i < kTransfers; ++i) {
    const std::uint32_t count = i % 4 == 0 ? blocks : std::min<std::uint32_t>(std::max<std::uint32_t>(4096 / scene.block_bytes, 1), blocks);
    check.precondition_success(scene.write(0, ByteView{data}.first(std::size_t{count} * scene.block_bytes)), "Write");
    check.precondition_success(scene.read(0, count), "Read");
    moved += std::uint64_t{count} * scene.data_bytes;
  }
  // More commands write than read: whoever mixes the counters up is found out.
  for (unsigned i = 0; i < kTransfers; ++i) {
    check.precondition_success(scene.write(0, ByteView{data}.first(scene.block_bytes)), "Write");
  }
  return moved;
}

}  // namespace

// Nothing here is malformed, but tshark 4.0 reads on where a log page is cut.
CONFORMANCE_CASE(odd_log_offsets_mean_their_dword, "nvme.log.offset-dword", roles::controller,
                 needs(claims_lpa<kExtended | nvme::lpa_bits::commands_effects>), sends_malformed) {
  RawAssociation& association = bench.associate();
  const auto whole = read_log(association, LogPage::commands_effects, nvme::CommandEffects::size);
  check.precondition_success(whole, "Get Log Page 05h");
  for (const std::uint32_t offset : {26u, 33u, 7u}) {
    const auto part = read_log(association, LogPage::commands_effects, 64, offset);
    const std::string what = "log page at offset " + std::to_string(offset);
    if (!check.status(part, one_of(sc::success, sc::invalid_field), what) || !part.ok()) continue;
    check.bytes(what, part.data, ByteView{whole.data}.subspan(offset / 4 * 4, 64));
  }
}

CONFORMANCE_CASE(log_offset_has_64_bits, "nvme.log.offset-upper", roles::controller, needs(claims_lpa<kExtended>), reaches{"log.offset"}) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 32;
  check.status(read_log(bench.associate(), LogPage::smart, 512, kFar), sc::invalid_field);
}

CONFORMANCE_CASE(error_log_begins_with_the_latest, "nvme.log.error-order", roles::controller) {
  RawAssociation& association = bench.associate();
  for (unsigned i = 0; i < 3; ++i) {
    const auto refused = association.admin().send(host::identify(static_cast<nvme::Cns>(0x7F)), 4096).wait();
    check.precondition(refused.answered() && !refused.ok(), "Identify of an unknown CNS is refused");
    check.precondition(refused.status().more(), "the status has the More bit");
  }
  const auto log = read_errors(bench, association);
  check.precondition_success(log, "Get Log Page 01h");
  std::vector<std::uint64_t> counts;
  for (const auto& entry : entries_of(log.data)) {
    const std::uint64_t count = entry.get(nvme::error_entry::error_count);
    if (count != 0) counts.push_back(count);
  }
  check.precondition(counts.size() >= 2, "the error log holds two entries");
  for (std::size_t i = 1; i < counts.size(); ++i) {
    check.that(counts[i] < counts[i - 1], "error counts descend from the latest error on",
               words(counts[i]) + " comes after " + words(counts[i - 1]));
  }
}

CONFORMANCE_CASE(errors_of_io_commands_name_their_queue, "nvme.log.error-queue", roles::controller, needs(has_namespace)) {
  constexpr std::uint16_t kCid = 0x5B29;
  IoScene scene(bench);
  auto wrong = host::read(scene.nsid, scene.at(scene.blocks), 1);
  wrong.set(nvme::sqe::cid, kCid);
  const auto refused = scene.io.send(wrong, scene.block_bytes).wait();
  check.precondition(refused.answered() && !refused.ok(), "Read behind the last block is refused");
  check.precondition(refused.status().more(), "the status has the More bit");
  const auto log = read_errors(bench, scene.association);
  check.require_success(log, "Get Log Page 01h");
  for (const auto& entry : entries_of(log.data)) {
    if (entry.get(nvme::error_entry::error_count) == 0 || entry.get(nvme::error_entry::cid) != kCid) continue;
    check.equal("SQID of the entry", entry.get(nvme::error_entry::sqid), bench.io_qid());
    check.status(entry.get(nvme::error_entry::status), refused.status().code(), "status in the entry");
    return;
  }
  check.fails("the error log", {"an entry with the command's identifier"}, "there is none");
}

CONFORMANCE_CASE(errors_of_io_commands_name_their_namespace, "nvme.log.error-namespace", roles::controller, needs(has_namespace)) {
  constexpr std::uint16_t kCid = 0x5B2A;
  IoScene scene(bench);
  auto wrong = host::read(scene.nsid, scene.at(scene.blocks), 1);
  wrong.set(nvme::sqe::cid, kCid);
  const auto refused = scene.io.send(wrong, scene.block_bytes).wait();
  check.precondition(refused.answered() && !refused.ok() && refused.status().more(),
                     "Read behind the last block is refused, with the More bit");
  const auto log = read_errors(bench, scene.association);
  check.precondition_success(log, "Get Log Page 01h");
  for (const auto& entry : entries_of(log.data)) {
    if (entry.get(nvme::error_entry::error_count) == 0 || entry.get(nvme::error_entry::cid) != kCid) continue;
    check.equal("NSID of the entry", entry.get(nvme::error_entry::nsid), scene.nsid);
    return;
  }
  check.inconclusive("the error log has no entry of the command");
}

CONFORMANCE_CASE(errors_of_admin_commands_name_their_namespace, "nvme.log.error-namespace", roles::controller, needs(has_namespace),
                 needs(protects_namespaces)) {
  constexpr std::uint16_t kCid = 0x5B2B;
  constexpr std::uint32_t kReservedState = 5;
  RawAssociation& association = bench.associate();
  auto wrong = host::set_features(nvme::FeatureId::namespace_write_protection, kReservedState);
  wrong.set(nvme::sqe::nsid, bench.nsid()).set(nvme::sqe::cid, kCid);
  const auto refused = association.admin().send(wrong).wait();
  check.precondition(refused.answered() && !refused.ok() && refused.status().more(),
                     "a reserved state of write protection is refused, with the More bit");
  const auto log = read_errors(bench, association);
  check.precondition_success(log, "Get Log Page 01h");
  for (const auto& entry : entries_of(log.data)) {
    if (entry.get(nvme::error_entry::error_count) == 0 || entry.get(nvme::error_entry::cid) != kCid) continue;
    check.equal("NSID of the entry", entry.get(nvme::error_entry::nsid), bench.nsid());
    return;
  }
  check.inconclusive("the error log has no entry of the command");
}

CONFORMANCE_CASE(health_log_counts_error_entries, "nvme.log.error-entries-counted", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto entries = [&] {
    const auto reply = read_log(association, LogPage::smart, nvme::SmartLog::size);
    check.precondition_success(reply, "Get Log Page 02h");
    return load_le<std::uint64_t>(reply.data.data() + nvme::smart::neile.offset);
  };
  // More than the log of many products holds: the count goes on.
  constexpr std::uint64_t kErrors = 80;
  const std::uint64_t before = entries();
  for (unsigned i = 0; i < kErrors; ++i) {
    const auto refused = association.admin().send(host::identify(static_cast<nvme::Cns>(0x7F)), 4096).wait();
    check.precondition(refused.answered() && !refused.ok() && refused.status().more(),
                       "Identify of an unknown CNS is refused, with the More bit");
  }
  const std::uint64_t after = entries();
  check.that(after >= before + kErrors, "Number of Error Information Log Entries counts them", words(after) + " after " + words(before));
}

CONFORMANCE_CASE(health_counters_do_not_go_back, "nvme.log.smart-monotonic", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  Counters before = read_counters(check, scene.association);
  for (unsigned i = 0; i < 4; ++i) {
    scene.prepare(check, 0, static_cast<std::uint8_t>(i), 1);
    check.precondition_success(scene.read(0, 1), "Read");
    const Counters after = read_counters(check, scene.association);
    const auto judge = [&](std::string_view what, std::uint64_t was, std::uint64_t is) {
      check.that(is >= was, std::string(what) + " do not go back", words(is) + " after " + words(was));
    };
    judge("data units read", before.units_read, after.units_read);
    judge("data units written", before.units_written, after.units_written);
    judge("Host Read Commands", before.reads, after.reads);
    judge("Host Write Commands", before.writes, after.writes);
    before = after;
  }
}

CONFORMANCE_CASE(health_counters_count, "nvme.log.smart-counts", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  // Whatever counts blocks for thousands of them is far from what is right, and other hosts are not.
  constexpr std::uint64_t kUnitsOfOthers = 500;
  const Counters before = read_counters(check, scene.association);
  const std::uint64_t bytes = move_data(check, scene, bench.declared().transfer_max());
  const Counters after = read_counters(check, scene.association);
  const std::array<std::uint64_t, 4> now = {after.units_read, after.units_written, after.reads, after.writes};
  check.precondition(std::any_of(now.begin(), now.end(), [](std::uint64_t one) { return one != 0; }), "the health log counts something");
  const auto least = [&](std::string_view what, std::uint64_t grown, std::uint64_t wanted) {
    check.that(grown >= wanted, std::string(what) + " count what was done", "they grew by " + words(grown));
  };
  least("Host Read Commands", after.reads - before.reads, kTransfers);
  least("Host Write Commands", after.writes - before.writes, 2 * kTransfers);
  const auto units = [&](std::string_view what, std::uint64_t was, std::uint64_t is) {
    if (is == 0) return;  // not reported
    check.between<std::uint64_t>(what, is - was, bytes / kDataUnit, bytes / kDataUnit + kUnitsOfOthers);
  };
  units("growth of data units read", before.units_read, after.units_read);
  units("growth of data units written", before.units_written, after.units_written);
}

}  // namespace fb::conformance
