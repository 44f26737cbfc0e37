// What a product refuses while it is sanitized, and after that failed.
#include "conformance/cases/nvme/sanitize_scene.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

namespace sz = nvme::sanitize_sqe;
using nvme::SanitizeAction;
using nvme::SanitizeState;

Record<nvme::SanitizeSqe> erase(Sanitizing& host, bool unrestricted) {
  auto command = host::sanitize(host.any());
  command.set(sz::ause, unrestricted);
  return command;
}

constexpr unsigned kForbidden =
    nvme::oacs_bits::format_nvm | nvme::oacs_bits::security | nvme::oacs_bits::namespace_management | nvme::oacs_bits::self_test;

std::optional<std::string> has_forbidden_commands(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & kForbidden) != 0) return {};
  return "OACS has none of Format NVM, security, namespace management and self-test";
}
std::optional<std::string> updates_firmware(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::firmware) != 0) return {};
  return "OACS bit 2 (firmware) is clear";
}

/// Commands that could reach user data, or what becomes of it.
template <class Judge>
void send_what_is_forbidden(ControllerBench& bench, Sanitizing& host, Judge&& judge) {
  namespace oacs = nvme::oacs_bits;
  const unsigned claimed = bench.declared().identify().get(nvme::id_ctrl::oacs);
  host::RawQueue& admin = host.manager.admin();
  if ((claimed & oacs::format_nvm) != 0) judge(admin.send(host::format_nvm(1, 0)).wait(), "Format NVM");
  if ((claimed & oacs::security) != 0) {
    judge(admin.send(host::security_send(0xF0, 1, 16), Bytes(16)).wait(), "Security Send");
  }
  if ((claimed & oacs::namespace_management) != 0) judge(host.manager.create({}), "Namespace Management");
  if ((claimed & oacs::self_test) != 0) {
    judge(admin.send(host::device_self_test(nvme::SelfTestCode::short_test)).wait(), "Device Self-test");
  }
}

/// A failure of an operation, for which the case has no other way.
void fail(ControllerBench& bench, Sanitizing& host, Check& check, bool unrestricted) {
  bench.subsystem().sanitizer().fail_next();
  host.run(erase(host, unrestricted));
  check.precondition(host.state() == SanitizeState::failed || host.state() != SanitizeState::in_progress, "the operation has ended");
}

/// I/O works as ever.
void serves(ControllerBench& bench, Sanitizing& host, Check& check) {
  const std::uint32_t block_bytes = bench.declared().block_bytes;
  const Bytes data = pattern(0x66, 1, block_bytes);
  host::RawQueue& io = host.manager.io();
  check.success(io.send(host::write(bench.nsid(), 0, 1), data).wait(), "Write");
  const auto read = io.send(host::read(bench.nsid(), 0, 1), block_bytes).wait();
  if (check.success(read, "Read")) check.bytes("the data", read.data, data);
}

}  // namespace

CONFORMANCE_CASE(sanitize_refuses_io, "nvme.sanitize.running.io", roles::controller, with_sanitize, needs(sanitizes),
                 reaches{"sanitize.io"}) {
  Sanitizing host(bench, check);
  host.manager.prepare(bench.nsid(), 0x21);
  host.begin();
  check.status(host.manager.read(bench.nsid(), 0, 8), sc::sanitize_in_progress, "Read");
  check.status(host.manager.write(bench.nsid(), 0, Bytes(8 * kFirstBlockBytes)), sc::sanitize_in_progress, "Write");
  const unsigned oncs = bench.declared().identify().get(nvme::id_ctrl::oncs);
  const std::pair<nvme::IoOpcode, unsigned> optional[] = {{nvme::IoOpcode::compare, nvme::oncs_bits::compare},
                                                          {nvme::IoOpcode::write_uncorrectable, nvme::oncs_bits::write_uncorrectable},
                                                          {nvme::IoOpcode::write_zeroes, nvme::oncs_bits::write_zeroes},
                                                          {nvme::IoOpcode::verify, nvme::oncs_bits::verify}};
  for (const auto& [opcode, claim] : optional) {
    if ((oncs & claim) == 0) continue;
    const auto code = static_cast<std::uint8_t>(opcode);
    auto command = host::as_sqe(host::read(bench.nsid(), 0, 1));
    command.set(nvme::sqe::opcode, code);
    host::RawQueue& io = host.manager.io();
    auto sent = opcode == nvme::IoOpcode::compare ? io.send(command, Bytes(kFirstBlockBytes)) : io.send(command);
    check.status(sent.wait(), sc::sanitize_in_progress, std::string(nvme::io_opcode_name(code)));
  }
}

CONFORMANCE_CASE(sanitize_refuses_another_operation, "nvme.sanitize.running.again", roles::controller, with_sanitize, needs(sanitizes),
                 reaches{"sanitize.in_progress"}) {
  Sanitizing host(bench, check);
  host.begin();
  check.status(host.sanitize(host.any()), sc::sanitize_in_progress);
}

CONFORMANCE_CASE(sanitize_refuses_admin_commands, "nvme.sanitize.running.admin", roles::controller, with_sanitize, needs(sanitizes),
                 needs(has_forbidden_commands), reaches{"sanitize.admin"}) {
  Sanitizing host(bench, check);
  host.begin();
  send_what_is_forbidden(bench, host,
                         [&](const host::RawReply& reply, std::string_view what) { check.status(reply, sc::sanitize_in_progress, what); });
}

CONFORMANCE_CASE(sanitize_refuses_new_firmware, "nvme.sanitize.running.firmware", roles::controller, with_sanitize, needs(sanitizes),
                 needs(updates_firmware), reaches{"sanitize.admin"}) {
  Sanitizing host(bench, check);
  host.begin();
  const auto commit = host::firmware_commit(1, nvme::CommitAction::activate_at_once);
  check.status(host.manager.admin().send(commit).wait(), sc::sanitize_in_progress);
}

CONFORMANCE_CASE(sanitize_leaves_the_association, "nvme.sanitize.running.allowed", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  host.begin();
  host::RawQueue& admin = host.manager.admin();
  check.success(admin.send(host::identify(nvme::Cns::controller), 4096).wait(), "Identify");
  check.success(admin.send(host::get_features(nvme::FeatureId::number_of_queues)).wait(), "Get Features");
  if (!has_keep_alive(bench.declared())) check.success(admin.send(host::keep_alive()).wait(), "Keep Alive");
  for (const auto page : {nvme::LogPage::error_information, nvme::LogPage::smart, nvme::LogPage::sanitize_status}) {
    check.success(admin.send(host::get_log(page, 512), 512).wait(), "Get Log Page, " + std::string(nvme::log_page_name(lid_of(page))));
  }
}

CONFORMANCE_CASE(sanitize_hides_blocks_in_the_error_log, "nvme.sanitize.running.error-log", roles::controller, with_sanitize,
                 needs(sanitizes)) {
  Sanitizing host(bench, check);
  const std::uint64_t blocks = bench.declared().blocks;
  const auto beyond = host.manager.read(bench.nsid(), blocks + 5, 1);
  check.precondition(!beyond.ok() && beyond.status().more(), "a read beyond the end makes an error log entry");
  const auto newest = [&] {
    const auto reply = host.manager.admin().send(host::get_log(nvme::LogPage::error_information, 4096), 4096).wait();
    check.precondition_success(reply, "Get Log Page");
    return View<nvme::ErrorEntry>{reply.data}.get(nvme::error_entry::lba);
  };
  check.precondition(newest() == blocks + 5, "the entry tells the block");
  host.begin();
  check.equal("LBA in the error log", newest(), 0u);
}

CONFORMANCE_CASE(sanitize_binds_other_controllers, "nvme.sanitize.running.other-controller", roles::controller, with_sanitize,
                 needs(sanitizes)) {
  Sanitizing host(bench, check);
  Sanitizing other(bench, check, {.hostnqn = std::string(kOtherHost)});
  other.manager.prepare(bench.nsid(), 0x31);
  host.begin();
  check.status(other.manager.read(bench.nsid(), 0, 8), sc::sanitize_in_progress, "Read at another controller");
  send_what_is_forbidden(bench, other, [&](const host::RawReply& reply, std::string_view what) {
    check.status(reply, sc::sanitize_in_progress, std::string(what) + " at another controller");
  });
  check.status(other.sanitize(other.any()), sc::sanitize_in_progress, "Sanitize at another controller");
}

CONFORMANCE_CASE(sanitize_outlives_a_controller_reset, "nvme.sanitize.controller-reset", roles::controller, with_sanitize,
                 needs(sanitizes)) {
  Sanitizing host(bench, check);
  host.begin();
  host.manager.association.disable();
  host.manager.association.enable();
  check.require(host.state() == SanitizeState::in_progress, "the operation runs after the reset");
  check.require(host.ended(), "the operation ends");
  check.that(host.state() == SanitizeState::completed, "the operation succeeds");
}

CONFORMANCE_CASE(sanitize_outlives_a_power_loss, "nvme.sanitize.power-loss", roles::controller, with_sanitize, needs(sanitizes)) {
  {
    Sanitizing host(bench, check);
    host.begin();
  }
  bench.subsystem().power_cycle();
  bench.world().run_for(Duration::ms(10));
  Sanitizing after(bench, check);
  check.require(after.state() == SanitizeState::in_progress, "the operation runs after the reset");
  check.require(after.ended(), "the operation ends");
  check.that(after.state() == SanitizeState::completed, "the operation succeeds");
}

CONFORMANCE_CASE(sanitize_failure_is_told, "nvme.sanitize.failed.state", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  fail(bench, host, check, true);
  check.that(host.state() == SanitizeState::failed, "the log says that the operation failed");
}

CONFORMANCE_CASE(sanitize_failure_refuses_commands, "nvme.sanitize.failed.refused", roles::controller, with_sanitize, needs(sanitizes),
                 reaches{"sanitize.failed.io"}) {
  Sanitizing host(bench, check);
  host.manager.prepare(bench.nsid(), 0x21);
  fail(bench, host, check, true);
  check.status(host.manager.read(bench.nsid(), 0, 8), sc::sanitize_failed, "Read");
  check.status(host.manager.write(bench.nsid(), 0, Bytes(8 * kFirstBlockBytes)), sc::sanitize_failed, "Write");
  send_what_is_forbidden(bench, host, [&](const host::RawReply& reply, std::string_view what) {
    check.status(reply, one_of(sc::sanitize_failed, sc::sanitize_in_progress), what);  // 8.1.26.3.1 has the one, 8.1.26.5 the other
  });
}

CONFORMANCE_CASE(sanitize_failure_may_be_left, "nvme.sanitize.failed.exit", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  fail(bench, host, check, true);
  if (!check.success(host.sanitize(SanitizeAction::exit_failure_mode), "exit failure mode")) return;
  serves(bench, host, check);
}

CONFORMANCE_CASE(sanitize_restricted_failure_stays, "nvme.sanitize.failed.restricted", roles::controller, with_sanitize, needs(sanitizes),
                 reaches{"sanitize.restricted"}) {
  Sanitizing host(bench, check);
  fail(bench, host, check, false);
  check.status(host.sanitize(SanitizeAction::exit_failure_mode), sc::sanitize_failed, "exit failure mode");
  check.status(host.sanitize(erase(host, true)), sc::sanitize_failed, "an unrestricted operation");
}

CONFORMANCE_CASE(sanitize_leads_out_of_a_failure, "nvme.sanitize.failed.again", roles::controller, with_sanitize, needs(sanitizes)) {
  Sanitizing host(bench, check);
  fail(bench, host, check, false);
  if (!check.success(host.sanitize(erase(host, false)), "another operation")) return;
  check.require(host.ended(), "the operation ends");
  check.that(host.state() == SanitizeState::completed, "the operation succeeds");
  serves(bench, host, check);
}

// tshark 4.0 reads on where a log page is cut.
CONFORMANCE_CASE(sanitize_refuses_other_log_pages, "nvme.sanitize.running.admin", roles::controller, with_sanitize, needs(sanitizes),
                 reaches{"sanitize.admin"}, sends_malformed) {
  using nvme::LogPage;
  constexpr unsigned kVendor = 0xC0;
  // Those that are allowed, or that one revision or another allows.
  constexpr LogPage kAllowed[] = {LogPage::supported_pages,    LogPage::error_information, LogPage::smart,
                                  LogPage::changed_namespaces, LogPage::commands_effects,  LogPage::ana,
                                  LogPage::persistent_event,   LogPage::feature_effects,   LogPage::reservation_notification,
                                  LogPage::sanitize_status,    LogPage::discovery};
  Sanitizing host(bench, check);
  const auto read = [&](unsigned lid) {
    auto command = host::get_log(static_cast<std::uint8_t>(lid), 512);
    command.set(nvme::get_log_sqe::rae, true).set(nvme::get_log_sqe::lsi, lid == lid_of(LogPage::endurance_group) ? 1 : 0);
    return host.manager.admin().send(command, 512).wait();
  };
  std::vector<unsigned> others;
  for (unsigned lid = 0; lid < kVendor; ++lid) {
    const bool allowed = std::any_of(std::begin(kAllowed), std::end(kAllowed), [lid](LogPage one) { return lid_of(one) == lid; });
    if (!allowed && read(lid).ok()) others.push_back(lid);
  }
  check.precondition(!others.empty(), "the product has a log page that is refused meanwhile");
  host.begin();
  for (const unsigned lid : others) {
    check.status(read(lid), sc::sanitize_in_progress, "Get Log Page, " + std::string(nvme::log_page_name(static_cast<std::uint8_t>(lid))));
  }
}

}  // namespace fb::conformance
