// Accesses of a peer that are just within what it may do, and just beyond: one byte before the first and after the last, one bit
// of a token, one right too few. What is refused leaves every byte as it was.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "conformance/runner/check.h"

namespace fb::conformance {

struct SweepAccess {
  bool read = false;
  std::uint64_t address = 0;
  std::uint32_t token = 0;
  std::uint32_t length = 0;
};

/// How one ended.
struct SweepEnd {
  bool good = false;
  bool denied = false;  ///< by a status that names a violation, or an error of the peer
  std::string status;
  Bytes data;  ///< what was written, or what a read brought
};

/// The bits of a token that is kept in network order: the same bytes of it on machines of either byte order.
inline std::uint32_t bits_in_network_order(std::uint32_t bits) {
  std::uint8_t bytes[sizeof bits];
  store_le(bytes, bits);
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

/// Memory of which a piece in the middle is open to the peer; `address` is the peer's name of the first byte of that piece.
struct SweepWindow {
  MutableBytes room;
  std::size_t first = 0;
  std::uint32_t length = 0;
  std::uint64_t address = 0;
  std::uint32_t token = 0;
  bool network_order = false;  ///< `token` is kept in it
};

/// `perform` takes a SweepAccess and returns its SweepEnd, on a connection that works. False: the access failed, after which the
/// connection may be another.
template <class Perform>
bool judge_access(Check& check, const SweepWindow& window, std::string_view what, const SweepAccess& access, bool allowed,
                  Perform&& perform) {
  Bytes expected(window.room.begin(), window.room.end());
  const SweepEnd end = perform(access);
  const std::string name = (access.read ? "a Read of " : "a Write of ") + std::to_string(access.length) + " bytes " + std::string(what);
  const auto at = static_cast<std::size_t>(access.address - window.address) + window.first;
  if (allowed) {
    if (!check.that(end.good, name + " succeeds", "it ended as " + end.status)) return false;
    if (access.read) {
      check.bytes("what " + name + " brought", end.data, ByteView(expected).subspan(at, access.length));
    } else {
      std::copy(end.data.begin(), end.data.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
    }
  } else {
    check.that(!end.good, name + " is refused", "it succeeded");
    check.that(end.good || end.denied, name + " is refused as a violation", "it ended as " + end.status);
  }
  check.bytes("the memory after " + name, window.room, expected);
  return end.good;
}

/// Both ends of the window, from both sides.
template <class Perform>
void sweep_edges(Check& check, const SweepWindow& window, Perform&& perform) {
  struct Try {
    std::int64_t offset;
    std::uint32_t length;
    bool allowed;
    std::string_view what;
  };
  const std::uint32_t n = window.length;
  for (const bool read : {true, false}) {
    for (const Try& one : {Try{0, 1, true, "at the first byte"}, Try{n - 1, 1, true, "at the last byte"}, Try{0, n, true, "at all of it"},
                           Try{1, n - 1, true, "but the first"}, Try{-1, 1, false, "before the first byte"},
                           Try{n, 1, false, "after the last byte"}, Try{-1, 2, false, "over the first byte"},
                           Try{n - 1, 2, false, "over the last byte"}, Try{-1, n, false, "from before the first byte"},
                           Try{1, n, false, "beyond the last byte"}, Try{0, n + 1, false, "from the first byte"}}) {
      const SweepAccess access{read, window.address + static_cast<std::uint64_t>(one.offset), window.token, one.length};
      judge_access(check, window, one.what, access, one.allowed, perform);
    }
  }
}

/// Each bit of the token turned round.
template <class Perform>
void sweep_tokens(Check& check, const SweepWindow& window, Perform&& perform) {
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t mask = std::uint32_t{1} << bit;
    const SweepAccess access{bit % 2 == 0, window.address, window.token ^ (window.network_order ? bits_in_network_order(mask) : mask), 8};
    judge_access(check, window, "with bit " + std::to_string(bit) + " of the token turned round", access, false, perform);
  }
  judge_access(check, window, "with the token", {true, window.address, window.token, 8}, true, perform);
}

/// Both directions with the rights as they are.
template <class Perform>
void sweep_rights(Check& check, const SweepWindow& window, std::string_view what, bool may_read, bool may_write, Perform&& perform) {
  judge_access(check, window, what, {true, window.address, window.token, window.length}, may_read, perform);
  judge_access(check, window, what, {false, window.address, window.token, window.length}, may_write, perform);
}

}  // namespace fb::conformance
