// Fields of completions, identifiers in Admin commands, and events that come when they should not.
#include <map>

#include "conformance/cases/nvme/kv_scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

using nvme::Cns;
using nvme::FeatureId;

constexpr std::uint8_t kReservedOpcode = 0x70;
constexpr auto kReservedCns = static_cast<Cns>(0x7F);

std::optional<std::string> is_version_2_1(const Declared& declared) {
  if (!declared.known || declared.version_at_least(2, 1)) return {};
  return "VS is below 2.1";
}
const furnished of_version_2_1{[](EmbeddedSetup& setup) { setup.subsystem.version = fabrics::version(2, 1, 0); }};

std::optional<std::string> manages_no_namespaces(const Declared& declared) {
  const auto bit = nvme::oacs_bits::namespace_management;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & bit) == 0) return {};
  return "OACS bit 3 (namespace management) is set";
}
std::optional<std::string> knows_its_temperature(const Declared& declared) {
  if (!declared.known || declared.kelvin != 0) return {};
  return "the composite temperature of the health log is 0: it is not known";
}

const furnished without_namespace_management{[](EmbeddedSetup& setup) { setup.subsystem.namespace_management.supported = false; }};

const furnished with_small_transfers{[](EmbeddedSetup& setup) {
  setup.subsystem.mdts = 2;
  setup.subsystem.directives = {};
  add_key_value_namespaces(setup);
}};

const auto kNoNamespace = one_of(sc::invalid_namespace_or_format, sc::invalid_field);

bool all_zero(ByteView data) {
  return std::all_of(data.begin(), data.end(), [](std::uint8_t byte) { return byte == 0; });
}

host::RawReply read_smart(RawAssociation& association, Check& check) {
  auto command = host::get_log(nvme::LogPage::smart, nvme::SmartLog::size);
  const auto reply = association.admin().send(command, nvme::SmartLog::size).wait();
  check.precondition_success(reply, "Get Log Page 02h");
  return reply;
}

/// EUI-64 and NGUID of the namespace, as they stand in Identify.
Bytes names_seen_by(RawAssociation& association, std::uint32_t nsid, Check& check) {
  const auto page = association.admin().send(host::identify(Cns::identify_namespace, nsid), 4096).wait();
  check.precondition_success(page, "Identify Namespace");
  check.precondition(View<nvme::IdentifyNamespace>{page.data}.get(nvme::id_ns::nsze) != 0, "the controller has the namespace");
  const ByteView names = ByteView{page.data}.subspan(nvme::id_ns::nguid.offset, 24);
  return Bytes(names.begin(), names.end());
}
Bytes descriptors_seen_by(RawAssociation& association, std::uint32_t nsid) {
  return association.admin().send(host::identify(Cns::namespace_id_descriptors, nsid), 4096).wait().data;
}
Bytes serial_seen_by(RawAssociation& association, Check& check) {
  const auto page = association.admin().send(host::identify(Cns::controller), 4096).wait();
  check.precondition_success(page, "Identify Controller");
  const ByteView serial = ByteView{page.data}.subspan(nvme::id_ctrl::sn.offset, nvme::id_ctrl::sn.size);
  return Bytes(serial.begin(), serial.end());
}

/// A controller that knows its temperature, with a threshold below it. Put back at the end.
class HotScene {
 public:
  HotScene(ControllerBench& bench, Check& check) : association_(bench.associate()), check_(check) {
    const auto log = read_smart(association_, check);
    kelvin_ = View<nvme::SmartLog>{log.data}.get(nvme::smart::ctemp);
    check.precondition(kelvin_ > 10, "the product knows its temperature");
    const auto threshold = association_.admin().send(host::get_features(FeatureId::temperature_threshold)).wait();
    check.precondition_success(threshold, "Get Features, Temperature Threshold");
    before_ = threshold.dw0() & 0xFFFF;
    const auto warning = View<nvme::SmartLog>{log.data}.get(nvme::smart::cw);
    check.precondition((warning & nvme::smart_warning_bits::temperature) == 0, "there is no warning yet");
  }
  RawAssociation& association() { return association_; }
  void heat() { set(kelvin_ - 5u); }
  void restore() { set(before_); }

 private:
  void set(std::uint32_t kelvin) {
    const auto command = host::set_features(FeatureId::temperature_threshold, kelvin);
    check_.precondition_success(association_.admin().send(command).wait(), "Set Features, Temperature Threshold");
  }
  RawAssociation& association_;
  Check& check_;
  std::uint32_t kelvin_ = 0, before_ = 0;
};

}  // namespace

CONFORMANCE_CASE(permanent_errors_forbid_a_retry, "nvme.status.permanent", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto opcode = association.admin().send(host::any_command(kReservedOpcode)).wait();
  check.precondition(opcode.answered() && !opcode.ok(), "an unknown opcode is refused");
  check.that(opcode.status().dnr(), "DNR is set where the opcode does not exist", "it is clear");
  const auto cns = association.admin().send(host::identify(kReservedCns), nvme::kIdentifySize).wait();
  check.precondition(cns.answered() && !cns.ok(), "an unknown CNS is refused");
  check.that(cns.status().dnr(), "DNR is set where the CNS does not exist", "it is clear");
}

CONFORMANCE_CASE(success_forbids_nothing, "nvme.status.success", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto page = association.admin().send(host::identify(Cns::controller), nvme::kIdentifySize).wait();
  const auto feature = association.admin().send(host::get_features(FeatureId::number_of_queues)).wait();
  const auto get = association.admin().send(host::property_get(fabrics::property::vs)).wait();
  for (const host::RawReply* reply : {&page, &feature, &get}) {
    check.precondition(reply->ok(), "the command succeeds");
    check.that(!reply->status().dnr(), "DNR is clear in a success", "it is set");
    check.equal("CRD in a success", reply->status().crd(), 0u);
  }
}

CONFORMANCE_CASE(abort_keeps_to_its_queue, "nvme.abort.queue", roles::controller) {
  constexpr std::uint16_t kCid = 0x0A0F;
  RawAssociation& association = bench.associate();
  association.open_io();
  auto request = host::async_event_request();
  request.set(nvme::sqe::cid, kCid);
  auto event = association.admin().send(request);
  const auto reply = association.admin().send(host::abort(bench.io_qid(), kCid)).wait();
  check.require_success(reply, "Abort of a command that is in another queue");
  check.equal("DW0 bit 0, not aborted", reply.dw0() & nvme::kAbortNotDone, 1u);
  const auto ended = event.wait_for(kSilence);
  const bool aborted = ended && ended->answered() && !ended->ok();
  check.that(!aborted, "the command of that identifier in the admin queue goes on", "it was aborted");
}

CONFORMANCE_CASE(unused_namespace_identifiers_are_refused, "nvme.nsid.unused", roles::controller, of_version_2_1, needs(is_version_2_1),
                 needs(has_namespace), reaches{"command.nsid.unused"}) {
  RawAssociation& association = bench.associate();
  auto abort = host::abort(0, 0x7777);
  abort.set(nvme::sqe::nsid, bench.nsid());
  check.status(association.admin().send(abort).wait(), sc::invalid_field, "Abort with a namespace");
  if (bench.declared().identify().get(nvme::id_ctrl::kas) == 0) return;
  auto alive = host::keep_alive();
  alive.set(nvme::sqe::nsid, bench.nsid());
  check.status(association.admin().send(alive).wait(), sc::invalid_field, "Keep Alive with a namespace");
}

CONFORMANCE_CASE(event_request_waits_for_an_event, "nvme.aer.waits", roles::controller) {
  // More than there are types of events, each of which is masked once it was reported.
  constexpr unsigned kMost = 16;
  RawAssociation& association = bench.associate();
  for (unsigned i = 0; i < kMost; ++i) {
    const auto reply = association.admin().send(host::async_event_request()).wait_for(kSilence);
    if (!reply) {
      check.that(true, "a request stays outstanding");
      return;
    }
    check.require_success(*reply, "Asynchronous Event Request");
  }
  check.fails("requests without an event", {"a request that stays outstanding"},
              std::to_string(kMost) + " requests in a row were completed");
}

CONFORMANCE_CASE(event_is_kept_until_a_request_comes, "nvme.aer.kept", roles::controller, arranges{{Request::namespace_resize}}) {
  RawAssociation& association = bench.associate();
  const auto mask = nvme::event_config_bits::namespace_attribute;
  check.precondition_success(association.admin().send(host::set_features(FeatureId::async_event_configuration, mask)).wait(),
                             "Set Features, Asynchronous Event Configuration");
  bench.arranger().resize_namespace(bench.nsid());
  bench.world().run_for(kSilence);
  const auto reply = association.admin().send(host::async_event_request()).wait_for(kSoon);
  check.require(reply.has_value(), "the event comes once there is a request", "none comes");
  check.success(*reply, "Asynchronous Event Request");
}

CONFORMANCE_CASE(names_are_the_same_on_both_pages, "nvme.identify.names-agree", roles::controller, needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const auto page = association.admin().send(host::identify(Cns::identify_namespace, bench.nsid()), 4096).wait();
  const auto list = association.admin().send(host::identify(Cns::namespace_id_descriptors, bench.nsid()), 4096).wait();
  check.precondition_success(page, "Identify Namespace");
  check.precondition_success(list, "Identify, namespace identification descriptors");
  const ByteView eui64 = ByteView{page.data}.subspan(nvme::id_ns::eui64.offset, 8);
  const ByteView nguid = ByteView{page.data}.subspan(nvme::id_ns::nguid.offset, 16);
  std::map<unsigned, unsigned> seen;
  nvme::NamespaceIdWalk walk(list.data);
  for (nvme::NamespaceId one; walk.next(one);) {
    const auto type = static_cast<unsigned>(one.type);
    check.equal("descriptors of type " + words(type), ++seen[type], 1u);
    const auto agrees = [&](std::string_view name, ByteView field) {
      if (!all_zero(field) && !all_zero(one.id)) check.bytes(name, one.id, field);
    };
    if (one.type == nvme::NamespaceIdType::eui64) agrees("the descriptor of the EUI-64", eui64);
    if (one.type == nvme::NamespaceIdType::nguid) agrees("the descriptor of the NGUID", nguid);
  }
  check.that(!seen.empty(), "there is a descriptor", "there is none");
}

CONFORMANCE_CASE(heat_shows_in_the_critical_warning, "nvme.temperature.warning", roles::controller, needs(knows_its_temperature),
                 needs(has_feature<FeatureId::temperature_threshold>)) {
  HotScene scene(bench, check);
  scene.heat();
  bool warned = false;
  for (unsigned i = 0; i < 20 && !warned; ++i) {
    const auto log = read_smart(scene.association(), check);
    const auto warning = View<nvme::SmartLog>{log.data}.get(nvme::smart::cw);
    warned = (warning & nvme::smart_warning_bits::temperature) != 0;
    if (!warned) bench.world().run_for(500_ms);
  }
  check.that(warned, "bit 1 of the critical warning is set above the threshold", "it stays clear");
  scene.restore();
}

CONFORMANCE_CASE(heat_is_announced, "nvme.temperature.event", roles::controller, needs(knows_its_temperature),
                 needs(has_feature<FeatureId::temperature_threshold>)) {
  HotScene scene(bench, check);
  const std::uint32_t mask = nvme::smart_warning_bits::temperature;
  check.precondition_success(scene.association().admin().send(host::set_features(FeatureId::async_event_configuration, mask)).wait(),
                             "Set Features, Asynchronous Event Configuration");
  auto request = scene.association().admin().send(host::async_event_request());
  check.precondition(!request.wait_for(kSilence), "no other event is waiting");
  scene.heat();
  const auto reply = request.wait_for(10_s);
  scene.restore();
  check.require(reply.has_value(), "the temperature is announced", "no event comes");
  check.require_success(*reply, "Asynchronous Event Request");
  constexpr nvme::Event kWanted{nvme::EventType::smart, nvme::event_info::smart_temperature, lid_of(nvme::LogPage::smart)};
  check.equal("event", nvme::Event::from_dw0(reply->dw0()), kWanted);
}

CONFORMANCE_CASE(identify_of_an_invalid_namespace_shows_none, "nvme.identify.namespace-invalid", roles::controller, needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  const std::uint32_t nn = bench.declared().identify().get(nvme::id_ctrl::nn);
  std::vector<std::uint32_t> invalid = {0};
  if (nn < 0xFFFFFFF0) invalid.push_back(nn + 1);
  for (const std::uint32_t nsid : invalid) {
    const auto reply = association.admin().send(host::identify(Cns::identify_namespace, nsid), 4096).wait();
    const std::string what = "Identify Namespace " + words(nsid);
    const auto legal = one_of(sc::invalid_namespace_or_format, sc::invalid_field, sc::success);
    if (!check.status(reply, legal, what) || !reply.ok()) continue;
    check.that(all_zero(reply.data), what + " shows no namespace", "it is of some namespace");
  }
}

CONFORMANCE_CASE(inactive_namespaces_have_no_descriptors, "nvme.identify.descriptors-inactive", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto list = association.admin().send(host::identify(Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  const std::uint32_t inactive = lowest_inactive(list.data);
  check.precondition(inactive <= bench.declared().identify().get(nvme::id_ctrl::nn), "a namespace identifier up to NN is not active");
  const auto command = host::identify(Cns::namespace_id_descriptors, inactive);
  check.status(association.admin().send(command, 4096).wait(), kNoNamespace, "CNS 03h of an inactive namespace");
}

CONFORMANCE_CASE(identify_of_all_namespaces_needs_management, "nvme.identify.namespace-broadcast", roles::controller,
                 without_namespace_management, needs(manages_no_namespaces)) {
  const auto command = host::identify(Cns::identify_namespace, nvme::kAllNamespaces);
  check.status(bench.associate().admin().send(command, 4096).wait(), kNoNamespace, "CNS 00h of all namespaces");
}

CONFORMANCE_CASE(fused_admin_commands_are_refused, "nvme.fused.admin", roles::controller, budget{10_s}, reaches{"admin.fuse"}) {
  auto command = host::identify(Cns::controller);
  command.set(nvme::sqe::fuse, nvme::Fuse::reserved);
  check.refused(bench.associate().admin().send(command, nvme::kIdentifySize).wait(), "Identify with FUSE 11b");
}

CONFORMANCE_CASE(names_are_the_same_on_all_controllers, "nvme.identify.names-last", roles::controller, needs(has_namespace)) {
  RawAssociation& one = bench.associate();
  const Bytes names = names_seen_by(one, bench.nsid(), check);
  const Bytes serial = serial_seen_by(one, check);
  const auto judge = [&](RawAssociation& by, const std::string& when) {
    check.bytes("NGUID and EUI-64 " + when, names_seen_by(by, bench.nsid(), check), names);
    check.bytes("the serial number " + when, serial_seen_by(by, check), serial);
  };
  judge(one, "read again");
  RawAssociation& other = bench.associate();
  judge(other, "read from another controller");
  const Bytes list = descriptors_seen_by(one, bench.nsid());
  const Bytes others = descriptors_seen_by(other, bench.nsid());
  if (list.empty() || others.empty()) return;  // which another case judges
  nvme::NamespaceIdWalk walk(list);
  for (nvme::NamespaceId own; walk.next(own);) {
    nvme::NamespaceIdWalk there(others);
    for (nvme::NamespaceId its; there.next(its);) {
      if (its.type == own.type) check.bytes("a descriptor read from another controller", its.id, own.id);
    }
  }
}

CONFORMANCE_CASE(limits_of_identify_agree, "nvme.identify.limits", roles::controller) {
  const auto page = bench.associate().admin().send(host::identify(Cns::controller), 4096).wait();
  check.require_success(page, "Identify Controller");
  const View<nvme::IdentifyController> id{page.data};
  const std::uint32_t nn = id.get(nvme::id_ctrl::nn), mnan = id.get(nvme::id_ctrl::mnan);
  if ((id.get(nvme::id_ctrl::cmic) & nvme::cmic_bits::ana_reporting) != 0) {
    check.that(mnan != 0 && mnan <= nn, "MNAN is 1 to NN", words(mnan) + ", and NN " + words(nn));
  }
  const std::uint64_t awun = id.get(nvme::id_ctrl::awun).count(), awupf = id.get(nvme::id_ctrl::awupf).count();
  check.that(awupf <= awun, "AWUPF is not above AWUN", words(awupf) + " and " + words(awun) + " blocks");
}

CONFORMANCE_CASE(no_command_moves_more_than_mdts, "nvme.transfer.mdts-commands", roles::controller, with_small_transfers,
                 needs(limits_transfers), needs(has_namespace), reaches{"log.length"}) {
  constexpr std::uint64_t kMost = 8u << 20;
  check.precondition(bench.declared().transfer_max() <= kMost, "MDTS is within what the bench exposes");
  auto bytes = static_cast<std::uint32_t>(bench.declared().transfer_max() + 4096);
  // Each command in an association of its own.
  const auto judge = [&](bool io, const auto& command, std::string_view what) {
    RawAssociation& association = bench.associate();
    const auto reply = (io ? association.open_io() : association.admin()).send(command, bytes).wait();
    check.status(reply, sc::invalid_field, std::string(what) + " above MDTS");
  };
  const auto admin = bench.declared().identify().get(nvme::id_ctrl::oacs);
  const auto nvm = bench.declared().identify().get(nvme::id_ctrl::oncs);
  judge(false, host::get_log(nvme::LogPage::smart, bytes), "Get Log Page");
  if ((admin & nvme::oacs_bits::security) != 0) judge(false, host::security_receive(0, 0, bytes), "Security Receive");
  if ((admin & nvme::oacs_bits::directives) != 0) {
    constexpr auto kParameters = nvme::directive_operation::identify_return_parameters;
    judge(false, host::directive_receive(bench.nsid(), nvme::DirectiveType::identify, kParameters, bytes), "Directive Receive");
  }
  if ((nvm & nvme::oncs_bits::reservations) != 0) {
    judge(true, host::reservation_report(bench.nsid(), bytes), "Reservation Report");
  }
  if (!has_pairs(bench.declared())) {
    KvScene scene(bench, check);
    const KvKey key = key_of(0x5D, 4);
    check.status(scene.retrieve(key, bytes), sc::invalid_field, "Retrieve above MDTS");
    check.status(scene.list(key, bytes), sc::invalid_field, "List above MDTS");
    if (bytes <= scene.value_max()) check.status(scene.store(key, value_of(0x5D, bytes)), sc::invalid_field, "Store above MDTS");
  }
  // Of a count of dwords the lower 16 bits alone would be within the limit.
  constexpr std::uint32_t kSixteenBits = 0x10000 * 4;
  if (bytes > kSixteenBits) return;
  bytes = kSixteenBits + 512;
  // NUMDU is there with extended data alone.
  const bool has_upper = (bench.declared().identify().get(nvme::id_ctrl::lpa) & nvme::lpa_bits::extended_data) != 0;
  if (has_upper) judge(false, host::get_log(nvme::LogPage::smart, bytes), "Get Log Page of 256 KiB and more");
  if ((admin & nvme::oacs_bits::directives) == 0) return;
  constexpr auto kParameters = nvme::directive_operation::identify_return_parameters;
  judge(false, host::directive_receive(bench.nsid(), nvme::DirectiveType::identify, kParameters, bytes),
        "Directive Receive of 256 KiB and more");
}

}  // namespace fb::conformance
