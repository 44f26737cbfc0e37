// What Identify Controller claims against what is taken and refused: optional commands, their actions, log pages and structures.
#include <fmt/format.h>

#include <map>

#include "conformance/oracle/subjects.h"
#include "wire/nvme/copy.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::oracle {

namespace {

using nvme::AdminOpcode;
using nvme::Cns;
using nvme::CommitAction;
using nvme::FeatureId;
using nvme::IoOpcode;
using nvme::LogPage;
using nvme::SanitizeAction;
namespace id = nvme::id_ctrl;

/// Bits of a field of Identify Controller; something is there if any of them is set.
struct Claim {
  std::string_view field;
  std::size_t offset, bytes;
  std::uint32_t bits;

  bool holds(ByteView page) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint32_t{page[offset + i]} << (8 * i);
    return (value & bits) != 0;
  }
};
template <class Field>
constexpr Claim claim(std::string_view name, const Field& field, std::uint32_t bits) {
  return {name, field.offset, Field::size, bits};
}

template <class Id>
struct Row {
  Id what;
  Claim claim;
};

constexpr Row<AdminOpcode> kAdmin[] = {
    {AdminOpcode::security_send, claim("OACS", id::oacs, nvme::oacs_bits::security)},
    {AdminOpcode::security_receive, claim("OACS", id::oacs, nvme::oacs_bits::security)},
    {AdminOpcode::format_nvm, claim("OACS", id::oacs, nvme::oacs_bits::format_nvm)},
    {AdminOpcode::firmware_commit, claim("OACS", id::oacs, nvme::oacs_bits::firmware)},
    {AdminOpcode::firmware_download, claim("OACS", id::oacs, nvme::oacs_bits::firmware)},
    {AdminOpcode::namespace_management, claim("OACS", id::oacs, nvme::oacs_bits::namespace_management)},
    {AdminOpcode::namespace_attachment, claim("OACS", id::oacs, nvme::oacs_bits::namespace_management)},
    {AdminOpcode::device_self_test, claim("OACS", id::oacs, nvme::oacs_bits::self_test)},
    {AdminOpcode::directive_send, claim("OACS", id::oacs, nvme::oacs_bits::directives)},
    {AdminOpcode::directive_receive, claim("OACS", id::oacs, nvme::oacs_bits::directives)},
    {AdminOpcode::nvme_mi_send, claim("OACS", id::oacs, nvme::oacs_bits::nvme_mi)},
    {AdminOpcode::nvme_mi_receive, claim("OACS", id::oacs, nvme::oacs_bits::nvme_mi)},
    {AdminOpcode::virtualization_management, claim("OACS", id::oacs, nvme::oacs_bits::virtualization)},
    {AdminOpcode::doorbell_buffer_config, claim("OACS", id::oacs, nvme::oacs_bits::doorbell_buffer)},
    {AdminOpcode::get_lba_status, claim("OACS", id::oacs, nvme::oacs_bits::get_lba_status)},
    {AdminOpcode::lockdown, claim("OACS", id::oacs, nvme::oacs_bits::lockdown)},
    {AdminOpcode::sanitize,
     claim("SANICAP", id::sanicap, nvme::sanicap_bits::crypto_erase | nvme::sanicap_bits::block_erase | nvme::sanicap_bits::overwrite)},
    {AdminOpcode::keep_alive, claim("KAS", id::kas, 0xFFFF)},
};
// Those that a limit may claim as well are not here.
constexpr Row<IoOpcode> kIo[] = {
    {IoOpcode::compare, claim("ONCS", id::oncs, nvme::oncs_bits::compare)},
    {IoOpcode::copy, claim("ONCS", id::oncs, nvme::oncs_bits::copy)},
    {IoOpcode::reservation_register, claim("ONCS", id::oncs, nvme::oncs_bits::reservations)},
    {IoOpcode::reservation_report, claim("ONCS", id::oncs, nvme::oncs_bits::reservations)},
    {IoOpcode::reservation_acquire, claim("ONCS", id::oncs, nvme::oncs_bits::reservations)},
    {IoOpcode::reservation_release, claim("ONCS", id::oncs, nvme::oncs_bits::reservations)},
};
constexpr Row<LogPage> kLogs[] = {
    {LogPage::telemetry_host, claim("LPA", id::lpa, nvme::lpa_bits::telemetry)},
    {LogPage::telemetry_controller, claim("LPA", id::lpa, nvme::lpa_bits::telemetry)},
    {LogPage::persistent_event, claim("LPA", id::lpa, nvme::lpa_bits::persistent_event)},
    {LogPage::ana, claim("CMIC", id::cmic, nvme::cmic_bits::ana_reporting)},
    {LogPage::endurance_group, claim("CTRATT", id::ctratt, nvme::ctratt_bits::endurance_groups)},
    {LogPage::self_test, claim("OACS", id::oacs, nvme::oacs_bits::self_test)},
};
constexpr Row<Cns> kStructures[] = {
    {Cns::nvm_set_list, claim("CTRATT", id::ctratt, nvme::ctratt_bits::nvm_sets)},
    {Cns::endurance_group_list, claim("CTRATT", id::ctratt, nvme::ctratt_bits::endurance_groups)},
    {Cns::namespace_granularity_list, claim("CTRATT", id::ctratt, nvme::ctratt_bits::namespace_granularity)},
};
constexpr Row<SanitizeAction> kSanitize[] = {
    {SanitizeAction::crypto_erase, claim("SANICAP", id::sanicap, nvme::sanicap_bits::crypto_erase)},
    {SanitizeAction::block_erase, claim("SANICAP", id::sanicap, nvme::sanicap_bits::block_erase)},
    {SanitizeAction::overwrite, claim("SANICAP", id::sanicap, nvme::sanicap_bits::overwrite)},
};
/// By the state that Namespace Write Protection is set to.
constexpr Row<unsigned> kProtection[] = {
    {1, claim("NWPC", id::nwpc, nvme::nwpc_bits::write_protect)},
    {2, claim("NWPC", id::nwpc, nvme::nwpc_bits::until_power_cycle)},
    {3, claim("NWPC", id::nwpc, nvme::nwpc_bits::permanent)},
};
constexpr Row<FeatureId> kSettable[] = {
    {FeatureId::timestamp, claim("ONCS", id::oncs, nvme::oncs_bits::timestamp)},
    {FeatureId::volatile_write_cache, claim("VWC", id::vwc, nvme::vwc_bits::present)},
};

template <class Id, std::size_t N>
const Claim* find(const Row<Id> (&rows)[N], Id what) {
  for (const Row<Id>& row : rows) {
    if (row.what == what) return &row.claim;
  }
  return nullptr;
}

/// Cryptographic erase, of the secure erase settings.
constexpr unsigned kCryptoErase = 2;

class Optional final : public Subject {
 public:
  using Subject::Subject;

  void on_answer(const Exchange& one) override {
    if (one.subsystem().discovery || one.fabrics()) return;
    if (const ByteView page = page_of(*one.controller); !page.empty()) judge(one, page);
    keep(one);
  }
  void on_controller_end(const Controller& controller) override {
    pages_.erase(&controller);
    renewed_.erase(&controller);
  }

 private:
  void judge(const Exchange& one, ByteView page) {
    if (one.key_value) return;
    if (!one.admin()) {
      judge_taken(one, page, find(kIo, static_cast<IoOpcode>(one.sqe[0])), nvme::io_opcode_name(one.sqe[0]));
      if (one.is(IoOpcode::copy)) judge_copy(one, page);
      if (one.is(IoOpcode::flush) && one.nsid() == nvme::kAllNamespaces) judge_flush(one, page);
      return;
    }
    judge_opcode(one, page);
    switch (static_cast<AdminOpcode>(one.sqe[0])) {
      case AdminOpcode::get_log_page:
        return on_log(one, page);
      case AdminOpcode::identify: {
        const std::uint8_t cns = one.command<nvme::IdentifySqe>().get(nvme::identify_sqe::cns);
        return judge_taken(one, page, find(kStructures, static_cast<Cns>(cns)), nvme::cns_name(cns));
      }
      case AdminOpcode::set_features:
        return on_feature(one, page);
      case AdminOpcode::format_nvm:
        return on_format(one, page);
      case AdminOpcode::sanitize: {
        const auto action = one.command<nvme::SanitizeSqe>().get(nvme::sanitize_sqe::sanact);
        return judge_taken(one, page, find(kSanitize, action), fmt::format("Sanitize with action {}", static_cast<unsigned>(action)));
      }
      case AdminOpcode::firmware_commit:
        return on_commit(one, page);
      default:
        return;
    }
  }

  /// What is claimed stays, but for other firmware.
  void keep(const Exchange& one) {
    if (one.is(AdminOpcode::firmware_commit)) {
      pages_.erase(one.controller);
      renewed_[one.controller] = true;
    }
    if (!one.ok() || !one.is(AdminOpcode::identify)) return;
    const ByteView page = one.data_in(nvme::kIdentifySize);
    const auto command = one.command<nvme::IdentifySqe>();
    if (page.empty() || command.get(nvme::identify_sqe::cns) != static_cast<std::uint8_t>(Cns::controller)) return;
    pages_[one.controller].assign(page.begin(), page.end());
  }
  ByteView page_of(const Controller& controller) const {
    if (const auto known = pages_.find(&controller); known != pages_.end()) return known->second;
    return renewed_.count(&controller) != 0 || controller.declared.size() < nvme::kIdentifySize ? ByteView{} : controller.declared;
  }

  void contradicts(const Exchange& one, std::string_view what, std::string_view field) {
    say(Rule::oracle_effects,
        fmt::format("{} completes with {}, which {} of Identify Controller does not claim", what, to_string(one.status()), field));
  }
  void judge_taken(const Exchange& one, ByteView page, const Claim* claim, std::string_view what) {
    if (claim == nullptr || !one.ok()) return;
    judged(Rule::oracle_effects);
    if (!claim->holds(page)) contradicts(one, what, claim->field);
  }

  void judge_opcode(const Exchange& one, ByteView page) {
    const Claim* const claim = find(kAdmin, static_cast<AdminOpcode>(one.sqe[0]));
    if (claim == nullptr) return;
    judge_taken(one, page, claim, nvme::admin_opcode_name(one.sqe[0]));
    if (!claim->holds(page) || !nvme::same_code(one.status(), nvme::sc::invalid_opcode)) return;
    say(Rule::oracle_effects,
        fmt::format("{}, which {} of Identify Controller claims, is an invalid opcode", nvme::admin_opcode_name(one.sqe[0]), claim->field));
  }

  void judge_copy(const Exchange& one, ByteView page) {
    const unsigned format = one.command<nvme::CopySqe>().get(nvme::copy_sqe::desfmt);
    const Claim claimed = claim("CDFS", id::cdfs, 1u << format);
    judge_taken(one, page, &claimed, fmt::format("Copy with descriptor format {}", format));
  }

  void judge_flush(const Exchange& one, ByteView page) {
    constexpr unsigned kRefused = 2, kTaken = 3;
    const unsigned all = View<nvme::IdentifyController>{page}.get(id::vwc) >> 1 & 3;
    judged(Rule::oracle_effects);
    const bool refused = nvme::same_code(one.status(), nvme::sc::invalid_namespace_or_format);
    if ((all == kRefused && one.ok()) || (all == kTaken && refused)) {
      say(Rule::oracle_effects,
          fmt::format("Flush of all namespaces completes with {}, and bits 2:1 of VWC are {}", to_string(one.status()), all));
    }
  }

  void on_log(const Exchange& one, ByteView page) {
    const auto get = one.command<nvme::GetLogPageSqe>();
    const std::uint8_t lid = get.get(nvme::get_log_sqe::lid);
    judge_taken(one, page, find(kLogs, static_cast<LogPage>(lid)), fmt::format("Get Log Page of {:02X}h", lid));
    const bool errors = static_cast<LogPage>(lid) == LogPage::error_information && one.ok() && !get.get(nvme::get_log_sqe::ot);
    if (!errors) return;
    const std::uint64_t offset = nvme::log_offset(get);
    const ByteView data = one.data_in(std::min(nvme::log_length(get), one.length));
    const std::uint64_t end = std::uint64_t{View<nvme::IdentifyController>{page}.get(id::elpe).count()} * nvme::ErrorEntry::size;
    judged(Rule::oracle_effects);
    for (std::uint64_t at = std::max(offset, end); at - offset < data.size(); ++at) {
      if (data[static_cast<std::size_t>(at - offset)] == 0) continue;
      return say(Rule::oracle_effects, fmt::format("the Error Information log has data at {}, and ELPE allows {} bytes", at, end));
    }
  }

  void on_feature(const Exchange& one, ByteView page) {
    const auto set = one.command<nvme::SetFeaturesSqe>();
    const auto fid = static_cast<FeatureId>(set.get(nvme::features_sqe::fid));
    const std::uint32_t value = set.get(nvme::features_sqe::cdw11);
    const std::string what = fmt::format("Set Features, {}", nvme::feature_name(static_cast<std::uint8_t>(fid)));
    judge_taken(one, page, find(kSettable, fid), what);
    if (fid == FeatureId::namespace_write_protection) {
      judge_taken(one, page, find(kProtection, value & 7), fmt::format("{} to {}", what, value & 7));
    }
    if (fid != FeatureId::power_management || !one.ok()) return;
    judged(Rule::oracle_effects);
    if ((value & 0x1F) >= View<nvme::IdentifyController>{page}.get(id::npss).count()) {
      contradicts(one, fmt::format("{} to state {}", what, value & 0x1F), "NPSS");
    }
  }

  void on_format(const Exchange& one, ByteView page) {
    if (!one.ok()) return;
    judged(Rule::oracle_effects);
    const unsigned fna = View<nvme::IdentifyController>{page}.get(id::fna);
    const bool erases = one.command<nvme::FormatSqe>().get(nvme::format_sqe::ses) == kCryptoErase;
    if (erases && (fna & nvme::fna_bits::crypto_erase) == 0) contradicts(one, "Format NVM with cryptographic erase", "FNA");
    const bool all = one.nsid() == nvme::kAllNamespaces;
    if (all && (fna & nvme::fna_bits::no_broadcast_format) != 0) contradicts(one, "Format NVM of all namespaces", "FNA");
  }

  void on_commit(const Exchange& one, ByteView page) {
    if (!one.ok()) return;
    const auto command = one.command<nvme::FirmwareCommitSqe>();
    const CommitAction action = command.get(nvme::firmware_commit_sqe::ca);
    const unsigned slot = command.get(nvme::firmware_commit_sqe::fs);
    if (action > CommitAction::activate_at_once) return;
    const unsigned frmw = View<nvme::IdentifyController>{page}.get(id::frmw);
    const unsigned slots = frmw >> nvme::frmw_bits::slots_shift & 7;
    judged(Rule::oracle_effects);
    if (slot > slots) contradicts(one, fmt::format("Firmware Commit to slot {}", slot), "FRMW");
    const bool replaces = action == CommitAction::replace || action == CommitAction::replace_and_activate;
    if (replaces && slot == 1 && (frmw & nvme::frmw_bits::slot_1_read_only) != 0) {
      contradicts(one, "Firmware Commit of an image to slot 1", "FRMW");
    }
    if (action == CommitAction::activate_at_once && (frmw & nvme::frmw_bits::activation_without_reset) == 0) {
      contradicts(one, "Firmware Commit that activates at once", "FRMW");
    }
  }

  std::map<const Controller*, Bytes, ByNumber> pages_;
  std::map<const Controller*, bool, ByNumber> renewed_;
};

}  // namespace

std::unique_ptr<Subject> follow_optional(Reporter& reporter, bool complete) { return std::make_unique<Optional>(reporter, complete); }

}  // namespace fb::oracle
