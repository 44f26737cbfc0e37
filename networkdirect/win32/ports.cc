// Completion ports, as the system's queues of packets work. A packet goes to the thread that began to wait last; who posts and
// then polls does not find it. A thread that has left a port counts as one of those that run for it until it comes again, or
// goes to another port; while it waits for something else it does not count. Where as many run as the port permits, packets
// stay in the queue, and come out in the order in which they went in.
#include <algorithm>
#include <thread>
#include <utility>

#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

void hand_over(Port& port) {
  while (!port.packets.empty() && !port.waiters.empty() && port.active < port.at_once) {
    PortWaiter& waiter = *port.waiters.back();
    port.waiters.pop_back();
    waiter.packet = port.packets.front();
    port.packets.pop_front();
    waiter.given = true;
    ++port.active;
    waiter.wake.notify_one();
  }
}

/// The port that a thread runs for. Copies of the library have one each: a thread waits with the copy of its program.
class Membership {
 public:
  Membership() = default;
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  ~Membership() {
    if (port_ == nullptr) return;
    const Lock lock(kernel().lock);
    leave();
  }

  // Under the lock, all of them.

  /// It comes to the port, and does not run for any until it has left.
  void come(Port& port) {
    if (port_ != &port) {
      leave();
      port_ = &port;
      ++port.references;
    } else if (std::exchange(active_, false)) {
      --port.active;
    }
  }
  /// It leaves with a packet that it took itself, or with none.
  void run() {
    ++port_->active;
    active_ = true;
  }
  /// It leaves with a packet that it was given.
  void given() { active_ = true; }
  Port* active() const { return active_ ? port_ : nullptr; }

 private:
  void leave() {
    if (port_ == nullptr) return;
    if (std::exchange(active_, false)) {
      --port_->active;
      hand_over(*port_);
    }
    drop_reference(std::exchange(port_, nullptr));
  }

  Port* port_ = nullptr;
  bool active_ = false;
};

thread_local Membership membership;

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

  /// False: no packet, and the error says why.
  bool take(Packet& packet, DWORD milliseconds) {
    membership.come(*port_);
    if (!port_->packets.empty() && port_->active < port_->at_once) {
      packet = pop();
      membership.run();
      return true;
    }
    PortWaiter waiter;
    if (milliseconds != 0 && !port_->closed) {
      port_->waiters.push_back(&waiter);
      bool in_time = true;
      const Deadline deadline = deadline_in(milliseconds);
      while (!waiter.given && !port_->closed && in_time) in_time = wait_until_poked(waiter.wake, lock_, deadline);
      if (!waiter.given) std::erase(port_->waiters, &waiter);
    }
    if (waiter.given) {
      packet = waiter.packet;
      membership.given();
      return true;
    }
    membership.run();
    SetLastError(port_->closed ? ERROR_ABANDONED_WAIT_0 : WAIT_TIMEOUT);
    return false;
  }

  bool empty() const { return port_->packets.empty(); }
  Packet pop() {
    const Packet packet = port_->packets.front();
    port_->packets.pop_front();
    return packet;
  }

 private:
  Lock lock_;
  Port* port_;
};

// How many threads are there for callbacks: more than one, so that a callback may wait for another.
constexpr unsigned kCallbackThreads = 2;

void serve_callbacks(Port* port) {
  for (;;) {
    Packet packet;
    {
      PortInUse in_use(*port);
      if (!in_use.take(packet, INFINITE)) return;
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
  hand_over(port);
  if (port.watch != nullptr && !port.packets.empty()) note_packet(*port.watch);
}

Blocked::Blocked() : port_(membership.active()) {
  if (port_ == nullptr) return;
  --port_->active;
  hand_over(*port_);
}

Blocked::~Blocked() {
  if (port_ != nullptr) ++port_->active;
}

}  // namespace fb::win32

using namespace fb::win32;

HANDLE CreateIoCompletionPort(HANDLE file_handle, HANDLE port_handle, ULONG_PTR key, DWORD threads) {
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
    // A machine with one processor is none for which programs are written.
    port->at_once = threads != 0 ? threads : std::max(std::thread::hardware_concurrency(), 2u);
    port_handle = give_handle(*port);
  }
  if (file != nullptr) associate(*file, *port, key);
  return port_handle;
}

BOOL GetQueuedCompletionStatus(HANDLE handle, LPDWORD bytes, PULONG_PTR key, LPOVERLAPPED* overlapped, DWORD milliseconds) {
  if (bytes == nullptr || key == nullptr || overlapped == nullptr) return fail(ERROR_INVALID_PARAMETER);
  *overlapped = nullptr;
  PortInUse port(handle);
  Packet packet;
  if (!port || !port.take(packet, milliseconds)) return FALSE;
  *bytes = packet.bytes;
  *key = packet.key;
  *overlapped = packet.overlapped;
  return NT_SUCCESS(packet.status) ? TRUE : fail(RtlNtStatusToDosError(packet.status));
}

BOOL GetQueuedCompletionStatusEx(HANDLE handle, LPOVERLAPPED_ENTRY entries, ULONG entries_max, PULONG entries_removed, DWORD milliseconds,
                                 BOOL) {
  if (entries == nullptr || entries_max == 0 || entries_removed == nullptr) return fail(ERROR_INVALID_PARAMETER);
  *entries_removed = 0;
  PortInUse port(handle);
  Packet packet;
  if (!port || !port.take(packet, milliseconds)) return FALSE;
  ULONG count = 0;
  const auto note = [&] { entries[count++] = {packet.key, packet.overlapped, static_cast<ULONG>(packet.status), packet.bytes}; };
  for (note(); count < entries_max && !port.empty(); note()) packet = port.pop();
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
    k.callbacks->at_once = kCallbackThreads;
    pin_this_module();
    for (unsigned i = 0; i < kCallbackThreads; ++i) std::thread(&serve_callbacks, k.callbacks).detach();
  }
  associate(*file, *k.callbacks, reinterpret_cast<ULONG_PTR>(function));
  return TRUE;
}
