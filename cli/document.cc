#include "cli/document.h"

#include <cstdio>

#include "conformance/report/document.h"

namespace fb::cli {

void print_document(nlohmann::ordered_json content, int indent) {
  const auto document = conformance::versioned(std::move(content));
  std::puts(document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace fb::cli
