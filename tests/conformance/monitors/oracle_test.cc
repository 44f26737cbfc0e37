// The oracle hears a controller that contradicts itself, on an admin queue and an I/O queue that are played by hand.
#include "tests/conformance/monitors/wire.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/zones.h"

namespace fb::monitors {
namespace {

namespace id_ns = nvme::id_ns;
using nvme::AdminOpcode;
using nvme::IoOpcode;

constexpr std::uint16_t kAdminPort = 50001, kIoPort = 50002;
constexpr std::size_t kBlock = 512;

class Conversation : public TcpWire {
 public:
  Conversation() {
    connect(kAdminPort, 0);
    property(fabrics::property::cc, true, 1);
    connect(kIoPort, 1);
  }

  struct Answer {
    nvme::Status status = {};
    std::uint32_t dw0 = 0;
    Bytes data = {};
  };
  void exchange(std::uint16_t port, nvme::Sqe sqe, const Answer& answer, ByteView out = {}) {
    use_port(port);
    const std::uint16_t cid = ++cid_;
    sqe.set(nvme::sqe::cid, cid);
    const auto length = static_cast<std::uint32_t>(std::max(answer.data.size(), out.size()));
    const auto sgl = out.empty() ? nvme::SglDescriptor::transport(length) : nvme::SglDescriptor::in_capsule(0, length);
    sqe.set(nvme::sqe::sgl1, sgl.bytes());
    capsule(true, sqe.bytes(), out);
    if (!answer.data.empty()) {
      auto header = head<tcp::DataPdu>(tcp::PduType::c2h_data, tcp::pdu_flags::last_pdu);
      header.set(tcp::data_pdu::cccid, cid).set(tcp::data_pdu::length, length);
      pdu(false, header.bytes(), answer.data);
    }
    nvme::Cqe cqe = completion(cid, 0);
    cqe.set(nvme::cqe::status, answer.status).set(nvme::cqe::dw0, answer.dw0);
    capsule(false, cqe.bytes());
  }
  void admin(AdminOpcode opcode, const Answer& answer, std::uint32_t nsid = 0, std::uint32_t cdw10 = 0, std::uint32_t cdw11 = 0) {
    nvme::Sqe sqe = command(static_cast<std::uint8_t>(opcode), 0);
    sqe.set(nvme::sqe::nsid, nsid).set(nvme::sqe::cdw10, cdw10).set(nvme::sqe::cdw11, cdw11);
    exchange(kAdminPort, sqe, answer);
  }
  void feature(nvme::FeatureId id, std::uint32_t value) { admin(AdminOpcode::set_features, {}, 0, static_cast<std::uint32_t>(id), value); }
  void feature_is(nvme::FeatureId id, nvme::FeatureSelect select, std::uint32_t value) {
    admin(AdminOpcode::get_features, {.dw0 = value}, 0, static_cast<std::uint32_t>(id) | static_cast<std::uint32_t>(select) << 8);
  }
  void identify(nvme::Cns cns, Bytes page, std::uint32_t nsid = 0) {
    admin(AdminOpcode::identify, {.data = std::move(page)}, nsid, static_cast<std::uint32_t>(cns));
  }
  void log(nvme::LogPage page, Bytes data) {
    const auto dwords = static_cast<std::uint32_t>(data.size() / 4 - 1);
    admin(AdminOpcode::get_log_page, {.data = std::move(data)}, 0, static_cast<std::uint32_t>(page) | dwords << 16);
  }
  void blocks(IoOpcode opcode, std::uint32_t nsid, std::uint64_t slba, std::uint16_t count, const Answer& answer, ByteView out = {}) {
    nvme::Sqe sqe = command(static_cast<std::uint8_t>(opcode), 0);
    sqe.set(nvme::sqe::nsid, nsid);
    sqe.edit<nvme::ReadWriteSqe>().set(nvme::rw_sqe::slba, slba).set(nvme::rw_sqe::nlb, ZeroBased<std::uint16_t>::of(count));
    exchange(kIoPort, sqe, answer, out);
  }
  void report_zones(std::uint32_t nsid, const std::vector<nvme::ZoneFacts>& zones) {
    Bytes report(nvme::ZoneReportHeader::size + nvme::ZoneDescriptor::size * zones.size());
    store_le<std::uint64_t>(report.data(), zones.size());
    for (std::size_t i = 0; i < zones.size(); ++i) {
      nvme::write_zone(
          MutableBytes{report}.subspan(nvme::ZoneReportHeader::size + nvme::ZoneDescriptor::size * i, nvme::ZoneDescriptor::size),
          zones[i]);
    }
    nvme::Sqe sqe = command(static_cast<std::uint8_t>(IoOpcode::zone_management_receive), 0);
    sqe.set(nvme::sqe::nsid, nsid);
    sqe.edit<nvme::ZoneReceiveSqe>().set(nvme::zone_receive_sqe::numd,
                                         ZeroBased<std::uint32_t>::of(static_cast<std::uint32_t>(report.size() / 4)));
    exchange(kIoPort, sqe, {.data = report});
  }
  void property(std::uint32_t offset, bool set, std::uint64_t value, bool eight = false) {
    nvme::Sqe sqe = command(nvme::kFabricsOpcode, 0);
    sqe.edit<fabrics::PropertySetSqe>()
        .set(fabrics::sqe::fctype, set ? nvme::FabricsType::property_set : nvme::FabricsType::property_get)
        .set(fabrics::property_sqe::ofst, offset)
        .set(fabrics::property_sqe::size, eight ? fabrics::PropertySize::eight : fabrics::PropertySize::four);
    if (set) sqe.edit<fabrics::PropertySetSqe>().set(fabrics::property_sqe::value, value);
    exchange(kAdminPort, sqe, {.dw0 = set ? 0 : static_cast<std::uint32_t>(value)});
  }

 private:
  void connect(std::uint16_t port, std::uint16_t qid) {
    use_port(port);
    open();
    Bytes data(fabrics::ConnectData::size);
    const std::string_view nqn = "nqn.2014-08.org.example:one";
    std::copy(nqn.begin(), nqn.end(), data.begin() + fabrics::connect_data::subnqn.offset);
    std::copy(nqn.begin(), nqn.end(), data.begin() + fabrics::connect_data::hostnqn.offset);
    store_le<std::uint16_t>(&data[fabrics::connect_data::cntlid.offset], qid == 0 ? 0xFFFF : 1);
    auto sqe = connect_command(0, true, 0, qid);
    sqe.set(nvme::sqe::sgl1, nvme::SglDescriptor::in_capsule(0, static_cast<std::uint32_t>(data.size())).bytes());
    capsule(true, sqe.bytes(), data);
    capsule(false, completion(0, nvme::kSqFlowControlDisabled, 1).bytes());
  }
  std::uint16_t cid_ = 0;
};

#define EXPECT_SAID(wire, rule) EXPECT_TRUE((wire).heard(rule, false)) << (wire).all()
#define EXPECT_NOT_SAID(wire, rule) EXPECT_FALSE((wire).heard(rule, false)) << (wire).all()

Bytes namespace_page(std::uint64_t blocks, std::uint64_t used) {
  Record<nvme::IdentifyNamespace> page;
  page.set(id_ns::nsze, blocks).set(id_ns::ncap, blocks).set(id_ns::nuse, used);
  nvme::edit_lba_format(page.mutable_bytes(), 0).set(nvme::lba_format::lbads, std::uint8_t{9});
  return Bytes(page.bytes().begin(), page.bytes().end());
}
Bytes controller_page(std::uint8_t mdts = 0) {
  Record<nvme::IdentifyController> page;
  page.set(nvme::id_ctrl::cntlid, std::uint16_t{1}).set(nvme::id_ctrl::nn, 8u).set(nvme::id_ctrl::mdts, mdts);
  page.set(nvme::id_ctrl::aerl, ZeroBased<std::uint8_t>::of(4));
  return Bytes(page.bytes().begin(), page.bytes().end());
}
Bytes list_page(std::uint32_t nsid) {
  Bytes page(nvme::kIdentifySize);
  store_le<std::uint32_t>(page.data(), nsid);
  return page;
}

TEST(OracleFeatures, KeepTheirDefaultsAndWhatWasSaved) {
  using nvme::FeatureSelect;
  for (const bool wrong : {false, true}) {
    Conversation wire;
    const auto id = nvme::FeatureId::volatile_write_cache;
    wire.feature_is(id, FeatureSelect::default_value, 1);
    wire.feature_is(id, FeatureSelect::saved, 1);
    wire.feature(id, 0);
    wire.feature_is(id, FeatureSelect::default_value, wrong ? 0 : 1);
    wire.feature_is(id, FeatureSelect::saved, wrong ? 0 : 1);
    EXPECT_EQ(wire.heard(Rule::oracle_features_default, false), wrong) << wire.all();
    EXPECT_EQ(wire.heard(Rule::oracle_features_saved, false), wrong) << wire.all();
  }
}

TEST(OracleFeatures, AreRestoredByAReset) {
  using nvme::FeatureSelect;
  for (const bool wrong : {false, true}) {
    Conversation wire;
    const auto id = nvme::FeatureId::volatile_write_cache;
    wire.feature_is(id, FeatureSelect::saved, 1);
    wire.feature(id, 0);
    wire.property(fabrics::property::cc, true, 0);
    wire.property(fabrics::property::cc, true, 1);
    wire.feature_is(id, FeatureSelect::current, wrong ? 0 : 1);
    EXPECT_EQ(wire.heard(Rule::oracle_features_reset, false), wrong) << wire.all();
  }
}

TEST(OracleEvents, AreEnabledAndWithinTheLimit) {
  Conversation wire;
  Bytes page = controller_page();
  store_le<std::uint32_t>(&page[nvme::id_ctrl::oaes.offset], 0x100);
  wire.identify(nvme::Cns::controller, page);
  wire.feature_is(nvme::FeatureId::async_event_configuration, nvme::FeatureSelect::current, 0x100);
  wire.admin(AdminOpcode::async_event_request, {.dw0 = 0x00040002});
  EXPECT_NOT_SAID(wire, Rule::oracle_event_enabled);
  wire.admin(AdminOpcode::async_event_request, {.dw0 = 0x000C0302});
  EXPECT_SAID(wire, Rule::oracle_event_enabled);
  wire.admin(AdminOpcode::async_event_request, {.status = nvme::sc::async_event_request_limit_exceeded});
  EXPECT_SAID(wire, Rule::oracle_event_limit);
}

TEST(OracleIdentify, StructuresAgree) {
  for (const bool wrong : {false, true}) {
    Conversation wire;
    Bytes page = namespace_page(100, 100);
    page[id_ns::nmic.offset] = 1;
    wire.identify(nvme::Cns::identify_namespace, page, 1);
    Bytes independent(nvme::kIdentifySize);
    independent[nvme::id_ns_independent::nmic.offset] = wrong ? 0 : 1;
    independent[nvme::id_ns_independent::nstat.offset] = 1;
    wire.identify(nvme::Cns::independent_namespace, independent, 1);
    EXPECT_EQ(wire.heard(Rule::oracle_identify_agrees, false), wrong) << wire.all();
  }
}

TEST(OracleClaims, LimitTransfersAndCommands) {
  Conversation wire;
  wire.property(fabrics::property::cap, false, 0, true);
  Bytes page = controller_page(1);         // 8 KiB
  page[nvme::id_ctrl::lpa.offset] = 0x0A;  // effects and telemetry
  wire.identify(nvme::Cns::controller, page);
  wire.log(nvme::LogPage::telemetry_host, Bytes(8192));
  EXPECT_NOT_SAID(wire, Rule::oracle_mdts);
  wire.log(nvme::LogPage::telemetry_host, Bytes(16384));
  EXPECT_SAID(wire, Rule::oracle_mdts);
  Bytes effects(nvme::CommandEffects::size);
  effects[4 * static_cast<std::size_t>(AdminOpcode::get_log_page)] = 1;
  wire.log(nvme::LogPage::commands_effects, effects);
  wire.log(nvme::LogPage::telemetry_host, Bytes(4096));
  EXPECT_NOT_SAID(wire, Rule::oracle_effects);
  wire.admin(AdminOpcode::keep_alive, {});
  EXPECT_SAID(wire, Rule::oracle_effects);
}

TEST(OracleClaims, AreThoseOfTheNamespace) {
  Conversation wire;
  wire.identify(nvme::Cns::active_namespace_list, list_page(1));
  wire.identify(nvme::Cns::identify_namespace, namespace_page(100, 1), 1);
  wire.blocks(IoOpcode::read, 1, 96, 4, {.data = Bytes(4 * kBlock)});
  EXPECT_NOT_SAID(wire, Rule::oracle_lba_range);
  EXPECT_NOT_SAID(wire, Rule::oracle_block_size);
  EXPECT_NOT_SAID(wire, Rule::oracle_namespace_exists);
  wire.blocks(IoOpcode::read, 1, 97, 4, {.data = Bytes(4 * kBlock)});
  EXPECT_SAID(wire, Rule::oracle_lba_range);
  wire.blocks(IoOpcode::read, 1, 0, 4, {.data = Bytes(4 * 4096)});
  EXPECT_SAID(wire, Rule::oracle_block_size);
  wire.blocks(IoOpcode::read, 2, 0, 4, {.data = Bytes(4 * kBlock)});
  EXPECT_SAID(wire, Rule::oracle_namespace_exists);
  const Bytes data(2 * kBlock, 0x5A);
  wire.blocks(IoOpcode::write, 1, 10, 2, {}, data);
  wire.identify(nvme::Cns::identify_namespace, namespace_page(100, 1), 1);
  EXPECT_SAID(wire, Rule::oracle_nuse);
}

TEST(OracleHosts, DescribeDataAsTheTransportCarriesIt) {
  for (const bool wrong : {false, true}) {
    Conversation wire;
    nvme::Sqe sqe = command(static_cast<std::uint8_t>(AdminOpcode::identify), 0x777);
    const auto in_memory = nvme::SglDescriptor{.address = 0x1000, .length = nvme::kIdentifySize};
    sqe.set(nvme::sqe::cdw10, 1u).set(nvme::sqe::sgl1, (wrong ? in_memory : nvme::SglDescriptor::transport(nvme::kIdentifySize)).bytes());
    wire.use_port(kAdminPort);
    wire.capsule(true, sqe.bytes());
    EXPECT_EQ(wire.heard(Rule::oracle_host_sgl_tcp, true), wrong) << wire.all();
  }
}

TEST(OracleHosts, KeepTheirControllersAlive) {
  for (const bool late : {false, true}) {
    Conversation wire;
    wire.property(fabrics::property::csts, false, 1);
    Bytes page = controller_page();
    store_le<std::uint16_t>(&page[nvme::id_ctrl::kas.offset], 20);  // 2 s: KATT is 4 s
    wire.identify(nvme::Cns::controller, page);
    wire.feature(nvme::FeatureId::keep_alive_timer, 3000);
    wire.wait(late ? Duration::ms(4001) : Duration::ms(3990));
    wire.admin(AdminOpcode::keep_alive, {});
    EXPECT_EQ(wire.heard(Rule::oracle_host_keep_alive, true), late) << wire.all();
  }
}

TEST(OracleFirmware, SlotsStayWithoutACommit) {
  for (const bool commits : {false, true}) {
    Conversation wire;
    Bytes log(nvme::FirmwareSlots::size);
    log[0] = 1;
    log[nvme::firmware_slots::frs.offset] = '1';
    wire.log(nvme::LogPage::firmware_slot, log);
    log[nvme::firmware_slots::frs.offset + 8] = '2';
    if (commits) wire.admin(AdminOpcode::firmware_commit, {}, 0, 2);
    wire.log(nvme::LogPage::firmware_slot, log);
    EXPECT_EQ(wire.heard(Rule::oracle_firmware_slots, false), !commits) << wire.all();
  }
}

TEST(OracleZones, AreNoMoreThanIsClaimed) {
  for (const std::uint32_t active_max : {2u, 1u}) {
    Conversation wire;
    Record<nvme::IdentifyNamespaceZoned> page;
    page.set(nvme::id_ns_zoned::mar, active_max - 1).set(nvme::id_ns_zoned::mor, nvme::kNoZoneLimit);
    wire.admin(AdminOpcode::identify, {.data = Bytes(page.bytes().begin(), page.bytes().end())}, 1,
               static_cast<std::uint32_t>(nvme::Cns::command_set_namespace), static_cast<std::uint32_t>(nvme::CommandSet::zoned) << 24);
    wire.report_zones(1, {{.capacity = 8, .write_pointer = 1, .state = nvme::ZoneState::implicitly_opened},
                          {.start = 8, .capacity = 8, .write_pointer = 9, .state = nvme::ZoneState::closed},
                          {.start = 16, .capacity = 8, .write_pointer = 16}});
    EXPECT_EQ(wire.heard(Rule::oracle_zone_resources, false), active_max == 1) << wire.all();
  }
}

TEST(OracleZones, ThatAreFreeAreGiven) {
  for (const bool refuses : {false, true}) {
    Conversation wire;
    Record<nvme::IdentifyNamespaceZoned> page;
    page.set(nvme::id_ns_zoned::mar, 1u).set(nvme::id_ns_zoned::mor, nvme::kNoZoneLimit);
    wire.admin(AdminOpcode::identify, {.data = Bytes(page.bytes().begin(), page.bytes().end())}, 1,
               static_cast<std::uint32_t>(nvme::Cns::command_set_namespace), static_cast<std::uint32_t>(nvme::CommandSet::zoned) << 24);
    wire.report_zones(1, {{.capacity = 8, .write_pointer = 1, .state = nvme::ZoneState::implicitly_opened},
                          {.start = 8, .capacity = 8, .write_pointer = 8}});
    wire.blocks(IoOpcode::write, 1, 8, 1, {.status = refuses ? nvme::sc::too_many_active_zones : nvme::sc::success}, Bytes(kBlock));
    EXPECT_EQ(wire.heard(Rule::oracle_zone_resources, false), refuses) << wire.all();
    EXPECT_NOT_SAID(wire, Rule::oracle_zone_write);
  }
}

TEST(OracleErrors, HaveAnEntryEach) {
  Conversation wire;
  const auto entries = [&](unsigned newest, std::uint16_t cid) {
    Bytes log(2 * nvme::ErrorEntry::size);
    MutableView<nvme::ErrorEntry> entry{MutableBytes(log).first(nvme::ErrorEntry::size)};
    if (newest != 0) {
      entry.set(nvme::error_entry::error_count, newest).set(nvme::error_entry::sqid, std::uint16_t{0}).set(nvme::error_entry::cid, cid);
      entry.set(nvme::error_entry::status, nvme::sc::invalid_field);
    }
    return log;
  };
  wire.log(nvme::LogPage::error_information, entries(0, 0));
  wire.admin(AdminOpcode::identify, {.status = nvme::sc::invalid_field.with_more()});
  wire.log(nvme::LogPage::error_information, entries(0, 0));
  EXPECT_SAID(wire, Rule::oracle_error_missing);
}

TEST(OracleClaims, AreOfOptionalCommandsToo) {
  Conversation wire;
  Bytes page = controller_page();
  page[nvme::id_ctrl::oacs.offset] = nvme::oacs_bits::format_nvm;
  wire.identify(nvme::Cns::controller, page);
  wire.admin(AdminOpcode::format_nvm, {}, 1);
  EXPECT_NOT_SAID(wire, Rule::oracle_effects);
  wire.admin(AdminOpcode::format_nvm, {.status = nvme::sc::invalid_opcode}, 1);
  EXPECT_SAID(wire, Rule::oracle_effects);
  Conversation other;
  other.identify(nvme::Cns::controller, page);
  other.admin(AdminOpcode::device_self_test, {}, 0, 1);
  EXPECT_SAID(other, Rule::oracle_effects);
}

TEST(OracleEvents, AreClaimedAndNameTheirPage) {
  for (const bool wrong : {false, true}) {
    Conversation wire;
    Bytes page = controller_page();
    store_le<std::uint32_t>(&page[nvme::id_ctrl::oaes.offset], wrong ? 0 : nvme::event_config_bits::namespace_attribute);
    wire.identify(nvme::Cns::controller, page);
    wire.admin(AdminOpcode::async_event_request, {.dw0 = wrong ? 0x00050002u : 0x00040002u});
    EXPECT_EQ(wire.heard(Rule::oracle_event_enabled, false), wrong) << wire.all();
    EXPECT_EQ(wire.heard(Rule::oracle_event_enabled, false), wrong) << wire.all();
  }
}

TEST(OracleFeatures, KeepToTheirCapabilities) {
  namespace bits = nvme::feature_capability_bits;
  for (const bool wrong : {false, true}) {
    Conversation wire;
    Bytes page = controller_page();
    page[nvme::id_ctrl::oncs.offset] = nvme::oncs_bits::save_and_select;
    wire.identify(nvme::Cns::controller, page);
    const auto id = nvme::FeatureId::arbitration;
    wire.feature_is(id, nvme::FeatureSelect::capabilities, wrong ? bits::saveable : bits::changeable);
    wire.feature_is(id, nvme::FeatureSelect::current, 2);
    // The value that it has may be set whatever the capabilities are.
    wire.feature(id, 2);
    EXPECT_FALSE(wire.heard(Rule::oracle_features, false)) << wire.all();
    wire.feature(id, 3);
    EXPECT_EQ(wire.heard(Rule::oracle_features, false), wrong) << wire.all();
  }
}

TEST(OracleNamespaces, HaveTheFormatThatTheyWereGiven) {
  for (const unsigned format : {1u, 0u}) {
    Conversation wire;
    wire.identify(nvme::Cns::identify_namespace, namespace_page(100, 100), 1);
    wire.admin(AdminOpcode::format_nvm, {}, 1, 1);
    Bytes page = namespace_page(100, 0);
    nvme::edit_lba_format(page, 1).set(nvme::lba_format::lbads, std::uint8_t{12});
    page[id_ns::nlbaf.offset] = 1;
    page[id_ns::flbas_low.offset] = static_cast<std::uint8_t>(format);
    wire.identify(nvme::Cns::identify_namespace, page, 1);
    EXPECT_EQ(wire.heard(Rule::oracle_identify_namespace, false), format == 0) << wire.all();
    if (format == 0) continue;
    Bytes shared = page;
    shared[id_ns::nmic.offset] = 1;
    EXPECT_NOT_SAID(wire, Rule::oracle_identify_namespace);
    wire.identify(nvme::Cns::identify_namespace, shared, 1);
    EXPECT_SAID(wire, Rule::oracle_identify_namespace);
  }
}

TEST(OracleNamespaces, AreThoseThatCommandsLeave) {
  for (const bool wrong : {false, true}) {
    Conversation wire;
    wire.identify(nvme::Cns::allocated_namespace_list, list_page(1));
    wire.admin(AdminOpcode::namespace_management, {}, 1, 1);  // deletes it
    wire.identify(nvme::Cns::allocated_namespace_list, list_page(wrong ? 1 : 0));
    EXPECT_EQ(wire.heard(Rule::oracle_identify_list, false), wrong) << wire.all();
  }
}

TEST(OracleLogs, HaveGroupsInOrder) {
  for (const bool wrong : {false, true}) {
    Conversation wire;
    const std::vector<nvme::AnaGroup> groups = {{.id = 2, .namespaces = {1}}, {.id = wrong ? 1u : 3u, .namespaces = {2}}};
    wire.log(nvme::LogPage::ana, nvme::make_ana_log(1, groups));
    EXPECT_EQ(wire.heard(Rule::oracle_ana, false), wrong) << wire.all();
  }
}

TEST(OracleHealth, NeverGoesBack) {
  for (const std::uint8_t later : {std::uint8_t{5}, std::uint8_t{4}}) {
    Conversation wire;
    Bytes log(nvme::SmartLog::size);
    log[nvme::smart::poh.offset] = 5;
    wire.log(nvme::LogPage::smart, log);
    log[nvme::smart::poh.offset] = later;
    wire.log(nvme::LogPage::smart, log);
    EXPECT_EQ(wire.heard(Rule::oracle_smart, false), later == 4) << wire.all();
  }
}

TEST(OracleStreams, AreThoseThatWereGiven) {
  for (const std::uint16_t said : {std::uint16_t{3}, std::uint16_t{4}}) {
    Conversation wire;
    nvme::Sqe allocate = command(static_cast<std::uint8_t>(AdminOpcode::directive_receive), 0);
    allocate.set(nvme::sqe::nsid, 1u);
    allocate.edit<nvme::AllocateStreamsSqe>()
        .set(nvme::directive_sqe::dtype, nvme::DirectiveType::streams)
        .set(nvme::directive_sqe::doper, nvme::directive_operation::streams_allocate)
        .set(nvme::directive_sqe::nsr, std::uint16_t{3});
    wire.exchange(kAdminPort, allocate, {.dw0 = 3});
    EXPECT_NOT_SAID(wire, Rule::oracle_features);
    nvme::Sqe ask = allocate;
    ask.edit<nvme::DirectiveSqe>().set(nvme::directive_sqe::doper, nvme::directive_operation::streams_return_parameters);
    Record<nvme::StreamParameters> parameters;
    parameters.set(nvme::stream_parameters::msl, std::uint16_t{8}).set(nvme::stream_parameters::nsa, said);
    wire.exchange(kAdminPort, ask, {.data = Bytes(parameters.bytes().begin(), parameters.bytes().end())});
    EXPECT_EQ(wire.heard(Rule::oracle_features, false), said == 4) << wire.all();
  }
}

TEST(OracleLockdown, RefusesWhatItProhibits) {
  for (const bool prohibits : {true, false}) {
    Conversation wire;
    const auto scope = static_cast<unsigned>(nvme::LockdownScope::admin_command);
    const auto code = static_cast<unsigned>(AdminOpcode::format_nvm);
    if (prohibits) wire.admin(AdminOpcode::lockdown, {}, 0, scope | 1u << 4 | code << 8);
    wire.admin(AdminOpcode::format_nvm, {.status = nvme::sc::prohibited_by_lockdown}, 1);
    EXPECT_EQ(wire.heard(Rule::oracle_effects, false), !prohibits) << wire.all();
    if (prohibits) wire.admin(AdminOpcode::format_nvm, {}, 1);
    EXPECT_SAID(wire, Rule::oracle_effects);
  }
}

}  // namespace
}  // namespace fb::monitors
