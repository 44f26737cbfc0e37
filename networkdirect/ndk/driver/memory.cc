// Pool, descriptor lists, strings, messages and Winsock Kernel of drivers.
#include <ntddk.h>
#include <wsk.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cwctype>
#include <string>

#include "networkdirect/ndk/driver/driver_kernel.h"

namespace {

using fb::ndk::DriverKernel;

DriverKernel& driver() { return DriverKernel::current(); }

constexpr std::size_t kUnbounded = 0xFFFE;  // bytes of a counted string

ULONG print(const CHAR* format, va_list arguments) {
  if (driver().prints_messages()) vfprintf(stderr, format, arguments);
  return STATUS_SUCCESS;
}

NTSTATUS WINAPI control_client(PWSK_CLIENT client, ULONG code, SIZE_T, PVOID, SIZE_T size, PVOID output, SIZE_T* returned, PIRP) {
  if (client != driver().registry().wsk_client()) return STATUS_INVALID_HANDLE;
  if (code != WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH) return STATUS_NOT_SUPPORTED;
  if (output == nullptr || size < sizeof(WSK_PROVIDER_NDK_DISPATCH)) return STATUS_BUFFER_TOO_SMALL;
  *static_cast<WSK_PROVIDER_NDK_DISPATCH*>(output) = fb::ndk::Registry::wsk_dispatch();
  if (returned != nullptr) *returned = sizeof(WSK_PROVIDER_NDK_DISPATCH);
  return STATUS_SUCCESS;
}

constexpr WSK_PROVIDER_DISPATCH kProvider = {MAKE_WSK_VERSION(1, 0), 0, nullptr, nullptr, &control_client, nullptr, nullptr, nullptr};

}  // namespace

extern "C" {

PVOID ExAllocatePool2(POOL_FLAGS flags, SIZE_T bytes, ULONG tag) {
  const bool paged = (flags & POOL_FLAG_PAGED) != 0;
  if (!driver().kernel().check_irql(paged ? APC_LEVEL : DISPATCH_LEVEL, "ExAllocatePool2")) return nullptr;
  return driver().allocate(bytes, tag, (flags & POOL_FLAG_UNINITIALIZED) == 0);
}

PVOID ExAllocatePoolWithTag(POOL_TYPE type, SIZE_T bytes, ULONG tag) {
  if (!driver().kernel().check_irql(type == PagedPool ? APC_LEVEL : DISPATCH_LEVEL, "ExAllocatePoolWithTag")) return nullptr;
  return driver().allocate(bytes, tag, false);
}

PVOID ExAllocatePoolZero(POOL_TYPE type, SIZE_T bytes, ULONG tag) {
  PVOID const memory = ExAllocatePoolWithTag(type, bytes, tag);
  if (memory != nullptr) RtlZeroMemory(memory, bytes);
  return memory;
}

VOID ExFreePoolWithTag(PVOID memory, ULONG tag) { driver().free(memory, tag); }
PVOID MmAllocateContiguousMemory(SIZE_T bytes, PHYSICAL_ADDRESS) { return driver().allocate(bytes, 0, false); }
VOID MmFreeContiguousMemory(PVOID memory) { driver().free(memory, 0); }

PMDL IoAllocateMdl(PVOID va, ULONG bytes, BOOLEAN, BOOLEAN, PIRP) {
  auto* const mdl = static_cast<PMDL>(driver().allocate(sizeof(MDL), 0, true));
  if (mdl != nullptr) MmInitializeMdl(mdl, va, bytes);
  return mdl;
}

VOID IoFreeMdl(PMDL mdl) { driver().free(mdl, 0); }

PLIST_ENTRY ExInterlockedInsertHeadList(PLIST_ENTRY head, PLIST_ENTRY entry, PKSPIN_LOCK) {
  PLIST_ENTRY const first = IsListEmpty(head) ? nullptr : head->Flink;
  InsertHeadList(head, entry);
  return first;
}

PLIST_ENTRY ExInterlockedInsertTailList(PLIST_ENTRY head, PLIST_ENTRY entry, PKSPIN_LOCK) {
  PLIST_ENTRY const last = IsListEmpty(head) ? nullptr : head->Blink;
  InsertTailList(head, entry);
  return last;
}

PLIST_ENTRY ExInterlockedRemoveHeadList(PLIST_ENTRY head, PKSPIN_LOCK) { return IsListEmpty(head) ? nullptr : RemoveHeadList(head); }

VOID RtlInitUnicodeString(PUNICODE_STRING string, const WCHAR* text) {
  std::size_t units = 0;
  while (text != nullptr && text[units] != 0 && units * sizeof(WCHAR) < kUnbounded) ++units;
  const auto bytes = static_cast<USHORT>(units * sizeof(WCHAR));
  *string = {bytes, static_cast<USHORT>(text == nullptr ? 0 : bytes + sizeof(WCHAR)), const_cast<WCHAR*>(text)};
}

VOID RtlInitAnsiString(PANSI_STRING string, const CHAR* text) {
  const std::size_t bytes = text == nullptr ? 0 : std::char_traits<char>::length(text);
  *string = {static_cast<USHORT>(bytes), static_cast<USHORT>(text == nullptr ? 0 : bytes + 1), const_cast<CHAR*>(text)};
}

BOOLEAN RtlEqualUnicodeString(PCUNICODE_STRING a, PCUNICODE_STRING b, BOOLEAN caseInsensitive) {
  if (a->Length != b->Length) return FALSE;
  for (std::size_t i = 0; i < a->Length / sizeof(WCHAR); ++i) {
    const auto one = static_cast<std::wint_t>(a->Buffer[i]), other = static_cast<std::wint_t>(b->Buffer[i]);
    if (one != other && (caseInsensitive == 0 || std::towupper(one) != std::towupper(other))) return FALSE;
  }
  return TRUE;
}

ULONG DbgPrint(const CHAR* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const ULONG status = print(format, arguments);
  va_end(arguments);
  return status;
}

ULONG DbgPrintEx(ULONG, ULONG, const CHAR* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const ULONG status = print(format, arguments);
  va_end(arguments);
  return status;
}

VOID FbAssertFailed(const CHAR* expression, const CHAR* file, ULONG line) {
  driver().kernel().report(fb::ndk::driver_rule::kAssert, "NT_ASSERT", std::string(file) + ":" + std::to_string(line) + ": " + expression);
}

VOID FbPagedCode(const CHAR* function) { driver().kernel().check_irql(APC_LEVEL, function); }

NTSTATUS WskRegister(PWSK_CLIENT_NPI client, PWSK_REGISTRATION registration) {
  if (!driver().kernel().check_irql(PASSIVE_LEVEL, "WskRegister")) return STATUS_INVALID_DEVICE_STATE;
  if (client == nullptr || client->Dispatch == nullptr || registration == nullptr) return STATUS_INVALID_PARAMETER;
  registration->ReservedRegistrationState = 1;
  registration->ReservedRegistrationContext = client;
  return STATUS_SUCCESS;
}

NTSTATUS WskCaptureProviderNPI(PWSK_REGISTRATION registration, ULONG, PWSK_PROVIDER_NPI provider) {
  if (registration == nullptr || registration->ReservedRegistrationState == 0 || provider == nullptr) return STATUS_INVALID_PARAMETER;
  ++registration->ReservedRegistrationState;
  *provider = {driver().registry().wsk_client(), &kProvider};
  return STATUS_SUCCESS;
}

VOID WskReleaseProviderNPI(PWSK_REGISTRATION registration) {
  if (registration->ReservedRegistrationState > 1) --registration->ReservedRegistrationState;
}

VOID WskDeregister(PWSK_REGISTRATION registration) { registration->ReservedRegistrationState = 0; }

}  // extern "C"
