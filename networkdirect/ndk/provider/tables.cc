#include "networkdirect/ndk/provider/tables.h"

#include <array>

#include "networkdirect/ndk/provider/connector.h"
#include "networkdirect/ndk/provider/listener.h"
#include "networkdirect/ndk/provider/queue_pair.h"

namespace fb::ndk::provider {

namespace {

constexpr Tables everything() {
  Tables t = {};
  t.adapter.NdkQueryExtension = &query_extension;
  t.adapter.NdkQueryAdapterInfo = &query_adapter_info;
  t.adapter.NdkCreateCq = &CompletionQueue::create;
  t.adapter.NdkCreatePd = &ProtectionDomain::create;
  t.adapter.NdkCreateSharedEndpoint = &SharedEndpoint::create;
  t.adapter.NdkCreateConnector = &Connector::create;
  t.adapter.NdkCreateListener = &Listener::create;
  t.adapter.NdkBuildLAM = &build_lam;
  t.adapter.NdkReleaseLAM = &release_lam;

  t.pd.NdkClosePd = &close_of<ProtectionDomain, NDK_PD>;
  t.pd.NdkQueryExtension = &query_extension;
  t.pd.NdkCreateMr = &MemoryRegion::create;
  t.pd.NdkCreateMw = &MemoryWindow::create;
  t.pd.NdkCreateSrq = &SharedReceiveQueue::create;
  t.pd.NdkCreateQp = &QueuePair::create;
  t.pd.NdkCreateQpWithSrq = &QueuePair::create_with_srq;
  t.pd.NdkGetPrivilegedMemoryRegionToken = &ProtectionDomain::privileged_token;

  t.cq.NdkCloseCq = &close_of<CompletionQueue, NDK_CQ>;
  t.cq.NdkQueryExtension = &query_extension;
  t.cq.NdkResizeCq = &CompletionQueue::resize;
  t.cq.NdkArmCq = &CompletionQueue::arm;
  t.cq.NdkGetCqResults = &CompletionQueue::get_results;
  t.cq.NdkControlCqInterruptModeration = &CompletionQueue::control_moderation;
  t.cq.NdkGetCqResultsEx = &CompletionQueue::get_results_ex;

  t.mr.NdkCloseMr = &close_of<MemoryRegion, NDK_MR>;
  t.mr.NdkQueryExtension = &query_extension;
  t.mr.NdkRegisterMr = &MemoryRegion::register_mr;
  t.mr.NdkDeregisterMr = &MemoryRegion::deregister;
  t.mr.NdkInitializeFastRegisterMr = &MemoryRegion::initialize_fast;
  t.mr.NdkGetRemoteTokenFromMr = &MemoryRegion::get_remote_token;
  t.mr.NdkGetLocalTokenFromMr = &MemoryRegion::get_local_token;

  t.mw.NdkCloseMw = &close_of<MemoryWindow, NDK_MW>;
  t.mw.NdkQueryExtension = &query_extension;
  t.mw.NdkGetRemoteTokenFromMw = &MemoryWindow::get_remote_token;

  t.srq.NdkCloseSrq = &close_of<SharedReceiveQueue, NDK_SRQ>;
  t.srq.NdkQueryExtension = &query_extension;
  t.srq.NdkModifySrq = &SharedReceiveQueue::modify;
  t.srq.NdkSrqReceive = &SharedReceiveQueue::receive;

  t.qp.NdkCloseQp = &close_of<QueuePair, NDK_QP>;
  t.qp.NdkQueryExtension = &query_extension;
  t.qp.NdkFlush = &QueuePair::flush;
  t.qp.NdkSend = &QueuePair::send;
  t.qp.NdkReceive = &QueuePair::receive;
  t.qp.NdkBind = &QueuePair::bind;
  t.qp.NdkFastRegister = &QueuePair::fast_register;
  t.qp.NdkInvalidate = &QueuePair::invalidate;
  t.qp.NdkRead = &QueuePair::read;
  t.qp.NdkWrite = &QueuePair::write;
  t.qp.NdkSendAndInvalidate = &QueuePair::send_and_invalidate;

  t.connector.NdkCloseConnector = &close_of<Connector, NDK_CONNECTOR>;
  t.connector.NdkQueryExtension = &query_extension;
  t.connector.NdkConnect = &Connector::connect;
  t.connector.NdkConnectWithSharedEndpoint = &Connector::connect_shared;
  t.connector.NdkCompleteConnect = &Connector::complete_connect;
  t.connector.NdkAccept = &Connector::accept;
  t.connector.NdkReject = &Connector::reject;
  t.connector.NdkGetConnectionData = &Connector::connection_data;
  t.connector.NdkGetLocalAddress = &Connector::local_address;
  t.connector.NdkGetPeerAddress = &Connector::peer_address;
  t.connector.NdkDisconnect = &Connector::disconnect;
  t.connector.NdkCompleteConnectEx = &Connector::complete_connect_ex;
  t.connector.NdkAcceptEx = &Connector::accept_ex;

  t.listener.NdkCloseListener = &close_of<Listener, NDK_LISTENER>;
  t.listener.NdkQueryExtension = &query_extension;
  t.listener.NdkListen = &Listener::listen;
  t.listener.NdkGetLocalAddress = &Listener::local_address;
  t.listener.NdkControlConnectEvents = &Listener::control_connect_events;

  t.shared_endpoint.NdkCloseSharedEndpoint = &close_of<SharedEndpoint, NDK_SHARED_ENDPOINT>;
  t.shared_endpoint.NdkQueryExtension = &query_extension;
  t.shared_endpoint.NdkGetLocalAddress = &SharedEndpoint::local_address;
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
