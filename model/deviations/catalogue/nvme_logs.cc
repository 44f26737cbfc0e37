// Get Log Page: pages that are wrong, and pages that should not be there.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

std::uint8_t page_of(const CommandContext& command) { return static_cast<std::uint8_t>(cdw10_of(command) & 0xFF); }

bool is_log(const CommandContext& command, nvme::LogPage page) {
  return is_admin(command, static_cast<std::uint8_t>(nvme::AdminOpcode::get_log_page)) &&
         page_of(command) == static_cast<std::uint8_t>(page);
}

bool takes_a_reserved_page(const CommandContext& command, Refusal& refusal) {
  return refusal.check != "log.lid" || page_of(command) != 0x6F;
}

void set_supported(MutableBytes data, nvme::LogPage page, bool supported) {
  edit_element<nvme::SupportedPage>(data, nvme::supported_pages::lids, static_cast<std::size_t>(page))
      .set(nvme::supported_page::lsupp, supported);
}

std::optional<nvme::Status> no_self_test_log(const CommandContext& command) {
  if (!is_log(command, nvme::LogPage::self_test)) return {};
  return nvme::sc::invalid_log_page;
}

void hides_smart(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::supported_pages) || data.size() < 1024) return;
  set_supported(data, nvme::LogPage::smart, false);
}

void spare_above_full(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::smart) || data.size() < nvme::SmartLog::size) return;
  MutableView<nvme::SmartLog>{data}.set(nvme::smart::avsp, 200);
}

void celsius(const CommandContext& command, MutableBytes data) {
  if (!is_log(command, nvme::LogPage::smart) || data.size() < nvme::SmartLog::size) return;
  MutableView<nvme::SmartLog>{data}.set(nvme::smart::ctemp, 37);
}

void stranger_in_ana_group(const CommandContext& command, MutableBytes data) {
  constexpr std::size_t kLastOfTwo = nvme::AnaHeader::size + nvme::AnaGroupHeader::size + 4;
  if (!is_log(command, nvme::LogPage::ana) || data.size() < 8192) return;
  store_le<std::uint32_t>(data.data() + kLastOfTwo, 77);
}

}  // namespace

DEVIATION(log_page_out_of_nothing, "nvme.log.unknown", Product::controller, "answers a reserved log page with zeroes",
          hooks<Refusing, &takes_a_reserved_page>());
DEVIATION(log_pages_listed_but_missing, "nvme.log.supported-pages", Product::controller, "lists the self-test log, and refuses it",
          hooks<Answering, &no_self_test_log>());
DEVIATION(log_pages_not_listed, "nvme.log.supported-pages", Product::controller, "leaves the SMART log out of the list",
          hooks<AlteringDataOut, &hides_smart>());
DEVIATION(log_offset_without_end, "nvme.log.offset-beyond", Product::controller, "answers an offset beyond the page with zeroes",
          Tolerate{"log.offset"});
DEVIATION(log_offset_ignored, "nvme.log.offset", Product::controller, "every read of a log page begins at its first byte",
          Departs{"sub.log.offset"});
DEVIATION(error_entry_of_another_command, "nvme.log.error-entry", Product::controller, "error log entries carry another command identifier",
          Departs{"sub.log.error.cid"});
DEVIATION(error_entry_of_another_status, "nvme.log.error-entry", Product::controller, "error log entries carry another status",
          Departs{"sub.log.error.status"});
DEVIATION(error_entry_missing, "nvme.log.error-entry", Product::controller, "sets More without making an error log entry",
          Departs{"sub.cqe.more"});
DEVIATION(smart_spare_above_full, "nvme.log.smart", Product::controller, "the available spare is 200 percent",
          hooks<AlteringDataOut, &spare_above_full>());
DEVIATION(smart_temperature_in_celsius, "nvme.log.smart", Product::controller, "the temperature is in degrees Celsius",
          hooks<AlteringDataOut, &celsius>());
DEVIATION(smart_of_any_namespace, "nvme.log.smart-namespace", Product::controller,
          "gives the SMART log for one namespace without claiming it", Tolerate{"log.nsid"});
DEVIATION(effects_without_identify, "nvme.log.effects", Product::controller, "the effects log leaves out Identify",
          Departs{"sub.log.effects.missing"});
DEVIATION(effects_with_lba_status, "nvme.log.effects", Product::controller, "the effects log claims Get LBA Status",
          Departs{"sub.log.effects.extra"});
DEVIATION(changed_list_stays, "nvme.log.changed-namespaces", Product::controller, "reading the changed namespace list does not clear it",
          Departs{"sub.log.changed.kept"});
DEVIATION(changed_list_is_empty, "nvme.log.changed-namespaces", Product::controller, "the changed namespace list is always empty",
          Departs{"sub.log.changed.empty"});
DEVIATION(ana_log_descends, "nvme.log.ana", Product::controller, "namespaces in the ANA log descend", Departs{"sub.ana.order"});
DEVIATION(ana_log_with_a_stranger, "nvme.log.ana", Product::controller, "the ANA log lists a namespace that is not attached",
          hooks<AlteringDataOut, &stranger_in_ana_group>());
DEVIATION(ana_groups_with_namespaces, "nvme.log.ana-groups-only", Product::controller,
          "groups come with their namespaces although only groups were asked for", Departs{"sub.ana.rgo"});

}  // namespace fb::deviations
