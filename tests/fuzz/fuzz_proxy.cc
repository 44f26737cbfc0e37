// The proxy between two sides that say anything. What passes a quiet proxy is what was said, but for discovery log pages; under
// faults nothing crashes, and every connection ends.
#include <cstdint>
#include <optional>

#include "model/proxy/tcp_proxy.h"
#include "sim/net/network.h"
#include "tests/fuzz/input.h"
#include "tests/sim/net/stream_end.h"

namespace {

using namespace fb;  // NOLINT: a program of its own
using net::test::StreamUser;

const IpAddress kHost = IpAddress::v4(10, 0, 0, 1), kBetween = IpAddress::v4(10, 0, 0, 2), kTarget = IpAddress::v4(10, 0, 0, 3);
constexpr std::uint16_t kPort = 4420;

struct One final : net::StreamAcceptor {
  void on_stream(std::unique_ptr<net::Stream> stream) override {
    if (user.stream != nullptr) return;
    user.stream = std::move(stream);
    user.stream->set_handler(&user);
  }
  StreamUser user;
};

/// Decisions of the input, for any place that asks.
std::vector<fault::Decision> decisions_for(fuzz::Input& in, const fault::Place& place) {
  std::vector<fault::Decision> made;
  for (unsigned count = in.byte() % 6; count > 0; --count) {
    const auto kinds = fault::all_kinds();
    const fault::KindFacts& facts = kinds[in.byte() % kinds.size()];
    if (facts.site != place.site) continue;
    made.push_back({place, in.byte() % 8u, facts.kind, facts.low + in.word() % (facts.high - facts.low + 1)});
  }
  std::sort(made.begin(), made.end());
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const auto world = World::make_virtual(1);
  net::SimNetwork network(*world);
  net::SimHost& host = network.add_host("host", kHost);
  net::SimHost& between = network.add_host("between", kBetween);
  net::SimHost& target = network.add_host("target", kTarget);
  const std::uint8_t how = in.byte();
  std::optional<fault::Points> points;
  if ((how & 1) != 0) points.emplace(*world, [&](const fault::Place& place) { return decisions_for(in, place); });
  One acceptor;
  const auto listener = target.listen({kTarget, kPort}, acceptor);
  const auto started = proxy::TcpProxy::start(*world, between,
                                              {.routes = {{{kBetween, kPort}, {kTarget, kPort}}},
                                               .from = kBetween,
                                               .keep_discovery = (how & 2) != 0,
                                               .faults = points ? &*points : nullptr});
  StreamUser user;
  if (!listener || !started || !user.open(host, {kHost, 0}, {kBetween, kPort})) return 0;
  Bytes by_host, by_target;
  while (!in.empty()) {
    const std::uint8_t what = in.byte();
    StreamUser& speaks = (what & 1) != 0 ? user : acceptor.user;
    if (speaks.stream == nullptr || speaks.ends > 0) {
      world->run_for(Duration::us(100));
      continue;
    }
    if (what == 0xFF) {
      speaks.stream->finish();
    } else {
      const Bytes said = in.bytes(what >> 1);
      if (!speaks.put(said)) break;
      Bytes& all = (what & 1) != 0 ? by_host : by_target;
      all.insert(all.end(), said.begin(), said.end());
    }
    world->run_for(Duration::us(in.byte()));
  }
  world->run_for(Duration::ms(10));  // the target has accepted what there is
  if (user.stream != nullptr) user.stream->finish();
  if (acceptor.user.stream != nullptr) acceptor.user.stream->finish();
  world->run_for(Duration::s(60));
  if (points) return 0;
  BENCH_ASSERT((*started)->open() == 0, "a connection whose ends have finished is over");
  const bool whole = acceptor.user.stream != nullptr && acceptor.user.ends == 0 && user.ends == 0;
  if (whole && !by_host.empty()) BENCH_ASSERT(by_host.size() >= acceptor.user.got.size(), "bytes that nobody sent");
  if (whole && (how & 2) != 0) BENCH_ASSERT(by_target.size() >= user.got.size(), "bytes that nobody sent");
  return 0;
}
