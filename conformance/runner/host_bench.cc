#include "conformance/runner/host_bench.h"

#include <algorithm>

#include "conformance/evidence/behind_the_wire.h"
#include "conformance/runner/driven_host.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/sqe.h"
#include "wire/tcp/pdu.h"

namespace fb::conformance {

namespace {

constexpr std::uint16_t kLargestAdminQueue = 4096;
constexpr Duration kGoodbye = Duration::ms(200);
constexpr IpAddress kMiddleAddress = IpAddress::v4(10, 0, 0, 3);
constexpr IpAddress kMiddleAddress6 = IpAddress::v6({0xFD, 0x0B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x03});
/// In the lane of the second port; no case opens so many.
constexpr std::uint16_t kLanePort = 9;
/// On a machine's own address, away from the ports of the subsystem.
constexpr std::uint16_t kMiddlePort = kNvmePort + 10;

template <class To, class From, class Convert>
Op<To> converted(World& world, Op<From> from, Convert convert) {
  auto made = make_op<To>(world, from.what());
  auto promise = std::make_shared<Promise<To>>(std::move(made.promise));
  from.on_settled([promise, convert](const From& value) { promise->settle(convert(value)); });
  return made.op;
}

template <class T>
T or_user_error(Result<T> made) {
  if (!made) throw UserError(made.error().text);
  return std::move(made).value();
}

HostOutcome outcome_of(const host::HostError& error) { return {false, error.text, error.status}; }

/// The emulated host behind the interface of any host.
class EmulatedHost final : public HostUnderTest {
 public:
  EmulatedHost(World& world, host::Host& host, const host::ConnectOptions& connect, const std::deque<Bytes>& kept)
      : world_(world), host_(host), connect_(connect), kept_(kept) {}

  std::string hostnqn() const override { return host_.options().hostnqn; }
  Op<HostOutcome> connect(const Request& request) override {
    host::ConnectOptions options = connect_;
    if (!request.subnqn.empty()) options.subnqn = request.subnqn;
    if (request.at) options.to = *request.at;
    options.io_queues = request.io_queues;
    options.queue_entries = request.queue_entries;
    options.kato_ms = request.kato_ms;
    return converted<HostOutcome>(world_, host_.connect(options), [](const host::Controller::Outcome& outcome) {
      return outcome ? HostOutcome{true, {}, {}} : outcome_of(outcome.error());
    });
  }
  Op<HostOutcome> disconnect() override {
    return converted<HostOutcome>(world_, host_.shutdown_all(), [](bool gone) {
      return HostOutcome{gone, gone ? "" : "not all are gone", {}};
    });
  }
  Op<HostOutcome> discover() override { return discover_as(false); }
  Op<HostOutcome> watch() override { return discover_as(true); }
  Op<HostOutcome> connect_discovered() override {
    discovery_ = std::make_unique<host::DiscoveryClient>(host_);
    auto made = make_op<HostOutcome>(world_, "connecting to what is listed");
    auto promise = std::make_shared<Promise<HostOutcome>>(std::move(made.promise));
    discovery_->discover({.to = connect_.to, .tls = connect_.tls}).on_settled([this, promise](const host::DiscoveryClient::Outcome& found) {
      if (!found) return promise->settle(outcome_of(found.error()));
      for (const host::DiscoveredEntry& entry : found->entries) {
        if (entry.subtype != fabrics::SubsystemType::nvm || !entry.usable) continue;
        auto options = host::options_for(host_, entry, connect_);
        if (!options) return promise->settle(outcome_of(options.error()));
        host_.connect(options.value()).on_settled([promise](const host::Controller::Outcome& outcome) {
          promise->settle(outcome ? HostOutcome{true, {}, {}} : outcome_of(outcome.error()));
        });
        return;
      }
      promise->settle(HostOutcome{false, "nothing is listed", {}});
    });
    return made.op;
  }
  Op<HostOutcome> reset() override {
    const auto controllers = host_.controllers();
    if (controllers.empty()) return settled(HostOutcome{false, "no controller", {}});
    return converted<HostOutcome>(world_, controllers.front()->reset(), [](const Result<void, host::HostError>& result) {
      return result ? HostOutcome{true, {}, {}} : outcome_of(result.error());
    });
  }
  Op<HostOutcome> reauthenticate() override {
    const auto controllers = host_.controllers();
    if (controllers.empty()) return settled(HostOutcome{false, "no controller", {}});
    return converted<HostOutcome>(world_, controllers.front()->reauthenticate(), [](const Result<void, host::HostError>& result) {
      return result ? HostOutcome{true, {}, {}} : outcome_of(result.error());
    });
  }
  Op<nvme::Status> read(std::uint32_t nsid, std::uint64_t lba, MutableBytes data) override {
    BENCH_ASSERT(keeps(data), "a case lends memory of its own to the host: see HostBench::keep()");
    host::Namespace* space = find(nsid);
    return space == nullptr ? settled(kNoNamespace) : space->read(lba, data);
  }
  Op<nvme::Status> write(std::uint32_t nsid, std::uint64_t lba, MutableBytes data) override {
    BENCH_ASSERT(keeps(data), "a case lends memory of its own to the host: see HostBench::keep()");
    host::Namespace* space = find(nsid);
    return space == nullptr ? settled(kNoNamespace) : space->write(lba, data);
  }
  Op<nvme::Status> flush(std::uint32_t nsid) override {
    host::Namespace* space = find(nsid);
    return space == nullptr ? settled(kNoNamespace) : space->flush();
  }

 private:
  static constexpr nvme::Status kNoNamespace = nvme::sc::invalid_namespace_or_format;

  Op<HostOutcome> discover_as(bool persistent) {
    discovery_ = std::make_unique<host::DiscoveryClient>(host_);
    host::DiscoveryOptions options{.to = connect_.to, .tls = connect_.tls};
    options.persistent = persistent;
    return converted<HostOutcome>(world_, discovery_->discover(options), [](const host::DiscoveryClient::Outcome& outcome) {
      return outcome ? HostOutcome{true, {}, {}} : outcome_of(outcome.error());
    });
  }

  template <class T>
  Op<T> settled(T value) {
    auto made = make_op<T>(world_, "nothing");
    made.promise.settle(std::move(value));
    return made.op;
  }
  bool keeps(ByteView data) const {
    return std::any_of(kept_.rbegin(), kept_.rend(),
                       [&](const Bytes& one) { return data.data() >= one.data() && data.data() + data.size() <= one.data() + one.size(); });
  }
  host::Namespace* find(std::uint32_t nsid) {
    for (host::Namespace* space : host_.namespaces()) {
      if (space->nsid() == nsid) return space;
    }
    return nullptr;
  }

  World& world_;
  host::Host& host_;
  const host::ConnectOptions& connect_;
  const std::deque<Bytes>& kept_;
  std::unique_ptr<host::DiscoveryClient> discovery_;
};

/// Limits of Identify Controller that are larger than those of the bench's controller.
void claim_more(const CommandContext& command, MutableBytes data) {
  namespace id = nvme::id_ctrl;
  const View<nvme::IdentifySqe> sqe{command.sqe};
  const bool identifies = command.qid == 0 && command.sqe[0] == static_cast<std::uint8_t>(nvme::AdminOpcode::identify) &&
                          sqe.get(nvme::identify_sqe::cns) == static_cast<std::uint8_t>(nvme::Cns::controller);
  if (!identifies || data.size() != nvme::kIdentifySize) return;
  constexpr std::uint32_t kMoreCapsule = 4096 / 16;
  MutableView<nvme::IdentifyController> page{data};
  if (page.get(id::mdts) != 0) page.set(id::mdts, page.get(id::mdts) + 1);
  if (page.get(id::ioccsz) > nvme::kSqeSize / 16) page.set(id::ioccsz, page.get(id::ioccsz) + kMoreCapsule);
}

}  // namespace

HostBench::HostBench(World& world, const Environment& environment)
    : Bench(world), around_(environment.around()), transport_(environment.transport) {
  EmbeddedSetup setup = environment.setup();
  connect_ = setup.connect;
  if (!setup.namespaces.empty() && setup.namespaces.front().nsid != 0) nsid_ = setup.namespaces.front().nsid;
  if (environment.product->is_host()) {
    make_driven(environment, setup);
  } else {
    make_emulated(environment, setup);
  }
}

void HostBench::make_emulated(const Environment& environment, EmbeddedSetup& setup) {
  network_ = std::make_unique<EmbeddedNetwork>(world(), setup);
  streams_ = &network_->bench;
  subsystem::SubsystemHooks* scripted = this;
  controller_ = std::make_unique<EmbeddedController>(world(), ControllerPlace(network_->bench, setup.bench_address), setup, scripted);
  at_ = around_.second_port ? controller_->add_port(kLanePort) : controller_->at();
  connect_.to = at_;
  host_hooks_ = environment.deviations->host_hooks();
  soft_hooks_ = environment.deviations->soft_hooks();
  const DeviceOptions device{"host", setup.product_address, soft_hooks_.get()};
  side_ = std::make_unique<EmbeddedHostFabric>(world(), network_->product, device, setup, host_hooks_.get());
  if (transport::TlsSide* const tls = side_->tls()) {
    connect_.authentication.on_psk = [tls](const auth::GeneratedPsk& made) { tls->keep(made); };
  }
  host::HostOptions options;
  options.hooks = host_hooks_.get();
  host_ = std::make_unique<host::Host>(world(), side_->fabric(), options);
  product_ = std::make_unique<EmulatedHost>(world(), *host_, connect_, kept_);
  if (!environment.case_name.empty()) begin_lane(environment, setup);
}

void HostBench::make_driven(const Environment& environment, EmbeddedSetup& setup) {
  const Product& product = *environment.product;
  // Whatever size of admin queue a host asks for.
  setup.subsystem.admin_entries_max = kLargestAdminQueue;
  DeviceOptions device{"bench", product.local.address, nullptr, fresh_guid(product), product.own_device};
  if (transport_ == fabrics::kTcp) {
    machine_streams_ = or_user_error(net::open_local_streams(world(), product.local));
    streams_ = machine_streams_.get();
  } else if (device.kernel.empty()) {
    machine_ = or_user_error(net::open_local_host(world(), product.local));
  }
  subsystem::SubsystemHooks* scripted = this;
  controller_ =
      std::make_unique<EmbeddedController>(world(), ControllerPlace(machine_.get(), streams_, std::move(device)), setup, scripted);
  at_ = controller_->at();
  connect_.to = at_;
  auto driven = std::make_unique<DrivenHost>(
      world(), product.command, transport_, connect_,
      Briefing{setup.tcp_host.header_digest, setup.tcp_host.data_digest, setup.host_keys, std::string(environment.case_name)});
  driven_ = driven.get();
  product_ = std::move(driven);
}

HostBench::~HostBench() = default;

subsystem::Target& HostBench::target() {
  evidence::behind_the_wire(world());
  return controller_->target();
}

subsystem::Subsystem& HostBench::subsystem() {
  evidence::behind_the_wire(world());
  return controller_->subsystem();
}

const std::string& HostBench::nqn() { return controller_->subsystem().options().nqn; }

HostBench::Between HostBench::between() {
  if (network_ != nullptr) {
    const IpAddress& address = at().address.is_v4() ? kMiddleAddress : kMiddleAddress6;
    return {network_->network.add_host("middle", address), {address, kNvmePort}};
  }
  return {*streams_, {at().address, kMiddlePort}};
}

Endpoint HostBench::open_port(std::uint16_t portid) { return controller_->add_port(portid); }

host::Host& HostBench::emulated_host() {
  BENCH_ASSERT(host_ != nullptr, "what looks into the host says so with arranged{}");
  return *host_;
}

std::string HostBench::product_gone() const {
  return driven_ == nullptr || driven_->why_gone().empty() ? "" : "the host's program: " + driven_->why_gone();
}

void HostBench::finish() {
  script = {};
  part_from_neighbour();
  if (driven_ != nullptr) return driven_->end();
  Op<bool> gone = host_->shutdown_all();
  world().run_until([&] { return gone.settled(); }, kGoodbye);
}

void HostBench::connect_product(const HostUnderTest::Request& request) {
  HostUnderTest::Request wanted = request;
  wanted.io_queues = std::max(wanted.io_queues, around_.host_queues);
  const auto as_scripted = script.data_out;
  if (around_.reconnect) {
    // What the host may do in an association that it loses is more than in the one that the case is about.
    script.data_out = [as_scripted](const CommandContext& command, MutableBytes data) {
      if (as_scripted) as_scripted(command, data);
      claim_more(command, data);
    };
  }
  const HostOutcome connected = product_->connect(wanted).wait();
  script.data_out = as_scripted;
  if (!connected.ok) throw CannotArrange{"the host does not connect: " + connected.text};
  if (around_.reconnect) lose_and_return();
}

std::vector<const SeenCommand*> HostBench::commands(std::uint16_t qid) const {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand& seen : commands_) {
    if (seen.qid == qid) found.push_back(&seen);
  }
  return found;
}

std::vector<const SeenCommand*> HostBench::commands_of(std::uint8_t opcode) const {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand& seen : commands_) {
    if (seen.opcode() == opcode) found.push_back(&seen);
  }
  return found;
}

std::vector<const SeenCommand*> HostBench::fabrics_commands(std::uint8_t fctype) const {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand& seen : commands_) {
    if (seen.fctype() == fctype) found.push_back(&seen);
  }
  return found;
}

void HostBench::forget_seen() {
  commands_.clear();
  requests_.clear();
  pdus_.clear();
  connections_ = 0;
  identities_.clear();
}

// ---- the hooks of the bench's controller ----

bool HostBench::departs(std::string_view point) { return script.departs && script.departs(point); }

void HostBench::private_data_out(std::string_view message, Bytes& data) {
  if (script.private_data_out) script.private_data_out(message, data);
}

void HostBench::private_data_in(std::string_view message, ByteView data) {
  if (message != "req") return;
  ++connections_;
  requests_.emplace_back(data.begin(), data.end());
}

void HostBench::pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) {
  if (script.pdus_out) script.pdus_out(qid, pdus);
}

void HostBench::pdu_in(std::uint16_t qid, ByteView header) {
  if (header[0] == static_cast<std::uint8_t>(tcp::PduType::ic_req)) ++connections_;
  pdus_.push_back({world().now(), qid, Bytes(header.begin(), header.end())});
}

void HostBench::capsule_out(std::uint16_t qid, Bytes& capsule) {
  if (script.capsule_out) script.capsule_out(qid, capsule);
}

void HostBench::capsule_in(std::uint16_t qid, ByteView capsule) {
  SeenCommand arrived{world().now(), qid, {}, Bytes(capsule.begin(), capsule.end()), {}, 0};
  std::copy_n(capsule.begin(), std::min(capsule.size(), nvme::kSqeSize), arrived.sqe.mutable_bytes().begin());
  commands_.push_back(std::move(arrived));
}

SeenCommand* HostBench::find_seen(const CommandContext& command) {
  const std::uint16_t cntlid = command.controller != nullptr ? command.controller->cntlid() : std::uint16_t{0};
  for (auto at = commands_.rbegin(); at != commands_.rend(); ++at) {
    const bool there = at->cntlid == 0 || at->cntlid == cntlid;
    if (there && at->qid == command.qid && std::equal(command.sqe.begin(), command.sqe.end(), at->sqe.bytes().begin())) {
      return &*at;
    }
  }
  return nullptr;
}

bool HostBench::refuses(const CommandContext& command, subsystem::Refusal& refusal) {
  return !script.refuses || script.refuses(command, refusal);
}

std::optional<nvme::Status> HostBench::admission(const CommandContext& command) {
  if (command.controller != nullptr) {
    if (SeenCommand* const one = find_seen(command)) one->cntlid = command.controller->cntlid();
  }
  return script.admission ? script.admission(command) : std::nullopt;
}

void HostBench::property_read(std::uint32_t offset, std::uint64_t& value) {
  if (script.property_read) script.property_read(offset, value);
}

bool HostBench::property_write(std::uint32_t offset, std::uint64_t& value) {
  return !script.property_write || script.property_write(offset, value);
}

void HostBench::data_out(const CommandContext& command, MutableBytes data) {
  if (script.data_out) script.data_out(command, data);
}

void HostBench::queue_secured(std::uint16_t, std::string_view identity) { identities_.emplace_back(identity); }

void HostBench::data_in(const CommandContext& command, MutableBytes data) {
  if (SeenCommand* const one = find_seen(command)) one->data.assign(data.begin(), data.end());
}

Answer HostBench::completion(const CommandContext& command, MutableBytes cqe) {
  const bool connect = command.sqe[0] == nvme::kFabricsOpcode && command.sqe[4] == 0x01;
  if (connect && View<nvme::CqeLayout>{cqe}.get(nvme::cqe::status).ok()) {
    if (SeenCommand* const one = find_seen(command)) one->cntlid = load_le<std::uint16_t>(cqe.data());
  }
  return script.completion ? script.completion(command, cqe) : Answer::send;
}

}  // namespace fb::conformance
