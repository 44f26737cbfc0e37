#include "conformance/report/exchange.h"

namespace fb::conformance {

namespace {

evidence::Said cannot_be_shown(const std::string& why) {
  evidence::Said word;
  word.layer = "note";
  word.label = "the rest cannot be shown: " + why;
  return word;
}

}  // namespace

void ExchangeRecorder::on_event(const TraceEvent& event) {
  if (!broken_.empty()) return;
  try {
    dissector_.on_event(event);
  } catch (const std::exception& broken) {
    broken_ = broken.what();
  }
}

Ladder ExchangeRecorder::ladder(const LadderLimits& limits) {
  std::vector<evidence::Said> said = said_.take();
  if (!broken_.empty()) said.push_back(cannot_be_shown(broken_));
  return make_ladder(std::move(said), said_.left_out(), limits);
}

}  // namespace fb::conformance
