// Directive Send and Directive Receive, and what I/O commands say of directives.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/directives.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace ds = nvme::directive_sqe;
namespace op = nvme::directive_operation;
using nvme::DirectiveType;

namespace {

bool sends(const Command& command) { return command.opcode() == static_cast<std::uint8_t>(nvme::AdminOpcode::directive_send); }

}  // namespace

bool DirectiveCommands::directive_supported(DirectiveType type) const {
  if (type == DirectiveType::identify) return true;
  if (type == DirectiveType::data_placement) return subsystem_.options().fdp.supported();
  return type == DirectiveType::streams && subsystem_.options().directives.streams != 0;
}

/// Streams are enabled for this host in the namespace, or in any where the command is for all.
bool DirectiveCommands::streams_enabled(std::uint32_t nsid) const {
  const Directives& directives = subsystem_.directives();
  if (nsid != nvme::kAllNamespaces) return directives.enabled(controller_.host_.hostid, nsid);
  return std::any_of(subsystem_.namespaces().begin(), subsystem_.namespaces().end(),
                     [&](const auto& entry) { return directives.enabled(controller_.host_.hostid, entry.first); });
}

void DirectiveCommands::directive(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::DirectiveSqe>();
  const DirectiveType type = sqe.get(ds::dtype);
  const unsigned operation = sqe.get(ds::doper);
  const std::uint32_t nsid = command.nsid();
  const bool streams = type == DirectiveType::streams;
  const unsigned last = !streams ? 1 : sends(command) ? 2 : 3;
  const bool known = operation >= 1 && operation <= last;
  if (!directive_supported(type)) {
    if (!queue.refuse(command, check::directive_type)) queue.complete(command, sc::success);
    return;
  }
  // It has no operations of its own.
  if (type == DirectiveType::data_placement) {
    if (!queue.refuse(command, check::directive_placement_operation)) queue.complete(command, sc::success);
    return;
  }
  if (!known && queue.refuse(command, check::directive_operation)) return;
  const bool all = nsid == nvme::kAllNamespaces;
  if (!all && controller_.active_namespace(nsid) == nullptr) {
    const bool valid = nsid != 0 && nsid <= subsystem_.options().namespaces_max;
    if (queue.refuse(command, valid ? check::directive_inactive : check::directive_nsid)) return;
  }
  // Enabling, and what streams tell of the whole subsystem, can be asked for all.
  const bool for_all = sends(command) ? !streams : streams && operation != op::streams_allocate;
  if (all && !for_all && queue.refuse(command, check::directive_broadcast)) return;
  if (streams && !streams_enabled(nsid) && queue.refuse(command, check::directive_disabled)) return;
  if (sends(command)) return streams ? send_streams(command) : enable_directive(command);
  if (streams && operation == op::streams_allocate) return allocate_streams(command);
  const std::uint64_t length = sqe.get(ds::numd).count() * std::uint64_t{4};
  if (!controller_.transfer_fits(length)) {
    if (!queue.refuse(command, check::directive_length)) queue.complete(command, sc::success);
    return;
  }
  Bytes data = !streams                                     ? directive_parameters(nsid)
               : operation == op::streams_return_parameters ? stream_parameters(nsid)
                                                            : stream_status(nsid);
  if (!queue.stage(command, static_cast<std::size_t>(length))) return;
  data.resize(static_cast<std::size_t>(length));
  std::copy(data.begin(), data.end(), command.data().begin());
  queue.complete_with_data(command, data.size());
}

Bytes DirectiveCommands::directive_parameters(std::uint32_t nsid) const {
  namespace dp = nvme::directive_parameters;
  Bytes page(nvme::DirectiveParameters::size);
  const auto bit = [](DirectiveType type) { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(type)); };
  page[dp::supported.offset] = bit(DirectiveType::identify);
  page[dp::enabled.offset] = bit(DirectiveType::identify);
  if (directive_supported(DirectiveType::streams)) page[dp::supported.offset] |= bit(DirectiveType::streams);
  if (streams_enabled(nsid)) page[dp::enabled.offset] |= bit(DirectiveType::streams);
  if (directive_supported(DirectiveType::data_placement) && !departs(departure::fdp_directive_missing)) {
    page[dp::supported.offset] |= bit(DirectiveType::data_placement);
    if (!departs(departure::fdp_directive_volatile)) page[dp::persistent.offset] |= bit(DirectiveType::data_placement);
    const bool enabled = subsystem_.directives().placement_enabled(controller_.host_.hostid, nsid);
    if (enabled) page[dp::enabled.offset] |= bit(DirectiveType::data_placement);
  }
  return page;
}

Bytes DirectiveCommands::stream_parameters(std::uint32_t nsid) const {
  namespace sp = nvme::stream_parameters;
  const Directives& directives = subsystem_.directives();
  const DirectiveOptions& options = subsystem_.options().directives;
  const std::uint16_t allocated = directives.allocated(controller_.host_.hostid, nsid);
  Record<nvme::StreamParameters> out;
  out.set(sp::msl, options.streams)
      .set(sp::nssa, departs(departure::streams_available) ? options.streams : directives.available())
      .set(sp::nsso, directives.open_shared())
      .set(sp::sws, options.write_blocks)
      .set(sp::sgs, options.granularity)
      .set(sp::nsa, departs(departure::streams_allocated) ? 0u : allocated)
      .set(sp::nso, directives.open(controller_.host_.hostid, nsid));
  return Bytes(out.bytes().begin(), out.bytes().end());
}

Bytes DirectiveCommands::stream_status(std::uint32_t nsid) const {
  std::vector<std::uint16_t> open = subsystem_.directives().open_streams(controller_.host_.hostid, nsid);
  if (departs(departure::streams_order)) std::reverse(open.begin(), open.end());
  Bytes page(2 + 2 * open.size());
  store_le(page.data(), static_cast<std::uint16_t>(open.size()));
  for (std::size_t i = 0; i < open.size(); ++i) store_le(page.data() + 2 + 2 * i, open[i]);
  return page;
}

void DirectiveCommands::enable_directive(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::EnableDirectiveSqe>();
  const DirectiveType type = sqe.get(ds::tdtype);
  const bool possible = type != DirectiveType::identify && directive_supported(type);
  if (!possible) {
    if (!queue.refuse(command, check::directive_enable)) queue.complete(command, sc::success);
    return;
  }
  if (type == DirectiveType::data_placement) return enable_placement(command, sqe.get(ds::endir));
  const Namespace* const only = subsystem_.find_namespace(command.nsid());
  const bool placed = type == DirectiveType::streams && only != nullptr && controller_.placement_.placed(*only);
  if (placed && sqe.get(ds::endir) && queue.refuse(command, check::directive_streams_placed)) return;
  Directives& directives = subsystem_.directives();
  const bool on = sqe.get(ds::endir);
  const auto change = [&](const HostId& host, std::uint32_t nsid) {
    if (on) {
      directives.enable(host, nsid);
    } else if (!departs(departure::streams_stay_enabled)) {
      directives.disable(host, nsid);
    }
  };
  if (command.nsid() != nvme::kAllNamespaces) {
    change(controller_.host_.hostid, command.nsid());
  } else {
    for (const auto& [id, controller] : subsystem_.controllers()) {
      if (!controller->in_association()) continue;
      for (const auto& [nsid, ns] : subsystem_.namespaces()) change(controller->host().hostid, nsid);
    }
  }
  queue.complete(command, sc::success);
}

void DirectiveCommands::enable_placement(const Command& command, bool on) {
  Queue& queue = *command.queue;
  if (command.nsid() == nvme::kAllNamespaces && queue.refuse(command, check::directive_placement_broadcast)) return;
  const Namespace* const ns = controller_.active_namespace(command.nsid());
  const bool placed = ns != nullptr && controller_.placement_.placed(*ns);
  if (on && !placed && queue.refuse(command, check::directive_placement_disabled)) return;
  const bool ineffective = on ? departs(departure::fdp_directive_off) : departs(departure::fdp_directive_stays);
  if (ns != nullptr && !ineffective) subsystem_.directives().enable_placement(controller_.host_.hostid, command.nsid(), on);
  queue.complete(command, sc::success);
}

void DirectiveCommands::send_streams(const Command& command) {
  const auto sqe = command.as<nvme::DirectiveSqe>();
  Directives& directives = subsystem_.directives();
  if (sqe.get(ds::doper) == op::streams_release_identifier) {
    if (!departs(departure::streams_stay_open)) directives.release(controller_.host_.hostid, command.nsid(), sqe.get(ds::dspec));
  } else if (!departs(departure::streams_kept)) {
    directives.release_resources(controller_.host_.hostid, command.nsid());
  }
  command.queue->complete(command, sc::success);
}

void DirectiveCommands::allocate_streams(const Command& command) {
  Queue& queue = *command.queue;
  Directives& directives = subsystem_.directives();
  const std::uint32_t nsid = command.nsid();
  const std::uint16_t wanted = command.as<nvme::AllocateStreamsSqe>().get(ds::nsr);
  if (directives.allocated(controller_.host_.hostid, nsid) != 0 && queue.refuse(command, check::directive_allocated)) return;
  const std::uint16_t given = wanted == 0 ? std::uint16_t{0} : directives.allocate(controller_.host_.hostid, nsid, wanted);
  if (given == 0 && wanted != 0 && queue.refuse(command, check::directive_resources)) return;
  queue.complete(command, sc::success, given);
}

/// What a write says of directives. False: the command has been answered.
bool DirectiveCommands::directive_ok(const Command& command) {
  const bool streams = subsystem_.directives().enabled(controller_.host_.hostid, command.nsid());
  const bool placement = subsystem_.directives().placement_enabled(controller_.host_.hostid, command.nsid());
  if (!streams && !placement) return true;
  const auto type = static_cast<DirectiveType>(command.as<nvme::ReadWriteSqe>().get(nvme::rw_sqe::dtype));
  if (type == DirectiveType::identify) return true;
  if (type == DirectiveType::streams && streams) return true;
  if (type == DirectiveType::data_placement && placement) return !controller_.placement_.refuses_identifier(command);
  return !command.queue->refuse(command, check::io_directive);
}

void DirectiveCommands::use_stream(const Command& command) {
  const auto sqe = command.as<nvme::ReadWriteSqe>();
  if (sqe.get(nvme::rw_sqe::dtype) != static_cast<unsigned>(DirectiveType::streams)) return;
  const auto stream = static_cast<std::uint16_t>(sqe.get(nvme::rw_sqe::dspec));
  if (!departs(departure::streams_never_open)) subsystem_.directives().use(controller_.host_.hostid, command.nsid(), stream);
}

/// After a controller level reset the directives of a host are disabled, unless another of its controllers is enabled.
void DirectiveCommands::reset_directives() {
  if (departs(departure::fdp_directive_lost)) subsystem_.directives().disable_placement(controller_.host_.hostid);
  if (!subsystem_.directives().any() || departs(departure::streams_survive_reset)) return;
  for (const auto& [id, other] : subsystem_.controllers()) {
    if (id != controller_.cntlid_ && other->in_association() && other->cc_enabled() && other->host().hostid == controller_.host_.hostid)
      return;
  }
  subsystem_.directives().disable_all(controller_.host_.hostid);
}

}  // namespace fb::subsystem
