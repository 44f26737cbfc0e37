#include "tests/networkdirect/ndk/verifier/watch.h"

#include "tests/networkdirect/ndk/consumer/providers.h"

namespace fb::ndk::verifier {

namespace {

std::set<std::string>& gathered() {
  static std::set<std::string> names;
  return names;
}

/// All of this program.
std::set<Rule>& ever_found() {
  static std::set<Rule> rules;
  return rules;
}

/// A rule of which no test finds anything is none. Only a run of all tests can tell.
class AllRules final : public ::testing::Environment {
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) != "*" || ::testing::UnitTest::GetInstance()->Failed()) return;
    for (const RuleEntry& entry : rules()) EXPECT_TRUE(ever_found().contains(entry.rule)) << entry.name << " is never found";
  }
};

class WatchingVerifier final : public ndk::testing::Watch {
 public:
  WatchingVerifier(Kernel& kernel, bool strict) : strict_(strict), verifier_(kernel, {}, findings_) {}
  ~WatchingVerifier() override {
    if (strict_) {
      // Tests of a provider connect before they post a Receive, and poll queues that have a callback: advised against only.
      std::erase_if(findings_.all, [](const Finding& finding) {
        return finding.rule->rule == Rule::receives_late || finding.rule->rule == Rule::cq_never_armed;
      });
      EXPECT_EQ(findings_.story(), "");
      EXPECT_EQ(verifier_.living_objects(), 0u);
    }
    for (const Finding& finding : findings_.all) gathered().emplace(finding.rule->name);
  }
  NDK_ADAPTER& wrap(NDK_ADAPTER& adapter) override { return verifier_.wrap(adapter); }
  void close(NDK_ADAPTER& adapter, const std::function<void(NDK_ADAPTER&)>& close_inner) override { verifier_.close(adapter, close_inner); }

 private:
  const bool strict_;
  Findings findings_;
  Verifier verifier_;
};

[[maybe_unused]] const bool kWatching = [] {
  ndk::testing::make_watch = [](Kernel& kernel, bool strict) { return std::make_unique<WatchingVerifier>(kernel, strict); };
  ::testing::AddGlobalTestEnvironment(new AllRules);
  return true;
}();

}  // namespace

void Findings::found(const Finding& finding) {
  ever_found().insert(finding.rule->rule);
  all.push_back(finding);
}

std::set<std::string> found_by_watches() { return std::exchange(gathered(), {}); }

}  // namespace fb::ndk::verifier
