// Files by name, as far as programs ask what a file is; and what the system says of an error.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

DWORD error_of(int error) {
  switch (error) {
    case ENOENT:
      return ERROR_FILE_NOT_FOUND;
    case ENOTDIR:
      return ERROR_PATH_NOT_FOUND;
    case EEXIST:
      return ERROR_FILE_EXISTS;
    case EACCES:
    case EPERM:
    case EISDIR:
    case EROFS:
      return ERROR_ACCESS_DENIED;
    case EMFILE:
    case ENFILE:
      return ERROR_TOO_MANY_OPEN_FILES;
    case ENOSPC:
      return ERROR_DISK_FULL;
    case ENOMEM:
      return ERROR_NOT_ENOUGH_MEMORY;
    default:
      return ERROR_GEN_FAILURE;
  }
}

int flags_of(DWORD disposition) {
  switch (disposition) {
    case CREATE_NEW:
      return O_CREAT | O_EXCL;
    case CREATE_ALWAYS:
      return O_CREAT | O_TRUNC;
    case OPEN_ALWAYS:
      return O_CREAT;
    case TRUNCATE_EXISTING:
      return O_TRUNC;
    case OPEN_EXISTING:
      return 0;
    default:
      return -1;
  }
}

HANDLE open_file(const std::string& name, DWORD access, DWORD disposition, DWORD flags) {
  const int how = flags_of(disposition);
  if (how < 0 || name.empty()) {
    SetLastError(name.empty() ? ERROR_PATH_NOT_FOUND : ERROR_INVALID_PARAMETER);
    return INVALID_HANDLE_VALUE;
  }
  const bool writes = (access & (GENERIC_WRITE | GENERIC_ALL | FILE_WRITE_DATA | FILE_APPEND_DATA)) != 0;
  const bool reads = (access & (GENERIC_READ | GENERIC_ALL | FILE_READ_DATA)) != 0;
  const int rights = writes ? (reads ? O_RDWR : O_WRONLY) : how == 0 && !reads ? O_PATH : O_RDONLY;
  const bool there = ::access(name.c_str(), F_OK) == 0;
  const int descriptor = ::open(name.c_str(), rights | how | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    SetLastError(error_of(errno));
    return INVALID_HANDLE_VALUE;
  }
  struct stat found = {};
  if (fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode) && (flags & FILE_FLAG_BACKUP_SEMANTICS) == 0) {
    ::close(descriptor);
    SetLastError(ERROR_ACCESS_DENIED);
    return INVALID_HANDLE_VALUE;
  }
  const Lock lock(kernel().lock);
  const bool told = there && (disposition == CREATE_ALWAYS || disposition == OPEN_ALWAYS);
  SetLastError(told ? ERROR_ALREADY_EXISTS : ERROR_SUCCESS);
  return give_handle(*new DiskFile(descriptor));
}

DWORD attributes_of(const struct stat& found) {
  DWORD attributes = S_ISDIR(found.st_mode) ? FILE_ATTRIBUTE_DIRECTORY : 0;
  if ((found.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) attributes |= FILE_ATTRIBUTE_READONLY;
  return attributes == 0 ? FILE_ATTRIBUTE_NORMAL : attributes;
}

DWORD attributes_of(const std::string& name) {
  struct stat found = {};
  if (stat(name.c_str(), &found) == 0) return attributes_of(found);
  SetLastError(error_of(errno));
  return INVALID_FILE_ATTRIBUTES;
}

FILETIME file_time(const timespec& time) {
  constexpr std::int64_t kTo1970 = 11644473600;  // seconds from 1601
  const auto ticks = static_cast<std::uint64_t>((time.tv_sec + kTo1970) * 10'000'000 + time.tv_nsec / 100);
  return {static_cast<DWORD>(ticks), static_cast<DWORD>(ticks >> 32)};
}

/// False, with the error set: no file of the disk.
bool status_of(HANDLE handle, struct stat& found) {
  const Lock lock(kernel().lock);
  const auto* file = find_as<DiskFile>(handle, Kind::disk_file);
  if (file == nullptr) return false;
  if (fstat(file->descriptor, &found) == 0) return true;
  SetLastError(error_of(errno));
  return false;
}

struct Meaning {
  DWORD error;
  const char* text;
};

constexpr Meaning kMeanings[] = {
    {ERROR_SUCCESS, "The operation completed successfully."},
    {ERROR_INVALID_FUNCTION, "The function is not possible here."},
    {ERROR_FILE_NOT_FOUND, "There is no such file."},
    {ERROR_PATH_NOT_FOUND, "There is no such path."},
    {ERROR_ACCESS_DENIED, "Access is denied."},
    {ERROR_INVALID_HANDLE, "The handle is invalid."},
    {ERROR_NOT_ENOUGH_MEMORY, "There is not enough memory."},
    {ERROR_NOT_READY, "The device is not ready."},
    {ERROR_GEN_FAILURE, "A device does not work."},
    {ERROR_SHARING_VIOLATION, "It is in use by somebody else."},
    {ERROR_NOT_SUPPORTED, "The request is not supported."},
    {ERROR_INVALID_PARAMETER, "A parameter is wrong."},
    {ERROR_SEM_TIMEOUT, "The time for it is over."},
    {ERROR_INSUFFICIENT_BUFFER, "The buffer is too small."},
    {ERROR_BUSY, "The resource is in use."},
    {ERROR_ALREADY_EXISTS, "It exists already."},
    {ERROR_MORE_DATA, "There is more data."},
    {WAIT_TIMEOUT, "The wait timed out."},
    {ERROR_ABANDONED_WAIT_0, "The port was closed."},
    {ERROR_OPERATION_ABORTED, "The operation was cancelled."},
    {ERROR_IO_INCOMPLETE, "The request has not completed."},
    {ERROR_IO_PENDING, "The request is in progress."},
    {ERROR_NOACCESS, "Memory may not be accessed so."},
    {ERROR_IO_DEVICE, "The device reported an error."},
    {ERROR_CONNECTION_REFUSED, "The connection was refused."},
    {ERROR_CONNECTION_INVALID, "There is no such connection."},
    {ERROR_CONNECTION_ACTIVE, "The connection is active already."},
    {ERROR_NETWORK_UNREACHABLE, "The network cannot be reached."},
    {ERROR_HOST_UNREACHABLE, "The host cannot be reached."},
    {ERROR_CONNECTION_ABORTED, "The connection was aborted."},
    {ERROR_TIMEOUT, "The time for it is over."},
    {ERROR_DEVICE_REMOVED, "The device was removed."},
};

/// Win32 errors are small; a failure of the others has its highest bit set.
std::string text_of(DWORD message) {
  DWORD error = message;
  if ((message & 0xFFFF0000u) == 0x80070000u) {
    error = message & 0xFFFF;
  } else if ((message & 0x80000000u) != 0) {
    error = RtlNtStatusToDosError(static_cast<LONG>(message));
    if (error == ERROR_MR_MID_NOT_FOUND) return {};
  }
  const auto* at = std::ranges::find(kMeanings, error, &Meaning::error);
  return at == std::end(kMeanings) ? std::string() : std::string(at->text) + "\r\n";
}

template <typename Char>
DWORD put_message(DWORD flags, const std::basic_string<Char>& text, Char* buffer, DWORD chars) {
  if (text.empty()) return fail(ERROR_MR_MID_NOT_FOUND), 0;
  if (buffer == nullptr) return fail(ERROR_INVALID_PARAMETER), 0;
  Char* to = buffer;
  if ((flags & FORMAT_MESSAGE_ALLOCATE_BUFFER) != 0) {
    const std::size_t room = std::max<std::size_t>(text.size() + 1, chars);
    to = static_cast<Char*>(LocalAlloc(LMEM_FIXED, room * sizeof(Char)));
    if (to == nullptr) return 0;
    std::memcpy(buffer, &to, sizeof to);
  } else if (text.size() >= chars) {
    return fail(ERROR_INSUFFICIENT_BUFFER), 0;
  }
  std::ranges::copy(text, to);
  to[text.size()] = 0;
  return static_cast<DWORD>(text.size());
}

}  // namespace

}  // namespace fb::win32

using namespace fb::win32;

HANDLE CreateFileW(LPCWSTR name, DWORD access, DWORD, LPSECURITY_ATTRIBUTES, DWORD disposition, DWORD flags, HANDLE) {
  return open_file(name == nullptr ? std::string() : to_narrow(name), access, disposition, flags);
}

HANDLE CreateFileA(LPCSTR name, DWORD access, DWORD, LPSECURITY_ATTRIBUTES, DWORD disposition, DWORD flags, HANDLE) {
  return open_file(name == nullptr ? std::string() : name, access, disposition, flags);
}

BOOL GetFileInformationByHandle(HANDLE handle, LPBY_HANDLE_FILE_INFORMATION information) {
  if (information == nullptr) return fail(ERROR_INVALID_PARAMETER);
  struct stat found = {};
  if (!status_of(handle, found)) return FALSE;
  const auto size = static_cast<std::uint64_t>(found.st_size);
  *information = {};
  information->dwFileAttributes = attributes_of(found);
  information->ftCreationTime = file_time(found.st_ctim);
  information->ftLastAccessTime = file_time(found.st_atim);
  information->ftLastWriteTime = file_time(found.st_mtim);
  information->dwVolumeSerialNumber = static_cast<DWORD>(found.st_dev);
  information->nFileSizeHigh = static_cast<DWORD>(size >> 32);
  information->nFileSizeLow = static_cast<DWORD>(size);
  information->nNumberOfLinks = static_cast<DWORD>(found.st_nlink);
  information->nFileIndexHigh = static_cast<DWORD>(found.st_ino >> 32);
  information->nFileIndexLow = static_cast<DWORD>(found.st_ino);
  return TRUE;
}

BOOL GetFileSizeEx(HANDLE handle, PLARGE_INTEGER size) {
  if (size == nullptr) return fail(ERROR_INVALID_PARAMETER);
  struct stat found = {};
  if (!status_of(handle, found)) return FALSE;
  size->QuadPart = found.st_size;
  return TRUE;
}

DWORD GetFileAttributesW(LPCWSTR name) { return attributes_of(name == nullptr ? std::string() : to_narrow(name)); }
DWORD GetFileAttributesA(LPCSTR name) { return attributes_of(std::string(name == nullptr ? "" : name)); }

HLOCAL LocalAlloc(UINT flags, SIZE_T bytes) {
  return HeapAlloc(GetProcessHeap(), (flags & LMEM_ZEROINIT) != 0 ? HEAP_ZERO_MEMORY : 0, bytes);
}

HLOCAL LocalFree(HLOCAL memory) {
  if (memory != nullptr) HeapFree(GetProcessHeap(), 0, memory);
  return nullptr;
}

DWORD FormatMessageA(DWORD flags, LPCVOID, DWORD message, DWORD, LPSTR buffer, DWORD chars, va_list*) {
  if ((flags & (FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_FROM_HMODULE)) == 0) return fail(ERROR_INVALID_PARAMETER), 0;
  return put_message(flags, text_of(message), buffer, chars);
}

DWORD FormatMessageW(DWORD flags, LPCVOID, DWORD message, DWORD, LPWSTR buffer, DWORD chars, va_list*) {
  if ((flags & (FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_FROM_HMODULE)) == 0) return fail(ERROR_INVALID_PARAMETER), 0;
  return put_message(flags, to_wide(text_of(message)), buffer, chars);
}

int lstrlenW(LPCWSTR text) { return text == nullptr ? 0 : static_cast<int>(std::wcslen(text)); }
int lstrlenA(LPCSTR text) { return text == nullptr ? 0 : static_cast<int>(std::strlen(text)); }
int lstrcmpW(LPCWSTR a, LPCWSTR b) { return std::wcscmp(a, b); }
int lstrcmpA(LPCSTR a, LPCSTR b) { return std::strcmp(a, b); }
int lstrcmpiW(LPCWSTR a, LPCWSTR b) { return wcscasecmp(a, b); }
int lstrcmpiA(LPCSTR a, LPCSTR b) { return strcasecmp(a, b); }
