// A program for Windows may include its own headers first, without NOMINMAX: those of the interfaces are not hurt.
#include <gtest/gtest.h>

#define FABRICBENCH_MIN_MAX
#include <winsock2.h>
#include <ws2tcpip.h>

#include "tests/networkdirect/windows_macros.h"

#include <ndsupport.h>

namespace {

TEST(WindowsMacros, HeadersOfTheInterfaceStandBehindThem) {
  ND2_ADAPTER_INFO info = {};
  info.InfoVersion = ND_VERSION_2;
  EXPECT_EQ(min(info.InfoVersion, 5u), 5u);
  EXPECT_EQ(sizeof(ND2_RESULT), max(sizeof(ND2_SGE), sizeof(ND2_RESULT)));
}

}  // namespace
