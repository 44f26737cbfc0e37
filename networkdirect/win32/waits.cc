// Events, and waits for anything that can be signalled.
#include <algorithm>
#include <cstring>

#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

HANDLE make_event(bool named, bool manual_reset, bool initial_state) {
  if (named) {
    SetLastError(ERROR_NOT_SUPPORTED);
    return nullptr;
  }
  auto* event = new Event(manual_reset);
  event->signalled = initial_state;
  const Lock lock(kernel().lock);
  // As where an event of that name might have been there before.
  SetLastError(ERROR_SUCCESS);
  return give_handle(*event);
}

bool waitable(const Object& object) { return object.kind == Kind::event || object.kind == Kind::thread || object.kind == Kind::file; }

void consume(Object& object) {
  if (object.kind == Kind::event && !static_cast<Event&>(object).manual) object.signalled = false;
}

// A thread that has been waited for is gone altogether, so that the module with its code may be unloaded. Called without
// the lock, with a reference held.
void join_ended(Object& object) {
  if (object.kind != Kind::thread) return;
  auto& thread = static_cast<Thread&>(object);
  {
    const Lock lock(kernel().lock);
    if (thread.joined || pthread_equal(thread.id, pthread_self()) != 0) return;
    thread.joined = true;
  }
  pthread_join(thread.id, nullptr);
}

class Wait {
 public:
  Wait(DWORD count, const HANDLE* handles, bool all) : all_(all) {
    for (DWORD i = 0; i < count; ++i) {
      Object* object = find(handles[i]);
      if (object == nullptr || !waitable(*object)) {
        SetLastError(ERROR_INVALID_HANDLE);
        valid_ = false;
        return;
      }
      ++object->references;
      objects_.push_back(object);
    }
  }

  bool valid() const { return valid_; }

  DWORD run(Lock& lock, Deadline deadline) {
    DWORD answer = satisfied();
    if (answer != WAIT_TIMEOUT || deadline <= std::chrono::steady_clock::now()) return answer;
    for (Object* object : objects_) object->waiters.push_back(&waiter_);
    for (;;) {
      waiter_.poked = false;
      bool in_time = true;
      while (!waiter_.poked && in_time) in_time = wait_on(waiter_.wake, lock, deadline);
      answer = satisfied();
      if (answer != WAIT_TIMEOUT || !in_time) break;
    }
    for (Object* object : objects_) std::erase(object->waiters, &waiter_);
    return answer;
  }

  void release(Lock& lock, DWORD answer) {
    if (answer < objects_.size() || (all_ && answer == WAIT_OBJECT_0)) {
      lock.unlock();
      for (std::size_t i = 0; i < objects_.size(); ++i) {
        if (all_ || i == answer) join_ended(*objects_[i]);
      }
      lock.lock();
    }
    for (Object* object : objects_) drop_reference(object);
  }

 private:
  DWORD satisfied() {
    if (all_) {
      for (const Object* object : objects_) {
        if (!object->signalled) return WAIT_TIMEOUT;
      }
      for (Object* object : objects_) consume(*object);
      return WAIT_OBJECT_0;
    }
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      if (!objects_[i]->signalled) continue;
      consume(*objects_[i]);
      return WAIT_OBJECT_0 + static_cast<DWORD>(i);
    }
    return WAIT_TIMEOUT;
  }

  const bool all_;
  bool valid_ = true;
  std::vector<Object*> objects_;
  Waiter waiter_;
};

bool same_value(const volatile void* address, const void* compare, std::size_t bytes) {
  const auto same = [&]<typename T>(T wanted) {
    std::memcpy(&wanted, compare, sizeof wanted);
    return __atomic_load_n(static_cast<const volatile T*>(address), __ATOMIC_SEQ_CST) == wanted;
  };
  switch (bytes) {
    case 1:
      return same(std::uint8_t{});
    case 2:
      return same(std::uint16_t{});
    case 4:
      return same(std::uint32_t{});
    default:
      return same(std::uint64_t{});
  }
}

void wake_by_address(const void* address, std::size_t most) {
  Kernel& k = kernel();
  const Lock lock(k.lock);
  std::erase_if(k.address_waiters, [&](AddressWaiter* waiter) {
    if (waiter->address != address || most == 0) return false;
    --most;
    waiter->woken = true;
    waiter->wake.notify_one();
    return true;
  });
}

}  // namespace

void signal(Object& object) {
  object.signalled = true;
  for (Waiter* waiter : object.waiters) {
    waiter->poked = true;
    waiter->wake.notify_one();
  }
}

}  // namespace fb::win32

using namespace fb::win32;

HANDLE CreateEventW(LPSECURITY_ATTRIBUTES, BOOL manual_reset, BOOL initial_state, LPCWSTR name) {
  return make_event(name != nullptr, manual_reset != FALSE, initial_state != FALSE);
}

HANDLE CreateEventA(LPSECURITY_ATTRIBUTES, BOOL manual_reset, BOOL initial_state, LPCSTR name) {
  return make_event(name != nullptr, manual_reset != FALSE, initial_state != FALSE);
}

BOOL SetEvent(HANDLE handle) {
  const Lock lock(kernel().lock);
  auto* event = find_as<Event>(handle, Kind::event);
  if (event == nullptr) return FALSE;
  signal(*event);
  return TRUE;
}

BOOL ResetEvent(HANDLE handle) {
  const Lock lock(kernel().lock);
  auto* event = find_as<Event>(handle, Kind::event);
  if (event == nullptr) return FALSE;
  event->signalled = false;
  return TRUE;
}

BOOL WaitOnAddress(volatile VOID* address, PVOID compare, SIZE_T bytes, DWORD milliseconds) {
  if (address == nullptr || compare == nullptr || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) {
    return fail(ERROR_INVALID_PARAMETER);
  }
  const Deadline deadline = deadline_in(milliseconds);
  Kernel& k = kernel();
  Lock lock(k.lock);
  // Under the lock, which whoever wakes takes after the change: none is missed.
  if (!same_value(address, compare, bytes)) return TRUE;
  AddressWaiter waiter;
  waiter.address = address;
  k.address_waiters.push_back(&waiter);
  bool in_time = milliseconds != 0;
  while (!waiter.woken && in_time) in_time = wait_on(waiter.wake, lock, deadline);
  if (waiter.woken) return TRUE;
  std::erase(k.address_waiters, &waiter);
  return fail(ERROR_TIMEOUT);
}

VOID WakeByAddressSingle(PVOID address) { wake_by_address(address, 1); }
VOID WakeByAddressAll(PVOID address) { wake_by_address(address, SIZE_MAX); }

DWORD WaitForMultipleObjects(DWORD count, const HANDLE* objects, BOOL all, DWORD milliseconds) {
  if (count == 0 || count > MAXIMUM_WAIT_OBJECTS || objects == nullptr) {
    SetLastError(ERROR_INVALID_PARAMETER);
    return WAIT_FAILED;
  }
  const Deadline deadline = deadline_in(milliseconds);
  Lock lock(kernel().lock);
  Wait wait(count, objects, all != FALSE);
  const DWORD answer = wait.valid() ? wait.run(lock, deadline) : WAIT_FAILED;
  wait.release(lock, answer);
  return answer;
}

DWORD WaitForMultipleObjectsEx(DWORD count, const HANDLE* objects, BOOL all, DWORD milliseconds, BOOL) {
  return WaitForMultipleObjects(count, objects, all, milliseconds);
}

DWORD WaitForSingleObject(HANDLE object, DWORD milliseconds) { return WaitForMultipleObjects(1, &object, FALSE, milliseconds); }

DWORD WaitForSingleObjectEx(HANDLE object, DWORD milliseconds, BOOL) { return WaitForSingleObject(object, milliseconds); }
