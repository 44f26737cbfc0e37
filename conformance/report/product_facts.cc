// What a controller declares, in words.
#include <fmt/format.h>

#include "conformance/report/report.h"
#include "conformance/runner/declared.h"
#include "wire/nvme/identify_controller.h"

namespace fb::conformance {

namespace {

/// Fields of Identify are padded with blanks, and anything may be in them.
std::string trimmed(ByteView bytes) {
  std::string text;
  for (const std::uint8_t c : bytes) text += c >= 0x20 && c < 0x7F ? static_cast<char>(c) : c == 0 ? ' ' : '?';
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string version_of(std::uint32_t vs) { return fmt::format("{}.{}.{}", vs >> 16, vs >> 8 & 0xFF, vs & 0xFF); }

}  // namespace

std::vector<std::pair<std::string, std::string>> facts_of_product(const Declared& declared) {
  namespace id = nvme::id_ctrl;
  const auto identify = declared.identify();
  const auto text = [&](const auto& field) { return trimmed(ByteView{declared.controller}.subspan(field.offset, field.size)); };
  const auto hex = [&](const auto& field) { return fmt::format("{:X}h", static_cast<std::uint64_t>(identify.get(field))); };
  const std::uint64_t most = declared.transfer_max();
  return {
      {"Model", text(id::mn)},
      {"Serial number", text(id::sn)},
      {"Firmware", text(id::fr)},
      {"Subsystem NQN", text(id::subnqn)},
      {"NVMe version", version_of(declared.vs)},
      {"Largest transfer", most == 0 ? std::string("no limit") : fmt::format("{} bytes", most)},
      {"I/O queues", std::to_string(declared.io_queues)},
      {"Queue entries", std::to_string(declared.queue_entries_max())},
      {"Namespaces", std::to_string(declared.namespaces.size() + declared.zoned_namespaces.size() + declared.key_value_namespaces.size())},
      {"Optional admin commands (OACS)", hex(id::oacs)},
      {"Optional NVM commands (ONCS)", hex(id::oncs)},
      {"SGL support (SGLS)", hex(id::sgls)}};
}

}  // namespace fb::conformance
