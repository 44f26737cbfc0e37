// PDUs in one direction of an NVMe/TCP connection that somebody else speaks: as headers that pass by, or as wholes.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "wire/tcp/pdu.h"

namespace fb::proxy {

/// Longest PDU that is taken for one. What claims to be longer is passed on as bytes.
inline constexpr std::size_t kPduBytesMax = 16u << 20;

/// Follows a stream from PDU to PDU and keeps nothing but the header at hand:
///
///   while (!bytes.empty()) {
///     bytes = bytes.subspan(walk.advance(bytes));
///     if (const ByteView header = walk.header(); !header.empty()) ...
///   }
class HeaderWalk {
 public:
  /// Takes bytes up to the end of a header or of a PDU, whichever is nearer; at least one. Returns how many.
  std::size_t advance(ByteView bytes);
  /// The header that the last advance() completed; otherwise empty.
  ByteView header() const { return fresh_ ? ByteView(head_).first(held_) : ByteView(); }
  /// The next byte begins a PDU.
  bool between() const { return held_ == 0 && left_ == 0 && !lost_; }
  /// The stream is no chain of PDUs (TLS, another protocol, a broken length). From there on everything is one piece.
  bool lost() const { return lost_; }

 private:
  std::size_t wanted() const;
  std::array<std::uint8_t, tcp::kHeaderMax> head_ = {};
  std::size_t held_ = 0;  // bytes of head_
  std::size_t left_ = 0;  // of the PDU behind its header
  bool fresh_ = false;
  bool lost_ = false;
};

/// Cuts a stream into whole PDUs.
class PduCutter {
 public:
  void feed(ByteView bytes) { held_.insert(held_.end(), bytes.begin(), bytes.end()); }
  /// The next whole PDU. Once the stream is lost: all bytes that are there.
  std::optional<Bytes> next();
  bool lost() const { return lost_; }
  /// Bytes that are no whole PDU yet.
  std::size_t held() const { return held_.size() - at_; }
  /// Those bytes; nothing is held afterwards.
  Bytes take_rest();

 private:
  Bytes held_;
  std::size_t at_ = 0;
  bool lost_ = false;
};

}  // namespace fb::proxy
