#include "networkdirect/ndk/provider/queue_pair.h"

#include <algorithm>
#include <bit>

#include "networkdirect/ndk/provider/connector.h"

namespace fb::ndk::provider {

namespace {

constexpr NTSTATUS kDataError = static_cast<NTSTATUS>(0xC000003E);  // STATUS_DATA_ERROR, of a departure

}  // namespace

NTSTATUS status_of(rdma::CompletionStatus status, NDK_OPERATION_TYPE type) {
  using enum rdma::CompletionStatus;
  if (status == success) return STATUS_SUCCESS;
  if (status == flushed) return STATUS_CANCELLED;
  const bool local = type == NdkOperationTypeBind || type == NdkOperationTypeInvalidate || type == NdkOperationTypeFastRegister;
  if (local) return STATUS_INVALID_DEVICE_REQUEST;
  const bool receive = type == NdkOperationTypeReceive;
  switch (status) {
    case local_length_error:
      return receive ? STATUS_BUFFER_OVERFLOW : STATUS_DATA_OVERRUN;
    case local_protection_error:
    case local_access_error:
    case remote_access_error:
      return STATUS_ACCESS_VIOLATION;
    case remote_invalid_request:
      return receive ? STATUS_INVALID_DEVICE_REQUEST : STATUS_DATA_OVERRUN;
    case remote_operation_error:
      return STATUS_REMOTE_RESOURCES;
    case retry_exceeded:
    case rnr_retry_exceeded:
      return STATUS_IO_TIMEOUT;
    case local_qp_operation_error:
    case memory_window_bind_error:
      return STATUS_INVALID_DEVICE_REQUEST;
    default:
      return STATUS_INTERNAL_ERROR;
  }
}

QueuePair::QueuePair(ProtectionDomain& domain, CompletionQueue& receive_queue, CompletionQueue& initiator_queue, SharedReceiveQueue* shared,
                     const QueuePairTerms& terms)
    : NDK_QP{},
      Object(domain.adapter(), NdkObjectTypeQp),
      domain_(domain),
      receive_queue_(receive_queue),
      initiator_queue_(initiator_queue),
      shared_(shared),
      terms_(terms),
      requests_(std::bit_ceil(std::max<std::size_t>(terms.initiator_depth, 1))),
      posted_(std::bit_ceil(std::max<std::size_t>(terms.receive_depth, 1))),
      waiting_(terms.receive_depth == 0 ? 0 : posted_.size() * terms.max_receive_sges),
      scratch_(std::max<std::size_t>({terms.max_initiator_sges, terms.max_receive_sges, 1})),
      inline_data_(requests_.size() * terms.inline_bytes) {
  begin_header(Header, adapter(), NdkObjectTypeQp);
  Dispatch = &adapter().tables().qp;
  stand_on(domain);
  stand_on(receive_queue);
  stand_on(initiator_queue);
  if (shared != nullptr) stand_on(*shared);
  receive_queue_.attach(*this);
  if (&initiator_queue_ != &receive_queue_) initiator_queue_.attach(*this);
  if (!inline_data_.empty()) inline_region_ = domain.device_domain().register_memory(inline_data_, rdma::Access::none);
}

QueuePair::~QueuePair() = default;

NTSTATUS QueuePair::create(NDK_PD* ndk, NDK_CQ* receive_queue, NDK_CQ* initiator_queue, PVOID qp_context, ULONG receive_depth,
                           ULONG initiator_depth, ULONG max_receive_sges, ULONG max_initiator_sges, ULONG inline_bytes,
                           NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_QP** place) {
  auto& domain = of<ProtectionDomain>(ndk);
  Adapter& a = domain.adapter();
  const NDK_ADAPTER_INFO& info = a.info();
  QueuePairTerms terms{qp_context, receive_depth, initiator_depth, max_receive_sges, max_initiator_sges, inline_bytes};
  const bool good = receive_depth <= info.MaxReceiveQueueDepth && initiator_depth <= info.MaxInitiatorQueueDepth &&
                    max_receive_sges <= info.MaxReceiveRequestSge && max_initiator_sges <= info.MaxInitiatorRequestSge &&
                    inline_bytes <= info.MaxInlineDataSize;
  if (!good) {
    if (!a.departs(departure::kQpLimitsUnchecked)) return STATUS_INVALID_PARAMETER;
    terms = {qp_context,
             std::min(receive_depth, info.MaxReceiveQueueDepth),
             std::min(initiator_depth, info.MaxInitiatorQueueDepth),
             std::min(max_receive_sges, info.MaxReceiveRequestSge),
             std::min(max_initiator_sges, info.MaxInitiatorRequestSge),
             std::min(inline_bytes, info.MaxInlineDataSize)};
  }
  if (receive_queue == nullptr || initiator_queue == nullptr) return STATUS_INVALID_PARAMETER;
  auto* const made = new QueuePair(domain, of<CompletionQueue>(receive_queue), of<CompletionQueue>(initiator_queue), nullptr, terms);
  return a.answer_creation(STATUS_SUCCESS, made, completion, context, place);
}

NTSTATUS QueuePair::create_with_srq(NDK_PD* ndk, NDK_CQ* receive_queue, NDK_CQ* initiator_queue, NDK_SRQ* shared, PVOID qp_context,
                                    ULONG initiator_depth, ULONG max_initiator_sges, ULONG inline_bytes,
                                    NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_QP** place) {
  auto& domain = of<ProtectionDomain>(ndk);
  Adapter& a = domain.adapter();
  const NDK_ADAPTER_INFO& info = a.info();
  QueuePairTerms terms{qp_context, 0, initiator_depth, 0, max_initiator_sges, inline_bytes};
  const bool good = initiator_depth <= info.MaxInitiatorQueueDepth && max_initiator_sges <= info.MaxInitiatorRequestSge &&
                    inline_bytes <= info.MaxInlineDataSize;
  if (!good) {
    if (!a.departs(departure::kQpLimitsUnchecked)) return STATUS_INVALID_PARAMETER;
    terms = {qp_context,
             0,
             std::min(initiator_depth, info.MaxInitiatorQueueDepth),
             0,
             std::min(max_initiator_sges, info.MaxInitiatorRequestSge),
             std::min(inline_bytes, info.MaxInlineDataSize)};
  }
  if (receive_queue == nullptr || initiator_queue == nullptr || shared == nullptr) return STATUS_INVALID_PARAMETER;
  if (&of<SharedReceiveQueue>(shared).domain() != &domain && !a.departs(departure::kDomainsMixed)) return STATUS_INVALID_PARAMETER;
  auto* const made = new QueuePair(domain, of<CompletionQueue>(receive_queue), of<CompletionQueue>(initiator_queue),
                                   &of<SharedReceiveQueue>(shared), terms);
  return a.answer_creation(STATUS_SUCCESS, made, completion, context, place);
}

// ---------------------------------------------------------------- closing

void QueuePair::begin_close() {
  if (phase_ == Phase::connecting || phase_ == Phase::connected) {
    Connector* const connector = connector_;
    if (connector != nullptr) connector->queue_pair_closes();
    if (phase_ == Phase::connected) device_->disconnect();
    if (phase_ == Phase::connected || phase_ == Phase::connecting) end(Outstanding::cancelled);
  } else if (!adapter().departs(departure::kCloseQpSilently)) {
    drain();
    cancel_all();
    settle_queues();
  }
}

void QueuePair::take_down() {
  drain();
  // Nothing of the device may speak of this queue pair afterwards.
  device_.reset();
  drain();
  adapter().forget(*this);
  receive_queue_.detach(*this);
  initiator_queue_.detach(*this);
  receive_queue_.settle();
  initiator_queue_.settle();
  while (!windows_.empty()) windows_.back()->renew();
  inline_region_.reset();
}

// ---------------------------------------------------------------- connection

rdma::QueuePair* QueuePair::attach(Connector& connector) {
  rdma::QueuePairOptions options;
  options.send_queue = &initiator_queue_.device_queue();
  options.receive_queue = &receive_queue_.device_queue();
  options.shared_receive_queue = shared_ == nullptr ? nullptr : &shared_->device_queue();
  // A read that invalidates is two of the device's requests.
  const bool two = (adapter().info().AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED) != 0;
  options.send_entries = std::max<ULONG>(terms_.initiator_depth, 1) * (two ? 2 : 1);
  options.receive_entries = std::max<ULONG>(terms_.receive_depth, 1);
  options.max_send_sges = std::max<ULONG>(terms_.max_initiator_sges, 1);
  options.max_receive_sges = std::max<ULONG>(terms_.max_receive_sges, 1);
  options.context = this;
  options.handler = this;
  adapter().bury(std::move(device_));  // of an earlier connection, where that is permitted
  device_ = adapter().device().create_queue_pair(domain_.device_domain(), options);
  if (device_ == nullptr) return nullptr;
  connector_ = &connector;
  phase_ = Phase::connecting;
  kept_ = false;
  return device_.get();
}

void QueuePair::give_receives() {
  receiving_ = true;
  if (shared_ != nullptr) return;
  for (std::uint64_t number = receives_.head; number != receives_.tail; ++number) {
    const std::size_t at = number & (posted_.size() - 1);
    device_->post_receive({number, {waiting_.data() + at * terms_.max_receive_sges, posted_[at].sges}});
  }
}

void QueuePair::detach() {
  adapter().bury(std::move(device_));
  connector_ = nullptr;
  receiving_ = false;
  phase_ = adapter().departs(departure::kRefusedSpendsQueuePair) ? Phase::ended : Phase::idle;
}

void QueuePair::end(Outstanding outstanding) {
  if (phase_ == Phase::ended) {
    if (outstanding == Outstanding::cancelled) release_kept();
    return;
  }
  phase_ = Phase::ended;
  deferred_.clear();  // outstanding as all others
  if (device_ != nullptr) device_->fail();
  drain();
  kept_ = outstanding == Outstanding::kept;
  if (!kept_) cancel_all();
  settle_queues();
}

void QueuePair::release_kept() {
  if (!kept_) return;
  kept_ = false;
  cancel_all();
  settle_queues();
}

void QueuePair::end_broken() {
  if (phase_ != Phase::connected && phase_ != Phase::connecting) return;
  if (connector_ != nullptr) connector_->queue_pair_breaks();
  if (phase_ == Phase::connected) device_->disconnect();
  end(Outstanding::cancelled);
}

void QueuePair::on_established(rdma::QueuePair&, const rdma::ConnectionFacts& facts) {
  if (connector_ != nullptr) connector_->on_established(facts);
}
void QueuePair::on_accepted(rdma::QueuePair&, const rdma::ConnectionFacts& facts) {
  if (connector_ != nullptr) connector_->on_accepted(facts);
}
void QueuePair::on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView private_data) {
  if (connector_ != nullptr) connector_->on_rejected(reason, private_data);
}
void QueuePair::on_unreachable(rdma::QueuePair&) {
  if (connector_ != nullptr) connector_->on_unreachable();
}
void QueuePair::on_disconnected(rdma::QueuePair&) {
  if (connector_ != nullptr) connector_->on_disconnected();
}
void QueuePair::on_queue_error(rdma::QueuePair&) {
  drain();
  adapter().note_broken(*this);
  adapter().end_broken();
}

// ---------------------------------------------------------------- flushing

void QueuePair::drain() {
  receive_queue_.drain();
  if (&initiator_queue_ != &receive_queue_) initiator_queue_.drain();
}

void QueuePair::settle_queues() {
  receive_queue_.settle();
  if (&initiator_queue_ != &receive_queue_) initiator_queue_.settle();
  if (adapter().any_broken()) adapter().end_broken();
}

VOID QueuePair::flush(NDK_QP* ndk) {
  auto& qp = of<QueuePair>(ndk);
  if (!qp.adapter().departs(departure::kFlushIgnored)) qp.do_flush();
}

void QueuePair::do_flush() {
  if (phase_ == Phase::ended) return release_kept();
  if (receiving_ || phase_ == Phase::connected) return end(Outstanding::cancelled);
  // The device has nothing yet, and the queue pair stays as good as it was.
  cancel_receives();
  settle_queues();
}

void QueuePair::cancel_all() {
  cancel_requests();
  cancel_receives();
}

void QueuePair::cancel_requests() {
  const bool backwards = adapter().departs(departure::kFlushedOutOfOrder);
  while (sends_.head != sends_.tail) {
    const Request& request = requests_[(backwards ? --sends_.tail : sends_.head++) & (requests_.size() - 1)];
    NDK_RESULT_EX made = result(STATUS_CANCELLED, request.context, request.type);
    if (adapter().departs(departure::kFlushedSilently)) continue;
    if (adapter().departs(departure::kFlushedAsError)) made.Status = STATUS_UNSUCCESSFUL;
    initiator_queue_.add(made, true);
  }
}

void QueuePair::cancel_receives() {
  const bool backwards = adapter().departs(departure::kFlushedOutOfOrder);
  while (receives_.head != receives_.tail) {
    const Receive& receive = posted_[(backwards ? --receives_.tail : receives_.head++) & (posted_.size() - 1)];
    NDK_RESULT_EX made = result(STATUS_CANCELLED, receive.context, NdkOperationTypeReceive);
    if (adapter().departs(departure::kFlushedSilently)) continue;
    if (adapter().departs(departure::kFlushedAsError)) made.Status = STATUS_UNSUCCESSFUL;
    receive_queue_.add(made, true);
  }
}

// ---------------------------------------------------------------- completions

NDK_RESULT_EX QueuePair::result(NTSTATUS status, PVOID context, NDK_OPERATION_TYPE type) const {
  NDK_RESULT_EX made = {};
  made.Status = status;
  made.QPContext = terms_.context;
  made.RequestContext = context;
  made.Type = type;
  return made;
}

bool QueuePair::convert(const rdma::Completion& completion, NDK_RESULT_EX& made) {
  using rdma::CompletionOpcode;
  const bool good = completion.status == rdma::CompletionStatus::success;
  const bool receive = completion.opcode == CompletionOpcode::receive || completion.opcode == CompletionOpcode::receive_rdma_with_immediate;
  if (receive) {
    PVOID context = nullptr;
    if (shared_ != nullptr) {
      context = shared_->finish(completion.id);
    } else {
      if (completion.status == rdma::CompletionStatus::flushed || completion.id < receives_.head) return false;
      context = posted_[completion.id & (posted_.size() - 1)].context;
      receives_.head = completion.id + 1;
    }
    made = result(status_of(completion.status, NdkOperationTypeReceive), context, NdkOperationTypeReceive);
    if (good) made.BytesTransferred = completion.byte_length;
    if (good && completion.has_invalidate) {
      made.Type = NdkOperationTypeReceiveAndInvalidate;
      made.TypeSpecificCompletionOutput = completion.invalidated_rkey;
    }
  } else {
    const std::uint64_t number = completion.id >> 1;
    // The second of two requests that were one: the first has told already.
    if (completion.status == rdma::CompletionStatus::flushed || number < sends_.head) return false;
    const Request& request = requests_[number & (requests_.size() - 1)];
    made = result(status_of(completion.status, request.type), request.context, request.type);
    if (good && request.type == NdkOperationTypeRead && adapter().departs(departure::kReadBytesReported)) {
      made.BytesTransferred = request.length;
    }
    sends_.head = number + 1;  // and with it all silent ones before
  }
  if (!good && completion.status != rdma::CompletionStatus::flushed) {
    made.ProviderErrorCode = static_cast<ULONG>(completion.status);
    adapter().note_broken(*this);
  }
  if (adapter().hooked()) [[unlikely]] {
    if (!good && !receive && adapter().departs(departure::kSilentFailure)) return false;
    depart_in_result(made);
  }
  return true;
}

void QueuePair::depart_in_result(NDK_RESULT_EX& made) const {
  const Adapter& a = adapter();
  using enum rdma::CompletionStatus;
  const auto why = static_cast<rdma::CompletionStatus>(made.ProviderErrorCode);
  const bool moves = made.Type == NdkOperationTypeRead || made.Type == NdkOperationTypeWrite;
  const bool local = why == local_protection_error || why == local_access_error || why == local_length_error;
  if (moves && local && a.departs(departure::kLocalViolationDataError)) made.Status = kDataError;
  if (why == retry_exceeded && a.departs(departure::kDeadPeerCancelled)) made.Status = STATUS_CANCELLED;
  if (a.departs(departure::kInvalidatedTypeHidden) && made.Type == NdkOperationTypeReceiveAndInvalidate) {
    made.Type = NdkOperationTypeReceive;
  }
  if (a.departs(departure::kInvalidatedTokenWrong)) made.TypeSpecificCompletionOutput ^= 0x100;
  if (a.departs(departure::kResultTypeWrong)) made.Type = NdkOperationTypeSend;
  if (a.departs(departure::kResultContextLost)) made.RequestContext = nullptr;
  if (a.departs(departure::kResultQueuePairContextLost)) made.QPContext = nullptr;
  if (a.departs(departure::kResultBytesMissing)) made.BytesTransferred = 0;
  if (made.Status != STATUS_SUCCESS && a.departs(departure::kFailureLooksLikeSuccess)) made.Status = STATUS_SUCCESS;
}

}  // namespace fb::ndk::provider
