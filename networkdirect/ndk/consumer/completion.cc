#include "networkdirect/ndk/consumer/completion.h"

#include <algorithm>
#include <array>

#include "networkdirect/ndk/consumer/misdeeds.h"
#include "networkdirect/ndk/consumer/queue_pair.h"

namespace fb::ndk::consumer {

// ---- completion queue ----

void CompletionCore::open(std::uint32_t entries) {
  const ULONG depth = s.departs("cq.too_deep") ? s.info.MaxCqDepth + 1 : std::clamp<ULONG>(entries, 1, s.info.MaxCqDepth);
  create<NDK_CQ>(
      [&](auto completion, PVOID context, NDK_CQ** place) {
        return s.adapter.Dispatch->NdkCreateCq(&s.adapter, depth, &CompletionCore::on_event, this, nullptr, completion, context, place);
      },
      [this](NTSTATUS status, NDK_OBJECT_HEADER* object) {
        cq_ = reinterpret_cast<NDK_CQ*>(object);
        settle(status);
        // Who asked for a notification meanwhile is waited for. Nothing of a queue that was given up.
      });
}

void CompletionCore::begin_close() {
  s.world.loop().cancel(event_);
  if (cq_ == nullptr || s.departs("cq.leaked")) return gone();
  NDK_CQ& cq = *cq_;
  const bool later = s.departs("cq.used_after_close");
  close_object(s, "cq", cq.Dispatch->NdkCloseCq, cq.Header, [this] { gone(); });
  if (later) cq.Dispatch->NdkArmCq(&cq, NDK_CQ_NOTIFY_ANY);
}

std::size_t CompletionCore::poll(std::span<rdma::Completion> completions) {
  std::size_t count = ready() ? poll_provider(completions) : 0;
  while (count < completions.size() && !own_.empty()) {
    completions[count++] = own_.front();
    own_.pop_front();
  }
  return count;
}

std::size_t CompletionCore::poll_provider(std::span<rdma::Completion> completions) {
  constexpr std::size_t kBatch = 16;
  std::size_t count = 0;
  polling_ = true;
  const bool extended = s.knows(1, 2);
  while (count < completions.size()) {
    const ULONG room = static_cast<ULONG>(std::min(kBatch, completions.size() - count));
    std::array<NDK_RESULT_EX, kBatch> results = {};
    ULONG taken = 0;
    if (extended) {
      taken = cq_->Dispatch->NdkGetCqResultsEx(cq_, results.data(), room);
    } else {
      std::array<NDK_RESULT, kBatch> plain = {};
      taken = cq_->Dispatch->NdkGetCqResults(cq_, plain.data(), room);
      for (ULONG i = 0; i < taken; ++i) {
        results[i].Status = plain[i].Status;
        results[i].BytesTransferred = plain[i].BytesTransferred;
        results[i].QPContext = plain[i].QPContext;
        results[i].RequestContext = plain[i].RequestContext;
      }
    }
    for (ULONG i = 0; i < taken; ++i) {
      // A queue pair that is destroyed has no completions any more.
      const auto number = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(results[i].QPContext));
      const auto qp = s.by_number.find(number);
      if (qp != s.by_number.end() && qp->second->convert(results[i], extended, completions[count])) ++count;
    }
    if (taken < room) break;
  }
  polling_ = false;
  return count;
}

void CompletionCore::request_notify(rdma::CompletionHandler& handler, bool solicited_only) {
  handler_ = &handler;
  solicited_only_ = solicited_only;
  if (!own_.empty()) wake();
  if (ready()) return arm();
  when_settled([this] {
    if (ready() && handler_ != nullptr) arm();
  });
}

void CompletionCore::arm() {
  // One that is armed for everything tells of what is solicited as well.
  if (armed_ && (armed_for_all_ || solicited_only_)) return;
  armed_ = true;
  armed_for_all_ = !solicited_only_;
  if (s.departs("cq.never_armed")) return;
  ULONG type = solicited_only_ ? NDK_CQ_NOTIFY_SOLICITED : NDK_CQ_NOTIFY_ANY;
  if (s.departs("cq.armed_wrongly")) type = 7;
  cq_->Dispatch->NdkArmCq(cq_, type);
}

void CompletionCore::cancel_notify() {
  handler_ = nullptr;
  s.world.loop().cancel(event_);
}

void CompletionCore::push(const rdma::Completion& completion) {
  own_.push_back(completion);
  wake();
}

/// From the provider, perhaps from inside a call of ours: the handler is called from an event.
VOID CompletionCore::on_event(PVOID context, NTSTATUS status) {
  auto* self = static_cast<CompletionCore*>(context);
  self->armed_ = false;
  if (status != STATUS_SUCCESS) {
    const auto users = self->users_;
    for (QueuePairCore* qp : users) qp->broken();
  }
  if (self->ready() && self->s.departs("cq.polled_in_callback")) {
    // While NdkArmCq has not returned, if the provider calls from there.
    NDK_RESULT none;
    self->cq_->Dispatch->NdkGetCqResults(self->cq_, &none, 0);
  }
  if (self->s.departs("query.in_callback")) {
    NDK_ADAPTER_INFO info = {};
    ULONG size = sizeof info;
    self->s.adapter.Dispatch->NdkQueryAdapterInfo(&self->s.adapter, &info, &size);
  }
  self->wake();
}

void CompletionCore::notify() {
  if (handler_ == nullptr) return;
  std::exchange(handler_, nullptr)->on_completions();
}

// ---- names of receives ----

PVOID ReceiveNames::add(std::uint64_t id) {
  std::size_t place = ids_.size();
  if (free_.empty()) {
    ids_.push_back(id);
  } else {
    place = free_.back();
    free_.pop_back();
    ids_[place] = id;
  }
  return reinterpret_cast<PVOID>(place << 1 | 1);
}

std::uint64_t ReceiveNames::take(PVOID context) {
  const std::size_t place = reinterpret_cast<std::uintptr_t>(context) >> 1;
  BENCH_ASSERT(place < ids_.size(), "the provider gives back the context that it was given");
  free_.push_back(place);
  return ids_[place];
}

SgeList::SgeList(Shared& shared, std::span<const rdma::Sge> sges) : size_(static_cast<ULONG>(sges.size())) {
  if (sges.size() > few_.size()) many_.resize(sges.size());
  NDK_SGE* next = many_.empty() ? few_.data() : many_.data();
  for (const rdma::Sge& sge : sges) {
    NDK_SGE& made = *next++;
    made = {};
    made.Length = sge.length;
    // Of a key that nobody has, the completion tells.
    made.MemoryRegionToken = 0xFFFFFFFF;
    made.VirtualAddress = reinterpret_cast<PVOID>(static_cast<std::uintptr_t>(sge.address));
    const auto found = shared.by_handle.find(sge.lkey);
    if (found == shared.by_handle.end()) continue;
    RegionCore& region = *found->second;
    if (!region.settled()) {
      missing = &region;
      continue;
    }
    made.MemoryRegionToken = region.local_token();
    if (shared.departs("post.bad_token")) made.MemoryRegionToken ^= 0x00F0F000u;
    // Memory at a chosen address is that for the peer alone; a fast region's addresses are what it was given.
    if (region.fast()) continue;
    if (std::uint8_t* pointer = region.pointer(sge.address, sge.length)) {
      made.VirtualAddress = pointer;
    } else {
      made.VirtualAddress = reinterpret_cast<PVOID>(reinterpret_cast<std::uintptr_t>(region.memory.data()) +
                                                    static_cast<std::uintptr_t>(sge.address - region.iova));
    }
  }
}

// ---- shared receive queue ----

void SharedQueueCore::open(std::uint32_t entries) {
  entries_ = entries;
  domain_->when_settled([this] {
    if (!domain_->ready() || closing()) return settle(domain_->ready() ? STATUS_CANCELLED : domain_->status());
    create<NDK_SRQ>(
        [&](auto completion, PVOID context, NDK_SRQ** place) {
          NDK_PD& pd = domain_->pd();
          // No threshold yet: arm_limit() sets it.
          return pd.Dispatch->NdkCreateSrq(&pd, std::clamp<ULONG>(entries_, 1, s.info.MaxSrqDepth), s.limits.max_sges, 0,
                                           &SharedQueueCore::on_event, this, nullptr, completion, context, place);
        },
        [this](NTSTATUS status, NDK_OBJECT_HEADER* object) {
          srq_ = reinterpret_cast<NDK_SRQ*>(object);
          if (status == STATUS_SUCCESS && !closing()) {
            when_settled([this] {
              if (limit_ > 0) set_limit();
              go_on();
            });
          }
          settle(status);
        });
  });
}

void SharedQueueCore::begin_close() {
  s.world.loop().cancel(event_);
  if (srq_ == nullptr || s.departs("srq.leaked")) return gone();
  NDK_SRQ& srq = *srq_;
  const bool later = s.departs("srq.used_after_close");
  close_object(s, "srq", srq.Dispatch->NdkCloseSrq, srq.Header, [this] { gone(); });
  if (later) srq.Dispatch->NdkSrqReceive(&srq, nullptr, nullptr, 0);
}

bool SharedQueueCore::post(const rdma::ReceiveRequest& request) {
  if (settled() && !ready()) return false;
  if (request.sges.size() > s.limits.max_sges) return false;
  const SgeList sges(s, request.sges);
  if (ready() && sges.missing == nullptr && late_.empty()) return issue(request.id, sges);
  if (late_.size() >= entries_) return false;
  late_.push_back({request.id, {request.sges.begin(), request.sges.end()}});
  if (ready()) go_on();
  return true;
}

bool SharedQueueCore::issue(std::uint64_t id, const SgeList& sges) {
  const PVOID context = names.add(id);
  const NTSTATUS status = srq_->Dispatch->NdkSrqReceive(srq_, context, sges.data(), sges.size());
  if (status != STATUS_SUCCESS) names.take(context);
  return status == STATUS_SUCCESS;
}

/// Posts what waited, in its order, as far as its memory is there.
void SharedQueueCore::go_on() {
  while (!late_.empty() && ready()) {
    const SgeList sges(s, late_.front().sges);
    if (sges.missing != nullptr) {
      sges.missing->when_settled([weak = weak_from_this()] {
        if (const auto self = std::static_pointer_cast<SharedQueueCore>(weak.lock())) self->go_on();
      });
      return;
    }
    issue(late_.front().id, sges);
    late_.pop_front();
  }
}

void SharedQueueCore::arm_limit(std::uint32_t entries) {
  limit_ = entries;
  if (ready() && limit_ > 0) set_limit();
}

void SharedQueueCore::set_limit() {
  request([this](auto completion, PVOID context) { return srq_->Dispatch->NdkModifySrq(srq_, 0, limit_, completion, context); },
          [](NTSTATUS, NDK_OBJECT_HEADER*) {});
}

VOID SharedQueueCore::on_event(PVOID context, NTSTATUS status) {
  auto* self = static_cast<SharedQueueCore*>(context);
  if (self->closing() || status != STATUS_SUCCESS || self->limit_ == 0) return;
  self->limit_ = 0;  // one-shot
  if (self->handler_ != nullptr) self->s.world.loop().schedule(self->event_, self->s.world.now());
}

void SharedQueueCore::report() {
  if (owner != nullptr) handler_->on_limit(*owner);
}

}  // namespace fb::ndk::consumer
