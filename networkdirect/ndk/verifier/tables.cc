#include "networkdirect/ndk/verifier/tables.h"

#include "networkdirect/ndk/verifier/connections.h"

namespace fb::ndk::verifier {

namespace {

constexpr Tables everything() {
  Tables t = {};
  t.adapter.NdkQueryExtension = &query_extension;
  t.adapter.NdkQueryAdapterInfo = &Adapter::query_info;
  t.adapter.NdkCreateCq = &Adapter::create_cq;
  t.adapter.NdkCreatePd = &Adapter::create_pd;
  t.adapter.NdkCreateSharedEndpoint = &Adapter::create_endpoint;
  t.adapter.NdkCreateConnector = &Adapter::create_connector;
  t.adapter.NdkCreateListener = &Adapter::create_listener;
  t.adapter.NdkBuildLAM = &Adapter::build_lam;
  t.adapter.NdkReleaseLAM = &Adapter::release_lam;

  t.pd.NdkClosePd = &ProtectionDomain::close_entry;
  t.pd.NdkQueryExtension = &query_extension;
  t.pd.NdkCreateMr = &ProtectionDomain::create_mr;
  t.pd.NdkCreateMw = &ProtectionDomain::create_mw;
  t.pd.NdkCreateSrq = &ProtectionDomain::create_srq;
  t.pd.NdkCreateQp = &ProtectionDomain::create_qp;
  t.pd.NdkCreateQpWithSrq = &ProtectionDomain::create_qp_with_srq;
  t.pd.NdkGetPrivilegedMemoryRegionToken = &ProtectionDomain::get_privileged_token;

  t.cq.NdkCloseCq = &CompletionQueue::close_entry;
  t.cq.NdkQueryExtension = &query_extension;
  t.cq.NdkResizeCq = &CompletionQueue::resize;
  t.cq.NdkArmCq = &CompletionQueue::arm;
  t.cq.NdkGetCqResults = &CompletionQueue::get_results;
  t.cq.NdkControlCqInterruptModeration = &CompletionQueue::moderate;
  t.cq.NdkGetCqResultsEx = &CompletionQueue::get_results_ex;

  t.mr.NdkCloseMr = &MemoryRegion::close_entry;
  t.mr.NdkQueryExtension = &query_extension;
  t.mr.NdkRegisterMr = &MemoryRegion::register_mr;
  t.mr.NdkDeregisterMr = &MemoryRegion::deregister;
  t.mr.NdkInitializeFastRegisterMr = &MemoryRegion::initialize;
  t.mr.NdkGetRemoteTokenFromMr = &MemoryRegion::get_remote_token;
  t.mr.NdkGetLocalTokenFromMr = &MemoryRegion::get_local_token;

  t.mw.NdkCloseMw = &MemoryWindow::close_entry;
  t.mw.NdkQueryExtension = &query_extension;
  t.mw.NdkGetRemoteTokenFromMw = &MemoryWindow::get_remote_token;

  t.srq.NdkCloseSrq = &SharedReceiveQueue::close_entry;
  t.srq.NdkQueryExtension = &query_extension;
  t.srq.NdkModifySrq = &SharedReceiveQueue::modify;
  t.srq.NdkSrqReceive = &SharedReceiveQueue::receive;

  t.qp.NdkCloseQp = &QueuePair::close_entry;
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

  t.connector.NdkCloseConnector = &Connector::close_entry;
  t.connector.NdkQueryExtension = &query_extension;
  t.connector.NdkConnect = &Connector::connect;
  t.connector.NdkConnectWithSharedEndpoint = &Connector::connect_shared;
  t.connector.NdkCompleteConnect = &Connector::complete;
  t.connector.NdkAccept = &Connector::accept;
  t.connector.NdkReject = &Connector::reject;
  t.connector.NdkGetConnectionData = &Connector::connection_data;
  t.connector.NdkGetLocalAddress = &Connector::local_address;
  t.connector.NdkGetPeerAddress = &Connector::peer_address;
  t.connector.NdkDisconnect = &Connector::disconnect;
  t.connector.NdkCompleteConnectEx = &Connector::complete_ex;
  t.connector.NdkAcceptEx = &Connector::accept_ex;

  t.listener.NdkCloseListener = &Listener::close_entry;
  t.listener.NdkQueryExtension = &query_extension;
  t.listener.NdkListen = &Listener::listen;
  t.listener.NdkGetLocalAddress = &Listener::local_address;
  t.listener.NdkControlConnectEvents = &Listener::control_events;

  t.shared_endpoint.NdkCloseSharedEndpoint = &SharedEndpoint::close_entry;
  t.shared_endpoint.NdkQueryExtension = &query_extension;
  t.shared_endpoint.NdkGetLocalAddress = &SharedEndpoint::local_address;
  return t;
}

constexpr Tables before_2_1() {
  Tables t = everything();
  t.connector.NdkCompleteConnectEx = &Connector::complete_ex_too_early;
  t.connector.NdkAcceptEx = &Connector::accept_ex_too_early;
  return t;
}

constexpr Tables before_1_2() {
  Tables t = before_2_1();
  t.cq.NdkGetCqResultsEx = &CompletionQueue::get_results_ex_too_early;
  t.qp.NdkSendAndInvalidate = &QueuePair::send_and_invalidate_too_early;
  return t;
}

constexpr Tables kOf21 = everything();
constexpr Tables kOf12And20 = before_2_1();
constexpr Tables kOf11 = before_1_2();

}  // namespace

const Tables& tables_of(NDK_VERSION version) {
  if (knows(version, 2, 1)) return kOf21;
  return knows(version, 1, 2) ? kOf12And20 : kOf11;
}

}  // namespace fb::ndk::verifier
