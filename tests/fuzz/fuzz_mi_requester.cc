// Arbitrary answers to a requester's calls: each call ends, with an answer, a violation or for want of one.
#include <cstdint>

#include "model/mi/requester.h"
#include "sim/mctp/endpoint.h"
#include "sim/mctp/smbus_segment.h"
#include "tests/fuzz/input.h"
#include "wire/mi/vpd.h"

namespace {

using namespace fb;  // NOLINT: a program of its own
using fuzz::Input;

/// Answers as the input says: like the request, with some bytes changed, once or more often.
struct Liar final : mctp::MessageHandler {
  Liar(mctp::Endpoint& mine, Input& from) : end(mine), in(from) { end.set_handler(mctp::MessageType::nvme_mi, this, 65536); }
  ~Liar() { end.set_handler(mctp::MessageType::nvme_mi, nullptr, 0); }
  void on_message(const mctp::Incoming& message) override {
    const std::uint8_t how = in.byte();
    for (unsigned times = how & 3; times > 0; --times) {
      Bytes body = in.bytes(in.byte());
      if ((how & 4) == 0) {
        body.resize(std::max<std::size_t>(body.size(), 8));
        std::copy_n(message.body.begin(), std::min<std::size_t>(4, message.body.size()), body.begin());
        body[1] = static_cast<std::uint8_t>(body[1] | 0x80);
        body[2] = body[3] = 0;
        if ((how & 16) == 0) body[4] = static_cast<std::uint8_t>(body[4] & 7);
        if ((how & 32) == 0 && message.body.size() > 5 && (body[1] & 0x78) == 0) body[5] = message.body[5];
        if ((how & 64) != 0) body.resize(body.size() + std::size_t{in.byte()} * 16);
      }
      if ((how & 8) == 0) mi::append_mic(body);
      if (body.empty()) body.push_back(0x84);
      body[0] = static_cast<std::uint8_t>((body[0] & 0x80) | mi::kNvmeMiType);
      const bool owner = (how & 128) != 0 && times == 1;
      end.send(
          {.destination = 8, .to = {}, .source = mctp::kNullEid, .tag = {message.tag.value, owner}, .unit = 64, .body = std::move(body)});
    }
  }
  mctp::Endpoint& end;
  Input& in;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, std::min<std::size_t>(size, 4096));
  const auto world = World::make_virtual(1);
  mctp::SmbusSegment segment(*world, {.timing = false});
  const auto bmc_port = segment.attach("bmc", 0x20);
  const auto drive_port = segment.attach("drive", 0x3A);
  mctp::Endpoint bmc(*world, *bmc_port, {.name = "bmc", .eid = 8});
  mctp::Endpoint drive(*world, *drive_port, {.name = "drive", .eid = 9});
  bmc.set_route(9, 9, mctp::smbus_address(0x3A));
  drive.set_route(8, 8, mctp::smbus_address(0x20));
  Liar liar(drive, in);
  mi::Requester requester(*world, bmc, {.timeout = Duration::ms(100)});
  requester.on_event([](const mi::EventReport& report) { (void)report.list.items.size(); });
  const auto limit = Duration::s(100'000);
  while (!in.empty()) {
    bool ended = true;
    const auto end = [&](auto op) { ended = op.wait_for(limit).has_value(); };
    switch (in.byte() % 16) {
      case 0:
        end(requester.read_subsystem(9));
        break;
      case 1:
        end(requester.read_port(9, 1));
        break;
      case 2:
        end(requester.read_controllers(9, 1));
        break;
      case 3:
        end(requester.read_controller(9, 1));
        break;
      case 4:
        end(requester.read_optional_commands(9, 1));
        break;
      case 5:
        end(requester.poll_subsystem(9));
        break;
      case 6:
        end(requester.poll_controllers(9, {}));
        break;
      case 7:
        end(requester.read_whole_vpd(9, 64, 16));
        break;
      case 8:
        end(requester.identify(9, 1, nvme::Cns::controller, 0, 0, 64));
        break;
      case 9:
        end(requester.get_log(9, 1, 2, 64, 0, 16));
        break;
      case 10:
        end(requester.primitive(9, mi::Primitive::get_state));
        break;
      case 11:
        end(requester.replay(9, 0, in.byte()));
        break;
      case 12:
        end(requester.supported_events(9));
        break;
      case 13:
        end(requester.synchronize_events(9, {{6, true}}, {}));
        break;
      case 14:
        end(requester.receive_ses(9, 1, 64));
        break;
      default:
        end(requester.pcie(9, 1, mi::PcieOpcode::configuration_read, 0, 16));
    }
    BENCH_ASSERT(ended, "a call never ended");
  }
  (void)mi::check_vpd(ByteView{data, size});
  (void)mi::describe(ByteView{data, size});
  return 0;
}
