// What the verifier holds a consumer to: each rule with its stable name, how heavy it is, which page of the interface's
// documentation it comes from, and a sentence. Names never change meaning; a ledger of requirements refers to them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fb::ndk::verifier {

enum class Severity : std::uint8_t {
  violation,  ///< the interface forbids it, or leaves undefined what comes of it
  advice      ///< allowed, and yet a consumer would rather not
};

enum class Rule : std::uint8_t {
  // Objects.
  use_after_close,
  closed_twice,
  argument_null,
  argument_foreign,
  argument_closed,
  argument_of_other_adapter,
  argument_of_other_domain,
  completion_missing,
  leaked_object,
  // Adapters, levels and versions.
  adapter_closed_twice,
  adapter_closed_in_callback,
  adapter_not_closed,
  irql_too_high,
  function_of_later_version,
  flags_of_later_version,
  // Memory that is described, and its logical addresses.
  mdl_empty,
  mdl_too_short,
  mdl_not_contiguous,
  mdl_changed_in_flight,
  lam_unknown,
  lam_released_twice,
  lam_released_in_use,
  lam_changed,
  lam_leaked,
  // Memory regions.
  register_of_fast_region,
  registered_twice,
  registration_too_long,
  register_flags_unknown,
  token_before_registration,
  deregister_of_fast_region,
  deregister_unregistered,
  deregister_in_use,
  deregister_with_windows,
  region_closed_registered,
  initialize_of_plain_region,
  initialized_twice,
  initialize_pages_wrong,
  // Fast registration.
  fast_register_of_plain_region,
  fast_region_uninitialized,
  fast_register_of_valid_region,
  fast_pages_exceeded,
  fast_page_unknown,
  fast_offset_wrong,
  fast_length_exceeded,
  fast_remote_denied,
  invalidate_of_plain_region,
  invalidate_of_invalid_region,
  // Memory windows.
  bind_of_fast_region,
  bind_unregistered,
  bind_outside_region,
  bind_rights_missing,
  bind_grants_nothing,
  window_too_long,
  window_bound_already,
  window_not_bound,
  window_of_other_queue_pair,
  // Buffers of requests.
  sge_token_unknown,
  sge_token_invalid,
  sge_token_remote,
  sge_of_other_domain,
  sge_outside_region,
  sge_not_writable,
  sge_logical_unmapped,
  read_sink_missing,
  sge_count_exceeded,
  read_sge_count_exceeded,
  inline_too_long,
  transfer_too_long,
  // Requests.
  op_flags_unknown,
  op_flags_misplaced,
  read_invalidate_unsupported,
  post_unconnected,
  post_after_end,
  read_without_limit,
  queue_depth_exceeded,
  receive_beside_shared,
  deferred_without_end,
  // Queues.
  cq_depth_exceeded,
  cq_shallow,
  cq_overrun,
  cq_calls_overlap,
  arm_type_unknown,
  cq_never_armed,
  resize_unsupported,
  resize_overlap,
  resize_too_small,
  moderation_unsupported,
  moderation_infinite,
  qp_depth_exceeded,
  qp_sges_exceeded,
  qp_inline_exceeded,
  srq_depth_exceeded,
  srq_sges_exceeded,
  srq_threshold_exceeded,
  threshold_without_callback,
  // Connectors.
  address_wrong,
  connect_twice,
  connect_of_request,
  connector_refused_reused,
  ports_shared,
  queue_pair_reused,
  private_data_too_long,
  complete_connect_misplaced,
  complete_connect_twice,
  accept_misplaced,
  accept_twice,
  reject_misplaced,
  reject_after_accept,
  rejected_twice,
  connection_data_early,
  connection_data_late,
  disconnect_unconnected,
  disconnected_twice,
  request_unanswered,
  reply_unanswered,
  closed_connected,
  disconnect_event_missing,
  receives_late,
  // Listeners.
  listen_twice,
  listener_address_early,
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

}  // namespace fb::ndk::verifier
