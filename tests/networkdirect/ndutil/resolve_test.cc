// The local address towards a remote one: the rule alone, and with providers whose addresses other processes have.
#include "networkdirect/ndutil/resolve.h"

#include <algorithm>

#include "tests/networkdirect/ndutil/fixture.h"

namespace fb::ndutil {
namespace {

Address parsed(const std::string& text) {
  const SOCKADDR_INET given = address(text);
  return *Address::from(&given, sizeof(given));
}

std::vector<Address> all(const Texts& texts) {
  std::vector<Address> made;
  for (const std::string& text : texts) made.push_back(parsed(text));
  return made;
}

Texts taken;
bool can_open(const Address& given) {
  return std::find(taken.begin(), taken.end(), text_of(reinterpret_cast<const sockaddr*>(&given.get()))) == taken.end();
}

struct Case {
  const char* what;
  const char* remote;
  const char* routed;
  Texts served, opened, by_others;
  const char* expected;  // an address, or what is wrong
};
const Case kCases[] = {
    {"another machine", "192.0.2.9", "192.0.2.7", {"127.0.0.1", "192.0.2.7"}, {}, {}, "192.0.2.7"},
    {"another machine, behind a router", "198.51.100.1", "192.0.2.7", {"192.0.2.7"}, {}, {}, "192.0.2.7"},
    {"the interface's first address is not ours", "192.0.2.9", "192.0.2.3", {"192.0.2.100", "192.0.2.8"}, {}, {}, "192.0.2.8"},
    {"a card that is not ours", "198.51.100.1", "198.51.100.2", {"192.0.2.7"}, {}, {}, "address"},
    {"no way", "198.51.100.1", nullptr, {"192.0.2.7"}, {}, {}, "network"},
    {"no way, but a neighbour", "192.0.2.9", nullptr, {"192.0.2.7"}, {}, {}, "192.0.2.7"},
    {"version 6", "2001:db8::9", "2001:db8::7", {"192.0.2.7", "2001:db8::7"}, {}, {}, "2001:db8::7"},
    {"version 6, no such", "2001:db8::9", "2001:db8::7", {"192.0.2.7"}, {}, {}, "address"},
    {"version 6, a neighbour", "2001:db8::9", "2001:db8::7", {"2001:db8::8", "2001:db8:0:1::9"}, {}, {}, "2001:db8::8"},
    {"server on .1, client first", "127.0.0.1", "127.0.0.1", {"127.0.0.1", "127.0.0.2"}, {}, {}, "127.0.0.2"},
    {"server on .1", "127.0.0.1", "127.0.0.1", {"127.0.0.1", "127.0.0.2"}, {}, {"127.0.0.1"}, "127.0.0.2"},
    {"the second client", "127.0.0.1", "127.0.0.1", {"127.0.0.1", "127.0.0.2", "127.0.0.3"}, {}, {"127.0.0.1", "127.0.0.2"}, "127.0.0.3"},
    {"server on .2", "127.0.0.2", "127.0.0.1", {"127.0.0.1", "127.0.0.2"}, {}, {"127.0.0.2"}, "127.0.0.1"},
    {"server on .2, second client", "127.0.0.2", "127.0.0.1", {"127.0.0.1", "127.0.0.2", "127.0.0.3"}, {}, {"127.0.0.1"}, "127.0.0.3"},
    {"both ends in this process", "127.0.0.1", "127.0.0.1", {"127.0.0.1", "127.0.0.2"}, {"127.0.0.1"}, {}, "127.0.0.1"},
    {"the client asks again", "127.0.0.1", "127.0.0.1", {"127.0.0.1", "127.0.0.2", "127.0.0.3"}, {"127.0.0.3"}, {"127.0.0.1"}, "127.0.0.3"},
    {"the address from before is gone", "127.0.0.1", "127.0.0.1", {"127.0.0.1", "127.0.0.2"}, {"127.0.0.1"}, {"127.0.0.1"}, "127.0.0.2"},
    {"all loopback addresses are taken", "127.0.0.1", "127.0.0.1", {"127.0.0.1", "127.0.0.2"}, {}, {"127.0.0.1", "127.0.0.2"}, "127.0.0.1"},
    {"one loopback address", "127.0.0.1", "127.0.0.1", {"127.0.0.1"}, {}, {}, "127.0.0.1"},
    {"a server that is not ours", "127.0.0.9", "127.0.0.1", {"127.0.0.2"}, {}, {}, "127.0.0.2"},
    {"Wine on loopback", "127.0.0.1", "192.0.2.7", {"192.0.2.7", "127.0.0.1", "127.0.0.2"}, {}, {}, "127.0.0.2"},
    {"Wine without a network", "127.0.0.1", nullptr, {"127.0.0.1", "127.0.0.2"}, {}, {}, "127.0.0.2"},
    {"loopback, but none of ours", "127.0.0.1", "127.0.0.1", {"192.0.2.7"}, {}, {}, "address"},
    {"version 6 loopback", "::1", "::1", {"127.0.0.1", "::1"}, {"::1"}, {}, "::1"},
    {"a card of this machine", "192.0.2.7", "192.0.2.7", {"192.0.2.6", "192.0.2.7"}, {}, {}, "192.0.2.7"},
    {"another process has the card in software",
     "192.0.2.7",
     "192.0.2.7",
     {"127.0.0.1", "192.0.2.6", "192.0.2.7"},
     {},
     {"192.0.2.7"},
     "192.0.2.6"},
    {"the card has one address", "192.0.2.7", "192.0.2.7", {"127.0.0.1", "192.0.2.7"}, {}, {"192.0.2.7"}, "127.0.0.1"},
    {"and so has loopback", "127.0.0.1", "127.0.0.1", {"127.0.0.1", "::1", "192.0.2.7"}, {}, {"127.0.0.1"}, "192.0.2.7"},
    {"all are taken", "192.0.2.7", "192.0.2.7", {"127.0.0.1", "192.0.2.7"}, {}, {"127.0.0.1", "192.0.2.7"}, "192.0.2.7"},
    {"no providers", "192.0.2.7", "192.0.2.3", {}, {}, {}, "address"},
};

TEST(Resolve, Rule) {
  for (const Case& c : kCases) {
    taken = c.by_others;
    Neighbourhood here = {all(c.served), all(c.opened), {}, c.routed != nullptr};
    if (c.routed != nullptr) here.routed = parsed(c.routed);
    std::optional<Address> local;
    const HRESULT status = resolve(parsed(c.remote), here, &can_open, local);
    std::string got = status == ND_INVALID_ADDRESS ? "address" : status == ND_NETWORK_UNREACHABLE ? "network" : "?";
    if (!FAILED(status) && local) got = text_of(reinterpret_cast<const sockaddr*>(&local->get()));
    EXPECT_EQ(got, c.expected) << c.what;
  }
}

TEST(Resolve, ScopesTellAddressesApart) {
  SOCKADDR_INET one = address("fe80::1");
  SOCKADDR_INET two = one;
  one.Ipv6.sin6_scope_id = 1;
  two.Ipv6.sin6_scope_id = 2;
  EXPECT_FALSE(*Address::from(&one, sizeof(one)) == *Address::from(&two, sizeof(two)));
  two.Ipv6.sin6_scope_id = 0;
  EXPECT_TRUE(*Address::from(&one, sizeof(one)) == *Address::from(&two, sizeof(two)));
}

using Resolving = StartedTest;

TEST_F(Resolving, TwoProcessesOnLoopback) {
  setenv("DUMMY_ONE", "addresses=127.0.0.1,127.0.0.2,127.0.0.3 taken=127.0.0.1", 1);
  EXPECT_EQ(resolved("127.0.0.1"), "127.0.0.2");
  setenv("DUMMY_ONE", "addresses=127.0.0.1,127.0.0.2,127.0.0.3 taken=127.0.0.1,127.0.0.2", 1);
  EXPECT_EQ(resolved("127.0.0.1"), "127.0.0.3");
  EXPECT_EQ(resolved("127.0.0.2"), "127.0.0.3");
  NdFlushProviders();
  EXPECT_FALSE(is_loaded(DUMMY_ONE)) << "what was tried was given back";
}

TEST_F(Resolving, OneProcessOnLoopback) {
  IUnknown* adapter = nullptr;
  ASSERT_EQ(open("127.0.0.1", &adapter), ND_SUCCESS);
  EXPECT_EQ(resolved("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(resolved("127.0.0.2"), "127.0.0.1") << "the end that this process has already";
  adapter->Release();
}

TEST_F(Resolving, VersionSixAndStrangers) {
  EXPECT_EQ(resolved("::1"), "::1");
  setenv("DUMMY_ONE", "addresses=192.0.2.7", 1);
  NdFlushProviders();
  EXPECT_EQ(resolved("127.0.0.1"), "c0000141");
  EXPECT_EQ(resolved("192.0.2.9"), "192.0.2.7");
}

}  // namespace
}  // namespace fb::ndutil
