// Identify structures as they crossed the wire, kept for as long as nothing changes what they say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "conformance/oracle/exchange.h"
#include "wire/nvme/events.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/sqe.h"

namespace fb::oracle {

/// What one was asked for.
struct IdentifyKey {
  std::uint8_t cns = 0;
  std::uint32_t nsid = 0;
  std::uint16_t cntid = 0;
  std::uint8_t csi = 0;
  auto operator<=>(const IdentifyKey&) const = default;
};

struct IdentifyPage {
  Bytes bytes;
  std::uint64_t packet = 0;
};

/// Of one subsystem the pages of each controller. A change, or what may be one, makes a new generation, and forgets them.
class IdentifyPages {
 public:
  void on_command(const Exchange& one) {
    if (changes(one)) change(&one.subsystem(), one.began);
  }
  /// The page that this answer brings, if it was not changed meanwhile.
  const IdentifyPage* on_answer(const Exchange& one) {
    if (changes(one) || announces_change(one)) {
      change(&one.subsystem(), one.ended);
      return nullptr;
    }
    if (!one.ok() || !one.is(nvme::AdminOpcode::identify) || !is_steady(one)) return nullptr;
    const ByteView data = one.data_in(nvme::kIdentifySize);
    if (data.empty()) return nullptr;
    IdentifyPage& page = pages_[one.controller][key_of(one)];
    page = {Bytes(data.begin(), data.end()), one.packet};
    return &page;
  }
  void on_abandoned(const Exchange& one) {
    if (changes(one)) change(&one.subsystem(), one.ended);
  }
  void forget(const Controller& controller) { pages_.erase(&controller); }
  /// nullptr: all.
  void change(const Subsystem* subsystem, std::uint64_t order) {
    std::erase_if(pages_, [&](const auto& of) { return subsystem == nullptr || of.first->subsystem == subsystem; });
    changed_[subsystem] = order;
  }
  void unsure(const Subsystem* subsystem) { change(subsystem, last_); }

  /// Nothing has changed since the command was sent.
  bool is_steady(const Exchange& one) {
    last_ = std::max(last_, std::max(one.began, one.ended));
    return changed_at(nullptr) < one.began && changed_at(&one.subsystem()) < one.began;
  }
  const IdentifyPage* find(const Controller& controller, const IdentifyKey& key) const {
    const auto of = pages_.find(&controller);
    if (of == pages_.end()) return nullptr;
    const auto found = of->second.find(key);
    return found == of->second.end() ? nullptr : &found->second;
  }
  template <class Visit>
  void each(const Subsystem& subsystem, const IdentifyKey& key, Visit&& visit) const {
    for (const auto& [controller, pages] : pages_) {
      const auto found = controller->subsystem == &subsystem ? pages.find(key) : pages.end();
      if (found != pages.end()) visit(*controller, found->second);
    }
  }
  template <class Visit>
  void each_of(const Controller& controller, std::uint8_t cns, Visit&& visit) const {
    const auto of = pages_.find(&controller);
    if (of == pages_.end()) return;
    for (const auto& [key, page] : of->second) {
      if (key.cns == cns) visit(key, page);
    }
  }

  static IdentifyKey key_of(const Exchange& one) {
    const auto command = one.command<nvme::IdentifySqe>();
    return {command.get(nvme::identify_sqe::cns), one.nsid(), command.get(nvme::identify_sqe::cntid), command.get(nvme::identify_sqe::csi)};
  }

 private:
  /// The controller says that namespaces have changed, by whomever.
  static bool announces_change(const Exchange& one) {
    if (!one.ok() || !one.is(nvme::AdminOpcode::async_event_request)) return false;
    const nvme::Event event = nvme::Event::from_dw0(one.answer().get(nvme::cqe::dw0));
    return event.type == nvme::EventType::notice && event.info == nvme::event_info::notice_namespace_attribute;
  }
  /// Commands behind which Identify may say something else.
  static bool changes(const Exchange& one) {
    using nvme::AdminOpcode;
    if (!one.admin()) return false;
    if (one.fabrics()) return one.is(nvme::FabricsType::property_set);
    switch (static_cast<AdminOpcode>(one.sqe[0])) {
      case AdminOpcode::get_log_page:
      case AdminOpcode::identify:
      case AdminOpcode::abort:
      case AdminOpcode::get_features:
      case AdminOpcode::async_event_request:
      case AdminOpcode::keep_alive:
        return false;
      default:
        return true;
    }
  }
  std::uint64_t changed_at(const Subsystem* subsystem) const {
    const auto found = changed_.find(subsystem);
    return found == changed_.end() ? 0 : found->second;
  }
  std::map<const Controller*, std::map<IdentifyKey, IdentifyPage>, ByNumber> pages_;
  std::map<const Subsystem*, std::uint64_t, ByNumber> changed_;
  std::uint64_t last_ = 0;
};

/// NSIDs of a controller that are active, where a whole list of them was seen.
std::optional<std::vector<std::uint32_t>> active_namespaces(const IdentifyPages& pages, const Controller& controller);

}  // namespace fb::oracle
