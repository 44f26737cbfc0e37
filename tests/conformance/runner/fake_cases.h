// Cases on a bench without any product, for tests of the machinery around cases.
#pragma once

#include "conformance/runner/runner.h"

namespace fb::conformance::test {

class FakeBench final : public Bench {
 public:
  using Bench::Bench;
  void finish() override {
    if (finish_breaks) BENCH_ASSERT(false, "the bench broke while it cleaned up");
  }
  bool finish_breaks = false;
};

inline std::unique_ptr<Bench> make_fake(World& world, Role, const Environment&) { return std::make_unique<FakeBench>(world); }

/// A case that is in no registry.
inline CaseInfo fake_case(std::string_view name, void (*body)(Bench&, Check&),
                          std::string_view requirement = "fabrics.connect.sqsize.minimum") {
  static const CaseOptions usual;
  return {name, requirement, Role::controller, body, usual, __FILE__};
}

inline RunOptions fake_options() {
  RunOptions options;
  options.factory = &make_fake;
  options.product.transport = "rdma";
  return options;
}

inline CaseResult run_fake(const CaseInfo& info, const RunOptions& options = fake_options()) {
  DeclarationCache declarations;
  return run_case(info, info.options.transports.front(), options, declarations);
}

}  // namespace fb::conformance::test
