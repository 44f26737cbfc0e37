// What every function says of wrong arguments, and before it was started.
#include <cstring>

#include "tests/networkdirect/ndutil/fixture.h"

namespace fb::ndutil {
namespace {

TEST_F(HelperTest, NothingWorksBeforeTheStart) {
  for (int round = 0; round < 2; ++round) {
    const SOCKADDR_INET given = address("127.0.0.1");
    const auto* plain = reinterpret_cast<const sockaddr*>(&given);
    SOCKADDR_INET local = {};
    SIZE_T bytes = sizeof(local);
    void* adapter = nullptr;
    EXPECT_EQ(NdCleanup(), ND_DEVICE_NOT_READY);
    EXPECT_EQ(NdQueryAddressList(0, nullptr, &bytes), ND_DEVICE_NOT_READY);
    EXPECT_EQ(NdQueryAddressList(0, nullptr, nullptr), ND_DEVICE_NOT_READY);
    EXPECT_EQ(NdResolveAddress(plain, sizeof(given), reinterpret_cast<sockaddr*>(&local), &bytes), ND_DEVICE_NOT_READY);
    EXPECT_EQ(NdCheckAddress(plain, sizeof(given)), ND_DEVICE_NOT_READY);
    EXPECT_EQ(NdCheckAddress(nullptr, 0), ND_DEVICE_NOT_READY);
    EXPECT_EQ(NdOpenAdapter(IID_IND2Adapter, plain, sizeof(given), &adapter), ND_DEVICE_NOT_READY);
    EXPECT_EQ(NdOpenAdapter(IID_IND2Adapter, plain, sizeof(given), nullptr), ND_DEVICE_NOT_READY);
    NdFlushProviders();
    if (round == 0) {
      EXPECT_EQ(NdStartup(), ND_SUCCESS);
      EXPECT_EQ(NdCleanup(), ND_SUCCESS);
    }
  }
}

TEST_F(HelperTest, StartsAreCounted) {
  install(kFirst, DUMMY_ONE);
  EXPECT_EQ(NdStartup(), ND_SUCCESS);
  EXPECT_EQ(NdStartup(), ND_SUCCESS);
  EXPECT_EQ(NdCleanup(), ND_SUCCESS);
  EXPECT_EQ(check("127.0.0.1"), ND_SUCCESS);
  EXPECT_EQ(NdCleanup(), ND_SUCCESS);
  EXPECT_EQ(check("127.0.0.1"), ND_DEVICE_NOT_READY);
}

using Errors = StartedTest;

/// An address as a caller may give it, and what NdCheckAddress and NdOpenAdapter say.
struct Given {
  const char* what;
  const char* text;
  int family;
  SIZE_T bytes;
  HRESULT expected;
};
const Given kGiven[] = {
    {"whole", "127.0.0.1", AF_INET, sizeof(SOCKADDR_IN), ND_SUCCESS},
    {"roomy", "127.0.0.1", AF_INET, sizeof(SOCKADDR_STORAGE), ND_SUCCESS},
    {"empty", "127.0.0.1", AF_INET, 0, ND_INVALID_PARAMETER_2},
    {"shorter than a sockaddr", "127.0.0.1", AF_INET, sizeof(sockaddr) - 1, ND_INVALID_PARAMETER_2},
    {"whole, of version 6", "::1", AF_INET6, sizeof(SOCKADDR_IN6), ND_SUCCESS},
    {"shorter than its family", "::1", AF_INET6, sizeof(SOCKADDR_IN6) - 1, ND_INVALID_PARAMETER_2},
    {"as long as one of version 4", "::1", AF_INET6, sizeof(SOCKADDR_IN), ND_INVALID_PARAMETER_2},
    {"of another family", "127.0.0.1", AF_UNIX, sizeof(SOCKADDR_IN), ND_INVALID_ADDRESS},
    {"of no family", "127.0.0.1", AF_UNSPEC, sizeof(SOCKADDR_STORAGE), ND_INVALID_ADDRESS},
    {"of nobody", "127.0.0.77", AF_INET, sizeof(SOCKADDR_IN), ND_INVALID_ADDRESS},
    {"any", "0.0.0.0", AF_INET, sizeof(SOCKADDR_IN), ND_INVALID_ADDRESS},
    {"any, of version 6", "::", AF_INET6, sizeof(SOCKADDR_IN6), ND_INVALID_ADDRESS},
};

TEST_F(Errors, AddressesGiven) {
  for (const Given& given : kGiven) {
    SOCKADDR_STORAGE storage = {};
    const SOCKADDR_INET parsed = address(given.text, 4420);
    std::memcpy(&storage, &parsed, sizeof(parsed));
    storage.ss_family = static_cast<ADDRESS_FAMILY>(given.family);
    const auto* plain = reinterpret_cast<const sockaddr*>(&storage);
    EXPECT_EQ(NdCheckAddress(plain, given.bytes), given.expected) << given.what;
    int before = 0;
    void* adapter = &before;
    EXPECT_EQ(NdOpenAdapter(IID_IND2Adapter, plain, given.bytes, &adapter), given.expected) << given.what;
    EXPECT_EQ(adapter != nullptr, given.expected == ND_SUCCESS) << given.what;
    if (adapter != nullptr) static_cast<IUnknown*>(adapter)->Release();
  }
}

TEST_F(Errors, NothingGiven) {
  const SOCKADDR_INET given = address("127.0.0.1");
  const auto* plain = reinterpret_cast<const sockaddr*>(&given);
  void* adapter = nullptr;
  EXPECT_EQ(NdCheckAddress(nullptr, sizeof(given)), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(NdOpenAdapter(IID_IND2Adapter, nullptr, sizeof(given), &adapter), ND_INVALID_PARAMETER_2);
  EXPECT_EQ(NdOpenAdapter(IID_IND2Adapter, plain, sizeof(given), nullptr), ND_INVALID_PARAMETER_4);
  EXPECT_EQ(NdQueryAddressList(0, nullptr, nullptr), ND_INVALID_PARAMETER_3);
}

TEST_F(Errors, InterfacesThatAnAdapterHasNot) {
  const SOCKADDR_INET given = address("127.0.0.1");
  void* adapter = nullptr;
  EXPECT_EQ(NdOpenAdapter(IID_IND2Listener, reinterpret_cast<const sockaddr*>(&given), sizeof(given), &adapter), E_NOINTERFACE);
  EXPECT_EQ(adapter, nullptr);
}

TEST_F(Errors, ListsThatAreTooSmall) {
  SIZE_T needed = 0;
  ASSERT_EQ(NdQueryAddressList(0, nullptr, &needed), ND_BUFFER_OVERFLOW);
  EXPECT_EQ(needed, 8 + 3 * sizeof(SOCKET_ADDRESS) + 2 * sizeof(SOCKADDR_IN) + sizeof(SOCKADDR_IN6));
  std::vector<SOCKET_ADDRESS_LIST> list(needed / sizeof(SOCKET_ADDRESS_LIST) + 2);
  list[0].iAddressCount = 77;
  SIZE_T bytes = needed - 1;
  EXPECT_EQ(NdQueryAddressList(0, list.data(), &bytes), ND_BUFFER_OVERFLOW);
  EXPECT_EQ(bytes, needed);
  EXPECT_EQ(list[0].iAddressCount, 77) << "untouched";
  EXPECT_EQ(NdQueryAddressList(0, nullptr, &bytes), ND_BUFFER_OVERFLOW);
  bytes = needed + 20;
  EXPECT_EQ(NdQueryAddressList(0, list.data(), &bytes), ND_SUCCESS);
  EXPECT_EQ(bytes, needed) << "what is used";
}

TEST_F(Errors, Resolving) {
  const SOCKADDR_INET given = address("127.0.0.1", 4420);
  const auto* plain = reinterpret_cast<const sockaddr*>(&given);
  SOCKADDR_INET local = {};
  auto* out = reinterpret_cast<sockaddr*>(&local);
  SIZE_T bytes = sizeof(local);
  EXPECT_EQ(NdResolveAddress(nullptr, sizeof(given), out, &bytes), ND_INVALID_PARAMETER_1);
  EXPECT_EQ(NdResolveAddress(plain, 3, out, &bytes), ND_INVALID_PARAMETER_2);
  EXPECT_EQ(NdResolveAddress(plain, sizeof(given), out, nullptr), ND_INVALID_PARAMETER_4);
  EXPECT_EQ(NdResolveAddress(plain, sizeof(given), nullptr, &bytes), ND_BUFFER_OVERFLOW);
  EXPECT_EQ(bytes, sizeof(SOCKADDR_IN));
  bytes = sizeof(SOCKADDR_IN) - 1;
  EXPECT_EQ(NdResolveAddress(plain, sizeof(given), out, &bytes), ND_BUFFER_OVERFLOW);
  EXPECT_EQ(bytes, sizeof(SOCKADDR_IN));
  EXPECT_EQ(local.si_family, 0) << "untouched";
  EXPECT_EQ(NdResolveAddress(plain, sizeof(given), out, &bytes), ND_SUCCESS);
  EXPECT_EQ(bytes, sizeof(SOCKADDR_IN));
  EXPECT_EQ(local.Ipv4.sin_port, 0);
  SOCKADDR_INET odd = given;
  odd.si_family = AF_UNIX;
  EXPECT_EQ(NdResolveAddress(reinterpret_cast<const sockaddr*>(&odd), sizeof(odd), out, &bytes), ND_INVALID_ADDRESS);
}

}  // namespace
}  // namespace fb::ndutil
