#include "conformance/live/live_judge.h"

#include <algorithm>

#include "conformance/requirements/ledger.h"
#include "model/proxy/tcp_proxy.h"
#include "wire/fabrics/transports.h"

namespace fb::live {

using conformance::Role;
using conformance::Side;

namespace {

evidence::DissectorOptions dissector_options(const LiveJudgeOptions& options) {
  // Hosts may say anything to a proxy: what begins otherwise than NVMe/TCP is no finding.
  return {.complete = false, .capture = true, .tcp_ports = options.tcp_ports, .tls_keys = nullptr};
}

/// Whom the requirement of a rule is for, where nobody broke it.
Role role_of(std::string_view requirement) {
  const conformance::Requirement* const found = conformance::find_requirement(requirement);
  if (found == nullptr) return Role::controller;
  const bool host = std::ranges::find(found->roles, "host") != found->roles.end();
  const bool controller = std::ranges::find(found->roles, "controller") != found->roles.end();
  return host && !controller ? Role::host : Role::controller;
}

}  // namespace

LiveJudge::LiveJudge(const LiveJudgeOptions& options)
    : options_(options), hosts_(dissector_options(options)), controllers_(dissector_options(options)) {
  controllers_.judge_answers_to_faults();
}

LiveJudge::~LiveJudge() = default;

void LiveJudge::on_event(const TraceEvent& event) {
  if (event.kind != TraceKind::packet || (event.tcp == nullptr) == (options_.transport == fabrics::kTcp)) return;
  ++packets_;
  namespace actors = proxy::actors;
  const bool of_controllers = options_.both_connections && (event.actor == actors::controller || event.actor == actors::towards_controller);
  if (event.tcp != nullptr) {
    const bool syn = (event.tcp->flags & (tcp_flag::syn | tcp_flag::ack)) == tcp_flag::syn;
    if (syn) served_.insert(event.destination);
  } else if (event.actor == actors::host || event.actor == actors::towards_controller) {
    (of_controllers ? rdma_of_controllers_ : rdma_of_hosts_).insert(event.destination.address);
  }
  monitors::Monitors& judges = of_controllers ? controllers_ : hosts_;
  judges.dissector().number_next(packets_);
  judges.on_event(event);
  judges.settle();
  std::size_t& told = of_controllers ? controllers_told_ : hosts_told_;
  if (judges.findings().size() != told) tell_new(judges, told, !of_controllers);
}

Side LiveJudge::side_of(const monitors::Finding& found, bool of_hosts) const {
  const Endpoint blamed{found.blamed.address, static_cast<std::uint16_t>(found.blamed.number)};
  const std::set<IpAddress>& of_rdma = of_hosts ? rdma_of_hosts_ : rdma_of_controllers_;
  return served_.contains(blamed) || of_rdma.contains(blamed.address) ? Side::controller : Side::host;
}

void LiveJudge::tell_new(const monitors::Monitors& judges, std::size_t& told, bool of_hosts) {
  for (; told < judges.findings().size(); ++told) {
    const monitors::Finding& found = judges.findings()[told];
    const Side side = side_of(found, of_hosts);
    // Under faults the other end of each connection is the proxy.
    if (options_.both_connections && side != (of_hosts ? Side::host : Side::controller)) continue;
    findings_.add(found, side, on_finding);
  }
}

void LiveJudge::finish() {
  // Finished findings are in the order of their packets: those that were told are among them.
  hosts_.finish();
  controllers_.finish();
  hosts_told_ = controllers_told_ = 0;
  tell_new(hosts_, hosts_told_, true);
  tell_new(controllers_, controllers_told_, false);
  findings_.sort();
}

std::uint64_t LiveJudge::left_out() const { return hosts_.findings_left_out() + controllers_.findings_left_out(); }

conformance::RunResult LiveJudge::result() const {
  return findings_.result(
      judged_by({&hosts_, &controllers_}), options_.transport, [](Side side) { return side == Side::host ? Role::host : Role::controller; },
      [](monitors::Rule rule) { return role_of(monitors::facts_of(rule).requirement); });
}

}  // namespace fb::live
