// Identify of what LBA formats bring with them, whichever namespace has them, and the pages of command sets.
#include <algorithm>
#include <bit>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/sqe.h"
#include "wire/nvme/zones.h"

namespace fb::subsystem {

namespace {

constexpr auto kKeyValueCommandSet = static_cast<std::uint8_t>(nvme::CommandSet::key_value);
constexpr auto kZonedCommandSet = static_cast<std::uint8_t>(nvme::CommandSet::zoned);

}  // namespace

/// CNS 09h and 0Ah: capabilities of the namespaces that have one LBA format.
bool IdentifyCommand::identify_format_page(const Command& command, MutableBytes page) {
  namespace id = nvme::id_ns;
  Queue& queue = *command.queue;
  if (command.nsid() != 0 && queue.refuse(command, check::nsid_unused)) return false;
  const auto sqe = command.as<nvme::IdentifySqe>();
  const bool of_set = static_cast<nvme::Cns>(sqe.get(nvme::identify_sqe::cns)) == nvme::Cns::command_set_user_data_format;
  const std::uint8_t csi = sqe.get(nvme::identify_sqe::csi);
  const bool zoned = csi == kZonedCommandSet;
  // The NVM command set's page is the one of all sets with logical blocks.
  if (!controller_.has_command_set(csi) || (zoned && !of_set) || csi == kKeyValueCommandSet)
    return !queue.refuse(command, check::identify_csi);
  const std::size_t formats = subsystem_.options().format ? subsystem_.block_formats() : 1;
  const std::size_t index = sqe.get(nvme::identify_sqe::cnssid);
  if (index >= formats) return !queue.refuse(command, check::identify_format);
  if (of_set) {
    zoned ? fill_zoned_namespace(nullptr, page) : fill_nvm_namespace(nullptr, page);
    return true;
  }
  fill_common_namespace(page);
  MutableView<nvme::IdentifyNamespace> out{page};
  // Whether a namespace is provisioned thinly is its own affair.
  out.set(id::nsfeat, 0u);
  if (kBlockFormats[index].metadata_bytes == 0) out.set(id::mc, 0u).set(id::dpc, 0u);
  if (departs(departure::identify_format_wrong)) {
    auto format = nvme::edit_lba_format(page, static_cast<unsigned>(index));
    format.set(nvme::lba_format::lbads, format.get(nvme::lba_format::lbads) ^ 1u);
  }
  return true;
}

/// All formats alike.
void IdentifyCommand::fill_granularity(MutableBytes page) const {
  const std::uint64_t step = subsystem_.options().namespace_management.granularity_bytes;
  edit_element<nvme::GranularityDescriptor>(page, nvme::granularity::ngd, 0)
      .set(nvme::granularity_descriptor::nsg, step)
      .set(nvme::granularity_descriptor::ncg, step);
}

/// The NVM command set's own page: how wide the tags of each format are.
/// Null: of all namespaces.
void IdentifyCommand::fill_nvm_namespace(const Namespace* ns, MutableBytes page) const {
  namespace id = nvme::id_ns_nvm;
  const auto describe = [&](unsigned index, const nvme::BlockLayout& layout) {
    edit_element<nvme::ExtendedLbaFormat>(page, id::elbaf, index)
        .set(nvme::extended_lba_format::sts, layout.storage_tag_bits)
        .set(nvme::extended_lba_format::pif, layout.guard);
  };
  const nvme::BlockLayout layout = ns != nullptr ? ns->layout() : kBlockFormats[0].layout();
  MutableView<nvme::IdentifyNamespaceNvm>{page}
      .set(id::lbstm, layout.storage_tag_bits != 0 ? (std::uint64_t{1} << layout.storage_tag_bits) - 1 : 0u)
      .set(id::pic, subsystem_.block_formats() > kExtendedFormats ? nvme::pic_bits::storage_tag_16 : 0u);
  if (!subsystem_.options().format) return describe(0, layout);
  for (unsigned i = 0; i < subsystem_.block_formats(); ++i) describe(i, kBlockFormats[i].layout());
}

/// The page of the Zoned Namespace command set: limits, and the zones of each format.
void IdentifyCommand::fill_zoned_namespace(const Namespace* ns, MutableBytes page) const {
  namespace id = nvme::id_ns_zoned;
  const SubsystemOptions& options = subsystem_.options();
  const ZoneOptions& zones = ns != nullptr ? ns->zones()->options() : options.zoned.made;
  const auto limit = [](std::uint32_t most) { return most == 0 ? nvme::kNoZoneLimit : most - 1; };
  const unsigned changes = zones.variable_capacity ? nvme::zoc_bits::variable_capacity : 0u;
  const bool random = zones.zrwa_blocks != 0;
  // One for each zone, of which the namespace that is to be made has one at least.
  const std::size_t each = ns != nullptr ? ns->zones()->count() : 1;
  const std::size_t areas = !random ? 1 : zones.zrwa_count != 0 ? zones.zrwa_count : each;
  MutableView<nvme::IdentifyNamespaceZoned>{page}
      .set(id::zoc, changes | (zones.excursions ? nvme::zoc_bits::active_excursions : 0u))
      .set(id::ozcs, (zones.read_across ? nvme::ozcs_bits::read_across : 0u) | (random ? nvme::ozcs_bits::random_write_area : 0u))
      .set(id::mar, limit(zones.max_active))
      .set(id::mor, limit(zones.max_open))
      .set(id::numzrwa, areas - 1)
      .set(id::zrwafg, random ? zones.zrwa_granularity : 0u)
      .set(id::zrwasz, zones.zrwa_blocks)
      .set(id::zrwacap, random && zones.zrwa_flush ? nvme::zrwacap_bits::explicit_flush : 0u);
  const auto describe = [&](unsigned index, const nvme::BlockLayout& layout) {
    const std::uint64_t made = std::max<std::uint64_t>(zones.zone_blocks * 512 / layout.data_bytes, 1);
    const std::uint64_t blocks = ns != nullptr ? ns->zone_blocks_as(layout) : made;
    edit_element<nvme::LbaFormatExtension>(page, id::lbafe, index)
        .set(nvme::lba_format_extension::zsze, blocks)
        .set(nvme::lba_format_extension::zdes, zones.extension_units);
  };
  if (!options.format) return describe(0, ns != nullptr ? ns->layout() : kBlockFormats[0].layout());
  for (unsigned i = 0; i < subsystem_.block_formats(); ++i) describe(i, kBlockFormats[i].layout());
}

}  // namespace fb::subsystem
