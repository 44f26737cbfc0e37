// The NVM command set.
#include <algorithm>

#include "model/subsystem/admin_table.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace rw = nvme::rw_sqe;
using nvme::IoOpcode;

namespace {

bool is_reservation(IoOpcode opcode) {
  return opcode == IoOpcode::reservation_register || opcode == IoOpcode::reservation_report || opcode == IoOpcode::reservation_acquire ||
         opcode == IoOpcode::reservation_release;
}

bool is_zoned(IoOpcode opcode) {
  return opcode == IoOpcode::zone_management_send || opcode == IoOpcode::zone_management_receive || opcode == IoOpcode::zone_append;
}

/// A deviation: the data of a write whose placement identifier is invalid goes nowhere.
bool loses_data(Subsystem& subsystem, const Command& command) {
  if (!subsystem.departs(departure::fdp_write_lost)) return false;
  const Placement::Handles* const handles = subsystem.placement().handles_of(command.nsid());
  const auto sqe = command.as<nvme::ReadWriteSqe>();
  const bool directed = sqe.get(rw::dtype) == static_cast<unsigned>(nvme::DirectiveType::data_placement);
  return handles != nullptr && directed && !subsystem.placement().handle_valid(*handles, static_cast<std::uint16_t>(sqe.get(rw::dspec)));
}

}  // namespace

bool IoCommands::io_supported(std::uint8_t opcode) const {
  const SubsystemOptions& options = subsystem_.options();
  switch (static_cast<IoOpcode>(opcode)) {
    case IoOpcode::flush:
    case IoOpcode::write:
    case IoOpcode::read:
    case IoOpcode::fabrics:
      return true;
    case IoOpcode::write_uncorrectable:
      return options.write_uncorrectable;
    case IoOpcode::compare:
      return options.compare;
    case IoOpcode::write_zeroes:
      return options.write_zeroes;
    case IoOpcode::dataset_management:
      return options.dataset_management;
    case IoOpcode::verify:
      return options.verify;
    case IoOpcode::copy:
      return options.copy.formats != 0;
    case IoOpcode::reservation_register:
    case IoOpcode::reservation_report:
    case IoOpcode::reservation_acquire:
    case IoOpcode::reservation_release:
      return options.reservations;
    case IoOpcode::zone_management_send:
    case IoOpcode::zone_management_receive:
      return controller_.zoned_selected();
    case IoOpcode::zone_append:
      return controller_.zoned_selected() && options.zoned.append;
    case IoOpcode::io_management_receive:
    case IoOpcode::io_management_send:
      return options.fdp.supported();
    default:
      return false;
  }
}

void Controller::on_io(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::SqeLayout>();
  if (!executes_commands() && queue.refuse(command, check::io_ready)) return;
  if (sqe.get(nvme::sqe::psdt) != nvme::Psdt::sgl && queue.refuse(command, check::command_psdt)) {
    return;
  }
  if (io_.on_fuse(command)) return;
  Duration latency = subsystem_.options().io_latency;
  if (!subsystem_.unhooked()) latency = latency + subsystem_.hooks().latency(queue.context(command));
  if (latency > Duration{}) return queue.delay(command, latency);
  io_.start_io(command);
}

void IoCommands::start_io(const Command& command) {
  Queue& queue = *command.queue;
  const auto opcode = static_cast<IoOpcode>(command.opcode());
  const bool pairs = controller_.key_values_.concerns(command);
  if (!pairs && !io_supported(command.opcode()) && queue.refuse(command, check::io_opcode)) return;
  if (subsystem_.sanitizer().refuses()) {
    // There is nothing to flush: a later version of the specification says so, an earlier one refuses it.
    const bool flush_passes = opcode == IoOpcode::flush && subsystem_.has_version(2, 0);
    if (flush_passes) return queue.complete(command, sc::success);
    if (opcode == IoOpcode::read && subsystem_.sanitizer().verifying()) return controller_.sanitize_.verification_read(command);
    if (!controller_.sanitize_.sanitize_permits(command, check::sanitize_io, check::sanitize_failed_io)) return;
  }
  if (pairs) return controller_.key_values_.start(command);
  if (opcode == IoOpcode::flush) return flush(command);
  if (opcode == IoOpcode::dataset_management) {
    Namespace* ns = nullptr;
    if (!find_namespace(command, ns) || (ns != nullptr && !check_path(command, *ns))) return;
    return dataset_management(command, ns);
  }
  if (is_reservation(opcode)) return controller_.reservations_.reservation(command);
  if (opcode == IoOpcode::copy) return controller_.copy_.copy(command);
  if (is_zoned(opcode)) return controller_.zones_.zone_command(command);
  if (opcode == IoOpcode::io_management_receive) return controller_.placement_.io_management_receive(command);
  if (opcode == IoOpcode::io_management_send) return controller_.placement_.io_management_send(command);
  IoTarget target;
  if (!check_io(command, target)) return;
  switch (opcode) {
    case IoOpcode::read:
      if (!commit_before(command, target)) return;
      return read(command, target);
    case IoOpcode::write:
    case IoOpcode::compare:
      if (queue.stage(command, target.bytes)) queue.pull(command);
      return;
    case IoOpcode::write_zeroes:
      return write_zeroes(command, target);
    case IoOpcode::write_uncorrectable:
      return write_uncorrectable(command, target);
    case IoOpcode::verify:
      if (!commit_before(command, target)) return;
      return verify(command, target);
    default:
      queue.complete(command, sc::success);
  }
}

void Controller::on_data(const Command& command) {
  Queue& queue = *command.queue;
  if (queue.qid() == 0) {
    if (subsystem_.sanitizer().refuses() && !sanitize_.permitted_while_sanitizing(command) &&
        !sanitize_.sanitize_permits(command, check::sanitize_admin, check::sanitize_failed_admin)) {
      return;
    }
    const AdminCommand* const known = AdminCommand::find(command.opcode());
    // Of the others data comes only where a deviation asked for it.
    return known != nullptr && known->on_data != nullptr ? known->on_data(*this, command) : feature_commands_.set_features_data(command);
  }
  if (queue.fused(command)) return io_.on_fused_data(command);
  if (subsystem_.sanitizer().refuses() && !sanitize_.sanitize_permits(command, check::sanitize_io, check::sanitize_failed_io)) {
    return;
  }
  if (key_values_.concerns(command)) return key_values_.take_data(command);
  switch (static_cast<IoOpcode>(command.opcode())) {
    case IoOpcode::write:
      return io_.write(command);
    case IoOpcode::compare:
      return io_.compare(command);
    case IoOpcode::dataset_management:
      return io_.dataset_management_data(command);
    case IoOpcode::copy:
      return copy_.copy_data(command);
    case IoOpcode::zone_append:
      return zones_.zone_append_data(command);
    case IoOpcode::zone_management_send:
      return zones_.zone_send_data(command);
    case IoOpcode::io_management_send:
      return placement_.io_management_send_data(command);
    case IoOpcode::reservation_register:
    case IoOpcode::reservation_acquire:
    case IoOpcode::reservation_release:
      return reservations_.reservation_data(command);
    default:
      queue.complete(command, sc::success);
  }
}

// ---- what is common to all ----

/// False: the command has been answered. `ns` stays null only where a deviation skipped the check and
/// there is no namespace at all.
bool IoCommands::find_namespace(const Command& command, Namespace*& ns) {
  Queue& queue = *command.queue;
  const std::uint32_t nsid = command.nsid();
  ns = controller_.active_namespace(nsid);
  if (ns == nullptr) {
    const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
    const Check& check = nsid == nvme::kAllNamespaces ? check::io_nsid_broadcast : valid ? check::io_nsid_inactive : check::io_nsid;
    if (queue.refuse(command, check)) return false;
    if (!subsystem_.namespaces().empty()) ns = subsystem_.namespaces().begin()->second.get();
  }
  return true;
}

nvme::AnaState IoCommands::ana_state_of(const Namespace& ns) const {
  if (!subsystem_.options().ana || controller_.port_ == nullptr) return nvme::AnaState::optimized;
  const std::uint32_t group = departs(departure::ana_whole_subsystem) ? subsystem_.ana_latest() : ns.ana_group();
  return subsystem_.ana_state(group, controller_.port_->options().portid);
}

const Namespace* IoCommands::unreachable_namespace() const {
  for (const auto& [nsid, ns] : subsystem_.namespaces()) {
    const nvme::AnaState state = ana_state_of(*ns);
    if (controller_.sees(*ns) && state != nvme::AnaState::optimized && state != nvme::AnaState::non_optimized) return ns.get();
  }
  return nullptr;
}

bool IoCommands::check_path(const Command& command, const Namespace& ns) {
  Queue& queue = *command.queue;
  switch (ana_state_of(ns)) {
    case nvme::AnaState::non_optimized:
      return !departs(departure::ana_non_optimized_refused) || !queue.refuse(command, check::io_ana_inaccessible);
    case nvme::AnaState::inaccessible:
      return !queue.refuse(command, check::io_ana_inaccessible);
    case nvme::AnaState::persistent_loss:
      return !queue.refuse(command, check::io_ana_persistent_loss);
    case nvme::AnaState::change:
      return !queue.refuse(command, check::io_ana_change);
    default:
      return true;
  }
}

/// What a command whose data has come is for: things may have changed meanwhile. False: it has been answered.
bool IoCommands::find_target(const Command& command, IoTarget& target) {
  Namespace* ns = nullptr;
  if (!find_namespace(command, ns)) return false;
  target = target_of(command, ns);
  return true;
}

IoTarget IoCommands::target_of(const Command& command, Namespace* ns) {
  const auto sqe = command.as<nvme::ReadWriteSqe>();
  IoTarget target;
  target.ns = ns;
  target.slba = sqe.get(rw::slba);
  target.blocks = static_cast<std::uint32_t>(sqe.get(rw::nlb).count());
  if (target.ns == nullptr) return target;
  target.in_range = target.ns->in_range(target.slba, target.blocks);
  const nvme::BlockLayout& layout = target.ns->layout();
  target.strips = layout.tuple_alone() && sqe.get(rw::pract);
  target.bytes = std::size_t{target.blocks} * (target.strips ? layout.data_bytes : layout.bytes());
  return target;
}

bool IoCommands::check_io(const Command& command, IoTarget& target) {
  Queue& queue = *command.queue;
  Namespace* ns = nullptr;
  if (!find_namespace(command, ns)) return false;
  target = target_of(command, ns);
  if (ns == nullptr) return true;
  if (!check_path(command, *ns)) return false;
  const SubsystemOptions& options = subsystem_.options();
  const auto opcode = static_cast<IoOpcode>(command.opcode());
  const bool reads = opcode == IoOpcode::read || opcode == IoOpcode::compare || opcode == IoOpcode::verify;
  const Access access = reads ? Access::read : Access::write;
  if (ns->reservations().held() && !controller_.reservations_.reservation_allows(command, *ns, access)) return false;
  std::uint8_t limit = options.mdts;
  const Check* size_check = &check::io_mdts;
  if (opcode == IoOpcode::verify || opcode == IoOpcode::write_zeroes || opcode == IoOpcode::write_uncorrectable) {
    limit = opcode == IoOpcode::verify         ? options.verify_limit
            : opcode == IoOpcode::write_zeroes ? options.write_zeroes_limit
                                               : std::uint8_t{0};
    size_check = &check::io_size_limit;
  }
  if (limit != 0 && target.bytes > std::uint64_t{4096} << limit && queue.refuse(command, *size_check)) {
    return false;
  }
  if (!target.in_range && queue.refuse(command, check::io_range)) return false;
  if (ns->layout().is_protected() && !check_protection_order(command, target)) return false;
  if (!reads && subsystem_.directives().any() && !controller_.directives_.directive_ok(command)) return false;
  if (!reads) return writable(command, ns);
  if (ns->zoned() && target.in_range && !controller_.zones_.zone_readable(command, *ns, target.slba, target.blocks)) return false;
  if (!target.in_range || !ns->uncorrectable(target.slba, target.blocks)) return true;
  if (ns->scan(target.slba, target.blocks)) subsystem_.lba_status_changed(*ns);
  return !queue.refuse(command, check::io_uncorrectable);
}

bool IoCommands::writable(const Command& command, const Namespace* ns) {
  return ns == nullptr || ns->write_protection() == 0 || !command.queue->refuse(command, check::io_write_protected);
}

void IoCommands::count_io(Namespace& ns, std::size_t bytes, bool write) {
  controller_.counters_.count(bytes, write);
  ns.totals().count(bytes, write);
}

// ---- the commands ----

void IoCommands::read(const Command& command, const IoTarget& target) {
  Queue& queue = *command.queue;
  if (target.in_range && target.ns->layout().is_protected()) return read_protected(command, target);
  const std::size_t bytes = target.bytes;
  if (target.in_range && subsystem_.unhooked()) {
    if (const ByteView data = target.ns->constant(target.slba, bytes); !data.empty()) {
      count_io(*target.ns, bytes, false);
      return queue.complete_with_constant(command, data);
    }
  }
  if (!queue.stage(command, bytes)) return;
  const MutableBytes data = command.data().first(bytes);
  if (target.in_range) {
    const nvme::Status status = target.ns->read(target.slba, data);
    if (!status.ok()) return queue.complete(command, status);
  } else {
    std::fill(data.begin(), data.end(), std::uint8_t{0});
  }
  if (departs(departure::read_corrupted) && !data.empty()) data[0] ^= 0xFF;
  if (target.ns != nullptr) count_io(*target.ns, bytes, false);
  const bool cut = departs(departure::short_transfer) && target.ns != nullptr;
  queue.complete_with_data(command, cut ? bytes - target.ns->block_bytes() : bytes);
}

void IoCommands::write(const Command& command) {
  Queue& queue = *command.queue;
  IoTarget target;
  if (!find_target(command, target)) return;
  if (target.ns == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  // It was for blocks of another size.
  if (command.data().size() != target.bytes) return queue.complete(command, sc::format_in_progress);
  if (!target.in_range) {
    if (!queue.refuse(command, check::io_range)) queue.complete(command, sc::success);
    return;
  }
  if (target.ns->zoned() && !controller_.zones_.zone_takes(command, *target.ns, target.slba, target.blocks)) return;
  if (!target.ns->admits(target.slba, target.blocks) && queue.refuse(command, check::io_capacity)) return;
  MutableBytes whole = command.data().first(target.bytes);
  if (target.ns->layout().is_protected() && !take_protected(command, target, whole)) return;
  store(command, target, whole, 0);
}

/// Whole blocks go where they are to be, and the command is answered.
void IoCommands::store(const Command& command, const IoTarget& target, MutableBytes whole, std::uint64_t result) {
  Namespace& ns = *target.ns;
  subsystem_.sanitizer().note_write();
  nvme::Status status = sc::success;
  const bool appends = static_cast<IoOpcode>(command.opcode()) == IoOpcode::zone_append;
  const bool lost_again = controller_.zones_.overwrite_lost(ns, target.slba);
  if (!departs(departure::write_lost) && !lost_again && !loses_data(subsystem_, command) &&
      !(appends && departs(departure::zone_append_lost))) {
    const bool lost = ns.uncorrectable(target.slba, target.blocks);
    status = ns.write(target.slba, whole);
    if (lost && departs(departure::uncorrectable_stays)) ns.write_uncorrectable(target.slba, target.blocks);
    if (lost && departs(departure::lba_status_kept)) ns.keep_tracked(target.slba, target.blocks);
    if (status.ok()) {
      const bool fua = command.as<nvme::ReadWriteSqe>().get(rw::fua);
      status = after_write(ns, target.slba, target.blocks, fua);
    }
  }
  if (subsystem_.directives().any()) controller_.directives_.use_stream(command);
  if (ns.zoned() && status.ok()) controller_.zones_.zone_written(ns, target.slba, target.blocks);
  if (status.ok()) controller_.placement_.written(command, ns, target.slba, target.blocks);
  count_io(ns, target.bytes, true);
  command.queue->complete(command, status, status.ok() ? result : 0);
}

void IoCommands::compare(const Command& command) {
  IoTarget target;
  if (find_target(command, target)) compare_data(command, target);
}

/// Answers the Compare; true when it succeeded.
bool IoCommands::compare_data(const Command& command, const IoTarget& target) {
  Queue& queue = *command.queue;
  if (target.ns != nullptr && command.data().size() != target.bytes) {
    queue.complete(command, sc::format_in_progress);
    return false;
  }
  if (!target.in_range) {
    queue.complete(command, sc::success);
    return true;
  }
  if (!commit_before(command, target)) return false;
  if (target.ns->layout().is_protected() && !compare_protected(command, target)) return false;
  const nvme::Status status = target.ns->compare(target.slba, command.data().first(target.bytes));
  const bool equal = status.ok() || departs(departure::compare_equal);
  if (!equal && nvme::same_code(status, sc::compare_failure)) {
    if (!queue.refuse(command, check::compare_mismatch)) queue.complete(command, sc::success);
  } else {
    queue.complete(command, equal ? sc::success : status);
  }
  return equal;
}

void IoCommands::write_zeroes(const Command& command, const IoTarget& target) {
  nvme::Status status = sc::success;
  const bool zoned = target.in_range && target.ns->zoned();
  if (zoned && !controller_.zones_.zone_takes(command, *target.ns, target.slba, target.blocks)) return;
  if (target.in_range && !departs(departure::write_zeroes_nothing)) {
    const bool keeps_tags = target.ns->layout().is_protected() && !command.as<nvme::ReadWriteSqe>().get(rw::deac);
    const bool fits = !keeps_tags || target.ns->admits(target.slba, target.blocks);
    if (!fits && command.queue->refuse(command, check::io_capacity)) return;
    subsystem_.sanitizer().note_write();
    status = keeps_tags ? zero_protected(command, target) : target.ns->write_zeroes(target.slba, target.blocks);
    if (status.ok()) {
      const bool fua = command.as<nvme::ReadWriteSqe>().get(rw::fua);
      status = after_write(*target.ns, target.slba, target.blocks, fua);
    }
  }
  if (zoned && status.ok()) controller_.zones_.zone_written(*target.ns, target.slba, target.blocks);
  if (target.in_range && status.ok()) controller_.placement_.written(command, *target.ns, target.slba, target.blocks);
  command.queue->complete(command, status);
}

void IoCommands::write_uncorrectable(const Command& command, const IoTarget& target) {
  const bool zoned = target.in_range && target.ns->zoned();
  if (zoned && !controller_.zones_.zone_takes(command, *target.ns, target.slba, target.blocks)) return;
  if (target.in_range && !departs(departure::uncorrectable_forgotten)) {
    const bool news = target.ns->write_uncorrectable(target.slba, target.blocks);
    if (news) subsystem_.lba_status_changed(*target.ns);
  }
  if (zoned) controller_.zones_.zone_written(*target.ns, target.slba, target.blocks);
  if (target.in_range) controller_.placement_.written(command, *target.ns, target.slba, target.blocks);
  command.queue->complete(command, sc::success);
}

void IoCommands::verify(const Command& command, const IoTarget& target) {
  nvme::Status status = sc::success;
  if (target.in_range && target.ns->layout().is_protected()) {
    if (!verify_protected(command, target)) return;
  } else if (target.in_range) {
    status = target.ns->verify(target.slba, target.blocks);
  }
  command.queue->complete(command, status);
}

void IoCommands::flush(const Command& command) {
  Queue& queue = *command.queue;
  nvme::Status status = sc::success;
  const bool skipped = departs(departure::flush_skipped);
  if (command.nsid() == nvme::kAllNamespaces) {
    for (const auto& [nsid, ns] : subsystem_.namespaces()) {
      if (controller_.sees(*ns) && !controller_.reservations_.reservation_allows(command, *ns, Access::write)) return;
    }
    for (const auto& [nsid, ns] : subsystem_.namespaces()) {
      if (skipped) break;
      if (!controller_.sees(*ns)) continue;
      const nvme::Status one = ns->flush();
      if (!one.ok()) status = one;
    }
    return queue.complete(command, status);
  }
  Namespace* ns = nullptr;
  if (!find_namespace(command, ns) || (ns != nullptr && !check_path(command, *ns))) return;
  if (ns != nullptr && !controller_.reservations_.reservation_allows(command, *ns, Access::write)) return;
  if (ns != nullptr && !skipped) status = ns->flush();
  queue.complete(command, status);
}

void IoCommands::dataset_management(const Command& command, Namespace* ns) {
  Queue& queue = *command.queue;
  if (ns != nullptr && !controller_.reservations_.reservation_allows(command, *ns, Access::write)) return;
  if (!writable(command, ns)) return;
  const std::uint64_t ranges = command.as<nvme::DatasetManagementSqe>().get(nvme::dsm_sqe::nr).count();
  if (queue.stage(command, ranges * nvme::DsmRange::size)) queue.pull(command);
}

void IoCommands::dataset_management_data(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::DatasetManagementSqe>();
  IoTarget target;
  if (!find_target(command, target)) return;
  const std::size_t ranges = std::min<std::size_t>(sqe.get(nvme::dsm_sqe::nr).count(), command.data().size() / nvme::DsmRange::size);
  if (target.ns == nullptr) return queue.complete(command, sc::success);  // a deviation went on
  const auto range_at = [&](std::size_t i) {
    return View<nvme::DsmRange>{ByteView{command.data()}.subspan(i * nvme::DsmRange::size, nvme::DsmRange::size)};
  };
  for (std::size_t i = 0; i < ranges; ++i) {
    const auto range = range_at(i);
    if (!target.ns->in_range(range.get(nvme::dsm_range::slba), range.get(nvme::dsm_range::length)) &&
        queue.refuse(command, check::io_range)) {
      return;
    }
    if (!controller_.zones_.zone_deallocates(command, *target.ns, range.get(nvme::dsm_range::slba), range.get(nvme::dsm_range::length))) {
      return;
    }
  }
  nvme::Status status = sc::success;
  for (std::size_t i = 0; i < ranges && sqe.get(nvme::dsm_sqe::ad); ++i) {
    const auto range = range_at(i);
    const std::uint64_t slba = range.get(nvme::dsm_range::slba);
    const std::uint32_t length = range.get(nvme::dsm_range::length);
    if (length == 0 || !target.ns->in_range(slba, length)) continue;
    nvme::Status one = target.ns->deallocate(slba, length);
    controller_.placement_.deallocated(*target.ns, slba, length);
    if (departs(departure::deallocate_garbage)) {
      Bytes garbage(target.ns->block_bytes(), 0xFF);
      one = target.ns->write(slba, garbage);
    }
    if (target.ns->zoned() && departs(departure::zone_deallocate_rewinds)) {
      target.ns->zones()->reset(target.ns->zones()->index_of(slba));
    }
    if (one.ok()) one = after_write(*target.ns, slba, length, false);
    if (!one.ok()) status = one;
  }
  queue.complete(command, status);
}

}  // namespace fb::subsystem
