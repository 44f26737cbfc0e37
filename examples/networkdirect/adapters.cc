// A program for NetworkDirect as it is written for Windows: opens the adapter behind each address, and registers memory with it.
#include <winsock2.h>
#include <ws2tcpip.h>

#include <ndsupport.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(HRESULT status, const char* call) {
  if (status == ND_SUCCESS) return;
  std::fprintf(stderr, "%s: 0x%08lX\n", call, static_cast<unsigned long>(status) & 0xFFFFFFFFul);
  std::exit(1);
}

void wait_for(IND2Overlapped* object, HRESULT status, OVERLAPPED* request, const char* call) {
  if (status == ND_PENDING) status = object->GetOverlappedResult(request, TRUE);
  check(status, call);
}

void try_adapter(const SOCKET_ADDRESS& address) {
  IND2Adapter* adapter = nullptr;
  check(
      NdOpenAdapter(IID_IND2Adapter, address.lpSockaddr, static_cast<SIZE_T>(address.iSockaddrLength), reinterpret_cast<void**>(&adapter)),
      "NdOpenAdapter");
  ND2_ADAPTER_INFO info = {};
  info.InfoVersion = ND_VERSION_2;
  ULONG bytes = sizeof info;
  check(adapter->Query(&info, &bytes), "Query");

  HANDLE file = nullptr;
  check(adapter->CreateOverlappedFile(&file), "CreateOverlappedFile");
  IND2MemoryRegion* region = nullptr;
  check(adapter->CreateMemoryRegion(IID_IND2MemoryRegion, file, reinterpret_cast<void**>(&region)), "CreateMemoryRegion");
  std::vector<unsigned char> memory(1 << 16);
  OVERLAPPED request = {};
  request.hEvent = CreateEvent(nullptr, TRUE, FALSE, nullptr);
  wait_for(region, region->Register(memory.data(), memory.size(), ND_MR_FLAG_ALLOW_LOCAL_WRITE, &request), &request, "Register");
  std::printf("adapter %llX: receives %lu deep, local token %lX\n", static_cast<unsigned long long>(info.AdapterId),
              static_cast<unsigned long>(info.MaxReceiveQueueDepth), static_cast<unsigned long>(region->GetLocalToken()));
  wait_for(region, region->Deregister(&request), &request, "Deregister");
  region->Release();
  CloseHandle(request.hEvent);
  CloseHandle(file);
  adapter->Release();
}

}  // namespace

int main() {
  WSADATA data = {};
  if (WSAStartup(MAKEWORD(2, 2), &data) != 0) return 1;
  check(NdStartup(), "NdStartup");
  SIZE_T bytes = 0;
  check(NdQueryAddressList(ND_QUERY_EXCLUDE_NDv1_ADDRESSES, nullptr, &bytes) == ND_BUFFER_OVERFLOW ? ND_SUCCESS : ND_NO_MEMORY,
        "NdQueryAddressList (is there a provider?)");
  std::vector<unsigned long long> memory(bytes / sizeof(unsigned long long) + 1);
  auto* const list = reinterpret_cast<SOCKET_ADDRESS_LIST*>(memory.data());
  check(NdQueryAddressList(ND_QUERY_EXCLUDE_NDv1_ADDRESSES, list, &bytes), "NdQueryAddressList");
  for (INT i = 0; i < list->iAddressCount; ++i) try_adapter(list->Address[i]);
  check(NdCleanup(), "NdCleanup");
  WSACleanup();
  return list->iAddressCount > 0 ? 0 : 1;
}
