#include "conformance/report/document.h"

#include <fmt/format.h>

#include "conformance/requirements/ledger.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

nlohmann::ordered_json versioned(nlohmann::ordered_json content, int version) {
  nlohmann::ordered_json json = {{"schema_version", version}};
  for (auto& [key, value] : content.items()) json[key] = std::move(value);
  return json;
}

std::string tool_compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

nlohmann::ordered_json tool_json() {
  return {{"name", kToolName},
          {"version", tool_version()},
          {"commit", tool_commit()},
          {"ledger", ledger_version()},
          {"compiler", tool_compiler()}};
}

std::string version_text() {
  return fmt::format("{} {}\ncommit {}\nledger {} ({} requirements)\ncompiler {}", kToolName, tool_version(), tool_commit(),
                     ledger_version(), ledger().size(), tool_compiler());
}

}  // namespace fb::conformance
