#include "conformance/runner/runner.h"

#include <fnmatch.h>

#include <algorithm>
#include <exception>
#include <set>
#include <thread>

#include "base/suggest.h"
#include "conformance/runner/library_product.h"
#include "conformance/runner/waits.h"
#include "conformance/runner/watched.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

std::string_view tool_version() { return FABRICBENCH_VERSION; }

std::string Stopped::text() const {
  return (after.empty() ? "the product cannot be connected: " : "the product went down in or after " + after + ": ") + why;
}

// ---- Interrupter ----

void Interrupter::fire() {
  const std::lock_guard lock(mutex_);
  fired_ = true;
  for (World* world : worlds_) world->interrupt();
}

Interrupter::Guard::Guard(Interrupter* interrupter, World& world) : interrupter_(interrupter), world_(&world) {
  if (interrupter_ == nullptr) return;
  const std::lock_guard lock(interrupter_->mutex_);
  interrupter_->worlds_.push_back(world_);
  if (interrupter_->fired_) world_->interrupt();
}

Interrupter::Guard::~Guard() {
  if (interrupter_ == nullptr) return;
  const std::lock_guard lock(interrupter_->mutex_);
  std::erase(interrupter_->worlds_, world_);
}

// ---- selection ----

namespace {

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

template <class Get>
std::set<std::string> all_of(const std::vector<const CaseInfo*>& cases, Get&& get) {
  std::set<std::string> words;
  for (const CaseInfo* info : cases) words.insert(std::string(get(*info)));
  return words;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

bool matches(const std::vector<std::string>& globs, std::string_view name) {
  const std::string text(name);
  return globs.empty() ||
         std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return fnmatch(glob.c_str(), text.c_str(), 0) == 0; });
}

}  // namespace

Result<std::vector<const CaseInfo*>> select(const std::vector<const CaseInfo*>& from, const Selection& selection) {
  const auto suites = all_of(from, [](const CaseInfo& info) { return info.suite(); });
  for (const std::string& suite : selection.suites) {
    if (!suites.contains(suite)) {
      return Failure{Problem{"no suite '" + suite + "'; known are: " + joined(suites) + did_you_mean(suite, suites)}};
    }
  }
  const auto roles = all_of(from, [](const CaseInfo& info) { return name_of(info.role); });
  for (const std::string& role : selection.roles) {
    if (!roles.contains(role)) {
      return Failure{Problem{"no case for the role '" + role + "'; known are: " + joined(roles) + did_you_mean(role, roles)}};
    }
  }
  for (const std::string& glob : selection.cases) {
    const bool any = std::any_of(from.begin(), from.end(), [&](const CaseInfo* info) { return matches({glob}, info->name); });
    if (any) continue;
    const auto names = all_of(from, [](const CaseInfo& info) { return info.name; });
    return Failure{Problem{"no case matches '" + glob + "'" + did_you_mean(glob, names) + " (fabricbench list shows them all)"}};
  }
  std::set<std::string> carriers{std::string(kKernelTransport)};
  for (const CaseInfo* info : from) carriers.insert(info->options.transports.begin(), info->options.transports.end());
  if (!selection.transport.empty() && !carriers.contains(selection.transport)) {
    return Failure{Problem{"no transport '" + selection.transport + "'; known are: " + joined(carriers) +
                           did_you_mean(selection.transport, carriers)}};
  }
  std::vector<const CaseInfo*> chosen;
  for (const CaseInfo* info : from) {
    const auto& transports = info->options.transports;
    const bool carried = selection.transport.empty() || (selection.transport == kKernelTransport && transports == kMedia) ||
                         std::find(transports.begin(), transports.end(), selection.transport) != transports.end();
    if (carried && contains(selection.suites, info->suite()) && contains(selection.roles, name_of(info->role)) &&
        matches(selection.cases, info->name)) {
      chosen.push_back(info);
    }
  }
  if (chosen.empty()) return Failure{Problem{"no case matches this selection of suite, role, transport and case"}};
  return chosen;
}

// ---- running ----

void for_each_parallel(std::size_t count, unsigned jobs, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr thrown;  // the first; it ends the rest and is passed on
  const auto loop = [&] {
    try {
      for (std::size_t index = next++; index < count; index = next++) work(index);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min<std::size_t>(jobs, count); ++i) threads.emplace_back(loop);
  loop();
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

std::vector<std::string_view> transports_for(const CaseInfo& info, const Product& product) {
  std::vector<std::string_view> found = info.options.transports;
  if (product.transport.empty()) return found;
  // Behind a kernel may be any medium; a case about one of them is not for it.
  if (product.transport == kKernelTransport) {
    if (found != kMedia) return {};
    return {kKernelTransport};
  }
  std::erase_if(found, [&](std::string_view one) { return one != product.transport; });
  return found;
}

bool is_real_controller(const Product& product) {
  return !is_virtual(product) && !product.is_host() && product.device.empty() &&
         (product.transport == fabrics::kTcp || product.transport == fabrics::kRdma);
}

std::vector<std::string> roles_of(const Product& product) {
  if (product.embedded) return {std::begin(kRoleNames), std::end(kRoleNames)};
  if (!product.device.empty()) return {"requester", "responder"};
  if (product.is_host()) return {"host"};
  if (product.transport == kProviderTransport) return {"provider"};
  if (is_medium(product.transport)) return {"endpoint"};
  return {"controller", "cdc", "ddc"};
}

std::vector<std::string> usual_roles_of(const Product& product) {
  std::vector<std::string> roles = roles_of(product);
  std::erase_if(roles, [](const std::string& role) { return discovers(role_named(role).value_or(Role::controller)); });
  return roles;
}

namespace {

CaseResult not_run(const CaseInfo& info, std::string_view transport, const Stopped& stopped) {
  CaseResult result;
  result.info = &info;
  result.transport = transport;
  result.verdict = Verdict::inconclusive;
  result.reason = "not run: " + stopped.text();
  result.finished = true;
  return result;
}

/// Where the product cannot be met, the embedded one shows that a case can fail.
void run_canary(const RunOptions& options, DeclarationCache& declarations, RunResult& run) {
  RunOptions canary = options;
  canary.deviations = {};
  canary.keep_capture = nullptr;
  canary.watch = nullptr;
  canary.twice = false;
  const auto sing = [&](DeclarationCache& known) {
    const CaseInfo& case_that_fails = canary_case(canary.product);
    const std::string_view transport = transports_for(case_that_fails, canary.product).front();
    return run_case(case_that_fails, transport, canary, known);
  };
  std::string why = run.stopped ? "the product is down" : "";
  if (!run.stopped) {
    const CaseResult sung = sing(declarations);
    run.canary_caught = canary_caught(sung);
    if (sung.verdict != Verdict::inconclusive || options.product.embedded) return;
    why = sung.reason;
  }
  canary.product = {};
  DeclarationCache embedded;
  run.canary_caught = canary_caught(sing(embedded));
  run.remarks.push_back("the canary was run against the embedded product: " + why);
}

}  // namespace

RunResult run_cases(const std::vector<const CaseInfo*>& cases, const RunOptions& wished) {
  DeclarationCache declarations;
  WaitBudget waits;
  RunOptions options = wished;
  if (!is_virtual(options.product)) options.waits = &waits;
  RunResult run;
  struct Variant {
    const CaseInfo* info;
    std::string_view transport;
    const Lane* lane;
  };
  std::vector<Variant> variants;
  const std::vector<const Lane*> plain = {&plain_lane()};
  for (const Lane* lane : options.lanes.empty() ? plain : options.lanes) {
    for (const CaseInfo* info : cases) {
      for (const std::string_view transport : transports_for(*info, options.product)) {
        if (lane->plain() || lane->concerns(*info, transport)) variants.push_back({info, transport, lane});
      }
    }
  }
  std::vector<CaseResult> results(variants.size());
  std::mutex progress_mutex;
  std::size_t done = 0;
  const unsigned jobs = options.product.embedded ? options.jobs : 1;
  // A real product is asked before the first case: later the cases hold our one UDP port.
  bool watched = is_real_controller(options.product);
  run.stopped = options.stopped;
  if (!options.product.embedded && !run.stopped) {
    const Declared& declared = declarations.of(options.product, nullptr, options.product.transport);
    if (watched && !declared.why.empty()) {
      run.remarks.push_back((declared.known ? "the product was read by hand: " : "not all cases could be decided: ") + declared.why);
    }
    watched = watched && declared.no_transport.empty();
    for (const Lane* lane : options.lanes) {
      // A lane that is about no case of this product may need what only another one has.
      const bool used = std::ranges::any_of(variants, [&](const Variant& one) { return one.lane == lane; });
      if (used) declarations.of(options.product, nullptr, options.product.transport, lane);
    }
  }
  for_each_parallel(variants.size(), jobs, [&](std::size_t index) {
    if (options.interrupter != nullptr && options.interrupter->fired()) return;
    const Variant& variant = variants[index];
    try {
      if (run.stopped) {
        results[index] = not_run(*variant.info, variant.transport, *run.stopped);
        results[index].lane = variant.lane->name;
        ++run.stopped->not_run;
      } else {
        results[index] = run_case(*variant.info, variant.transport, options, declarations, *variant.lane);
      }
      const Verdict verdict = results[index].verdict;
      if (watched && !run.stopped && verdict != Verdict::pass && verdict != Verdict::skip) {
        if (const auto why = options.down(options.product)) run.stopped = Stopped{std::string(variant.info->name), *why};
      }
    } catch (const WaitFailure&) {  // interrupted
      return;
    }
    const std::lock_guard lock(progress_mutex);
    ++done;
    if (options.progress) options.progress(results[index], done, variants.size());
  });
  for (CaseResult& result : results) {
    if (!result.finished) continue;
    // The plain lane adds nothing: the digest of a run without lanes is that of its cases alone.
    const std::uint64_t lane = result.lane == plain_lane().name ? 0 : hash_name(result.lane);
    run.digest = mix64(run.digest ^ hash_name(result.info->name) ^ hash_name(result.transport) ^ lane) ^ result.digest;
    run.cases.push_back(std::move(result));
  }
  // The caller's product: results name its transport longer than this function lasts.
  for (CaseResult& rule : results_of_rules(run.cases, declarations.findings(), wished.product)) {
    run.cases.push_back(std::move(rule));
  }
  if (const std::string remark = waits.remark(); !remark.empty()) run.remarks.push_back(remark);
  run.interrupted = options.interrupter != nullptr && options.interrupter->fired();
  if (run.interrupted) return run;
  try {
    run_canary(options, declarations, run);
  } catch (const WaitFailure&) {
    run.interrupted = true;
  }
  return run;
}

}  // namespace fb::conformance
