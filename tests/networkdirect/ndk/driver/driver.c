// A driver as its author would write it for Windows: nothing in here knows where it runs.
#include <ntddk.h>
#include <wsk.h>
#include <ndkpi.h>

#define DRIVER_TAG 'kdnT'

typedef struct _OBJECT {
  LIST_ENTRY Link;
  NDK_OBJECT_HEADER* Header;
  NDK_FN_CLOSE_OBJECT Close;
} OBJECT;

typedef struct _REQUEST {
  KEVENT Done;
  NTSTATUS Status;
  NDK_OBJECT_HEADER* Object;
} REQUEST;

static WSK_REGISTRATION Registration;
static WSK_CLIENT_DISPATCH ClientDispatch = {MAKE_WSK_VERSION(1, 0), 0, NULL};
static WSK_CLIENT_NPI Client = {NULL, &ClientDispatch};
static WSK_PROVIDER_NPI Provider;
static WSK_PROVIDER_NDK_DISPATCH Ndk;
static NDK_ADAPTER* Adapter;
static LIST_ENTRY Objects;
static KSPIN_LOCK Lock;
static ULONG Count;

DRIVER_INITIALIZE DriverEntry;
DRIVER_UNLOAD DriverUnload;

_IRQL_requires_max_(DISPATCH_LEVEL)
static VOID OnCreate(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER* object) {
  REQUEST* request = (REQUEST*)context;
  request->Status = status;
  request->Object = object;
  KeSetEvent(&request->Done, IO_NO_INCREMENT, FALSE);
}

static VOID OnClose(PVOID context) { KeSetEvent(&((REQUEST*)context)->Done, IO_NO_INCREMENT, FALSE); }
static VOID OnResults(PVOID context, NTSTATUS status) {
  UNREFERENCED_PARAMETER(context);
  UNREFERENCED_PARAMETER(status);
}

static NTSTATUS Keep(NDK_OBJECT_HEADER* header, NDK_FN_CLOSE_OBJECT close) {
  KIRQL irql;
  OBJECT* object = (OBJECT*)ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(OBJECT), DRIVER_TAG);
  if (object == NULL) return STATUS_INSUFFICIENT_RESOURCES;
  object->Header = header;
  object->Close = close;
  KeAcquireSpinLock(&Lock, &irql);
  InsertHeadList(&Objects, &object->Link);
  ++Count;
  KeReleaseSpinLock(&Lock, irql);
  return STATUS_SUCCESS;
}

static NTSTATUS Await(REQUEST* request, NTSTATUS status) {
  PAGED_CODE();
  if (status != STATUS_PENDING) return status;
  KeWaitForSingleObject(&request->Done, Executive, KernelMode, FALSE, NULL);
  return request->Status;
}

static NTSTATUS CreateObjects(VOID) {
  REQUEST request;
  NTSTATUS status;
  NDK_PD* pd = NULL;
  NDK_CQ* cq = NULL;
  RtlZeroMemory(&request, sizeof request);
  KeInitializeEvent(&request.Done, SynchronizationEvent, FALSE);
  status = Await(&request, Adapter->Dispatch->NdkCreatePd(Adapter, OnCreate, &request, &pd));
  if (!NT_SUCCESS(status)) return status;
  if (pd == NULL) pd = CONTAINING_RECORD(request.Object, NDK_PD, Header);
  status = Keep(&pd->Header, pd->Dispatch->NdkClosePd);
  if (!NT_SUCCESS(status)) return status;
  status = Await(&request, Adapter->Dispatch->NdkCreateCq(Adapter, 16, OnResults, NULL, NULL, OnCreate, &request, &cq));
  if (!NT_SUCCESS(status)) return status;
  if (cq == NULL) cq = CONTAINING_RECORD(request.Object, NDK_CQ, Header);
  return Keep(&cq->Header, cq->Dispatch->NdkCloseCq);
}

VOID DriverUnload(PDRIVER_OBJECT driver) {
  UNREFERENCED_PARAMETER(driver);
  while (!IsListEmpty(&Objects)) {
    OBJECT* object = CONTAINING_RECORD(RemoveHeadList(&Objects), OBJECT, Link);
    REQUEST request;
    KeInitializeEvent(&request.Done, NotificationEvent, FALSE);
    request.Status = STATUS_SUCCESS;
    Await(&request, object->Close(object->Header, OnClose, &request));
    ExFreePoolWithTag(object, DRIVER_TAG);
    --Count;
  }
  if (Adapter != NULL) Ndk.WskCloseNdkAdapter(Provider.Client, Adapter);
  Adapter = NULL;
  WskReleaseProviderNPI(&Registration);
  WskDeregister(&Registration);
  NT_ASSERT(Count == 0);
}

NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path) {
  NTSTATUS status;
  NDK_VERSION version = {2, 0};
  SIZE_T size = 0;
  UNREFERENCED_PARAMETER(path);
  driver->DriverUnload = DriverUnload;
  InitializeListHead(&Objects);
  KeInitializeSpinLock(&Lock);
  status = WskRegister(&Client, &Registration);
  if (!NT_SUCCESS(status)) return status;
  status = WskCaptureProviderNPI(&Registration, WSK_INFINITE_WAIT, &Provider);
  if (!NT_SUCCESS(status)) return status;
  status = Provider.Dispatch->WskControlClient(Provider.Client, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, 0, NULL, sizeof Ndk, &Ndk, &size, NULL);
  if (!NT_SUCCESS(status)) return status;
  status = Ndk.WskOpenNdkAdapter(Provider.Client, version, 7, &Adapter);
  if (!NT_SUCCESS(status)) return status;
  DbgPrintEx(DPFLTR_IHVDRIVER_ID, DPFLTR_INFO_LEVEL, "adapter %p\n", (void*)Adapter);
  return CreateObjects();
}

ULONG ObjectsOfDriver(VOID) { return Count; }
