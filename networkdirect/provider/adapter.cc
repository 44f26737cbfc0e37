#include "networkdirect/provider/adapter.h"

#include "networkdirect/provider/addresses.h"
#include "networkdirect/provider/completion_queue.h"
#include "networkdirect/provider/connector.h"
#include "networkdirect/provider/fault_points.h"
#include "networkdirect/provider/listener.h"
#include "networkdirect/provider/memory.h"
#include "networkdirect/provider/queue_pair.h"
#include "networkdirect/provider/shared_receive_queue.h"

namespace fb::networkdirect {

namespace {

// The documentation's InfoVersion; programs pass ND_VERSION_2.
constexpr ULONG kDocumentedInfoVersion = 1;

}  // namespace

/// Makes an object on the device's thread and hands it out as what was asked for.
template <class Make>
HRESULT Adapter::create(REFIID iid, VOID** out, Make&& make) {
  if (out == nullptr) return ND_INVALID_PARAMETER;
  *out = nullptr;
  if (core_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  HRESULT status = ND_SUCCESS;
  REFIID asked = core_->departs(departure::kCreateIgnoresInterface) ? IID_IUnknown : iid;
  core_->strand().call([&] { status = give(make(), asked, out); });
  return status;
}

HRESULT Adapter::CreateOverlappedFile(HANDLE* file) {
  if (file == nullptr) return ND_INVALID_PARAMETER_1;
  UCHAR modes = FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE;
  win32::OverlappedFile::create(*file, modes);
  return ND_SUCCESS;
}

HRESULT Adapter::Query(ND2_ADAPTER_INFO* info, ULONG* bytes) {
  if (bytes == nullptr) return ND_INVALID_PARAMETER_2;
  const ULONG given = *bytes;
  *bytes = sizeof *info;
  const ULONG wanted = sizeof *info + (core_->departs(departure::kInfoExactSizeRefused) ? 8 : 0);
  if (info == nullptr || given < wanted) return ND_BUFFER_OVERFLOW;
  const ULONG version = info->InfoVersion;
  const bool known = version == ND_VERSION_2 || version == kDocumentedInfoVersion;
  if (!known && !core_->departs(departure::kInfoVersionUnchecked)) return ND_NOT_SUPPORTED;
  *info = core_->info();
  info->InfoVersion = core_->departs(departure::kInfoVersionChanged) ? version + 1 : version;
  if (core_->departs(departure::kInfoThresholdTooLarge)) info->InlineRequestThreshold = info->MaxInlineDataSize + 1;
  if (core_->departs(departure::kInfoReadSgeTooLarge)) info->MaxReadSge = info->MaxInitiatorSge + 1;
  if (core_->departs(departure::kInfoCallerDataSmall)) info->MaxCallerData = 32;
  if (core_->departs(departure::kInfoCalleeDataSmall)) info->MaxCalleeData = 32;
  if (core_->departs(departure::kInfoRegistrationSmall)) info->MaxRegistrationSize = 1u << 20;
  if (core_->departs(departure::kInfoNotInOrder)) info->AdapterFlags &= ~ULONG{ND_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED};
  if (core_->departs(departure::kInfoAdapterIdWrong)) ++info->AdapterId;
  return ND_SUCCESS;
}

HRESULT Adapter::QueryAddressList(SOCKET_ADDRESS_LIST* list, ULONG* bytes) {
  if (core_->departs(departure::kAdapterListEmpty)) return put_address_list({}, list, bytes);
  return put_address_list({core_->address()}, list, bytes);
}

HRESULT Adapter::CreateCompletionQueue(REFIID iid, HANDLE handle, ULONG depth, USHORT group, KAFFINITY affinity, VOID** out) {
  auto file = win32::OverlappedFile::of(handle);
  if (!file) return ND_INVALID_HANDLE;
  const bool bad = depth == 0 || depth > core_->info().MaxCompletionQueueDepth;
  if (bad && !core_->departs(departure::kDepthUnchecked)) return ND_INVALID_PARAMETER_3;
  if (affinity != 0 && core_->departs(departure::kAffinityRefused)) return ND_INVALID_PARAMETER_5;
  return create(iid, out, [&] { return new CompletionQueue(core_, *file, depth, group, affinity); });
}

HRESULT Adapter::CreateMemoryRegion(REFIID iid, HANDLE handle, VOID** out) {
  auto file = win32::OverlappedFile::of(handle);
  if (!file) return ND_INVALID_HANDLE;
  return create(iid, out, [&] { return new MemoryRegion(core_, *file); });
}

HRESULT Adapter::CreateMemoryWindow(REFIID iid, VOID** out) {
  return create(iid, out, [&] { return new MemoryWindow(core_); });
}

HRESULT Adapter::CreateSharedReceiveQueue(REFIID iid, HANDLE handle, ULONG depth, ULONG max_sges, ULONG threshold, USHORT group,
                                          KAFFINITY affinity, VOID** out) {
  auto file = win32::OverlappedFile::of(handle);
  if (!file) return ND_INVALID_HANDLE;
  const ND2_ADAPTER_INFO& info = core_->info();
  const bool bad = depth == 0 || depth > info.MaxSharedReceiveQueueDepth;
  if (bad && !core_->departs(departure::kSharedDepthUnchecked)) return ND_INVALID_PARAMETER_3;
  if (max_sges > info.MaxReceiveSge && !core_->departs(departure::kSharedSgesUnchecked)) return ND_INVALID_PARAMETER_4;
  if (threshold > depth) return ND_INVALID_PARAMETER_5;
  return create(iid, out, [&] { return new SharedReceiveQueue(core_, *file, depth, max_sges, threshold, group, affinity); });
}

HRESULT Adapter::judge(ULONG receive_depth, ULONG initiator_depth, ULONG max_receive_sges, ULONG max_initiator_sges,
                       ULONG inline_bytes) const {
  const ND2_ADAPTER_INFO& info = core_->info();
  struct Limit {
    ULONG asked, most;
    HRESULT status;
    std::string_view unchecked;
  };
  for (const Limit& limit :
       {Limit{receive_depth, info.MaxReceiveQueueDepth, ND_INVALID_PARAMETER_5, departure::kReceiveDepthUnchecked},
        Limit{initiator_depth, info.MaxInitiatorQueueDepth, ND_INVALID_PARAMETER_6, departure::kInitiatorDepthUnchecked},
        Limit{max_receive_sges, info.MaxReceiveSge, ND_INVALID_PARAMETER_7, departure::kReceiveSgesUnchecked},
        Limit{max_initiator_sges, info.MaxInitiatorSge, ND_INVALID_PARAMETER_8, departure::kInitiatorSgesUnchecked},
        Limit{inline_bytes, info.MaxInlineDataSize, ND_INVALID_PARAMETER_9, departure::kInlineBytesUnchecked}}) {
    if (limit.asked > limit.most && !core_->departs(limit.unchecked)) return limit.status;
  }
  const bool all = receive_depth == info.MaxReceiveQueueDepth && max_receive_sges == info.MaxReceiveSge;
  return all && core_->departs(departure::kMaximaTogetherRefused) ? ND_INSUFFICIENT_RESOURCES : ND_SUCCESS;
}

HRESULT Adapter::CreateQueuePair(REFIID iid, IUnknown* receive_queue, IUnknown* initiator_queue, VOID* context, ULONG receive_depth,
                                 ULONG initiator_depth, ULONG max_receive_sges, ULONG max_initiator_sges, ULONG inline_bytes, VOID** out) {
  auto receives = core_of<CompletionQueueCore>(receive_queue);
  auto initiators = core_of<CompletionQueueCore>(initiator_queue);
  if (receives == nullptr || &receives->adapter() != core_.get()) return ND_INVALID_PARAMETER_2;
  if (initiators == nullptr || &initiators->adapter() != core_.get()) {
    return core_->departs(departure::kQueueNumberWrong) ? ND_INVALID_PARAMETER_2 : ND_INVALID_PARAMETER_3;
  }
  if (const HRESULT status = judge(receive_depth, initiator_depth, max_receive_sges, max_initiator_sges, inline_bytes); FAILED(status)) {
    return status;
  }
  if (receives->depth() < receive_depth && core_->departs(departure::kShallowQueueRefused)) return ND_INVALID_PARAMETER_2;
  const QueuePairTerms terms{context, receive_depth, initiator_depth, max_receive_sges, max_initiator_sges, inline_bytes};
  return create(iid, out, [&] {
    return new QueuePair(std::make_shared<QueuePairCore>(core_, std::move(receives), std::move(initiators), nullptr, terms));
  });
}

HRESULT Adapter::CreateQueuePairWithSrq(REFIID iid, IUnknown* receive_queue, IUnknown* initiator_queue, IUnknown* shared, VOID* context,
                                        ULONG initiator_depth, ULONG max_initiator_sges, ULONG inline_bytes, VOID** out) {
  auto receives = core_of<CompletionQueueCore>(receive_queue);
  auto initiators = core_of<CompletionQueueCore>(initiator_queue);
  auto receive_pool = core_of<SharedReceiveQueueCore>(shared);
  if (receives == nullptr || &receives->adapter() != core_.get()) return ND_INVALID_PARAMETER_2;
  if (initiators == nullptr || &initiators->adapter() != core_.get()) return ND_INVALID_PARAMETER_3;
  if (receive_pool == nullptr || &receive_pool->adapter() != core_.get()) return ND_INVALID_PARAMETER_4;
  const ND2_ADAPTER_INFO& info = core_->info();
  if (initiator_depth > info.MaxInitiatorQueueDepth) return ND_INVALID_PARAMETER_6;
  if (max_initiator_sges > info.MaxInitiatorSge) return ND_INVALID_PARAMETER_7;
  if (inline_bytes > info.MaxInlineDataSize) return ND_INVALID_PARAMETER_8;
  const QueuePairTerms terms{context, 0, initiator_depth, 0, max_initiator_sges, inline_bytes};
  return create(iid, out, [&] {
    return new QueuePair(
        std::make_shared<QueuePairCore>(core_, std::move(receives), std::move(initiators), std::move(receive_pool), terms));
  });
}

HRESULT Adapter::CreateConnector(REFIID iid, HANDLE handle, VOID** out) {
  auto file = win32::OverlappedFile::of(handle);
  if (!file) return ND_INVALID_HANDLE;
  return create(iid, out, [&] { return new Connector(core_, *file); });
}

HRESULT Adapter::CreateListener(REFIID iid, HANDLE handle, VOID** out) {
  auto file = win32::OverlappedFile::of(handle);
  if (!file) return ND_INVALID_HANDLE;
  return create(iid, out, [&] { return new Listener(core_, *file); });
}

}  // namespace fb::networkdirect
