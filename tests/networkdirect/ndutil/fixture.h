// A catalogue of the test's own with dummy providers in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "networkdirect/ndutil/catalogue.h"
#include "networkdirect/ndutil/state.h"
#include <ws2spi.h>

namespace fb::ndutil {

inline std::wstring wide(const std::string& text) { return {text.begin(), text.end()}; }

inline constexpr GUID kFirst = {1, 0, 0, {}};
inline constexpr GUID kSecond = {2, 0, 0, {}};
inline constexpr GUID kThird = {3, 0, 0, {}};

inline SOCKADDR_INET address(const std::string& text, unsigned short port = 0) {
  SOCKADDR_INET made = {};
  if (text.find(':') == std::string::npos) {
    made.Ipv4.sin_family = AF_INET;
    made.Ipv4.sin_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &made.Ipv4.sin_addr), 1) << text;
  } else {
    made.Ipv6.sin6_family = AF_INET6;
    made.Ipv6.sin6_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &made.Ipv6.sin6_addr), 1) << text;
  }
  return made;
}

inline std::string text_of(const sockaddr* given) {
  char out[INET6_ADDRSTRLEN] = {};
  const auto* inet = reinterpret_cast<const SOCKADDR_INET*>(given);
  const void* bytes = given->sa_family == AF_INET ? static_cast<const void*>(&inet->Ipv4.sin_addr) : &inet->Ipv6.sin6_addr;
  inet_ntop(given->sa_family, bytes, out, sizeof(out));
  return out;
}

inline HRESULT check(const std::string& text) {
  const SOCKADDR_INET given = address(text, 4420);
  return NdCheckAddress(reinterpret_cast<const sockaddr*>(&given), sizeof(given));
}

inline HRESULT open(const std::string& text, IUnknown** adapter) {
  const SOCKADDR_INET given = address(text, 4420);
  return NdOpenAdapter(IID_IND2Adapter, reinterpret_cast<const sockaddr*>(&given), sizeof(given), reinterpret_cast<void**>(adapter));
}

/// The local address towards one, or the error in hexadecimal digits.
inline std::string resolved(const std::string& text) {
  const SOCKADDR_INET given = address(text, 4420);
  SOCKADDR_INET local = {};
  SIZE_T bytes = sizeof(local);
  const HRESULT status =
      NdResolveAddress(reinterpret_cast<const sockaddr*>(&given), sizeof(given), reinterpret_cast<sockaddr*>(&local), &bytes);
  if (!FAILED(status)) return text_of(reinterpret_cast<const sockaddr*>(&local));
  char number[12];
  std::snprintf(number, sizeof(number), "%08x", static_cast<unsigned>(status));
  return number;
}

using Texts = std::vector<std::string>;
inline Texts addresses(DWORD flags = 0) {
  SIZE_T bytes = 0;
  const HRESULT status = NdQueryAddressList(flags, nullptr, &bytes);
  if (status == ND_SUCCESS) {
    EXPECT_EQ(bytes, 0u);
    return {};
  }
  EXPECT_EQ(status, ND_BUFFER_OVERFLOW);
  if (status != ND_BUFFER_OVERFLOW) return {"error"};
  std::vector<SOCKET_ADDRESS_LIST> list(bytes / sizeof(SOCKET_ADDRESS_LIST) + 1);
  EXPECT_EQ(NdQueryAddressList(flags, list.data(), &bytes), ND_SUCCESS);
  Texts texts;
  for (INT i = 0; i < list[0].iAddressCount; ++i) texts.push_back(text_of((&list[0].Address[0] + i)->lpSockaddr));
  return texts;
}

/// Whether the process has the library in it.
inline bool is_loaded(const char* path) {
  void* module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (module != nullptr) dlclose(module);
  return module != nullptr;
}

class HelperTest : public ::testing::Test {
 protected:
  HelperTest() : folder_(std::filesystem::temp_directory_path() / ("fb-ndutil-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    setenv("FABRICBENCH_PROVIDERS", (folder_ / "providers").c_str(), 1);
    unsetenv("FABRICBENCH_PROVIDER_LIBRARIES");
    setenv("DUMMY_ONE", "addresses=127.0.0.1,127.0.0.2,::1", 1);
    setenv("DUMMY_TWO", "addresses=192.0.2.7,2001:db8::7", 1);
  }
  ~HelperTest() override {
    while (NdCleanup() == ND_SUCCESS) ADD_FAILURE() << "a test cleans up as often as it starts";
    std::filesystem::remove_all(folder_);
  }

  static void install(const GUID& id, const std::string& path, int version = ND_VERSION_2, DWORD drop_services = 0, int socket_type = -1) {
    WSAPROTOCOL_INFOW entry = entry_of_version_2(id, L"a dummy");
    entry.iVersion = version;
    entry.iSocketType = socket_type;
    entry.dwServiceFlags1 &= ~drop_services;
    GUID copy = id;
    INT error = 0;
    ASSERT_EQ(WSCInstallProvider(&copy, wide(path).c_str(), &entry, 1, &error), 0) << error;
  }
  static void remove(const GUID& id) {
    GUID copy = id;
    INT error = 0;
    ASSERT_EQ(WSCDeinstallProvider(&copy, &error), 0) << error;
  }

  std::filesystem::path folder_;
};

/// The same, with the helper library started and the first dummy in the catalogue.
class StartedTest : public HelperTest {
 protected:
  StartedTest() {
    install(kFirst, DUMMY_ONE);
    EXPECT_EQ(NdStartup(), ND_SUCCESS);
  }
  ~StartedTest() override { EXPECT_EQ(NdCleanup(), ND_SUCCESS); }
};

}  // namespace fb::ndutil
