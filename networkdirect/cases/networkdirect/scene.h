// What the cases on providers of NetworkDirect share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/access_sweep.h"
#include "conformance/runner/provider_bench.h"

namespace fb::conformance {

using NdSide = NdConnection::Side;

/// How long a case waits for what should come soon, and for what should not come.
constexpr Duration kNdSoon = Duration::s(10);
constexpr Duration kNdQuiet = Duration::ms(40);

/// The status is one of these.
inline bool says(Check& check, std::string_view what, NdStatus got, std::vector<HRESULT> legal) {
  return check.equal(what, got, OneOf<HRESULT>{std::move(legal)});
}

/// The status is any failure.
inline bool refused(Check& check, std::string_view what, NdStatus got) {
  return check.that(got.failed(), std::string(what) + " is refused", "it answered " + words(got));
}

/// The end of a request that was made: what the call said, or its result.
inline NdStatus ended(ProviderBench& bench, HRESULT called, NdRequest& request, IND2Overlapped& on) {
  return bench.nd().finish(called, request, on, kNdSoon);
}

/// The next result of a side, which there must be.
inline ND2_RESULT next_result(ProviderBench& bench, Check& check, NdSide& side, std::string_view what, Duration limit = Duration::s(30)) {
  const auto found = bench.nd().result(side, limit);
  check.require(found.has_value(), std::string(what) + " has a result", "the queue stayed empty");
  return *found;
}

/// The next result of a side has one of these statuses.
inline bool ends_as(ProviderBench& bench, Check& check, NdSide& side, std::string_view what, std::vector<HRESULT> legal) {
  return says(check, what, next_result(bench, check, side, what).Status, std::move(legal));
}

/// The next result of a side is a failure.
inline bool ends_badly(ProviderBench& bench, Check& check, NdSide& side, std::string_view what) {
  return refused(check, what, next_result(bench, check, side, what).Status);
}

/// A call that sets the scene.
inline void arranged_by(Check& check, std::string_view what, HRESULT called) {
  if (FAILED(called)) check.inconclusive(std::string(what) + " answered " + words(NdStatus(called)));
}

/// Asks for a connection to `to` from a side.
inline HRESULT ask_for(NdSide& side, const NdAddress& to, NdRequest& request, std::string_view data = {}, ULONG inbound = 8,
                       ULONG outbound = 8) {
  return side.connector->Connect(side.qp.get(), to.get(), to.length(), inbound, outbound, data.data(), static_cast<ULONG>(data.size()),
                                 &request);
}

inline HRESULT accept_on(NdSide& side, NdRequest& request, std::string_view data = {}, ULONG inbound = 8, ULONG outbound = 8) {
  return side.connector->Accept(side.qp.get(), inbound, outbound, data.data(), static_cast<ULONG>(data.size()), &request);
}

/// The address of the listener of a connection.
inline NdAddress listening_at(const NdConnection& c) { return NdAddress(c.b.end->address(), c.port); }

/// From two sides that nobody has connected yet to a connection.
inline void establish(ProviderBench& bench, Check& check, NdConnection& c) {
  NdRequest request, completing;
  const HRESULT asked = ask_for(c.a, listening_at(c), c.connecting);
  check.require(!FAILED(asked), "Connect is taken", "it answered " + words(NdStatus(asked)));
  const HRESULT waited = c.listener->GetConnectionRequest(c.b.connector.get(), &request);
  check.require(ended(bench, waited, request, *c.listener) == ND_SUCCESS, "the request reaches the listener");
  check.require(!FAILED(accept_on(c.b, c.accepting)), "Accept is taken");
  check.require(ended(bench, asked, c.connecting, *c.a.connector) == ND_SUCCESS, "Connect completes with ND_SUCCESS");
  const HRESULT called = c.a.connector->CompleteConnect(&completing);
  check.require(ended(bench, called, completing, *c.a.connector) == ND_SUCCESS, "CompleteConnect completes with ND_SUCCESS");
  check.require(ended(bench, ND_PENDING, c.accepting, *c.b.connector) == ND_SUCCESS, "Accept completes with ND_SUCCESS");
}

/// A message of that many bytes crosses, and both sides say so.
inline void message_crosses(ProviderBench& bench, Check& check, NdSide& from, NdSide& to, ULONG length = 100) {
  ND2_SGE into = to.memory->sge(32768, 4096), out = from.memory->sge(3, length);
  check.require(to.qp->Receive(nd_tag(71), &into, 1) == ND_SUCCESS, "Receive is taken");
  check.require(from.qp->Send(nd_tag(72), &out, 1, 0) == ND_SUCCESS, "Send is taken");
  ends_as(bench, check, from, "the Send", {ND_SUCCESS});
  ends_as(bench, check, to, "the Receive", {ND_SUCCESS});
  check.bytes("bytes that came", ByteView(to.memory->bytes).subspan(32768, length), ByteView(from.memory->bytes).subspan(3, length));
}

/// Sends of no bytes from a to b, with a Receive for each; nobody takes the results of b.
inline void deliver(ProviderBench& bench, Check& check, NdConnection& c, int messages = 1, ULONG flags = 0) {
  for (int i = 0; i < messages; ++i) {
    ND2_SGE into = c.b.memory->sge(0, 64);
    arranged_by(check, "Receive", c.b.qp->Receive(nd_tag(static_cast<std::uintptr_t>(100 + i)), &into, 1));
    arranged_by(check, "Send", c.a.qp->Send(nullptr, nullptr, 0, flags | ND_OP_FLAG_SILENT_SUCCESS));
  }
  bench.nd().pass(kNdQuiet);
}

/// What makes a token another one.
inline const UINT32 kOtherToken = bits_in_network_order(0x5500);

/// A request of a that its own provider cannot serve: its token is none.
inline HRESULT send_bad_token(NdConnection& c, ULONG flags = 0) {
  ND2_SGE bad = c.a.memory->sge(0, 8);
  bad.MemoryRegionToken ^= kOtherToken;
  return c.a.qp->Send(nd_tag(5), &bad, 1, flags);
}

/// How a Read or a Write of a ends, that goes to memory of b.
inline NdStatus access(ProviderBench& bench, Check& check, NdConnection& c, bool read, UINT64 address, UINT32 token, ULONG length = 16) {
  ND2_SGE mine = c.a.memory->sge(8192, length);
  const HRESULT called = read ? c.a.qp->Read(nullptr, &mine, 1, address, token, 0) : c.a.qp->Write(nullptr, &mine, 1, address, token, 0);
  check.require(called == ND_SUCCESS, read ? "Read is taken" : "Write is taken", "it answered " + words(NdStatus(called)));
  return next_result(bench, check, c.a, read ? "the Read" : "the Write").Status;
}

/// The address of memory as peers say it.
inline UINT64 remote_address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// The private data that a connector has from its peer.
inline std::string data_of(Check& check, IND2Connector& connector) {
  ULONG length = 0;
  says(check, "GetPrivateData without a buffer", connector.GetPrivateData(nullptr, &length), {ND_BUFFER_OVERFLOW});
  std::string data(length, '\0');
  if (length != 0) says(check, "GetPrivateData", connector.GetPrivateData(data.data(), &length), {ND_SUCCESS});
  return data;
}

/// It begins with what was sent; transports may pad it.
inline bool begins_with(Check& check, std::string_view what, std::string_view got, std::string_view expected) {
  return check.equal(what, got.substr(0, expected.size()), expected);
}

}  // namespace fb::conformance
