// Queues and associations: each rule hears what breaks it, from whoever breaks it.
#include "tests/conformance/monitors/wire.h"
#include "wire/fabrics/nqn.h"
#include "wire/fabrics/property.h"

namespace fb::monitors {
namespace {

#define EXPECT_HEARD(wire, rule, host) EXPECT_TRUE((wire).heard(rule, host)) << (wire).all()
#define EXPECT_SILENT(wire) EXPECT_TRUE((wire).monitors.findings().empty()) << (wire).all()

constexpr std::uint8_t kFlush = 0, kRead = 2, kAsyncEvent = 0x0C, kGetLog = 0x02, kKeepAlive = 0x18;

struct Queue : TcpWire {
  explicit Queue(bool no_flow_control = false, std::uint32_t kato = 0, std::uint16_t qid = 0) {
    open();
    capsule(true, connect_command(0, no_flow_control, kato, qid).bytes());
    capsule(false, completion(0, no_flow_control ? nvme::kSqFlowControlDisabled : 1, 1).bytes());
  }
  void send(std::uint16_t cid, std::uint8_t opcode = kFlush) { capsule(true, command(opcode, cid).bytes()); }
  void property(std::uint16_t cid, std::uint32_t offset, bool set, std::uint64_t value, bool eight = false) {
    nvme::Sqe sqe = command(nvme::kFabricsOpcode, cid);
    sqe.edit<fabrics::PropertySetSqe>()
        .set(fabrics::sqe::fctype, set ? nvme::FabricsType::property_set : nvme::FabricsType::property_get)
        .set(fabrics::property_sqe::ofst, offset)
        .set(fabrics::property_sqe::size, eight ? fabrics::PropertySize::eight : fabrics::PropertySize::four);
    if (set) sqe.edit<fabrics::PropertySetSqe>().set(fabrics::property_sqe::value, value);
    capsule(true, sqe.bytes());
    nvme::Cqe cqe = completion(cid, static_cast<std::uint16_t>(cid % 8));
    if (!set) cqe.set(nvme::cqe::dw0, value & 0xFFFFFFFF).set(nvme::cqe::dw1, value >> 32);
    capsule(false, cqe.bytes());
  }
};

TEST(QueueRules, AGoodExchangeIsSilent) {
  Queue wire;
  for (std::uint16_t cid = 1; cid < 30; ++cid) {
    wire.send(cid);
    wire.capsule(false, completion(cid, static_cast<std::uint16_t>((cid + 1) % 8)).bytes());
  }
  wire.send(1);
  EXPECT_SILENT(wire);
}

TEST(QueueRules, ConnectComesFirstAndOnce) {
  TcpWire first;
  first.open();
  first.capsule(true, command(kFlush, 1).bytes());
  EXPECT_HEARD(first, Rule::nvme_connect_first, true);
  Queue twice;
  twice.capsule(true, connect_command(1).bytes());
  EXPECT_HEARD(twice, Rule::nvme_connect_once, true);
}

TEST(QueueRules, Identifiers) {
  Queue reuse;
  reuse.send(1);
  reuse.send(1);
  EXPECT_HEARD(reuse, Rule::nvme_cid_reuse, true);
  Queue unknown;
  unknown.capsule(false, completion(3, 1).bytes());
  EXPECT_HEARD(unknown, Rule::nvme_completion_unknown, false);
  Queue twice;
  twice.capsule(false, completion(0, 1).bytes());
  EXPECT_HEARD(twice, Rule::nvme_completion_twice, false);
  Queue phase;
  phase.send(1);
  phase.capsule(false, completion(1, 2).set(nvme::cqe::phase, 1).bytes());
  EXPECT_HEARD(phase, Rule::nvme_completion_phase, false);
}

TEST(QueueRules, Pointers) {
  // 00b: PRPs. Of an Admin or I/O command it is wrong, with data or without; of a Fabrics command it is advised against.
  Queue with_data;
  with_data.capsule(true, command(kRead, 1, nvme::SglDescriptor::transport(512)).set(nvme::sqe::psdt, nvme::Psdt::prp).bytes());
  EXPECT_HEARD(with_data, Rule::nvme_psdt, true);
  for (const std::uint8_t opcode : {kFlush, kKeepAlive}) {
    Queue without;
    without.capsule(true, command(opcode, 1).set(nvme::sqe::psdt, nvme::Psdt::prp).bytes());
    EXPECT_HEARD(without, Rule::nvme_psdt_no_data, true);
    EXPECT_FALSE(only_advises(Rule::nvme_psdt_no_data));
  }
  TcpWire fabrics;
  fabrics.open();
  fabrics.capsule(true, connect_command().set(nvme::sqe::psdt, nvme::Psdt::prp).bytes());
  EXPECT_HEARD(fabrics, Rule::nvme_psdt_fabrics, true);
  EXPECT_TRUE(only_advises(Rule::nvme_psdt_fabrics));
  Queue zeros;
  zeros.capsule(true, command(kFlush, 1, nvme::SglDescriptor::parse(Bytes(16))).bytes());
  EXPECT_HEARD(zeros, Rule::nvme_no_data_descriptor, true);
  EXPECT_TRUE(only_advises(Rule::nvme_no_data_descriptor));
  Queue right;
  for (const auto psdt : {nvme::Psdt::sgl, nvme::Psdt::sgl_metadata_sgl}) {
    const auto cid = static_cast<std::uint16_t>(psdt);
    right.capsule(true, command(kFlush, cid).set(nvme::sqe::psdt, psdt).bytes());
    right.capsule(false, completion(cid, static_cast<std::uint16_t>(cid + 1)).bytes());
  }
  EXPECT_SILENT(right);
}

TEST(QueueRules, HostnqnOfTheUuidForm) {
  const auto connect = [](std::string_view nqn) {
    TcpWire wire;
    wire.open();
    Bytes data(fabrics::ConnectData::size);
    MutableView<fabrics::ConnectData> view{data};
    const std::string_view subsystem = "nqn.2014-08.org.nvmexpress.discovery";
    std::copy(subsystem.begin(), subsystem.end(), data.begin() + fabrics::connect_data::subnqn.offset);
    std::copy(nqn.begin(), nqn.end(), data.begin() + fabrics::connect_data::hostnqn.offset);
    auto sqe = connect_command();
    sqe.set(nvme::sqe::sgl1, nvme::SglDescriptor::in_capsule(0, static_cast<std::uint32_t>(data.size())).bytes());
    wire.capsule(true, sqe.bytes(), data);
    return wire.heard(Rule::nvme_hostnqn_uuid, true);
  };
  for (const char* wrong : {"", "1", "host-1", "6ab9bd21-3c85-4b61-a6d0-5d4b6f2f7c0", "6ab9bd21-3c85-4b61-a6d0-5d4b6f2f7c012",
                            "6ab9bd213c854b61a6d05d4b6f2f7c01", "6ab9bd21-3c85-4b61-a6d0-5d4b6f2f7c0g"}) {
    EXPECT_TRUE(connect(std::string(fabrics::kUuidNqnPrefix) + wrong)) << wrong;
  }
  EXPECT_FALSE(connect(std::string(fabrics::kUuidNqnPrefix) + "6ab9bd21-3c85-4b61-a6d0-5d4b6f2f7c01"));
  EXPECT_FALSE(connect("nqn.2014-08.org.example:host")) << "another form is no concern of this rule";
  EXPECT_FALSE(connect("host"));
}

TEST(QueueRules, Heads) {
  Queue beyond;
  beyond.send(1);
  beyond.capsule(false, completion(1, 3).bytes());
  EXPECT_HEARD(beyond, Rule::nvme_sqhd, false);
  Queue back;
  back.send(1);
  back.capsule(false, completion(1, 0).bytes());
  EXPECT_HEARD(back, Rule::nvme_sqhd, false);
  Queue off(true);
  off.send(1);
  off.capsule(false, completion(1, 2).bytes());
  EXPECT_HEARD(off, Rule::nvme_sqhd_off, false);
}

TEST(QueueRules, FullQueues) {
  for (const bool no_flow_control : {false, true}) {
    Queue wire(no_flow_control);
    for (std::uint16_t cid = 1; cid <= 7; ++cid) wire.send(cid);
    EXPECT_SILENT(wire);
    wire.send(8);
    EXPECT_HEARD(wire, Rule::nvme_queue_full, true);
  }
}

TEST(QueueRules, FusedPairs) {
  Queue good;
  good.capsule(true, command(5, 1).set(nvme::sqe::fuse, nvme::Fuse::first).bytes());
  good.capsule(true, command(1, 2).set(nvme::sqe::fuse, nvme::Fuse::second).bytes());
  EXPECT_SILENT(good);
  good.capsule(true, command(1, 3).set(nvme::sqe::fuse, nvme::Fuse::second).bytes());
  EXPECT_HEARD(good, Rule::nvme_fused, true);
}

TEST(QueueRules, DataPointers) {
  Queue wire;
  wire.capsule(true, command(2, 1, nvme::SglDescriptor::transport(512)).set(nvme::sqe::psdt, nvme::Psdt::prp).bytes());
  EXPECT_HEARD(wire, Rule::nvme_psdt, true);
}

TEST(AssociationRules, KeepAlive) {
  Queue good(false, 1000);
  for (std::uint16_t cid = 1; cid < 5; ++cid) {
    good.wait(Duration::ms(900));
    good.send(cid, kKeepAlive);
    good.capsule(false, completion(cid, static_cast<std::uint16_t>(cid + 1)).bytes());
  }
  EXPECT_SILENT(good);
  good.wait(Duration::ms(62'100));
  good.send(6, kKeepAlive);
  EXPECT_HEARD(good, Rule::nvme_keep_alive, true);
}

TEST(AssociationRules, Properties) {
  Queue good;
  good.property(1, fabrics::property::cap, false, 0x820F00007F, true);
  good.property(2, fabrics::property::cc, true, 0x460001);
  good.property(3, fabrics::property::csts, false, 1);
  EXPECT_SILENT(good);
  good.property(4, fabrics::property::cap, false, 0x820F00003F, true);
  EXPECT_HEARD(good, Rule::nvme_property_stable, false);

  Queue early;
  early.property(1, fabrics::property::csts, false, 1);
  EXPECT_HEARD(early, Rule::nvme_ready_early, false);

  Queue written;
  written.property(1, fabrics::property::vs, true, 1);
  EXPECT_HEARD(written, Rule::nvme_property_read_only, true);

  Queue io(false, 0, 1);
  io.property(1, fabrics::property::csts, false, 1);
  EXPECT_HEARD(io, Rule::nvme_property_queue, true);
}

TEST(AssociationRules, IoQueuesComeAfterReady) {
  Queue wire;
  Bytes data(fabrics::ConnectData::size);
  MutableView<fabrics::ConnectData>{data}.set(fabrics::connect_data::cntlid, 1);
  nvme::Sqe connect = connect_command(0, false, 0, 1);
  connect.set(nvme::sqe::sgl1, nvme::SglDescriptor::in_capsule(0, 1024).bytes());
  wire.use_port(50001);
  wire.open();
  wire.capsule(true, connect.bytes(), data);
  EXPECT_HEARD(wire, Rule::nvme_io_before_ready, true);
}

TEST(AssociationRules, EventsAreMaskedUntilTheirLogIsRead) {
  Queue wire;
  const std::uint32_t changed = 0x040002;  // a notice, with the list of changed namespaces
  wire.send(1, kAsyncEvent);
  wire.capsule(false, completion(1, 2, changed).bytes());
  nvme::Sqe log = command(kGetLog, 2);
  log.edit<nvme::GetLogPageSqe>().set(nvme::get_log_sqe::lid, 4);
  wire.capsule(true, log.bytes());
  wire.capsule(false, completion(2, 3).bytes());
  wire.send(3, kAsyncEvent);
  wire.capsule(false, completion(3, 4, changed).bytes());
  EXPECT_SILENT(wire);
  wire.send(4, kAsyncEvent);
  wire.capsule(false, completion(4, 5, changed).bytes());
  EXPECT_HEARD(wire, Rule::nvme_event_masked, false);
}

}  // namespace
}  // namespace fb::monitors
