#include "conformance/requirements/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace fb::conformance {

const Requirement* find_requirement(std::string_view id) {
  const auto all = ledger();
  const auto found = std::lower_bound(all.begin(), all.end(), id, [](const Requirement& r, std::string_view key) { return r.id < key; });
  return found != all.end() && found->id == id ? &*found : nullptr;
}

namespace {

/// FNV-1a, with an end behind each text so that no two lists are one.
class Fingerprint {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<std::uint8_t>(c));
    step(0xFF);
  }
  std::uint64_t value() const { return value_; }

 private:
  void step(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001B3; }
  std::uint64_t value_ = 0xCBF29CE484222325;
};

/// The part of `list` before `mark`, which is taken off.
std::string_view take(std::string_view& list, std::string_view mark) {
  const std::size_t at = std::min(list.find(mark), list.size());
  const std::string_view part = list.substr(0, at);
  list.remove_prefix(std::min(at + mark.size(), list.size()));
  return part;
}

}  // namespace

std::string ledger_version() {
  Fingerprint print;
  for (const Requirement& one : ledger()) {
    for (const std::string_view text : {one.id, one.document, one.revision, one.section, one.level, one.text, one.confidence, one.state}) {
      print.add(text);
    }
    for (const std::string_view answer : one.answers) print.add(answer);
  }
  return fmt::format("{:08x}", static_cast<std::uint32_t>(print.value() ^ (print.value() >> 32)));
}

std::string citation(const Requirement& requirement) {
  std::string text(requirement.document);
  if (!requirement.revision.empty()) text += fmt::format(" {}", requirement.revision);
  std::string_view sections = requirement.section, titles = requirement.section_title;
  while (!sections.empty()) {
    const std::string_view section = take(sections, ", "), title = take(titles, "; ");
    text += fmt::format(", {}", section);
    if (!title.empty() && title != section) text += fmt::format(" {}", title);
  }
  return text;
}

std::string_view suite_of(std::string_view requirement) {
  for (const std::string_view begin : {"fabrics.discovery.", "fabrics.host.discovery."}) {
    if (requirement.starts_with(begin)) return "discovery";
  }
  return requirement.substr(0, requirement.find('.'));
}

}  // namespace fb::conformance
