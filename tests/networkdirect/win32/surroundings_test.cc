// The loader with a second copy of the layer, the environment, addresses, the catalogue, wide printing, memory and time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "networkdirect/win32/overlapped_file.h"
#include "tchar.h"
#include "ws2spi.h"
#include "ws2tcpip.h"

namespace {

using fb::win32::OverlappedFile;

std::wstring wide(const std::string& text) { return {text.begin(), text.end()}; }

class Module : public ::testing::Test {
 protected:
  Module() : module_(LoadLibraryExW(wide(WIN32_MODULE).c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH)) {}
  ~Module() override { EXPECT_TRUE(FreeLibrary(module_)); }

  template <typename F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(GetProcAddress(module_, name));
  }

  HMODULE module_;
};

TEST_F(Module, HasItsOwnCopyAndTheSameHandles) {
  ASSERT_NE(module_, nullptr);
  const HANDLE event = CreateEventW(nullptr, TRUE, FALSE, nullptr);
  EXPECT_TRUE(function<BOOL(HANDLE)>("module_sets")(event));
  EXPECT_EQ(WaitForSingleObject(event, 0), WAIT_OBJECT_0);
  CloseHandle(event);
  const HANDLE made = function<HANDLE()>("module_makes_event")();
  EXPECT_EQ(WaitForSingleObject(made, 0), WAIT_OBJECT_0);
  EXPECT_TRUE(CloseHandle(made));
  function<void(DWORD)>("module_leaves_error")(4711);
  EXPECT_EQ(GetLastError(), 4711u);
}

TEST_F(Module, CompletesTheProgramsRequests) {
  HANDLE handle = nullptr;
  const OverlappedFile file = OverlappedFile::create(handle);
  const HANDLE port = CreateIoCompletionPort(handle, nullptr, 3, 0);
  OVERLAPPED overlapped = {};
  ASSERT_TRUE(function<BOOL(HANDLE, OVERLAPPED*, LONG)>("module_completes")(handle, &overlapped, STATUS_CONNECTION_REFUSED));
  DWORD bytes = 0;
  ULONG_PTR key = 0;
  OVERLAPPED* got = nullptr;
  EXPECT_FALSE(GetQueuedCompletionStatus(port, &bytes, &key, &got, 0));
  EXPECT_EQ(GetLastError(), ERROR_CONNECTION_REFUSED);
  EXPECT_EQ(got, &overlapped);
  CloseHandle(port);
  CloseHandle(handle);
}

TEST_F(Module, MissingNamesAndModulesAreErrors) {
  EXPECT_EQ(GetProcAddress(module_, "nothing_of_that_name"), nullptr);
  EXPECT_EQ(GetLastError(), ERROR_PROC_NOT_FOUND);
  EXPECT_EQ(GetProcAddress(reinterpret_cast<HMODULE>(this), "module_sets"), nullptr);
  EXPECT_EQ(GetLastError(), ERROR_INVALID_HANDLE);
  EXPECT_EQ(LoadLibraryW(L"/nowhere/provider.so"), nullptr);
  EXPECT_EQ(GetLastError(), ERROR_MOD_NOT_FOUND);
  EXPECT_FALSE(FreeLibrary(reinterpret_cast<HMODULE>(this)));
}

TEST(Environment, ExpandsWhatIsThere) {
  setenv("FB_TEST_FOLDER", "/opt/nd", 1);
  unsetenv("FB_TEST_NONE");
  WCHAR out[64] = {};
  EXPECT_EQ(ExpandEnvironmentStringsW(L"%FB_TEST_FOLDER%/p.so %FB_TEST_NONE% 5%", out, 64), 31u);
  EXPECT_STREQ(out, L"/opt/nd/p.so %FB_TEST_NONE% 5%");
  EXPECT_EQ(ExpandEnvironmentStringsW(L"%FB_TEST_FOLDER%", out, 3), 8u) << "too short: the length that is needed";
  EXPECT_EQ(GetEnvironmentVariableW(L"FB_TEST_FOLDER", out, 64), 7u);
  EXPECT_EQ(GetEnvironmentVariableW(L"FB_TEST_FOLDER", out, 2), 8u);
  EXPECT_EQ(GetEnvironmentVariableW(L"FB_TEST_NONE", out, 64), 0u);
  EXPECT_EQ(GetLastError(), ERROR_ENVVAR_NOT_FOUND);
  EXPECT_STREQ(_wgetenv(L"FB_TEST_FOLDER"), L"/opt/nd");
  EXPECT_EQ(_wgetenv(L"FB_TEST_NONE"), nullptr);
}

class Winsock : public ::testing::Test {
 protected:
  Winsock() {
    WSADATA data = {};
    EXPECT_EQ(WSAStartup(MAKEWORD(2, 2), &data), 0);
    EXPECT_EQ(data.wVersion, MAKEWORD(2, 2));
  }
  ~Winsock() override { EXPECT_EQ(WSACleanup(), 0); }

  static int parse(const std::string& text, int family, SOCKADDR_INET& address) {
    std::wstring copy = wide(text);
    INT size = sizeof(address);
    return WSAStringToAddressW(copy.data(), family, nullptr, reinterpret_cast<LPSOCKADDR>(&address), &size);
  }
};

TEST_F(Winsock, AddressesThereAndBack) {
  for (const std::string text : {"192.0.2.1", "192.0.2.1:4420", "2001:db8::1", "[2001:db8::1]:4420", "[fe80::1%2]:80", "fe80::1%2"}) {
    SOCKADDR_INET address = {};
    const int family = text.find("::") == std::string::npos ? AF_INET : AF_INET6;
    ASSERT_EQ(parse(text, family, address), 0) << text;
    WCHAR out[80] = {};
    DWORD chars = 80;
    ASSERT_EQ(WSAAddressToStringW(reinterpret_cast<LPSOCKADDR>(&address), sizeof(address), nullptr, out, &chars), 0);
    EXPECT_EQ(out, wide(text));
    EXPECT_EQ(chars, text.size() + 1);
    chars = 3;
    EXPECT_EQ(WSAAddressToStringW(reinterpret_cast<LPSOCKADDR>(&address), sizeof(address), nullptr, out, &chars), SOCKET_ERROR);
    EXPECT_EQ(WSAGetLastError(), WSAEFAULT);
    EXPECT_EQ(chars, text.size() + 1);
  }
}

TEST_F(Winsock, BadAddressesAreRefused) {
  SOCKADDR_INET address = {};
  for (const char* text : {"", "192.0.2", "192.0.2.1:", "192.0.2.1:65536", "192.0.2.1:-1", "host", "1.2.3.4x"}) {
    EXPECT_EQ(parse(text, AF_INET, address), SOCKET_ERROR) << text;
    EXPECT_EQ(WSAGetLastError(), WSAEINVAL);
  }
  for (const char* text : {"", "[::1", "[::1]4", "[::1]:x", ":::", "::1%nosuchlink"}) {
    EXPECT_EQ(parse(text, AF_INET6, address), SOCKET_ERROR) << text;
  }
  std::wstring text = L"192.0.2.1";
  INT size = 4;
  EXPECT_EQ(WSAStringToAddressW(text.data(), AF_INET, nullptr, reinterpret_cast<LPSOCKADDR>(&address), &size), SOCKET_ERROR);
  EXPECT_EQ(WSAGetLastError(), WSAEFAULT);
  EXPECT_EQ(size, INT{sizeof(SOCKADDR_IN)});
}

TEST(WinsockStart, IsNeededAndCounted) {
  std::wstring text = L"192.0.2.1";
  SOCKADDR_INET address = {};
  INT size = sizeof(address);
  EXPECT_EQ(WSAStringToAddressW(text.data(), AF_INET, nullptr, reinterpret_cast<LPSOCKADDR>(&address), &size), SOCKET_ERROR);
  EXPECT_EQ(WSAGetLastError(), WSANOTINITIALISED);
  EXPECT_EQ(WSACleanup(), SOCKET_ERROR);
  WSADATA data = {};
  EXPECT_EQ(WSAStartup(MAKEWORD(1, 1), &data), WSAVERNOTSUPPORTED);
}

TEST_F(Winsock, RoutingQueryGivesTheLocalAddress) {
  const SOCKET s = WSASocketW(AF_INET, SOCK_DGRAM, IPPROTO_UDP, nullptr, 0, WSA_FLAG_OVERLAPPED);
  ASSERT_NE(s, INVALID_SOCKET);
  SOCKADDR_INET remote = {};
  SOCKADDR_INET local = {};
  ASSERT_EQ(parse("127.0.0.1", AF_INET, remote), 0);
  DWORD bytes = 0;
  EXPECT_EQ(WSAIoctl(s, SIO_ROUTING_INTERFACE_QUERY, &remote, sizeof(remote), &local, sizeof(local), &bytes, nullptr, nullptr), 0);
  EXPECT_EQ(bytes, sizeof(SOCKADDR_IN));
  EXPECT_EQ(local.Ipv4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  EXPECT_EQ(WSAIoctl(s, SIO_ADDRESS_LIST_QUERY, nullptr, 0, nullptr, 0, &bytes, nullptr, nullptr), SOCKET_ERROR);
  EXPECT_EQ(WSAGetLastError(), WSAEFAULT);
  std::vector<SOCKET_ADDRESS_LIST> list(bytes / sizeof(SOCKET_ADDRESS_LIST) + 1);
  EXPECT_EQ(WSAIoctl(s, SIO_ADDRESS_LIST_QUERY, nullptr, 0, list.data(), bytes, &bytes, nullptr, nullptr), 0);
  EXPECT_GE(list[0].iAddressCount, 1);
  EXPECT_EQ(list[0].Address[0].lpSockaddr->sa_family, AF_INET);
  EXPECT_EQ(WSAIoctl(s, 1, nullptr, 0, nullptr, 0, &bytes, nullptr, nullptr), SOCKET_ERROR);
  EXPECT_EQ(closesocket(s), 0);
  EXPECT_EQ(closesocket(s), SOCKET_ERROR);
}

TEST_F(Winsock, AddressChangesPendUntilTheSocketIsClosed) {
  const SOCKET s = WSASocketW(AF_INET, SOCK_DGRAM, IPPROTO_UDP, nullptr, 0, WSA_FLAG_OVERLAPPED);
  const HANDLE port = CreateIoCompletionPort(reinterpret_cast<HANDLE>(s), nullptr, 1, 0);
  ASSERT_NE(port, nullptr);
  OVERLAPPED overlapped = {};
  DWORD bytes = 0;
  EXPECT_EQ(WSAIoctl(s, SIO_ADDRESS_LIST_CHANGE, nullptr, 0, nullptr, 0, &bytes, &overlapped, nullptr), SOCKET_ERROR);
  EXPECT_EQ(WSAGetLastError(), WSA_IO_PENDING);
  closesocket(s);
  ULONG_PTR key = 0;
  OVERLAPPED* got = nullptr;
  EXPECT_FALSE(GetQueuedCompletionStatus(port, &bytes, &key, &got, 0));
  EXPECT_EQ(GetLastError(), ERROR_OPERATION_ABORTED);
  EXPECT_EQ(got, &overlapped);
  CloseHandle(port);
}

class Catalogue : public Winsock {
 protected:
  Catalogue() : path_(std::filesystem::temp_directory_path() / ("fb-catalogue-" + std::to_string(getpid()))) {
    setenv("FABRICBENCH_PROVIDERS", (path_ / "deep" / "providers").c_str(), 1);
  }
  ~Catalogue() override {
    unsetenv("FABRICBENCH_PROVIDERS");
    std::filesystem::remove_all(path_);
  }

  static WSAPROTOCOL_INFOW entry(int family) {
    WSAPROTOCOL_INFOW info = {};
    info.dwServiceFlags1 = XP1_GUARANTEED_DELIVERY | XP1_GUARANTEED_ORDER | XP1_MESSAGE_ORIENTED | XP1_CONNECT_DATA;
    info.dwProviderFlags = PFL_HIDDEN | PFL_NETWORKDIRECT_PROVIDER;
    info.iVersion = 0x20000;
    info.iAddressFamily = family;
    info.iSocketType = -1;
    info.ProtocolChain.ChainLen = BASE_PROTOCOL;
    wcscpy_s(info.szProtocol, L"fabricbench one=two \x00E4");
    return info;
  }
  static std::vector<WSAPROTOCOL_INFOW> list() {
    DWORD bytes = 0;
    INT error = 0;
    EXPECT_EQ(WSCEnumProtocols(nullptr, nullptr, &bytes, &error), SOCKET_ERROR);
    EXPECT_EQ(error, WSAENOBUFS) << "helper libraries insist on it";
    std::vector<WSAPROTOCOL_INFOW> entries(bytes / sizeof(WSAPROTOCOL_INFOW));
    EXPECT_EQ(WSCEnumProtocols(nullptr, entries.data(), &bytes, &error), static_cast<int>(entries.size()));
    std::erase_if(entries, [](const WSAPROTOCOL_INFOW& e) { return (e.dwProviderFlags & PFL_NETWORKDIRECT_PROVIDER) == 0; });
    return entries;
  }

  static constexpr GUID kId = {0x01234567, 0x89AB, 0xCDEF, {1, 2, 3, 4, 5, 6, 7, 0xF8}};
  static constexpr GUID kOther = {1, 2, 3, {0, 0, 0, 0, 0, 0, 0, 0}};
  std::filesystem::path path_;
};

TEST_F(Catalogue, InstallFindRemove) {
  EXPECT_TRUE(list().empty());
  const WSAPROTOCOL_INFOW entries[] = {entry(AF_INET), entry(AF_INET6)};
  INT error = 0;
  ASSERT_EQ(WSCInstallProvider(&kId, L"%HOME%/a provider.so", entries, 2, &error), 0) << error;
  EXPECT_EQ(WSCInstallProvider(&kId, L"other.so", entries, 1, &error), SOCKET_ERROR);
  EXPECT_EQ(error, WSANO_RECOVERY);
  ASSERT_EQ(WSCInstallProvider(&kOther, L"other.so", entries, 1, &error), 0);
  const auto found = list();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].ProviderId, kId);
  EXPECT_EQ(found[1].ProviderId, kId);
  EXPECT_EQ(found[2].ProviderId, kOther);
  EXPECT_EQ(found[1].dwServiceFlags1, 0x8Eu);
  EXPECT_EQ(found[1].dwProviderFlags, 0x14u);
  EXPECT_EQ(found[1].iVersion, 0x20000);
  EXPECT_EQ(found[1].iAddressFamily, AF_INET6);
  EXPECT_EQ(found[1].iSocketType, -1);
  EXPECT_EQ(found[1].ProtocolChain.ChainLen, 1);
  EXPECT_STREQ(found[1].szProtocol, L"fabricbench one=two \x00E4");
  EXPECT_NE(found[0].dwCatalogEntryId, found[1].dwCatalogEntryId);

  WCHAR path[MAX_PATH] = {};
  INT chars = 4;
  EXPECT_EQ(WSCGetProviderPath(&kId, path, &chars, &error), SOCKET_ERROR);
  EXPECT_EQ(error, WSAEFAULT);
  EXPECT_EQ(chars, 21);
  EXPECT_EQ(WSCGetProviderPath(&kId, path, &chars, &error), 0);
  EXPECT_STREQ(path, L"%HOME%/a provider.so");
  EXPECT_EQ(WSCDeinstallProvider(&kId, &error), 0);
  EXPECT_EQ(WSCDeinstallProvider(&kId, &error), SOCKET_ERROR);
  EXPECT_EQ(error, WSAEINVAL);
  EXPECT_EQ(WSCGetProviderPath(&kId, path, &chars, &error), SOCKET_ERROR);
  EXPECT_EQ(list().size(), 1u);
}

TEST_F(Catalogue, ProtocolsCanBeAskedFor) {
  INT protocols[] = {IPPROTO_TCP, 0};
  WSAPROTOCOL_INFOW entries[4] = {};
  DWORD bytes = sizeof(entries);
  INT error = 0;
  EXPECT_EQ(WSCEnumProtocols(protocols, entries, &bytes, &error), 1);
  EXPECT_EQ(entries[0].iProtocol, IPPROTO_TCP);
}

TEST_F(Catalogue, ChangesAreTold) {
  HANDLE handle = nullptr;
  EXPECT_EQ(WSAProviderConfigChange(&handle, nullptr, nullptr), 0);
  const HANDLE port = CreateIoCompletionPort(handle, nullptr, 2, 0);
  OVERLAPPED overlapped = {};
  EXPECT_EQ(WSAProviderConfigChange(&handle, &overlapped, nullptr), SOCKET_ERROR);
  EXPECT_EQ(WSAGetLastError(), WSA_IO_PENDING);
  DWORD bytes = 0;
  ULONG_PTR key = 0;
  OVERLAPPED* got = nullptr;
  EXPECT_FALSE(GetQueuedCompletionStatus(port, &bytes, &key, &got, 0));
  const WSAPROTOCOL_INFOW info = entry(AF_INET);
  INT error = 0;
  WSCInstallProvider(&kId, L"p.so", &info, 1, &error);
  EXPECT_TRUE(GetQueuedCompletionStatus(port, &bytes, &key, &got, 0));
  EXPECT_EQ(got, &overlapped);
  CloseHandle(handle);
  CloseHandle(port);
}

TEST_F(Catalogue, SeveralInstallAtOnce) {
  std::vector<std::thread> threads;
  for (ULONG i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (ULONG j = 0; j < 5; ++j) {
        const GUID id = {i + 1, static_cast<USHORT>(j), 0, {}};
        const WSAPROTOCOL_INFOW info = entry(AF_INET);
        INT error = 0;
        EXPECT_EQ(WSCInstallProvider(&id, L"p.so", &info, 1, &error), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(list().size(), 20u);
}

TEST_F(Catalogue, NonsenseIsAnError) {
  std::filesystem::create_directories(path_ / "deep");
  for (const char* text : {"entry id=0x1 name=x\n", "provider {1} p\n", "something\n",
                           "provider {01234567-89AB-CDEF-0102-0304050607F8} p\nentry id=7 name=x\n",
                           "provider {01234567-89AB-CDEF-0102-0304050607F8} p\nentry wild=0x7 name=x\n",
                           "provider {01234567-89AB-CDEF-0102-0304050607F8} p\nentry id=0x123456789 name=x\n"}) {
    std::ofstream(path_ / "deep" / "providers") << text;
    DWORD bytes = 0;
    INT error = 0;
    EXPECT_EQ(WSCEnumProtocols(nullptr, nullptr, &bytes, &error), SOCKET_ERROR) << text;
    EXPECT_EQ(error, WSANO_RECOVERY) << text;
  }
  INT error = 0;
  const WSAPROTOCOL_INFOW info = entry(AF_INET);
  EXPECT_EQ(WSCInstallProvider(nullptr, L"p.so", &info, 1, &error), SOCKET_ERROR);
  EXPECT_EQ(error, WSAEFAULT);
  EXPECT_EQ(WSCInstallProvider(&kId, L"p\n.so", &info, 1, &error), SOCKET_ERROR);
  EXPECT_EQ(error, WSAEINVAL);
  setenv("FABRICBENCH_PROVIDERS", "/proc/nowhere/providers", 1);
  EXPECT_EQ(WSCInstallProvider(&kId, L"p.so", &info, 1, &error), SOCKET_ERROR);
  EXPECT_EQ(error, WSAEACCES);
}

TEST(WidePrinting, FormatsAreWindows) {
  WCHAR out[100] = {};
  EXPECT_EQ(swprintf(out, 100, L"%s|%S|%hs|%ws|%5d|%-4x|%%|%c", L"w\x00E4", "n", "h", L"v", -3, 255u, L'z'), 23);
  EXPECT_STREQ(out, L"w\x00E4|n|h|v|   -3|ff  |%|z");
  swprintf_s(out, 100, L"%I64d %I64x %ld %lu %Iu %hu %lld", INT64{-5000000000}, UINT64{0xFFFFFFFFFF}, LONG{-1}, DWORD{4000000000u},
             SIZE_T{5000000000}, USHORT{9}, INT64{-7});
  EXPECT_STREQ(out, L"-5000000000 ffffffffff -1 4000000000 5000000000 9 -7");
  EXPECT_EQ(swprintf(out, 4, L"%s", L"longer"), -1);
  EXPECT_STREQ(out, L"lon");
}

TEST(WidePrinting, WideMainAndBothKindsOfOutput) {
  FILE* out = popen(WIN32_WIDE " one 'tw\xC3\xB6'", "r");
  ASSERT_NE(out, nullptr);
  std::string text;
  std::array<char, 200> part{};
  while (fgets(part.data(), static_cast<int>(part.size()), out) != nullptr) text += part.data();
  EXPECT_EQ(pclose(out), 0);
  EXPECT_EQ(text, "narrow first\n1 one narrow short\n2 tw\xC3\xB6 narrow short\nnarrow last 7\n");
}

TEST(SafeCopies, EmptyTheTargetWhenItIsTooSmall) {
  WCHAR out[4] = L"old";
  EXPECT_EQ(wcscpy_s(out, L"abcd"), ERANGE);
  EXPECT_STREQ(out, L"");
  EXPECT_EQ(wcscpy_s(out, L"ab"), 0);
  EXPECT_EQ(wcscat_s(out, L"c"), 0);
  EXPECT_STREQ(out, L"abc");
  EXPECT_EQ(wcscat_s(out, L"d"), ERANGE);
  EXPECT_EQ(wcsncpy_s(out, 4, L"abcdef", _TRUNCATE), 0);
  EXPECT_STREQ(out, L"abc");
  EXPECT_EQ(wcscpy_s(nullptr, 4, L"x"), EINVAL);
  EXPECT_EQ(_wtol(L"-12x"), -12);
  EXPECT_EQ(_wcsicmp(L"NdConn", L"ndconn"), 0);
}

TEST(Memory, HeapsAndPages) {
  void* block = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, 64);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(static_cast<char*>(block)[63], 0);
  EXPECT_TRUE(HeapFree(GetProcessHeap(), 0, block));
  const HANDLE heap = HeapCreate(0, 0, 0);
  EXPECT_NE(HeapAlloc(heap, 0, 10), nullptr) << "destroying the heap gives it back";
  int foreign = 0;
  EXPECT_FALSE(HeapFree(heap, 0, &foreign));
  EXPECT_TRUE(HeapDestroy(heap));
  EXPECT_FALSE(HeapDestroy(heap));
  EXPECT_FALSE(HeapDestroy(GetProcessHeap()));
  void* pages = VirtualAlloc(nullptr, 10'000, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
  ASSERT_NE(pages, nullptr);
  static_cast<char*>(pages)[9'999] = 1;
  EXPECT_FALSE(VirtualFree(pages, 10'000, MEM_RELEASE));
  EXPECT_TRUE(VirtualFree(pages, 0, MEM_RELEASE));
  EXPECT_FALSE(VirtualFree(pages, 0, MEM_RELEASE));
}

TEST(Machine, TimesAlwaysAdvance) {
  const auto number = [](FILETIME t) { return static_cast<ULONGLONG>(t.dwHighDateTime) << 32 | t.dwLowDateTime; };
  FILETIME idle[2], kernel[2], user[2];
  ASSERT_TRUE(GetSystemTimes(&idle[0], &kernel[0], &user[0]));
  Sleep(1);
  ASSERT_TRUE(GetSystemTimes(&idle[1], &kernel[1], &user[1]));
  EXPECT_GT(number(kernel[1]) + number(user[1]), number(kernel[0]) + number(user[0]));
  SYSTEM_INFO info = {};
  GetSystemInfo(&info);
  EXPECT_GE(info.dwNumberOfProcessors, 1u);
  EXPECT_EQ(info.dwPageSize, static_cast<DWORD>(sysconf(_SC_PAGESIZE)));
}

TEST(Layouts, AreThoseOfWindows) {
  static_assert(sizeof(OVERLAPPED) == 32 && offsetof(OVERLAPPED, hEvent) == 24);
  static_assert(sizeof(OVERLAPPED_ENTRY) == 32 && sizeof(CRITICAL_SECTION) == 40 && sizeof(SYSTEM_INFO) == 48);
  static_assert(sizeof(SOCKET_ADDRESS) == 16 && offsetof(SOCKET_ADDRESS_LIST, Address) == 8);
  static_assert(sizeof(GUID) == 16 && sizeof(LONG) == 4 && sizeof(ULONG) == 4 && sizeof(DWORD) == 4 && sizeof(BOOL) == 4);
  static_assert(sizeof(SOCKADDR_INET) == 28 && sizeof(LARGE_INTEGER) == 8);
  EXPECT_EQ(IID_IClassFactory.Data4[7], 0x46);
}

TEST(Printing, NarrowFormatsAreMicrosofts) {
  char out[200];
  EXPECT_EQ(sprintf(out, "%I64d|%Id|%Iu|%I64x|%I32u", INT64{-5000000000}, SSIZE_T{-7}, SIZE_T{5000000000}, UINT64{0xFFFFFFFFFF}, DWORD{7}),
            38);
  EXPECT_STREQ(out, "-5000000000|-7|5000000000|ffffffffff|7");
  snprintf(out, sizeof out, "%ld %lu %lx %s %S %ls %hs %c %%", LONG{-1}, DWORD{4000000000u}, ULONG{255}, "narrow", L"w\x00E4", L"wide",
           "short", 'c');
  EXPECT_STREQ(out, "-1 4000000000 ff narrow w\xC3\xA4 wide short c %");
  snprintf(out, sizeof out, "%" PRId64 " %" PRIu64 " %" PRIx64 " %zu %lf", std::int64_t{-5000000000}, std::uint64_t{5000000000},
           std::uint64_t{0xFFFFFFFFFF}, std::size_t{9}, 1.5);
  EXPECT_STREQ(out, "-5000000000 5000000000 ffffffffff 9 1.500000");
  std::snprintf(out, sizeof out, "%I64u", UINT64{1} << 63);
  EXPECT_STREQ(out, "9223372036854775808");
}

TEST(Printing, BoundedFunctionsKnowTheSizesOfArrays) {
  char narrow[8];
  wchar_t wide[8];
  EXPECT_EQ(sprintf_s(narrow, "%I64d", INT64{1234567}), 7);
  EXPECT_STREQ(narrow, "1234567");
  EXPECT_EQ(sprintf_s(narrow, "%d", 12345678), -1);
  EXPECT_STREQ(narrow, "") << "what does not fit leaves nothing";
  EXPECT_EQ(sprintf_s(narrow, sizeof narrow, "%s", "seven.."), 7);
  EXPECT_EQ(_snprintf_s(narrow, _TRUNCATE, "%s", "too long by far"), -1);
  EXPECT_STREQ(narrow, "too lon");
  EXPECT_EQ(_snprintf_s(narrow, sizeof narrow, 3, "%s", "cut"), 3);
  EXPECT_EQ(_snprintf_s(narrow, sizeof narrow, 3, "%s", "longer"), -1);
  EXPECT_STREQ(narrow, "lon");
  EXPECT_EQ(swprintf_s(wide, L"%s %d", L"abc", 123), 7);
  EXPECT_STREQ(wide, L"abc 123");
  EXPECT_EQ(swprintf_s(wide, L"%d", 12345678), -1);
  EXPECT_STREQ(wide, L"");
  EXPECT_EQ(_snwprintf_s(wide, _TRUNCATE, L"%s", L"too long by far"), -1);
  EXPECT_STREQ(wide, L"too lon");
  const auto through_list = [&](const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int written = vsprintf_s(narrow, format, arguments);
    va_end(arguments);
    return written;
  };
  EXPECT_EQ(through_list("%d-%d", 1, 2), 3);
  EXPECT_STREQ(narrow, "1-2");
  EXPECT_EQ(strncat_s(narrow, "345678", 3), 0);
  EXPECT_STREQ(narrow, "1-2345");
}

template <class T>
void counts_atomically() {
  volatile T counter = 5;
  EXPECT_EQ(InterlockedIncrement(&counter), T{6});
  EXPECT_EQ(InterlockedDecrement(&counter), T{5});
  EXPECT_EQ(InterlockedExchangeAdd(&counter, 10), T{5});
  EXPECT_EQ(InterlockedExchange(&counter, 7), T{15});
  EXPECT_EQ(InterlockedCompareExchange(&counter, 9, 8), T{7});
  EXPECT_EQ(InterlockedCompareExchange(&counter, 9, 7), T{7});
  EXPECT_EQ(InterlockedOr(&counter, 6), T{9});
  EXPECT_EQ(InterlockedAnd(&counter, 3), T{15});
  EXPECT_EQ(InterlockedXor(&counter, 1), T{3});
  EXPECT_EQ(counter, T{2});
}

TEST(Interlocked, EveryWholeNumberHasThem) {
  counts_atomically<LONG>();
  counts_atomically<ULONG>();
  counts_atomically<unsigned>();
  counts_atomically<long>();
  counts_atomically<unsigned long>();
  counts_atomically<long long>();
  counts_atomically<unsigned long long>();
  volatile long long wide = 1;
  EXPECT_EQ(InterlockedIncrement64(&wide), 2);
  EXPECT_EQ(InterlockedExchangeAdd64(&wide, LONG64{1} << 40), 2);
  EXPECT_EQ(wide, (LONG64{1} << 40) + 2);
}

TEST(Files, WhatAFileIs) {
  const HANDLE folder =
      CreateFileW(L"/", FILE_READ_ATTRIBUTES, FILE_SHARE_READ, nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  ASSERT_NE(folder, INVALID_HANDLE_VALUE);
  BY_HANDLE_FILE_INFORMATION one = {}, other = {};
  ASSERT_TRUE(GetFileInformationByHandle(folder, &one));
  EXPECT_EQ(one.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY, DWORD{FILE_ATTRIBUTE_DIRECTORY});
  const HANDLE again = CreateFileA("/", FILE_READ_ATTRIBUTES, 0, nullptr, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  ASSERT_TRUE(GetFileInformationByHandle(again, &other));
  EXPECT_EQ(one.nFileIndexLow, other.nFileIndexLow);
  EXPECT_TRUE(CloseHandle(folder));
  EXPECT_TRUE(CloseHandle(again));
  EXPECT_EQ(CreateFileW(L"/", GENERIC_READ, 0, nullptr, OPEN_EXISTING, 0, nullptr), INVALID_HANDLE_VALUE) << "a folder is no file";
  EXPECT_EQ(CreateFileW(L"/no/such/file", GENERIC_READ, 0, nullptr, OPEN_EXISTING, 0, nullptr), INVALID_HANDLE_VALUE);
  EXPECT_EQ(GetLastError(), ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(GetFileAttributesW(L"/no/such/file"), INVALID_FILE_ATTRIBUTES);
}

TEST(Messages, ErrorsHaveWords) {
  char* text = nullptr;
  const DWORD language = MAKELANGID(LANG_NEUTRAL, SUBLANG_DEFAULT);
  constexpr DWORD kSystem = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  ASSERT_GT(FormatMessageA(kSystem | FORMAT_MESSAGE_ALLOCATE_BUFFER, nullptr, ERROR_ACCESS_DENIED, language, reinterpret_cast<LPSTR>(&text),
                           0, nullptr),
            0u);
  EXPECT_STREQ(text, "Access is denied.\r\n");
  EXPECT_EQ(LocalFree(text), nullptr);
  char room[4];
  EXPECT_EQ(FormatMessageA(kSystem, nullptr, ERROR_ACCESS_DENIED, language, room, sizeof room, nullptr), 0u);
  EXPECT_EQ(GetLastError(), ERROR_INSUFFICIENT_BUFFER);
  wchar_t wide[100];
  EXPECT_GT(FormatMessageW(kSystem, nullptr, static_cast<DWORD>(STATUS_CONNECTION_REFUSED), language, wide, 100, nullptr), 0u);
  EXPECT_STREQ(wide, L"The connection was refused.\r\n");
}

TEST(Addresses, HaveTheMembersOfWindows) {
  sockaddr_in four = {};
  four.sin_addr.s_addr = htonl(0xA9FE0102);
  EXPECT_EQ(four.sin_addr.S_un.S_un_b.s_b1, 169);
  EXPECT_EQ(four.sin_addr.S_un.S_un_b.s_b4, 2);
  EXPECT_EQ(four.sin_addr.S_un.S_addr, four.sin_addr.s_addr);
  sockaddr_in6 six = {};
  six.sin6_addr = in6addr_loopback;
  EXPECT_EQ(six.sin6_addr.u.Word[7], htons(1));
  EXPECT_EQ(six.sin6_addr.u.Byte[15], 1);
  EXPECT_TRUE(IN6_IS_ADDR_LOOPBACK(&six.sin6_addr));
}

}  // namespace
