#include "sim/core/trace.h"

#include <algorithm>

namespace fb {

void Trace::add_sink(TraceSink& sink, TraceSink::Hears hears) {
  sinks_.push_back({&sink, hears});
  if (hears == TraceSink::Hears::everything) ++describing_;
}

void Trace::remove_sink(TraceSink& sink) {
  std::erase_if(sinks_, [&](const Listener& one) { return one.sink == &sink; });
  describing_ = static_cast<std::size_t>(std::ranges::count(sinks_, TraceSink::Hears::everything, &Listener::hears));
}

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
