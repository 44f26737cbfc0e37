// Metadata and protection information.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/host/fault_points.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

namespace departure = subsystem::departure;

void dpc_of_type_3_alone(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::identify_namespace) && data.size() > 30) data[28] &= 0xFC;
}
void dpc_without_places(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::identify_namespace) && data.size() > 30) data[28] &= 0x07;
}
void too_little_metadata(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::identify_namespace) || data.size() < 384) return;
  const unsigned index = nvme::format_in_use(data);
  auto format = nvme::edit_lba_format(data, index);
  if (nvme::lba_format_at(data, index).get(nvme::lba_format::ms) != 0) format.set(nvme::lba_format::ms, 4u);
}
void separate_metadata(const CommandContext& command, MutableBytes data) {
  if (identifies(command, nvme::Cns::identify_namespace) && data.size() > 30) data[26] &= 0xEF;
}
void storage_tag_too_wide(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::command_set_namespace) || data.size() < 300) return;
  edit_element<nvme::ExtendedLbaFormat>(data, nvme::id_ns_nvm::elbaf, 0).set(nvme::extended_lba_format::sts, 40u);
}
/// One byte of the metadata of the first block is lost.
void metadata_zeroed(const CommandContext& command, MutableBytes data) {
  const bool read = command.qid != 0 && command.sqe[0] == static_cast<std::uint8_t>(nvme::IoOpcode::read);
  if (read && data.size() % 528 == 0) data[520] = 0;
}
std::optional<nvme::Status> protected_reads_refused(const CommandContext& command) {
  const bool read = command.qid != 0 && command.sqe[0] == static_cast<std::uint8_t>(nvme::IoOpcode::read);
  if (!read || (command.sqe[51] & 0x20) == 0) return {};
  return nvme::sc::invalid_field;
}

}  // namespace

DEVIATION(protection_type_not_offered, "nvme.protection.identify.type", Product::controller, "has a protection type that DPC does not name",
          hooks<AlteringDataOut, &dpc_of_type_3_alone>());
DEVIATION(protection_not_identified, "nvme.protection.identify.type", Product::controller, "says nothing of protection information in DPS",
          Departs{departure::protection_not_identified});
DEVIATION(protection_without_room, "nvme.protection.identify.room", Product::controller, "has tags in four bytes of metadata",
          hooks<AlteringDataOut, &too_little_metadata>());
DEVIATION(protection_in_no_place, "nvme.protection.identify.position", Product::controller, "names no place for tags in DPC",
          hooks<AlteringDataOut, &dpc_without_places>());
DEVIATION(protection_storage_tag_too_wide, "nvme.protection.identify.formats", Product::controller,
          "has a storage tag of 40 bits beside a guard of 16", hooks<AlteringDataOut, &storage_tag_too_wide>());
DEVIATION(metadata_is_separate, "nvme.metadata.interleaved", Product::controller, "does not say that metadata goes with the data",
          hooks<AlteringDataOut, &separate_metadata>());
DEVIATION(metadata_is_lost, "nvme.metadata.kept", Product::controller, "loses metadata", hooks<AlteringDataOut, &metadata_zeroed>());
DEVIATION(protection_inserts_wrong_guards, "nvme.protection.insert.guard", Product::controller, "inserts wrong guards",
          Departs{departure::protection_insert_guard});
DEVIATION(protection_inserts_no_application_tag, "nvme.protection.insert.application", Product::controller, "inserts 0 as application tag",
          Departs{departure::protection_insert_application});
DEVIATION(protection_reference_tags_stay, "nvme.protection.insert.reference", Product::controller,
          "inserts the same reference tag into all blocks", Departs{departure::protection_reference_stays});
DEVIATION(protection_reference_tags_do_not_roll_over, "nvme.protection.insert.rollover", Product::controller,
          "inserts reference tags that do not roll over", Departs{departure::protection_reference_saturates});
DEVIATION(protection_checks_what_it_replaces, "nvme.protection.insert.unchecked", Product::controller, "checks tags that it is to replace",
          Departs{departure::protection_insert_checked});
DEVIATION(protection_loses_metadata, "nvme.protection.insert.beside", Product::controller, "loses the metadata beside the tags",
          Departs{departure::protection_metadata_lost});
DEVIATION(protection_guard_of_data_alone, "nvme.protection.insert.beside", Product::controller, "leaves the metadata out of the guard",
          Departs{departure::protection_guard_narrow});
DEVIATION(protection_first_with_wrong_guards, "nvme.protection.first", Product::controller,
          "inserts wrong guards in front of other metadata", Departs{departure::protection_insert_guard});
DEVIATION(protection_not_stripped, "nvme.protection.strip", Product::controller, "moves the tags into the data of a Read with PRACT",
          Departs{departure::protection_not_stripped});
DEVIATION(protection_stripped_unchecked, "nvme.protection.strip.checks", Product::controller, "strips tags without a look",
          Departs{departure::protection_strip_unchecked});
DEVIATION(protection_replaced, "nvme.protection.pass", Product::controller, "replaces tags that a Write brings",
          Departs{departure::protection_replaced});
DEVIATION(protection_write_takes_any_guard, "nvme.protection.write.guard", Product::controller, "does not check guards",
          Tolerate{"protection.guard"});
DEVIATION(protection_guard_is_a_write_fault, "nvme.protection.write.guard", Product::controller, "calls a wrong guard a write fault",
          AnswerWith{"protection.guard", nvme::sc::write_fault});
DEVIATION(protection_write_takes_any_application_tag, "nvme.protection.write.application", Product::controller,
          "does not check application tags", Tolerate{"protection.application_tag"});
DEVIATION(protection_write_takes_any_reference_tag, "nvme.protection.write.reference", Product::controller, "does not check reference tags",
          Tolerate{"protection.reference_tag"});
DEVIATION(protection_write_checks_always, "nvme.protection.write.unchecked", Product::controller, "checks all tags whatever PRCHK says",
          Departs{departure::protection_always_checked});
DEVIATION(protection_mask_ignored, "nvme.protection.mask", Product::controller, "compares all bits of application tags",
          Departs{departure::protection_mask_ignored});
DEVIATION(protection_read_gives_any_guard, "nvme.protection.read.guard", Product::controller,
          "calls a wrong guard an application tag error", AnswerWith{"protection.guard", nvme::sc::application_tag_check_error});
DEVIATION(protection_read_gives_any_application_tag, "nvme.protection.read.application", Product::controller,
          "calls another application tag a wrong guard", AnswerWith{"protection.application_tag", nvme::sc::guard_check_error});
DEVIATION(protection_read_gives_any_reference_tag, "nvme.protection.read.reference", Product::controller,
          "calls another reference tag an unrecovered read error",
          AnswerWith{"protection.reference_tag", nvme::sc::unrecovered_read_error});
DEVIATION(protection_tag_of_ones_checked, "nvme.protection.escape", Product::controller, "checks application tags of FFFFh",
          Departs{departure::protection_escape_ignored});
DEVIATION(protection_type_3_escapes_by_one_tag, "nvme.protection.escape.type-3", Product::controller,
          "checks no block of type 3 whose application tag is FFFFh", Departs{departure::protection_escape_wide});
DEVIATION(protection_type_3_compared, "nvme.protection.type-3.reference", Product::controller, "compares reference tags of type 3",
          Departs{departure::protection_type_3_checked});
DEVIATION(protection_any_first_reference_tag, "nvme.protection.initial-reference", Product::controller,
          "takes any first reference tag with type 1", Tolerate{"protection.initial_reference"});
DEVIATION(protection_first_reference_tag_is_a_field, "nvme.protection.initial-reference", Product::controller,
          "calls a wrong first reference tag an invalid field", AnswerWith{"protection.initial_reference", nvme::sc::invalid_field});
DEVIATION(protection_compare_takes_any_tags, "nvme.protection.compare.host", Product::controller,
          "does not check the tags that Compare brings", Departs{departure::protection_compare_host_unchecked});
DEVIATION(protection_compare_looks_at_no_medium, "nvme.protection.compare.medium", Product::controller,
          "does not check tags on the medium in Compare", Departs{departure::protection_compare_unchecked});
DEVIATION(protection_compare_of_tags_alone, "nvme.protection.compare.data", Product::controller, "finds all blocks with good tags equal",
          Departs{departure::compare_equal});
DEVIATION(protection_verify_of_nothing, "nvme.protection.verify", Product::controller, "does not check tags in Verify",
          Departs{departure::protection_verify_unchecked});
DEVIATION(protection_zeroes_without_tags, "nvme.protection.write-zeroes", Product::controller,
          "leaves tags as if deallocated after Write Zeroes with PRACT", Departs{departure::protection_zeroes_deallocate});
DEVIATION(protection_deallocated_checked, "nvme.protection.deallocated", Product::controller, "checks tags of deallocated blocks",
          Departs{departure::protection_escape_ignored});
DEVIATION(protection_asked_of_none, "nvme.protection.absent", Product::controller,
          "refuses PRACT on a namespace without protection information", hooks<Answering, &protected_reads_refused>());
DEVIATION(protection_format_ignored, "nvme.protection.format.type", Product::controller,
          "says nothing of the protection type that a format asked for", Departs{departure::protection_not_identified});
DEVIATION(protection_never_written_checked, "nvme.protection.format.readable", Product::controller,
          "checks tags of blocks that were never written", Departs{departure::protection_escape_ignored});
DEVIATION(protection_extended_formats_for_all, "nvme.protection.format.extended", Product::controller,
          "formats with a wide guard without LBAFEE", Tolerate{"format.extended"});
DEVIATION(protection_extended_io_for_all, "nvme.protection.extended.disabled", Product::controller,
          "takes I/O on a namespace with a wide guard without LBAFEE", Tolerate{"io.extended_format"});
DEVIATION(protection_wrong_guard_64, "nvme.protection.extended.guard-64", Product::controller, "inserts wrong 64-bit guards",
          Departs{departure::protection_insert_guard});
DEVIATION(protection_wrong_guard_32, "nvme.protection.extended.guard-32", Product::controller, "inserts wrong 32-bit guards",
          Departs{departure::protection_insert_guard});
DEVIATION(protection_any_storage_tag, "nvme.protection.extended.storage", Product::controller, "does not check storage tags",
          Tolerate{"protection.storage_tag"});

DEVIATION(host_reference_tags_off_by_one, "nvme.host.protection.reference", Product::host, "begins reference tags behind the LBA",
          Departs{host::point::protection_reference});
DEVIATION(host_transfers_no_tags, "nvme.host.protection.length", Product::host, "sends data alone without PRACT",
          Departs{host::point::protection_not_announced});
DEVIATION(host_hides_protection_errors, "nvme.host.protection.error", Product::host, "reports success whatever the tags are",
          Departs{host::point::error_is_success});

}  // namespace fb::deviations
