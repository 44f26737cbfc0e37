// Log pages: reserved bits, the firmware that runs, how many errors are kept, and errors that were none.
#include "conformance/cases/nvme/scene.h"
#include "conformance/cases/reserved.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::LogPage;

constexpr ReservedBits kErrorEntry[] = {reserved_bytes(42, 62)};
constexpr ReservedBits kSmart[] = {{"EGCWS", 6, 1, 0xF2}, reserved_bytes(7, 31), reserved_bytes(232, 511)};
constexpr ReservedBits kFirmware[] = {{"AFI", 0, 1, 0x88}, reserved_bytes(1, 7), reserved_bytes(64, 511)};
constexpr ReservedBits kAnaHeader[] = {reserved_bytes(10, 15)};
constexpr ReservedBits kAnaGroup[] = {{"ANAS", 16, 1, 0xF0}, reserved_bytes(17, 31)};
constexpr ReservedBits kEffects[] = {reserved_bytes(2048, 4095)};
constexpr std::uint32_t kEffectReserved = 0x00003FE0;  // bits 13:05
constexpr std::uint32_t kSupportedReserved = 0x0000FFFC;
constexpr std::uint32_t kFeatureReserved = 0x0007FFE0;  // bits 18:05

constexpr std::size_t kAnaHeaderBytes = 16, kAnaGroupBytes = 32, kSlotBytes = 8;

/// Clears no events.
host::RawReply read_log(RawAssociation& association, LogPage page, std::size_t bytes, std::uint64_t offset = 0) {
  auto command = host::get_log(page, static_cast<std::uint32_t>(bytes), offset);
  command.set(nvme::get_log_sqe::rae, true);
  return association.admin().send(command, bytes).wait();
}

/// A page that the case needs.
Bytes page_of(Check& check, RawAssociation& association, LogPage page, std::size_t bytes) {
  auto reply = read_log(association, page, bytes);
  check.precondition_success(reply, fmt::format("Get Log Page of {}", nvme::log_page_name(lid_of(page))));
  return std::move(reply.data);
}

std::uint32_t declared_version(RawAssociation& association) {
  return static_cast<std::uint32_t>(association.property(fabrics::property::vs));
}

/// A command that every controller refuses.
host::RawReply fail_once(RawAssociation& association) {
  return association.admin().send(host::identify(static_cast<nvme::Cns>(0x7F)), nvme::kIdentifySize).wait();
}

/// Dwords of a table, all of which have the same reserved bits.
void check_dwords(Check& check, std::string_view what, ByteView table, std::uint32_t mask, std::uint32_t vs) {
  for (std::size_t at = 0; at + 4 <= table.size(); at += 4) {
    if ((load_le<std::uint32_t>(&table[at]) & mask) == 0) continue;
    const ReservedBits row[] = {{"an entry", static_cast<std::uint16_t>(at), 4, mask}};
    return check_reserved(check, what, table, row, vs);
  }
  check.that(true, fmt::format("reserved bits of {} are 0", what));
}

View<nvme::ErrorEntry> entry_at(ByteView log, std::size_t index) {
  return View<nvme::ErrorEntry>{log.subspan(index * nvme::ErrorEntry::size, nvme::ErrorEntry::size)};
}
std::uint64_t count_at(ByteView log, std::size_t index) { return entry_at(log, index).get(nvme::error_entry::error_count); }

}  // namespace

CONFORMANCE_CASE(health_log_reserves_what_is_reserved, "nvme.log.smart-reserved", roles::controller) {
  RawAssociation& association = bench.associate();
  const Bytes log = page_of(check, association, LogPage::smart, nvme::SmartLog::size);
  check_reserved(check, "the SMART log", log, kSmart, declared_version(association));
}

CONFORMANCE_CASE(error_entries_reserve_what_is_reserved, "nvme.log.error-reserved", roles::controller) {
  RawAssociation& association = bench.associate();
  check.precondition(!fail_once(association).ok(), "an unknown CNS is refused");
  const Bytes log = page_of(check, association, LogPage::error_information, nvme::ErrorEntry::size);
  check.precondition(count_at(log, 0) != 0, "the error left an entry");
  check_reserved(check, "an error log entry", log, kErrorEntry, declared_version(association));
}

CONFORMANCE_CASE(firmware_log_reserves_what_is_reserved, "nvme.log.firmware-reserved", roles::controller) {
  RawAssociation& association = bench.associate();
  const Bytes log = page_of(check, association, LogPage::firmware_slot, nvme::FirmwareSlots::size);
  check_reserved(check, "the firmware slot log", log, kFirmware, declared_version(association));
}

CONFORMANCE_CASE(ana_log_reserves_what_is_reserved, "nvme.log.ana-reserved", roles::controller, needs(reports_ana)) {
  RawAssociation& association = bench.associate();
  const std::uint32_t vs = declared_version(association);
  auto command = host::get_log(LogPage::ana, kAnaHeaderBytes + kAnaGroupBytes);
  command.set(nvme::get_log_sqe::rae, true).set(nvme::get_log_sqe::lsp, 1u);  // groups alone
  const auto reply = association.admin().send(command, kAnaHeaderBytes + kAnaGroupBytes).wait();
  check.precondition_success(reply, "Get Log Page of the ANA log");
  check_reserved(check, "the ANA log", reply.data, kAnaHeader, vs);
  if (load_le<std::uint16_t>(&reply.data[8]) == 0) return;
  check_reserved(check, "an ANA group descriptor", ByteView{reply.data}.subspan(kAnaHeaderBytes), kAnaGroup, vs);
}

CONFORMANCE_CASE(effects_logs_reserve_what_is_reserved, "nvme.log.effects-reserved", roles::controller) {
  RawAssociation& association = bench.associate();
  const std::uint32_t vs = declared_version(association);
  const auto commands = read_log(association, LogPage::commands_effects, nvme::CommandEffects::size);
  const auto pages = read_log(association, LogPage::supported_pages, nvme::SupportedPages::size);
  const auto features = read_log(association, LogPage::feature_effects, 1024);
  check.precondition(commands.ok() || pages.ok() || features.ok(), "there is a log of commands, log pages or features");
  if (commands.ok()) {
    check_reserved(check, "the commands supported and effects log", commands.data, kEffects, vs);
    check_dwords(check, "the commands supported and effects log", ByteView{commands.data}.first(2048), kEffectReserved, vs);
  }
  if (pages.ok()) check_dwords(check, "the supported log pages", pages.data, kSupportedReserved, vs);
  if (features.ok()) check_dwords(check, "the feature identifiers supported and effects log", features.data, kFeatureReserved, vs);
}

CONFORMANCE_CASE(unsupported_commands_have_no_effects, "nvme.log.effects-unsupported", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto commands = read_log(association, LogPage::commands_effects, nvme::CommandEffects::size);
  const auto features = read_log(association, LogPage::feature_effects, 1024);
  check.precondition(commands.ok() || features.ok(), "there is a log of commands or of features");
  const auto judge = [&](const host::RawReply& log, std::size_t bytes, std::string_view what) {
    for (std::size_t at = 0; log.ok() && at + 4 <= bytes; at += 4) {
      const std::uint32_t entry = load_le<std::uint32_t>(&log.data[at]);
      if ((entry & 1) != 0 || entry == 0) continue;
      check.fails(fmt::format("entry of a {} that is not supported", what), {"0"},
                  fmt::format("{:08X}h for {} {:02X}h", entry, what, at / 4 % 256));
    }
  };
  judge(commands, 2048, "command");
  judge(features, 1024, "feature");
  check.that(true, "what is not supported has no effects");
}

CONFORMANCE_CASE(a_firmware_slot_is_active, "nvme.log.firmware-active", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto page = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify Controller");
  const View<nvme::IdentifyController> id{page.data};
  const Bytes log = page_of(check, association, LogPage::firmware_slot, nvme::FirmwareSlots::size);
  const unsigned slots = id.get(nvme::id_ctrl::frmw) >> nvme::frmw_bits::slots_shift & 7u;
  const unsigned active = log[0] & 7u, next = log[0] >> 4 & 7u;
  check.that(active != 0 && active <= slots, "AFI.CAFS names a firmware slot that FRMW counts",
             fmt::format("CAFS {}, {} slots", active, slots));
  check.that(next <= slots, "AFI.NAFS names a firmware slot that FRMW counts, or none", fmt::format("NAFS {}, {} slots", next, slots));
  const auto revision = [&](unsigned slot) { return ByteView{log}.subspan(slot * kSlotBytes, kSlotBytes); };
  if (active != 0 && next == 0) {
    check.equal("revision in the active slot", text_of(revision(active)), text_of(id.get(nvme::id_ctrl::fr)));
  }
  for (unsigned slot = slots + 1; slot <= 7; ++slot) {
    const ByteView text = revision(slot);
    check.that(std::all_of(text.begin(), text.end(), [](std::uint8_t byte) { return byte == 0; }),
               fmt::format("a slot that FRMW does not count, {}, has no revision", slot), words(text));
  }
}

CONFORMANCE_CASE(success_leaves_no_error_entry, "nvme.log.error-phantom", roles::controller) {
  RawAssociation& association = bench.associate();
  const std::size_t entries = std::min<std::size_t>(bench.declared().identify().get(nvme::id_ctrl::elpe).count(), 64);
  const std::size_t bytes = entries * nvme::ErrorEntry::size;
  const Bytes before = page_of(check, association, LogPage::error_information, bytes);
  for (unsigned i = 0; i < 4; ++i) {
    check.precondition_success(association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait(), "Identify");
    (void)association.property(fabrics::property::csts);
    (void)page_of(check, association, LogPage::smart, nvme::SmartLog::size);
  }
  const Bytes after = page_of(check, association, LogPage::error_information, bytes);
  check.equal("error count of the first entry after commands that succeeded", count_at(after, 0), count_at(before, 0));
  bench.step("the entries by themselves");
  for (std::size_t i = 0; i < entries; ++i) {
    if (count_at(after, i) == 0) continue;
    check.that(!entry_at(after, i).get(nvme::error_entry::status).ok(), "an entry has the status of an error", "Success (0/00h)");
    if (i > 0) {
      const std::uint64_t above = count_at(after, i - 1);
      check.that(above == 0 || above != count_at(after, i), "no two entries have one error count",
                 fmt::format("entries {} and {} have", i - 1, i));
    }
  }
}

CONFORMANCE_CASE(as_many_errors_are_kept_as_elpe_says, "nvme.log.error-capacity", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto page = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify Controller");
  const View<nvme::IdentifyController> id{page.data};
  const std::size_t kept = id.get(nvme::id_ctrl::elpe).count();
  const std::size_t whole = (kept + 1) * nvme::ErrorEntry::size;
  for (std::size_t i = 0; i < kept + 2; ++i) {
    const auto reply = fail_once(association);
    check.precondition(reply.answered() && !reply.ok() && reply.status().more(), "each error leaves an entry (the More bit is set)");
  }
  // One entry more than ELPE counts: it is refused, or has nothing in it.
  const std::uint64_t most = bench.declared().transfer_max();
  const bool offsets = (id.get(nvme::id_ctrl::lpa) & nvme::lpa_bits::extended_data) != 0;
  const std::size_t step = most == 0 ? whole : static_cast<std::size_t>(std::min<std::uint64_t>(whole, most));
  check.precondition(step == whole || offsets, "the whole error log can be read");
  Bytes log;
  while (log.size() < kept * nvme::ErrorEntry::size) {
    const std::size_t part = std::min(step, kept * nvme::ErrorEntry::size - log.size());
    const auto reply = read_log(association, LogPage::error_information, part, log.size());
    check.require_success(reply, "Get Log Page of the entries that ELPE counts");
    log.insert(log.end(), reply.data.begin(), reply.data.end());
  }
  std::size_t valid = 0;
  for (std::size_t i = 0; i < kept; ++i) valid += count_at(log, i) != 0;
  check.equal("valid entries after more errors than ELPE counts", valid, kept);
  if (!offsets && step != whole) return;
  const auto beyond = offsets ? read_log(association, LogPage::error_information, nvme::ErrorEntry::size, kept * nvme::ErrorEntry::size)
                              : read_log(association, LogPage::error_information, whole);
  if (!beyond.ok()) return;
  const std::uint64_t next = count_at(beyond.data, offsets ? 0 : kept), last = count_at(log, kept - 1);
  check.that(next == 0 || next >= last, "there is no older entry behind those that ELPE counts",
             fmt::format("one with error count {} follows {}", next, last));
}

}  // namespace fb::conformance
