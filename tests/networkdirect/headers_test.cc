// Names and values of the headers, against the other sources there are for them: the text form of identifiers,
// the NTSTATUS of the same meaning, and what a C compiler makes of both.
#include <ndsupport.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/networkdirect/calls.h"

namespace {

std::string text(const GUID& guid) {
  std::string tail;
  for (const auto byte : guid.Data4) {
    tail += fmt::format("{:02X}", byte);
  }
  return fmt::format("{:08X}-{:04X}-{:04X}-{}-{}", guid.Data1, guid.Data2, guid.Data3, tail.substr(0, 4), tail.substr(4));
}

struct Identifier {
  const char* name;
  GUID guid;
  const char* text;
};

const Identifier identifiers[] = {
#define IDENTIFIER(name, text) {#name, name, text},
#include "tests/networkdirect/identifiers.inc"
#undef IDENTIFIER
};

TEST(Headers, IdentifiersInTheirTextForm) {
  for (const auto& identifier : identifiers) {
    EXPECT_EQ(text(identifier.guid), identifier.text) << identifier.name;
  }
}

TEST(Headers, IdentifiersAreTheSameFromC) {
  GUID from_c[std::size(identifiers)] = {};
  ASSERT_EQ(c_identifiers(from_c, std::size(from_c)), std::size(identifiers));
  for (std::size_t i = 0; i < std::size(identifiers); ++i) {
    EXPECT_TRUE(IsEqualGUID(from_c[i], identifiers[i].guid)) << identifiers[i].name;
  }
}

// Both versions call the memory window by one identifier; everything else is told apart.
TEST(Headers, IdentifiersAreDistinct) {
  std::map<std::string, std::set<std::string>> names;
  for (const auto& identifier : identifiers) {
    names[identifier.text].insert(identifier.name);
  }
  for (const auto& [guid, those] : names) {
    if (those.size() != 1) {
      EXPECT_EQ(those, (std::set<std::string>{"IID_IND2MemoryWindow", "IID_INDMemoryWindow"})) << guid;
    }
  }
  EXPECT_EQ(names.size(), std::size(identifiers) - 1);
}

struct Code {
  const char* name;
  HRESULT value;
  std::uint32_t status;
};

const Code codes[] = {
#define CODE(name, status) {#name, name, static_cast<std::uint32_t>(status)},
#include "tests/networkdirect/status_codes.inc"
#undef CODE
};

TEST(Headers, StatusCodesAreTheSystems) {
  const HRESULT* from_c = nullptr;
  ASSERT_EQ(c_status_codes(&from_c), std::size(codes));
  for (std::size_t i = 0; i < std::size(codes); ++i) {
    EXPECT_EQ(static_cast<std::uint32_t>(codes[i].value), codes[i].status) << codes[i].name;
    EXPECT_EQ(from_c[i], codes[i].value) << codes[i].name;
  }
}

TEST(Headers, NotYetIsNoFailure) {
  for (const auto& code : codes) {
    const bool fine = code.value == ND_SUCCESS || code.value == ND_PENDING || code.value == ND_TIMEOUT;
    EXPECT_EQ(SUCCEEDED(code.value), fine) << code.name;
  }
}

// The numbers that the documents disagree on, or that are easily taken for another interface's.
static_assert(ND_VERSION_2 == 0x20000);
static_assert((ND_MR_FLAG_ALLOW_REMOTE_WRITE & ND_MR_FLAG_ALLOW_LOCAL_WRITE) != 0);
static_assert(ND_OP_FLAG_INLINE == 0x20 && ND_OP_FLAG_ALLOW_WRITE == 0x10);
static_assert(ND_LOCAL_LENGTH == ND_DATA_OVERRUN && ND_INVALIDATION_ERROR == ND_INVALID_DEVICE_REQUEST);
static_assert(ND_CATALOG_SERVICE_FLAGS == (XP1_GUARANTEED_DELIVERY | XP1_GUARANTEED_ORDER | XP1_MESSAGE_ORIENTED | XP1_CONNECT_DATA));
static_assert(ND_CATALOG_PROVIDER_FLAGS == (PFL_HIDDEN | PFL_NETWORKDIRECT_PROVIDER));
static_assert(Nd2RequestTypeReceive == 0 && Nd2RequestTypeWrite == 5);

// The helper library's functions, as a program may point to them.
static_assert(std::is_same_v<decltype(&NdOpenAdapter), HRESULT(ND_HELPER_API*)(REFIID, const sockaddr*, SIZE_T, VOID**)>);
static_assert(std::is_same_v<decltype(&NdQueryAddressList), HRESULT(ND_HELPER_API*)(DWORD, SOCKET_ADDRESS_LIST*, SIZE_T*)>);

}  // namespace
