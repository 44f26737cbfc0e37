#include "sim/rdma/verbs/translate.h"

#include <arpa/inet.h>

#include <algorithm>

namespace fb::verbs {

using rdma::Access;
using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::SendOpcode;

int access_flags(Access access) {
  int flags = 0;
  if (rdma::allows(access, Access::local_write)) flags |= IBV_ACCESS_LOCAL_WRITE;
  if (rdma::allows(access, Access::remote_read)) flags |= IBV_ACCESS_REMOTE_READ;
  if (rdma::allows(access, Access::remote_write)) flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
  if (rdma::allows(access, Access::remote_atomic)) flags |= IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
  return flags;
}

std::optional<ibv_wr_opcode> work_opcode(SendOpcode opcode) {
  switch (opcode) {
    case SendOpcode::send:
      return IBV_WR_SEND;
    case SendOpcode::send_with_immediate:
      return IBV_WR_SEND_WITH_IMM;
    case SendOpcode::send_with_invalidate:
      return IBV_WR_SEND_WITH_INV;
    case SendOpcode::rdma_write:
      return IBV_WR_RDMA_WRITE;
    case SendOpcode::rdma_write_with_immediate:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case SendOpcode::rdma_read:
      return IBV_WR_RDMA_READ;
    case SendOpcode::compare_and_swap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case SendOpcode::fetch_and_add:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case SendOpcode::fast_register:
    case SendOpcode::local_invalidate:
      return std::nullopt;
  }
  return std::nullopt;
}

CompletionStatus completion_status(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return CompletionStatus::success;
    case IBV_WC_LOC_LEN_ERR:
      return CompletionStatus::local_length_error;
    case IBV_WC_LOC_QP_OP_ERR:
      return CompletionStatus::local_qp_operation_error;
    case IBV_WC_LOC_PROT_ERR:
      return CompletionStatus::local_protection_error;
    case IBV_WC_WR_FLUSH_ERR:
      return CompletionStatus::flushed;
    case IBV_WC_MW_BIND_ERR:
      return CompletionStatus::memory_window_bind_error;
    case IBV_WC_BAD_RESP_ERR:
      return CompletionStatus::bad_response;
    case IBV_WC_LOC_ACCESS_ERR:
      return CompletionStatus::local_access_error;
    case IBV_WC_REM_INV_REQ_ERR:
      return CompletionStatus::remote_invalid_request;
    case IBV_WC_REM_ACCESS_ERR:
      return CompletionStatus::remote_access_error;
    case IBV_WC_REM_OP_ERR:
      return CompletionStatus::remote_operation_error;
    case IBV_WC_RETRY_EXC_ERR:
      return CompletionStatus::retry_exceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return CompletionStatus::rnr_retry_exceeded;
    case IBV_WC_FATAL_ERR:
      return CompletionStatus::fatal;
    default:
      return CompletionStatus::general_error;
  }
}

CompletionOpcode completion_opcode(ibv_wc_opcode opcode) {
  switch (opcode) {
    case IBV_WC_RDMA_WRITE:
      return CompletionOpcode::rdma_write;
    case IBV_WC_RDMA_READ:
      return CompletionOpcode::rdma_read;
    case IBV_WC_COMP_SWAP:
      return CompletionOpcode::compare_and_swap;
    case IBV_WC_FETCH_ADD:
      return CompletionOpcode::fetch_and_add;
    case IBV_WC_RECV:
      return CompletionOpcode::receive;
    case IBV_WC_RECV_RDMA_WITH_IMM:
      return CompletionOpcode::receive_rdma_with_immediate;
    default:
      return CompletionOpcode::send;
  }
}

rdma::Completion completion_of(const ibv_wc& completion, void* context) {
  rdma::Completion made;
  made.id = completion.wr_id;
  made.status = completion_status(completion.status);
  made.qp_number = completion.qp_num;
  made.qp_context = context;
  if (made.status != CompletionStatus::success) return made;  // the rest is not filled in
  made.opcode = completion_opcode(completion.opcode);
  const bool has_length = made.opcode != CompletionOpcode::send && made.opcode != CompletionOpcode::rdma_write;
  if (has_length) made.byte_length = completion.byte_len;
  const bool received = (completion.opcode & IBV_WC_RECV) != 0;
  made.has_immediate = received && (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
  made.has_invalidate = received && (completion.wc_flags & IBV_WC_WITH_INV) != 0;
  if (made.has_immediate) made.immediate = ntohl(completion.imm_data);
  if (made.has_invalidate) made.invalidated_rkey = completion.invalidated_rkey;
  return made;
}

rdma::DeviceLimits limits_of(const ibv_device_attr& device, const ibv_port_attr& port, std::uint32_t inline_bytes) {
  constexpr int kSgesMost = 32;
  const auto positive = [](int value) { return static_cast<std::uint32_t>(std::max(value, 1)); };
  rdma::DeviceLimits limits;
  limits.max_sges = positive(std::min({device.max_sge, device.max_sge_rd, kSgesMost}));
  limits.max_reads = positive(std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom));
  limits.max_message_bytes = port.max_msg_sz;
  limits.max_inline_bytes = inline_bytes;
  limits.max_queue_entries = positive(std::min(device.max_qp_wr, device.max_cqe / 2));
  if (device.max_srq > 0) {
    limits.max_queue_entries = std::min(limits.max_queue_entries, positive(device.max_srq_wr));
    limits.max_sges = std::min(limits.max_sges, positive(device.max_srq_sge));
  }
  limits.max_fast_register_bytes = 0;
  limits.fast_registration = false;
  limits.chosen_key_bytes = false;
  // Without regions that a peer can invalidate it will not be asked to; sends of ours can ask for it.
  limits.remote_invalidation = (device.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0;
  limits.atomics = device.atomic_cap != IBV_ATOMIC_NONE;
  return limits;
}

}  // namespace fb::verbs
