// A host meets controllers of hundreds of drawn identities: minimal, odd and maximal values of all that they may say of
// themselves. It connects or says what it lacks, uses what is claimed and nothing else, and its data is right.
#include <gtest/gtest.h>

#include "tests/model/host/rig.h"

namespace fb::host::test {
namespace {

namespace id_ctrl = nvme::id_ctrl;
namespace id_ns = nvme::id_ns;
using nvme::IoOpcode;

struct Drawn {
  std::uint8_t mdts = 0;
  std::uint32_t ioccsz = 4;
  std::uint16_t maxcmd = 0;
  std::uint16_t oncs = 0;
  std::uint16_t fuses = 0;
  std::uint16_t kas = 1;
};

class Identity : public ::testing::TestWithParam<int> {
 protected:
  Identity() : rng_(static_cast<std::uint64_t>(GetParam()), "identity") {
    rig_.add_namespace(4096);
    drawn_.mdts = static_cast<std::uint8_t>(rng_.below(12));
    drawn_.ioccsz = static_cast<std::uint32_t>(4 + rng_.below(4) * rng_.below(300));
    drawn_.maxcmd = static_cast<std::uint16_t>(rng_.chance(1, 3) ? 0 : rng_.chance(1, 2) ? 0xFFFF : 1 + rng_.below(200));
    drawn_.oncs = static_cast<std::uint16_t>(rng_.next());
    drawn_.fuses = static_cast<std::uint16_t>(rng_.below(2));
    drawn_.kas = static_cast<std::uint16_t>(rng_.chance(1, 8) ? 0 : 1 + rng_.below(0xFFFF));
    seed_ = rng_.next();
    rig_.hooks.on_data_out = [this](const nvme::Sqe& sqe, MutableBytes data) { describe(sqe, data); };
  }

  /// The same words each time that they are asked for.
  void describe(const nvme::Sqe& sqe, MutableBytes data) {
    if (sqe.get(nvme::sqe::opcode) != static_cast<std::uint8_t>(nvme::AdminOpcode::identify) || data.size() < 4096) return;
    const std::uint32_t cns = sqe.get(nvme::sqe::cdw10) & 0xFF;
    Rng rng(seed_, "cns " + std::to_string(cns));
    const auto any = [&](std::uint64_t bound) { return static_cast<std::uint32_t>(rng.below(bound)); };
    if (cns == static_cast<std::uint32_t>(nvme::Cns::controller)) {
      MutableView<nvme::IdentifyController> id{data};
      // No more than the fabric has room for.
      drawn_.ioccsz = std::min<std::uint32_t>(drawn_.ioccsz, id.get(id_ctrl::ioccsz));
      id.set(id_ctrl::mdts, drawn_.mdts)
          .set(id_ctrl::ioccsz, drawn_.ioccsz)
          .set(id_ctrl::maxcmd, drawn_.maxcmd)
          .set(id_ctrl::oncs, drawn_.oncs)
          .set(id_ctrl::fuses, drawn_.fuses)
          .set(id_ctrl::kas, drawn_.kas)
          .set(id_ctrl::rab, any(256))
          .set(id_ctrl::acl, any(256))
          .set(id_ctrl::aerl, any(256))
          .set(id_ctrl::elpe, any(256))
          .set(id_ctrl::npss, any(32))
          .set(id_ctrl::cqt, any(65536))
          .set(id_ctrl::crdt1, any(65536))
          .set(id_ctrl::crdt2, any(65536))
          .set(id_ctrl::crdt3, any(65536))
          .set(id_ctrl::oaes, static_cast<std::uint32_t>(rng.next()))
          .set(id_ctrl::oacs, any(65536))
          .set(id_ctrl::ctratt, static_cast<std::uint32_t>(rng.next()) | nvme::ctratt_bits::host_id_128)
          .set(id_ctrl::vwc, any(8))
          .set(id_ctrl::lpa, any(256))
          .set(id_ctrl::frmw, any(256))
          .set(id_ctrl::sanicap, static_cast<std::uint32_t>(rng.next()))
          .set(id_ctrl::anatt, any(256))
          .set(id_ctrl::awun, any(65536))
          .set(id_ctrl::awupf, any(65536))
          .set(id_ctrl::cdfs, any(65536));
      // Strings of any printable bytes, and what belongs to the vendor.
      for (std::size_t at = id_ctrl::sn.offset; at < id_ctrl::fr.offset + id_ctrl::fr.size; ++at) {
        data[at] = static_cast<std::uint8_t>(0x20 + any(0x5F));
      }
      rng.fill(data.subspan(3072, 1024));
    } else if (cns == static_cast<std::uint32_t>(nvme::Cns::identify_namespace)) {
      MutableView<nvme::IdentifyNamespace> id{data};
      if (id.get(id_ns::nsze) == 0) return;
      id.set(id_ns::nsfeat, any(256))
          .set(id_ns::nuse, rng.below(id.get(id_ns::ncap) + 1))
          .set(id_ns::dlfeat, any(32))
          .set(id_ns::rescap, any(256))
          .set(id_ns::fpi, any(256))
          .set(id_ns::nawun, any(65536))
          .set(id_ns::nabo, any(65536))
          .set(id_ns::noiob, any(65536))
          .set(id_ns::npwg, any(65536))
          .set(id_ns::npda, any(65536))
          .set(id_ns::mc, any(4))
          .set(id_ns::dpc, any(32));
      rng.fill(data.subspan(384, 3712));
    }
  }

  std::uint64_t limit() const { return drawn_.mdts == 0 ? ~std::uint64_t{0} : std::uint64_t{4096} << drawn_.mdts; }
  bool has(std::uint16_t bit) const { return (drawn_.oncs & bit) != 0; }
  /// An optional command that is not claimed is answered here, and never sent.
  void uses(IoOpcode opcode, std::uint16_t bit, nvme::Status status) {
    EXPECT_EQ(status.ok(), has(bit)) << nvme::io_opcode_name(static_cast<std::uint8_t>(opcode));
    EXPECT_EQ(!rig_.hooks.io(opcode).empty(), has(bit)) << nvme::io_opcode_name(static_cast<std::uint8_t>(opcode));
  }

  Rng rng_;
  Drawn drawn_;
  std::uint64_t seed_ = 0;
  Rig rig_;
};

TEST_P(Identity, IsTakenAsItIs) {
  ConnectOptions options = rig_.to();
  if (rng_.chance(1, 2)) options.kato_ms = 0;
  Controller* const controller = rig_.connect(options);
  if (controller == nullptr) {
    EXPECT_EQ(rig_.last_error.kind, HostError::Kind::unsupported) << rig_.last_error.text;
    EXPECT_TRUE(options.kato_ms != 0 && drawn_.kas == 0) << rig_.last_error.text;
    return;
  }
  Namespace& ns = rig_.ns();
  Bytes written(200 * 512), read(written.size());
  rng_.fill(written);
  const nvme::Status write = ns.write(7, written).wait();
  ASSERT_TRUE(write.ok()) << nvme::to_string(write) << ", MDTS " << int{drawn_.mdts} << ", MAXCMD " << drawn_.maxcmd;
  ASSERT_TRUE(ns.read(7, read).wait().ok());
  EXPECT_EQ(read, written);
  EXPECT_TRUE(ns.flush().wait().ok());
  namespace bits = nvme::oncs_bits;
  uses(IoOpcode::compare, bits::compare, ns.compare(7, written).wait());
  uses(IoOpcode::verify, bits::verify, ns.verify(7, 100).wait());
  uses(IoOpcode::write_zeroes, bits::write_zeroes, ns.write_zeroes(7, 9).wait());
  uses(IoOpcode::dataset_management, bits::dataset_management, ns.deallocate(7, 9).wait());
  uses(IoOpcode::write_uncorrectable, bits::write_uncorrectable, ns.write_uncorrectable(7, 9).wait());
  for (const auto& [qid, sqe] : rig_.hooks.commands) {
    const auto sgl = nvme::SglDescriptor::parse(sqe.bytes().subspan(nvme::sqe::sgl1.offset, 16));
    EXPECT_LE(sgl.length, limit());
    const bool in_capsule = sgl.type_byte() == 0x01;
    if (qid != 0 && in_capsule) {
      EXPECT_LE(64 + sgl.length, std::uint64_t{drawn_.ioccsz} * 16);
    }
  }
  (void)controller->shutdown().wait();
}

INSTANTIATE_TEST_SUITE_P(Seeds, Identity, ::testing::Range(1, 501));

}  // namespace
}  // namespace fb::host::test
