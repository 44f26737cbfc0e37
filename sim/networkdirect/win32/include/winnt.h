// What every Win32 source sees of the processor and the kernel: 64-bit numbers in two halves, interlocked
// operations, memory helpers, lists of structure members.
#pragma once

#include <string.h>

#include "minwindef.h"

typedef union _LARGE_INTEGER {
  __extension__ struct {
    DWORD LowPart;
    LONG HighPart;
  };
  struct {
    DWORD LowPart;
    LONG HighPart;
  } u;
  LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
  __extension__ struct {
    DWORD LowPart;
    DWORD HighPart;
  };
  struct {
    DWORD LowPart;
    DWORD HighPart;
  } u;
  ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

typedef struct _LIST_ENTRY {
  struct _LIST_ENTRY* Flink;
  struct _LIST_ENTRY* Blink;
} LIST_ENTRY, *PLIST_ENTRY;

#ifndef WIN32_NO_STATUS
#include "ntstatus.h"
#endif

#define STILL_ACTIVE 259u
#define MAXIMUM_WAIT_OBJECTS 64
#define MEMORY_ALLOCATION_ALIGNMENT 16

#define HEAP_NO_SERIALIZE 0x00000001
#define HEAP_GROWABLE 0x00000002
#define HEAP_GENERATE_EXCEPTIONS 0x00000004
#define HEAP_ZERO_MEMORY 0x00000008

#define PAGE_NOACCESS 0x01
#define PAGE_READONLY 0x02
#define PAGE_READWRITE 0x04
#define MEM_COMMIT 0x00001000
#define MEM_RESERVE 0x00002000
#define MEM_DECOMMIT 0x00004000
#define MEM_RELEASE 0x00008000
#define MEM_LARGE_PAGES 0x20000000

#define DLL_PROCESS_DETACH 0
#define DLL_PROCESS_ATTACH 1
#define DLL_THREAD_ATTACH 2
#define DLL_THREAD_DETACH 3

#define ANYSIZE_ARRAY 1
#define ARRAYSIZE(array) (sizeof(array) / sizeof((array)[0]))
#define RTL_NUMBER_OF(array) ARRAYSIZE(array)
#define FIELD_OFFSET(type, field) ((LONG)offsetof(type, field))
#define RTL_FIELD_SIZE(type, field) (sizeof(((type*)0)->field))
#define RTL_SIZEOF_THROUGH_FIELD(type, field) (offsetof(type, field) + RTL_FIELD_SIZE(type, field))
#define CONTAINING_RECORD(address, type, field) ((type*)(void*)((char*)(address)-offsetof(type, field)))
#ifdef __cplusplus
#define C_ASSERT(expression) static_assert(expression, #expression)
#else
#define C_ASSERT(expression) _Static_assert(expression, #expression)
#endif

#define RtlZeroMemory(to, n) ((void)memset((to), 0, (n)))
#define RtlFillMemory(to, n, byte) ((void)memset((to), (byte), (n)))
#define RtlCopyMemory(to, from, n) ((void)memcpy((to), (from), (n)))
#define RtlMoveMemory(to, from, n) ((void)memmove((to), (from), (n)))
#define RtlEqualMemory(a, b, n) (memcmp((a), (b), (n)) == 0)
#define ZeroMemory RtlZeroMemory
#define FillMemory RtlFillMemory
#define CopyMemory RtlCopyMemory
#define MoveMemory RtlMoveMemory
#define SecureZeroMemory RtlZeroMemory

#define MemoryBarrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define _ReadWriteBarrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#if defined(__x86_64__) || defined(__i386__)
#define YieldProcessor() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define YieldProcessor() __asm__ volatile("yield")
#else
#define YieldProcessor() ((void)0)
#endif

// Interlocked operations, all with the full barrier that the plain names promise.
#ifdef __cplusplus
#define FABRICBENCH_INLINE inline
#else
#define FABRICBENCH_INLINE static inline __attribute__((__unused__))
#endif
#define FABRICBENCH_INTERLOCKED(suffix, type)                                                           \
  FABRICBENCH_INLINE type InterlockedIncrement##suffix(type volatile* target) {                         \
    return (type)__atomic_add_fetch(target, 1, __ATOMIC_SEQ_CST);                                       \
  }                                                                                                     \
  FABRICBENCH_INLINE type InterlockedDecrement##suffix(type volatile* target) {                         \
    return (type)__atomic_sub_fetch(target, 1, __ATOMIC_SEQ_CST);                                       \
  }                                                                                                     \
  FABRICBENCH_INLINE type InterlockedExchange##suffix(type volatile* target, type value) {              \
    return (type)__atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);                                  \
  }                                                                                                     \
  FABRICBENCH_INLINE type InterlockedExchangeAdd##suffix(type volatile* target, type value) {           \
    return (type)__atomic_fetch_add(target, value, __ATOMIC_SEQ_CST);                                   \
  }                                                                                                     \
  FABRICBENCH_INLINE type InterlockedAdd##suffix(type volatile* target, type value) {                   \
    return (type)__atomic_add_fetch(target, value, __ATOMIC_SEQ_CST);                                   \
  }                                                                                                     \
  FABRICBENCH_INLINE type InterlockedAnd##suffix(type volatile* target, type value) {                   \
    return (type)__atomic_fetch_and(target, value, __ATOMIC_SEQ_CST);                                   \
  }                                                                                                     \
  FABRICBENCH_INLINE type InterlockedOr##suffix(type volatile* target, type value) {                    \
    return (type)__atomic_fetch_or(target, value, __ATOMIC_SEQ_CST);                                    \
  }                                                                                                     \
  FABRICBENCH_INLINE type InterlockedXor##suffix(type volatile* target, type value) {                   \
    return (type)__atomic_fetch_xor(target, value, __ATOMIC_SEQ_CST);                                   \
  }                                                                                                     \
  FABRICBENCH_INLINE type InterlockedCompareExchange##suffix(type volatile* target, type value, type comparand) { \
    __atomic_compare_exchange_n(target, &comparand, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
    return comparand;                                                                                   \
  }

FABRICBENCH_INTERLOCKED(, LONG)
FABRICBENCH_INTERLOCKED(64, LONG64)
FABRICBENCH_INLINE PVOID InterlockedExchangePointer(PVOID volatile* target, PVOID value) {
  return __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);
}
FABRICBENCH_INLINE PVOID InterlockedCompareExchangePointer(PVOID volatile* target, PVOID value, PVOID comparand) {
  __atomic_compare_exchange_n(target, &comparand, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return comparand;
}
#ifdef __cplusplus
// The same for counters declared without a sign, as the C++ headers of Windows have them.
inline ULONG InterlockedIncrement(ULONG volatile* target) { return __atomic_add_fetch(target, 1u, __ATOMIC_SEQ_CST); }
inline ULONG InterlockedDecrement(ULONG volatile* target) { return __atomic_sub_fetch(target, 1u, __ATOMIC_SEQ_CST); }
#endif
#define InterlockedIncrementAcquire InterlockedIncrement
#define InterlockedIncrementRelease InterlockedIncrement
#define InterlockedDecrementAcquire InterlockedDecrement
#define InterlockedDecrementRelease InterlockedDecrement
#define InterlockedCompareExchangeAcquire InterlockedCompareExchange
#define InterlockedCompareExchangeRelease InterlockedCompareExchange
#define _InterlockedIncrement InterlockedIncrement
#define _InterlockedDecrement InterlockedDecrement
#define _InterlockedExchange InterlockedExchange
#define _InterlockedExchangeAdd InterlockedExchangeAdd
#define _InterlockedCompareExchange InterlockedCompareExchange
