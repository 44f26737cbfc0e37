// Completion ports: packets come out in the order in which they went in.
#include <thread>

#include "sim/networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

/// A port in use by a call: it stays while the call waits, whoever closes the handle.
class PortInUse {
 public:
  explicit PortInUse(HANDLE handle) : lock_(kernel().lock), port_(find_as<Port>(handle, Kind::port)) {
    if (port_ != nullptr) ++port_->references;
  }
  explicit PortInUse(Port& port) : lock_(kernel().lock), port_(&port) { ++port_->references; }
  PortInUse(const PortInUse&) = delete;
  PortInUse& operator=(const PortInUse&) = delete;
  ~PortInUse() {
    if (port_ != nullptr) drop_reference(port_);
  }

  explicit operator bool() const { return port_ != nullptr; }
  Port& operator*() const { return *port_; }

  /// False: no packet, and the error says why.
  bool wait(DWORD milliseconds) {
    const Deadline deadline = milliseconds == 0 ? Deadline::min() : deadline_in(milliseconds);
    bool in_time = milliseconds != 0;
    while (port_->packets.empty() && !port_->closed && in_time) in_time = wait_on(port_->ready, lock_, deadline);
    if (!port_->packets.empty()) return true;
    SetLastError(port_->closed ? ERROR_ABANDONED_WAIT_0 : WAIT_TIMEOUT);
    return false;
  }

  Packet take() {
    const Packet packet = port_->packets.front();
    port_->packets.pop_front();
    return packet;
  }

 private:
  Lock lock_;
  Port* port_;
};

// How many threads are there for callbacks: more than one, so that a callback may wait for another.
constexpr int kCallbackThreads = 2;

void serve_callbacks(Port* port) {
  for (;;) {
    Packet packet;
    {
      PortInUse in_use(*port);
      if (!in_use.wait(INFINITE)) return;
      packet = in_use.take();
    }
    const auto function = reinterpret_cast<LPOVERLAPPED_COMPLETION_ROUTINE>(packet.key);
    function(NT_SUCCESS(packet.status) ? ERROR_SUCCESS : RtlNtStatusToDosError(packet.status), packet.bytes, packet.overlapped);
  }
}

void associate(File& file, Port& port, ULONG_PTR key) {
  file.port = &port;
  file.key = key;
  ++port.references;
}

}  // namespace

void queue_packet(Port& port, const Packet& packet) {
  if (port.closed) return;
  port.packets.push_back(packet);
  port.ready.notify_one();
  if (port.watch != nullptr) note_packet(*port.watch);
}

}  // namespace fb::win32

using namespace fb::win32;

HANDLE CreateIoCompletionPort(HANDLE file_handle, HANDLE port_handle, ULONG_PTR key, DWORD) {
  const Lock lock(kernel().lock);
  const bool bare = file_handle == INVALID_HANDLE_VALUE;
  if (bare && port_handle != nullptr) {
    SetLastError(ERROR_INVALID_PARAMETER);
    return nullptr;
  }
  File* file = bare ? nullptr : find_file(file_handle);
  if (!bare && file == nullptr) return nullptr;
  if (file != nullptr && file->port != nullptr) {
    SetLastError(ERROR_INVALID_PARAMETER);
    return nullptr;
  }
  Port* port = nullptr;
  if (port_handle != nullptr) {
    port = find_as<Port>(port_handle, Kind::port);
    if (port == nullptr) return nullptr;
  } else {
    port = new Port;
    port_handle = give_handle(*port);
  }
  if (file != nullptr) associate(*file, *port, key);
  return port_handle;
}

BOOL GetQueuedCompletionStatus(HANDLE handle, LPDWORD bytes, PULONG_PTR key, LPOVERLAPPED* overlapped, DWORD milliseconds) {
  if (bytes == nullptr || key == nullptr || overlapped == nullptr) return fail(ERROR_INVALID_PARAMETER);
  *overlapped = nullptr;
  PortInUse port(handle);
  if (!port || !port.wait(milliseconds)) return FALSE;
  const Packet packet = port.take();
  *bytes = packet.bytes;
  *key = packet.key;
  *overlapped = packet.overlapped;
  return NT_SUCCESS(packet.status) ? TRUE : fail(RtlNtStatusToDosError(packet.status));
}

BOOL GetQueuedCompletionStatusEx(HANDLE handle, LPOVERLAPPED_ENTRY entries, ULONG entries_max, PULONG entries_removed,
                                 DWORD milliseconds, BOOL) {
  if (entries == nullptr || entries_max == 0 || entries_removed == nullptr) return fail(ERROR_INVALID_PARAMETER);
  *entries_removed = 0;
  PortInUse port(handle);
  if (!port || !port.wait(milliseconds)) return FALSE;
  ULONG count = 0;
  while (count < entries_max && !(*port).packets.empty()) {
    const Packet packet = port.take();
    entries[count++] = {packet.key, packet.overlapped, static_cast<ULONG>(packet.status), packet.bytes};
  }
  *entries_removed = count;
  return TRUE;
}

BOOL PostQueuedCompletionStatus(HANDLE handle, DWORD bytes, ULONG_PTR key, LPOVERLAPPED overlapped) {
  const Telling telling;
  const Lock lock(kernel().lock);
  auto* port = find_as<Port>(handle, Kind::port);
  if (port == nullptr) return FALSE;
  queue_packet(*port, {key, overlapped, STATUS_SUCCESS, bytes});
  return TRUE;
}

BOOL BindIoCompletionCallback(HANDLE handle, LPOVERLAPPED_COMPLETION_ROUTINE function, ULONG flags) {
  if (function == nullptr || flags != 0) return fail(ERROR_INVALID_PARAMETER);
  Kernel& k = kernel();
  const Lock lock(k.lock);
  File* file = find_file(handle);
  if (file == nullptr) return FALSE;
  if (file->port != nullptr) return fail(ERROR_INVALID_PARAMETER);
  if (k.callbacks == nullptr) {
    k.callbacks = new Port;
    ++k.callbacks->references;
    pin_this_module();
    for (int i = 0; i < kCallbackThreads; ++i) std::thread(&serve_callbacks, k.callbacks).detach();
  }
  associate(*file, *k.callbacks, reinterpret_cast<ULONG_PTR>(function));
  return TRUE;
}
