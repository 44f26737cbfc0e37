#include "conformance/oracle/subjects.h"

#include "conformance/oracle/subject.h"

namespace fb::oracle {

std::span<const MakeSubject> subjects() {
  static constexpr MakeSubject kSubjects[] = {
      &follow_smart,         &follow_blocks,     &follow_errors,       &follow_completions,
      &follow_identify,      &follow_claims,     &follow_features,     &follow_logs,
      &follow_events,        &follow_aborts,     &follow_reservations, &follow_zones,
      &follow_firmware,      &follow_self_tests, &follow_sanitizing,   &follow_host_associations,
      &follow_host_commands, &follow_optional,   &follow_namespaces,   &follow_changed_namespaces,
      &follow_health,        &follow_streams,    &follow_lockdown,
  };
  return kSubjects;
}

}  // namespace fb::oracle
