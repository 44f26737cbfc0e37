// Dwords 0 and 1 of completions: zero but for what the command returns in them.
#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/opcodes.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;

constexpr std::uint32_t kAny = 0xFFFFFFFF;

/// Bits that a command may set in each of the two.
struct Used {
  std::uint32_t dw0 = 0, dw1 = 0;
};
struct Row {
  std::uint8_t opcode;
  Used used;
};

constexpr Row row(AdminOpcode opcode, Used used = {}) { return {static_cast<std::uint8_t>(opcode), used}; }
constexpr Row row(IoOpcode opcode, Used used = {}) { return {static_cast<std::uint8_t>(opcode), used}; }

// Commands that are not here are not judged.
constexpr Row kAdmin[] = {
    row(AdminOpcode::get_log_page),
    row(AdminOpcode::identify),
    row(AdminOpcode::abort, {1, 0}),
    row(AdminOpcode::set_features, {kAny, 0}),
    row(AdminOpcode::get_features, {kAny, 0}),
    row(AdminOpcode::async_event_request, {kAny, kAny}),
    row(AdminOpcode::namespace_management, {kAny, 0}),
    row(AdminOpcode::firmware_commit, {kAny, 0}),
    row(AdminOpcode::firmware_download),
    row(AdminOpcode::device_self_test),
    row(AdminOpcode::namespace_attachment),
    row(AdminOpcode::keep_alive),
    row(AdminOpcode::directive_send),
    row(AdminOpcode::directive_receive, {kAny, 0}),
    row(AdminOpcode::format_nvm),
    row(AdminOpcode::security_send),
    row(AdminOpcode::security_receive),
    row(AdminOpcode::sanitize),
    row(AdminOpcode::get_lba_status),
    row(AdminOpcode::lockdown),
};
constexpr Row kIo[] = {
    row(IoOpcode::flush),
    row(IoOpcode::write),
    row(IoOpcode::write_uncorrectable),
    row(IoOpcode::compare),
    row(IoOpcode::write_zeroes),
    row(IoOpcode::dataset_management),
    row(IoOpcode::verify),
    row(IoOpcode::reservation_register),
    row(IoOpcode::reservation_report),
    row(IoOpcode::reservation_acquire),
    row(IoOpcode::reservation_release),
    row(IoOpcode::copy, {kAny, 0}),
    row(IoOpcode::zone_management_send, {1, 0}),
    row(IoOpcode::zone_management_receive),
};

template <std::size_t N>
std::optional<Used> find(const Row (&rows)[N], std::uint8_t opcode) {
  for (const Row& one : rows) {
    if (one.opcode == opcode) return one.used;
  }
  return std::nullopt;
}

class Completions final : public Subject {
 public:
  using Subject::Subject;

  void on_answer(const Exchange& one) override {
    if (one.fabrics() || one.key_value) return;
    auto used = one.admin() ? find(kAdmin, one.sqe[0]) : find(kIo, one.sqe[0]);
    // Read is Retrieve in the Key Value command set, which returns a size.
    if (one.is(IoOpcode::read) && !one.controller->may_have_key_values) used = Used{};
    if (!used) return;
    judged(Rule::oracle_dwords);
    const std::uint32_t dw0 = one.answer().get(nvme::cqe::dw0), dw1 = one.answer().get(nvme::cqe::dw1);
    if ((dw0 & ~used->dw0) == 0 && (dw1 & ~used->dw1) == 0) return;
    say(Rule::oracle_dwords, fmt::format("the completion of {} (command {} of queue {}) has DW0 {:08X}h and DW1 {:08X}h",
                                         one.admin() ? nvme::admin_opcode_name(one.sqe[0]) : nvme::io_opcode_name(one.sqe[0]),
                                         one.command().get(nvme::sqe::cid), *one.queue->qid, dw0, dw1));
  }
};

}  // namespace

std::unique_ptr<Subject> follow_completions(Reporter& reporter, bool complete) { return std::make_unique<Completions>(reporter, complete); }

}  // namespace fb::oracle
