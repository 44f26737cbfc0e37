// An independent reader of our messages: Debian's tshark must dissect each of them, find nothing
// malformed, and see the values that we meant.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/sim/rdma/softroce/cm_fake.h"
#include "wire/rdma/headers.h"

namespace fb::softroce::test {
namespace {

using cm::Attribute;

void append_be(Bytes& out, std::uint64_t value, int bytes) {
  while (bytes-- > 0) out.push_back(static_cast<std::uint8_t>(value >> (bytes * 8)));
}
void append_le32(Bytes& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(value >> (i * 8)));
}
void append(Bytes& out, ByteView more) { out.insert(out.end(), more.begin(), more.end()); }

/// The MAD in BTH, DETH, UDP and IP. tshark does not check the ICRC.
Bytes packet_of(const SentMad& sent) {
  Bytes udp;
  append_be(udp, 0xC000, 2);
  append_be(udp, kRocePort, 2);
  append_be(udp, 8 + 12 + 8 + cm::kMadBytes + 4, 2);
  append_be(udp, 0, 2);
  Record<roce::Bth> bth;
  bth.set(roce::bth::opcode, 0x64).set(roce::bth::pkey, 0xFFFF).set(roce::bth::destqp, roce::kGsiQpn);
  Record<roce::Deth> deth;
  deth.set(roce::deth::qkey, roce::kGsiQkey).set(roce::deth::srcqp, roce::kGsiQpn);
  append(udp, bth.bytes());
  append(udp, deth.bytes());
  append(udp, sent.mad.bytes());
  append_be(udp, 0, 4);
  Bytes packet;
  if (sent.from.is_v4()) {
    append_be(packet, 0x4500, 2);
    append_be(packet, 20 + udp.size(), 2);
    append_be(packet, 0x00004000, 4);
    append_be(packet, 0x40110000, 4);
    append(packet, ByteView{sent.from.bytes()}.last(4));
    append(packet, ByteView{sent.to.bytes()}.last(4));
  } else {
    append_be(packet, 0x60000000, 4);
    append_be(packet, udp.size(), 2);
    append_be(packet, 0x1140, 2);
    append(packet, sent.from.bytes());
    append(packet, sent.to.bytes());
  }
  append(packet, udp);
  return packet;
}

struct TemporaryFile {
  TemporaryFile() {
    const int fd = mkstemp(path);
    if (fd >= 0) close(fd);
  }
  ~TemporaryFile() { std::remove(path); }
  char path[32] = "/tmp/cm_tshark_XXXXXX";
};

void write_pcap(const char* path, const std::vector<SentMad>& log) {
  Bytes out;
  append_le32(out, 0xA1B2C3D4);
  append_le32(out, 0x00040002);
  append_le32(out, 0);
  append_le32(out, 0);
  append_le32(out, 65535);
  append_le32(out, 101);  // raw IP
  for (const SentMad& sent : log) {
    const Bytes packet = packet_of(sent);
    append_le32(out, 0);
    append_le32(out, static_cast<std::uint32_t>(sent.time.count_ns() / 1000 % 1000000));
    append_le32(out, static_cast<std::uint32_t>(packet.size()));
    append_le32(out, static_cast<std::uint32_t>(packet.size()));
    append(out, packet);
  }
  std::FILE* file = std::fopen(path, "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(std::fwrite(out.data(), 1, out.size(), file), out.size());
  std::fclose(file);
}

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  pclose(pipe);
  return out;
}

bool have_tshark() { return output_of("tshark --version 2>/dev/null").find("TShark") != std::string::npos; }

void deliver_ids(FakeNode& node, Attribute attribute, std::uint32_t local, std::uint32_t remote) {
  cm::Mad mad{attribute, 0x4242};
  mad.message<cm::Ids>().set(cm::ids::local_comm_id, local).set(cm::ids::remote_comm_id, remote);
  deliver(node, mad);
}

/// Makes two managers say everything that they can say.
std::vector<SentMad> everything(const IpAddress& a, const IpAddress& b) {
  const auto world = World::make_virtual(4);
  FakeWire wire(*world);
  FakeNode host(*world, wire, "host", a);
  FakeNode target(*world, wire, "target", b);
  target.listen();
  const Bytes hello = {0, 0, 1, 0, 128, 0, 127, 0};
  FakeQp& qp = host.connect(b, {.private_data = hello, .responder_resources = 16});
  world->run_for(Duration::ms(1));
  host.cm->disconnect(qp);
  world->run_for(Duration::ms(1));
  host.connect(b, {}, 4421);
  world->run_for(Duration::ms(1));
  target.manner = FakeNode::Manner::keep;
  FakeQp& waiting = host.connect(b);
  world->run_for(Duration::s(10));
  host.cm->disconnect(waiting);
  world->run_for(Duration::ms(1));
  if (a.is_v4()) {
    RawReq foreign(b);
    deliver(target, foreign.set(cm::req::primary_remote_gid, IpAddress::v4(1, 2, 3, 4).bytes()).mad);
    deliver_ids(target, Attribute::dreq, 5, 6);
    deliver_ids(target, Attribute::lap, 5, 6);
    deliver_ids(target, Attribute::sidr_req, 5, 6);
    cm::Mad get{Attribute::class_port_info, 3};
    get.header().set(cm::mad::method, cm::Method::get);
    deliver(target, get);
  }
  return wire.log;
}

class CmTshark : public testing::TestWithParam<bool> {};

TEST_P(CmTshark, DissectsEverything) {
  if (!have_tshark()) GTEST_SKIP() << "no tshark on this machine";
  const bool v4 = GetParam();
  const auto log = v4 ? everything(kHostAddress, kTargetAddress) : everything(*IpAddress::parse("fd00::1"), *IpAddress::parse("fd00::2"));
  ASSERT_GE(log.size(), 11u);
  TemporaryFile file;
  write_pcap(file.path, log);
  const std::string read = "tshark -r " + std::string(file.path) + " ";
  EXPECT_EQ(output_of(read + "-Y '_ws.malformed or !infiniband.mad' 2>/dev/null"), "");
  const std::string attributes = output_of(read + "-T fields -e infiniband.mad.attributeid 2>/dev/null");
  std::string expected;
  for (const SentMad& sent : log) {
    char line[16];
    std::snprintf(line, sizeof line, "0x%04x\n", static_cast<unsigned>(sent.attribute()));
    expected += line;
  }
  EXPECT_EQ(attributes, expected);
}
INSTANTIATE_TEST_SUITE_P(Both, CmTshark, testing::Bool(), [](const auto& which) { return which.param ? "IPv4" : "IPv6"; });

TEST(CmTsharkFields, AreWhatWeMeant) {
  if (!have_tshark()) GTEST_SKIP() << "no tshark on this machine";
  const auto log = everything(kHostAddress, kTargetAddress);
  TemporaryFile file;
  write_pcap(file.path, log);
  // One line a message, one column a field; empty where the message has none.
  const auto req = log[0].as<cm::Req>();
  const auto rep = log[1].as<cm::Rep>();
  const auto hex = [](std::uint64_t number, int digits) {
    char out[20];
    std::snprintf(out, sizeof out, "0x%0*llx", digits, static_cast<unsigned long long>(number));
    return std::string(out);
  };
  const std::vector<std::pair<std::string, std::string>> in_req = {{"req.serviceid.dport", "0x1144"},
                                                                   {"req.localqpn", hex(req.get(cm::req::local_qpn), 6)},
                                                                   {"req.startpsn", hex(req.get(cm::req::starting_psn), 6)},
                                                                   {"req.responderres", "0x10"},
                                                                   {"req.maxcmretr", "0x0f"},
                                                                   {"req.pppmtu", "0x05"},
                                                                   {"req.prim_localacktout", "0x10"},
                                                                   {"req.prim_localgid_ipv4", "10.0.0.1"},
                                                                   {"req.ip_cm.sip4", "10.0.0.1"},
                                                                   {"req.ip_cm.dip4", "10.0.0.2"}};
  const std::vector<std::pair<std::string, std::string>> in_rep = {{"rep.localqpn", hex(rep.get(cm::rep::local_qpn), 6)},
                                                                   {"rep.startpsn", hex(rep.get(cm::rep::starting_psn), 6)},
                                                                   {"rep.tgtackdelay", "0x0a"},
                                                                   {"rep.rnrretrcount", "0x07"}};
  const auto expect_fields = [&](int frame, const auto& fields) {
    std::string command = "tshark -r " + std::string(file.path) + " -Y frame.number==" + std::to_string(frame) + " -T fields";
    std::string expected;
    for (const auto& [name, value] : fields) {
      command += " -e infiniband.cm." + name;
      expected += (expected.empty() ? "" : "\t") + value;
    }
    EXPECT_EQ(output_of(command + " 2>/dev/null"), expected + "\n");
  };
  expect_fields(1, in_req);
  expect_fields(2, in_rep);
  ASSERT_EQ(log[6].attribute(), Attribute::rej);
  expect_fields(7, std::vector<std::pair<std::string, std::string>>{{"rej.reason", "0x0008"}});
}

}  // namespace
}  // namespace fb::softroce::test
