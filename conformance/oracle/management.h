// The oracle's part for management endpoints. It keeps state of its own: their messages are no exchanges on queues.
#pragma once

#include <memory>

#include "conformance/monitors/judge.h"

namespace fb::oracle {

std::unique_ptr<monitors::Judge> judge_management_by_oracle(monitors::Findings& findings, bool complete);

}  // namespace fb::oracle
