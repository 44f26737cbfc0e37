// The Key Value command set (CSI 01h): commands, keys, the list of keys, and what a controller says of a namespace.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <vector>

#include "wire/nvme/identify.h"
#include "wire/nvme/sqe.h"

namespace fb::nvme {

/// Beside Flush and the reservation commands, which all command sets share.
enum class KvOpcode : std::uint8_t {
  store = 0x01,
  retrieve = 0x02,
  list = 0x06,
  remove = 0x10,  ///< Delete
  exist = 0x14,
};
constexpr std::uint8_t opcode_of(KvOpcode opcode) { return static_cast<std::uint8_t>(opcode); }
/// "Store"; empty for other opcodes.
std::string_view kv_opcode_name(std::uint8_t opcode);

inline constexpr std::size_t kKvKeyMax = 16;

/// A key; bytes beyond its length are 0.
struct KvKey {
  std::array<std::uint8_t, kKvKeyMax> bytes = {};
  std::uint8_t length = 0;

  /// What is beyond 16 bytes is cut.
  static KvKey of(ByteView bytes) {
    KvKey key;
    key.length = static_cast<std::uint8_t>(std::min(bytes.size(), kKvKeyMax));
    std::copy_n(bytes.begin(), key.length, key.bytes.begin());
    return key;
  }
  ByteView view() const { return ByteView{bytes}.first(length); }
  auto operator<=>(const KvKey&) const = default;
};

// ---- the commands: a key in dwords 2, 3, 14 and 15, its length in dword 11 ----

namespace kv_sqe {
inline constexpr Le<"key_low", 8, std::uint64_t> key_low{};
/// VS of Store, HBS of Retrieve and List.
inline constexpr Le<"size", 40, std::uint32_t> size{};
inline constexpr Le<"kl", 44, std::uint8_t> kl{};
/// SO of Store, RO of Retrieve.
inline constexpr Le<"options", 45, std::uint8_t> options{};
inline constexpr Le<"key_high", 56, std::uint64_t> key_high{};
}  // namespace kv_sqe
using KvSqe = Layout<kSqeSize, sqe::opcode, sqe::fuse, sqe::psdt, sqe::cid, sqe::nsid, kv_sqe::key_low, sqe::mptr, sqe::sgl1, kv_sqe::size,
                     kv_sqe::kl, kv_sqe::options, kv_sqe::key_high>;

namespace store_bits {
inline constexpr std::uint8_t must_exist = 1u << 0;
inline constexpr std::uint8_t must_not_exist = 1u << 1;
inline constexpr std::uint8_t no_compression = 1u << 2;
}  // namespace store_bits
namespace retrieve_bits {
inline constexpr std::uint8_t raw = 1u << 0;
}

/// All 16 bytes, whatever the length says.
std::array<std::uint8_t, kKvKeyMax> key_bytes_of(const View<KvSqe>& sqe);
/// A length beyond 16 is cut.
KvKey key_of(const View<KvSqe>& sqe);
void set_key(Record<KvSqe>& sqe, const KvKey& key);

// ---- the list: a count, then keys that begin at multiples of 4 bytes ----

namespace kv_list {
inline constexpr Le<"nrk", 0, std::uint32_t> nrk{};
}
using KvListHeader = Layout<4, kv_list::nrk>;

namespace kv_list_entry {
inline constexpr Le<"kl", 0, std::uint16_t> kl{};
}
using KvListEntryHeader = Layout<2, kv_list_entry::kl>;

/// Bytes of an entry, without and with what fills it up.
constexpr std::size_t list_entry_bytes(std::size_t key_length) { return KvListEntryHeader::size + key_length; }
constexpr std::size_t list_entry_step(std::size_t key_length) { return (list_entry_bytes(key_length) + 3) & ~std::size_t{3}; }

struct KvList {
  std::uint32_t count = 0;  ///< as the header says
  std::vector<KvKey> keys;  ///< up to the count, a key of more than 16 bytes, or the end of the data
  bool whole = false;       ///< all that were counted
};
KvList read_kv_list(ByteView list);
/// As many as fit; returns how many. The rest of `place` is 0.
std::size_t write_kv_list(MutableBytes place, const std::vector<KvKey>& keys);

// ---- Identify: CNS 05h, CSI 01h ----

namespace kv_format {
inline constexpr Le<"kml", 0, std::uint16_t> kml{};
inline constexpr LeBits<"rp", 3, std::uint8_t, 1, 0> rp{};
inline constexpr Le<"vml", 4, std::uint32_t> vml{};
/// 0: nothing is said.
inline constexpr Le<"mnk", 8, std::uint32_t> mnk{};
}  // namespace kv_format
using KvFormat = Layout<16, kv_format::kml, kv_format::rp, kv_format::vml, kv_format::mnk>;
inline constexpr std::size_t kKvFormatsMax = 16;

/// Sizes are in bytes.
namespace id_ns_kv {
inline constexpr Le<"nsze", 0, std::uint64_t> nsze{};
inline constexpr Le<"nuse", 16, std::uint64_t> nuse{};
inline constexpr Le<"nsfeat", 24, std::uint8_t> nsfeat{};
inline constexpr Le<"nkvf", 25, std::uint8_t, ZeroBased<std::uint8_t>> nkvf{};
inline constexpr Le<"nmic", 26, std::uint8_t> nmic{};
inline constexpr Le<"rescap", 27, std::uint8_t> rescap{};
inline constexpr Le<"fpi", 28, std::uint8_t> fpi{};
inline constexpr Le<"novg", 32, std::uint32_t> novg{};
inline constexpr Le<"anagrpid", 36, std::uint32_t> anagrpid{};
inline constexpr Le<"nsattr", 43, std::uint8_t> nsattr{};
inline constexpr Le<"nvmsetid", 44, std::uint16_t> nvmsetid{};
inline constexpr Le<"endgid", 46, std::uint16_t> endgid{};
inline constexpr BytesField<"nguid", 48, 16> nguid{};
inline constexpr BytesField<"eui64", 64, 8> eui64{};
/// Sixteen formats.
inline constexpr BytesField<"kvf", 72, 256> kvf{};
inline constexpr BytesField<"vs", 3840, 256> vs{};
}  // namespace id_ns_kv
using IdentifyNamespaceKv = Layout<kIdentifySize, id_ns_kv::nsze, id_ns_kv::nuse, id_ns_kv::nsfeat, id_ns_kv::nkvf, id_ns_kv::nmic,
                                   id_ns_kv::rescap, id_ns_kv::fpi, id_ns_kv::novg, id_ns_kv::anagrpid, id_ns_kv::nsattr,
                                   id_ns_kv::nvmsetid, id_ns_kv::endgid, id_ns_kv::nguid, id_ns_kv::eui64, id_ns_kv::kvf, id_ns_kv::vs>;

// ---- feature 20h ----

namespace key_value_configuration {
/// Delete of a key that does not exist is an error.
inline constexpr LeBits<"ednek", 0, std::uint32_t, 0, 0, bool> ednek{};
}  // namespace key_value_configuration
using KeyValueConfiguration = Layout<4, key_value_configuration::ednek>;

}  // namespace fb::nvme
