// The subjects, one function each; the table of subjects.cc has them all.
#pragma once

#include "conformance/oracle/subject.h"

namespace fb::oracle {

std::unique_ptr<Subject> follow_smart(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_blocks(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_errors(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_completions(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_identify(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_claims(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_features(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_logs(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_events(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_aborts(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_reservations(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_zones(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_firmware(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_self_tests(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_sanitizing(Reporter& reporter, bool complete);
// What hosts send. None where packets may be missing: what a host knows of its controller would be guessed.
std::unique_ptr<Subject> follow_host_associations(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_host_commands(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_optional(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_namespaces(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_changed_namespaces(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_streams(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_lockdown(Reporter& reporter, bool complete);
std::unique_ptr<Subject> follow_health(Reporter& reporter, bool complete);

}  // namespace fb::oracle
