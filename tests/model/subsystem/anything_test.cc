// Every opcode, feature, log page and CNS with fields drawn at random, a million commands in all: each gets one answer
// with a status that exists, and the subsystem stays in order.
#include <gtest/gtest.h>

#include <set>

#include "tests/model/subsystem/rig.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::subsystem::test {
namespace {

constexpr int kSeeds = 20;
constexpr std::uint64_t kCommands = 50'000;  ///< of each seed
constexpr std::size_t kRoom = 16384;

class Anything : public ::testing::TestWithParam<int> {
 protected:
  Anything() : rng_(static_cast<std::uint64_t>(GetParam()), "anything"), rig_(options()) {
    NamespaceOptions more;
    more.block_bytes = 4096;
    more.blocks = 64;
    (void)rig_.disk->add_namespace(std::move(more));
    NamespaceOptions tagged;
    tagged.blocks = 64;
    tagged.metadata_bytes = 8;
    tagged.protection_type = 1;
    (void)rig_.disk->add_namespace(std::move(tagged));
    NamespaceOptions zoned;
    zoned.blocks = 64;
    zoned.zones = {.zone_blocks = 8,
                   .capacity = 7,
                   .max_active = 3,
                   .max_open = 2,
                   .extension_units = 1,
                   .variable_capacity = true,
                   .excursions = true};
    (void)rig_.disk->add_namespace(std::move(zoned));
  }

  SubsystemOptions options() {
    SubsystemOptions made;
    made.mdts = 2;
    made.zoned.supported = true;
    if (rng_.chance(1, 4)) made.version = fabrics::version(1, 4, 0);
    if (rng_.chance(1, 2)) made.endurance = {.groups = 2, .nvm_sets = rng_.chance(1, 2), .managed = rng_.chance(1, 2)};
    return made;
  }

  /// A controller that is enabled, with one I/O queue, from whatever state.
  void connect() {
    rig_.disk->end_associations("a new beginning");
    // A sanitize operation refuses nearly everything as long as it lasts: 16 passes at most.
    rig_.world->run_for(Duration::s(rig_.disk->sanitizer().running() ? 200 : 3));
    // What a command may have made lasting would make the rest of the run dull.
    for (const auto& [nsid, ns] : rig_.disk->namespaces()) ns->set_write_protection(0);
    rig_.disk->lockdown().lift_all();
    EnduranceGroups& groups = rig_.disk->endurance();
    if (rig_.disk->options().endurance.supported() && groups.groups().empty()) {
      const std::uint16_t group = groups.make_group(1 << 24);
      if (rig_.disk->options().endurance.nvm_sets) groups.make_set(group, 1 << 24);
    }
    if (rig_.disk->namespaces().empty()) {
      NamespaceOptions ns;
      ns.blocks = 1024;
      ASSERT_TRUE(rig_.disk->add_namespace(std::move(ns)));
    }
    ConnectWords words;
    words.hostid = static_cast<std::uint8_t>(1 + rng_.below(2));
    admin_.emplace(rig_.open());
    const Reply reply = Rig::connect(*admin_, words);
    ASSERT_TRUE(reply.status().ok()) << nvme::to_string(reply.status());
    const bool all_sets = rig_.disk->has_version(2, 0) && rng_.chance(3, 4);
    rig_.enable(*admin_, all_sets ? 0x00460061 : 0x00460001);
    words.qid = 1;
    words.sqsize = 127;
    words.cntlid = static_cast<std::uint16_t>(reply.dw0());
    io_.emplace(rig_.open(1));
    ASSERT_TRUE(Rig::connect(*io_, words).status().ok());
    waiting_ = 0;
  }

  std::uint32_t any_dword() {
    switch (rng_.below(5)) {
      case 0:
        return 0;
      case 1:
        return static_cast<std::uint32_t>(rng_.below(256));
      case 2:
        return static_cast<std::uint32_t>(rng_.below(4)) << rng_.below(31);
      case 3:
        return 0xFFFFFFFF;
      default:
        return static_cast<std::uint32_t>(rng_.next());
    }
  }
  std::uint32_t any_nsid() {
    constexpr std::uint32_t kSome[] = {0, 1, 1, 2, 3, 4, 1024, 1025, 4, 0xFFFFFFFE, 0xFFFFFFFF};
    return rng_.chance(1, 20) ? any_dword() : kSome[rng_.below(std::size(kSome))];
  }

  nvme::Sqe any_command(bool io) {
    constexpr nvme::AdminOpcode kUsual[] = {nvme::AdminOpcode::get_log_page, nvme::AdminOpcode::identify, nvme::AdminOpcode::get_features,
                                            nvme::AdminOpcode::set_features};
    std::uint8_t opcode = static_cast<std::uint8_t>(rng_.below(256));
    if (!io && rng_.chance(1, 2)) opcode = static_cast<std::uint8_t>(kUsual[rng_.below(std::size(kUsual))]);
    if (io && rng_.chance(3, 4)) opcode = static_cast<std::uint8_t>(rng_.below(0x20));
    if (io && rig_.disk->has_version(2, 0) && rng_.chance(1, 6)) opcode = static_cast<std::uint8_t>(0x79 + rng_.below(5));
    // Property Set and Disconnect end what the others need.
    if (opcode == 0x7F && rng_.chance(9, 10)) opcode = 0x02;
    nvme::Sqe sqe = command(opcode, any_nsid());
    if (rng_.chance(1, 30)) sqe.set(nvme::sqe::psdt, static_cast<nvme::Psdt>(rng_.below(4)));
    if (rng_.chance(1, 30)) sqe.set(nvme::sqe::fuse, static_cast<nvme::Fuse>(rng_.below(4)));
    for (const std::size_t at : {40u, 44u, 48u, 52u, 56u, 60u}) {
      const bool low = io && (at == 40 || at == 44);
      store_le(sqe.mutable_bytes().data() + at,
               low && rng_.chance(3, 4) ? (at == 40 ? static_cast<std::uint32_t>(rng_.below(40)) : 0u) : any_dword());
    }
    return sqe;
  }

  void check_zones(const ZoneTable& zones) {
    std::size_t active = 0, open = 0;
    for (std::size_t i = 0; i < zones.count(); ++i) {
      const nvme::ZoneState state = zones.state(i);
      const bool opened = state == nvme::ZoneState::implicitly_opened || state == nvme::ZoneState::explicitly_opened;
      open += opened ? 1 : 0;
      active += opened || state == nvme::ZoneState::closed ? 1 : 0;
      ASSERT_LE(zones.write_pointer(i), zones.start_of(i) + zones.zone_blocks());
    }
    ASSERT_EQ(zones.active(), active);
    ASSERT_EQ(zones.open(), open);
    ASSERT_LE(active, zones.options().max_active == 0 ? zones.count() : zones.options().max_active);
    ASSERT_LE(open, zones.options().max_open == 0 ? zones.count() : zones.options().max_open);
  }

  void check_order() {
    const Subsystem& disk = *rig_.disk;
    ASSERT_LE(disk.controllers().size(), 4u);
    for (const auto& [nsid, ns] : disk.namespaces()) {
      ASSERT_LE(ns->blocks_in_use(), ns->blocks());
      ASSERT_GT(ns->blocks(), 0u);
      ASSERT_LT(find_format(ns->layout()), disk.block_formats());
      if (ns->zoned()) check_zones(*ns->zones());
    }
  }

  Rng rng_;
  Rig rig_;
  std::optional<Line> admin_, io_;
  std::uint64_t waiting_ = 0;  ///< commands without an answer, of this association
};

TEST_P(Anything, GetsOneAnswerThatExists) {
  connect();
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < kCommands; ++i) {
    const bool io = rng_.chance(1, 2);
    Line& line = io ? *io_ : *admin_;
    Bytes data(rng_.chance(1, 4) ? 0 : 4 * rng_.below(2048));
    if (rng_.chance(1, 2)) rng_.fill(data);
    const nvme::Sqe sqe = any_command(io);
    const std::uint16_t cid = line.post(sqe.bytes(), std::move(data), kRoom);
    const auto reply = line.reply(cid);
    if (reply) {
      const nvme::Status status = reply->status().code();
      ASSERT_NE(nvme::name_of(status), "Reserved") << to_hex(sqe.bytes()) << " " << nvme::to_string(status);
      seen.insert(status.raw());
      ASSERT_LE(reply->data.size(), kRoom);
    } else {
      ++waiting_;  // an event request, a half of a fused pair, or the association has ended
      ASSERT_LE(waiting_, 64u) << "commands without an answer pile up";
    }
    line.replies().clear();
    if (i % 1000 == 999) check_order();
    if (admin_->closed() || io_->closed() || waiting_ > 40 || i % 5000 == 4999) connect();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(seen.size(), 12u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Anything, ::testing::Range(1, kSeeds + 1));

}  // namespace
}  // namespace fb::subsystem::test
