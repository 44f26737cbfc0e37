#pragma once
// The notions of the Windows kernel that drivers on NDK use beside NDK itself, for programs in user space: events and waits, spin
// locks, deferred procedure calls, timers, work items, pool, descriptor lists, lists and memory helpers. A driver's source that
// includes the headers of the kernel's names builds with these unchanged.
//
// All of it stands on a fb::ndk::DriverKernel (networkdirect/ndk/driver/driver_kernel.h), which has one thread. A wait runs the
// world until its objects are signalled; also when they are signalled already, since a real wait is a point at which others
// run. What breaks the kernel's rules (a wait in a callback, a lock released that is not held, pool that is freed twice) is a
// finding of the kernel.

#include "ndk_kernel.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#if defined(__cplusplus)
extern "C" {
#endif

// ------------------------------------------------------------------------------------------- names

#ifndef NTAPI
#define NTAPI
#endif
#ifndef NTKERNELAPI
#define NTKERNELAPI
#endif
#ifndef NTSYSAPI
#define NTSYSAPI
#endif
#ifndef FASTCALL
#define FASTCALL
#endif
#ifndef FORCEINLINE
#define FORCEINLINE static inline
#endif
#ifndef INIT_FUNCTION
#define INIT_FUNCTION
#endif
#ifndef UNREFERENCED_PARAMETER
#define UNREFERENCED_PARAMETER(p) ((void)(p))
#endif
#ifndef UNREFERENCED_LOCAL_VARIABLE
#define UNREFERENCED_LOCAL_VARIABLE(p) ((void)(p))
#endif
#ifndef DBG
#define DBG 0
#endif
#ifndef RTL_NUMBER_OF
#define RTL_NUMBER_OF(a) (sizeof(a) / sizeof((a)[0]))
#endif
#ifndef ARRAYSIZE
#define ARRAYSIZE(a) RTL_NUMBER_OF(a)
#endif
#ifndef FIELD_OFFSET
#define FIELD_OFFSET(type, field) ((LONG)offsetof(type, field))
#endif
#ifndef RTL_FIELD_SIZE
#define RTL_FIELD_SIZE(type, field) (sizeof(((type*)0)->field))
#endif
#ifndef RTL_SIZEOF_THROUGH_FIELD
#define RTL_SIZEOF_THROUGH_FIELD(type, field) (offsetof(type, field) + RTL_FIELD_SIZE(type, field))
#endif
#ifndef ALIGN_UP_BY
#define ALIGN_DOWN_BY(length, alignment) ((ULONG_PTR)(length) & ~((ULONG_PTR)(alignment)-1))
#define ALIGN_UP_BY(length, alignment) ALIGN_DOWN_BY((ULONG_PTR)(length) + (alignment)-1, alignment)
#endif
#ifndef C_ASSERT
#if defined(__cplusplus)
#define C_ASSERT(expression) static_assert(expression, #expression)
#else
#define C_ASSERT(expression) _Static_assert(expression, #expression)
#endif
#endif
#ifndef NT_INFORMATION
#define NT_INFORMATION(status) ((((ULONG)(status)) >> 30) == 1)
#define NT_WARNING(status) ((((ULONG)(status)) >> 30) == 2)
#define NT_ERROR(status) ((((ULONG)(status)) >> 30) == 3)
#endif
#ifndef STATUS_TIMEOUT
#define STATUS_TIMEOUT ((NTSTATUS)0x00000102)
#endif
#ifndef STATUS_WAIT_0
#define STATUS_WAIT_0 ((NTSTATUS)0x00000000)
#endif
#ifndef STATUS_NOT_FOUND
#define STATUS_NOT_FOUND ((NTSTATUS)0xC0000225)
#endif
#ifndef STATUS_NOT_IMPLEMENTED
#define STATUS_NOT_IMPLEMENTED ((NTSTATUS)0xC0000002)
#endif
#ifndef STATUS_NOINTERFACE
#define STATUS_NOINTERFACE ((NTSTATUS)0xC00002B9)
#endif

typedef CHAR* PSZ_KERNEL;
typedef char CCHAR;
typedef ULONG_PTR KSPIN_LOCK, *PKSPIN_LOCK;
typedef LONG KPRIORITY;
typedef CCHAR KPROCESSOR_MODE;
typedef enum _MODE { KernelMode, UserMode, MaximumMode } MODE;
typedef enum _EVENT_TYPE { NotificationEvent, SynchronizationEvent } EVENT_TYPE;
typedef enum _TIMER_TYPE { NotificationTimer, SynchronizationTimer } TIMER_TYPE;
typedef enum _WAIT_TYPE { WaitAll, WaitAny } WAIT_TYPE;
typedef enum _KWAIT_REASON { Executive, FreePage, PageIn, PoolAllocation, DelayExecution, Suspended, UserRequest } KWAIT_REASON;
typedef enum _POOL_TYPE { NonPagedPool, PagedPool, NonPagedPoolNx = 512, NonPagedPoolNxCacheAligned = 516 } POOL_TYPE;
typedef enum _LOCK_OPERATION { IoReadAccess, IoWriteAccess, IoModifyAccess } LOCK_OPERATION;
typedef enum _MEMORY_CACHING_TYPE { MmNonCached, MmCached, MmWriteCombined } MEMORY_CACHING_TYPE;
typedef enum _MM_PAGE_PRIORITY { LowPagePriority = 0, NormalPagePriority = 16, HighPagePriority = 32 } MM_PAGE_PRIORITY;
#define MdlMappingNoExecute 0x40000000
#define MdlMappingNoWrite 0x80000000

typedef struct _STRING {
  USHORT Length;
  USHORT MaximumLength;
  CHAR* Buffer;
} STRING, ANSI_STRING, *PSTRING, *PANSI_STRING;
typedef struct _FB_UNICODE_STRING {
  USHORT Length;
  USHORT MaximumLength;
  WCHAR* Buffer;
} UNICODE_STRING, *PUNICODE_STRING;
typedef const UNICODE_STRING* PCUNICODE_STRING;

typedef struct _IRP IRP, *PIRP;
typedef struct _DEVICE_OBJECT DEVICE_OBJECT, *PDEVICE_OBJECT;
typedef struct _DRIVER_OBJECT DRIVER_OBJECT, *PDRIVER_OBJECT;
typedef NTSTATUS DRIVER_INITIALIZE(PDRIVER_OBJECT driver, PUNICODE_STRING registryPath);
typedef VOID DRIVER_UNLOAD(PDRIVER_OBJECT driver);
struct _DEVICE_OBJECT {
  PDRIVER_OBJECT DriverObject;
  PVOID DeviceExtension;
};
struct _DRIVER_OBJECT {
  PDEVICE_OBJECT DeviceObject;
  UNICODE_STRING DriverName;
  DRIVER_UNLOAD* DriverUnload;
};

// ------------------------------------------------------------------------------------------- levels, locks

KIRQL KeGetCurrentIrql(VOID);
VOID KeRaiseIrql(KIRQL level, PKIRQL before);
VOID KeLowerIrql(KIRQL level);

VOID KeInitializeSpinLock(PKSPIN_LOCK lock);
VOID KeAcquireSpinLock(PKSPIN_LOCK lock, PKIRQL before);
VOID KeReleaseSpinLock(PKSPIN_LOCK lock, KIRQL before);
VOID KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK lock);
VOID KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK lock);
#define KeAcquireSpinLockRaiseToDpc FbAcquireSpinLockRaiseToDpc
KIRQL FbAcquireSpinLockRaiseToDpc(PKSPIN_LOCK lock);

typedef struct _KLOCK_QUEUE_HANDLE {
  PKSPIN_LOCK Lock;
  KIRQL OldIrql;
} KLOCK_QUEUE_HANDLE, *PKLOCK_QUEUE_HANDLE;
VOID KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK lock, PKLOCK_QUEUE_HANDLE handle);
VOID KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE handle);

typedef struct _FAST_MUTEX {
  LONG Count;
} FAST_MUTEX, *PFAST_MUTEX;
VOID ExInitializeFastMutex(PFAST_MUTEX mutex);
VOID ExAcquireFastMutex(PFAST_MUTEX mutex);
VOID ExReleaseFastMutex(PFAST_MUTEX mutex);

// ------------------------------------------------------------------------------------------- objects to wait for

typedef struct _DISPATCHER_HEADER {
  UCHAR Type;  // an EVENT_TYPE; 0x80 and above: a semaphore, a timer
  LONG SignalState;
} DISPATCHER_HEADER;
typedef struct _KEVENT {
  DISPATCHER_HEADER Header;
} KEVENT, *PKEVENT, *PRKEVENT;
typedef struct _KSEMAPHORE {
  DISPATCHER_HEADER Header;
  LONG Limit;
} KSEMAPHORE, *PKSEMAPHORE, *PRKSEMAPHORE;
typedef struct _KWAIT_BLOCK {
  PVOID Object;
} KWAIT_BLOCK, *PKWAIT_BLOCK;

VOID KeInitializeEvent(PRKEVENT event, EVENT_TYPE type, BOOLEAN state);
LONG KeSetEvent(PRKEVENT event, KPRIORITY increment, BOOLEAN wait);
VOID KeClearEvent(PRKEVENT event);
LONG KeResetEvent(PRKEVENT event);
LONG KeReadStateEvent(PRKEVENT event);
VOID KeInitializeSemaphore(PRKSEMAPHORE semaphore, LONG count, LONG limit);
LONG KeReleaseSemaphore(PRKSEMAPHORE semaphore, KPRIORITY increment, LONG adjustment, BOOLEAN wait);
LONG KeReadStateSemaphore(PRKSEMAPHORE semaphore);

#define IO_NO_INCREMENT 0
#define IO_NETWORK_INCREMENT 2

// A timeout is a negative span or a time of the system, in 100 ns; without one a wait lasts as long as the world is patient.
NTSTATUS KeWaitForSingleObject(PVOID object, KWAIT_REASON reason, KPROCESSOR_MODE mode, BOOLEAN alertable, PLARGE_INTEGER timeout);
NTSTATUS KeWaitForMultipleObjects(ULONG count, PVOID objects[], WAIT_TYPE type, KWAIT_REASON reason, KPROCESSOR_MODE mode,
                                  BOOLEAN alertable, PLARGE_INTEGER timeout, PKWAIT_BLOCK blocks);
NTSTATUS KeDelayExecutionThread(KPROCESSOR_MODE mode, BOOLEAN alertable, PLARGE_INTEGER interval);

// ------------------------------------------------------------------------------------------- time, what runs later

VOID KeQuerySystemTime(PLARGE_INTEGER time);
#define KeQuerySystemTimePrecise KeQuerySystemTime
ULONGLONG KeQueryInterruptTime(VOID);
LARGE_INTEGER KeQueryPerformanceCounter(PLARGE_INTEGER frequency);
VOID KeStallExecutionProcessor(ULONG microseconds);

struct _KDPC;
typedef VOID KDEFERRED_ROUTINE(struct _KDPC* dpc, PVOID context, PVOID argument1, PVOID argument2);
typedef KDEFERRED_ROUTINE* PKDEFERRED_ROUTINE;
typedef struct _KDPC {
  PKDEFERRED_ROUTINE DeferredRoutine;
  PVOID DeferredContext;
  PVOID SystemArgument1;
  PVOID SystemArgument2;
} KDPC, *PKDPC, *PRKDPC;
VOID KeInitializeDpc(PRKDPC dpc, PKDEFERRED_ROUTINE routine, PVOID context);
BOOLEAN KeInsertQueueDpc(PRKDPC dpc, PVOID argument1, PVOID argument2);
BOOLEAN KeRemoveQueueDpc(PRKDPC dpc);

typedef struct _KTIMER {
  DISPATCHER_HEADER Header;
  PKDPC Dpc;
  LONG Period;  // in milliseconds; 0: once
} KTIMER, *PKTIMER;
VOID KeInitializeTimer(PKTIMER timer);
VOID KeInitializeTimerEx(PKTIMER timer, TIMER_TYPE type);
BOOLEAN KeSetTimer(PKTIMER timer, LARGE_INTEGER due, PKDPC dpc);
BOOLEAN KeSetTimerEx(PKTIMER timer, LARGE_INTEGER due, LONG period, PKDPC dpc);
BOOLEAN KeCancelTimer(PKTIMER timer);

typedef enum _WORK_QUEUE_TYPE { CriticalWorkQueue, DelayedWorkQueue, HyperCriticalWorkQueue } WORK_QUEUE_TYPE;
typedef struct _IO_WORKITEM IO_WORKITEM, *PIO_WORKITEM;
typedef VOID IO_WORKITEM_ROUTINE(PDEVICE_OBJECT device, PVOID context);
typedef IO_WORKITEM_ROUTINE* PIO_WORKITEM_ROUTINE;
PIO_WORKITEM IoAllocateWorkItem(PDEVICE_OBJECT device);
VOID IoQueueWorkItem(PIO_WORKITEM item, PIO_WORKITEM_ROUTINE routine, WORK_QUEUE_TYPE type, PVOID context);
VOID IoFreeWorkItem(PIO_WORKITEM item);
typedef VOID WORKER_THREAD_ROUTINE(PVOID parameter);
typedef WORKER_THREAD_ROUTINE* PWORKER_THREAD_ROUTINE;
typedef struct _WORK_QUEUE_ITEM {
  LIST_ENTRY List;
  PWORKER_THREAD_ROUTINE WorkerRoutine;
  PVOID Parameter;
} WORK_QUEUE_ITEM, *PWORK_QUEUE_ITEM;
#define ExInitializeWorkItem(item, routine, context) \
  ((item)->WorkerRoutine = (routine), (item)->Parameter = (context), (item)->List.Flink = NULL)
VOID ExQueueWorkItem(PWORK_QUEUE_ITEM item, WORK_QUEUE_TYPE type);

// ------------------------------------------------------------------------------------------- pool

typedef ULONG64 POOL_FLAGS;
#define POOL_FLAG_UNINITIALIZED 0x0000000000000002ULL
#define POOL_FLAG_NON_PAGED 0x0000000000000040ULL
#define POOL_FLAG_PAGED 0x0000000000000100ULL
PVOID ExAllocatePool2(POOL_FLAGS flags, SIZE_T bytes, ULONG tag);
PVOID ExAllocatePoolZero(POOL_TYPE type, SIZE_T bytes, ULONG tag);
PVOID ExAllocatePoolWithTag(POOL_TYPE type, SIZE_T bytes, ULONG tag);
VOID ExFreePoolWithTag(PVOID memory, ULONG tag);
#define ExAllocatePool(type, bytes) ExAllocatePoolWithTag((type), (bytes), 0)
#define ExFreePool(memory) ExFreePoolWithTag((memory), 0)
PVOID MmAllocateContiguousMemory(SIZE_T bytes, PHYSICAL_ADDRESS highest);
VOID MmFreeContiguousMemory(PVOID memory);

// ------------------------------------------------------------------------------------------- descriptor lists

#define BYTE_OFFSET(va) ((ULONG)((ULONG_PTR)(va) & (PAGE_SIZE - 1)))
#define PAGE_ALIGN(va) ((PVOID)((ULONG_PTR)(va) & ~(ULONG_PTR)(PAGE_SIZE - 1)))
#define BYTES_TO_PAGES(bytes) (((bytes) >> PAGE_SHIFT) + (((bytes) & (PAGE_SIZE - 1)) != 0))
#define ROUND_TO_PAGES(bytes) (((ULONG_PTR)(bytes) + PAGE_SIZE - 1) & ~(ULONG_PTR)(PAGE_SIZE - 1))
#define ADDRESS_AND_SIZE_TO_SPAN_PAGES(va, bytes) ((ULONG)((BYTE_OFFSET(va) + (SIZE_T)(bytes) + PAGE_SIZE - 1) >> PAGE_SHIFT))

PMDL IoAllocateMdl(PVOID va, ULONG bytes, BOOLEAN secondary, BOOLEAN chargeQuota, PIRP irp);
VOID IoFreeMdl(PMDL mdl);
// Memory of programs in user space is mapped, resident and stays where it is.
static inline VOID MmBuildMdlForNonPagedPool(PMDL mdl) { (void)mdl; }
static inline VOID MmProbeAndLockPages(PMDL mdl, KPROCESSOR_MODE mode, LOCK_OPERATION operation) {
  (void)mdl;
  (void)mode;
  (void)operation;
}
static inline VOID MmUnlockPages(PMDL mdl) { (void)mdl; }
static inline PVOID MmGetSystemAddressForMdlSafe(PMDL mdl, ULONG priority) {
  (void)priority;
  return MmGetMdlVirtualAddress(mdl);
}
#define MmGetSystemAddressForMdl(mdl) MmGetSystemAddressForMdlSafe((mdl), NormalPagePriority)
static inline PVOID MmMapLockedPagesSpecifyCache(PMDL mdl, KPROCESSOR_MODE mode, MEMORY_CACHING_TYPE cache, PVOID requested, ULONG bugCheck,
                                                 ULONG priority) {
  (void)mode;
  (void)cache;
  (void)requested;
  (void)bugCheck;
  return MmGetSystemAddressForMdlSafe(mdl, priority);
}
static inline VOID MmUnmapLockedPages(PVOID va, PMDL mdl) {
  (void)va;
  (void)mdl;
}
static inline SIZE_T MmSizeOfMdl(PVOID va, SIZE_T bytes) {
  return sizeof(MDL) + ADDRESS_AND_SIZE_TO_SPAN_PAGES(va, bytes) * sizeof(ULONG_PTR);
}

// ------------------------------------------------------------------------------------------- lists

static inline VOID InitializeListHead(PLIST_ENTRY head) { head->Flink = head->Blink = head; }
static inline BOOLEAN IsListEmpty(const LIST_ENTRY* head) { return (BOOLEAN)(head->Flink == head); }
static inline BOOLEAN RemoveEntryList(PLIST_ENTRY entry) {
  PLIST_ENTRY next = entry->Flink, previous = entry->Blink;
  previous->Flink = next;
  next->Blink = previous;
  return (BOOLEAN)(next == previous);
}
static inline PLIST_ENTRY RemoveHeadList(PLIST_ENTRY head) {
  PLIST_ENTRY entry = head->Flink;
  RemoveEntryList(entry);
  return entry;
}
static inline PLIST_ENTRY RemoveTailList(PLIST_ENTRY head) {
  PLIST_ENTRY entry = head->Blink;
  RemoveEntryList(entry);
  return entry;
}
static inline VOID InsertHeadList(PLIST_ENTRY head, PLIST_ENTRY entry) {
  entry->Flink = head->Flink;
  entry->Blink = head;
  head->Flink->Blink = entry;
  head->Flink = entry;
}
static inline VOID InsertTailList(PLIST_ENTRY head, PLIST_ENTRY entry) {
  entry->Flink = head;
  entry->Blink = head->Blink;
  head->Blink->Flink = entry;
  head->Blink = entry;
}
// Under a lock; null where the list was empty.
PLIST_ENTRY ExInterlockedInsertHeadList(PLIST_ENTRY head, PLIST_ENTRY entry, PKSPIN_LOCK lock);
PLIST_ENTRY ExInterlockedInsertTailList(PLIST_ENTRY head, PLIST_ENTRY entry, PKSPIN_LOCK lock);
PLIST_ENTRY ExInterlockedRemoveHeadList(PLIST_ENTRY head, PKSPIN_LOCK lock);

// ------------------------------------------------------------------------------------------- memory, strings, messages

#ifndef RtlMoveMemory
#define RtlMoveMemory(to, from, n) memmove((to), (from), (n))
#endif
#ifndef RtlFillMemory
#define RtlFillMemory(to, n, byte) memset((to), (byte), (n))
#endif
#define RtlEqualMemory(a, b, n) (memcmp((a), (b), (n)) == 0)
#ifndef RtlSecureZeroMemory
#define RtlSecureZeroMemory(to, n) memset((to), 0, (n))
#endif
static inline SIZE_T RtlCompareMemory(const VOID* a, const VOID* b, SIZE_T n) {
  SIZE_T same = 0;
  while (same < n && ((const UCHAR*)a)[same] == ((const UCHAR*)b)[same]) ++same;
  return same;
}
static inline USHORT RtlUshortByteSwap(USHORT value) { return __builtin_bswap16(value); }
static inline ULONG RtlUlongByteSwap(ULONG value) { return __builtin_bswap32(value); }
static inline ULONGLONG RtlUlonglongByteSwap(ULONGLONG value) { return __builtin_bswap64(value); }
VOID RtlInitUnicodeString(PUNICODE_STRING string, const WCHAR* text);
VOID RtlInitAnsiString(PANSI_STRING string, const CHAR* text);
BOOLEAN RtlEqualUnicodeString(PCUNICODE_STRING a, PCUNICODE_STRING b, BOOLEAN caseInsensitive);

// To standard error, where the DriverKernel prints messages.
ULONG DbgPrint(const CHAR* format, ...);
ULONG DbgPrintEx(ULONG component, ULONG level, const CHAR* format, ...);
#define DPFLTR_IHVDRIVER_ID 77
#define DPFLTR_IHVNETWORK_ID 76
#define DPFLTR_DEFAULT_ID 101
#define DPFLTR_ERROR_LEVEL 0
#define DPFLTR_WARNING_LEVEL 1
#define DPFLTR_TRACE_LEVEL 2
#define DPFLTR_INFO_LEVEL 3
#define KdPrint(arguments) ((void)DbgPrint arguments)
#define KdPrintEx(arguments) ((void)DbgPrintEx arguments)

VOID FbAssertFailed(const CHAR* expression, const CHAR* file, ULONG line);
#define NT_ASSERT(expression) ((expression) ? (void)0 : FbAssertFailed(#expression, __FILE__, __LINE__))
#define NT_VERIFY(expression) ((expression) ? TRUE : (FbAssertFailed(#expression, __FILE__, __LINE__), FALSE))
#ifndef ASSERT
#define ASSERT NT_ASSERT
#endif
VOID FbPagedCode(const CHAR* function);
#define PAGED_CODE() FbPagedCode(__func__)

#if defined(__cplusplus)
}
#endif
