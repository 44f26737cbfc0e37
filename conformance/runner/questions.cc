#include "conformance/runner/questions.h"

#include <algorithm>

#include "model/host/commands.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

using nvme::Cns;
using nvme::FeatureId;
using nvme::FeatureSelect;
using nvme::LogPage;

/// Of namespaces and of groups, a few stand for all.
constexpr std::size_t kFew = 4;

class Questions {
 public:
  Questions(host::RawQueue& admin, const Declared& declared) : admin_(admin), declared_(declared) {}

  void ask() {
    if (!identify(Cns::controller).ok()) return;
    ask_namespaces();
    if ((bits(nvme::id_ctrl::lpa) & nvme::lpa_bits::supported_pages) == 0) return;
    ask_logs();
    ask_features();
  }

 private:
  template <class Field>
  std::uint32_t bits(const Field& field) const {
    return declared_.identify().get(field);
  }
  host::RawReply identify(Cns cns, std::uint32_t nsid = 0) { return admin_.send(host::identify(cns, nsid), nvme::kIdentifySize).wait(); }
  static std::vector<std::uint32_t> few_of(const host::RawReply& list) {
    if (!list.ok() || list.data.size() < nvme::kIdentifySize) return {};
    auto ids = nvme::read_namespace_list(list.data);
    ids.resize(std::min(ids.size(), kFew));
    return ids;
  }

  void ask_namespaces() {
    namespaces_ = few_of(identify(Cns::active_namespace_list));
    for (const std::uint32_t nsid : namespaces_) {
      (void)identify(Cns::identify_namespace, nsid);
      if (declared_.version_at_least(2, 0)) (void)identify(Cns::independent_namespace, nsid);
    }
    if ((bits(nvme::id_ctrl::oacs) & nvme::oacs_bits::namespace_management) == 0) return;
    for (const std::uint32_t nsid : few_of(identify(Cns::allocated_namespace_list))) {
      (void)identify(Cns::allocated_namespace, nsid);
      (void)identify(Cns::namespace_controller_list, nsid);
    }
  }

  host::RawReply read(LogPage page, std::uint32_t bytes, std::uint16_t specific = 0) {
    auto command = host::get_log(page, bytes);
    command.set(nvme::get_log_sqe::rae, true).set(nvme::get_log_sqe::lsi, specific);
    return admin_.send(command, bytes).wait();
  }

  void ask_logs() {
    constexpr struct {
      LogPage page;
      std::uint32_t bytes;
    } kPages[] = {{LogPage::smart, 512},          {LogPage::firmware_slot, 512}, {LogPage::changed_namespaces, 4096},
                  {LogPage::self_test, 564},      {LogPage::ana, 1024},          {LogPage::reservation_notification, 64},
                  {LogPage::sanitize_status, 512}};
    const host::RawReply supported = read(LogPage::supported_pages, nvme::SupportedPages::size);
    if (!supported.ok()) return;
    const auto has = [&](LogPage page) {
      const auto lid = static_cast<unsigned>(page);
      return element<nvme::SupportedPage>(supported.data, nvme::supported_pages::lids, lid).get(nvme::supported_page::lsupp);
    };
    const std::uint64_t errors = std::min<std::uint64_t>(declared_.identify().get(nvme::id_ctrl::elpe).count(), 32);
    (void)read(LogPage::error_information, static_cast<std::uint32_t>(errors * nvme::ErrorEntry::size));
    for (const auto& one : kPages) {
      if (has(one.page)) (void)read(one.page, one.bytes);
    }
    if (!has(LogPage::endurance_group)) return;
    const host::RawReply groups = identify(Cns::endurance_group_list);
    const std::size_t count = groups.ok() ? load_le<std::uint16_t>(groups.data.data()) : 0;
    for (std::size_t i = 1; i <= std::min(count, kFew); ++i) {
      (void)read(LogPage::endurance_group, nvme::EnduranceGroupLog::size, load_le<std::uint16_t>(&groups.data[2 * i]));
    }
  }

  void ask_feature(FeatureId id, std::uint32_t cdw11, std::uint32_t nsid) {
    for (const FeatureSelect select :
         {FeatureSelect::current, FeatureSelect::default_value, FeatureSelect::saved, FeatureSelect::capabilities}) {
      auto command = host::get_features(id, select, cdw11);
      command.set(nvme::sqe::nsid, nsid);
      if (!admin_.send(command).wait().ok()) return;
    }
  }

  void ask_features() {
    // Those whose value is in the completion.
    constexpr FeatureId kPlain[] = {FeatureId::arbitration,     FeatureId::power_management,          FeatureId::temperature_threshold,
                                    FeatureId::error_recovery,  FeatureId::volatile_write_cache,      FeatureId::number_of_queues,
                                    FeatureId::write_atomicity, FeatureId::async_event_configuration, FeatureId::sanitize_configuration};
    constexpr FeatureId kOfNamespaces[] = {FeatureId::reservation_notification_mask, FeatureId::reservation_persistence,
                                           FeatureId::namespace_write_protection};
    constexpr std::uint32_t kUnder = 1u << 20;
    const host::RawReply effects = read(LogPage::feature_effects, nvme::FeatureEffects::size);
    if (!effects.ok() || (bits(nvme::id_ctrl::oncs) & nvme::oncs_bits::save_and_select) == 0) return;
    const auto has = [&](FeatureId id) {
      const auto effect = element<nvme::FeatureEffect>(effects.data, nvme::feature_effects::fids, static_cast<unsigned>(id));
      return effect.get(nvme::feature_effect::fsupp);
    };
    for (const FeatureId id : kPlain) {
      if (has(id)) ask_feature(id, 0, 0);
    }
    if (has(FeatureId::temperature_threshold) && bits(nvme::id_ctrl::wctemp) != 0) ask_feature(FeatureId::temperature_threshold, kUnder, 0);
    if (namespaces_.empty()) return;
    for (const FeatureId id : kOfNamespaces) {
      if (has(id)) ask_feature(id, 0, namespaces_.back());
    }
  }

  host::RawQueue& admin_;
  const Declared& declared_;
  std::vector<std::uint32_t> namespaces_ = {};
};

}  // namespace

void ask_everything(host::RawQueue& admin, const Declared& declared) { Questions(admin, declared).ask(); }

}  // namespace fb::conformance
