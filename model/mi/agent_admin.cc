// The tunnel for NVMe Admin commands: what may pass, the window of data that comes back, and the command
// itself, executed as if a host's admin queue had brought it.
#include <algorithm>
#include <utility>

#include "model/mi/agent.h"
#include "model/mi/fault_points.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/mi/tunnels.h"
#include "wire/nvme/sqe.h"

namespace fb::mi {

namespace ar = admin_request;
using nvme::DataDirection;

namespace {

/// The submission entry that the request stands for.
nvme::Sqe sqe_of(const View<AdminRequest>& asked) {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, asked.get(request::opcode))
      .set(nvme::sqe::psdt, nvme::Psdt::sgl)
      .set(nvme::sqe::nsid, asked.get(ar::nsid))
      .set(nvme::sqe::cdw2, asked.get(ar::cdw2))
      .set(nvme::sqe::cdw3, asked.get(ar::cdw3))
      .set(nvme::sqe::mptr, std::uint64_t{asked.get(ar::cdw5)} << 32 | asked.get(ar::cdw4))
      .set(nvme::sqe::cdw10, asked.get(ar::cdw10))
      .set(nvme::sqe::cdw11, asked.get(ar::cdw11))
      .set(nvme::sqe::cdw12, asked.get(ar::cdw12))
      .set(nvme::sqe::cdw13, asked.get(ar::cdw13))
      .set(nvme::sqe::cdw14, asked.get(ar::cdw14))
      .set(nvme::sqe::cdw15, asked.get(ar::cdw15));
  return sqe;
}

bool is_features(std::uint8_t opcode) {
  return opcode == static_cast<std::uint8_t>(nvme::AdminOpcode::get_features) ||
         opcode == static_cast<std::uint8_t>(nvme::AdminOpcode::set_features);
}

/// DLEN and DOFST as they count: before 1.2 flags say whether they do.
struct Window {
  std::size_t offset, length;
};
Window window_of(const View<AdminRequest>& asked, bool flags_count) {
  const bool has_length = !flags_count || asked.get(ar::dlenv);
  const bool has_offset = !flags_count || asked.get(ar::dofstv);
  return {has_offset ? asked.get(ar::dofst) : 0u, has_length ? asked.get(ar::dlen) : kDataMax};
}

}  // namespace

/// What the request says of its window. False: refused.
bool Agent::admin_window(Exchange& exchange) {
  const auto asked = exchange.as<AdminRequest>();
  const bool flags_count = !device_.has(Revision::r1_2) || departs(departure::admin_flags_checked);
  const Window window = window_of(asked, flags_count);
  if (departs(departure::admin_flags_checked) && !asked.get(ar::dlenv) && asked.get(ar::dlen) != 0 &&
      refuse(exchange, check::admin_length)) {
    return false;
  }
  if (window.length > kDataMax && refuse(exchange, check::admin_length)) return false;
  if (window.length % 4 != 0 && refuse(exchange, check::admin_length_dword)) return false;
  if (window.offset % 4 != 0 && refuse(exchange, check::admin_offset_dword)) return false;
  return window.offset == 0 || !departs(departure::admin_offset_refused) || !refuse(exchange, check::admin_offset_dword);
}

/// Data to the controller, where the opcode says so. False: refused.
bool Agent::admin_request_data(Exchange& exchange, Bytes& data) {
  const auto asked = exchange.as<AdminRequest>();
  const bool inward = nvme::direction_of(exchange.opcode()) == DataDirection::host_to_controller;
  const std::size_t length = asked.get(ar::dlen);
  if (!inward) {
    const bool none = exchange.data_behind(AdminRequest::size).empty();
    return none || !refuse(exchange, check::admin_data);
  }
  const ByteView given = exchange.data_behind(AdminRequest::size);
  if (length == 0 && options_.set_features_without_length &&
      exchange.opcode() == static_cast<std::uint8_t>(nvme::AdminOpcode::set_features)) {
    data.assign(given.begin(), given.end());
    return true;
  }
  return request_data(exchange, AdminRequest::size, std::min(length, kDataMax), check::admin_data, data);
}

/// Features that belong to a host's own queues are no concern of management: Invalid Field.
bool Agent::feature_prohibited(Exchange& exchange) {
  if (!is_features(exchange.opcode()) || departs(departure::admin_features_open)) return false;
  const auto fid = static_cast<std::uint8_t>(exchange.as<AdminRequest>().get(ar::cdw10) & 0xFF);
  if (feature_policy(fid) != Policy::prohibited) return false;
  finish_admin(exchange, {nvme::sc::invalid_field.with_dnr(), 0, {}});
  return true;
}

void Agent::execute_admin(Exchange& exchange) {
  const std::size_t size = exchange.request.size();
  if (size < AdminRequest::size) {
    if (refuse(exchange, check::command_size)) return;
    exchange.request.resize(AdminRequest::size);
  }
  const auto asked = exchange.as<AdminRequest>();
  const std::uint8_t opcode = exchange.opcode();
  if (admin_policy(opcode) == Policy::prohibited && refuse(exchange, check::admin_opcode)) return;
  if (!common_checks(exchange)) return;
  subsystem::Controller* controller = device_.find_controller(asked.get(ar::ctlid));
  if (controller == nullptr && refuse(exchange, check::admin_controller)) return;
  const auto& all = device_.subsystem().controllers();
  if ((controller == nullptr || departs(departure::admin_other_controller)) && !all.empty()) {
    controller = all.begin()->second.get();
  }
  if (controller == nullptr) return fail(exchange, Status::internal_error);
  if (!controller->admin_supported(opcode) && refuse(exchange, check::admin_opcode)) return;
  Bytes data;
  if (!admin_window(exchange) || !admin_request_data(exchange, data)) return;
  if (feature_prohibited(exchange)) return;
  nvme::Sqe sqe = sqe_of(asked);
  if (departs(departure::admin_nsid_low)) sqe.set(nvme::sqe::nsid, asked.get(ar::nsid) & 0xFFu);
  if (departs(departure::admin_offset_low)) sqe.set(nvme::sqe::cdw13, 0u);
  auto command =
      std::make_unique<subsystem::ManagedCommand>(device_.subsystem().management_port(), *controller, sqe.bytes(), std::move(data));
  command->start();
  if (command->answer()) return finish_admin(exchange, *command->answer());
  exchange.admin = std::move(command);
  exchange.admin->on_answered([this, &exchange] {
    const subsystem::ManagedAnswer answer = *exchange.admin->answer();
    finish_admin(exchange, answer);
    if (exchange.on_done) exchange.on_done();
  });
}

void Agent::finish_admin(Exchange& exchange, const subsystem::ManagedAnswer& answer) {
  const auto asked = exchange.as<AdminRequest>();
  Bytes response = begin_response(exchange.request, Status::success);
  response.resize(AdminResponse::size);
  MutableView<AdminResponse> out{response};
  out.set(admin_response::dw0, answer.dwords & 0xFFFFFFFF)
      .set(admin_response::dw1, answer.dwords >> 32)
      .set(admin_response::nvme_status, answer.status);
  if (departs(departure::admin_status_shift)) {
    store_le(&response[18], static_cast<std::uint16_t>(answer.status.raw()));
  }
  Window window = window_of(asked, !device_.has(Revision::r1_2));
  if (departs(departure::admin_offset_ignored)) window.offset = 0;
  const ByteView all{answer.data};
  const std::size_t from = std::min(window.offset, all.size());
  ByteView data = all.subspan(from, std::min(window.length, all.size() - from));
  const Bytes echo(std::min<std::size_t>(asked.get(ar::dlen), kDataMax), 0x5A);
  const bool failed_with_data = !answer.status.ok() && departs(departure::admin_error_data);
  const bool inward = nvme::direction_of(exchange.opcode()) == DataDirection::host_to_controller;
  if (failed_with_data || (inward && departs(departure::admin_write_answers))) data = echo;
  finish_with_data(exchange, std::move(response), data);
}

}  // namespace fb::mi
