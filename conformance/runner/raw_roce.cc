#include "conformance/runner/raw_roce.h"

#include <fmt/format.h>

#include "conformance/runner/real_time.h"

namespace fb::conformance {

namespace {

template <class L>
void append(Bytes& out, const std::optional<Record<L>>& header) {
  if (header) out.insert(out.end(), header->bytes().begin(), header->bytes().end());
}

template <class L>
void take(ByteView& rest, bool present, std::optional<Record<L>>& header) {
  if (!present) return;
  header.emplace(rest.first(L::size));
  rest = rest.subspan(L::size);
}

// Bit by bit: slow, short, and nobody else's.
std::uint32_t crc32_bitwise(std::uint32_t crc, ByteView bytes) {
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
  }
  return crc;
}

Bytes masked_ipv4(const Endpoint& source, const Endpoint& destination, const IpFacts& ip, std::size_t udp_bytes) {
  Bytes header(20, 0);
  header[0] = 0x45;
  header[1] = 0xFF;
  store_be<std::uint16_t>(&header[2], static_cast<std::uint16_t>(20 + udp_bytes));
  store_be<std::uint16_t>(&header[4], ip.id);
  header[6] = ip.dont_fragment ? 0x40 : 0;
  header[8] = 0xFF;
  header[9] = 17;
  header[10] = header[11] = 0xFF;
  std::copy_n(source.address.bytes().begin() + 12, 4, header.begin() + 12);
  std::copy_n(destination.address.bytes().begin() + 12, 4, header.begin() + 16);
  return header;
}

Bytes masked_ipv6(const Endpoint& source, const Endpoint& destination, std::size_t udp_bytes) {
  Bytes header(40, 0);
  header[0] = 0x6F;
  header[1] = header[2] = header[3] = 0xFF;
  store_be<std::uint16_t>(&header[4], static_cast<std::uint16_t>(udp_bytes));
  header[6] = 17;
  header[7] = 0xFF;
  std::copy_n(source.address.bytes().begin(), 16, header.begin() + 8);
  std::copy_n(destination.address.bytes().begin(), 16, header.begin() + 24);
  return header;
}

}  // namespace

std::string RocePacket::describe() const {
  std::string text(roce::facts_of(opcode).name);
  if (text.empty()) text = fmt::format("opcode {:02x}h", static_cast<unsigned>(opcode));
  if (aeth) text += fmt::format(" {}", roce::name_of_syndrome(syndrome()));
  text += fmt::format(", PSN {:06x}h", psn);
  if (aeth) text += fmt::format(", MSN {}", msn());
  if (!payload.empty()) text += fmt::format(", {} bytes", payload.size());
  return text;
}

Bytes to_bytes(const RocePacket& packet) {
  const auto pad = static_cast<std::uint8_t>((4 - packet.payload.size() % 4) % 4);
  Record<roce::Bth> bth;
  bth.set(roce::bth::opcode, packet.opcode)
      .set(roce::bth::se, packet.se)
      .set(roce::bth::migreq, packet.migreq)
      .set(roce::bth::padcnt, packet.padcnt.value_or(pad))
      .set(roce::bth::tver, packet.tver)
      .set(roce::bth::pkey, packet.pkey)
      .set(roce::bth::fecn, packet.fecn)
      .set(roce::bth::becn, packet.becn)
      .set(roce::bth::destqp, packet.qpn)
      .set(roce::bth::ackreq, packet.ackreq)
      .set(roce::bth::psn, packet.psn & roce::kPsnMask);
  Bytes out(bth.bytes().begin(), bth.bytes().end());
  append(out, packet.deth);
  append(out, packet.reth);
  append(out, packet.atomic);
  append(out, packet.aeth);
  append(out, packet.atomic_ack);
  append(out, packet.immediate);
  append(out, packet.ieth);
  out.insert(out.end(), packet.payload.begin(), packet.payload.end());
  out.insert(out.end(), pad, 0);
  return out;
}

std::optional<RocePacket> parse_roce(ByteView udp_payload) {
  const auto bth = View<roce::Bth>::over(udp_payload);
  if (!bth || udp_payload.size() < roce::Bth::size + roce::kIcrcBytes) return std::nullopt;
  RocePacket packet;
  packet.opcode = bth->get(roce::bth::opcode);
  const roce::OpcodeFacts& facts = roce::facts_of(packet.opcode);
  packet.qpn = bth->get(roce::bth::destqp);
  packet.psn = bth->get(roce::bth::psn);
  packet.ackreq = bth->get(roce::bth::ackreq);
  packet.se = bth->get(roce::bth::se);
  packet.migreq = bth->get(roce::bth::migreq);
  packet.fecn = bth->get(roce::bth::fecn);
  packet.becn = bth->get(roce::bth::becn);
  packet.tver = bth->get(roce::bth::tver);
  packet.pkey = bth->get(roce::bth::pkey);
  packet.padcnt = bth->get(roce::bth::padcnt);
  ByteView rest = udp_payload.first(udp_payload.size() - roce::kIcrcBytes);
  const std::size_t headers = std::max<std::size_t>(facts.header_bytes, roce::Bth::size);
  if (rest.size() < headers + *packet.padcnt) return std::nullopt;
  rest = rest.subspan(roce::Bth::size);
  take(rest, facts.deth, packet.deth);
  take(rest, facts.reth, packet.reth);
  take(rest, facts.atomic_eth, packet.atomic);
  take(rest, facts.aeth, packet.aeth);
  take(rest, facts.atomic_ack_eth, packet.atomic_ack);
  take(rest, facts.immdt, packet.immediate);
  take(rest, facts.ieth, packet.ieth);
  const ByteView payload = rest.first(rest.size() - *packet.padcnt);
  packet.payload.assign(payload.begin(), payload.end());
  const ByteView pad = rest.subspan(payload.size());
  packet.pad.assign(pad.begin(), pad.end());
  return packet;
}

std::uint32_t icrc_of(const Endpoint& source, const Endpoint& destination, const IpFacts& ip, ByteView packet) {
  const std::size_t udp_bytes = 8 + packet.size() + roce::kIcrcBytes;
  Bytes masked(8, 0xFF);
  const Bytes header =
      source.address.is_v4() ? masked_ipv4(source, destination, ip, udp_bytes) : masked_ipv6(source, destination, udp_bytes);
  masked.insert(masked.end(), header.begin(), header.end());
  Bytes udp(8, 0xFF);
  store_be<std::uint16_t>(&udp[0], source.port);
  store_be<std::uint16_t>(&udp[2], destination.port);
  store_be<std::uint16_t>(&udp[4], static_cast<std::uint16_t>(udp_bytes));
  masked.insert(masked.end(), udp.begin(), udp.end());
  masked.insert(masked.end(), packet.begin(), packet.end());
  masked[masked.size() - packet.size() + 4] = 0xFF;
  return ~crc32_bitwise(0xFFFFFFFF, masked);
}

RocePacket RawConnectionFacts::request(roce::Opcode opcode, std::uint32_t ordinal, Bytes payload) const {
  RocePacket packet;
  packet.opcode = opcode;
  packet.qpn = remote_qpn;
  packet.psn = roce::psn_add(send_psn, ordinal);
  packet.ackreq = true;
  packet.payload = std::move(payload);
  return packet;
}

RocePacket RawConnectionFacts::acknowledge(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome) const {
  RocePacket packet;
  packet.opcode = roce::Opcode::acknowledge;
  packet.qpn = remote_qpn;
  packet.psn = psn;
  packet.aeth.emplace();
  packet.aeth->set(roce::aeth::syndrome, syndrome).set(roce::aeth::msn, msn);
  return packet;
}

RawRoce::RawRoce(World& world, net::DatagramHost& host, const IpAddress& local, const IpAddress& peer)
    : world_(world), local_{local, roce::kUdpPort}, peer_{peer, roce::kUdpPort} {
  auto port = host.open(local_);
  if (!port) throw UserError(port.error().text);
  port_ = std::move(port).value();
  port_->set_receiver(this);
}

RawRoce::~RawRoce() { port_->set_receiver(nullptr); }

void RawRoce::send(const RocePacket& packet, const Sending& how) { send_bytes(to_bytes(packet), how); }

void RawRoce::send_bytes(ByteView packet, const Sending& how) {
  const std::size_t whole = packet.size() + roce::kIcrcBytes;
  const std::size_t size = whole - std::min(whole, how.cut);
  net::Outgoing room = port_->begin(peer_, size);
  Bytes bytes(packet.begin(), packet.end());
  std::uint32_t icrc = icrc_of(local_, peer_, room.ip, packet);
  if (!how.good_icrc) icrc = ~icrc;
  bytes.resize(whole);
  store_le<std::uint32_t>(&bytes[packet.size()], icrc);
  std::copy_n(bytes.begin(), size, room.payload.begin());
  port_->commit();
}

template <class Ready>
bool RawRoce::run_until(Ready&& ready, Duration limit) {
  port_->flush();
  return world_.run_until(ready, wait_limit(world_, limit));
}

std::optional<RocePacket> RawRoce::wait_packet(Duration limit) {
  if (!run_until([&] { return !packets_.empty(); }, limit)) return std::nullopt;
  RocePacket packet = std::move(packets_.front());
  packets_.pop_front();
  return packet;
}

std::optional<RocePacket> RawRoce::wait_packet(roce::Opcode opcode, Duration limit) {
  const Instant end = world_.now() + limit;
  for (;;) {
    std::optional<RocePacket> packet = wait_packet(end - world_.now());
    if (!packet || packet->opcode == opcode) return packet;
  }
}

bool RawRoce::silent_for(Duration span) {
  return !run_until([&] { return !packets_.empty(); }, span);
}

cm::Mad RawRoce::make_req(const RawRequest& request) {
  cm::Mad mad(cm::Attribute::req, std::uint64_t{fresh_id()} << 32);
  auto req = mad.message<cm::Req>();
  req.set(cm::req::local_comm_id, request.comm_id != 0 ? request.comm_id : fresh_id())
      .set(cm::req::service_id, cm::service_id_of(request.port))
      .set(cm::req::local_ca_guid, request.ca_guid)
      .set(cm::req::local_qpn, request.qpn != 0 ? request.qpn : fresh_id())
      .set(cm::req::responder_resources, request.responder_resources)
      .set(cm::req::initiator_depth, request.initiator_depth)
      .set(cm::req::remote_cm_timeout, request.cm_timeout)
      .set(cm::req::transport, cm::Transport::rc)
      .set(cm::req::flow_control, 1)
      .set(cm::req::starting_psn, roce::psn_add(request.psn, psn_offset_))
      .set(cm::req::local_cm_timeout, request.cm_timeout)
      .set(cm::req::retry_count, request.retry_count)
      .set(cm::req::pkey, roce::kDefaultPkey)
      .set(cm::req::path_mtu, request.mtu_code)
      .set(cm::req::rnr_retry_count, request.rnr_retry_count)
      .set(cm::req::max_cm_retries, 15)
      .set(cm::req::primary_local_lid, 0xFFFF)
      .set(cm::req::primary_remote_lid, 0xFFFF)
      .set(cm::req::primary_local_gid, local_.address.bytes())
      .set(cm::req::primary_remote_gid, peer_.address.bytes())
      .set(cm::req::primary_hop_limit, 64)
      .set(cm::req::primary_ack_timeout, request.ack_timeout);
  Record<cm::IpHeader> ip;
  ip.set(cm::ip_header::ip_version, local_.address.is_v4() ? 4 : 6)
      .set(cm::ip_header::source_port, 49152 + (next_id_ & 0xFFF))
      .set(cm::ip_header::source, cm::ip_header_form(local_.address))
      .set(cm::ip_header::destination, cm::ip_header_form(peer_.address));
  Bytes data(ip.bytes().begin(), ip.bytes().end());
  data.insert(data.end(), request.private_data.begin(), request.private_data.end());
  req.set(cm::req::private_data, data);
  return mad;
}

void RawRoce::send_mad(const cm::Mad& mad, std::uint32_t qkey) {
  RocePacket packet;
  packet.opcode = roce::Opcode::ud_send_only;
  packet.qpn = roce::kGsiQpn;
  packet.psn = gsi_psn_++;
  packet.migreq = false;
  packet.deth.emplace();
  packet.deth->set(roce::deth::qkey, qkey).set(roce::deth::srcqp, roce::kGsiQpn);
  packet.payload.assign(mad.bytes().begin(), mad.bytes().end());
  send(packet);
}

std::optional<cm::Mad> RawRoce::wait_mad(Duration limit) { return mad_within(wait_limit(world_, limit)); }

std::optional<cm::Mad> RawRoce::mad_within(Duration span) {
  port_->flush();
  if (!world_.run_until([&] { return !mads_.empty(); }, span)) return std::nullopt;
  cm::Mad mad = mads_.front();
  mads_.pop_front();
  return mad;
}

std::optional<cm::Mad> RawRoce::wait_mad(cm::Attribute attribute, Duration limit) {
  const Instant end = world_.now() + limit;
  for (;;) {
    std::optional<cm::Mad> mad = wait_mad(end - world_.now());
    if (!mad || mad->header().get(cm::mad::attribute) == attribute) return mad;
  }
}

RawConnectionFacts RawRoce::facts_from(const cm::Mad& req, const cm::Mad& rep) const {
  const auto asked = cm::message_of<cm::Req>(req.bytes());
  const auto said = cm::message_of<cm::Rep>(rep.bytes());
  RawConnectionFacts facts;
  facts.local_comm_id = asked.get(cm::req::local_comm_id);
  facts.remote_comm_id = said.get(cm::rep::local_comm_id);
  facts.local_qpn = asked.get(cm::req::local_qpn);
  facts.remote_qpn = said.get(cm::rep::local_qpn);
  // Each side's starting PSN is the one that the other has to send with first.
  facts.send_psn = said.get(cm::rep::starting_psn);
  facts.receive_psn = asked.get(cm::req::starting_psn);
  facts.tid = View<cm::MadHeader>{req.bytes()}.get(cm::mad::tid);
  facts.reply = rep;
  return facts;
}

std::optional<RawConnectionFacts> RawRoce::connect(const RawRequest& request, bool with_rtu) {
  const cm::Mad req = make_req(request);
  send_mad(req);
  // Goodbyes of earlier connections stay for the case; a product may say that it takes its time.
  std::deque<cm::Mad> goodbyes;
  const Instant end = world_.now() + world_.patience();
  std::optional<cm::Mad> answer;
  const auto attribute = [&] { return answer->header().get(cm::mad::attribute); };
  while ((answer = wait_mad(end - world_.now())) && (attribute() == cm::Attribute::dreq || attribute() == cm::Attribute::mra)) {
    if (attribute() == cm::Attribute::dreq) goodbyes.push_back(*answer);
  }
  mads_.insert(mads_.begin(), goodbyes.begin(), goodbyes.end());
  if (!answer) return std::nullopt;
  if (attribute() != cm::Attribute::rep) {
    mads_.push_front(*answer);
    return std::nullopt;
  }
  const RawConnectionFacts facts = facts_from(req, *answer);
  if (with_rtu) send_rtu(facts);
  return facts;
}

void RawRoce::send_rtu(const RawConnectionFacts& connection) {
  cm::Mad mad(cm::Attribute::rtu, connection.tid);
  mad.message<cm::Rtu>().set(cm::rtu::local_comm_id, connection.local_comm_id).set(cm::rtu::remote_comm_id, connection.remote_comm_id);
  send_mad(mad);
}

void RawRoce::answer_goodbyes(Duration quiet) {
  while (const std::optional<cm::Mad> mad = wait_mad(cm::Attribute::dreq, quiet)) {
    const auto said = cm::message_of<cm::Dreq>(mad->bytes());
    cm::Mad drep(cm::Attribute::drep, View<cm::MadHeader>{mad->bytes()}.get(cm::mad::tid));
    drep.message<cm::Drep>()
        .set(cm::drep::local_comm_id, said.get(cm::dreq::remote_comm_id))
        .set(cm::drep::remote_comm_id, said.get(cm::dreq::local_comm_id));
    send_mad(drep);
  }
}

void RawRoce::send_dreq(const RawConnectionFacts& connection) {
  cm::Mad mad(cm::Attribute::dreq, std::uint64_t{fresh_id()} << 32);
  mad.message<cm::Dreq>()
      .set(cm::dreq::local_comm_id, connection.local_comm_id)
      .set(cm::dreq::remote_comm_id, connection.remote_comm_id)
      .set(cm::dreq::remote_qpn, connection.remote_qpn);
  send_mad(mad);
}

RawConnectionFacts RawRoce::accept(const cm::Mad& req, const RawReply& reply) {
  const auto asked = cm::message_of<cm::Req>(req.bytes());
  RawConnectionFacts facts;
  facts.local_comm_id = fresh_id();
  facts.remote_comm_id = asked.get(cm::req::local_comm_id);
  facts.local_qpn = fresh_id();
  facts.remote_qpn = asked.get(cm::req::local_qpn);
  facts.send_psn = asked.get(cm::req::starting_psn);
  facts.receive_psn = roce::psn_add(reply.psn, psn_offset_);
  facts.tid = View<cm::MadHeader>{req.bytes()}.get(cm::mad::tid);
  facts.reply = req;
  send_mad(make_rep(facts, reply));
  return facts;
}

cm::Mad RawRoce::make_rep(const RawConnectionFacts& facts, const RawReply& reply) {
  cm::Mad mad(cm::Attribute::rep, facts.tid);
  mad.message<cm::Rep>()
      .set(cm::rep::local_comm_id, facts.local_comm_id)
      .set(cm::rep::remote_comm_id, facts.remote_comm_id)
      .set(cm::rep::local_qpn, facts.local_qpn)
      .set(cm::rep::starting_psn, roce::psn_add(reply.psn, psn_offset_))
      .set(cm::rep::responder_resources, reply.responder_resources)
      .set(cm::rep::initiator_depth, reply.initiator_depth)
      .set(cm::rep::target_ack_delay, 15)
      .set(cm::rep::flow_control, 1)
      .set(cm::rep::rnr_retry_count, reply.rnr_retry_count)
      .set(cm::rep::local_ca_guid, std::uint64_t{0x0200000000001234})
      .set(cm::rep::private_data, reply.private_data);
  return mad;
}

cm::Mad RawRoce::make_rej(const cm::Mad& req, std::uint16_t reason, ByteView private_data) {
  cm::Mad mad(cm::Attribute::rej, View<cm::MadHeader>{req.bytes()}.get(cm::mad::tid));
  mad.message<cm::Rej>()
      .set(cm::rej::remote_comm_id, cm::message_of<cm::Req>(req.bytes()).get(cm::req::local_comm_id))
      .set(cm::rej::about, cm::About::req)
      .set(cm::rej::reason, reason)
      .set(cm::rej::private_data, private_data);
  return mad;
}

void RawRoce::on_datagram(const net::Arrival& arrival) {
  if (arrival.source.address != peer_.address) return;
  std::optional<RocePacket> packet = parse_roce(arrival.payload);
  if (!packet) return;
  ++received_;
  const ByteView body = arrival.payload.first(arrival.payload.size() - roce::kIcrcBytes);
  if (arrival.ip) {
    const std::uint32_t sent = load_le<std::uint32_t>(arrival.payload.data() + body.size());
    packet->icrc_good = sent == icrc_of(arrival.source, arrival.destination, *arrival.ip, body);
    if (!packet->icrc_good) ++bad_icrc_;
  }
  packet->at = world_.now();
  if (packet->qpn == roce::kGsiQpn) {
    if (packet->payload.size() != cm::kMadBytes) return;
    cm::Mad mad;
    std::copy(packet->payload.begin(), packet->payload.end(), mad.mutable_bytes().begin());
    mads_.push_back(mad);
    return;
  }
  packets_.push_back(std::move(*packet));
}

}  // namespace fb::conformance
