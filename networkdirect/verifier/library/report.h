// What a verifier has to say, line by line as it happens, so that it is kept however the program ends: JSON in a file, which
// several processes may share, or words on standard error.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "networkdirect/verifier/verifier.h"

namespace fb::networkdirect::verifier {

/// Events of the file, one JSON object a line, each with `event` and `process`:
///   opened    program, provider    the program asked for the provider: for the first time, or again after an end
///   problem   text                 it was not to be had, or the report itself is in trouble
///   finding   rule, severity, section, sentence, object, detail, call
///   repeated  rule, times          found as often again after it had been told kTold times
///   ended     calls, living        nothing is left to judge so far: the provider may be unloaded, or the process ends
class Report final : public FindingSink {
 public:
  static constexpr std::size_t kTold = 16;

  /// An empty path: standard error.
  explicit Report(std::filesystem::path path) : path_(std::move(path)) {}

  void opened(const std::string& provider);
  void problem(const std::string& text);
  void found(const Finding& finding) override;
  void ended(std::uint64_t calls, std::size_t living);

 private:
  struct Tally {
    std::size_t times = 0;
    std::size_t told = 0;  ///< or counted in what was told
  };
  bool to_file() const { return !path_.empty() && !lost_; }
  /// False: it could not be written, which has been said.
  bool append(const std::string& line);
  void say(std::string_view text);

  std::mutex lock_;
  const std::filesystem::path path_;
  bool lost_ = false;
  std::map<Rule, Tally> tallies_;
};

}  // namespace fb::networkdirect::verifier
