#include "model/transport/tcp_link.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "model/transport/rdma_rules.h"

namespace fb::transport {

namespace {

namespace flag = tcp::pdu_flags;
using net::StreamEnd;

constexpr std::size_t kScratchBytes = 256 * 1024;
/// What a turn sends leaves at its end with as few calls as possible, but of a controller's copies not more
/// than this at a time: the kernel takes them while they are still in a core's cache. A host's data lies
/// where it has long been, and a host's owner must not hear on_sent() in the middle of the PDUs of an R2T.
constexpr std::size_t kFlushBytes = 256 * 1024;
/// Items that have left are forgotten together.
constexpr std::size_t kItemsKept = 1024;
constexpr Duration kLinger = Duration::s(30);
constexpr std::size_t kLingererMax = 256;
/// Most bytes that are kept for a peer that does not read them.
constexpr std::size_t kFarewellMost = 1 << 20;
constexpr std::uint32_t kOwned = 0xFFFFFFFF;  ///< the cookie of items whose bytes are in owned_

Bytes make_term_req(TcpSide side, const PduFault& fault, ByteView offending) {
  Record<tcp::TermReq> header;
  header.set(tcp::pdu::type, side == TcpSide::host ? tcp::PduType::h2c_term_req : tcp::PduType::c2h_term_req)
      .set(tcp::pdu::hlen, tcp::TermReq::size)
      .set(tcp::term_req::fes, fault.fes)
      .set(tcp::term_req::fei, fault.fei);
  const ByteView copy = offending.first(std::min(offending.size(), tcp::kTermReqMax - tcp::TermReq::size));
  header.set(tcp::pdu::plen, tcp::TermReq::size + copy.size());
  Bytes made(header.bytes().begin(), header.bytes().end());
  made.insert(made.end(), copy.begin(), copy.end());
  return made;
}

}  // namespace

// ---- what connections share ----

/// A stream that is over for its owner.
class TcpShared::Lingerer final : net::StreamHandler {
 public:
  Lingerer(TcpShared& shared, std::unique_ptr<net::Stream> stream, Bytes last)
      : shared_(shared), stream_(std::move(stream)), last_(std::move(last)) {
    stream_->set_handler(this);
    shared_.world.loop().schedule_after(limit_, kLinger);
    on_writable();
  }
  bool over() const { return over_; }
  void start() { on_readable(); }

 private:
  void on_connected() override {}
  void on_flush() override {}
  void on_writable() override {
    if (finished_) return;
    const ByteView rest = ByteView(last_).subspan(sent_);
    if (!rest.empty()) sent_ += stream_->send({&rest, 1});
    if (sent_ < last_.size()) return;
    finished_ = true;
    stream_->finish();
  }
  void on_readable() override {
    if (over_) return;
    const MutableBytes scratch = shared_.scratch();
    // Who sends without end is not heard out.
    constexpr unsigned kRoundsMost = 1024;
    unsigned rounds = 0;
    while (rounds < kRoundsMost && stream_->receive({&scratch, 1}) == scratch.size()) ++rounds;
    if (stream_->finished() || rounds == kRoundsMost) end();
  }
  void on_end(const StreamEnd&) override { end(); }
  void end() {
    if (over_) return;
    over_ = true;
    if (!shared_.reap_.scheduled()) shared_.world.loop().schedule_after(shared_.reap_, Duration());
  }

  TcpShared& shared_;
  std::unique_ptr<net::Stream> stream_;
  Bytes last_;
  std::size_t sent_ = 0;
  bool finished_ = false;
  bool over_ = false;
  Timer<Lingerer, &Lingerer::end> limit_{"transport.tcp.linger", *this};
};

TcpShared::TcpShared(World& the_world, TransportHooks* the_hooks) : world(the_world), hooks(the_hooks) {}

TcpShared::~TcpShared() = default;

MutableBytes TcpShared::scratch() {
  if (scratch_.empty()) scratch_.resize(kScratchBytes);
  return scratch_;
}

void TcpShared::linger(std::unique_ptr<net::Stream> stream, Bytes last) {
  // Whoever makes us part in anger more often than this loses the oldest farewells.
  if (lingering_.size() >= kLingererMax) lingering_.erase(lingering_.begin());
  lingering_.push_back(std::make_unique<Lingerer>(*this, std::move(stream), std::move(last)));
  lingering_.back()->start();
}

void TcpShared::reap() {
  std::erase_if(lingering_, [](const auto& one) { return one->over(); });
}

// ---- one connection ----

TcpLink::TcpLink(TcpShared& shared, TcpSide side, TcpLinkOwner& owner) : shared_(shared), side_(side), owner_(owner), receiver_(side) {}

TcpLink::~TcpLink() = default;

void TcpLink::start(std::unique_ptr<net::Stream> stream) {
  stream_ = std::move(stream);
  peer_ = stream_->peer();
  local_ = stream_->local();
  identity_ = stream_->identity();
  stream_->set_handler(this);
}

void TcpLink::set_digests(bool header, bool data) {
  header_digest_ = header;
  data_digest_ = data;
  receiver_.set_digests(header, data);
}

void TcpLink::set_alignment(std::size_t out, std::size_t in) {
  alignment_out_ = out;
  receiver_.set_alignment(in);
}

void TcpLink::trace(std::string_view text, ByteView pdu) {
  shared_.world.trace().emit({.kind = TraceKind::message,
                              .time = shared_.world.now(),
                              .actor = side_ == TcpSide::host ? "host" : "target",
                              .label = "nvme-tcp.pdu",
                              .text = text,
                              .bytes = pdu,
                              .source = local_,
                              .destination = peer_,
                              .ip = {}});
}

// ---- out ----

TcpLink::Item& TcpLink::add_item() {
  if (first_ == items_.size()) {
    items_.clear();
    first_ = 0;
  } else if (first_ >= kItemsKept) {
    items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  ++shared_.counters.pdus_out;
  return items_.emplace_back();
}

void TcpLink::send(ByteView header, ByteView data, std::uint32_t cookie) {
  if (!open()) return;
  Item& item = add_item();
  std::copy(header.begin(), header.end(), item.head.begin());
  const bool digests = tcp::shape_of(header[0])->digests;
  const bool header_digest = digests && header_digest_;
  const std::size_t head = header.size() + (header_digest ? tcp::kDigestBytes : 0);
  const std::size_t begin = data.empty() ? head : tcp::data_offset(header.size(), header_digest, alignment_out_);
  item.data = data;
  item.cookie = cookie;
  item.has_tail = digests && data_digest_ && !data.empty();
  item.head_bytes = static_cast<std::uint16_t>(begin);
  std::fill(item.head.begin() + static_cast<std::ptrdiff_t>(head), item.head.begin() + static_cast<std::ptrdiff_t>(begin), std::uint8_t{0});
  MutableView<tcp::CommonHeader> common{item.head};
  const unsigned flags = common.get(tcp::pdu::flags) | (header_digest ? flag::hdgstf : 0u) | (item.has_tail ? flag::ddgstf : 0u);
  common.set(tcp::pdu::flags, flags)
      .set(tcp::pdu::hlen, header.size())
      .set(tcp::pdu::pdo, data.empty() ? 0 : begin)
      .set(tcp::pdu::plen, item.size());
  if (header_digest) {
    store_le<std::uint32_t>(&item.head[header.size()], tcp::crc32c(ByteView(item.head).first(header.size())));
  }
  if (item.has_tail) store_le<std::uint32_t>(item.tail.data(), tcp::crc32c(data));
  if (shared_.world.trace().on()) trace("out", ByteView(item.head).first(header.size()));
  if (shared_.hooks != nullptr) depart(item);
  want_flush();
  if (side_ == TcpSide::host) return;
  unflushed_ += data.size();
  if (unflushed_ >= kFlushBytes && !flushing_ && !blocked_) flush();
}

/// Gives the PDU to the hooks, which make of it what they like.
void TcpLink::depart(const Item& item) {
  Bytes whole(item.head.begin(), item.head.begin() + item.head_bytes);
  whole.insert(whole.end(), item.data.begin(), item.data.end());
  if (item.has_tail) whole.insert(whole.end(), item.tail.begin(), item.tail.end());
  std::vector<Bytes> pdus{whole};
  shared_.hooks->pdus_out(qid_, pdus);
  if (pdus.size() == 1 && pdus.front() == whole) return;
  const std::uint32_t cookie = item.cookie;
  items_.pop_back();
  for (Bytes& pdu : pdus) push_bytes(std::move(pdu));
  if (cookie != 0) owner_.on_sent(cookie);  // what leaves now is a copy
}

void TcpLink::send_copy(ByteView header, ByteView data) {
  const bool digests = tcp::shape_of(header[0])->digests;
  send_raw(tcp::build_pdu(header, data, digests && header_digest_, digests && data_digest_, alignment_out_));
}

void TcpLink::send_raw(ByteView bytes) {
  if (!open() || bytes.empty()) return;
  push_bytes(Bytes(bytes.begin(), bytes.end()));
  want_flush();
}

void TcpLink::push_bytes(Bytes bytes) {
  Item& item = add_item();
  owned_.push_back(std::move(bytes));
  item.data = owned_.back();
  item.cookie = kOwned;
}

void TcpLink::want_flush() {
  if (flush_wanted_ || blocked_) return;
  flush_wanted_ = true;
  stream_->request_flush();
}

void TcpLink::on_flush() {
  flush_wanted_ = false;
  if (open()) flush();
}

void TcpLink::on_writable() {
  blocked_ = false;
  if (open()) flush();
}

void TcpLink::flush() {
  const Lifetime::Watch watch(lifetime_);
  flushing_ = true;
  while (!watch.gone() && open() && backlog() && !blocked_) {
    if (!flush_some()) break;
  }
  if (watch.gone()) return;
  flushing_ = false;
  unflushed_ = 0;
  if (!open() || !held_back_ || backlog_pdus() > kBacklogMost / 2) return;
  if (!resume_.scheduled()) shared_.world.loop().schedule_after(resume_, Duration());
}

bool TcpLink::choked() const { return side_ == TcpSide::controller && backlog_pdus() > kBacklogMost; }

/// Lists the parts of the first items that have not left, and counts their bytes.
std::span<const ByteView> TcpLink::gather(std::size_t& total) {
  auto& parts = shared_.parts;
  std::size_t count = 0;
  total = 0;
  const std::size_t end = std::min(items_.size(), first_ + TcpShared::kItemsAtOnce);
  for (std::size_t i = first_; i < end; ++i) {
    const Item& item = items_[i];
    if (item.head_bytes > 0) parts[count++] = {item.head.data(), item.head_bytes};
    if (!item.data.empty()) parts[count++] = item.data;
    if (item.has_tail) parts[count++] = item.tail;
    total += item.size();
  }
  total -= first_sent_;
  std::size_t gone = 0;  // parts of the first item that have left
  for (std::size_t skip = first_sent_; skip > 0;) {
    const std::size_t left_out = std::min(skip, parts[gone].size());
    skip -= left_out;
    parts[gone] = parts[gone].subspan(left_out);
    if (parts[gone].empty()) ++gone;
  }
  return std::span<const ByteView>(parts).subspan(gone, count - gone);
}

bool TcpLink::flush_some() {
  std::size_t total = 0;
  const std::span<const ByteView> parts = gather(total);
  ++shared_.counters.sends;
  const std::size_t sent = stream_->send(parts);
  if (sent < total) blocked_ = true;
  retire(sent);
  return sent == total;
}

/// The owner may destroy this object from on_sent().
void TcpLink::retire(std::size_t sent) {
  const Lifetime::Watch watch(lifetime_);
  first_sent_ += sent;
  while (first_ < items_.size() && first_sent_ >= items_[first_].size()) {
    first_sent_ -= items_[first_].size();
    const std::uint32_t cookie = items_[first_].cookie;
    ++first_;
    if (cookie == kOwned) {
      owned_.pop_front();
    } else if (cookie != 0) {
      owner_.on_sent(cookie);
      if (watch.gone() || !open()) return;
    }
  }
}

/// A copy of what has not left yet: of the PDU that has begun to, or of all.
Bytes TcpLink::unsent(bool whole) {
  Bytes bytes;
  if (!backlog() || (first_sent_ == 0 && !whole)) return bytes;
  std::size_t skip = first_sent_;
  for (std::size_t i = first_; i < (whole ? items_.size() : first_ + 1); ++i) {
    const Item& item = items_[i];
    const auto add = [&](ByteView part) {
      const std::size_t left_out = std::min(skip, part.size());
      skip -= left_out;
      bytes.insert(bytes.end(), part.begin() + static_cast<std::ptrdiff_t>(left_out), part.end());
    };
    add(ByteView(item.head).first(item.head_bytes));
    add(item.data);
    if (item.has_tail) add(item.tail);
  }
  return bytes;
}

// ---- in ----

void TcpLink::on_connected() {
  local_ = stream_->local();
  owner_.on_link_open();
}

void TcpLink::on_readable() {
  const Lifetime::Watch watch(lifetime_);
  const bool& gone = watch.gone();
  const std::uint64_t before = receiver_.pdus();
  std::optional<PduFault> fault;
  held_back_ = false;
  // Whoever sends without end leaves the rest of the world its turn.
  constexpr unsigned kRoundsMost = 64;
  for (unsigned rounds = 0; !gone && open() && !fault; ++rounds) {
    if (rounds == kRoundsMost) {
      if (!resume_.scheduled()) shared_.world.loop().schedule_after(resume_, Duration());
      break;
    }
    if (choked()) {
      held_back_ = true;
      break;
    }
    const auto room = receiver_.room(shared_.scratch());
    std::size_t size = 0;
    for (const MutableBytes& part : room) size += part.size();
    const std::size_t got = stream_->receive(room);
    ++shared_.counters.receives;
    fault = receiver_.took(got, owner_, gone);
    if (gone || got < size) break;
  }
  if (gone) return;
  shared_.counters.pdus_in += receiver_.pdus() - before;
  if (!open()) return;
  if (fault) return fail(*fault);
  if (stream_->finished()) return end({StreamEnd::Kind::reset, "the peer closed the connection"}, nullptr);
  if (!receiver_.partial()) return;
  if (departs(shared_.hooks, "tcp.stream.split")) {
    return end({StreamEnd::Kind::reset, "a PDU that came in pieces"}, nullptr);
  }
  watch_progress();
}

void TcpLink::watch_progress() {
  if (stall_.scheduled()) return;
  stalled_pdus_ = receiver_.pdus();
  shared_.world.loop().schedule_after(stall_, kPduTimeout);
}

void TcpLink::on_stall() {
  if (!open() || !receiver_.partial()) return;
  if (held_back_ || receiver_.pdus() != stalled_pdus_) return watch_progress();
  end({StreamEnd::Kind::reset, "a PDU that began was not finished in 30 s"}, nullptr);
}

void TcpLink::on_end(const net::StreamEnd& why) { end(why, nullptr); }

// ---- the end ----

void TcpLink::fail(const PduFault& fault) {
  const ByteView header = receiver_.offending();
  const Bytes copy(header.begin(), header.end());
  fail(fault, copy);
}

void TcpLink::fail(const PduFault& fault, ByteView offending) {
  if (!open()) return;
  shared_.world.trace().mark(fault.check.empty() ? "tcp.fatal" : fault.check);
  Bytes last;
  const bool speaks = !fault.silent && !departs(shared_.hooks, "tcp.term_req.never");
  if (speaks) {
    last = unsent(false);
    std::vector<Bytes> pdus{make_term_req(side_, fault, offending)};
    if (shared_.world.trace().on()) trace("out", pdus.front());
    if (shared_.hooks != nullptr) shared_.hooks->pdus_out(qid_, pdus);
    for (const Bytes& pdu : pdus) last.insert(last.end(), pdu.begin(), pdu.end());
  }
  shared_.linger(std::move(stream_), std::move(last));
  end({StreamEnd::Kind::failed, std::string(fault.text)}, &fault);
}

void TcpLink::close() {
  if (!open()) return;
  ended_ = true;
  shared_.world.loop().cancel(stall_);
  shared_.world.loop().cancel(resume_);
  std::size_t waiting = 0;
  for (std::size_t i = first_; i < items_.size(); ++i) waiting += items_[i].size();
  shared_.linger(std::move(stream_), unsent(waiting <= kFarewellMost));
}

/// `why` is a copy: what the caller has may be the stream's own.
void TcpLink::end(net::StreamEnd why, const PduFault* fault) {
  if (ended_) return;
  ended_ = true;
  shared_.world.loop().cancel(stall_);
  shared_.world.loop().cancel(resume_);
  stream_.reset();
  owner_.on_link_end(why, fault);
}

}  // namespace fb::transport
