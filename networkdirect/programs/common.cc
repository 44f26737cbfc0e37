#include "common.h"

#include <cstring>
#include <cwchar>

namespace {

struct Name {
  HRESULT status;
  const char* name;
};

#define NAME(status) \
  { status, #status }
const Name kNames[] = {
    NAME(ND_SUCCESS),
    NAME(ND_TIMEOUT),
    NAME(ND_PENDING),
    NAME(ND_BUFFER_OVERFLOW),
    NAME(ND_DEVICE_BUSY),
    NAME(ND_NO_MORE_ENTRIES),
    NAME(ND_UNSUCCESSFUL),
    NAME(ND_ACCESS_VIOLATION),
    NAME(ND_INVALID_HANDLE),
    NAME(ND_INVALID_PARAMETER),
    NAME(ND_INVALID_DEVICE_REQUEST),
    NAME(ND_NO_MEMORY),
    NAME(ND_INVALID_PARAMETER_MIX),
    NAME(ND_DATA_OVERRUN),
    NAME(ND_SHARING_VIOLATION),
    NAME(ND_INSUFFICIENT_RESOURCES),
    NAME(ND_DEVICE_NOT_READY),
    NAME(ND_IO_TIMEOUT),
    NAME(ND_NOT_SUPPORTED),
    NAME(ND_INTERNAL_ERROR),
    NAME(ND_INVALID_PARAMETER_1),
    NAME(ND_INVALID_PARAMETER_2),
    NAME(ND_INVALID_PARAMETER_3),
    NAME(ND_INVALID_PARAMETER_4),
    NAME(ND_INVALID_PARAMETER_5),
    NAME(ND_INVALID_PARAMETER_6),
    NAME(ND_INVALID_PARAMETER_7),
    NAME(ND_INVALID_PARAMETER_8),
    NAME(ND_INVALID_PARAMETER_9),
    NAME(ND_INVALID_PARAMETER_10),
    NAME(ND_CANCELED),
    NAME(ND_REMOTE_ERROR),
    NAME(ND_INVALID_ADDRESS),
    NAME(ND_INVALID_DEVICE_STATE),
    NAME(ND_INVALID_BUFFER_SIZE),
    NAME(ND_TOO_MANY_ADDRESSES),
    NAME(ND_ADDRESS_ALREADY_EXISTS),
    NAME(ND_CONNECTION_REFUSED),
    NAME(ND_CONNECTION_INVALID),
    NAME(ND_CONNECTION_ACTIVE),
    NAME(ND_NETWORK_UNREACHABLE),
    NAME(ND_HOST_UNREACHABLE),
    NAME(ND_CONNECTION_ABORTED),
    NAME(ND_DEVICE_REMOVED),
};
#undef NAME

}  // namespace

const char* status_name(HRESULT status) {
  for (const Name& name : kNames) {
    if (name.status == status) return name.name;
  }
  // Read by the thread that asked, before it asks again.
  static thread_local char text[16];
  snprintf(text, sizeof(text), "0x%08X", static_cast<unsigned>(status));
  return text;
}

void check(HRESULT status, const char* call) {
  if (status != ND_SUCCESS) throw Failure{call, status, {}};
}

void fail_with_last_error(const char* call) {
  const DWORD error = GetLastError();
  throw Failure{call, ND_UNSUCCESSFUL, "Windows error " + std::to_string(error)};
}

void fail(const char* call, const char* why) { throw Failure{call, ND_UNSUCCESSFUL, why}; }

void Address::set_port(USHORT port) {
  if (storage.ss_family == AF_INET6) {
    reinterpret_cast<SOCKADDR_IN6*>(&storage)->sin6_port = htons(port);
  } else {
    reinterpret_cast<SOCKADDR_IN*>(&storage)->sin_port = htons(port);
  }
}

std::string Address::text() const {
  // Calls of Winsock take addresses to write to, even where they only read.
  SOCKADDR_STORAGE copy = storage;
  wchar_t wide[80] = {};
  DWORD chars = _countof(wide);
  if (WSAAddressToStringW(reinterpret_cast<LPSOCKADDR>(&copy), length, nullptr, wide, &chars) != 0) return "?";
  // Digits, dots and colons alone.
  std::string narrow;
  for (const wchar_t* at = wide; *at != 0; ++at) narrow += static_cast<char>(*at);
  return narrow;
}

double now() {
  static const double period = [] {
    LARGE_INTEGER frequency;
    QueryPerformanceFrequency(&frequency);
    return 1.0 / static_cast<double>(frequency.QuadPart);
  }();
  LARGE_INTEGER count;
  QueryPerformanceCounter(&count);
  return static_cast<double>(count.QuadPart) * period;
}

// Resets itself: a provider may wake us more than once before a request has its final status.
Request::Request(DWORD patience_ms) : event_(CreateEventW(nullptr, FALSE, FALSE, nullptr)), patience_ms_(patience_ms) {
  if (event_ == nullptr) fail_with_last_error("CreateEvent");
}

Request::~Request() { CloseHandle(event_); }

OVERLAPPED* Request::begin() {
  overlapped_ = {};
  overlapped_.hEvent = event_;
  ResetEvent(event_);
  return &overlapped_;
}

HRESULT Request::finish(IND2Overlapped* object, HRESULT started, const char* call) {
  // ND_SUCCESS sets no event: there is nothing to wait for.
  if (started != ND_PENDING) return started;
  for (;;) {
    const DWORD waited = WaitForSingleObject(event_, patience_ms_);
    if (waited == WAIT_FAILED) fail_with_last_error("WaitForSingleObject");
    if (waited == WAIT_TIMEOUT) {
      // Nobody may write to the OVERLAPPED once it is gone.
      object->CancelOverlappedRequests();
      while (object->GetOverlappedResult(&overlapped_, FALSE) == ND_PENDING) WaitForSingleObject(event_, 100);
      throw Failure{call, ND_TIMEOUT, "nothing heard for " + std::to_string(patience_ms_ / 1000) + " s"};
    }
    const HRESULT status = object->GetOverlappedResult(&overlapped_, FALSE);
    if (status != ND_PENDING) return status;
  }
}

// On a small machine the adapter may need the processor that we poll on.
void Patience::step(const char* waiting_for) {
  if (++steps_ % 32 != 0) {
    YieldProcessor();
    return;
  }
  SwitchToThread();
  check(waiting_for);
}

void Patience::check(const char* waiting_for) const {
  if (GetTickCount64() - since_ < milliseconds_) return;
  throw Failure{waiting_for, ND_TIMEOUT, "nothing heard for " + std::to_string(milliseconds_ / 1000) + " s"};
}

void Threads::start(LPTHREAD_START_ROUTINE routine, void* parameter) {
  const HANDLE handle = CreateThread(nullptr, 0, routine, parameter, 0, nullptr);
  if (handle == nullptr) fail_with_last_error("CreateThread");
  handles_.push_back(handle);
}

void Threads::join() {
  for (HANDLE handle : handles_) {
    WaitForSingleObject(handle, INFINITE);
    CloseHandle(handle);
  }
  handles_.clear();
}

Port::Port() : port_(CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 0)) {
  if (port_ == nullptr) fail_with_last_error("CreateIoCompletionPort");
}

void Port::associate(HANDLE file) {
  if (CreateIoCompletionPort(file, port_, 0, 0) != port_) fail_with_last_error("CreateIoCompletionPort");
}

OVERLAPPED* Port::next(DWORD milliseconds, bool* succeeded) {
  DWORD bytes = 0;
  ULONG_PTR key = 0;
  OVERLAPPED* overlapped = nullptr;
  const BOOL good = GetQueuedCompletionStatus(port_, &bytes, &key, &overlapped, milliseconds);
  if (!good && overlapped == nullptr && GetLastError() != WAIT_TIMEOUT) fail_with_last_error("GetQueuedCompletionStatus");
  if (succeeded != nullptr) *succeeded = good != FALSE;
  return overlapped;
}

void Port::post(OVERLAPPED* overlapped) {
  if (!PostQueuedCompletionStatus(port_, 0, 0, overlapped)) fail_with_last_error("PostQueuedCompletionStatus");
}

std::vector<ULONG> message_sizes(ULONG largest) {
  std::vector<ULONG> sizes;
  for (ULONG size = 1; size < largest; size *= 4) sizes.push_back(size);
  sizes.push_back(largest);
  return sizes;
}

ULONG rounds_of(ULONG size, ULONG count) {
  constexpr ULONG kFull = 64 << 10;
  if (size <= kFull) return count;
  const ULONG rounds = count / (size / kFull);
  return rounds == 0 ? 1 : rounds;
}
