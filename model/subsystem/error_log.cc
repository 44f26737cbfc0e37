// The error information log of a controller.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem {

namespace {

/// Aborts and path statuses are no errors of the controller; nothing is logged for them.
bool deserves_entry(nvme::Status status) {
  if (status.sct() == static_cast<unsigned>(nvme::StatusCodeType::path)) return false;
  const nvme::Status code = status.code();
  return code != nvme::sc::abort_requested && code != nvme::sc::aborted_sq_deletion && code != nvme::sc::aborted_failed_fused;
}

}  // namespace

void ErrorLog::add_error(const ErrorFacts& facts) {
  const std::size_t limit = std::max<std::size_t>(subsystem_.options().error_entries, 1);
  if (errors_.size() != limit) errors_.resize(limit);
  const std::uint16_t cid = departs(departure::error_log_cid) ? static_cast<std::uint16_t>(facts.cid + 1) : facts.cid;
  const nvme::Status status = departs(departure::error_log_status) ? nvme::sc::internal_error : facts.status;
  auto& entry = errors_[error_count_ % limit];
  ++error_count_;
  errors_valid_ = std::min<std::uint64_t>(errors_valid_ + 1, limit);
  entry.fill(0);
  MutableView<nvme::ErrorEntry>{entry}
      .set(nvme::error_entry::error_count, error_count_)
      .set(nvme::error_entry::sqid, facts.sqid)
      .set(nvme::error_entry::cid, cid)
      .set(nvme::error_entry::status, status)
      .set(nvme::error_entry::pel, nvme::kErrorNotInCommand)
      .set(nvme::error_entry::lba, facts.lba)
      .set(nvme::error_entry::nsid, facts.nsid);
  // Reserved before version 2.0.
  if (!subsystem_.has_version(2, 0)) return;
  MutableView<nvme::ErrorEntry>{entry}
      .set(nvme::error_entry::csi, facts.csi)
      .set(nvme::error_entry::opc, facts.opcode)
      .set(nvme::error_entry::lpver, 1u);
}

nvme::Status Controller::log_error(const Command& command, nvme::Status status) {
  if (!deserves_entry(status)) return status;
  if (departs(departure::more_without_entry)) return status.with_more();
  const bool fabrics = command.opcode() == nvme::kFabricsOpcode;
  const bool io = command.queue->qid() != 0 && !fabrics;
  status = status.with_more();
  const bool out_of_band = command.queue->out_of_band();  // neither queue nor identifier says anything
  const Namespace* const ns = io ? active_namespace(command.nsid()) : nullptr;
  const bool blocks = io && (ns == nullptr || !ns->key_value());
  error_log_.add_error({.sqid = out_of_band ? std::uint16_t{0xFFFF} : command.queue->qid(),
                        .cid = out_of_band ? std::uint16_t{0xFFFF} : command.cid(),
                        .status = status,
                        .lba = blocks ? command.as<nvme::ReadWriteSqe>().get(nvme::rw_sqe::slba) : 0,
                        .nsid = fabrics ? 0 : command.nsid(),
                        .opcode = command.opcode(),
                        .csi = ns != nullptr ? static_cast<std::uint8_t>(ns->command_set()) : std::uint8_t{0}});
  return status;
}

Bytes ErrorLog::log_errors() const {
  const std::size_t limit = std::max<std::size_t>(subsystem_.options().error_entries, 1);
  Bytes page(limit * nvme::ErrorEntry::size);
  for (std::uint64_t i = 0; i < errors_valid_; ++i) {
    const std::uint64_t back = departs(departure::error_log_oldest) ? errors_valid_ - i : i + 1;
    const auto& entry = errors_[(error_count_ - back) % limit];
    const MutableBytes out = MutableBytes{page}.subspan(static_cast<std::size_t>(i) * entry.size(), entry.size());
    std::copy(entry.begin(), entry.end(), out.begin());
    // Nothing is told of user data that is going.
    const bool silent = subsystem_.sanitizer().running() && !departs(departure::sanitize_error_lba);
    if (silent) MutableView<nvme::ErrorEntry>{out}.set(nvme::error_entry::lba, 0u);
  }
  return page;
}

void ErrorLog::clear_errors() { errors_valid_ = 0; }

}  // namespace fb::subsystem
