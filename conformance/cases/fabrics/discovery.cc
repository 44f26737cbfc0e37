// The discovery service.
#include "conformance/cases/fabrics/discovery_scene.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

const furnished without_persistence{[](EmbeddedSetup& setup) { setup.discovery.persistent = false; }};

template <class T>
bool in(T value, std::initializer_list<T> legal) {
  return std::find(legal.begin(), legal.end(), value) != legal.end();
}

void check_entry(Check& check, const View<fabrics::DiscoveryEntry>& entry) {
  using fabrics::AddressFamily;
  using fabrics::SubsystemType;
  using fabrics::TransportType;
  const auto byte = [](auto value) { return words(static_cast<unsigned>(value)); };
  check.that(in(entry.get(de::trtype), {TransportType::rdma, TransportType::fibre_channel, TransportType::tcp, TransportType::intra_host}),
             "TRTYPE is defined", byte(entry.get(de::trtype)));
  check.that(in(entry.get(de::adrfam), {AddressFamily::ipv4, AddressFamily::ipv6, AddressFamily::infiniband, AddressFamily::fibre_channel,
                                        AddressFamily::intra_host}),
             "ADRFAM is defined", byte(entry.get(de::adrfam)));
  check.that(in(entry.get(de::subtype), {SubsystemType::referral, SubsystemType::nvm, SubsystemType::current_discovery}),
             "SUBTYPE is defined", byte(entry.get(de::subtype)));
  if (in(entry.get(de::trtype), {TransportType::rdma, TransportType::tcp})) {
    check.that(fabrics::decimal_port(entry.get(de::trsvcid)).has_value(), "TRSVCID is a decimal port",
               words(ByteView{entry.get(de::trsvcid)}));
  }
  const std::uint16_t cntlid = entry.get(de::cntlid);
  check.that(cntlid < fabrics::kFirstReservedController || cntlid >= fabrics::kAnyStaticController, "CNTLID is not reserved",
             words(cntlid));
  check.that(entry.get(de::asqsz) >= 32, "ASQSZ is at least 32", words(entry.get(de::asqsz)));
}

void two_subsystems(EmbeddedSetup& setup) {
  setup.more_subsystems.resize(1);
  setup.more_subsystems[0].nqn = "nqn.2026-11.org.fabricbench:subsystem.2";
}

void a_hidden_subsystem(EmbeddedSetup& setup) {
  two_subsystems(setup);
  setup.more_subsystems[0].allow_any_host = false;
  setup.more_subsystems[0].allowed_hosts = {"nqn.2026-11.org.fabricbench:host.other"};
}

constexpr std::string_view kReferralAddress = Arranger::kReferralAddress;

constexpr unsigned kReferrals = 100;
/// No two have a field in common but their subsystem.
subsystem::Referral numbered_referral(unsigned number) {
  return {.traddr = "192.0.2." + std::to_string(number + 1),
          .trsvcid = std::to_string(8000 + number),
          .portid = static_cast<std::uint16_t>(number + 7)};
}
/// The field begins with this text, and nothing but filling follows it.
bool has_text(ByteView field, std::string_view text) {
  return field.size() >= text.size() && std::equal(text.begin(), text.end(), field.begin()) &&
         std::all_of(field.begin() + static_cast<std::ptrdiff_t>(text.size()), field.end(),
                     [](std::uint8_t byte) { return byte == ' ' || byte == 0; });
}

}  // namespace

CONFORMANCE_CASE(discovery_log_holds_as_many_entries_as_it_says, "fabrics.discovery.log-header", roles::controller,
                 needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  check.equal("RECFMT", View<fabrics::DiscoveryHeader>{log}.get(dh::recfmt), 0u);
  const auto entries = entries_of(log);
  check.that(!entries.empty(), "there is an entry", "NUMREC is 0");
  for (const auto& entry : entries) {
    check.that(fabrics::valid_nqn(name_in(entry)), "every entry names a subsystem", words(name_in(entry)));
  }
}

CONFORMANCE_CASE(discovery_entries_say_what_rdma_they_mean, "fabrics.discovery.rdma.tsas", roles::controller, needs{&discovery_service}) {
  using fabrics::RdmaProvider;
  using fabrics::RdmaQpType;
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  bool any = false;
  for (const auto& common : entries_of(log)) {
    if (common.get(de::trtype) != fabrics::TransportType::rdma) continue;
    any = true;
    const View<fabrics::RdmaDiscoveryEntry> entry{common.bytes()};
    const auto byte = [](auto value) { return words(static_cast<unsigned>(value)); };
    check.that(in(entry.get(de::qptype), {RdmaQpType::reliable_connected, RdmaQpType::reliable_datagram}), "RDMA_QPTYPE is defined",
               byte(entry.get(de::qptype)));
    check.that(in(entry.get(de::prtype),
                  {RdmaProvider::none, RdmaProvider::infiniband, RdmaProvider::roce, RdmaProvider::roce_v2, RdmaProvider::iwarp}),
               "RDMA_PRTYPE is defined", byte(entry.get(de::prtype)));
    check.that(in(entry.get(de::cms), {fabrics::RdmaCms::rdma_cm}), "RDMA_CMS is defined", byte(entry.get(de::cms)));
  }
  check.precondition(any, "the log lists an RDMA port");
}

CONFORMANCE_CASE(discovery_entries_have_valid_fields, "fabrics.discovery.entries", roles::controller, needs{&discovery_service},
                 with_a_referral) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  bool listed = false;
  for (const auto& entry : entries_of(log)) {
    check_entry(check, entry);
    if (name_in(entry) != bench.nqn() || entry.get(de::subtype) != fabrics::SubsystemType::nvm) {
      continue;
    }
    listed = true;
    // It connected a host that left the choice of controller to it.
    if (bench.declared().known) {
      check.equal("CNTLID of the entry", entry.get(de::cntlid), bench.declared().any_cntlid);
    }
  }
  check.that(listed, "the subsystem is listed as an NVM subsystem", "it is not");
}

CONFORMANCE_CASE(discovery_generation_stays_while_log_does, "fabrics.discovery.genctr-stable", roles::controller,
                 needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const std::uint64_t first = genctr(read_header(check, association));
  check.equal("GENCTR of a second read", genctr(read_header(check, association)), first);
  check.equal("GENCTR of a third read", genctr(read_header(check, association)), first);
}

CONFORMANCE_CASE(discovery_generation_counts_changes, "fabrics.discovery.genctr-counts", roles::controller, needs{&discovery_service},
                 arranges{{Request::referral_add, Request::referral_remove}}) {
  RawAssociation& association = connect_discovery(bench);
  const std::uint64_t first = genctr(read_header(check, association));
  bench.arranger().add_referral();
  check.equal("GENCTR after a change", genctr(read_header(check, association)), first + 1);
  bench.arranger().remove_referral();
  check.equal("GENCTR after another", genctr(read_header(check, association)), first + 2);
}

CONFORMANCE_CASE(discovery_log_has_any_number_of_entries, "fabrics.discovery.many", roles::controller, needs{&discovery_service},
                 furnished{[](EmbeddedSetup& setup) {
                   for (unsigned i = 0; i < kReferrals; ++i) setup.referrals.push_back(numbered_referral(i));
                 }}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes whole = read_log(bench, check, association);
  const std::size_t records = whole.size() / kPiece - 1;
  check.equal("NUMREC", View<fabrics::DiscoveryHeader>{whole}.get(dh::numrec), records);
  const auto entries = entries_of(whole);
  for (std::size_t i = 0; i < records; ++i) {
    check.that(entries[i].get(de::subtype) != fabrics::SubsystemType{}, "entry " + std::to_string(i) + " is filled");
    const auto same = std::find_if(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(i), [&](const auto& earlier) {
      return std::equal(earlier.bytes().begin(), earlier.bytes().end(), entries[i].bytes().begin());
    });
    check.that(same == entries.begin() + static_cast<std::ptrdiff_t>(i), "entry " + std::to_string(i) + " is there once");
  }
  for (unsigned i = 0; i < kReferrals && bench.embedded(); ++i) {
    const subsystem::Referral made = numbered_referral(i);
    const bool listed = std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
      return has_text(entry.get(de::traddr), made.traddr) && has_text(entry.get(de::trsvcid), made.trsvcid) &&
             entry.get(de::portid) == made.portid && name_in(entry) == made.subnqn;
    });
    check.that(listed, "referral " + std::to_string(i) + " is listed with its address, service and port");
  }
  // From every entry on, and across their boundaries.
  for (std::size_t at = 0; at < whole.size(); at += kPiece + 36) {
    const std::size_t size = std::min<std::size_t>(whole.size() - at, 2 * kPiece - 12);
    const host::RawReply part = read_part(check, association, at, size);
    const std::string what = std::to_string(size) + " bytes of the log from " + std::to_string(at);
    if (check.success(part, what)) check.bytes(what, part.data, ByteView{whole}.subspan(at, size));
  }
}

CONFORMANCE_CASE(discovery_generation_counts_what_a_host_may_see, "fabrics.discovery.genctr-every", roles::controller,
                 needs{&discovery_service},
                 arranges{
                     {Request::host_allow, Request::host_disallow, Request::any_host, Request::subsystem_hide, Request::referral_add}}) {
  RawAssociation& association = connect_discovery(bench);
  auto before = read_log(bench, check, association);
  const auto judge = [&](std::string_view what) {
    const Bytes now = read_log(bench, check, association);
    const bool same = std::equal(before.begin() + kPiece, before.end(), now.begin() + kPiece, now.end());
    // Whether a host sees what it may not use is the rule of another case.
    if (same && !bench.embedded()) return;
    check.that(!same, "the log is another " + std::string(what));
    check.that(genctr(now) > genctr(before), "GENCTR is greater " + std::string(what), std::to_string(genctr(now)));
    before = now;
  };
  Arranger& arranger = bench.arranger();
  const std::string hostnqn(kBenchHostNqn);
  arranger.disallow_host(hostnqn);
  arranger.allow_any_host(false);
  judge("once the host is not allowed");
  arranger.allow_host(hostnqn);
  judge("once it is allowed");
  arranger.disallow_host(hostnqn);
  judge("once it is not allowed any more");
  arranger.allow_any_host(true);
  judge("once any host is allowed");
  arranger.hide_subsystem();
  judge("once the port does not lead to the subsystem any more");
  arranger.add_referral();
  judge("after a referral was added");
}

CONFORMANCE_CASE(discovery_log_in_parts_is_one_snapshot, "fabrics.discovery.parts", roles::controller, needs{&discovery_service},
                 arranges{{Request::subsystem_hide}, &two_subsystems}) {
  RawAssociation& association = connect_discovery(bench);
  const Bytes whole = read_log(bench, check, association);
  read_header(check, association);
  const ByteView first = ByteView{whole}.subspan(kPiece, kPiece);
  const host::RawReply same = read_part(check, association, kPiece, kPiece);
  check.success(same, "a part of the log");
  check.bytes("a part of the log", same.data, first);
  bench.arranger().hide_subsystem();
  const host::RawReply later = read_part(check, association, kPiece, kPiece);
  check.status(later, one_of(sc::success, sc::discover_restart), "a part after a change");
  if (!later.ok()) return;
  const Bytes changed = read_log(bench, check, association);
  const bool of_now = changed.size() >= 2 * kPiece && std::ranges::equal(later.data, ByteView{changed}.subspan(kPiece, kPiece));
  check.that(of_now || std::ranges::equal(later.data, first), "a part after a change is one of the log before it or after it",
             words(ByteView{later.data}));
}

CONFORMANCE_CASE(discovery_controller_has_no_io_queues, "fabrics.discovery.no-io-commands", roles::controller, needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  host::RawQueue& queue = bench.unconnected_queue({.qid = bench.io_qid(), .cntlid = association.cntlid()});
  const host::RawConnection made = queue.connect_transport().wait();
  if (!made.connected) {
    check.that(made.end.kind == transport::ChannelEnd::Kind::refused, "the transport connection is rejected", made.end.text);
    return;
  }
  check.status(answered(check, queue.send(association.io_connect()).wait()),
               one_of(sc::connect_invalid_parameters, sc::invalid_queue_identifier, sc::controller_busy), "Connect of an I/O queue");
}

CONFORMANCE_CASE(discovery_controller_identifies_as_such, "fabrics.discovery.identify", roles::controller, needs{&discovery_service}) {
  RawAssociation& association = connect_discovery(bench);
  const std::uint64_t version = association.property(prop::vs);
  const auto command = host::identify(nvme::Cns::controller);
  const host::RawReply reply = answered(check, association.admin().send(command, 4096).wait());
  check.require_success(reply, "Identify");
  const View<nvme::IdentifyController> identify{reply.data};
  check.equal("NN", identify.get(nvme::id_ctrl::nn), 0u);
  if (version >= fabrics::version(1, 4, 0)) {
    check.equal("CNTRLTYPE", static_cast<unsigned>(identify.get(nvme::id_ctrl::cntrltype)), 2u);
  }
}

CONFORMANCE_CASE(discovery_controller_refuses_prohibited_command, "fabrics.discovery.prohibited-command", roles::controller,
                 needs{&discovery_service}, reaches{"admin.opcode"}) {
  RawAssociation& association = connect_discovery(bench);
  constexpr std::uint8_t kNamespaceAttachment = 0x15, kFormat = 0x80;
  for (const std::uint8_t opcode : {kFormat, kNamespaceAttachment}) {
    check.status(answered(check, association.admin().send(host::any_command(opcode)).wait()), sc::invalid_opcode,
                 "opcode " + words(opcode));
  }
  // Nor is a log page there that no revision has.
  constexpr auto kReserved = static_cast<nvme::LogPage>(0x7E);
  check.refused(answered(check, association.admin().send(host::get_log(kReserved, 512), 512).wait()), "Get Log Page of 7Eh");
}

/// A Connect with a keep alive timeout to the discovery service, and its answer.
host::RawReply connect_to_keep_alive(ControllerBench& bench, Check& check) {
  const auto connect = [&](std::uint32_t kato_ms) {
    const auto command = bench.connect_command({.kato_ms = kato_ms, .subnqn = std::string(fabrics::kDiscoveryNqn)});
    return answered(check, bench.raw_queue().send(command).wait());
  };
  const host::RawReply reply = connect(60000);
  // Nobody needs a discovery service at the port of a subsystem: what is refused either way is not refused for its timeout.
  if (!reply.ok()) check.precondition(connect(0).ok(), "there is a discovery service at this port");
  return reply;
}

CONFORMANCE_CASE(discovery_connection_with_keep_alive, "fabrics.discovery.keep-alive-persistent", roles::controller,
                 needs{&discovery_service}) {
  const host::RawReply reply = connect_to_keep_alive(bench, check);
  if (!reply.ok()) {
    expect_invalid_parameter(check, reply, fabrics::InvalidParameter::in_command(cs::kato));
    return;
  }
  RawAssociation& association = connect_discovery(bench, 60000);
  check.success(answered(check, association.admin().send(host::keep_alive()).wait()), "Keep Alive");
}

CONFORMANCE_CASE(discovery_without_events_takes_no_keep_alive, "fabrics.discovery.keep-alive-refused", roles::controller,
                 needs{&discovery_service}, without_persistence, reaches{"connect.kato.discovery"}) {
  const host::RawReply reply = connect_to_keep_alive(bench, check);
  if (reply.ok()) {
    // What it announces may depend on the timeout: it is asked where there is one.
    RawAssociation& association = connect_discovery(bench, 60000);
    const auto page = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
    check.precondition_success(answered(check, page), "Identify Controller");
    const bool announces =
        (View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::oaes) & nvme::event_config_bits::discovery_log) != 0;
    check.precondition(!announces, "the discovery controller announces no changes (OAES bit 31)");
  }
  expect_invalid_parameter(check, reply, fabrics::InvalidParameter::in_command(cs::kato));
}

CONFORMANCE_CASE(discovery_change_is_announced, "fabrics.discovery.event", roles::controller, needs{&discovery_service},
                 arranges{{Request::referral_add, Request::referral_remove}}) {
  RawAssociation& association = connect_discovery(bench, 60000);
  RawAssociation& other = connect_discovery(bench, 60000);
  const auto wanted = host::set_features(nvme::FeatureId::async_event_configuration, nvme::event_config_bits::discovery_log);
  for (RawAssociation* const one : {&association, &other}) {
    check.precondition_success(answered(check, one->admin().send(wanted).wait()), "Set Features, Asynchronous Event Configuration");
  }
  const nvme::Event expected{nvme::EventType::notice, nvme::event_info::notice_discovery_log,
                             static_cast<std::uint8_t>(nvme::LogPage::discovery)};
  const auto judge = [&](std::string_view what, auto&& change) {
    std::vector<Op<host::RawReply>> events;
    for (RawAssociation* const one : {&association, &other}) {
      (void)read_header(check, *one);
      events.push_back(one->admin().send(host::async_event_request()));
      expect_association(check, *one);
    }
    change();
    for (auto& event : events) {
      const auto reply = event.wait_for(5_s);
      check.require(reply && reply->answered(), "the change completes an event request of each host, " + std::string(what));
      check.success(*reply, "Asynchronous Event Request");
      check.equal("the event, " + std::string(what), nvme::Event::from_dw0(reply->dw0()), expected);
    }
  };
  judge("a referral comes", [&] { bench.arranger().add_referral(); });
  judge("referrals go", [&] { bench.arranger().remove_referral(); });
}

CONFORMANCE_CASE(discovery_log_hides_what_a_host_may_not_use, "fabrics.discovery.host-filter", roles::controller, needs{&discovery_service},
                 arranges{{Request::host_allow, Request::host_disallow, Request::any_host}, &a_hidden_subsystem}) {
  RawAssociation& association = connect_discovery(bench);
  const auto judge = [&](bool own) {
    bool listed = false;
    for (const auto& entry : entries_of(read_log(bench, check, association))) {
      listed = listed || name_in(entry) == bench.nqn();
      check.that(name_in(entry) != "nqn.2026-11.org.fabricbench:subsystem.2", "a subsystem for other hosts is not listed", "it is");
    }
    if (own) check.that(listed, "the host's own subsystem is listed", "it is not");
    if (!own) check.that(!listed, "a subsystem that the host may not use any more is not listed", "it is");
  };
  judge(true);
  bench.arranger().disallow_host(std::string(kBenchHostNqn));
  bench.arranger().allow_any_host(false);
  judge(false);
  bench.arranger().allow_host(std::string(kBenchHostNqn));
  judge(true);
}

CONFORMANCE_CASE(discovery_referral_is_an_entry_of_its_own_type, "fabrics.discovery.referral", roles::controller, needs{&discovery_service},
                 arranges{{Request::referral_add}}) {
  bench.arranger().add_referral();
  RawAssociation& association = connect_discovery(bench);
  const Bytes log = read_log(bench, check, association);
  bool listed = false;
  for (const auto& entry : entries_of(log)) {
    const ByteView address = entry.get(de::traddr);
    if (!std::equal(kReferralAddress.begin(), kReferralAddress.end(), address.begin())) continue;
    listed = true;
    check.equal("SUBTYPE of the referral", static_cast<unsigned>(entry.get(de::subtype)), 1u);
  }
  check.that(listed, "the referral is listed with its address", "it is not");
}

}  // namespace fb::conformance
