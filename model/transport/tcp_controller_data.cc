// Data and responses of the controller side: where a command's data lies, R2Ts, C2HData and the end.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "model/transport/rdma_rules.h"
#include "model/transport/tcp_controller_channel.h"
#include "wire/fabrics/sqe.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sgl.h"

namespace fb::transport {

namespace {

namespace flag = tcp::pdu_flags;
using nvme::SglDescriptor;
using nvme::SglType;
using nvme::Status;
using tcp::PduType;

constexpr std::size_t kSglOffset = 24;

bool is_fabrics(ByteView sqe, fabrics::FabricsType type) {
  return sqe[0] == nvme::kFabricsOpcode && View<fabrics::AnyFabricsSqe>{sqe}.get(fabrics::sqe::fctype) == type;
}

}  // namespace

/// NVMe/TCP knows two descriptors: data in the capsule from its first byte, and data that the
/// transport moves.
Status TcpControllerChannel::check_sgl(const Command& command, std::size_t bytes, bool& inside) const {
  const ByteView sqe = command.sqe;
  const SglDescriptor sgl = SglDescriptor::parse(sqe.subspan(kSglOffset));
  const bool transport = sgl.type == SglType::transport_data_block && sgl.subtype == nvme::sgl_subtype::tcp_data_buffer;
  inside = sgl.type == SglType::data_block && sgl.subtype == nvme::sgl_subtype::offset;
  if (!transport && !inside) {
    if (!departs(hooks(), "tcp.sgl.type")) return nvme::sc::sgl_descriptor_type_invalid;
    return {};
  }
  if (inside) {
    // Data to the host has no way through a command capsule.
    const std::uint8_t code = sqe[0] == nvme::kFabricsOpcode ? sqe[4] : sqe[0];
    const bool reads = bytes > 0 && (code & 3) == 2;
    if (reads && !departs(hooks(), "tcp.sgl.read_inside")) return nvme::sc::sgl_descriptor_type_invalid;
    const bool outside = sgl.address != 0 || sgl.length > command.capsule_data;
    if (outside && !departs(hooks(), "tcp.sgl.offset")) return nvme::sc::sgl_offset_invalid;
  }
  if (sgl.length < bytes && !departs(hooks(), "tcp.sgl.length")) {
    return nvme::sc::data_sgl_length_invalid;
  }
  return {};
}

/// A command that is to move so many bytes, as if it were new.
Status TcpControllerChannel::prepare(Command& command, std::size_t bytes) {
  if (!command.in_use) return nvme::sc::internal_error;
  command.data = {};
  command.constant = {};
  command.pushed = 0;
  if (bytes > fabric_.options_.transfer_bytes_max) return nvme::sc::invalid_field;
  return check_sgl(command, bytes, command.inside);
}

Status TcpControllerChannel::stage(ArrivedCommand& arrived, std::size_t bytes) {
  Command& command = own(arrived);
  const Status status = prepare(command, bytes);
  if (!status.ok() || bytes == 0) return status;
  if (command.inside && bytes <= command.staging.size()) {
    command.data = command.staging.first(bytes);
    return status;
  }
  fabric_.pool_.release(std::exchange(command.staging, {}));
  command.in_capsule = {};
  command.staging = fabric_.pool_.acquire(bytes);
  command.data = command.staging;
  // Where a check is left out, less may arrive than the command works on.
  if (hooks() != nullptr) std::fill(command.data.begin(), command.data.end(), std::uint8_t{0});
  return status;
}

// ---- data from the host ----

void TcpControllerChannel::pull(ArrivedCommand& arrived) {
  Command& command = own(arrived);
  if (!command.in_use || ended_) return;
  if (command.inside || command.data.empty()) return handler_->on_pulled(command);
  if (command.data.size() <= fabric_.options_.in_capsule_bytes && departs(hooks(), "tcp.r2t.small")) return;
  ask(command);
}

/// Sends as many R2Ts as the host allows at a time.
void TcpControllerChannel::ask(Command& command) {
  const std::uint32_t size = static_cast<std::uint32_t>(command.data.size());
  const bool greedy = departs(hooks(), "tcp.r2t.limit");
  while (command.asked < size && (command.r2ts <= maxr2t_ || greedy)) {
    std::uint32_t length = std::min(fabric_.tcp_.r2t_bytes, size - command.asked);
    if (greedy) length = std::min(length, std::max(size / 4 / 4 * 4, 4u));
    send_r2t(command, length);
  }
}

void TcpControllerChannel::send_r2t(Command& command, std::uint32_t length) {
  if (free_requests_.empty()) {
    requests_.emplace_back();
    free_requests_.push_back(static_cast<std::uint16_t>(requests_.size() - 1));
  }
  const std::uint16_t ttag = free_requests_.back();
  free_requests_.pop_back();
  requests_[ttag] = {&command, command.asked, length, 0};
  Record<tcp::DataPdu> header;
  header.set(tcp::pdu::type, PduType::r2t)
      .set(tcp::data_pdu::cccid, command.cid)
      .set(tcp::data_pdu::ttag, ttag)
      .set(tcp::data_pdu::offset, command.asked)
      .set(tcp::data_pdu::length, length);
  command.asked += length;
  ++command.r2ts;
  link_.send(header.bytes());
}

// ---- data to the host, and responses ----

void TcpControllerChannel::push(ArrivedCommand& arrived, std::size_t bytes) {
  Command& command = own(arrived);
  BENCH_ASSERT(bytes <= command.data.size() || !command.in_use, "push() of more than was staged");
  if (!command.inside) command.pushed = static_cast<std::uint32_t>(bytes);
}

Status TcpControllerChannel::push_constant(ArrivedCommand& arrived, ByteView data) {
  Command& command = own(arrived);
  const Status status = prepare(command, data.size());
  if (!status.ok() || command.inside) return status;
  command.constant = data;
  command.pushed = static_cast<std::uint32_t>(data.size());
  return status;
}

/// SUCCESS stands for a completion of zeroes, and only a host that does without SQHD understands it.
bool TcpControllerChannel::sends_success(const Command& command, ByteView cqe) const {
  if (command.pushed == 0) return false;
  // Whatever flow control says: where nothing but SQHD and the queue would be lost.
  if (departs(hooks(), "tcp.success.always")) {
    return load_le<std::uint64_t>(cqe.data()) == 0 && load_le<std::uint16_t>(cqe.data() + 14) == 0;
  }
  if (!fabric_.tcp_.success_flag || !flow_control_off_) return false;
  constexpr std::uint64_t kNotCid = ~std::uint64_t{0xFFFF} << 32 | 0xFFFFFFFF;  // bytes 12 and 13
  return load_le<std::uint64_t>(cqe.data()) == 0 && (load_le<std::uint64_t>(cqe.data() + 8) & kNotCid) == 0;
}

void TcpControllerChannel::send_data(Command& command, bool success) {
  const ByteView from = command.constant.empty() ? ByteView(command.data) : command.constant;
  Record<tcp::DataPdu> header;
  for (std::uint32_t done = 0; done < command.pushed;) {
    const std::uint32_t part = std::min(fabric_.tcp_.c2h_data_bytes, command.pushed - done);
    const bool last = done + part == command.pushed;
    const unsigned flags = (last ? flag::last_pdu : 0u) | (last && success ? flag::success : 0u);
    header.set(tcp::pdu::type, PduType::c2h_data)
        .set(tcp::pdu::flags, flags)
        .set(tcp::data_pdu::cccid, command.cid)
        .set(tcp::data_pdu::offset, done)
        .set(tcp::data_pdu::length, part);
    ++command.sending;
    link_.send(header.bytes(), from.subspan(done, part), command.index + 1u);
    done += part;
  }
}

void TcpControllerChannel::send_response(ByteView cqe) {
  Record<tcp::CapsuleResp> header;
  header.set(tcp::pdu::type, PduType::capsule_resp).set(tcp::capsule_resp::cqe, cqe);
  link_.send(header.bytes());
}

void TcpControllerChannel::respond(ArrivedCommand& arrived, ByteView cqe) {
  Command& command = own(arrived);
  if (!command.in_use || ended_) return;
  Bytes changed;
  if (hooks() != nullptr) {
    changed.assign(cqe.begin(), cqe.end());
    hooks()->capsule_out(qid_, changed);
    changed.resize(nvme::CqeLayout::size);
    cqe = changed;
  }
  if (world().trace().on()) trace_capsule(world(), "target", false, true, qid_, cqe);
  if (is_fabrics(command.sqe, fabrics::FabricsType::connect)) {
    const View<nvme::CqeLayout> view{cqe};
    flow_control_off_ = view.get(nvme::cqe::status).ok() && view.get(nvme::cqe::sqhd) == nvme::kSqFlowControlDisabled;
  }
  const bool success = sends_success(command, cqe);
  send_data(command, success);
  if (!success) send_response(cqe);
  finish_command(command);
}

void TcpControllerChannel::send_extra(ByteView cqe) {
  if (!ended_) send_response(cqe);
}

void TcpControllerChannel::on_sent(std::uint32_t cookie) {
  Command& command = command_at(cookie - 1);
  BENCH_ASSERT(command.sending > 0, "more PDUs left than were sent");
  if (--command.sending == 0 && !command.in_use && command.r2ts == 0) free_command(command);
}

}  // namespace fb::transport
