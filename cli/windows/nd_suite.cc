// The cases on NetworkDirect providers, as a program for Windows: what `fabricbench run --suite networkdirect --role provider
// --dut ND:LIBRARY` is on Linux. Exit code 0 when cases passed, and none did otherwise, skipped ones aside;
// 1 otherwise, 2 for wrong arguments.
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "conformance/runner/provider_bench.h"

namespace fb::conformance {

// No NetworkDirect case asks what a product declares, so nobody needs the benches that would find out.
const Declared& DeclarationCache::of(const Product&, void (*)(EmbeddedSetup&), std::string_view, const Lane*) {
  throw UserError("cases of this program need no declarations");
}

namespace {

constexpr std::string_view kUsage =
    "nd_suite LIBRARY [TEXT ...]: runs the cases on NetworkDirect providers, all or those with one of the texts in their names\n";
/// In real time, cases that last longer are not run.
constexpr Duration kLong = Duration::s(10);

/// The case in a world of its own; what it throws becomes the verdict.
void run(const CaseInfo& info, const Environment& environment, std::uint64_t seed, Check& check) {
  try {
    const auto world = World::make_real(seed);
    world->set_patience(std::min(world->patience(), info.options.budget));
    ProviderBench bench(*world, environment);
    info.body(bench, check);
    if (check.verdict() == Verdict::none) check.raise(Verdict::error, "the case checked nothing");
  } catch (const LeaveCase&) {
  } catch (const CannotArrange& cannot) {
    check.raise(Verdict::inconclusive, cannot.why);
  } catch (const WaitFailure& failure) {
    check.fails("the product's answer", {"an answer"}, failure.what());
  } catch (const UserError& problem) {
    check.raise(Verdict::inconclusive, problem.what());
  } catch (const std::exception& broken) {
    check.raise(Verdict::error, broken.what());
  }
}

bool chosen(const CaseInfo& info, std::span<char* const> texts) {
  if (info.role != Role::provider || info.suite() != "networkdirect") return false;
  if (texts.empty()) return true;
  for (const char* const text : texts) {
    if (info.name.find(text) != std::string_view::npos) return true;
  }
  return false;
}

int run_all(const std::string& library, std::span<char* const> texts) {
  Product product;
  product.url = "ND:" + library;
  product.embedded = false;
  product.path = library;
  const deviations::DeviationSet honest;
  DeclarationCache declarations;
  std::random_device seed;
  unsigned counts[6] = {}, spared = 0;
  for (const CaseInfo* info : all_cases()) {
    if (!chosen(*info, texts)) continue;
    Check check;
    Verdict verdict = Verdict::skip;
    std::string reason;
    if (info->options.lasting > kLong) {
      reason = "lasts " + to_string(info->options.lasting) + " in real time";
    } else if (!info->options.arrangement.empty()) {
      reason = "needs what only an emulated product offers";
    } else {
      const Environment environment{&product, &honest, &declarations, info->options.arrange, kProviderTransport};
      run(*info, environment, seed(), check);
      verdict = check.verdict();
      reason = check.reason();
      if (const std::string why = why_unconfirmed(*info); verdict == Verdict::fail && !why.empty()) {
        verdict = Verdict::inconclusive;
        reason = why + " (" + reason + ")";
        ++spared;
      }
    }
    ++counts[static_cast<std::size_t>(verdict)];
    std::printf("%-12s %s%s%s\n", std::string(name_of(verdict)).c_str(), std::string(info->name).c_str(), reason.empty() ? "" : ": ",
                reason.c_str());
    std::fflush(stdout);
  }
  const auto count = [&](Verdict verdict) { return counts[static_cast<std::size_t>(verdict)]; };
  std::printf("%u passed, %u failed, %u errors, %u inconclusive, %u skipped\n", count(Verdict::pass), count(Verdict::fail),
              count(Verdict::error), count(Verdict::inconclusive), count(Verdict::skip));
  const bool others = count(Verdict::fail) + count(Verdict::error) + count(Verdict::inconclusive) > spared;
  return count(Verdict::pass) > 0 && !others ? 0 : 1;
}

}  // namespace
}  // namespace fb::conformance

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fputs(fb::conformance::kUsage.data(), stderr);
    return 2;
  }
  return fb::conformance::run_all(argv[1], std::span(argv + 2, static_cast<std::size_t>(argc - 2)));
}
