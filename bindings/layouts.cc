// The table of all layouts.
#include <algorithm>

#include "bindings/records.h"
#include "wire/fabrics/auth.h"
#include "wire/fabrics/auth_messages.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/disconnect.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/fabrics/property.h"
#include "wire/fabrics/rdma_private_data.h"
#include "wire/mctp/control.h"
#include "wire/mctp/packet.h"
#include "wire/mi/basic.h"
#include "wire/mi/control.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/events.h"
#include "wire/mi/health.h"
#include "wire/mi/message.h"
#include "wire/mi/tunnels.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/cross_controller_reset.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/fdp.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/kv.h"
#include "wire/nvme/lba_status.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/persistent_events.h"
#include "wire/nvme/reservation.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/sqe.h"
#include "wire/nvme/telemetry.h"
#include "wire/nvme/zones.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/headers.h"
#include "wire/rdma/mad.h"
#include "wire/tcp/pdu.h"

namespace fb::python {

namespace {

template <class V>
constexpr bool kZeroBased = false;
template <class T>
constexpr bool kZeroBased<ZeroBased<T>> = true;

template <class L>
LayoutInfo layout_info(std::string_view module, std::string_view name) {
  LayoutInfo info{name, module, L::size, {}};
  L::for_each([&](auto field) {
    using F = decltype(field);
    FieldInfo made{.name = F::name, .offset = F::offset, .size = F::size};
    if constexpr (!F::is_bytes) {
      made.width = F::width;
      made.zero_based = kZeroBased<typename F::Value>;
      made.flag = std::is_same_v<typename F::Value, bool>;
      made.get = &F::get_raw;
      made.set = &F::set_raw;
    }
    info.fields.push_back(made);
  });
  return info;
}

/// Fields of 16 bytes that count something: the wire's layouts have them as bytes, for C++ has no such number.
void mark_counters(LayoutInfo& layout) {
  constexpr std::string_view kNames[] = {"ee",      "dur",     "duw",        "muw",        "hrc",    "hwc",    "mdie",   "neile",
                                         "cbt",     "pwrc",    "poh",        "upl",        "megcap", "tegcap", "uegcap", "nvmcap",
                                         "tnvmcap", "unvmcap", "tnvmsetcap", "unvmsetcap", "maxdna", "hbmw",   "mbmw",   "mbe"};
  if (layout.module != "nvme") return;
  for (FieldInfo& field : layout.fields) {
    field.counter = field.width == 0 && field.size == 16 && std::find(std::begin(kNames), std::end(kNames), field.name) != std::end(kNames);
  }
}

// clang-format off
#define FB_NVME(X)                                                                                                   \
  X(ReadWriteSqe) X(DatasetManagementSqe) X(DsmRange) X(CopySqe) X(CopyRange) X(CopyWideRange) X(ReservationSqe)      \
  X(ReservationReportSqe) X(ReservationKeys) X(ReservationKey) X(ReservationStatus) X(ShortReservationStatus)         \
  X(RegisteredController) X(ShortRegisteredController) X(IdentifySqe) X(GetLogPageSqe) X(GetFeaturesSqe)              \
  X(SetFeaturesSqe) X(AbortSqe) X(FirmwareDownloadSqe) X(FirmwareCommitSqe) X(FormatSqe) X(NamespaceManagementSqe)    \
  X(NamespaceAttachmentSqe) X(SanitizeSqe) X(SelfTestSqe) X(SecuritySqe) X(LockdownSqe) X(CapacityManagementSqe)      \
  X(DirectiveSqe) X(EnableDirectiveSqe) X(AllocateStreamsSqe) X(DirectiveParameters) X(StreamParameters)              \
  X(ZoneSendSqe) X(ZoneReceiveSqe) X(ZoneAppendSqe) X(ZoneReportHeader) X(ZoneDescriptor) X(ChangedZonesHeader)       \
  X(SglPlain) X(SglKeyed) X(IdentifyController) X(PowerState) X(IdentifyControllerNvm) X(IdentifyControllerZoned)     \
  X(IdentifyNamespace) X(LbaFormat) X(LbaFormatExtension) X(IdentifyNamespaceNvm) X(ExtendedLbaFormat)                \
  X(IdentifyNamespaceIndependent) X(IdentifyNamespaceZoned) X(NamespaceIdHeader) X(NvmSetEntry) X(SmartLog)           \
  X(ErrorEntry) X(FirmwareSlots) X(SupportedPage) X(SupportedPages) X(CommandEffect) X(CommandEffects)                \
  X(SelfTestResult) X(SelfTestLog) X(AnaHeader) X(AnaGroupHeader) X(FeatureEffect) X(FeatureEffects)                  \
  X(ReservationNotification) X(SanitizeLog) X(EnduranceGroupLog) X(LockdownLog) X(TelemetryHeader)                    \
  X(GranularityList) X(GranularityDescriptor) X(GetLbaStatusSqe) X(LbaStatusListHeader) X(LbaStatusEntry)             \
  X(LbaStatusLogHeader) X(LbaStatusElement) X(LbaRange)                                                               \
  X(IoManagementReceiveSqe) X(IoManagementSendSqe) X(FdpConfigurationsHeader) X(FdpConfigurationDescriptor)           \
  X(ReclaimUnitHandleDescriptor) X(HandleUsageHeader) X(HandleUsageDescriptor) X(FdpStatistics) X(FdpEventsHeader)    \
  X(FdpEvent) X(MediaReallocated) X(FdpFeature) X(FdpEventsFeature) X(FdpEventSupport) X(HandleStatusHeader)          \
  X(HandleStatusDescriptor) X(CrossControllerResetSqe) X(CrossControllerResetReply) X(CcrEntryLayout)                 \
  X(KvSqe) X(KvListHeader) X(KvListEntryHeader) X(KvFormat) X(IdentifyNamespaceKv) X(KeyValueConfiguration)            \
  X(LbaStatusAttributes) X(PersistentLogHeader) X(PersistentEventHeader) X(Arbitration) X(PowerManagement)            \
  X(TemperatureThreshold) X(ErrorRecovery) X(VolatileWriteCache) X(NumberOfQueues) X(WriteAtomicity)                  \
  X(KeepAliveTimer) X(IoCommandSetProfile) X(SanitizeConfiguration) X(HostIdentifier) X(ReservationMask)              \
  X(ReservationPersistence) X(NamespaceWriteProtection) X(Timestamp) X(HostBehavior) X(EnduranceEventConfiguration)

#define FB_FABRICS(X)                                                                                                \
  X(ConnectSqe) X(ConnectData) X(ConnectReply) X(ConnectRefusal) X(DisconnectSqe) X(PropertyGetSqe) X(PropertySetSqe) \
  X(PropertyGetReply) X(Cap) X(Vs) X(Cc) X(Csts) X(Crto) X(AuthSqe) X(DiscoveryHeader) X(DiscoveryEntry)              \
  X(RdmaDiscoveryEntry) X(TcpDiscoveryEntry) X(RdmaRequest) X(RdmaAccept) X(RdmaReject)

#define FB_TCP(X) X(CommonHeader) X(IcReq) X(IcResp) X(TermReq) X(CapsuleCmd) X(CapsuleResp) X(DataPdu)

#define FB_RDMA(X) X(Bth) X(Deth) X(Reth) X(AtomicEth) X(Aeth) X(AtomicAckEth) X(ImmDt) X(Ieth)

#define FB_CM(X) X(Req) X(Rep) X(Rtu) X(Mra) X(Rej) X(Dreq)

#define FB_MI(X)                                                                                                     \
  X(SubsystemInfo) X(PortInfo) X(PciePortInfo) X(TwoWirePortInfo) X(ControllerInfo) X(SubsystemHealth)                \
  X(ControllerHealth) X(MessageHeader) X(MiRequest) X(MiResponse) X(AdminRequest) X(AdminResponse)                    \
  X(PrimitiveRequest) X(PrimitiveResponse) X(BasicStatus) X(BasicIdentity)
// clang-format on

}  // namespace

const std::vector<LayoutInfo>& layouts() {
  static const std::vector<LayoutInfo> all = [] {
    std::vector<LayoutInfo> made;
    made.push_back(layout_info<nvme::SqeLayout>("nvme", "Sqe"));
    made.push_back(layout_info<nvme::CqeLayout>("nvme", "Cqe"));
#define FB_ROW(type) made.push_back(layout_info<nvme::type>("nvme", #type));
    FB_NVME(FB_ROW)
#undef FB_ROW
#define FB_ROW(type) made.push_back(layout_info<fabrics::type>("fabrics", #type));
    FB_FABRICS(FB_ROW)
#undef FB_ROW
#define FB_ROW(type) made.push_back(layout_info<tcp::type>("tcp", #type));
    FB_TCP(FB_ROW)
#undef FB_ROW
#define FB_ROW(type) made.push_back(layout_info<roce::type>("rdma", #type));
    FB_RDMA(FB_ROW)
#undef FB_ROW
    made.push_back(layout_info<cm::MadHeader>("rdma", "MadHeader"));
#define FB_ROW(type) made.push_back(layout_info<cm::type>("rdma", "Cm" #type));
    FB_CM(FB_ROW)
#undef FB_ROW
    made.push_back(layout_info<mctp::PacketHeader>("mctp", "MctpHeader"));
#define FB_ROW(type) made.push_back(layout_info<mi::type>("mi", #type));
    FB_MI(FB_ROW)
#undef FB_ROW
    for (LayoutInfo& layout : made) mark_counters(layout);
    return made;
  }();
  return all;
}

}  // namespace fb::python
