#include "conformance/runner/raw_tcp.h"

#include <algorithm>

#include "conformance/runner/waits.h"
#include "wire/nvme/sgl.h"

namespace fb::conformance {

namespace {

namespace flag = tcp::pdu_flags;
using tcp::PduType;

/// A PDU that claims more than this is not waited for: nothing that the bench asks for is as long.
constexpr std::size_t kPduMax = 16u << 20;
/// Nor is a product heard out that sends PDUs without end.
constexpr std::size_t kUnreadMax = 1u << 16;
/// How long a sender of a TermReq may leave the connection open (30 s), and a little more.
constexpr Duration kTermReqLinger = Duration::s(35);
/// In real time: how long is looked for what must not come after a TermReq.
constexpr Duration kAfterTermReq = Duration::ms(100);
/// In real time: longest wait for the TermReq that answers a PDU, and for one of a product that has taken the PDU for a good one.
constexpr Duration kTermReqPatience = Duration::s(5);
constexpr Duration kTermReqAfterAnswer = Duration::s(1);

bool is_term_req(const SeenPdu& pdu) { return pdu.is(PduType::c2h_term_req) || pdu.is(PduType::h2c_term_req); }

}  // namespace

// ---- SeenPdu ----

ByteView SeenPdu::data() const {
  const std::size_t tail = has(flag::ddgstf) ? tcp::kDigestBytes : 0;
  if (pdo() == 0 || pdo() + tail > bytes.size()) return {};
  return ByteView(bytes).subspan(pdo(), bytes.size() - tail - pdo());
}

bool SeenPdu::header_digest_good() const {
  if (!has(flag::hdgstf)) return true;
  if (hlen() + tcp::kDigestBytes > bytes.size()) return false;
  return load_le<std::uint32_t>(&bytes[hlen()]) == tcp::crc32c(ByteView(bytes).first(hlen()));
}

bool SeenPdu::data_digest_good() const {
  if (!has(flag::ddgstf)) return true;
  const ByteView covered = data();
  return !covered.empty() && load_le<std::uint32_t>(&bytes[bytes.size() - tcp::kDigestBytes]) == tcp::crc32c(covered);
}

// ---- RawTcp ----

RawTcp::RawTcp(World& world, net::StreamHost& host, const IpAddress& local) : world_(world), host_(host), local_(local) {}

RawTcp::~RawTcp() = default;

void RawTcp::connect(const Endpoint& to) {
  auto made = host_.connect({local_, 0}, to, *this);
  if (!made) throw CannotArrange{made.error().text};
  stream_ = std::move(made).value();
  waits::until(
      world_, [&] { return connected_ || closed_; }, kPatience);
  if (!connected_) throw CannotArrange{"no TCP connection to " + to_string(to) + ": " + why_};
}

Record<tcp::IcReq> RawTcp::ic_req() {
  Record<tcp::IcReq> request;
  request.set(tcp::pdu::type, PduType::ic_req);
  return request;
}

void RawTcp::greet(const Endpoint& to, const Record<tcp::IcReq>& request) {
  connect(to);
  send(request);
  const auto answer = next(PduType::ic_resp);
  if (!answer) throw CannotArrange{"no ICResp after a good ICReq: " + instead()};
  greeting_ = Record<tcp::IcResp>{answer->bytes};
  header_digest_ = greeting_.get(tcp::ic_resp::hdgst_enable);
  data_digest_ = greeting_.get(tcp::ic_resp::ddgst_enable);
  alignment_ = tcp::alignment_of(std::min(greeting_.get(tcp::ic_resp::cpda), tcp::kAlignmentMax));
}

void RawTcp::send(ByteView bytes) {
  if (stream_ == nullptr || closed_) return;
  seen_before_ = seen_.size();
  unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
  on_writable();
}

void RawTcp::on_writable() {
  if (unsent_.empty() || closed_) return;
  const ByteView all = unsent_;
  const std::size_t sent = stream_->send({&all, 1});
  unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(sent));
}

Bytes RawTcp::build(ByteView header, ByteView data) const {
  const tcp::PduShape* shape = tcp::shape_of(header[0]);
  const bool digests = shape == nullptr || shape->digests;
  return tcp::build_pdu(header, data, digests && header_digest_, digests && data_digest_, alignment_);
}

Record<tcp::CapsuleCmd> RawTcp::capsule(ByteView sqe) {
  Record<tcp::CapsuleCmd> header;
  header.set(tcp::pdu::type, PduType::capsule_cmd).set(tcp::capsule_cmd::sqe, sqe);
  return header;
}

void RawTcp::send_command(const nvme::Sqe& sqe, ByteView in_capsule) { send(capsule(sqe.bytes()), in_capsule); }

void RawTcp::send_connect(const host::ConnectCommand& command, std::uint16_t cid) {
  nvme::Sqe sqe = host::as_sqe(command.sqe);
  constexpr std::size_t kSgl = 24;
  const auto sgl = nvme::SglDescriptor::in_capsule(0, fabrics::ConnectData::size).bytes();
  std::copy(sgl.begin(), sgl.end(), sqe.mutable_bytes().begin() + kSgl);
  sqe.set(nvme::sqe::cid, cid);
  send_command(sqe, command.data.bytes());
}

std::optional<nvme::Cqe> RawTcp::completion(std::uint16_t cid, Duration limit) {
  const Instant end = world_.now() + limit;
  for (;;) {
    const auto pdu = next(end - world_.now());
    if (!pdu || is_term_req(*pdu)) return std::nullopt;
    if (pdu->is(PduType::capsule_resp)) {
      const nvme::Cqe cqe{ByteView(pdu->bytes).subspan(tcp::kCommonHeaderBytes)};
      if (cqe.get(nvme::cqe::cid) == cid) return cqe;
    } else if (pdu->is(PduType::c2h_data) && pdu->has(flag::success) && pdu->as<tcp::DataPdu>().get(tcp::data_pdu::cccid) == cid) {
      nvme::Cqe cqe;
      cqe.set(nvme::cqe::cid, cid);
      return cqe;
    }
  }
}

nvme::Cqe RawTcp::needed_response(std::uint16_t cid, std::string_view what) {
  const auto cqe = completion(cid);
  if (!cqe) throw CannotArrange{std::string(what) + " was not answered: " + instead()};
  // What is needed are Connect and the Property commands.
  const nvme::Status status = cqe->get(nvme::cqe::status).of(nvme::StatusFamily::fabrics);
  if (!status.ok()) throw CannotArrange{std::string(what) + " answered " + nvme::to_string(status)};
  return *cqe;
}

std::string RawTcp::instead() const {
  const auto since = seen_.begin() + static_cast<std::ptrdiff_t>(seen_before_);
  for (auto pdu = since; pdu != seen_.end(); ++pdu) {
    if (!is_term_req(*pdu)) continue;
    if (pdu->bytes.size() < tcp::TermReq::size) return pdu->text();
    const auto term = pdu->as<tcp::TermReq>();
    return text_of({term.get(tcp::term_req::fes), term.get(tcp::term_req::fei)}, static_cast<PduType>(pdu->type()));
  }
  if (closed_) return "the connection ended";
  if (since == seen_.end()) return "silence";
  return "silence after " + tcp::describe_pdu(seen_.back().bytes);
}

void RawTcp::on_readable() {
  std::uint8_t room[16384];
  for (;;) {
    const MutableBytes part(room);
    const std::size_t got = stream_->receive({&part, 1});
    incoming_.insert(incoming_.end(), room, room + got);
    cut();
    if (seen_.size() - taken_ > kUnreadMax) {
      closed_ = true;
      why_ = "PDUs without end that nobody asked for";
    }
    if (got < sizeof room || closed_) break;
  }
  if (stream_->finished()) closed_ = true;
}

/// Takes whole PDUs from the front of what has come. What cannot be a PDU stays, and is never one.
void RawTcp::cut() {
  std::size_t at = 0;
  while (incoming_.size() - at >= tcp::kCommonHeaderBytes) {
    const View<tcp::CommonHeader> common{ByteView(incoming_).subspan(at)};
    const std::size_t plen = common.get(tcp::pdu::plen);
    const tcp::PduShape* shape = tcp::shape_of(incoming_[at]);
    const std::size_t least = shape != nullptr ? shape->hlen : tcp::kCommonHeaderBytes;
    if (plen < least || plen > kPduMax) {
      closed_ = true;
      why_ = "a PDU that cannot be: " + tcp::describe_pdu(ByteView(incoming_).subspan(at));
      break;
    }
    if (incoming_.size() - at < plen) break;
    const auto begin = incoming_.begin() + static_cast<std::ptrdiff_t>(at);
    seen_.push_back({world_.now(), Bytes(begin, begin + static_cast<std::ptrdiff_t>(plen))});
    at += plen;
  }
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(at));
}

void RawTcp::on_end(const net::StreamEnd& end) {
  closed_ = true;
  why_ = end.text;
}

std::optional<SeenPdu> RawTcp::next(Duration limit) {
  waits::until(
      world_, [&] { return taken_ < seen_.size() || closed_; }, limit);
  if (taken_ == seen_.size()) return std::nullopt;
  return seen_[taken_++];
}

std::optional<SeenPdu> RawTcp::next(PduType type, Duration limit) {
  const Instant end = world_.now() + limit;
  for (;;) {
    auto pdu = next(end - world_.now());
    if (!pdu || pdu->is(type)) return pdu;
    if (is_term_req(*pdu)) return std::nullopt;
  }
}

bool RawTcp::wait_closed(Duration limit) {
  waits::until(
      world_, [&] { return closed_; }, limit);
  return closed_;
}

void RawTcp::finish() {
  if (stream_ != nullptr && !closed_) stream_->finish();
}

void RawTcp::close() {
  closed_ = true;
  stream_.reset();
}

// ---- verdicts ----

std::string text_of(const Fatal& fatal, PduType term_req) {
  const bool by_host = term_req == PduType::h2c_term_req;
  std::string text = std::string(by_host ? "H2C" : "C2H") + "TermReq FES " + std::to_string(static_cast<unsigned>(fatal.fes)) + " (" +
                     tcp::name_of(fatal.fes, by_host) + ")";
  if (fatal.fei) text += " FEI " + std::to_string(*fatal.fei);
  return text;
}

void judge_term_req(Check& check, const std::string& what, const SeenPdu& term, const std::vector<Fatal>& allowed,
                    const std::vector<std::string>& expected) {
  if (term.bytes.size() < tcp::TermReq::size) return check.fails(what, expected, term.text());
  const auto view = term.as<tcp::TermReq>();
  const Fatal got{view.get(tcp::term_req::fes), view.get(tcp::term_req::fei)};
  const bool legal =
      std::any_of(allowed.begin(), allowed.end(), [&](const Fatal& one) { return one.fes == got.fes && (!one.fei || one.fei == got.fei); });
  if (!legal) return check.fails(what, expected, text_of(got, static_cast<PduType>(term.type())));
  check.that(true, what);
}

namespace {

/// The C2HTermReq that answers what was sent last.
std::optional<SeenPdu> next_term_req(RawTcp& raw) {
  World& world = raw.world();
  const bool real = world.real_loop() != nullptr;
  Instant end = world.now() + (real ? kTermReqPatience : RawTcp::kPatience);
  for (;;) {
    auto pdu = raw.next(end - world.now());
    if (!pdu || pdu->is(PduType::c2h_term_req)) return pdu;
    if (real && pdu->is(PduType::capsule_resp)) end = std::min(end, world.now() + kTermReqAfterAnswer);
  }
}

}  // namespace

void expect_fatal(Check& check, RawTcp& raw, std::string_view after, const std::vector<Fatal>& allowed, ByteView offending) {
  const std::string what = "answer to " + std::string(after);
  std::vector<std::string> expected;
  for (const Fatal& one : allowed) expected.push_back(text_of(one, PduType::c2h_term_req));
  // Rows of one case break one rule: a real product that fails one is not made to wait for the others.
  const bool real = raw.world().real_loop() != nullptr;
  const auto term = next_term_req(raw);
  if (!term) {
    check.fails(what, expected, raw.closed() ? "connection closed without C2HTermReq" : raw.instead());
    if (real) throw LeaveCase{};
    return;
  }
  judge_term_req(check, what, *term, allowed, expected);
  check.that(term->bytes.size() <= tcp::kTermReqMax, "a C2HTermReq has at most 152 bytes", std::to_string(term->bytes.size()) + " bytes");
  if (!offending.empty()) {
    const ByteView copy = ByteView(term->bytes).subspan(tcp::TermReq::size);
    const std::size_t least = std::min<std::size_t>(copy.size(), tcp::kCommonHeaderBytes);
    check.that(!copy.empty(), "a C2HTermReq holds the header of the PDU that was wrong", "no data");
    check.bytes("header in the C2HTermReq", copy.first(least), offending.first(least));
  }
  const std::size_t before = raw.seen().size();
  // The receiver of a TermReq ends the connection, and its sender may leave it open for 30 seconds. To wait for that costs
  // nothing in a virtual world; with a real product a run would consist of it.
  raw.finish();
  const bool closed = raw.wait_closed(real ? kAfterTermReq : kTermReqLinger);
  if (!real) check.that(closed, "the connection ends after a C2HTermReq", "it stays open");
  // What arrives is no longer processed. A command that was complete may still have its data and its response.
  const auto others = std::count_if(raw.seen().begin() + static_cast<std::ptrdiff_t>(before), raw.seen().end(),
                                    [](const SeenPdu& pdu) { return !pdu.is(PduType::c2h_data) && !pdu.is(PduType::capsule_resp); });
  check.equal("PDUs after the C2HTermReq", static_cast<std::size_t>(others), std::size_t{0});
  raw.close();
  if (real && check.verdict() == Verdict::fail) throw LeaveCase{};
}

}  // namespace fb::conformance
