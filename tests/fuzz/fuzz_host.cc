// The host against a controller that says anything: properties, data, completions and losses altered by
// the input. Every operation ends; nothing crashes.
#include <cstdint>

#include "model/host/discovery_client.h"
#include "tests/fuzz/input.h"
#include "tests/model/host/rig.h"

namespace {

using namespace fb;        // NOLINT: a program of its own
using namespace fb::host;  // NOLINT

void alter(fuzz::Input& in, MutableBytes bytes) {
  if (bytes.empty()) return;
  for (int changes = in.byte() % 8; changes > 0; --changes) {
    const std::size_t at = in.word() % bytes.size();
    bytes[at] = in.byte();
  }
}

struct Session {
  explicit Session(fuzz::Input& input) : in(input) {
    rig.add_namespace(4096, 1);
    rig.add_namespace(64, 2);
    rig.add_port(2);
    rig.hooks.on_property_read = [this](std::uint32_t, std::uint64_t& value) {
      if (in.byte() % 4 == 1) value ^= std::uint64_t{in.byte()} << in.byte() % 57;
    };
    rig.hooks.on_data_out = [this](const nvme::Sqe&, MutableBytes data) { alter(in, data); };
    rig.hooks.on_completion = [this](std::uint16_t, const nvme::Sqe&, MutableBytes cqe) {
      using Answer = subsystem::SubsystemHooks::Answer;
      const std::uint8_t what = in.byte();
      if ((what & 1) != 0) alter(in, cqe);
      switch (what >> 1 & 31) {
        case 1:
          return Answer::withhold;
        case 2:
          return Answer::send_twice;
        case 3:
          return Answer::disconnect_instead;
        default:
          return Answer::send;
      }
    };
  }
  void disturb() {
    switch (in.byte() % 6) {
      case 0:
        rig.disk->set_ana_state(in.byte() % 3, static_cast<nvme::AnaState>(in.byte() % 5));
        break;
      case 1:
        rig.disk->remove_namespace(in.byte() % 4);
        break;
      case 2:
        rig.disk->end_associations("the input says so");
        break;
      case 3:
        rig.disk->set_temperature(in.word());
        break;
      default:
        rig.world->run_for(Duration::ms(in.byte() * 20));
    }
  }

  fuzz::Input& in;
  Rig rig;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, std::min<std::size_t>(size, 4096));
  Session session(in);
  Rig& rig = session.rig;
  DiscoveryClient finder(*rig.host);
  DiscoveryOptions find;
  find.to = Rig::endpoint(1);
  auto found = finder.discover(find);
  std::vector<Op<Controller::Outcome>> connects;
  for (const std::uint16_t port : {std::uint16_t{1}, std::uint16_t{2}}) {
    ConnectOptions options = rig.to(port);
    options.controller_loss_timeout = Duration::s(40);
    connects.push_back(rig.host->connect(options));
  }
  rig.world->run_for(Duration::s(1));
  Bytes memory(64 * 1024);
  std::vector<Op<nvme::Status>> ops;
  for (int round = 0; round < 200 && !in.empty(); ++round) {
    if (Namespace* ns = rig.host->find(rig.disk->options().nqn, in.byte() % 3)) {
      const MutableBytes part = MutableBytes(memory).first((in.byte() % 64 + 1u) * 512);
      const std::uint64_t lba = in.byte();
      switch (in.byte() % 4) {
        case 0:
          ops.push_back(ns->write(lba, part));
          break;
        case 1:
          ops.push_back(ns->flush());
          break;
        default:
          ops.push_back(ns->read(lba, part));
      }
    }
    session.disturb();
  }
  rig.world->run_for(Duration::s(1000));
  for (const auto& op : ops) BENCH_ASSERT(op.settled(), "every operation ends");
  BENCH_ASSERT(found.settled() && connects[0].settled() && connects[1].settled(), "every attempt ends");
  return 0;
}
