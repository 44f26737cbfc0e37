#include "conformance/live/bus_judge.h"

namespace fb::live {

using conformance::Role;
using conformance::Side;

namespace {

evidence::DissectorOptions dissector_options() { return {.complete = false, .capture = true, .tcp_ports = {}, .tls_keys = nullptr}; }

Side side_of(std::size_t line) { return line == 0 ? Side::host : Side::controller; }

}  // namespace

BusJudge::BusJudge() : judges_{monitors::Monitors(dissector_options()), monitors::Monitors(dissector_options())} {}

void BusJudge::on_event(const TraceEvent& event) {
  const bool packet = event.kind == TraceKind::packet && event.mctp != nullptr;
  if (packet) ++packets_;
  for (std::size_t line = 0; line < judges_.size(); ++line) {
    // A frame that came to nothing may have been of either line: after it neither is sure of what it has missed.
    if (packet && event.mctp->bus != line + 1) continue;
    if (packet) judges_[line].dissector().number_next(packets_);
    judges_[line].on_event(event);
    judges_[line].settle();
    tell_new(line);
  }
}

void BusJudge::tell_new(std::size_t line) {
  const auto& all = judges_[line].findings();
  for (; told_[line] < all.size(); ++told_[line]) {
    const monitors::Finding& found = all[told_[line]];
    // What the others say here is what the proxy has let through.
    if (!speakers_[line].contains(static_cast<std::uint8_t>(found.blamed.number))) continue;
    findings_.add(found, side_of(line), on_finding);
  }
}

void BusJudge::finish() {
  for (std::size_t line = 0; line < judges_.size(); ++line) {
    judges_[line].finish();
    told_[line] = 0;
    tell_new(line);
  }
  findings_.sort();
}

conformance::RunResult BusJudge::result() const {
  return findings_.result(
      judged_by({&judges_[0], &judges_[1]}), "serial",
      [](Side side) { return side == Side::host ? Role::management_requester : Role::endpoint; },
      [](monitors::Rule) { return Role::endpoint; });
}

}  // namespace fb::live
