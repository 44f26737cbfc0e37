#include "conformance/runner/controller_bench.h"

#include <algorithm>
#include <atomic>

#include "conformance/evidence/behind_the_wire.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/library_product.h"
#include "conformance/runner/managed_setup.h"
#include "conformance/runner/questions.h"
#include "conformance/runner/waits.h"
#include "model/auth/host_auth.h"
#include "model/deviations/in_band.h"
#include "wire/fabrics/auth_messages.h"

namespace fb::conformance {

namespace {

constexpr Duration kFirstPoll = Duration::ms(1);
constexpr Duration kSlowestPoll = Duration::ms(64);
constexpr Duration kGoodbye = Duration::ms(200);
/// In the lane of the second port; no case opens so many.
constexpr std::uint16_t kLanePort = 9;
/// CIDs that a raw queue begins with where they are about to wrap.
constexpr std::uint16_t kLastCids = 0xFFFC;
/// With a real product: no specification says how long a handshake may take, and one that is emulated takes its time.
constexpr Duration kHandshakePatience = Duration::s(60);
/// With a real product: longest wait for what a case needs and does not judge.
constexpr Duration kScenePatience = Duration::s(10);
/// With a real product: CAP.TO may announce two minutes, and a run would consist of waits for one that is never ready.
constexpr Duration kReadyPatience = Duration::s(30);
/// The same once it is known that it was not ready when it was asked.
constexpr Duration kReadyAgain = Duration::s(1);
constexpr std::uint32_t kRdyBit = 1, kCfsBit = 2;

/// A GUID that no other device of any run has: a product would take two devices of one GUID for one
/// that restarted.
/// What a host of the bench knows of the emulated product's secrets, or was told of a real one's.
host::AuthenticationOptions known_secrets(const Product& product, const EmbeddedSetup& setup) {
  host::AuthenticationOptions options;
  const auto& secrets = product.embedded ? setup.subsystem.authentication.secrets : product.secrets;
  if (const auth::SecretPair* pair = auth::secrets_of(secrets, kBenchHostNqn)) {
    options.secret = pair->host;
    options.controller_secret = pair->controller;
  }
  return options;
}

/// The answer to something that a case needs and does not judge.
host::RawReply needed(host::RawReply reply, std::string_view what) {
  if (!reply.answered()) throw CannotArrange{std::string(what) + ": " + reply.end->text};
  if (!reply.status().ok()) {
    throw CannotArrange{std::string(what) + " answered " + nvme::to_string(reply.status())};
  }
  return reply;
}

/// A real product that leaves it without an answer is not to blame by the rule of this case, which is about something else.
host::RawReply needed(World& world, Op<host::RawReply> op, std::string_view what) {
  if (world.real_loop() == nullptr) return needed(op.wait(), what);
  const Duration limit = std::min(kScenePatience, world.patience());
  auto reply = op.wait_for(limit);
  if (reply) return needed(std::move(*reply), what);
  waits::ran_out(world, limit);
  throw CannotArrange{std::string(what) + ": no answer within " + to_string(limit)};
}

}  // namespace

// ---- RawAssociation ----

std::uint64_t RawAssociation::property(std::uint32_t offset) {
  return needed(bench_.world(), admin_.send(host::property_get(offset)), "Property Get").value();
}

std::uint32_t RawAssociation::enabling_cc() {
  const auto cap = record_from_integer<fabrics::Cap>(property(fabrics::property::cap));
  Record<fabrics::Cc> cc;
  cc.set(fabrics::cc::en, true)
      .set(fabrics::cc::mps, cap.get(fabrics::cap::mpsmin))
      .set(fabrics::cc::iosqes, fabrics::kIoSqEntrySizeLog2)
      .set(fabrics::cc::iocqes, fabrics::kIoCqEntrySizeLog2);
  if ((cap.get(fabrics::cap::css) & fabrics::cap_css_bits::io_command_sets) != 0) {
    cc.set(fabrics::cc::css, fabrics::CommandSetSelected::all);
  }
  return static_cast<std::uint32_t>(integer_of(cc));
}

bool RawAssociation::wait_csts(std::uint32_t mask, std::uint32_t value, Duration limit) {
  World& world = bench_.world();
  const bool real = world.real_loop() != nullptr && !bench_.embedded();
  const bool for_ready = mask == kRdyBit && value == kRdyBit;
  const bool known = for_ready && !bench_.known_so_far().not_ready.empty();
  const Duration longest = real ? std::min(limit, waits::granted(world, known ? kReadyAgain : kReadyPatience)) : limit;
  const Instant end = world.now() + longest;
  Duration interval = kFirstPoll;
  for (;;) {
    const auto csts = static_cast<std::uint32_t>(property(fabrics::property::csts));
    if ((csts & mask) == value) return true;
    if (real && for_ready && (csts & kCfsBit) != 0) return false;  // nothing but a reset helps
    if (world.now() >= end) break;
    world.run_for(interval);
    interval = std::min(interval * 2, kSlowestPoll);
  }
  if (real) waits::ran_out(world, longest);
  // It was waited in full when the product was asked, or nowhere.
  if (longest < limit && !(known && limit <= kReadyPatience)) {
    throw CannotArrange{"CSTS was not as awaited for " + to_string(longest) + ", and no longer wait was made (" + to_string(limit) +
                        " are allowed)"};
  }
  return false;
}

void RawAssociation::enable() {
  // It took as long as it may to find that out, and would again in every case.
  if (!bench_.embedded() && !bench_.known_so_far().not_ready.empty()) throw CannotArrange{bench_.known_so_far().not_ready};
  // Ready before it is enabled, it would seem to be after: what it does then is nobody's business but that of the cases of CSTS.
  if (!bench_.embedded() && (property(fabrics::property::csts) & 1) != 0) throw CannotArrange{"CSTS.RDY is 1 before CC.EN is set"};
  const auto cap = record_from_integer<fabrics::Cap>(property(fabrics::property::cap));
  const Duration limit = Duration::ms(500) * (std::int64_t{cap.get(fabrics::cap::to)} + 1);
  needed(set_property(fabrics::property::cc, enabling_cc()), "Property Set of CC");
  if (wait_csts(kRdyBit, kRdyBit, limit)) return;
  const bool fatal = !bench_.embedded() && (property(fabrics::property::csts) & kCfsBit) != 0;
  throw CannotArrange{fatal ? "CSTS.CFS is 1 after CC.EN = 1" : "CSTS.RDY stayed 0 after CC.EN = 1"};
}

void RawAssociation::disable() {
  const auto cap = record_from_integer<fabrics::Cap>(property(fabrics::property::cap));
  const Duration limit = Duration::ms(500) * (std::int64_t{cap.get(fabrics::cap::to)} + 1);
  needed(set_property(fabrics::property::cc, 0), "Property Set of CC");
  if (!wait_csts(1, 0, limit)) throw CannotArrange{"CSTS.RDY stayed 1 after CC.EN = 0"};
}

std::uint16_t RawAssociation::entries_of(std::uint16_t asked) const {
  constexpr std::uint32_t kMany = 32;
  if (asked != kUsual) return asked;
  const Declared& declared = bench_.known_so_far();
  return static_cast<std::uint16_t>(declared.known ? std::min(declared.queue_entries_max(), kMany) : kMany);
}

host::ConnectCommand RawAssociation::io_connect(std::optional<std::uint16_t> qid, std::uint16_t entries) const {
  host::ConnectCommand command = command_;
  command.sqe.set(fabrics::connect_sqe::qid, qid.value_or(bench_.io_qid()))
      .set(fabrics::connect_sqe::sqsize, ZeroBased<std::uint16_t>::of(entries_of(entries)))
      .set(fabrics::connect_sqe::cattr, 0)
      .set(fabrics::connect_sqe::kato, 0u);
  command.data.set(fabrics::connect_data::cntlid, cntlid_);
  return command;
}

host::RawQueue& RawAssociation::io_transport(std::optional<std::uint16_t> qid, std::uint16_t entries) {
  return bench_.raw_queue({.qid = qid.value_or(bench_.io_qid()),
                           .entries = entries_of(entries),
                           .cntlid = cntlid_,
                           .in_capsule_bytes = bench_.known_so_far().in_capsule_bytes});
}

host::RawQueue& RawAssociation::open_io(std::optional<std::uint16_t> qid, std::uint16_t entries, std::uint8_t cattr) {
  const std::uint16_t number = qid.value_or(bench_.io_qid());
  host::RawQueue& queue = io_transport(number, entries);
  host::ConnectCommand command = io_connect(number, entries);
  command.sqe.set(fabrics::connect_sqe::cattr, cattr);
  const host::RawReply reply = needed(bench_.world(), queue.send(command), "Connect of I/O queue " + std::to_string(number));
  bench_.authenticate_if_asked(queue, reply);
  bench_.wear(queue);
  return queue;
}

// ---- ControllerBench ----

ControllerBench::ControllerBench(World& world, const Environment& environment)
    : Bench(world), environment_(environment), around_(environment.around()), nqn_(environment.product->nqn) {
  EmbeddedSetup setup = environment.setup();
  authentication_ = known_secrets(*environment.product, setup);
  nonces_ = auth::make_nonces(world, "bench.auth");
  DeviceOptions device{"bench", setup.bench_address};
  if (environment.product->embedded) {
    network_ = std::make_unique<EmbeddedNetwork>(world, setup);
    subsystem_hooks_ = environment.deviations->subsystem_hooks();
    soft_hooks_ = environment.deviations->soft_hooks();
    product_ = std::make_unique<EmbeddedController>(world, ControllerPlace(network_->product, setup.product_address, soft_hooks_.get()),
                                                    setup, subsystem_hooks_.get());
    if (setup.managed->in_band) {
      environment.deviations->alter(setup.managed->drive);
      product_->manage(*setup.managed, deviations::in_band_hooks(*environment.deviations));
    }
    at_ = around_.second_port ? product_->add_port(kLanePort) : product_->at();
    nqn_ = setup.subsystem.nqn;
    side_ = std::make_unique<EmbeddedHostFabric>(world, network_->bench, device, setup);
  } else if (is_library(*environment.product)) {
    setup.host_keys = {};
    setup.connect.authentication.secure_channel = false;
    network_ = std::make_unique<EmbeddedNetwork>(world, setup);
    arranger_ = start_library(world, ControllerPlace(network_->product, setup.product_address), setup, *environment.product, at_);
    side_ = std::make_unique<EmbeddedHostFabric>(world, network_->bench, device, setup);
  } else {
    at_ = environment.product->to;
    device.address = environment.product->local.address;
    device.ca_guid = fresh_guid(*environment.product);
    device.kernel = environment.product->own_device;
    setup.host_keys = environment.product->keys;
    setup.identity_version = environment.product->identity_version;
    setup.connect.authentication.secure_channel = false;
    if (environment.product->tls) {
      setup.tls.handshake_timeout = setup.tcp_host.connect_timeout = kHandshakePatience;
    }
    side_ = std::make_unique<EmbeddedHostFabric>(world, environment.product->local, device, setup);
  }
  local_ = device.address;
  secured_ = environment.product->embedded ? setup.security == transport::ChannelSecurity::required : environment.product->tls;
  if (!environment.case_name.empty()) begin_lane(setup.subsystem.allow_any_host);
}

ControllerBench::~ControllerBench() = default;

void ControllerBench::finish() {
  const bool asks = environment_.lane != nullptr && environment_.lane->name == kQuestionsLane;
  for (RawAssociation& association : associations_) {
    const auto subnqn = fabrics::terminated_text(association.command_.data.get(fabrics::connect_data::subnqn));
    if (!asks || !association.admin().connected() || subnqn != nqn_) continue;
    if ((association.property(fabrics::property::csts) & 1) != 0) ask_everything(association.admin(), declared());
  }
  part_from_neighbour();
  for (const auto& queue : queues_) {
    if (queue->connected()) queue->disconnect();
  }
  Op<bool> gone = host_ ? host_->shutdown_all() : [&] {
    auto made = make_op<bool>(world(), "nothing");
    made.promise.settle(true);
    return made.op;
  }();
  world().run_until(
      [&] {
        for (const auto& queue : queues_) {
          if (queue->connected()) return false;
        }
        return gone.settled();
      },
      kGoodbye);
  if (arranger_) arranger_->end();
}

const Declared& ControllerBench::declared() {
  const Declared& found = environment_.declared();
  if (!embedded() && !found.known && environment_.exploring == nullptr) throw CannotArrange{found.why};
  return found;
}

void ControllerBench::needs_transport() const {
  if (!embedded() && !known_so_far().no_transport.empty()) throw CannotArrange{"no transport connection: " + known_so_far().no_transport};
}

CannotArrange ControllerBench::nameless() const {
  return {"the NQN of the subsystem is unknown (add it to the URL after the port: /NQN): " + environment_.product->nameless};
}

net::StreamHost& ControllerBench::streams() { return secured_ ? side_->tls()->streams_as(kBenchHostNqn, nqn_) : side_->streams(); }

auth::TlsPsk ControllerBench::tls_psk(int version) {
  if (side_->tls() == nullptr) throw CannotArrange{"the bench has no TLS keys"};
  auto psk = side_->tls()->store().for_pair(kBenchHostNqn, nqn_, version);
  if (!psk) throw CannotArrange{psk.error().text};
  return std::move(psk).value();
}

host::RawQueue& ControllerBench::unconnected_queue(host::RawQueueOptions options) {
  if (secured_) {
    options.secured = true;
    if (options.hostnqn.empty()) options.hostnqn = kBenchHostNqn;
    if (options.subnqn.empty()) options.subnqn = nqn_;
  }
  return plain_queue(std::move(options));
}

host::RawQueue& ControllerBench::plain_queue(host::RawQueueOptions options) {
  if (options.to == Endpoint{}) options.to = at_;
  if (around_.near_wrap) options.first_cid = kLastCids;
  return *queues_.emplace_back(std::make_unique<host::RawQueue>(world(), fabric(), options));
}

host::RawQueue& ControllerBench::raw_queue(host::RawQueueOptions options) {
  needs_transport();
  host::RawQueue& queue = unconnected_queue(options);
  const host::RawConnection made = queue.connect_transport().wait();
  if (!made.connected) throw CannotArrange{"no transport connection: " + made.end.text};
  return queue;
}

host::ConnectCommand ControllerBench::connect_command(const AssociationOptions& options) const {
  // A discovery subsystem is connected as they all are.
  const bool ours = options.subnqn.empty();
  if (ours && nqn_.empty()) throw nameless();
  const Declared& declared = environment_.declared();
  return host::connect({.entries = options.entries,
                        .kato_ms = options.kato_ms.value_or(ours ? declared.usual_kato_ms : 0),
                        .cattr = options.cattr,
                        .cntlid = options.cntlid.value_or(ours ? declared.any_cntlid : fabrics::kAnyController),
                        .hostid = options.hostid,
                        .hostnqn = options.hostnqn,
                        .subnqn = options.subnqn.empty() ? std::string_view(nqn_) : std::string_view(options.subnqn)});
}

RawAssociation& ControllerBench::associate(const AssociationOptions& options) {
  host::RawQueue& admin = raw_queue({.entries = options.entries, .hostnqn = options.hostnqn, .subnqn = options.subnqn});
  const host::ConnectCommand command = connect_command(options);
  const host::RawReply reply = needed(world(), admin.send(command), "Connect");
  const std::uint16_t cntlid = reply.as<fabrics::ConnectReply>().get(fabrics::connect_reply::cntlid);
  if (options.authenticate) authenticate_if_asked(admin, reply);
  RawAssociation& association = associations_.emplace_back(*this, admin, command, cntlid);
  if (options.enable) {
    association.enable();
    if (options.subnqn.empty()) association.surround();  // a discovery controller has no I/O queues
  }
  return association;
}

std::string ControllerBench::authenticate(host::RawQueue& queue, bool mutual) {
  if (!authentication_.secret) return "the product demands authentication, and the bench has no secret";
  const auto other = mutual ? authentication_.controller_secret : std::nullopt;
  auth::HostAuth machine({std::string(kBenchHostNqn), nqn_, *authentication_.secret, other, authentication_.hashes, authentication_.groups,
                          auth::SecureChannel::none},
                         *nonces_);
  std::optional<auth::HostStep> step = machine.begin();
  while (step) {
    const auto send = host::authentication_send(step->message.size());
    const host::RawReply sent = queue.send(send, step->message).wait();
    if (!sent.ok()) return sent.answered() ? nvme::to_string(sent.status()) : sent.end->text;
    if (!step->answered) break;
    const auto receive = host::authentication_receive(fabrics::kAuthMessageMax);
    const host::RawReply got = queue.send(receive, fabrics::kAuthMessageMax).wait();
    if (!got.ok()) return got.answered() ? nvme::to_string(got.status()) : got.end->text;
    step = machine.on_message(got.data);
  }
  return machine.done() ? "" : machine.why();
}

void ControllerBench::authenticate_if_asked(host::RawQueue& queue, const host::RawReply& connected) {
  const auto authreq = connected.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq);
  if ((authreq & fabrics::authreq_bits::authentication_transaction) == 0) return;
  const std::string why = authenticate(queue);
  if (!why.empty()) throw CannotArrange{"authentication: " + why};
}

host::Host& ControllerBench::host() {
  if (!host_) {
    host::HostOptions options;
    options.hostnqn = kBenchHostNqn;
    options.hostid = kBenchHostId;
    host_ = std::make_unique<host::Host>(world(), fabric(), options);
  }
  return *host_;
}

host::Controller::Outcome ControllerBench::connect_host(host::ConnectOptions options) {
  const bool exploring = environment_.exploring != nullptr;
  if (!embedded() && !exploring && !known_so_far().why.empty()) throw CannotArrange{known_so_far().why};
  if (options.subnqn.empty() && nqn_.empty()) throw nameless();
  if (options.to == Endpoint{}) options.to = at_;
  if (options.subnqn.empty()) options.subnqn = nqn_;
  if (secured_) options.tls = host::TlsUse::always;
  if (secured_ && !environment_.product->embedded) options.connect_timeout = kHandshakePatience;
  if (!options.authentication.secret) {
    // The controller authenticates itself in the cases that are about it alone.
    options.authentication.secret = authentication_.secret;
  }
  return host().connect(std::move(options)).wait();
}

Arranger& ControllerBench::arranger() {
  if (arranger_) return *arranger_;
  arranger_ = embedded() ? arrange_embedded(world(), product_->subsystem(), &product_->target(), nullptr)
                         : arrange_real(world(), *environment_.product, declared(), environment_.case_name);
  return *arranger_;
}

subsystem::Target& ControllerBench::target() {
  evidence::behind_the_wire(world());
  return product().target();
}

subsystem::Subsystem& ControllerBench::subsystem() {
  evidence::behind_the_wire(world());
  return product().subsystem();
}

EmbeddedController& ControllerBench::product() {
  BENCH_ASSERT(product_ != nullptr, "what reaches behind the product says so with arranged{}");
  return *product_;
}

net::SimNetwork& ControllerBench::network() {
  BENCH_ASSERT(network_ != nullptr, "what touches the network says so with arranged{}");
  return network_->network;
}

}  // namespace fb::conformance
