// Vital product data that is read, written or put together wrongly.
#include <vector>

#include "model/deviations/deviation.h"
#include "model/drive/drive.h"
#include "model/deviations/endpoint_speech.h"
#include "model/mi/fault_points.h"

namespace fb::deviations {

using mi::MessageContext;
using mi::Opcode;
using mi::Status;

namespace {

std::size_t offset_of(const MessageContext& message) { return nmd0_of(message) & 0xFFFF; }
std::size_t length_of(const MessageContext& message) { return nmd1_of(message) & 0xFFFF; }
bool is_read(const MessageContext& message) { return is_mi(message, Opcode::vpd_read); }
bool is_write(const MessageContext& message) { return is_mi(message, Opcode::vpd_write); }

void one_byte_less(const MessageContext& message, Bytes& body) {
  if (is_read(message) && is_success(body) && length_of(message) % 4 != 0) body.pop_back();
}
void always_128_bytes(const MessageContext& message, Bytes& body) {
  if (is_read(message) && is_success(body) && body.size() > 8 + 128) body.resize(8 + 128);
}
void length_in_the_response(const MessageContext& message, Bytes& body) {
  if (is_read(message) && is_success(body)) body[5] = static_cast<std::uint8_t>(length_of(message) | 1);
}
std::optional<Status> reads_of_nothing_refused(const MessageContext& message) {
  if (!is_read(message) || length_of(message) != 0) return std::nullopt;
  return Status::invalid_parameter;
}
void everything_for_nothing(const MessageContext& message, Bytes& body) {
  if (is_read(message) && is_success(body) && length_of(message) == 0) body.resize(body.size() + 256);
}
std::optional<Status> only_128_bytes(const MessageContext& message) {
  if (!is_read(message) || offset_of(message) + length_of(message) <= 128) return std::nullopt;
  return Status::invalid_parameter;
}
std::optional<Status> odd_writes_lost(const MessageContext& message) {
  if (!is_write(message) || offset_of(message) % 2 == 0) return std::nullopt;
  return Status::success;
}
std::optional<Status> writes_of_nothing_refused(const MessageContext& message) {
  if (!is_write(message) || length_of(message) != 0) return std::nullopt;
  return Status::invalid_parameter;
}

/// One byte of the image is another, whichever way it is read.
class ImageByte final : public mi::EndpointHooks {
 public:
  ImageByte(std::size_t at, unsigned flip) : at_(at), flip_(static_cast<std::uint8_t>(flip)) {}
  void response(const MessageContext& message, Bytes& body) override {
    if (!is_read(message) || !is_success(body) || at_ < offset_of(message)) return;
    const std::size_t place = mi::kResponseMin + at_ - offset_of(message);
    if (place < body.size()) body[place] ^= flip_;
  }

 private:
  std::size_t at_;
  std::uint8_t flip_;
};

/// What was written is gone after the reset.
class WrittenUntilReset final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (!is_success(body)) return;
    if (is_write(message)) at_ = offset_of(message);
    if (!is_read(message) || !was_reset_ || at_ < offset_of(message)) return;
    const std::size_t place = mi::kResponseMin + at_ - offset_of(message);
    if (place < body.size()) body[place] ^= 0x5A;
  }
  std::optional<Status> admission(const MessageContext& message) override {
    if (is_mi(message, Opcode::reset)) was_reset_ = true;
    return std::nullopt;
  }

 private:
  std::size_t at_ = 0;
  bool was_reset_ = false;
};

/// The memory is one that was programmed before the last change.
class StaleMemory final : public mi::EndpointHooks {
 public:
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (slave == Slave::vpd_memory && offset >= 96 && !bytes.empty()) bytes[0] ^= 0x20;
  }
};
/// The memory takes no address: every read begins at its start. What stands there, was read first.
class MemoryWithoutAddress final : public mi::EndpointHooks {
 public:
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (slave != Slave::vpd_memory) return;
    if (offset == 0) start_ = bytes;
    bytes = start_;
  }

 private:
  Bytes start_;
};

void no_port_records(mi::DriveOptions& options) { options.device.vpd.ports.clear(); }
void another_serial(mi::DriveOptions& options) { options.device.vpd.serial = "ANOTHER"; }

// Where things stand in the image of the emulated drive.
constexpr std::size_t kProduct = 8, kProductEnd = 127, kNvme = 128, kPort = 192;

}  // namespace

DEVIATION(vpd_read_shifts_odd_offsets, "mi.vpd.read.pieces", Product::endpoint, "reads one byte further behind an odd offset",
          Departs{mi::departure::vpd_chunk_shift});
DEVIATION(vpd_read_one_byte_short, "mi.vpd.read.pieces", Product::endpoint, "leaves out the last byte of lengths that are no dwords",
          hooks<ResponseChanged, &one_byte_less>());
DEVIATION(vpd_read_ends_after_128_bytes, "mi.vpd.read.pieces", Product::endpoint, "returns 128 bytes of VPD at most",
          hooks<ResponseChanged, &always_128_bytes>());
DEVIATION(vpd_read_says_its_length, "mi.vpd.read.pieces", Product::endpoint, "puts the length where the response has reserved bits",
          hooks<ResponseChanged, &length_in_the_response>());
DEVIATION(vpd_read_of_nothing_refused, "mi.vpd.read.nothing", Product::endpoint, "refuses to read no bytes of VPD",
          hooks<SomeNotServed, &reads_of_nothing_refused>());
DEVIATION(vpd_read_of_nothing_returns_all, "mi.vpd.read.nothing", Product::endpoint, "takes no bytes of VPD for all of them",
          hooks<ResponseChanged, &everything_for_nothing>());
DEVIATION(vpd_read_offset_located_elsewhere, "mi.vpd.read.offset", Product::endpoint,
          "points behind the offset when a VPD read begins behind the end", AnswerMi{"mi.vpd.dofst", Status::invalid_parameter, {10, 0}});
DEVIATION(vpd_read_offset_denied, "mi.vpd.read.offset", Product::endpoint, "denies access behind the end of the VPD",
          AnswerMi{"mi.vpd.dofst", Status::access_denied});
DEVIATION(vpd_read_length_unchecked, "mi.vpd.read.length", Product::endpoint, "fills VPD reads beyond the end with zeroes",
          Tolerate{"mi.vpd.dlen"});
DEVIATION(vpd_read_length_located_at_the_offset, "mi.vpd.read.length", Product::endpoint,
          "points at the offset when the length of a VPD read is too large", AnswerMi{"mi.vpd.dlen", Status::invalid_parameter, {8, 0}});
DEVIATION(vpd_read_of_any_size, "mi.vpd.read.request-data", Product::endpoint, "takes VPD Read of any size", Tolerate{"mi.command.size"});

DEVIATION(vpd_of_128_bytes, "mi.vpd.size", Product::endpoint, "has 128 bytes of VPD", hooks<SomeNotServed, &only_128_bytes>());
DEVIATION(vpd_header_checksum_wrong, "mi.vpd.header", Product::endpoint, "has a wrong checksum in the common header",
          Departs{mi::departure::vpd_checksum});
DEVIATION(vpd_header_of_another_version, "mi.vpd.header", Product::endpoint, "has a common header of version 3",
          hooks<ImageByte, 0, 0x02>());
DEVIATION(vpd_header_reserved_set, "mi.vpd.header", Product::endpoint, "has a reserved byte of the common header set",
          hooks<ImageByte, 6, 0x40>());
DEVIATION(vpd_areas_outside, "mi.vpd.header", Product::endpoint, "names an area that lies outside of the VPD", hooks<ImageByte, 3, 0x80>());
DEVIATION(vpd_product_checksum_wrong, "mi.vpd.product", Product::endpoint, "has a wrong checksum in the product area",
          hooks<ImageByte, kProductEnd, 0x01>());
DEVIATION(vpd_product_padded_with_rubbish, "mi.vpd.product", Product::endpoint, "pads the product area with something",
          hooks<ImageByte, kProductEnd - 1, 0x20>());
DEVIATION(vpd_product_fields_without_end, "mi.vpd.product", Product::endpoint, "has no end behind the fields of the product area",
          hooks<ImageByte, kProduct + 104, 0xC1>());
DEVIATION(vpd_of_another_drive, "mi.vpd.product.serial", Product::endpoint, "has another serial number in the VPD",
          AlterDrive{&another_serial});
DEVIATION(vpd_record_checksum_wrong, "mi.vpd.records", Product::endpoint, "has a record with a wrong checksum",
          hooks<ImageByte, kNvme + 3, 0x01>());
DEVIATION(vpd_record_head_checksum_wrong, "mi.vpd.records", Product::endpoint, "has a record whose head has a wrong checksum",
          hooks<ImageByte, kNvme + 4, 0x80>());
DEVIATION(vpd_record_of_another_format, "mi.vpd.records", Product::endpoint, "has a record of format 3",
          hooks<ImageByte, kPort + 1, 0x01>());
DEVIATION(vpd_records_without_end, "mi.vpd.records.end", Product::endpoint, "has no last record", hooks<ImageByte, kPort + 1, 0x80>());
DEVIATION(vpd_records_end_early, "mi.vpd.records.end", Product::endpoint, "calls the first record the last",
          hooks<ImageByte, kNvme + 1, 0x80>());
DEVIATION(vpd_without_nvme_record, "mi.vpd.nvme-record", Product::endpoint, "has something else where the NVMe record belongs",
          hooks<ImageByte, kNvme, 0xC0>());
DEVIATION(vpd_nvme_record_longer, "mi.vpd.nvme-record", Product::endpoint, "has an NVMe record of another length",
          hooks<ImageByte, kNvme + 2, 0x04>());
DEVIATION(vpd_nvme_record_reserved_set, "mi.vpd.nvme-record", Product::endpoint, "has a reserved byte of the NVMe record set",
          hooks<ImageByte, kNvme + 40, 0x01>());
DEVIATION(vpd_without_port_record, "mi.vpd.port-record", Product::endpoint, "has no record for its PCI Express port",
          AlterDrive{&no_port_records});
DEVIATION(vpd_port_record_reserved_set, "mi.vpd.port-record", Product::endpoint, "has a reserved byte of the port record set",
          hooks<ImageByte, kPort + 14, 0x01>());
DEVIATION(vpd_memory_stale, "mi.vpd.smbus.memory", Product::endpoint, "has a memory that differs from what VPD Read returns",
          hooks<StaleMemory>());
DEVIATION(vpd_memory_without_address, "mi.vpd.smbus.memory", Product::endpoint, "reads its memory from the start wherever it is asked to",
          hooks<MemoryWithoutAddress>());

DEVIATION(vpd_write_lost, "mi.vpd.write.stored", Product::endpoint, "stores nothing", Departs{mi::departure::vpd_write_lost});
DEVIATION(vpd_write_lost_at_odd_offsets, "mi.vpd.write.pieces", Product::endpoint, "stores nothing at odd offsets",
          hooks<SomeNotServed, &odd_writes_lost>());
DEVIATION(vpd_write_until_reset, "mi.vpd.write.kept", Product::endpoint, "forgets at a reset what was written to the VPD",
          hooks<WrittenUntilReset>());
DEVIATION(vpd_write_of_nothing_refused, "mi.vpd.write.nothing", Product::endpoint, "refuses to write no bytes of VPD",
          hooks<SomeNotServed, &writes_of_nothing_refused>());
DEVIATION(vpd_write_padded_with_zeroes, "mi.vpd.write.data", Product::endpoint, "fills up what is missing of the data with zeroes",
          Tolerate{"mi.vpd.data"});
DEVIATION(vpd_write_data_as_command_size, "mi.vpd.write.data", Product::endpoint, "calls wrong data a wrong command size",
          AnswerMi{"mi.vpd.data", Status::invalid_command_size});
DEVIATION(vpd_write_offset_located_elsewhere, "mi.vpd.write.offset", Product::endpoint,
          "points behind the offset when a VPD write begins behind the end", AnswerMi{"mi.vpd.dofst", Status::invalid_parameter, {10, 0}});
DEVIATION(vpd_write_offset_denied, "mi.vpd.write.offset", Product::endpoint, "denies writes behind the end of the VPD",
          AnswerMi{"mi.vpd.dofst", Status::access_denied});
DEVIATION(vpd_write_takes_what_fits, "mi.vpd.write.length", Product::endpoint, "stores as much of a VPD write as fits",
          Tolerate{"mi.vpd.dlen"});
DEVIATION(vpd_write_length_as_data_size, "mi.vpd.write.length", Product::endpoint, "calls a VPD write beyond the end one of wrong data",
          AnswerMi{"mi.vpd.dlen", Status::invalid_data_size});
DEVIATION(vpd_written_though_locked, "mi.vpd.write.locked", Product::endpoint, "writes a VPD that is locked", Tolerate{"mi.vpd.locked"});
DEVIATION(vpd_never_worn, "mi.vpd.write.exceeded", Product::endpoint, "says nothing when the VPD takes no more updates",
          Tolerate{"mi.vpd.endurance"});
DEVIATION(vpd_worn_says_denied, "mi.vpd.write.exceeded", Product::endpoint, "denies access when the VPD takes no more updates",
          AnswerMi{"mi.vpd.endurance", Status::access_denied});

}  // namespace fb::deviations
