#include "networkdirect/win32/overlapped_file.h"

#include <utility>

#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

constexpr std::uintptr_t kNoPacket = 1;

// Null for none; the handle may have been closed since the request began.
Event* event_of(const OVERLAPPED& overlapped) {
  if (overlapped.hEvent == nullptr) return nullptr;
  return find_as<Event>(overlapped.hEvent, Kind::event);
}

}  // namespace

// Programs ask for the status without a lock, so it is read and written as one.
LONG overlapped_status(const OVERLAPPED& overlapped) { return static_cast<LONG>(__atomic_load_n(&overlapped.Internal, __ATOMIC_ACQUIRE)); }

bool start(File& file, OVERLAPPED& overlapped) {
  Event* event = event_of(overlapped);
  if (event == nullptr && overlapped.hEvent != nullptr) return false;
  if (event != nullptr) event->signalled = false;
  file.signalled = false;
  overlapped.InternalHigh = 0;
  __atomic_store_n(&overlapped.Internal, ULONG_PTR{STATUS_PENDING}, __ATOMIC_RELEASE);
  return true;
}

void finish(File& file, OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes, bool pended) {
  const DWORD error = GetLastError();
  Event* event = event_of(overlapped);
  SetLastError(error);
  const bool wants_packet = (reinterpret_cast<std::uintptr_t>(overlapped.hEvent) & kNoPacket) == 0;
  overlapped.InternalHigh = bytes;
  __atomic_store_n(&overlapped.Internal, ULONG_PTR{static_cast<ULONG>(status)}, __ATOMIC_RELEASE);
  // From here on the request may be gone; only its address is used.
  Kernel& k = kernel();
  const bool skips_port = !pended && NT_SUCCESS(status) && (file.modes & FILE_SKIP_COMPLETION_PORT_ON_SUCCESS) != 0;
  if (file.port != nullptr && wants_packet && !skips_port) {
    queue_packet(*file.port, {file.key, &overlapped, status, static_cast<DWORD>(bytes)});
  }
  if (event != nullptr) signal(*event);
  if ((file.modes & FILE_SKIP_SET_EVENT_ON_HANDLE) == 0) signal(file);
  if (k.completion_waiters > 0) k.completed.notify_all();
}

bool end_watches(File& file, const OVERLAPPED* overlapped, LONG status) {
  bool any = false;
  std::vector<OVERLAPPED*> kept;
  const std::vector<OVERLAPPED*> watches = std::move(file.watches);
  for (OVERLAPPED* watch : watches) {
    if (overlapped != nullptr && watch != overlapped) {
      kept.push_back(watch);
      continue;
    }
    any = true;
    finish(file, *watch, status, 0, true);
  }
  file.watches = std::move(kept);
  return any;
}

bool wait_until_complete(OVERLAPPED& overlapped, DWORD milliseconds) {
  if (overlapped_status(overlapped) != STATUS_PENDING) return true;
  const HANDLE event_handle = overlapped.hEvent;
  const Deadline deadline = deadline_in(milliseconds);
  Kernel& k = kernel();
  Lock lock(k.lock);
  ++k.completion_waiters;
  bool in_time = milliseconds != 0;
  while (overlapped_status(overlapped) == STATUS_PENDING && in_time) in_time = wait_on(k.completed, lock, deadline);
  --k.completion_waiters;
  if (overlapped_status(overlapped) == STATUS_PENDING) return false;
  if (event_handle != nullptr) {
    auto* event = find_as<Event>(event_handle, Kind::event);
    if (event != nullptr && !event->manual) event->signalled = false;
  }
  return true;
}

OverlappedFile OverlappedFile::create(HANDLE& handle, UCHAR modes) {
  auto* file = new File;
  file->modes = modes;
  const Lock lock(kernel().lock);
  handle = give_handle(*file);
  ++file->references;
  return OverlappedFile(*file);
}

std::optional<OverlappedFile> OverlappedFile::of(HANDLE handle) {
  File* file = nullptr;
  {
    const Lock lock(kernel().lock);
    file = find_as<File>(handle, Kind::file);
    if (file == nullptr || file->watches_catalogue) return std::nullopt;
    ++file->references;
  }
  return OverlappedFile(*file);
}

OverlappedFile::OverlappedFile(const OverlappedFile& other) : file_(other.file_) {
  const Lock lock(kernel().lock);
  ++file_->references;
}

OverlappedFile& OverlappedFile::operator=(const OverlappedFile& other) {
  const Lock lock(kernel().lock);
  ++other.file_->references;
  if (file_ != nullptr) drop_reference(file_);
  file_ = other.file_;
  return *this;
}

OverlappedFile::OverlappedFile(OverlappedFile&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}

OverlappedFile::~OverlappedFile() {
  if (file_ == nullptr) return;
  const Lock lock(kernel().lock);
  drop_reference(file_);
}

bool OverlappedFile::begin(OVERLAPPED& overlapped) const {
  const Lock lock(kernel().lock);
  return start(*file_, overlapped);
}

void OverlappedFile::complete(OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes) const {
  const Telling telling;
  const Lock lock(kernel().lock);
  finish(*file_, overlapped, status, bytes, true);
}

void OverlappedFile::complete_in_call(OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes) const {
  const Telling telling;
  const Lock lock(kernel().lock);
  finish(*file_, overlapped, status, bytes, false);
}

void OverlappedFile::on_cancel(CancelHook hook, void* context) const {
  const Lock lock(kernel().lock);
  file_->cancel = hook;
  file_->cancel_context = context;
}

}  // namespace fb::win32

using namespace fb::win32;

BOOL GetOverlappedResultEx(HANDLE handle, LPOVERLAPPED overlapped, LPDWORD bytes, DWORD milliseconds, BOOL) {
  if (overlapped == nullptr || bytes == nullptr) return fail(ERROR_INVALID_PARAMETER);
  {
    const Lock lock(kernel().lock);
    if (find_file(handle) == nullptr) return FALSE;
  }
  if (!wait_until_complete(*overlapped, milliseconds)) {
    return fail(milliseconds == 0 ? ERROR_IO_INCOMPLETE : WAIT_TIMEOUT);
  }
  const LONG status = overlapped_status(*overlapped);
  *bytes = static_cast<DWORD>(overlapped->InternalHigh);
  return NT_SUCCESS(status) ? TRUE : fail(RtlNtStatusToDosError(status));
}

BOOL GetOverlappedResult(HANDLE file, LPOVERLAPPED overlapped, LPDWORD bytes, BOOL wait) {
  return GetOverlappedResultEx(file, overlapped, bytes, wait != FALSE ? INFINITE : 0, FALSE);
}

BOOL CancelIoEx(HANDLE handle, LPOVERLAPPED overlapped) {
  CancelHook hook = nullptr;
  void* context = nullptr;
  bool any = false;
  {
    const Telling telling;
    const Lock lock(kernel().lock);
    File* file = find_file(handle);
    if (file == nullptr) return FALSE;
    any = end_watches(*file, overlapped, STATUS_CANCELLED);
    hook = file->cancel;
    context = file->cancel_context;
  }
  if (hook != nullptr && hook(context, overlapped)) any = true;
  return any ? TRUE : fail(ERROR_NOT_FOUND);
}

BOOL CancelIo(HANDLE file) { return CancelIoEx(file, nullptr) != FALSE || GetLastError() == ERROR_NOT_FOUND ? TRUE : FALSE; }

BOOL SetFileCompletionNotificationModes(HANDLE handle, UCHAR modes) {
  if ((modes & ~(FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE)) != 0) {
    return fail(ERROR_INVALID_PARAMETER);
  }
  const Lock lock(kernel().lock);
  File* file = find_file(handle);
  if (file == nullptr) return FALSE;
  // What was once set cannot be taken back.
  file->modes = static_cast<UCHAR>(file->modes | modes);
  return TRUE;
}
