// The host over NVMe/TCP. The input plays the controller: either every byte of it, or what becomes of
// the PDUs of an honest one on their way out. Every operation of the host ends; nothing crashes.
#include <cstdint>
#include <optional>
#include <vector>

#include "model/host/discovery_client.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/tcp_host.h"
#include "sim/net/network.h"
#include "tests/fuzz/input.h"
#include "tests/model/host/rig.h"
#include "tests/model/transport/tcp_peer.h"

namespace {

using namespace fb;  // NOLINT: a program of its own
using fuzz::Input;
using transport::testing::TcpPeer;

const IpAddress kHost = IpAddress::v4(10, 0, 0, 1);
const IpAddress kTarget = IpAddress::v4(10, 0, 0, 2);
constexpr std::uint16_t kPort = 4420;

void alter(Input& in, MutableBytes bytes) {
  for (int changes = in.byte() % 4 + 1; changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = in.word() % bytes.size();
    bytes[at] = in.byte();
  }
}

/// Changes the PDUs of an honest controller.
class Altering final : public transport::TransportHooks {
 public:
  explicit Altering(Input& input) : in_(input) {}
  void pdus_out(std::uint16_t, std::vector<Bytes>& pdus) override {
    const std::uint8_t what = in_.byte();
    if (what < 160) return;
    Bytes& pdu = pdus.front();
    switch (what % 12) {
      case 0:
        alter(in_, pdu);
        break;
      case 1:
        alter(in_, MutableBytes(pdu).first(8));
        break;
      case 2:
        store_le<std::uint32_t>(&pdu[4], 0xFFFFFFFFu - in_.byte());
        break;
      case 3:
        pdus.push_back(pdu);
        break;
      case 4:
        pdus.clear();
        break;
      case 5:
        pdu.resize(in_.word() % (pdu.size() + 1));
        break;
      case 6:
        pdus.insert(pdus.begin(), in_.bytes(in_.byte()));
        break;
      case 7:
        alter(in_, MutableBytes(pdu).subspan(8));
        tcp::refresh_digests(pdu);
        break;
      case 8:
        pdu[1] ^= static_cast<std::uint8_t>(1u << in_.byte() % 8);
        break;
      default:
        alter(in_, MutableBytes(pdu).subspan(8, std::min<std::size_t>(pdu.size() - 8, 16)));
    }
  }

 private:
  Input& in_;
};

/// A controller that is nothing but the input.
class Raw final : public net::StreamAcceptor {
 public:
  void on_stream(std::unique_ptr<net::Stream> stream) override {
    if (peers.size() >= 8) peers.erase(peers.begin());
    peers.push_back(std::make_unique<TcpPeer>());
    peers.back()->start(std::move(stream));
  }
  std::vector<std::unique_ptr<TcpPeer>> peers;
};

struct Session {
  explicit Session(Input& input) : in(input), kind(input.byte()), world(World::make_virtual(1)), hooks(input) {
    net::StreamOptions streams;
    streams.send_buffer = streams.receive_window = 32 * 1024;
    host_end.set_stream_options(streams);
    target_end.set_stream_options(streams);
    transport::TcpHostOptions tcp;
    tcp.header_digest = (kind & 2) != 0;
    tcp.data_digest = (kind & 4) != 0;
    tcp.hpda = (kind & 8) != 0 ? 3 : 0;
    tcp.maxr2t = (kind & 16) != 0 ? 2 : 0;
    fabric = std::make_unique<transport::TcpHostFabric>(*world, host_end, kHost, tcp);
    host = std::make_unique<host::Host>(*world, *fabric, host::HostOptions{});
    if (raw()) {
      listener = target_end.listen({kTarget, kPort}, controller).value();
      return;
    }
    target = std::make_unique<subsystem::Target>(*world);
    subsystem::Subsystem& disk = target->add_subsystem({});
    subsystem::NamespaceOptions ns;
    ns.blocks = 256;
    (void)disk.add_namespace(std::move(ns));
    target->add_port({});
    transport::TcpControllerOptions options;
    options.cpda = (kind & 32) != 0 ? 7 : 0;
    options.r2t_bytes = 4096;
    options.c2h_data_bytes = 2048;
    served = transport::TcpControllerFabric::start(*world, target_end, kTarget, {}, options, target->acceptor(), &hooks).value();
    target->set_listener(1, *served);
  }
  ~Session() {
    host.reset();
    target.reset();
    controller.peers.clear();
  }
  bool raw() const { return (kind & 1) != 0; }

  Input& in;
  std::uint8_t kind;
  std::unique_ptr<World> world;
  net::SimNetwork network{*world};
  net::SimHost& host_end = network.add_host("host", kHost);
  net::SimHost& target_end = network.add_host("target", kTarget);
  Altering hooks;
  Raw controller;
  std::unique_ptr<net::StreamListener> listener;
  std::unique_ptr<transport::TcpControllerFabric> served;
  std::unique_ptr<subsystem::Target> target;
  std::unique_ptr<transport::TcpHostFabric> fabric;
  std::unique_ptr<host::Host> host;
};

/// An answer to the last command, success unless the input has it otherwise.
void answer(Input& in, TcpPeer& peer) {
  Bytes& command = peer.last[4];
  if (command.size() < tcp::CapsuleCmd::size) return;
  const ByteView sqe = View<tcp::CapsuleCmd>{command}.get(tcp::capsule_cmd::sqe);
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::cid, load_le<std::uint16_t>(sqe.data() + 2));
  cqe.set(nvme::cqe::dw0, in.byte()).set(nvme::cqe::dw1, in.byte());
  cqe.set(nvme::cqe::sqhd, in.byte());
  if (in.byte() > 220) alter(in, cqe.mutable_bytes());
  Record<tcp::CapsuleResp> made;
  made.set(tcp::pdu::type, tcp::PduType::capsule_resp).set(tcp::capsule_resp::cqe, cqe.bytes());
  peer.send_pdu(made.bytes());
}

/// R2T or C2HData for the last command.
void move_data(Input& in, TcpPeer& peer) {
  Bytes& command = peer.last[4];
  if (command.size() < tcp::CapsuleCmd::size) return;
  const ByteView sqe = View<tcp::CapsuleCmd>{command}.get(tcp::capsule_cmd::sqe);
  const std::uint8_t what = in.byte();
  const std::uint32_t sgl = load_le<std::uint32_t>(sqe.data() + 32);
  const std::uint32_t length = (what & 2) != 0 ? std::min(sgl, 8192u) : in.byte() * 16u;
  Record<tcp::DataPdu> made;
  made.set(tcp::pdu::type, (what & 1) != 0 ? tcp::PduType::r2t : tcp::PduType::c2h_data)
      .set(tcp::pdu::flags, what >> 2 & 12)
      .set(tcp::data_pdu::cccid, load_le<std::uint16_t>(sqe.data() + 2))
      .set(tcp::data_pdu::offset, (what & 128) != 0 ? in.word() : std::uint16_t{0})
      .set(tcp::data_pdu::length, length);
  if (in.byte() > 220) alter(in, made.mutable_bytes());
  peer.send_pdu(made.bytes(), (what & 1) != 0 ? Bytes{} : Bytes(length, 0x11));
}

void raw_step(Session& session, Input& in) {
  auto& peers = session.controller.peers;
  if (peers.empty()) return;
  const std::uint8_t what = in.byte();
  TcpPeer& peer = *peers[peers.size() - 1 - (what >> 6) % peers.size()];
  switch (what & 15) {
    case 0:
    case 1: {
      const bool header = (session.kind & 2) != 0, data = (session.kind & 4) != 0;
      Bytes resp = transport::testing::ic_resp_bytes(0, header, data);
      if ((what & 32) != 0) alter(in, resp);
      peer.send(resp);
      peer.header_digest = header;
      peer.data_digest = data;
      peer.alignment = (session.kind & 8) != 0 ? 16 : 4;
      break;
    }
    case 2:
    case 3:
    case 4:
      answer(in, peer);
      break;
    case 5:
    case 6:
      move_data(in, peer);
      break;
    case 7:
      peer.send(in.bytes(in.byte()));
      break;
    case 8: {
      Bytes header = in.bytes(128);
      header.resize(128);
      const tcp::PduShape* shape = tcp::shape_of(header[0] % 10);
      if (shape == nullptr) break;
      header[0] %= 10;
      header.resize(shape->hlen);
      peer.send_pdu(header, in.bytes(in.byte()));
      break;
    }
    case 9:
      peer.finish();
      break;
    case 10:
      (what & 16) != 0 ? peer.abort() : peer.close();
      break;
    case 11:
      session.world->run_for(Duration::ms(in.byte() * 20));
      break;
    case 12:
      peer.deaf = !peer.deaf;
      if (!peer.deaf) peer.listen_again();
      break;
    default:
      session.world->run_for(Duration::us(in.byte() * 4));
  }
  session.world->run_for(Duration::us(20));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, std::min<std::size_t>(size, 4096));
  Bytes memory(32 * 1024);
  std::vector<Op<nvme::Status>> ops;
  Session session(in);
  World& world = *session.world;
  host::DiscoveryClient finder(*session.host);
  host::DiscoveryOptions find;
  find.to = {kTarget, kPort};
  std::optional<Op<host::DiscoveryClient::Outcome>> found;
  if ((session.kind & 64) != 0) found = finder.discover(find);
  host::ConnectOptions options;
  options.to = {kTarget, kPort};
  options.subnqn = subsystem::kDefaultSubsystemNqn;
  options.controller_loss_timeout = Duration::s(20);
  options.admin_timeout = Duration::s(20);
  options.kato_ms = 15000;
  options.queue_entries = 16;
  auto connected = session.host->connect(options);
  world.run_for(Duration::ms(5));
  for (int round = 0; round < 200 && !in.empty(); ++round) {
    if (session.raw()) raw_step(session, in);
    host::Namespace* ns = session.raw() ? nullptr : session.host->find(options.subnqn, 1);
    if (ns == nullptr) {
      if (!session.raw()) world.run_for(Duration::ms(in.byte() * 10));
      continue;
    }
    const std::uint8_t what = in.byte();
    const MutableBytes part = MutableBytes(memory).first((what % 64 + 1u) * 512);
    ops.push_back((what & 64) != 0 ? ns->write(0, part) : ns->read(0, part));
    if ((what & 128) != 0) world.run_for(Duration::us(in.byte() * 100));
  }
  session.listener.reset();
  session.controller.peers.clear();
  // Every operation, attempt and discovery ends.
  const auto over = [&] {
    return connected.settled() && (!found || found->settled()) &&
           std::all_of(ops.begin(), ops.end(), [](const auto& op) { return op.settled(); });
  };
  world.run_until(over, Duration::s(400));
  BENCH_ASSERT(over(), "an operation of the host without an end");
  world.run_for(Duration::s(2));
  return 0;
}
