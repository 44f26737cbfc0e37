#include "networkdirect/ndutil/changes.h"

#include <mswsock.h>

namespace fb::ndutil {

void Changes::open() {
  port_ = CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 1);
  if (port_ == nullptr) return;
  const int families[kCatalogue] = {AF_INET, AF_INET6};
  for (int i = 0; i < kCatalogue; ++i) {
    sockets_[i] = WSASocketW(families[i], SOCK_DGRAM, IPPROTO_UDP, nullptr, 0, WSA_FLAG_OVERLAPPED);
    if (sockets_[i] == INVALID_SOCKET) continue;
    if (CreateIoCompletionPort(reinterpret_cast<HANDLE>(sockets_[i]), port_, 0, 0) != nullptr) arm(i);
  }
  if (WSAProviderConfigChange(&catalogue_, nullptr, nullptr) != 0) catalogue_ = nullptr;
  if (catalogue_ != nullptr && CreateIoCompletionPort(catalogue_, port_, 0, 0) != nullptr) arm(kCatalogue);
}

void Changes::arm(int which) {
  Watch& watch = watches_[which];
  watch.request = {};
  DWORD bytes = 0;
  const int answer = which == kCatalogue
                         ? WSAProviderConfigChange(&catalogue_, &watch.request, nullptr)
                         : WSAIoctl(sockets_[which], SIO_ADDRESS_LIST_CHANGE, nullptr, 0, nullptr, 0, &bytes, &watch.request, nullptr);
  watch.armed = answer == 0 || WSAGetLastError() == WSA_IO_PENDING;
}

bool Changes::take(DWORD milliseconds) {
  DWORD bytes = 0;
  ULONG_PTR key = 0;
  OVERLAPPED* ended = nullptr;
  GetQueuedCompletionStatus(port_, &bytes, &key, &ended, milliseconds);
  if (ended == nullptr) return false;
  for (Watch& watch : watches_) {
    if (ended == &watch.request) watch.armed = false;
  }
  return true;
}

bool Changes::happened() {
  if (port_ == nullptr) return false;
  bool any[kCatalogue + 1] = {};
  for (int i = 0; i <= kCatalogue; ++i) any[i] = watches_[i].armed;
  bool changed = false;
  while (take(0)) changed = true;
  for (int i = 0; i <= kCatalogue; ++i) {
    if (any[i] && !watches_[i].armed) arm(i);
  }
  return changed;
}

void Changes::close() {
  // What is pending ends with the socket or handle that it was asked of, and uses its OVERLAPPED until then.
  constexpr DWORD kPatience_ms = 1000;
  for (SOCKET& socket : sockets_) {
    if (socket != INVALID_SOCKET) closesocket(socket);
    socket = INVALID_SOCKET;
  }
  if (catalogue_ != nullptr) CloseHandle(catalogue_);
  catalogue_ = nullptr;
  const auto pending = [this] {
    bool some = false;
    for (const Watch& watch : watches_) some = some || watch.armed;
    return some;
  };
  while (pending() && take(kPatience_ms)) {
  }
  for (Watch& watch : watches_) watch.armed = false;
  if (port_ != nullptr) CloseHandle(port_);
  port_ = nullptr;
}

}  // namespace fb::ndutil
