#include "networkdirect/ndk/provider/tables.h"

#include <array>

#include "networkdirect/ndk/provider/connector.h"
#include "networkdirect/ndk/provider/entry.h"
#include "networkdirect/ndk/provider/listener.h"
#include "networkdirect/ndk/provider/queue_pair.h"

namespace fb::ndk::provider {

namespace {

constexpr Tables everything() {
  Tables t = {};
  t.adapter.NdkQueryExtension = &query_extension;
  t.adapter.NdkQueryAdapterInfo = &query_adapter_info;
  t.adapter.NdkCreateCq = kEntry<"NdkCreateCq", Adapter, &CompletionQueue::create>;
  t.adapter.NdkCreatePd = kEntry<"NdkCreatePd", Adapter, &ProtectionDomain::create>;
  t.adapter.NdkCreateSharedEndpoint = kEntry<"NdkCreateSharedEndpoint", Adapter, &SharedEndpoint::create>;
  t.adapter.NdkCreateConnector = kEntry<"NdkCreateConnector", Adapter, &Connector::create>;
  t.adapter.NdkCreateListener = kEntry<"NdkCreateListener", Adapter, &Listener::create>;
  t.adapter.NdkBuildLAM = kEntry<"NdkBuildLAM", Adapter, &build_lam>;
  t.adapter.NdkReleaseLAM = kEntry<"NdkReleaseLAM", Adapter, &release_lam>;

  t.pd.NdkClosePd = &close_of<ProtectionDomain, NDK_PD>;
  t.pd.NdkQueryExtension = &query_extension;
  t.pd.NdkCreateMr = kEntry<"NdkCreateMr", ProtectionDomain, &MemoryRegion::create>;
  t.pd.NdkCreateMw = kEntry<"NdkCreateMw", ProtectionDomain, &MemoryWindow::create>;
  t.pd.NdkCreateSrq = kEntry<"NdkCreateSrq", ProtectionDomain, &SharedReceiveQueue::create>;
  t.pd.NdkCreateQp = kEntry<"NdkCreateQp", ProtectionDomain, &QueuePair::create>;
  t.pd.NdkCreateQpWithSrq = kEntry<"NdkCreateQpWithSrq", ProtectionDomain, &QueuePair::create_with_srq>;
  t.pd.NdkGetPrivilegedMemoryRegionToken =
      kEntry<"NdkGetPrivilegedMemoryRegionToken", ProtectionDomain, &ProtectionDomain::privileged_token>;

  t.cq.NdkCloseCq = &close_of<CompletionQueue, NDK_CQ>;
  t.cq.NdkQueryExtension = &query_extension;
  t.cq.NdkResizeCq = kEntry<"NdkResizeCq", CompletionQueue, &CompletionQueue::resize>;
  t.cq.NdkArmCq = kEntry<"NdkArmCq", CompletionQueue, &CompletionQueue::arm>;
  t.cq.NdkGetCqResults = kEntry<"NdkGetCqResults", CompletionQueue, &CompletionQueue::get_results>;
  t.cq.NdkControlCqInterruptModeration = kEntry<"NdkControlCqInterruptModeration", CompletionQueue, &CompletionQueue::control_moderation>;
  t.cq.NdkGetCqResultsEx = kEntry<"NdkGetCqResultsEx", CompletionQueue, &CompletionQueue::get_results_ex>;

  t.mr.NdkCloseMr = &close_of<MemoryRegion, NDK_MR>;
  t.mr.NdkQueryExtension = &query_extension;
  t.mr.NdkRegisterMr = kEntry<"NdkRegisterMr", MemoryRegion, &MemoryRegion::register_mr>;
  t.mr.NdkDeregisterMr = kEntry<"NdkDeregisterMr", MemoryRegion, &MemoryRegion::deregister>;
  t.mr.NdkInitializeFastRegisterMr = kEntry<"NdkInitializeFastRegisterMr", MemoryRegion, &MemoryRegion::initialize_fast>;
  t.mr.NdkGetRemoteTokenFromMr = kEntry<"NdkGetRemoteTokenFromMr", MemoryRegion, &MemoryRegion::get_remote_token>;
  t.mr.NdkGetLocalTokenFromMr = kEntry<"NdkGetLocalTokenFromMr", MemoryRegion, &MemoryRegion::get_local_token>;

  t.mw.NdkCloseMw = &close_of<MemoryWindow, NDK_MW>;
  t.mw.NdkQueryExtension = &query_extension;
  t.mw.NdkGetRemoteTokenFromMw = kEntry<"NdkGetRemoteTokenFromMw", MemoryWindow, &MemoryWindow::get_remote_token>;

  t.srq.NdkCloseSrq = &close_of<SharedReceiveQueue, NDK_SRQ>;
  t.srq.NdkQueryExtension = &query_extension;
  t.srq.NdkModifySrq = kEntry<"NdkModifySrq", SharedReceiveQueue, &SharedReceiveQueue::modify>;
  t.srq.NdkSrqReceive = kEntry<"NdkSrqReceive", SharedReceiveQueue, &SharedReceiveQueue::receive>;

  t.qp.NdkCloseQp = &close_of<QueuePair, NDK_QP>;
  t.qp.NdkQueryExtension = &query_extension;
  t.qp.NdkFlush = kEntry<"NdkFlush", QueuePair, &QueuePair::flush>;
  t.qp.NdkSend = kEntry<"NdkSend", QueuePair, &QueuePair::send>;
  t.qp.NdkReceive = kEntry<"NdkReceive", QueuePair, &QueuePair::receive>;
  t.qp.NdkBind = kEntry<"NdkBind", QueuePair, &QueuePair::bind>;
  t.qp.NdkFastRegister = kEntry<"NdkFastRegister", QueuePair, &QueuePair::fast_register>;
  t.qp.NdkInvalidate = kEntry<"NdkInvalidate", QueuePair, &QueuePair::invalidate>;
  t.qp.NdkRead = kEntry<"NdkRead", QueuePair, &QueuePair::read>;
  t.qp.NdkWrite = kEntry<"NdkWrite", QueuePair, &QueuePair::write>;
  t.qp.NdkSendAndInvalidate = kEntry<"NdkSendAndInvalidate", QueuePair, &QueuePair::send_and_invalidate>;

  t.connector.NdkCloseConnector = &close_of<Connector, NDK_CONNECTOR>;
  t.connector.NdkQueryExtension = &query_extension;
  t.connector.NdkConnect = kEntry<"NdkConnect", Connector, &Connector::connect>;
  t.connector.NdkConnectWithSharedEndpoint = kEntry<"NdkConnectWithSharedEndpoint", Connector, &Connector::connect_shared>;
  t.connector.NdkCompleteConnect = kEntry<"NdkCompleteConnect", Connector, &Connector::complete_connect>;
  t.connector.NdkAccept = kEntry<"NdkAccept", Connector, &Connector::accept>;
  t.connector.NdkReject = kEntry<"NdkReject", Connector, &Connector::reject>;
  t.connector.NdkGetConnectionData = kEntry<"NdkGetConnectionData", Connector, &Connector::connection_data>;
  t.connector.NdkGetLocalAddress = kEntry<"NdkGetLocalAddress", Connector, &Connector::local_address>;
  t.connector.NdkGetPeerAddress = kEntry<"NdkGetPeerAddress", Connector, &Connector::peer_address>;
  t.connector.NdkDisconnect = kEntry<"NdkDisconnect", Connector, &Connector::disconnect>;
  t.connector.NdkCompleteConnectEx = kEntry<"NdkCompleteConnectEx", Connector, &Connector::complete_connect_ex>;
  t.connector.NdkAcceptEx = kEntry<"NdkAcceptEx", Connector, &Connector::accept_ex>;

  t.listener.NdkCloseListener = &close_of<Listener, NDK_LISTENER>;
  t.listener.NdkQueryExtension = &query_extension;
  t.listener.NdkListen = kEntry<"NdkListen", Listener, &Listener::listen>;
  t.listener.NdkGetLocalAddress = kEntry<"NdkGetLocalAddress", Listener, &Listener::local_address>;
  t.listener.NdkControlConnectEvents = kEntry<"NdkControlConnectEvents", Listener, &Listener::control_connect_events>;

  t.shared_endpoint.NdkCloseSharedEndpoint = &close_of<SharedEndpoint, NDK_SHARED_ENDPOINT>;
  t.shared_endpoint.NdkQueryExtension = &query_extension;
  t.shared_endpoint.NdkGetLocalAddress = kEntry<"NdkGetLocalAddress", SharedEndpoint, &SharedEndpoint::local_address>;
  return t;
}

constexpr Tables before_2_1() {
  Tables t = everything();
  t.connector.NdkCompleteConnectEx = nullptr;
  t.connector.NdkAcceptEx = nullptr;
  return t;
}

constexpr Tables before_1_2() {
  Tables t = before_2_1();
  t.cq.NdkGetCqResultsEx = nullptr;
  t.qp.NdkSendAndInvalidate = nullptr;
  return t;
}

constexpr Tables kOf21 = everything();
constexpr Tables kOf12And20 = before_2_1();
constexpr Tables kOf11 = before_1_2();

}  // namespace

const Tables& tables_of(NDK_VERSION version) {
  if (version.Major > 2 || (version.Major == 2 && version.Minor >= 1)) return kOf21;
  if (version.Major == 2 || version.Minor >= 2) return kOf12And20;
  return kOf11;
}

}  // namespace fb::ndk::provider
