// What the programs have in common: arguments, failures, requests that may finish later, time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <winsock2.h>
#include <ws2tcpip.h>

#include <windows.h>

#include <process.h>
#include <tchar.h>

#include <ndspi.h>
#include <ndsupport.h>

#include <stdio.h>

#if !defined(UNICODE) || !defined(_UNICODE)
#error "the programs take wide arguments: define UNICODE and _UNICODE"
#endif

// A call that did not do what the program needs. It ends the program with one line on stderr, after everything that
// was opened has been closed.
struct Failure {
  std::string call;
  HRESULT status;
  std::string why;
};

const char* status_name(HRESULT status);
// Throws unless `status` is ND_SUCCESS. For calls that never stay pending.
void check(HRESULT status, const char* call);
// The same for calls of Windows, by GetLastError(). WAIT_TIMEOUT and the like are not errors to it.
[[noreturn]] void fail_with_last_error(const char* call);
[[noreturn]] void fail(const char* call, const char* why);

struct Address {
  SOCKADDR_STORAGE storage = {};
  ULONG length = 0;
  const struct sockaddr* get() const { return reinterpret_cast<const struct sockaddr*>(&storage); }
  void set_port(USHORT port);
  std::string text() const;
};

struct Options {
  bool server = false;
  bool blocking = false;
  Address address;
  // Where the client stands, if it is to be another address than the one the route names.
  Address local;
  ULONG sges = 1;
  ULONG depth = 64;
  ULONG threads = 2;
  // 0: not said. For a server, how many clients it serves.
  ULONG count = 0;
  ULONG largest = 4 << 20;
  DWORD patience_ms = 10'000;

  ULONG count_or(ULONG otherwise) const { return count == 0 ? otherwise : count; }
};

struct Program {
  const char* name;
  const char* purpose;
  // Letters of the options that it takes, in the order of the table in common.cc.
  const char* takes;
  USHORT port;
  void (*run)(const Options& options);
};

// 0: done; 1: a call failed; 2: wrong arguments. Starts and ends Winsock and NetworkDirect around run().
int run_program(const Program& program, int argc, _TCHAR* argv[]);

// Seconds, from anywhere.
double now();

// Owns one reference to an object.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { reset(); }
  void reset() {
    if (T* const object = std::exchange(object_, nullptr)) object->Release();
  }
  VOID** put() {
    reset();
    return reinterpret_cast<VOID**>(&object_);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

// Keeps an object while a call on it, or with it, goes on: by its end another thread may have let go of the last reference.
template <typename T>
class Kept {
 public:
  explicit Kept(const Ref<T>& object) : object_(object.get()) {
    if (object_ != nullptr) object_->AddRef();
  }
  ~Kept() {
    if (object_ != nullptr) object_->Release();
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

 private:
  T* object_;
};

// A request that is waited for through its event:
//   HRESULT status = request.finish(region, region->Register(..., request.begin()), "Register");
class Request {
 public:
  explicit Request(DWORD patience_ms = INFINITE);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();
  OVERLAPPED* begin();
  // The final status, whether the call finished at once, failed at once or stayed pending. A request that outlasts the
  // patience is cancelled and thrown as ND_TIMEOUT.
  HRESULT finish(IND2Overlapped* object, HRESULT started, const char* call);
  // finish() that must succeed.
  void expect(IND2Overlapped* object, HRESULT started, const char* call) { check(finish(object, started, call), call); }
  void set_patience(DWORD patience_ms) { patience_ms_ = patience_ms; }

 private:
  OVERLAPPED overlapped_ = {};
  HANDLE event_;
  DWORD patience_ms_;
};

// Polling with an end: each step gives up the processor now and then, and throws when the patience is over.
class Patience {
 public:
  explicit Patience(DWORD milliseconds) : milliseconds_(milliseconds), since_(GetTickCount64()) {}
  void step(const char* waiting_for);
  // Throws when it is over.
  void check(const char* waiting_for) const;

 private:
  DWORD milliseconds_;
  ULONGLONG since_;
  ULONG steps_ = 0;
};

// Waits for threads, and closes them, however the scope is left.
class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { join(); }
  void start(LPTHREAD_START_ROUTINE routine, void* parameter);
  void join();

 private:
  std::vector<HANDLE> handles_;
};

// A completion port over the overlapped file of an adapter.
class Port {
 public:
  Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port() { CloseHandle(port_); }
  void associate(HANDLE file);
  // The next completion, or null after `milliseconds`; *succeeded is what GetQueuedCompletionStatus said.
  OVERLAPPED* next(DWORD milliseconds, bool* succeeded = nullptr);
  // As a completion of our own: for requests that finished at once, which the file does not report.
  void post(OVERLAPPED* overlapped);

 private:
  HANDLE port_;
};

// Sizes of messages from 1 byte up to `largest`, in steps of four.
std::vector<ULONG> message_sizes(ULONG largest);
// How often each size is sent: large messages less often, so that all take about as long.
ULONG rounds_of(ULONG size, ULONG count);
