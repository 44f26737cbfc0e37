#include "sim/core/trace.h"

#include <algorithm>

namespace fb {

void Trace::remove_sink(TraceSink& sink) { std::erase(sinks_, &sink); }

void Trace::mark(std::string_view name) {
  const auto found = marks_.find(name);
  if (found != marks_.end()) {
    ++found->second;
  } else {
    marks_.emplace(name, 1);
  }
}

std::uint64_t Trace::marks(std::string_view name) const {
  const auto found = marks_.find(name);
  return found == marks_.end() ? 0 : found->second;
}

std::string Trace::describe(const TraceEvent& event) const {
  std::string words(event.text);
  const auto found = decoders_.find(event.label);
  if (found != decoders_.end()) {
    if (!words.empty()) words += ": ";
    return words + found->second(event.bytes);
  }
  return words.empty() ? to_hex(event.bytes) : words;
}

}  // namespace fb
