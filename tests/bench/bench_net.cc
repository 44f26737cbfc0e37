// The datagram and the stream seam: what simulated ones carry a second, and real sockets beside plain
// programs.
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "sim/net/network.h"
#include "sim/net/udp_port.h"
#include "tests/bench/machine.h"
#include "tests/bench/raw_tcp.h"
#include "tests/bench/raw_udp.h"

namespace fb::net {
namespace {

struct Count final : DatagramReceiver {
  void on_datagram(const Arrival& arrival) override {
    ++packets;
    bytes += arrival.payload.size();
    benchmark::DoNotOptimize(arrival.payload.data());
  }
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

// Send and delivery of one packet, with `window` of them on their way.
void sim_packets(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto window = state.range(1);
  auto world = World::make_virtual(1);
  SimNetwork network(*world);
  SimHost& a = network.add_host("a", IpAddress::v4(10, 0, 0, 1));
  SimHost& b = network.add_host("b", IpAddress::v4(10, 0, 0, 2));
  auto from = std::move(a.open({a.address(), 4791})).value();
  auto to = std::move(b.open({b.address(), 4791})).value();
  Count count;
  to->set_receiver(&count);
  const Endpoint there = to->local();
  for (auto _ : state) {
    for (std::int64_t i = 0; i < window; ++i) {
      const Outgoing out = from->begin(there, size);
      store_le<std::uint64_t>(out.payload.data() + size - 8, count.packets);
      from->commit();
    }
    world->run_until_idle();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count.packets));
}
BENCHMARK(sim_packets)->ArgNames({"bytes", "window"})->Args({100, 1})->Args({100, 32})->Args({4112, 32});

void raw_ping_pong(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  bench::pin_to_core(0);
  bench::RawPingPong program(size, size);
  bench::Peer peer([&program] { program.turn(); });
  for (auto _ : state) {
    if (!program.round_trip()) state.SkipWithError("cannot send");
  }
}
BENCHMARK(raw_ping_pong)->ArgName("bytes")->Arg(64)->Arg(4112)->UseRealTime();

void raw_trains(benchmark::State& state) {
  bench::pin_to_core(0);
  bench::RawTrains program(static_cast<std::size_t>(state.range(0)), 15, 0, 0);
  bench::Peer peer([&program] { program.turn(); });
  for (auto _ : state) {
    if (!program.send_train()) state.SkipWithError("cannot send");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(program.train_bytes()));
}
BENCHMARK(raw_trains)->ArgName("bytes")->Arg(4112)->UseRealTime();

// A world of its own in a thread of its own, with one port.
struct RealPeer {
  std::unique_ptr<World> world = World::make_real(1, true);
  RealHost host{*world};
  std::unique_ptr<DatagramPort> port;
  explicit RealPeer(std::uint8_t last) { port = std::move(host.open({IpAddress::v4(127, 0, 0, last), 0})).value(); }
  void step() { world->step_towards(world->now()); }
};

struct Echo final : DatagramReceiver {
  explicit Echo(DatagramPort& p) : port(p) { port.set_receiver(this); }
  void on_datagram(const Arrival& arrival) override {
    const Outgoing out = port.begin(arrival.source, arrival.payload.size());
    std::copy(arrival.payload.begin(), arrival.payload.end(), out.payload.begin());
    port.commit();
  }
  DatagramPort& port;
};

void port_ping_pong(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  RealPeer near(2), far(3);
  Echo echo(*far.port);
  Count count;
  near.port->set_receiver(&count);
  bench::Peer peer([&far] { far.step(); });
  std::uint64_t sent = 0;
  for (auto _ : state) {
    (void)near.port->begin(far.port->local(), size);
    near.port->commit();
    near.port->flush();
    ++sent;
    while (count.packets < sent) near.step();
  }
}
BENCHMARK(port_ping_pong)->ArgName("bytes")->Arg(64)->Arg(4112)->UseRealTime();

// Confirms what arrived at the end of every batch.
struct Confirm final : DatagramReceiver {
  Confirm(DatagramPort& p, const Endpoint& t) : port(p), to(t) { port.set_receiver(this); }
  void on_datagram(const Arrival& arrival) override { bytes += arrival.payload.size(); }
  void on_batch_end() override {
    store_le<std::uint64_t>(port.begin(to, 8).payload.data(), bytes);
    port.commit();
  }
  DatagramPort& port;
  Endpoint to;
  std::uint64_t bytes = 0;
};

void port_trains(benchmark::State& state) {
  constexpr std::size_t kSegments = 15;
  const auto size = static_cast<std::size_t>(state.range(0));
  RealPeer near(2), far(3);
  Confirm confirm(*far.port, near.port->local());
  struct Confirmed final : DatagramReceiver {
    void on_datagram(const Arrival& arrival) override {
      if (arrival.payload.size() == 8) bytes = load_le<std::uint64_t>(arrival.payload.data());
    }
    std::uint64_t bytes = 0;
  } confirmed;
  near.port->set_receiver(&confirmed);
  bench::Peer peer([&far] { far.step(); });
  const std::uint64_t window = size * kSegments * bench::RawTrains::kWindow;
  std::uint64_t sent = 0;
  for (auto _ : state) {
    int idle = 0;
    while (sent - confirmed.bytes >= window && ++idle < 1'000'000) near.step();
    if (idle == 1'000'000) state.SkipWithError("datagrams were lost");
    for (std::size_t i = 0; i < kSegments; ++i) {
      (void)near.port->begin(far.port->local(), size);
      near.port->commit();
    }
    near.port->flush();
    sent += size * kSegments;
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size * kSegments));
}
BENCHMARK(port_trains)->ArgName("bytes")->Arg(4112)->UseRealTime();

// --------------------------------------------------------------------------------------- streams

// One side of a question-and-answer program over a stream, as RawTcpEcho is one over a socket.
struct EchoSide : StreamHandler {
  EchoSide(std::size_t room) : in(room), out(room, 1) {}
  void on_connected() override {}
  void on_readable() override {
    for (;;) {
      if (at == in.size()) at = 0;
      const std::array<MutableBytes, 1> parts{MutableBytes(in).subspan(at)};
      const std::size_t size = stream->receive(parts);
      got += size;
      at += size;
      if (size < parts[0].size()) break;
    }
    const std::size_t whole = got / reads;
    got -= whole * reads;
    messages += whole;
    if (answers) owed += whole * writes;
    if (owed > 0) push();
  }
  void on_writable() override { push(); }
  void on_flush() override { push(); }
  void on_end(const StreamEnd&) override {}
  void push() {
    while (owed > 0) {
      const std::array<ByteView, 1> parts{ByteView(out).first(std::min(owed, out.size()))};
      const std::size_t size = stream->send(parts);
      owed -= size;
      if (size < parts[0].size()) return;
    }
  }
  std::unique_ptr<Stream> stream;
  Bytes in, out;
  std::size_t reads = 1, writes = 1, owed = 0, got = 0, at = 0;
  bool answers = false;
  std::uint64_t messages = 0;
};

struct TakeOne final : StreamAcceptor {
  explicit TakeOne(EchoSide& s) : side(s) {}
  void on_stream(std::unique_ptr<Stream> stream) override {
    side.stream = std::move(stream);
    side.stream->set_handler(&side);
  }
  EchoSide& side;
};

// Bytes through a simulated connection, `bytes` at a time.
void sim_stream(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  auto world = World::make_virtual(1);
  SimNetwork network(*world);
  SimHost& a = network.add_host("a", IpAddress::v4(10, 0, 0, 1));
  SimHost& b = network.add_host("b", IpAddress::v4(10, 0, 0, 2));
  EchoSide from(1 << 20), to(1 << 20);
  TakeOne acceptor(to);
  auto listener = std::move(b.listen({b.address(), 4420}, acceptor)).value();
  from.stream = std::move(a.connect({a.address(), 0}, listener->local(), from)).value();
  world->run_until_idle();
  std::uint64_t sent = 0;
  for (auto _ : state) {
    from.owed += size;
    from.push();
    sent += size;
    while (to.messages < sent) world->step_towards(Instant::never());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(to.messages));
  state.counters["segments_pooled"] = static_cast<double>(network.segment_pool_size());
}
BENCHMARK(sim_stream)->ArgName("bytes")->Arg(72)->Arg(4120)->Arg(128 << 10);

// The two ends of a real stream, the far one in a thread on the other core, which serves the raw program
// while that has its turn.
class StreamDuel {
 public:
  StreamDuel(bench::RawTcpEcho& raw, std::size_t asked, std::size_t answered, std::size_t depth)
      : raw_(raw),
        depth_(depth),
        near(std::max<std::size_t>(depth * std::max(asked, answered), 65536)),
        far_side_(near.in.size()),
        acceptor_(far_side_) {
    near.reads = far_side_.writes = answered;
    near.writes = far_side_.reads = asked;
    far_side_.answers = true;
    const Endpoint any{IpAddress::v4(127, 0, 0, 1), 0};
    listener_ = std::move(far_host_.listen(any, acceptor_)).value();
    near.stream = std::move(near_host.connect(any, listener_->local(), near)).value();
    while (far_side_.stream == nullptr) {
      near_world_->step_towards(near_world_->now());
      far_world_->step_towards(far_world_->now());
    }
    bench::pin_to_core(0);
    peer_ = std::make_unique<bench::Peer>([this] {
      if (turn_of_raw_.load(std::memory_order_relaxed)) return raw_.turn();
      far_world_->step_towards(far_world_->now());
    });
  }
  void give_turn(bool to_raw) { turn_of_raw_ = to_raw; }
  void run(std::uint64_t count) {
    std::uint64_t asked = 0, seen = near.messages;
    const std::uint64_t end = near.messages + count;
    const auto ask = [&](std::uint64_t more) {
      more = std::min(more, count - asked);
      asked += more;
      near.owed += more * near.writes;
      near.push();
    };
    ask(depth_);
    while (near.messages < end) {
      near_world_->step_towards(near_world_->now());
      if (near.messages > seen) ask(near.messages - seen);
      seen = near.messages;
    }
  }

 private:
  bench::RawTcpEcho& raw_;
  std::size_t depth_;
  std::unique_ptr<World> near_world_ = World::make_real(1, true), far_world_ = World::make_real(2, true);

 public:
  RealHost near_host{*near_world_};
  EchoSide near;

 private:
  RealHost far_host_{*far_world_};
  EchoSide far_side_;
  TakeOne acceptor_;
  std::unique_ptr<StreamListener> listener_;
  std::atomic<bool> turn_of_raw_ = false;
  std::unique_ptr<bench::Peer> peer_;
};

// The same questions and answers through the seam and by plain system calls, in turns; `ratio` is the
// seam's rate to the raw one's.
void stream_echo(benchmark::State& state) {
  const auto asked = static_cast<std::size_t>(state.range(0));
  const auto answered = static_cast<std::size_t>(state.range(1));
  const auto depth = static_cast<std::size_t>(state.range(2));
  bench::RawTcpEcho raw(asked, answered, depth);
  StreamDuel duel(raw, asked, answered, depth);
  const std::uint64_t count = answered > 65536 ? 256 : 1000 * std::min<std::uint64_t>(depth, 16);
  std::vector<double> raw_s, stream_s;
  const auto seconds_each = [count](auto&& run) {
    run(count / 10);
    const double start = bench::seconds_now();
    run(count);
    return (bench::seconds_now() - start) / static_cast<double>(count);
  };
  const RealStreamCounters before = duel.near_host.stream_counters();
  std::uint64_t messages = 0;
  for (auto _ : state) {
    duel.give_turn(true);
    raw_s.push_back(seconds_each([&](std::uint64_t n) { raw.run(n); }));
    duel.give_turn(false);
    stream_s.push_back(seconds_each([&](std::uint64_t n) { duel.run(n); }));
    messages += count + count / 10;
  }
  const RealStreamCounters& after = duel.near_host.stream_counters();
  state.counters["raw_us"] = bench::median(raw_s) * 1e6;
  state.counters["stream_us"] = bench::median(stream_s) * 1e6;
  state.counters["stream_MB_s"] = static_cast<double>(asked + answered) / bench::median(stream_s) / 1e6;
  state.counters["ratio"] = bench::median(raw_s) / bench::median(stream_s);
  state.counters["sends_each"] = static_cast<double>(after.send_calls - before.send_calls) / static_cast<double>(messages);
}
BENCHMARK(stream_echo)
    ->ArgNames({"asked", "answered", "depth"})
    ->Args({72, 4120, 1})
    ->Args({4096, 4096, 1})
    ->Args({72, 4120, 32})
    ->Args({72, (128 << 10) + 24, 1})
    ->Args({72, (128 << 10) + 24, 8})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace fb::net
