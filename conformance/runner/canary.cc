// The canary: a case that must FAIL in every run. It goes through everything that a real case goes
// through, and expects what no controller can answer. If it ever passes, no verdict can be trusted.
#include "conformance/runner/controller_bench.h"
#include "conformance/runner/endpoint_bench.h"
#include "conformance/runner/host_bench.h"
#include "conformance/runner/provider_bench.h"
#include "conformance/runner/rdma_bench.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

namespace {

constexpr std::string_view kSong = "canary: version of the product";

void sing(Bench& any, Check& check) {
  auto* bench = dynamic_cast<ControllerBench*>(&any);
  if (bench == nullptr) throw CannotArrange{"the canary needs the bench of a controller"};
  RawAssociation& association = bench->associate({.enable = false});
  // A value of VS that was never assigned.
  check.equal(kSong, association.property(fabrics::property::vs), 0xFFFFFFFFu);
}

void sing_at_endpoint(Bench& any, Check& check) {
  auto* bench = dynamic_cast<EndpointBench*>(&any);
  if (bench == nullptr) throw CannotArrange{"the canary needs the bench of an endpoint"};
  const MiAnswer answer = bench->command(mi::Opcode::read_data_structure);
  if (!answer.ok() || answer.data().size() < 2) throw CannotArrange{answer.describe()};
  // A major version that was never assigned.
  check.equal(kSong, answer.data()[1], 0xEEu);
}

void sing_at_provider(Bench& any, Check& check) {
  auto* bench = dynamic_cast<ProviderBench*>(&any);
  if (bench == nullptr) throw CannotArrange{"the canary needs the bench of a provider"};
  // A version that was never assigned.
  check.equal(kSong, bench->nd().a().info().InfoVersion, USHORT{0xEEEE});
}

void sing_at_device(Bench& any, Check& check) {
  auto* bench = dynamic_cast<RdmaBench*>(&any);
  if (bench == nullptr) throw CannotArrange{"the canary needs the bench of an RDMA device"};
  // Numbers of queue pairs have 24 bits.
  check.equal(kSong, bench->connect_to_product().facts.remote_qpn, 0xFFFFFFFFu);
}

void sing_at_host(Bench& any, Check& check) {
  auto* bench = dynamic_cast<HostBench*>(&any);
  if (bench == nullptr) throw CannotArrange{"the canary needs the bench of a host"};
  bench->product().connect({}).wait_for(30_s);
  if (bench->commands().empty()) throw CannotArrange{"the host says nothing"};
  // A host begins with Connect; this opcode was never assigned.
  check.equal(kSong, bench->commands().front().opcode(), std::uint8_t{0xEE});
}

CaseInfo canary_of(Role role, void (*body)(Bench&, Check&)) {
  CaseInfo info{"canary", "bench.canary.fails", role, body, {}, __FILE__};
  if (manages(role)) info.options.transports = kMedia;
  if (programs(role)) info.options.transports = {kProviderTransport};
  return info;
}

}  // namespace

const CaseInfo& canary_case(const Product& product) {
  static const CaseInfo of_controllers = canary_of(Role::controller, &sing);
  static const CaseInfo of_endpoints = canary_of(Role::endpoint, &sing_at_endpoint);
  static const CaseInfo of_providers = canary_of(Role::provider, &sing_at_provider);
  static const CaseInfo of_devices = canary_of(Role::responder, &sing_at_device);
  static const CaseInfo of_hosts = canary_of(Role::host, &sing_at_host);
  if (product.is_host()) return of_hosts;
  if (!product.device.empty()) return of_devices;
  if (product.transport == kProviderTransport) return of_providers;
  return is_medium(product.transport) ? of_endpoints : of_controllers;
}

bool canary_caught(const CaseResult& result) {
  return result.verdict == Verdict::fail && !result.findings.empty() && result.findings.front().what == kSong;
}

}  // namespace fb::conformance
