#include "wire/fabrics/connect.h"

#include <gtest/gtest.h>

#include "wire/fabrics/auth.h"
#include "wire/fabrics/disconnect.h"
#include "wire/fabrics/property.h"
#include "wire/fabrics/rdma_private_data.h"

namespace fb::fabrics {
namespace {

Record<ConnectSqe> io_connect() {
  Record<ConnectSqe> command;
  command.set(sqe::opcode, kFabricsOpcode).set(sqe::psdt, nvme::Psdt::sgl).set(sqe::cid, 2);
  command.set(sqe::fctype, FabricsType::connect).set(connect_sqe::qid, 1);
  command.set(connect_sqe::sqsize, ZeroBased<std::uint16_t>::of(32));
  command.set(connect_sqe::cattr, cattr_bits::disable_sq_flow_control).set(connect_sqe::kato, 120000u);
  command.set(sqe::sgl1, nvme::SglDescriptor::keyed(0xFFFF888001234000, 1024, 0x11223344).bytes());
  return command;
}

TEST(Connect, CommandBytes) {
  EXPECT_EQ(to_hex(io_connect().bytes()),
            "7f400200"
            "01"
            "00000000000000000000000000000000000000"
            "00402301"
            "8088ffff"
            "000400"
            "44332211"
            "40"
            "0000"
            "0100"
            "1f00"
            "04"
            "00"
            "c0d40100"
            "0000"
            "00000000000000000000");
  EXPECT_EQ(io_connect().get(connect_sqe::sqsize).count(), 32u);
}

TEST(Connect, ReservedBytesOfTheCommand) {
  Record<ConnectSqe> command = io_connect();
  EXPECT_EQ(first_reserved_set<ConnectSqe>(command.bytes()), std::nullopt);
  command.mutable_bytes()[23] = 1;
  EXPECT_EQ(first_reserved_set<ConnectSqe>(command.bytes()), 23u);
  command.mutable_bytes()[23] = 0;
  command.mutable_bytes()[47] = 1;
  EXPECT_EQ(first_reserved_set<ConnectSqe>(command.bytes()), 47u);
}

TEST(Connect, DataPlaces) {
  Record<ConnectData> data;
  data.set(connect_data::cntlid, kAnyController).set(connect_data::hostid, Bytes(16, 0xAB));
  set_text(data, connect_data::subnqn, "nqn.2026-01.org.example:sub", '\0');
  set_text(data, connect_data::hostnqn, "nqn.2026-01.org.example:host", '\0');
  EXPECT_EQ(data.bytes().size(), 1024u);
  EXPECT_EQ(to_hex(data.bytes().first(20)),
            "abababababababababababababababab"
            "ffff"
            "0000");
  EXPECT_EQ(data.bytes()[256], 'n');
  EXPECT_EQ(data.bytes()[512], 'n');
  EXPECT_EQ(terminated_text(data.get(connect_data::hostnqn)), "nqn.2026-01.org.example:host");
  EXPECT_EQ(terminated_text(Bytes(256, 'x')), std::nullopt);
}

TEST(Connect, InvalidParameterPlaces) {
  constexpr InvalidParameter subnqn = InvalidParameter::in_connect_data(connect_data::subnqn);
  EXPECT_EQ(subnqn.dw0(), 0x00010100u);
  EXPECT_EQ(InvalidParameter::from_dw0(0x00010100), subnqn);
  EXPECT_EQ(InvalidParameter::in_command(connect_sqe::sqsize).dw0(), 0x2Cu);
  EXPECT_EQ(InvalidParameter::in_command(connect_sqe::qid).dw0(), 0x2Au);
  EXPECT_EQ(InvalidParameter::in_command(connect_sqe::cattr).dw0(), 46u);
  EXPECT_EQ(InvalidParameter::in_command(connect_sqe::kato).dw0(), 0x30u);
  EXPECT_EQ(InvalidParameter::in_connect_data(connect_data::hostid).dw0(), 0x10000u);
  EXPECT_EQ(InvalidParameter::in_connect_data(connect_data::cntlid).dw0(), 0x10010u);
  EXPECT_EQ(InvalidParameter::in_connect_data(connect_data::hostnqn).dw0(), 0x10200u);

  Record<ConnectRefusal> refusal;
  refusal.set(connect_reply::ipo, 0x100).set(connect_reply::ips, true);
  EXPECT_EQ(nvme::Cqe{refusal.bytes()}.get(nvme::cqe::dw0), subnqn.dw0());
}

TEST(Connect, ReplyBytes) {
  Record<ConnectReply> reply;
  reply.set(connect_reply::cntlid, 0x0102).set(connect_reply::authreq, authreq_bits::secure_channel);
  reply.set(nvme::cqe::sqhd, nvme::kSqFlowControlDisabled).set(nvme::cqe::cid, 2);
  EXPECT_EQ(to_hex(reply.bytes()),
            "0201"
            "0400"
            "00000000"
            "ffff"
            "0000"
            "0200"
            "0000");
}

TEST(OtherCommands, Bytes) {
  Record<PropertySetSqe> set;
  set.set(sqe::opcode, kFabricsOpcode).set(sqe::fctype, FabricsType::property_set);
  set.set(property_sqe::ofst, property::cc).set(property_sqe::value, 0x00460001u);
  EXPECT_EQ(to_hex(set.bytes().subspan(40)),
            "00"
            "000000"
            "14000000"
            "0100460000000000"
            "0000000000000000");
  Record<PropertyGetSqe> get;
  get.set(property_sqe::size, PropertySize::eight).set(property_sqe::ofst, property::cap);
  EXPECT_EQ(to_hex(get.bytes().subspan(40, 8)),
            "01000000"
            "00000000");
  Record<AuthSqe> auth;
  auth.set(auth_sqe::spsp0, 1).set(auth_sqe::spsp1, 2).set(auth_sqe::secp, kNvmeSecurityProtocol).set(auth_sqe::length, 4096);
  EXPECT_EQ(to_hex(auth.bytes().subspan(40, 8)),
            "000102e9"
            "00100000");
  EXPECT_EQ(first_reserved_set<DisconnectSqe>(Bytes(64, 0)), std::nullopt);
}

TEST(Properties, BitPlaces) {
  Record<Cap> cap;
  cap.set(cap::mqes, ZeroBased<std::uint16_t>::of(128)).set(cap::cqr, true).set(cap::to, 15);
  cap.set(cap::css, cap_css_bits::nvm | cap_css_bits::io_command_sets).set(cap::crwms, true);
  EXPECT_EQ(integer_of(cap), 0x080008200F01007Fu);
  const Record<Cap> read = record_from_integer<Cap>(0x0800'0820'0F01'007F);
  EXPECT_EQ(read.get(cap::mqes).count(), 128u);
  EXPECT_EQ(read.get(cap::css), 0x41u);

  Record<Cc> cc;
  cc.set(cc::en, true).set(cc::css, CommandSetSelected::all).set(cc::shn, ShutdownNotification::abrupt);
  cc.set(cc::iosqes, kIoSqEntrySizeLog2).set(cc::iocqes, kIoCqEntrySizeLog2).set(cc::crime, true);
  EXPECT_EQ(integer_of(cc), 0x01468061u);

  Record<Csts> csts;
  csts.set(csts::rdy, true).set(csts::shst, ShutdownStatus::complete).set(csts::pp, true);
  EXPECT_EQ(integer_of(csts), 0x29u);
  EXPECT_EQ(record_from_integer<Vs>(0x00020300).get(vs::mjr), 2u);
  EXPECT_EQ(version(1, 4, 0), 0x00010400u);
  EXPECT_EQ(integer_of(Record<Crto>{}.set(crto::crwmt, 30).set(crto::crimt, 10)), 0x000A001Eu);
}

TEST(RdmaPrivateData, Bytes) {
  Record<RdmaRequest> request;
  request.set(rdma_request::qid, 1).set(rdma_request::hrqsize, 32);
  request.set(rdma_request::hsqsize, ZeroBased<std::uint16_t>::of(32)).set(rdma_request::cntlid, 7);
  EXPECT_EQ(to_hex(request.bytes()),
            "0000"
            "0100"
            "2000"
            "1f00"
            "0700"
            "00000000000000000000000000000000000000000000");
  Record<RdmaAccept> accept;
  accept.set(rdma_accept::crqsize, 32);
  EXPECT_EQ(to_hex(accept.bytes().first(4)), "00002000");
  EXPECT_EQ(accept.bytes().size(), 32u);
  Record<RdmaReject> reject;
  reject.set(rdma_reject::sts, RdmaRejectStatus::invalid_hsqsize);
  EXPECT_EQ(to_hex(reject.bytes()), "00000400");
  EXPECT_EQ(name_of(RdmaRejectStatus::invalid_hsqsize), "Invalid HSQSIZE");
  EXPECT_EQ(name_of(RdmaRejectStatus{77}), "Reserved");
}

TEST(Nqn, ValidNames) {
  EXPECT_TRUE(valid_nqn(kDiscoveryNqn));
  EXPECT_TRUE(valid_nqn("nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"));
  EXPECT_TRUE(valid_nqn("nqn.2016-06.io.spdk:cnode1"));
  EXPECT_TRUE(valid_nqn("nqn.2026-12.com.example:\xC3\xA9t\xC3\xA9"));
  EXPECT_TRUE(valid_nqn("nqn.2026-12.com.example:" + std::string(223 - 24, 'x')));
}

TEST(Nqn, InvalidNames) {
  for (const char* text : {"",
                           "nqn.",
                           "nqn",
                           "iqn.2016-06.io.spdk:cnode1",
                           "NQN.2016-06.io.spdk:cnode1",
                           "nqn.2016-13.io.spdk:x",
                           "nqn.2016-00.io.spdk:x",
                           "nqn.16-06.io.spdk:x",
                           "nqn.2016-06.io.spdk:",
                           "nqn.2016-06.io.spdk",
                           "nqn.2016-06.:x",
                           "nqn.2016-06..spdk:x",
                           "nqn.2016-06.io.-spdk:x",
                           "nqn.2016-06.io.spdk-:x",
                           "nqn.2016-06.io spdk:x",
                           "nqn.2014-08.org.nvmexpress:uuid:f81d4fae",
                           "nqn.2016-06.io.spdk:\xFF",
                           "nqn.2014-08.org.nvmexpress:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bfg",
                           "nqn.2016-06.io.spdk:\xC0\x80",
                           "nqn.2016-06.io.spdk:\xED\xA0\x80",
                           "nqn.2016-06.io.spdk:\xE2\x82"}) {
    EXPECT_FALSE(valid_nqn(text)) << text;
  }
  EXPECT_FALSE(valid_nqn("nqn.2026-12.com.example:" + std::string(224 - 24, 'x')));
}

}  // namespace
}  // namespace fb::fabrics
