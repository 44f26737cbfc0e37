// What stands behind the Win32 calls: the objects of this process, their handles, and the one lock that all of it is under,
// like a kernel's dispatcher lock. One lock makes "wait for all of these", "completions in order" and "close while
// somebody waits" plain; it is held for some tens of nanoseconds.
//
// The program and a provider that it loads may each have a copy of this library linked in. All copies work on one Kernel:
// that of the first loaded object that has one (see kernel.cc). Therefore nothing in here has virtual functions
// or other pointers into the code of the copy that made it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <pthread.h>

#include "windows.h"

namespace fb::win32 {

using Lock = std::unique_lock<std::mutex>;

/// A thread in a wait for objects.
struct Waiter {
  std::condition_variable wake;
  bool poked = false;
};

enum class Kind : unsigned { event, thread, port, file, heap, disk_file };

struct Object {
  explicit Object(Kind k) : kind(k) {}
  const Kind kind;
  // Handles in the table; when the last is closed the object is of no use to the program any more.
  unsigned handles = 0;
  // Handles, and everything inside that still needs the object.
  unsigned references = 0;
  bool signalled = false;
  std::vector<Waiter*> waiters;
};

struct Event : Object {
  explicit Event(bool manual_reset) : Object(Kind::event), manual(manual_reset) {}
  const bool manual;
};

struct Thread : Object {
  Thread() : Object(Kind::thread) {}
  pthread_t id = {};
  DWORD code = STILL_ACTIVE;
  DWORD number = 0;
  bool suspended = false;
  bool joined = false;
  std::condition_variable resumed;
};

struct Packet {
  ULONG_PTR key = 0;
  OVERLAPPED* overlapped = nullptr;
  LONG status = 0;
  DWORD bytes = 0;
};

struct Watch;

/// A thread that waits at a port. Its packet is its own once it is given, whoever asks the port meanwhile.
struct PortWaiter {
  std::condition_variable wake;
  bool given = false;
  Packet packet = {};
};

struct Port : Object {
  Port() : Object(Kind::port) {}
  bool closed = false;
  std::deque<Packet> packets;
  Watch* watch = nullptr;            // whom PortWatch tells; goes before the port's handle
  std::vector<PortWaiter*> waiters;  // who came last is served first
  unsigned at_once = 1;              // as many of its threads run at a time
  unsigned active = 0;               // that have left the port and do not wait for anything
};

/// While the calling thread waits it is none of those that run for its port. Under the lock, made and destroyed.
class Blocked {
 public:
  Blocked();
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;
  ~Blocked();

 private:
  Port* const port_;
};

/// Asks whoever serves a file to cancel one request, or all for null; false: there was none.
using CancelHook = bool (*)(void* context, OVERLAPPED* overlapped);

struct File : Object {
  File() : Object(Kind::file) {}
  UCHAR modes = 0;
  Port* port = nullptr;
  ULONG_PTR key = 0;
  CancelHook cancel = nullptr;
  void* cancel_context = nullptr;
  // Requests that this library itself keeps pending: changes of addresses and of the catalogue.
  std::vector<OVERLAPPED*> watches;
  bool watches_catalogue = false;
};

struct Heap : Object {
  Heap() : Object(Kind::heap) {}
  std::map<void*, SIZE_T> blocks;
};

/// A file of the system's, opened by its name.
struct DiskFile : Object {
  explicit DiskFile(int number) : Object(Kind::disk_file), descriptor(number) {}
  const int descriptor;
};

/// A thread that waits for the memory at an address to change.
struct AddressWaiter {
  const volatile void* address = nullptr;
  bool woken = false;
  std::condition_variable wake;
};

struct Kernel {
  // Copies of different builds must not share one.
  const std::size_t size = sizeof(Kernel);
  std::mutex lock;
  std::map<std::uintptr_t, Object*> handles;
  std::uintptr_t next_handle = 0x10000;
  std::map<std::uintptr_t, File*> sockets;
  std::map<void*, unsigned> modules;
  std::map<void*, SIZE_T> regions;
  // Threads that wait until some OVERLAPPED is no longer pending.
  std::condition_variable completed;
  unsigned completion_waiters = 0;
  Port* callbacks = nullptr;
  HANDLE process_heap = nullptr;
  unsigned winsock_users = 0;
  pthread_key_t last_error = {};
  std::vector<AddressWaiter*> address_waiters;  // the oldest first
};

Kernel& kernel();
/// The code of the calling copy stays loaded for ever: for threads that never end.
void pin_this_module();

using Deadline = std::chrono::steady_clock::time_point;
constexpr Deadline kNever = Deadline::max();
Deadline deadline_in(DWORD milliseconds);

/// Declared before the lock by whoever queues packets: once the lock is free again, those who watch the ports are told.
class Telling {
 public:
  Telling() = default;
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;
  ~Telling();
};
/// Waits for the condition; false when the time has come. It is no Blocked wait.
bool wait_until_poked(std::condition_variable& condition, Lock& lock, Deadline deadline);
/// The same for what programs wait for.
bool wait_on(std::condition_variable& condition, Lock& lock, Deadline deadline);

// All of these are called with the lock held.

/// A new object gets its first handle.
HANDLE give_handle(Object& object);
/// Null, with ERROR_INVALID_HANDLE set, for what is no handle of that kind.
Object* find(HANDLE handle);
template <typename T>
T* find_as(HANDLE handle, Kind kind) {
  Object* object = find(handle);
  if (object != nullptr && object->kind != kind) {
    SetLastError(ERROR_INVALID_HANDLE);
    return nullptr;
  }
  return static_cast<T*>(object);
}
/// A file or a socket.
File* find_file(HANDLE handle);
void drop_reference(Object* object);
void signal(Object& object);
/// Under a Telling.
void queue_packet(Port& port, const Packet& packet);
/// The end of the caller's Telling will tell of a packet. Part of queue_packet().
void note_packet(Watch& watch);
/// Under a Telling. What the end of a request does: status, event, packet. `pended`: the caller was told that it would come.
void finish(File& file, OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes, bool pended);
/// Marks the request pending and its event unset; false: hEvent is no event.
bool start(File& file, OVERLAPPED& overlapped);
/// Under a Telling. Ends a watch, or all; false: there was none.
bool end_watches(File& file, const OVERLAPPED* overlapped, LONG status);
/// The catalogue has changed: everybody who asked is told. Takes the lock itself.
void announce_catalogue_change();

// UTF-8 and the wide characters of the program; what is no text becomes U+FFFD.
std::string to_narrow(const wchar_t* text);
std::wstring to_wide(const std::string& text);

inline BOOL fail(DWORD error) {
  SetLastError(error);
  return FALSE;
}

}  // namespace fb::win32
