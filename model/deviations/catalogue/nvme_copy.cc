// Copy.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

namespace departure = subsystem::departure;

void no_copy_limits(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::identify_namespace) || data.size() < 128) return;
  MutableView<nvme::IdentifyNamespace>{data}.set(nvme::id_ns::mssrl, 0u).set(nvme::id_ns::mcl, 0u);
}
void no_copy_formats(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::controller) || data.size() < 4096) return;
  MutableView<nvme::IdentifyController>{data}.set(nvme::id_ctrl::cdfs, 0u);
}

/// The checks of source ranges are made where there is one.
bool checks_single_sources(const CommandContext& command, Refusal& refusal) {
  if (!is_io(command, static_cast<std::uint8_t>(nvme::IoOpcode::copy))) return true;
  const unsigned further = load_le<std::uint32_t>(command.sqe.data() + 48) & 0xFF;
  return further == 0 || (refusal.check != "copy.range_length" && refusal.check != "io.uncorrectable");
}

}  // namespace

DEVIATION(copy_without_limits, "nvme.copy.limits", Product::controller, "has Copy and no limits of it",
          hooks<AlteringDataOut, &no_copy_limits>());
DEVIATION(copy_without_formats, "nvme.copy.limits", Product::controller, "has Copy and no descriptor format",
          hooks<AlteringDataOut, &no_copy_formats>());
DEVIATION(copy_does_nothing, "nvme.copy.data", Product::controller, "says success to Copy and moves nothing",
          Departs{departure::copy_nothing});
DEVIATION(copy_backwards, "nvme.copy.order", Product::controller, "copies the last range first", Departs{departure::copy_reversed});
DEVIATION(copy_of_one_range, "nvme.copy.order", Product::controller, "copies the first range alone", Departs{departure::copy_short});
DEVIATION(copy_moves, "nvme.copy.source", Product::controller, "erases what it has copied", Departs{departure::copy_moves});
DEVIATION(copy_of_any_ranges, "nvme.copy.ranges", Product::controller, "takes more ranges than MSRC", Tolerate{"copy.range_count"});
DEVIATION(copy_too_many_ranges_are_a_field, "nvme.copy.ranges", Product::controller, "calls too many ranges an invalid field",
          AnswerWith{"copy.range_count", nvme::sc::invalid_field});
DEVIATION(copy_of_any_length, "nvme.copy.range-length", Product::controller, "takes ranges beyond MSSRL", Tolerate{"copy.range_length"});
DEVIATION(copy_of_any_total, "nvme.copy.total", Product::controller, "copies more than MCL", Tolerate{"copy.total"});
DEVIATION(copy_beyond_the_end, "nvme.copy.source-range", Product::controller, "takes source ranges beyond the end",
          Tolerate{"io.lba.range"});
DEVIATION(copy_beyond_the_end_is_a_field, "nvme.copy.source-range", Product::controller,
          "calls a source range beyond the end an invalid field", AnswerWith{"io.lba.range", nvme::sc::invalid_field});
DEVIATION(copy_to_beyond_the_end, "nvme.copy.destination-range", Product::controller, "takes destinations beyond the end",
          Tolerate{"io.lba.range"});
DEVIATION(copy_of_any_format, "nvme.copy.format", Product::controller, "takes any descriptor format", Tolerate{"copy.descriptor_format"});
DEVIATION(copy_across_for_all, "nvme.copy.format.disabled", Product::controller,
          "takes source namespaces from hosts that did not enable them", Tolerate{"copy.descriptor_format"});
DEVIATION(copy_to_protected, "nvme.copy.write-protected", Product::controller, "copies to a namespace that is write protected",
          Tolerate{"io.write_protected"});
DEVIATION(copy_skips_deallocated, "nvme.copy.deallocated", Product::controller, "leaves the destination of deallocated blocks as it is",
          Departs{departure::copy_nothing});
DEVIATION(copy_of_damaged_blocks, "nvme.copy.uncorrectable", Product::controller, "copies blocks that cannot be read",
          Tolerate{"io.uncorrectable"});
DEVIATION(copy_checks_single_ranges, "nvme.copy.every-range", Product::controller, "checks source ranges only if there is one",
          hooks<Refusing, &checks_single_sources>());
DEVIATION(copy_claims_progress, "nvme.copy.progress", Product::controller, "says that it copied ranges that it did not",
          Departs{departure::copy_progress});
DEVIATION(copy_across_from_itself, "nvme.copy.across", Product::controller,
          "copies from the destination's namespace whatever the range says", Departs{departure::copy_one_namespace});
DEVIATION(copy_from_anywhere, "nvme.copy.across.invalid", Product::controller, "takes source namespaces that cannot be",
          Tolerate{"copy.source"});
DEVIATION(copy_source_is_a_field, "nvme.copy.across.invalid", Product::controller, "calls an invalid source namespace an invalid field",
          AnswerWith{"copy.source", nvme::sc::invalid_field});
DEVIATION(copy_from_inactive, "nvme.copy.across.inactive", Product::controller, "takes source namespaces that are not active",
          Tolerate{"copy.source.inactive"});
DEVIATION(copy_overlapping, "nvme.copy.across.overlap", Product::controller, "copies onto its own source", Tolerate{"copy.overlap"});
DEVIATION(copy_overlap_is_a_field, "nvme.copy.across.overlap", Product::controller, "calls an overlap an invalid field",
          AnswerWith{"copy.overlap", nvme::sc::invalid_field});
DEVIATION(copy_of_any_blocks, "nvme.copy.across.incompatible", Product::controller, "copies blocks of another format",
          Tolerate{"copy.compatible"});
DEVIATION(copy_changes_tags, "nvme.copy.protection.pass", Product::controller, "makes new tags where it is to pass them",
          Departs{departure::copy_tags_made});
DEVIATION(copy_keeps_tags, "nvme.copy.protection.replace", Product::controller, "keeps tags that it is to replace",
          Departs{departure::copy_tags_kept});
DEVIATION(copy_checks_no_source, "nvme.copy.protection.checks", Product::controller, "does not check the tags of the source",
          Departs{departure::copy_source_unchecked});
DEVIATION(copy_acts_on_one_side, "nvme.copy.protection.differs", Product::controller, "takes PRACT bits that differ",
          Tolerate{"copy.protection_action"});
DEVIATION(copy_inserts_nothing, "nvme.copy.protection.insert", Product::controller, "inserts no tags", Departs{departure::copy_tags_kept});
DEVIATION(copy_strips_nothing, "nvme.copy.protection.strip", Product::controller,
          "says success and leaves the destination when it is to strip tags", Departs{departure::copy_nothing});
DEVIATION(copy_format_without_room, "nvme.copy.protection.format", Product::controller,
          "takes a descriptor format without room for the tags", Tolerate{"copy.guard_format"});

}  // namespace fb::deviations
