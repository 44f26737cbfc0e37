// Several runs beside each other: a matrix of groups of cases by run, drawn from their results.json.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fb::conformance {

/// The page for the reports in these folders, in this order, to be written to `output`: links lead from
/// there to each run's index.html. The Problem names the folder or file that is wrong.
Result<std::string> matrix_html(const std::vector<std::string>& folders, const std::string& output);

}  // namespace fb::conformance
