// Parameters that methods of a target share.
#pragma once

#include "cli/control/rpc.h"

namespace fb::cli {

inline RpcParameter of_subsystem() { return {.name = "nqn", .description = "NQN of the subsystem; left out: the first"}; }
inline RpcParameter of_namespace() {
  return {.name = "nsid",
          .type = RpcParameter::Type::number,
          .description = "Namespace identifier",
          .required = true,
          .low = 1,
          .high = 0xFFFFFFFE};
}
inline RpcParameter of_controller(bool required = true) {
  return {
      .name = "cntlid", .type = RpcParameter::Type::number, .description = "Controller identifier", .required = required, .high = 0xFFEF};
}
inline RpcParameter a_number(std::string_view name, std::string_view description, std::uint64_t low, std::uint64_t high,
                             bool required = false) {
  return {.name = name, .type = RpcParameter::Type::number, .description = description, .required = required, .low = low, .high = high};
}
inline RpcParameter a_flag(std::string_view name, std::string_view description, bool required = false) {
  return {.name = name, .type = RpcParameter::Type::flag, .description = description, .required = required};
}
inline RpcParameter a_text(std::string_view name, std::string_view description, bool required = false) {
  return {.name = name, .description = description, .required = required};
}
inline RpcParameter a_word(std::string_view name, std::string_view description, std::vector<std::string_view> words,
                           bool required = false) {
  return {.name = name, .description = description, .required = required, .words = std::move(words)};
}
inline RpcParameter a_time(std::string_view name, std::string_view description, bool required = false) {
  return {.name = name, .type = RpcParameter::Type::duration, .description = description, .required = required};
}

/// The product cannot do it now.
[[noreturn]] inline void fail(const std::string& why) { throw RpcError(RpcError::kFailed, why); }

}  // namespace fb::cli
