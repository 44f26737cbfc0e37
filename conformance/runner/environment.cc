#include "conformance/runner/environment.h"

#include "conformance/monitors/monitors.h"
#include "conformance/runner/bus_bench.h"
#include "conformance/runner/consumer_bench.h"
#include "conformance/runner/controller_bench.h"
#include "conformance/runner/driven_host.h"
#include "conformance/runner/endpoint_bench.h"
#include "conformance/runner/explore_controller.h"
#include "conformance/runner/host_bench.h"
#include "conformance/runner/library_product.h"
#include "conformance/runner/management_requester_bench.h"
#include "conformance/runner/provider_bench.h"
#include "conformance/runner/rdma_bench.h"

namespace fb::conformance {

namespace {

/// A world of the product's own kind of time.
std::unique_ptr<World> world_for(const Product& product) {
  return is_virtual(product) ? World::make_virtual(1) : World::make_real(product.nonce);
}

/// The facts of one bench, not of any case: without deviations, declarations or arrangement.
struct PlainEnvironment {
  PlainEnvironment(const Product& product, void (*arrange)(EmbeddedSetup&), std::string_view transport, const Lane* lane = nullptr)
      : environment{&product, &honest, &cache, arrange, transport, {}, lane} {}
  deviations::DeviationSet honest;
  DeclarationCache cache;
  Environment environment;
};

void explore_device(World& world, const Environment& environment, Declared& found) {
  RdmaBench bench(world, environment);
  found.rdma = bench.product().device().limits();
  found.known = true;
}

}  // namespace

Declared explore(World& world, const Environment& around) {
  Declared found;
  found.embedded = around.product->embedded;
  Environment environment = around;
  environment.exploring = &found;
  try {
    if (is_medium(environment.transport)) {
      Environment asking = environment;
      if (!found.embedded) asking.arrange = [](EmbeddedSetup& setup) { setup.managed->assigned = false; };
      EndpointBench bench(world, asking);
      found.endpoint = explore_endpoint(bench, found);
      bench.finish();
    } else if (environment.product->is_host()) {
      found.why = "a host declares nothing";
    } else if (!environment.product->device.empty()) {
      explore_device(world, environment, found);
    } else {
      explore_controller(world, environment, found);
    }
  } catch (const CannotArrange& cannot) {
    if (found.why.empty()) found.why = cannot.why;
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) throw;
    if (found.why.empty()) found.why = failure.what();
  } catch (const LibraryFault& fault) {
    if (!found.known) found.why = std::string(kLibraryFault) + fault.why;  // otherwise every case shows it
  }
  return found;
}

const Declared& DeclarationCache::of(const Product& product, void (*arrange)(EmbeddedSetup&), std::string_view transport,
                                     const Lane* lane) {
  if (!product.embedded) arrange = nullptr;  // a real one is as it is, and asking it again takes what a case holds
  if (lane != nullptr && !lane->redeclares()) lane = nullptr;
  const std::pair key(reinterpret_cast<std::uintptr_t>(arrange),
                      std::string(transport) + (lane != nullptr ? "/" + std::string(lane->name) : ""));
  const std::lock_guard lock(mutex_);
  auto& entry = known_[key];
  if (!entry) {
    const auto world = world_for(product);
    PlainEnvironment plain(product, arrange, transport, lane);
    // A product that breaks a rule at once may not come as far as the case about it.
    monitors::Monitors watch(evidence::DissectorOptions{});
    if (!product.embedded) world->trace().add_sink(watch);
    entry = std::make_unique<Declared>(explore(*world, plain.environment));
    if (!product.embedded) world->trace().remove_sink(watch);
    watch.finish();
    findings_.insert(findings_.end(), watch.findings().begin(), watch.findings().end());
  }
  return *entry;
}

namespace {

std::optional<std::string> why_unanswered(const Product& product, bool greets, int tries) {
  constexpr Duration kPause = Duration::ms(500);
  const auto world = world_for(product);
  PlainEnvironment plain(product, nullptr, product.transport);
  Declared nothing;
  plain.environment.exploring = &nothing;
  for (;;) {
    const Instant before = world->now();
    std::optional<std::string> why;
    try {
      ControllerBench bench(*world, plain.environment);
      why = why_unanswered(bench, greets);
    } catch (const WaitFailure& failure) {
      if (failure.end() == WaitEnd::interrupted) throw;
      why = failure.what();
    } catch (const UserError& problem) {
      return problem.what();
    }
    const bool at_once = world->now() - before < kPause;  // nobody waits twice for one that is silent
    if (!why || --tries <= 0 || !at_once) return why;
    world->run_for(kPause);
  }
}

}  // namespace

std::optional<std::string> why_absent(const Product& product) { return why_unanswered(product, false, 1); }

std::optional<std::string> why_down(const Product& product) { return why_unanswered(product, true, 10); }

Result<std::string> discover_nqn(const Product& product) {
  const auto world = world_for(product);
  PlainEnvironment plain(product, nullptr, product.transport);
  Declared nothing;
  plain.environment.exploring = &nothing;
  try {
    ControllerBench bench(*world, plain.environment);
    host::DiscoveryClient client(bench.host());
    const auto outcome = client
                             .discover({.to = bench.at(),
                                        .follow_referrals = false,
                                        .authentication = bench.authentication(),
                                        .tls = product.tls ? host::TlsUse::always : host::TlsUse::never})
                             .wait();
    if (!outcome) {
      // Whatever a host that behaves cannot stand need not keep the name from us.
      const std::string by_hand = discover_by_hand(bench);
      if (!by_hand.empty()) return by_hand;
      return Failure{
          Problem{product.url + ": " + outcome.error().text + transport::identity_hint(outcome.error().text, product.identity_version)}};
    }
    bench.finish();
    for (const host::DiscoveredEntry& entry : outcome->entries) {
      if (entry.subtype == fabrics::SubsystemType::nvm) return entry.subnqn;
    }
    return Failure{Problem{product.url + ": its discovery service lists no NVM subsystem"}};
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) throw;
    return Failure{Problem{product.url + ": " + failure.what()}};
  }
}

void name_subsystem(Product& product) {
  if (!product.nqn.empty()) return;
  auto found = discover_nqn(product);
  if (found) {
    product.nqn = std::move(found).value();
  } else {
    product.nameless = found.error().text;
  }
}

std::vector<std::string> meet_host(const Product& product) {
  const auto world = world_for(product);
  PlainEnvironment plain(product, nullptr, product.transport);
  HostBench bench(*world, plain.environment);
  std::vector<std::string> can = dynamic_cast<const DrivenHost&>(bench.product()).hello().can;
  bench.finish();
  return can;
}

std::unique_ptr<Bench> make_bench(World& world, Role role, const Environment& environment) {
  switch (role) {
    case Role::controller:
    case Role::cdc:
    case Role::ddc:
      return std::make_unique<ControllerBench>(world, environment);
    case Role::host:
      return std::make_unique<HostBench>(world, environment);
    case Role::requester:
    case Role::responder:
      return std::make_unique<RdmaBench>(world, environment);
    case Role::endpoint:
      return std::make_unique<EndpointBench>(world, environment);
    case Role::management_requester:
      return std::make_unique<ManagementRequesterBench>(world, environment);
    case Role::bus:
      return std::make_unique<BusBench>(world, environment);
    case Role::provider:
      return std::make_unique<ProviderBench>(world, environment);
    case Role::consumer:
      return std::make_unique<ConsumerBench>(world, environment);
  }
  throw UserError("there is no such role");
}

}  // namespace fb::conformance
