// Completion queues. Results come straight from the device's queue when the consumer asks and nothing older waits in the
// ring; what is noticed meanwhile (because the queue is armed, or flushed) waits there.
//
// A queue that nobody arms or polls is looked at by nobody: it overruns when somebody does. Until then the device has
// room for the largest depth that the adapter knows.
#pragma once

#include "networkdirect/ndk/provider/adapter.h"

namespace fb::ndk::provider {

class CompletionQueue final : public NDK_CQ, public Object, public rdma::CompletionHandler {
 public:
  CompletionQueue(Adapter& adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK callback, PVOID context);
  rdma::CompletionQueue& device_queue() { return *device_; }
  bool dead() const { return status_ != STATUS_SUCCESS; }

  /// A result of our own making. Whoever adds calls settle() when he is done.
  void add(const NDK_RESULT_EX& result, bool wakes_solicited);
  /// Takes over what the device has.
  void drain();
  /// Calls back when it is time to.
  void settle();

  /// Queue pairs whose results come here, for the day it dies.
  void attach(QueuePair& qp) { users_.push_back(&qp); }
  void detach(QueuePair& qp) { std::erase(users_, &qp); }

  static NTSTATUS create(NDK_ADAPTER* adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK callback, PVOID callback_context,
                         GROUP_AFFINITY* affinity, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_CQ** place);
  static NTSTATUS resize(NDK_CQ* cq, ULONG depth, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static VOID arm(NDK_CQ* cq, ULONG type);
  static ULONG get_results(NDK_CQ* cq, NDK_RESULT results[], ULONG count);
  static ULONG get_results_ex(NDK_CQ* cq, NDK_RESULT_EX results[], ULONG count);
  static NTSTATUS control_moderation(NDK_CQ* cq, ULONG interval_us, ULONG count);

 private:
  static constexpr ULONG kUnarmed = ~ULONG{0};

  ~CompletionQueue() override;
  void on_completions() override;
  void begin_close() override;
  void take_down() override;
  template <class Take>
  ULONG take(ULONG count, Take&& take_one);
  NTSTATUS do_resize(ULONG depth);
  bool due() const;
  void watch();
  void call();
  void fail();

  std::unique_ptr<rdma::CompletionQueue> device_;
  NDK_FN_CQ_NOTIFICATION_CALLBACK callback_;
  PVOID context_;
  ULONG depth_;
  std::vector<NDK_RESULT_EX> ring_;
  // Results by their numbers: those from taken to added wait in the ring; told is the last of which a callback told,
  // solicited the last that a solicited arm waits for.
  std::uint64_t taken_ = 0, added_ = 0, told_ = 0, solicited_ = 0;
  NTSTATUS status_ = STATUS_SUCCESS;
  bool status_told_ = false;
  ULONG armed_ = kUnarmed;
  bool calling_ = false;
  ULONG moderation_us_ = 0, moderation_count_ = 0;
  bool moderation_over_ = false;  ///< the interval has passed
  std::vector<QueuePair*> users_;
  Timer<CompletionQueue, &CompletionQueue::call> call_event_{"ndk.cq.notify", *this};
  void on_moderation_over();
  Timer<CompletionQueue, &CompletionQueue::on_moderation_over> moderation_event_{"ndk.cq.moderation", *this};
};

}  // namespace fb::ndk::provider
