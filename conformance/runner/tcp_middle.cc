#include "conformance/runner/tcp_middle.h"

#include <algorithm>
#include <utility>

#include "conformance/runner/environment.h"
#include "wire/fabrics/connect.h"

namespace fb::conformance {

namespace {

using tcp::PduType;
namespace cs = fabrics::connect_sqe;

constexpr std::size_t kPduMax = 16u << 20;
constexpr Duration kBetweenBytes = Duration::us(50);
constexpr std::uint8_t kFabrics = 0x7F, kConnect = 0x01;

/// How long the receiver of an H2CTermReq may leave the connection open, and a bit.
constexpr Duration kFarewell = Duration::s(35);

}  // namespace

/// One of the two streams of a connection.
class TcpMiddle::Connection::Leg final : public net::StreamHandler {
 public:
  Leg(Connection& connection, World& world) : connection_(connection), world_(world) {}

  void take(std::unique_ptr<net::Stream> stream, bool open) {
    stream_ = std::move(stream);
    open_ = open;
    stream_->set_handler(this);
  }
  void connect(net::StreamHost& host, const IpAddress& local, const Endpoint& to) {
    auto made = host.connect({local, 0}, to, *this);
    if (!made) throw UserError(made.error().text);
    stream_ = std::move(made).value();
  }
  void send(ByteView bytes) {
    unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
    on_writable();
  }
  void finish() {
    finishing_ = true;
    on_writable();
  }
  void reset() {
    if (stream_ && !over_) stream_->abort();
    over_ = true;
  }
  void dribble() { slow_ = true; }
  bool over() const { return over_; }

 private:
  void on_connected() override {
    open_ = true;
    on_writable();
  }
  void on_flush() override {}
  void on_readable() override {
    std::uint8_t room[16384];
    for (;;) {
      const MutableBytes part(room);
      const std::size_t got = stream_->receive({&part, 1});
      incoming_.insert(incoming_.end(), room, room + got);
      if (got < sizeof room) break;
    }
    cut();
    if (stream_->finished() && !over_) {
      over_ = true;
      connection_.over(*this, false);
    }
  }
  void on_writable() override {
    if (!open_ || over_ || drip_.scheduled()) return;
    if (!unsent_.empty()) {
      const ByteView all = slow_ ? ByteView(unsent_).first(drop()) : ByteView(unsent_);
      const std::size_t sent = stream_->send({&all, 1});
      unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(sent));
    }
    if (!unsent_.empty()) {
      if (slow_) world_.loop().schedule_after(drip_, kBetweenBytes);
      return;
    }
    if (finishing_ && !std::exchange(finished_, true)) stream_->finish();
  }
  void on_end(const net::StreamEnd&) override {
    if (over_) return;
    over_ = true;
    connection_.over(*this, true);
  }
  /// Passes whole PDUs on. What cannot be a PDU goes no further.
  void cut() {
    std::size_t at = 0;
    while (incoming_.size() - at >= tcp::kCommonHeaderBytes) {
      const View<tcp::CommonHeader> common{ByteView(incoming_).subspan(at)};
      const std::size_t plen = common.get(tcp::pdu::plen);
      if (plen < tcp::kCommonHeaderBytes || plen > kPduMax || incoming_.size() - at < plen) break;
      const auto begin = incoming_.begin() + static_cast<std::ptrdiff_t>(at);
      Bytes pdu(begin, begin + static_cast<std::ptrdiff_t>(plen));
      at += plen;
      this == connection_.host_.get() ? connection_.from_host(std::move(pdu)) : connection_.from_controller(std::move(pdu));
    }
    incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void drip() { on_writable(); }
  /// A byte; of much, in real time, pieces of no even size, since a host waits for no page that takes seconds.
  std::size_t drop() const {
    constexpr std::size_t kMuch = 256, kPiece = 61;
    return world_.real_loop() != nullptr && unsent_.size() > kMuch ? kPiece : 1;
  }

  Connection& connection_;
  World& world_;
  std::unique_ptr<net::Stream> stream_;
  bool open_ = false;
  bool over_ = false;
  bool slow_ = false;
  bool finishing_ = false;
  bool finished_ = false;
  Bytes unsent_;
  Bytes incoming_;
  Timer<Leg, &Leg::drip> drip_{"bench.tcp.drip", *this};
};

// ---- all connections ----

TcpMiddle::TcpMiddle(World& world, net::StreamHost& host, const Endpoint& local, const Endpoint& controller)
    : world_(world), host_(host), local_(local.address), controller_(controller) {
  auto listening = host.listen(local, *this);
  if (!listening) throw UserError(listening.error().text);
  listener_ = std::move(listening).value();
}

TcpMiddle::~TcpMiddle() = default;

void TcpMiddle::on_stream(std::unique_ptr<net::Stream> stream) {
  connections_.push_back(std::make_unique<Connection>(*this, std::move(stream), connections_.size()));
}

TcpMiddle::Connection* TcpMiddle::of_queue(std::uint16_t qid) const {
  for (auto one = connections_.rbegin(); one != connections_.rend(); ++one) {
    if ((*one)->qid() == qid) return one->get();
  }
  return nullptr;
}

// ---- one connection ----

TcpMiddle::Connection::Connection(TcpMiddle& middle, std::unique_ptr<net::Stream> host, std::size_t number)
    : middle_(middle),
      number_(number),
      host_(std::make_unique<Leg>(*this, middle.world_)),
      controller_(std::make_unique<Leg>(*this, middle.world_)) {
  controller_->connect(middle.host_, middle.local_, middle.controller_);
  host_->take(std::move(host), true);
}

TcpMiddle::Connection::~Connection() = default;

bool TcpMiddle::Connection::ended() const { return host_->over(); }

std::size_t TcpMiddle::Connection::count(PduType type) const {
  return static_cast<std::size_t>(std::count_if(said_.begin(), said_.end(), [&](const SeenPdu& pdu) { return pdu.is(type); }));
}

void TcpMiddle::Connection::say(ByteView bytes) { host_->send(bytes); }
void TcpMiddle::Connection::dribble() { host_->dribble(); }
void TcpMiddle::Connection::finish() { host_->finish(); }
void TcpMiddle::Connection::reset() {
  cut_off_ = true;
  host_->reset();
}

Bytes TcpMiddle::Connection::response(std::uint16_t cid) const {
  nvme::Cqe cqe;
  cqe.set(nvme::cqe::cid, cid);
  cqe.set(nvme::cqe::sqhd, static_cast<std::uint16_t>(capsules_ % entries_));
  if (qid_) cqe.set(nvme::cqe::sqid, *qid_);
  Record<tcp::CapsuleResp> response;
  response.set(tcp::pdu::type, PduType::capsule_resp).set(tcp::capsule_resp::cqe, cqe.bytes());
  return build(response);
}

void TcpMiddle::Connection::learn(const SeenPdu& pdu) {
  if (pdu.is(PduType::ic_req) && pdu.bytes.size() >= tcp::IcReq::size) {
    ic_req_ = Record<tcp::IcReq>{ByteView(pdu.bytes).first(tcp::IcReq::size)};
  }
  if (!pdu.is(PduType::capsule_cmd) || pdu.bytes.size() < tcp::CapsuleCmd::size) return;
  ++capsules_;
  const ByteView sqe = pdu.as<tcp::CapsuleCmd>().get(tcp::capsule_cmd::sqe);
  if (qid_ || sqe[0] != kFabrics || sqe[4] != kConnect) return;
  const View<fabrics::ConnectSqe> connect{sqe};
  qid_ = connect.get(cs::qid);
  cattr_ = connect.get(cs::cattr);
  entries_ = load_le<std::uint16_t>(&sqe[44]) + 1u;  // SQSIZE
}

void TcpMiddle::Connection::from_host(Bytes pdu) {
  said_.push_back({middle_.world_.now(), pdu});
  learn(said_.back());
  if (cut_off_) return;
  std::vector<Bytes> pdus{std::move(pdu)};
  if (middle_.to_controller) middle_.to_controller(*this, pdus);
  for (const Bytes& one : pdus) controller_->send(one);
}

void TcpMiddle::Connection::from_controller(Bytes pdu) {
  if (cut_off_) return;
  std::vector<Bytes> pdus{std::move(pdu)};
  if (middle_.to_host) middle_.to_host(*this, pdus);
  for (const Bytes& one : pdus) {
    if (one.size() >= tcp::IcResp::size && one[0] == static_cast<std::uint8_t>(PduType::ic_resp)) {
      ic_resp_ = Record<tcp::IcResp>{ByteView(one).first(tcp::IcResp::size)};
    }
    host_->send(one);
  }
}

void TcpMiddle::Connection::over(Leg& leg, bool reset) {
  if (cut_off_) return;
  Leg& other = &leg == host_.get() ? *controller_ : *host_;
  reset ? other.reset() : other.finish();
}

// ---- verdicts ----

void expect_host_ends(Check& check, TcpMiddle::Connection& connection, World& world, std::string_view after,
                      const std::vector<Fatal>& allowed, Silence silence) {
  const std::string what = "answer to " + std::string(after);
  std::vector<std::string> expected;
  for (const Fatal& one : allowed) expected.push_back(text_of(one, PduType::h2c_term_req));
  if (silence == Silence::allowed) expected.push_back("the end of the connection");
  world.run_until([&] { return connection.ended() || connection.count(PduType::h2c_term_req) > 0; }, RawTcp::kPatience);
  const auto& said = connection.said();
  const auto term = std::find_if(said.begin(), said.end(), [](const SeenPdu& pdu) { return pdu.is(PduType::h2c_term_req); });
  if (term == said.end()) {
    if (!connection.ended()) return check.fails(what, expected, "the host goes on");
    if (silence == Silence::forbidden) return check.fails(what, expected, "the connection ends without an H2CTermReq");
    check.that(true, what);
    return;
  }
  judge_term_req(check, what, *term, allowed, expected);
  // The receiver of a TermReq ends the connection, and its sender does when that takes too long.
  connection.finish();
  world.run_until([&] { return connection.ended(); }, kFarewell);
  check.that(connection.ended(), "the connection ends after an H2CTermReq", "it stays open");
}

}  // namespace fb::conformance
