// Arbitrary commands and data against the emulated subsystem: any sequence is answered, held or ends
// the association; nothing crashes. The input is a little program: one byte says what happens, the
// bytes behind it with what.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/model/subsystem/rig.h"

namespace {

using namespace fb;             // NOLINT: a program of its own
using namespace fb::subsystem;  // NOLINT
using fuzz::Input;

/// 64 bytes, of which the input gives the first eight and the last twenty-four.
Bytes any_sqe(Input& in) {
  Bytes made = in.bytes(8);
  made.resize(40);
  for (const std::uint8_t byte : in.bytes(24)) made.push_back(byte);
  made.resize(64);
  return made;
}

struct Session {
  explicit Session(std::uint8_t kind) : rig(options(kind), nullptr, discovery(kind)) {
    if (rig.disk->options().zoned.supported) {
      NamespaceOptions zoned;
      zoned.blocks = 64;
      zoned.zones = {
          .zone_blocks = 8, .max_active = 3, .max_open = 2, .extension_units = 1, .zrwa_blocks = 4, .zrwa_granularity = 2, .zrwa_count = 2};
      (void)rig.disk->add_namespace(std::move(zoned));
    }
    test::ConnectWords words;
    words.kato = 5000;
    if (rig.disk->options().controllers == ControllerModel::static_controllers) words.cntlid = 2;
    lines.push_back(rig.open());
    cntlid = static_cast<std::uint16_t>(test::Rig::connect(lines[0], words).dw0());
    rig.enable(lines[0], rig.disk->options().zoned.supported ? 0x00460061 : 0x00460001);
    words.qid = 1;
    words.cntlid = cntlid;
    words.kato = 0;
    lines.push_back(rig.open(1, 32));
    test::Rig::connect(lines[1], words);
    lines.push_back(rig.open());
    test::ConnectWords find;
    find.subnqn = std::string(fabrics::kDiscoveryNqn);
    find.kato = (kind & 2) != 0 ? 0 : 7000;
    test::Rig::connect(lines[2], find);
    rig.enable(lines[2], 1);
    lines.push_back(rig.open(2, 32));
    lines.push_back(rig.open());
  }
  static SubsystemOptions options(std::uint8_t kind) {
    SubsystemOptions made;
    if ((kind & 1) != 0) made.controllers = ControllerModel::static_controllers;
    if ((kind & 4) != 0) made.version = fabrics::version(1, 4, 0);
    if ((kind & 8) != 0) made.io_latency = Duration::us(50);
    if ((kind & 16) != 0) made.traffic_based_keep_alive = true;
    if ((kind & 4) == 0) made.zoned.supported = true;
    made.mdts = 2;
    return made;
  }
  static DiscoveryOptions discovery(std::uint8_t kind) {
    DiscoveryOptions made;
    made.persistent = (kind & 2) == 0;
    return made;
  }

  test::Rig rig;
  std::vector<test::Line> lines;
  std::uint16_t cntlid = 0;
};

void connect_somehow(Session& session, Input& in, test::Line& line) {
  Bytes sqe = test::ConnectWords{}.sqe();
  test::ConnectWords words;
  words.cntlid = session.cntlid;
  Bytes data = words.data();
  for (int changes = in.byte() % 4; changes > 0; --changes) {
    const unsigned at = in.byte() | static_cast<unsigned>(in.byte()) << 8;
    const std::uint8_t value = in.byte();
    if ((at & 0x8000) != 0) {
      sqe[40 + at % 24] = value;
    } else {
      data[at % data.size()] = value;
    }
  }
  data.resize(data.size() - std::min<std::size_t>(data.size(), in.byte() > 250 ? 512 : 0));
  line.post(sqe, data);
}

void change_the_target(Session& session, Input& in) {
  Subsystem& disk = *session.rig.disk;
  const std::uint32_t nsid = in.byte() % 4 + 1u;
  switch (in.byte() % 8) {
    case 0: {
      NamespaceOptions made;
      made.nsid = nsid;
      made.blocks = 64;
      made.block_bytes = in.byte() % 2 == 0 ? 512 : 4096;
      (void)disk.add_namespace(std::move(made));
      break;
    }
    case 1:
      disk.remove_namespace(nsid);
      break;
    case 2:
      disk.set_ana_state(1, static_cast<nvme::AnaState>(in.byte() % 5), in.byte() % 2);
      break;
    case 3:
      disk.set_temperature(static_cast<std::uint16_t>(in.byte() * 2));
      break;
    case 4:
      session.rig.target.discovery().changed();
      break;
    case 5:
      disk.disallow_host(test::kHostNqn);
      disk.allow_any_host(in.byte() % 2 == 0);
      break;
    case 6:
      disk.set_critical_warning(in.byte());
      break;
    default:
      disk.end_associations("because");
  }
}

void step(Session& session, Input& in) {
  const std::uint8_t what = in.byte();
  test::Line& line = session.lines[(what >> 4) % session.lines.size()];
  switch (what & 0xF) {
    default: {  // any command
      Bytes sqe = any_sqe(in);
      const std::size_t room = static_cast<std::size_t>(in.byte()) * 64;
      line.post_raw(sqe, in.bytes(in.byte()), room);
      break;
    }
    case 8: {  // a command that looks like one: SGL and a small namespace
      Bytes sqe = any_sqe(in);
      sqe[1] = static_cast<std::uint8_t>(0x40 | (sqe[1] & 3));
      store_le<std::uint32_t>(sqe.data() + 4, sqe[4] % 4u);
      line.post(sqe, in.bytes(in.byte()), 16384);
      break;
    }
    case 9: {  // a read or write of a few blocks
      nvme::Sqe sqe = test::rw(static_cast<nvme::IoOpcode>(in.byte() % 16), in.byte() * 8u, in.byte() % 16 + 1u);
      sqe.set(nvme::sqe::fuse, in.byte() % 4);
      line.post(sqe.bytes(), Bytes(8192, in.byte()));
      break;
    }
    case 10:
      line.post(test::property_set(in.byte() % 32 * 4u,
                                   load_le<std::uint32_t>((in.bytes(4).size() == 4 ? Bytes{1, 0, 0x46, 0} : Bytes{0, 0, 0, 0}).data())));
      break;
    case 11:
      connect_somehow(session, in, line);
      break;
    case 12:
      change_the_target(session, in);
      break;
    case 13:
      session.rig.world->run_for(Duration::ms(in.byte() * 40));
      break;
    case 14:
      line.wire().hold_pulls = !line.wire().hold_pulls;
      while (!line.wire().pulling.empty() && !line.closed()) line.deliver();
      break;
    case 15:
      if (in.byte() % 4 == 0) line.lose();
      break;
  }
  line.replies().clear();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, std::min<std::size_t>(size, 4096));
  Session session(in.byte());
  while (!in.empty()) step(session, in);
  session.rig.world->run_for(Duration::s(400));
  return 0;
}
