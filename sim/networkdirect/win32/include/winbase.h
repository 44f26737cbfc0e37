// The calls of the Win32 base services that NetworkDirect programs make.
#pragma once

#include "minwindef.h"
#include "winerror.h"
#include "winnt.h"

EXTERN_C_START

typedef struct _SECURITY_ATTRIBUTES {
  DWORD nLength;
  LPVOID lpSecurityDescriptor;
  BOOL bInheritHandle;
} SECURITY_ATTRIBUTES, *PSECURITY_ATTRIBUTES, *LPSECURITY_ATTRIBUTES;

// Errors: one number a thread, shared by all modules of the process.
DWORD GetLastError(void);
void SetLastError(DWORD error);
ULONG RtlNtStatusToDosError(LONG status);

// Handles.
BOOL CloseHandle(HANDLE object);
BOOL DuplicateHandle(HANDLE source_process, HANDLE source, HANDLE target_process, LPHANDLE target, DWORD access, BOOL inherit,
                     DWORD options);
#define DUPLICATE_CLOSE_SOURCE 1
#define DUPLICATE_SAME_ACCESS 2
HANDLE GetCurrentProcess(void);
HANDLE GetCurrentThread(void);
DWORD GetCurrentProcessId(void);
DWORD GetCurrentThreadId(void);

// Events. A name is refused (ERROR_NOT_SUPPORTED): nothing here is shared between processes.
HANDLE CreateEventW(LPSECURITY_ATTRIBUTES attributes, BOOL manual_reset, BOOL initial_state, LPCWSTR name);
HANDLE CreateEventA(LPSECURITY_ATTRIBUTES attributes, BOOL manual_reset, BOOL initial_state, LPCSTR name);
BOOL SetEvent(HANDLE event);
BOOL ResetEvent(HANDLE event);

// Waits: for events, threads and overlapped files.
#define WAIT_OBJECT_0 0u
#define WAIT_ABANDONED 0x80u
#define WAIT_ABANDONED_0 0x80u
#define WAIT_IO_COMPLETION 0xC0u
#define WAIT_FAILED 0xFFFFFFFFu
DWORD WaitForSingleObject(HANDLE object, DWORD milliseconds);
DWORD WaitForSingleObjectEx(HANDLE object, DWORD milliseconds, BOOL alertable);
DWORD WaitForMultipleObjects(DWORD count, const HANDLE* objects, BOOL all, DWORD milliseconds);
DWORD WaitForMultipleObjectsEx(DWORD count, const HANDLE* objects, BOOL all, DWORD milliseconds, BOOL alertable);

// Threads.
typedef DWORD(WINAPI* LPTHREAD_START_ROUTINE)(LPVOID parameter);
typedef LPTHREAD_START_ROUTINE PTHREAD_START_ROUTINE;
#define CREATE_SUSPENDED 0x4
#define STACK_SIZE_PARAM_IS_A_RESERVATION 0x10000
HANDLE CreateThread(LPSECURITY_ATTRIBUTES attributes, SIZE_T stack_bytes, LPTHREAD_START_ROUTINE start, LPVOID parameter,
                    DWORD flags, LPDWORD id);
DWORD ResumeThread(HANDLE thread);
BOOL GetExitCodeThread(HANDLE thread, LPDWORD code);
DECLSPEC_NORETURN void ExitThread(DWORD code);
#define THREAD_PRIORITY_NORMAL 0
#define THREAD_PRIORITY_ABOVE_NORMAL 1
#define THREAD_PRIORITY_HIGHEST 2
#define THREAD_PRIORITY_TIME_CRITICAL 15
// Checked and taken as a hint, which the system is free not to follow.
BOOL SetThreadPriority(HANDLE thread, int priority);
// Takes effect for the calling thread; the previous mask, or zero with an error.
DWORD_PTR SetThreadAffinityMask(HANDLE thread, DWORD_PTR mask);
BOOL SwitchToThread(void);
void Sleep(DWORD milliseconds);
DWORD SleepEx(DWORD milliseconds, BOOL alertable);

// Storage of a thread's own.
#define TLS_OUT_OF_INDEXES 0xFFFFFFFFu
DWORD TlsAlloc(void);
BOOL TlsFree(DWORD index);
LPVOID TlsGetValue(DWORD index);
BOOL TlsSetValue(DWORD index, LPVOID value);

// Critical sections, recursive. Those that nobody deleted stay until the process ends.
typedef struct _RTL_CRITICAL_SECTION {
  PVOID DebugInfo;
  LONG LockCount;
  LONG RecursionCount;
  HANDLE OwningThread;
  HANDLE LockSemaphore;
  ULONG_PTR SpinCount;
} CRITICAL_SECTION, *PCRITICAL_SECTION, *LPCRITICAL_SECTION;
void InitializeCriticalSection(LPCRITICAL_SECTION section);
BOOL InitializeCriticalSectionAndSpinCount(LPCRITICAL_SECTION section, DWORD spins);
BOOL InitializeCriticalSectionEx(LPCRITICAL_SECTION section, DWORD spins, DWORD flags);
void EnterCriticalSection(LPCRITICAL_SECTION section);
BOOL TryEnterCriticalSection(LPCRITICAL_SECTION section);
void LeaveCriticalSection(LPCRITICAL_SECTION section);
void DeleteCriticalSection(LPCRITICAL_SECTION section);

// Memory. Blocks of the process heap come straight from malloc, so that a sanitizer sees misuse of them; another
// heap knows its blocks and gives them back when it is destroyed.
HANDLE GetProcessHeap(void);
HANDLE HeapCreate(DWORD options, SIZE_T initial_bytes, SIZE_T bytes_max);
BOOL HeapDestroy(HANDLE heap);
LPVOID HeapAlloc(HANDLE heap, DWORD flags, SIZE_T bytes);
BOOL HeapFree(HANDLE heap, DWORD flags, LPVOID memory);
LPVOID VirtualAlloc(LPVOID address, SIZE_T bytes, DWORD kind, DWORD protection);
BOOL VirtualFree(LPVOID address, SIZE_T bytes, DWORD kind);

// Time and the machine.
BOOL QueryPerformanceCounter(LARGE_INTEGER* count);
BOOL QueryPerformanceFrequency(LARGE_INTEGER* frequency);
DWORD GetTickCount(void);
ULONGLONG GetTickCount64(void);
void GetSystemTimeAsFileTime(LPFILETIME time);
// Times of all processors together; the kernel's include the idle ones. Kernel and user time together always
// advance, so that a share of them can be computed over the shortest of intervals.
BOOL GetSystemTimes(LPFILETIME idle, LPFILETIME kernel, LPFILETIME user);
BOOL GetProcessTimes(HANDLE process, LPFILETIME creation, LPFILETIME exit, LPFILETIME kernel, LPFILETIME user);
typedef struct _SYSTEM_INFO {
  __extension__ union {
    DWORD dwOemId;
    __extension__ struct {
      WORD wProcessorArchitecture;
      WORD wReserved;
    };
  };
  DWORD dwPageSize;
  LPVOID lpMinimumApplicationAddress;
  LPVOID lpMaximumApplicationAddress;
  DWORD_PTR dwActiveProcessorMask;
  DWORD dwNumberOfProcessors;
  DWORD dwProcessorType;
  DWORD dwAllocationGranularity;
  WORD wProcessorLevel;
  WORD wProcessorRevision;
} SYSTEM_INFO, *LPSYSTEM_INFO;
#define PROCESSOR_ARCHITECTURE_AMD64 9
#define PROCESSOR_ARCHITECTURE_ARM64 12
#define PROCESSOR_ARCHITECTURE_UNKNOWN 0xFFFF
void GetSystemInfo(LPSYSTEM_INFO info);
void GetNativeSystemInfo(LPSYSTEM_INFO info);

// Overlapped I/O. Internal holds the NTSTATUS of a request: STATUS_PENDING until it has completed.
typedef struct _OVERLAPPED {
  ULONG_PTR Internal;
  ULONG_PTR InternalHigh;
  __extension__ union {
    __extension__ struct {
      DWORD Offset;
      DWORD OffsetHigh;
    };
    PVOID Pointer;
  };
  HANDLE hEvent;
} OVERLAPPED, *LPOVERLAPPED, *POVERLAPPED;
typedef struct _OVERLAPPED_ENTRY {
  ULONG_PTR lpCompletionKey;
  LPOVERLAPPED lpOverlapped;
  ULONG_PTR Internal;
  DWORD dwNumberOfBytesTransferred;
} OVERLAPPED_ENTRY, *LPOVERLAPPED_ENTRY;
#define HasOverlappedIoCompleted(overlapped) \
  ((DWORD)__atomic_load_n(&(overlapped)->Internal, __ATOMIC_ACQUIRE) != 0x103u)
BOOL GetOverlappedResult(HANDLE file, LPOVERLAPPED overlapped, LPDWORD bytes, BOOL wait);
BOOL GetOverlappedResultEx(HANDLE file, LPOVERLAPPED overlapped, LPDWORD bytes, DWORD milliseconds, BOOL alertable);
BOOL CancelIo(HANDLE file);
BOOL CancelIoEx(HANDLE file, LPOVERLAPPED overlapped);
#define FILE_SKIP_COMPLETION_PORT_ON_SUCCESS 0x1
#define FILE_SKIP_SET_EVENT_ON_HANDLE 0x2
BOOL SetFileCompletionNotificationModes(HANDLE file, UCHAR modes);

// Completion ports. The number of threads to run at once is taken and not followed.
HANDLE CreateIoCompletionPort(HANDLE file, HANDLE port, ULONG_PTR key, DWORD threads);
BOOL GetQueuedCompletionStatus(HANDLE port, LPDWORD bytes, PULONG_PTR key, LPOVERLAPPED* overlapped, DWORD milliseconds);
BOOL GetQueuedCompletionStatusEx(HANDLE port, LPOVERLAPPED_ENTRY entries, ULONG entries_max, PULONG entries_removed,
                                 DWORD milliseconds, BOOL alertable);
BOOL PostQueuedCompletionStatus(HANDLE port, DWORD bytes, ULONG_PTR key, LPOVERLAPPED overlapped);
typedef VOID(WINAPI* LPOVERLAPPED_COMPLETION_ROUTINE)(DWORD error, DWORD bytes, LPOVERLAPPED overlapped);
// The routine gets the Win32 error that the status stands for; several threads may be in it at once.
BOOL BindIoCompletionCallback(HANDLE file, LPOVERLAPPED_COMPLETION_ROUTINE function, ULONG flags);

// Modules. Wide names are turned into UTF-8; the flags that say where to search have no meaning here.
#define DONT_RESOLVE_DLL_REFERENCES 0x1
#define LOAD_LIBRARY_AS_DATAFILE 0x2
#define LOAD_WITH_ALTERED_SEARCH_PATH 0x8
#define LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR 0x100
#define LOAD_LIBRARY_SEARCH_APPLICATION_DIR 0x200
#define LOAD_LIBRARY_SEARCH_SYSTEM32 0x800
#define LOAD_LIBRARY_SEARCH_DEFAULT_DIRS 0x1000
HMODULE LoadLibraryExW(LPCWSTR name, HANDLE reserved, DWORD flags);
HMODULE LoadLibraryExA(LPCSTR name, HANDLE reserved, DWORD flags);
HMODULE LoadLibraryW(LPCWSTR name);
HMODULE LoadLibraryA(LPCSTR name);
FARPROC GetProcAddress(HMODULE module, LPCSTR name);
BOOL FreeLibrary(HMODULE module);

// The environment.
DWORD ExpandEnvironmentStringsW(LPCWSTR source, LPWSTR target, DWORD target_chars);
DWORD ExpandEnvironmentStringsA(LPCSTR source, LPSTR target, DWORD target_chars);
DWORD GetEnvironmentVariableW(LPCWSTR name, LPWSTR value, DWORD value_chars);
DWORD GetEnvironmentVariableA(LPCSTR name, LPSTR value, DWORD value_chars);

EXTERN_C_END

#define CreateEvent FABRICBENCH_EITHER(CreateEvent)
#define LoadLibrary FABRICBENCH_EITHER(LoadLibrary)
#define LoadLibraryEx FABRICBENCH_EITHER(LoadLibraryEx)
#define ExpandEnvironmentStrings FABRICBENCH_EITHER(ExpandEnvironmentStrings)
#define GetEnvironmentVariable FABRICBENCH_EITHER(GetEnvironmentVariable)
