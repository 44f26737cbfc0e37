// How fast the MCTP bus runs: questions and answers over simulated SMBus with timing off, and the
// enumeration of a large bus.
#include <benchmark/benchmark.h>

#include "sim/mctp/network.h"

namespace fb::mctp {
namespace {

// Answers every message with one of a given size.
class Echo final : public MessageHandler {
 public:
  Echo(Endpoint& endpoint, std::size_t size) : endpoint_(endpoint), body_(size, 0x55) {
    body_[0] = 0x84;
    endpoint.set_handler(MessageType::nvme_mi, this, 4224);
  }
  void on_message(const Incoming& message) override {
    Outgoing out;
    out.destination = message.source;
    out.to = message.from;
    out.tag = {message.tag.value, false};
    out.body = body_;
    endpoint_.send(std::move(out));
  }

 private:
  Endpoint& endpoint_;
  Bytes body_;
};

struct Count final : MessageHandler {
  void on_message(const Incoming&) override { ++messages; }
  std::uint64_t messages = 0;
};

void questions_and_answers(benchmark::State& state) {
  const auto world = World::make_virtual(1);
  SmbusSegment segment(*world, {.timing = false});
  const auto left = segment.attach("a", 0x20);
  const auto right = segment.attach("b", 0x3A);
  Endpoint a(*world, *left, {.name = "a", .eid = 8});
  Endpoint b(*world, *right, {.name = "b", .eid = 9});
  Echo echo(b, static_cast<std::size_t>(state.range(0)));
  Count count;
  a.set_handler(MessageType::nvme_mi, &count, 4224);
  Bytes question(20, 0x11);
  question[0] = 0x84;
  for (auto _ : state) {
    const Tag tag = *a.take_tag(9);
    const std::uint64_t before = count.messages;
    Outgoing out;
    out.destination = 9;
    out.to = smbus_address(0x3A);
    out.tag = tag;
    out.body = question;
    a.send(std::move(out));
    while (count.messages == before) world->loop().step(Instant::never());
    a.release_tag(9, tag);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count.messages));
}
BENCHMARK(questions_and_answers)->Arg(12)->Arg(44)->Arg(4096 + 24);

void enumerate_200(benchmark::State& state) {
  for (auto _ : state) {
    const auto world = World::make_virtual(1);
    Network network(*world);
    for (int bus = 0; bus < 2; ++bus) {
      const std::size_t segment = network.add_smbus();
      std::uint8_t address = 0x22;
      for (int at = 0; at < 100; ++at, address = static_cast<std::uint8_t>(address + 2)) {
        while (!smbus::assignable(address)) address = static_cast<std::uint8_t>(address + 2);
        DeviceOptions device;
        device.uuid = control::Uuid{1, static_cast<std::uint8_t>(bus), static_cast<std::uint8_t>(at)};
        device.types = {{0x04, {{0xF1, 0xF2, 0xFF, 0}}}};
        network.add_endpoint(segment, smbus_address(address), device);
      }
    }
    if (network.enumerate().assigned != 200) state.SkipWithError("not all have an EID");
  }
}
BENCHMARK(enumerate_200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fb::mctp
