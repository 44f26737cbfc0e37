// Identify data that is a list: namespace and controller identifiers, namespace identification
// descriptors (CNS 03h), command set combinations (CNS 1Ch).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "wire/layout.h"
#include "wire/nvme/identify.h"

namespace fb::nvme {

inline constexpr std::size_t kNamespaceListMax = 1024;
inline constexpr std::size_t kControllerListMax = 2047;

/// A namespace list (CNS 02h, 07h, 10h; log page 04h): identifiers up to the first zero.
std::vector<std::uint32_t> read_namespace_list(ByteView data);

/// Writes as many of `ids` as fit and fills the rest of `data` with zeroes.
void write_namespace_list(MutableBytes data, std::span<const std::uint32_t> ids);

/// A controller list (CNS 12h, 13h): a count and that many identifiers. A count that says more than
/// `data` holds is cut.
std::vector<std::uint16_t> read_controller_list(ByteView data);
void write_controller_list(MutableBytes data, std::span<const std::uint16_t> ids);

enum class NamespaceIdType : std::uint8_t { eui64 = 1, nguid = 2, uuid = 3, csi = 4 };

/// Length that the specification gives a descriptor of this type; 0 for an unknown type.
constexpr std::size_t namespace_id_length(NamespaceIdType type) {
  switch (type) {
    case NamespaceIdType::eui64:
      return 8;
    case NamespaceIdType::nguid:
    case NamespaceIdType::uuid:
      return 16;
    case NamespaceIdType::csi:
      return 1;
  }
  return 0;
}

namespace ns_descriptor {
inline constexpr Le<"nidt", 0, std::uint8_t, NamespaceIdType> nidt{};
inline constexpr Le<"nidl", 1, std::uint8_t> nidl{};
}  // namespace ns_descriptor
using NamespaceIdHeader = Layout<4, ns_descriptor::nidt, ns_descriptor::nidl>;

struct NamespaceId {
  NamespaceIdType type{};
  ByteView id;
};

/// Walks the descriptors of CNS 03h: while (walk.next(id)) ... A length of zero ends the list; a
/// descriptor that leaves the data ends it too and sets damaged().
class NamespaceIdWalk {
 public:
  explicit NamespaceIdWalk(ByteView data) : rest_(data) {}
  bool next(NamespaceId& out);
  bool damaged() const { return damaged_; }

 private:
  ByteView rest_;
  bool damaged_ = false;
};

/// Appends a descriptor at `at` and advances it; false, and nothing written, when it does not fit.
bool append_namespace_id(MutableBytes data, std::size_t& at, NamespaceIdType type, ByteView id);

/// CNS 16h: in which steps it is best to make namespaces.
namespace granularity {
/// Each descriptor is of the LBA format of its index; else the first is of all.
inline constexpr LeBits<"gdm", 0, std::uint32_t, 0, 0, bool> gdm{};
inline constexpr Le<"nd", 4, std::uint8_t, ZeroBased<std::uint8_t>> nd{};
inline constexpr BytesField<"ngd", 32, 1024> ngd{};
}  // namespace granularity
using GranularityList = Layout<kIdentifySize, granularity::gdm, granularity::nd, granularity::ngd>;
inline constexpr std::size_t kGranularitiesMax = 64;

/// One of the 64 descriptors, in bytes; 0: nothing is said.
namespace granularity_descriptor {
inline constexpr Le<"nsg", 0, std::uint64_t> nsg{};
inline constexpr Le<"ncg", 8, std::uint64_t> ncg{};
}  // namespace granularity_descriptor
using GranularityDescriptor = Layout<16, granularity_descriptor::nsg, granularity_descriptor::ncg>;

inline constexpr std::size_t kCommandSetCombinationsMax = 512;

/// CNS 1Ch: combination `index` as a mask of command sets, bit 0 being NVM.
constexpr std::uint64_t command_set_combination(ByteView data, std::size_t index) {
  BENCH_ASSERT(data.size() >= kIdentifySize && index < kCommandSetCombinationsMax, "a combination of an Identify structure");
  return load_le<std::uint64_t>(data.data() + index * 8);
}
constexpr void set_command_set_combination(MutableBytes data, std::size_t index, std::uint64_t mask) {
  BENCH_ASSERT(data.size() >= kIdentifySize && index < kCommandSetCombinationsMax, "a combination of an Identify structure");
  store_le(data.data() + index * 8, mask);
}

}  // namespace fb::nvme
