// Events, waits, locks, timers and work items of drivers.
#include <ntddk.h>

#include <algorithm>
#include <new>
#include <string>

#include "networkdirect/ndk/driver/driver_kernel.h"

namespace {

using fb::Duration;
using fb::ndk::DriverKernel;
namespace rule = fb::ndk::driver_rule;

constexpr UCHAR kSemaphore = 0x80, kNotificationTimer = 0x90, kSynchronizationTimer = 0x91;
/// What the time of the system is at the beginning of a world: 2026-01-01, in 100 ns since 1601.
constexpr LONGLONG kEpoch = 134'116'992'000'000'000;

DriverKernel& driver() { return DriverKernel::current(); }
LONGLONG system_time() { return kEpoch + driver().world().now().count_ns() / 100; }

Duration span_of(const LARGE_INTEGER& timeout) {
  const LONGLONG units = timeout.QuadPart < 0 ? -timeout.QuadPart : std::max<LONGLONG>(timeout.QuadPart - system_time(), 0);
  return Duration::ns(std::min<LONGLONG>(units, LONGLONG{1} << 50) * 100);
}

DISPATCHER_HEADER& header_of(PVOID object) { return *static_cast<DISPATCHER_HEADER*>(object); }
bool is_signalled(PVOID object) { return header_of(object).SignalState > 0; }

/// What a wait does to what it waited for.
void take(PVOID object) {
  DISPATCHER_HEADER& header = header_of(object);
  if (header.Type == SynchronizationEvent || header.Type == kSynchronizationTimer) header.SignalState = 0;
  if (header.Type == kSemaphore) --header.SignalState;
}

/// Whether this is a place to wait. A timeout of 0 looks, and does not wait.
bool may_wait(const LARGE_INTEGER* timeout, const char* function) {
  const bool looks = timeout != nullptr && timeout->QuadPart == 0;
  return driver().kernel().check_irql(looks ? DISPATCH_LEVEL : APC_LEVEL, function) && !looks;
}

template <class Done>
NTSTATUS wait_for(const Done& done, const LARGE_INTEGER* timeout, const char* function) {
  if (!may_wait(timeout, function)) return done() ? STATUS_SUCCESS : STATUS_TIMEOUT;
  const Duration limit = timeout == nullptr ? driver().world().patience() : span_of(*timeout);
  if (driver().wait(done, limit)) return STATUS_SUCCESS;
  if (timeout == nullptr) driver().kernel().report(rule::kEndlessWait, function, "a wait without timeout for what never happens");
  return STATUS_TIMEOUT;
}

void lock(PKSPIN_LOCK lock, const char* function) {
  if (*lock != 0) driver().kernel().report(rule::kLock, function, "a spin lock is taken that is held already: a deadlock");
  *lock = 1;
}

void unlock(PKSPIN_LOCK lock, const char* function) {
  if (*lock == 0) driver().kernel().report(rule::kLock, function, "a spin lock is released that is not held");
  *lock = 0;
}

void fire(PKTIMER timer) {
  timer->Header.SignalState = 1;
  if (timer->Period > 0) {
    driver().schedule(timer, Duration::ms(timer->Period), DISPATCH_LEVEL, [timer] { fire(timer); });
  }
  if (timer->Dpc != nullptr) timer->Dpc->DeferredRoutine(timer->Dpc, timer->Dpc->DeferredContext, nullptr, nullptr);
}

}  // namespace

struct _IO_WORKITEM {
  PDEVICE_OBJECT device;
};

extern "C" {

// ---- levels, locks

KIRQL KeGetCurrentIrql(VOID) { return driver().kernel().irql(); }

VOID KeRaiseIrql(KIRQL level, PKIRQL before) {
  *before = KeGetCurrentIrql();
  driver().raise(level);
}

VOID KeLowerIrql(KIRQL level) { driver().lower(level); }

VOID KeInitializeSpinLock(PKSPIN_LOCK lock) { *lock = 0; }

KIRQL FbAcquireSpinLockRaiseToDpc(PKSPIN_LOCK held) {
  KIRQL before = PASSIVE_LEVEL;
  driver().kernel().check_irql(DISPATCH_LEVEL, "KeAcquireSpinLock");
  KeRaiseIrql(DISPATCH_LEVEL, &before);
  lock(held, "KeAcquireSpinLock");
  return before;
}

VOID KeAcquireSpinLock(PKSPIN_LOCK held, PKIRQL before) { *before = FbAcquireSpinLockRaiseToDpc(held); }

VOID KeReleaseSpinLock(PKSPIN_LOCK held, KIRQL before) {
  unlock(held, "KeReleaseSpinLock");
  KeLowerIrql(before);
}

VOID KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK held) { lock(held, "KeAcquireSpinLockAtDpcLevel"); }
VOID KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK held) { unlock(held, "KeReleaseSpinLockFromDpcLevel"); }

VOID KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK held, PKLOCK_QUEUE_HANDLE handle) {
  handle->Lock = held;
  KeAcquireSpinLock(held, &handle->OldIrql);
}

VOID KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE handle) { KeReleaseSpinLock(handle->Lock, handle->OldIrql); }

VOID ExInitializeFastMutex(PFAST_MUTEX mutex) { mutex->Count = 1; }

VOID ExAcquireFastMutex(PFAST_MUTEX mutex) {
  driver().kernel().check_irql(APC_LEVEL, "ExAcquireFastMutex");
  const char* const function = "ExAcquireFastMutex";
  if (mutex->Count <= 0) driver().kernel().report(rule::kLock, function, "a fast mutex is taken that is held already: a deadlock");
  --mutex->Count;
}

VOID ExReleaseFastMutex(PFAST_MUTEX mutex) {
  if (mutex->Count > 0) driver().kernel().report(rule::kLock, "ExReleaseFastMutex", "a fast mutex is released that is not held");
  ++mutex->Count;
}

// ---- events, waits

VOID KeInitializeEvent(PRKEVENT event, EVENT_TYPE type, BOOLEAN state) { event->Header = {static_cast<UCHAR>(type), state != 0 ? 1 : 0}; }

LONG KeSetEvent(PRKEVENT event, KPRIORITY, BOOLEAN) {
  const LONG before = event->Header.SignalState;
  event->Header.SignalState = 1;
  return before;
}

VOID KeClearEvent(PRKEVENT event) { event->Header.SignalState = 0; }

LONG KeResetEvent(PRKEVENT event) {
  const LONG before = event->Header.SignalState;
  event->Header.SignalState = 0;
  return before;
}

LONG KeReadStateEvent(PRKEVENT event) { return event->Header.SignalState; }

VOID KeInitializeSemaphore(PRKSEMAPHORE semaphore, LONG count, LONG limit) {
  semaphore->Header = {kSemaphore, count};
  semaphore->Limit = limit;
}

LONG KeReleaseSemaphore(PRKSEMAPHORE semaphore, KPRIORITY, LONG adjustment, BOOLEAN) {
  const LONG before = semaphore->Header.SignalState;
  semaphore->Header.SignalState = std::min(before + adjustment, semaphore->Limit);
  return before;
}

LONG KeReadStateSemaphore(PRKSEMAPHORE semaphore) { return semaphore->Header.SignalState; }

NTSTATUS KeWaitForSingleObject(PVOID object, KWAIT_REASON, KPROCESSOR_MODE, BOOLEAN, PLARGE_INTEGER timeout) {
  const NTSTATUS status = wait_for([object] { return is_signalled(object); }, timeout, "KeWaitForSingleObject");
  if (status == STATUS_SUCCESS) take(object);
  return status;
}

NTSTATUS KeWaitForMultipleObjects(ULONG count, PVOID objects[], WAIT_TYPE type, KWAIT_REASON, KPROCESSOR_MODE, BOOLEAN,
                                  PLARGE_INTEGER timeout, PKWAIT_BLOCK) {
  const auto done = [&] {
    return type == WaitAll ? std::all_of(objects, objects + count, is_signalled) : std::any_of(objects, objects + count, is_signalled);
  };
  const NTSTATUS status = wait_for(done, timeout, "KeWaitForMultipleObjects");
  if (status != STATUS_SUCCESS) return status;
  if (type == WaitAll) {
    std::for_each(objects, objects + count, take);
    return STATUS_WAIT_0;
  }
  const auto first = std::find_if(objects, objects + count, is_signalled);
  take(*first);
  return static_cast<NTSTATUS>(STATUS_WAIT_0 + static_cast<DWORD>(first - objects));
}

NTSTATUS KeDelayExecutionThread(KPROCESSOR_MODE, BOOLEAN, PLARGE_INTEGER interval) {
  if (driver().kernel().check_irql(APC_LEVEL, "KeDelayExecutionThread")) driver().world().run_for(span_of(*interval));
  return STATUS_SUCCESS;
}

// ---- time, what runs later

VOID KeQuerySystemTime(PLARGE_INTEGER time) { time->QuadPart = system_time(); }
ULONGLONG KeQueryInterruptTime(VOID) { return static_cast<ULONGLONG>(driver().world().now().count_ns() / 100); }

LARGE_INTEGER KeQueryPerformanceCounter(PLARGE_INTEGER frequency) {
  if (frequency != nullptr) frequency->QuadPart = 10'000'000;
  LARGE_INTEGER count;
  count.QuadPart = static_cast<LONGLONG>(KeQueryInterruptTime());
  return count;
}

// A world has no time that passes while somebody counts.
VOID KeStallExecutionProcessor(ULONG) {}

VOID KeInitializeDpc(PRKDPC dpc, PKDEFERRED_ROUTINE routine, PVOID context) { *dpc = {routine, context, nullptr, nullptr}; }

BOOLEAN KeInsertQueueDpc(PRKDPC dpc, PVOID argument1, PVOID argument2) {
  if (driver().scheduled(dpc)) return FALSE;
  dpc->SystemArgument1 = argument1;
  dpc->SystemArgument2 = argument2;
  driver().schedule(dpc, {}, DISPATCH_LEVEL,
                    [dpc] { dpc->DeferredRoutine(dpc, dpc->DeferredContext, dpc->SystemArgument1, dpc->SystemArgument2); });
  return TRUE;
}

BOOLEAN KeRemoveQueueDpc(PRKDPC dpc) { return driver().cancel(dpc) ? TRUE : FALSE; }

VOID KeInitializeTimerEx(PKTIMER timer, TIMER_TYPE type) {
  *timer = {{type == NotificationTimer ? kNotificationTimer : kSynchronizationTimer, 0}, nullptr, 0};
}

VOID KeInitializeTimer(PKTIMER timer) { KeInitializeTimerEx(timer, NotificationTimer); }

BOOLEAN KeSetTimerEx(PKTIMER timer, LARGE_INTEGER due, LONG period, PKDPC dpc) {
  const bool was = driver().scheduled(timer);
  timer->Header.SignalState = 0;
  timer->Dpc = dpc;
  timer->Period = period;
  driver().schedule(timer, span_of(due), DISPATCH_LEVEL, [timer] { fire(timer); });
  return was ? TRUE : FALSE;
}

BOOLEAN KeSetTimer(PKTIMER timer, LARGE_INTEGER due, PKDPC dpc) { return KeSetTimerEx(timer, due, 0, dpc); }
BOOLEAN KeCancelTimer(PKTIMER timer) { return driver().cancel(timer) ? TRUE : FALSE; }

PIO_WORKITEM IoAllocateWorkItem(PDEVICE_OBJECT device) { return new (std::nothrow) IO_WORKITEM{device}; }

VOID IoQueueWorkItem(PIO_WORKITEM item, PIO_WORKITEM_ROUTINE routine, WORK_QUEUE_TYPE, PVOID context) {
  PDEVICE_OBJECT device = item->device;
  driver().schedule(item, {}, PASSIVE_LEVEL, [=] { routine(device, context); });
}

VOID IoFreeWorkItem(PIO_WORKITEM item) {
  driver().cancel(item);
  delete item;
}

VOID ExQueueWorkItem(PWORK_QUEUE_ITEM item, WORK_QUEUE_TYPE) {
  const PWORKER_THREAD_ROUTINE routine = item->WorkerRoutine;
  PVOID parameter = item->Parameter;
  driver().schedule(item, {}, PASSIVE_LEVEL, [=] { routine(parameter); });
}

}  // extern "C"
