// Calls the control socket of a running product: JSON-RPC 2.0, one request a line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"

namespace fb::cli {

/// One connection, for one call at a time.
class ControlClient {
 public:
  using Document = nlohmann::ordered_json;

  /// UserError when nobody listens there.
  explicit ControlClient(const std::string& path);
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  /// The answer as it came. UserError when there is none.
  Document call(const Document& request);

 private:
  std::string path_;
  int fd_;
};

}  // namespace fb::cli
