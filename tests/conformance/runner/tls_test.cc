// The embedded products over TLS: data, reconnecting, and secure channel concatenation.
#include <gtest/gtest.h>

#include "conformance/cases/tcp/tls_common.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {
namespace {

using namespace tls_cases;

struct Rig {
  explicit Rig(void (*arrange)(EmbeddedSetup&), std::string_view transport = "tcp")
      : environment{&product, &honest, &cache, arrange, transport}, bench(*world, environment) {}
  std::unique_ptr<World> world = World::make_virtual(7);
  Product product;
  deviations::DeviationSet honest;
  DeclarationCache cache;
  Environment environment;
  HostBench bench;
};

void moves_data(Rig& rig) {
  Bytes& out = rig.bench.keep(Bytes(8192, 0x42));
  ASSERT_TRUE(rig.bench.product().write(1, 8, out).wait().ok());
  Bytes& in = rig.bench.keep(Bytes(8192));
  ASSERT_TRUE(rig.bench.product().read(1, 8, in).wait().ok());
  EXPECT_EQ(in, out);
}

TEST(EmbeddedTls, CarriesAnAssociation) {
  Rig rig(&tls_required);
  rig.bench.connect_product({.io_queues = 2});
  moves_data(rig);
  ASSERT_EQ(rig.bench.identities().size(), 3u);
  for (const std::string& identity : rig.bench.identities()) EXPECT_EQ(identity.substr(0, 8), "NVMe1R01");
}

TEST(EmbeddedTls, AHostWithoutAKeySaysSo) {
  Rig rig(&tls_required);
  rig.bench.connect_options().tls = host::TlsUse::never;
  const HostOutcome outcome = rig.bench.product().connect({}).wait();
  EXPECT_FALSE(outcome.ok);
  EXPECT_TRUE(rig.bench.commands().empty());
}

TEST(EmbeddedTls, ConcatenationGoesThroughToData) {
  Rig rig(&concatenating);
  rig.bench.connect_product({.io_queues = 2});
  moves_data(rig);
  const auto& identities = rig.bench.identities();
  ASSERT_EQ(identities.size(), 4u);
  EXPECT_TRUE(identities[0].empty());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(identities[i].substr(0, 8), "NVMe1G01");
}

TEST(EmbeddedTls, AfterALossAnotherPskIsMade) {
  Rig rig(&concatenating);
  rig.bench.connect_product({});
  const std::string first = rig.bench.identities().back();
  rig.bench.forget_seen();
  rig.bench.subsystem().end_associations("a test");
  ASSERT_TRUE(rig.bench.run_until([&] { return rig.bench.identities().size() >= 3; }, Duration::s(60)));
  moves_data(rig);
  EXPECT_TRUE(rig.bench.identities()[0].empty());
  EXPECT_NE(rig.bench.identities().back(), first);
}

TEST(EmbeddedTls, OverRdmaNoSecureChannelIsAskedFor) {
  Rig rig(&concatenating, "rdma");
  rig.bench.connect_product({});
  for (const SeenCommand* seen : rig.bench.fabrics_commands(0x05)) {
    const auto negotiate = fabrics::AuthNegotiate::parse(seen->data);
    if (negotiate) {
      EXPECT_EQ(negotiate->sc_c, 0);
    }
  }
}

TEST(EmbeddedTls, AHostThatMustHaveTheChannelTakesNoLess) {
  Rig rig(&concatenating, "rdma");
  rig.bench.connect_options().authentication.secure_channel_required = true;
  EXPECT_FALSE(rig.bench.product().connect({}).wait().ok);
}

}  // namespace
}  // namespace fb::conformance
