// Fabrics commands after Connect: Property Get, Property Set, Disconnect.
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/discovery.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/disconnect.h"
#include "wire/fabrics/property.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace prop = fabrics::property;
namespace ps = fabrics::property_sqe;

void Controller::on_fabrics(const Command& command) {
  Queue& queue = *command.queue;
  const auto fctype = command.as<fabrics::AnyFabricsSqe>().get(fabrics::sqe::fctype);
  const bool property = fctype == fabrics::FabricsType::property_get || fctype == fabrics::FabricsType::property_set;
  if (property && queue.qid() != fabrics::kAdminQueue && queue.refuse(command, check::fabrics_io_queue)) {
    return;
  }
  switch (fctype) {
    case fabrics::FabricsType::property_get:
      return property_get(command);
    case fabrics::FabricsType::property_set:
      return property_set(command);
    case fabrics::FabricsType::disconnect:
      return disconnect(command);
    default:
      if (!queue.refuse(command, check::fabrics_fctype)) queue.complete(command, sc::success);
  }
}

void Controller::property_get(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<fabrics::PropertyGetSqe>();
  const auto size = sqe.get(ps::size);
  const std::uint32_t offset = sqe.get(ps::ofst);
  const bool known_size = size == fabrics::PropertySize::four || size == fabrics::PropertySize::eight;
  if (!known_size && queue.refuse(command, check::property_attrib)) return;
  std::uint64_t value = 0;
  unsigned bytes = 0;
  if (!property_value(offset, value, bytes) && queue.refuse(command, check::property_offset)) {
    return;
  }
  const unsigned asked = size == fabrics::PropertySize::eight ? 8 : 4;
  if (asked != bytes && queue.refuse(command, check::property_size)) return;
  hooks().property_read(offset, value);
  if (asked == 4) value &= 0xFFFFFFFF;
  queue.complete(command, sc::success, value);
}

void Controller::property_set(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<fabrics::PropertySetSqe>();
  const auto size = sqe.get(ps::size);
  const std::uint32_t offset = sqe.get(ps::ofst);
  const bool known_size = size == fabrics::PropertySize::four || size == fabrics::PropertySize::eight;
  if (!known_size && queue.refuse(command, check::property_attrib)) return;
  std::uint64_t present = 0;
  unsigned bytes = 0;
  if (!property_value(offset, present, bytes) && queue.refuse(command, check::property_offset)) {
    return;
  }
  const unsigned asked = size == fabrics::PropertySize::eight ? 8 : 4;
  if (asked != bytes && queue.refuse(command, check::property_size)) return;
  const bool resettable = subsystem_.options().subsystem_reset && subsystem_.discovery() == nullptr;
  const bool writable = offset == prop::cc || offset == prop::nssr || (offset == prop::csts && resettable);
  if (!writable && queue.refuse(command, check::property_read_only)) return;
  std::uint64_t value = sqe.get(ps::value);
  if (asked == 4) value &= 0xFFFFFFFF;
  const bool effective = hooks().property_write(offset, value);
  if (effective) {
    const auto word = static_cast<std::uint32_t>(value);
    if (offset == prop::cc) write_cc(word);
    if (offset == prop::csts && (word >> 4 & 1) != 0) nssro_ = false;
    const bool resets = word == fabrics::kNssrValue || departs(departure::nssr_any_value);
    if (offset == prop::nssr && resettable && resets && !departs(departure::nssr_ignored)) {
      subsystem_.reset_subsystem_later();
    }
  }
  queue.complete(command, sc::success);
}

void Controller::disconnect(const Command& command) {
  Queue& queue = *command.queue;
  const bool supported = subsystem_.options().individual_queue_deletion && subsystem_.discovery() == nullptr;
  if (!supported && queue.refuse(command, check::disconnect_supported)) return;
  const auto recfmt = command.as<fabrics::DisconnectSqe>().get(fabrics::disconnect_sqe::recfmt);
  if (recfmt != fabrics::kDisconnectRecordFormat && queue.refuse(command, check::disconnect_recfmt)) {
    return;
  }
  const bool admin = queue.qid() == fabrics::kAdminQueue;
  if (admin && queue.refuse(command, check::disconnect_admin)) return;
  queue.abort_all(sc::aborted_sq_deletion, &command);
  if (!queue.alive() || queue.controller() != this) return;
  if (departs(departure::disconnect_silent)) {
    queue.discard(command);
  } else {
    queue.complete(command, sc::success);
  }
  if (!queue.alive() || queue.controller() != this || departs(departure::disconnect_stays)) return;
  if (admin || departs(departure::disconnect_ends_all)) return end_association("disconnected");
  std::erase(io_queues_, &queue);
  queue.retire();
}

}  // namespace fb::subsystem
