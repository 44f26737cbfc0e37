// A direct discovery controller as a centralized one meets it: NVMe Base 2.3, 5.2.12.3.3 and 8.3.2.2.2. And what a controller of
// an NVM subsystem has nothing of.
#include "conformance/cases/discovery/scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

using namespace discovery_cases;

namespace {

constexpr std::uint8_t kLocal = fabrics::discovery_lsp_bits::port_local, kAll = fabrics::discovery_lsp_bits::all_subsystems;
constexpr std::string_view kSecond = "nqn.2026-11.org.fabricbench:subsystem.2";

/// A second subsystem, which no host of the bench may use.
void make_hiding(EmbeddedSetup& setup) {
  make_ddc(setup);
  setup.more_subsystems.resize(1);
  setup.more_subsystems[0].nqn = kSecond;
  setup.more_subsystems[0].allow_any_host = false;
  setup.more_subsystems[0].allowed_hosts = {"nqn.2026-11.org.fabricbench:host.other"};
}
const arranged hiding{"a subsystem that is not for the bench", &make_hiding};
const arranged of_two_ports{"a second port with a subsystem of its own", &make_hiding};

/// The second subsystem is at another port alone, and for any host.
void spread(ControllerBench& bench) {
  subsystem::Target& target = bench.target();
  const std::uint16_t first = target.ports().front()->options().portid;
  bench.product().add_port(7);
  subsystem::Subsystem& second = *target.find_subsystem(kSecond);
  second.allow_any_host(true);
  target.hide(target.port(first), second);
  target.hide(target.port(7), bench.subsystem());
}

RawAssociation& pull(ControllerBench& bench, Check& check) { return join(bench, check, kOther); }

std::uint8_t flags_of(Check& check, RawAssociation& association, std::uint8_t lsp) {
  return read_page(check, association, nvme::LogPage::discovery, 1024, lsp)[dh::dlpf.offset];
}

/// The bit of LSP, where the product says that it honors it.
bool honored(Check& check, RawAssociation& association, std::uint8_t bit) {
  return (parameter_of(check, association, nvme::LogPage::discovery).value_or(0) & bit) != 0;
}

}  // namespace

CONFORMANCE_CASE(ddc_reports_its_type, "discovery.ddc.identify", roles::ddc, a_ddc) {
  const auto reply = answered(check, pull(bench, check).admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait());
  check.require_success(reply, "Identify Controller");
  check.equal("DCTYPE", static_cast<unsigned>(View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::dctype)), 1u);
}

CONFORMANCE_CASE(ddc_has_no_log_of_pull_requests, "discovery.ddc.pull-log", roles::ddc, a_ddc) {
  const auto listed = parameter_of(check, pull(bench, check), nvme::LogPage::pull_model_request);
  check.that(!listed.has_value(), "Supported Log Pages does not list 73h", "it does");
}

CONFORMANCE_CASE(ddc_lists_its_own_port_alone, "discovery.ddc.port-local.entries", roles::ddc, of_two_ports) {
  spread(bench);
  RawAssociation& association = pull(bench, check);
  check.equal("entries of the subsystem at this port", disks_named(check, association, bench.nqn(), kLocal).size(), std::size_t{1});
  check.equal("entries of the subsystem at the other port", disks_named(check, association, kSecond, kLocal).size(), std::size_t{0});
}

CONFORMANCE_CASE(ddc_lists_the_port_that_is_asked, "discovery.ddc.port-local.this-port", roles::ddc, of_two_ports) {
  spread(bench);
  host::RawQueue& queue = bench.raw_queue({.to = {bench.at().address, static_cast<std::uint16_t>(kNvmePort + 6)}});
  const auto connect = bench.connect_command(
      {.kato_ms = kKato, .hostnqn = std::string(kOther.nqn), .hostid = kOther.hostid(), .subnqn = std::string(fabrics::kDiscoveryNqn)});
  const auto reply = answered(check, queue.send(connect).wait());
  check.precondition_success(reply, "Connect at the other port");
  RawAssociation association(bench, queue, connect, reply.as<fabrics::ConnectReply>().get(fabrics::connect_reply::cntlid));
  association.enable();
  check.equal("entries of the subsystem at this port", disks_named(check, association, kSecond, kLocal).size(), std::size_t{1});
  check.equal("entries of the subsystem at the first port", disks_named(check, association, bench.nqn(), kLocal).size(), std::size_t{0});
}

CONFORMANCE_CASE(ddc_says_that_its_log_is_port_local, "discovery.ddc.port-local.flag", roles::ddc, a_ddc) {
  RawAssociation& association = pull(bench, check);
  check.precondition(honored(check, association, kLocal), "PLEOS is 1");
  check.that((flags_of(check, association, kLocal) & fabrics::dlpf_bits::port_local) != 0, "PORTLCL is 1 with PLEO", "it is 0");
}

CONFORMANCE_CASE(ddc_claims_port_local_if_it_is, "discovery.ddc.port-local.true", roles::ddc, of_two_ports) {
  spread(bench);
  RawAssociation& association = pull(bench, check);
  const bool other = !disks_named(check, association, kSecond).empty();
  const bool flag = (flags_of(check, association, 0) & fabrics::dlpf_bits::port_local) != 0;
  check.that(!flag || !other, "PORTLCL is 0 in a log with entries of another port", "it is 1");
}

CONFORMANCE_CASE(ddc_lists_every_port_without_pleo, "discovery.ddc.port-local.asked", roles::ddc, of_two_ports) {
  spread(bench);
  RawAssociation& association = pull(bench, check);
  check.equal("entries of the subsystem at this port", disks_named(check, association, bench.nqn()).size(), std::size_t{1});
  check.equal("entries of the subsystem at the other port", disks_named(check, association, kSecond).size(), std::size_t{1});
}

CONFORMANCE_CASE(ddc_lists_what_the_reader_may_not_use, "discovery.ddc.all.entries", roles::ddc, hiding) {
  RawAssociation& association = pull(bench, check);
  check.equal("entries of the subsystem for others, with ALLSUBE", disks_named(check, association, kSecond, kAll).size(), std::size_t{1});
  check.equal("entries of the other subsystem", disks_named(check, association, bench.nqn(), kAll).size(), std::size_t{1});
}

CONFORMANCE_CASE(ddc_says_that_its_log_is_whole, "discovery.ddc.all.flag", roles::ddc, a_ddc) {
  RawAssociation& association = pull(bench, check);
  check.precondition(honored(check, association, kAll), "ALLSUBES is 1");
  check.that((flags_of(check, association, kAll) & fabrics::dlpf_bits::all_subsystems) != 0, "ALLSUBS is 1 with ALLSUBE", "it is 0");
}

CONFORMANCE_CASE(ddc_claims_a_whole_log_if_it_is, "discovery.ddc.all.true", roles::ddc, hiding) {
  RawAssociation& association = pull(bench, check);
  const bool hidden = disks_named(check, association, kSecond).empty();
  const bool flag = (flags_of(check, association, 0) & fabrics::dlpf_bits::all_subsystems) != 0;
  check.that(!flag || !hidden, "ALLSUBS is 0 in a log that leaves out a subsystem", "it is 1");
}

CONFORMANCE_CASE(ddc_hides_without_allsube, "discovery.ddc.all.asked", roles::ddc, hiding) {
  RawAssociation& association = pull(bench, check);
  check.equal("entries of the subsystem for others", disks_named(check, association, kSecond).size(), std::size_t{0});
}

CONFORMANCE_CASE(ddc_lists_all_of_its_own_port, "discovery.ddc.all.port-local", roles::ddc, of_two_ports) {
  spread(bench);
  RawAssociation& association = pull(bench, check);
  constexpr std::uint8_t kBoth = kLocal | kAll;
  check.equal("entries of the subsystem at this port", disks_named(check, association, bench.nqn(), kBoth).size(), std::size_t{1});
  check.equal("entries of the subsystem at the other port", disks_named(check, association, kSecond, kBoth).size(), std::size_t{0});
}

CONFORMANCE_CASE(ddc_claims_what_it_honors, "discovery.ddc.parameter", roles::ddc, a_ddc) {
  RawAssociation& association = pull(bench, check);
  for (const auto& [bit, flag] : {std::pair(kLocal, fabrics::dlpf_bits::port_local), std::pair(kAll, fabrics::dlpf_bits::all_subsystems)}) {
    const bool set = (flags_of(check, association, bit) & flag) != 0;
    check.that(!set || honored(check, association, bit), "LIDSP has the bit of LSP that the flags of the log answer", words(bit));
  }
}

CONFORMANCE_CASE(ddc_leaves_connectivity_to_others, "discovery.ddc.ncc", roles::ddc, a_ddc) {
  for (const Bytes& record : subsystems(check, pull(bench, check))) {
    const unsigned flags = View<fabrics::DiscoveryEntry>{record}.get(de::eflags);
    check.that((flags & fabrics::eflags_bits::no_cdc_connectivity) == 0, "NCC is 0 in the log of a direct discovery controller",
               nqn_in(record));
  }
}

CONFORMANCE_CASE(ddc_records_a_host, "discovery.ddc.register.host", roles::ddc, a_ddc) {
  RawAssociation& association = join(bench, check, kHost);
  const auto reply = send_task(check, association, RegistrationTask::register_entries, of_host(kHost, {host_entry(bench, kHost)}));
  check.precondition(!same_code(reply.status(), sc::invalid_opcode), "Discovery Information Management");
  check.require_success(reply, "Register");
  const auto found = hosts_named(check, association, kHost.nqn);
  check.equal("records of the host", found.size(), std::size_t{1});
}

CONFORMANCE_CASE(ddc_records_hosts_of_a_cdc, "discovery.ddc.register.centralized", roles::ddc, a_ddc) {
  RawAssociation& association = join(bench, check, kOther);
  auto entries = of_host(kOther, {host_entry(bench, kHost), host_entry(bench, kOther, "192.0.2.72")});
  entries.etype = EntityType::centralized;
  const auto reply = send_task(check, association, RegistrationTask::register_entries, entries);
  check.precondition(!same_code(reply.status(), sc::invalid_opcode), "Discovery Information Management");
  check.require_success(reply, "Register with ETYPE 3");
  check.equal("records of the one host", hosts_named(check, association, kHost.nqn).size(), std::size_t{1});
  check.equal("records of the other", hosts_named(check, association, kOther.nqn).size(), std::size_t{1});
}

CONFORMANCE_CASE(ddc_announces_a_change_to_who_pulls, "discovery.ddc.event", roles::ddc, hiding) {
  RawAssociation& association = pull(bench, check);
  (void)subsystems(check, association, kAll);
  want_events(check, association, nvme::event_config_bits::discovery_log);
  auto request = association.admin().send(host::async_event_request());
  expect_association(check, association);
  bench.target().hide(*bench.target().ports().front(), *bench.target().find_subsystem(kSecond));
  const auto reply = request.wait_for(5_s);
  check.require(reply.has_value(), "a Discovery Log Page Change within 5 s of a change");
  check.success(*reply, "Asynchronous Event Request");
  check.equal("entries of the subsystem that is gone", disks_named(check, association, kSecond, kAll).size(), std::size_t{0});
}

// ---- controllers of NVM subsystems ----

CONFORMANCE_CASE(io_controller_takes_no_registration, "discovery.io.management", roles::controller, reaches{"admin.opcode"}) {
  RawAssociation& association = bench.associate();
  const auto data = of_host(kHost, {host_entry(bench, kHost)});
  check.status(send_task(check, association, RegistrationTask::register_entries, data), sc::invalid_opcode,
               "Discovery Information Management");
}

CONFORMANCE_CASE(io_controller_has_no_host_discovery_log, "discovery.io.host-log", roles::controller) {
  RawAssociation& association = bench.associate();
  check.refused(ask_log(check, association, nvme::LogPage::host_discovery, 1024), "Get Log Page of 71h");
}

CONFORMANCE_CASE(io_controller_has_no_discovery_log, "discovery.io.discovery-log", roles::controller) {
  RawAssociation& association = bench.associate();
  check.refused(ask_log(check, association, nvme::LogPage::discovery, 1024), "Get Log Page of 70h");
}

}  // namespace fb::conformance
