// Every log page: which there are, and each of them in pieces.
#include <fmt/format.h>

#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::LogPage;

constexpr std::uint8_t kExtended = nvme::lpa_bits::extended_data;

/// Pages that stay as they are while nothing happens, and how much of them there is in any case.
struct StillPage {
  LogPage page;
  std::uint32_t bytes;
  std::uint16_t specific = 0;  ///< log specific identifier
};
constexpr StillPage kStill[] = {
    {LogPage::supported_pages, 1024},
    {LogPage::error_information, 64},
    {LogPage::firmware_slot, 512},
    {LogPage::changed_namespaces, 4096},
    {LogPage::commands_effects, 4096},
    {LogPage::self_test, 564},
    {LogPage::ana, 16},
    {LogPage::feature_effects, 1024},
    {LogPage::reservation_notification, 64},
    {LogPage::sanitize_status, 512},
    {LogPage::endurance_group, 512, 1},
    {LogPage::endurance_group, 512, 2},
    {LogPage::endurance_group_events, 64},
    {LogPage::lockdown, 512},
    {LogPage::lba_status, 64},
};

host::RawReply read(RawAssociation& association, std::uint8_t lid, std::uint32_t bytes, std::uint64_t offset = 0,
                    std::uint16_t specific = 0) {
  auto command = host::get_log(lid, bytes, offset);
  command.set(nvme::get_log_sqe::rae, true).set(nvme::get_log_sqe::lsi, specific);
  return association.admin().send(command, bytes).wait();
}

/// All of an ANA log, whose size follows from what Identify says; of others what is always there.
std::uint32_t size_of(ControllerBench& bench, const StillPage& one) {
  const auto identify = bench.declared().identify();
  if (one.page == LogPage::error_information) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(identify.get(nvme::id_ctrl::elpe).count(), 16) * one.bytes);
  }
  if (one.page != LogPage::ana) return one.bytes;
  return static_cast<std::uint32_t>(nvme::AnaHeader::size + nvme::AnaGroupHeader::size + 4 * bench.declared().namespaces.size());
}

Bytes supported_pages(Check& check, RawAssociation& association) {
  const auto list = read(association, lid_of(LogPage::supported_pages), nvme::SupportedPages::size);
  check.precondition_success(list, "Get Log Page 00h");
  return list.data;
}
bool lists(const Bytes& list, unsigned lid) {
  return element<nvme::SupportedPage>(list, nvme::supported_pages::lids, lid).get(nvme::supported_page::lsupp);
}

}  // namespace

CONFORMANCE_CASE(every_log_page_is_listed_or_refused, "nvme.log.every-identifier", roles::controller, needs(is_version_2),
                 sends_malformed) {
  constexpr std::uint32_t kBytes = 512;  // the block of telemetry pages
  RawAssociation& association = bench.associate();
  const Bytes list = supported_pages(check, association);
  for (unsigned lid = 0; lid < 256; ++lid) {
    const auto reply = read(association, static_cast<std::uint8_t>(lid), kBytes);
    const std::string what = fmt::format("Get Log Page {:02X}h", lid);
    if (lists(list, lid)) {
      // Some pages want a parameter, and are refused for the lack of it; but they are there.
      const bool missing = reply.answered() && nvme::same_code(reply.status(), sc::invalid_log_page);
      check.that(!missing, what + ", which is listed, is not an invalid log page", "it is one");
    } else {
      check.status(reply, one_of(sc::invalid_log_page, sc::invalid_field), what + ", which is not listed");
    }
  }
}

// tshark 4.0 reads on where a log page is cut.
CONFORMANCE_CASE(every_log_page_reads_the_same_in_pieces, "nvme.log.every-piece", roles::controller, needs(claims_lpa<kExtended>),
                 sends_malformed, furnished{[](EmbeddedSetup& setup) { setup.subsystem.endurance.groups = 2; }}) {
  constexpr std::uint32_t kSizes[] = {4, 60, 8, 132, 16, 300, 12, 516, 28, 1000};
  RawAssociation& association = bench.associate();
  // Something to read in the error log.
  for (unsigned i = 0; i < 3; ++i) (void)association.admin().send(host::identify(static_cast<nvme::Cns>(0x7F)), 4096).wait();
  for (const StillPage& one : kStill) {
    const std::uint32_t size = size_of(bench, one);
    const auto whole = read(association, lid_of(one.page), size, 0, one.specific);
    if (!whole.ok()) continue;
    const std::string name(nvme::log_page_name(lid_of(one.page)));
    std::uint32_t at = 0;
    for (std::size_t i = 0; at < size; ++i) {
      const std::uint32_t length = std::min(kSizes[i % std::size(kSizes)], size - at);
      const auto piece = read(association, lid_of(one.page), length, at, one.specific);
      const std::string what = fmt::format("{}, {} bytes from {}", name, length, at);
      if (check.success(piece, what)) check.bytes(what, piece.data, ByteView{whole.data}.subspan(at, length));
      at += length;
    }
  }
}

CONFORMANCE_CASE(log_pages_keep_to_mdts, "nvme.log.mdts", roles::controller, needs(limits_transfers), sends_malformed) {
  const std::uint64_t most = bench.declared().transfer_max();
  check.precondition(most <= 8u << 20, "MDTS is small enough to be tried");
  RawAssociation& association = bench.associate();
  for (const LogPage page : {LogPage::error_information, LogPage::smart, LogPage::firmware_slot}) {
    const auto bytes = static_cast<std::uint32_t>(most);
    const std::string name(nvme::log_page_name(lid_of(page)));
    const auto beginning = read(association, lid_of(page), 64);
    check.precondition_success(beginning, "Get Log Page");
    const auto whole = read(association, lid_of(page), bytes);
    if (check.success(whole, name + " with a length of MDTS")) {
      check.bytes(name + ", its beginning", ByteView{whole.data}.first(64), beginning.data);
    }
    check.status(read(association, lid_of(page), bytes + 4), sc::invalid_field, name + " with a dword more");
  }
}

}  // namespace fb::conformance
