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

}  // namespace fb::oracle
