// What --json prints: one document, which names the version of its schema.
#pragma once

#include <nlohmann/json.hpp>

namespace fb::cli {

/// `indent` -1: on one line, for programs that go on and read line by line.
void print_document(nlohmann::ordered_json content, int indent = 1);

}  // namespace fb::cli
