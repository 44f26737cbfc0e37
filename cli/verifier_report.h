// What the verifier of NetworkDirect programs has written down, read and printed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace fb::cli {

/// How a program has ended.
struct ProgramEnd {
  int signal = 0;  ///< that killed it; 0: none
  int code = 0;
};

struct VerifierReport {
  struct Process {
    std::string program;
    std::uint64_t calls = 0;
    bool judged = false;  ///< to its end
  };
  struct Rule {
    std::string name, severity, section, sentence;
    std::uint64_t times = 0;
    std::vector<nlohmann::ordered_json> findings;  ///< the first ones of each process
  };
  std::map<std::uint64_t, Process> processes;  ///< that asked for the provider
  std::vector<Rule> rules;                     ///< violations first, otherwise as they were found
  std::vector<std::string> problems;

  std::uint64_t times(std::string_view severity) const;
  std::uint64_t violations() const { return times("violation"); }
};

/// There need be no such file.
VerifierReport read_verifier_report(const std::filesystem::path& path);

std::string text_of(const VerifierReport& report, const ProgramEnd& end);
nlohmann::ordered_json json_of(const VerifierReport& report, const ProgramEnd& end);

}  // namespace fb::cli
