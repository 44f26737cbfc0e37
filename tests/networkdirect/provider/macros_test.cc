// Headers of the project that the Windows build sees, behind the macros of Windows' own: a member called `interface` breaks
// that build, and no other.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <ndsupport.h>

#include "tests/networkdirect/windows_macros.h"

#include "sim/net/l2_host.h"
#include "sim/net/local_host.h"
#include "networkdirect/provider/extension.h"
#include "networkdirect/provider/provider.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::networkdirect {
namespace {

TEST(WindowsMacros, HeadersOfTheProjectStandBehindThem) {
  const auto local = net::parse_local_host("packet:veth1,192.0.2.9");
  ASSERT_TRUE(local);
  EXPECT_TRUE(local->own_link());
  EXPECT_EQ(local->link, "veth1");
}

}  // namespace
}  // namespace fb::networkdirect
