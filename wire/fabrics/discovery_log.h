// The discovery log page (70h): a header of 1,024 bytes and entries of 1,024.
#pragma once

#include "wire/fabrics/nqn.h"
#include "wire/layout.h"

namespace fb::fabrics {

namespace discovery_header {
inline constexpr Le<"genctr", 0, std::uint64_t> genctr{};
inline constexpr Le<"numrec", 8, std::uint64_t> numrec{};
inline constexpr Le<"recfmt", 16, std::uint16_t> recfmt{};
inline constexpr Le<"dlpf", 18, std::uint8_t> dlpf{};
inline constexpr Le<"tdlpl", 20, std::uint32_t> tdlpl{};
}  // namespace discovery_header
using DiscoveryHeader = Layout<1024, discovery_header::genctr, discovery_header::numrec, discovery_header::recfmt, discovery_header::dlpf,
                               discovery_header::tdlpl>;

namespace dlpf_bits {
inline constexpr std::uint8_t extended = 1u << 0;
inline constexpr std::uint8_t port_local = 1u << 1;
inline constexpr std::uint8_t all_subsystems = 1u << 2;
}  // namespace dlpf_bits

/// Log specific parameter of Get Log Page.
namespace discovery_lsp_bits {
inline constexpr std::uint8_t extended = 1u << 0;
inline constexpr std::uint8_t port_local = 1u << 1;
inline constexpr std::uint8_t all_subsystems = 1u << 2;
}  // namespace discovery_lsp_bits

enum class TransportType : std::uint8_t { rdma = 1, fibre_channel = 2, tcp = 3, intra_host = 254 };
enum class AddressFamily : std::uint8_t {
  ipv4 = 1,
  ipv6 = 2,
  infiniband = 3,
  fibre_channel = 4,
  intra_host = 254,
};
enum class SubsystemType : std::uint8_t { referral = 1, nvm = 2, current_discovery = 3 };

std::string_view name_of(TransportType type);
std::string_view name_of(AddressFamily family);
std::string_view name_of(SubsystemType type);

namespace treq_bits {
inline constexpr std::uint8_t secure_channel_mask = 0x03;
inline constexpr std::uint8_t secure_channel_required = 1;
inline constexpr std::uint8_t secure_channel_not_required = 2;
inline constexpr std::uint8_t disable_sq_flow_control = 1u << 2;
inline constexpr std::uint8_t zero_host_id = 1u << 3;
inline constexpr std::uint8_t authentication_mask = 0x30;
inline constexpr std::uint8_t authentication_required = 1u << 4;
inline constexpr std::uint8_t authentication_required_for_tls = 2u << 4;
}  // namespace treq_bits

namespace eflags_bits {
inline constexpr std::uint16_t duplicate_information = 1u << 0;
inline constexpr std::uint16_t persistent_connections = 1u << 1;
inline constexpr std::uint16_t no_cdc_connectivity = 1u << 2;
}  // namespace eflags_bits

enum class RdmaQpType : std::uint8_t { reliable_connected = 1, reliable_datagram = 2 };
enum class RdmaProvider : std::uint8_t { none = 1, infiniband = 2, roce = 3, roce_v2 = 4, iwarp = 5 };
enum class RdmaCms : std::uint8_t { rdma_cm = 1 };
enum class TcpSecurity : std::uint8_t { none = 0, tls_1_2 = 1, tls_1_3 = 2 };

inline constexpr std::size_t kTransportAddressSize = 256;
inline constexpr std::size_t kServiceIdSize = 32;

namespace discovery_entry {
inline constexpr Le<"trtype", 0, std::uint8_t, TransportType> trtype{};
inline constexpr Le<"adrfam", 1, std::uint8_t, AddressFamily> adrfam{};
inline constexpr Le<"subtype", 2, std::uint8_t, SubsystemType> subtype{};
inline constexpr Le<"treq", 3, std::uint8_t> treq{};
inline constexpr Le<"portid", 4, std::uint16_t> portid{};
inline constexpr Le<"cntlid", 6, std::uint16_t> cntlid{};
inline constexpr Le<"asqsz", 8, std::uint16_t> asqsz{};
inline constexpr Le<"eflags", 10, std::uint16_t> eflags{};
inline constexpr BytesField<"trsvcid", 32, kServiceIdSize> trsvcid{};
inline constexpr BytesField<"subnqn", 256, kNqnFieldSize> subnqn{};
inline constexpr BytesField<"traddr", 512, kTransportAddressSize> traddr{};
/// Transport specific: for RDMA ...
inline constexpr Le<"qptype", 768, std::uint8_t, RdmaQpType> qptype{};
inline constexpr Le<"prtype", 769, std::uint8_t, RdmaProvider> prtype{};
inline constexpr Le<"cms", 770, std::uint8_t, RdmaCms> cms{};
inline constexpr Le<"pkey", 776, std::uint16_t> pkey{};
/// ... and for TCP.
inline constexpr Le<"sectype", 768, std::uint8_t, TcpSecurity> sectype{};
}  // namespace discovery_entry

/// The part of an entry that every transport has, and a transport's own `Fields`.
template <auto... Fields>
using TransportDiscoveryEntry =
    Layout<1024, discovery_entry::trtype, discovery_entry::adrfam, discovery_entry::subtype, discovery_entry::treq, discovery_entry::portid,
           discovery_entry::cntlid, discovery_entry::asqsz, discovery_entry::eflags, discovery_entry::trsvcid, discovery_entry::subnqn,
           discovery_entry::traddr, Fields...>;
using DiscoveryEntry = TransportDiscoveryEntry<>;
using RdmaDiscoveryEntry =
    TransportDiscoveryEntry<discovery_entry::qptype, discovery_entry::prtype, discovery_entry::cms, discovery_entry::pkey>;
using TcpDiscoveryEntry = TransportDiscoveryEntry<discovery_entry::sectype>;

/// Entry `index` of a log as bytes; empty when the log ends before.
constexpr ByteView discovery_entry_at(ByteView log, std::uint64_t index) {
  const std::size_t held = log.size() / DiscoveryEntry::size;
  if (held < 2 || index >= held - 1) return {};
  return log.subspan((index + 1) * DiscoveryEntry::size, DiscoveryEntry::size);
}

/// A decimal port in TRSVCID, padded with spaces or zeroes; nothing for any other text.
std::optional<std::uint16_t> decimal_port(ByteView trsvcid);

}  // namespace fb::fabrics
