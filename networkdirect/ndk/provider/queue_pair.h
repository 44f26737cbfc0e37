// Queue pairs. The device's queue pair exists from an attempt to connect on; receives that are posted before wait in a
// ring of ours. Of requests and receives that the device has, we keep the consumer's context.
//
// When a connection ends the device flushes what is posted. NDK wants that at once when the consumer ends it, or a
// request fails, but not when the peer does: then everything stays outstanding until the consumer flushes, disconnects
// or closes. So what the device says of flushed requests is never passed on: cancel_all() speaks for all that is outstanding.
#pragma once

#include "networkdirect/ndk/provider/completion_queue.h"
#include "networkdirect/ndk/provider/memory.h"
#include "networkdirect/ndk/provider/shared_receive_queue.h"

namespace fb::ndk::provider {

class Connector;

struct QueuePairTerms {
  PVOID context = nullptr;
  ULONG receive_depth = 0;
  ULONG initiator_depth = 0;
  ULONG max_receive_sges = 0;
  ULONG max_initiator_sges = 0;
  ULONG inline_bytes = 0;
};

class QueuePair final : public NDK_QP, public Object, public rdma::ConnectionHandler {
 public:
  QueuePair(ProtectionDomain& domain, CompletionQueue& receive_queue, CompletionQueue& initiator_queue, SharedReceiveQueue* shared,
            const QueuePairTerms& terms);

  bool shares_receives() const { return shared_ != nullptr; }
  ProtectionDomain& domain() const { return domain_; }

  // For the connector.
  enum class Phase : std::uint8_t { idle, connecting, connected, ended };
  Phase phase() const { return phase_; }
  /// A device queue pair for an attempt to connect; null when the device makes none.
  rdma::QueuePair* attach(Connector& connector);
  rdma::QueuePair* device_queue_pair() { return device_.get(); }
  /// The device may take receives from now on: the connection is about to be made.
  void give_receives();
  void connected() { phase_ = Phase::connected; }
  /// The attempt has failed; the queue pair is as it was before.
  void detach();
  /// The connector goes, or has no more to hear.
  void leave() { connector_ = nullptr; }
  enum class Outstanding : std::uint8_t { cancelled, kept };
  /// The connection is over.
  void end(Outstanding outstanding);
  /// What was kept when the connection ended is cancelled.
  void release_kept();
  /// Something of it has failed: the connection ends, and the peer hears of it.
  void end_broken();

  /// What the consumer sees of a completion of the device. False: nothing.
  bool convert(const rdma::Completion& completion, NDK_RESULT_EX& result);

  static NTSTATUS create(NDK_PD* domain, NDK_CQ* receive_queue, NDK_CQ* initiator_queue, PVOID qp_context, ULONG receive_depth,
                         ULONG initiator_depth, ULONG max_receive_sges, ULONG max_initiator_sges, ULONG inline_bytes,
                         NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_QP** place);
  static NTSTATUS create_with_srq(NDK_PD* domain, NDK_CQ* receive_queue, NDK_CQ* initiator_queue, NDK_SRQ* shared, PVOID qp_context,
                                  ULONG initiator_depth, ULONG max_initiator_sges, ULONG inline_bytes, NDK_FN_CREATE_COMPLETION completion,
                                  PVOID context, NDK_QP** place);
  static VOID flush(NDK_QP* qp);
  static NTSTATUS send(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags);
  static NTSTATUS send_and_invalidate(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags, UINT32 token);
  static NTSTATUS receive(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count);
  static NTSTATUS bind(NDK_QP* qp, PVOID context, NDK_MR* region, NDK_MW* window, PVOID address, SIZE_T length, ULONG flags);
  static NTSTATUS fast_register(NDK_QP* qp, PVOID context, NDK_MR* region, ULONG count, const NDK_LOGICAL_ADDRESS* pages, ULONG offset,
                                SIZE_T length, PVOID base, ULONG flags);
  static NTSTATUS invalidate(NDK_QP* qp, PVOID context, NDK_OBJECT_HEADER* region_or_window, ULONG flags);
  static NTSTATUS read(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, UINT64 address, UINT32 token, ULONG flags);
  static NTSTATUS write(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, UINT64 address, UINT32 token, ULONG flags);

 private:
  // What was posted, by its number: the oldest that is not done is head.
  struct Ring {
    std::uint64_t head = 0, tail = 0;
    std::uint64_t size() const { return tail - head; }
  };
  struct Request {
    PVOID context = nullptr;
    NDK_OPERATION_TYPE type = NdkOperationTypeSend;
    ULONG length = 0;
  };
  struct Receive {
    PVOID context = nullptr;
    ULONG sges = 0;
  };
  struct Deferred {
    rdma::SendRequest request;
    std::vector<rdma::Sge> sges;
    UINT32 invalidate = 0;
  };
  /// A request as the consumer gave it. Known flags are those that its function permits.
  struct Posting {
    NDK_OPERATION_TYPE type;
    ULONG known_flags;
  };
  ~QueuePair() override;

  NTSTATUS post(const Posting& posting, rdma::SendRequest& request, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags);
  NTSTATUS refuse(const Posting& posting, PVOID context, NTSTATUS status);
  void depart_in_request(rdma::SendRequest& request, NDK_OPERATION_TYPE type);
  bool gather_inline(const NDK_SGE* sges, ULONG count, UINT64 length);
  void give(rdma::SendRequest& request, UINT32 invalidate);
  void kick();
  NTSTATUS do_receive(PVOID context, const NDK_SGE* sges, ULONG count);
  NTSTATUS bind_window(const Posting& posting, PVOID context, MemoryRegion& region, MemoryWindow& window, PVOID address, SIZE_T length,
                       ULONG flags);
  void do_flush();
  void cancel_all();
  void cancel_receives();
  void cancel_requests();
  void drain();
  void settle_queues();
  NDK_RESULT_EX result(NTSTATUS status, PVOID context, NDK_OPERATION_TYPE type) const;
  void depart_in_result(NDK_RESULT_EX& made) const;

  void begin_close() override;
  void take_down() override;
  void on_established(rdma::QueuePair& qp, const rdma::ConnectionFacts& facts) override;
  void on_accepted(rdma::QueuePair& qp, const rdma::ConnectionFacts& facts) override;
  void on_rejected(rdma::QueuePair& qp, std::uint16_t reason, ByteView private_data) override;
  void on_unreachable(rdma::QueuePair& qp) override;
  void on_disconnected(rdma::QueuePair& qp) override;
  void on_queue_error(rdma::QueuePair& qp) override;

  ProtectionDomain& domain_;
  CompletionQueue& receive_queue_;
  CompletionQueue& initiator_queue_;
  SharedReceiveQueue* const shared_;
  const QueuePairTerms terms_;
  std::unique_ptr<rdma::QueuePair> device_;
  Connector* connector_ = nullptr;
  Phase phase_ = Phase::idle;
  bool kept_ = false;       // ended, and what is outstanding is not cancelled yet
  bool receiving_ = false;  // the device has our receives

  Ring sends_, receives_;
  std::vector<Request> requests_;  // by number; a power of two
  std::vector<Receive> posted_;
  std::vector<rdma::Sge> waiting_;  // of receives that the device has not got yet
  std::vector<rdma::Sge> scratch_;
  std::vector<Deferred> deferred_;
  Bytes inline_data_;
  std::unique_ptr<rdma::MemoryRegion> inline_region_;
  std::vector<MemoryWindow*> windows_;  // bound here
  std::vector<MutableBytes> pieces_;
};

/// The sum of the lengths.
UINT64 total_length(const NDK_SGE* sges, ULONG count);
/// As the device wants them. The privileged token's become those of their mappings; what is not mapped becomes what the
/// completion will refuse.
void translate(ProtectionDomain& domain, const NDK_SGE* sges, ULONG count, rdma::Sge* to);
NTSTATUS status_of(rdma::CompletionStatus status, NDK_OPERATION_TYPE type);

}  // namespace fb::ndk::provider
