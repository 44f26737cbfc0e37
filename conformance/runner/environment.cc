#include "conformance/runner/environment.h"

#include "conformance/runner/bus_bench.h"
#include "conformance/runner/consumer_bench.h"
#include "conformance/runner/controller_bench.h"
#include "conformance/runner/driven_host.h"
#include "conformance/runner/endpoint_bench.h"
#include "conformance/runner/host_bench.h"
#include "conformance/runner/management_requester_bench.h"
#include "conformance/runner/provider_bench.h"
#include "conformance/runner/rdma_bench.h"
#include "wire/nvme/features.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

/// A world of the product's own kind of time.
std::unique_ptr<World> world_for(const Product& product) {
  return product.embedded ? World::make_virtual(1) : World::make_real(product.nonce);
}

/// The facts of one bench, not of any case: without deviations, declarations or arrangement.
struct PlainEnvironment {
  PlainEnvironment(const Product& product, void (*arrange)(EmbeddedSetup&), std::string_view transport)
      : environment{&product, &honest, &cache, arrange, transport} {}
  deviations::DeviationSet honest;
  DeclarationCache cache;
  Environment environment;
};

/// The first namespace that takes writes goes to the front, as cases work with that one. An emulated
/// product has its namespaces as a case arranged them.
void prefer_a_writable_namespace(host::Controller& controller, std::vector<host::NamespaceFacts>& all) {
  for (auto one = all.begin(); one != all.end(); ++one) {
    const auto reply = controller.admin(host::identify(nvme::Cns::identify_namespace, one->nsid), 4096).wait();
    if (!reply.ok()) continue;
    const std::uint8_t attributes = View<nvme::IdentifyNamespace>{reply.data}.get(nvme::id_ns::nsattr);
    if ((attributes & nvme::nsattr_bits::write_protected) != 0) continue;
    std::rotate(all.begin(), one, one + 1);
    return;
  }
}

void ask_queues_and_namespace(host::Controller& controller, Declared& found) {
  const auto queues = controller.admin(host::get_features(nvme::FeatureId::number_of_queues)).wait();
  if (queues.ok()) {
    found.io_queues = static_cast<std::uint16_t>(
        std::min(queues.dw0() & 0xFFFF, queues.dw0() >> 16) + 1);
  }
  for (const host::NamespaceFacts& facts : controller.namespaces()) {
    (facts.zoned() ? found.zoned_namespaces : found.namespaces).push_back(facts);
  }
  if (!found.zoned_namespaces.empty()) {
    auto effects = host::get_log(nvme::LogPage::commands_effects, nvme::CommandEffects::size);
    effects.set(nvme::get_log_sqe::csi, static_cast<std::uint8_t>(nvme::CommandSet::zoned));
    const auto log = controller.admin(effects, nvme::CommandEffects::size).wait();
    const auto append = static_cast<std::size_t>(nvme::IoOpcode::zone_append);
    found.zone_append = log.ok() && element<nvme::CommandEffect>(log.data, nvme::command_effects::iocs, append)
                                        .get(nvme::command_effect::csupp);
  }
  if (found.namespaces.empty()) return;
  if (!found.embedded) prefer_a_writable_namespace(controller, found.namespaces);
  const host::NamespaceFacts& first = found.namespaces.front();
  found.nsid = first.nsid;
  found.block_bytes = first.layout.bytes();
  found.blocks = first.blocks;
  const auto reply =
      controller.admin(host::identify(nvme::Cns::identify_namespace, first.nsid), 4096).wait();
  if (reply.ok()) found.name_space = reply.data;
}

/// What cases are about that some products do without.
void ask_features_and_temperature(host::Controller& controller, Declared& found) {
  using nvme::FeatureId;
  for (const FeatureId id : {FeatureId::power_management, FeatureId::temperature_threshold, FeatureId::error_recovery,
                             FeatureId::write_atomicity}) {
    if (controller.admin(host::get_features(id)).wait().ok()) found.features |= 1u << static_cast<unsigned>(id);
  }
  const auto log = controller.admin(host::get_log(nvme::LogPage::smart, nvme::SmartLog::size), nvme::SmartLog::size).wait();
  if (log.ok()) found.kelvin = View<nvme::SmartLog>{log.data}.get(nvme::smart::ctemp);
}

/// Connects as a host that behaves, in the ways that a product may ask for, the usual one first. Null: it
/// lets nobody in, and `found` says why.
host::Controller* connect_somehow(ControllerBench& bench, Declared& found) {
  constexpr std::uint32_t kLong = 120'000;
  for (const std::uint32_t kato_ms : {0u, kLong}) {
    for (const std::uint16_t cntlid : {fabrics::kAnyController, fabrics::kAnyStaticController}) {
      const auto outcome = bench.connect_host({.cntlid = cntlid, .kato_ms = kato_ms});
      if (outcome) {
        found.any_cntlid = cntlid;
        found.usual_kato_ms = kato_ms;
        return outcome.value();
      }
      if (found.why.empty()) found.why = "a host that behaves could not connect: " + outcome.error().text;
      if (outcome.error().kind != host::HostError::Kind::refused) return nullptr;
    }
  }
  return nullptr;
}

/// Whether the product refuses the name of the discovery service, and nothing else of a Connect to it.
bool denies_discovery(ControllerBench& bench) {
  const auto connect = bench.connect_command({.subnqn = std::string(fabrics::kDiscoveryNqn)});
  const auto reply = bench.raw_queue().send(connect).wait();
  constexpr auto kName = fabrics::InvalidParameter::in_connect_data(fabrics::connect_data::subnqn);
  return reply.answered() && nvme::same_code(reply.status(), sc::connect_invalid_parameters) &&
         fabrics::InvalidParameter::from_dw0(reply.dw0()) == kName;
}

void explore_controller(World& world, const Environment& environment, Declared& found) {
  ControllerBench bench(world, environment);
  host::Controller* const controller = connect_somehow(bench, found);
  if (controller == nullptr) return;
  const host::ControllerFacts& facts = controller->facts();
  found.cap = facts.cap;
  found.vs = facts.vs;
  found.controller = facts.identify;
  found.controller.resize(4096);
  found.in_capsule_bytes = facts.in_capsule_bytes;
  ask_queues_and_namespace(*controller, found);
  ask_features_and_temperature(*controller, found);
  if (!found.embedded && environment.transport == "rdma") found.rdma = bench.device().limits();
  found.mutual_authentication = bench.authentication().controller_secret.has_value();
  found.known = true;
  if (!found.embedded) found.discovery = !denies_discovery(bench);
  bench.finish();
}

void explore_device(World& world, const Environment& environment, Declared& found) {
  RdmaBench bench(world, environment);
  found.rdma = bench.product().device().limits();
  found.known = true;
}

}  // namespace

Declared explore(World& world, const Environment& environment) {
  Declared found;
  found.embedded = environment.product->embedded;
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
    found.why = cannot.why;
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) throw;
    found.why = failure.what();
  }
  return found;
}

const Declared& DeclarationCache::of(const Product& product, void (*arrange)(EmbeddedSetup&),
                                     std::string_view transport) {
  if (!product.embedded) arrange = nullptr;  // a real one is as it is, and asking it again takes what a case holds
  const std::pair key(reinterpret_cast<std::uintptr_t>(arrange), std::string(transport));
  const std::lock_guard lock(mutex_);
  auto& entry = known_[key];
  if (!entry) {
    const auto world = world_for(product);
    PlainEnvironment plain(product, arrange, transport);
    entry = std::make_unique<Declared>(explore(*world, plain.environment));
  }
  return *entry;
}

Result<std::string> discover_nqn(const Product& product) {
  const auto world = world_for(product);
  PlainEnvironment plain(product, nullptr, product.transport);
  try {
    ControllerBench bench(*world, plain.environment);
    host::DiscoveryClient client(bench.host());
    const auto outcome = client.discover(
        {.to = bench.at(),
         .follow_referrals = false,
         .authentication = bench.authentication(),
         .tls = product.tls ? host::TlsUse::always : host::TlsUse::never}).wait();
    if (!outcome) return Failure{Problem{product.url + ": " + outcome.error().text}};
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
    case Role::controller: return std::make_unique<ControllerBench>(world, environment);
    case Role::host: return std::make_unique<HostBench>(world, environment);
    case Role::requester:
    case Role::responder: return std::make_unique<RdmaBench>(world, environment);
    case Role::endpoint: return std::make_unique<EndpointBench>(world, environment);
    case Role::management_requester: return std::make_unique<ManagementRequesterBench>(world, environment);
    case Role::bus: return std::make_unique<BusBench>(world, environment);
    case Role::provider: return std::make_unique<ProviderBench>(world, environment);
    case Role::consumer: return std::make_unique<ConsumerBench>(world, environment);
  }
  throw UserError("there is no such role");
}

}  // namespace fb::conformance
