// Rules on requests, for every kind of them: flags, silence, the fence, and what results say of requests that fail or are flushed.
#include <array>
#include <functional>
#include <map>

#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

constexpr UINT64 kBase = 0x5000'0000;
constexpr ULONG kCommon = NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_READ_FENCE | NDK_OP_FLAG_DEFER;
constexpr ULONG kBindRights = NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE;

enum class Kind : std::uint8_t { send, send_and_invalidate, read, write, bind, invalidate_window, fast_register, invalidate_region };

struct KindFacts {
  Kind kind;
  std::string_view name;
  NDK_OPERATION_TYPE type;
  ULONG flags;  ///< that the function takes
};
constexpr std::array<KindFacts, 8> kKinds = {{
    {Kind::send, "NdkSend", NdkOperationTypeSend, kCommon | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE},
    {Kind::send_and_invalidate, "NdkSendAndInvalidate", NdkOperationTypeSend,
     kCommon | NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT | NDK_OP_FLAG_INLINE},
    {Kind::read, "NdkRead", NdkOperationTypeRead, kCommon | NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE},
    {Kind::write, "NdkWrite", NdkOperationTypeWrite, kCommon | NDK_OP_FLAG_INLINE},
    {Kind::bind, "NdkBind", NdkOperationTypeBind, kCommon | kBindRights},
    {Kind::invalidate_window, "NdkInvalidate of a window", NdkOperationTypeInvalidate, kCommon},
    {Kind::fast_register, "NdkFastRegister", NdkOperationTypeFastRegister,
     kCommon | kBindRights | NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_RDMA_READ_SINK},
    {Kind::invalidate_region, "NdkInvalidate of a region", NdkOperationTypeInvalidate, kCommon},
}};

/// Requests of the active side of a connection.
class Requests {
 public:
  Requests(NdkBench& ndk, Check& check, NdkConnection& connection)
      : c(connection),
        ndk_(ndk),
        check_(check),
        pages_(&ndk.a().plain_memory(PAGE_SIZE)),
        lam_(&mapped(ndk, check, ndk.a(), &pages_->mdl, PAGE_SIZE)),
        piece(c.a.memory->sge(64, 32)) {}

  NdkConnection& c;

  /// What the request needs to succeed. The results of both sides are taken.
  void prepare(Kind kind) {
    window_ = ndk_.a().window();
    region_ = ndk_.a().fast_region();
    if (kind == Kind::send || kind == Kind::send_and_invalidate) arranged_by(check_, "NdkReceive", c.b.receive(900, 0, 4096));
    if (kind == Kind::send_and_invalidate) token_ = peers_token();
    if (kind == Kind::invalidate_window) arranged_by(check_, "NdkBind", done(post(Kind::bind, 901, 0)));
    if (kind == Kind::invalidate_region) arranged_by(check_, "NdkFastRegister", done(post(Kind::fast_register, 902, 0)));
  }
  /// What makes it fail when it is executed.
  void spoil(Kind kind) {
    prepare(kind == Kind::bind || kind == Kind::fast_register ? Kind::read : kind);
    if (kind == Kind::bind) arranged_by(check_, "NdkBind", done(post(Kind::bind, 901, 0)));
    if (kind == Kind::fast_register) arranged_by(check_, "NdkFastRegister", done(post(Kind::fast_register, 902, 0)));
    if (kind == Kind::invalidate_window) window_ = ndk_.a().window();
    if (kind == Kind::invalidate_region) region_ = ndk_.a().fast_region();
    if (kind == Kind::send || kind == Kind::send_and_invalidate) piece.MemoryRegionToken ^= 0x5500;
    if (kind == Kind::read || kind == Kind::write) remote_ = c.b.memory->remote ^ 0x550000;
  }
  NdkStatus post(Kind kind, std::uintptr_t tag, ULONG flags) {
    NDK_QP* const qp = c.a.qp;
    const PVOID context = ndk_tag(tag);
    const UINT32 remote = remote_ != 0 ? remote_ : c.b.memory->remote;
    const UINT64 there = c.b.memory->address(kThere);
    switch (kind) {
      case Kind::send:
        return qp->Dispatch->NdkSend(qp, context, &piece, 1, flags);
      case Kind::send_and_invalidate:
        if (qp->Dispatch->NdkSendAndInvalidate == nullptr) return STATUS_NOT_SUPPORTED;  // a table that is too short
        return qp->Dispatch->NdkSendAndInvalidate(qp, context, &piece, 1, flags, token_);
      case Kind::read:
        return qp->Dispatch->NdkRead(qp, context, &piece, 1, there, remote, flags);
      case Kind::write:
        return qp->Dispatch->NdkWrite(qp, context, &piece, 1, there, remote, flags);
      case Kind::bind:
        return qp->Dispatch->NdkBind(qp, context, c.a.memory->region, window_, c.a.memory->at(0), 64,
                                     flags | NDK_OP_FLAG_ALLOW_REMOTE_READ);
      case Kind::invalidate_window:
        return qp->Dispatch->NdkInvalidate(qp, context, &window_->Header, flags);
      case Kind::fast_register:
        return qp->Dispatch->NdkFastRegister(qp, context, region_, lam_->count(), lam_->pages(), lam_->offset, PAGE_SIZE,
                                             ndk_tag(kBase + lam_->offset), flags | NDK_OP_FLAG_RDMA_READ_SINK);
      case Kind::invalidate_region:
        return qp->Dispatch->NdkInvalidate(qp, context, &region_->Header, flags);
    }
    return STATUS_UNSUCCESSFUL;
  }
  /// A piece of the fast region, where Reads may put what they bring.
  NDK_SGE sink(ULONG length) const {
    NDK_SGE made = {};
    made.VirtualAddress = ndk_tag(kBase + lam_->offset);
    made.Length = length;
    made.MemoryRegionToken = region_->Dispatch->NdkGetLocalTokenFromMr(region_);
    return made;
  }
  ByteView pages() const { return pages_->bytes; }

  static constexpr std::size_t kThere = 20000;

 private:
  NdkStatus done(NdkStatus posted) { return posted.failed() ? posted : NdkStatus(next_result(ndk_, check_, c.a, "a request").Status); }
  /// Of a fast region of the peer, valid until the message comes.
  UINT32 peers_token() {
    NdkMemory& pages = ndk_.b().plain_memory(PAGE_SIZE);
    NdkLam& lam = mapped(ndk_, check_, ndk_.b(), &pages.mdl, PAGE_SIZE);
    NDK_MR* const region = ndk_.b().fast_region();
    arranged_by(check_, "NdkFastRegister",
                c.b.qp->Dispatch->NdkFastRegister(c.b.qp, ndk_tag(903), region, lam.count(), lam.pages(), lam.offset, PAGE_SIZE,
                                                  ndk_tag(kBase + lam.offset), NDK_OP_FLAG_ALLOW_REMOTE_READ));
    ends_as(ndk_, check_, c.b, "a registration of the peer", {STATUS_SUCCESS});
    return region->Dispatch->NdkGetRemoteTokenFromMr(region);
  }

  NdkBench& ndk_;
  Check& check_;
  NdkMemory* pages_;
  NdkLam* lam_;
  NDK_MW* window_ = nullptr;
  NDK_MR* region_ = nullptr;
  UINT32 token_ = 0, remote_ = 0;

 public:
  NDK_SGE piece;  ///< of Sends, Reads and Writes
};

/// One result, taken in either form; the plain one has no type.
NDK_RESULT_EX taken(NdkBench& ndk, Check& check, NdkSide& side, std::string_view what, bool plain) {
  if (!plain) return next_result(ndk, check, side, what);
  NDK_CQ* const cq = side.queue->cq;
  NDK_RESULT one = {};
  const bool there = ndk.wait_until([&] { return cq->Dispatch->NdkGetCqResults(cq, &one, 1) == 1; }, Duration::s(30));
  check.require(there, std::string(what) + " has a result", "the queue stayed empty");
  NDK_RESULT_EX made = {};
  made.Status = one.Status;
  made.QPContext = one.QPContext;
  made.RequestContext = one.RequestContext;
  return made;
}

/// A result that is not a success, and what it must say.
struct Failure {
  std::string what;
  NDK_RESULT_EX result;
  PVOID queue_pair;
  PVOID context;
  NDK_OPERATION_TYPE type;
  bool plain;
};
using Judge = std::function<void(const Failure&)>;

NdkConnection& with_contexts(NdkBench& ndk, NdkShared* shared = nullptr) {
  return ndk.connect({.a = {.context = ndk_tag(0xA7)}, .b = {.context = ndk_tag(0xB7), .shared = shared}});
}

void each_failed_request(NdkBench& ndk, Check& check, const Judge& judge) {
  for (const KindFacts& facts : kKinds) {
    for (const bool plain : {false, true}) {
      Requests requests(ndk, check, with_contexts(ndk));
      requests.spoil(facts.kind);
      // One before it that succeeds, so that its context is not that of the first of all.
      arranged_by(check, "NdkWrite", requests.c.a.write(40, 0, 0, 0, 0, NDK_OP_FLAG_SILENT_SUCCESS));
      const NdkStatus posted = requests.post(facts.kind, 41, 0);
      if (posted.failed()) continue;  // as legal, and has no result
      const std::string what = std::string(facts.name) + " that fails";
      judge({what, taken(ndk, check, requests.c.a, what, plain), ndk_tag(0xA7), ndk_tag(41), facts.type, plain});
    }
  }
}

void each_failed_receive(NdkBench& ndk, Check& check, const Judge& judge) {
  for (const bool shares : {false, true}) {
    for (const bool plain : {false, true}) {
      NdkShared* const shared = shares ? &ndk.b().shared_receive_queue(8) : nullptr;
      NdkConnection& c = with_contexts(ndk, shared);
      arranged_by(check, "a receive", c.b.receive(50, 0, 64));
      arranged_by(check, "a receive", c.b.receive(51, 0, 15));
      for (int i = 0; i < 2; ++i) arranged_by(check, "NdkSend", c.a.send(1, 0, 16, NDK_OP_FLAG_SILENT_SUCCESS));
      taken(ndk, check, c.b, "a Receive", plain);
      const std::string what = shares ? "a shared receive that is too small" : "a Receive that is too small";
      judge({what, taken(ndk, check, c.b, what, plain), ndk_tag(0xB7), ndk_tag(51), NdkOperationTypeReceive, plain});
    }
  }
}

void each_flushed_request(NdkBench& ndk, Check& check, const Judge& judge) {
  for (const bool plain : {false, true}) {
    Requests requests(ndk, check, with_contexts(ndk));
    NdkConnection& c = requests.c;
    requests.prepare(Kind::invalidate_region);
    std::map<PVOID, NDK_OPERATION_TYPE> outstanding;
    std::uintptr_t tag = 60;
    for (int i = 0; i < 2; ++i, ++tag) {
      arranged_by(check, "NdkReceive", c.a.receive(tag));
      outstanding[ndk_tag(tag)] = NdkOperationTypeReceive;
    }
    // The peer has no receive for the first Send: whatever is behind it waits.
    const auto post = [&](Kind kind, ULONG flags) {
      const NDK_OPERATION_TYPE type = kKinds[static_cast<std::size_t>(kind)].type;
      arranged_by(check, "a request", requests.post(kind, tag, flags));
      outstanding[ndk_tag(tag++)] = type;
    };
    post(Kind::send, 0);
    for (const Kind kind : {Kind::read, Kind::write, Kind::bind, Kind::invalidate_region, Kind::send}) post(kind, 0);
    post(Kind::write, NDK_OP_FLAG_DEFER);
    c.a.qp->Dispatch->NdkFlush(c.a.qp);
    while (!outstanding.empty()) {
      const NDK_RESULT_EX result = taken(ndk, check, c.a, "a request that was outstanding", plain);
      const auto which = outstanding.find(result.RequestContext);
      if (which == outstanding.end()) {
        judge({"a flushed request", result, ndk_tag(0xA7), outstanding.begin()->first, outstanding.begin()->second, plain});
        return;
      }
      judge({"a flushed request", result, ndk_tag(0xA7), which->first, which->second, plain});
      outstanding.erase(which);
    }
    check.that(ndk.quiet(c.a, Duration::ms(1)), "there are no more results than requests", "there is another");
  }
}

void each_failure(NdkBench& ndk, Check& check, const Judge& judge) {
  each_failed_request(ndk, check, judge);
  each_failed_receive(ndk, check, judge);
  each_flushed_request(ndk, check, judge);
}

}  // namespace

CONFORMANCE_CASE(ndk_each_failure_has_its_context, "ndk.cq.context", roles::provider) {
  each_failure(bench.ndk(), check, [&](const Failure& one) {
    check.that(one.result.RequestContext == one.context, "the result of " + one.what + " has the context of its request", "it has another");
  });
}

CONFORMANCE_CASE(ndk_each_failure_has_its_queue_pair, "ndk.cq.qp-context", roles::provider) {
  each_failure(bench.ndk(), check, [&](const Failure& one) {
    check.that(one.result.QPContext == one.queue_pair, "the result of " + one.what + " has the context of its queue pair",
               "it has another");
  });
}

CONFORMANCE_CASE(ndk_each_failure_has_its_type, "ndk.cq.type", roles::provider) {
  each_failure(bench.ndk(), check, [&](const Failure& one) {
    if (one.plain) return;
    check.equal("type of " + one.what, static_cast<int>(one.result.Type), static_cast<int>(one.type));
  });
}

CONFORMANCE_CASE(ndk_each_failure_is_a_failure, "ndk.cq.failure", roles::provider) {
  each_failure(bench.ndk(), check, [&](const Failure& one) { refused(check, one.what, one.result.Status); });
}

CONFORMANCE_CASE(ndk_each_failure_is_solicited, "ndk.cq.arm-solicited-errors", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const auto told = [&](const std::string& what, NdkSide& side, auto&& fails) {
    const int before = side.queue->notified;
    side.queue->arm(NDK_CQ_NOTIFY_SOLICITED);
    if (!fails()) return;  // refused, which has no result
    ndk.pass(kNdkQuiet);
    check.equal("callbacks for " + what, side.queue->notified - before, 1);
    refused(check, what, next_result(ndk, check, side, what).Status);
  };
  for (const KindFacts& facts : kKinds) {
    Requests requests(ndk, check, ndk.connect());
    requests.spoil(facts.kind);
    told(std::string(facts.name) + " that fails", requests.c.a, [&] { return !requests.post(facts.kind, 41, 0).failed(); });
  }
  NdkConnection& c = ndk.connect();
  arranged_by(check, "NdkReceive", c.b.receive(51, 0, 15));
  told("a Receive that is too small", c.b, [&] { return !NdkStatus(c.a.send(1, 0, 16, NDK_OP_FLAG_SILENT_SUCCESS)).failed(); });
}

CONFORMANCE_CASE(ndk_an_invalidating_read_can_be_silent, "ndk.qp.silent", roles::provider) {
  NdkBench& ndk = bench.ndk();
  check.precondition((ndk.a().info().AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED) != 0, "Reads invalidate");
  for (const ULONG flags : {ULONG{NDK_OP_FLAG_SILENT_SUCCESS}, ULONG{NDK_OP_FLAG_SILENT_SUCCESS | NDK_OP_FLAG_DEFER}, ULONG{0}}) {
    Requests requests(ndk, check, ndk.connect());
    NdkConnection& c = requests.c;
    requests.prepare(Kind::invalidate_region);
    const NDK_SGE sink = requests.sink(64);
    const NdkStatus posted = c.a.qp->Dispatch->NdkRead(c.a.qp, ndk_tag(10), &sink, 1, c.b.memory->address(100), c.b.memory->remote,
                                                       flags | NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE);
    check.require(posted == STATUS_SUCCESS, "NdkRead that invalidates is taken", "it answered " + words(posted));
    arranged_by(check, "NdkWrite", c.a.write(20, 0, 0, 0, 0));
    if (flags == 0) {
      check.that(next_result(ndk, check, c.a, "the Read").RequestContext == ndk_tag(10), "a Read that speaks has a result", "it has none");
    }
    const NDK_RESULT_EX result = next_result(ndk, check, c.a, "the request behind the Read");
    check.that(result.RequestContext == ndk_tag(20), "the next result is that of the request behind it", "it is another's");
    check.that(ndk.quiet(c.a, Duration::ms(1)), "there is no further result", "there is one");
    check.bytes("what the Read brought", requests.pages().first(64), ByteView(c.b.memory->bytes).subspan(100, 64));
  }
}

CONFORMANCE_CASE(ndk_each_kind_of_request_can_be_silent, "ndk.qp.silent", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const KindFacts& facts : kKinds) {
    Requests requests(ndk, check, ndk.connect());
    for (std::uintptr_t round = 0; round < 3; ++round) {
      requests.prepare(facts.kind);
      const ULONG deferred = round == 2 ? NDK_OP_FLAG_DEFER : 0;
      const NdkStatus posted = requests.post(facts.kind, 10 + round, NDK_OP_FLAG_SILENT_SUCCESS | deferred);
      check.require(posted == STATUS_SUCCESS, std::string(facts.name) + " that is silent is taken", "it answered " + words(posted));
      // The next that speaks has the next result.
      arranged_by(check, "NdkWrite", requests.c.a.write(20 + round, 0, 0, 0, 0));
      const NDK_RESULT_EX result = next_result(ndk, check, requests.c.a, "the request behind it");
      check.that(result.RequestContext == ndk_tag(20 + round), std::string(facts.name) + " that is silent has no result", "it has one");
    }
    check.that(ndk.quiet(requests.c.a, Duration::ms(1)), "there is no result of silent requests", "there is one");
  }
}

CONFORMANCE_CASE(ndk_no_kind_of_failure_is_silent, "ndk.qp.silent-failure", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const KindFacts& facts : kKinds) {
    Requests requests(ndk, check, ndk.connect());
    requests.spoil(facts.kind);
    const NdkStatus posted = requests.post(facts.kind, 11, NDK_OP_FLAG_SILENT_SUCCESS);
    if (posted.failed()) continue;
    const NDK_RESULT_EX result = next_result(ndk, check, requests.c.a, std::string(facts.name) + " that fails, though it is silent,");
    check.that(result.RequestContext == ndk_tag(11), "the result is that of the request that fails", "it is another's");
    refused(check, std::string(facts.name) + " that fails", result.Status);
  }
}

CONFORMANCE_CASE(ndk_each_kind_of_request_can_be_fenced, "ndk.qp.read-fence", roles::provider) {
  constexpr ULONG kBytes = 3000;  // several packets
  NdkBench& ndk = bench.ndk();
  for (const Kind kind : {Kind::send, Kind::send_and_invalidate, Kind::write}) {
    Requests requests(ndk, check, ndk.connect());
    NdkConnection& c = requests.c;
    requests.prepare(kind);
    std::fill_n(c.b.memory->bytes.begin() + 40000, kBytes, std::uint8_t{0x5A});
    arranged_by(check, "NdkRead", c.a.read(1, 0, kBytes, c.b.memory->address(40000), c.b.memory->remote, NDK_OP_FLAG_SILENT_SUCCESS));
    requests.piece = c.a.memory->sge(0, kBytes);
    check.require(requests.post(kind, 2, NDK_OP_FLAG_READ_FENCE) == STATUS_SUCCESS, "a request with the fence is taken");
    const std::string what(kKinds[static_cast<std::size_t>(kind)].name);
    ends_as(ndk, check, c.a, what + " with the fence", {STATUS_SUCCESS});
    if (kind != Kind::write) ends_as(ndk, check, c.b, "the Receive", {STATUS_SUCCESS});
    const std::size_t at = kind == Kind::write ? Requests::kThere : 0;
    check.bytes("what the Read had brought, by " + what, ByteView(c.b.memory->bytes).subspan(at, kBytes), Bytes(kBytes, 0x5A));
  }
  // The region of a Read that is still to come stays valid for it.
  Requests requests(ndk, check, ndk.connect());
  NdkConnection& c = requests.c;
  requests.prepare(Kind::invalidate_region);
  const NDK_SGE sink = requests.sink(kBytes);
  arranged_by(check, "NdkRead", c.a.qp->Dispatch->NdkRead(c.a.qp, ndk_tag(1), &sink, 1, c.b.memory->address(40000), c.b.memory->remote, 0));
  check.require(requests.post(Kind::invalidate_region, 2, NDK_OP_FLAG_READ_FENCE) == STATUS_SUCCESS,
                "NdkInvalidate with the fence is taken");
  ends_as(ndk, check, c.a, "a Read before NdkInvalidate with the fence", {STATUS_SUCCESS});
  ends_as(ndk, check, c.a, "NdkInvalidate with the fence", {STATUS_SUCCESS});
  check.bytes("what the Read brought", requests.pages().first(kBytes), ByteView(c.b.memory->bytes).subspan(40000, kBytes));
}

CONFORMANCE_CASE(ndk_each_kind_of_request_has_its_flags, "ndk.qp.flags", roles::provider) {
  NdkBench& ndk = bench.ndk();
  for (const KindFacts& facts : kKinds) {
    Requests requests(ndk, check, ndk.connect());
    requests.prepare(facts.kind);
    for (unsigned bit = 0; bit < 32; ++bit) {
      const ULONG flag = ULONG{1} << bit;
      if ((flag & facts.flags) != 0) continue;
      refused(check, std::string(facts.name) + " with the flag " + words(flag), requests.post(facts.kind, 30, flag));
    }
    check.that(ndk.quiet(requests.c.a, Duration::ms(1)), "what is refused has no result", "there is a result");
  }
}

}  // namespace fb::conformance
