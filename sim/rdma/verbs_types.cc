#include "sim/rdma/verbs_types.h"

namespace fb::rdma {

std::string_view name_of(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::success:
      return "success";
    case CompletionStatus::local_length_error:
      return "local length error";
    case CompletionStatus::local_qp_operation_error:
      return "local QP operation error";
    case CompletionStatus::local_protection_error:
      return "local protection error";
    case CompletionStatus::flushed:
      return "work request flushed";
    case CompletionStatus::memory_window_bind_error:
      return "memory window bind error";
    case CompletionStatus::bad_response:
      return "bad response";
    case CompletionStatus::local_access_error:
      return "local access error";
    case CompletionStatus::remote_invalid_request:
      return "remote invalid request";
    case CompletionStatus::remote_access_error:
      return "remote access error";
    case CompletionStatus::remote_operation_error:
      return "remote operation error";
    case CompletionStatus::retry_exceeded:
      return "transport retry counter exceeded";
    case CompletionStatus::rnr_retry_exceeded:
      return "RNR retry counter exceeded";
    case CompletionStatus::fatal:
      return "fatal error";
    case CompletionStatus::general_error:
      return "general error";
  }
  return "unknown status";
}

std::string_view name_of(QpState state) {
  switch (state) {
    case QpState::reset:
      return "RESET";
    case QpState::init:
      return "INIT";
    case QpState::ready_to_receive:
      return "RTR";
    case QpState::ready_to_send:
      return "RTS";
    case QpState::drained:
      return "SQD";
    case QpState::error:
      return "ERR";
  }
  return "unknown state";
}

}  // namespace fb::rdma
