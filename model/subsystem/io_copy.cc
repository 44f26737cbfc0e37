// Copy: source ranges, of one namespace or of several, to one range of another place. All is looked at first and
// written in one go: a Copy that fails has written nothing.
#include <algorithm>

#include "model/subsystem/command_fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/copy.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace cs = nvme::copy_sqe;
using nvme::BlockLayout;
using nvme::CopySource;
using nvme::ProtectionTags;

namespace {

/// Blocks of both can be exchanged as they are.
bool matching(const BlockLayout& a, const BlockLayout& b) {
  if (a.data_bytes != b.data_bytes || a.metadata_bytes != b.metadata_bytes) return false;
  return (!a.is_protected() && !b.is_protected()) || a == b;
}
/// They differ by tags alone, which nothing stands beside.
bool corresponding(const BlockLayout& plain, const BlockLayout& tagged) {
  return !plain.is_protected() && plain.metadata_bytes == 0 && tagged.tuple_alone() && plain.data_bytes == tagged.data_bytes;
}

/// What has to be known of a Copy before a block is moved.
struct CopyPlan {
  struct Part {
    Namespace* from = nullptr;
    CopySource source;
  };
  std::vector<Part> parts;
  std::uint64_t blocks = 0;
};

}  // namespace

bool CopyCommand::copy_format_enabled(unsigned format) const {
  const CopyOptions& options = subsystem_.options().copy;
  if (format >= nvme::kCopyFormats || (options.formats >> format & 1) == 0) return false;
  return !nvme::names_sources(format) || (controller_.features_.copy_formats >> format & 1) != 0;
}

void CopyCommand::copy(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::CopySqe>();
  Namespace* ns = nullptr;
  if (!controller_.io_.find_namespace(command, ns)) return;
  if (ns == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  if (!controller_.io_.check_path(command, *ns) || !controller_.reservations_.reservation_allows(command, *ns, Access::write) ||
      !controller_.io_.writable(command, ns))
    return;
  const unsigned format = sqe.get(cs::desfmt);
  if (!copy_format_enabled(format) && queue.refuse(command, check::copy_format)) return;
  const BlockLayout& layout = ns->layout();
  const bool wide = layout.is_protected() && layout.guard != nvme::ProtectionFormat::guard_16;
  const bool fits = !layout.is_protected() || wide == nvme::is_wide_copy_format(format);
  if (!fits && queue.refuse(command, check::copy_guard_format)) return;
  if (layout.is_protected() && layout.extended() && controller_.features_.extended_formats == 0 &&
      queue.refuse(command, check::io_extended_format)) {
    return;
  }
  const std::uint64_t ranges = sqe.get(cs::nr).count();
  if (ranges > subsystem_.options().copy.ranges && queue.refuse(command, check::copy_ranges)) return;
  if (queue.stage(command, ranges * nvme::copy_range_bytes(format))) queue.pull(command);
}

/// The source of a range; null where the command has been answered.
Namespace* CopyCommand::copy_source(const Command& command, std::uint32_t nsid) {
  Queue& queue = *command.queue;
  Namespace* const ns = controller_.active_namespace(nsid);
  if (ns == nullptr) {
    const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
    if (!queue.refuse(command, valid ? check::copy_source_inactive : check::copy_source)) {
      queue.complete(command, sc::success);
    }
    return nullptr;
  }
  return controller_.io_.check_path(command, *ns) && controller_.reservations_.reservation_allows(command, *ns, Access::read) ? ns
                                                                                                                              : nullptr;
}

/// Whether the blocks of a source can be put into the destination, with the tags as the command says.
bool CopyCommand::copy_compatible(const Command& command, const BlockLayout& from, const BlockLayout& to) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::CopySqe>();
  const bool read_act = sqe.get(cs::read_pract), write_act = sqe.get(cs::pract);
  if (from.is_protected() && to.is_protected() && read_act != write_act) {
    return !queue.refuse(command, check::copy_protection_action);
  }
  bool compatible = matching(from, to);
  if (from.is_protected() && !to.is_protected()) compatible = read_act && corresponding(to, from);
  if (!from.is_protected() && to.is_protected()) compatible = write_act && corresponding(from, to);
  return compatible || !queue.refuse(command, check::copy_incompatible);
}

void CopyCommand::copy_data(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::CopySqe>();
  Namespace* to = nullptr;
  if (!controller_.io_.find_namespace(command, to)) return;        // it went away
  if (to == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  const unsigned format = sqe.get(cs::desfmt) % nvme::kCopyFormats;
  const std::size_t each = nvme::copy_range_bytes(format);
  const CopyOptions& options = subsystem_.options().copy;
  CopyPlan plan;
  const std::uint32_t spared = departs(departure::copy_limits_short) ? 1 : 0;
  bool overlaps = false;
  for (std::size_t at = 0; at + each <= command.data().size(); at += each) {
    const ByteView range = ByteView{command.data()}.subspan(at, each);
    const std::uint32_t nsid = nvme::names_sources(format) ? nvme::read_copy_source(range, format, {}).nsid : command.nsid();
    Namespace* from = nvme::names_sources(format) ? copy_source(command, nsid) : to;
    if (from == nullptr) return;
    if (departs(departure::copy_one_namespace)) from = to;
    const CopySource source = nvme::read_copy_source(range, format, from->layout());
    if (source.blocks + spared > options.range_blocks && queue.refuse(command, check::copy_length)) return;
    if (!from->in_range(source.slba, source.blocks)) {
      if (departs(departure::copy_progress)) return queue.complete(command, sc::lba_out_of_range, at / each);
      if (queue.refuse(command, check::io_range)) return;
      continue;
    }
    if (from->zoned() && !controller_.zones_.zone_readable(command, *from, source.slba, source.blocks)) return;
    if (!copy_compatible(command, from->layout(), to->layout())) return;
    if (from->uncorrectable(source.slba, source.blocks) && queue.refuse(command, check::io_uncorrectable)) return;
    plan.parts.push_back({from, source});
    plan.blocks += source.blocks;
  }
  if (plan.blocks + spared > options.total_blocks && queue.refuse(command, check::copy_total)) return;
  const std::uint64_t first = sqe.get(cs::sdlba);
  if (!to->in_range(first, plan.blocks)) {
    if (!queue.refuse(command, check::io_range)) queue.complete(command, sc::success);
    return;
  }
  if (to->zoned() && plan.blocks != 0 && !controller_.zones_.zone_takes(command, *to, first, plan.blocks)) return;
  if (!to->admits(first, plan.blocks) && queue.refuse(command, check::io_capacity)) return;
  for (const CopyPlan::Part& part : plan.parts) {
    const CopySource& source = part.source;
    overlaps = overlaps || (part.from == to && source.slba < first + plan.blocks && first < source.slba + source.blocks);
  }
  if (overlaps && nvme::names_sources(format) && queue.refuse(command, check::copy_overlap)) return;

  // Gathered in the destination's layout.
  const BlockLayout& layout = to->layout();
  Bytes gathered;
  gathered.reserve(plan.blocks * layout.bytes());
  if (departs(departure::copy_reversed)) std::reverse(plan.parts.begin(), plan.parts.end());
  for (const CopyPlan::Part& part : plan.parts) {
    const BlockLayout& source_layout = part.from->layout();
    Bytes blocks(std::size_t{part.source.blocks} * source_layout.bytes());
    const nvme::Status status = part.from->read(part.source.slba, blocks);
    if (!status.ok()) return queue.complete(command, status);
    if (source_layout.is_protected() && !check_copied(command, part.source, source_layout, blocks)) return;
    for (std::size_t i = 0; i < part.source.blocks; ++i) {
      const ByteView block = ByteView{blocks}.subspan(i * source_layout.bytes(), source_layout.bytes());
      const std::size_t kept = std::min<std::size_t>(block.size(), layout.bytes());
      gathered.insert(gathered.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(kept));
      gathered.resize(gathered.size() + layout.bytes() - kept);
    }
  }
  if (layout.is_protected() && !tag_copied(command, layout, gathered)) return;
  nvme::Status status = sc::success;
  if (!departs(departure::copy_nothing)) {
    if (departs(departure::copy_short) && plan.parts.size() > 1) {
      gathered.resize(std::size_t{plan.parts.front().source.blocks} * layout.bytes());
    }
    subsystem_.sanitizer().note_write();
    status = to->write(first, gathered);
    if (status.ok()) {
      const bool fua = sqe.get(cs::fua) && !departs(departure::copy_cached);
      status = controller_.io_.after_write(*to, first, gathered.size() / layout.bytes(), fua);
    }
    const std::uint64_t written = gathered.size() / layout.bytes();
    if (to->zoned() && status.ok() && written != 0) controller_.zones_.zone_written(*to, first, written);
    if (status.ok()) controller_.placement_.written(command, *to, first, written);
    if (departs(departure::copy_moves)) {
      for (const CopyPlan::Part& part : plan.parts) part.from->deallocate(part.source.slba, part.source.blocks);
    }
  }
  controller_.io_.count_io(*to, gathered.size(), true);
  queue.complete(command, status);
}

/// The tags of what was read pass PRINFOR.
bool CopyCommand::check_copied(const Command& command, const CopySource& source, const BlockLayout& layout, ByteView blocks) {
  const auto sqe = command.as<nvme::CopySqe>();
  const nvme::ProtectionChecks checks{.guard = sqe.get(cs::read_prchk_guard),
                                      .application = sqe.get(cs::read_prchk_app),
                                      .reference = sqe.get(cs::read_prchk_ref),
                                      .storage = sqe.get(cs::stcr)};
  if (departs(departure::copy_source_unchecked)) return true;
  return controller_.io_.check_tags_from(command, layout, blocks, checks, source.tags, source.slba);
}

/// The tags of what is to be written are made, or pass PRINFOW.
bool CopyCommand::tag_copied(const Command& command, const BlockLayout& layout, MutableBytes blocks) {
  const auto sqe = command.as<nvme::CopySqe>();
  ProtectionTags tags = nvme::command_tags(command.as<nvme::SqeLayout>(), layout);
  const bool makes = departs(departure::copy_tags_made) || (sqe.get(cs::pract) && !departs(departure::copy_tags_kept));
  if (makes || sqe.get(cs::pract)) {
    if (!makes) return true;
    for (std::size_t at = 0; at < blocks.size(); at += layout.bytes()) {
      nvme::protect(layout, blocks.subspan(at, layout.bytes()), tags);
      nvme::advance_tags(layout, tags);
    }
    return true;
  }
  const nvme::ProtectionChecks checks{.guard = sqe.get(cs::prchk_guard),
                                      .application = sqe.get(cs::prchk_app),
                                      .reference = sqe.get(cs::prchk_ref),
                                      .storage = sqe.get(cs::stcw)};
  return controller_.io_.check_tags_from(command, layout, blocks, checks, tags, sqe.get(cs::sdlba));
}

}  // namespace fb::subsystem
