// Time and the machine.
#include <algorithm>
#include <cstdio>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "networkdirect/win32/kernel.h"

namespace {

// A tick of the system's accounts in units of FILETIME, 100 ns.
constexpr std::uint64_t kTick = 100'000;
// From 1601, where FILETIME begins, to 1970.
constexpr std::uint64_t kFiletimeOfUnix = 116'444'736'000'000'000;

std::int64_t monotonic_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

FILETIME filetime(std::uint64_t units) { return {static_cast<DWORD>(units), static_cast<DWORD>(units >> 32)}; }

FILETIME filetime(const timeval& time) {
  return filetime(static_cast<std::uint64_t>(time.tv_sec) * 10'000'000 + static_cast<std::uint64_t>(time.tv_usec) * 10);
}

struct Processors {
  std::uint64_t user = 0;
  std::uint64_t idle = 0;
};

Processors processor_times() {
  unsigned long user = 0;
  unsigned long nice = 0;
  unsigned long system = 0;
  unsigned long idle = 0;
  unsigned long waiting = 0;
  FILE* file = std::fopen("/proc/stat", "re");
  if (file != nullptr) {
    if (std::fscanf(file, "cpu %lu %lu %lu %lu %lu", &user, &nice, &system, &idle, &waiting) != 5) user = nice = idle = 0;
    std::fclose(file);
  }
  return {(user + nice) * kTick, (idle + waiting) * kTick};
}

}  // namespace

BOOL QueryPerformanceCounter(LARGE_INTEGER* count) {
  count->QuadPart = monotonic_ns();
  return TRUE;
}

BOOL QueryPerformanceFrequency(LARGE_INTEGER* frequency) {
  frequency->QuadPart = 1'000'000'000;
  return TRUE;
}

ULONGLONG GetTickCount64() { return static_cast<ULONGLONG>(monotonic_ns() / 1'000'000); }
DWORD GetTickCount() { return static_cast<DWORD>(GetTickCount64()); }

void GetSystemTimeAsFileTime(LPFILETIME time) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = filetime(static_cast<std::uint64_t>(now.tv_sec) * 10'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 100 + kFiletimeOfUnix);
}

// The accounts move in ticks of ten milliseconds, which would let all of them stand still over a short measurement, and
// programs divide by their sum. The sum is therefore the clock times the processors, and the kernel gets what is left.
BOOL GetSystemTimes(LPFILETIME idle, LPFILETIME kernel_and_idle, LPFILETIME user) {
  const Processors times = processor_times();
  const auto processors = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  timespec since_start = {};
  clock_gettime(CLOCK_BOOTTIME, &since_start);
  const std::uint64_t all =
      (static_cast<std::uint64_t>(since_start.tv_sec) * 10'000'000 + static_cast<std::uint64_t>(since_start.tv_nsec) / 100) * processors;
  if (idle != nullptr) *idle = filetime(std::min(times.idle, all));
  if (user != nullptr) *user = filetime(std::min(times.user, all));
  if (kernel_and_idle != nullptr) *kernel_and_idle = filetime(all - std::min(times.user, all));
  return TRUE;
}

BOOL GetProcessTimes(HANDLE process, LPFILETIME creation, LPFILETIME exit_time, LPFILETIME kernel_time, LPFILETIME user) {
  if (process != GetCurrentProcess()) return fb::win32::fail(ERROR_INVALID_HANDLE);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  if (creation != nullptr) *creation = {};
  if (exit_time != nullptr) *exit_time = {};
  if (kernel_time != nullptr) *kernel_time = filetime(usage.ru_stime);
  if (user != nullptr) *user = filetime(usage.ru_utime);
  return TRUE;
}

void GetSystemInfo(LPSYSTEM_INFO info) {
  *info = {};
#if defined(__x86_64__)
  info->wProcessorArchitecture = PROCESSOR_ARCHITECTURE_AMD64;
#elif defined(__aarch64__)
  info->wProcessorArchitecture = PROCESSOR_ARCHITECTURE_ARM64;
#else
  info->wProcessorArchitecture = PROCESSOR_ARCHITECTURE_UNKNOWN;
#endif
  const long processors = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  info->dwPageSize = static_cast<DWORD>(sysconf(_SC_PAGESIZE));
  info->lpMinimumApplicationAddress = reinterpret_cast<LPVOID>(std::uintptr_t{0x10000});
  info->lpMaximumApplicationAddress = reinterpret_cast<LPVOID>(std::uintptr_t{0x7FFFFFFEFFFF});
  info->dwActiveProcessorMask = processors >= 64 ? ~DWORD_PTR{0} : (DWORD_PTR{1} << processors) - 1;
  info->dwNumberOfProcessors = static_cast<DWORD>(processors);
  info->dwAllocationGranularity = 64 * 1024;
}

void GetNativeSystemInfo(LPSYSTEM_INFO info) { GetSystemInfo(info); }
