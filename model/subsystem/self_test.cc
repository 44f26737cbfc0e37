#include "model/subsystem/self_test.h"

#include <algorithm>

#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

using nvme::SelfTestCode;
using nvme::SelfTestOutcome;

bool SelfTests::departs(std::string_view point) const { return subsystem_.departs(point); }

Duration SelfTests::duration() const {
  const SelfTestOptions& options = subsystem_.options().self_test;
  return code_ == SelfTestCode::short_test ? options.short_time : Duration::s(60) * options.extended_minutes;
}

void SelfTests::start(SelfTestCode code, std::uint32_t nsid, std::uint16_t cntlid) {
  code_ = code;
  nsid_ = nsid;
  cntlid_ = cntlid;
  started_ = subsystem_.world().now();
  if (!departs(departure::self_test_endless)) subsystem_.world().loop().schedule_after(timer_, duration());
}

void SelfTests::abort(SelfTestOutcome outcome) {
  if (!running()) return;
  if (outcome == SelfTestOutcome::aborted_by_command && departs(departure::self_test_goes_on)) return;
  subsystem_.world().loop().cancel(timer_);
  end(outcome);
}

void SelfTests::finish() {
  if (!fault_) return end(SelfTestOutcome::passed);
  end(fault_->segment == 0 ? SelfTestOutcome::failed_somewhere : SelfTestOutcome::failed_segment);
}

void SelfTests::end(SelfTestOutcome outcome) {
  namespace st = nvme::self_test_result;
  Record<nvme::SelfTestResult> result;
  const auto said = departs(departure::self_test_code_lost) ? SelfTestCode::vendor : code_;
  result.set(st::result, static_cast<unsigned>(outcome)).set(st::code, static_cast<unsigned>(said));
  if (!departs(departure::self_test_hours)) result.set(st::poh, subsystem_.power_on_hours());
  std::uint8_t valid = 0;
  std::uint32_t nsid = nsid_;
  const bool failed = outcome == SelfTestOutcome::failed_somewhere || outcome == SelfTestOutcome::failed_segment;
  if (failed && fault_) {
    result.set(st::segment, fault_->segment);
    if (fault_->nsid != 0) nsid = fault_->nsid;
    if (fault_->lba) {
      result.set(st::flba, *fault_->lba);
      valid |= nvme::self_test_valid_bits::flba;
    }
    fault_.reset();
  }
  if (nsid != 0) {
    result.set(st::nsid, departs(departure::self_test_namespace) ? nsid + 1 : nsid);
    valid |= nvme::self_test_valid_bits::nsid;
  }
  result.set(st::valid, valid);
  results_.push_front(result);
  if (results_.size() > nvme::kSelfTestResults) results_.pop_back();
  code_ = SelfTestCode::none;
}

bool SelfTests::concerns(std::uint32_t nsid) const {
  if (!running() || nsid_ == 0) return false;
  return nsid_ == nvme::kAllNamespaces || nsid == nvme::kAllNamespaces || nsid == nsid_;
}

/// A short self-test ends with a reset of its controller, an extended one goes on.
void SelfTests::on_controller_reset(std::uint16_t cntlid) {
  if (cntlid != cntlid_) return;
  const bool extended = code_ == SelfTestCode::extended_test;
  if (departs(extended ? departure::self_test_dies : departure::self_test_survives) == extended) {
    abort(SelfTestOutcome::aborted_by_reset);
  }
}

void SelfTests::on_subsystem_reset() { on_controller_reset(cntlid_); }

void SelfTests::on_namespace_removed(std::uint32_t nsid) {
  if (!concerns(nsid)) return;
  abort(departs(departure::self_test_removal) ? SelfTestOutcome::passed : SelfTestOutcome::aborted_by_removal);
}

void SelfTests::on_format(std::uint32_t nsid) {
  if (concerns(nsid) && !departs(departure::self_test_format)) abort(SelfTestOutcome::aborted_by_format);
}

unsigned SelfTests::percent() const {
  if (!running() || departs(departure::self_test_percent)) return 0;
  const std::int64_t whole = std::max<std::int64_t>(duration().count_ms(), 1);
  const std::int64_t done = (subsystem_.world().now() - started_).count_ms() * 100 / whole;
  return static_cast<unsigned>(std::min<std::int64_t>(done, 99));
}

Bytes SelfTests::log() const {
  namespace sl = nvme::self_test_log;
  Record<nvme::SelfTestLog> log;
  log.set(sl::operation, static_cast<unsigned>(code_)).set(sl::percent, percent());
  auto results = results_;
  if (departs(departure::self_test_order)) std::reverse(results.begin(), results.end());
  for (unsigned i = 0; i < nvme::kSelfTestResults; ++i) {
    auto entry = edit_element<nvme::SelfTestResult>(log.mutable_bytes(), sl::results, i);
    if (i < results.size()) {
      std::copy(results[i].bytes().begin(), results[i].bytes().end(),
                log.mutable_bytes().begin() + static_cast<std::ptrdiff_t>(sl::results.offset + i * results[i].bytes().size()));
    } else if (!departs(departure::self_test_unused)) {
      entry.set(nvme::self_test_result::result, static_cast<unsigned>(SelfTestOutcome::unused));
    }
  }
  return Bytes(log.bytes().begin(), log.bytes().end());
}

}  // namespace fb::subsystem
