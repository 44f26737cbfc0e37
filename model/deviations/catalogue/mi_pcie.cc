// PCIe commands that do not keep to their rules.
#include "model/deviations/deviation.h"
#include "model/deviations/endpoint_speech.h"
#include "model/drive/drive.h"
#include "model/mi/fault_points.h"
#include "wire/mi/tunnels.h"

namespace fb::deviations {

using mi::MessageContext;
using mi::PcieOpcode;
using mi::Status;

namespace {

bool is_pcie(const MessageContext& message, PcieOpcode opcode) {
  return message.kind() == mi::MessageKind::pcie_command && message.opcode() == static_cast<std::uint8_t>(opcode);
}
std::size_t length_of(const MessageContext& message) { return nmd0_of(message) & 0xFFFF; }
std::uint32_t offset_of(const MessageContext& message) { return nmd1_of(message); }

bool takes_opcode_6(const MessageContext& message, mi::Refusal& refusal) {
  return refusal.check != "mi.pcie.opcode" || message.opcode() != 6;
}
std::optional<Status> io_not_served(const MessageContext& message) {
  if (!is_pcie(message, PcieOpcode::io_read)) return std::nullopt;
  return Status::invalid_opcode;
}
void another_device(const MessageContext& message, Bytes& body) {
  if (is_pcie(message, PcieOpcode::configuration_read) && is_success(body) && offset_of(message) == 0 && body.size() > 12) {
    body[10] ^= 0x01;
  }
}
void class_of_a_raid(const MessageContext& message, Bytes& body) {
  if (is_pcie(message, PcieOpcode::configuration_read) && is_success(body) && offset_of(message) == 0 && body.size() > 19) {
    body[8 + 10] = 0x04;
  }
}
void bytes_without_padding(const MessageContext& message, Bytes& body) {
  if (is_pcie(message, PcieOpcode::configuration_read) && is_success(body)) body.resize(8 + length_of(message));
}
void at_most_256(const MessageContext& message, Bytes& body) {
  if (is_pcie(message, PcieOpcode::configuration_read) && is_success(body) && body.size() > 8 + 256) body.resize(8 + 256);
}
std::optional<Status> configuration_writes_lost(const MessageContext& message) {
  if (!is_pcie(message, PcieOpcode::configuration_write)) return std::nullopt;
  return Status::success;
}
/// What is written to the head of the space is read from there.
class EverythingWritable final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (!is_success(body) || offset_of(message) != 0 || message.kind() != mi::MessageKind::pcie_command) return;
    if (is_pcie(message, PcieOpcode::configuration_write)) vendor_ = request_byte(message, 20);
    if (is_pcie(message, PcieOpcode::configuration_read) && vendor_ && body.size() > 8) body[8] = *vendor_;
  }

 private:
  std::optional<std::uint8_t> vendor_;
};
void another_version(const MessageContext& message, Bytes& body) {
  if (!is_pcie(message, PcieOpcode::memory_read) || !is_success(body)) return;
  if (offset_of(message) <= 8 && 8 + 8 - offset_of(message) < body.size()) body[8 + 8 - offset_of(message)] ^= 0x01;
}
void registers_from_the_start(const MessageContext& message, Bytes& body) {
  if (is_pcie(message, PcieOpcode::memory_read) && is_success(body) && offset_of(message) != 0 && body.size() > 8) {
    body[8] = static_cast<std::uint8_t>(body[8] + 0x5A);
  }
}
bool far_memory(const MessageContext& message, mi::Refusal& refusal) {
  return refusal.check != "mi.pcie.offset" || request_dword(message, 16) == 0;
}
bool near_memory(const MessageContext& message, mi::Refusal& refusal) {
  return refusal.check != "mi.pcie.offset" || request_dword(message, 16) != 0 || request_dword(message, 12) > 0x10000;
}
std::optional<Status> io_writes_lost(const MessageContext& message) {
  if (!is_pcie(message, PcieOpcode::io_write) || offset_of(message) == 0) return std::nullopt;
  return Status::success;
}
/// The first look at the base addresses is the last.
class DeniesEverything final : public mi::EndpointHooks {
 public:
  std::optional<Status> admission(const MessageContext& message) override {
    constexpr std::size_t kAddresses = 24;
    const bool addresses = is_pcie(message, PcieOpcode::configuration_read) && length_of(message) == kAddresses;
    if (!addresses || reads_++ == 0) return std::nullopt;
    return Status::access_denied;
  }

 private:
  unsigned reads_ = 0;
};

/// Reads and writes the first controller's function, whichever is asked for.
class FirstFunction final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    constexpr std::size_t kHead = 4;
    constexpr std::uint8_t kWhole = 0xC0, kPcie = 4;
    const bool whole = packet.size() >= kHead + mi::PcieRequest::size + mi::kMicSize && (packet[3] & kWhole) == kWhole;
    if (!whole || packet[kHead] != (mi::kIntegrityBit | mi::kNvmeMiType) || (packet[kHead + 1] >> 3 & 0xF) != kPcie) return;
    Bytes body(packet.begin() + kHead, packet.end() - mi::kMicSize);
    body[6] = 1;
    body[7] = 0;
    mi::append_mic(body);
    packet.resize(kHead);
    packet.insert(packet.end(), body.begin(), body.end());
  }
};

}  // namespace

DEVIATION(pcie_reserved_opcode_served, "mi.pcie.support.listed", Product::endpoint, "serves a reserved PCIe command",
          hooks<SomeRefused, &takes_opcode_6>());
DEVIATION(pcie_io_listed_and_unknown, "mi.pcie.support.listed", Product::endpoint, "lists PCIe I/O Read and does not know it",
          hooks<SomeNotServed, &io_not_served>());
DEVIATION(pcie_opcodes_as_parameters, "mi.pcie.support.listed", Product::endpoint, "calls a reserved PCIe command an invalid parameter",
          AnswerMi{"mi.pcie.opcode", Status::invalid_parameter, {4, 0}});
DEVIATION(pcie_device_differs, "mi.pcie.configuration.identity", Product::endpoint, "names another device in its configuration space",
          hooks<ResponseChanged, &another_device>());
DEVIATION(pcie_class_differs, "mi.pcie.configuration.identity", Product::endpoint, "is a RAID controller by its configuration space",
          hooks<ResponseChanged, &class_of_a_raid>());
DEVIATION(pcie_vendor_differs, "mi.pcie.configuration.identity", Product::endpoint,
          "names another vendor in Controller Information than in its configuration space", Departs{mi::departure::ds_vendor});
DEVIATION(pcie_reads_from_the_start, "mi.pcie.configuration.pieces", Product::endpoint,
          "reads its configuration space from the beginning whatever the offset", Departs{mi::departure::pcie_offset});
DEVIATION(pcie_reads_without_padding, "mi.pcie.configuration.pieces", Product::endpoint, "does not fill PCIe data up to a dword",
          hooks<ResponseChanged, &bytes_without_padding>());
DEVIATION(pcie_reads_256_bytes_at_most, "mi.pcie.configuration.pieces", Product::endpoint,
          "returns 256 bytes of configuration space at most", hooks<ResponseChanged, &at_most_256>());
DEVIATION(pcie_pads_with_rubbish, "mi.pcie.padding", Product::endpoint, "fills PCIe data up with what was there",
          Departs{mi::departure::pcie_padding});
DEVIATION(pcie_configuration_without_end, "mi.pcie.configuration.range", Product::endpoint,
          "takes configuration accesses that end behind 4 KiB", Tolerate{"mi.pcie.offset"});
DEVIATION(pcie_range_located_at_the_length, "mi.pcie.configuration.range", Product::endpoint,
          "points at the length when a configuration access ends behind 4 KiB",
          AnswerMi{"mi.pcie.offset", Status::invalid_parameter, {8, 0}});
DEVIATION(pcie_configuration_writes_lost, "mi.pcie.configuration.write", Product::endpoint, "writes nothing to its configuration space",
          hooks<SomeNotServed, &configuration_writes_lost>());
DEVIATION(pcie_vendor_can_be_written, "mi.pcie.configuration.write", Product::endpoint, "lets its vendor be written",
          hooks<EverythingWritable>());
DEVIATION(pcie_unknown_controllers_served, "mi.pcie.controller", Product::endpoint,
          "takes PCIe commands for controllers that there are not", Tolerate{"mi.pcie.ctlid"});
DEVIATION(pcie_controller_located_elsewhere, "mi.pcie.controller", Product::endpoint,
          "points at the length when the controller of a PCIe command is wrong",
          AnswerMi{"mi.pcie.ctlid", Status::invalid_parameter, {8, 0}});
DEVIATION(pcie_any_base_address, "mi.pcie.bar.reserved", Product::endpoint, "takes base addresses that there cannot be",
          Tolerate{"mi.pcie.bar"});
DEVIATION(pcie_base_address_located_elsewhere, "mi.pcie.bar.reserved", Product::endpoint,
          "points at the offset when the base address is wrong", AnswerMi{"mi.pcie.bar", Status::invalid_parameter, {12, 0}});
DEVIATION(pcie_kind_of_space_unchecked, "mi.pcie.bar.kind", Product::endpoint, "reads I/O space as memory and memory as I/O space",
          Tolerate{"mi.pcie.bar"});
DEVIATION(pcie_registers_of_another_version, "mi.pcie.memory.registers", Product::endpoint,
          "has another version in its registers than in Identify", hooks<ResponseChanged, &another_version>());
DEVIATION(pcie_registers_differ_in_pieces, "mi.pcie.memory.registers", Product::endpoint,
          "reads other values from its registers one by one", hooks<ResponseChanged, &registers_from_the_start>());
DEVIATION(pcie_offsets_of_32_bits, "mi.pcie.memory.range", Product::endpoint, "lets any offset above 4 GiB pass",
          hooks<SomeRefused, &far_memory>());
DEVIATION(pcie_memory_located_at_the_base_address, "mi.pcie.memory.range", Product::endpoint,
          "points at the base address when the offset is wrong", AnswerMi{"mi.pcie.offset", Status::invalid_parameter, {10, 0}});
DEVIATION(pcie_memory_goes_on, "mi.pcie.memory.edge", Product::endpoint, "reads on behind the end of its memory",
          hooks<SomeRefused, &near_memory>());
DEVIATION(pcie_io_writes_lost, "mi.pcie.io.access", Product::endpoint, "writes nothing to its I/O space",
          hooks<SomeNotServed, &io_writes_lost>());
DEVIATION(pcie_writes_of_any_size, "mi.pcie.write.data", Product::endpoint, "takes PCIe writes with any amount of data",
          Tolerate{"mi.pcie.data"});
DEVIATION(pcie_data_as_command_size, "mi.pcie.write.data", Product::endpoint, "calls wrong data of a PCIe write a wrong command size",
          AnswerMi{"mi.pcie.data", Status::invalid_command_size});
DEVIATION(pcie_short_commands_served, "mi.pcie.request.size", Product::endpoint, "takes what is missing of a PCIe command for zero",
          Tolerate{"mi.command.size"});
DEVIATION(pcie_read_data_ignored, "mi.pcie.request.size", Product::endpoint, "ignores data behind a PCIe read", Tolerate{"mi.pcie.data"});
DEVIATION(pcie_lock_ignored, "mi.pcie.locked", Product::endpoint, "serves functions that are locked down", Tolerate{"mi.pcie.locked"});
DEVIATION(pcie_locks_everything, "mi.pcie.locked", Product::endpoint, "denies the base addresses of a function that is locked down",
          hooks<DeniesEverything>());
DEVIATION(pcie_reset_is_an_error, "mi.pcie.inaccessible", Product::endpoint, "calls a function in reset an internal error",
          AnswerMi{"mi.pcie.inaccessible", Status::internal_error});
DEVIATION(functions_share_configuration, "mi.pcie.configuration.own", Product::endpoint,
          "reads and writes the first controller's configuration space", hooks<FirstFunction>());

}  // namespace fb::deviations
