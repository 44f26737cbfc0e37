// Vital product data: an IPMI FRU image with an NVMe record, a PCIe port record for each port and, where
// wanted, a topology record (NVMe-MI, chapter 9).
#pragma once

#include <string>
#include <vector>

#include "wire/mi/message.h"

namespace fb::mi {

/// The sum of the bytes is 0 when the checksum among them is right.
std::uint8_t zero_sum(ByteView bytes);

/// Offsets count in units of 8 bytes; 0: there is no such area.
namespace fru_header {
inline constexpr Le<"version", 0, std::uint8_t> version{};
inline constexpr Le<"internal", 1, std::uint8_t> internal{};
inline constexpr Le<"chassis", 2, std::uint8_t> chassis{};
inline constexpr Le<"board", 3, std::uint8_t> board{};
inline constexpr Le<"product", 4, std::uint8_t> product{};
inline constexpr Le<"multirecord", 5, std::uint8_t> multirecord{};
inline constexpr Le<"checksum", 7, std::uint8_t> checksum{};
}  // namespace fru_header
using FruHeader = Layout<8, fru_header::version, fru_header::internal, fru_header::chassis, fru_header::board, fru_header::product,
                         fru_header::multirecord, fru_header::checksum>;

enum class RecordType : std::uint8_t { nvme = 0x0B, nvme_pcie_port = 0x0C, topology = 0x0D };

namespace record {
inline constexpr Le<"type", 0, std::uint8_t, RecordType> type{};
inline constexpr LeBits<"format", 1, std::uint8_t, 3, 0> format{};
inline constexpr LeBits<"last", 1, std::uint8_t, 7, 7, bool> last{};
/// Bytes behind these five.
inline constexpr Le<"length", 2, std::uint8_t> length{};
inline constexpr Le<"record_checksum", 3, std::uint8_t> record_checksum{};
inline constexpr Le<"header_checksum", 4, std::uint8_t> header_checksum{};
inline constexpr Le<"version", 5, std::uint8_t> version{};
}  // namespace record
inline constexpr std::size_t kRecordHeader = 5;
template <std::size_t Size, auto... Fields>
using RecordLayout = Layout<Size, record::type, record::format, record::last, record::length, record::record_checksum,
                            record::header_checksum, record::version, Fields...>;
using AnyRecord = RecordLayout<6>;

namespace nvme_record {
inline constexpr Le<"form_factor", 6, std::uint8_t> form_factor{};
inline constexpr Le<"init_1v8", 13, std::uint8_t> init_1v8{};
inline constexpr Le<"max_1v8", 14, std::uint8_t> max_1v8{};
inline constexpr Le<"init_3v3", 15, std::uint8_t> init_3v3{};
inline constexpr Le<"max_3v3", 16, std::uint8_t> max_3v3{};
inline constexpr Le<"max_3v3aux", 18, std::uint8_t> max_3v3aux{};
inline constexpr Le<"init_5v", 19, std::uint8_t> init_5v{};
inline constexpr Le<"max_5v", 20, std::uint8_t> max_5v{};
inline constexpr Le<"init_12v", 21, std::uint8_t> init_12v{};
inline constexpr Le<"max_12v", 22, std::uint8_t> max_12v{};
inline constexpr Le<"thermal_load", 23, std::uint8_t> thermal_load{};
/// Thirteen bytes, low first.
inline constexpr BytesField<"capacity", 24, 13> capacity{};
}  // namespace nvme_record
using NvmeRecord = RecordLayout<64, nvme_record::form_factor, nvme_record::init_1v8, nvme_record::max_1v8, nvme_record::init_3v3,
                                nvme_record::max_3v3, nvme_record::max_3v3aux, nvme_record::init_5v, nvme_record::max_5v,
                                nvme_record::init_12v, nvme_record::max_12v, nvme_record::thermal_load, nvme_record::capacity>;

namespace port_record {
inline constexpr Le<"port", 6, std::uint8_t> port{};
inline constexpr Le<"info", 7, std::uint8_t> info{};
inline constexpr Le<"speeds", 8, std::uint8_t> speeds{};
inline constexpr Le<"width", 9, std::uint8_t> width{};
inline constexpr Le<"mctp", 10, std::uint8_t> mctp{};
inline constexpr Le<"clock", 11, std::uint8_t> clock{};
inline constexpr Le<"identifier", 12, std::uint8_t> identifier{};
}  // namespace port_record
using PciePortRecord = RecordLayout<16, port_record::port, port_record::info, port_record::speeds, port_record::width, port_record::mctp,
                                    port_record::clock, port_record::identifier>;

namespace topology_record {
inline constexpr Le<"elements", 7, std::uint8_t> elements{};
}
using TopologyRecord = RecordLayout<8, topology_record::elements>;

/// One element of a topology record: type, revision and length stand ahead of `data`.
struct TopologyElement {
  std::uint8_t type = 0;
  std::uint8_t revision = 0;
  Bytes data;
};

struct VpdPort {
  std::uint8_t port = 0;
  std::uint8_t speeds = 0x0F;
  std::uint8_t width = 4;
  std::uint8_t mctp = 1;
  std::uint8_t identifier = 0;
};

/// What a FRU image is made of.
struct VpdFacts {
  std::string manufacturer = "fbench";     ///< 8 characters at most
  std::string product = "emulated drive";  ///< 24
  std::string part = "FB-EMU-1";           ///< 40
  std::string version = "1";               ///< 2
  std::string serial;                      ///< 20
  std::uint8_t form_factor = 0x10;
  std::uint8_t max_12v_w = 25;
  std::uint8_t thermal_load_w = 25;
  std::uint64_t capacity_bytes = 0;
  std::vector<VpdPort> ports = {{}};
  std::vector<TopologyElement> topology;
  std::size_t size = 256;  ///< of the whole image; the rest is zero
};

/// Common header, product information and records, with all checksums. What does not fit `size` is a
/// fault of the caller.
Bytes make_vpd(const VpdFacts& facts);

/// Something in an image that the format forbids.
struct VpdFault {
  std::size_t offset = 0;
  std::string what;
};
/// The first fault, or nothing: versions, checksums, bounds, the end of the record list, the NVMe record.
std::optional<VpdFault> check_vpd(ByteView image);
/// The records in order, each with its five bytes of header; what is beyond a bad length is left out.
std::vector<ByteView> vpd_records(ByteView image);
/// The texts of the product information area, in order.
std::vector<std::string> vpd_product_texts(ByteView image);

}  // namespace fb::mi
