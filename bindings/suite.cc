// The conformance suite: its cases, and running them one at a time.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include <set>

#include "base/or_throw.h"
#include "bindings/convert.h"
#include "bindings/long_run.h"
#include "bindings/parts.h"
#include "bindings/said.h"
#include "conformance/evidence/dissector.h"
#include "conformance/report/report.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/library_product.h"
#include "conformance/runner/runner.h"
#include "conformance/runner/watched.h"
#include "conformance/runner/words.h"
#include "model/deviations/deviation.h"

namespace fb::python {

namespace {

using namespace conformance;

/// Keeps the exchange of a case.
class Listener final : public CaseWatcher {
 public:
  Listener(std::vector<evidence::Said>& into, bool complete) : into_(into), dissector_({.complete = complete}) { dissector_.add(said_); }
  void on_event(const TraceEvent& event) override { dissector_.on_event(event); }
  void finished(const CaseResult&) override { into_ = said_.take(); }

 private:
  std::vector<evidence::Said>& into_;
  evidence::Dissector dissector_;
  evidence::SaidList said_;
};

/// A product under test with what it was found to declare.
class Suite {
 public:
  Suite(const std::string& dut, const std::string& local, const std::string& transport, bool slow) {
    product_ = or_throw(parse_product(dut, local));
    product_.slow = slow;
    if (is_library(product_)) load_library(product_);
    if (is_library(product_) && !transport.empty()) {
      choose_transport(product_, transport);
    } else if (is_virtual(product_) && !transport.empty()) {
      product_.transport = transport;
    } else if (!transport.empty() && transport != product_.transport) {
      throw UserError("transport " + transport + ": the product is at " + product_.url);
    }
    if (!is_real_controller(product_)) return;
    if (const auto down = why_absent(product_)) throw UserError(product_.url + ": " + *down);
    name_subsystem(product_);
  }

  /// Those that the product can be held against, with their transports.
  py::list cases(const std::vector<std::string>& suites, const std::vector<std::string>& globs,
                 const std::vector<std::string>& roles) const {
    Selection wanted{suites, globs, roles, product_.transport};
    if (!product_.embedded && wanted.roles.empty()) wanted.roles = usual_roles_of(product_);
    py::list all;
    for (const CaseInfo* info : or_throw(select(all_cases(), wanted))) {
      py::list transports;
      for (const std::string_view one : transports_for(*info, product_)) transports.append(std::string(one));
      py::list deviations;
      for (const auto* deviation : deviations::deviations_of(info->requirement)) deviations.append(std::string(deviation->name));
      py::dict one;
      one["name"] = std::string(info->name);
      one["requirement"] = std::string(info->requirement);
      one["suite"] = std::string(info->suite());
      one["role"] = std::string(name_of(info->role));
      one["transports"] = transports;
      one["deviations"] = deviations;
      one["file"] = std::string(info->file);
      all.append(one);
    }
    return all;
  }

  py::dict run(const std::string& name, const std::string& transport, std::uint64_t seed, const std::vector<std::string>& deviations) {
    const CaseInfo* const info = or_throw(select(all_cases(), {.cases = {name}})).at(0);
    const auto possible = transports_for(*info, product_);
    if (std::find(possible.begin(), possible.end(), transport) == possible.end()) {
      throw UserError("the case " + name + " does not run over '" + transport + "'");
    }
    Interrupter interrupter;
    Bytes capture;
    std::vector<evidence::Said> said;
    RunOptions options;
    options.product = product_;
    options.seed = seed;
    options.deviations = or_throw(deviations::DeviationSet::of_names(deviations));
    options.interrupter = &interrupter;
    options.keep_capture = [&](const CaseResult&, std::string_view, std::string_view, const capture::PcapngWriter& writer) {
      capture = writer.bytes();
      return std::string();
    };
    options.watch = [&](const CaseInfo&, std::string_view, std::string_view) {
      return std::make_unique<Listener>(said, is_virtual(product_));
    };
    CaseResult result = run_interruptibly(
        interrupter, [&] { return run_case(*info, *std::find(possible.begin(), possible.end(), transport), options, declarations_); });
    report_broken_rules(result);
    return as_dict(result, options, capture, said);
  }

 private:
  /// Whoever runs the cases one by one hears of a broken rule of every exchange with the first that shows it, and only then.
  void report_broken_rules(CaseResult& result) {
    for (const CaseResult& rule : results_of_rules({result}, {}, product_)) {
      if (!reported_.insert(rule.info->name).second) continue;
      result.findings.insert(result.findings.end(), rule.findings.begin(), rule.findings.end());
      if (result.verdict == Verdict::pass || result.verdict == Verdict::inconclusive) {
        result.verdict = Verdict::fail;
        result.reason = rule.reason;
      }
    }
  }
  py::dict as_dict(const CaseResult& result, const RunOptions& options, const Bytes& capture,
                   const std::vector<evidence::Said>& said) const {
    py::list findings;
    for (const auto& finding : result.findings) findings.append(text_of(finding));
    py::dict one;
    one["name"] = std::string(result.info->name);
    one["requirement"] = std::string(result.info->requirement);
    const Requirement* const requirement = find_requirement(result.info->requirement);
    one["section"] = requirement == nullptr ? "" : citation(*requirement);
    one["transport"] = std::string(result.transport);
    one["verdict"] = std::string(name_of(result.verdict));
    one["reason"] = result.reason;
    one["findings"] = findings;
    one["monitored"] = finding_list(result.monitored);
    one["digest"] = digest_text(result.digest);
    one["duration_virtual"] = static_cast<double>(result.duration_virtual_ns) / 1e9;
    one["capture"] = to_python(capture);
    one["said"] = said_list(said);
    one["replay"] = replay_text(
        result, {.seed = options.seed, .dut = product_.url, .deviations = options.deviations.names(), .started = {}, .duration_s = 0});
    return one;
  }
  static std::string text_of(const Finding& finding);

  Product product_;
  DeclarationCache declarations_;
  std::set<std::string_view> reported_;
};

std::string Suite::text_of(const Finding& finding) {
  std::string text = finding.what;
  if (!finding.expected.empty()) text += fmt::format("; expected {}", fmt::join(finding.expected, " or "));
  if (!finding.seen.empty()) text += "; seen " + finding.seen;
  return text;
}

}  // namespace

void bind_suite(py::module_& m) {
  py::class_<Suite>(m, "Suite")
      .def(py::init<const std::string&, const std::string&, const std::string&, bool>())
      .def("cases", &Suite::cases)
      .def("run", &Suite::run);
  m.def("requirements", [] {
    py::list all;
    for (const Requirement& requirement : ledger()) {
      py::dict one;
      one["id"] = std::string(requirement.id);
      one["document"] = std::string(requirement.document);
      one["revision"] = std::string(requirement.revision);
      one["section"] = std::string(requirement.section);
      one["section_title"] = std::string(requirement.section_title);
      one["level"] = std::string(requirement.level);
      one["text"] = std::string(requirement.text);
      one["confidence"] = std::string(requirement.confidence);
      all.append(one);
    }
    return all;
  });
  m.def("deviations", [] {
    py::list all;
    for (const auto* deviation : deviations::all_deviations()) {
      py::dict one;
      one["name"] = std::string(deviation->name);
      one["requirement"] = std::string(deviation->requirement);
      one["product"] = std::string(deviations::name_of(deviation->product));
      one["what"] = std::string(deviation->what);
      all.append(one);
    }
    return all;
  });
}

}  // namespace fb::python
