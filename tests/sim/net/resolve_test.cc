#include "sim/net/resolve.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace fb::net {
namespace {

TEST(Resolve, TakesAddressesAndNames) {
  EXPECT_EQ(to_string(resolve_host("192.0.2.7").value()), "192.0.2.7");
  EXPECT_EQ(to_string(resolve_host("[fd00::1]").value()), "fd00::1");
  EXPECT_EQ(to_string(resolve_host("fe80::1%lo").value()), "fe80::1%lo");
  EXPECT_EQ(to_string(resolve_host("localhost").value()), "127.0.0.1") << "IPv4 first";
}

TEST(Resolve, NamesWhatIsWrong) {
  for (const char* bad : {"", "1.2.3", "300.1.1.1", "a b", "tcp", "fe80::1%nowhere", "no-such-host.invalid", "-"}) {
    const auto found = resolve_host(bad);
    if (found) continue;  // a name server that knows every name
    EXPECT_NE(found.error().text.find("'" + std::string(bad) + "'"), std::string::npos) << found.error().text;
    EXPECT_EQ(found.error().text.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(resolve_host("300.1.1.1")) << "numbers are not asked of a name server";
  EXPECT_FALSE(resolve_host("fe80::1%nowhere"));
}

TEST(Resolve, OfSeveralAddressesTheOneThatAccepts) {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 at = {};
  at.sin6_family = AF_INET6;
  at.sin6_addr = in6addr_loopback;
  socklen_t length = sizeof at;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&at), length) != 0 || listen(fd, 1) != 0) GTEST_SKIP() << "no IPv6 here";
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length);
  const auto found = resolve_service("localhost", ntohs(at.sin6_port));
  ASSERT_TRUE(found);
  // Where localhost is 127.0.0.1 alone there is nothing to choose from.
  const std::string text = to_string(*found);
  EXPECT_TRUE(text == "::1" || text == "127.0.0.1") << text;
  close(fd);
}

}  // namespace
}  // namespace fb::net
