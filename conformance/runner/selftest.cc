#include "conformance/runner/selftest.h"

#include <algorithm>
#include <map>

namespace fb::conformance {

namespace {

using deviations::Deviation;
using deviations::Product;

/// Whether a deviation of this product can be seen by cases of this kind.
bool concerns(const Deviation& deviation, const CaseInfo& info) {
  switch (deviation.product) {
    case Product::controller: return info.role == Role::controller;
    case Product::host: return info.role == Role::host;
    case Product::rdma: return info.suite() == "rdma";
    case Product::cm: return info.suite() == "cm";
  }
  return false;
}

struct Task {
  const CaseInfo* info;
  const Deviation* deviation;  ///< null: honest
  CaseResult result = {};
};

std::vector<Task> plan(const std::vector<const CaseInfo*>& cases, bool cross) {
  std::vector<Task> tasks;
  for (const CaseInfo* info : cases) tasks.push_back({info, nullptr});
  for (const Deviation* deviation : deviations::all_deviations()) {
    for (const CaseInfo* info : cases) {
      const bool named = info->requirement == deviation->requirement;
      if (named || (cross && concerns(*deviation, *info))) tasks.push_back({info, deviation});
    }
  }
  return tasks;
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
    run.factory = options.factory;
    run.interrupter = options.interrupter;
    if (task.deviation != nullptr) run.deviations = deviations::DeviationSet({task.deviation});
    try {
      task.result = run_case(*task.info, run, declarations);
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
         std::all_of(cases.begin(), cases.end(),
                     [](const SelftestCase& one) { return one.honest == Verdict::pass; });
}

SelftestResult selftest(const std::vector<const CaseInfo*>& cases, const SelftestOptions& options) {
  std::vector<Task> tasks = plan(cases, options.cross);
  run_tasks(tasks, options);
  SelftestResult result;
  result.interrupted = options.interrupter != nullptr && options.interrupter->fired();

  std::map<std::string_view, std::vector<std::string>> caught_by;
  for (const Task& task : tasks) {
    if (task.deviation == nullptr) continue;
    if (task.result.verdict == Verdict::fail) {
      caught_by[task.deviation->name].emplace_back(task.info->name);
    } else if (task.result.verdict == Verdict::error) {
      result.broken.push_back(std::string(task.info->name) + " on " + std::string(task.deviation->name) +
                              ": " + task.result.reason);
    }
  }
  for (const Task& task : tasks) {
    if (task.deviation == nullptr) {
      result.cases.push_back({task.info, task.result.verdict, task.result.reason, {}});
    }
  }
  for (SelftestCase& one : result.cases) {
    for (const Task& task : tasks) {
      if (task.info != one.info || task.deviation == nullptr ||
          task.deviation->requirement != one.info->requirement) {
        continue;
      }
      one.deviations.push_back({task.deviation, task.result.verdict, task.result.reason,
                                caught_by[task.deviation->name]});
      ++(task.result.verdict == Verdict::fail ? result.caught : result.missed);
    }
    if (one.deviations.empty()) ++result.without_deviation;
  }
  for (const Deviation* deviation : deviations::all_deviations()) {
    const bool named = std::any_of(cases.begin(), cases.end(), [&](const CaseInfo* info) {
      return info->requirement == deviation->requirement;
    });
    if (named) {
      ++result.deviations;
    } else {
      result.without_case.emplace_back(deviation->name);
    }
  }
  return result;
}

}  // namespace fb::conformance
