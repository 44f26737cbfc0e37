#include "networkdirect/ndk/provider/adapter.h"

#include <algorithm>
#include <cstring>

#include "networkdirect/ndk/kernel/extension.h"
#include "networkdirect/ndk/provider/entry.h"
#include "networkdirect/ndk/provider/memory.h"
#include "networkdirect/ndk/provider/queue_pair.h"

namespace fb::ndk::provider {

namespace {

NDK_ADAPTER_INFO info_for(const Miniport& miniport, NDK_VERSION version) {
  NDK_ADAPTER_INFO info = miniport.info;
  info.Version = version;
  if (version.Major == 1 && version.Minor < 2) info.AdapterFlags &= ~ULONG{NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED};
  return info;
}

}  // namespace

Adapter::Adapter(Miniport& miniport, NDK_VERSION version)
    : NDK_ADAPTER{},
      miniport_(miniport),
      tables_(tables_of(miniport.departs(departure::kTableShort) ? NDK_VERSION{1, 1} : version)),
      limits_(miniport.device.limits()),
      info_(info_for(miniport, version)),
      logical_(miniport.options.scattered_logical_pages) {
  Header.Version = version;
  begin_header(Header, *this, NdkObjectTypeAdapter);
  Dispatch = &tables_.adapter;
}

Adapter::~Adapter() { end_all(); }

void Adapter::complete(Object& object, NDK_FN_REQUEST_COMPLETION completion, PVOID context, NTSTATUS status) {
  object.pin();
  ++pending_;
  miniport_.later([this, &object, completion, context, status] {
    tell(completion, context, status);
    --pending_;
    object.unpin();
  });
}

void Adapter::tell(NDK_FN_REQUEST_COMPLETION completion, PVOID context, NTSTATUS status) {
  if (completion == nullptr || (hooked() && departs(departure::kRequestNeverCompletes))) return;
  bring_copies_up_to_date();
  call_back([&] { completion(context, status); });
  if (hooked() && departs(departure::kRequestCompletesTwice)) call_back([&] { completion(context, status); });
}

void Adapter::end_broken() {
  while (!broken_.empty()) {
    QueuePair* const qp = broken_.back();
    std::erase(broken_, qp);
    qp->end_broken();
  }
}

std::shared_ptr<rdma::ProtectionDomain> Adapter::device_domain() {
  auto domain = departs(departure::kDomainsShared) ? newest_domain_.lock() : nullptr;
  if (domain == nullptr) domain = device().allocate_protection_domain();
  newest_domain_ = domain;
  return domain;
}

void Adapter::copy_all() {
  for (MemoryRegion* const region : copies_) region->bring_up_to_date();
}

void Adapter::stop_copying(MutableBytes memory) {
  for (MemoryRegion* const region : copies_) region->stop_copying(memory);
}

void Adapter::end_all() {
  ending_all_ = true;
  while (!objects_.empty()) {
    // The youngest that nothing stands on: there is always one.
    const auto found = std::find_if(objects_.rbegin(), objects_.rend(), [](const Object* object) { return !object->stood_on(); });
    Object* const object = *found;
    object->take_down();
    object->end();
  }
}

// ---------------------------------------------------------------- entries of the table

NTSTATUS query_extension(NDK_OBJECT_HEADER* object, GUID* id, NDK_VERSION version, NDK_EXTENSION_INTERFACE* out) {
  static constexpr ChosenAddressDispatch kChosenAddress = {kEntry<"RegisterMrAt", MemoryRegion, &MemoryRegion::register_at>};
  const bool has_it =
      object->ObjectType == NdkObjectTypeAdapter || object->ObjectType == NdkObjectTypePd || object->ObjectType == NdkObjectTypeMr;
  const bool meant = id != nullptr && std::memcmp(id, &kChosenAddressExtension, sizeof *id) == 0;
  const bool known = meant && version.Major == kChosenAddressVersion.Major && version.Minor <= kChosenAddressVersion.Minor;
  if (object->ObjectType == NdkObjectTypeAdapter) {
    const auto& adapter = of<Adapter>(reinterpret_cast<NDK_ADAPTER*>(object));
    if (adapter.departs(departure::kNoChosenAddress)) return STATUS_NOT_SUPPORTED;
  }
  const bool lies = object->ObjectType == NdkObjectTypeAdapter &&
                    of<Adapter>(reinterpret_cast<NDK_ADAPTER*>(object)).departs(departure::kExtensionAnswered);
  if (!(has_it && known) && !lies) return STATUS_NOT_SUPPORTED;
  if (out == nullptr) return STATUS_INVALID_PARAMETER;
  out->Dispatch = &kChosenAddress;
  return STATUS_SUCCESS;
}

NTSTATUS query_adapter_info(NDK_ADAPTER* ndk, NDK_ADAPTER_INFO* info, ULONG* size) {
  auto& adapter = of<Adapter>(ndk);
  adapter.kernel().check_irql(PASSIVE_LEVEL, "NdkQueryAdapterInfo");
  if (size == nullptr) return STATUS_INVALID_PARAMETER;
  const bool whole = adapter.knows(2, 0) || adapter.departs(departure::kInfoLongForOld);
  const ULONG needed = whole ? static_cast<ULONG>(sizeof(NDK_ADAPTER_INFO)) : ULONG{NDK_ADAPTER_INFO_SIZE_1};
  const ULONG given = *size;
  if (!adapter.departs(departure::kInfoSizeNotTold)) *size = needed;
  NDK_ADAPTER_INFO told = adapter.info();
  if (adapter.departs(departure::kInfoFewFastPages)) told.FRMRPageCount = 15;
  if (adapter.departs(departure::kInfoLimitMissing)) told.MaxCqDepth = 0;
  if (adapter.departs(departure::kInfoCalleeDataSmall)) told.MaxCalleeData = 148;
  if (adapter.departs(departure::kInfoTechnologyMissing)) told.RdmaTechnology = NdkUndefined;
  if (adapter.departs(departure::kInfoVersionWrong)) told.Version.Minor = static_cast<USHORT>(told.Version.Minor + 1);
  if (info == nullptr || given < needed) {
    if (!adapter.departs(departure::kInfoSmallBufferAccepted)) return STATUS_BUFFER_TOO_SMALL;
    if (info != nullptr) std::memcpy(info, &told, given);
    return STATUS_SUCCESS;
  }
  std::memcpy(info, &told, needed);
  return STATUS_SUCCESS;
}

NTSTATUS build_lam(NDK_ADAPTER* ndk, MDL* mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION completion, PVOID context,
                   NDK_LOGICAL_ADDRESS_MAPPING* mapping, ULONG* size, ULONG* offset) {
  auto& adapter = of<Adapter>(ndk);
  if (adapter.refuses()) return adapter.answer_adapter(completion, context, [] { return STATUS_INSUFFICIENT_RESOURCES; });
  if (size == nullptr) return STATUS_INVALID_PARAMETER;
  Described what;
  if (adapter.departs(departure::kLamLengthUnchecked) && mdl != nullptr) length = std::min<SIZE_T>(length, MmGetMdlByteCount(mdl));
  if (describe(mdl, length, adapter.departs(departure::kLamChainUnchecked), what) != DescribedEnd::good) return STATUS_INVALID_PARAMETER;
  if (what.offset >= PAGE_SIZE) return STATUS_INVALID_PARAMETER;
  const std::size_t pages = LogicalSpace::pages_of(what);
  const auto needed = static_cast<ULONG>(offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageArray) + pages * sizeof(NDK_LOGICAL_ADDRESS));
  const ULONG given = *size;
  if (mapping == nullptr || given < needed) {
    if (!adapter.departs(departure::kLamSizeNotTold)) *size = needed;
    return mapping == nullptr && adapter.departs(departure::kLamSizeQuerySucceeds) ? STATUS_SUCCESS : STATUS_BUFFER_TOO_SMALL;
  }
  return adapter.answer_adapter(completion, context, [&adapter, what, mapping, size, needed, offset] {
    LogicalSpace::Mapping& made = adapter.logical().map(what);
    *size = needed;
    if (offset != nullptr) *offset = adapter.departs(departure::kLamOffsetWrong) ? what.offset ^ 0x10 : what.offset;
    mapping->AdapterContext = &made;
    mapping->AdapterPageCount = static_cast<ULONG>(made.pages.size());
    for (std::size_t i = 0; i < made.pages.size(); ++i) {
      std::uint64_t address = adapter.logical().address_of(made, i);
      if (adapter.departs(departure::kLamPagesUnaligned)) address += what.offset;
      mapping->AdapterPageArray[i].QuadPart = static_cast<LONGLONG>(address);
    }
    return STATUS_SUCCESS;
  });
}

VOID release_lam(NDK_ADAPTER* ndk, NDK_LOGICAL_ADDRESS_MAPPING* mapping) {
  auto& adapter = of<Adapter>(ndk);
  if (mapping == nullptr || adapter.departs(departure::kLamReleaseKeeps)) return;
  auto* const made = static_cast<LogicalSpace::Mapping*>(std::exchange(mapping->AdapterContext, nullptr));
  if (made == nullptr || made->released) return;
  adapter.stop_copying(made->what.memory);
  adapter.logical().unmap(*made);
}

}  // namespace fb::ndk::provider
