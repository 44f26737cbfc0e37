// An open adapter: the root of its objects, and what they all need.
#pragma once

#include <array>

#include "networkdirect/ndk/provider/logical.h"
#include "networkdirect/ndk/provider/objects.h"
#include "networkdirect/ndk/provider/tables.h"

namespace fb::ndk::provider {

class QueuePair;
class MemoryRegion;

class Adapter final : public NDK_ADAPTER {
 public:
  Adapter(Miniport& miniport, NDK_VERSION version);
  ~Adapter();

  Miniport& miniport() const { return miniport_; }
  World& world() const { return miniport_.world; }
  rdma::Device& device() const { return miniport_.device; }
  Kernel& kernel() const { return miniport_.kernel; }
  const NDK_ADAPTER_INFO& info() const { return info_; }
  const Tables& tables() const { return tables_; }
  const rdma::DeviceLimits& limits() const { return limits_; }
  bool knows(USHORT major, USHORT minor) const {
    return Header.Version.Major > major || (Header.Version.Major == major && Header.Version.Minor >= minor);
  }
  bool hooked() const { return miniport_.hooked(); }
  bool departs(std::string_view point) const { return miniport_.departs(point); }
  /// Whether a request is refused for want of resources, this time.
  bool refuses() const { return miniport_.options.hooks != nullptr && miniport_.options.hooks->refuses(); }
  LogicalSpace& logical() { return logical_; }
  /// Every function that may be called at DISPATCH_LEVEL begins with this one.
  void enter(std::string_view function) {
    kernel().check_irql(hooked() && departs(departure::kNeedsPassive) ? PASSIVE_LEVEL : DISPATCH_LEVEL, function);
    bring_copies_up_to_date();
  }

  /// Runs a callback of the consumer at DISPATCH_LEVEL. Who calls pins what he needs afterwards.
  template <class Call>
  void call_back(Call&& call) {
    ++calling_back_;
    {
      const bool too_high = hooked() && departs(departure::kCallbackTooHigh);
      const IrqlRaiser raiser(kernel(), too_high ? DISPATCH_LEVEL + 1 : DISPATCH_LEVEL);
      call();
    }
    --calling_back_;
  }
  /// The same from an event of its own; the adapter is open until then.
  void call_back_later(std::function<void()> call) {
    ++pending_;
    miniport_.later([this, call = std::move(call)] {
      --pending_;
      call_back(call);
    });
  }

  /// Answers a request on `object` that may pend. `work` does it and returns its status: now, or later in the event that
  /// calls back. When the object is closed before, the work is not done and the status is STATUS_CANCELLED.
  template <class Work>
  NTSTATUS answer(Object& object, NDK_FN_REQUEST_COMPLETION completion, PVOID context, Work work);
  /// The same of a request on the adapter itself.
  template <class Work>
  NTSTATUS answer_adapter(NDK_FN_REQUEST_COMPLETION completion, PVOID context, Work work);
  /// Answers a creation on an object that keeps `made` (null: it failed with `status`) from then on.
  template <class T, class Ndk>
  NTSTATUS answer_creation(NTSTATUS status, T* made, NDK_FN_CREATE_COMPLETION completion, PVOID context, Ndk** place);
  /// Tells the end of a request that has pended, from an event of its own; `object` is pinned until then.
  void complete(Object& object, NDK_FN_REQUEST_COMPLETION completion, PVOID context, NTSTATUS status);

  /// Device queue pairs cannot go while they speak to us: they go in an event of their own.
  void bury(std::unique_ptr<rdma::QueuePair> qp) {
    if (qp != nullptr) miniport_.later([grave = std::shared_ptr<rdma::QueuePair>(std::move(qp))] {});
  }
  /// A queue pair has failed with a completion: it is ended when the completion queue has been emptied.
  void note_broken(QueuePair& qp) { broken_.push_back(&qp); }
  bool any_broken() const { return !broken_.empty(); }
  void end_broken();
  void forget(QueuePair& qp) { std::erase(broken_, &qp); }

  /// Regions that are kept by copying: brought up to date whenever the consumer comes or is called.
  void keep_copy(MemoryRegion& region) { copies_.push_back(&region); }
  void drop_copy(MemoryRegion& region) { std::erase(copies_, &region); }
  void stop_copying(MutableBytes memory);
  void bring_copies_up_to_date() {
    if (!copies_.empty()) [[unlikely]]
      copy_all();
  }

  /// A domain of the device for a protection domain of ours; a departure has one for all.
  std::shared_ptr<rdma::ProtectionDomain> device_domain();

  std::size_t live(NDK_OBJECT_TYPE type) const { return live_[type]; }
  std::size_t live() const { return objects_.size(); }
  /// Nothing is left, and nobody is being called back.
  bool idle() const { return objects_.empty() && pending_ == 0 && calling_back_ == 0; }
  /// Ends all objects in an order that their dependence permits, without calling back.
  void end_all();

 private:
  friend class Object;
  void tell(NDK_FN_REQUEST_COMPLETION completion, PVOID context, NTSTATUS status);
  void copy_all();

  Miniport& miniport_;
  const Tables& tables_;
  const rdma::DeviceLimits limits_;
  NDK_ADAPTER_INFO info_ = {};
  LogicalSpace logical_;
  std::list<Object*> objects_;  // in the order of their creation
  std::array<std::size_t, NdkObjectTypeMax> live_ = {};
  std::size_t pending_ = 0;  // answers on their way
  std::size_t calling_back_ = 0;
  std::vector<QueuePair*> broken_;
  std::vector<MemoryRegion*> copies_;
  std::weak_ptr<rdma::ProtectionDomain> newest_domain_;
  bool ending_all_ = false;
};

// Entries of NDK_ADAPTER_DISPATCH.
NTSTATUS query_extension(NDK_OBJECT_HEADER* object, GUID* id, NDK_VERSION version, NDK_EXTENSION_INTERFACE* out);
NTSTATUS query_adapter_info(NDK_ADAPTER* adapter, NDK_ADAPTER_INFO* info, ULONG* size);
NTSTATUS build_lam(NDK_ADAPTER* adapter, MDL* mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION completion, PVOID context,
                   NDK_LOGICAL_ADDRESS_MAPPING* mapping, ULONG* size, ULONG* offset);
VOID release_lam(NDK_ADAPTER* adapter, NDK_LOGICAL_ADDRESS_MAPPING* mapping);

// ---------------------------------------------------------------- templates

template <class Work>
NTSTATUS Adapter::answer_adapter(NDK_FN_REQUEST_COMPLETION completion, PVOID context, Work work) {
  switch (miniport_.next_way(true)) {
    case Miniport::Way::at_once: {
      const NTSTATUS status = work();
      if (hooked() && departs(departure::kRequestCompletesInline)) tell(completion, context, status);
      return status;
    }
    case Miniport::Way::before_return:
      tell(completion, context, work());
      return STATUS_PENDING;
    case Miniport::Way::later:
      break;
  }
  ++pending_;
  miniport_.later(
      [this, completion, context, work = std::move(work)]() mutable {
        tell(completion, context, work());
        --pending_;
      },
      miniport_.options.answer_delay);
  return STATUS_PENDING;
}

template <class Work>
NTSTATUS Adapter::answer(Object& object, NDK_FN_REQUEST_COMPLETION completion, PVOID context, Work work) {
  object.pin();
  // Until the callback has returned, or it is certain that none comes.
  const auto complete_it = [this, &object, completion, context](NTSTATUS status) {
    tell(completion, context, status);
    object.unpin();
  };
  switch (miniport_.next_way(true)) {
    case Miniport::Way::at_once: {
      const NTSTATUS status = work();
      if (hooked() && departs(departure::kRequestCompletesInline)) tell(completion, context, status);
      object.unpin();
      return status;
    }
    case Miniport::Way::before_return:
      complete_it(work());
      return STATUS_PENDING;
    case Miniport::Way::later:
      break;
  }
  ++pending_;
  miniport_.later(
      [this, &object, complete_it, work = std::move(work)]() mutable {
        const NTSTATUS status = object.closing() ? STATUS_CANCELLED : work();
        --pending_;
        complete_it(status);
      },
      miniport_.options.answer_delay);
  return STATUS_PENDING;
}

template <class T, class Ndk>
NTSTATUS Adapter::answer_creation(NTSTATUS status, T* made, NDK_FN_CREATE_COMPLETION completion, PVOID context, Ndk** place) {
  if (made != nullptr && refuses()) {
    Object& unwanted = *made;
    unwanted.take_down();
    unwanted.end();
    return answer_creation<T, Ndk>(STATUS_INSUFFICIENT_RESOURCES, nullptr, completion, context, place);
  }
  Ndk* const object = made;
  NDK_OBJECT_HEADER* const header = object == nullptr ? nullptr : &object->Header;
  const Miniport::Way way = miniport_.next_way(false);
  if (way == Miniport::Way::at_once) {
    if (status == STATUS_SUCCESS) *place = object;
    if (hooked() && departs(departure::kCreateCompletesInline)) call_back([&] { completion(context, status, header); });
    return status;
  }
  if (hooked() && departs(departure::kCreateTouchesPlace)) *place = object;
  if (hooked() && departs(departure::kCreateNeverCompletes)) return STATUS_PENDING;
  const auto tell_it = [this, completion, context, status, header] {
    call_back([&] { completion(context, status, header); });
    if (hooked() && departs(departure::kCreateCompletesTwice)) call_back([&] { completion(context, status, header); });
  };
  if (way == Miniport::Way::before_return) {
    tell_it();
    return STATUS_PENDING;
  }
  ++pending_;
  miniport_.later(
      [this, tell_it] {
        tell_it();
        --pending_;
      },
      miniport_.options.answer_delay);
  return STATUS_PENDING;
}

}  // namespace fb::ndk::provider
