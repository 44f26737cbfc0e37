// Telemetry logs.
#include <fmt/format.h>

#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/events.h"
#include "wire/nvme/telemetry.h"

namespace fb::conformance {

namespace {

namespace tm = nvme::telemetry;
using nvme::FeatureId;
using nvme::LogPage;

void with_telemetry(EmbeddedSetup& setup) { setup.subsystem.telemetry = {}; }
const furnished having_telemetry{&with_telemetry};
const arranged with_captures{"telemetry that the controller captures", [](EmbeddedSetup& setup) {
                               with_telemetry(setup);
                               setup.subsystem.subsystem_reset = true;
                             }};
constexpr auto kClaim = claims_lpa<nvme::lpa_bits::telemetry>;
constexpr std::size_t kBlock = nvme::kTelemetryBlock;

class TelemetryScene {
 public:
  TelemetryScene(ControllerBench& bench, Check& check) : association(bench.associate()), check_(check) {}

  host::RawReply read(LogPage page, std::size_t offset, std::size_t bytes, bool retain = true, bool create = false) {
    auto command = host::get_log(page, static_cast<std::uint32_t>(bytes), offset);
    command.set(nvme::get_log_sqe::rae, retain).set(nvme::get_log_sqe::lsp, create ? nvme::kCreateTelemetry : 0u);
    return association.admin().send(command, bytes).wait();
  }
  Record<nvme::TelemetryHeader> header(LogPage page, bool retain = true, bool create = false) {
    const auto reply = read(page, 0, kBlock, retain, create);
    check_.require_success(reply, "Get Log Page");
    return Record<nvme::TelemetryHeader>{reply.data};
  }
  /// Makes a capture that the case does not judge.
  Record<nvme::TelemetryHeader> capture() {
    const auto reply = read(LogPage::telemetry_host, 0, kBlock, true, true);
    check_.precondition_success(reply, "Get Log Page that creates telemetry");
    return Record<nvme::TelemetryHeader>{reply.data};
  }
  void listen(std::uint32_t mask) {
    check_.precondition_success(association.admin().send(host::set_features(FeatureId::async_event_configuration, mask)).wait(),
                                "Set Features");
  }

  RawAssociation& association;

 private:
  Check& check_;
};

}  // namespace

CONFORMANCE_CASE(telemetry_pages_have_headers, "nvme.telemetry.claim", roles::controller, needs(kClaim), having_telemetry) {
  TelemetryScene scene(bench, check);
  check.success(scene.read(LogPage::telemetry_host, 0, kBlock), "Get Log Page 07h");
  check.success(scene.read(LogPage::telemetry_controller, 0, kBlock), "Get Log Page 08h");
}

CONFORMANCE_CASE(telemetry_pages_name_themselves, "nvme.telemetry.identifier", roles::controller, needs(kClaim), having_telemetry) {
  TelemetryScene scene(bench, check);
  check.equal("byte 0 of log page 07h", unsigned{scene.header(LogPage::telemetry_host).get(tm::lid)}, 7u);
  check.equal("byte 0 of log page 08h", unsigned{scene.header(LogPage::telemetry_controller).get(tm::lid)}, 8u);
}

CONFORMANCE_CASE(telemetry_areas_grow, "nvme.telemetry.areas", roles::controller, needs(kClaim), having_telemetry) {
  TelemetryScene scene(bench, check);
  scene.capture();
  for (const LogPage page : {LogPage::telemetry_host, LogPage::telemetry_controller}) {
    const auto header = scene.header(page);
    const unsigned one = header.get(tm::da1lb), two = header.get(tm::da2lb), three = header.get(tm::da3lb);
    check.that(one <= two && two <= three, "the last blocks of areas 1, 2 and 3 do not descend",
               std::to_string(one) + ", " + std::to_string(two) + ", " + std::to_string(three));
  }
}

CONFORMANCE_CASE(telemetry_is_read_in_blocks, "nvme.telemetry.length", roles::controller, needs(kClaim), having_telemetry,
                 reaches{"log.telemetry.blocks"}) {
  TelemetryScene scene(bench, check);
  check.status(scene.read(LogPage::telemetry_host, 0, kBlock - 4), sc::invalid_field, "508 bytes of log page 07h");
  check.status(scene.read(LogPage::telemetry_controller, 0, kBlock + 4), sc::invalid_field, "516 bytes of log page 08h");
}

CONFORMANCE_CASE(telemetry_offsets_are_blocks, "nvme.telemetry.offset", roles::controller, needs(kClaim), having_telemetry,
                 reaches{"log.telemetry.blocks"}) {
  TelemetryScene scene(bench, check);
  scene.capture();
  check.status(scene.read(LogPage::telemetry_host, 4, kBlock), sc::invalid_field, "log page 07h from byte 4 on");
  check.status(scene.read(LogPage::telemetry_controller, 256, kBlock), sc::invalid_field, "log page 08h from byte 256 on");
}

CONFORMANCE_CASE(telemetry_captures_are_counted, "nvme.telemetry.create", roles::controller, needs(kClaim), needs(is_version_2),
                 having_telemetry) {
  TelemetryScene scene(bench, check);
  // Around once, where captures take no time.
  const unsigned rounds = bench.embedded() ? 260 : 3;
  const auto first = scene.capture();
  unsigned before = first.get(tm::thdgn);
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned after = scene.header(LogPage::telemetry_host, true, true).get(tm::thdgn);
    if (!check.equal("generation", after, (before + 1) & 0xFF)) return;
    before = after;
  }
  // A real product may capture on its own account meanwhile.
  if (!bench.embedded()) return;
  check.equal("TCDGN after captures of the host", unsigned{scene.header(LogPage::telemetry_host).get(tm::tcdgn)},
              unsigned{first.get(tm::tcdgn)});
}

CONFORMANCE_CASE(telemetry_stays_while_it_is_read, "nvme.telemetry.stable", roles::controller, needs(kClaim), having_telemetry) {
  TelemetryScene scene(bench, check);
  const auto first = scene.capture();
  bench.world().run_for(kSilence);
  const auto second = scene.header(LogPage::telemetry_host);
  check.equal("generation", unsigned{second.get(tm::thdgn)}, unsigned{first.get(tm::thdgn)});
  if (first.get(tm::da1lb) == 0) return;
  const auto before = scene.read(LogPage::telemetry_host, kBlock, kBlock);
  bench.world().run_for(kSilence);
  const auto after = scene.read(LogPage::telemetry_host, kBlock, kBlock);
  check.require_success(before, "Get Log Page, block 1");
  check.require_success(after, "Get Log Page, block 1 again");
  check.bytes("block 1", after.data, before.data);
}

CONFORMANCE_CASE(telemetry_blocks_are_there, "nvme.telemetry.blocks", roles::controller, needs(kClaim), having_telemetry) {
  TelemetryScene scene(bench, check);
  const auto header = scene.capture();
  check.precondition(header.get(tm::da3lb) != 0, "there is telemetry data");
  // Both sides of each border, and the last block.
  const std::size_t ends[] = {header.get(tm::da1lb), header.get(tm::da2lb), header.get(tm::da3lb)};
  for (const std::size_t last : ends) {
    for (const std::size_t block : {last, last + 1}) {
      if (block == 0 || block > header.get(tm::da3lb)) continue;
      const auto reply = scene.read(LogPage::telemetry_host, block * kBlock, kBlock);
      if (check.success(reply, fmt::format("block {} of {}", block, unsigned{header.get(tm::da3lb)}))) {
        check.equal("bytes of the block", reply.data.size(), std::size_t{kBlock});
      }
    }
  }
}

CONFORMANCE_CASE(telemetry_pages_agree, "nvme.telemetry.same", roles::controller, needs(kClaim), needs(is_version_2), having_telemetry) {
  TelemetryScene scene(bench, check);
  const auto one = scene.header(LogPage::telemetry_host), other = scene.header(LogPage::telemetry_controller);
  check.equal("TCDA of 08h", unsigned{other.get(tm::tcda)}, unsigned{one.get(tm::tcda)});
  check.equal("TCDGN of 08h", unsigned{other.get(tm::tcdgn)}, unsigned{one.get(tm::tcdgn)});
}

CONFORMANCE_CASE(telemetry_of_the_controller_is_available, "nvme.telemetry.controller", roles::controller, with_captures) {
  TelemetryScene scene(bench, check);
  unsigned before = scene.header(LogPage::telemetry_controller).get(tm::tcdgn);
  for (unsigned round = 0; round < 260; ++round) {
    bench.subsystem().telemetry().capture_by_controller("a case asked for it");
    const auto after = scene.header(LogPage::telemetry_controller);
    const bool there = check.equal("TCDA", unsigned{after.get(tm::tcda)}, 1u);
    if (!check.equal("generation", unsigned{after.get(tm::tcdgn)}, (before + 1) & 0xFF) || !there) return;
    before = after.get(tm::tcdgn);
  }
}

CONFORMANCE_CASE(telemetry_of_the_controller_is_announced, "nvme.telemetry.event", roles::controller, with_captures) {
  TelemetryScene scene(bench, check), other(bench, check);
  std::vector<Op<host::RawReply>> requests;
  for (TelemetryScene* const one : {&scene, &other}) {
    one->listen(nvme::event_config_bits::telemetry);
    requests.push_back(one->association.admin().send(host::async_event_request()));
  }
  bench.subsystem().telemetry().capture_by_controller("a case asked for it");
  for (auto& request : requests) {
    const auto event = request.wait_for(kSoon);
    check.require(event.has_value(), "an event comes to each controller");
    check.equal("event", event->dw0() & 0xFFFFFF, 0x080202u);
  }
}

CONFORMANCE_CASE(telemetry_is_not_announced_to_others, "nvme.telemetry.event.disabled", roles::controller, with_captures) {
  TelemetryScene scene(bench, check);
  scene.listen(0);
  auto request = scene.association.admin().send(host::async_event_request());
  bench.subsystem().telemetry().capture_by_controller("a case asked for it");
  check.that(!request.wait_for(kSilence).has_value(), "no event comes", "one came");
}

CONFORMANCE_CASE(telemetry_is_acknowledged_by_a_read, "nvme.telemetry.acknowledge", roles::controller, with_captures) {
  TelemetryScene scene(bench, check);
  bench.subsystem().telemetry().capture_by_controller("a case asked for it");
  (void)scene.header(LogPage::telemetry_controller, false);
  check.equal("TCDA", unsigned{scene.header(LogPage::telemetry_controller).get(tm::tcda)}, 0u);
}

CONFORMANCE_CASE(telemetry_is_retained, "nvme.telemetry.retain", roles::controller, with_captures) {
  TelemetryScene scene(bench, check);
  bench.subsystem().telemetry().capture_by_controller("a case asked for it");
  (void)scene.header(LogPage::telemetry_controller, true);
  const auto before = scene.header(LogPage::telemetry_controller);
  check.equal("TCDA", unsigned{before.get(tm::tcda)}, 1u);
  // Another page does not acknowledge it.
  (void)scene.header(LogPage::telemetry_host, false);
  (void)scene.header(LogPage::telemetry_host, false, true);
  const auto after = scene.header(LogPage::telemetry_controller);
  check.equal("TCDA after reads of log page 07h", unsigned{after.get(tm::tcda)}, 1u);
  check.equal("TCDGN after host-initiated captures", unsigned{after.get(tm::tcdgn)}, unsigned{before.get(tm::tcdgn)});
}

CONFORMANCE_CASE(telemetry_of_the_controller_survives_resets, "nvme.telemetry.persistent", roles::controller, with_captures) {
  Bytes before;
  {
    TelemetryScene scene(bench, check);
    bench.subsystem().telemetry().capture_by_controller("a case asked for it");
    const auto reply = scene.read(LogPage::telemetry_controller, kBlock, kBlock);
    check.precondition_success(reply, "Get Log Page, block 1");
    before = reply.data;
  }
  bench.subsystem().reset_subsystem();
  bench.world().run_for(kSettled);
  TelemetryScene scene(bench, check);
  check.that(scene.header(LogPage::telemetry_controller).get(tm::da1lb) != 0, "there is data still", "area 1 is empty");
  const auto after = scene.read(LogPage::telemetry_controller, kBlock, kBlock);
  check.require_success(after, "Get Log Page, block 1");
  check.bytes("block 1", after.data, before);
}

}  // namespace fb::conformance
