#include "conformance/oracle/subjects.h"

#include "conformance/oracle/subject.h"

namespace fb::oracle {

std::span<const MakeSubject> subjects() {
  static constexpr MakeSubject kSubjects[] = {
      &follow_smart,
      &follow_blocks,
      &follow_errors,
      &follow_completions,
      &follow_identify,
      &follow_claims,
      &follow_features,
      &follow_logs,
      &follow_events,
      &follow_aborts,
      &follow_reservations,
      &follow_zones,
      &follow_firmware,
      &follow_self_tests,
      &follow_sanitizing,
  };
  return kSubjects;
}

}  // namespace fb::oracle
