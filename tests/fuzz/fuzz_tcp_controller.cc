// The controller side of NVMe/TCP with a whole subsystem behind it; the input plays hosts: bytes cut
// anywhere, PDUs that are right, nearly right or nonsense, several connections, half-close, reset, a
// window that stays shut, time that passes. Memory stays bounded and every connection ends.
#include <cstdint>
#include <vector>

#include "model/transport/tcp_controller.h"
#include "sim/net/network.h"
#include "tests/fuzz/input.h"
#include "tests/model/subsystem/rig.h"
#include "tests/model/transport/tcp_peer.h"
#include "wire/nvme/sgl.h"

namespace {

using namespace fb;  // NOLINT: a program of its own
using fuzz::Input;
using nvme::SglDescriptor;
using transport::testing::TcpPeer;
namespace rig = subsystem::test;

constexpr std::size_t kPeers = 4;
constexpr std::uint32_t kTransferMost = 64 * 1024;
const IpAddress kHost = IpAddress::v4(10, 0, 0, 1);
const IpAddress kTarget = IpAddress::v4(10, 0, 0, 2);

struct Session {
  explicit Session(std::uint8_t kind) : world(World::make_virtual(1)), target(*world, nullptr) {
    subsystem::SubsystemOptions options;
    options.mdts = 4;
    if ((kind & 1) != 0) options.io_latency = Duration::us(50);
    disk = &target.add_subsystem(options);
    subsystem::NamespaceOptions ns;
    ns.blocks = 64;
    (void)disk->add_namespace(std::move(ns));
    target.add_port({});
    transport::ControllerFabricOptions bounds;
    bounds.transfer_bytes_max = kTransferMost;
    bounds.connections_max = 6;
    transport::TcpControllerOptions tcp;
    tcp.greetings_max = 3;
    tcp.cpda = (kind & 2) != 0 ? 7 : 0;
    tcp.r2t_bytes = (kind & 4) != 0 ? 1024 : 16384;
    tcp.maxh2cdata = (kind & 8) != 0 ? 4096 : 65536;
    tcp.c2h_data_bytes = (kind & 16) != 0 ? 512 : 65536;
    fabric = transport::TcpControllerFabric::start(*world, target_end, kTarget, bounds, tcp, target.acceptor(), nullptr).value();
    target.set_listener(1, *fabric);
    net::StreamOptions streams;
    streams.send_buffer = streams.receive_window = 16 * 1024;
    host_end.set_stream_options(streams);
    target_end.set_stream_options(streams);
    peers.resize(kPeers);
    alignment = tcp::alignment_of(tcp.cpda);
  }
  ~Session() { peers.clear(); }

  TcpPeer& peer(std::size_t i) {
    if (!peers[i]) peers[i] = std::make_unique<TcpPeer>();
    return *peers[i];
  }
  void connect(std::size_t i) {
    peers[i] = std::make_unique<TcpPeer>();
    peers[i]->alignment = alignment;
    auto stream = host_end.connect({kHost, 0}, fabric->local(), *peers[i]);
    if (stream) peers[i]->start(std::move(stream).value());
    world->run_for(Duration::us(30));
  }

  std::unique_ptr<World> world;
  net::SimNetwork network{*world};
  net::SimHost& host_end = network.add_host("host", kHost);
  net::SimHost& target_end = network.add_host("target", kTarget);
  std::unique_ptr<transport::TcpControllerFabric> fabric;
  subsystem::Target target;
  subsystem::Subsystem* disk = nullptr;
  std::vector<std::unique_ptr<TcpPeer>> peers;
  std::size_t alignment = 4;
  std::uint16_t cid = 1;
};

void greet(Session& session, Input& in, TcpPeer& peer) {
  const std::uint8_t how = in.byte();
  peer.send(transport::testing::ic_req_bytes(how >> 3, (how & 1) != 0, (how & 2) != 0, how & 4));
  session.world->run_for(Duration::us(30));
  peer.header_digest = (how & 1) != 0;
  peer.data_digest = (how & 2) != 0;
}

void alter(Input& in, MutableBytes bytes) {
  for (int changes = in.byte() % 4; changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = in.word() % bytes.size();
    bytes[at] = in.byte();
  }
}

void connect_queue(Session& session, Input& in, TcpPeer& peer) {
  rig::ConnectWords words;
  const std::uint8_t how = in.byte();
  words.qid = how & 3;
  words.kato = (how & 4) != 0 && words.qid == 0 ? 5000 : 0;
  words.sqsize = (how & 8) != 0 ? 31 : 3;
  words.cattr = (how & 16) != 0 ? 4 : 0;
  if (words.qid != 0) words.cntlid = static_cast<std::uint16_t>(1 + (how >> 6));
  if ((how & 32) != 0) words.subnqn = std::string(fabrics::kDiscoveryNqn);
  Bytes sqe = words.sqe();
  Bytes data = words.data();
  if (in.byte() > 200) alter(in, MutableBytes(sqe).subspan(2));
  if (in.byte() > 200) alter(in, data);
  const auto sgl = SglDescriptor::in_capsule(0, 1024);
  std::copy_n(sgl.bytes().begin(), 16, sqe.begin() + 24);
  store_le(sqe.data() + 2, session.cid++);
  peer.send_pdu(transport::testing::capsule_header(sqe), data);
}

/// A command that looks like one, with data where it says.
void command(Session& session, Input& in, TcpPeer& peer) {
  nvme::Sqe sqe;
  const std::uint8_t what = in.byte();
  switch (what % 6) {
    case 0: {
      const Bytes enable = rig::property_set(0x14, 0x00460001);
      sqe = nvme::Sqe{ByteView(enable)};
      break;
    }
    case 1:
      sqe = rig::identify(static_cast<nvme::Cns>(in.byte() % 8), in.byte() % 3);
      break;
    case 2:
      sqe = rig::get_log(in.byte(), in.byte() * 16u + 16u);
      break;
    case 3:
      sqe = rig::rw(static_cast<nvme::IoOpcode>(in.byte() % 10), in.byte() % 64, in.byte() % 32 + 1u);
      break;
    case 4:
      sqe = rig::command(in.byte(), in.byte() % 3);
      break;
    default:
      sqe = rig::rw(nvme::IoOpcode::write, in.byte() % 64, in.byte() % 64 + 1u);
  }
  const std::size_t length = in.byte() * 512u;
  const bool inside = (what & 64) != 0;
  const auto sgl = inside ? SglDescriptor::in_capsule(0, static_cast<std::uint32_t>(length % 8704))
                          : SglDescriptor::transport(static_cast<std::uint32_t>(length));
  std::copy_n(sgl.bytes().begin(), 16, sqe.mutable_bytes().begin() + 24);
  sqe.set(nvme::sqe::psdt, nvme::Psdt::sgl);
  sqe.set(nvme::sqe::cid, (what & 128) != 0 ? in.byte() : session.cid++);
  peer.send_pdu(transport::testing::capsule_header(sqe.bytes()), inside ? Bytes(length % 8704, what) : Bytes{});
}

/// What the last R2T asks for, or something near it.
void answer_r2t(Input& in, TcpPeer& peer) {
  const Bytes& r2t = peer.last[9];
  if (r2t.size() < tcp::DataPdu::size) return;
  const View<tcp::DataPdu> asked{r2t};
  Record<tcp::DataPdu> made;
  const std::uint32_t part = std::min<std::uint32_t>(asked.get(tcp::data_pdu::length), 65536);
  const std::uint32_t parts = in.byte() % 4 + 1u;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const std::uint32_t begin = part / 4 / parts * 4 * i;
    const std::uint32_t end = i + 1 == parts ? part : part / 4 / parts * 4 * (i + 1);
    made.set(tcp::pdu::type, tcp::PduType::h2c_data)
        .set(tcp::pdu::flags, i + 1 == parts ? tcp::pdu_flags::last_pdu : std::uint8_t{0})
        .set(tcp::data_pdu::cccid, asked.get(tcp::data_pdu::cccid))
        .set(tcp::data_pdu::ttag, asked.get(tcp::data_pdu::ttag))
        .set(tcp::data_pdu::offset, asked.get(tcp::data_pdu::offset) + begin)
        .set(tcp::data_pdu::length, end - begin);
    if (in.byte() > 230) alter(in, made.mutable_bytes());
    Bytes pdu = tcp::build_pdu(made.bytes(), Bytes(end - begin, 0x5A), peer.header_digest, peer.data_digest, peer.alignment);
    if (in.byte() > 230) alter(in, pdu);
    peer.send(pdu);
  }
}

/// A PDU of any type whose header comes from the input, with lengths and digests that are right, until
/// they are not.
void any_pdu(Input& in, TcpPeer& peer) {
  constexpr std::uint8_t kTypes[] = {0, 2, 4, 6, 1, 3, 5, 7, 9, 8};
  const std::uint8_t type = kTypes[in.byte() % std::size(kTypes)];
  const tcp::PduShape* shape = tcp::shape_of(type);
  Bytes header = in.bytes(in.byte() % 72);
  header.resize(shape != nullptr ? shape->hlen : 8);
  header[0] = type;
  header[1] &= 0xFC;
  const bool digests = shape != nullptr && shape->digests;
  Bytes pdu = tcp::build_pdu(header, in.bytes(in.byte()), digests && peer.header_digest, digests && peer.data_digest, peer.alignment);
  const std::uint8_t wrong = in.byte();
  if (wrong > 128) {
    pdu[wrong % 8] = in.byte();
    if (wrong > 192) store_le<std::uint32_t>(&pdu[4], 0xFFFFFFFFu - in.byte());
    tcp::refresh_digests(pdu);
  }
  peer.send(pdu);
}

/// Half of a handshake's worth of bytes, cut into pieces with time between them.
void trickle(Session& session, Input& in, TcpPeer& peer) {
  const std::size_t piece = in.byte() % 64 + 1u;
  const Bytes bytes = in.bytes(in.byte());
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    peer.send(ByteView(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    session.world->run_for(Duration::us(20));
  }
}

void step(Session& session, Input& in) {
  const std::uint8_t what = in.byte();
  const std::size_t i = what >> 6;
  TcpPeer& peer = session.peer(i);
  switch (what & 15) {
    case 0:
      session.connect(i);
      break;
    case 1:
      greet(session, in, peer);
      break;
    case 2:
      connect_queue(session, in, peer);
      break;
    case 3:
      command(session, in, peer);
      break;
    case 4:
      answer_r2t(in, peer);
      break;
    case 5:
      any_pdu(in, peer);
      break;
    case 6:
      peer.send(in.bytes(in.byte()));
      break;
    case 7:
      trickle(session, in, peer);
      break;
    case 8:
      peer.finish();
      break;
    case 9:
      (what & 16) != 0 ? peer.abort() : peer.close();
      break;
    case 10:
      session.world->run_for(Duration::ms(in.byte() * 50));
      break;
    case 11:
      peer.deaf = !peer.deaf;
      if (!peer.deaf) peer.listen_again();
      break;
    case 12: {  // the same command many times: what it is answered with piles up at the controller
      const unsigned times = in.byte();
      const Bytes sqe = rig::property_get(8, 0);
      const Bytes header = transport::testing::capsule_header(sqe);
      for (unsigned n = 0; n < times; ++n) peer.send_pdu(header);
      break;
    }
    case 13:
      if (in.byte() > 200) session.disk->end_associations("the input says so");
      break;
    case 14:
      peer.corked = !peer.corked;
      if (!peer.corked) peer.push();
      break;
    default:
      session.world->run_for(Duration::us(in.byte() * 4));
      break;
  }
  session.world->run_for(Duration::us(20));
  // Two kinds of queue, admin with 32 commands and I/O with 128, twice over while data is under way.
  BENCH_ASSERT(session.fabric->connections() <= 7, "connections without bound");
  BENCH_ASSERT(session.fabric->staging_used() <= 6u * 256 * kTransferMost, "memory without bound");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, std::min<std::size_t>(size, 4096));
  const std::uint8_t kind = in.byte();
  Session session(kind);
  session.connect(0);
  if ((kind & 32) != 0) {  // a good beginning
    TcpPeer& peer = session.peer(0);
    greet(session, in, peer);
    connect_queue(session, in, peer);
    session.world->run_for(Duration::us(100));
  }
  if ((kind & 64) != 0) {  // the rest is a stream as it is
    trickle(session, in, session.peer(0));
    session.peer(0).send(in.bytes(4096));
  }
  while (!in.empty()) step(session, in);
  // Whoever has no association loses the connection in time; the others keep it until they leave.
  session.world->run_for(Duration::s(100));
  for (const auto& peer : session.peers) {
    if (peer) peer->abort();
  }
  session.world->run_for(Duration::s(200));
  BENCH_ASSERT(session.fabric->connections() == 0, "a connection that nobody has");
  BENCH_ASSERT(session.fabric->staging_used() == 0, "memory that nobody uses");
  return 0;
}
