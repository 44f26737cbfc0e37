// What is behind a driver: the host or the target of a kernel, or a product behind its control socket.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/drive/job.h"

namespace fb::drive {

class Adapter {
 public:
  virtual ~Adapter() = default;

  /// Why it cannot be driven, in one line; empty when it can.
  virtual std::string missing() = 0;
  /// The answer to hello. Throws Refused.
  virtual nlohmann::json greet(const nlohmann::json& hello) = 0;
  /// To be called for each request before perform(), in the process of the driver.
  virtual void note(const nlohmann::json&) {}
  /// Does what a request asks for, and waits until it is done; what the answer holds beside "ok". Throws Refused, or
  /// json::exception for a request that is not formed as it should be.
  virtual nlohmann::json perform(const nlohmann::json& request) = 0;
  /// Requests are done one after the other in the process of the driver, which remembers what it has changed. Otherwise each has a
  /// process of its own, and none waits for another.
  virtual bool in_order() const { return false; }
  /// Behind the last request: puts things back. What is left after that time, in one line; empty when nothing is.
  virtual std::string end(Limit limit) = 0;
};

using MakeAdapter = std::function<std::unique_ptr<Adapter>()>;

}  // namespace fb::drive
