#include "wire/nvme/protection.h"

#include <isa-l/crc.h>

#include <array>
#include <tuple>
#include <utility>

namespace fb::nvme {

namespace {

__extension__ typedef unsigned __int128 Space;

/// CRC-64/NVME: polynomial AD93D23594C93659h, reflected.
constexpr std::uint64_t kPolynomial64 = 0x9A6C9329AC4BC9B5;

/// Row k: what a byte does that k further bytes follow.
constexpr auto kTables64 = [] {
  std::array<std::array<std::uint64_t, 256>, 8> rows{};
  for (std::size_t i = 0; i < 256; ++i) {
    std::uint64_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial64 : 0);
    rows[0][i] = value;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t i = 0; i < 256; ++i) {
      rows[k][i] = (rows[k - 1][i] >> 8) ^ rows[0][rows[k - 1][i] & 0xFF];
    }
  }
  return rows;
}();

constexpr std::size_t guard_bytes(const BlockLayout& layout) {
  return layout.guard == ProtectionFormat::guard_16 ? 2 : layout.guard == ProtectionFormat::guard_32 ? 4 : 8;
}

Space space_of(const BlockLayout& layout, const ProtectionTags& tags) {
  const Space storage = layout.storage_tag_bits == 0 ? 0 : Space{tags.storage} << layout.reference_bits();
  return storage | (tags.reference & layout.reference_mask());
}

std::pair<std::uint64_t, std::uint64_t> storage_and_reference(const BlockLayout& layout, Space space) {
  const std::uint64_t reference = static_cast<std::uint64_t>(space) & layout.reference_mask();
  if (layout.storage_tag_bits == 0) return {0, reference};
  const Space storage = (space >> layout.reference_bits()) & ((Space{1} << layout.storage_tag_bits) - 1);
  return {static_cast<std::uint64_t>(storage), reference};
}

template <class T>
T load_be_bytes(const std::uint8_t* from, std::size_t bytes) {
  T value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = static_cast<T>(value << 8 | from[i]);
  return value;
}

template <class T>
void store_be_bytes(std::uint8_t* to, T value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0; value = static_cast<T>(value >> 8)) to[i] = static_cast<std::uint8_t>(value);
}

}  // namespace

std::uint16_t guard_16(ByteView data) { return crc16_t10dif(0, data.data(), data.size()); }

std::uint32_t guard_32(ByteView data) { return ~crc32_iscsi(const_cast<unsigned char*>(data.data()), static_cast<int>(data.size()), ~0u); }

std::uint64_t guard_64(ByteView data) {
  std::uint64_t crc = ~std::uint64_t{0};
  const std::uint8_t* at = data.data();
  std::size_t left = data.size();
  for (; left >= 8; at += 8, left -= 8) {
    crc ^= load_le<std::uint64_t>(at);
    std::uint64_t next = 0;
    for (std::size_t k = 0; k < 8; ++k) next ^= kTables64[7 - k][crc >> (8 * k) & 0xFF];
    crc = next;
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kTables64[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

std::uint64_t guard_of(const BlockLayout& layout, ByteView block) {
  const ByteView covered = block.first(layout.tuple_at());
  switch (layout.guard) {
    case ProtectionFormat::guard_32:
      return guard_32(covered);
    case ProtectionFormat::guard_64:
      return guard_64(covered);
    default:
      return guard_16(covered);
  }
}

void write_tuple(const BlockLayout& layout, MutableBytes block, std::uint64_t guard, const ProtectionTags& tags) {
  std::uint8_t* const at = block.data() + layout.tuple_at();
  if (!layout.extended()) {  // by far the most
    store_be<std::uint16_t>(at, static_cast<std::uint16_t>(guard));
    store_be<std::uint16_t>(at + 2, tags.application);
    store_be<std::uint32_t>(at + 4, static_cast<std::uint32_t>(tags.reference));
    return;
  }
  const std::size_t width = guard_bytes(layout);
  store_be_bytes(at, guard, width);
  store_be<std::uint16_t>(at + width, tags.application);
  store_be_bytes(at + width + 2, space_of(layout, tags), layout.space_bits() / 8);
}

ProtectionTuple read_tuple(const BlockLayout& layout, ByteView block) {
  const std::uint8_t* const at = block.data() + layout.tuple_at();
  ProtectionTuple tuple;
  if (!layout.extended()) {
    tuple.guard = load_be<std::uint16_t>(at);
    tuple.tags.application = load_be<std::uint16_t>(at + 2);
    tuple.tags.reference = load_be<std::uint32_t>(at + 4);
    return tuple;
  }
  const std::size_t width = guard_bytes(layout);
  tuple.guard = load_be_bytes<std::uint64_t>(at, width);
  tuple.tags.application = load_be<std::uint16_t>(at + width);
  const Space space = load_be_bytes<Space>(at + width + 2, layout.space_bits() / 8);
  std::tie(tuple.tags.storage, tuple.tags.reference) = storage_and_reference(layout, space);
  return tuple;
}

void protect(const BlockLayout& layout, MutableBytes block, const ProtectionTags& tags) {
  write_tuple(layout, block, guard_of(layout, block), tags);
}

Status check_protection(const BlockLayout& layout, ByteView block, const ProtectionChecks& checks, const ProtectionTags& expected) {
  const ProtectionTuple found = read_tuple(layout, block);
  const bool third = layout.protection_type == 3;
  if (found.tags.application == 0xFFFF && (!third || found.tags.reference == layout.reference_mask())) {
    return sc::success;
  }
  if (checks.guard && found.guard != guard_of(layout, block)) return sc::guard_check_error;
  const unsigned differ = found.tags.application ^ expected.application;
  if (checks.application && (differ & expected.application_mask) != 0) return sc::application_tag_check_error;
  if (checks.storage && found.tags.storage != expected.storage) return sc::storage_tag_check_error;
  if (checks.reference && !third && found.tags.reference != (expected.reference & layout.reference_mask())) {
    return sc::reference_tag_check_error;
  }
  return sc::success;
}

void advance_tags(const BlockLayout& layout, ProtectionTags& tags) {
  if (layout.protection_type != 3) tags.reference = (tags.reference + 1) & layout.reference_mask();
}

ProtectionTags command_tags(View<SqeLayout> sqe, const BlockLayout& layout) {
  ProtectionTags tags;
  const std::uint32_t cdw15 = sqe.get(sqe::cdw15);
  tags.application = static_cast<std::uint16_t>(cdw15);
  tags.application_mask = static_cast<std::uint16_t>(cdw15 >> 16);
  if (!layout.extended()) {
    tags.reference = sqe.get(sqe::cdw14);
    return tags;
  }
  Space space = Space{sqe.get(sqe::cdw2) & 0xFFFFu} << 64;
  space |= Space{sqe.get(sqe::cdw3)} << 32 | sqe.get(sqe::cdw14);
  std::tie(tags.storage, tags.reference) = storage_and_reference(layout, space);
  return tags;
}

void set_command_tags(MutableView<SqeLayout> sqe, const BlockLayout& layout, const ProtectionTags& tags) {
  const Space space = space_of(layout, tags);
  sqe.set(sqe::cdw14, static_cast<std::uint32_t>(space));
  sqe.set(sqe::cdw15, std::uint32_t{tags.application_mask} << 16 | tags.application);
  if (!layout.extended()) return;
  sqe.set(sqe::cdw3, static_cast<std::uint32_t>(space >> 32));
  sqe.set(sqe::cdw2, static_cast<std::uint32_t>(space >> 64) & 0xFFFFu);
}

ProtectionChecks command_checks(View<ReadWriteSqe> sqe) {
  return {.guard = sqe.get(rw_sqe::prchk_guard),
          .application = sqe.get(rw_sqe::prchk_app),
          .reference = sqe.get(rw_sqe::prchk_ref),
          .storage = sqe.get(rw_sqe::stc)};
}

}  // namespace fb::nvme
