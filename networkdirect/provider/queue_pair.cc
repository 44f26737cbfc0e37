#include "networkdirect/provider/queue_pair.h"

#include <algorithm>
#include <cstring>

#include "networkdirect/provider/connector.h"
#include "networkdirect/provider/fault_points.h"

namespace fb::networkdirect {

UINT64 total_length(const ND2_SGE* sges, ULONG count) {
  UINT64 length = 0;
  for (ULONG i = 0; i < count; ++i) length += sges[i].BufferLength;
  return length;
}

void copy_sges(const ND2_SGE* sges, ULONG count, rdma::Sge* to) {
  for (ULONG i = 0; i < count; ++i) {
    to[i] = {reinterpret_cast<std::uintptr_t>(sges[i].Buffer), sges[i].BufferLength, sges[i].MemoryRegionToken};
  }
}

HRESULT status_of(rdma::CompletionStatus status, ND2_REQUEST_TYPE type) {
  using enum rdma::CompletionStatus;
  if (status == success) return ND_SUCCESS;
  if (status == flushed) return ND_CANCELED;
  if (type == Nd2RequestTypeBind || type == Nd2RequestTypeInvalidate) return ND_INVALID_DEVICE_REQUEST;
  switch (status) {
    case local_length_error:
      // Programs look for this one at a receiver whose buffer is too small; the documentation names ND_BUFFER_OVERFLOW.
      return type == Nd2RequestTypeReceive ? ND_DATA_OVERRUN : ND_ACCESS_VIOLATION;
    case local_protection_error:
    case local_access_error:
    case remote_access_error:
      return ND_ACCESS_VIOLATION;
    case remote_invalid_request:
      return ND_DATA_OVERRUN;
    case remote_operation_error:
      return ND_REMOTE_ERROR;
    case retry_exceeded:
    case rnr_retry_exceeded:
      return ND_IO_TIMEOUT;
    case local_qp_operation_error:
      return ND_INVALID_DEVICE_REQUEST;
    default:
      return ND_INTERNAL_ERROR;
  }
}

namespace {

constexpr std::uint32_t kTopBit = 1u << 31;                       // of a token, which a departure forgets
constexpr HRESULT kDataError = static_cast<HRESULT>(0xC000003E);  // STATUS_DATA_ERROR

// How long a Send's completion waits for the peer's response, where it does.
constexpr Duration kResponseSoon = Duration::us(20);

rdma::Access window_access(ULONG flags) {
  rdma::Access access = rdma::Access::none;
  if ((flags & ND_OP_FLAG_ALLOW_READ) != 0) access = access | rdma::Access::remote_read;
  if ((flags & ND_OP_FLAG_ALLOW_WRITE) != 0) access = access | rdma::Access::remote_write;
  return access;
}

}  // namespace

QueuePairCore::QueuePairCore(std::shared_ptr<AdapterCore> adapter, std::shared_ptr<CompletionQueueCore> receive_queue,
                             std::shared_ptr<CompletionQueueCore> initiator_queue, std::shared_ptr<SharedReceiveQueueCore> shared,
                             const QueuePairTerms& terms)
    : adapter_(std::move(adapter)),
      receive_queue_(std::move(receive_queue)),
      initiator_queue_(std::move(initiator_queue)),
      shared_(std::move(shared)),
      terms_([&] {
        // Programs post one buffer more than they asked for.
        QueuePairTerms roomy = terms;
        ++roomy.max_receive_sges;
        ++roomy.max_initiator_sges;
        return roomy;
      }()),
      requests_(std::max<ULONG>(terms_.initiator_depth, 1)),
      request_sges_(requests_.size()),
      send_sges_(requests_.size() * terms_.max_initiator_sges),
      inline_data_(requests_.size() * terms_.inline_bytes),
      posted_(std::max<ULONG>(terms_.receive_depth, 1)),
      receive_sges_(posted_.size() * terms_.max_receive_sges) {
  if (!inline_data_.empty()) inline_region_ = adapter_->domain().register_memory(inline_data_, rdma::Access::none);
}

QueuePairCore::~QueuePairCore() {
  adapter_->strand().silence(*this);
  // Nothing of the device may speak of this queue pair afterwards.
  device_queue_pair_.reset();
  receive_queue_->drain();
  initiator_queue_->drain();
  give_held();
  receive_queue_->settle();
  initiator_queue_->settle();
  for (const auto& window : windows_) window->renew();
}

ND2_RESULT QueuePairCore::result(HRESULT status, void* context, ND2_REQUEST_TYPE type) const {
  ND2_RESULT made = {};
  made.Status = status;
  made.QueuePairContext = terms_.context;
  made.RequestContext = context;
  made.RequestType = type;
  return made;
}

HRESULT QueuePairCore::post(Request&& request, const ND2_SGE* sges, ULONG count) {
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (phase_ != Phase::connected && phase_ != Phase::ended) {
    if (!adapter_->departs(departure::kPostsUnconnected)) return ND_CONNECTION_INVALID;
    return ND_SUCCESS;
  }
  if (phase_ == Phase::ended && adapter_->departs(departure::kSendAfterEndSwallowed)) return ND_SUCCESS;
  if (const HRESULT status = judge(request, sges, count); status != ND_SUCCESS) {
    const bool swallows = status == ND_DATA_OVERRUN
                              ? adapter_->departs(departure::kManySgesSwallowed)
                              : adapter_->departs((request.flags & ND_OP_FLAG_INLINE) != 0 ? departure::kInlineLimitSwallows
                                                                                           : departure::kManyBytesSwallowed);
    return swallows ? ND_SUCCESS : status;
  }
  const bool inlined = (request.flags & ND_OP_FLAG_INLINE) != 0;
  const UINT64 length = total_length(sges, count);
  {
    const std::lock_guard lock(send_lock_);
    const bool full = sends_.tail - sends_.head >= terms_.initiator_depth;
    if (sends_.tail - sends_.head >= 4 && request.type == Nd2RequestTypeRead && adapter_->departs(departure::kExcessReadsRefused)) {
      return ND_INSUFFICIENT_RESOURCES;
    }
    if (full) return adapter_->departs(departure::kFullQueueSwallows) ? ND_SUCCESS : ND_NO_MORE_ENTRIES;
    const std::size_t at = slot(sends_.tail, requests_.size());
    rdma::Sge* const to = &send_sges_[at * terms_.max_initiator_sges];
    if (inlined) {
      std::uint8_t* data = inline_data_.data() + at * terms_.inline_bytes;
      *to = {inline_region_ == nullptr ? 0 : inline_region_->address() + at * terms_.inline_bytes, static_cast<std::uint32_t>(length),
             inline_region_ == nullptr ? 0 : inline_region_->lkey()};
      for (ULONG i = 0; i < count && !adapter_->departs(departure::kInlineStale); ++i) {
        std::memcpy(data, sges[i].Buffer, sges[i].BufferLength);
        data += sges[i].BufferLength;
      }
      count = length == 0 ? 0 : 1;
    } else {
      copy_sges(sges, count, to);
    }
    requests_[at] = std::move(request);
    request_sges_[at] = count;
    ++sends_.tail;
  }
  adapter_->strand().ring(*this);
  return ND_SUCCESS;
}

HRESULT QueuePairCore::judge(const Request& request, const ND2_SGE* sges, ULONG count) const {
  const bool inlined = (request.flags & ND_OP_FLAG_INLINE) != 0;
  if (count > 0 && sges == nullptr) return ND_INVALID_PARAMETER_2;
  if (!inlined && count > terms_.max_initiator_sges) return ND_DATA_OVERRUN;
  const UINT64 length = total_length(sges, count);
  if (inlined ? length > terms_.inline_bytes : length > adapter_->info().MaxTransferLength) return ND_BUFFER_OVERFLOW;
  // Departures: what an honest provider takes.
  const bool extra = count >= terms_.max_initiator_sges;
  if (inlined && extra && adapter_->departs(departure::kInlineCountsSges)) return ND_INVALID_PARAMETER_3;
  if (!inlined && extra && adapter_->departs(departure::kNoExtraSge)) return ND_INVALID_PARAMETER_3;
  if (inlined && count > 0 && sges[0].MemoryRegionToken == 0 && adapter_->departs(departure::kInlineMindsTokens)) {
    return ND_ACCESS_VIOLATION;
  }
  const bool moves = request.type != Nd2RequestTypeBind && request.type != Nd2RequestTypeInvalidate;
  if (moves && length == 0 && adapter_->departs(departure::kZeroLengthRefused)) return ND_INVALID_PARAMETER_3;
  return ND_SUCCESS;
}

HRESULT QueuePairCore::post_receive(void* context, const ND2_SGE* sges, ULONG count) {
  if (shared_ != nullptr) return ND_INVALID_DEVICE_REQUEST;
  if (adapter_->refuses()) return ND_INSUFFICIENT_RESOURCES;
  if (phase_ != Phase::connected && adapter_->departs(departure::kReceiveNeedsConnection)) return ND_CONNECTION_INVALID;
  if (phase_ == Phase::ended && adapter_->departs(departure::kReceiveAfterEndSwallowed)) return ND_SUCCESS;
  if (count > 0 && sges == nullptr) return ND_INVALID_PARAMETER_2;
  if (count > terms_.max_receive_sges) {
    return adapter_->departs(departure::kManyReceiveSgesSwallowed) ? ND_SUCCESS : ND_DATA_OVERRUN;
  }
  if (total_length(sges, count) > adapter_->info().MaxTransferLength) return ND_BUFFER_OVERFLOW;
  bool wanted = false;
  {
    const std::lock_guard lock(receive_lock_);
    if (receives_.tail - receives_.head >= terms_.receive_depth) {
      return adapter_->departs(departure::kFullReceivesSwallow) ? ND_SUCCESS : ND_NO_MORE_ENTRIES;
    }
    const std::size_t at = slot(receives_.tail, posted_.size());
    posted_[at] = {context, count};
    copy_sges(sges, count, &receive_sges_[at * terms_.max_receive_sges]);
    ++receives_.tail;
    wanted = receiving_;
  }
  if (wanted || phase_ == Phase::ended) adapter_->strand().ring(*this);
  return ND_SUCCESS;
}

void QueuePairCore::answer() {
  if (receiving_) give_receives();
  give_requests();
  if (phase_ != Phase::ended || device_queue_pair_ != nullptr) return;
  cancel_requests();
  cancel_receives();
}

void QueuePairCore::give_requests() {
  if (device_queue_pair_ == nullptr) return;
  for (;;) {
    Request* request = nullptr;
    std::uint64_t number = 0;
    {
      const std::lock_guard lock(send_lock_);
      if (sends_.given == sends_.tail) return;
      number = sends_.given++;
      request = &requests_[slot(number, requests_.size())];
    }
    give(*request, number);  // its slot is its own until it is done
  }
}

void QueuePairCore::give(Request& request, std::uint64_t number) {
  const std::size_t at = slot(number, requests_.size());
  rdma::SendRequest send;
  send.id = number;
  send.opcode = request.opcode;
  send.sges = {&send_sges_[at * terms_.max_initiator_sges], request_sges_[at]};
  send.signaled = (request.flags & ND_OP_FLAG_SILENT_SUCCESS) == 0;
  if (!send.signaled && adapter_->departs(departure::kSilentSpeaks)) send.signaled = true;
  send.solicited = (request.flags & ND_OP_FLAG_SEND_AND_SOLICIT_EVENT) != 0 && !adapter_->departs(departure::kSolicitLost);
  send.fence = (request.flags & ND_OP_FLAG_READ_FENCE) != 0 && !adapter_->departs(departure::kFenceIgnored);
  send.remote_address = request.remote_address;
  send.rkey = request.rkey;
  if (request.type == Nd2RequestTypeBind) {
    send.region = &request.window->region();
    send.memory = request.memory;
    send.iova = request.region->remote_address(request.memory.data());
    send.access = window_access(request.flags);
    if (adapter_->departs(departure::kWindowGrantsAll)) send.access = rdma::Access::remote_read | rdma::Access::remote_write;
    send.key_byte = request.key_byte;
    send.this_queue_only = !adapter_->departs(departure::kWindowForAnyQueue);
    // A window that is bound already: the device refuses, and the binding stays.
    if (!request.window->bound()) {
      request.window->bind_to(std::move(request.region));
      windows_.push_back(request.window);
    }
  } else if (request.type == Nd2RequestTypeInvalidate) {
    send.invalidate_rkey = request.window->region().rkey();
    const bool pretends = adapter_->departs(request.window->bound() ? departure::kInvalidateIgnored : departure::kInvalidateUnboundTaken);
    request.window->unbind();
    std::erase(windows_, request.window);
    if (pretends) {
      initiator_queue_->add(result(ND_SUCCESS, request.context, request.type), false);
      initiator_queue_->settle();
      const std::lock_guard lock(send_lock_);
      sends_.head = number + 1;
      return;
    }
  }
  distort(request, send, at);
  device_queue_pair_->post_send(send);
}

void QueuePairCore::distort(Request& request, rdma::SendRequest& send, std::size_t at) {
  if (adapter_->hooks() == nullptr) return;
  send.remote_address = adapter_->hooks()->on_the_wire(send.remote_address);
  if (request.type == Nd2RequestTypeWrite && adapter_->departs(departure::kWriteElsewhere)) ++send.remote_address;
  if (request.type == Nd2RequestTypeRead && adapter_->departs(departure::kReadElsewhere)) ++send.remote_address;
  if (request.type == Nd2RequestTypeBind && adapter_->departs(departure::kWindowTooWide)) {
    send.memory = {send.memory.data(), send.memory.size() + 64};
  }
  if (send.sges.empty()) return;
  if (adapter_->departs(departure::kLocalTokenCut)) {
    for (std::size_t i = 0; i < send.sges.size(); ++i) send_sges_[at * terms_.max_initiator_sges + i].lkey &= ~kTopBit;
  }
  rdma::Sge& last = send_sges_[at * terms_.max_initiator_sges + send.sges.size() - 1];
  if (request.type == Nd2RequestTypeSend && adapter_->departs(departure::kSendCutShort)) last.length -= last.length / 2;
  if (send.sges.size() > 1 && adapter_->departs(departure::kLastBufferIgnored)) last.length = 0;
}

void QueuePairCore::give_receives() {
  const std::lock_guard lock(receive_lock_);
  receiving_ = true;
  if (device_queue_pair_ == nullptr) return;
  for (; receives_.given != receives_.tail; ++receives_.given) {
    const std::size_t at = slot(receives_.given, posted_.size());
    device_queue_pair_->post_receive({receives_.given, {&receive_sges_[at * terms_.max_receive_sges], posted_[at].sges}});
  }
}

rdma::QueuePair& QueuePairCore::attach(rdma::ConnectionHandler& handler, std::shared_ptr<ConnectorCore> connector) {
  rdma::QueuePairOptions options;
  options.send_queue = &initiator_queue_->device_queue();
  options.receive_queue = &receive_queue_->device_queue();
  options.shared_receive_queue = shared_ == nullptr ? nullptr : &shared_->device_queue();
  options.send_entries = static_cast<std::uint32_t>(requests_.size());
  options.receive_entries = static_cast<std::uint32_t>(posted_.size());
  options.max_send_sges = terms_.max_initiator_sges;
  options.max_receive_sges = terms_.max_receive_sges;
  options.context = this;
  options.handler = &handler;
  device_queue_pair_ = adapter_->device().create_queue_pair(adapter_->domain(), options);
  connector_ = std::move(connector);
  phase_ = Phase::connecting;
  return *device_queue_pair_;
}

void QueuePairCore::connected() { phase_ = Phase::connected; }

void QueuePairCore::detach() {
  adapter_->bury(std::move(device_queue_pair_));
  connector_.reset();
  phase_ = Phase::idle;
}

void QueuePairCore::ended() {
  phase_ = Phase::ended;
  answer();
}

void QueuePairCore::flush() {
  if (adapter_->departs(departure::kFlushIgnored)) return;
  if (receiving_ && device_queue_pair_ != nullptr) {
    device_queue_pair_->fail();  // the device has the receives, and gives them back only in its state of error
    ended();
  } else {
    cancel_receives();
  }
}

void QueuePairCore::cancel_receives() {
  for (;;) {
    void* context = nullptr;
    {
      const std::lock_guard lock(receive_lock_);
      if (receives_.head == receives_.tail) break;
      context = posted_[slot(receives_.head++, posted_.size())].context;
      receives_.given = receives_.head;
    }
    receive_queue_->add(result(ND_CANCELED, context, Nd2RequestTypeReceive), true);
  }
  receive_queue_->settle();
}

void QueuePairCore::cancel_requests() {
  give_held();
  for (;;) {
    Request request;
    {
      const std::lock_guard lock(send_lock_);
      if (sends_.head == sends_.tail) break;
      request = std::move(requests_[slot(sends_.head++, requests_.size())]);
      sends_.given = sends_.head;
    }
    initiator_queue_->add(result(ND_CANCELED, request.context, request.type), true);
  }
  initiator_queue_->settle();
}

void QueuePairCore::on_completion(CompletionQueueCore& queue, const rdma::Completion& completion) {
  const bool receive = completion.opcode == rdma::CompletionOpcode::receive;
  ND2_RESULT made = {};
  if (receive && shared_ != nullptr) {
    made = result({}, shared_->finish(completion.id), Nd2RequestTypeReceive);
  } else if (receive) {
    const std::lock_guard lock(receive_lock_);
    made = result({}, posted_[slot(completion.id, posted_.size())].context, Nd2RequestTypeReceive);
    receives_.head = completion.id + 1;
  } else {
    const std::lock_guard lock(send_lock_);
    const std::size_t at = slot(completion.id, requests_.size());
    Request& request = requests_[at];
    made = result({}, request.context, request.type);
    if (request.type == Nd2RequestTypeRead && adapter_->departs(departure::kReadBytesReported)) {
      for (ULONG i = 0; i < request_sges_[at]; ++i) made.BytesTransferred += send_sges_[at * terms_.max_initiator_sges + i].length;
    }
    sends_.head = completion.id + 1;  // and with it all silent ones before
    if (request.type == Nd2RequestTypeBind && request.window != nullptr) request.window->tell_token();
    request.window.reset();
    request.region.reset();
    const bool silent = (request.flags & ND_OP_FLAG_SILENT_SUCCESS) != 0;
    if (silent && adapter_->departs(departure::kSilentFailureSilent)) return;
  }
  const bool good = completion.status == rdma::CompletionStatus::success;
  made.Status = status_of(completion.status, made.RequestType);
  if (!good) made.Status = failure(completion, made.RequestType, made.Status);
  if (receive && good) made.BytesTransferred = completion.byte_length;
  if (adapter_->departs(departure::kResultTypeWrong)) made.RequestType = Nd2RequestTypeSend;
  if (adapter_->departs(departure::kResultContextLost)) made.RequestContext = nullptr;
  if (adapter_->departs(departure::kResultQueuePairContextLost)) made.QueuePairContext = nullptr;
  if (receive && adapter_->departs(departure::kResultBytesMissing)) made.BytesTransferred = 0;
  if (!good && adapter_->departs(departure::kFailureLooksLikeSuccess)) made.Status = ND_SUCCESS;
  if (completion.status == rdma::CompletionStatus::flushed) {
    if (adapter_->departs(departure::kFlushedSilently)) return;
    if (adapter_->departs(departure::kFlushedAsError)) made.Status = ND_UNSUCCESSFUL;
  }
  if (!good) made.BytesTransferred = 0;
  const bool loud = completion.solicited || (!good && !adapter_->departs(departure::kErrorNotSolicited));
  if (receive) {
    deliver(queue, made, loud);
    give_held();
  } else if (good && (!held_.empty() || (made.RequestType == Nd2RequestTypeSend && adapter_->completes_after_response()))) {
    held_.push_back({made, loud});
    if (!holding_.scheduled()) adapter_->world().loop().schedule_after(holding_, kResponseSoon);
  } else {
    give_held();
    deliver(queue, made, loud);
  }
}

void QueuePairCore::deliver(CompletionQueueCore& queue, const ND2_RESULT& result, bool loud) {
  if (queue.add(result, loud) || device_queue_pair_ == nullptr || phase_ == Phase::ended) return;
  phase_ = Phase::ended;
  device_queue_pair_->fail();
}

/// What waited for the peer's response is reported, in order.
void QueuePairCore::give_held() {
  if (held_.empty()) return;
  adapter_->world().loop().cancel(holding_);
  for (const auto& [result, loud] : std::exchange(held_, {})) deliver(*initiator_queue_, result, loud);
  initiator_queue_->settle();
}

/// The status of a failed request: the honest one, or what a departure makes of it.
HRESULT QueuePairCore::failure(const rdma::Completion& completion, ND2_REQUEST_TYPE type, HRESULT honest) const {
  using enum rdma::CompletionStatus;
  const auto departs = [&](std::string_view point) { return adapter_->departs(point); };
  const auto status = completion.status;
  if (status == retry_exceeded && departs(departure::kDeadPeerCancelled)) return ND_CANCELED;
  const bool local = status == local_protection_error || status == local_access_error || status == local_length_error;
  const bool moves = type == Nd2RequestTypeRead || type == Nd2RequestTypeWrite;
  if (local && moves && departs(departure::kLocalViolationDataError)) return kDataError;
  if (status == local_protection_error && departs(departure::kLocalErrorCode)) return ND_INTERNAL_ERROR;
  if (status == remote_access_error && departs(departure::kRemoteErrorCode)) return ND_INTERNAL_ERROR;
  const bool receive = completion.opcode == rdma::CompletionOpcode::receive;
  if (receive && status == local_length_error && departs(departure::kShortReceiveCode)) return ND_IO_TIMEOUT;
  return honest;
}

// ---------------------------------------------------------------- the interface

HRESULT QueuePair::Flush() {
  core_->adapter().strand().call([&] { core_->flush(); });
  return ND_SUCCESS;
}

HRESULT QueuePair::Send(VOID* context, const ND2_SGE sges[], ULONG count, ULONG flags) {
  constexpr ULONG kKnown = ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE | ND_OP_FLAG_SEND_AND_SOLICIT_EVENT | ND_OP_FLAG_INLINE;
  if ((flags & ~kKnown) != 0 && !core_->adapter().departs(departure::kFlagsUnchecked)) return ND_INVALID_PARAMETER_4;
  return core_->post({.type = Nd2RequestTypeSend, .opcode = rdma::SendOpcode::send, .context = context, .flags = flags}, sges, count);
}

HRESULT QueuePair::Receive(VOID* context, const ND2_SGE sges[], ULONG count) { return core_->post_receive(context, sges, count); }

namespace {

/// Departures: Binds that an honest provider takes.
bool refuses_bind(MemoryRegionCore& region, const MemoryWindowCore& window, ULONG flags) {
  const auto departs = [&](std::string_view point) { return region.adapter().departs(point); };
  const bool rights = (flags & (ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE)) != 0;
  return (!region.allows_remote() && departs(departure::kWindowNeedsRegionRights)) || (!rights && departs(departure::kBindNeedsRight)) ||
         (window.token != 0 && departs(departure::kRebindRefused)) || (region.windows != 0 && departs(departure::kOverlapRefused));
}

}  // namespace

HRESULT QueuePair::Bind(VOID* context, IUnknown* region, IUnknown* window, const VOID* buffer, SIZE_T bytes, ULONG flags) {
  constexpr ULONG kKnown = ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE | ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE;
  if ((flags & ~kKnown) != 0 && !core_->adapter().departs(departure::kBindFlagsUnchecked)) return ND_INVALID_PARAMETER_6;
  HRESULT status = ND_SUCCESS;
  core_->adapter().strand().call([&] {
    auto found_region = core_of<MemoryRegionCore>(region);
    auto found_window = core_of<MemoryWindowCore>(window);
    if (found_region == nullptr || &found_region->adapter() != &core_->adapter()) {
      status = ND_INVALID_PARAMETER_2;
    } else if (found_window == nullptr || &found_window->adapter() != &core_->adapter()) {
      status = ND_INVALID_PARAMETER_3;
    } else if (bytes > core_->adapter().info().MaxWindowSize) {
      status = ND_INVALID_PARAMETER_5;
    } else if (!found_region->covers(buffer, bytes) && !core_->adapter().departs(departure::kBindRangeUnchecked)) {
      status = ND_ACCESS_VIOLATION;
    } else if (refuses_bind(*found_region, *found_window, flags)) {
      status = ND_ACCESS_VIOLATION;
    } else if ((flags & ND_OP_FLAG_ALLOW_WRITE) != 0 && !found_region->allows_local_write() &&
               !core_->adapter().departs(departure::kBindRightsUnchecked)) {
      status = ND_ACCESS_VIOLATION;
    } else {
      const std::uint8_t key = found_window->bound() ? 0 : found_window->next_key_byte();
      status = core_->post({.type = Nd2RequestTypeBind,
                            .opcode = rdma::SendOpcode::fast_register,
                            .context = context,
                            .flags = flags,
                            .window = std::move(found_window),
                            .region = std::move(found_region),
                            .memory = {static_cast<std::uint8_t*>(const_cast<void*>(buffer)), bytes},
                            .key_byte = key},
                           nullptr, 0);
    }
  });
  return status;
}

HRESULT QueuePair::Invalidate(VOID* context, IUnknown* window, ULONG flags) {
  constexpr ULONG kKnown = ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE;
  if ((flags & ~kKnown) != 0 && !core_->adapter().departs(departure::kBindFlagsUnchecked)) return ND_INVALID_PARAMETER_3;
  HRESULT status = ND_SUCCESS;
  core_->adapter().strand().call([&] {
    auto found = core_of<MemoryWindowCore>(window);
    if (found == nullptr || &found->adapter() != &core_->adapter()) {
      status = ND_INVALID_PARAMETER_2;
      return;
    }
    status = core_->post({.type = Nd2RequestTypeInvalidate,
                          .opcode = rdma::SendOpcode::local_invalidate,
                          .context = context,
                          .flags = flags,
                          .window = std::move(found)},
                         nullptr, 0);
  });
  return status;
}

HRESULT QueuePair::Read(VOID* context, const ND2_SGE sges[], ULONG count, UINT64 address, UINT32 token, ULONG flags) {
  constexpr ULONG kKnown = ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE;
  if ((flags & ~kKnown) != 0 && !core_->adapter().departs(departure::kReadWriteFlagsUnchecked)) return ND_INVALID_PARAMETER_6;
  return core_->post({.type = Nd2RequestTypeRead,
                      .opcode = rdma::SendOpcode::rdma_read,
                      .context = context,
                      .flags = flags,
                      .remote_address = address,
                      .rkey = ntohl(token)},
                     sges, count);
}

HRESULT QueuePair::Write(VOID* context, const ND2_SGE sges[], ULONG count, UINT64 address, UINT32 token, ULONG flags) {
  constexpr ULONG kKnown = ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE | ND_OP_FLAG_INLINE;
  if ((flags & ~kKnown) != 0 && !core_->adapter().departs(departure::kReadWriteFlagsUnchecked)) return ND_INVALID_PARAMETER_6;
  return core_->post({.type = Nd2RequestTypeWrite,
                      .opcode = rdma::SendOpcode::rdma_write,
                      .context = context,
                      .flags = flags,
                      .remote_address = address,
                      .rkey = ntohl(token)},
                     sges, count);
}

void QueuePair::released() {
  const auto adapter = core_->shared_adapter();
  adapter->strand().call([&] {
    release_queue_pair(*core_);
    core_.reset();
  });
}

}  // namespace fb::networkdirect
