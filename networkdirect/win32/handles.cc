// The table of handles. A number is never given out again: what was closed stays an invalid handle for ever, also when
// somebody closes it twice.
#include <unistd.h>

#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

// The two low bits of a handle are the program's own.
constexpr std::uintptr_t kNumber = ~std::uintptr_t{3};

void destroy(Object* object) {
  switch (object->kind) {
    case Kind::event:
      delete static_cast<Event*>(object);
      return;
    case Kind::thread:
      delete static_cast<Thread*>(object);
      return;
    case Kind::port:
      delete static_cast<Port*>(object);
      return;
    case Kind::heap:
      delete static_cast<Heap*>(object);
      return;
    case Kind::disk_file: {
      auto* file = static_cast<DiskFile*>(object);
      ::close(file->descriptor);
      delete file;
      return;
    }
    case Kind::file: {
      auto* file = static_cast<File*>(object);
      if (file->port != nullptr) drop_reference(file->port);
      delete file;
      return;
    }
  }
}

void close_last(Object& object) {
  switch (object.kind) {
    case Kind::port: {
      auto& port = static_cast<Port&>(object);
      port.closed = true;
      port.packets.clear();
      for (PortWaiter* waiter : port.waiters) waiter->wake.notify_one();
      return;
    }
    case Kind::thread: {
      auto& thread = static_cast<Thread&>(object);
      if (!thread.joined) {
        thread.joined = true;
        pthread_detach(thread.id);
      }
      return;
    }
    case Kind::file:
      end_watches(static_cast<File&>(object), nullptr, STATUS_CANCELLED);
      return;
    case Kind::event:
    case Kind::heap:
    case Kind::disk_file:
      return;
  }
}

bool is_this_process(HANDLE handle) { return handle == GetCurrentProcess(); }

}  // namespace

HANDLE give_handle(Object& object) {
  Kernel& k = kernel();
  const std::uintptr_t number = k.next_handle;
  k.next_handle += 4;
  ++object.handles;
  ++object.references;
  k.handles.emplace(number, &object);
  return reinterpret_cast<HANDLE>(number);
}

Object* find(HANDLE handle) {
  const auto& handles = kernel().handles;
  const auto at = handles.find(reinterpret_cast<std::uintptr_t>(handle) & kNumber);
  if (at == handles.end()) {
    SetLastError(ERROR_INVALID_HANDLE);
    return nullptr;
  }
  return at->second;
}

File* find_file(HANDLE handle) {
  const auto& sockets = kernel().sockets;
  const auto at = sockets.find(reinterpret_cast<std::uintptr_t>(handle));
  if (at != sockets.end()) return at->second;
  return find_as<File>(handle, Kind::file);
}

void drop_reference(Object* object) {
  if (--object->references == 0) destroy(object);
}

}  // namespace fb::win32

using namespace fb::win32;

BOOL CloseHandle(HANDLE handle) {
  if (handle == GetCurrentProcess() || handle == GetCurrentThread()) return TRUE;
  Kernel& k = kernel();
  const Telling telling;
  const Lock lock(k.lock);
  Object* object = find(handle);
  if (object == nullptr) return FALSE;
  if (object->kind == Kind::heap) return fail(ERROR_INVALID_HANDLE);
  k.handles.erase(reinterpret_cast<std::uintptr_t>(handle) & kNumber);
  if (--object->handles == 0) close_last(*object);
  drop_reference(object);
  return TRUE;
}

BOOL DuplicateHandle(HANDLE source_process, HANDLE source, HANDLE target_process, LPHANDLE target, DWORD, BOOL, DWORD options) {
  if (!is_this_process(source_process) || !is_this_process(target_process)) return fail(ERROR_NOT_SUPPORTED);
  if (target == nullptr) return fail(ERROR_INVALID_PARAMETER);
  {
    const Lock lock(kernel().lock);
    Object* object = find(source);
    if (object == nullptr) return FALSE;
    if (object->kind == Kind::heap) return fail(ERROR_INVALID_HANDLE);
    *target = give_handle(*object);
  }
  return (options & DUPLICATE_CLOSE_SOURCE) != 0 ? CloseHandle(source) : TRUE;
}

HANDLE GetCurrentProcess() { return reinterpret_cast<HANDLE>(std::intptr_t{-1}); }
HANDLE GetCurrentThread() { return reinterpret_cast<HANDLE>(std::intptr_t{-2}); }
DWORD GetCurrentProcessId() { return static_cast<DWORD>(getpid()); }
