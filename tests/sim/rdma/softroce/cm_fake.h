// A stand-in for the device below the connection manager: queue pairs that write down what they are
// told, and a wire on which each MAD can be lost, doubled or delayed. A raw peer is whoever reads the
// wire's log and calls on_mad() by hand.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/rdma/softroce/cm_manager.h"

namespace fb::softroce::test {

inline constexpr std::uint16_t kRocePort = 4791;

/// Everything that one queue pair was told, in order.
class FakeQp final : public rdma::QueuePair, public CmQueuePair {
 public:
  explicit FakeQp(std::uint32_t number) : number_(number) {}

  std::uint32_t number() const override { return number_; }
  rdma::QpState state() const override { return state_; }
  bool post_send(const rdma::SendRequest&) override { return false; }
  bool post_receive(const rdma::ReceiveRequest&) override { return false; }
  void connect(const Endpoint&, const rdma::ConnectionParameters&) override {}
  void confirm() override {}
  void refuse(std::uint16_t, ByteView) override {}
  void disconnect() override {}
  void fail() override { state_ = rdma::QpState::error; }

  void to_ready_to_receive(const PathFacts& settled) override {
    note("rtr");
    path = settled;
    state_ = rdma::QpState::ready_to_receive;
  }
  void to_ready_to_send(const PathFacts& settled) override {
    note("rts");
    path = settled;
    state_ = rdma::QpState::ready_to_send;
  }
  void to_error() override {
    note("error");
    state_ = rdma::QpState::error;
  }
  void established(const rdma::ConnectionFacts& said) override {
    note("established");
    facts = said;
    private_data.assign(said.private_data.begin(), said.private_data.end());
    facts.private_data = private_data;
  }
  void accepted(const rdma::ConnectionFacts& said) override {
    note("accepted");
    facts = said;
    private_data.assign(said.private_data.begin(), said.private_data.end());
    facts.private_data = private_data;
  }
  void rejected(std::uint16_t why, ByteView data) override {
    note("rejected:" + std::to_string(why));
    private_data.assign(data.begin(), data.end());
  }
  void unreachable() override { note("unreachable"); }
  void disconnected() override { note("disconnected"); }

  bool was(std::string_view what) const { return (log + " ").find(std::string(what) + " ") != std::string::npos; }
  void note(const std::string& what) { log += log.empty() ? what : " " + what; }

  std::string log;
  PathFacts path;
  rdma::ConnectionFacts facts;
  Bytes private_data;

 private:
  std::uint32_t number_;
  rdma::QpState state_ = rdma::QpState::init;
};

struct SentMad {
  Instant time;
  IpAddress from;
  IpAddress to;
  cm::Mad mad;
  cm::Attribute attribute() const { return View<cm::MadHeader>{mad.bytes()}.get(cm::mad::attribute); }
  std::uint64_t tid() const { return View<cm::MadHeader>{mad.bytes()}.get(cm::mad::tid); }
  template <class L>
  View<L> as() const {
    return cm::message_of<L>(mad.bytes());
  }
};

struct Fate {
  int copies = 1;
  Duration delay = Duration::us(10);
};

class FakeNode;

/// Carries MADs between nodes after a delay; what goes to nobody is only logged.
class FakeWire {
 public:
  explicit FakeWire(World& world) : world_(world) {}

  void send(const IpAddress& from, const IpAddress& to, ByteView mad) {
    SentMad sent{world_.now(), from, to, {}};
    std::copy(mad.begin(), mad.end(), sent.mad.mutable_bytes().begin());
    const Fate fate = decide ? decide(log.size(), sent) : Fate{};
    if (keep_log) log.push_back(sent);
    for (int copy = 0; copy < fate.copies; ++copy) {
      flights_.push_back(std::make_unique<Flight>(*this, sent));
      world_.loop().schedule_after(*flights_.back(), fate.delay * (copy + 1));
    }
  }
  void add(FakeNode& node);
  void remove(FakeNode& node);

  /// The fate of the n-th message of the run.
  std::function<Fate(std::size_t, const SentMad&)> decide;
  std::vector<SentMad> log;
  bool keep_log = true;

  std::size_t count(cm::Attribute attribute) const {
    std::size_t n = 0;
    for (const SentMad& sent : log) n += sent.attribute() == attribute ? 1 : 0;
    return n;
  }
  const SentMad& last() const {
    BENCH_ASSERT(!log.empty(), "nothing was sent");
    return log.back();
  }
  /// "REQ REP RTU": the names of everything sent, in order.
  std::string names() const {
    std::string out;
    for (const SentMad& sent : log) {
      out += out.empty() ? "" : " ";
      out += cm::name_of(sent.attribute());
    }
    return out;
  }

 private:
  class Flight final : public Event {
   public:
    Flight(FakeWire& wire, const SentMad& sent) : Event("fake.wire"), wire_(wire), sent_(sent) {}

   private:
    void fire() override;
    FakeWire& wire_;
    SentMad sent_;
  };
  World& world_;
  std::map<IpAddress, FakeNode*> nodes_;
  std::list<std::unique_ptr<Flight>> flights_;
};

/// One device: services below, a connection manager on top, and a listener that does what it is told.
class FakeNode final : public CmServices, public rdma::ListenHandler {
 public:
  FakeNode(World& world, FakeWire& wire, std::string name, IpAddress address, const CmOptions& options = {}, SoftHooks* hooks = nullptr)
      : world_(world),
        wire_(wire),
        name_(std::move(name)),
        address_(address),
        random_(world.stream(name_)),
        hooks_(hooks == nullptr ? &honest_ : hooks),
        guid_(random_.next()) {
    cm = std::make_unique<ConnectionManager>(*this, options);
    wire_.add(*this);
  }
  ~FakeNode() {
    wire_.remove(*this);
    pending.clear();
    cm.reset();
  }

  // CmServices
  void send_mad(const IpAddress& to, ByteView mad256) override { wire_.send(address_, to, mad256); }
  IpAddress address() const override { return address_; }
  std::uint8_t mtu_code() const override { return mtu; }
  World& world() override { return world_; }
  std::uint64_t ca_guid() const override { return guid_; }
  std::uint32_t random_psn() override { return static_cast<std::uint32_t>(random_.next() & 0xFFFFFF); }
  rdma::DeviceLimits limits() const override { return device_limits; }
  SoftHooks& hooks() override { return *hooks_; }
  std::string_view name() const override { return name_; }
  CmQueuePair& queue_pair_of(rdma::QueuePair& qp) override { return static_cast<FakeQp&>(qp); }

  FakeQp& new_qp() {
    qps.push_back(std::make_unique<FakeQp>(next_qpn++));
    return *qps.back();
  }
  FakeQp& connect(const IpAddress& to, const rdma::ConnectionParameters& parameters = {}, std::uint16_t port = 4420) {
    FakeQp& qp = new_qp();
    cm->connect(qp, {to, port}, parameters);
    return qp;
  }
  void listen(std::uint16_t port = 4420) {
    auto made = cm->listen(port, *this);
    BENCH_ASSERT(made.ok(), "the port is free");
    listeners.push_back(std::move(made).value());
  }

  // rdma::ListenHandler
  enum class Manner { accept, reject, keep };
  void on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) override {
    ++requests;
    last_request = request->facts();
    request_data.assign(last_request.private_data.begin(), last_request.private_data.end());
    if (manner == Manner::accept) {
      request->accept(new_qp(), answer);
    } else if (manner == Manner::reject) {
      request->reject(28, reject_data);
    } else {
      pending.push_back(std::move(request));
    }
  }

  Manner manner = Manner::accept;
  rdma::ConnectionParameters answer;
  Bytes reject_data = {0, 0, 4, 0};
  int requests = 0;
  rdma::ConnectionFacts last_request;
  Bytes request_data;
  std::vector<std::unique_ptr<rdma::ConnectionRequest>> pending;
  std::vector<std::unique_ptr<rdma::Listener>> listeners;
  std::vector<std::unique_ptr<FakeQp>> qps;
  std::uint32_t next_qpn = 0x11;
  std::uint8_t mtu = 5;
  rdma::DeviceLimits device_limits;
  std::unique_ptr<ConnectionManager> cm;

 private:
  World& world_;
  FakeWire& wire_;
  std::string name_;
  IpAddress address_;
  Rng random_;
  SoftHooks honest_;
  SoftHooks* hooks_;
  std::uint64_t guid_;
};

inline void FakeWire::add(FakeNode& node) { nodes_[node.address()] = &node; }
inline void FakeWire::remove(FakeNode& node) { nodes_.erase(node.address()); }

inline void FakeWire::Flight::fire() {
  const auto node = wire_.nodes_.find(sent_.to);
  const SentMad sent = sent_;
  FakeWire& wire = wire_;
  wire.flights_.remove_if([this](const auto& flight) { return flight.get() == this; });
  if (node != wire.nodes_.end()) {
    node->second->cm->on_mad({sent.from, kRocePort}, sent.to, sent.mad.bytes());
  }
}

inline const IpAddress kHostAddress = IpAddress::v4(10, 0, 0, 1);
inline const IpAddress kTargetAddress = IpAddress::v4(10, 0, 0, 2);
/// Nobody's address but the tests': MADs to it only reach the wire's log.
inline const IpAddress kRawAddress = IpAddress::v4(10, 0, 0, 9);

/// A REQ as a well-behaved raw peer sends it to `to`. The tests change what they are about.
struct RawReq {
  explicit RawReq(const IpAddress& to, const IpAddress& from = kRawAddress, std::uint32_t comm_id = 0x5000, std::uint32_t qpn = 0x700,
                  std::uint16_t port = 4420)
      : mad(cm::Attribute::req, 0xABCD000000000000u + comm_id) {
    namespace ip = cm::ip_header;
    namespace req = cm::req;
    Record<cm::IpHeader> header;
    header.set(ip::ip_version, from.is_v4() ? 4 : 6).set(ip::source_port, 40000);
    header.set(ip::source, cm::ip_header_form(from)).set(ip::destination, cm::ip_header_form(to));
    Bytes data{header.bytes().begin(), header.bytes().end()};
    data.push_back(0x77);
    mad.message<cm::Req>()
        .set(req::local_comm_id, comm_id)
        .set(req::service_id, cm::service_id_of(port))
        .set(req::local_ca_guid, std::uint64_t{0x1122334455667788})
        .set(req::local_qpn, qpn)
        .set(req::responder_resources, 16)
        .set(req::initiator_depth, 4)
        .set(req::remote_cm_timeout, 20)
        .set(req::starting_psn, 0xFFFFF0)
        .set(req::local_cm_timeout, 18)
        .set(req::retry_count, 5)
        .set(req::pkey, 0xFFFF)
        .set(req::path_mtu, 3)
        .set(req::rnr_retry_count, 6)
        .set(req::max_cm_retries, 3)
        .set(req::primary_local_gid, from.bytes())
        .set(req::primary_remote_gid, to.bytes())
        .set(req::primary_hop_limit, 64)
        .set(req::primary_ack_timeout, 14)
        .set(req::private_data, data);
  }
  template <class F, class V>
  RawReq& set(const F& field, const V& value) {
    mad.message<cm::Req>().set(field, value);
    return *this;
  }
  /// Changes byte `at` of the IP header.
  RawReq& ip_byte(std::size_t at, std::uint8_t value) {
    mad.mutable_bytes()[cm::kMadHeaderBytes + 140 + at] = value;
    return *this;
  }
  cm::Mad mad;
};

inline void deliver(FakeNode& node, const cm::Mad& mad, const IpAddress& from = kRawAddress) {
  node.cm->on_mad({from, kRocePort}, node.address(), mad.bytes());
}

}  // namespace fb::softroce::test
