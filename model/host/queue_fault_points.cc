// What a queue does wrong on purpose to the entry that it is about to send.
#include "model/host/fault_points.h"
#include "model/host/queue.h"

namespace fb::host {

namespace {

/// For a deviation: admin commands that use no namespace identifier.
bool nsid_is_unused(const nvme::Sqe& sqe) {
  switch (static_cast<nvme::AdminOpcode>(sqe.get(nvme::sqe::opcode))) {
    case nvme::AdminOpcode::keep_alive:
    case nvme::AdminOpcode::abort:
    case nvme::AdminOpcode::async_event_request:
      return true;
    case nvme::AdminOpcode::identify:
      return sqe.as<nvme::IdentifySqe>().get(nvme::identify_sqe::cns) == 1;
    default:
      return false;
  }
}

}  // namespace

/// For a deviation.
void Queue::depart(Command& command) {
  const bool io = options_.qid != 0;
  nvme::Sqe& sqe = command.sqe;
  const bool is_fabrics = sqe.get(nvme::sqe::opcode) == nvme::kFabricsOpcode;
  if (asked(point::queue_cid_reserved)) {
    slots_[command.slot_].cid = 0xFFFF;
    sqe.set(nvme::sqe::cid, 0xFFFF);
  }
  if (is_fabrics) return;
  if (io && asked(point::sqe_fuse)) sqe.set(nvme::sqe::fuse, nvme::Fuse::first);
  if (io && asked(point::sqe_nsid_zero)) sqe.set(nvme::sqe::nsid, 0);
  if (!io && nsid_is_unused(sqe) && asked(point::sqe_nsid_unused)) sqe.set(nvme::sqe::nsid, 1);
  if (asked(point::sqe_reserved)) sqe.set(nvme::sqe::cdw2, 0xA5A5A5A5);
  if (io && asked(point::sqe_mptr)) sqe.set(nvme::sqe::mptr, 0x1000);
  if (asked(io ? point::sqe_psdt_io : point::sqe_psdt_admin)) {
    // The transport would say SGL: make the descriptor here, and keep it out of it.
    sqe.set(nvme::sqe::psdt, nvme::Psdt::prp);
    if (command.transfer.direction != transport::Direction::none) {
      const auto buffer = channel_->expose(command.slot_, command.transfer.data);
      const auto length = static_cast<std::uint32_t>(command.transfer.data.size());
      const auto sgl =
          buffer.key != 0 ? nvme::SglDescriptor::keyed(buffer.address, length, buffer.key) : nvme::SglDescriptor::transport(length);
      sqe.set(nvme::sqe::sgl1, sgl.bytes());
    }
    command.transfer.keep_dptr = true;
  }
}

}  // namespace fb::host
