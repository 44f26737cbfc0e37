// For whoever lives on an event loop of another kind and must learn of a completion port's packets without a thread that
// waits for them. Windows has no such thing: there (port_watch_windows.cc) it is a thread that waits in
// GetQueuedCompletionStatus and hands the packets over, of which the descriptor alone tells; here a packet's arrival is told
// by whoever queued it. All that has to do with threads is on this side of the interface.
#pragma once

#include <optional>

#include "windows.h"

namespace fb::win32 {

struct Watch;

struct PortPacket {
  ULONG_PTR key = 0;
  OVERLAPPED* overlapped = nullptr;
  DWORD bytes = 0;
};

/// All packets of the port are taken here, on the thread that made the watch. A port has one watch at a time, and its
/// handle stays open as long.
class PortWatch {
 public:
  using Callback = void (*)(void* context);

  /// `callback`: there may be packets to take. Only on the thread that made the watch, from inside whatever ended a
  /// request on it, when no lock of this library is held; at once when packets are there already. Of requests that end on
  /// other threads the descriptor tells.
  PortWatch(HANDLE port, Callback callback, void* context);
  PortWatch(const PortWatch&) = delete;
  PortWatch& operator=(const PortWatch&) = delete;
  /// No call comes afterwards. May be destroyed inside a call.
  ~PortWatch();

  /// The oldest packet, whatever the result of its request. Does not wait.
  std::optional<PortPacket> take();

  /// Readable once another thread has queued packets, until clear(); it exists from the first call of this on. -1 when the
  /// system has no more.
  int descriptor();
  /// Before packets are taken that the descriptor tells of.
  void clear();
  /// Whether the descriptor has told of packets since. Cheap.
  bool told() const;

  /// Whether a packet of that request counts. Called under this library's lock.
  using Counts = bool (*)(void* context, OVERLAPPED* overlapped);
  /// Nobody takes packets here any more. They are thrown away as they come, and with the last of `packets` that count, at
  /// once for 0, `done` is called: once, on any thread. It may destroy the watch. Nothing else is called from now on.
  void retire(std::size_t packets, Counts counts, void* context, Callback done);

 private:
  HANDLE port_;
  Watch* watch_;
};

}  // namespace fb::win32
