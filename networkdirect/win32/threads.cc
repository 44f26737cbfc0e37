// Threads, critical sections, a thread's own storage.
#include <cstdlib>
#include <memory>

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

/// What a new thread begins with; the thread owns it.
struct Beginning {
  Thread* thread = nullptr;
  // One of the two.
  LPTHREAD_START_ROUTINE start = nullptr;
  void (*plain_start)(void*) = nullptr;
  void* parameter = nullptr;
};

// The exit code of the thread. Not shared by copies of the library: a thread ends itself
// with the copy that has started it.
thread_local DWORD own_code = 0;

/// Says at the end of a thread, also of one that exits early, that it has ended.
class Ending {
 public:
  explicit Ending(Thread& thread) : thread_(thread) {}
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() {
    const Lock lock(kernel().lock);
    thread_.code = own_code;
    signal(thread_);
    drop_reference(&thread_);
  }

 private:
  Thread& thread_;
};

void* run(void* given) {
  const std::unique_ptr<Beginning> beginning(static_cast<Beginning*>(given));
  Thread& thread = *beginning->thread;
  const Ending ending(thread);
  {
    Lock lock(kernel().lock);
    thread.number = GetCurrentThreadId();
    thread.resumed.notify_all();
    while (thread.suspended) thread.resumed.wait(lock);
  }
  if (beginning->start != nullptr) {
    own_code = beginning->start(beginning->parameter);
  } else {
    beginning->plain_start(beginning->parameter);
  }
  return nullptr;
}

HANDLE start_thread(std::unique_ptr<Beginning> beginning, std::size_t stack_bytes, DWORD flags, DWORD* number) {
  constexpr std::size_t kStackLeast = 256 * 1024;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_bytes > kStackLeast) pthread_attr_setstacksize(&attributes, (stack_bytes + 4095) / 4096 * 4096);
  auto* thread = new Thread;
  thread->suspended = (flags & CREATE_SUSPENDED) != 0;
  beginning->thread = thread;
  Lock lock(kernel().lock);
  const HANDLE handle = give_handle(*thread);
  // The running thread's own reference.
  ++thread->references;
  if (pthread_create(&thread->id, &attributes, &run, beginning.get()) != 0) {
    thread->joined = true;
    drop_reference(thread);
    lock.unlock();
    CloseHandle(handle);
    pthread_attr_destroy(&attributes);
    SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return nullptr;
  }
  beginning.release();
  ++thread->references;
  while (thread->number == 0) thread->resumed.wait(lock);
  if (number != nullptr) *number = thread->number;
  drop_reference(thread);
  pthread_attr_destroy(&attributes);
  return handle;
}

/// A wait without the lock.
class Resting {
 public:
  Resting() : blocked_(begin()) {}
  Resting(const Resting&) = delete;
  Resting& operator=(const Resting&) = delete;
  ~Resting() {
    const Lock lock(kernel().lock);
    blocked_.reset();
  }

 private:
  static std::unique_ptr<Blocked> begin() {
    const Lock lock(kernel().lock);
    return std::make_unique<Blocked>();
  }
  std::unique_ptr<Blocked> blocked_;
};

pthread_mutex_t* mutex_of(LPCRITICAL_SECTION section) { return static_cast<pthread_mutex_t*>(section->DebugInfo); }

}  // namespace

}  // namespace fb::win32

using namespace fb::win32;

HANDLE CreateThread(LPSECURITY_ATTRIBUTES, SIZE_T stack_bytes, LPTHREAD_START_ROUTINE start, LPVOID parameter, DWORD flags, LPDWORD id) {
  if (start == nullptr) {
    SetLastError(ERROR_INVALID_PARAMETER);
    return nullptr;
  }
  auto beginning = std::make_unique<Beginning>();
  beginning->start = start;
  beginning->parameter = parameter;
  return start_thread(std::move(beginning), stack_bytes, flags, id);
}

uintptr_t _beginthreadex(void*, unsigned stack_bytes, unsigned (*start)(void*), void* parameter, unsigned flags, unsigned* id) {
  return reinterpret_cast<uintptr_t>(CreateThread(nullptr, stack_bytes, start, parameter, flags, id));
}

uintptr_t _beginthread(void (*start)(void*), unsigned stack_bytes, void* parameter) {
  if (start == nullptr) return static_cast<uintptr_t>(-1);
  auto beginning = std::make_unique<Beginning>();
  beginning->plain_start = start;
  beginning->parameter = parameter;
  const HANDLE handle = start_thread(std::move(beginning), stack_bytes, 0, nullptr);
  if (handle == nullptr) return static_cast<uintptr_t>(-1);
  CloseHandle(handle);
  return reinterpret_cast<uintptr_t>(handle);
}

DWORD ResumeThread(HANDLE handle) {
  const Lock lock(kernel().lock);
  auto* thread = find_as<Thread>(handle, Kind::thread);
  if (thread == nullptr) return 0xFFFFFFFFu;
  const DWORD before = thread->suspended ? 1 : 0;
  thread->suspended = false;
  thread->resumed.notify_all();
  return before;
}

BOOL GetExitCodeThread(HANDLE handle, LPDWORD code) {
  if (code == nullptr) return fail(ERROR_INVALID_PARAMETER);
  if (handle == GetCurrentThread()) {
    *code = STILL_ACTIVE;
    return TRUE;
  }
  const Lock lock(kernel().lock);
  const auto* thread = find_as<Thread>(handle, Kind::thread);
  if (thread == nullptr) return FALSE;
  *code = thread->code;
  return TRUE;
}

void ExitThread(DWORD code) {
  own_code = code;
  pthread_exit(nullptr);
}

void _endthreadex(unsigned code) { ExitThread(code); }
void _endthread() { ExitThread(0); }

DWORD GetCurrentThreadId() { return static_cast<DWORD>(gettid()); }

BOOL SetThreadPriority(HANDLE handle, int) {
  if (handle == GetCurrentThread()) return TRUE;
  const Lock lock(kernel().lock);
  return find_as<Thread>(handle, Kind::thread) != nullptr ? TRUE : FALSE;
}

DWORD_PTR SetThreadAffinityMask(HANDLE handle, DWORD_PTR mask) {
  cpu_set_t now;
  CPU_ZERO(&now);
  if (handle != GetCurrentThread()) {
    SetLastError(ERROR_NOT_SUPPORTED);
    return 0;
  }
  sched_getaffinity(0, sizeof(now), &now);
  DWORD_PTR before = 0;
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (std::size_t i = 0; i < 64; ++i) {
    if (CPU_ISSET(i, &now)) before |= DWORD_PTR{1} << i;
    if ((mask >> i & 1) != 0) CPU_SET(i, &wanted);
  }
  if (sched_setaffinity(0, sizeof(wanted), &wanted) != 0) {
    SetLastError(ERROR_INVALID_PARAMETER);
    return 0;
  }
  return before;
}

BOOL SwitchToThread() { return sched_yield() == 0 ? TRUE : FALSE; }

void Sleep(DWORD milliseconds) {
  if (milliseconds == 0) {
    sched_yield();
    return;
  }
  const Resting resting;
  if (milliseconds == INFINITE) {
    for (;;) pause();
  }
  timespec left = {static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1'000'000};
  while (nanosleep(&left, &left) != 0) {
  }
}

DWORD SleepEx(DWORD milliseconds, BOOL) {
  Sleep(milliseconds);
  return 0;
}

DWORD TlsAlloc() {
  pthread_key_t key = {};
  if (pthread_key_create(&key, nullptr) == 0) return key;
  SetLastError(ERROR_NOT_ENOUGH_MEMORY);
  return TLS_OUT_OF_INDEXES;
}

BOOL TlsFree(DWORD index) { return pthread_key_delete(index) == 0 ? TRUE : fail(ERROR_INVALID_PARAMETER); }

// A null pointer that was stored and one that never was differ in the error alone.
LPVOID TlsGetValue(DWORD index) {
  SetLastError(ERROR_SUCCESS);
  return pthread_getspecific(index);
}

BOOL TlsSetValue(DWORD index, LPVOID value) { return pthread_setspecific(index, value) == 0 ? TRUE : fail(ERROR_INVALID_PARAMETER); }

void InitializeCriticalSection(LPCRITICAL_SECTION section) { InitializeCriticalSectionEx(section, 0, 0); }

BOOL InitializeCriticalSectionAndSpinCount(LPCRITICAL_SECTION section, DWORD spins) {
  return InitializeCriticalSectionEx(section, spins, 0);
}

BOOL InitializeCriticalSectionEx(LPCRITICAL_SECTION section, DWORD spins, DWORD) {
  *section = {};
  section->LockCount = -1;
  section->SpinCount = spins;
  auto* mutex = new pthread_mutex_t;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  section->DebugInfo = mutex;
  return TRUE;
}

void EnterCriticalSection(LPCRITICAL_SECTION section) {
  if (pthread_mutex_trylock(mutex_of(section)) == 0) return;
  const Resting resting;
  pthread_mutex_lock(mutex_of(section));
}

BOOL TryEnterCriticalSection(LPCRITICAL_SECTION section) { return pthread_mutex_trylock(mutex_of(section)) == 0 ? TRUE : FALSE; }

void LeaveCriticalSection(LPCRITICAL_SECTION section) { pthread_mutex_unlock(mutex_of(section)); }

void DeleteCriticalSection(LPCRITICAL_SECTION section) {
  pthread_mutex_t* mutex = mutex_of(section);
  if (mutex == nullptr) return;
  pthread_mutex_destroy(mutex);
  delete mutex;
  section->DebugInfo = nullptr;
}
