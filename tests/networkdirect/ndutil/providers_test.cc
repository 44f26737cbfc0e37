// Which providers and addresses there are: good ones side by side, bad ones that disturb nobody, changes while started.
#include "tests/networkdirect/ndutil/fixture.h"

namespace fb::ndutil {
namespace {

using Providers = StartedTest;

TEST_F(Providers, StandSideBySide) {
  install(kSecond, DUMMY_TWO);
  EXPECT_EQ(addresses(), Texts({"127.0.0.1", "127.0.0.2", "::1", "192.0.2.7", "2001:db8::7"}));
  for (const char* text : {"127.0.0.1", "::1", "192.0.2.7", "2001:db8::7"}) {
    EXPECT_EQ(check(text), ND_SUCCESS) << text;
    IUnknown* adapter = nullptr;
    ASSERT_EQ(open(text, &adapter), ND_SUCCESS) << text;
    EXPECT_EQ(adapter->Release(), 0u);
  }
  EXPECT_EQ(check("127.0.0.3"), ND_INVALID_ADDRESS);
  EXPECT_EQ(check("2001:db8::8"), ND_INVALID_ADDRESS);
}

TEST_F(Providers, FlagsChoose) {
  EXPECT_EQ(addresses(ND_QUERY_EXCLUDE_NDv1_ADDRESSES | ND_QUERY_EXCLUDE_EMULATOR_ADDRESSES).size(), 3u);
  EXPECT_TRUE(addresses(ND_QUERY_EXCLUDE_NDv2_ADDRESSES).empty());
}

TEST_F(Providers, AnAddressOfTwoIsListedOnceAndOpenedByTheOneThatCan) {
  setenv("DUMMY_ONE", "addresses=127.0.0.1 fail=open", 1);
  setenv("DUMMY_TWO", "addresses=127.0.0.1", 1);
  install(kSecond, DUMMY_TWO);
  EXPECT_EQ(addresses(), Texts({"127.0.0.1"}));
  IUnknown* adapter = nullptr;
  ASSERT_EQ(open("127.0.0.1", &adapter), ND_SUCCESS);
  adapter->Release();
  setenv("DUMMY_TWO", "addresses=127.0.0.1 fail=resolve", 1);
  EXPECT_EQ(open("127.0.0.1", &adapter), ND_NO_MEMORY) << "the last one's error";
  EXPECT_EQ(adapter, nullptr);
}

TEST_F(Providers, BadOnesDisturbNobody) {
  install(kSecond, "/nowhere/provider.so");
  install(kThird, HOLLOW);
  install({4, 0, 0, {}}, __FILE__);
  EXPECT_EQ(addresses(), Texts({"127.0.0.1", "127.0.0.2", "::1"}));
}

class FailingProvider : public Providers, public ::testing::WithParamInterface<const char*> {};
TEST_P(FailingProvider, HasNoAddressesUntilItWorks) {
  setenv("DUMMY_TWO", ("addresses=192.0.2.7 fail=" + std::string(GetParam())).c_str(), 1);
  install(kSecond, DUMMY_TWO);
  EXPECT_EQ(addresses(), Texts({"127.0.0.1", "127.0.0.2", "::1"}));
  setenv("DUMMY_TWO", "addresses=192.0.2.7", 1);
  NdFlushProviders();
  EXPECT_EQ(addresses().size(), 4u);
}
INSTANTIATE_TEST_SUITE_P(Ways, FailingProvider, ::testing::Values("class", "query", "nothing", "endless"));

TEST_F(Providers, ListsThatGrowMeanwhileAreAskedForAgain) {
  setenv("DUMMY_ONE", "fail=grow", 1);
  EXPECT_EQ(addresses(), Texts({"10.0.0.1"}));
}

TEST_F(Providers, NonsenseInAListIsLeftOut) {
  setenv("DUMMY_ONE", "addresses=odd,127.0.0.1,none,short,::1", 1);
  EXPECT_EQ(addresses(), Texts({"127.0.0.1", "::1"}));
}

TEST_F(Providers, NoAddressesIsASuccess) {
  setenv("DUMMY_ONE", "addresses=", 1);
  SIZE_T bytes = 77;
  EXPECT_EQ(NdQueryAddressList(0, nullptr, &bytes), ND_SUCCESS);
  EXPECT_EQ(bytes, 0u);
}

TEST_F(Providers, TheFactoryWillDo) {
  for (const char* how : {"class=factory", "class=direct"}) {
    setenv("DUMMY_ONE", ("addresses=127.0.0.1 " + std::string(how)).c_str(), 1);
    NdFlushProviders();
    EXPECT_EQ(check("127.0.0.1"), ND_SUCCESS) << how;
    IUnknown* adapter = nullptr;
    ASSERT_EQ(open("127.0.0.1", &adapter), ND_SUCCESS) << how;
    adapter->Release();
  }
}

TEST_F(Providers, AreAskedForTheirClass) {
  setenv("DUMMY_ONE", "addresses=127.0.0.1 id=1", 1);
  EXPECT_EQ(addresses().size(), 1u);
  setenv("DUMMY_ONE", "addresses=127.0.0.1 id=7", 1);
  NdFlushProviders();
  EXPECT_TRUE(addresses().empty());
}

TEST_F(Providers, OtherEntriesArePassedOver) {
  remove(kFirst);
  install(kFirst, DUMMY_ONE, ND_VERSION_1);
  install(kSecond, DUMMY_TWO, 3);
  EXPECT_TRUE(addresses().empty());
  remove(kSecond);
  install(kSecond, DUMMY_TWO, ND_VERSION_2, XP1_CONNECT_DATA);
  EXPECT_TRUE(addresses().empty());
  remove(kSecond);
  install(kSecond, DUMMY_TWO, ND_VERSION_2, 0, SOCK_STREAM);
  EXPECT_TRUE(addresses().empty());
  EXPECT_FALSE(is_loaded(DUMMY_ONE));
  EXPECT_FALSE(is_loaded(DUMMY_TWO));
}

TEST_F(Providers, VersionTwoIsSaidInTwoWays) {
  install(kSecond, DUMMY_TWO, 2);
  EXPECT_EQ(check("192.0.2.7"), ND_SUCCESS) << "as the interface's document says it";
  remove(kSecond);
  install(kSecond, DUMMY_TWO, ND_VERSION_2);
  EXPECT_EQ(check("192.0.2.7"), ND_SUCCESS) << "as Microsoft's helper library says it";
}

TEST_F(Providers, PathsHaveVariables) {
  setenv("DUMMY_FOLDER", std::filesystem::path(DUMMY_TWO).parent_path().c_str(), 1);
  install(kSecond, "%DUMMY_FOLDER%/" + std::filesystem::path(DUMMY_TWO).filename().string());
  EXPECT_EQ(check("192.0.2.7"), ND_SUCCESS);
}

TEST_F(Providers, TheCatalogueChangesWhileStarted) {
  EXPECT_EQ(addresses().size(), 3u);
  install(kSecond, DUMMY_TWO);
  EXPECT_EQ(addresses().size(), 5u);
  remove(kFirst);
  EXPECT_EQ(addresses(), Texts({"192.0.2.7", "2001:db8::7"}));
  EXPECT_EQ(check("127.0.0.1"), ND_INVALID_ADDRESS);
  install(kFirst, DUMMY_ONE);
  EXPECT_EQ(addresses().size(), 5u);
}

TEST_F(Providers, AnotherProcessChangesTheCatalogue) {
  EXPECT_EQ(addresses().size(), 3u);
  std::filesystem::remove(folder_ / "providers");
  EXPECT_EQ(addresses().size(), 3u) << "nobody has told";
  NdFlushProviders();
  EXPECT_TRUE(addresses().empty());
}

TEST_F(Providers, ABrokenCatalogueIsAnErrorThatMends) {
  std::ofstream(folder_ / "providers") << "nonsense\n";
  SIZE_T bytes = 0;
  EXPECT_EQ(NdQueryAddressList(0, nullptr, &bytes), ND_UNSUCCESSFUL);
  EXPECT_EQ(check("127.0.0.1"), ND_UNSUCCESSFUL);
  std::filesystem::remove(folder_ / "providers");
  EXPECT_EQ(NdQueryAddressList(0, nullptr, &bytes), ND_SUCCESS);
}

TEST_F(Providers, TheEnvironmentNamesMore) {
  setenv("FABRICBENCH_PROVIDER_LIBRARIES", ";{00000002-0000-0000-0000-000000000000}=" DUMMY_TWO ";{nonsense}=/a;/nowhere.so;", 1);
  setenv("DUMMY_TWO", "addresses=192.0.2.7 id=2", 1);
  EXPECT_EQ(addresses(), Texts({"127.0.0.1", "127.0.0.2", "::1", "192.0.2.7"}));
  const auto entries = read_catalogue();
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_TRUE((*entries)[0].catalogued);
  EXPECT_EQ((*entries)[0].name, L"a dummy");
  EXPECT_FALSE((*entries)[1].catalogued);
  EXPECT_EQ((*entries)[2].id, default_provider_id(L"/nowhere.so"));
}

TEST(Identifiers, ThereAndBack) {
  constexpr GUID id = {0x01234567, 0x89AB, 0xCDEF, {1, 2, 3, 4, 5, 6, 7, 0xF8}};
  EXPECT_EQ(print_guid(id), L"{01234567-89AB-CDEF-0102-0304050607F8}");
  EXPECT_EQ(parse_guid(L"{01234567-89AB-CDEF-0102-0304050607F8}"), id);
  EXPECT_EQ(parse_guid(L"01234567-89ab-cdef-0102-0304050607f8"), id);
  for (const wchar_t* text :
       {L"", L"{}", L"{01234567-89AB-CDEF-0102-0304050607F8", L"01234567-89AB-CDEF-0102-0304050607F8}",
        L"01234567-89AB-CDEF-0102-0304050607F", L"01234567-89AB-CDEF-0102-0304050607F8A", L"0123456-789AB-CDEF-0102-0304050607F8",
        L"0123456g-89AB-CDEF-0102-0304050607F8", L"01234567-89AB-CDEF-01020304050607F8", L"0123456789ABCDEF01020304050607F8"}) {
    EXPECT_FALSE(parse_guid(text)) << print_guid(*parse_guid(text)).c_str();
  }
}

TEST(Identifiers, AreMadeFromThePath) {
  EXPECT_EQ(default_provider_id(L"/lib/" + std::wstring(kOwnLibrary)), kOwnProvider);
  EXPECT_EQ(default_provider_id(kOwnLibrary), kOwnProvider);
  EXPECT_EQ(default_provider_id(L"/a/b.so"), default_provider_id(L"/a/b.so"));
  EXPECT_NE(default_provider_id(L"/a/b.so"), default_provider_id(L"/b/a.so"));
  EXPECT_EQ(print_guid(default_provider_id(L"/a/b.so"))[15], L'8');
}

TEST(Identifiers, ThisMachinesEntryPassesItsOwnFilter) {
  EXPECT_TRUE(is_networkdirect(entry_of_version_2(kFirst, std::wstring(400, L'x'))));
  EXPECT_FALSE(is_networkdirect({}));
}

}  // namespace
}  // namespace fb::ndutil
