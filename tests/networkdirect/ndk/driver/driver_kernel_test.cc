#include "networkdirect/ndk/driver/driver_kernel.h"

#include <gtest/gtest.h>
#include <ntddk.h>
#include <wsk.h>

#include <string>
#include <vector>

#include "networkdirect/ndk/provider/provider.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/softroce.h"

extern "C" {
NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path);
ULONG ObjectsOfDriver(VOID);
}

namespace fb::ndk {
namespace {

/// A world with a kernel for drivers, and nothing in it.
struct Machine {
  std::unique_ptr<World> world = World::make_virtual(1);
  Kernel kernel;
  Registry registry{kernel};
  DriverKernel driver{*world, kernel, registry};

  std::vector<std::string> findings() const {
    std::vector<std::string> rules;
    for (const KernelFinding& finding : kernel.findings()) rules.emplace_back(finding.rule);
    return rules;
  }
};

LARGE_INTEGER span(LONGLONG ms) {
  LARGE_INTEGER time;
  time.QuadPart = -ms * 10'000;
  return time;
}

NTSTATUS wait(PVOID object, LARGE_INTEGER* timeout = nullptr) {
  return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, timeout);
}

class ForeignDriver : public testing::TestWithParam<Answers> {};

TEST_P(ForeignDriver, RunsUnchangedWhateverWayTheProviderAnswers) {
  Machine machine;
  net::SimNetwork network(*machine.world);
  net::SimHost& host = network.add_host("host", IpAddress::v4(10, 0, 0, 1));
  softroce::SoftRoceOptions options;
  options.address = host.address();
  const auto device = std::move(softroce::make_softroce(*machine.world, host, options)).value();
  ProviderOptions provided;
  provided.answers = GetParam();
  Provider provider(*machine.world, machine.kernel, *device, provided);
  ASSERT_TRUE(provider.add_to(machine.registry, "default", 7));
  DRIVER_OBJECT object = {};
  UNICODE_STRING path = {};
  ASSERT_EQ(DriverEntry(&object, &path), STATUS_SUCCESS);
  EXPECT_EQ(ObjectsOfDriver(), 2u);
  EXPECT_GT(machine.driver.pool_left(), 0u);
  object.DriverUnload(&object);
  EXPECT_EQ(ObjectsOfDriver(), 0u);
  EXPECT_EQ(machine.driver.pool_left(), 0u);
  EXPECT_EQ(machine.findings(), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Answers, ForeignDriver,
                         testing::Values(Answers::natural, Answers::at_once, Answers::later, Answers::before_return, Answers::random));

TEST(DriverKernel, AWaitRunsTheWorldThoughItsEventIsSet) {
  Machine machine;
  int ran = 0;
  machine.driver.schedule(&ran, {}, PASSIVE_LEVEL, [&] { ++ran; });
  KEVENT event;
  KeInitializeEvent(&event, SynchronizationEvent, TRUE);
  EXPECT_EQ(wait(&event), STATUS_SUCCESS);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(KeReadStateEvent(&event), 0);
}

TEST(DriverKernel, AWaitEndsWithItsTimeout) {
  Machine machine;
  KEVENT event;
  KeInitializeEvent(&event, NotificationEvent, FALSE);
  LARGE_INTEGER time = span(30);
  EXPECT_EQ(wait(&event, &time), STATUS_TIMEOUT);
  EXPECT_EQ(machine.world->now(), Instant() + Duration::ms(30));
  KeQuerySystemTime(&time);
  time.QuadPart += 50'000;
  EXPECT_EQ(wait(&event, &time), STATUS_TIMEOUT);
  EXPECT_EQ(machine.world->now(), Instant() + Duration::ms(35));
  EXPECT_TRUE(machine.findings().empty());
  EXPECT_EQ(wait(&event), STATUS_TIMEOUT);
  EXPECT_EQ(machine.findings(), std::vector<std::string>{std::string(driver_rule::kEndlessWait)});
}

TEST(DriverKernel, TimersCallTheirRoutineAtDispatchLevel) {
  Machine machine;
  struct Seen {
    int calls = 0;
    KIRQL irql = PASSIVE_LEVEL;
  } seen;
  KDPC dpc;
  KeInitializeDpc(
      &dpc,
      [](KDPC*, PVOID context, PVOID, PVOID) {
        auto& at = *static_cast<Seen*>(context);
        ++at.calls;
        at.irql = KeGetCurrentIrql();
      },
      &seen);
  KTIMER timer;
  KeInitializeTimerEx(&timer, SynchronizationTimer);
  EXPECT_FALSE(KeSetTimerEx(&timer, span(10), 5, &dpc));
  EXPECT_EQ(wait(&timer), STATUS_SUCCESS);
  EXPECT_EQ(wait(&timer), STATUS_SUCCESS);
  EXPECT_EQ(machine.world->now(), Instant() + Duration::ms(15));
  EXPECT_EQ(seen.calls, 2);
  EXPECT_EQ(seen.irql, DISPATCH_LEVEL);
  EXPECT_TRUE(KeCancelTimer(&timer));
  machine.world->run_for(Duration::s(1));
  EXPECT_EQ(seen.calls, 2);
  EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST(DriverKernel, ManyObjectsAreWaitedForAsOneOrAsAll) {
  Machine machine;
  KEVENT one, other;
  KeInitializeEvent(&one, SynchronizationEvent, FALSE);
  KeInitializeEvent(&other, SynchronizationEvent, TRUE);
  PVOID objects[] = {&one, &other};
  EXPECT_EQ(KeWaitForMultipleObjects(2, objects, WaitAny, Executive, KernelMode, FALSE, nullptr, nullptr), STATUS_WAIT_0 + 1);
  EXPECT_EQ(KeReadStateEvent(&other), 0);
  KeSetEvent(&other, IO_NO_INCREMENT, FALSE);
  LARGE_INTEGER time = span(1);
  EXPECT_EQ(KeWaitForMultipleObjects(2, objects, WaitAll, Executive, KernelMode, FALSE, &time, nullptr), STATUS_TIMEOUT);
  EXPECT_EQ(KeReadStateEvent(&other), 1);
  KeSetEvent(&one, IO_NO_INCREMENT, FALSE);
  EXPECT_EQ(KeWaitForMultipleObjects(2, objects, WaitAll, Executive, KernelMode, FALSE, &time, nullptr), STATUS_SUCCESS);
  EXPECT_EQ(KeReadStateEvent(&other), 0);
}

TEST(DriverKernel, WhatBreaksTheRulesOfTheKernelIsAFinding) {
  Machine machine;
  KSPIN_LOCK lock;
  KIRQL before;
  KeInitializeSpinLock(&lock);
  KeAcquireSpinLock(&lock, &before);
  EXPECT_EQ(KeGetCurrentIrql(), DISPATCH_LEVEL);
  KEVENT event;
  KeInitializeEvent(&event, NotificationEvent, FALSE);
  LARGE_INTEGER time = span(1);
  wait(&event, &time);
  KeReleaseSpinLock(&lock, before);
  EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
  KeReleaseSpinLock(&lock, before);
  PVOID const memory = ExAllocatePoolWithTag(NonPagedPoolNx, 100, 0x61626364);
  EXPECT_EQ(machine.driver.pool_left(), 100u);
  ExFreePoolWithTag(memory, 0x64636261);
  ExFreePool(memory);
  NT_ASSERT(machine.driver.pool_left() == 1);
  EXPECT_EQ(machine.findings(),
            (std::vector<std::string>{std::string(kernel_rule::kIrql), std::string(driver_rule::kLock), std::string(driver_rule::kPool),
                                      std::string(driver_rule::kPool), std::string(driver_rule::kAssert)}));
}

TEST(DriverKernel, WinsockKernelKnowsNdkAndNothingElse) {
  Machine machine;
  WSK_CLIENT_DISPATCH dispatch = {MAKE_WSK_VERSION(1, 0), 0, nullptr};
  WSK_CLIENT_NPI client = {nullptr, &dispatch};
  WSK_REGISTRATION registration = {};
  WSK_PROVIDER_NPI npi = {};
  EXPECT_EQ(WskCaptureProviderNPI(&registration, WSK_NO_WAIT, &npi), STATUS_INVALID_PARAMETER);
  ASSERT_EQ(WskRegister(&client, &registration), STATUS_SUCCESS);
  ASSERT_EQ(WskCaptureProviderNPI(&registration, WSK_NO_WAIT, &npi), STATUS_SUCCESS);
  WSK_PROVIDER_NDK_DISPATCH ndk = {};
  EXPECT_EQ(npi.Dispatch->WskControlClient(npi.Client, 1, 0, nullptr, sizeof ndk, &ndk, nullptr, nullptr), STATUS_NOT_SUPPORTED);
  EXPECT_EQ(npi.Dispatch->WskControlClient(npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, nullptr, 4, &ndk, nullptr, nullptr),
            STATUS_BUFFER_TOO_SMALL);
  ASSERT_EQ(
      npi.Dispatch->WskControlClient(npi.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, nullptr, sizeof ndk, &ndk, nullptr, nullptr),
      STATUS_SUCCESS);
  NDK_ADAPTER* adapter = nullptr;
  EXPECT_NE(ndk.WskOpenNdkAdapter(npi.Client, {2, 0}, 9, &adapter), STATUS_SUCCESS);
  WskReleaseProviderNPI(&registration);
  WskDeregister(&registration);
}

TEST(DriverKernel, StringsAndMemory) {
  Machine machine;
  UNICODE_STRING text, other;
  const WCHAR name[] = {'a', 'B', 0}, capitals[] = {'A', 'b', 0};
  RtlInitUnicodeString(&text, name);
  RtlInitUnicodeString(&other, capitals);
  EXPECT_EQ(text.Length, 2 * sizeof(WCHAR));
  EXPECT_EQ(text.MaximumLength, 3 * sizeof(WCHAR));
  EXPECT_FALSE(RtlEqualUnicodeString(&text, &other, FALSE));
  EXPECT_TRUE(RtlEqualUnicodeString(&text, &other, TRUE));
  EXPECT_EQ(RtlUlongByteSwap(0x01020304), 0x04030201u);
  EXPECT_EQ(RtlCompareMemory("abcd", "abce", 4), 3u);
  alignas(4096) static char page[8192];
  EXPECT_EQ(ADDRESS_AND_SIZE_TO_SPAN_PAGES(page + 4095, 2), 2u);
  PMDL const mdl = IoAllocateMdl(page + 16, 5000, FALSE, FALSE, nullptr);
  MmBuildMdlForNonPagedPool(mdl);
  EXPECT_EQ(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority), page + 16);
  EXPECT_EQ(MmGetMdlByteCount(mdl), 5000u);
  IoFreeMdl(mdl);
  EXPECT_EQ(machine.driver.pool_left(), 0u);
}

}  // namespace
}  // namespace fb::ndk
