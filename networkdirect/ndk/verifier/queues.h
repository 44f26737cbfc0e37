// Completion queues, shared receive queues, queue pairs, and the requests that are posted to them.
#pragma once

#include "networkdirect/ndk/verifier/memory.h"

namespace fb::ndk::verifier {

class Connector;

/// What is done with buffers.
enum class Use : std::uint8_t { send, receive, read };

class CompletionQueue final : public Shell<NDK_CQ, NdkObjectTypeCq, &Tables::cq, &NDK_CQ_DISPATCH::NdkCloseCq> {
 public:
  CompletionQueue(Session& session, Adapter& adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK callback, PVOID context)
      : Shell(session, adapter), callback_(callback), context_(context), depth_(depth) {}
  /// One result more may come, or one fewer.
  void expect(Call& call);
  void expect_no_more() { --expected_; }

  static VOID on_notify(PVOID context, NTSTATUS status);
  static NTSTATUS resize(NDK_CQ* queue, ULONG depth, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static VOID arm(NDK_CQ* queue, ULONG type);
  static ULONG get_results(NDK_CQ* queue, NDK_RESULT results[], ULONG count);
  static ULONG get_results_ex(NDK_CQ* queue, NDK_RESULT_EX results[], ULONG count);
  static ULONG get_results_ex_too_early(NDK_CQ* queue, NDK_RESULT_EX results[], ULONG count);
  static NTSTATUS moderate(NDK_CQ* queue, ULONG interval, ULONG count);

 private:
  ULONG take(Call& call, NDK_RESULT_EX results[], ULONG count);
  void closing(Call& call) override;
  void translate(NDK_RESULT_EX& result);

  const NDK_FN_CQ_NOTIFICATION_CALLBACK callback_;
  const PVOID context_;
  ULONG depth_;
  std::uint64_t expected_ = 0;
  bool called_shallow_ = false;
  bool ever_expected_ = false;
  bool ever_armed_ = false;
  bool resizing_ = false;
  bool busy_ = false;  // inside NdkArmCq or NdkGetCqResults
};

class SharedReceiveQueue final : public Shell<NDK_SRQ, NdkObjectTypeSrq, &Tables::srq, &NDK_SRQ_DISPATCH::NdkCloseSrq> {
 public:
  SharedReceiveQueue(Session& session, ProtectionDomain& domain, ULONG depth, ULONG sges, NDK_FN_SRQ_NOTIFICATION_CALLBACK callback,
                     PVOID context)
      : Shell(session, *domain.adapter()), domain_(domain), callback_(callback), context_(context), depth_(depth), sges_(sges) {}
  ProtectionDomain& domain() const { return domain_; }
  std::uint64_t outstanding = 0;

  static VOID on_notify(PVOID context, NTSTATUS status);
  static NTSTATUS modify(NDK_SRQ* queue, ULONG depth, ULONG threshold, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS receive(NDK_SRQ* queue, PVOID context, const NDK_SGE* sges, ULONG count);

 private:
  ProtectionDomain& domain_;
  const NDK_FN_SRQ_NOTIFICATION_CALLBACK callback_;
  const PVOID context_;
  ULONG depth_;
  const ULONG sges_;
};

struct QueuePairTerms {
  CompletionQueue* receive_queue;
  CompletionQueue* initiator_queue;
  SharedReceiveQueue* shared;
  PVOID context;
  ULONG receive_depth, initiator_depth, receive_sges, initiator_sges, inline_bytes;
};

class QueuePair final : public Shell<NDK_QP, NdkObjectTypeQp, &Tables::qp, &NDK_QP_DISPATCH::NdkCloseQp> {
 public:
  QueuePair(Session& session, ProtectionDomain& domain, const QueuePairTerms& terms)
      : Shell(session, *domain.adapter()), domain_(domain), terms_(terms), number_(session.name_queue_pair(*this)) {}
  ProtectionDomain& domain() const { return domain_; }
  const QueuePairTerms& terms() const { return terms_; }
  PVOID context_name() const { return reinterpret_cast<PVOID>(static_cast<std::uintptr_t>(number_)); }

  enum class Link : std::uint8_t { fresh, attached, connected, ended };
  Link link = Link::fresh;
  bool answered = false;     ///< attached, and the connection may stand though the callback is still to come
  bool failed = false;       ///< a result that failed was taken
  bool no_reads = false;     ///< the consumer gave an outbound read limit of zero
  bool agreed_bare = false;  ///< both sides had agreed, or were about to, when no receive was posted
  std::uint64_t receives = 0;
  std::set<std::uint64_t> initiators;  ///< outstanding, in the order in which they were posted
  std::set<std::uint64_t> posted;      ///< all that are outstanding
  bool deferred = false;               ///< the last request was
  /// From now on the peer may send.
  void note_receives() { agreed_bare = terms_.shared == nullptr && receives == 0; }
  /// The connection is over, and the consumer knows.
  void end();
  void judge_deferred(Call& call);

  static VOID flush(NDK_QP* qp);
  static NTSTATUS send(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags);
  static NTSTATUS send_and_invalidate(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags, UINT32 token);
  static NTSTATUS send_and_invalidate_too_early(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, ULONG flags, UINT32 token);
  static NTSTATUS receive(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count);
  static NTSTATUS bind(NDK_QP* qp, PVOID context, NDK_MR* region, NDK_MW* window, PVOID address, SIZE_T length, ULONG flags);
  static NTSTATUS fast_register(NDK_QP* qp, PVOID context, NDK_MR* region, ULONG count, const NDK_LOGICAL_ADDRESS* pages, ULONG offset,
                                SIZE_T length, PVOID base, ULONG flags);
  static NTSTATUS invalidate(NDK_QP* qp, PVOID context, NDK_OBJECT_HEADER* region_or_window, ULONG flags);
  static NTSTATUS read(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, UINT64 address, UINT32 token, ULONG flags);
  static NTSTATUS write(NDK_QP* qp, PVOID context, const NDK_SGE* sges, ULONG count, UINT64 address, UINT32 token, ULONG flags);

 private:
  struct Posting {
    PVOID context;
    const NDK_SGE* sges = nullptr;
    ULONG count = 0;
    ULONG flags = 0;
    ULONG known_flags = 0;
  };
  struct FastRegistration {
    MemoryRegion& region;
    ULONG count;
    const NDK_LOGICAL_ADDRESS* pages;
    ULONG offset;
    SIZE_T length;
    std::uint64_t base;
    ULONG flags;
    Mapping* mapping = nullptr;
  };
  void judge(Call& call, const Posting& posting) const;
  void judge_fast_register(Call& call, FastRegistration& what) const;
  void judge_bind(Call& call, const MemoryRegion& region, const MemoryWindow& window, PVOID address, SIZE_T length, ULONG flags) const;
  template <class Work>
  NTSTATUS post(Call& call, const Posting& posting, Posted request, Work&& work);
  template <class Work>
  NTSTATUS transfer(Call& call, const Posting& posting, NDK_OPERATION_TYPE type, Use use, Work&& work);
  void accepted(std::uint64_t id, const Posted& request);
  void closing(Call& call) override;
  void closed() override;

  ProtectionDomain& domain_;
  const QueuePairTerms terms_;
  const std::uint64_t number_;
};

/// A request that was posted: a place in a queue, memory that it uses.
struct Posted {
  QueuePair* queue_pair = nullptr;       ///< null for a shared queue's
  SharedReceiveQueue* shared = nullptr;  ///< null for all others
  bool receive = false;
  NDK_OPERATION_TYPE type = NdkOperationTypeSend;
  CompletionQueue* expected_on = nullptr;  ///< where it counts among the results to come
  bool silent = false;
  bool ceased = false;
  PVOID context = nullptr;
  std::vector<MemoryRegion*> regions;
  std::vector<Mapping*> mappings;
  MemoryRegion* region = nullptr;  ///< that it makes valid or invalid
  MemoryWindow* window = nullptr;
};

/// Judges the buffers of a request, and notes what they use.
void judge_buffers(Call& call, const ProtectionDomain& domain, const NDK_SGE* sges, ULONG count, Use use, Posted& request);
std::uint64_t total_bytes(const NDK_SGE* sges, ULONG count);

}  // namespace fb::ndk::verifier
