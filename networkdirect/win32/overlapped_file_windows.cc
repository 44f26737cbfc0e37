// Windows ends requests of its own files only, so a request becomes one: a read of a pipe. While a request is pending nothing is
// under way in the system. To end it well, the read is begun and a byte written to the pipe's other end; to end it badly, the
// read is begun and cancelled. Then the system sets the status and the event, and queues the packet, as the client asked.
//
// A cancelled read says STATUS_CANCELLED. The true status of a request that failed is kept here, for overlapped_status(), until
// its OVERLAPPED is used again or many others have failed.
#include "networkdirect/win32/overlapped_file.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <winternl.h>
// After the type that its numbers have.
#include <ntstatus.h>

#include "base/assert.h"

namespace fb::win32 {

struct File {
  HANDLE reader = nullptr;  // a copy of the client's
  HANDLE writer = nullptr;
  char byte = 0;            // reads go there
  unsigned references = 0;  // not the client's handles
  // Reads and what ends them, one at a time. Recursive: the system may run a callback of the client's inside.
  std::recursive_mutex ending;
};

namespace {

constexpr std::uintptr_t kNoPacket = 1;
constexpr std::size_t kFailuresKept = 65'536;

std::mutex lock;  // the three
std::vector<File*> files;
std::map<const OVERLAPPED*, LONG> failures;
std::deque<const OVERLAPPED*> failures_by_age;

// Who waits for a request that has no event.
std::mutex waiting;
std::condition_variable completed;

HANDLE event_of(const OVERLAPPED& overlapped) {
  return reinterpret_cast<HANDLE>(reinterpret_cast<std::uintptr_t>(overlapped.hEvent) & ~kNoPacket);
}

bool wants_packet(const OVERLAPPED& overlapped) { return (reinterpret_cast<std::uintptr_t>(overlapped.hEvent) & kNoPacket) == 0; }

LONG internal_of(const OVERLAPPED& overlapped) { return static_cast<LONG>(__atomic_load_n(&overlapped.Internal, __ATOMIC_ACQUIRE)); }

void keep_failure(const OVERLAPPED& overlapped, LONG status) {
  const std::lock_guard held(lock);
  if (failures.insert_or_assign(&overlapped, status).second) failures_by_age.push_back(&overlapped);
  while (failures_by_age.size() > kFailuresKept) {
    failures.erase(failures_by_age.front());
    failures_by_age.pop_front();
  }
}

/// Whether the client still has a handle of it: ours is one.
bool has_client(const File& file) {
  PUBLIC_OBJECT_BASIC_INFORMATION about = {};
  ULONG length = 0;
  constexpr auto kBasic = static_cast<OBJECT_INFORMATION_CLASS>(0);
  return NtQueryObject(file.reader, kBasic, &about, sizeof about, &length) < 0 || about.HandleCount > 1;
}

void close(File* file) {
  CloseHandle(file->reader);
  CloseHandle(file->writer);
  delete file;
}

/// Under the lock: closes files that nobody uses. The system does not tell when a client closes its handle.
void collect() {
  std::erase_if(files, [](File* file) {
    if (file->references > 0 || has_client(*file)) return false;
    close(file);
    return true;
  });
}

/// A library that is unloaded completes nothing any more, whatever handles its clients have.
struct AtUnload {
  ~AtUnload() { std::ranges::for_each(files, close); }
} at_unload;

void drop(File* file) {
  if (file == nullptr) return;
  const std::lock_guard held(lock);
  if (--file->references == 0) collect();
}

/// Whether both handles are of one object.
bool same_object(HANDLE a, HANDLE b) {
  using Compare = BOOL(WINAPI*)(HANDLE, HANDLE);
  static const auto compare =
      reinterpret_cast<Compare>(reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CompareObjectHandles")));
  return compare != nullptr && compare(a, b) != FALSE;
}

/// Begins a read that pends, with the client's OVERLAPPED.
bool begin_read(File& file, OVERLAPPED& overlapped) {
  return ReadFile(file.reader, &file.byte, 1, nullptr, &overlapped) == FALSE && GetLastError() == ERROR_IO_PENDING;
}

void write_byte(File& file) {
  const char byte = 0;
  DWORD written = 0;
  const BOOL good = WriteFile(file.writer, &byte, 1, &written, nullptr);
  BENCH_ASSERT(good != FALSE && written == 1, "a pipe of our own takes a byte");
}

}  // namespace

OverlappedFile OverlappedFile::create(HANDLE& handle, UCHAR modes) {
  // The time tells this library from one that was there before, and whose pipes are still closing.
  static std::atomic<unsigned> count = 0;
  LARGE_INTEGER time = {};
  QueryPerformanceCounter(&time);
  wchar_t name[96];
  std::swprintf(name, std::size(name), L"\\\\.\\pipe\\fabricbench-networkdirect-%lu-%p-%u-%llx", GetCurrentProcessId(),
                reinterpret_cast<void*>(&files), count++, static_cast<unsigned long long>(time.QuadPart));
  auto file = std::make_unique<File>();
  file->writer =
      CreateNamedPipeW(name, PIPE_ACCESS_OUTBOUND | FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_TYPE_BYTE | PIPE_WAIT, 1, 4096, 4096, 0, nullptr);
  handle = CreateFileW(name, GENERIC_READ | FILE_WRITE_ATTRIBUTES, 0, nullptr, OPEN_EXISTING, FILE_FLAG_OVERLAPPED, nullptr);
  BENCH_ASSERT(file->writer != INVALID_HANDLE_VALUE && handle != INVALID_HANDLE_VALUE, "the system gives a pipe");
  SetFileCompletionNotificationModes(handle, modes);
  const HANDLE self = GetCurrentProcess();
  BENCH_ASSERT(DuplicateHandle(self, handle, self, &file->reader, 0, FALSE, DUPLICATE_SAME_ACCESS) != FALSE,
               "the system copies a handle of our own");
  file->references = 1;
  const std::lock_guard held(lock);
  collect();
  files.push_back(file.get());
  return OverlappedFile(*file.release());
}

std::optional<OverlappedFile> OverlappedFile::of(HANDLE handle) {
  if (handle == nullptr || handle == INVALID_HANDLE_VALUE) return std::nullopt;
  const std::lock_guard held(lock);
  const auto at = std::ranges::find_if(files, [&](const File* file) { return same_object(handle, file->reader); });
  if (at == files.end()) return std::nullopt;
  ++(*at)->references;
  return OverlappedFile(**at);
}

OverlappedFile::OverlappedFile(const OverlappedFile& other) : file_(other.file_) {
  const std::lock_guard held(lock);
  ++file_->references;
}

OverlappedFile::OverlappedFile(OverlappedFile&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}

OverlappedFile& OverlappedFile::operator=(const OverlappedFile& other) {
  {
    const std::lock_guard held(lock);
    ++other.file_->references;
  }
  drop(std::exchange(file_, other.file_));
  return *this;
}

OverlappedFile::~OverlappedFile() { drop(file_); }

bool OverlappedFile::begin(OVERLAPPED& overlapped) const {
  const HANDLE event = event_of(overlapped);
  if (event != nullptr && ResetEvent(event) == FALSE) return false;
  {
    const std::lock_guard held(lock);
    if (failures.erase(&overlapped) != 0) std::erase(failures_by_age, &overlapped);
  }
  overlapped.InternalHigh = 0;
  __atomic_store_n(&overlapped.Internal, static_cast<ULONG_PTR>(STATUS_PENDING), __ATOMIC_RELEASE);
  return true;
}

void OverlappedFile::complete(OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes) const {
  if (!wants_packet(overlapped)) {
    // The event is all that the client hears: no need for the system, and the status is exact.
    const HANDLE event = event_of(overlapped);
    overlapped.InternalHigh = bytes;
    __atomic_store_n(&overlapped.Internal, static_cast<ULONG_PTR>(static_cast<ULONG>(status)), __ATOMIC_RELEASE);
    if (event != nullptr) SetEvent(event);
  } else {
    if (status < 0 && status != STATUS_CANCELLED) keep_failure(overlapped, status);
    const std::lock_guard held(file_->ending);
    const bool begun = begin_read(*file_, overlapped);
    BENCH_ASSERT(begun, "a read of an empty pipe pends");
    if (status >= 0) {
      write_byte(*file_);
    } else {
      CancelIoEx(file_->reader, &overlapped);
    }
  }
  const std::lock_guard held(waiting);
  completed.notify_all();
}

/// A packet goes to the port in either case: Windows queues one for a request that ended in its call, too.
void OverlappedFile::complete_in_call(OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes) const { complete(overlapped, status, bytes); }

LONG overlapped_status(const OVERLAPPED& overlapped) {
  const LONG status = internal_of(overlapped);
  if (status != STATUS_CANCELLED) return status;
  const std::lock_guard held(lock);
  const auto at = failures.find(&overlapped);
  return at == failures.end() ? status : at->second;
}

bool wait_until_complete(OVERLAPPED& overlapped, DWORD milliseconds) {
  if (internal_of(overlapped) != STATUS_PENDING) return true;
  const HANDLE event = event_of(overlapped);
  if (event != nullptr) return WaitForSingleObject(event, milliseconds) == WAIT_OBJECT_0;
  // The system's part may lag behind the call that asked for it: hence the look from time to time.
  constexpr DWORD kLook_ms = 5;
  std::unique_lock held(waiting);
  for (DWORD waited = 0; internal_of(overlapped) == STATUS_PENDING; waited += kLook_ms) {
    if (milliseconds != INFINITE && waited >= milliseconds) return false;
    completed.wait_for(held, std::chrono::milliseconds(kLook_ms));
  }
  return true;
}

}  // namespace fb::win32
