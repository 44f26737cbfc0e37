// The catalogue: every requirement by document and section, with its legal answers, the cases that check it, and what known products
// do. A folder of pages that need no server: search and links work from the disk.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "conformance/report/statement.h"

namespace fb::conformance {

/// A page, style sheet or script, and its content.
using CatalogueFile = std::pair<std::string, std::string>;

/// All files, index.html first. Products are those of the built-in profiles, and those of `reports` with a verdict for each requirement.
Result<std::vector<CatalogueFile>> catalogue_files(const std::vector<Statement>& reports);

}  // namespace fb::conformance
