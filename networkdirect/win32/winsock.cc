// Winsock's start, its sockets as completion ports know them, and the requests that stay pending.
#include <algorithm>
#include <cstring>

#include <ifaddrs.h>
#include <sys/socket.h>
#include <unistd.h>

#include "networkdirect/win32/kernel.h"
#include "winsock2.h"

namespace fb::win32 {

namespace {

int refuse(int error) {
  WSASetLastError(error);
  return SOCKET_ERROR;
}

/// A request that this library keeps until something happens. Called with the lock.
int keep_pending(File& file, OVERLAPPED& overlapped) {
  if (!start(file, overlapped)) return refuse(WSA_INVALID_HANDLE);
  file.watches.push_back(&overlapped);
  return refuse(WSA_IO_PENDING);
}

std::size_t size_of(const sockaddr& address) {
  return address.sa_family == AF_INET ? sizeof(sockaddr_in) : address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

// The system chooses when a datagram socket is connected; nothing is sent.
int routing_interface(const void* in, DWORD in_bytes, void* out, DWORD out_bytes, DWORD& bytes) {
  sockaddr_storage remote = {};
  if (in == nullptr || in_bytes < sizeof(sockaddr_in)) return refuse(WSAEFAULT);
  std::memcpy(&remote, in, std::min<std::size_t>(in_bytes, sizeof(remote)));
  const std::size_t size = size_of(reinterpret_cast<const sockaddr&>(remote));
  if (size == 0) return refuse(WSAEAFNOSUPPORT);
  if (in_bytes < size) return refuse(WSAEFAULT);
  bytes = static_cast<DWORD>(size);
  if (out == nullptr || out_bytes < size) return refuse(WSAEFAULT);
  // Some port: without one there is nothing to connect to.
  auto& port =
      remote.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(remote).sin_port : reinterpret_cast<sockaddr_in6&>(remote).sin6_port;
  if (port == 0) port = htons(9);
  const int probe = ::socket(remote.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return refuse(WSAEAFNOSUPPORT);
  sockaddr_storage local = {};
  socklen_t length = sizeof(local);
  const bool routed = ::connect(probe, reinterpret_cast<const sockaddr*>(&remote), static_cast<socklen_t>(size)) == 0 &&
                      ::getsockname(probe, reinterpret_cast<sockaddr*>(&local), &length) == 0;
  ::close(probe);
  if (!routed) return refuse(WSAENETUNREACH);
  (local.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(local).sin_port : reinterpret_cast<sockaddr_in6&>(local).sin6_port) = 0;
  std::memcpy(out, &local, size);
  return 0;
}

int family_of(int descriptor) {
  int family = 0;
  socklen_t length = sizeof(family);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 ? family : AF_UNSPEC;
}

int address_list(int descriptor, void* out, DWORD out_bytes, DWORD& bytes) {
  const int family = family_of(descriptor);
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return refuse(WSAENOBUFS);
  std::vector<const sockaddr*> found;
  for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr != nullptr && at->ifa_addr->sa_family == family) found.push_back(at->ifa_addr);
  }
  const std::size_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const std::size_t head = std::max(sizeof(SOCKET_ADDRESS_LIST), SIZEOF_SOCKET_ADDRESS_LIST(found.size()));
  bytes = static_cast<DWORD>(head + found.size() * size);
  const bool fits = out != nullptr && out_bytes >= bytes;
  if (fits) {
    auto* list = static_cast<SOCKET_ADDRESS_LIST*>(out);
    auto* entries = reinterpret_cast<SOCKET_ADDRESS*>(static_cast<char*>(out) + offsetof(SOCKET_ADDRESS_LIST, Address));
    char* place = static_cast<char*>(out) + head;
    list->iAddressCount = static_cast<INT>(found.size());
    for (std::size_t i = 0; i < found.size(); ++i, place += size) {
      std::memcpy(place, found[i], size);
      entries[i] = {reinterpret_cast<sockaddr*>(place), static_cast<INT>(size)};
    }
  }
  ::freeifaddrs(all);
  return fits ? 0 : refuse(WSAEFAULT);
}

}  // namespace

void announce_catalogue_change() {
  Kernel& k = kernel();
  const Telling telling;
  const Lock lock(k.lock);
  for (const auto& [number, object] : k.handles) {
    if (object->kind != Kind::file) continue;
    auto& file = static_cast<File&>(*object);
    if (file.watches_catalogue) end_watches(file, nullptr, STATUS_SUCCESS);
  }
}

}  // namespace fb::win32

using namespace fb::win32;

int WSAStartup(WORD version, LPWSADATA data) {
  if (data == nullptr) return WSAEFAULT;
  if (LOBYTE(version) < 2) return WSAVERNOTSUPPORTED;
  *data = {};
  data->wVersion = MAKEWORD(2, 2);
  data->wHighVersion = MAKEWORD(2, 2);
  std::strcpy(data->szDescription, "fabricbench");
  std::strcpy(data->szSystemStatus, "Running");
  const Lock lock(kernel().lock);
  ++kernel().winsock_users;
  return 0;
}

int WSACleanup() {
  const Lock lock(kernel().lock);
  if (kernel().winsock_users == 0) return refuse(WSANOTINITIALISED);
  --kernel().winsock_users;
  return 0;
}

int WSAGetLastError() { return static_cast<int>(GetLastError()); }
void WSASetLastError(int error) { SetLastError(static_cast<DWORD>(error)); }

SOCKET WSASocketW(int family, int type, int protocol, LPWSAPROTOCOL_INFOW, GROUP_ID, DWORD) {
  Kernel& k = kernel();
  const Telling telling;
  const Lock lock(k.lock);
  if (k.winsock_users == 0) {
    WSASetLastError(WSANOTINITIALISED);
    return INVALID_SOCKET;
  }
  const int descriptor = ::socket(family, type | SOCK_CLOEXEC, protocol);
  if (descriptor < 0) {
    WSASetLastError(errno == EMFILE ? WSAEMFILE : errno == EPROTONOSUPPORT ? WSAEPROTONOSUPPORT : WSAEAFNOSUPPORT);
    return INVALID_SOCKET;
  }
  auto* file = new File;
  ++file->references;
  File*& place = k.sockets[static_cast<std::uintptr_t>(descriptor)];
  // Somebody closed the descriptor behind our back, and its number is used again.
  if (place != nullptr) {
    end_watches(*place, nullptr, STATUS_CANCELLED);
    drop_reference(place);
  }
  place = file;
  return static_cast<SOCKET>(descriptor);
}

int closesocket(SOCKET socket) {
  Kernel& k = kernel();
  const Telling telling;
  const Lock lock(k.lock);
  const auto at = k.sockets.find(socket);
  if (at != k.sockets.end()) {
    end_watches(*at->second, nullptr, STATUS_CANCELLED);
    drop_reference(at->second);
    k.sockets.erase(at);
  }
  return ::close(static_cast<int>(socket)) == 0 ? 0 : refuse(WSAENOTSOCK);
}

int WSAIoctl(SOCKET socket, DWORD code, LPVOID in, DWORD in_bytes, LPVOID out, DWORD out_bytes, LPDWORD bytes, LPWSAOVERLAPPED overlapped,
             LPWSAOVERLAPPED_COMPLETION_ROUTINE routine) {
  if (bytes == nullptr && overlapped == nullptr) return refuse(WSAEFAULT);
  if (routine != nullptr) return refuse(WSAEOPNOTSUPP);
  if (family_of(static_cast<int>(socket)) == AF_UNSPEC) return refuse(WSAENOTSOCK);
  DWORD returned = 0;
  int answer = 0;
  switch (code) {
    case SIO_ROUTING_INTERFACE_QUERY:
      answer = routing_interface(in, in_bytes, out, out_bytes, returned);
      break;
    case SIO_ADDRESS_LIST_QUERY:
      answer = address_list(static_cast<int>(socket), out, out_bytes, returned);
      break;
    case SIO_ADDRESS_LIST_CHANGE: {
      const Lock lock(kernel().lock);
      File* file = find_file(reinterpret_cast<HANDLE>(socket));
      if (file == nullptr) return refuse(WSAENOTSOCK);
      return overlapped == nullptr ? refuse(WSAEWOULDBLOCK) : keep_pending(*file, *overlapped);
    }
    default:
      return refuse(WSAEOPNOTSUPP);
  }
  if (bytes != nullptr) *bytes = returned;
  if (answer == 0 && overlapped != nullptr) {
    const Telling telling;
    const Lock lock(kernel().lock);
    File* file = find_file(reinterpret_cast<HANDLE>(socket));
    if (file != nullptr && start(*file, *overlapped)) finish(*file, *overlapped, STATUS_SUCCESS, returned, false);
  }
  return answer;
}

BOOL WSAGetOverlappedResult(SOCKET socket, LPWSAOVERLAPPED overlapped, LPDWORD bytes, BOOL wait, LPDWORD flags) {
  if (flags != nullptr) *flags = 0;
  return GetOverlappedResult(reinterpret_cast<HANDLE>(socket), overlapped, bytes, wait);
}

WSAEVENT WSACreateEvent() { return CreateEventW(nullptr, TRUE, FALSE, nullptr); }
BOOL WSACloseEvent(WSAEVENT event) { return CloseHandle(event); }
BOOL WSASetEvent(WSAEVENT event) { return SetEvent(event); }
BOOL WSAResetEvent(WSAEVENT event) { return ResetEvent(event); }

INT WSAProviderConfigChange(LPHANDLE handle, LPWSAOVERLAPPED overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE routine) {
  if (handle == nullptr) return refuse(WSAEFAULT);
  if (routine != nullptr) return refuse(WSAEOPNOTSUPP);
  const Lock lock(kernel().lock);
  if (kernel().winsock_users == 0) return refuse(WSANOTINITIALISED);
  const bool first = *handle == nullptr;
  if (first) {
    auto* made = new File;
    made->watches_catalogue = true;
    *handle = give_handle(*made);
  }
  auto* file = find_as<File>(*handle, Kind::file);
  if (file == nullptr || !file->watches_catalogue) return refuse(WSA_INVALID_HANDLE);
  if (overlapped == nullptr) return first ? 0 : refuse(WSAEOPNOTSUPP);
  return keep_pending(*file, *overlapped);
}
