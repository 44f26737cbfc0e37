// A peer that says anything: builds packets field by field, seals them, and keeps what comes back.
// The device under test stands at the other end of a simulated link.
#pragma once

#include <optional>
#include <string>

#include "sim/rdma/softroce/icrc.h"
#include "tests/sim/rdma/softroce/rig.h"

namespace fb::softroce {

/// A packet as a test states it. Headers after the BTH are bytes, made by reth(), aeth() ...
struct RawPacket {
  roce::Opcode opcode = roce::Opcode::send_only;
  std::uint32_t psn = 0;
  Bytes headers = {};
  Bytes payload = {};
  bool ack_request = true;
  bool solicited = false;
  std::uint16_t pkey = 0xFFFF;
  unsigned tver = 0;
  std::optional<std::uint32_t> qpn = {};
  std::optional<unsigned> pad_count = {};  ///< said, not done
  bool bad_icrc = false;
  bool migreq = false;
  bool fecn = false;
  bool reserved_bits = false;
  std::uint8_t beside_marks = 0;  ///< reserved bits in the byte of the congestion marks
  std::uint8_t pad_byte = 0;
  std::uint16_t udp_source = 0;  ///< 0: port 4791
};

inline Bytes bytes_of(ByteView view) { return {view.begin(), view.end()}; }
inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Bytes reth(std::uint64_t va, std::uint32_t rkey, std::uint32_t length) {
  Record<roce::Reth> r;
  r.set(roce::reth::va, va).set(roce::reth::rkey, rkey).set(roce::reth::dmalen, length);
  return bytes_of(r.bytes());
}
inline Bytes atomic_eth(std::uint64_t va, std::uint32_t rkey, std::uint64_t swap, std::uint64_t compare) {
  Record<roce::AtomicEth> r;
  r.set(roce::atomiceth::va, va).set(roce::atomiceth::rkey, rkey);
  r.set(roce::atomiceth::swapdt, swap).set(roce::atomiceth::cmpdt, compare);
  return bytes_of(r.bytes());
}
inline Bytes aeth(std::uint8_t syndrome, std::uint32_t msn = 0) {
  Record<roce::Aeth> r;
  r.set(roce::aeth::syndrome, syndrome).set(roce::aeth::msn, msn);
  return bytes_of(r.bytes());
}
inline Bytes word(std::uint32_t value) {
  Bytes b(4);
  store_be<std::uint32_t>(b.data(), value);
  return b;
}

/// A packet that the device sent.
struct SeenPacket {
  roce::Opcode opcode;
  std::uint32_t psn;
  bool ack_request;
  bool solicited;
  std::uint32_t qpn;
  Bytes headers;
  Bytes payload;
  Instant time;
  std::uint8_t syndrome() const { return View<roce::Aeth>{headers}.get(roce::aeth::syndrome); }
  std::uint32_t msn() const { return View<roce::Aeth>{headers}.get(roce::aeth::msn); }
};

class RawPeer final : public net::DatagramReceiver {
 public:
  static constexpr std::uint32_t kQpn = 0x77;

  RawPeer(World& world, net::SimHost& host) : world_(world), host_(host) {
    port_ = std::move(host.open({host.address(), roce::kUdpPort})).value();
    port_->set_receiver(this);
  }

  void send(const RawPacket& p) {
    net::DatagramPort* port = port_.get();
    if (p.udp_source != 0) {
      other_ = std::move(host_.open({host_.address(), p.udp_source})).value();
      port = other_.get();
    }
    const std::size_t pad = (0 - p.payload.size()) & 3;
    const std::size_t bytes = roce::Bth::size + p.headers.size() + p.payload.size() + pad;
    const Endpoint to{device_address, roce::kUdpPort};
    const net::Outgoing out = port->begin(to, bytes + 4);
    Record<roce::Bth> header;
    header.set(roce::bth::opcode, p.opcode)
        .set(roce::bth::se, p.solicited)
        .set(roce::bth::migreq, p.migreq)
        .set(roce::bth::fecn, p.fecn)
        .set(roce::bth::padcnt, p.pad_count.value_or(static_cast<unsigned>(pad)))
        .set(roce::bth::tver, p.tver)
        .set(roce::bth::pkey, p.pkey)
        .set(roce::bth::destqp, p.qpn.value_or(device_qpn))
        .set(roce::bth::ackreq, p.ack_request)
        .set(roce::bth::psn, p.psn);
    header.mutable_bytes()[4] |= p.beside_marks;
    if (p.reserved_bits) header.mutable_bytes()[8] |= 0x7F;
    auto at = std::copy(header.bytes().begin(), header.bytes().end(), out.payload.begin());
    at = std::copy(p.headers.begin(), p.headers.end(), at);
    at = std::copy(p.payload.begin(), p.payload.end(), at);
    std::fill(at, out.payload.end(), p.pad_byte);
    seal_icrc(IcrcPath(port->local(), to), out.payload, out.ip);
    if (p.bad_icrc) out.payload.back() ^= 1;
    port->commit();
  }
  /// Bytes as they are.
  void send_datagram(ByteView payload) {
    const net::Outgoing out = port_->begin({device_address, roce::kUdpPort}, payload.size());
    std::copy(payload.begin(), payload.end(), out.payload.begin());
    port_->commit();
  }

  void on_datagram(const net::Arrival& arrival) override {
    datagrams.push_back(bytes_of(arrival.payload));
    if (!strict) return;
    IcrcChecker checker;
    ASSERT_TRUE(checker.check(arrival.source, arrival.destination, arrival.payload, arrival.ip));
    ASSERT_EQ(arrival.payload.size() % 4, 0u);
    const View<roce::Bth> b{arrival.payload};
    const roce::OpcodeFacts& facts = roce::facts_of(arrival.payload[0]);
    const std::size_t pad = b.get(roce::bth::padcnt);
    const std::size_t payload_end = arrival.payload.size() - 4 - pad;
    for (std::size_t i = payload_end; i < payload_end + pad; ++i) EXPECT_EQ(arrival.payload[i], 0);
    EXPECT_EQ(b.get(roce::bth::pkey), 0xFFFF);
    const ByteView headers = arrival.payload.subspan(12, facts.header_bytes - 12u);
    const std::size_t payload_bytes = payload_end - facts.header_bytes;
    const ByteView payload = arrival.payload.subspan(facts.header_bytes, payload_bytes);
    seen.push_back({b.get(roce::bth::opcode), b.get(roce::bth::psn), b.get(roce::bth::ackreq), b.get(roce::bth::se),
                    b.get(roce::bth::destqp), bytes_of(headers), bytes_of(payload), world_.now()});
    if (on_seen) on_seen(seen.back());
  }

  IpAddress device_address;
  std::uint32_t device_qpn = 0;
  bool strict = true;  ///< false: datagrams are kept as they are and not looked at
  std::vector<Bytes> datagrams;
  std::vector<SeenPacket> seen;
  std::function<void(const SeenPacket&)> on_seen;

 private:
  World& world_;
  net::SimHost& host_;
  std::unique_ptr<net::DatagramPort> port_;
  std::unique_ptr<net::DatagramPort> other_;
};

/// A device under test with one queue pair that is connected to a raw peer.
struct RawRig {
  explicit RawRig(const RigOptions& o = {}, const std::function<void(PathFacts&)>& adjust = {})
      : options(o),
        world(World::make_virtual(o.seed)),
        network(*world, o.link),
        peer_host(network.add_host("peer", o.address_a)),
        host(network.add_host("dut", o.address_b)),
        peer(*world, peer_host),
        dut(*world, host, "dut", o, o.hooks_b) {
    peer.device_address = host.address();
    peer.device_qpn = dut.qp->number();
    PathFacts path;
    path.peer = o.address_a;
    path.mtu_code = o.mtu_code;
    path.peer_qpn = RawPeer::kQpn;
    path.send_psn = o.psn_b;
    path.receive_psn = o.psn_a;
    path.responder_resources = path.initiator_depth = o.depth;
    path.ack_timeout_code = o.ack_timeout_code;
    path.retry_count = o.retry_count;
    path.rnr_retry_count = o.rnr_retry_count;
    path.min_rnr_timer_code = o.min_rnr_timer_code;
    if (adjust) adjust(path);
    CmQueuePair& seam = dut.device->seam_of(*dut.qp);
    seam.to_ready_to_receive(path);
    seam.to_ready_to_send(path);
  }
  bool settle() { return world->run_until_idle(); }
  /// Sends, lets everything happen, and returns what has come back since.
  std::vector<SeenPacket> exchange(const std::vector<RawPacket>& packets) {
    peer.seen.clear();
    for (const RawPacket& p : packets) peer.send(p);
    settle();
    return peer.seen;
  }
  const SoftCounters& counters() const { return dut.device->counters(); }

  RigOptions options;
  std::unique_ptr<World> world;
  net::SimNetwork network;
  net::SimHost& peer_host;
  net::SimHost& host;
  RawPeer peer;
  Side dut;
};

}  // namespace fb::softroce
