// What the vital product data says: an IPMI FRU image with the records of NVMe-MI. Taken apart here by hand,
// from the bytes that VPD Read returned.
#include "conformance/cases/mi/commands.h"
#include "conformance/runner/managed_setup.h"

namespace fb::conformance {
namespace {

constexpr std::size_t kUnit = 8;
constexpr std::size_t kRecordHead = 5;
constexpr std::uint8_t kNvmeRecord = 0x0B, kPortRecord = 0x0C, kTopologyRecord = 0x0D;

unsigned sum_of(ByteView bytes) {
  unsigned sum = 0;
  for (const std::uint8_t byte : bytes) sum += byte;
  return sum & 0xFF;
}

struct RecordAt {
  std::size_t at = 0;
  ByteView bytes;  ///< with its head of five bytes
  std::uint8_t type() const { return bytes[0]; }
  bool last() const { return (bytes[1] & 0x80) != 0; }
  ByteView body() const { return bytes.subspan(kRecordHead); }
};

/// Every record up to the one that says it is the last, or to where no whole one is.
std::vector<RecordAt> records_of(const Bytes& image) {
  std::vector<RecordAt> records;
  std::size_t at = std::size_t{image[5]} * kUnit;
  while (at != 0 && at + kRecordHead <= image.size()) {
    const std::size_t size = kRecordHead + image[at + 2];
    if (image.size() - at < size) break;
    records.push_back({at, ByteView{image}.subspan(at, size)});
    if (records.back().last()) break;
    at += size;
  }
  return records;
}

std::vector<RecordAt> of_type(const std::vector<RecordAt>& records, std::uint8_t type) {
  std::vector<RecordAt> found;
  for (const RecordAt& record : records) {
    if (record.type() == type) found.push_back(record);
  }
  return found;
}

/// Where the product area is; INCONCLUSIVE without one that lies inside.
ByteView product_area_of(Check& check, const Bytes& image) {
  const std::size_t at = std::size_t{image[4]} * kUnit;
  check.precondition(at != 0 && at + kUnit <= image.size(), "the header names a product information area");
  const std::size_t size = std::size_t{image[at + 1]} * kUnit;
  check.require(size != 0 && image.size() - at >= size, "the product information area lies inside of the VPD",
                fmt::format("{} bytes from {}", size, at));
  return ByteView{image}.subspan(at, size);
}

std::string without_spaces(ByteView text) {
  std::string made(text.begin(), text.end());
  const std::size_t end = made.find_last_not_of(std::string_view(" \0", 2));
  return made.substr(0, end == std::string::npos ? 0 : end + 1);
}

}  // namespace

CONFORMANCE_CASE(the_vpd_has_a_legal_size, "mi.vpd.size", roles::endpoint) {
  const std::uint32_t size = vpd_size(bench, check);
  check.between("bytes of VPD", size, 256u, 0x10000u);
  const MiAnswer last = vpd_read(bench, static_cast<std::uint16_t>(size - 1), 1);
  success_with(check, last, 1, "the last byte");
}

CONFORMANCE_CASE(the_common_header_is_sound, "mi.vpd.header", roles::endpoint) {
  const Bytes image = whole_vpd(bench, check);
  check.equal("format version", image[0], 1);
  check.equal("reserved byte", image[6], 0);
  check.equal("sum of the eight bytes", sum_of(ByteView{image}.first(8)), 0u);
  for (std::size_t i = 1; i <= 5; ++i) {
    check.that(std::size_t{image[i]} * kUnit < image.size(), fmt::format("area {} lies inside of the VPD", i),
               fmt::format("at {}", image[i] * kUnit));
  }
  check.that(image[5] != 0, "there is an area of records");
}

CONFORMANCE_CASE(the_product_area_is_sound, "mi.vpd.product", roles::endpoint) {
  const Bytes image = whole_vpd(bench, check);
  const ByteView area = product_area_of(check, image);
  check.equal("format version", area[0], 1);
  check.equal("sum of the area", sum_of(area), 0u);
  // Manufacturer, product, part, version, serial, asset tag, FRU file, then as many more as the product
  // likes.
  std::size_t at = 3, fields = 0;
  while (at < area.size() && area[at] != 0xC1) {
    at += 1 + (area[at] & 0x3Fu);
    ++fields;
  }
  check.require(at < area.size(), "the fields end with C1h inside of the area");
  check.that(fields >= 7, "there are seven fields at least", fmt::format("{}", fields));
  for (std::size_t i = at + 1; i + 1 < area.size(); ++i) {
    if (!check.equal(fmt::format("padding at {}", i), area[i], 0)) break;
  }
}

// The number, not the medium of that name.
CONFORMANCE_CASE(the_vpd_names_the_serial_number, "mi.vpd.product.serial", roles::endpoint, transports{"smbus", "serial", "pcie"}) {
  const Bytes image = whole_vpd(bench, check);
  const Bytes page = identity(bench, check, a_controller(bench, check));
  const ByteView area = product_area_of(check, image);
  std::size_t at = 3;
  constexpr int kSerialField = 4;
  for (int i = 0; i < kSerialField && at < area.size() && area[at] != 0xC1; ++i) at += 1 + (area[at] & 0x3Fu);
  check.require(at < area.size() && area.size() - at > (area[at] & 0x3Fu), "there is a field for the serial number");
  check.equal("serial number", without_spaces(area.subspan(at + 1, area[at] & 0x3Fu)), without_spaces(ByteView{page}.subspan(4, 20)));
}

CONFORMANCE_CASE(the_records_are_sound, "mi.vpd.records", roles::endpoint) {
  const Bytes image = whole_vpd(bench, check);
  const std::vector<RecordAt> records = records_of(image);
  check.require(!records.empty(), "there is a record");
  for (const RecordAt& record : records) {
    const std::string which = fmt::format(" of the record at {}", record.at);
    check.equal("format" + which, record.bytes[1] & 0x0F, 2);
    check.equal("sum of the head" + which, sum_of(record.bytes.first(kRecordHead)), 0u);
    check.equal("sum of the body" + which, (sum_of(record.body()) + record.bytes[3]) & 0xFF, 0u);
  }
}

namespace {

void the_list_ends(EndpointBench& bench, Check& check) {
  const Bytes image = whole_vpd(bench, check);
  const std::vector<RecordAt> records = records_of(image);
  check.require(!records.empty() && records.back().last(), "a record says that it is the last");
  // What follows a record that ended the list too early looks like one: its head sums up to zero.
  const std::size_t end = records.back().at + records.back().bytes.size();
  if (end + kRecordHead > image.size()) return;
  const ByteView next = ByteView{image}.subspan(end, kRecordHead);
  const bool looks_like_one = next[0] >= kNvmeRecord && next[0] <= kTopologyRecord && sum_of(next) == 0;
  check.that(!looks_like_one, "no record follows the last", fmt::format("one of type {:02x}h at {}", next[0], end));
}

}  // namespace

CONFORMANCE_CASE(the_last_record_says_so, "mi.vpd.records.end", roles::endpoint) { the_list_ends(bench, check); }

CONFORMANCE_CASE(a_topology_record_is_the_last, "mi.vpd.records.end", roles::endpoint,
                 arranged("a VPD with a topology record", [](EmbeddedSetup& setup) {
                   mi::VpdFacts& vpd = setup.managed->drive.device.vpd;
                   vpd.topology = {{.type = 7, .revision = 0, .data = {1, 2, 3}}, {.type = 4, .revision = 1, .data = {}}};
                   vpd.size = 512;
                 })) {
  the_list_ends(bench, check);
}

CONFORMANCE_CASE(the_nvme_record_is_there, "mi.vpd.nvme-record", roles::endpoint) {
  const Bytes image = whole_vpd(bench, check);
  const std::vector<RecordAt> found = of_type(records_of(image), kNvmeRecord);
  check.require(found.size() == 1, "there is one NVMe record", fmt::format("{}", found.size()));
  const ByteView record = found.front().bytes;
  check.require(record.size() == mi::NvmeRecord::size, "it has 59 bytes behind its head", fmt::format("{}", record.size() - kRecordHead));
  if (record[5] > 1) return;  // later versions may have put something there
  for (std::size_t i = 7; i <= 12; ++i) check.equal(fmt::format("reserved byte {}", i), record[i], 0);
  check.equal("reserved byte 17", record[17], 0);
  for (std::size_t i = 37; i < record.size(); ++i) check.equal(fmt::format("reserved byte {}", i), record[i], 0);
}

CONFORMANCE_CASE(every_pcie_port_has_a_record, "mi.vpd.port-record", roles::endpoint, needs(pcie_port)) {
  const Bytes image = whole_vpd(bench, check);
  const std::vector<RecordAt> records = records_of(image);
  const std::vector<RecordAt> found = of_type(records, kPortRecord);
  std::vector<unsigned> numbers;
  for (const RecordAt& record : found) {
    if (!check.equal(fmt::format("length of the port record at {}", record.at), record.body().size(), 11u)) continue;
    numbers.push_back(record.bytes[6]);
    for (std::size_t i = 13; i < 16; ++i) check.equal(fmt::format("reserved byte {}", i), record.bytes[i], 0);
  }
  std::sort(numbers.begin(), numbers.end());
  check.that(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end(), "each is of another port");
  if (!of_type(records, kTopologyRecord).empty()) return;
  std::size_t ports = 0;
  for (std::size_t i = 0; i < bench.declared().ports.size(); ++i) {
    if (bench.declared().port_info(i).get(mi::port_info::prttyp) == mi::PortType::pcie) ++ports;
  }
  check.equal("port records", found.size(), ports);
}

}  // namespace fb::conformance
