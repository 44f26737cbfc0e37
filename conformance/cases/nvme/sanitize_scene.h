// What the cases about sanitize operations share.
#pragma once

#include <initializer_list>

#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

inline std::optional<std::string> sanitizes(const Declared& declared) {
  const auto kinds = nvme::sanicap_bits::crypto_erase | nvme::sanicap_bits::block_erase | nvme::sanicap_bits::overwrite;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::sanicap) & kinds) != 0) return {};
  return "SANICAP bits 2:0 are clear";
}

/// A kind of operation that the product claims.
inline nvme::SanitizeAction offered_action(const Declared& declared) {
  const std::uint32_t kinds = declared.identify().get(nvme::id_ctrl::sanicap);
  if ((kinds & nvme::sanicap_bits::block_erase) != 0) return nvme::SanitizeAction::block_erase;
  return (kinds & nvme::sanicap_bits::crypto_erase) != 0 ? nvme::SanitizeAction::crypto_erase : nvme::SanitizeAction::overwrite;
}
template <std::uint32_t Kind>
std::optional<std::string> sanitizes_by(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::sanicap) & Kind) != 0) return {};
  return "SANICAP does not have the bit " + std::to_string(Kind);
}

inline const arranged with_sanitize{"a product that can be sanitized", [](EmbeddedSetup& setup) { setup.subsystem.sanitize = {}; }};

/// How long an operation of the emulated product may take.
inline constexpr Duration kSanitizeLimit = Duration::s(600);

/// A host that sanitizes, with an I/O queue.
class Sanitizing {
 public:
  Sanitizing(ControllerBench& bench, Check& check, const AssociationOptions& options = {})
      : manager(bench, check, options), bench_(bench), check_(check) {}

  host::RawReply sanitize(const Record<nvme::SanitizeSqe>& command) { return manager.admin().send(command).wait(); }
  host::RawReply sanitize(nvme::SanitizeAction action) { return sanitize(host::sanitize(action)); }
  nvme::SanitizeAction any() { return offered_action(bench_.declared()); }
  /// An operation that the case does not judge the beginning of.
  void begin() { begin(host::sanitize(any())); }
  void begin(const Record<nvme::SanitizeSqe>& command) { check_.precondition_success(sanitize(command), "Sanitize"); }

  Record<nvme::SanitizeLog> log() {
    const auto reply = manager.admin().send(host::get_log(nvme::LogPage::sanitize_status, 512), 512).wait();
    check_.precondition_success(reply, "Get Log Page");
    return Record<nvme::SanitizeLog>{reply.data};
  }
  nvme::SanitizeState state() { return log().get(nvme::sanitize_log::sos); }
  /// Waits until no operation runs; false where that takes too long.
  bool ended() {
    for (Duration waited; waited < kSanitizeLimit; waited = waited + Duration::ms(500)) {
      if (state() != nvme::SanitizeState::in_progress) return true;
      bench_.world().run_for(Duration::ms(500));
    }
    return false;
  }
  /// Begins one and waits for its end, which the case needs.
  void run(const Record<nvme::SanitizeSqe>& command) {
    begin(command);
    check_.precondition(ended(), "the operation ends");
  }
  void run() { run(host::sanitize(any())); }

  Manager manager;

 private:
  ControllerBench& bench_;
  Check& check_;
};

}  // namespace fb::conformance
