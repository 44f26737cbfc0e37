// Hears of changes of the machine's addresses and of the catalogue. Nobody waits for them: they are looked for when a
// program calls the helper library.
#pragma once

#include <winsock2.h>

namespace fb::ndutil {

class Changes {
 public:
  /// After WSAStartup. What the system cannot tell of is done without.
  void open();
  void close();
  /// Whether something changed since the last call. Later changes are listened for again when this returns, so that
  /// what is read then misses none.
  bool happened();
  /// Whether the system tells of changes of the catalogue; Wine does not.
  bool hears_catalogue() const { return watches_[kCatalogue].armed; }

 private:
  static constexpr int kCatalogue = 2;
  struct Watch {
    OVERLAPPED request = {};
    bool armed = false;
  };
  void arm(int which);
  /// The next request that has ended; false when there is none for so long.
  bool take(DWORD milliseconds);

  HANDLE port_ = nullptr;
  SOCKET sockets_[kCatalogue] = {INVALID_SOCKET, INVALID_SOCKET};  // IPv4, IPv6
  HANDLE catalogue_ = nullptr;
  Watch watches_[kCatalogue + 1];
};

}  // namespace fb::ndutil
