#include "model/subsystem/connect.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "model/auth/psk.h"
#include "model/subsystem/authentication.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/port.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/connect.h"

namespace fb::subsystem {

namespace {

namespace cs = fabrics::connect_sqe;
namespace cd = fabrics::connect_data;

/// What a Connect says, in the order in which it is found out.
struct Attempt {
  const Command& command;
  Queue& queue;
  Port& port;
  View<fabrics::ConnectSqe> sqe;
  View<fabrics::ConnectData> data;
  Subsystem* subsystem = nullptr;
  std::string hostnqn;

  std::uint16_t qid() const { return sqe.get(cs::qid); }
  std::uint16_t cntlid() const { return data.get(cd::cntlid); }
  std::uint32_t kato() const { return sqe.get(cs::kato); }
  bool reserved_cntlid() const { return cntlid() >= fabrics::kFirstReservedController && cntlid() < fabrics::kAnyStaticController; }
  /// False: the command has been answered.
  bool demand(bool condition, const Check& check) const { return condition || !queue.refuse(command, check); }
};

bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

/// The text of a name field; where the terminator is missing, all of it.
std::string name_in(ByteView field) {
  const std::optional<std::string> text = fabrics::terminated_text(field);
  return text ? *text : std::string(field.begin(), field.end());
}

/// Each parameter is held against its checks until one fails. Where a deviation lets that pass, the
/// parameter is taken for good: no later check may refuse it for the same reason.
bool check_subnqn(Attempt& attempt) {
  const ByteView field = attempt.data.get(cd::subnqn);
  const std::string name = name_in(field);
  attempt.subsystem = attempt.port.find(name);
  const Check* failed = nullptr;
  if (!fabrics::terminated_text(field)) {
    failed = &check::connect_subnqn_terminated;
  } else if (!fabrics::valid_nqn(name)) {
    failed = &check::connect_subnqn_syntax;
  } else if (attempt.subsystem == nullptr) {
    failed = &check::connect_subnqn_known;
  }
  if (failed != nullptr && !attempt.demand(false, *failed)) return false;
  for (Subsystem* any : attempt.port.subsystems()) {
    if (attempt.subsystem == nullptr && any->discovery() == nullptr) attempt.subsystem = any;
  }
  if (attempt.subsystem != nullptr) return true;
  attempt.queue.complete_connect(attempt.command, nvme::sc::controller_busy, 0);
  return false;
}

bool check_host(Attempt& attempt) {
  const ByteView field = attempt.data.get(cd::hostnqn);
  attempt.hostnqn = name_in(field);
  const Check* failed = nullptr;
  if (!fabrics::terminated_text(field)) {
    failed = &check::connect_hostnqn_terminated;
  } else if (!fabrics::valid_nqn(attempt.hostnqn) ||
             (attempt.subsystem->departs(departure::connect_name_short) && attempt.hostnqn.size() == fabrics::kNqnBytesMax)) {
    failed = &check::connect_hostnqn_syntax;
  }
  if (failed != nullptr && !attempt.demand(false, *failed)) return false;
  const bool itself = attempt.subsystem->options().authentication.enabled() && attempt.hostnqn == attempt.subsystem->options().nqn;
  if (!attempt.demand(!itself, check::connect_hostnqn_subsystem)) return false;
  return attempt.demand(!attempt.subsystem->moved(), check::connect_moved) &&
         ((failed != nullptr && !attempt.port.is_lenient(failed->name)) ||
          attempt.demand(attempt.subsystem->host_allowed(attempt.hostnqn), check::connect_host_allowed));
}

/// Whoever came with the key of two names speaks as these.
bool check_identity(const Attempt& attempt) {
  if (!attempt.queue.secured()) return true;
  const auto shown = auth::PskIdentity::parse(attempt.queue.channel().identity());
  const std::string name = name_in(attempt.data.get(cd::subnqn));
  return attempt.demand(shown && shown->hostnqn == attempt.hostnqn, check::connect_tls_hostnqn) &&
         attempt.demand(shown && shown->subnqn == name, check::connect_tls_subnqn);
}

bool check_size(const Attempt& attempt) {
  const std::uint64_t entries = attempt.sqe.get(cs::sqsize).count();
  const SubsystemOptions& options = attempt.subsystem->options();
  const bool admin = attempt.qid() == fabrics::kAdminQueue;
  if (entries < 2) return attempt.demand(false, check::connect_sqsize_minimum);
  if (admin && entries > options.admin_entries_max) {
    return attempt.demand(false, check::connect_sqsize_admin);
  }
  if (!admin && entries > options.io_entries_max) {
    return attempt.demand(false, check::connect_sqsize_io);
  }
  return attempt.demand(entries <= attempt.queue.channel().entries(), check::connect_sqsize_transport);
}

bool check_kato(const Attempt& attempt) {
  Subsystem& subsystem = *attempt.subsystem;
  const std::uint32_t kato = attempt.kato();
  if (DiscoveryService* const discovery = subsystem.discovery()) {
    return attempt.demand(kato == 0 || discovery->options().persistent, check::connect_kato_discovery);
  }
  const SubsystemOptions& options = subsystem.options();
  return attempt.demand(kato != 0 || !options.kato_required, check::connect_kato_required) &&
         attempt.demand(kato <= options.kato_max_ms, check::connect_kato_maximum);
}

/// The controller for an admin queue, or nullptr when the command has been answered.
Controller* choose_dynamic(const Attempt& attempt) {
  if (!attempt.reserved_cntlid() && !attempt.demand(attempt.cntlid() == fabrics::kAnyController, check::connect_cntlid_dynamic)) {
    return nullptr;
  }
  Controller* const made = attempt.subsystem->make_controller();
  if (made == nullptr && !attempt.queue.refuse(attempt.command, check::connect_controller_left)) {
    attempt.queue.complete_connect(attempt.command, nvme::sc::success, 1);
  }
  return made;
}

Controller* choose_static(const Attempt& attempt) {
  Subsystem& subsystem = *attempt.subsystem;
  const std::uint16_t cntlid = attempt.cntlid();
  if (!attempt.demand(cntlid != fabrics::kAnyController, check::connect_cntlid_static)) {
    return nullptr;
  }
  Controller* chosen = nullptr;
  const bool any = cntlid == fabrics::kAnyStaticController || cntlid == fabrics::kAnyController;
  if (!any) {
    chosen = subsystem.find_controller(cntlid);
    if (!attempt.reserved_cntlid() && !attempt.demand(chosen != nullptr, check::connect_cntlid_exists)) {
      return nullptr;
    }
  }
  if (chosen == nullptr) {
    chosen = subsystem.free_controller();
    if (chosen == nullptr) {
      if (!attempt.queue.refuse(attempt.command, check::connect_controller_left)) {
        attempt.queue.complete_connect(attempt.command, nvme::sc::success, 1);
      }
      return nullptr;
    }
  }
  if (!chosen->in_association()) return chosen;
  if (!attempt.demand(false, check::connect_controller_free)) return nullptr;
  chosen->end_association("taken by another host");
  return chosen;
}

std::uint16_t response_cntlid(Subsystem& subsystem, std::uint16_t cntlid) {
  if (subsystem.departs(departure::cntlid_reused)) return 1;
  if (subsystem.departs(departure::cntlid_reserved)) return 0xFFF3;
  return cntlid;
}

Queue::Terms terms_of(const Attempt& attempt) {
  const std::uint8_t cattr = attempt.sqe.get(cs::cattr);
  const SubsystemOptions& options = attempt.subsystem->options();
  return {.qid = attempt.qid(),
          .entries = static_cast<std::uint32_t>(attempt.sqe.get(cs::sqsize).count()),
          .flow_control = (cattr & fabrics::cattr_bits::disable_sq_flow_control) == 0 || !options.flow_control_may_be_off,
          .individually_deletable = (cattr & fabrics::cattr_bits::individual_queue_deletion) != 0};
}

/// The queue belongs to its controller now: answers with the identifier, and with the demand to
/// authenticate where there is one.
void accept(const Attempt& attempt, Controller& controller) {
  std::uint32_t dw0 = response_cntlid(*attempt.subsystem, controller.cntlid());
  if (attempt.subsystem->options().authentication.enabled()) {
    attempt.queue.set_authentication(std::make_unique<Authentication>(attempt.queue, controller));
    dw0 |= std::uint32_t{attempt.queue.authentication()->authreq()} << 16;
  }
  attempt.queue.complete_connect(attempt.command, nvme::sc::success, dw0);
}

void connect_admin(const Attempt& attempt) {
  Subsystem& subsystem = *attempt.subsystem;
  const ByteView hostid = attempt.data.get(cd::hostid);
  const bool takes_zero = subsystem.options().allow_zero_hostid && !subsystem.departs(departure::connect_zero_hostid);
  if (!check_kato(attempt) || !attempt.demand(!all_zero(hostid) || takes_zero, check::connect_hostid_zero) ||
      !attempt.demand(!attempt.reserved_cntlid(), check::connect_cntlid_reserved)) {
    return;
  }
  const bool dynamic = subsystem.options().controllers == ControllerModel::dynamic_controllers;
  Controller* const controller = dynamic ? choose_dynamic(attempt) : choose_static(attempt);
  if (controller == nullptr) return;
  const Queue::Terms terms = terms_of(attempt);
  HostIdentity host;
  std::copy(hostid.begin(), hostid.end(), host.hostid.begin());
  host.hostnqn = attempt.hostnqn;
  host.subnqn = name_in(attempt.data.get(cd::subnqn));
  attempt.queue.attach(*controller, terms);
  controller->begin_association(attempt.queue, std::move(host), attempt.kato(), terms.individually_deletable);
  accept(attempt, *controller);
}

void connect_io(const Attempt& attempt) {
  Subsystem& subsystem = *attempt.subsystem;
  const std::uint16_t qid = attempt.qid();
  const bool discovery = subsystem.discovery() != nullptr;
  const bool out_of_range = !discovery && qid > subsystem.options().io_queues_max;
  if (!attempt.demand(!discovery, check::connect_io_discovery) || !attempt.demand(!out_of_range, check::connect_io_qid_range)) {
    return;
  }
  Controller* controller = subsystem.find_controller(attempt.cntlid());
  if (controller != nullptr && !controller->in_association()) controller = nullptr;
  if (!attempt.demand(controller != nullptr, check::connect_io_cntlid)) return;
  for (const auto& [id, any] : subsystem.controllers()) {
    if (controller == nullptr && any->in_association()) controller = any.get();
  }
  if (controller == nullptr) {  // nothing to attach to, whatever a deviation says
    return attempt.queue.complete_connect(attempt.command, nvme::sc::success, attempt.cntlid());
  }
  const ByteView hostid = attempt.data.get(cd::hostid);
  const HostIdentity& host = controller->host();
  const bool same_id = std::equal(hostid.begin(), hostid.end(), host.hostid.begin());
  if (!attempt.demand(attempt.hostnqn == host.hostnqn, check::connect_io_hostnqn) ||
      !attempt.demand(all_zero(hostid) || same_id, check::connect_io_hostid) ||
      !attempt.demand(controller->port() == &attempt.port, check::connect_io_port) ||
      !attempt.demand(attempt.queue.secured() || !controller->secured(), check::connect_io_tls) ||
      !attempt.demand(controller->ready(), check::connect_io_ready) ||
      !attempt.demand(discovery || out_of_range || qid <= controller->queues_granted(), check::connect_io_qid_granted) ||
      !attempt.demand(controller->io_queue(qid) == nullptr, check::connect_io_qid_exists)) {
    return;
  }
  attempt.queue.attach(*controller, terms_of(attempt));
  controller->add_io_queue(attempt.queue);
  accept(attempt, *controller);
}

}  // namespace

bool is_connect(const Command& command) {
  return command.opcode() == nvme::kFabricsOpcode &&
         command.as<fabrics::AnyFabricsSqe>().get(fabrics::sqe::fctype) == fabrics::FabricsType::connect;
}

void start_connect(const Command& command) {
  const auto sqe = command.as<fabrics::ConnectSqe>();
  Queue& queue = *command.queue;
  if (sqe.get(cs::recfmt) != fabrics::kConnectRecordFormat && queue.refuse(command, check::connect_recfmt)) {
    return;
  }
  if (queue.stage(command, fabrics::ConnectData::size)) queue.pull(command);
}

void finish_connect(const Command& command) {
  Queue& queue = *command.queue;
  if (queue.controller() != nullptr) {  // a second one that overtook its sibling
    if (!queue.refuse(command, check::connect_once)) {
      queue.complete_connect(command, nvme::sc::success, 0);
    }
    return;
  }
  Attempt attempt{command, queue, queue.port(), command.as<fabrics::ConnectSqe>(), View<fabrics::ConnectData>{command.data()}, nullptr, {}};
  queue.port().hooks().queue_secured(attempt.qid(), queue.identity());
  const std::optional<std::uint16_t> requested = queue.channel().requested_qid();
  if (!attempt.demand(!requested || *requested == attempt.qid(), check::connect_qid_transport) || !check_subnqn(attempt) ||
      !check_host(attempt) || !check_identity(attempt) || !check_size(attempt)) {
    return;
  }
  if (attempt.qid() == fabrics::kAdminQueue) return connect_admin(attempt);
  connect_io(attempt);
}

}  // namespace fb::subsystem
