#include "wire/mi/data_structures.h"

namespace fb::mi {

namespace {
/// {[6:3] NMIMT, opcode}.
constexpr unsigned kKindShift = 3;
constexpr unsigned kKindMask = 0xF;
}  // namespace

Bytes make_controller_list(std::span<const std::uint16_t> ids) {
  const std::size_t count = std::min(ids.size(), kControllerListMax);
  Bytes made(2 + 2 * count);
  store_le(made.data(), static_cast<std::uint16_t>(count));
  for (std::size_t i = 0; i < count; ++i) store_le(&made[2 + 2 * i], ids[i]);
  return made;
}

Bytes make_command_list(std::span<const SupportedCommand> commands) {
  Bytes made(2 + 2 * commands.size());
  store_le(made.data(), static_cast<std::uint16_t>(commands.size()));
  for (std::size_t i = 0; i < commands.size(); ++i) {
    made[2 + 2 * i] = static_cast<std::uint8_t>((static_cast<unsigned>(commands[i].kind) & kKindMask) << kKindShift);
    made[3 + 2 * i] = commands[i].opcode;
  }
  return made;
}

std::optional<std::vector<std::uint16_t>> parse_controller_list(ByteView bytes) {
  if (bytes.size() < 2) return std::nullopt;
  const std::size_t count = load_le<std::uint16_t>(bytes.data());
  if (bytes.size() < 2 + 2 * count) return std::nullopt;
  std::vector<std::uint16_t> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(load_le<std::uint16_t>(&bytes[2 + 2 * i]));
  return ids;
}

std::optional<std::vector<SupportedCommand>> parse_command_list(ByteView bytes) {
  if (bytes.size() < 2) return std::nullopt;
  const std::size_t count = load_le<std::uint16_t>(bytes.data());
  if (bytes.size() < 2 + 2 * count) return std::nullopt;
  std::vector<SupportedCommand> commands;
  for (std::size_t i = 0; i < count; ++i) {
    commands.push_back({static_cast<MessageKind>(bytes[2 + 2 * i] >> kKindShift & kKindMask), bytes[3 + 2 * i]});
  }
  return commands;
}

}  // namespace fb::mi
