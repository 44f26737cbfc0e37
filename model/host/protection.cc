// Protection information on the host's side.
#include "model/host/fault_points.h"
#include "model/host/namespace.h"
#include "wire/nvme/protection.h"

namespace fb::host {

namespace {

/// Blocks are written with this application tag, and it is never checked.
constexpr std::uint16_t kApplicationTag = 0;

nvme::ProtectionTags tags_at(const nvme::BlockLayout& layout, std::uint64_t lba) {
  return {.application = kApplicationTag, .application_mask = 0, .storage = 0, .reference = lba & layout.reference_mask()};
}

}  // namespace

/// PRINFO and the tags: the guard always, the reference tag of types 1 and 2. Type 1 demands that it begins with the
/// LBA; the host does so with type 2 as well.
void Namespace::order_protection(nvme::Sqe& sqe, nvme::IoOpcode opcode, std::uint64_t lba) const {
  const nvme::BlockLayout& layout = facts_.layout;
  auto fields = sqe.edit<nvme::ReadWriteSqe>();
  switch (opcode) {
    case nvme::IoOpcode::read:
    case nvme::IoOpcode::write:
      fields.set(nvme::rw_sqe::pract, facts_.protection == ProtectionUse::controller);
      break;
    case nvme::IoOpcode::zone_append:
      // The tags count from the start of the zone; the controller makes them count from where it puts the blocks.
      fields.set(nvme::rw_sqe::pract, facts_.protection == ProtectionUse::controller);
      sqe.edit<nvme::ZoneAppendSqe>().set(nvme::zone_append_sqe::piremap, layout.protection_type != 3);
      break;
    case nvme::IoOpcode::write_zeroes:
      fields.set(nvme::rw_sqe::pract, true);
      break;
    case nvme::IoOpcode::compare:
    case nvme::IoOpcode::verify:
      break;
    default:
      return;
  }
  if (opcode != nvme::IoOpcode::write_zeroes) {
    fields.set(nvme::rw_sqe::prchk_guard, true).set(nvme::rw_sqe::prchk_ref, layout.protection_type != 3);
  }
  nvme::ProtectionTags tags = tags_at(layout, lba);
  for (const Path& path : paths_.all()) {
    if (path.controller->departs(point::protection_reference)) ++tags.reference;
    if (path.controller->departs(point::protection_not_announced)) fields.set(nvme::rw_sqe::pract, false);
  }
  nvme::set_command_tags(sqe.edit<nvme::SqeLayout>(), layout, tags);
}

void Namespace::write_tags(std::uint64_t lba, MutableBytes blocks) const {
  const nvme::BlockLayout& layout = facts_.layout;
  nvme::ProtectionTags tags = tags_at(layout, lba);
  for (std::size_t at = 0; at < blocks.size(); at += layout.bytes()) {
    nvme::protect(layout, blocks.subspan(at, layout.bytes()), tags);
    nvme::advance_tags(layout, tags);
  }
}

/// Blocks as they are on the medium: what the controller inserted stands behind the data.
Bytes Namespace::with_tags(std::uint64_t lba, ByteView data) const {
  const nvme::BlockLayout& layout = facts_.layout;
  const std::size_t count = data.size() / layout.data_bytes;
  Bytes whole(count * layout.bytes());
  for (std::size_t i = 0; i < count; ++i) {
    const ByteView from = data.subspan(i * layout.data_bytes, layout.data_bytes);
    std::copy(from.begin(), from.end(), whole.begin() + static_cast<std::ptrdiff_t>(i * layout.bytes()));
  }
  write_tags(lba, whole);
  return whole;
}

nvme::Status Namespace::check_tags(const IoRequest& request) const {
  const nvme::BlockLayout& layout = facts_.layout;
  if (!layout.is_protected() || departs(point::protection_unchecked)) return {};
  nvme::ProtectionTags tags = tags_at(layout, request.lba);
  const nvme::ProtectionChecks checks{.guard = true, .reference = true};
  for (std::size_t at = 0; at < request.data.size(); at += layout.bytes()) {
    const auto block = ByteView{request.data}.subspan(at, layout.bytes());
    const nvme::Status status = nvme::check_protection(layout, block, checks, tags);
    if (!status.ok()) return status;
    nvme::advance_tags(layout, tags);
  }
  return {};
}

}  // namespace fb::host
