// For whoever serves overlapped requests from user mode, as a NetworkDirect provider does: a file whose requests are
// ended by a call. Windows has no such thing, and overlapped_file_windows.cc plays tricks with a pipe; here it is simple.
// complete_in_call() is complete() there, and there is no on_cancel().
//
// A request: begin(), tell the caller that it is pending, later complete() from any thread. The OVERLAPPED belongs to the
// client again as soon as complete() has begun; nothing of it is read or written after its status. Requests that end
// within the call either need none of this (the file skips the port on success), or end with complete_in_call().
#pragma once

#include <optional>

#include "windows.h"

namespace fb::win32 {

struct File;

class OverlappedFile {
 public:
  /// A new file, and in `handle` the client's handle for it. `modes`: FILE_SKIP_..., both as NetworkDirect asks.
  static OverlappedFile create(HANDLE& handle, UCHAR modes = FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE);
  /// The file behind a client's handle; empty when it is none, or not one that create() has made.
  static std::optional<OverlappedFile> of(HANDLE handle);

  /// As DuplicateHandle does, a copy keeps the file when the client closes its handle: completions still arrive.
  OverlappedFile(const OverlappedFile& other);
  /// What was moved from can be destroyed and assigned to.
  OverlappedFile(OverlappedFile&& other) noexcept;
  OverlappedFile& operator=(const OverlappedFile& other);
  ~OverlappedFile();

  bool operator==(const OverlappedFile& other) const { return file_ == other.file_; }

  /// The request is pending from now on: status STATUS_PENDING, its event unset. False, and nothing is done, when its event
  /// handle names no event.
  [[nodiscard]] bool begin(OVERLAPPED& overlapped) const;
  /// Ends a request that the caller was told is pending.
  void complete(OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes) const;
  /// Ends a request of which the caller is about to be told that it succeeded: the port and the event hear of it unless the
  /// file skips them.
  void complete_in_call(OVERLAPPED& overlapped, LONG status, ULONG_PTR bytes) const;

  /// What CancelIoEx asks: one request, or all for null. False: there was none. Called without any lock.
  using CancelHook = bool (*)(void* context, OVERLAPPED* overlapped);
  void on_cancel(CancelHook hook, void* context) const;

 private:
  explicit OverlappedFile(File& file) : file_(&file) {}
  File* file_;
};

/// STATUS_PENDING until the request has ended.
LONG overlapped_status(const OVERLAPPED& overlapped);
/// Waits until the request has ended. Like the Win32 function it takes an automatic event that it had to wait for.
/// False when the time has come.
bool wait_until_complete(OVERLAPPED& overlapped, DWORD milliseconds = INFINITE);

}  // namespace fb::win32
