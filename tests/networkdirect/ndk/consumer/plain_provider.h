// The plainest NDK provider that carries traffic: over any rdma::Device, completes on the spot whatever it can, checks
// nothing, and offers no extension. It relies on consumers that close in the order of dependence.
#pragma once

#include <ndkpi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "sim/core/world.h"
#include "networkdirect/ndk/consumer/translate.h"
#include "sim/rdma/device.h"

namespace fb::ndk::testing {

struct PlainProvider;

template <class Ndk>
struct Made {
  Ndk ndk = {};
  PlainProvider* provider = nullptr;
};

struct PlainPd : Made<NDK_PD> {
  std::unique_ptr<rdma::ProtectionDomain> domain;
};

struct PlainQp;

struct PlainCq final : Made<NDK_CQ>, rdma::CompletionHandler {
  void on_completions() override { callback(context, STATUS_SUCCESS); }
  std::unique_ptr<rdma::CompletionQueue> queue;
  NDK_FN_CQ_NOTIFICATION_CALLBACK callback = nullptr;
  PVOID context = nullptr;
};

struct PlainMr : Made<NDK_MR> {
  PlainPd* pd = nullptr;
  bool fast = false;
  std::unique_ptr<rdma::MemoryRegion> region;
};

struct PlainSrq final : Made<NDK_SRQ>, rdma::SharedReceiveHandler {
  void on_limit(rdma::SharedReceiveQueue&) override { callback(context, STATUS_SUCCESS); }
  std::unique_ptr<rdma::SharedReceiveQueue> queue;
  NDK_FN_SRQ_NOTIFICATION_CALLBACK callback = nullptr;
  PVOID context = nullptr;
};

struct PlainConnector : Made<NDK_CONNECTOR> {
  void finish(NTSTATUS status) {
    if (auto done = std::exchange(completion, nullptr)) done(completion_context, status);
  }
  PlainQp* qp = nullptr;
  std::unique_ptr<rdma::ConnectionRequest> request;
  Bytes private_data;
  ULONG inbound = 0, outbound = 0;
  Endpoint peer;
  bool connected = false;
  NDK_FN_REQUEST_COMPLETION completion = nullptr;
  PVOID completion_context = nullptr;
  NDK_FN_DISCONNECT_EVENT_CALLBACK gone = nullptr;
  NDK_FN_DISCONNECT_EVENT_CALLBACK_EX gone_ex = nullptr;
  PVOID gone_context = nullptr;
};

struct PlainQp final : Made<NDK_QP>, rdma::ConnectionHandler {
  void learn(const rdma::ConnectionFacts& f) {
    connector->private_data.assign(f.private_data.begin(), f.private_data.end());
    connector->private_data.resize(196);
    connector->inbound = f.initiator_depth;
    connector->outbound = f.responder_resources;
    connector->peer = f.peer;
  }
  void on_accepted(rdma::QueuePair&, const rdma::ConnectionFacts& f) override {
    if (connector == nullptr) return;
    learn(f);
    connector->finish(STATUS_SUCCESS);
  }
  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override {
    if (connector == nullptr) return;
    connector->connected = true;
    connector->finish(STATUS_SUCCESS);
  }
  void on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView data) override {
    if (connector == nullptr) return;
    connector->private_data.clear();
    if (reason == rdma::reject_reason::consumer_defined) connector->private_data.assign(data.begin(), data.end());
    connector->private_data.resize(148);
    connector->finish(STATUS_CONNECTION_REFUSED);
  }
  void on_unreachable(rdma::QueuePair&) override {
    if (connector != nullptr) connector->finish(STATUS_IO_TIMEOUT);
  }
  void on_disconnected(rdma::QueuePair&) override {
    if (connector == nullptr) return;
    if (connector->completion != nullptr) return connector->finish(connector->connected ? STATUS_SUCCESS : STATUS_CONNECTION_ABORTED);
    if (connector->gone != nullptr) connector->gone(connector->gone_context);
    if (connector != nullptr && connector->gone_ex != nullptr) connector->gone_ex(connector->gone_context, 0);
  }
  void on_queue_error(rdma::QueuePair&) override {}

  std::unique_ptr<rdma::QueuePair> queue;
  PVOID context = nullptr;
  PlainConnector* connector = nullptr;
  Bytes inline_memory;
  std::unique_ptr<rdma::MemoryRegion> inline_region;
  std::size_t inline_next = 0;
};

struct PlainListener final : Made<NDK_LISTENER>, rdma::ListenHandler {
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override;
  std::unique_ptr<rdma::Listener> listener;
  NDK_FN_CONNECT_EVENT_CALLBACK callback = nullptr;
  PVOID context = nullptr;
};

struct PlainProvider {
  static constexpr std::size_t kInline = 256, kInlineSlots = 64;

  PlainProvider(rdma::Device& d, NDK_VERSION v) : device(d), version(v) {
    fill_tables();
    adapter.ndk.Header = {version, NdkObjectTypeAdapter, {}};
    adapter.ndk.Dispatch = &adapter_table;
    adapter.provider = this;
  }
  PlainProvider(const PlainProvider&) = delete;
  PlainProvider& operator=(const PlainProvider&) = delete;

  template <class T>
  T* made(T* object, NDK_OBJECT_TYPE type) {
    object->ndk.Header = {version, type, {}};
    object->provider = this;
    ++objects;
    return object;
  }
  template <class T>
  static NTSTATUS close(NDK_OBJECT_HEADER* header) {
    T* object = of<T>(header);
    --object->provider->objects;
    delete object;
    return STATUS_SUCCESS;
  }
  /// The whole object: the interface's part is its first member, and its first base where it has several.
  template <class T, class Ndk>
  static T* of(Ndk* ndk) {
    return static_cast<T*>(reinterpret_cast<Made<decltype(T::ndk)>*>(ndk));
  }
  static std::vector<rdma::Sge> sges(const NDK_SGE* list, ULONG count) {
    std::vector<rdma::Sge> made;
    for (ULONG i = 0; i < count; ++i) {
      made.push_back({reinterpret_cast<std::uintptr_t>(list[i].VirtualAddress), list[i].Length, list[i].MemoryRegionToken});
    }
    return made;
  }
  static rdma::SendRequest remote(UINT64 address, UINT32 key) {
    rdma::SendRequest request;
    request.remote_address = address;
    request.rkey = request.invalidate_rkey = key;
    return request;
  }
  static NTSTATUS post(PlainQp& qp, PVOID context, rdma::SendOpcode opcode, const NDK_SGE* list, ULONG count, ULONG flags,
                       rdma::SendRequest request = {}) {
    std::vector<rdma::Sge> all = sges(list, count);
    if ((flags & NDK_OP_FLAG_INLINE) != 0 && count > 0) {
      const std::size_t at = qp.inline_next++ % kInlineSlots * kInline;
      std::memcpy(&qp.inline_memory[at], list[0].VirtualAddress, list[0].Length);
      all = {qp.inline_region->sge(at, list[0].Length)};
      request.inline_data = true;
    }
    request.id = reinterpret_cast<std::uintptr_t>(context);
    request.opcode = opcode;
    request.sges = all;
    request.signaled = (flags & NDK_OP_FLAG_SILENT_SUCCESS) == 0;
    request.fence = (flags & NDK_OP_FLAG_READ_FENCE) != 0;
    request.solicited = (flags & NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT) != 0;
    return qp.queue->post_send(request) ? STATUS_SUCCESS : STATUS_CONNECTION_INVALID;
  }
  static NTSTATUS status_of(const rdma::Completion& completion) {
    using rdma::CompletionStatus;
    switch (completion.status) {
      case CompletionStatus::success:
        return STATUS_SUCCESS;
      case CompletionStatus::flushed:
        return STATUS_CANCELLED;
      case CompletionStatus::remote_invalid_request:
      case CompletionStatus::local_length_error:
        return STATUS_DATA_OVERRUN;
      case CompletionStatus::local_protection_error:
      case CompletionStatus::local_access_error:
      case CompletionStatus::remote_access_error:
        return STATUS_ACCESS_VIOLATION;
      case CompletionStatus::retry_exceeded:
      case CompletionStatus::rnr_retry_exceeded:
        return STATUS_IO_TIMEOUT;
      default:
        return STATUS_INTERNAL_ERROR;
    }
  }
  void fill_tables();
  void fill_connection_tables();

  rdma::Device& device;
  NDK_VERSION version;
  int objects = 0;
  int mappings = 0;
  Made<NDK_ADAPTER> adapter;
  NDK_ADAPTER_DISPATCH adapter_table = {};
  NDK_PD_DISPATCH pd_table = {};
  NDK_CQ_DISPATCH cq_table = {};
  NDK_MR_DISPATCH mr_table = {};
  NDK_SRQ_DISPATCH srq_table = {};
  NDK_QP_DISPATCH qp_table = {};
  NDK_CONNECTOR_DISPATCH connector_table = {};
  NDK_LISTENER_DISPATCH listener_table = {};
};

inline void PlainListener::on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) {
  auto* connector = provider->made(new PlainConnector, NdkObjectTypeConnector);
  connector->ndk.Dispatch = &provider->connector_table;
  const rdma::ConnectionFacts& f = request->facts();
  connector->private_data.assign(f.private_data.begin(), f.private_data.end());
  connector->inbound = f.initiator_depth;
  connector->outbound = f.responder_resources;
  connector->peer = f.peer;
  connector->request = std::move(request);
  callback(context, &connector->ndk);
}

inline rdma::Access access_of(ULONG flags, ULONG write, ULONG remote_read, ULONG remote_write) {
  using rdma::Access;
  Access access = Access::none;
  if ((flags & write) != 0) access = access | Access::local_write;
  if ((flags & remote_read) != 0) access = access | Access::remote_read;
  if ((flags & remote_write) == remote_write) access = access | Access::remote_write | Access::local_write;
  return access;
}

inline void PlainProvider::fill_tables() {
  adapter_table.NdkQueryExtension = [](NDK_OBJECT_HEADER*, GUID*, NDK_VERSION, NDK_EXTENSION_INTERFACE*) { return STATUS_NOT_SUPPORTED; };
  adapter_table.NdkQueryAdapterInfo = [](NDK_ADAPTER*, NDK_ADAPTER_INFO* info, ULONG* size) {
    *info = {};
    info->FRMRPageCount = 257;
    info->MaxRegistrationSize = info->MaxWindowSize = 1u << 30;
    info->MaxInitiatorRequestSge = info->MaxReceiveRequestSge = info->MaxReadRequestSge = 4;
    info->MaxTransferLength = 1u << 30;
    info->MaxInlineDataSize = kInline;
    info->MaxInboundReadLimit = info->MaxOutboundReadLimit = 16;
    info->MaxReceiveQueueDepth = info->MaxInitiatorQueueDepth = info->MaxSrqDepth = info->MaxCqDepth = 4096;
    info->MaxCallerData = 56;
    info->MaxCalleeData = 196;
    *size = sizeof *info;
    return STATUS_SUCCESS;
  };
  adapter_table.NdkCreatePd = [](NDK_ADAPTER* a, NDK_FN_CREATE_COMPLETION, PVOID, NDK_PD** place) {
    PlainProvider* self = of<Made<NDK_ADAPTER>>(a)->provider;
    auto* pd = self->made(new PlainPd, NdkObjectTypePd);
    pd->ndk.Dispatch = &self->pd_table;
    pd->domain = self->device.allocate_protection_domain();
    *place = &pd->ndk;
    return STATUS_SUCCESS;
  };
  adapter_table.NdkCreateCq = [](NDK_ADAPTER* a, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK f, PVOID fc, GROUP_AFFINITY*,
                                 NDK_FN_CREATE_COMPLETION, PVOID, NDK_CQ** place) {
    PlainProvider* self = of<Made<NDK_ADAPTER>>(a)->provider;
    auto* cq = self->made(new PlainCq, NdkObjectTypeCq);
    cq->ndk.Dispatch = &self->cq_table;
    cq->queue = self->device.create_completion_queue(depth);
    cq->callback = f;
    cq->context = fc;
    *place = &cq->ndk;
    return STATUS_SUCCESS;
  };
  adapter_table.NdkBuildLAM = [](NDK_ADAPTER* a, MDL* mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION, PVOID,
                                 NDK_LOGICAL_ADDRESS_MAPPING* map, ULONG* size, ULONG* offset) {
    *offset = MmGetMdlByteOffset(mdl);
    const auto pages = static_cast<ULONG>((*offset + length + PAGE_SIZE - 1) / PAGE_SIZE);
    const auto needed = static_cast<ULONG>(sizeof *map + pages * sizeof(NDK_LOGICAL_ADDRESS));
    if (std::exchange(*size, needed) < needed) return STATUS_BUFFER_TOO_SMALL;
    map->AdapterPageCount = pages;
    auto va = reinterpret_cast<std::intptr_t>(mdl->StartVa);
    for (ULONG i = 0; i < pages; ++i, va += PAGE_SIZE) map->AdapterPageArray[i].QuadPart = va;
    ++of<Made<NDK_ADAPTER>>(a)->provider->mappings;
    return STATUS_SUCCESS;
  };
  adapter_table.NdkReleaseLAM = [](NDK_ADAPTER* a, NDK_LOGICAL_ADDRESS_MAPPING*) { --of<Made<NDK_ADAPTER>>(a)->provider->mappings; };

  pd_table.NdkClosePd = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION, PVOID) { return close<PlainPd>(o); };
  pd_table.NdkCreateMr = [](NDK_PD* d, BOOLEAN fast, NDK_FN_CREATE_COMPLETION, PVOID, NDK_MR** place) {
    PlainProvider* self = of<PlainPd>(d)->provider;
    auto* mr = self->made(new PlainMr, NdkObjectTypeMr);
    mr->ndk.Dispatch = &self->mr_table;
    mr->pd = of<PlainPd>(d);
    mr->fast = fast != 0;
    *place = &mr->ndk;
    return STATUS_SUCCESS;
  };
  pd_table.NdkCreateSrq = [](NDK_PD* d, ULONG depth, ULONG, ULONG, NDK_FN_SRQ_NOTIFICATION_CALLBACK f, PVOID fc, GROUP_AFFINITY*,
                             NDK_FN_CREATE_COMPLETION, PVOID, NDK_SRQ** place) {
    PlainProvider* self = of<PlainPd>(d)->provider;
    auto* srq = self->made(new PlainSrq, NdkObjectTypeSrq);
    srq->ndk.Dispatch = &self->srq_table;
    srq->queue = self->device.create_shared_receive_queue(*of<PlainPd>(d)->domain, depth, srq);
    srq->callback = f;
    srq->context = fc;
    *place = &srq->ndk;
    return STATUS_SUCCESS;
  };
  static constexpr auto make_qp = [](NDK_PD* d, NDK_CQ* r, NDK_CQ* i, NDK_SRQ* s, PVOID qc, ULONG rd, ULONG id, NDK_QP** place) {
    PlainProvider* self = of<PlainPd>(d)->provider;
    auto* qp = self->made(new PlainQp, NdkObjectTypeQp);
    qp->ndk.Dispatch = &self->qp_table;
    qp->context = qc;
    rdma::QueuePairOptions options;
    options.send_queue = of<PlainCq>(i)->queue.get();
    options.receive_queue = of<PlainCq>(r)->queue.get();
    options.shared_receive_queue = s == nullptr ? nullptr : of<PlainSrq>(s)->queue.get();
    options.send_entries = id;
    options.receive_entries = rd;
    options.context = qp;
    options.handler = qp;
    qp->queue = self->device.create_queue_pair(*of<PlainPd>(d)->domain, options);
    qp->inline_memory.resize(kInline * kInlineSlots);
    qp->inline_region = of<PlainPd>(d)->domain->register_memory(qp->inline_memory, rdma::Access::none);
    *place = &qp->ndk;
    return STATUS_SUCCESS;
  };
  pd_table.NdkCreateQp = [](NDK_PD* d, NDK_CQ* r, NDK_CQ* i, PVOID qc, ULONG rd, ULONG id, ULONG, ULONG, ULONG, NDK_FN_CREATE_COMPLETION,
                            PVOID, NDK_QP** place) { return make_qp(d, r, i, nullptr, qc, rd, id, place); };
  pd_table.NdkCreateQpWithSrq = [](NDK_PD* d, NDK_CQ* r, NDK_CQ* i, NDK_SRQ* s, PVOID qc, ULONG id, ULONG, ULONG, NDK_FN_CREATE_COMPLETION,
                                   PVOID, NDK_QP** place) { return make_qp(d, r, i, s, qc, 1, id, place); };

  cq_table.NdkCloseCq = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION, PVOID) { return close<PlainCq>(o); };
  cq_table.NdkArmCq = [](NDK_CQ* c, ULONG type) {
    of<PlainCq>(c)->queue->request_notify(*of<PlainCq>(c), type == NDK_CQ_NOTIFY_SOLICITED);
  };
  cq_table.NdkGetCqResultsEx = [](NDK_CQ* c, NDK_RESULT_EX results[], ULONG count) {
    std::vector<rdma::Completion> all(count);
    const std::size_t taken = of<PlainCq>(c)->queue->poll(all);
    for (std::size_t i = 0; i < taken; ++i) {
      const rdma::Completion& completion = all[i];
      results[i] = {};
      results[i].Status = status_of(completion);
      results[i].BytesTransferred = completion.byte_length;
      results[i].QPContext = static_cast<PlainQp*>(completion.qp_context)->context;
      results[i].RequestContext = reinterpret_cast<PVOID>(static_cast<std::uintptr_t>(completion.id));
      results[i].Type = completion.has_invalidate ? NdkOperationTypeReceiveAndInvalidate : NdkOperationTypeReceive;
      results[i].TypeSpecificCompletionOutput = completion.invalidated_rkey;
    }
    return static_cast<ULONG>(taken);
  };
  cq_table.NdkGetCqResults = [](NDK_CQ* c, NDK_RESULT results[], ULONG count) {
    std::vector<NDK_RESULT_EX> all(count);
    const ULONG taken = c->Dispatch->NdkGetCqResultsEx(c, all.data(), count);
    for (ULONG i = 0; i < taken; ++i) std::memcpy(&results[i], &all[i], sizeof results[i]);
    return taken;
  };

  mr_table.NdkCloseMr = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION, PVOID) { return close<PlainMr>(o); };
  mr_table.NdkRegisterMr = [](NDK_MR* m, MDL* mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION, PVOID) {
    auto* memory = static_cast<std::uint8_t*>(MmGetMdlVirtualAddress(mdl));
    const auto access = access_of(flags, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, NDK_MR_FLAG_ALLOW_REMOTE_READ, NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
    of<PlainMr>(m)->region =
        of<PlainMr>(m)->pd->domain->register_memory_at(reinterpret_cast<std::uintptr_t>(memory), {memory, length}, access);
    return STATUS_SUCCESS;
  };
  mr_table.NdkDeregisterMr = [](NDK_MR* m, NDK_FN_REQUEST_COMPLETION, PVOID) { return of<PlainMr>(m)->region.reset(), STATUS_SUCCESS; };
  mr_table.NdkInitializeFastRegisterMr = [](NDK_MR* m, ULONG pages, BOOLEAN, NDK_FN_REQUEST_COMPLETION, PVOID) {
    of<PlainMr>(m)->region = of<PlainMr>(m)->pd->domain->allocate_fast_region(std::size_t{pages} * PAGE_SIZE);
    return STATUS_SUCCESS;
  };
  mr_table.NdkGetRemoteTokenFromMr = [](NDK_MR* m) { return of<PlainMr>(m)->region->rkey(); };
  mr_table.NdkGetLocalTokenFromMr = [](NDK_MR* m) { return of<PlainMr>(m)->region->lkey(); };

  srq_table.NdkCloseSrq = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION, PVOID) { return close<PlainSrq>(o); };
  srq_table.NdkModifySrq = [](NDK_SRQ* s, ULONG, ULONG threshold, NDK_FN_REQUEST_COMPLETION, PVOID) {
    return of<PlainSrq>(s)->queue->arm_limit(threshold), STATUS_SUCCESS;
  };
  srq_table.NdkSrqReceive = [](NDK_SRQ* s, PVOID context, const NDK_SGE* list, ULONG count) {
    const auto all = sges(list, count);
    const bool posted = of<PlainSrq>(s)->queue->post_receive({reinterpret_cast<std::uintptr_t>(context), all});
    return posted ? STATUS_SUCCESS : STATUS_NO_MORE_ENTRIES;
  };

  qp_table.NdkCloseQp = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION, PVOID) { return close<PlainQp>(o); };
  qp_table.NdkFlush = [](NDK_QP* q) { of<PlainQp>(q)->queue->fail(); };
  qp_table.NdkReceive = [](NDK_QP* q, PVOID context, const NDK_SGE* list, ULONG count) {
    const auto all = sges(list, count);
    const bool posted = of<PlainQp>(q)->queue->post_receive({reinterpret_cast<std::uintptr_t>(context), all});
    return posted ? STATUS_SUCCESS : STATUS_NO_MORE_ENTRIES;
  };
  qp_table.NdkSend = [](NDK_QP* q, PVOID context, const NDK_SGE* list, ULONG count, ULONG flags) {
    return post(*of<PlainQp>(q), context, rdma::SendOpcode::send, list, count, flags);
  };
  qp_table.NdkSendAndInvalidate = [](NDK_QP* q, PVOID context, const NDK_SGE* list, ULONG count, ULONG flags, UINT32 token) {
    return post(*of<PlainQp>(q), context, rdma::SendOpcode::send_with_invalidate, list, count, flags, remote(0, token));
  };
  qp_table.NdkRead = [](NDK_QP* q, PVOID context, const NDK_SGE* list, ULONG count, UINT64 address, UINT32 token, ULONG flags) {
    return post(*of<PlainQp>(q), context, rdma::SendOpcode::rdma_read, list, count, flags, remote(address, token));
  };
  qp_table.NdkWrite = [](NDK_QP* q, PVOID context, const NDK_SGE* list, ULONG count, UINT64 address, UINT32 token, ULONG flags) {
    return post(*of<PlainQp>(q), context, rdma::SendOpcode::rdma_write, list, count, flags, remote(address, token));
  };
  qp_table.NdkInvalidate = [](NDK_QP* q, PVOID context, NDK_OBJECT_HEADER* o, ULONG flags) {
    return post(*of<PlainQp>(q), context, rdma::SendOpcode::local_invalidate, nullptr, 0, flags, remote(0, of<PlainMr>(o)->region->rkey()));
  };
  qp_table.NdkFastRegister = [](NDK_QP* q, PVOID context, NDK_MR* m, ULONG, const NDK_LOGICAL_ADDRESS* pages, ULONG offset, SIZE_T length,
                                PVOID base, ULONG flags) {
    auto* memory = reinterpret_cast<std::uint8_t*>(static_cast<std::uintptr_t>(pages[0].QuadPart)) + offset;
    rdma::SendRequest request;
    request.region = of<PlainMr>(m)->region.get();
    request.memory = {memory, length};
    request.iova = reinterpret_cast<std::uintptr_t>(base);
    request.access = access_of(flags, NDK_OP_FLAG_ALLOW_LOCAL_WRITE, NDK_OP_FLAG_ALLOW_REMOTE_READ, NDK_OP_FLAG_ALLOW_REMOTE_WRITE);
    request.key_byte = static_cast<std::uint8_t>(request.region->rkey());
    return post(*of<PlainQp>(q), context, rdma::SendOpcode::fast_register, nullptr, 0, flags, request);
  };
  fill_connection_tables();
}

inline void PlainProvider::fill_connection_tables() {
  adapter_table.NdkCreateConnector = [](NDK_ADAPTER* a, NDK_FN_CREATE_COMPLETION, PVOID, NDK_CONNECTOR** place) {
    PlainProvider* self = of<Made<NDK_ADAPTER>>(a)->provider;
    auto* connector = self->made(new PlainConnector, NdkObjectTypeConnector);
    connector->ndk.Dispatch = &self->connector_table;
    *place = &connector->ndk;
    return STATUS_SUCCESS;
  };
  adapter_table.NdkCreateListener = [](NDK_ADAPTER* a, NDK_FN_CONNECT_EVENT_CALLBACK f, PVOID fc, NDK_FN_CREATE_COMPLETION, PVOID,
                                       NDK_LISTENER** place) {
    PlainProvider* self = of<Made<NDK_ADAPTER>>(a)->provider;
    auto* listener = self->made(new PlainListener, NdkObjectTypeListener);
    listener->ndk.Dispatch = &self->listener_table;
    listener->callback = f;
    listener->context = fc;
    *place = &listener->ndk;
    return STATUS_SUCCESS;
  };
  listener_table.NdkCloseListener = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION, PVOID) { return close<PlainListener>(o); };
  listener_table.NdkListen = [](NDK_LISTENER* l, PSOCKADDR address, ULONG length, NDK_FN_REQUEST_COMPLETION, PVOID) {
    consumer::SocketAddress at;
    std::memcpy(&at.storage, address, length);
    auto made = of<PlainListener>(l)->provider->device.listen(at.endpoint().port, *of<PlainListener>(l));
    if (!made.ok()) return STATUS_SHARING_VIOLATION;
    of<PlainListener>(l)->listener = std::move(made).value();
    return STATUS_SUCCESS;
  };
  static constexpr auto tell = [](const Endpoint& endpoint, PSOCKADDR place, ULONG* length) {
    const consumer::SocketAddress address(endpoint);
    std::memcpy(place, &address.storage, *length = address.length);
    return STATUS_SUCCESS;
  };
  listener_table.NdkGetLocalAddress = [](NDK_LISTENER* l, PSOCKADDR place, ULONG* length) {
    return tell(of<PlainListener>(l)->listener->local(), place, length);
  };

  connector_table.NdkCloseConnector = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION, PVOID) {
    auto* c = of<PlainConnector>(o);
    if (c->qp != nullptr) {
      c->qp->connector = nullptr;
      c->qp->queue->disconnect();
    }
    c->finish(STATUS_CANCELLED);
    return close<PlainConnector>(o);
  };
  connector_table.NdkConnect = [](NDK_CONNECTOR* n, NDK_QP* q, PSOCKADDR from, ULONG from_length, PSOCKADDR to, ULONG to_length,
                                  ULONG inbound, ULONG outbound, PVOID data, ULONG length, NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
    auto* c = of<PlainConnector>(n);
    consumer::SocketAddress source, destination;
    std::memcpy(&source.storage, from, from_length);
    std::memcpy(&destination.storage, to, to_length);
    c->qp = of<PlainQp>(q);
    c->qp->connector = c;
    c->completion = rc;
    c->completion_context = context;
    rdma::ConnectionParameters parameters;
    parameters.private_data = {static_cast<const std::uint8_t*>(data), length};
    parameters.responder_resources = static_cast<std::uint8_t>(inbound);
    parameters.initiator_depth = static_cast<std::uint8_t>(outbound);
    parameters.source_port = source.endpoint().port;
    parameters.hold_reply = true;
    c->qp->queue->connect(destination.endpoint(), parameters);
    return STATUS_PENDING;
  };
  static constexpr auto complete = [](NDK_CONNECTOR* n, NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
    auto* c = of<PlainConnector>(n);
    c->completion = rc;
    c->completion_context = context;
    c->qp->queue->confirm();
    return STATUS_PENDING;
  };
  connector_table.NdkCompleteConnect = [](NDK_CONNECTOR* n, NDK_FN_DISCONNECT_EVENT_CALLBACK gone, PVOID gc, NDK_FN_REQUEST_COMPLETION rc,
                                          PVOID context) {
    of<PlainConnector>(n)->gone = gone;
    of<PlainConnector>(n)->gone_context = gc;
    return complete(n, rc, context);
  };
  connector_table.NdkCompleteConnectEx = [](NDK_CONNECTOR* n, NDK_FN_DISCONNECT_EVENT_CALLBACK_EX gone, PVOID gc,
                                            NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
    of<PlainConnector>(n)->gone_ex = gone;
    of<PlainConnector>(n)->gone_context = gc;
    return complete(n, rc, context);
  };
  static constexpr auto accept = [](NDK_CONNECTOR* n, NDK_QP* q, ULONG inbound, ULONG outbound, PVOID data, ULONG length,
                                    NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
    auto* c = of<PlainConnector>(n);
    c->qp = of<PlainQp>(q);
    c->qp->connector = c;
    c->completion = rc;
    c->completion_context = context;
    rdma::ConnectionParameters parameters;
    parameters.private_data = {static_cast<const std::uint8_t*>(data), length};
    parameters.responder_resources = static_cast<std::uint8_t>(inbound);
    parameters.initiator_depth = static_cast<std::uint8_t>(outbound);
    std::exchange(c->request, nullptr)->accept(*c->qp->queue, parameters);
    return STATUS_PENDING;
  };
  connector_table.NdkAccept = [](NDK_CONNECTOR* n, NDK_QP* q, ULONG in, ULONG out, PVOID data, ULONG length,
                                 NDK_FN_DISCONNECT_EVENT_CALLBACK gone, PVOID gc, NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
    of<PlainConnector>(n)->gone = gone;
    of<PlainConnector>(n)->gone_context = gc;
    return accept(n, q, in, out, data, length, rc, context);
  };
  connector_table.NdkAcceptEx = [](NDK_CONNECTOR* n, NDK_QP* q, ULONG in, ULONG out, PVOID data, ULONG length,
                                   NDK_FN_DISCONNECT_EVENT_CALLBACK_EX gone, PVOID gc, NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
    of<PlainConnector>(n)->gone_ex = gone;
    of<PlainConnector>(n)->gone_context = gc;
    return accept(n, q, in, out, data, length, rc, context);
  };
  connector_table.NdkReject = [](NDK_CONNECTOR* n, PVOID data, ULONG length) {
    auto* c = of<PlainConnector>(n);
    const ByteView bytes{static_cast<const std::uint8_t*>(data), length};
    if (c->request != nullptr) {
      c->request->reject(rdma::reject_reason::consumer_defined, bytes);
      c->request.reset();
    } else if (c->qp != nullptr) {
      c->qp->queue->refuse(rdma::reject_reason::consumer_defined, bytes);
    }
    return STATUS_SUCCESS;
  };
  connector_table.NdkGetConnectionData = [](NDK_CONNECTOR* n, ULONG* inbound, ULONG* outbound, PVOID data, ULONG* length) {
    auto* c = of<PlainConnector>(n);
    if (inbound != nullptr) *inbound = c->inbound;
    if (outbound != nullptr) *outbound = c->outbound;
    const ULONG room = std::exchange(*length, static_cast<ULONG>(c->private_data.size()));
    if (data == nullptr) return STATUS_SUCCESS;
    if (const std::size_t bytes = std::min<std::size_t>(room, c->private_data.size()); bytes > 0) {
      std::memcpy(data, c->private_data.data(), bytes);
    }
    return room < c->private_data.size() ? STATUS_BUFFER_TOO_SMALL : STATUS_SUCCESS;
  };
  connector_table.NdkGetPeerAddress = [](NDK_CONNECTOR* n, PSOCKADDR place, ULONG* length) {
    return tell(of<PlainConnector>(n)->peer, place, length);
  };
  connector_table.NdkDisconnect = [](NDK_CONNECTOR* n, NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
    auto* c = of<PlainConnector>(n);
    c->completion = rc;
    c->completion_context = context;
    c->qp->queue->disconnect();
    return STATUS_PENDING;
  };
}

}  // namespace fb::ndk::testing
