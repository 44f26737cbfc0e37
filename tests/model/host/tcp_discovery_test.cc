// Discovery over NVMe/TCP, on port 8009.
#include <gtest/gtest.h>

#include "tests/model/host/tcp_rig.h"

namespace fb::host {
namespace {

constexpr const char* kUniqueNqn = "nqn.2026-11.org.example:discovery.7";

/// A target whose discovery service has a port of its own.
struct DiscoveryRig : TcpRig {
  explicit DiscoveryRig(const TcpRigOptions& options = {}) : TcpRig(options) {
    subsystem::PortOptions second;
    second.portid = 2;
    target->add_port(second);
    target->hide(target->port(2), *disk);
    transport::ControllerFabricOptions bounds;
    bounds.port = 8009;
    finder_port = transport::TcpControllerFabric::start(*world, target_end, address(2), bounds, {}, target->acceptor(2), nullptr).value();
    target->set_listener(2, *finder_port);
  }
  ~DiscoveryRig() {
    peers.clear();
    host.reset();
    target.reset();
  }
  static DiscoveryOptions ask(std::uint16_t port = 8009) {
    DiscoveryOptions options;
    options.to = {address(2), port};
    return options;
  }
  std::unique_ptr<transport::TcpControllerFabric> finder_port;
};

TEST(TcpDiscovery, ThePortOfDiscoveryListsTheSubsystemWhereItIs) {
  DiscoveryRig rig;
  DiscoveryClient client(*rig.host);
  const auto outcome = client.discover(rig.ask()).wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().text;
  ASSERT_EQ(outcome->entries.size(), 1u);
  const DiscoveredEntry& entry = outcome->entries[0];
  EXPECT_EQ(entry.trtype, fabrics::TransportType::tcp);
  EXPECT_EQ(entry.to, rig.listener->local());
  EXPECT_EQ(entry.subnqn, rig.disk->options().nqn);
  EXPECT_NE(rig.connect(options_for(*rig.host, entry).value()), nullptr);
  // The subsystem is not to be had on the port of discovery.
  ConnectOptions there = rig.to();
  there.to.port = 8009;
  EXPECT_EQ(rig.connect(there), nullptr);
}

TEST(TcpDiscovery, TheServiceAnswersToBothOfItsNames) {
  TcpRigOptions options;
  options.discovery.unique_nqn = kUniqueNqn;
  DiscoveryRig rig(options);
  for (const std::string_view name : {fabrics::kDiscoveryNqn, std::string_view(kUniqueNqn)}) {
    DiscoveryClient client(*rig.host);
    DiscoveryOptions ask = rig.ask();
    ask.subnqn = name;
    const auto outcome = client.discover(ask).wait();
    ASSERT_TRUE(outcome.ok()) << name << ": " << outcome.error().text;
    EXPECT_EQ(outcome->entries.size(), 1u);
  }
  DiscoveryClient client(*rig.host);
  DiscoveryOptions wrong = rig.ask();
  wrong.subnqn = "nqn.2026-11.org.example:discovery.8";
  EXPECT_FALSE(client.discover(wrong).wait().ok());
}

subsystem::SubsystemOptions named(const std::string& name) {
  subsystem::SubsystemOptions options;
  options.nqn = "nqn.2026-11.org.example:" + name;
  return options;
}

TEST(TcpDiscovery, APersistentConnectionHearsOfEveryChange) {
  DiscoveryRig rig;
  DiscoveryClient client(*rig.host);
  std::vector<std::size_t> seen;
  client.set_on_change([&](const DiscoveryResult& log) { seen.push_back(log.entries.size()); });
  DiscoveryOptions ask = rig.ask();
  ask.persistent = true;
  ASSERT_TRUE(client.discover(ask).wait().ok());
  for (const char* name : {"more.1", "more.2"}) {
    rig.target->add_subsystem(named(name));
    rig.target->hide(rig.target->port(2), *rig.target->subsystems().back());
    rig.world->run_for(Duration::s(300));  // longer than KATO
  }
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), 3u);
  EXPECT_TRUE(client.persistent_controller()->live());
  rig.target->remove_subsystem(*rig.target->subsystems().back());
  rig.world->run_for(Duration::s(1));
  EXPECT_EQ(seen.back(), 2u);
  client.leave();
  rig.world->run_for(Duration::s(60));
  EXPECT_EQ(client.persistent_controller(), nullptr);
  EXPECT_EQ(rig.finder_port->connections(), 0u);
}

// What changed while the connection was away is seen when it is back.
TEST(TcpDiscovery, ALostPersistentConnectionComesBackAndReadsAgain) {
  DiscoveryRig rig;
  DiscoveryClient client(*rig.host);
  std::vector<std::size_t> seen;
  client.set_on_change([&](const DiscoveryResult& log) { seen.push_back(log.entries.size()); });
  DiscoveryOptions ask = rig.ask();
  ask.persistent = true;
  ASSERT_TRUE(client.discover(ask).wait().ok());
  rig.target->discovery().subsystem().end_associations("the cable");
  rig.target->add_subsystem(named("while.away"));
  rig.target->hide(rig.target->port(2), *rig.target->subsystems().back());
  rig.world->run_for(Duration::s(20));
  EXPECT_EQ(seen, std::vector<std::size_t>{2});
  rig.target->add_subsystem(named("later"));
  rig.target->hide(rig.target->port(2), *rig.target->subsystems().back());
  rig.world->run_for(Duration::s(1));
  EXPECT_EQ(seen.back(), 3u);
}

// A first log that cannot be read leaves no connection behind.
TEST(TcpDiscovery, APersistentDiscoveryThatFailsLeavesNothing) {
  class Never final : public subsystem::SubsystemHooks {
   public:
    std::optional<nvme::Status> admission(const subsystem::CommandContext& command) override {
      if (command.sqe[0] == 0x02) return nvme::sc::internal_error.with_dnr();
      return std::nullopt;
    }
  } hooks;
  TcpRig rig;
  std::unique_ptr<transport::TcpControllerFabric> listener;
  subsystem::Target other(*rig.world, &hooks);
  other.add_port({});
  transport::ControllerFabricOptions bounds;
  bounds.port = 8009;
  listener = rig.listen(other, bounds);
  {
    DiscoveryClient client(*rig.host);
    DiscoveryOptions ask = DiscoveryRig::ask();
    ask.persistent = true;
    EXPECT_FALSE(client.discover(ask).wait().ok());
    rig.world->run_for(Duration::s(60));
    EXPECT_EQ(client.persistent_controller(), nullptr);
  }
  EXPECT_EQ(listener->connections(), 0u);
  rig.host.reset();
}

TEST(TcpDiscovery, ReferralsLeadToOtherServicesByEitherName) {
  DiscoveryRig rig;
  std::unique_ptr<transport::TcpControllerFabric> listener;
  subsystem::DiscoveryOptions named_service;
  named_service.unique_nqn = kUniqueNqn;
  subsystem::Target other(*rig.world, nullptr, named_service);
  other.add_subsystem(named("elsewhere"));
  other.add_port({});
  transport::ControllerFabricOptions bounds;
  bounds.port = 8010;
  listener = rig.listen(other, bounds);
  other.set_listener(1, *listener);
  const std::string traddr = to_string(TcpRig::address(2));
  rig.target->discovery().add_referral({.subnqn = kUniqueNqn, .traddr = traddr, .trsvcid = "8010", .trtype = 3});
  // Of the other transport: listed, and not asked.
  rig.target->discovery().add_referral({.traddr = traddr, .trsvcid = "4420", .trtype = 1});
  // Back again: asked once.
  other.discovery().add_referral({.traddr = traddr, .trsvcid = "8009", .trtype = 3});
  {
    DiscoveryClient client(*rig.host);
    const auto outcome = client.discover(rig.ask()).wait();
    ASSERT_TRUE(outcome.ok()) << outcome.error().text;
    EXPECT_EQ(outcome->services, 2u);
    EXPECT_TRUE(outcome->unreachable.empty());
    std::vector<std::string> found;
    for (const DiscoveredEntry& entry : outcome->entries) {
      if (entry.subtype == fabrics::SubsystemType::nvm) found.push_back(entry.subnqn);
    }
    EXPECT_EQ(found, (std::vector<std::string>{rig.disk->options().nqn, "nqn.2026-11.org.example:elsewhere"}));
    DiscoveryOptions alone = rig.ask();
    alone.follow_referrals = false;
    EXPECT_EQ(client.discover(alone).wait()->services, 1u);
  }
  rig.host.reset();
}

}  // namespace
}  // namespace fb::host
