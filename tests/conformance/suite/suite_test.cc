// What all cases and deviations have in common, whoever wrote them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "conformance/requirements/ledger.h"
#include "conformance/requirements/titles.h"
#include "conformance/runner/case.h"
#include "conformance/runner/runner.h"
#include "model/tls/tls_side.h"
#include "model/auth/fault_points.h"
#include "model/deviations/deviation.h"
#include "model/host/fault_points.h"
#include "model/host/recovery_fault_points.h"
#include "model/mi/checks.h"
#include "model/mi/fault_points.h"
#include "model/subsystem/association_fault_points.h"
#include "model/subsystem/command_fault_points.h"
#include "model/subsystem/cross_reset_fault_points.h"
#include "model/subsystem/kv_fault_points.h"
#include "model/subsystem/placement_fault_points.h"
#include "model/subsystem/registration_fault_points.h"
#include "model/subsystem/zrwa_fault_points.h"
#include "model/subsystem/checks.h"
#include "model/subsystem/fault_points.h"
#include "model/transport/fault_points.h"
#include "model/transport/tcp_controller_fault_points.h"
#include "model/transport/tcp_host_fault_points.h"
#include "sim/mctp/fault_points.h"
#include "networkdirect/ndk/consumer/fault_points.h"
#include "networkdirect/consumer/fault_points.h"
#include "sim/rdma/softroce/cm_fault_points.h"
#include "sim/rdma/softroce/fault_points.h"
#include "sim/rdma/softroce/finer_fault_points.h"

namespace fb::conformance {
namespace {

using deviations::Product;

TEST(Suite, EveryCaseHasATitleAndNoTitleIsLeftOver) {
  std::set<std::string_view> cases;
  for (const CaseInfo* info : all_cases()) {
    cases.insert(info->name);
    EXPECT_NE(title_of(info->name), info->name) << "a line in conformance/requirements/titles is missing";
  }
  for (const CaseTitle& one : case_titles()) EXPECT_TRUE(cases.contains(one.name)) << one.name << ": no such case";
}

TEST(Suite, EveryCaseJudgesARoleThatItsRequirementSpeaksOf) {
  ASSERT_FALSE(all_cases().empty());
  for (const CaseInfo* info : all_cases()) {
    const Requirement* requirement = find_requirement(info->requirement);
    ASSERT_NE(requirement, nullptr) << info->name;
    const auto& roles = requirement->roles;
    EXPECT_NE(std::find(roles.begin(), roles.end(), name_of(info->role)), roles.end())
        << info->name << ": " << info->requirement << " is not about the " << name_of(info->role);
    EXPECT_TRUE(requirement->state.empty()) << info->requirement << " has a case and is not " << requirement->state;
  }
}

TEST(Suite, EveryDeviationBreaksARequirementOfTheLedger) {
  for (const auto* deviation : deviations::all_deviations()) {
    EXPECT_NE(find_requirement(deviation->requirement), nullptr) << deviation->name;
    EXPECT_FALSE(deviation->what.empty()) << deviation->name;
  }
}

/// Every name at which a product asks its hooks whether to depart.
std::set<std::string, std::less<>> points_of(Product product) {
  std::set<std::string, std::less<>> points;
  if (product == Product::controller || product == Product::host) {
    for (const auto& one : tls::kFaultPoints) points.insert("tcp.tls." + std::string(one.name));
    for (const auto& one : transport::kTlsSidePoints) points.insert("tcp.tls." + std::string(one.name));
  }
  switch (product) {
    case Product::controller:
      for (const auto& one : subsystem::kSubsystemFaultPoints) points.emplace(one.name);
      for (const auto& one : subsystem::kAssociationFaultPoints) points.emplace(one.name);
      for (const auto& one : subsystem::kCommandFaultPoints) points.emplace(one.name);
      for (const auto& one : subsystem::kPlacementFaultPoints) points.emplace(one.name);
      for (const auto& one : subsystem::kCrossResetFaultPoints) points.emplace(one.name);
      for (const auto& one : subsystem::kKvFaultPoints) points.emplace(one.name);
      for (const auto& one : subsystem::kRegistrationFaultPoints) points.emplace(one.name);
      for (const auto& one : subsystem::kZrwaFaultPoints) points.emplace(one.name);
      for (const auto& one : transport::kTransportFaultPoints) points.emplace(one.name);
      for (const auto& one : transport::kTcpControllerFaultPoints) points.emplace(one.name);
      for (const auto& one : auth::kAuthFaultPoints) points.emplace(one.name);
      for (const auto& one : mi::kEndpointFaultPoints) points.emplace(one.name);
      break;
    case Product::host:
      for (const auto& one : auth::kAuthFaultPoints) points.emplace(one.name);
      for (const auto& one : host::kHostFaultPoints) points.emplace(one.name);
      for (const auto& one : host::kRecoveryFaultPoints) points.emplace(one.name);
      for (const auto& one : transport::kTransportFaultPoints) points.emplace(one.name);
      for (const auto& one : transport::kTcpHostFaultPoints) points.emplace(one.name);
      break;
    case Product::rdma:
      for (const auto& one : softroce::soft_fault_points()) points.emplace(one.name);
      for (const auto& one : softroce::kFinerFaultPoints) points.emplace(one.name);
      break;
    case Product::cm:
      for (const auto& one : softroce::cm_fault_points()) points.emplace(one.name);
      for (const auto& one : softroce::soft_fault_points()) points.emplace(one.name);
      for (const auto& one : softroce::kFinerFaultPoints) points.emplace(one.name);
      break;
    case Product::endpoint:
      for (const auto& one : mi::kEndpointFaultPoints) points.emplace(one.name);
      for (const auto& one : mctp::kFaultPoints) points.emplace(one.name);
      break;
    case Product::management_requester:
      for (const auto& one : mi::kRequesterFaultPoints) points.emplace(one.name);
      for (const auto& one : mctp::kFaultPoints) points.emplace(one.name);
      break;
    case Product::bus:
      for (const auto& one : mctp::kFaultPoints) points.emplace(one.name);
      break;
    case Product::nd_consumer:
      for (const auto& one : networkdirect::kConsumerFaultPoints) points.emplace(one.name);
      break;
    case Product::ndk_consumer:
      for (const auto& one : ndk::kConsumerFaultPoints) points.emplace(one.name);
      break;
    // Deviations name these by the constants of their headers.
    case Product::nd_provider:
    case Product::ndk_provider:
      break;
  }
  return points;
}

TEST(Suite, EveryDeviationNamesAPointOrCheckThatExists) {
  std::set<std::string_view> checks;
  for (const auto& check : subsystem::kChecks) checks.insert(check.name);
  for (const auto& check : mi::kChecks) checks.insert(check.name);
  for (const auto* deviation : deviations::all_deviations()) {
    const auto* departs = std::get_if<deviations::Departs>(&deviation->effect);
    const auto points = points_of(deviation->product);
    if (departs != nullptr && !points.empty()) {
      EXPECT_TRUE(points.contains(departs->point)) << deviation->name << ": no point '" << departs->point << "'";
    }
    if (const auto* tolerate = std::get_if<deviations::Tolerate>(&deviation->effect)) {
      EXPECT_TRUE(checks.contains(tolerate->check)) << deviation->name << ": no check '" << tolerate->check << "'";
    }
    if (const auto* answer = std::get_if<deviations::AnswerMi>(&deviation->effect)) {
      EXPECT_TRUE(checks.contains(answer->check)) << deviation->name << ": no check '" << answer->check << "'";
    }
    if (const auto* answer = std::get_if<deviations::AnswerWith>(&deviation->effect)) {
      EXPECT_TRUE(checks.contains(answer->check)) << deviation->name << ": no check '" << answer->check << "'";
    }
  }
}

TEST(Suite, EveryDepartureOfConsumersIsADeviation) {
  for (const Product product : {Product::nd_consumer, Product::ndk_consumer}) {
    std::set<std::string, std::less<>> named;
    for (const auto* deviation : deviations::all_deviations()) {
      const auto* departs = std::get_if<deviations::Departs>(&deviation->effect);
      if (departs != nullptr && deviation->product == product) named.emplace(departs->point);
    }
    EXPECT_EQ(named, points_of(product)) << name_of(product);
  }
}

TEST(Suite, RunsTwiceToOneDigestWhateverTheJobs) {
  RunOptions options;
  options.twice = true;
  const RunResult one = run_cases(all_cases(), options);
  options.jobs = 2;
  const RunResult two = run_cases(all_cases(), options);
  EXPECT_EQ(one.digest, two.digest);
  EXPECT_TRUE(one.canary_caught);
  for (const CaseResult& result : one.cases) {
    EXPECT_EQ(result.verdict, Verdict::pass) << result.info->name << ": " << result.reason;
  }
}

}  // namespace
}  // namespace fb::conformance
