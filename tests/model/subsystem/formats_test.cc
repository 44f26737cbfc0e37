// Identify of LBA formats and of what all namespaces have, and the granularity of namespaces.
#include <gtest/gtest.h>

#include "tests/model/subsystem/management_session.h"
#include "wire/nvme/identify_controller.h"

namespace fb::subsystem::test {
namespace {

namespace sc = nvme::sc;
using nvme::Cns;

class FormatsTest : public ::testing::Test {
 protected:
  static SubsystemOptions options() {
    SubsystemOptions made;
    made.version = fabrics::version(2, 1, 0);
    made.namespace_management.granularity_bytes = 1 << 16;
    made.zoned.supported = true;
    return made;
  }
  Reply of_format(Cns cns, unsigned index, unsigned csi = 0, std::uint32_t nsid = 0) {
    nvme::Sqe sqe = identify(cns, nsid);
    sqe.set(nvme::sqe::cdw11, index | csi << 24);
    return host_.admin.fetch(sqe.bytes(), 4096);
  }
  Reply page(Cns cns, std::uint32_t nsid = 0) { return host_.admin.fetch(identify(cns, nsid).bytes(), 4096); }
  std::uint64_t unallocated() { return load_le<std::uint64_t>(page(Cns::controller).data.data() + nvme::id_ctrl::unvmcap.offset); }

  Rig rig_{options()};
  Managing host_{rig_, ConnectWords{}};
};

TEST_F(FormatsTest, HavePagesOfTheirOwn) {
  const Reply first = of_format(Cns::namespace_user_data_format, 0);
  ASSERT_TRUE(first.status().ok());
  const View<nvme::IdentifyNamespace> plain{first.data};
  EXPECT_EQ(plain.get(nvme::id_ns::nsze), 0u);
  EXPECT_EQ(plain.get(nvme::id_ns::nsfeat), 0u);
  EXPECT_EQ(plain.get(nvme::id_ns::dpc), 0u);
  const Reply tagged = of_format(Cns::namespace_user_data_format, 3);
  EXPECT_NE(View<nvme::IdentifyNamespace>{tagged.data}.get(nvme::id_ns::dpc), 0u);
  EXPECT_EQ(of_format(Cns::namespace_user_data_format, 11).code(), sc::invalid_field);
  EXPECT_EQ(of_format(Cns::namespace_user_data_format, 0, 2).code(), sc::invalid_io_command_set);
  EXPECT_EQ(of_format(Cns::namespace_user_data_format, 0, 0, 1).code(), sc::invalid_field);
  EXPECT_TRUE(of_format(Cns::command_set_user_data_format, 9).status().ok());
  EXPECT_EQ(of_format(Cns::command_set_user_data_format, 0, 7).code(), sc::invalid_io_command_set);
}

TEST_F(FormatsTest, AllNamespacesHaveSomethingInCommon) {
  for (const Cns cns : {Cns::identify_namespace, Cns::command_set_namespace, Cns::independent_namespace}) {
    EXPECT_TRUE(page(cns, nvme::kAllNamespaces).status().ok()) << static_cast<unsigned>(cns);
  }
  EXPECT_EQ(page(Cns::namespace_id_descriptors, nvme::kAllNamespaces).code(), sc::invalid_namespace_or_format);
}

TEST_F(FormatsTest, AllocatedNamespacesHaveAnIndependentPage) {
  EXPECT_EQ(page(Cns::allocated_independent_namespace, 1).data, page(Cns::independent_namespace, 1).data);
  EXPECT_EQ(page(Cns::allocated_independent_namespace, 77).data, Bytes(4096));
  EXPECT_EQ(page(Cns::allocated_independent_namespace, 0).code(), sc::invalid_namespace_or_format);
}

TEST_F(FormatsTest, NamespacesTakeWholeSteps) {
  const Reply list = page(Cns::namespace_granularity_list);
  ASSERT_TRUE(list.status().ok());
  const auto first = element<nvme::GranularityDescriptor>(list.data, nvme::granularity::ngd, 0);
  EXPECT_EQ(first.get(nvme::granularity_descriptor::nsg), 1u << 16);
  const std::uint64_t before = unallocated();
  const Reply made = host_.create({.nsze = 129, .ncap = 129});
  ASSERT_TRUE(made.status().ok());
  EXPECT_EQ(before - unallocated(), 2u << 16);
  const Reply allocated = page(Cns::allocated_namespace, made.dw0());
  EXPECT_EQ(load_le<std::uint64_t>(allocated.data.data() + nvme::id_ns::nvmcap.offset), 2u << 16);
}

}  // namespace
}  // namespace fb::subsystem::test
