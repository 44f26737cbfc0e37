// Device self-tests.
#include <algorithm>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
namespace departure = subsystem::departure;

constexpr std::size_t kFirstResult = nvme::self_test_log::results.offset;
constexpr std::size_t kResultSize = nvme::SelfTestResult::size;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
bool reads_log(const CommandContext& command, MutableBytes data) {
  return is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == 6 && data.size() == nvme::SelfTestLog::size;
}
std::optional<nvme::Status> has_no_log(const CommandContext& command) {
  if (!is(command, AdminOpcode::get_log_page) || (cdw10_of(command) & 0xFF) != 6) return {};
  return nvme::sc::invalid_log_page;
}
void operation_stays(const CommandContext& command, MutableBytes data) {
  if (reads_log(command, data) && data[0] == 0) data[0] = 1;
}
void last_result_lost(const CommandContext& command, MutableBytes data) {
  if (!reads_log(command, data)) return;
  const MutableBytes last = data.subspan(kFirstResult + (nvme::kSelfTestResults - 1) * kResultSize, kResultSize);
  std::fill(last.begin(), last.end(), std::uint8_t{0});
  last[0] = nvme::kSelfTestUnused;
}
void no_segment(const CommandContext& command, MutableBytes data) {
  if (reads_log(command, data)) data[kFirstResult + 1] = 0;
}
std::optional<nvme::Status> extended_lost(const CommandContext& command) {
  if (!is(command, AdminOpcode::device_self_test) || (cdw10_of(command) & 15) != 2) return {};
  return nvme::sc::success;
}
std::optional<nvme::Status> aborts_refused(const CommandContext& command) {
  if (!is(command, AdminOpcode::device_self_test) || (cdw10_of(command) & 15) != 15) return {};
  return nvme::sc::invalid_field;
}
/// While the product tests itself, it does nothing else.
class KeepsItsData final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::device_self_test)) running_ = true;
    if (running_ && (is_io(command, 0x01) || is_io(command, 0x02))) return nvme::sc::namespace_not_ready;
    return {};
  }

 private:
  bool running_ = false;
};

}  // namespace

DEVIATION(self_test_has_no_log, "nvme.self-test.claim", Product::controller, "claims self-tests and has no log of them",
          hooks<Answering, &has_no_log>());
DEVIATION(self_test_log_claims_success, "nvme.self-test.log.unused", Product::controller, "has results of self-tests that never were",
          Departs{departure::self_test_unused});
DEVIATION(self_test_operation_without_test, "nvme.self-test.log.idle", Product::controller, "names a self-test while none runs",
          hooks<AlteringDataOut, &operation_stays>());
DEVIATION(self_test_of_any_code, "nvme.self-test.code.reserved", Product::controller, "says success to reserved codes",
          Tolerate{"self_test.code"});
DEVIATION(self_test_of_nothing, "nvme.self-test.namespace.invalid", Product::controller, "tests inactive namespaces",
          Tolerate{"self_test.nsid.inactive"});
DEVIATION(self_test_of_any_nsid, "nvme.self-test.namespace.invalid", Product::controller, "tests namespaces that cannot be",
          Tolerate{"self_test.nsid"});
DEVIATION(self_test_without_end, "nvme.self-test.short", Product::controller, "never ends a self-test",
          Departs{departure::self_test_endless});
DEVIATION(self_test_code_is_another, "nvme.self-test.short", Product::controller, "names another code in its results",
          Departs{departure::self_test_code_lost});
DEVIATION(self_test_extended_does_nothing, "nvme.self-test.extended", Product::controller,
          "says success to an extended self-test and does nothing", hooks<Answering, &extended_lost>());
DEVIATION(self_test_extended_unseen, "nvme.self-test.running", Product::controller, "does not name an extended self-test in its log",
          hooks<Answering, &extended_lost>());
DEVIATION(self_test_without_progress, "nvme.self-test.progress", Product::controller, "tells no completion",
          Departs{departure::self_test_percent});
DEVIATION(self_test_any_number_of_times, "nvme.self-test.again", Product::controller, "says success to a second self-test",
          Tolerate{"self_test.in_progress"});
DEVIATION(self_test_goes_on, "nvme.self-test.abort", Product::controller, "says success to an abort and goes on",
          Departs{departure::self_test_goes_on});
DEVIATION(self_test_abort_needs_a_test, "nvme.self-test.abort.nothing", Product::controller, "refuses an abort where nothing runs",
          hooks<Answering, &aborts_refused>());
DEVIATION(self_test_oldest_first, "nvme.self-test.order", Product::controller, "begins its log with the oldest result",
          Departs{departure::self_test_order});
DEVIATION(self_test_keeps_nineteen, "nvme.self-test.history", Product::controller, "keeps nineteen results",
          hooks<AlteringDataOut, &last_result_lost>());
DEVIATION(self_test_of_another_namespace, "nvme.self-test.namespace", Product::controller, "names another namespace in its results",
          Departs{departure::self_test_namespace});
DEVIATION(self_test_without_hours, "nvme.self-test.hours", Product::controller, "names no power-on hours in its results",
          Departs{departure::self_test_hours});
DEVIATION(self_test_short_outlives_a_reset, "nvme.self-test.reset.short", Product::controller,
          "goes on with a short self-test after a controller reset", Departs{departure::self_test_survives});
DEVIATION(self_test_extended_ends_with_a_reset, "nvme.self-test.reset.extended", Product::controller,
          "gives an extended self-test up at a controller reset", Departs{departure::self_test_dies});
DEVIATION(self_test_outlives_a_format, "nvme.self-test.format", Product::controller, "goes on with a self-test after Format NVM",
          Departs{departure::self_test_format});
DEVIATION(self_test_outlives_a_sanitize_operation, "nvme.self-test.sanitize", Product::controller,
          "goes on with a self-test while it is sanitized", Departs{departure::self_test_sanitize});
DEVIATION(self_test_of_a_deleted_namespace_passes, "nvme.self-test.removal", Product::controller,
          "ends the self-test of a deleted namespace as if it had passed", Departs{departure::self_test_removal});
DEVIATION(self_test_keeps_a_host_from_its_data, "nvme.self-test.io", Product::controller, "refuses I/O while it tests itself",
          hooks<KeepsItsData>());
DEVIATION(self_test_fails_somewhere, "nvme.self-test.failed", Product::controller, "does not name the segment that failed",
          hooks<AlteringDataOut, &no_segment>());

}  // namespace fb::deviations
