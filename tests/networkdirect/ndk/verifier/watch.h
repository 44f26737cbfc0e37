// Findings, gathered; and what puts a verifier between the consumers of tests and their providers.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "networkdirect/ndk/verifier/verifier.h"

namespace fb::ndk::verifier {

struct Findings final : FindingSink {
  void found(const Finding& finding) override;
  /// The names of the rules of which something was found since the last time, in order, each once.
  std::vector<std::string> take() {
    std::set<Rule> rules;
    for (const Finding& finding : all) rules.insert(finding.rule->rule);
    all.clear();
    std::vector<std::string> names;
    for (const Rule rule : rules) names.emplace_back(entry_of(rule).name);
    return names;
  }
  std::string story() const {
    std::string text;
    for (const Finding& finding : all) {
      text += std::string(finding.rule->name) + ": " + finding.object + ": " + finding.text + "\n";
    }
    return text;
  }
  std::vector<Finding> all;
};

/// What watches that were not strict have found since the last time: names of rules.
std::set<std::string> found_by_watches();

}  // namespace fb::ndk::verifier
