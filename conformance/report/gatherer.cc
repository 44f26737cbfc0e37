#include "conformance/report/gatherer.h"

#include "conformance/report/exchange.h"

namespace fb::conformance {

class Gatherer::Watcher final : public CaseWatcher {
 public:
  Watcher(Gatherer& gatherer, Key key) : gatherer_(gatherer), key_(key), exchange_(gatherer.complete_) { exchange_.add(edges_); }

  void on_event(const TraceEvent& event) override {
    if (event.kind == TraceKind::state) transitions_.see(event.label, event.text);
    exchange_.on_event(event);
  }

  void finished(const CaseResult& result) override {
    const bool in_full = result.verdict == Verdict::fail || result.verdict == Verdict::error || result.verdict == Verdict::inconclusive;
    Ladder ladder = exchange_.ladder(in_full ? kLadderOfFailure : kLadderOfPass);
    const std::lock_guard lock(gatherer_.mutex_);
    gatherer_.ladders_[key_] = std::move(ladder);
    gatherer_.transitions_.add(transitions_);
    gatherer_.edges_.add(edges_.counts());
  }

 private:
  Gatherer& gatherer_;
  Key key_;
  ExchangeRecorder exchange_;
  EdgeObserver edges_;
  TransitionCounts transitions_;
};

std::unique_ptr<CaseWatcher> Gatherer::watch(const CaseInfo& info, std::string_view transport, std::string_view lane) {
  return std::make_unique<Watcher>(*this, Key{info.name, transport, lane});
}

const Ladder* Gatherer::ladder_of(const CaseResult& result) const {
  // A rule of every exchange is seen broken in the first of its cases.
  const CaseInfo& shows = result.shown_by.empty() ? *result.info : *result.shown_by.front();
  const auto found = ladders_.find({shows.name, result.transport, result.lane});
  return found == ladders_.end() || found->second.rows.empty() ? nullptr : &found->second;
}

}  // namespace fb::conformance
