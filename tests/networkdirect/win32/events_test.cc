// Events, waits, threads, handles that are none.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "process.h"
#include "windows.h"

namespace {

HANDLE event(BOOL manual, BOOL set = FALSE) { return CreateEventW(nullptr, manual, set, nullptr); }

TEST(Events, AutomaticOneLetsOneWaitThrough) {
  const HANDLE e = event(FALSE, TRUE);
  EXPECT_EQ(WaitForSingleObject(e, 0), WAIT_OBJECT_0);
  EXPECT_EQ(WaitForSingleObject(e, 0), DWORD{WAIT_TIMEOUT});
  EXPECT_TRUE(SetEvent(e));
  EXPECT_TRUE(SetEvent(e));
  EXPECT_EQ(WaitForSingleObject(e, INFINITE), WAIT_OBJECT_0);
  EXPECT_EQ(WaitForSingleObject(e, 1), DWORD{WAIT_TIMEOUT});
  EXPECT_TRUE(CloseHandle(e));
}

TEST(Events, ManualOneStaysUntilReset) {
  const HANDLE e = event(TRUE);
  EXPECT_EQ(WaitForSingleObject(e, 0), DWORD{WAIT_TIMEOUT});
  SetEvent(e);
  EXPECT_EQ(WaitForSingleObject(e, 0), WAIT_OBJECT_0);
  EXPECT_EQ(WaitForSingleObject(e, 0), WAIT_OBJECT_0);
  ResetEvent(e);
  EXPECT_EQ(WaitForSingleObject(e, 0), DWORD{WAIT_TIMEOUT});
  CloseHandle(e);
}

TEST(Events, TimeOutTakesItsTime) {
  const HANDLE e = event(TRUE);
  LARGE_INTEGER before = {};
  LARGE_INTEGER after = {};
  LARGE_INTEGER frequency = {};
  QueryPerformanceFrequency(&frequency);
  QueryPerformanceCounter(&before);
  EXPECT_EQ(WaitForSingleObject(e, 30), DWORD{WAIT_TIMEOUT});
  QueryPerformanceCounter(&after);
  EXPECT_GE((after.QuadPart - before.QuadPart) * 1000 / frequency.QuadPart, 30);
  CloseHandle(e);
}

TEST(Events, LowBitsOfAHandleAreTheProgramsOwn) {
  const HANDLE e = event(TRUE);
  const auto marked = reinterpret_cast<HANDLE>(reinterpret_cast<ULONG_PTR>(e) | 1);
  EXPECT_NE(e, marked);
  EXPECT_TRUE(SetEvent(marked));
  EXPECT_EQ(WaitForSingleObject(e, 0), WAIT_OBJECT_0);
  CloseHandle(e);
}

TEST(Events, NamesAreRefused) {
  EXPECT_EQ(CreateEventW(nullptr, TRUE, FALSE, L"shared"), nullptr);
  EXPECT_EQ(GetLastError(), ERROR_NOT_SUPPORTED);
}

TEST(Handles, ForeignAndClosedOnesAreInvalid) {
  const HANDLE e = event(TRUE);
  int foreign = 0;
  EXPECT_TRUE(CloseHandle(e));
  for (const HANDLE bad : {e, static_cast<HANDLE>(&foreign), HANDLE{}, INVALID_HANDLE_VALUE, reinterpret_cast<HANDLE>(8)}) {
    SetLastError(0);
    if (bad != INVALID_HANDLE_VALUE) {
      EXPECT_FALSE(CloseHandle(bad));
      EXPECT_EQ(GetLastError(), ERROR_INVALID_HANDLE);
    }
    SetLastError(0);
    EXPECT_FALSE(SetEvent(bad));
    EXPECT_EQ(GetLastError(), ERROR_INVALID_HANDLE);
    SetLastError(0);
    EXPECT_EQ(WaitForSingleObject(bad, 0), WAIT_FAILED);
    EXPECT_EQ(GetLastError(), ERROR_INVALID_HANDLE);
    DWORD code = 0;
    EXPECT_FALSE(GetExitCodeThread(bad, &code));
    EXPECT_EQ(HeapAlloc(bad, 0, 8), nullptr);
  }
}

TEST(Handles, OfTheWrongKindAreInvalid) {
  const HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, nullptr, 0, 0);
  EXPECT_FALSE(SetEvent(port));
  EXPECT_EQ(WaitForSingleObject(port, 0), WAIT_FAILED);
  EXPECT_FALSE(CloseHandle(GetProcessHeap()));
  EXPECT_TRUE(CloseHandle(port));
}

TEST(Handles, DuplicateKeepsTheObject) {
  const HANDLE e = event(TRUE);
  HANDLE copy = nullptr;
  ASSERT_TRUE(DuplicateHandle(GetCurrentProcess(), e, GetCurrentProcess(), &copy, 0, FALSE, DUPLICATE_SAME_ACCESS));
  EXPECT_NE(copy, e);
  CloseHandle(e);
  EXPECT_TRUE(SetEvent(copy));
  EXPECT_EQ(WaitForSingleObject(copy, 0), WAIT_OBJECT_0);
  CloseHandle(copy);
}

TEST(Handles, NumbersAreNeverUsedAgain) {
  const HANDLE first = event(TRUE);
  CloseHandle(first);
  const HANDLE second = event(TRUE);
  EXPECT_NE(first, second);
  CloseHandle(second);
}

TEST(Waits, AnyGivesTheFirstThatIsSet) {
  const HANDLE all[] = {event(FALSE), event(FALSE, TRUE), event(FALSE, TRUE)};
  EXPECT_EQ(WaitForMultipleObjects(3, all, FALSE, INFINITE), WAIT_OBJECT_0 + 1);
  EXPECT_EQ(WaitForMultipleObjects(3, all, FALSE, INFINITE), WAIT_OBJECT_0 + 2);
  EXPECT_EQ(WaitForMultipleObjects(3, all, FALSE, 0), DWORD{WAIT_TIMEOUT});
  for (const HANDLE e : all) CloseHandle(e);
}

TEST(Waits, AllTakesNothingUntilAllAreSet) {
  const HANDLE all[] = {event(FALSE), event(FALSE, TRUE)};
  EXPECT_EQ(WaitForMultipleObjects(2, all, TRUE, 5), DWORD{WAIT_TIMEOUT});
  EXPECT_EQ(WaitForSingleObject(all[1], 0), WAIT_OBJECT_0) << "the wait had not taken it";
  SetEvent(all[1]);
  std::thread later([&] { SetEvent(all[0]); });
  EXPECT_EQ(WaitForMultipleObjects(2, all, TRUE, INFINITE), WAIT_OBJECT_0);
  later.join();
  EXPECT_EQ(WaitForMultipleObjects(2, all, FALSE, 0), DWORD{WAIT_TIMEOUT});
  for (const HANDLE e : all) CloseHandle(e);
}

TEST(Waits, TooManyOrNoneAreRefused) {
  const HANDLE e = event(TRUE);
  const std::vector<HANDLE> many(65, e);
  EXPECT_EQ(WaitForMultipleObjects(65, many.data(), FALSE, 0), WAIT_FAILED);
  EXPECT_EQ(WaitForMultipleObjects(0, many.data(), FALSE, 0), WAIT_FAILED);
  EXPECT_EQ(GetLastError(), ERROR_INVALID_PARAMETER);
  CloseHandle(e);
}

TEST(Waits, HandleClosedMeanwhileDoesNoHarm) {
  const HANDLE e = event(TRUE);
  DWORD ended = 0;
  std::thread waiting([&ended, e] { ended = WaitForSingleObject(e, 50); });
  Sleep(10);
  CloseHandle(e);
  waiting.join();
  // Whose thread gets a processor only when the handle is closed is told so.
  EXPECT_TRUE(ended == WAIT_TIMEOUT || ended == WAIT_FAILED) << ended;
}

DWORD WINAPI add_one(LPVOID counter) {
  InterlockedIncrement(static_cast<LONG*>(counter));
  return 42;
}

TEST(Threads, HaveAnExitCodeAndCanBeWaitedFor) {
  LONG counter = 0;
  DWORD id = 0;
  const HANDLE thread = CreateThread(nullptr, 0, add_one, &counter, 0, &id);
  ASSERT_NE(thread, nullptr);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
  EXPECT_EQ(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0) << "a thread stays ended";
  DWORD code = 0;
  EXPECT_TRUE(GetExitCodeThread(thread, &code));
  EXPECT_EQ(code, 42u);
  EXPECT_EQ(counter, 1);
  CloseHandle(thread);
}

TEST(Threads, SuspendedOneWaitsForItsStart) {
  LONG counter = 0;
  const HANDLE thread = CreateThread(nullptr, 1 << 20, add_one, &counter, CREATE_SUSPENDED, nullptr);
  EXPECT_EQ(WaitForSingleObject(thread, 10), DWORD{WAIT_TIMEOUT});
  DWORD code = 0;
  EXPECT_TRUE(GetExitCodeThread(thread, &code));
  EXPECT_EQ(code, STILL_ACTIVE);
  EXPECT_EQ(ResumeThread(thread), 1u);
  EXPECT_EQ(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
  EXPECT_EQ(counter, 1);
  CloseHandle(thread);
}

unsigned __stdcall leave_early(void*) { _endthreadex(9); }
void __cdecl set_event(void* handle) { SetEvent(handle); }

TEST(Threads, OfTheCLibrary) {
  const auto thread = reinterpret_cast<HANDLE>(_beginthreadex(nullptr, 0, leave_early, nullptr, 0, nullptr));
  EXPECT_EQ(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
  DWORD code = 0;
  GetExitCodeThread(thread, &code);
  EXPECT_EQ(code, 9u);
  CloseHandle(thread);
  const HANDLE done = event(TRUE);
  EXPECT_NE(_beginthread(set_event, 0, done), static_cast<uintptr_t>(-1));
  EXPECT_EQ(WaitForSingleObject(done, INFINITE), WAIT_OBJECT_0);
  CloseHandle(done);
}

TEST(Threads, EachHasItsOwnError) {
  SetLastError(5);
  std::thread([] {
    EXPECT_EQ(GetLastError(), 0u);
    SetLastError(6);
  }).join();
  EXPECT_EQ(GetLastError(), 5u);
}

TEST(CriticalSections, AreRecursiveAndExclude) {
  CRITICAL_SECTION section;
  InitializeCriticalSection(&section);
  EnterCriticalSection(&section);
  EXPECT_TRUE(TryEnterCriticalSection(&section));
  std::thread([&section] { EXPECT_FALSE(TryEnterCriticalSection(&section)); }).join();
  LeaveCriticalSection(&section);
  LeaveCriticalSection(&section);
  std::thread([&section] {
    EXPECT_TRUE(TryEnterCriticalSection(&section));
    LeaveCriticalSection(&section);
  }).join();
  DeleteCriticalSection(&section);
}

TEST(Interlocked, GiveTheDocumentedOfTheOldAndTheNewValue) {
  LONG n = 5;
  LONG64 wide = 1;
  EXPECT_EQ(InterlockedIncrement(&n), 6);
  EXPECT_EQ(InterlockedDecrement(&n), 5);
  EXPECT_EQ(InterlockedExchangeAdd(&n, 3), 5);
  EXPECT_EQ(InterlockedExchange(&n, 1), 8);
  EXPECT_EQ(InterlockedCompareExchange(&n, 7, 2), 1);
  EXPECT_EQ(InterlockedCompareExchange(&n, 7, 1), 1);
  EXPECT_EQ(n, 7);
  EXPECT_EQ(InterlockedExchangeAdd64(&wide, LONG64{1} << 40), 1);
  PVOID pointer = nullptr;
  EXPECT_EQ(InterlockedCompareExchangePointer(&pointer, &n, nullptr), nullptr);
  EXPECT_EQ(pointer, &n);
}

TEST(Storage, IsOfOneThread) {
  const DWORD index = TlsAlloc();
  ASSERT_NE(index, TLS_OUT_OF_INDEXES);
  int value = 0;
  EXPECT_TRUE(TlsSetValue(index, &value));
  std::thread([index] { EXPECT_EQ(TlsGetValue(index), nullptr); }).join();
  EXPECT_EQ(TlsGetValue(index), &value);
  EXPECT_TRUE(TlsFree(index));
}

TEST(Addresses, AThreadWaitsForMemoryToChange) {
  std::atomic<DWORD> value{1};
  DWORD seen = 1;
  EXPECT_FALSE(WaitOnAddress(&value, &seen, sizeof seen, 5));
  EXPECT_EQ(GetLastError(), ERROR_TIMEOUT);
  std::thread other([&] {
    Sleep(20);
    value = 2;
    WakeByAddressAll(&value);
  });
  while (value == seen) EXPECT_TRUE(WaitOnAddress(&value, &seen, sizeof seen, 20'000));
  other.join();
  EXPECT_TRUE(WaitOnAddress(&value, &seen, sizeof seen, 20'000)) << "it is another already";
  EXPECT_FALSE(WaitOnAddress(&value, &seen, 3, 0));
  EXPECT_EQ(GetLastError(), ERROR_INVALID_PARAMETER);
}

}  // namespace
