// A consumer of NetworkDirect for the tests of the verifier's library: BEHAVIOUR ADDRESS. What it does wrong it does on purpose.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ndsupport.h>

#include "networkdirect/ndutil/catalogue.h"

namespace {

const char* address_text = nullptr;

void check(HRESULT status, const char* what) {
  if (status == ND_SUCCESS) return;
  std::fprintf(stderr, "%s: 0x%08x\n", what, static_cast<unsigned>(status));
  std::_Exit(9);
}

IND2Adapter* open_adapter() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, address_text, &address.sin_addr);
  void* adapter = nullptr;
  check(NdOpenAdapter(IID_IND2Adapter, reinterpret_cast<const sockaddr*>(&address), sizeof address, &adapter), "NdOpenAdapter");
  return static_cast<IND2Adapter*>(adapter);
}

struct Region {
  explicit Region(IND2Adapter& adapter) {
    check(adapter.CreateOverlappedFile(&file), "CreateOverlappedFile");
    void* made = nullptr;
    check(adapter.CreateMemoryRegion(IID_IND2MemoryRegion, file, &made), "CreateMemoryRegion");
    region = static_cast<IND2MemoryRegion*>(made);
  }
  ~Region() {
    region->Release();
    CloseHandle(file);
  }
  /// Before anything was registered in it.
  void ask_early(int times) {
    for (int i = 0; i < times; ++i) region->GetLocalToken();
  }
  HANDLE file = nullptr;
  IND2MemoryRegion* region = nullptr;
};

void honest() {
  IND2Adapter* const adapter = open_adapter();
  adapter->Release();
}

void early(int times) {
  IND2Adapter* const adapter = open_adapter();
  Region(*adapter).ask_early(times);
  adapter->Release();
}

void threads() {
  IND2Adapter* const adapter = open_adapter();
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([adapter] {
      for (int k = 0; k < 100; ++k) Region(*adapter).ask_early(1);
    });
  }
  for (std::thread& one : all) one.join();
  adapter->Release();
}

void after_the_end() {
  IND2Adapter* const adapter = open_adapter();
  adapter->Release();
  check(NdCleanup(), "NdCleanup");
  adapter->Release();
}

void forks(bool child_opens) {
  IND2Adapter* const adapter = child_opens ? nullptr : open_adapter();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (child_opens) early(1);
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::_Exit(9);
  if (child_opens) {
    early(2);
  } else {
    adapter->Release();
  }
}

/// Through the class factory, as of any COM library.
void factory(const char* library) {
  const HMODULE module = LoadLibraryA(library);
  if (module == nullptr) std::_Exit(9);
  const auto get = reinterpret_cast<ND_DLL_GET_CLASS_OBJECT>(GetProcAddress(module, "DllGetClassObject"));
  const auto unload = reinterpret_cast<ND_DLL_CAN_UNLOAD_NOW>(GetProcAddress(module, "DllCanUnloadNow"));
  void* made = nullptr;
  check(unload(), "DllCanUnloadNow before anything");
  check(get(fb::ndutil::kOwnProvider, IID_IClassFactory, &made), "DllGetClassObject");
  auto* const factory = static_cast<IClassFactory*>(made);
  if (unload() != S_FALSE) std::_Exit(8);
  check(factory->CreateInstance(nullptr, IID_IND2Provider, &made), "CreateInstance");
  factory->Release();
  auto* const provider = static_cast<IND2Provider*>(made);
  if (unload() != S_FALSE) std::_Exit(8);
  ULONG bytes = 0;
  if (provider->QueryAddressList(nullptr, &bytes) != ND_BUFFER_OVERFLOW) std::_Exit(8);
  provider->Release();
  check(unload(), "DllCanUnloadNow at the end");
}

volatile std::sig_atomic_t interrupted = 0;

struct Late {
  ~Late() {
    if (adapter != nullptr) adapter->Release();
  }
  IND2Adapter* adapter = nullptr;
} late;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const std::string_view behaviour = argv[1];
  address_text = argv[2];
  if (behaviour == "factory") return factory(argv[2]), 0;
  check(NdStartup(), "NdStartup");
  if (behaviour == "honest") honest();
  if (behaviour == "early") early(1);
  if (behaviour == "often") early(100);
  if (behaviour == "threads") threads();
  if (behaviour == "after") return after_the_end(), 0;
  if (behaviour == "again" || behaviour == "again-quit") {
    honest();
    check(NdCleanup(), "NdCleanup");
    check(NdStartup(), "NdStartup");
    if (behaviour == "again-quit") {
      open_adapter();
      std::_Exit(0);
    }
    early(1);
  }
  if (behaviour == "leak") open_adapter();
  if (behaviour == "static") late.adapter = open_adapter();
  if (behaviour == "fork") forks(false);
  if (behaviour == "fork-both") forks(true);
  if (behaviour == "quit") {
    open_adapter();
    std::_Exit(0);
  }
  if (behaviour == "crash" || behaviour == "early-crash") {
    behaviour == "crash" ? honest() : early(1);
    std::abort();
  }
  if (behaviour == "wait" || behaviour == "handler") {
    IND2Adapter* const adapter = open_adapter();
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    if (behaviour == "handler") sigaction(SIGINT, &action, nullptr);
    std::puts("ready");
    std::fflush(stdout);
    while (interrupted == 0) usleep(1000);
    adapter->Release();
  }
  std::puts("done");
  if (behaviour != "leak" && behaviour != "static") check(NdCleanup(), "NdCleanup");
  return behaviour == "early" ? 3 : 0;
}
