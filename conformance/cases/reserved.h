// Reserved bits of the structures that controllers fill in, as one revision of their document has them, and what a set one
// means: a fault, unless the product declares a later revision, which may define the bit.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "conformance/runner/check.h"
#include "wire/fabrics/property.h"

namespace fb::conformance {

/// Bits of one field that are reserved, or a range of bytes of which every bit is.
struct ReservedBits {
  std::string_view field;  ///< empty: a range between fields
  std::uint16_t at;
  std::uint16_t bytes;
  std::uint64_t mask = ~std::uint64_t{0};  ///< little endian; of a range: all of it
};

/// The bytes `from` to `to`, both of them in the range.
constexpr ReservedBits reserved_bytes(unsigned from, unsigned to) {
  return {{}, static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(to - from + 1)};
}

/// The tables are those of Base 2.2, and of the command set that belongs to it.
inline constexpr std::uint32_t kReservedTables = fabrics::version(2, 2, 0xFF);

/// The first byte in which a reserved bit of this row is set.
inline std::optional<std::size_t> first_set(ByteView page, const ReservedBits& row) {
  for (std::size_t i = 0; i < row.bytes && row.at + i < page.size(); ++i) {
    const std::uint64_t mask = i < 8 ? row.mask >> 8 * i : row.mask;
    if ((page[row.at + i] & mask & 0xFF) != 0) return row.at + i;
  }
  return std::nullopt;
}

/// `table` is sorted as the structure is; `vs` is what the product declares.
inline void check_reserved(Check& check, std::string_view structure, ByteView page, std::span<const ReservedBits> table, std::uint32_t vs) {
  bool later = false;
  for (const ReservedBits& row : table) {
    const auto at = first_set(page, row);
    if (!at) continue;
    if (vs > kReservedTables) {
      later = true;
      continue;
    }
    const std::string what = row.field.empty() ? fmt::format("reserved bytes {} to {} of {}", row.at, row.at + row.bytes - 1, structure)
                                               : fmt::format("reserved bits of {} of {}", row.field, structure);
    check.fails(what, {"0"}, fmt::format("byte {} is {:02X}h", *at, page[*at]));
  }
  if (later) {
    check.inconclusive(fmt::format("bits of {} are set that a revision after 2.2 may define, and the product declares one", structure));
  }
  check.that(true, fmt::format("reserved bits of {} are 0", structure));
}

}  // namespace fb::conformance
