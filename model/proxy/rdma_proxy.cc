#include "model/proxy/rdma_proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/ip_scope.h"
#include "model/proxy/faults.h"
#include "model/proxy/rdma_connections.h"
#include "sim/fault/network_faults.h"
#include "sim/rdma/softroce/icrc.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/fabrics/rdma_private_data.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/sqe.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/headers.h"
#include "wire/rdma/psn.h"

namespace fb::proxy {

namespace {

constexpr std::size_t kMadAt = roce::Bth::size + roce::Deth::size;
constexpr std::size_t kMadPacketBytes = kMadAt + cm::kMadBytes + roce::kIcrcBytes;
constexpr std::size_t kLeast = roce::Bth::size + roce::kIcrcBytes;
constexpr std::uint32_t kLogPagesMost = 64;    // of one connection; older ones are forgotten
constexpr std::uint32_t kQuestionsMost = 256;  // of hosts to the connection manager, likewise

Endpoint roce_port(const IpAddress& address) { return {address, roce::kUdpPort}; }

bool is_mad(ByteView packet) {
  return packet.size() == kMadPacketBytes && packet[0] == static_cast<std::uint8_t>(roce::Opcode::ud_send_only);
}

MutableBytes message_of(MutableBytes packet) { return packet.subspan(kMadAt + cm::kMadHeaderBytes, cm::kMessageBytes); }

/// What a fault does to a packet whose integrity check is made only when it leaves.
struct Damage {
  Bytes flipped = {};   ///< bits that are turned round; empty: none
  bool forged = false;  ///< the integrity check is right all the same
  std::size_t cut = 0;  ///< so many bytes are missing at the end
};

void flip(MutableBytes bytes, ByteView bits) {
  for (std::size_t i = 0; i < std::min(bytes.size(), bits.size()); ++i) bytes[i] = static_cast<std::uint8_t>(bytes[i] ^ bits[i]);
}

}  // namespace

// ------------------------------------------------------------------------------------------------ one address

class RdmaProxy::Way final : net::DatagramReceiver {
 public:
  Way(RdmaProxy& proxy, const Route& route) : proxy_(proxy), at_(route.listen.address), to_(route.to.address) { add(route); }
  ~Way() {
    if (port_) port_->set_receiver(nullptr);
  }

  Result<void> open(net::DatagramHost& host) {
    auto port = host.open(roce_port(at_));
    if (!port) return Failure{port.error()};
    port_ = std::move(port).value();
    port_->set_receiver(this);
    return {};
  }
  const IpAddress& at() const { return at_; }
  const IpAddress& to() const { return to_; }
  void add(const Route& route) {
    ports_[route.listen.port] = route.to.port;
    names_.push_back({route.to, route.listen});
  }
  std::size_t established() const {
    return static_cast<std::size_t>(std::ranges::count_if(connections_.all(), [](const auto& one) { return one.second.established(); }));
  }
  void close();

 private:
  struct Late {
    IpAddress to;
    Bytes packet;
    Damage damage;
  };

  void on_datagram(const net::Arrival& arrival) override;
  void on_batch_end() override { port_->flush(); }
  /// Changes the packet in place; where it is to go, or nothing if it belongs to no connection.
  std::optional<IpAddress> of_host(const IpAddress& host, MutableBytes packet);
  std::optional<IpAddress> of_controller(MutableBytes packet);
  std::optional<IpAddress> mad_of_host(const IpAddress& host, MutableBytes packet);
  std::optional<IpAddress> mad_of_controller(MutableBytes packet);
  void translate_request(const IpAddress& host, MutableBytes message);
  void follow_command(RdmaConnection& connection, ByteView packet);
  void follow_answer(RdmaConnection& connection, MutableBytes packet);
  void rename(const LogPageRequest& page, std::uint64_t at, MutableBytes data);

  void pass(const IpAddress& to, ByteView as_sent);
  void send(const IpAddress& to, ByteView packet, const Damage& damage);
  void send_late();
  void show(std::string_view actor, const Endpoint& source, const Endpoint& destination, ByteView packet, const IpFacts& ip);
  bool is_shown(bool of_host) const { return of_host || proxy_.options_.faults != nullptr; }
  void disconnect(const IpAddress& end, std::uint32_t from_id, std::uint32_t to_id, std::uint32_t qpn);

  RdmaProxy& proxy_;
  IpAddress at_, to_;
  std::map<std::uint16_t, std::uint16_t> ports_;  // of the connection manager
  std::vector<Renamed> names_;
  std::unique_ptr<net::DatagramPort> port_;
  RdmaConnections connections_;
  std::map<std::uint64_t, IpAddress> asked_by_;      // messages without a connection: who sent the transaction
  softroce::IcrcChecker of_hosts_, of_controllers_;  // each keeps what it knows of its last packet
  std::map<IpAddress, softroce::IcrcPath> paths_;
  std::multimap<Instant, Late> late_;
  std::uint64_t transaction_ = 0;
  Bytes packet_;
  Timer<Way, &Way::send_late> late_timer_{"proxy.late", *this};
};

void RdmaProxy::Way::on_datagram(const net::Arrival& arrival) {
  const bool from_host = arrival.source.address != to_;
  if (is_shown(from_host)) {
    show(from_host ? actors::host : actors::controller, arrival.source, arrival.destination, arrival.payload,
         arrival.ip.value_or(IpFacts{}));
  }
  if (arrival.payload.size() < kLeast) {
    ++proxy_.counters_.strangers;
    return;
  }
  if (!(from_host ? of_hosts_ : of_controllers_).check(arrival.source, arrival.destination, arrival.payload, arrival.ip)) {
    ++proxy_.counters_.damaged;
    return;
  }
  packet_.assign(arrival.payload.begin(), arrival.payload.end());
  const std::optional<IpAddress> to = from_host ? of_host(arrival.source.address, packet_) : of_controller(packet_);
  if (!to) {
    ++proxy_.counters_.strangers;
    return;
  }
  (from_host ? proxy_.counters_.to_controller_bytes : proxy_.counters_.to_host_bytes) += packet_.size();
  pass(*to, packet_);
}

// ---------------------------------------------------------------------------------------------- translation

std::optional<IpAddress> RdmaProxy::Way::of_host(const IpAddress& host, MutableBytes packet) {
  const std::uint32_t qpn = View<roce::Bth>{packet}.get(roce::bth::destqp);
  if (qpn == roce::kGsiQpn) return mad_of_host(host, packet);
  RdmaConnection* const connection = connections_.by_controller_qpn(qpn);
  if (connection == nullptr || connection->host != host) return std::nullopt;
  if (connection->is_admin && !proxy_.options_.keep_discovery) follow_command(*connection, packet);
  return to_;
}

std::optional<IpAddress> RdmaProxy::Way::of_controller(MutableBytes packet) {
  const std::uint32_t qpn = View<roce::Bth>{packet}.get(roce::bth::destqp);
  if (qpn == roce::kGsiQpn) return mad_of_controller(packet);
  RdmaConnection* const connection = connections_.by_qpn(qpn);
  if (connection == nullptr) return std::nullopt;
  MutableView<roce::Bth>{packet}.set(roce::bth::destqp, connection->host_qpn);
  if (!connection->log_pages.empty()) follow_answer(*connection, packet);
  return connection->host;
}

void RdmaProxy::Way::translate_request(const IpAddress& host, MutableBytes message) {
  MutableView<cm::Req> request{message};
  const auto [connection, is_new] = connections_.begin(host, request.get(cm::req::local_comm_id), request.get(cm::req::local_qpn));
  proxy_.counters_.connections += is_new ? 1 : 0;
  const std::optional<std::uint16_t> port = cm::port_of(request.get(cm::req::service_id));
  if (port && ports_.contains(*port)) request.set(cm::req::service_id, cm::service_id_of(ports_.at(*port)));
  request.set(cm::req::local_comm_id, connection->comm_id)
      .set(cm::req::local_qpn, connection->qpn)
      .set(cm::req::primary_local_gid, at_.bytes())
      .set(cm::req::primary_remote_gid, to_.bytes());
  if (!port) return;
  const MutableBytes data = message.subspan(decltype(cm::req::private_data)::offset, decltype(cm::req::private_data)::size);
  MutableView<cm::IpHeader> ip{data};
  ip.set(cm::ip_header::source, cm::ip_header_form(at_)).set(cm::ip_header::destination, cm::ip_header_form(to_));
  const View<fabrics::RdmaRequest> nvme{data.subspan(cm::IpHeader::size)};
  connection->is_admin = nvme.get(fabrics::rdma_request::recfmt) == fabrics::kRdmaRecordFormat && nvme.get(fabrics::rdma_request::qid) == 0;
}

std::optional<IpAddress> RdmaProxy::Way::mad_of_host(const IpAddress& host, MutableBytes packet) {
  if (!is_mad(packet)) return std::nullopt;
  const MutableView<cm::MadHeader> header{packet.subspan(kMadAt)};
  const MutableBytes message = message_of(packet);
  MutableView<cm::Ids> ids{message};
  switch (header.get(cm::mad::attribute)) {
    case cm::Attribute::req:
      translate_request(host, message);
      return to_;
    case cm::Attribute::rtu:
    case cm::Attribute::mra:
    case cm::Attribute::rej:
    case cm::Attribute::dreq:
    case cm::Attribute::drep:
    case cm::Attribute::lap: {
      RdmaConnection* const connection = connections_.of_host(host, ids.get(cm::ids::local_comm_id));
      if (connection == nullptr) return std::nullopt;
      ids.set(cm::ids::local_comm_id, connection->comm_id);
      const cm::Attribute what = header.get(cm::mad::attribute);
      if (what == cm::Attribute::rej || what == cm::Attribute::drep) connections_.end(*connection);
      return to_;
    }
    default:
      asked_by_[header.get(cm::mad::tid)] = host;
      if (asked_by_.size() > kQuestionsMost) asked_by_.erase(asked_by_.begin());
      return to_;
  }
}

std::optional<IpAddress> RdmaProxy::Way::mad_of_controller(MutableBytes packet) {
  if (!is_mad(packet)) return std::nullopt;
  const MutableView<cm::MadHeader> header{packet.subspan(kMadAt)};
  const cm::Attribute what = header.get(cm::mad::attribute);
  const MutableBytes message = message_of(packet);
  if (what == cm::Attribute::class_port_info || what == cm::Attribute::sidr_rep) {
    const auto asker = asked_by_.find(header.get(cm::mad::tid));
    return asker == asked_by_.end() ? std::nullopt : std::optional(asker->second);
  }
  MutableView<cm::Ids> ids{message};
  RdmaConnection* const connection = connections_.by_comm_id(ids.get(cm::ids::remote_comm_id));
  if (connection == nullptr) return std::nullopt;
  ids.set(cm::ids::remote_comm_id, connection->host_comm_id);
  if (what == cm::Attribute::rep) {
    const View<cm::Rep> reply{message};
    connections_.accepted(*connection, reply.get(cm::rep::local_comm_id), reply.get(cm::rep::local_qpn));
  } else if (what == cm::Attribute::dreq) {
    MutableView<cm::Dreq>{message}.set(cm::dreq::remote_qpn, connection->host_qpn);
  }
  if (what == cm::Attribute::rej || what == cm::Attribute::drep) connections_.end(*connection);
  return connection->host;
}

// ------------------------------------------------------------------------------------------ discovery log pages

void RdmaProxy::Way::follow_command(RdmaConnection& connection, ByteView packet) {
  const roce::OpcodeFacts& facts = roce::facts_of(packet[0]);
  if (facts.kind != roce::OpcodeKind::send || !facts.first || !facts.last) return;
  if (packet.size() < facts.header_bytes + nvme::kSqeSize + roce::kIcrcBytes) return;
  const ByteView sqe = packet.subspan(facts.header_bytes, nvme::kSqeSize);
  const std::optional<DiscoveryLogRange> range = discovery_log_range(sqe);
  if (!range) return;
  const nvme::SglDescriptor data = nvme::SglDescriptor::parse(sqe.subspan(decltype(nvme::sqe::sgl1)::offset));
  if (data.type != nvme::SglType::keyed_data_block) return;
  if (connection.log_pages.size() >= kLogPagesMost) connection.log_pages.clear();
  connection.log_pages[range->cid] = {data.key, data.address, std::min<std::uint64_t>(data.length, range->bytes), range->offset};
}

void RdmaProxy::Way::follow_answer(RdmaConnection& connection, MutableBytes packet) {
  const roce::OpcodeFacts& facts = roce::facts_of(packet[0]);
  const std::size_t pad = View<roce::Bth>{packet}.get(roce::bth::padcnt);
  if (packet.size() < facts.header_bytes + pad + roce::kIcrcBytes) return;
  const MutableBytes data = packet.subspan(facts.header_bytes, packet.size() - facts.header_bytes - pad - roce::kIcrcBytes);
  if (facts.kind == roce::OpcodeKind::send && facts.last && data.size() >= nvme::CqeLayout::size) {
    connection.log_pages.erase(View<nvme::CqeLayout>{data}.get(nvme::cqe::cid));
    return;
  }
  if (facts.kind != roce::OpcodeKind::write) return;
  const std::uint32_t psn = View<roce::Bth>{packet}.get(roce::bth::psn);
  if (facts.first) {
    const View<roce::Reth> reth{packet.subspan(roce::Bth::size)};
    connection.write = SeenWrite{psn, static_cast<std::uint32_t>(data.size()), reth.get(roce::reth::rkey), reth.get(roce::reth::va)};
  }
  if (!connection.write) return;
  const SeenWrite& write = *connection.write;
  const std::int32_t packets = roce::psn_distance(psn, write.first_psn);
  if (packets < 0) return;
  const std::uint64_t at = write.address + std::uint64_t{write.first_bytes} * static_cast<std::uint32_t>(packets);
  for (const auto& [cid, page] : connection.log_pages) {
    if (page.rkey == write.rkey && at >= page.address && at - page.address < page.bytes) rename(page, at, data);
  }
}

void RdmaProxy::Way::rename(const LogPageRequest& page, std::uint64_t at, MutableBytes data) {
  const std::uint64_t begin = at - page.address;
  const MutableBytes part = data.first(static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), page.bytes - begin)));
  std::vector<std::string> past;
  proxy_.counters_.renamed_entries += rename_entries(part, page.offset + begin, fabrics::TransportType::rdma, names_, &past);
  for (const std::string& text : past) proxy_.remark("a discovery entry leads past the proxy: rdma://" + text);
  if (part.size() % fabrics::DiscoveryEntry::size != 0) {
    proxy_.remark("discovery entries are spread over packets and pass as they are: the path MTU is below 1024");
  }
}

// ------------------------------------------------------------------------------------------------ departure

/// The packet under the plan's faults.
void RdmaProxy::Way::pass(const IpAddress& to, ByteView as_sent) {
  if (!proxy_.network_) return send(to, as_sent, {});
  const bool to_controller = to == to_;
  Link& link = to_controller ? proxy_.to_controller_ : proxy_.to_host_;
  proxy_.forged_ = false;
  Bytes packet(as_sent.begin(), as_sent.end());
  net::PacketContext context{link.name, link.index, link.ordinal++, proxy_.world_.now(), roce_port(at_), roce_port(to), packet};
  const net::Verdict verdict = proxy_.network_->on_packet(context);
  Damage damage{.forged = proxy_.forged_, .cut = verdict.cut};
  if (verdict.corrupted) {
    damage.flipped.resize(packet.size());
    std::ranges::transform(packet, as_sent, damage.flipped.begin(), [](auto a, auto b) { return static_cast<std::uint8_t>(a ^ b); });
  }
  const auto leave = [&](Duration after) {
    if (after == Duration{}) return send(to, as_sent, damage);
    late_.insert({proxy_.world_.now() + after, Late{to, {as_sent.begin(), as_sent.end()}, damage}});
    proxy_.world_.loop().schedule(late_timer_, late_.begin()->first);
  };
  if (!verdict.drop) leave(verdict.delay);
  for (std::uint32_t copy = 0; copy < verdict.duplicates && !verdict.drop; ++copy) leave(verdict.duplicate_delay);
}

void RdmaProxy::Way::send_late() {
  while (!late_.empty() && late_.begin()->first <= proxy_.world_.now()) {
    const Late due = std::move(late_.extract(late_.begin()).mapped());
    send(due.to, due.packet, due.damage);
  }
  port_->flush();
  if (!late_.empty()) proxy_.world_.loop().schedule(late_timer_, late_.begin()->first);
}

void RdmaProxy::Way::send(const IpAddress& to, ByteView packet, const Damage& damage) {
  if (packet.size() > port_->max_payload()) {
    ++proxy_.counters_.too_long;
    return;
  }
  const std::size_t size = packet.size() - std::min(packet.size(), damage.cut);
  const Endpoint end = roce_port(to);
  const auto path = paths_.try_emplace(to, roce_port(at_), end).first;
  const net::Outgoing out = port_->begin(end, size);
  if (damage.flipped.empty() && damage.cut == 0) {
    std::memcpy(out.payload.data(), packet.data(), packet.size());
    softroce::seal_icrc(path->second, out.payload, out.ip);
  } else {
    Bytes whole(packet.begin(), packet.end());
    if (damage.forged) flip(whole, damage.flipped);
    softroce::seal_icrc(path->second, whole, out.ip);
    if (!damage.forged) flip(whole, damage.flipped);
    std::copy_n(whole.begin(), size, out.payload.begin());
  }
  const bool to_host = to != to_;
  if (is_shown(to_host)) {
    const bool by_proxy = proxy_.options_.faults != nullptr;
    const std::string_view actor = !to_host ? actors::towards_controller : by_proxy ? actors::towards_host : actors::controller;
    show(actor, roce_port(at_), end, out.payload, out.ip);
  }
  port_->commit();
}

void RdmaProxy::Way::show(std::string_view actor, const Endpoint& source, const Endpoint& destination, ByteView packet, const IpFacts& ip) {
  if (!proxy_.world_.trace().hears_wire()) return;
  TraceEvent event;
  event.kind = TraceKind::packet;
  event.time = proxy_.world_.now();
  event.actor = actor;
  event.label = "udp";
  event.bytes = packet;
  event.source = source;
  event.destination = destination;
  event.ip = ip;
  proxy_.world_.trace().emit(event);
}

// ------------------------------------------------------------------------------------------------------- end

void RdmaProxy::Way::disconnect(const IpAddress& end, std::uint32_t from_id, std::uint32_t to_id, std::uint32_t qpn) {
  Bytes packet(kMadPacketBytes);
  MutableView<roce::Bth>{packet}
      .set(roce::bth::opcode, roce::Opcode::ud_send_only)
      .set(roce::bth::pkey, roce::kDefaultPkey)
      .set(roce::bth::destqp, roce::kGsiQpn);
  MutableView<roce::Deth>{MutableBytes(packet).subspan(roce::Bth::size)}
      .set(roce::deth::qkey, roce::kGsiQkey)
      .set(roce::deth::srcqp, roce::kGsiQpn);
  MutableView<cm::MadHeader>{MutableBytes(packet).subspan(kMadAt)}
      .set(cm::mad::base_version, cm::kMadBaseVersion)
      .set(cm::mad::management_class, cm::kCmClass)
      .set(cm::mad::class_version, cm::kCmClassVersion)
      .set(cm::mad::method, cm::Method::send)
      .set(cm::mad::tid, ++transaction_)
      .set(cm::mad::attribute, cm::Attribute::dreq);
  MutableView<cm::Dreq>{message_of(packet)}
      .set(cm::dreq::local_comm_id, from_id)
      .set(cm::dreq::remote_comm_id, to_id)
      .set(cm::dreq::remote_qpn, qpn);
  send(end, packet, {});
}

void RdmaProxy::Way::close() {
  for (const auto& [which, one] : connections_.all()) {
    if (!one.established()) continue;
    disconnect(one.host, *one.controller_comm_id, one.host_comm_id, one.host_qpn);
    disconnect(to_, one.comm_id, *one.controller_comm_id, *one.controller_qpn);
  }
  port_->flush();
}

// ------------------------------------------------------------------------------------------------- the proxy

RdmaProxy::RdmaProxy(World& world, const RdmaProxyOptions& options) : world_(world), options_(options) {
  if (options_.faults == nullptr) return;
  network_.emplace(*options_.faults, [this](const Endpoint&, const Endpoint&, MutableBytes) { forged_ = true; });
}

RdmaProxy::~RdmaProxy() = default;

Result<std::unique_ptr<RdmaProxy>> RdmaProxy::start(World& world, net::DatagramHost& host, const RdmaProxyOptions& options) {
  std::unique_ptr<RdmaProxy> made(new RdmaProxy(world, options));
  for (const Route& route : options.routes) {
    const std::string url = "rdma://" + to_string(route.listen);
    const auto known = std::ranges::find_if(made->ways_, [&](const auto& way) { return way->at() == route.listen.address; });
    if (known == made->ways_.end()) {
      made->ways_.push_back(std::make_unique<Way>(*made, route));
    } else if ((*known)->to() == route.to.address) {
      (*known)->add(route);
    } else {
      return Failure{Problem{url + ": an address leads to one controller only; use another address of this machine"}};
    }
  }
  for (const auto& way : made->ways_) {
    if (const Result<void> opened = way->open(host); !opened) return Failure{opened.error()};
  }
  return made;
}

std::size_t RdmaProxy::open() const {
  std::size_t count = 0;
  for (const auto& way : ways_) count += way->established();
  return count;
}

void RdmaProxy::close() {
  for (const auto& way : ways_) way->close();
}

void RdmaProxy::remark(const std::string& text) {
  if (std::ranges::find(remarks_, text) != remarks_.end()) return;
  remarks_.push_back(text);
  if (on_remark) on_remark(text);
}

}  // namespace fb::proxy
