// The driver protocol as the program hears and says it. docs/user-guide.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fb::drive {

/// Where the bench is, and over what, as "hello" says.
struct Bench {
  std::string transport, traddr, trsvcid;
};

struct Request {
  std::uint64_t id = 0;
  std::string what;     ///< the word "do"; empty where there is none
  nlohmann::json body;  ///< the whole object
};

/// Puts the lines together. A line with the data of a write of 16 MiB has a place in it; one that is longer has none.
class Lines {
 public:
  static constexpr std::size_t kLineMax = 64u << 20;

  void hear(std::string_view bytes) { heard_.append(bytes); }
  /// The next line without its end; nothing while it is not whole.
  std::optional<std::string> next();
  /// After next() has nothing more: what is left will never be a line.
  bool endless() const { return heard_.size() - begin_ > kLineMax; }

 private:
  std::string heard_;
  std::size_t begin_ = 0, searched_ = 0;
};

/// Nothing for what cannot be answered: no JSON object, or one without a number as its "id".
std::optional<Request> request_of(std::string_view line);

/// Throws Refused, or json::exception, for what is not formed as it should be.
Bench bench_of(const nlohmann::json& hello);
/// For any command of nvme-cli's that makes associations: with less patience than is usual.
std::vector<std::string> impatient_words();
/// The words for nvme-cli, but its name, that make an association. Throws as bench_of().
std::vector<std::string> connect_words(const nlohmann::json& request, const Bench& bench);

/// Under what name a host connects.
struct Name {
  std::string hostnqn, hostid;
};
/// The same for the kernel's fabrics device, over TLS with the key that the kernel has for these names. Throws as bench_of().
std::string connect_line(const nlohmann::json& request, const Bench& bench, const Name& name);

nlohmann::json refusal(const std::string& text);
/// What `work` makes, with "ok"; or the refusal that it throws.
nlohmann::json outcome_of(const std::function<nlohmann::json()>& work);
/// One line; bytes that are no UTF-8 are replaced.
std::string to_line(const nlohmann::json& content);

}  // namespace fb::drive
