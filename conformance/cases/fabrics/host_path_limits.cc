// A host with two paths whose controllers take transfers of different sizes.
#include "conformance/cases/nvme/host_paths_scene.h"
#include "wire/nvme/identify_controller.h"

namespace fb::conformance {

CONFORMANCE_CASE(host_keeps_to_the_limits_of_each_path, "fabrics.host.paths.limits", roles::host) {
  constexpr std::uint8_t kIdentifyController = 0x01;
  constexpr std::size_t kMost = 8192, kBytes = 65536;  // MDTS 1 and more than it
  std::uint16_t first = 0;
  bench.script.data_out = [&](const CommandContext& command, MutableBytes data) {
    const bool identifies = command.qid == 0 && command.sqe[0] == opcode::kIdentify && command.sqe[40] == kIdentifyController;
    if (!identifies || data.size() < nvme::kIdentifySize || command.controller == nullptr) return;
    const bool is_first = first == 0 || command.controller->cntlid() == first;
    if (!is_first) MutableView<nvme::IdentifyController>{data}.set(nvme::id_ctrl::mdts, 1u);
  };
  const TwoPaths paths = connect_two_paths(bench, check, {}, [&] { first = controller_of_port(bench, 1); });
  bench.forget_seen();
  Bytes& out = bench.keep(host_pattern(kBytes));
  constexpr std::uint16_t kBoth = 0;
  for (const std::uint16_t only : std::initializer_list<std::uint16_t>{kBoth, 1, 2}) {
    for (const std::uint16_t portid : std::initializer_list<std::uint16_t>{1, 2}) {
      const bool open = only == kBoth || only == portid;
      bench.subsystem().set_ana_state(kAnaGroup, open ? nvme::AnaState::optimized : nvme::AnaState::inaccessible, portid);
    }
    pause(bench, 2_s);
    Bytes& in = bench.keep(Bytes(kBytes));
    const auto written = bench.product().write(bench.nsid(), kPathLba, out).wait_for(120_s);
    check.require(written && written->ok(), "a write of 64 KiB succeeds, with MDTS 1 on the second path");
    const auto read = bench.product().read(bench.nsid(), kPathLba, in).wait_for(120_s);
    check.require(read && read->ok(), "a read of 64 KiB succeeds, with MDTS 1 on the second path");
    check.bytes("data read back", in, out);
  }
  std::size_t looked = 0;
  for (const SeenCommand* seen : path_commands(bench, paths.second)) {
    ++looked;
    const std::size_t bytes = std::size_t{blocks_of(*seen)} * 512;
    check.that(bytes <= kMost, "at most 8 KiB in a command to the controller of the second path", std::to_string(bytes) + " bytes");
  }
  check.precondition(looked > 0, "commands come to the controller of the second path");
  bench.script = {};
  bench.subsystem().set_ana_state(kAnaGroup, nvme::AnaState::optimized);
  bench.product().disconnect().wait_for(60_s);
}

}  // namespace fb::conformance
