// Protection information: the guard, application, storage and reference tags that stand in the metadata of
// a logical block (NVM command set, "End-to-end Data Protection"). All of it is big-endian.
#pragma once

#include "base/bytes.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/sqe.h"
#include "wire/nvme/status.h"

namespace fb::nvme {

/// One block as it is transferred and stored: data, then metadata. With protection information, its tuple is the
/// first or the last part of the metadata.
struct BlockLayout {
  std::uint32_t data_bytes = 512;
  std::uint16_t metadata_bytes = 0;
  std::uint8_t protection_type = 0;  ///< 1 to 3; 0: none
  bool tuple_first = false;
  ProtectionFormat guard = ProtectionFormat::guard_16;
  std::uint8_t storage_tag_bits = 0;  ///< STS

  constexpr std::uint32_t bytes() const { return data_bytes + metadata_bytes; }
  constexpr bool is_protected() const { return protection_type != 0; }
  /// The tags as a whole, 8 or 16 bytes.
  constexpr std::uint32_t tuple_bytes() const { return guard == ProtectionFormat::guard_16 ? 8 : 16; }
  /// Where the tuple begins; what the guard covers ends there, or with the data where the tuple comes first.
  constexpr std::uint32_t tuple_at() const { return tuple_first ? data_bytes : bytes() - tuple_bytes(); }
  /// Nothing but the tuple is in the metadata: a controller can insert and strip it.
  constexpr bool tuple_alone() const { return is_protected() && metadata_bytes == tuple_bytes(); }
  /// Size of the storage and reference space in bits.
  constexpr unsigned space_bits() const { return guard == ProtectionFormat::guard_16 ? 32 : guard == ProtectionFormat::guard_32 ? 80 : 48; }
  constexpr unsigned reference_bits() const { return space_bits() - storage_tag_bits; }
  /// All ones in the width of the reference tag.
  constexpr std::uint64_t reference_mask() const {
    const unsigned bits = reference_bits();
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  }
  /// Hosts have to enable such formats (Host Behavior Support, LBAFEE).
  constexpr bool extended() const { return guard != ProtectionFormat::guard_16 || storage_tag_bits != 0; }

  bool operator==(const BlockLayout&) const = default;
};

/// What a tuple holds beside its guard, or what a command expects there.
struct ProtectionTags {
  std::uint16_t application = 0;
  std::uint16_t application_mask = 0xFFFF;  ///< only its ones are compared
  std::uint64_t storage = 0;
  std::uint64_t reference = 0;
};

/// What is to be looked at: PRCHK and STC.
struct ProtectionChecks {
  bool guard = false;
  bool application = false;
  bool reference = false;
  bool storage = false;
  constexpr bool any() const { return guard || application || reference || storage; }
};

/// The tags in CDW2, CDW3, CDW14 and CDW15 of an I/O command.
ProtectionTags command_tags(View<SqeLayout> sqe, const BlockLayout& layout);
void set_command_tags(MutableView<SqeLayout> sqe, const BlockLayout& layout, const ProtectionTags& tags);
ProtectionChecks command_checks(View<ReadWriteSqe> sqe);

/// The guard of a whole block of layout.bytes().
std::uint64_t guard_of(const BlockLayout& layout, ByteView block);
/// Writes the tuple into a whole block.
void protect(const BlockLayout& layout, MutableBytes block, const ProtectionTags& tags);
/// The same with a guard that is known: it was computed while the data was copied.
void write_tuple(const BlockLayout& layout, MutableBytes block, std::uint64_t guard, const ProtectionTags& tags);
struct ProtectionTuple {
  std::uint64_t guard = 0;
  ProtectionTags tags;
};
ProtectionTuple read_tuple(const BlockLayout& layout, ByteView block);

/// Success, or the first of End-to-end Guard, Application Tag, Storage Tag and Reference Tag Check Error. The
/// reference tag of type 3 is never looked at; an application tag of FFFFh (type 3: with a reference tag of ones)
/// turns all checks off.
Status check_protection(const BlockLayout& layout, ByteView block, const ProtectionChecks& checks, const ProtectionTags& expected);
/// The tags of the block after: the reference tag counts with types 1 and 2.
void advance_tags(const BlockLayout& layout, ProtectionTags& tags);

/// Guards over `data`.
std::uint16_t guard_16(ByteView data);
std::uint32_t guard_32(ByteView data);
std::uint64_t guard_64(ByteView data);

}  // namespace fb::nvme
