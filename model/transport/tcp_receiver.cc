#include "model/transport/tcp_receiver.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace fb::transport {

namespace {

namespace flag = tcp::pdu_flags;
using tcp::FatalStatus;

/// From here on data is worth a receive of its own instead of a second copy.
constexpr std::size_t kLarge = 16 * 1024;
constexpr std::size_t kScratchBesideLarge = 512;

}  // namespace

/// A fault at `offset`, unless there is none or the product overlooks it.
std::optional<PduFault> PduReceiver::field(PduSink& sink, bool wrong, std::uint32_t offset, std::string_view check, std::string_view text) {
  if (!wrong) return std::nullopt;
  faulty_ = true;
  if (sink.overlooks(check)) return std::nullopt;
  return PduFault{FatalStatus::invalid_header_field, offset, check, text};
}

std::span<const MutableBytes> PduReceiver::room(MutableBytes scratch) {
  const std::size_t shared = large_ ? std::min(scratch.size(), kScratchBesideLarge) : scratch.size();
  if (phase_ == Phase::data && !pdu_.data.empty()) {
    parts_[0] = pdu_.data.subspan(data_have_);
    parts_[1] = scratch.first(shared);
    return parts_;
  }
  parts_[1] = scratch.first(phase_ == Phase::data ? scratch.size() : shared);
  return std::span(parts_).last(1);
}

std::optional<PduFault> PduReceiver::took(std::size_t bytes, PduSink& sink, const bool& gone) {
  const ByteView scratch = parts_[1];
  if (phase_ == Phase::data && !pdu_.data.empty()) {
    const std::size_t direct = std::min<std::size_t>(bytes, pdu_.data.size() - data_have_);
    bytes -= direct;
    const ByteView part = pdu_.data.subspan(data_have_, direct);
    if (auto fault = data_arrived(part, sink, gone); fault || gone) return fault;
  }
  ByteView rest = scratch.first(bytes);
  while (!rest.empty()) {
    if (auto fault = take(rest, sink, gone); fault || gone) return fault;
  }
  return std::nullopt;
}

std::optional<PduFault> PduReceiver::take(ByteView& bytes, PduSink& sink, const bool& gone) {
  const auto cut = [&](std::size_t n) {
    const ByteView head = bytes.first(std::min(n, bytes.size()));
    bytes = bytes.subspan(head.size());
    return head;
  };
  switch (phase_) {
    case Phase::header: {
      if (have_ == 0 && bytes.size() >= usual_.header_end && load_le<std::uint64_t>(bytes.data()) == usual_.bytes) {
        return take_usual(cut(usual_.header_end), sink, gone);
      }
      const ByteView part = cut(have_ > 0 ? header_end_ - have_ : header_bytes(bytes[0]));
      std::copy(part.begin(), part.end(), header_.begin() + static_cast<std::ptrdiff_t>(have_));
      have_ += part.size();
      if (have_ < header_end_) return std::nullopt;
      if (!common_checked_) {
        common_checked_ = true;
        const std::size_t have = std::exchange(have_, tcp::kCommonHeaderBytes);
        if (auto fault = check_common(sink, gone); fault || gone) return fault;
        if (phase_ != Phase::header || have_ == 0) return std::nullopt;  // skipped
        have_ = have;
        if (have_ < header_end_) return std::nullopt;
      }
      return header_done(sink, gone);
    }
    case Phase::padding:
      padding_ -= cut(padding_).size();
      if (padding_ == 0) phase_ = Phase::data;
      return std::nullopt;
    case Phase::data: {
      const ByteView part = cut(pdu_.data_bytes - data_have_);
      if (!pdu_.data.empty()) {
        std::copy(part.begin(), part.end(), pdu_.data.begin() + static_cast<std::ptrdiff_t>(data_have_));
      }
      return data_arrived(part, sink, gone);
    }
    case Phase::data_digest: {
      const ByteView part = cut(tcp::kDigestBytes - digest_have_);
      std::copy(part.begin(), part.end(), digest_.begin() + static_cast<std::ptrdiff_t>(digest_have_));
      digest_have_ += part.size();
      if (digest_have_ < tcp::kDigestBytes) return std::nullopt;
      pdu_.data_good = load_le<std::uint32_t>(digest_.data()) == crc_;
      return finish(sink, gone);
    }
  }
  return std::nullopt;
}

std::optional<PduFault> PduReceiver::take_usual(ByteView header, PduSink& sink, const bool& gone) {
  std::copy(header.begin(), header.end(), header_.begin());
  const View<tcp::CommonHeader> common{header_};
  pdu_.header = ByteView(header_).first(common.get(tcp::pdu::hlen));
  pdu_.type = common.get(tcp::pdu::type);
  pdu_.flags = common.get(tcp::pdu::flags);
  pdu_.data_bytes = usual_.data_bytes;
  pdu_.data = {};
  pdu_.data_good = true;
  header_end_ = usual_.header_end;
  padding_ = usual_.padding;
  tail_ = usual_.tail;
  return header_done(sink, gone);
}

/// How many bytes to begin with: the whole header where the type tells how long it is.
std::size_t PduReceiver::header_bytes(std::uint8_t type) const {
  const tcp::PduShape* shape = tcp::shape_of(type);
  if (shape == nullptr || shape->to_controller != (side_ == TcpSide::controller)) {
    return tcp::kCommonHeaderBytes;
  }
  return shape->hlen + (shape->digests && header_digest_ ? tcp::kDigestBytes : 0u);
}

/// The first eight bytes are there: is this a PDU for us, and how long is it?
std::optional<PduFault> PduReceiver::check_common(PduSink& sink, const bool& gone) {
  const View<tcp::CommonHeader> common{header_};
  const tcp::PduShape* shape = tcp::shape_of(header_[0]);
  pdu_ = {};
  faulty_ = false;
  pdu_.type = common.get(tcp::pdu::type);
  pdu_.flags = common.get(tcp::pdu::flags);
  if (auto fault = field(sink, shape == nullptr, 0, "tcp.pdu.type", "a PDU of a reserved type")) {
    return fault;
  }
  const bool stray = shape != nullptr && shape->to_controller != (side_ == TcpSide::controller);
  if (auto fault = field(sink, stray, 0, "tcp.pdu.direction", "a PDU that goes the other way")) {
    return fault;
  }
  if (shape == nullptr || stray) {  // overlooked
    skipped_ = true;
    pdu_.header = ByteView(header_).first(tcp::kCommonHeaderBytes);
    const std::uint32_t plen = common.get(tcp::pdu::plen);
    pdu_.data_bytes = plen > tcp::kCommonHeaderBytes ? plen - std::uint32_t{tcp::kCommonHeaderBytes} : 0;
    return header_done(sink, gone);
  }
  if (auto fault = check_lengths(*shape, sink)) return fault;
  const bool digest = shape->digests && header_digest_;
  header_end_ = shape->hlen + (digest ? tcp::kDigestBytes : 0u);
  pdu_.header = ByteView(header_).first(shape->hlen);
  if (shape->digests && !faulty_) {
    usual_ = {load_le<std::uint64_t>(header_.data()), header_end_, padding_, pdu_.data_bytes, tail_};
  }
  return std::nullopt;
}

std::optional<PduFault> PduReceiver::check_lengths(const tcp::PduShape& shape, PduSink& sink) {
  const View<tcp::CommonHeader> common{header_};
  const std::uint32_t plen = common.get(tcp::pdu::plen);
  const std::size_t head = shape.hlen + (shape.digests && header_digest_ ? tcp::kDigestBytes : 0);
  const bool term_req = !shape.digests && shape.data;
  if (term_req && (plen < shape.hlen || plen > tcp::kTermReqMax) && !sink.overlooks("tcp.term_req.length")) {
    return PduFault{.check = "tcp.term_req.length", .text = "a TermReq of no possible length", .silent = true};
  }
  const bool flagged = (pdu_.flags & flag::hdgstf) != 0;
  if (auto fault = field(sink, shape.digests && flagged != header_digest_, 1, "tcp.pdu.hdgstf", "HDGSTF is not as negotiated")) {
    return fault;
  }
  if (auto fault = field(sink, common.get(tcp::pdu::hlen) != shape.hlen, 2, "tcp.pdu.hlen", "a wrong HLEN")) {
    return fault;
  }
  const bool exact = !shape.data;
  if (term_req && plen < head) return std::nullopt;  // overlooked
  const std::string_view check = shape.digests ? "tcp.pdu.plen" : "tcp.ic.plen";
  if (auto fault = field(sink, plen < head || (exact && plen != head), 4, check, "a wrong PLEN")) {
    return fault;
  }
  if (exact || plen <= head) return std::nullopt;
  if (shape.digests) return check_data(head, sink);
  pdu_.data_bytes = plen - shape.hlen;  // what follows the header of a TermReq
  return std::nullopt;
}

std::optional<PduFault> PduReceiver::check_data(std::size_t head, PduSink& sink) {
  const View<tcp::CommonHeader> common{header_};
  std::size_t pdo = common.get(tcp::pdu::pdo);
  const std::uint32_t plen = common.get(tcp::pdu::plen);
  const bool flagged = (pdu_.flags & flag::ddgstf) != 0;
  if (auto fault = field(sink, flagged != data_digest_, 1, "tcp.pdu.ddgstf", "DDGSTF is not as negotiated")) {
    return fault;
  }
  const bool aligned = pdo >= head && pdo % alignment_ == 0;
  if (auto fault = field(sink, !aligned, 3, "tcp.pdu.pdo", "a wrong PDO")) return fault;
  if (pdo < head) pdo = head;
  const std::size_t tail = data_digest_ ? tcp::kDigestBytes : 0;
  if (plen <= pdo + tail) {
    return PduFault{FatalStatus::invalid_header_field, 4, "tcp.pdu.plen", "a PLEN that leaves no room for data"};
  }
  tail_ = tail != 0;
  padding_ = pdo - head;
  pdu_.data_bytes = static_cast<std::uint32_t>(plen - pdo - tail);
  return std::nullopt;
}

std::optional<PduFault> PduReceiver::header_done(PduSink& sink, const bool& gone) {
  const std::size_t hlen = pdu_.header.size();
  if (header_end_ > hlen) {
    const auto got = load_le<std::uint32_t>(&header_[hlen]);
    if (got != tcp::crc32c(pdu_.header)) {
      have_ = hlen;
      if (!sink.overlooks("tcp.pdu.hdgst")) {
        return PduFault{FatalStatus::header_digest_error, got, "tcp.pdu.hdgst", "a wrong header digest"};
      }
    }
  }
  have_ = hlen;
  if (!skipped_) {
    if (auto fault = sink.on_header(pdu_); fault || gone) return fault;
  }
  BENCH_ASSERT(pdu_.data.empty() || pdu_.data.size() == pdu_.data_bytes, "data has its size");
  if (pdu_.data_bytes == 0) return finish(sink, gone);
  large_ = pdu_.data_bytes >= kLarge;
  data_have_ = 0;
  crc_ = 0;
  digest_have_ = 0;
  phase_ = padding_ > 0 ? Phase::padding : Phase::data;
  return std::nullopt;
}

std::optional<PduFault> PduReceiver::data_arrived(ByteView part, PduSink& sink, const bool& gone) {
  if (tail_) crc_ = tcp::crc32c(part, crc_);
  data_have_ += static_cast<std::uint32_t>(part.size());
  if (data_have_ < pdu_.data_bytes) return std::nullopt;
  if (tail_) {
    phase_ = Phase::data_digest;
    return std::nullopt;
  }
  return finish(sink, gone);
}

std::optional<PduFault> PduReceiver::finish(PduSink& sink, const bool& gone) {
  ++pdus_;
  if (!skipped_) {
    if (auto fault = sink.on_pdu(pdu_); fault || gone) return fault;
  }
  skipped_ = false;
  phase_ = Phase::header;
  have_ = 0;
  header_end_ = tcp::kCommonHeaderBytes;
  common_checked_ = false;
  tail_ = false;
  padding_ = 0;
  return std::nullopt;
}

}  // namespace fb::transport
