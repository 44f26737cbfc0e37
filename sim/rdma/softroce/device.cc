// The device: its port, its tables, the checks that a packet passes before an engine sees it.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "sim/rdma/softroce/finer_fault_points.h"
#include "sim/rdma/softroce/queue_pair.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::softroce {

namespace {

constexpr std::size_t kMadBytes = 256;
// Headers that must fit beside the payload into the IP MTU, as RDMA CM counts them.
constexpr std::size_t kHeaderAllowance = 96;
constexpr std::uint32_t kFirstQpn = 0x11;
constexpr std::uint32_t kQpnMask = 0xFFFFFF;

std::uint8_t mtu_code_for(std::size_t ip_mtu, std::uint8_t most) {
  std::uint8_t code = 1;
  while (code < most && roce::mtu_bytes(code + 1u) + kHeaderAllowance <= ip_mtu) ++code;
  return code;
}

SoftHooks& honest_hooks() {
  static SoftHooks hooks;  // holds no state
  return hooks;
}

class SoftDevice final : public SoftRoceDevice, public CmServices, public QueuePairOwner, public net::DatagramReceiver {
 public:
  SoftDevice(World& world, std::unique_ptr<net::DatagramPort> port, const SoftRoceOptions& options)
      : world_(world),
        options_(options),
        rng_(world.stream("softroce/" + options.name + "/" + to_string(options.address))),
        port_(std::move(port)),
        // In braces: drawn from left to right, whatever the compiler.
        memory_{0x100 + static_cast<std::uint32_t>(rng_.below(0x1000)),
                static_cast<std::uint8_t>(options.engine.near_wrap ? rng_.next() | 0xFE : rng_.next())},
        next_qpn_(kFirstQpn + static_cast<std::uint32_t>(rng_.below(0x10000))),
        ca_guid_(options.ca_guid != 0 ? options.ca_guid : rng_.next() | 1),
        mtu_code_(mtu_code_for(port_->mtu(), std::clamp<std::uint8_t>(options.mtu_code_max, 1, 5))),
        table_(16, nullptr) {
    if (options_.engine.near_wrap) next_qpn_ = kQpnMask - 2;
    connections_ = make_connection_manager(*this, options_.connections);
    port_->set_receiver(this);
  }
  ~SoftDevice() override {
    port_->set_receiver(nullptr);
    connections_.reset();
  }

  // rdma::Device
  rdma::DeviceLimits limits() const override { return options_.limits; }
  IpAddress address() const override { return port_->local().address; }
  std::unique_ptr<rdma::ProtectionDomain> allocate_protection_domain() override {
    return std::make_unique<SoftDomain>(memory_, next_domain_++);
  }
  std::unique_ptr<rdma::CompletionQueue> create_completion_queue(std::uint32_t entries) override {
    return std::make_unique<SoftCompletionQueue>(world_, entries);
  }
  std::unique_ptr<rdma::SharedReceiveQueue> create_shared_receive_queue(rdma::ProtectionDomain& domain, std::uint32_t entries,
                                                                        rdma::SharedReceiveHandler* handler) override {
    return std::make_unique<SoftSharedReceiveQueue>(world_, static_cast<SoftDomain&>(domain).number(), entries, options_.limits.max_sges,
                                                    handler, options_.hooks);
  }
  std::unique_ptr<rdma::QueuePair> create_queue_pair(rdma::ProtectionDomain& domain, const rdma::QueuePairOptions& options) override;
  Result<std::unique_ptr<rdma::Listener>> listen(std::uint16_t port, rdma::ListenHandler& handler) override {
    return connections_->listen(port, handler);
  }

  // SoftRoceDevice
  const SoftCounters& counters() const override { return counters_; }
  CmQueuePair& seam_of(rdma::QueuePair& qp) override { return static_cast<SoftQueuePair&>(qp); }

  // CmServices
  void send_mad(const IpAddress& to, ByteView mad256) override;
  std::uint8_t mtu_code() const override { return mtu_code_; }
  World& world() override { return world_; }
  std::uint64_t ca_guid() const override { return ca_guid_; }
  std::uint32_t random_psn() override {
    const auto drawn = static_cast<std::uint32_t>(rng_.next());
    return options_.engine.near_wrap ? roce::kPsnMask - drawn % 4 : drawn & roce::kPsnMask;
  }
  SoftHooks& hooks() override { return options_.hooks != nullptr ? *options_.hooks : honest_hooks(); }
  std::string_view name() const override { return options_.name; }
  CmQueuePair& queue_pair_of(rdma::QueuePair& qp) override { return seam_of(qp); }

  // QueuePairOwner
  net::DatagramPort& port() override { return *port_; }
  CmCore& connections() override { return *connections_; }
  void schedule_work(SoftQueuePair& qp) override;
  void forget(SoftQueuePair& qp) override;

  // net::DatagramReceiver
  void on_datagram(const net::Arrival& arrival) override;
  void on_batch_end() override;

 private:
  void on_gsi(const net::Arrival& arrival, const roce::OpcodeFacts& facts);
  bool passes_checks(const net::Arrival& arrival, const SoftQueuePair& qp);
  bool icrc_good(const net::Arrival& arrival);
  SoftQueuePair* find(std::uint32_t qpn) const {
    SoftQueuePair* qp = table_[qpn & (table_.size() - 1)];
    if (qp == nullptr || qp->number() == qpn) return qp;
    return departs(Departure::number_compared_in_part) ? qp : nullptr;
  }
  std::uint32_t take_qpn();
  void run_work();
  bool departs(Departure point) const { return softroce::departs(options_.hooks, point); }

  World& world_;
  SoftRoceOptions options_;
  Rng rng_;
  std::unique_ptr<net::DatagramPort> port_;
  SoftCounters counters_;
  MemoryTable memory_;
  IcrcChecker icrc_checker_;
  std::uint32_t next_qpn_;
  std::uint32_t next_domain_ = 1;
  std::uint32_t gsi_psn_ = 0;
  std::uint64_t ca_guid_;
  std::uint8_t mtu_code_;
  std::vector<SoftQueuePair*> table_;  // by the low bits of the number; a power of two
  std::size_t queue_pairs_ = 0;
  std::vector<SoftQueuePair*> work_;
  std::vector<SoftQueuePair*> working_;
  bool in_batch_ = false;
  Timer<SoftDevice, &SoftDevice::run_work> work_event_{"softroce.work", *this};
  std::unique_ptr<CmCore> connections_;
};

std::unique_ptr<rdma::QueuePair> SoftDevice::create_queue_pair(rdma::ProtectionDomain& domain, const rdma::QueuePairOptions& options) {
  rdma::QueuePairOptions bounded = options;
  const rdma::DeviceLimits& limits = options_.limits;
  bounded.send_entries = std::clamp(options.send_entries, 1u, limits.max_queue_entries);
  bounded.receive_entries = std::clamp(options.receive_entries, 1u, limits.max_queue_entries);
  bounded.max_send_sges = std::clamp(options.max_send_sges, 1u, limits.max_sges);
  bounded.max_receive_sges = std::clamp(options.max_receive_sges, 1u, limits.max_sges);
  const std::uint32_t qpn = take_qpn();
  auto qp = std::make_unique<SoftQueuePair>(
      *this,
      QpCore::Surroundings{world_, memory_, counters_, options_.hooks, options_.engine, static_cast<SoftDomain&>(domain).number(), qpn},
      qpn, bounded, limits);
  table_[qpn & (table_.size() - 1)] = qp.get();
  ++queue_pairs_;
  return qp;
}

/// Numbers go up for ever, so that a number does not come back soon: peers take a live number under
/// a new connection for a stale connection.
std::uint32_t SoftDevice::take_qpn() {
  if (queue_pairs_ * 2 >= table_.size()) {
    std::vector<SoftQueuePair*> larger(table_.size() * 2, nullptr);
    for (SoftQueuePair* qp : table_) {
      if (qp != nullptr) larger[qp->number() & (larger.size() - 1)] = qp;
    }
    table_ = std::move(larger);
  }
  for (;;) {
    const std::uint32_t qpn = next_qpn_;
    next_qpn_ = next_qpn_ == kQpnMask - 1 ? kFirstQpn : next_qpn_ + 1;
    if (table_[qpn & (table_.size() - 1)] != nullptr) continue;
    if (!connections_->qpn_lingers(qpn)) return qpn;
  }
}

void SoftDevice::forget(SoftQueuePair& qp) {
  table_[qp.number() & (table_.size() - 1)] = nullptr;
  --queue_pairs_;
  std::erase(work_, &qp);
  std::replace(working_.begin(), working_.end(), &qp, static_cast<SoftQueuePair*>(nullptr));
}

void SoftDevice::schedule_work(SoftQueuePair& qp) {
  if (qp.in_work_list) return;
  qp.in_work_list = true;
  work_.push_back(&qp);
  if (!in_batch_ && !work_event_.scheduled()) world_.loop().schedule(work_event_, world_.now());
}

void SoftDevice::on_batch_end() {
  in_batch_ = false;
  if (!work_.empty()) run_work();
}

void SoftDevice::run_work() {
  std::swap(work_, working_);
  for (SoftQueuePair* qp : working_) {
    if (qp == nullptr) continue;
    qp->in_work_list = false;
    qp->work();
  }
  working_.clear();
  if (work_.empty()) {
    world_.loop().cancel(work_event_);
  } else if (!work_event_.scheduled()) {
    world_.loop().schedule(work_event_, world_.now());
  }
}

void SoftDevice::send_mad(const IpAddress& to, ByteView mad256) {
  BENCH_ASSERT(mad256.size() == kMadBytes, "a MAD has 256 bytes");
  const Endpoint peer{to, roce::kUdpPort};
  const roce::OpcodeFacts& facts = roce::facts_of(roce::Opcode::ud_send_only);
  const std::size_t bytes = facts.header_bytes + kMadBytes;
  const net::Outgoing out = port_->begin(peer, bytes + roce::kIcrcBytes);
  const MutableBytes packet = out.payload.first(bytes);
  std::fill_n(packet.begin(), facts.header_bytes, std::uint8_t{0});
  MutableView<roce::Bth>{packet}
      .set(roce::bth::opcode, roce::Opcode::ud_send_only)
      .set(roce::bth::pkey, roce::kDefaultPkey)
      .set(roce::bth::destqp, roce::kGsiQpn)
      .set(roce::bth::psn, gsi_psn_);
  MutableView<roce::Deth>{packet.subspan(roce::Bth::size)}.set(roce::deth::qkey, roce::kGsiQkey).set(roce::deth::srcqp, roce::kGsiQpn);
  std::copy(mad256.begin(), mad256.end(), packet.begin() + facts.header_bytes);
  gsi_psn_ = roce::psn_add(gsi_psn_, 1);
  if (options_.hooks != nullptr) options_.hooks->packet_out(packet);
  seal_icrc(IcrcPath(port_->local(), peer), out.payload, out.ip);
  ++counters_.packets_sent;
  counters_.bytes_sent += out.payload.size();
  port_->commit();
}

bool SoftDevice::icrc_good(const net::Arrival& arrival) {
  constexpr std::uint8_t kReservedBesideMarks = 0x3F;
  if ((arrival.payload[4] & kReservedBesideMarks) != 0 && departs(Departure::icrc_covers_reserved_bits)) {
    return false;
  }
  if (icrc_checker_.check(arrival.source, arrival.destination, arrival.payload, arrival.ip)) {
    return true;
  }
  if (departs(Departure::accept_bad_icrc)) return true;
  ++counters_.drop_bad_icrc;
  return false;
}

void SoftDevice::on_datagram(const net::Arrival& arrival) {
  in_batch_ = true;
  ++counters_.packets_received;
  const ByteView bytes = arrival.payload;
  counters_.bytes_received += bytes.size();
  if (bytes.size() < roce::Bth::size + roce::kIcrcBytes) {
    ++counters_.drop_too_short;
    return;
  }
  const View<roce::Bth> header{bytes};
  if (header.get(roce::bth::tver) != 0 && !departs(Departure::accept_bad_version)) {
    ++counters_.drop_bad_version;
    return;
  }
  const roce::OpcodeFacts& facts = roce::facts_of(bytes[0]);
  SoftQueuePair* qp = find(header.get(roce::bth::destqp));
  if (!facts.known() || facts.kind == roce::OpcodeKind::congestion_notification) {
    ++(facts.known() ? counters_.drop_congestion_notification : counters_.drop_unknown_opcode);
    if (qp != nullptr && qp->takes_packets() && departs(Departure::answer_unknown_opcode)) {
      qp->depart_answer_unknown(header.get(roce::bth::psn));
    }
    return;
  }
  const std::size_t pad = header.get(roce::bth::padcnt);
  const std::size_t around = facts.header_bytes + pad + roce::kIcrcBytes;
  if (bytes.size() < around || bytes.size() % 4 != 0 || (!facts.payload && bytes.size() != facts.header_bytes + roce::kIcrcBytes)) {
    ++counters_.drop_bad_length;
    if (qp != nullptr && qp->takes_packets() && departs(Departure::answer_too_short)) {
      qp->depart_answer_unknown(header.get(roce::bth::psn));
    }
    return;
  }
  if (header.get(roce::bth::destqp) == roce::kGsiQpn) {
    on_gsi(arrival, facts);
    return;
  }
  if (qp == nullptr) {
    ++counters_.drop_unknown_qp;
    return;
  }
  if (facts.kind == roce::OpcodeKind::datagram) {
    ++counters_.drop_wrong_transport;
    if (qp->takes_packets() && softroce::departs(*qp, finer::kAnswerOtherTransport)) {
      qp->depart_answer_unknown(header.get(roce::bth::psn));
    }
    return;
  }
  if (!passes_checks(arrival, *qp)) return;
  InPacket packet;
  packet.opcode = header.get(roce::bth::opcode);
  packet.facts = &facts;
  packet.psn = header.get(roce::bth::psn);
  packet.ack_request = header.get(roce::bth::ackreq);
  packet.solicited = header.get(roce::bth::se);
  packet.headers = bytes.subspan(roce::Bth::size, facts.header_bytes - roce::Bth::size);
  packet.payload = bytes.subspan(facts.header_bytes, bytes.size() - around);
  qp->on_packet(packet);
}

bool SoftDevice::passes_checks(const net::Arrival& arrival, const SoftQueuePair& qp) {
  if (!qp.takes_packets()) {
    ++counters_.drop_qp_not_ready;
    return false;
  }
  const bool in_part = softroce::departs(qp, finer::kAddressInPart);
  const bool from_peer =
      in_part ? arrival.source.address.bytes().back() == qp.path.peer.bytes().back() : arrival.source.address == qp.path.peer;
  if ((!from_peer || arrival.destination.address != address()) && !departs(Departure::accept_foreign_address)) {
    ++counters_.drop_foreign_address;
    return false;
  }
  const std::uint16_t pkey = View<roce::Bth>{arrival.payload}.get(roce::bth::pkey);
  // The low 15 bits name the partition; ours is the default one with full membership.
  if ((pkey & 0x7FFF) != 0x7FFF && !departs(Departure::accept_bad_pkey)) {
    ++counters_.drop_bad_pkey;
    return false;
  }
  if (departs(Departure::refuse_migreq_clear) && !View<roce::Bth>{arrival.payload}.get(roce::bth::migreq)) {
    return false;
  }
  return icrc_good(arrival);
}

void SoftDevice::on_gsi(const net::Arrival& arrival, const roce::OpcodeFacts& facts) {
  const View<roce::Bth> header{arrival.payload};
  if (header.get(roce::bth::opcode) != roce::Opcode::ud_send_only) {
    ++counters_.drop_wrong_transport;
    return;
  }
  const ByteView rest = arrival.payload.subspan(roce::Bth::size);
  if (View<roce::Deth>{rest}.get(roce::deth::qkey) != roce::kGsiQkey && !departs(Departure::accept_bad_qkey)) {
    ++counters_.drop_bad_qkey;
    return;
  }
  if ((header.get(roce::bth::pkey) & 0x7FFF) != 0x7FFF) {
    ++counters_.drop_bad_pkey;
    return;
  }
  if (arrival.payload.size() != facts.header_bytes + kMadBytes + roce::kIcrcBytes || header.get(roce::bth::padcnt) != 0) {
    ++counters_.drop_bad_length;
    return;
  }
  if (!icrc_good(arrival)) return;
  connections_->on_mad(arrival.source, arrival.destination.address, arrival.payload.subspan(facts.header_bytes, kMadBytes));
}

}  // namespace

Result<std::unique_ptr<SoftRoceDevice>> make_softroce(World& world, net::DatagramHost& host, const SoftRoceOptions& options) {
  auto port = host.open({options.address, options.port});
  if (!port.ok()) return Failure{port.error()};
  return std::unique_ptr<SoftRoceDevice>(std::make_unique<SoftDevice>(world, std::move(port).value(), options));
}

}  // namespace fb::softroce
