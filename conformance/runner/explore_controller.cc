#include "conformance/runner/explore_controller.h"

#include <algorithm>
#include <functional>

#include "conformance/runner/controller_bench.h"
#include "conformance/runner/library_product.h"
#include "conformance/runner/raw_tcp.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

namespace {

/// The answer to an admin command.
struct Told {
  bool ok = false;
  std::uint32_t dw0 = 0;
  Bytes data = {};
};
/// Sends an admin command with room for so many bytes.
using Ask = std::function<Told(const nvme::Sqe&, std::size_t bytes)>;

template <class L>
Told told(const Ask& ask, const Record<L>& command, std::size_t bytes = 0) {
  return ask(host::as_sqe(command), bytes);
}

Ask asking(host::Controller& controller) {
  return [&controller](const nvme::Sqe& sqe, std::size_t bytes) {
    auto reply = bytes == 0 ? controller.admin(sqe).wait() : controller.admin(sqe, bytes).wait();
    return Told{reply.ok(), reply.dw0(), std::move(reply.data)};
  };
}

Ask asking(host::RawQueue& queue) {
  return [&queue](const nvme::Sqe& sqe, std::size_t bytes) {
    auto reply = bytes == 0 ? queue.send(sqe).wait() : queue.send(sqe, bytes).wait();
    return Told{reply.ok(), reply.dw0(), std::move(reply.data)};
  };
}

/// The first namespace that takes writes goes to the front, as cases work with that one. An emulated
/// product has its namespaces as a case arranged them.
void prefer_a_writable_namespace(const Ask& ask, std::vector<host::NamespaceFacts>& all) {
  for (auto one = all.begin(); one != all.end(); ++one) {
    const Told reply = told(ask, host::identify(nvme::Cns::identify_namespace, one->nsid), nvme::kIdentifySize);
    if (!reply.ok) continue;
    const std::uint8_t attributes = View<nvme::IdentifyNamespace>{reply.data}.get(nvme::id_ns::nsattr);
    if ((attributes & nvme::nsattr_bits::write_protected) != 0) continue;
    std::rotate(all.begin(), one, one + 1);
    return;
  }
}

/// In the lane of another namespace: of an emulated product the first that the case's arrangement has, which others precede;
/// of a real one the last that has room for a case.
void prefer_another_namespace(const Environment& environment, std::vector<host::NamespaceFacts>& all) {
  if (environment.product->embedded) {
    for (const subsystem::NamespaceOptions& arranged : environment.setup().namespaces) {
      const auto first = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.nsid == arranged.nsid; });
      if (first == all.end()) continue;
      std::rotate(all.begin(), first, all.end());
      return;
    }
    return;
  }
  // With room for what cases write.
  const auto last = std::find_if(all.rbegin(), all.rend(), [](const host::NamespaceFacts& one) { return one.blocks >= 1024; });
  if (last != all.rend()) std::rotate(all.begin(), last.base() - 1, all.end());
}

void ask_queues(const Ask& ask, Declared& found) {
  const Told queues = told(ask, host::get_features(nvme::FeatureId::number_of_queues));
  if (queues.ok) found.io_queues = static_cast<std::uint16_t>(std::min(queues.dw0 & 0xFFFF, queues.dw0 >> 16) + 1);
}

/// In the lanes of other I/O queues: how many a host gets that asks for many, before it makes any.
void ask_for_queues(ControllerBench& bench, Declared& found) {
  constexpr std::uint32_t kMany = 63;
  RawAssociation& association = bench.associate();
  const auto wish = host::set_features(nvme::FeatureId::number_of_queues, kMany << 16 | kMany);
  const host::RawReply granted = association.admin().send(wish).wait();
  if (granted.ok()) found.io_queues = static_cast<std::uint16_t>(std::min(granted.dw0() & 0xFFFF, granted.dw0() >> 16) + 1);
  association.admin().disconnect();
}

void ask_namespaces(const Ask& ask, const Environment& environment, const std::vector<host::NamespaceFacts>& namespaces, Declared& found) {
  for (const host::NamespaceFacts& facts : namespaces) {
    auto& list = facts.zoned() ? found.zoned_namespaces : facts.key_value() ? found.key_value_namespaces : found.namespaces;
    list.push_back(facts);
  }
  if (!found.zoned_namespaces.empty()) {
    auto effects = host::get_log(nvme::LogPage::commands_effects, nvme::CommandEffects::size);
    effects.set(nvme::get_log_sqe::csi, static_cast<std::uint8_t>(nvme::CommandSet::zoned));
    const Told log = told(ask, effects, nvme::CommandEffects::size);
    const auto append = static_cast<std::size_t>(nvme::IoOpcode::zone_append);
    found.zone_append =
        log.ok && element<nvme::CommandEffect>(log.data, nvme::command_effects::iocs, append).get(nvme::command_effect::csupp);
  }
  if (found.namespaces.empty()) return;
  if (environment.around().other_namespace) prefer_another_namespace(environment, found.namespaces);
  if (!found.embedded) prefer_a_writable_namespace(ask, found.namespaces);
  const host::NamespaceFacts& first = found.namespaces.front();
  found.nsid = first.nsid;
  found.block_bytes = first.layout.bytes();
  found.blocks = first.blocks;
  const Told reply = told(ask, host::identify(nvme::Cns::identify_namespace, first.nsid), nvme::kIdentifySize);
  if (reply.ok) found.name_space = reply.data;
}

/// What cases are about that some products do without.
void ask_features_and_temperature(const Ask& ask, Declared& found) {
  using nvme::FeatureId;
  for (const FeatureId id :
       {FeatureId::power_management, FeatureId::temperature_threshold, FeatureId::error_recovery, FeatureId::write_atomicity}) {
    if (told(ask, host::get_features(id)).ok) found.features |= 1u << static_cast<unsigned>(id);
  }
  const Told log = told(ask, host::get_log(nvme::LogPage::smart, nvme::SmartLog::size), nvme::SmartLog::size);
  if (log.ok) found.kelvin = View<nvme::SmartLog>{log.data}.get(nvme::smart::ctemp);
}

/// Whether the product refuses the name of the discovery service, and nothing else of a Connect to it.
bool denies_discovery(ControllerBench& bench) {
  const auto connect = bench.connect_command({.subnqn = std::string(fabrics::kDiscoveryNqn)});
  host::RawQueue& queue = bench.unconnected_queue();
  if (!queue.connect_transport().wait().connected) return false;
  const auto reply = queue.send(connect).wait();
  constexpr auto kName = fabrics::InvalidParameter::in_connect_data(fabrics::connect_data::subnqn);
  return reply.answered() && nvme::same_code(reply.status(), sc::connect_invalid_parameters) &&
         fabrics::InvalidParameter::from_dw0(reply.dw0()) == kName;
}

constexpr std::uint32_t kLongKato = 120'000;

/// Connects as a host that behaves, in the ways that a product may ask for, the usual one first. Null: it
/// lets nobody in, and `found` says why.
host::Controller* connect_somehow(ControllerBench& bench, Declared& found) {
  for (const std::uint32_t kato_ms : {0u, kLongKato}) {
    for (const std::uint16_t cntlid : {fabrics::kAnyController, fabrics::kAnyStaticController}) {
      const auto outcome = bench.connect_host({.cntlid = cntlid, .kato_ms = kato_ms});
      if (outcome) {
        found.any_cntlid = cntlid;
        found.usual_kato_ms = kato_ms;
        found.why.clear();
        return outcome.value();
      }
      if (found.why.empty()) {
        found.why = "a well-behaved host could not connect: " + outcome.error().text +
                    transport::identity_hint(outcome.error().text, bench.product_facts().identity_version);
      }
      if (outcome.error().kind != host::HostError::Kind::refused) return nullptr;
    }
  }
  return nullptr;
}

// ---- by hand ----

/// An admin queue that the product has taken, whatever it asks of a host.
struct TakenQueue {
  host::RawQueue& queue;
  host::ConnectCommand command;
  std::uint16_t cntlid;
};

TakenQueue connect_by_hand(ControllerBench& bench, Declared& found) {
  std::string why;
  for (const std::uint32_t kato_ms : {0u, kLongKato}) {
    for (const std::uint16_t cntlid : {fabrics::kAnyController, fabrics::kAnyStaticController}) {
      host::RawQueue& queue = bench.unconnected_queue();
      const host::RawConnection made = queue.connect_transport().wait();
      if (!made.connected) {
        if (made.end.kind == transport::ChannelEnd::Kind::unreachable) found.no_transport = made.end.text;
        throw CannotArrange{"no transport connection: " + made.end.text};
      }
      host::ConnectCommand command = bench.connect_command({.kato_ms = kato_ms, .cntlid = cntlid});
      const host::RawReply reply = queue.send(command).wait();
      if (reply.ok()) {
        found.any_cntlid = cntlid;
        found.usual_kato_ms = kato_ms;
        const auto answer = reply.as<fabrics::ConnectReply>();
        if (answer.get(fabrics::connect_reply::authreq) != 0 && bench.authentication().secret) bench.authenticate(queue);
        return {queue, std::move(command), answer.get(fabrics::connect_reply::cntlid)};
      }
      if (why.empty()) why = reply.answered() ? "Connect answered " + nvme::to_string(reply.status()) : reply.end->text;
      queue.disconnect();
    }
  }
  throw CannotArrange{why};
}

/// As far as a block can be read by anybody: no protection, metadata only behind the data.
std::optional<host::NamespaceFacts> read_namespace(const Ask& ask, std::uint32_t nsid) {
  const Told reply = told(ask, host::identify(nvme::Cns::identify_namespace, nsid), nvme::kIdentifySize);
  if (!reply.ok) return std::nullopt;
  const View<nvme::IdentifyNamespace> id{reply.data};
  const unsigned number = nvme::format_in_use(reply.data);
  const auto format = nvme::lba_format_at(reply.data, number);
  const unsigned shift = format.get(nvme::lba_format::lbads);
  const bool is_protected = (id.get(nvme::id_ns::dps) & nvme::dps_bits::type_mask) != 0;
  if (id.get(nvme::id_ns::nsze) == 0 || shift < 9 || shift > 20 || is_protected) return std::nullopt;
  host::NamespaceFacts facts;
  facts.nsid = nsid;
  facts.blocks = id.get(nvme::id_ns::nsze);
  facts.lba_format = static_cast<std::uint8_t>(number);
  facts.layout.data_bytes = 1u << shift;
  if (id.get(nvme::id_ns::flbas_extended)) facts.layout.metadata_bytes = format.get(nvme::lba_format::ms);
  facts.block_bytes = facts.layout.bytes();
  facts.shared = (id.get(nvme::id_ns::nmic) & nvme::nmic_bits::shared) != 0;
  return facts;
}

std::vector<host::NamespaceFacts> read_namespaces(const Ask& ask) {
  constexpr std::size_t kLookedAt = 8;
  std::vector<host::NamespaceFacts> found;
  const Told list = told(ask, host::identify(nvme::Cns::active_namespace_list, 0), nvme::kIdentifySize);
  if (!list.ok) return found;
  for (const std::uint32_t nsid : nvme::read_namespace_list(list.data)) {
    if (auto facts = read_namespace(ask, nsid)) found.push_back(std::move(*facts));
    if (found.size() == kLookedAt) break;
  }
  return found;
}

/// Data of a command that could be sent in its capsule.
std::uint32_t room_in_capsules(const Declared& found) {
  const std::uint32_t ioccsz = found.identify().get(nvme::id_ctrl::ioccsz);
  if (ioccsz < 4 || found.identify().get(nvme::id_ctrl::icdoff) != 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{ioccsz} * 16 - nvme::kSqeSize, 1u << 20));
}

bool all_zero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t one) { return one == 0; });
}

/// As much as can be had of a product with which a host that behaves cannot work. Whatever fails ends it.
void explore_by_hand(ControllerBench& bench, const Environment& environment, Declared& found) {
  const TakenQueue taken = connect_by_hand(bench, found);
  RawAssociation association(bench, taken.queue, taken.command, taken.cntlid);
  found.cap = association.property(fabrics::property::cap);
  found.vs = static_cast<std::uint32_t>(association.property(fabrics::property::vs));
  try {
    association.enable();
  } catch (const CannotArrange& cannot) {
    found.not_ready = cannot.why;
    throw;
  }
  const Ask ask = asking(taken.queue);
  const host::RawReply identify = taken.queue.send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  if (!identify.answered() || (identify.ok() && all_zero(identify.data))) {
    bench.world().run_for(Duration::ms(500));  // what comes behind the response tells which rule was broken
    // Data does not arrive as the transport has it. That is one fault, and not one of every command that brings data.
    found.not_ready =
        "Identify Controller brings no data: " + (identify.answered() ? std::string("it was answered without any") : identify.end->text);
    throw CannotArrange{found.not_ready};
  }
  if (!identify.ok()) throw CannotArrange{"Identify Controller answered " + nvme::to_string(identify.status())};
  found.controller = identify.data;
  found.in_capsule_bytes = room_in_capsules(found);
  ask_queues(ask, found);
  ask_namespaces(ask, environment, read_namespaces(ask), found);
  ask_features_and_temperature(ask, found);
  found.known = taken.queue.connected();
}

void ask_everything_of(ControllerBench& bench, const Environment& environment, Declared& found) {
  host::Controller* controller = nullptr;
  try {
    controller = connect_somehow(bench, found);
  } catch (const WaitFailure& failure) {
    // One that is never ready keeps a host that behaves waiting for CAP.TO: by hand it is found out what it was waited for.
    if (failure.end() != WaitEnd::timed_out || found.embedded) throw;
    if (found.why.empty()) found.why = std::string("a well-behaved host could not connect: ") + failure.what();
  }
  found.mutual_authentication = bench.authentication().controller_secret.has_value();
  if (controller == nullptr) {
    if (!found.embedded) explore_by_hand(bench, environment, found);
    if (found.known) found.discovery = !denies_discovery(bench);
    bench.finish();
    return;
  }
  const host::ControllerFacts& facts = controller->facts();
  found.cap = facts.cap;
  found.vs = facts.vs;
  found.controller = facts.identify;
  found.controller.resize(4096);
  found.in_capsule_bytes = facts.in_capsule_bytes;
  const Ask ask = asking(*controller);
  ask_queues(ask, found);
  ask_namespaces(ask, environment, controller->namespaces(), found);
  ask_features_and_temperature(ask, found);
  if (!found.embedded && environment.transport == fabrics::kRdma) found.rdma = bench.device().limits();
  if (environment.around().io_queue != 1) ask_for_queues(bench, found);
  found.known = true;
  if (!found.embedded) found.discovery = !denies_discovery(bench);
  bench.finish();
}

}  // namespace

void explore_controller(World& world, const Environment& environment, Declared& found) {
  ControllerBench bench(world, environment);
  try {
    ask_everything_of(bench, environment, found);
  } catch (const CannotArrange&) {
    if (is_library(*environment.product)) bench.finish();  // it may be the library's fault, and says so
    throw;
  }
}

std::optional<std::string> why_unanswered(ControllerBench& bench, bool greets) {
  if (bench.transport() == fabrics::kRdma) {
    const host::RawConnection made = bench.unconnected_queue().connect_transport().wait();
    if (made.connected || made.end.kind != transport::ChannelEnd::Kind::unreachable) return std::nullopt;
    return made.end.text;
  }
  RawTcp raw(bench.world(), bench.plain_streams(), bench.local());
  try {
    raw.connect(bench.at());
  } catch (const CannotArrange& cannot) {
    return cannot.why;
  }
  if (!greets || bench.secured()) return std::nullopt;  // over TLS it answers to a ClientHello
  raw.send(RawTcp::ic_req());
  if (raw.next() || raw.closed()) return std::nullopt;
  return "no answer to ICReq in " + to_string(RawTcp::kPatience);
}

std::string discover_by_hand(ControllerBench& bench) {
  try {
    RawAssociation& association = bench.associate({.subnqn = std::string(fabrics::kDiscoveryNqn)});
    const Ask ask = asking(association.admin());
    constexpr std::uint32_t kEntries = 8;
    constexpr std::uint32_t kBytes = fabrics::DiscoveryHeader::size + kEntries * fabrics::DiscoveryEntry::size;
    const Told log = told(ask, host::get_log(nvme::LogPage::discovery, kBytes), kBytes);
    if (!log.ok) return "";
    const std::uint64_t entries = View<fabrics::DiscoveryHeader>{log.data}.get(fabrics::discovery_header::numrec);
    for (std::size_t i = 0; i < std::min<std::uint64_t>(entries, kEntries); ++i) {
      const View<fabrics::DiscoveryEntry> entry{
          ByteView(log.data).subspan(fabrics::DiscoveryHeader::size + i * fabrics::DiscoveryEntry::size)};
      if (entry.get(fabrics::discovery_entry::subtype) != fabrics::SubsystemType::nvm) continue;
      const ByteView name = entry.get(fabrics::discovery_entry::subnqn);
      return std::string(name.begin(), std::find(name.begin(), name.end(), std::uint8_t{0}));
    }
  } catch (const CannotArrange&) {
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) throw;
  }
  return "";
}

}  // namespace fb::conformance
