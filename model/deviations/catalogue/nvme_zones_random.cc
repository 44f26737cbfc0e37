// Zone Random Write Areas.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/zrwa_fault_points.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/zones.h"

namespace fb::deviations {

namespace {

namespace departure = subsystem::departure;
namespace id = nvme::id_ns_zoned;
namespace sc = nvme::sc;

/// The page about the zones of a namespace, of those with areas or of those without.
template <bool WithAreas, auto Change>
void in_page(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::command_set_namespace) || command.sqe[nvme::identify_sqe::csi.offset] != 2) return;
  if (data.size() < nvme::kIdentifySize) return;
  MutableView<nvme::IdentifyNamespaceZoned> page{data};
  const bool has_areas = (page.get(id::ozcs) & nvme::ozcs_bits::random_write_area) != 0;
  if (has_areas == WithAreas) Change(page);
}
void size_of_another_multiple(MutableView<nvme::IdentifyNamespaceZoned>& page) { page.set(id::zrwasz, page.get(id::zrwasz) + 1u); }
void no_granularity(MutableView<nvme::IdentifyNamespaceZoned>& page) { page.set(id::zrwafg, 0u); }
void size_without_areas(MutableView<nvme::IdentifyNamespaceZoned>& page) { page.set(id::zrwasz, 8u); }
void flush_without_areas(MutableView<nvme::IdentifyNamespaceZoned>& page) { page.set(id::zrwacap, 1u); }

/// ZRWAV of zones in this state.
template <nvme::ZoneState State, bool Valid>
void area_reported(const CommandContext& command, MutableBytes data) {
  if (!is_io(command, static_cast<std::uint8_t>(nvme::IoOpcode::zone_management_receive))) return;
  for (std::size_t at = nvme::ZoneReportHeader::size; at + nvme::ZoneDescriptor::size <= data.size(); at += nvme::ZoneDescriptor::size) {
    MutableView<nvme::ZoneDescriptor> zone{data.subspan(at, nvme::ZoneDescriptor::size)};
    if (zone.get(nvme::zone_descriptor::zt) == 0 || zone.get(nvme::zone_descriptor::zs) != State) continue;
    const unsigned others = zone.get(nvme::zone_descriptor::za) & ~unsigned{nvme::zone_attribute_bits::zrwa_valid};
    zone.set(nvme::zone_descriptor::za, others | (Valid ? nvme::zone_attribute_bits::zrwa_valid : 0u));
  }
}

}  // namespace

#define CONTROLLER(name, requirement, what, ...) DEVIATION(name, "nvme.zones.zrwa." requirement, Product::controller, what, __VA_ARGS__)

CONTROLLER(zrwa_of_odd_size, "identify.size", "states a ZRWASZ that is no multiple of ZRWAFG",
           hooks<AlteringDataOut, &in_page<true, &size_of_another_multiple>>());
CONTROLLER(zrwa_without_granularity, "identify.size", "states a ZRWAFG of 0", hooks<AlteringDataOut, &in_page<true, &no_granularity>>());
CONTROLLER(zrwa_size_without_areas, "identify.unsupported", "states a ZRWASZ without Zone Random Write Areas",
           hooks<AlteringDataOut, &in_page<false, &size_without_areas>>());
CONTROLLER(zrwa_flush_without_areas, "identify.unsupported", "states ZRWACAP without Zone Random Write Areas",
           hooks<AlteringDataOut, &in_page<false, &flush_without_areas>>());
CONTROLLER(zrwa_not_allocated, "open.allocates", "opens a zone with ZRWAA and gives it no area", Departs{departure::zrwa_open_plain});
CONTROLLER(zrwa_open_moves_pointer, "open.allocates", "moves the write pointer when it allocates an area",
           Departs{departure::zrwa_open_writes});
CONTROLLER(zrwa_not_reported, "open.allocates", "reports ZRWAV 0 of open zones with an area",
           hooks<AlteringDataOut, &area_reported<nvme::ZoneState::explicitly_opened, false>>());
CONTROLLER(zrwa_allocated_unasked, "open.plain", "gives every zone that is opened an area", Departs{departure::zrwa_unasked});
CONTROLLER(zrwa_allocated_unsupported, "open.unsupported", "gives zones areas in a namespace that has none",
           Tolerate{"zone.zrwa.supported"});
CONTROLLER(zrwa_of_any_state, "open.state", "gives a zone that was written an area", Tolerate{"zone.zrwa.state"});
CONTROLLER(zrwa_not_of_extensions, "extension.allocates", "ignores ZRWAA of Set Zone Descriptor Extension",
           Departs{departure::zrwa_extension_plain});

CONTROLLER(zrwa_any_number, "resources.limit", "allocates any number of areas", Tolerate{"zone.zrwa.resources"});
CONTROLLER(zrwa_fewer_than_claimed, "resources.limit", "allocates two areas less than NUMZRWA states", Departs{departure::zrwa_two_less});
CONTROLLER(zrwa_limit_is_of_open_zones, "resources.limit", "calls a lack of areas one of open zones",
           AnswerWith{"zone.zrwa.resources", sc::too_many_open_zones});
CONTROLLER(zrwa_lost_by_finish, "resources.finish", "counts the areas of finished zones on", Departs{departure::zrwa_finish_leaks});
CONTROLLER(zrwa_lost_by_reset, "resources.reset", "counts the areas of zones that were reset on", Departs{departure::zrwa_reset_leaks});
CONTROLLER(zrwa_of_all_namespaces, "resources.namespace", "counts the areas of all namespaces together",
           Departs{departure::zrwa_counted_together});
CONTROLLER(zrwa_refused_opens, "resources.refused", "opens a zone that it has no area for", Departs{departure::zrwa_refused_opens});

CONTROLLER(zrwa_written_in_order, "write.order", "takes writes to an area at the write pointer alone", Departs{departure::zrwa_in_order});
CONTROLLER(zrwa_pointer_moves, "write.order", "moves the write pointer with each write to an area", Departs{departure::zrwa_pointer_moves});
CONTROLLER(zrwa_written_once, "write.overwrite", "keeps what was written to an area first", Departs{departure::zrwa_overwrite_lost});
CONTROLLER(zrwa_never_slides, "write.slides", "leaves the write pointer after a write behind the area",
           Departs{departure::zrwa_never_slides});
CONTROLLER(zrwa_slides_by_blocks, "write.slides.granularity", "moves the write pointer by single blocks",
           Departs{departure::zrwa_slides_by_blocks});
CONTROLLER(zrwa_slides_too_far, "write.slides.granularity", "commits more than a write behind the area needs",
           Departs{departure::zrwa_slides_too_far});
CONTROLLER(zrwa_committed_written, "write.behind", "takes writes before the write pointer", Tolerate{"zone.zrwa.write.behind"});
CONTROLLER(zrwa_committed_is_boundary, "write.behind", "calls a write before the write pointer a boundary error",
           AnswerWith{"zone.zrwa.write.behind", sc::zone_boundary_error});
CONTROLLER(zrwa_written_far_behind, "write.beyond", "takes writes behind twice the size of an area", Tolerate{"zone.zrwa.write.beyond"});
CONTROLLER(zrwa_block_too_short, "write.beyond", "refuses the last block that a write behind the area may have",
           Departs{departure::zrwa_short});
CONTROLLER(zrwa_boundary_is_a_range, "write.boundary", "calls the end of a zone with an area the end of the namespace",
           AnswerWith{"zone.boundary", sc::lba_out_of_range});
CONTROLLER(zrwa_written_closed, "write.opens", "leaves a closed zone closed whose area is written", Departs{departure::zrwa_stays_closed});
CONTROLLER(zrwa_zeroed_in_order, "write.zeroes", "takes Write Zeroes at the write pointer alone", Departs{departure::zrwa_zeroes_in_order});
CONTROLLER(zrwa_of_one_queue, "write.queues", "takes writes to an area through I/O queue 1 alone", Departs{departure::zrwa_first_queue});

CONTROLLER(zrwa_flush_ineffective, "flush.pointer", "succeeds and leaves the write pointer", Departs{departure::zrwa_flush_nothing});
CONTROLLER(zrwa_flush_loses_data, "flush.pointer", "loses the data that it commits", Departs{departure::zrwa_flush_erases});
CONTROLLER(zrwa_flush_in_part, "flush.whole", "commits less of a whole area", Departs{departure::zrwa_flush_part});
CONTROLLER(zrwa_flush_of_all, "flush.zone", "commits the areas of all zones", Departs{departure::zrwa_flush_all});
CONTROLLER(zrwa_flush_anywhere, "flush.range", "commits blocks behind the area", Tolerate{"zone.zrwa.flush.range"});
CONTROLLER(zrwa_flush_of_any_length, "flush.granularity", "commits any number of blocks", Tolerate{"zone.zrwa.flush.granularity"});
CONTROLLER(zrwa_flush_without_area, "flush.none", "says success to Flush Explicit ZRWA Range without an area",
           Tolerate{"zone.zrwa.flush.none"});
CONTROLLER(zrwa_flush_unclaimed, "flush.unsupported", "commits areas though ZRWACAP does not have it",
           Tolerate{"zone.zrwa.flush.supported"});
CONTROLLER(zrwa_flush_never_fills, "flush.fills", "leaves a zone open that was committed to its end", Departs{departure::zrwa_flush_stays});

CONTROLLER(zrwa_appended_to, "append", "appends to zones with an area", Tolerate{"zone.zrwa.append"});
CONTROLLER(zrwa_append_is_a_field, "append", "calls Zone Append to a zone with an area an invalid field",
           AnswerWith{"zone.zrwa.append", sc::invalid_field});
CONTROLLER(zrwa_append_moves_pointer, "append", "refuses Zone Append and moves the write pointer", Departs{departure::zrwa_append_moves});
CONTROLLER(zrwa_ended_by_close, "close", "ends the area with Close Zone", Departs{departure::zrwa_close_releases});
CONTROLLER(zrwa_of_full_zones, "finish", "reports ZRWAV 1 of full zones",
           hooks<AlteringDataOut, &area_reported<nvme::ZoneState::full, true>>());
CONTROLLER(zrwa_discarded_by_finish, "finish.data", "discards what is in the area with Finish Zone",
           Departs{departure::zrwa_finish_erases});
CONTROLLER(zrwa_of_empty_zones, "reset", "reports ZRWAV 1 of empty zones",
           hooks<AlteringDataOut, &area_reported<nvme::ZoneState::empty, true>>());
CONTROLLER(zrwa_reset_with_data, "reset.data", "leaves the data of the area in a zone that was reset",
           Departs{departure::zone_reset_keeps_data});
CONTROLLER(zrwa_ended_by_controller_reset, "controller-reset", "ends all areas with a controller reset",
           Departs{departure::zrwa_controller_reset});

#undef CONTROLLER

}  // namespace fb::deviations
