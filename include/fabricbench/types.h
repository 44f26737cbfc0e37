// Bytes, commands, completions and errors.
#pragma once

#include <fabricbench/export.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabricbench {

using Bytes = std::vector<std::uint8_t>;
using Duration = std::chrono::nanoseconds;

/// Wrong use, or something that cannot be: the text names it.
class FABRICBENCH_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What was waited for cannot happen any more, or did not within the patience of the world: the text says what it was.
class FABRICBENCH_API WaitError : public Error {
 public:
  using Error::Error;
};

/// Status Code Type and Status Code, without DNR and More.
struct FABRICBENCH_API Status {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  bool do_not_retry = false;
  std::string text;  ///< "Connect Invalid Parameters (1/82h)"

  bool ok() const { return type == 0 && code == 0; }
};

/// A command, or an attempt to connect, that did not succeed.
class FABRICBENCH_API CommandError : public Error {
 public:
  CommandError(const std::string& text, Status status) : Error(text), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

/// A submission queue entry. The queue chooses a Command Identifier where there is none, and describes the data.
class FABRICBENCH_API Command {
 public:
  explicit Command(std::uint8_t opcode, std::uint32_t nsid = 0);
  /// CDW10 to CDW15.
  Command& cdw(unsigned number, std::uint32_t value);
  /// `bytes` bytes at an offset, least significant first; for fields that have no name here.
  Command& set(unsigned offset, std::uint64_t value, unsigned bytes);
  const std::array<std::uint8_t, 64>& bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, 64> bytes_{};
};

struct FABRICBENCH_API Completion {
  bool answered = false;  ///< false: the connection ended first
  std::string end;        ///< why it did
  Status status;
  std::uint32_t dw0 = 0;
  std::uint32_t dw1 = 0;
  Bytes data;  ///< what came back

  bool ok() const { return answered && status.ok(); }
};

}  // namespace fabricbench
