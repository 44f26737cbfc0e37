// A GoogleTest fixture with a world, a subsystem, a host, a bus and faults, each made when it is first asked for.
//
//   #include <fabricbench/gtest.h>
//
//   TEST_F(Storage, KeepsWhatWasWritten) {        // class Storage : public fabricbench::Test {};
//     requirement("nvme.write.data");
//     auto association = connect();
//     association.write(1, 0, fabricbench::Bytes(512, 0xA5));
//     EXPECT_EQ(association.read(1, 0), fabricbench::Bytes(512, 0xA5));
//   }
//
// A test that failed prints what was exchanged, the requirement, the seed, and the command that repeats it. The seed is that of
// FABRICBENCH_SEED, or 1; with FABRICBENCH_CAPTURES a failed test leaves a capture in that folder. A rule of the specifications
// that the traffic broke fails the test, unless it called allow_broken_rules().
#pragma once

#include <fabricbench/suite.h>
#include <fabricbench/world.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace fabricbench {

class Test : public ::testing::Test {
 protected:
  static std::uint64_t seed() {
    const char* const text = std::getenv("FABRICBENCH_SEED");
    return text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
  }

  World& world() {
    if (world_ == nullptr) world_ = std::make_unique<World>(seed());
    return *world_;
  }
  /// With one namespace.
  Subsystem& subsystem() {
    if (!subsystem_) {
      subsystem_ = world().add_subsystem();
      subsystem_->add_namespace();
    }
    return *subsystem_;
  }
  /// Over NVMe/TCP.
  Host& host() {
    if (!host_) host_ = world().add_host();
    return *host_;
  }
  Bus& bus() {
    if (!bus_) bus_ = world().add_bus();
    return *bus_;
  }
  Faults faults() { return world().faults(); }
  Association connect(const ConnectOptions& options = {}) { return host().connect(subsystem(), options); }

  /// What the test is about: by its id in the ledger. It is a property of the test's result.
  void requirement(const std::string& id) {
    requirement_ = requirement_text(id);
    RecordProperty("requirement", id);
  }
  void allow_broken_rules() { rules_may_be_broken_ = true; }

  void TearDown() override {
    if (world_ == nullptr) return;
    if (!rules_may_be_broken_) {
      for (const Finding& one : world_->findings()) {
        if (one.mandatory) ADD_FAILURE() << one.actor << ": " << one.text << " (" << one.rule << ", " << one.requirement << ")";
      }
    }
    if (HasFailure()) explain();
  }

 private:
  void explain() {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = std::string(info->test_suite_name()) + "." + info->name();
    std::cout << "\n" << world_->ladder();
    if (!requirement_.empty()) std::cout << "requirement  " << requirement_ << "\n";
    if (const char* const folder = std::getenv("FABRICBENCH_CAPTURES"); folder != nullptr) {
      std::string file = name;
      for (char& c : file) {
        if (c == '/') c = '-';
      }
      try {
        world_->save_capture(std::string(folder) + "/" + file + ".pcapng");
        std::cout << "capture      " << folder << "/" << file << ".pcapng\n";
      } catch (const Error& problem) {
        std::cout << "capture      " << problem.what() << "\n";
      }
    }
    const auto arguments = ::testing::internal::GetArgvs();
    std::cout << "seed         " << world_->seed() << "\n"
              << "again with   FABRICBENCH_SEED=" << world_->seed() << " '" << (arguments.empty() ? "./test" : arguments.front())
              << "' --gtest_filter='" << name << "'\n";
  }

  std::unique_ptr<World> world_;
  std::optional<Subsystem> subsystem_;
  std::optional<Host> host_;
  std::optional<Bus> bus_;
  std::string requirement_;
  bool rules_may_be_broken_ = false;
};

}  // namespace fabricbench
