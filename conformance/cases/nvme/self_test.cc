// Device Self-test.
#include "conformance/cases/nvme/sanitize_scene.h"

namespace fb::conformance {

namespace {

namespace st = nvme::self_test_result;
namespace sl = nvme::self_test_log;
using nvme::SelfTestCode;
using nvme::SelfTestOutcome;

std::optional<std::string> tests_itself(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::self_test) != 0) return {};
  return "OACS bit 4 (Device Self-test) is clear";
}

std::optional<std::string> formats_namespaces(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::format_nvm) != 0) return {};
  return "OACS bit 1 (Format NVM) is clear";
}

const arranged with_self_tests{"a product that tests itself, and loses nothing by it",
                               [](EmbeddedSetup& setup) { setup.subsystem.self_test.supported = true; }};

/// A host that has the product test itself.
class Testing {
 public:
  Testing(ControllerBench& bench, Check& check) : manager(bench, check), bench_(bench), check_(check) {}

  host::RawReply send(SelfTestCode code, std::uint32_t nsid = 0) { return manager.admin().send(host::device_self_test(code, nsid)).wait(); }
  void begin(SelfTestCode code, std::uint32_t nsid = 0) { check_.precondition_success(send(code, nsid), "Device Self-test"); }

  Record<nvme::SelfTestLog> log() {
    const auto reply =
        manager.admin().send(host::get_log(nvme::LogPage::self_test, nvme::SelfTestLog::size), nvme::SelfTestLog::size).wait();
    check_.precondition_success(reply, "Get Log Page");
    return Record<nvme::SelfTestLog>{reply.data};
  }
  unsigned operation() { return log().get(sl::operation); }
  Record<nvme::SelfTestResult> result(unsigned index = 0) {
    const auto page = log();
    return Record<nvme::SelfTestResult>{element<nvme::SelfTestResult>(page.bytes(), sl::results, index).bytes()};
  }
  unsigned results() {
    unsigned count = 0;
    while (count < nvme::kSelfTestResults && outcome(count) != SelfTestOutcome::unused) ++count;
    return count;
  }
  SelfTestOutcome outcome(unsigned index = 0) { return static_cast<SelfTestOutcome>(result(index).get(st::result)); }
  /// Waits until no self-test runs; false after `limit`.
  bool ended(Duration limit) {
    const Instant before = bench_.world().now();
    while (operation() != 0) {
      if (bench_.world().now() - before > limit) return false;
      bench_.world().run_for(Duration::s(1));
    }
    return true;
  }
  /// The last self-test ended so.
  void has_ended(SelfTestOutcome wanted, std::string_view how) {
    check_.equal("operation", operation(), 0u);
    check_.equal("result after " + std::string(how), static_cast<unsigned>(outcome()), static_cast<unsigned>(wanted));
  }

  Manager manager;

 private:
  ControllerBench& bench_;
  Check& check_;
};

Duration extended_limit(ControllerBench& bench) { return Duration::s(60) * bench.declared().identify().get(nvme::id_ctrl::edstt); }
constexpr Duration kShortLimit = Duration::s(120);

}  // namespace

CONFORMANCE_CASE(self_test_is_claimed_with_its_log, "nvme.self-test.claim", roles::controller, needs(tests_itself)) {
  constexpr auto kSize = nvme::SelfTestLog::size;
  check.success(bench.associate().admin().send(host::get_log(nvme::LogPage::self_test, kSize), kSize).wait(), "Get Log Page 06h");
}

CONFORMANCE_CASE(self_test_log_ends_with_unused_entries, "nvme.self-test.log.unused", roles::controller, needs(tests_itself)) {
  Testing host(bench, check);
  const auto log = host.log();
  bool unused = false;
  for (unsigned i = 0; i < nvme::kSelfTestResults; ++i) {
    const unsigned result = element<nvme::SelfTestResult>(log.bytes(), sl::results, i).get(st::result);
    check.that(!unused || result == nvme::kSelfTestUnused, "behind an unused entry all are unused",
               "entry " + std::to_string(i) + " has result " + words(result));
    unused = unused || result == nvme::kSelfTestUnused;
  }
  if (bench.embedded()) check.that(unused, "a product that never tested itself has unused entries");
}

CONFORMANCE_CASE(self_test_log_without_operation, "nvme.self-test.log.idle", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  check.equal("operation before any self-test", host.operation(), 0u);
  host.begin(SelfTestCode::short_test);
  bench.world().run_for(kShortLimit);
  check.equal("operation behind a self-test", host.operation(), 0u);
}

CONFORMANCE_CASE(self_test_refuses_a_reserved_code, "nvme.self-test.code.reserved", roles::controller, needs(tests_itself),
                 reaches{"self_test.code"}) {
  Testing host(bench, check);
  for (const unsigned code : {0x7u, 0xDu}) {
    check.refused(host.send(static_cast<SelfTestCode>(code)), "code " + std::to_string(code));
  }
}

CONFORMANCE_CASE(self_test_refuses_a_namespace_that_is_not_there, "nvme.self-test.namespace.invalid", roles::controller, with_self_tests,
                 needs(tests_itself), reaches{"self_test.nsid", "self_test.nsid.inactive"}) {
  Testing host(bench, check);
  const auto legal = one_of(sc::invalid_namespace_or_format, sc::invalid_field);
  const std::uint32_t limit = bench.declared().identify().get(nvme::id_ctrl::nn);
  check.status(host.send(SelfTestCode::short_test, limit), legal, "an inactive NSID");
  check.status(host.send(SelfTestCode::short_test, limit + 1), legal, "an NSID beyond NN");
}

CONFORMANCE_CASE(self_test_short_ends_in_time, "nvme.self-test.short", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  if (!check.success(host.send(SelfTestCode::short_test), "Device Self-test")) return;
  check.require(host.ended(kShortLimit), "a short self-test ends within two minutes");
  host.has_ended(SelfTestOutcome::passed, "a short self-test");
  check.equal("code in the result", host.result().get(st::code), static_cast<unsigned>(SelfTestCode::short_test));
}

CONFORMANCE_CASE(self_test_extended_ends_in_time, "nvme.self-test.extended", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  if (!check.success(host.send(SelfTestCode::extended_test, nvme::kAllNamespaces), "Device Self-test")) return;
  check.require(host.ended(extended_limit(bench) + Duration::s(60)), "an extended self-test ends within EDSTT");
  host.has_ended(SelfTestOutcome::passed, "an extended self-test");
  check.equal("code in the result", host.result().get(st::code), static_cast<unsigned>(SelfTestCode::extended_test));
}

CONFORMANCE_CASE(self_test_log_names_the_operation, "nvme.self-test.running", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  for (const auto code : {SelfTestCode::short_test, SelfTestCode::extended_test}) {
    host.begin(code);
    check.equal("operation", host.operation(), static_cast<unsigned>(code));
    check.precondition_success(host.send(SelfTestCode::abort), "abort");
  }
}

CONFORMANCE_CASE(self_test_log_tells_the_progress, "nvme.self-test.progress", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  constexpr std::int64_t kTolerance = 15;  // of 100
  const Instant began = bench.world().now();
  host.begin(SelfTestCode::extended_test);
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;  // milliseconds, and the completion then
  unsigned last = 0;
  for (int i = 0; i < 4; ++i) {
    bench.world().run_for(extended_limit(bench) / 5);
    const auto log = host.log();
    if (log.get(sl::operation) == 0) break;
    seen.emplace_back((bench.world().now() - began).count_ms(), log.get(sl::percent));
    check.that(log.get(sl::percent) >= last && log.get(sl::percent) <= 100, "the completion rises up to 100",
               words(unsigned{log.get(sl::percent)}) + " after " + words(last));
    last = log.get(sl::percent);
  }
  check.that(last > 0, "the completion is above 0 after some time");
  check.precondition(host.ended(extended_limit(bench) * 2), "the self-test ends");
  const std::int64_t whole = std::max<std::int64_t>((bench.world().now() - began).count_ms(), 1);
  for (const auto& [passed_ms, percent] : seen) {
    const std::int64_t due = passed_ms * 100 / whole;
    check.between("completion after " + words(passed_ms) + " of " + words(whole) + " ms", percent, due - kTolerance, due + kTolerance);
  }
}

CONFORMANCE_CASE(self_test_is_alone, "nvme.self-test.again", roles::controller, with_self_tests, needs(tests_itself),
                 reaches{"self_test.in_progress"}) {
  Testing host(bench, check);
  host.begin(SelfTestCode::extended_test);
  check.status(host.send(SelfTestCode::short_test), sc::self_test_in_progress, "a short self-test");
  check.status(host.send(SelfTestCode::extended_test), sc::self_test_in_progress, "an extended self-test");
}

CONFORMANCE_CASE(self_test_may_be_aborted, "nvme.self-test.abort", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  host.begin(SelfTestCode::extended_test);
  if (!check.success(host.send(SelfTestCode::abort), "abort")) return;
  host.has_ended(SelfTestOutcome::aborted_by_command, "an abort");
}

CONFORMANCE_CASE(self_test_abort_of_nothing, "nvme.self-test.abort.nothing", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  const auto before = host.log();
  check.success(host.send(SelfTestCode::abort), "abort");
  check.bytes("the log", host.log().bytes(), before.bytes());
}

CONFORMANCE_CASE(self_test_log_begins_with_the_newest, "nvme.self-test.order", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  for (const auto code : {SelfTestCode::short_test, SelfTestCode::extended_test}) {
    host.begin(code);
    check.precondition(host.ended(extended_limit(bench) + Duration::s(60)), "the self-test ends");
  }
  check.equal("code of the first result", host.result(0).get(st::code), static_cast<unsigned>(SelfTestCode::extended_test));
  check.equal("code of the second result", host.result(1).get(st::code), static_cast<unsigned>(SelfTestCode::short_test));
}

CONFORMANCE_CASE(self_test_log_keeps_twenty, "nvme.self-test.history", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  for (unsigned i = 0; i <= nvme::kSelfTestResults; ++i) {
    host.begin(i == 0 ? SelfTestCode::extended_test : SelfTestCode::short_test);
    check.precondition_success(host.send(SelfTestCode::abort), "abort");
  }
  for (unsigned i = 0; i < nvme::kSelfTestResults; ++i) {
    check.equal("code of result " + std::to_string(i), host.result(i).get(st::code), static_cast<unsigned>(SelfTestCode::short_test));
  }
}

CONFORMANCE_CASE(self_test_result_names_the_namespace, "nvme.self-test.namespace", roles::controller, with_self_tests,
                 needs(tests_itself)) {
  Testing host(bench, check);
  for (const std::uint32_t nsid : {bench.nsid(), nvme::kAllNamespaces}) {
    host.begin(SelfTestCode::short_test, nsid);
    check.precondition(host.ended(kShortLimit), "the self-test ends");
    const auto result = host.result();
    const bool named = (result.get(st::valid) & nvme::self_test_valid_bits::nsid) != 0;
    check.that(!named || result.get(st::nsid) == nsid, "a valid NSID in the result is that of the command", words(result.get(st::nsid)));
  }
}

CONFORMANCE_CASE(self_test_result_tells_the_hours, "nvme.self-test.hours", roles::controller,
                 arranged("a product that has run for a thousand hours",
                          [](EmbeddedSetup& setup) { setup.subsystem.power_on_hours = 1000; })) {
  Testing host(bench, check);
  host.begin(SelfTestCode::short_test);
  check.precondition(host.ended(kShortLimit), "the self-test ends");
  const auto smart = host.manager.admin().send(host::get_log(nvme::LogPage::smart, 512), 512).wait();
  check.precondition_success(smart, "Get Log Page");
  const auto hours = load_le<std::uint64_t>(smart.data.data() + nvme::smart::poh.offset);
  check.precondition(hours >= 1000, "the SMART log tells the hours");
  check.between("power-on hours of the result", host.result().get(st::poh), hours - 1, hours);
}

CONFORMANCE_CASE(self_test_short_ends_with_a_reset, "nvme.self-test.reset.short", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  Testing other(bench, check);
  host.begin(SelfTestCode::short_test);
  other.manager.association.disable();
  other.manager.association.enable();
  check.equal("operation after the reset of another controller", host.operation(), static_cast<unsigned>(SelfTestCode::short_test));
  host.manager.association.disable();
  host.manager.association.enable();
  host.has_ended(SelfTestOutcome::aborted_by_reset, "a controller reset");
  // Of a reset of the whole subsystem, whichever controller began it.
  const unsigned before = host.results();
  other.begin(SelfTestCode::short_test);
  bench.subsystem().reset_subsystem();
  bench.world().run_for(kSettled);
  Testing again(bench, check);
  again.has_ended(SelfTestOutcome::aborted_by_reset, "an NVM subsystem reset");
  check.equal("results in the log after an NVM subsystem reset", again.results(), before + 1);
}

CONFORMANCE_CASE(self_test_extended_outlives_a_reset, "nvme.self-test.reset.extended", roles::controller, with_self_tests,
                 needs(tests_itself)) {
  Testing host(bench, check);
  host.begin(SelfTestCode::extended_test);
  host.manager.association.disable();
  host.manager.association.enable();
  check.equal("operation after the reset", host.operation(), static_cast<unsigned>(SelfTestCode::extended_test));
  check.require(host.ended(extended_limit(bench) * 2), "the self-test ends");
  host.has_ended(SelfTestOutcome::passed, "a self-test with a reset");
}

CONFORMANCE_CASE(self_test_ends_with_a_format, "nvme.self-test.format", roles::controller, with_self_tests, needs(formats_namespaces),
                 needs(manages_namespaces), needs(tests_itself)) {
  Testing host(bench, check);
  const std::uint32_t one = host.manager.made_and_attached(), other = host.manager.made_and_attached();
  // What is tested, what is formatted, and whether that ends the test.
  const struct {
    std::uint32_t tested, formatted;
    bool ends;
  } rows[] = {{one, one, true},
              {one, other, false},
              {other, one, false},
              {one, nvme::kAllNamespaces, true},
              {nvme::kAllNamespaces, nvme::kAllNamespaces, true}};
  for (const SelfTestCode code : {SelfTestCode::extended_test, SelfTestCode::short_test}) {
    for (const auto& row : rows) {
      host.begin(code, row.tested);
      check.precondition_success(host.manager.admin().send(host::format_nvm(row.formatted, 0)).wait(), "Format NVM");
      const std::string what = "Format NVM of namespace " + words(row.formatted) + " during a self-test of " + words(row.tested);
      if (row.ends) {
        host.has_ended(SelfTestOutcome::aborted_by_format, what);
        continue;
      }
      check.equal("operation after " + what, host.operation(), static_cast<unsigned>(code));
      check.precondition_success(host.send(SelfTestCode::abort), "abort");
    }
  }
}

CONFORMANCE_CASE(self_test_ends_with_a_sanitize_operation, "nvme.self-test.sanitize", roles::controller, with_self_tests, needs(sanitizes),
                 needs(tests_itself)) {
  Testing host(bench, check);
  host.begin(SelfTestCode::extended_test, nvme::kAllNamespaces);
  const auto sanitize = host::sanitize(offered_action(bench.declared()));
  check.precondition_success(host.manager.admin().send(sanitize).wait(), "Sanitize");
  bench.world().run_for(kSanitizeLimit);  // the log cannot be read before its end
  host.has_ended(SelfTestOutcome::aborted_by_sanitize, "a sanitize operation");
}

CONFORMANCE_CASE(self_test_ends_with_its_namespace, "nvme.self-test.removal", roles::controller, with_self_tests, needs(manages_namespaces),
                 needs(tests_itself)) {
  Testing host(bench, check);
  const std::uint32_t nsid = host.manager.made_and_attached();
  host.begin(SelfTestCode::extended_test, nsid);
  check.precondition_success(host.manager.remove(nsid), "Namespace Management, delete");
  const bool goes_on = host.operation() != 0;
  const auto outcome = host.outcome();
  check.that(goes_on || outcome == SelfTestOutcome::aborted_by_removal, "a self-test that ends with its namespace says so",
             "result " + words(static_cast<unsigned>(outcome)));
}

CONFORMANCE_CASE(self_test_leaves_io, "nvme.self-test.io", roles::controller, with_self_tests, needs(manages_namespaces),
                 needs(tests_itself)) {
  Testing host(bench, check);
  const std::uint32_t nsid = host.manager.made_and_attached();
  host.begin(SelfTestCode::extended_test, nsid);
  const Bytes data = pattern(0x2F, 8, kFirstBlockBytes);
  check.success(host.manager.write(nsid, 0, data), "Write");
  const auto read = host.manager.read(nsid, 0, 8);
  if (check.success(read, "Read")) check.bytes("the data", read.data, data);
}

CONFORMANCE_CASE(self_test_tells_where_it_failed, "nvme.self-test.failed", roles::controller, with_self_tests, needs(tests_itself)) {
  Testing host(bench, check);
  bench.subsystem().self_tests().fail_next({.segment = 4, .nsid = bench.nsid(), .lba = 1234});
  host.begin(SelfTestCode::extended_test, nvme::kAllNamespaces);
  check.precondition(host.ended(extended_limit(bench) + Duration::s(60)), "the self-test ends");
  const auto result = host.result();
  check.equal("result", result.get(st::result), static_cast<unsigned>(SelfTestOutcome::failed_segment));
  check.equal("segment", result.get(st::segment), 4u);
  const unsigned both = nvme::self_test_valid_bits::nsid | nvme::self_test_valid_bits::flba;
  check.equal("valid fields", unsigned{result.get(st::valid)} & both, both);
  check.equal("NSID", result.get(st::nsid), bench.nsid());
  check.equal("failing LBA", result.get(st::flba), 1234u);
}

}  // namespace fb::conformance
