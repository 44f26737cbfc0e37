// Security Send and Security Receive.
#include <algorithm>

#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
namespace ss = nvme::security_sqe;

namespace {

/// Security protocol information, by SPSP (SPC): the protocols there are, in ascending order; a certificate.
constexpr std::uint16_t kProtocolList = 0x0000;
constexpr std::uint16_t kCertificate = 0x0001;

}  // namespace

std::optional<Bytes> SecurityResponder::receive(std::uint8_t protocol, std::uint16_t specific) const {
  if (protocol == kSecurityMailbox) {
    if (specific >= kMailboxes) return std::nullopt;
    return mailboxes_[specific];
  }
  if (specific == kProtocolList) return Bytes{0, 0, 0, 0, 0, 0, 0, 2, kSecurityInformation, kSecurityMailbox};
  if (specific == kCertificate) return Bytes(4);  // none
  return std::nullopt;
}

void SecurityCommands::security(const Command& command) {
  Queue& queue = *command.queue;
  const auto sqe = command.as<nvme::SecuritySqe>();
  const std::uint8_t protocol = sqe.get(ss::secp);
  const std::uint16_t specific = sqe.get(ss::spsp);
  const std::uint32_t length = sqe.get(ss::length);
  const bool sends = command.opcode() == static_cast<std::uint8_t>(nvme::AdminOpcode::security_send);
  const Namespace* const ns = controller_.active_namespace(command.nsid());
  if (ns != nullptr && !controller_.reservations_.reservation_allows(command, *ns, sends ? Access::write : Access::read)) return;
  if (!SecurityResponder::supports(protocol) && queue.refuse(command, check::security_protocol)) return;
  if (sends) {
    if (!SecurityResponder::takes(protocol, specific) && queue.refuse(command, check::security_specific)) return;
    if (!controller_.transfer_fits(length) && queue.refuse(command, check::security_length)) return;
    if (length == 0) return security_data(command);
    if (queue.stage(command, length)) queue.pull(command);
    return;
  }
  std::optional<Bytes> said = subsystem_.security().receive(protocol, specific);
  if (!said && queue.refuse(command, check::security_specific)) return;
  if (!controller_.transfer_fits(length) && queue.refuse(command, check::security_length)) return;
  if (length == 0) return queue.complete(command, sc::success);
  if (!queue.stage(command, length)) return;
  Bytes data = std::move(said).value_or(Bytes{});
  if (protocol == kSecurityInformation && specific == kProtocolList && data.size() > 8) {
    if (departs(departure::security_list_descends)) std::reverse(data.begin() + 8, data.end());
    if (departs(departure::security_unlisted)) data = {0, 0, 0, 0, 0, 0, 0, 1, kSecurityMailbox};
  }
  data.resize(length);
  std::copy(data.begin(), data.end(), command.data().begin());
  queue.complete_with_data(command, length);
}

void SecurityCommands::security_data(const Command& command) {
  const auto sqe = command.as<nvme::SecuritySqe>();
  if (SecurityResponder::takes(sqe.get(ss::secp), sqe.get(ss::spsp))) {
    subsystem_.security().send(sqe.get(ss::spsp), command.data().first(std::min<std::size_t>(command.data().size(), sqe.get(ss::length))));
  }
  command.queue->complete(command, sc::success);
}

}  // namespace fb::subsystem
