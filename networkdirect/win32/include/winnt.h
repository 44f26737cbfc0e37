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

// Languages, of which there is one.
#define LANG_NEUTRAL 0x00
#define LANG_INVARIANT 0x7F
#define LANG_ENGLISH 0x09
#define SUBLANG_NEUTRAL 0x00
#define SUBLANG_DEFAULT 0x01
#define SUBLANG_SYS_DEFAULT 0x02
#define SUBLANG_ENGLISH_US 0x01
#define MAKELANGID(language, sublanguage) ((((WORD)(sublanguage)) << 10) | (WORD)(language))
#define PRIMARYLANGID(id) ((WORD)(id)&0x3FF)
#define SUBLANGID(id) ((WORD)(id) >> 10)
typedef WORD LANGID;

#define DLL_PROCESS_DETACH 0
#define DLL_PROCESS_ATTACH 1
#define DLL_THREAD_ATTACH 2
#define DLL_THREAD_DETACH 3

#define ANYSIZE_ARRAY 1
#define ARRAYSIZE(array) (sizeof(array) / sizeof((array)[0]))
#define RTL_NUMBER_OF(array) ARRAYSIZE(array)
#define FIELD_OFFSET(type, field) ((LONG)offsetof(type, field))
#define UFIELD_OFFSET(type, field) ((DWORD)offsetof(type, field))
#define RTL_FIELD_SIZE(type, field) (sizeof(((type*)0)->field))
#define RTL_SIZEOF_THROUGH_FIELD(type, field) (offsetof(type, field) + RTL_FIELD_SIZE(type, field))
#define CONTAINING_RECORD(address, type, field) ((type*)(void*)((char*)(address)-offsetof(type, field)))
#ifdef __cplusplus
#define C_ASSERT(expression) static_assert(expression, #expression)
#else
#define C_ASSERT(expression) _Static_assert(expression, #expression)
#endif

#define RtlZeroMemory(to, n) memset((to), 0, (n))
#define RtlFillMemory(to, n, byte) memset((to), (byte), (n))
#define RtlCopyMemory(to, from, n) memcpy((to), (from), (n))
#define RtlMoveMemory(to, from, n) memmove((to), (from), (n))
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
#define FABRICBENCH_INTERLOCKED(suffix, type)                                                                     \
  FABRICBENCH_INLINE type InterlockedIncrement##suffix(type volatile* target) {                                   \
    return (type)__atomic_add_fetch(target, 1, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                                               \
  FABRICBENCH_INLINE type InterlockedDecrement##suffix(type volatile* target) {                                   \
    return (type)__atomic_sub_fetch(target, 1, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                                               \
  FABRICBENCH_INLINE type InterlockedExchange##suffix(type volatile* target, type value) {                        \
    return (type)__atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);                                            \
  }                                                                                                               \
  FABRICBENCH_INLINE type InterlockedExchangeAdd##suffix(type volatile* target, type value) {                     \
    return (type)__atomic_fetch_add(target, value, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                               \
  FABRICBENCH_INLINE type InterlockedAdd##suffix(type volatile* target, type value) {                             \
    return (type)__atomic_add_fetch(target, value, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                               \
  FABRICBENCH_INLINE type InterlockedAnd##suffix(type volatile* target, type value) {                             \
    return (type)__atomic_fetch_and(target, value, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                               \
  FABRICBENCH_INLINE type InterlockedOr##suffix(type volatile* target, type value) {                              \
    return (type)__atomic_fetch_or(target, value, __ATOMIC_SEQ_CST);                                              \
  }                                                                                                               \
  FABRICBENCH_INLINE type InterlockedXor##suffix(type volatile* target, type value) {                             \
    return (type)__atomic_fetch_xor(target, value, __ATOMIC_SEQ_CST);                                             \
  }                                                                                                               \
  FABRICBENCH_INLINE type InterlockedCompareExchange##suffix(type volatile* target, type value, type comparand) { \
    __atomic_compare_exchange_n(target, &comparand, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                \
    return comparand;                                                                                             \
  }

FABRICBENCH_INTERLOCKED(, LONG)
FABRICBENCH_INTERLOCKED(64, LONG64)
FABRICBENCH_INTERLOCKED(16, SHORT)
FABRICBENCH_INTERLOCKED(8, CHAR)
FABRICBENCH_INLINE PVOID InterlockedExchangePointer(PVOID volatile* target, PVOID value) {
  return __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);
}
FABRICBENCH_INLINE PVOID InterlockedCompareExchangePointer(PVOID volatile* target, PVOID value, PVOID comparand) {
  __atomic_compare_exchange_n(target, &comparand, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return comparand;
}
FABRICBENCH_INLINE BOOLEAN InterlockedBitTestAndSet(LONG volatile* target, LONG bit) {
  const LONG mask = (LONG)(1u << (bit & 31));
  return (BOOLEAN)((__atomic_fetch_or(target, mask, __ATOMIC_SEQ_CST) & mask) != 0);
}
FABRICBENCH_INLINE BOOLEAN InterlockedBitTestAndReset(LONG volatile* target, LONG bit) {
  const LONG mask = (LONG)(1u << (bit & 31));
  return (BOOLEAN)((__atomic_fetch_and(target, ~mask, __ATOMIC_SEQ_CST) & mask) != 0);
}
#ifdef __cplusplus
// The same for every other kind of whole number, as the C++ headers of Windows have them: ULONG, unsigned long, long long. A
// `long` has 64 bits here, and they all take part. Values convert to the target's type.
template <typename T>
struct FabricbenchCounter {};
#define FABRICBENCH_COUNTER(type)   \
  template <>                       \
  struct FabricbenchCounter<type> { \
    typedef type Type;              \
  };
FABRICBENCH_COUNTER(signed char)
FABRICBENCH_COUNTER(unsigned char)
FABRICBENCH_COUNTER(short)
FABRICBENCH_COUNTER(unsigned short)
FABRICBENCH_COUNTER(unsigned)
FABRICBENCH_COUNTER(long)
FABRICBENCH_COUNTER(unsigned long)
FABRICBENCH_COUNTER(long long)
FABRICBENCH_COUNTER(unsigned long long)
#undef FABRICBENCH_COUNTER
#define FABRICBENCH_INTERLOCKED_ANY(suffix)                                                                                              \
  template <typename T>                                                                                                                  \
  inline typename FabricbenchCounter<T>::Type InterlockedIncrement##suffix(T volatile* target) {                                         \
    return static_cast<T>(__atomic_add_fetch(target, T(1), __ATOMIC_SEQ_CST));                                                           \
  }                                                                                                                                      \
  template <typename T>                                                                                                                  \
  inline typename FabricbenchCounter<T>::Type InterlockedDecrement##suffix(T volatile* target) {                                         \
    return static_cast<T>(__atomic_sub_fetch(target, T(1), __ATOMIC_SEQ_CST));                                                           \
  }                                                                                                                                      \
  template <typename T>                                                                                                                  \
  inline                                                                                                                                 \
      typename FabricbenchCounter<T>::Type InterlockedExchange##suffix(T volatile* target, typename FabricbenchCounter<T>::Type value) { \
    return __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);                                                                         \
  }                                                                                                                                      \
  template <typename T>                                                                                                                  \
  inline typename FabricbenchCounter<T>::Type InterlockedExchangeAdd##suffix(T volatile* target,                                         \
                                                                             typename FabricbenchCounter<T>::Type value) {               \
    return static_cast<T>(__atomic_fetch_add(target, value, __ATOMIC_SEQ_CST));                                                          \
  }                                                                                                                                      \
  template <typename T>                                                                                                                  \
  inline typename FabricbenchCounter<T>::Type InterlockedAdd##suffix(T volatile* target, typename FabricbenchCounter<T>::Type value) {   \
    return static_cast<T>(__atomic_add_fetch(target, value, __ATOMIC_SEQ_CST));                                                          \
  }                                                                                                                                      \
  template <typename T>                                                                                                                  \
  inline typename FabricbenchCounter<T>::Type InterlockedAnd##suffix(T volatile* target, typename FabricbenchCounter<T>::Type value) {   \
    return static_cast<T>(__atomic_fetch_and(target, value, __ATOMIC_SEQ_CST));                                                          \
  }                                                                                                                                      \
  template <typename T>                                                                                                                  \
  inline typename FabricbenchCounter<T>::Type InterlockedOr##suffix(T volatile* target, typename FabricbenchCounter<T>::Type value) {    \
    return static_cast<T>(__atomic_fetch_or(target, value, __ATOMIC_SEQ_CST));                                                           \
  }                                                                                                                                      \
  template <typename T>                                                                                                                  \
  inline typename FabricbenchCounter<T>::Type InterlockedXor##suffix(T volatile* target, typename FabricbenchCounter<T>::Type value) {   \
    return static_cast<T>(__atomic_fetch_xor(target, value, __ATOMIC_SEQ_CST));                                                          \
  }                                                                                                                                      \
  template <typename T>                                                                                                                  \
  inline typename FabricbenchCounter<T>::Type InterlockedCompareExchange##suffix(                                                        \
      T volatile* target, typename FabricbenchCounter<T>::Type value, typename FabricbenchCounter<T>::Type comparand) {                  \
    __atomic_compare_exchange_n(target, &comparand, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                       \
    return comparand;                                                                                                                    \
  }
FABRICBENCH_INTERLOCKED_ANY()
FABRICBENCH_INTERLOCKED_ANY(64)
FABRICBENCH_INTERLOCKED_ANY(16)
FABRICBENCH_INTERLOCKED_ANY(8)
#endif
#define InterlockedExchangeSubtract(target, value) InterlockedExchangeAdd((target), 0 - (value))
#define InterlockedIncrementSizeT(target) InterlockedIncrement64((LONG64 volatile*)(target))
#define InterlockedDecrementSizeT(target) InterlockedDecrement64((LONG64 volatile*)(target))
#define InterlockedExchangeAddSizeT(target, value) InterlockedExchangeAdd64((LONG64 volatile*)(target), (LONG64)(value))
// What promises less, or is the compiler's own name, is the same here.
#define InterlockedIncrementAcquire InterlockedIncrement
#define InterlockedIncrementRelease InterlockedIncrement
#define InterlockedIncrementNoFence InterlockedIncrement
#define _InterlockedIncrement InterlockedIncrement
#define InterlockedDecrementAcquire InterlockedDecrement
#define InterlockedDecrementRelease InterlockedDecrement
#define InterlockedDecrementNoFence InterlockedDecrement
#define _InterlockedDecrement InterlockedDecrement
#define InterlockedExchangeAcquire InterlockedExchange
#define InterlockedExchangeRelease InterlockedExchange
#define InterlockedExchangeNoFence InterlockedExchange
#define _InterlockedExchange InterlockedExchange
#define InterlockedExchangeAddAcquire InterlockedExchangeAdd
#define InterlockedExchangeAddRelease InterlockedExchangeAdd
#define InterlockedExchangeAddNoFence InterlockedExchangeAdd
#define _InterlockedExchangeAdd InterlockedExchangeAdd
#define InterlockedAddAcquire InterlockedAdd
#define InterlockedAddRelease InterlockedAdd
#define InterlockedAddNoFence InterlockedAdd
#define InterlockedAndAcquire InterlockedAnd
#define InterlockedAndRelease InterlockedAnd
#define InterlockedAndNoFence InterlockedAnd
#define _InterlockedAnd InterlockedAnd
#define InterlockedOrAcquire InterlockedOr
#define InterlockedOrRelease InterlockedOr
#define InterlockedOrNoFence InterlockedOr
#define _InterlockedOr InterlockedOr
#define InterlockedXorAcquire InterlockedXor
#define InterlockedXorRelease InterlockedXor
#define InterlockedXorNoFence InterlockedXor
#define _InterlockedXor InterlockedXor
#define InterlockedCompareExchangeAcquire InterlockedCompareExchange
#define InterlockedCompareExchangeRelease InterlockedCompareExchange
#define InterlockedCompareExchangeNoFence InterlockedCompareExchange
#define _InterlockedCompareExchange InterlockedCompareExchange
#define InterlockedIncrement64Acquire InterlockedIncrement64
#define InterlockedIncrement64Release InterlockedIncrement64
#define InterlockedIncrement64NoFence InterlockedIncrement64
#define _InterlockedIncrement64 InterlockedIncrement64
#define InterlockedDecrement64Acquire InterlockedDecrement64
#define InterlockedDecrement64Release InterlockedDecrement64
#define InterlockedDecrement64NoFence InterlockedDecrement64
#define _InterlockedDecrement64 InterlockedDecrement64
#define InterlockedExchange64Acquire InterlockedExchange64
#define InterlockedExchange64Release InterlockedExchange64
#define InterlockedExchange64NoFence InterlockedExchange64
#define _InterlockedExchange64 InterlockedExchange64
#define InterlockedExchangeAdd64Acquire InterlockedExchangeAdd64
#define InterlockedExchangeAdd64Release InterlockedExchangeAdd64
#define InterlockedExchangeAdd64NoFence InterlockedExchangeAdd64
#define _InterlockedExchangeAdd64 InterlockedExchangeAdd64
#define InterlockedAdd64Acquire InterlockedAdd64
#define InterlockedAdd64Release InterlockedAdd64
#define InterlockedAdd64NoFence InterlockedAdd64
#define InterlockedAnd64Acquire InterlockedAnd64
#define InterlockedAnd64Release InterlockedAnd64
#define InterlockedAnd64NoFence InterlockedAnd64
#define _InterlockedAnd64 InterlockedAnd64
#define InterlockedOr64Acquire InterlockedOr64
#define InterlockedOr64Release InterlockedOr64
#define InterlockedOr64NoFence InterlockedOr64
#define _InterlockedOr64 InterlockedOr64
#define InterlockedXor64Acquire InterlockedXor64
#define InterlockedXor64Release InterlockedXor64
#define InterlockedXor64NoFence InterlockedXor64
#define _InterlockedXor64 InterlockedXor64
#define InterlockedCompareExchange64Acquire InterlockedCompareExchange64
#define InterlockedCompareExchange64Release InterlockedCompareExchange64
#define InterlockedCompareExchange64NoFence InterlockedCompareExchange64
#define _InterlockedCompareExchange64 InterlockedCompareExchange64
#define InterlockedIncrement16Acquire InterlockedIncrement16
#define InterlockedIncrement16Release InterlockedIncrement16
#define InterlockedIncrement16NoFence InterlockedIncrement16
#define _InterlockedIncrement16 InterlockedIncrement16
#define InterlockedDecrement16Acquire InterlockedDecrement16
#define InterlockedDecrement16Release InterlockedDecrement16
#define InterlockedDecrement16NoFence InterlockedDecrement16
#define _InterlockedDecrement16 InterlockedDecrement16
#define InterlockedExchange16Acquire InterlockedExchange16
#define InterlockedExchange16Release InterlockedExchange16
#define InterlockedExchange16NoFence InterlockedExchange16
#define _InterlockedExchange16 InterlockedExchange16
#define InterlockedExchangeAdd16Acquire InterlockedExchangeAdd16
#define InterlockedExchangeAdd16Release InterlockedExchangeAdd16
#define InterlockedExchangeAdd16NoFence InterlockedExchangeAdd16
#define _InterlockedExchangeAdd16 InterlockedExchangeAdd16
#define InterlockedAdd16Acquire InterlockedAdd16
#define InterlockedAdd16Release InterlockedAdd16
#define InterlockedAdd16NoFence InterlockedAdd16
#define InterlockedAnd16Acquire InterlockedAnd16
#define InterlockedAnd16Release InterlockedAnd16
#define InterlockedAnd16NoFence InterlockedAnd16
#define _InterlockedAnd16 InterlockedAnd16
#define InterlockedOr16Acquire InterlockedOr16
#define InterlockedOr16Release InterlockedOr16
#define InterlockedOr16NoFence InterlockedOr16
#define _InterlockedOr16 InterlockedOr16
#define InterlockedXor16Acquire InterlockedXor16
#define InterlockedXor16Release InterlockedXor16
#define InterlockedXor16NoFence InterlockedXor16
#define _InterlockedXor16 InterlockedXor16
#define InterlockedCompareExchange16Acquire InterlockedCompareExchange16
#define InterlockedCompareExchange16Release InterlockedCompareExchange16
#define InterlockedCompareExchange16NoFence InterlockedCompareExchange16
#define _InterlockedCompareExchange16 InterlockedCompareExchange16
#define _InterlockedIncrement8 InterlockedIncrement8
#define _InterlockedDecrement8 InterlockedDecrement8
#define _InterlockedExchange8 InterlockedExchange8
#define _InterlockedExchangeAdd8 InterlockedExchangeAdd8
#define _InterlockedAnd8 InterlockedAnd8
#define _InterlockedOr8 InterlockedOr8
#define _InterlockedXor8 InterlockedXor8
#define _InterlockedCompareExchange8 InterlockedCompareExchange8
#define InterlockedExchangePointerAcquire InterlockedExchangePointer
#define InterlockedExchangePointerRelease InterlockedExchangePointer
#define InterlockedExchangePointerNoFence InterlockedExchangePointer
#define _InterlockedExchangePointer InterlockedExchangePointer
#define InterlockedCompareExchangePointerAcquire InterlockedCompareExchangePointer
#define InterlockedCompareExchangePointerRelease InterlockedCompareExchangePointer
#define InterlockedCompareExchangePointerNoFence InterlockedCompareExchangePointer
#define _InterlockedCompareExchangePointer InterlockedCompareExchangePointer
#define _interlockedbittestandset InterlockedBitTestAndSet
#define _interlockedbittestandreset InterlockedBitTestAndReset
#define ReadAcquire(source) __atomic_load_n((source), __ATOMIC_ACQUIRE)
#define ReadNoFence(source) __atomic_load_n((source), __ATOMIC_RELAXED)
#define ReadPointerAcquire(source) __atomic_load_n((source), __ATOMIC_ACQUIRE)
#define ReadPointerNoFence(source) __atomic_load_n((source), __ATOMIC_RELAXED)
#define WriteRelease(target, value) __atomic_store_n((target), (value), __ATOMIC_RELEASE)
#define WriteNoFence(target, value) __atomic_store_n((target), (value), __ATOMIC_RELAXED)
#define WritePointerRelease(target, value) __atomic_store_n((target), (value), __ATOMIC_RELEASE)
