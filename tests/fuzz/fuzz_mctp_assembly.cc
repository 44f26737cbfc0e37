// Any packets may reach an endpoint, in any order and at any time: none is lost to the counters, memory stays
// in its bounds, and no tag, hold or message gets stuck.
//
// The input is a list of steps: a kind, then what the kind needs. Packets carry a right header mostly, so that
// the rules behind the first are reached.
#include <cstdlib>
#include <set>

#include "sim/mctp/endpoint.h"
#include "sim/mctp/smbus_segment.h"
#include "tests/fuzz/input.h"

namespace fb::mctp {
namespace {

// What has begun ends once: as a message, or by being abandoned.
struct Counting final : MessageHandler {
  void on_message(const Incoming& message) override {
    if (message.body.empty() || message.body.size() > kMax) std::abort();
    const auto begun = open.find({message.source, message.tag});
    if (begun != open.end()) open.erase(begun);
  }
  void on_started(const Incoming& first) override { open.insert({first.source, first.tag}); }
  void on_abandoned(Eid source, Tag tag, Abandoned) override {
    const auto begun = open.find({source, tag});
    if (begun == open.end()) std::abort();
    open.erase(begun);
  }
  static constexpr std::size_t kMax = 600;
  std::multiset<std::pair<Eid, Tag>> open;
};

class Target {
 public:
  explicit Target(std::uint8_t flags)
      : endpoint_(
            *world_, *port_,
            {.name = "us", .eid = 9, .reassembles_as_linux = (flags & 1) != 0, .address_in_key = (flags & 2) != 0, .assemblies_max = 4}) {
    endpoint_.set_handler(MessageType::nvme_mi, &handler_, Counting::kMax);
    endpoint_.set_unit((flags & 4) != 0 ? 250 : 64);
  }

  void step(fuzz::Input& input) {
    const std::uint8_t kind = input.byte();
    switch (kind % 8) {
      case 0:
        raw(input.bytes(input.byte()));
        break;
      case 1:
        world_->run_for(Duration::ms(input.byte()));
        break;
      case 2:
        (void)endpoint_.take_tag(8);
        break;
      case 3:
        endpoint_.release_tag(8, {static_cast<std::uint8_t>(input.byte() & 7), true});
        break;
      case 4:
        answer(input);
        break;
      default:
        packet(input, kind);
        break;
    }
    if (endpoint_.assembler().open() > 4) std::abort();
    if (endpoint_.assembler().bytes_held() > 4 * (Counting::kMax + 250)) std::abort();
  }

  void finish() {
    world_->run_until_idle();
    if (endpoint_.assembler().open() != 0 || !handler_.open.empty()) std::abort();
    const AssemblyCounters& counters = endpoint_.assembly();
    std::uint64_t sum = counters.forwarded + counters.used + counters.bad_source + counters.spoilers;
    for (std::size_t why = 0; why < kDrops; ++why) {
      if (static_cast<Drop>(why) != Drop::physical_layer) sum += counters.drops[why];
    }
    if (sum != counters.packets) std::abort();
  }

 private:
  void packet(fuzz::Input& input, std::uint8_t kind) {
    const std::uint8_t flags = input.byte();
    const std::uint8_t size = input.byte();
    Bytes bytes{0x01, 9, static_cast<std::uint8_t>(kind >> 3 & 1 ? 8 : 0), flags};
    if ((kind & 0x10) != 0) bytes[0] = input.byte();
    if ((kind & 0x20) != 0) bytes[1] = input.byte();
    const Bytes payload = input.bytes(size % 4);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(kHeaderSize + ((kind & 0x40) != 0 ? size : 64), 0x55);
    if ((flags & 0x80) != 0 && bytes.size() > kHeaderSize && (kind & 0x80) == 0) bytes[4] = 0x84;
    Bytes frame;
    if (bytes.size() > kHeaderSize + smbus::kUnitMax) bytes.resize(kHeaderSize + smbus::kUnitMax);
    smbus::encode(frame, 0x3A, 0x20, bytes);
    raw(std::move(frame));
  }
  void raw(Bytes frame) {
    if (!frame.empty()) frame[0] = 0x3A;
    sender_->send_frame(std::move(frame));
    world_->run_until([&] { return sink_.done; }, Duration::s(1));
    sink_.done = false;
  }
  void answer(fuzz::Input& input) {
    if (endpoint_.queued() > 8) return;
    Outgoing out;
    out.destination = 8;
    out.to = smbus_address(0x20);
    out.tag = {static_cast<std::uint8_t>(input.byte() & 7), (input.byte() & 1) != 0};
    out.unit = std::size_t{input.byte()} + 1;
    out.body = Bytes(1 + std::size_t{input.byte()} * 4, 0x84);
    const SendId id = endpoint_.send(std::move(out));
    const std::uint8_t then = input.byte();
    if ((then & 1) != 0) endpoint_.hold(id);
    if ((then & 2) != 0) world_->run_for(Duration::ms(3));
    if ((then & 4) != 0) endpoint_.withdraw(id);
    endpoint_.resume(id);
  }

  struct Done final : PacketSink {
    void on_packet(const PhysicalAddress&, ByteView) override {}
    void on_damaged() override {}
    void on_packet_sent(bool) override { done = true; }
    bool done = false;
  };

  std::unique_ptr<World> world_ = World::make_virtual(1);
  SmbusSegment segment_{*world_, {.clock_hz = 1'000'000}};
  std::unique_ptr<SmbusPort> sender_ = segment_.attach("sender", 0x20);
  std::unique_ptr<SmbusPort> port_ = segment_.attach("us", 0x3A);
  Done sink_;
  Counting handler_;
  Endpoint endpoint_;

 public:
  void listen() { sender_->set_sink(&sink_); }
};

}  // namespace
}  // namespace fb::mctp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fb::fuzz::Input input(data, size);
  fb::mctp::Target target(input.byte());
  target.listen();
  for (int steps = 0; steps < 400 && !input.empty(); ++steps) target.step(input);
  target.finish();
  return 0;
}
