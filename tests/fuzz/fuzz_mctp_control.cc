// Any control messages may reach an endpoint, a bridge or a bus owner, as requests and as answers to what it
// asks itself: nothing breaks, answers are one packet, and tables stay in their bounds.
//
// The input is a list of messages: a flag byte, a length, the body. Flags: 1 answers the bridge's own request,
// 2 a null source, 4 lets time pass, 8 begins an enumeration, 16 asks the simple endpoint instead, 32 right
// type and Rq.
#include <cstdlib>

#include "sim/mctp/network.h"
#include "tests/fuzz/input.h"

namespace fb::mctp {
namespace {

struct Answers final : MessageHandler {
  void on_message(const Incoming& message) override {
    if (message.tag.owner) {
      last_request = Bytes(message.body.begin(), message.body.end());
      last_tag = message.tag;
      asked_by = message.source;
      return;
    }
    if (message.body.size() < 4 || message.body.size() > control::kMessageMax) std::abort();
    if ((message.body[1] & 0xC0) != 0 || message.body[0] != 0) std::abort();
    if (message.body[3] != 0 && message.body.size() != 4) std::abort();
  }
  Bytes last_request;
  Tag last_tag;
  Eid asked_by = kNullEid;
};

class Target {
 public:
  Target() {
    BridgeOptions options;
    options.name = "bridge";
    options.topmost = true;
    options.eid = 8;
    options.pool_size = 20;
    options.routes_max = 40;
    options.device.uuid = control::Uuid{1};
    options.device.network = control::Uuid{2};
    options.device.rates = RateLimits{};
    options.device.vendors = {{control::VendorFormat::pci, 0x1AB4, 1}};
    bridge_ = std::make_unique<Bridge>(*world_, options);
    bridge_->add_port("bridge", *port_);
    bridge_->add_port("other", *other_port_);
    owner_ = std::make_unique<BusOwner>(*world_, *bridge_, 0);
    peer_.set_handler(MessageType::control, &answers_, 4096);
  }
  ~Target() {
    owner_.reset();
    bridge_.reset();
  }

  void step(fuzz::Input& input) {
    const std::uint8_t flags = input.byte();
    const std::uint8_t size = input.byte();
    Bytes body = input.bytes(std::min<std::size_t>(size, control::kMessageMax));
    if ((flags & 8) != 0 && !owner_->busy()) {
      owner_->enumerate({smbus_address(0x20)}, BusOwner::Then{});
    }
    if (body.empty()) body.push_back(0);
    Outgoing out;
    out.to = smbus_address((flags & 16) != 0 ? 0x3C : 0x3A);
    out.destination = kNullEid;
    out.source = (flags & 2) != 0 ? Eid{0} : Eid{9};
    out.tag = {0, true};
    if ((flags & 32) != 0) {
      body[0] = 0;
      if (body.size() > 1) body[1] |= 0x80;
    }
    if ((flags & 1) != 0 && answers_.last_request.size() >= 3) {
      // An answer to what was asked, with data of the fuzzer's.
      Bytes answer(answers_.last_request.begin(), answers_.last_request.begin() + 3);
      answer[1] &= 0x1F;
      answer.insert(answer.end(), body.begin(), body.end());
      answer.resize(std::min(answer.size(), control::kMessageMax));
      body = std::move(answer);
      out.tag = {answers_.last_tag.value, false};
      out.destination = answers_.asked_by;
    }
    out.body = std::move(body);
    for (std::uint8_t tag = 0; tag < 8; ++tag) (void)peer_.take_tag(kNullEid);
    peer_.send(std::move(out));
    world_->run_for(Duration::ms((flags & 4) != 0 ? 400 : 5));
    if (bridge_->routes().size() > 40 || bridge_->known().size() > 255) std::abort();
  }
  void finish() {
    if (!world_->run_until_idle(Duration::s(600))) std::abort();
    if (owner_->busy()) std::abort();
  }

 private:
  std::unique_ptr<World> world_ = World::make_virtual(1);
  SmbusSegment segment_{*world_, {.clock_hz = 1'000'000}};
  SmbusSegment other_{*world_, {}};
  std::unique_ptr<SmbusPort> peer_port_ = segment_.attach("peer", 0x20);
  std::unique_ptr<SmbusPort> port_ = segment_.attach("bridge", 0x3A);
  std::unique_ptr<SmbusPort> simple_port_ = segment_.attach("simple", 0x3C);
  std::unique_ptr<SmbusPort> other_port_ = other_.attach("other", 0x3A);
  Endpoint peer_{*world_, *peer_port_, {.name = "peer", .eid = 9}};
  Answers answers_;
  std::unique_ptr<Bridge> bridge_;
  std::unique_ptr<BusOwner> owner_;
  SimpleDevice simple_{*world_, *simple_port_, {}, {.name = "simple"}};
};

}  // namespace
}  // namespace fb::mctp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fb::fuzz::Input input(data, size);
  fb::mctp::Target target;
  for (int steps = 0; steps < 200 && !input.empty(); ++steps) target.step(input);
  target.finish();
  return 0;
}
