// Rules on requests, for every kind of them: flags, silence, the fence, and what results say of requests that fail or are flushed.
#include <array>
#include <functional>
#include <map>

#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

constexpr ULONG kCommon = ND_OP_FLAG_SILENT_SUCCESS | ND_OP_FLAG_READ_FENCE;
constexpr std::size_t kThere = 20000;

enum class Kind : std::uint8_t { send, read, write, bind, invalidate };

struct KindFacts {
  Kind kind;
  std::string_view name;
  ND2_REQUEST_TYPE type;
};
constexpr std::array<KindFacts, 5> kKinds = {{{Kind::send, "Send", Nd2RequestTypeSend},
                                              {Kind::read, "Read", Nd2RequestTypeRead},
                                              {Kind::write, "Write", Nd2RequestTypeWrite},
                                              {Kind::bind, "Bind", Nd2RequestTypeBind},
                                              {Kind::invalidate, "Invalidate", Nd2RequestTypeInvalidate}}};

/// Requests of the active side of a connection.
class Requests {
 public:
  Requests(ProviderBench& bench, Check& check, NdConnection& connection)
      : c(connection), piece(connection.a.memory->sge(64, 32)), bench_(bench), check_(check) {}

  NdConnection& c;
  ND2_SGE piece;  ///< of Sends, Reads and Writes

  /// What the request needs to succeed.
  void prepare(Kind kind) {
    window_ = c.a.end->window();
    if (kind == Kind::send) receive(c.b, 900, 4096);
    if (kind == Kind::invalidate) bind_now();
  }
  /// What makes it fail when it is executed.
  void spoil(Kind kind) {
    window_ = c.a.end->window();
    if (kind == Kind::send) piece.MemoryRegionToken ^= kOtherToken;
    if (kind == Kind::read || kind == Kind::write) remote_ = c.b.memory->region->GetRemoteToken() ^ kOtherToken;
    if (kind == Kind::bind) bind_now();
  }
  HRESULT post(Kind kind, std::uintptr_t tag, ULONG flags) {
    IND2QueuePair& qp = *c.a.qp;
    const UINT64 there = c.b.memory->address(kThere);
    const UINT32 token = remote_ != 0 ? remote_ : c.b.memory->region->GetRemoteToken();
    switch (kind) {
      case Kind::send:
        return qp.Send(nd_tag(tag), &piece, 1, flags);
      case Kind::read:
        return qp.Read(nd_tag(tag), &piece, 1, there, token, flags);
      case Kind::write:
        return qp.Write(nd_tag(tag), &piece, 1, there, token, flags);
      case Kind::bind:
        return qp.Bind(nd_tag(tag), c.a.memory->region.get(), window_.get(), c.a.memory->bytes.data(), 64, flags | ND_OP_FLAG_ALLOW_READ);
      case Kind::invalidate:
        return qp.Invalidate(nd_tag(tag), window_.get(), flags);
    }
    return ND_UNSUCCESSFUL;
  }
  /// A Write of nothing, behind which the results of what was posted before are there.
  void mark(std::uintptr_t tag) {
    arranged_by(check_, "Write", c.a.qp->Write(nd_tag(tag), nullptr, 0, c.b.memory->address(), c.b.memory->region->GetRemoteToken(), 0));
  }
  void receive(NdSide& side, std::uintptr_t tag, ULONG length) {
    ND2_SGE into = side.memory->sge(0, length);
    arranged_by(check_, "Receive", side.qp->Receive(nd_tag(tag), &into, 1));
  }

 private:
  void bind_now() {
    arranged_by(check_, "Bind", post(Kind::bind, 901, 0));
    ends_as(bench_, check_, c.a, "a Bind", {ND_SUCCESS});
  }
  ProviderBench& bench_;
  Check& check_;
  NdRef<IND2MemoryWindow> window_;
  UINT32 remote_ = 0;
};

/// A result that is not a success, and what it must say.
struct Failure {
  std::string what;
  ND2_RESULT result;
  void* queue_pair;
  void* context;
  ND2_REQUEST_TYPE type;
};
using Judge = std::function<void(const Failure&)>;

std::unique_ptr<NdConnection> with_contexts(ProviderBench& bench, IND2SharedReceiveQueue* shared = nullptr) {
  NdConnectTerms terms;
  terms.a.context = nd_tag(0xA7);
  terms.b.context = nd_tag(0xB7);
  terms.b.shared = shared;
  return bench.nd().connect(terms);
}

void each_failed_request(ProviderBench& bench, Check& check, const Judge& judge) {
  for (const KindFacts& facts : kKinds) {
    const auto c = with_contexts(bench);
    Requests requests(bench, check, *c);
    requests.spoil(facts.kind);
    // One before it that succeeds, so that its context is not that of the first of all.
    requests.mark(40);
    ends_as(bench, check, c->a, "a Write of nothing", {ND_SUCCESS});
    if (FAILED(requests.post(facts.kind, 41, 0))) continue;  // as legal, and has no result
    const std::string what = "a " + std::string(facts.name) + " that fails";
    judge({what, next_result(bench, check, c->a, what), nd_tag(0xA7), nd_tag(41), facts.type});
  }
}

void each_failed_receive(ProviderBench& bench, Check& check, const Judge& judge) {
  for (const bool shares : {false, true}) {
    NdEnd& end = bench.nd().b();
    if (shares && end.info().MaxSharedReceiveQueueDepth < 8) continue;
    NdRef<IND2SharedReceiveQueue> shared;
    if (shares) shared = end.shared_receive_queue(8);
    const auto c = with_contexts(bench, shared.get());
    ND2_SGE large = c->b.memory->sge(0, 64), short_one = c->b.memory->sge(0, 15), out = c->a.memory->sge(0, 16);
    for (auto [tag, into] : {std::pair{50u, &large}, std::pair{51u, &short_one}}) {
      arranged_by(check, "Receive", shares ? shared->Receive(nd_tag(tag), into, 1) : c->b.qp->Receive(nd_tag(tag), into, 1));
    }
    for (int i = 0; i < 2; ++i) arranged_by(check, "Send", c->a.qp->Send(nullptr, &out, 1, ND_OP_FLAG_SILENT_SUCCESS));
    next_result(bench, check, c->b, "a Receive");
    const std::string what = shares ? "a shared Receive that is too short_one" : "a Receive that is too short_one";
    judge({what, next_result(bench, check, c->b, what), nd_tag(0xB7), nd_tag(51), Nd2RequestTypeReceive});
  }
}

void each_flushed_request(ProviderBench& bench, Check& check, const Judge& judge, ULONG flags) {
  const auto c = with_contexts(bench);
  Requests requests(bench, check, *c);
  requests.prepare(Kind::invalidate);
  std::map<void*, ND2_REQUEST_TYPE> outstanding;
  std::uintptr_t tag = 60;
  for (int i = 0; i < 2; ++i, ++tag) {
    requests.receive(c->a, tag, 256);
    outstanding[nd_tag(tag)] = Nd2RequestTypeReceive;
  }
  // The peer has no Receive for the first Send: whatever is behind it waits.
  for (const Kind kind : {Kind::send, Kind::read, Kind::write, Kind::invalidate, Kind::send}) {
    arranged_by(check, "a request", requests.post(kind, tag, flags));
    outstanding[nd_tag(tag++)] = kKinds[static_cast<std::size_t>(kind)].type;
  }
  arranged_by(check, "Flush", c->a.qp->Flush());
  while (!outstanding.empty()) {
    const ND2_RESULT result = next_result(bench, check, c->a, "a request that was outstanding");
    auto which = outstanding.find(result.RequestContext);
    const bool known = which != outstanding.end();
    if (!known) which = outstanding.begin();
    judge({"a flushed request", result, nd_tag(0xA7), which->first, which->second});
    if (!known) return;
    outstanding.erase(which);
  }
  check.that(bench.nd().quiet(c->a, Duration::ms(1)), "there are no more results than requests", "there is another");
}

void each_failure(ProviderBench& bench, Check& check, const Judge& judge) {
  each_failed_request(bench, check, judge);
  each_failed_receive(bench, check, judge);
  // A silent request that fails is not silent.
  for (const ULONG flags : {ULONG{0}, ULONG{ND_OP_FLAG_SILENT_SUCCESS}}) each_flushed_request(bench, check, judge, flags);
}

}  // namespace

CONFORMANCE_CASE(nd_each_failure_has_its_context, "networkdirect.completion.result-context", roles::provider) {
  each_failure(bench, check, [&](const Failure& one) {
    check.that(one.result.RequestContext == one.context, "the result of " + one.what + " has the context of its request", "it has another");
  });
}

CONFORMANCE_CASE(nd_each_failure_has_its_queue_pair, "networkdirect.completion.result-pair", roles::provider) {
  each_failure(bench, check, [&](const Failure& one) {
    check.that(one.result.QueuePairContext == one.queue_pair, "the result of " + one.what + " has the context of its queue pair",
               "it has another");
  });
}

CONFORMANCE_CASE(nd_each_failure_has_its_type, "networkdirect.completion.result-type", roles::provider) {
  each_failure(bench, check, [&](const Failure& one) {
    check.equal("type of " + one.what, static_cast<int>(one.result.RequestType), static_cast<int>(one.type));
  });
}

CONFORMANCE_CASE(nd_each_failure_is_a_failure, "networkdirect.completion.result-failure", roles::provider) {
  each_failure(bench, check, [&](const Failure& one) { refused(check, one.what, one.result.Status); });
}

CONFORMANCE_CASE(nd_each_failure_is_solicited, "networkdirect.completion.notify-solicited-error", roles::provider) {
  const auto told = [&](const std::string& what, NdSide& side, auto&& fails) {
    NdRequest request;
    const HRESULT asked = side.queue->Notify(ND_CQ_NOTIFY_SOLICITED, &request);
    check.require(!FAILED(asked), "Notify is taken", "it answered " + words(NdStatus(asked)));
    if (!fails()) {  // refused, which has no result
      side.queue->CancelOverlappedRequests();
      ended(bench, asked, request, *side.queue);
      return;
    }
    says(check, "Notify for solicited completions at " + what, ended(bench, asked, request, *side.queue), {ND_SUCCESS});
    refused(check, what, next_result(bench, check, side, what).Status);
  };
  for (const KindFacts& facts : kKinds) {
    const auto c = bench.nd().connect();
    Requests requests(bench, check, *c);
    requests.spoil(facts.kind);
    told("a " + std::string(facts.name) + " that fails", c->a, [&] { return !FAILED(requests.post(facts.kind, 41, 0)); });
  }
  const auto c = bench.nd().connect();
  Requests(bench, check, *c).receive(c->b, 51, 15);
  ND2_SGE out = c->a.memory->sge(0, 16);
  told("a Receive that is too small", c->b, [&] { return !FAILED(c->a.qp->Send(nullptr, &out, 1, ND_OP_FLAG_SILENT_SUCCESS)); });
}

CONFORMANCE_CASE(nd_each_kind_of_request_can_be_silent, "networkdirect.completion.silent", roles::provider) {
  for (const KindFacts& facts : kKinds) {
    const auto c = bench.nd().connect();
    Requests requests(bench, check, *c);
    for (std::uintptr_t round = 0; round < 2; ++round) {
      requests.prepare(facts.kind);
      const HRESULT posted = requests.post(facts.kind, 10 + round, ND_OP_FLAG_SILENT_SUCCESS);
      check.require(posted == ND_SUCCESS, std::string(facts.name) + " that is silent is taken", "it answered " + words(NdStatus(posted)));
      requests.mark(20 + round);
      const ND2_RESULT result = next_result(bench, check, c->a, "the request behind it");
      check.that(result.RequestContext == nd_tag(20 + round), std::string(facts.name) + " that is silent has no result", "it has one");
    }
    check.that(bench.nd().quiet(c->a, Duration::ms(1)), "there is no result of silent requests", "there is one");
  }
}

CONFORMANCE_CASE(nd_no_kind_of_failure_is_silent, "networkdirect.completion.silent-failure", roles::provider) {
  for (const KindFacts& facts : kKinds) {
    const auto c = bench.nd().connect();
    Requests requests(bench, check, *c);
    requests.spoil(facts.kind);
    if (FAILED(requests.post(facts.kind, 11, ND_OP_FLAG_SILENT_SUCCESS))) continue;
    const ND2_RESULT result = next_result(bench, check, c->a, "a " + std::string(facts.name) + " that fails, though it is silent,");
    check.that(result.RequestContext == nd_tag(11), "the result is that of the request that fails", "it is another's");
    refused(check, "a " + std::string(facts.name) + " that fails", result.Status);
  }
}

CONFORMANCE_CASE(nd_each_kind_of_request_can_be_fenced, "networkdirect.queue.read-fence", roles::provider) {
  constexpr ULONG kBytes = 3000;  // several packets
  for (const Kind kind : {Kind::send, Kind::write}) {
    const auto c = bench.nd().connect();
    Requests requests(bench, check, *c);
    requests.prepare(kind);
    std::fill_n(c->b.memory->bytes.begin() + 40000, kBytes, std::uint8_t{0x5A});
    ND2_SGE into = c->a.memory->sge(0, kBytes);
    arranged_by(
        check, "Read",
        c->a.qp->Read(nd_tag(1), &into, 1, c->b.memory->address(40000), c->b.memory->region->GetRemoteToken(), ND_OP_FLAG_SILENT_SUCCESS));
    requests.piece = into;
    const std::string what = "a " + std::string(kKinds[static_cast<std::size_t>(kind)].name) + " with the fence";
    check.require(requests.post(kind, 2, ND_OP_FLAG_READ_FENCE) == ND_SUCCESS, what + " is taken");
    ends_as(bench, check, c->a, what, {ND_SUCCESS});
    if (kind == Kind::send) ends_as(bench, check, c->b, "the Receive", {ND_SUCCESS});
    bench.nd().pass(Duration::ms(1));
    check.bytes("what the Read had brought, by " + what, ByteView(c->b.memory->bytes).subspan(kind == Kind::send ? 0 : kThere, kBytes),
                Bytes(kBytes, 0x5A));
  }
}

CONFORMANCE_CASE(nd_binds_have_their_flags, "networkdirect.queue.bind-flags", roles::provider) {
  const auto c = bench.nd().connect();
  constexpr ULONG kBinds = kCommon | ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE;
  Requests requests(bench, check, *c);
  requests.prepare(Kind::invalidate);
  for (unsigned bit = 0; bit < 32; ++bit) {
    const ULONG flag = ULONG{1} << bit;
    const std::string with = " with the flag " + std::to_string(flag);
    if ((flag & kCommon) == 0) refused(check, "Invalidate" + with, requests.post(Kind::invalidate, 30, flag));
    if ((flag & kBinds) == 0) {
      const auto window = c->a.end->window();
      refused(check, "Bind" + with,
              c->a.qp->Bind(nd_tag(31), c->a.memory->region.get(), window.get(), c->a.memory->bytes.data(), 64, flag));
    }
  }
  check.that(bench.nd().quiet(c->a, Duration::ms(1)), "what is refused has no result", "there is a result");
}

}  // namespace fb::conformance
