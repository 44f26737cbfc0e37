// Discovery information that is registered (NVMe Base 2.1, 5.4.4): the data of Discovery Information Management, its entries
// with their extended attributes, and the log pages that tell of what is registered: 71h, 72h and 73h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/fabrics/discovery_log.h"
#include "wire/nvme/sqe.h"

namespace fb::fabrics {

namespace registration_sqe {
inline constexpr LeBits<"tas", 40, std::uint32_t, 3, 0> tas{};
}
using RegistrationSqe = nvme::CommandSqe<registration_sqe::tas>;

enum class RegistrationTask : std::uint8_t { register_entries = 0, deregister_entries = 1, update = 2 };
enum class EntryFormat : std::uint16_t { basic = 1, extended = 2 };
enum class EntityType : std::uint16_t { host = 1, direct = 2, centralized = 3 };
/// What identifies an entry beside its transport, its service identifier and its name.
enum class EntryKeyType : std::uint16_t { port_id = 0x3F, address = 0x5F };
enum class AttributeType : std::uint16_t { host_identifier = 1, label_ascii = 2, label_utf8 = 3 };

inline constexpr std::size_t kEntityNameSize = 256;
inline constexpr std::size_t kEntityVersionSize = 64;

namespace registration {
inline constexpr Le<"tdl", 0, std::uint32_t> tdl{};
inline constexpr Le<"nument", 8, std::uint64_t> nument{};
inline constexpr Le<"entfmt", 16, std::uint16_t, EntryFormat> entfmt{};
inline constexpr Le<"etype", 18, std::uint16_t, EntityType> etype{};
inline constexpr Le<"portlcl", 20, std::uint8_t> portlcl{};
inline constexpr Le<"ektype", 22, std::uint16_t, EntryKeyType> ektype{};
inline constexpr BytesField<"eid", 24, kNqnFieldSize> eid{};
inline constexpr BytesField<"ename", 280, kEntityNameSize> ename{};
inline constexpr BytesField<"ever", 536, kEntityVersionSize> ever{};
}  // namespace registration
using RegistrationHeader = Layout<1024, registration::tdl, registration::nument, registration::entfmt, registration::etype,
                                  registration::portlcl, registration::ektype, registration::eid, registration::ename, registration::ever>;

/// What an extended entry has behind the fields of a basic one; attributes follow.
namespace extended_entry {
inline constexpr BytesField<"tsas", 768, 256> tsas{};
inline constexpr Le<"tel", 1024, std::uint32_t> tel{};
inline constexpr Le<"numexat", 1028, std::uint16_t> numexat{};
}  // namespace extended_entry
using ExtendedEntry =
    Layout<1032, discovery_entry::trtype, discovery_entry::adrfam, discovery_entry::subtype, discovery_entry::treq, discovery_entry::portid,
           discovery_entry::cntlid, discovery_entry::asqsz, discovery_entry::eflags, discovery_entry::trsvcid, discovery_entry::subnqn,
           discovery_entry::traddr, extended_entry::tsas, extended_entry::tel, extended_entry::numexat>;

/// An entry of the Host Discovery log: TRSVCID and what is of a subsystem alone is reserved.
namespace host_entry {
inline constexpr BytesField<"hostnqn", 256, kNqnFieldSize> hostnqn{};
}
using HostEntry = Layout<1032, discovery_entry::trtype, discovery_entry::adrfam, discovery_entry::eflags, host_entry::hostnqn,
                         discovery_entry::traddr, extended_entry::tsas, extended_entry::tel, extended_entry::numexat>;

namespace extended_attribute {
inline constexpr Le<"exattype", 0, std::uint16_t, AttributeType> exattype{};
inline constexpr Le<"exatlen", 2, std::uint16_t> exatlen{};
}  // namespace extended_attribute
using ExtendedAttribute = Layout<4, extended_attribute::exattype, extended_attribute::exatlen>;

inline constexpr std::size_t kHostIdentifierSize = 16;
inline constexpr std::size_t kLabelSizeMax = 256;

struct Attribute {
  AttributeType type{};
  Bytes value;
  bool operator==(const Attribute&) const = default;
};

/// The attributes of an entry; nothing where they do not fill it as TEL and NUMEXAT say.
std::optional<std::vector<Attribute>> attributes_of(ByteView entry);
/// Appends attributes to an entry, its TEL and NUMEXAT with them. The first 1,024 bytes of `entry` are kept.
Bytes extended(ByteView entry, std::span<const Attribute> attributes);
/// A label, filled up with zeroes to a multiple of four bytes.
Attribute label(std::string_view text);

/// Whether two entries have one key: transport, address family, service identifier, TSAS, NQN, and PORTID or TRADDR.
bool same_key(ByteView one, ByteView other, EntryKeyType type);

/// The data of the command. TDL and NUMENT are filled in.
struct RegistrationData {
  EntryFormat entfmt = EntryFormat::extended;
  EntityType etype = EntityType::host;
  bool port_local = false;
  EntryKeyType ektype = EntryKeyType::address;
  std::string eid;
  std::string ename = {};
  std::string ever = {};
  std::vector<Bytes> entries = {};

  Bytes bytes() const;
};

/// The length of the entry at `at` of `data`, as ENTFMT has it: 0 where it does not lie within.
std::size_t entry_length(ByteView data, std::size_t at, EntryFormat format);

// ---- log page 71h ----

namespace host_log_header {
inline constexpr Le<"genctr", 0, std::uint64_t> genctr{};
inline constexpr Le<"numrec", 8, std::uint64_t> numrec{};
inline constexpr Le<"recfmt", 16, std::uint16_t> recfmt{};
inline constexpr Le<"hdlpf", 18, std::uint8_t> hdlpf{};
inline constexpr Le<"thdlpl", 20, std::uint32_t> thdlpl{};
}  // namespace host_log_header
using HostLogHeader = Layout<1024, host_log_header::genctr, host_log_header::numrec, host_log_header::recfmt, host_log_header::hdlpf,
                             host_log_header::thdlpl>;

namespace hdlpf_bits {
inline constexpr std::uint8_t all_hosts = 1u << 0;
}
/// Log specific parameter of Get Log Page.
namespace host_log_lsp_bits {
inline constexpr std::uint8_t all_hosts = 1u << 0;
}

// ---- log page 72h ----

namespace ave_log_header {
inline constexpr Le<"genctr", 0, std::uint64_t> genctr{};
inline constexpr Le<"numrec", 8, std::uint64_t> numrec{};
inline constexpr Le<"recfmt", 16, std::uint16_t> recfmt{};
inline constexpr Le<"tadlpl", 20, std::uint32_t> tadlpl{};
}  // namespace ave_log_header
using AveLogHeader = Layout<1024, ave_log_header::genctr, ave_log_header::numrec, ave_log_header::recfmt, ave_log_header::tadlpl>;

namespace ave_entry {
inline constexpr Le<"tel", 0, std::uint32_t> tel{};
inline constexpr BytesField<"avenqn", 4, 224> avenqn{};
inline constexpr Le<"numatr", 228, std::uint8_t> numatr{};
}  // namespace ave_entry
using AveEntry = Layout<232, ave_entry::tel, ave_entry::avenqn, ave_entry::numatr>;

namespace ave_record {
inline constexpr Le<"aveadrfam", 0, std::uint8_t, AddressFamily> aveadrfam{};
inline constexpr Le<"avetrsvcid", 2, std::uint16_t> avetrsvcid{};
inline constexpr BytesField<"avetraddr", 4, 16> avetraddr{};
}  // namespace ave_record
using AveRecord = Layout<20, ave_record::aveadrfam, ave_record::avetrsvcid, ave_record::avetraddr>;

// ---- log page 73h ----

namespace pull_request_log {
inline constexpr Le<"ori", 0, std::uint8_t> ori{};
inline constexpr Le<"tpdrpl", 4, std::uint32_t> tpdrpl{};
}  // namespace pull_request_log
using PullRequestLog = Layout<8, pull_request_log::ori, pull_request_log::tpdrpl>;

}  // namespace fb::fabrics
