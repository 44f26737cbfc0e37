// Any UDP payload may reach a proxy for RoCEv2 from either side, before, while and after a connection passes: it must neither
// crash nor send anything to somebody else than the two ends.
//
// The input is a byte of options, then packets: a byte of flags, half the length, the bytes. Flags: 1 from the controller, 2 seals
// a right ICRC, 4 takes a management datagram of the connection manager as its beginning, 8 takes the number of a queue pair that passes.
#include <algorithm>
#include <optional>

#include "model/proxy/rdma_proxy.h"
#include "sim/net/network.h"
#include "sim/rdma/softroce/icrc.h"
#include "tests/fuzz/input.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/headers.h"

namespace {

using namespace fb;  // NOLINT: a program of its own

const IpAddress kHost = IpAddress::v4(10, 0, 0, 1), kBetween = IpAddress::v4(10, 0, 0, 2), kTarget = IpAddress::v4(10, 0, 0, 3);

struct End final : net::DatagramReceiver {
  End(net::SimHost& host) : port(std::move(host.open({host.address(), roce::kUdpPort})).value()) { port->set_receiver(this); }
  void on_datagram(const net::Arrival& arrival) override {
    if (arrival.source.address != kBetween) std::abort();
  }
  void send(ByteView bytes, bool sealed) {
    const Endpoint to{kBetween, roce::kUdpPort};
    const net::Outgoing out = port->begin(to, bytes.size());
    std::ranges::copy(bytes, out.payload.begin());
    if (sealed && bytes.size() >= 16) softroce::seal_icrc({port->local(), to}, out.payload, out.ip);
    port->commit();
  }
  std::unique_ptr<net::DatagramPort> port;
};

/// A management datagram with these numbers, whatever else it says.
void become_mad(Bytes& packet, fuzz::Input& in) {
  constexpr cm::Attribute kAttributes[] = {cm::Attribute::req,  cm::Attribute::rep,  cm::Attribute::rtu, cm::Attribute::rej,
                                           cm::Attribute::dreq, cm::Attribute::drep, cm::Attribute::mra, cm::Attribute::sidr_rep};
  packet.resize(20 + cm::kMadBytes + roce::kIcrcBytes);
  packet[0] = static_cast<std::uint8_t>(roce::Opcode::ud_send_only);
  MutableView<roce::Bth>{packet}.set(roce::bth::destqp, roce::kGsiQpn);
  MutableView<cm::MadHeader>{MutableBytes(packet).subspan(20)}.set(cm::mad::attribute, kAttributes[in.byte() % std::size(kAttributes)]);
  const MutableBytes message = MutableBytes(packet).subspan(20 + cm::kMadHeaderBytes);
  MutableView<cm::Ids>{message}.set(cm::ids::local_comm_id, in.byte() % 4u).set(cm::ids::remote_comm_id, in.byte() % 4u);
  MutableView<cm::Req>{message}.set(cm::req::service_id, cm::service_id_of(4420));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const auto world = World::make_virtual(1);
  net::SimNetwork network(*world);
  End host(network.add_host("host", kHost)), target(network.add_host("target", kTarget));
  std::optional<fault::Points> points;
  const std::uint8_t how = in.byte();
  if ((how & 1) != 0) {
    points.emplace(*world, [&](const fault::Place& place) {
      std::vector<fault::Decision> made;
      if (place.site == fault::Site::packet) {
        made = {{place, in.byte() % 8u, fault::Kind::corrupt, in.byte()},
                {place, 9, fault::Kind::duplicate, 1000},
                {place, 10, fault::Kind::truncate, in.byte()}};
      }
      return made;
    });
  }
  proxy::RdmaProxyOptions options;
  options.routes = {{{kBetween, 4420}, {kTarget, 4421}}};
  options.keep_discovery = (how & 2) != 0;
  options.faults = points ? &*points : nullptr;
  const auto between = std::move(proxy::RdmaProxy::start(*world, network.add_host("between", kBetween), options)).value();
  while (!in.empty()) {
    const std::uint8_t flags = in.byte();
    const std::size_t length = in.byte() * 2u;
    Bytes packet = in.bytes(length);
    if ((flags & 4) != 0) become_mad(packet, in);
    if ((flags & 8) != 0 && packet.size() >= roce::Bth::size) MutableView<roce::Bth>{packet}.set(roce::bth::destqp, 2u + in.byte() % 4u);
    ((flags & 1) != 0 ? target : host).send(packet, (flags & 2) != 0);
    world->run_for(Duration::us(100));
  }
  between->close();
  world->run_for(Duration::ms(1));
  return 0;
}
