// What the verifier holds a consumer to: each rule with its stable name, how heavy it is, where the interface's documentation
// says it, and a sentence. Names never change meaning; a ledger of requirements refers to them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fb::networkdirect::verifier {

enum class Severity : std::uint8_t {
  violation,  ///< the interface forbids it, or leaves undefined what comes of it
  advice      ///< allowed, and yet a consumer would rather not
};

enum class Rule : std::uint8_t {
  // Objects.
  use_after_release,
  release_too_often,
  released_during_call,
  argument_null,
  argument_foreign,
  argument_released,
  argument_of_other_adapter,
  file_foreign,
  adapter_released_first,
  queue_released_first,
  leaked_object,
  // Overlapped requests.
  overlapped_null,
  overlapped_reused,
  overlapped_changed,
  result_of_unknown_request,
  result_of_inline_success,
  result_of_failed_call,
  result_from_other_object,
  result_not_taken,
  wait_without_event,
  // Adapters.
  info_version_wrong,
  adapter_limit_exceeded,
  flags_unknown,
  // Memory regions.
  register_nothing,
  register_twice,
  token_before_register,
  deregister_unregistered,
  deregister_in_use,
  deregister_with_windows,
  region_released_registered,
  region_memory_unmapped,
  // Buffers of requests.
  sge_token_unknown,
  sge_token_deregistered,
  sge_outside_region,
  sge_not_writable,
  read_sink_missing,
  sge_count_exceeded,
  inline_too_long,
  // Queue pairs.
  post_unconnected,
  post_after_failure,
  queue_depth_exceeded,
  queue_depth_presumed,
  receive_on_shared,
  read_without_limit,
  // Memory windows.
  bind_unregistered,
  bind_outside_region,
  bind_rights_missing,
  bind_grants_nothing,
  bind_of_bound_window,
  window_not_bound,
  window_of_other_queue_pair,
  window_token_invalid,
  // Completion queues.
  notify_type_unknown,
  completion_queue_shallow,
  completion_queue_empty,
  // Connectors.
  bound_twice,
  connect_before_bind,
  connector_reused,
  queue_pair_reused,
  complete_connect_misplaced,
  accept_without_request,
  reject_misplaced,
  connection_data_early,
  connection_data_late,
  private_data_too_long,
  disconnect_unconnected,
  connection_abandoned,
  reply_abandoned,
  request_abandoned,
  notify_disconnect_missing,
  // Where cards differ: what one takes the next one refuses.
  connector_refused_reused,
  ports_shared,
  receives_late,
  // Listeners.
  listen_before_bind,
  listen_twice,
  request_before_listen,
  count_of_rules
};

struct RuleEntry {
  Rule rule;
  std::string_view name;
  Severity severity;
  std::string_view section;  ///< of the interface's documentation
  std::string_view sentence;
};

/// All rules, in the order of the enumeration.
std::span<const RuleEntry> rules();
const RuleEntry& entry_of(Rule rule);
/// Null: there is no rule of that name.
const RuleEntry* find_rule(std::string_view name);

}  // namespace fb::networkdirect::verifier
