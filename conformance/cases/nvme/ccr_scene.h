// What the cases about Cross-Controller Reset share: a source, controllers that it resets, and the two log pages.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/cross_controller_reset.h"
#include "wire/nvme/events.h"

namespace fb::conformance {

inline std::optional<std::string> resets_others(const Declared& declared) {
  if (!declared.known || declared.identify().get(nvme::id_ctrl::ccrl) != 0) return {};
  return "CCRL is 0: no Cross-Controller Reset";
}
inline std::optional<std::string> reports_lost_hosts(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oaes) & nvme::event_config_bits::lost_host) != 0) return {};
  return "OAES bit 21 is clear: no Lost Host Communication Notices";
}

inline void set_up_ccr(EmbeddedSetup& setup) {
  setup.subsystem.version = fabrics::version(2, 1, 0);
  setup.subsystem.cross_controller_reset.limit = 4;
}
/// Operations that are in progress when their commands complete.
inline void set_up_slow_ccr(EmbeddedSetup& setup) {
  set_up_ccr(setup);
  setup.subsystem.cross_controller_reset.limit = 2;
  setup.subsystem.cross_controller_reset.time = Duration::s(2);
}
inline const furnished having_ccr{&set_up_ccr};
inline const furnished having_slow_ccr{&set_up_slow_ccr};

/// How long an operation may take: less than recovery by time alone.
inline constexpr Duration kCcrPatience = Duration::s(30);

/// One instance of a controller.
struct Instance {
  std::uint16_t cntlid = 0;
  std::uint8_t ciu = 0;
  std::uint64_t cirn = 0;
};

/// How an operation ended.
struct CcrEnd {
  bool immediate = false;  ///< the completion said so
  nvme::CcrEntry entry;
};

class CcrScene {
 public:
  CcrScene(ControllerBench& bench, Check& check) : source(bench.associate()), bench_(bench), check_(check) {}

  RawAssociation& another(const AssociationOptions& options = {}) { return bench_.associate(options); }
  RawAssociation& of_other_host() {
    AssociationOptions options;
    options.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:2f0a8a51-9e2c-4a63-8a5f-4f3b1d0c7e99";
    options.hostid[0] = static_cast<std::uint8_t>(options.hostid[0] ^ 0xFF);
    return bench_.associate(options);
  }

  Instance instance(RawAssociation& association) {
    const auto page = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
    check_.require_success(page, "Identify Controller");
    const View<nvme::IdentifyController> view{page.data};
    return {association.cntlid(), view.get(nvme::id_ctrl::ciu), view.get(nvme::id_ctrl::cirn)};
  }

  host::RawReply send(const Instance& of) { return send(source, of); }
  static host::RawReply send(RawAssociation& from, const Instance& of) {
    return from.admin().send(host::cross_controller_reset(of.cntlid, of.ciu, of.cirn)).wait();
  }

  static bool immediate(const host::RawReply& reply) { return (reply.dw0() & 1) != 0; }

  host::RawReply read(RawAssociation& from, nvme::LogPage page, std::uint8_t lsp = 0, bool retain = false) {
    auto command = host::get_log(page, nvme::kControllerEntriesBytes);
    command.set(nvme::get_log_sqe::lsp, lsp).set(nvme::get_log_sqe::rae, retain);
    auto reply = from.admin().send(command, nvme::kControllerEntriesBytes).wait();
    check_.require_success(reply, fmt::format("Get Log Page {:02X}h", lid_of(page)));
    return reply;
  }
  std::vector<nvme::CcrEntry> entries(std::uint8_t lsp = 0, bool retain = false) {
    return nvme::read_ccr_log(read(source, nvme::LogPage::cross_controller_reset, lsp, retain).data);
  }
  std::optional<nvme::CcrEntry> entry(std::uint16_t icid, std::uint8_t lsp = 0, bool retain = false) {
    for (const nvme::CcrEntry& one : entries(lsp, retain)) {
      if (one.icid == icid) return one;
    }
    return std::nullopt;
  }
  std::vector<nvme::LostHostEntry> lost(RawAssociation& from, bool retain = true) {
    return nvme::read_lost_host_log(read(from, nvme::LogPage::lost_host, 0, retain).data);
  }

  /// The command succeeds, and its operation comes to an end.
  CcrEnd finish(const host::RawReply& reply, std::uint16_t icid) {
    check_.require_success(reply, "Cross-Controller Reset");
    CcrEnd end;
    if (immediate(reply)) {
      const auto said = reply.as<nvme::CrossControllerResetReply>();
      end.immediate = true;
      end.entry = {.icid = icid,
                   .status = nvme::CcrStatus::success,
                   .validated = said.get(nvme::ccr_reply::v),
                   .reset_initiated = said.get(nvme::ccr_reply::clri)};
      return end;
    }
    const Instant limit = bench_.world().now() + kCcrPatience;
    for (;;) {
      const auto one = entry(icid, 0, true);
      check_.require(one.has_value(), "an operation that the completion does not call successful has an entry in log page 1Eh");
      end.entry = *one;
      if (one->status != nvme::CcrStatus::in_progress) return end;
      check_.require(bench_.world().now() < limit, "the operation ends", "it is in progress after 30 s");
      wait(Duration::ms(100));
    }
  }
  CcrEnd reset(const Instance& of) { return finish(send(of), of.cntlid); }
  /// The operation must succeed; how it is done is for other cases.
  CcrEnd reset_ok(const Instance& of) {
    const CcrEnd end = reset(of);
    check_.precondition(end.entry.status == nvme::CcrStatus::success, "the Cross-Controller Reset succeeds");
    return end;
  }
  /// An operation that is in progress after its command.
  void begin(const Instance& of) {
    const auto reply = send(of);
    check_.precondition_success(reply, "Cross-Controller Reset");
    check_.precondition(!immediate(reply), "the operation lasts longer than its command");
  }
  /// A second operation must be completed or in progress; the product is not faster than the bench.
  void needs_progress(std::uint16_t icid) {
    const auto one = entry(icid, 0, true);
    check_.precondition(one.has_value() && one->status == nvme::CcrStatus::in_progress, "the operation is in progress still");
  }

  void wait(Duration time) { bench_.world().run_for(time); }
  bool ends(host::RawQueue& queue, Duration within = kSoon) {
    return bench_.world().run_until([&] { return queue.has_ended(); }, within);
  }
  bool alive(RawAssociation& association) {
    if (association.admin().has_ended()) return false;
    const auto reply = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait_for(kSoon);
    return reply.has_value() && reply->ok();
  }

  void listen(RawAssociation& association, std::uint32_t events) {
    check_.precondition_success(association.admin().send(host::set_features(nvme::FeatureId::async_event_configuration, events)).wait(),
                                "Set Features 0Bh");
  }
  Op<host::RawReply> request_event(RawAssociation& association) { return association.admin().send(host::async_event_request()); }

  /// The association ends without a word of the host.
  void lose(RawAssociation& association) {
    association.admin().disconnect();
    (void)ends(association.admin());
  }
  /// The entry of log page 1Fh about that controller, once it is there.
  std::optional<nvme::LostHostEntry> lost_entry(RawAssociation& from, std::uint16_t cntlid, Duration within = kSoon) {
    const Instant limit = bench_.world().now() + within;
    for (;;) {
      for (const nvme::LostHostEntry& one : lost(from)) {
        if (one.cntlid == cntlid) return one;
      }
      if (bench_.world().now() >= limit) return std::nullopt;
      wait(Duration::ms(50));
    }
  }
  /// The same, which the case needs: whether losses are reported is for other cases.
  nvme::LostHostEntry need_lost_entry(RawAssociation& from, std::uint16_t cntlid) {
    const auto one = lost_entry(from, cntlid);
    check_.precondition(one.has_value(), "log page 1Fh reports the loss");
    return *one;
  }

  RawAssociation& source;

 private:
  ControllerBench& bench_;
  Check& check_;
};

inline constexpr nvme::Event kCcrEvent{nvme::EventType::notice, nvme::event_info::notice_cross_controller_reset,
                                       lid_of(nvme::LogPage::cross_controller_reset)};
inline constexpr nvme::Event kLostHostEvent{nvme::EventType::notice, nvme::event_info::notice_lost_host, lid_of(nvme::LogPage::lost_host)};

}  // namespace fb::conformance
