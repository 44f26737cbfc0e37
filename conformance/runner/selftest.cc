#include "conformance/runner/selftest.h"

#include "wire/fabrics/transports.h"

#include <algorithm>
#include <map>

namespace fb::conformance {

namespace {

using deviations::Deviation;

/// Whether a deviation of this product can be seen by cases of this kind.
bool concerns(const Deviation& deviation, const CaseInfo& info) {
  switch (deviation.product) {
    case deviations::Product::controller:
      return info.role == Role::controller || discovers(info.role);
    case deviations::Product::host:
      return info.role == Role::host;
    case deviations::Product::rdma:
      return info.suite() == fabrics::kRdma;
    case deviations::Product::cm:
      return info.suite() == "cm";
    case deviations::Product::endpoint:
      return info.role == Role::endpoint;
    case deviations::Product::management_requester:
      return info.role == Role::management_requester;
    case deviations::Product::bus:
      return info.role == Role::bus;
    case deviations::Product::nd_provider:
      return info.role == Role::provider && info.suite() == "networkdirect";
    case deviations::Product::nd_consumer:
      return info.role == Role::consumer && info.suite() == "networkdirect";
    case deviations::Product::ndk_provider:
      return info.role == Role::provider && info.suite() == "ndk";
    case deviations::Product::ndk_consumer:
      return info.role == Role::consumer && info.suite() == "ndk";
  }
  return false;
}

struct Task {
  const CaseInfo* info;
  const Deviation* deviation;  ///< null: honest
  std::string_view transport;
  CaseResult result = {};
};

std::vector<Task> plan(const std::vector<const CaseInfo*>& cases, const SelftestOptions& options) {
  std::vector<Task> tasks;
  conformance::Product product;
  product.transport = options.transport;
  for (const CaseInfo* info : cases) {
    for (const std::string_view transport : transports_for(*info, product)) {
      tasks.push_back({info, nullptr, transport});
    }
  }
  for (const Deviation* deviation : deviations::all_deviations()) {
    for (const CaseInfo* info : cases) {
      const bool named = info->requirement == deviation->requirement;
      if (!named && !(options.cross && concerns(*deviation, *info))) continue;
      for (const std::string_view transport : transports_for(*info, product)) {
        if (deviations::shows_over(*deviation, transport)) tasks.push_back({info, deviation, transport});
      }
    }
  }
  return tasks;
}

/// What came of a case, honest or on one deviation, over its transports: the first result that is not
/// `wanted`, or the first of all.
const Task* outcome_of(const std::vector<const Task*>& tasks, Verdict wanted) {
  for (const Task* task : tasks) {
    if (task->result.verdict != wanted) return task;
  }
  return tasks.empty() ? nullptr : tasks.front();
}

std::string reason_over(const Task& task) {
  const bool several = task.info->options.transports.size() > 1;
  if (!several || task.result.reason.empty()) return task.result.reason;
  return "over " + std::string(task.transport) + ": " + task.result.reason;
}

/// Every pair of case and deviation, run.
void run_tasks(std::vector<Task>& tasks, const SelftestOptions& options) {
  DeclarationCache declarations;
  std::mutex mutex;
  std::size_t done = 0;
  for_each_parallel(tasks.size(), options.jobs, [&](std::size_t index) {
    if (options.interrupter != nullptr && options.interrupter->fired()) return;
    Task& task = tasks[index];
    RunOptions run;
    run.seed = options.seed;
    run.evidence = false;
    run.monitors = false;  // a case is to find out by itself
    run.factory = options.factory;
    run.interrupter = options.interrupter;
    if (task.deviation != nullptr) run.deviations = deviations::DeviationSet({task.deviation});
    try {
      task.result = run_case(*task.info, task.transport, run, declarations);
    } catch (const WaitFailure&) {  // interrupted
      return;
    }
    const std::lock_guard lock(mutex);
    if (options.progress) options.progress(++done, tasks.size());
  });
}

}  // namespace

bool SelftestResult::good() const {
  return missed == 0 && without_deviation == 0 && !interrupted && !cases.empty() &&
         std::all_of(cases.begin(), cases.end(), [](const SelftestCase& one) { return one.honest == Verdict::pass; });
}

SelftestResult selftest(const std::vector<const CaseInfo*>& cases, const SelftestOptions& options) {
  std::vector<Task> tasks = plan(cases, options);
  run_tasks(tasks, options);
  SelftestResult result;
  result.interrupted = options.interrupter != nullptr && options.interrupter->fired();
  std::erase_if(tasks, [](const Task& task) { return !task.result.finished; });  // nobody knows about those

  std::map<std::string_view, std::vector<std::string>> caught_by;
  std::map<std::pair<const CaseInfo*, const Deviation*>, std::vector<const Task*>> found;
  for (const Task& task : tasks) {
    found[{task.info, task.deviation}].push_back(&task);
    if (task.deviation == nullptr) continue;
    if (task.result.verdict == Verdict::fail) {
      auto& names = caught_by[task.deviation->name];
      if (names.empty() || names.back() != task.info->name) names.emplace_back(task.info->name);
    } else if (task.result.verdict == Verdict::error) {
      result.broken.push_back(std::string(task.info->name) + " on " + std::string(task.deviation->name) + ": " + reason_over(task));
    }
  }
  for (const CaseInfo* info : cases) {
    const Task* honest = outcome_of(found[{info, nullptr}], Verdict::pass);
    if (honest == nullptr) continue;  // not over this transport, or interrupted before
    SelftestCase one{info, honest->result.verdict, reason_over(*honest), {}};
    for (const Deviation* deviation : deviations::deviations_of(info->requirement)) {
      const Task* task = outcome_of(found[{info, deviation}], Verdict::fail);
      if (task == nullptr) continue;
      one.deviations.push_back({deviation, task->result.verdict, reason_over(*task), caught_by[deviation->name]});
      ++(task->result.verdict == Verdict::fail ? result.caught : result.missed);
    }
    if (one.deviations.empty() && result.interrupted) continue;
    if (one.deviations.empty()) ++result.without_deviation;
    result.cases.push_back(std::move(one));
  }
  for (const Deviation* deviation : deviations::all_deviations()) {
    const bool named =
        std::any_of(cases.begin(), cases.end(), [&](const CaseInfo* info) { return info->requirement == deviation->requirement; });
    if (named) {
      ++result.deviations;
    } else {
      result.without_case.emplace_back(deviation->name);
    }
  }
  return result;
}

}  // namespace fb::conformance
