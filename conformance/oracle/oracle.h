// A second opinion on every exchange: a small executable reading of the NVMe specifications that sees what crossed the wire,
// keeps the state that follows from it, and compares every answer with it. It knows nothing of the products.
#pragma once

#include <memory>

#include "conformance/monitors/judge.h"
#include "conformance/oracle/declaration.h"

namespace fb::oracle {

/// One of the monitors' judges: its rules stand in their catalogue, and its findings are reported with theirs.
std::unique_ptr<monitors::Judge> judge_by_oracle(monitors::Findings& findings, bool complete, Declaration declared = {});

}  // namespace fb::oracle
