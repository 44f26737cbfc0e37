#include "wire/mi/vpd.h"

#include <algorithm>

namespace fb::mi {

namespace {

constexpr std::size_t kUnit = 8;
constexpr std::uint8_t kFormat = 1;  ///< of the header and of the product area
constexpr std::uint8_t kRecordFormat = 2;
constexpr std::uint8_t kEnglish = 0x19;
constexpr std::uint8_t kAscii = 0xC0;  ///< type of a text, with its length below
constexpr std::uint8_t kEndOfFields = 0xC1;
constexpr std::size_t kProductSize = 120;

void append_text(Bytes& area, const std::string& text, std::size_t size) {
  area.push_back(static_cast<std::uint8_t>(kAscii | size));
  for (std::size_t i = 0; i < size; ++i) {
    area.push_back(i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{' '});
  }
}

Bytes product_area(const VpdFacts& facts) {
  Bytes area = {kFormat, static_cast<std::uint8_t>(kProductSize / kUnit), kEnglish};
  append_text(area, facts.manufacturer, 8);
  append_text(area, facts.product, 24);
  append_text(area, facts.part, 40);
  append_text(area, facts.version, 2);
  append_text(area, facts.serial, 20);
  area.push_back(0);  // asset tag
  area.push_back(0);  // FRU file
  area.push_back(kEndOfFields);
  area.resize(kProductSize);
  area.back() = static_cast<std::uint8_t>(0u - zero_sum(area));
  return area;
}

void append_record(Bytes& image, Bytes bytes, RecordType type, bool last) {
  MutableView<AnyRecord> view{bytes};
  view.set(record::type, type).set(record::format, kRecordFormat).set(record::last, last).set(record::length, bytes.size() - kRecordHeader);
  const ByteView all{bytes};
  view.set(record::record_checksum, 0u - zero_sum(all.subspan(kRecordHeader)));
  view.set(record::header_checksum, 0u - zero_sum(all.first(kRecordHeader)));
  image.insert(image.end(), bytes.begin(), bytes.end());
}

template <class L>
Bytes bytes_of(const Record<L>& record) {
  return {record.bytes().begin(), record.bytes().end()};
}

Bytes nvme_record_of(const VpdFacts& facts) {
  Record<NvmeRecord> made;
  std::uint8_t capacity[13] = {};
  store_le(capacity, facts.capacity_bytes);
  made.set(nvme_record::form_factor, facts.form_factor)
      .set(nvme_record::max_12v, facts.max_12v_w)
      .set(nvme_record::init_12v, facts.max_12v_w / 2u)
      .set(nvme_record::thermal_load, facts.thermal_load_w)
      .set(nvme_record::capacity, ByteView{capacity});
  return bytes_of(made);
}

Bytes topology_of(const VpdFacts& facts) {
  Record<TopologyRecord> head;
  head.set(topology_record::elements, facts.topology.size());
  Bytes made = bytes_of(head);
  for (const TopologyElement& element : facts.topology) {
    made.push_back(element.type);
    made.push_back(element.revision);
    made.push_back(static_cast<std::uint8_t>(element.data.size() + 3));
    made.insert(made.end(), element.data.begin(), element.data.end());
  }
  return made;
}

}  // namespace

std::uint8_t zero_sum(ByteView bytes) {
  unsigned sum = 0;
  for (const std::uint8_t byte : bytes) sum += byte;
  return static_cast<std::uint8_t>(sum);
}

Bytes make_vpd(const VpdFacts& facts) {
  Record<FruHeader> head;
  head.set(fru_header::version, kFormat)
      .set(fru_header::product, FruHeader::size / kUnit)
      .set(fru_header::multirecord, (FruHeader::size + kProductSize) / kUnit);
  head.set(fru_header::checksum, 0u - zero_sum(head.bytes()));
  Bytes image = bytes_of(head);
  const Bytes product = product_area(facts);
  image.insert(image.end(), product.begin(), product.end());
  append_record(image, nvme_record_of(facts), RecordType::nvme, facts.ports.empty() && facts.topology.empty());
  for (std::size_t i = 0; i < facts.ports.size(); ++i) {
    const VpdPort& port = facts.ports[i];
    Record<PciePortRecord> made;
    made.set(record::version, 1u)
        .set(port_record::port, port.port)
        .set(port_record::speeds, port.speeds)
        .set(port_record::width, port.width)
        .set(port_record::mctp, port.mctp)
        .set(port_record::identifier, port.identifier);
    append_record(image, bytes_of(made), RecordType::nvme_pcie_port, facts.topology.empty() && i + 1 == facts.ports.size());
  }
  if (!facts.topology.empty()) append_record(image, topology_of(facts), RecordType::topology, true);
  BENCH_ASSERT(image.size() <= facts.size, "the VPD does not fit its size");
  image.resize(facts.size);
  return image;
}

std::vector<ByteView> vpd_records(ByteView image) {
  std::vector<ByteView> records;
  const auto head = View<FruHeader>::over(image);
  if (!head) return records;
  std::size_t at = std::size_t{head->get(fru_header::multirecord)} * kUnit;
  while (at != 0 && at + kRecordHeader <= image.size()) {
    const std::size_t size = kRecordHeader + image[at + record::length.offset];
    if (image.size() - at < size) break;
    records.push_back(image.subspan(at, size));
    if ((image[at + 1] & 0x80) != 0) break;
    at += size;
  }
  return records;
}

std::vector<std::string> vpd_product_texts(ByteView image) {
  std::vector<std::string> texts;
  const auto head = View<FruHeader>::over(image);
  if (!head) return texts;
  std::size_t at = std::size_t{head->get(fru_header::product)} * kUnit + 3;
  while (at < image.size() && image[at] != kEndOfFields) {
    const std::size_t size = image[at] & 0x3Fu;
    if (image.size() - at - 1 < size) break;
    texts.push_back(text_of(image.subspan(at + 1, size)));
    at += 1 + size;
  }
  return texts;
}

namespace {

std::optional<VpdFault> check_product(ByteView image, std::size_t at) {
  if (at + 2 > image.size()) return VpdFault{at, "product area outside the image"};
  const std::size_t size = std::size_t{image[at + 1]} * kUnit;
  if (image[at] != kFormat) return VpdFault{at, "product area version"};
  if (size == 0 || image.size() - at < size) return VpdFault{at + 1, "product area length"};
  if (zero_sum(image.subspan(at, size)) != 0) return VpdFault{at + size - 1, "product area checksum"};
  std::size_t field = at + 3;
  while (field < at + size && image[field] != kEndOfFields) field += 1 + (image[field] & 0x3Fu);
  if (field >= at + size) return VpdFault{at, "product fields without an end"};
  for (std::size_t i = field + 1; i < at + size - 1; ++i) {
    if (image[i] != 0) return VpdFault{i, "padding is not zero"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<VpdFault> check_vpd(ByteView image) {
  const auto head = View<FruHeader>::over(image);
  if (!head) return VpdFault{0, "shorter than its header"};
  if (head->get(fru_header::version) != kFormat) return VpdFault{0, "header version"};
  if (zero_sum(image.first(FruHeader::size)) != 0) return VpdFault{7, "header checksum"};
  if (const auto reserved = first_reserved_set<FruHeader>(image)) {
    return VpdFault{*reserved, "reserved byte of the header"};
  }
  if (const std::size_t product = head->get(fru_header::product) * kUnit; product != 0) {
    if (auto fault = check_product(image, product)) return fault;
  }
  bool ended = false, nvme = false;
  std::size_t at = std::size_t{head->get(fru_header::multirecord)} * kUnit;
  for (const ByteView bytes : vpd_records(image)) {
    const auto offset = static_cast<std::size_t>(bytes.data() - image.data());
    at = offset + bytes.size();
    if (zero_sum(bytes.first(kRecordHeader)) != 0) return VpdFault{offset + 4, "record header checksum"};
    if (static_cast<std::uint8_t>(zero_sum(bytes.subspan(kRecordHeader)) + bytes[3]) != 0) {
      return VpdFault{offset + 3, "record checksum"};
    }
    if ((bytes[1] & 0xF) != kRecordFormat) return VpdFault{offset + 1, "record format"};
    ended = (bytes[1] & 0x80) != 0;
    if (static_cast<RecordType>(bytes[0]) == RecordType::nvme) {
      nvme = true;
      if (bytes.size() != NvmeRecord::size) return VpdFault{offset + 2, "length of the NVMe record"};
    }
  }
  if (!ended) return VpdFault{at, "records without an end"};
  if (!nvme) return VpdFault{at, "no NVMe record"};
  return std::nullopt;
}

}  // namespace fb::mi
