// Management endpoint buffers that do not keep to their rules.
#include <algorithm>

#include "model/deviations/deviation.h"
#include "model/deviations/endpoint_speech.h"
#include "model/drive/drive.h"
#include "model/mi/fault_points.h"

namespace fb::deviations {

using mi::MessageContext;
using mi::Opcode;
using mi::Status;

namespace {

bool is_access(const MessageContext& message) { return is_mi(message, Opcode::buffer_read) || is_mi(message, Opcode::buffer_write); }
bool in_buffer(const MessageContext& message) { return (request_byte(message, 2) & 1) != 0; }
bool reads_structure(const MessageContext& message, mi::DataType type) {
  return is_mi(message, Opcode::read_data_structure) && nmd0_of(message) >> 24 == static_cast<std::uint32_t>(type);
}

std::optional<Status> writes_lost(const MessageContext& message) {
  if (!is_mi(message, Opcode::buffer_write) || nmd1_of(message) == 0) return std::nullopt;
  return Status::success;
}
std::optional<Status> accesses_to_nothing_refused(const MessageContext& message) {
  if (!is_access(message) || nmd1_of(message) != 0) return std::nullopt;
  return Status::invalid_parameter;
}
void command_listed_twice(const MessageContext& message, Bytes& body) {
  if (!reads_structure(message, mi::DataType::buffer_commands) || !is_success(body) || body.size() < 12) return;
  body.push_back(body[10]);
  body.push_back(body[11]);
  ++body[8];
  body[5] = static_cast<std::uint8_t>(body[5] + 2);
}
void list_counts_too_many(const MessageContext& message, Bytes& body) {
  if (reads_structure(message, mi::DataType::buffer_commands) && is_success(body) && body.size() > 8) ++body[8];
}
/// The optional commands without Management Endpoint Buffer Read.
void read_not_listed(const MessageContext& message, Bytes& body) {
  if (!reads_structure(message, mi::DataType::supported_commands) || !is_success(body)) return;
  for (std::size_t at = 10; at + 1 < body.size(); at += 2) {
    if (body[at] == 0x08 && body[at + 1] == static_cast<std::uint8_t>(Opcode::buffer_read)) body[at + 1] = 0xC0;
  }
}
void data_in_the_message_too(const MessageContext& message, Bytes& body) {
  if (in_buffer(message) && is_success(body)) body.resize(body.size() + 64);
}

/// One buffer for all endpoints of the device: they share their hooks.
class OneBufferForAll final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (!is_access(message) || !is_success(body)) return;
    const std::size_t offset = nmd0_of(message);
    if (is_mi(message, Opcode::buffer_write)) {
      const ByteView data = message.request.subspan(std::min<std::size_t>(message.request.size(), mi::MiRequest::size));
      if (offset + data.size() > kBytes) return;
      content_.resize(kBytes);
      std::copy(data.begin(), data.end(), content_.begin() + static_cast<std::ptrdiff_t>(offset));
      return;
    }
    const std::size_t size = body.size() - mi::kResponseMin;
    if (offset + size > content_.size()) return;
    std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), size, body.begin() + mi::kResponseMin);
  }

 private:
  static constexpr std::size_t kBytes = 4096;
  Bytes content_;
};

}  // namespace

DEVIATION(buffer_read_from_the_start, "mi.buffer.write.read-back", Product::endpoint,
          "reads the buffer from its beginning whatever the offset", Departs{mi::departure::buffer_offset_ignored});
DEVIATION(buffer_write_lost, "mi.buffer.write.read-back", Product::endpoint, "writes nothing to its buffer",
          hooks<SomeNotServed, &writes_lost>());
DEVIATION(buffer_access_to_nothing_refused, "mi.buffer.access.nothing", Product::endpoint,
          "refuses to read or write no bytes of its buffer", hooks<SomeNotServed, &accesses_to_nothing_refused>());
DEVIATION(buffer_offset_unchecked, "mi.buffer.access.offset", Product::endpoint, "looks at the end of a buffer access alone",
          Tolerate{"mi.buffer.dofst"});
DEVIATION(buffer_offset_denied, "mi.buffer.access.offset", Product::endpoint, "denies access behind the end of its buffer",
          AnswerMi{"mi.buffer.dofst", Status::access_denied});
DEVIATION(buffer_length_unchecked, "mi.buffer.access.length", Product::endpoint, "reads and writes as much of its buffer as fits",
          Tolerate{"mi.buffer.dlen"});
DEVIATION(buffer_length_located_at_the_offset, "mi.buffer.access.length", Product::endpoint,
          "points at the offset when the length of a buffer access is too large",
          AnswerMi{"mi.buffer.dlen", Status::invalid_parameter, {8, 0}});
DEVIATION(buffer_write_takes_what_comes, "mi.buffer.write.data", Product::endpoint, "writes what data there is to its buffer",
          Tolerate{"mi.buffer.data"});
DEVIATION(buffer_write_data_as_command_size, "mi.buffer.write.data", Product::endpoint,
          "calls wrong data for its buffer a wrong command size", AnswerMi{"mi.buffer.data", Status::invalid_command_size});
DEVIATION(buffer_read_of_any_size, "mi.buffer.read.request-data", Product::endpoint, "takes buffer reads of any size",
          Tolerate{"mi.command.size"});
DEVIATION(buffer_list_repeats_itself, "mi.buffer.commands.list", Product::endpoint, "lists a command for its buffer twice",
          hooks<ResponseChanged, &command_listed_twice>());
DEVIATION(buffer_list_counts_too_many, "mi.buffer.commands.list", Product::endpoint, "counts more commands for its buffer than it lists",
          hooks<ResponseChanged, &list_counts_too_many>());
DEVIATION(buffer_commands_not_offered, "mi.buffer.commands.list", Product::endpoint,
          "has a buffer and does not list the command that reads it", hooks<ResponseChanged, &read_not_listed>());
DEVIATION(buffer_bit_ignored_when_unlisted, "mi.buffer.unlisted.refused", Product::endpoint,
          "executes commands with the buffer that it does not list for it", Tolerate{"mi.command.meb"});
DEVIATION(buffer_bit_as_opcode, "mi.buffer.unlisted.refused", Product::endpoint,
          "calls a command that may not use the buffer an invalid opcode", AnswerMi{"mi.command.meb", Status::invalid_opcode});
DEVIATION(buffer_bit_located_at_the_opcode, "mi.buffer.unlisted.location", Product::endpoint,
          "points at the opcode of a command that may not use the buffer", AnswerMi{"mi.command.meb", Status::invalid_parameter, {4, 0}});
DEVIATION(buffer_and_message_carry_data, "mi.buffer.response", Product::endpoint, "sends data although the buffer was asked for",
          hooks<ResponseChanged, &data_in_the_message_too>());
DEVIATION(buffer_keeps_the_rest, "mi.buffer.zeroed", Product::endpoint, "leaves what response data does not cover as it was",
          Departs{mi::departure::buffer_not_zeroed});
DEVIATION(buffer_request_with_data_taken, "mi.buffer.request", Product::endpoint, "ignores data in a message that asks for the buffer",
          Tolerate{"mi.vpd.data"});
DEVIATION(buffer_shared_by_endpoints, "mi.buffer.own", Product::endpoint, "has one buffer for all its endpoints", hooks<OneBufferForAll>());
DEVIATION(buffer_outlives_a_reset, "mi.buffer.reset", Product::endpoint, "keeps its buffer over a reset",
          Departs{mi::departure::reset_keeps_buffer});
DEVIATION(buffer_readable_after_sanitize, "mi.buffer.sanitized", Product::endpoint, "reads a buffer that was sanitized",
          Tolerate{"mi.buffer.cleared"});
DEVIATION(buffer_sanitized_is_an_error, "mi.buffer.sanitized", Product::endpoint, "calls a sanitized buffer an internal error",
          AnswerMi{"mi.buffer.cleared", Status::internal_error});

}  // namespace fb::deviations
