// Protection information on its way through the controller: checked, inserted, stripped (NVM command set,
// "End-to-end Data Protection").
#include <algorithm>
#include <cstring>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace rw = nvme::rw_sqe;
using nvme::BlockLayout;
using nvme::IoOpcode;
using nvme::ProtectionTags;

namespace {

/// Blocks are worked on in pieces of about this size where no buffer of the command holds them.
constexpr std::size_t kPieceBytes = 64 * 1024;

const Check& check_for(nvme::Status status) {
  if (nvme::same_code(status, sc::application_tag_check_error)) return check::protection_application;
  if (nvme::same_code(status, sc::storage_tag_check_error)) return check::protection_storage;
  if (nvme::same_code(status, sc::reference_tag_check_error)) return check::protection_reference;
  return check::protection_guard;
}

/// Only the data is covered by the guard of a deviation, though metadata stands before the tuple.
std::uint64_t guard_of_data(const BlockLayout& layout, ByteView block) {
  BlockLayout narrow = layout;
  narrow.tuple_first = true;
  return nvme::guard_of(narrow, block);
}

}  // namespace

ProtectionTags IoCommands::expected_tags(const Command& command, const Namespace& ns) const {
  ProtectionTags tags = nvme::command_tags(command.as<nvme::SqeLayout>(), ns.layout());
  if (departs(departure::protection_mask_ignored)) tags.application_mask = 0xFFFF;
  return tags;
}

/// What the command says of protection information can be met. False: it has been answered.
bool IoCommands::check_protection_order(const Command& command, const IoTarget& target) {
  Queue& queue = *command.queue;
  const BlockLayout& layout = target.ns->layout();
  if (layout.extended() && controller_.features_.extended_formats == 0 && queue.refuse(command, check::io_extended_format)) {
    return false;
  }
  const auto sqe = command.as<nvme::ReadWriteSqe>();
  const auto opcode = static_cast<IoOpcode>(command.opcode());
  if (opcode == IoOpcode::write_uncorrectable) return true;
  const bool passes = opcode == IoOpcode::compare || opcode == IoOpcode::verify;
  if (passes && sqe.get(rw::pract) && queue.refuse(command, check::protection_action)) return false;
  if (layout.protection_type != 1 || !sqe.get(rw::prchk_ref)) return true;
  const std::uint64_t reference = nvme::command_tags(command.as<nvme::SqeLayout>(), layout).reference;
  return reference == (target.slba & layout.reference_mask()) || !queue.refuse(command, check::protection_reference_start);
}

/// `whole` blocks from target.slba on pass the checks of the command. False: it has been answered.
bool IoCommands::check_blocks(const Command& command, const IoTarget& target, ByteView whole) {
  nvme::ProtectionChecks checks = nvme::command_checks(command.as<nvme::ReadWriteSqe>());
  if (departs(departure::protection_always_checked)) checks = {.guard = true, .application = true, .reference = true};
  if (!checks.any()) return true;
  const BlockLayout& layout = target.ns->layout();
  ProtectionTags tags = expected_tags(command, *target.ns);
  const bool no_escape = departs(departure::protection_escape_ignored);
  const bool wide_escape = departs(departure::protection_escape_wide);
  const bool narrow = departs(departure::protection_guard_narrow);
  const bool third = departs(departure::protection_type_3_checked) && layout.protection_type == 3;
  for (std::size_t at = 0; at < whole.size(); at += layout.bytes()) {
    const ByteView block = whole.subspan(at, layout.bytes());
    nvme::Status status = nvme::check_protection(layout, block, checks, tags);
    if (wide_escape && nvme::read_tuple(layout, block).tags.application == 0xFFFF) status = sc::success;
    if (no_escape && nvme::read_tuple(layout, block).tags.application == 0xFFFF) {
      status = sc::application_tag_check_error;
    }
    if (third && checks.reference && nvme::read_tuple(layout, block).tags.reference != tags.reference) {
      status = sc::reference_tag_check_error;
    }
    if (narrow && checks.guard && nvme::read_tuple(layout, block).guard != guard_of_data(layout, block)) {
      status = sc::guard_check_error;
    }
    if (!status.ok() && command.queue->refuse(command, check_for(status))) return false;
    nvme::advance_tags(layout, tags);
  }
  return true;
}

/// The same for blocks that go another way: they begin at `lba`, and the first has these tags.
bool IoCommands::check_tags_from(const Command& command, const BlockLayout& layout, ByteView whole, const nvme::ProtectionChecks& checks,
                                 ProtectionTags tags, std::uint64_t lba) {
  Queue& queue = *command.queue;
  const bool begins = layout.protection_type != 1 || tags.reference == (lba & layout.reference_mask());
  if (checks.reference && !begins && queue.refuse(command, check::protection_reference_start)) return false;
  for (std::size_t at = 0; at < whole.size(); at += layout.bytes()) {
    const nvme::Status status = nvme::check_protection(layout, whole.subspan(at, layout.bytes()), checks, tags);
    if (!status.ok() && queue.refuse(command, check_for(status))) return false;
    nvme::advance_tags(layout, tags);
  }
  return true;
}

void IoCommands::read_protected(const Command& command, const IoTarget& target) {
  Queue& queue = *command.queue;
  if (!queue.stage(command, target.bytes)) return;
  const BlockLayout& layout = target.ns->layout();
  const MutableBytes out = command.data().first(target.bytes);
  MutableBytes whole = out;
  if (target.strips) {
    Bytes& scratch = subsystem_.scratch();
    scratch.resize(std::size_t{target.blocks} * layout.bytes());
    whole = scratch;
  }
  const nvme::Status status = target.ns->read(target.slba, whole);
  if (!status.ok()) return queue.complete(command, status);
  const bool unchecked = target.strips && departs(departure::protection_strip_unchecked);
  if (!unchecked && !check_blocks(command, target, whole)) return;
  if (target.strips) {
    const std::size_t stride = departs(departure::protection_not_stripped) ? layout.data_bytes : layout.bytes();
    for (std::size_t i = 0; i < target.blocks; ++i) {
      std::memcpy(&out[i * layout.data_bytes], &whole[i * stride], layout.data_bytes);
    }
  }
  if (departs(departure::read_corrupted)) out[0] ^= 0xFF;
  count_io(*target.ns, target.bytes, false);
  const bool cut = departs(departure::short_transfer);
  queue.complete_with_data(command, cut ? target.bytes - target.bytes / target.blocks : target.bytes);
}

/// The data of a Write has come: `whole` becomes what is to be stored. False: it has been answered.
bool IoCommands::take_protected(const Command& command, const IoTarget& target, MutableBytes& whole) {
  const BlockLayout& layout = target.ns->layout();
  const bool act = command.as<nvme::ReadWriteSqe>().get(rw::pract);
  const bool looks = !act || (departs(departure::protection_insert_checked) && !target.strips);
  if (looks && !check_blocks(command, target, whole)) return false;
  ProtectionTags tags = nvme::command_tags(command.as<nvme::SqeLayout>(), layout);
  if (departs(departure::protection_insert_application)) tags.application = 0;
  const bool remaps = target.remaps && !departs(departure::zone_append_tags);
  if (remaps) {
    const std::uint64_t start = command.as<nvme::ReadWriteSqe>().get(rw::slba);
    tags.reference = (tags.reference + target.slba - start) & layout.reference_mask();
  }
  const bool same = departs(departure::protection_reference_stays);
  const bool saturates = departs(departure::protection_reference_saturates);
  const bool no_guard = departs(departure::protection_insert_guard);
  const bool narrow = departs(departure::protection_guard_narrow);
  const bool lost = departs(departure::protection_metadata_lost);
  const ByteView data = whole;
  if (target.strips) {
    Bytes& scratch = subsystem_.scratch();
    scratch.resize(std::size_t{target.blocks} * layout.bytes());
    whole = scratch;
  }
  const bool replaces = act || departs(departure::protection_replaced);
  for (std::size_t i = 0; i < target.blocks && remaps && !replaces; ++i) {
    const MutableBytes block = whole.subspan(i * layout.bytes(), layout.bytes());
    nvme::ProtectionTuple tuple = nvme::read_tuple(layout, block);
    tuple.tags.reference = tags.reference;
    nvme::write_tuple(layout, block, tuple.guard, tuple.tags);
    nvme::advance_tags(layout, tags);
  }
  for (std::size_t i = 0; i < target.blocks && (replaces || lost); ++i) {
    const MutableBytes block = whole.subspan(i * layout.bytes(), layout.bytes());
    std::uint64_t guard = 0;
    if (target.strips) {
      const ByteView from = data.subspan(i * layout.data_bytes, layout.data_bytes);
      std::memcpy(block.data(), from.data(), from.size());
    }
    if (replaces) {
      guard = narrow && !target.strips ? guard_of_data(layout, block) : nvme::guard_of(layout, block);
    }
    if (no_guard) guard ^= 1;
    if (replaces) nvme::write_tuple(layout, block, guard, tags);
    if (lost) {
      const auto metadata = block.subspan(layout.data_bytes, layout.metadata_bytes - layout.tuple_bytes());
      if (!layout.tuple_first) std::fill(metadata.begin(), metadata.end(), std::uint8_t{0});
    }
    if (!same && !(saturates && tags.reference == layout.reference_mask())) nvme::advance_tags(layout, tags);
  }
  return true;
}

/// The tags of the host's blocks and of those on the medium. False: the command has been answered.
bool IoCommands::compare_protected(const Command& command, const IoTarget& target) {
  const bool unchecked = departs(departure::protection_compare_host_unchecked);
  if (!unchecked && !check_blocks(command, target, command.data().first(target.bytes))) return false;
  if (departs(departure::protection_compare_unchecked)) return true;
  return verify_protected(command, target);
}

/// What is on the medium passes the checks of the command. False: it has been answered.
bool IoCommands::verify_protected(const Command& command, const IoTarget& target) {
  Queue& queue = *command.queue;
  const BlockLayout& layout = target.ns->layout();
  const auto piece = static_cast<std::uint32_t>(std::max<std::size_t>(kPieceBytes / layout.bytes(), 1));
  if (departs(departure::protection_verify_unchecked)) return true;
  Bytes& scratch = subsystem_.scratch();
  ProtectionTags tags = expected_tags(command, *target.ns);
  const nvme::ProtectionChecks checks = nvme::command_checks(command.as<nvme::ReadWriteSqe>());
  for (std::uint32_t done = 0; done < target.blocks;) {
    const std::uint32_t count = std::min(piece, target.blocks - done);
    scratch.resize(std::size_t{count} * layout.bytes());
    const nvme::Status read = target.ns->read(target.slba + done, scratch);
    if (!read.ok()) {
      queue.complete(command, read);
      return false;
    }
    if (!check_tags_from(command, layout, scratch, checks, tags, target.slba + done)) return false;
    for (std::uint32_t i = 0; i < count; ++i) nvme::advance_tags(layout, tags);
    done += count;
  }
  return true;
}

/// Write Zeroes that does not deallocate: tags as the command says, or zeroes.
nvme::Status IoCommands::zero_protected(const Command& command, const IoTarget& target) {
  const BlockLayout& layout = target.ns->layout();
  if (departs(departure::protection_zeroes_deallocate)) {
    return target.ns->write_zeroes(target.slba, target.blocks);
  }
  const bool act = command.as<nvme::ReadWriteSqe>().get(rw::pract);
  const auto piece = static_cast<std::uint32_t>(std::max<std::size_t>(kPieceBytes / layout.bytes(), 1));
  ProtectionTags tags = nvme::command_tags(command.as<nvme::SqeLayout>(), layout);
  Bytes& scratch = subsystem_.scratch();
  scratch.assign(layout.bytes(), 0);
  const std::uint64_t guard = nvme::guard_of(layout, scratch);
  for (std::uint32_t done = 0; done < target.blocks;) {
    const std::uint32_t count = std::min(piece, target.blocks - done);
    scratch.assign(std::size_t{count} * layout.bytes(), 0);
    for (std::uint32_t i = 0; i < count && act; ++i) {
      const auto block = MutableBytes{scratch}.subspan(std::size_t{i} * layout.bytes(), layout.bytes());
      nvme::write_tuple(layout, block, guard, tags);
      nvme::advance_tags(layout, tags);
    }
    const nvme::Status status = target.ns->write(target.slba + done, scratch);
    if (!status.ok()) return status;
    done += count;
  }
  return sc::success;
}

}  // namespace fb::subsystem
