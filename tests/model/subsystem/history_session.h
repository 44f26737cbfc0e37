// What a host does with saved features, the timestamp, telemetry, the persistent event log, directives, Lockdown and
// endurance groups, and what it saw of them in words: the departures show in these.
#pragma once

#include "tests/model/subsystem/management_session.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/persistent_events.h"
#include "wire/nvme/telemetry.h"

namespace fb::subsystem::test {

inline SubsystemOptions history_options() {
  SubsystemOptions options;
  options.controllers = ControllerModel::static_controllers;
  options.static_cntlids = {1, 2, 3};
  options.namespace_management.capacity_bytes = 1 << 24;
  options.endurance = {.groups = 2, .groups_max = 3, .nvm_sets = true, .managed = true, .group_bytes = 1 << 22};
  return options;
}

inline nvme::Sqe logged(nvme::LogPage page, std::size_t bytes, unsigned lsp = 0, std::uint64_t offset = 0, unsigned lsi = 0,
                        bool retain = true) {
  nvme::Sqe made = get_log(static_cast<unsigned>(page), bytes, offset);
  made.edit<nvme::GetLogPageSqe>().set(nvme::get_log_sqe::lsp, lsp).set(nvme::get_log_sqe::lsi, lsi).set(nvme::get_log_sqe::rae, retain);
  return made;
}

/// A host, and what it notes.
struct Historian {
  Historian(Rig& rig, Transcript& transcript, std::uint16_t cntlid, std::uint8_t hostid = 0x77)
      : host(rig, words_for(cntlid, hostid)), out(transcript) {}

  static ConnectWords words_for(std::uint16_t cntlid, std::uint8_t hostid) {
    ConnectWords words;
    words.cntlid = cntlid;
    words.hostid = hostid;
    return words;
  }
  void send(const nvme::Sqe& sqe, Bytes data = {}) { out.note(host.admin.send(sqe.bytes(), std::move(data))); }
  void fetch(const nvme::Sqe& sqe, std::size_t bytes) { out.note(host.admin.fetch(sqe.bytes(), bytes)); }
  void log(nvme::LogPage page, std::size_t bytes, unsigned lsp = 0, std::uint64_t offset = 0, unsigned lsi = 0, bool retain = true) {
    fetch(logged(page, bytes, lsp, offset, lsi, retain), bytes);
  }
  void persistent() {
    log(nvme::LogPage::persistent_event, 4096, 1);
    log(nvme::LogPage::persistent_event, 4, 2);
  }
  void directive(bool sends, unsigned type, unsigned operation, std::uint32_t nsid = 1, unsigned specific = 0, std::uint32_t cdw12 = 0,
                 std::size_t bytes = 64) {
    using nvme::AdminOpcode;
    nvme::Sqe made = command(sends ? AdminOpcode::directive_send : AdminOpcode::directive_receive, nsid);
    made.set(nvme::sqe::cdw10, bytes / 4 - 1).set(nvme::sqe::cdw11, operation | type << 8 | specific << 16).set(nvme::sqe::cdw12, cdw12);
    sends ? send(made) : fetch(made, bytes);
  }
  void enable(unsigned type, bool on, std::uint32_t nsid = 1) { directive(true, 0, 1, nsid, 0, type << 8 | (on ? 1u : 0u)); }
  void streams(std::uint32_t nsid = 1) {
    directive(false, 1, 1, nsid);
    directive(false, 1, 2, nsid);
  }
  void stream_write(unsigned type, unsigned stream, std::uint32_t nsid = 1) {
    nvme::Sqe made = rw(nvme::IoOpcode::write, 0, 1, nsid);
    made.set(nvme::sqe::cdw12, type << 20).set(nvme::sqe::cdw13, stream << 16);
    out.note(host.io.send(made.bytes(), Bytes(512, 0x5A)));
  }
  void lock(unsigned scope, unsigned code, bool prohibit, unsigned interface = 0) {
    nvme::Sqe made = command(nvme::AdminOpcode::lockdown);
    made.set(nvme::sqe::cdw10, scope | (prohibit ? 16u : 0u) | interface << 5 | code << 8);
    send(made);
  }
  Reply manage_capacity(unsigned operation, unsigned element, std::uint64_t bytes = 0) {
    nvme::Sqe made = command(nvme::AdminOpcode::capacity_management);
    made.set(nvme::sqe::cdw10, operation | element << 16).set(nvme::sqe::cdw11, bytes & 0xFFFFFFFF);
    const Reply reply = host.admin.send(made.bytes());
    out.note(reply);
    return reply;
  }

  Managing host;
  Transcript& out;
};

inline void saved_values(Rig& rig, Transcript& out) {
  {
    Historian host(rig, out, 1);
    const auto look = [&] {
      for (const unsigned select : {0u, 1u, 2u, 3u}) host.send(get_feature(0x0B, select));
    };
    nvme::Sqe save = set_feature(0x0B, 0x100);
    save.set(nvme::sqe::cdw10, 0x8000000Bu);
    host.send(save);
    look();
    host.send(set_feature(0x0B, 0x900));
    look();
    host.host.reset();
    look();
    save.set(nvme::sqe::cdw10, 0x80000016u);
    host.send(save, Bytes(512));
    const auto clock = [&] { host.fetch(get_feature(0x0E), 8); };
    clock();
    host.send(set_feature(0x0E, 0), Bytes{1, 2, 3, 4, 5, 6, 0, 0});
    rig.world->run_for(Duration::ms(30));
    clock();
    host.host.reset();
    clock();
    host.host.leave();
  }
  Historian again(rig, out, 1);
  again.send(get_feature(0x0B));
  again.host.leave();
}

inline void telemetries(Rig& rig, Transcript& out) {
  using nvme::LogPage;
  Historian host(rig, out, 1);
  host.send(set_feature(0x0B, 0x400));
  host.host.admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  host.log(LogPage::telemetry_host, 1024, 1);
  host.log(LogPage::telemetry_host, 1024, 1);
  rig.world->run_for(Duration::ms(1));
  host.log(LogPage::telemetry_host, 1024);
  host.log(LogPage::telemetry_host, 1020);
  host.log(LogPage::telemetry_controller, 512, 0, 8);
  rig.disk->telemetry().capture_by_controller("a session asked for it");
  host.log(LogPage::telemetry_controller, 1024);
  out.drain(host.host.admin);
  rig.disk->reset_subsystem();
  rig.world->run_for(Duration::ms(5));
  Historian again(rig, out, 1);
  again.log(LogPage::telemetry_controller, 1024, 0, 0, 0, false);
  again.log(LogPage::telemetry_controller, 1024);
  again.host.leave();
}

inline void persistent_events(Rig& rig, Transcript& out) {
  using nvme::LogPage;
  {
    Historian host(rig, out, 1);
    host.log(LogPage::persistent_event, 512);
    host.log(LogPage::persistent_event, 512, 3);
    host.log(LogPage::persistent_event, 512, 1);
    host.log(LogPage::persistent_event, 4, 2);
    host.log(LogPage::persistent_event, 512);
    host.persistent();
    // Each step shows by itself what it left.
    const auto step = [&](auto&& act) {
      act();
      host.persistent();
    };
    step([&] { host.host.reset(); });
    step([&] { host.send(set_feature(0x04, 0x150)); });
    step([&] { host.send(set_feature(0x0E, 0), Bytes(8, 1)); });
    std::uint32_t made = 0;
    step([&] {
      const Reply reply = host.host.create();
      out.note(reply);
      made = reply.dw0();
    });
    step([&] { host.send(manage(1, made)); });
    step([&] { host.send(format(1, 0)); });
    step([&] { host.log(LogPage::telemetry_host, 512, 1); });
    step([&] { rig.disk->set_temperature(345); });
    rig.disk->set_temperature(310);
    host.log(LogPage::persistent_event, 4096, 1);
    host.send(set_feature(0x0E, 0), Bytes(8, 2));
    host.log(LogPage::persistent_event, 4096);
    host.log(LogPage::persistent_event, 4, 2);
    step([&] {
      host.send(sanitize(2));
      rig.world->run_for(Duration::s(30));
    });
    // With firmware that waits for a reset nothing could be sanitized.
    step([&] { host.send(commit(1, nvme::CommitAction::activate)); });
  }
  rig.disk->reset_subsystem();
  rig.world->run_for(Duration::s(50 * 3600));
  Historian host(rig, out, 1);
  host.persistent();
  host.host.leave();
}

inline void directives(Rig& rig, Transcript& out) {
  constexpr std::uint32_t kAll = nvme::kAllNamespaces;
  Historian host(rig, out, 1), other(rig, out, 2), stranger(rig, out, 3, 0x55);
  const auto enabled = [&] {
    host.directive(false, 0, 1, 1, 0, 0, 128);
    other.directive(false, 0, 1, 1, 0, 0, 128);
  };
  enabled();
  host.directive(false, 7, 1);
  host.directive(false, 0, 2);
  host.directive(false, 0, 1, 0);
  host.directive(false, 0, 1, 900);
  host.directive(false, 0, 1, 5000);
  host.directive(false, 0, 1, kAll);
  host.streams();
  host.enable(0, true);
  host.enable(9, true);
  host.stream_write(1, 5);
  host.stream_write(9, 5);
  host.enable(1, true);
  enabled();
  host.directive(false, 1, 1, 1, 0, 0, std::size_t{4} << 20);
  host.stream_write(1, 30);
  host.stream_write(1, 4);
  host.stream_write(9, 4);
  host.streams();
  host.streams(kAll);
  host.directive(true, 1, 1, 1, 30);
  host.directive(true, 1, 1, kAll, 4);
  host.streams();
  host.directive(false, 1, 3, 1, 0, 2);
  host.directive(false, 1, 3, 1, 0, 2);
  host.streams();
  stranger.enable(1, true);
  stranger.directive(false, 1, 3, 1, 0, 99);
  stranger.directive(false, 1, 3, 1, 0, 1);
  other.enable(1, true, 2);
  other.directive(false, 1, 3, 2, 0, 1);
  host.directive(true, 1, 2);
  host.streams();
  host.stream_write(1, 8);
  host.send(format(1, 0));
  host.streams();
  stranger.directive(true, 1, 2);
  const std::uint32_t made = host.host.create().dw0();
  out.note(host.host.attach(made, {1}));
  host.enable(1, true, made);
  host.directive(false, 1, 3, made, 0, 4);
  host.send(manage(1, made));
  host.streams();
  host.enable(1, false);
  enabled();
  host.enable(1, true);
  other.host.leave();
  host.host.reset();
  host.directive(false, 0, 1, 1, 0, 0, 128);
  host.host.leave();
  stranger.host.leave();
}

inline void lockdowns(Rig& rig, Transcript& out) {
  using nvme::LogPage;
  const auto tried = [](Historian& host) {
    host.send(manage(1, 0xFFFFFFFE));
    host.send(set_feature(0x04, 0x150));
  };
  {
    Historian host(rig, out, 1);
    for (const unsigned lsp : {0u, 1u, 2u, 0x10u, 0x30u}) host.log(LogPage::lockdown, 512, lsp);
    host.lock(1, 0, true);
    host.lock(0, 0x0D, true, 3);
    host.lock(0, 0x0D, true, 1);
    host.lock(4, 0, true);
    host.lock(0, 0x06, true);
    host.lock(0, 0x0D, true);
    host.lock(2, 0x04, true);
    host.log(LogPage::lockdown, 512, 0x10);
    tried(host);
    host.lock(2, 0x04, false);
    tried(host);
  }
  rig.disk->reset_subsystem();
  rig.world->run_for(Duration::ms(5));
  {
    Historian host(rig, out, 1);
    tried(host);
  }
  rig.disk->power_cycle();
  rig.world->run_for(Duration::ms(5));
  Historian host(rig, out, 1);
  tried(host);
  host.host.leave();
}

inline void endurances(Rig& rig, Transcript& out) {
  using nvme::LogPage;
  Historian host(rig, out, 1);
  const auto look = [&] {
    host.fetch(identify(nvme::Cns::endurance_group_list), 4096);
    host.fetch(identify(nvme::Cns::nvm_set_list), 4096);
    host.fetch(identify(nvme::Cns::allocated_namespace_list), 4096);
    for (const unsigned group : {1u, 2u, 3u}) host.log(LogPage::endurance_group, 512, 0, 0, group, false);
    host.log(LogPage::smart, 512);
  };
  look();
  out.note(host.host.write(1, 0, 7));
  out.note(host.host.read(1, 0));
  host.send(set_feature(0x0B, 0x4000));
  host.send(set_feature(0x18, 1u << 16 | 2));
  host.send(set_feature(0x18, 1u << 16 | 9));
  host.send(get_feature(0x18, 0, 9));
  host.host.admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  rig.disk->endurance().set_warning(2, 9);
  host.log(LogPage::endurance_group_events, 64);
  out.drain(host.host.admin);
  rig.disk->endurance().set_warning(1, 8);
  look();
  const auto group = [&] { return host.manage_capacity(1, 0, 1 << 20).dw0(); };
  host.manage_capacity(7, 0);
  host.manage_capacity(1, 4, 1 << 20);
  host.manage_capacity(1, 0, 0);
  host.manage_capacity(1, 0, 0xF0000000);
  const std::uint32_t third = group();
  group();  // one more than there may be
  host.manage_capacity(3, 9, 1 << 19);
  const std::uint32_t set = host.manage_capacity(3, third, 1 << 19).dw0();
  Bytes wanted = NewNamespace{}.data();
  store_le(wanted.data() + 102, static_cast<std::uint16_t>(third));
  store_le(wanted.data() + 100, static_cast<std::uint16_t>(set));
  out.note(host.host.admin.send(manage(0).bytes(), wanted));
  store_le(wanted.data() + 102, std::uint16_t{77});
  out.note(host.host.admin.send(manage(0).bytes(), wanted));
  look();
  host.manage_capacity(4, 99);
  host.manage_capacity(2, 99);
  host.manage_capacity(2, third);
  look();
  host.host.leave();
}

inline void histories(SubsystemHooks* hooks, Transcript& out) {
  Rig rig(history_options(), hooks);
  NamespaceOptions second;
  second.blocks = 1024;
  (void)rig.disk->add_namespace(std::move(second));
  saved_values(rig, out);
  telemetries(rig, out);
  persistent_events(rig, out);
  directives(rig, out);
  lockdowns(rig, out);
  endurances(rig, out);
}

}  // namespace fb::subsystem::test
