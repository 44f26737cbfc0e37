// Completions: dwords that a command does not use, and the delay for another attempt.
#include <fmt/format.h>

#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

/// The bits of DW0 and of DW1 that a command does not use.
struct Unused {
  std::uint32_t dw0 = 0xFFFFFFFF;
  std::uint32_t dw1 = 0xFFFFFFFF;
};

void judge(Check& check, std::string_view what, const host::RawReply& reply, Unused unused = {}) {
  check.require(reply.answered(), fmt::format("{} is answered", what), reply.answered() ? "" : reply.end->text);
  const std::uint32_t dw0 = reply.cqe.get(nvme::cqe::dw0) & unused.dw0, dw1 = reply.cqe.get(nvme::cqe::dw1) & unused.dw1;
  check.that(dw0 == 0, fmt::format("what {} does not use of DW0 is 0", what), fmt::format("{:08X}h", dw0));
  check.that(dw1 == 0, fmt::format("what {} does not use of DW1 is 0", what), fmt::format("{:08X}h", dw1));
}

constexpr Unused kDw1{.dw0 = 0};

}  // namespace

CONFORMANCE_CASE(fabrics_commands_leave_unused_dwords_zero, "nvme.completion.fabrics-dwords", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  host::RawQueue& queue = association.admin();
  judge(check, "Property Get of 4 bytes", queue.send(host::property_get(fabrics::property::vs)).wait(), kDw1);
  judge(check, "Property Set", association.set_property(fabrics::property::cc, association.enabling_cc()));
  check.precondition(association.wait_csts(1, 1, 60_s), "the controller becomes ready");
  // AUTHREQ has two bits that are used; the one below them was.
  const auto connect = bench.raw_queue().send(bench.connect_command()).wait();
  if (connect.ok()) judge(check, "Connect of an admin queue", connect, {.dw0 = 0xFFF80000});
  auto refused = bench.connect_command();
  refused.sqe.set(fabrics::connect_sqe::sqsize, 0u);
  const auto refusal = bench.raw_queue().send(refused).wait();
  if (nvme::same_code(refusal.status(), sc::connect_invalid_parameters)) {
    judge(check, "Connect with an invalid parameter", refusal, {.dw0 = 0xFFFE0000});
  }
  const auto io = association.io_transport().send(association.io_connect()).wait();
  if (io.ok()) judge(check, "Connect of an I/O queue", io, {.dw0 = 0xFFF80000});
}

CONFORMANCE_CASE(admin_commands_leave_unused_dwords_zero, "nvme.completion.admin-dwords", roles::controller) {
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = association.admin();
  judge(check, "Identify", queue.send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait());
  judge(check, "Identify with an unknown CNS", queue.send(host::identify(static_cast<nvme::Cns>(0x7F)), nvme::kIdentifySize).wait());
  judge(check, "Get Log Page", queue.send(host::get_log(nvme::LogPage::smart, nvme::SmartLog::size), nvme::SmartLog::size).wait());
  judge(check, "Abort", queue.send(host::abort(0, 0x7777)).wait(), {.dw0 = 0xFFFFFFFE});
  judge(check, "Get Features of Number of Queues", queue.send(host::get_features(nvme::FeatureId::number_of_queues)).wait(), kDw1);
  judge(check, "Set Features of Asynchronous Event Configuration",
        queue.send(host::set_features(nvme::FeatureId::async_event_configuration, 0)).wait());
  judge(check, "Keep Alive", queue.send(host::keep_alive()).wait());
}

CONFORMANCE_CASE(io_commands_leave_unused_dwords_zero, "nvme.completion.io-dwords", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const auto oncs = bench.declared().identify().get(nvme::id_ctrl::oncs);
  const Bytes data = pattern(3, 1, scene.block_bytes);
  judge(check, "Write", scene.write(0, data));
  judge(check, "Read", scene.read(0, 1));
  judge(check, "Flush", scene.io.send(host::flush(scene.nsid)).wait());
  judge(check, "Read beyond the last block", scene.read(scene.blocks, 1));
  if ((oncs & nvme::oncs_bits::compare) != 0) judge(check, "Compare", scene.compare(0, data));
  if ((oncs & nvme::oncs_bits::write_zeroes) != 0) judge(check, "Write Zeroes", scene.io.send(host::write_zeroes(scene.nsid, 8, 1)).wait());
  if ((oncs & nvme::oncs_bits::verify) != 0) judge(check, "Verify", scene.io.send(host::verify(scene.nsid, 0, 1)).wait());
  if ((oncs & nvme::oncs_bits::dataset_management) != 0) {
    const auto range = host::dsm_range(16, 1);
    judge(check, "Dataset Management", scene.io.send(host::deallocate(scene.nsid, 1), range.bytes()).wait());
  }
}

CONFORMANCE_CASE(no_retry_delay_without_a_time, "nvme.completion.retry-delay", roles::controller) {
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = association.admin();
  const auto page = queue.send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify Controller");
  const View<nvme::IdentifyController> id{page.data};
  const std::uint16_t times[] = {1, id.get(nvme::id_ctrl::crdt1), id.get(nvme::id_ctrl::crdt2), id.get(nvme::id_ctrl::crdt3)};
  // No host has asked for delays: the field is reserved.
  const auto judge_status = [&](std::string_view what, const host::RawReply& reply) {
    check.precondition(reply.answered() && !reply.ok(), fmt::format("{} is refused", what));
    const unsigned crd = reply.status().crd();
    check.that(crd == 0, fmt::format("CRD of {} is 0: no host has enabled Advanced Command Retry", what),
               fmt::format("CRD {} and CRDT{} {}", crd, std::max(crd, 1u), times[crd]));
  };
  judge_status("an unknown opcode", queue.send(host::any_command(0x7E)).wait());
  judge_status("Identify with an unknown CNS", queue.send(host::identify(static_cast<nvme::Cns>(0x7F)), nvme::kIdentifySize).wait());
  judge_status("Get Log Page of an unknown page", queue.send(host::get_log(std::uint8_t{0x6F}, 512), 512).wait());
}

}  // namespace fb::conformance
