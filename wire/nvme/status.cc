#include "wire/nvme/status.h"

#include <span>

#include <fmt/format.h>

namespace fb::nvme {

namespace {

struct Named {
  Status status;
  std::string_view name;
};

#define FB_NVME_STATUS_ROW(type, code, id, name) {sc::id, name},
constexpr Named kCommon[] = {FB_NVME_GENERIC_STATUS(FB_NVME_STATUS_ROW) FB_NVME_COMMAND_STATUS(FB_NVME_STATUS_ROW)
                                 FB_NVME_MEDIA_AND_PATH_STATUS(FB_NVME_STATUS_ROW)};
constexpr Named kFabrics[] = {FB_NVME_FABRICS_STATUS(FB_NVME_STATUS_ROW)};
constexpr Named kFabricsCommon[] = {FB_NVME_FABRICS_COMMON_STATUS(FB_NVME_STATUS_ROW)};
constexpr Named kCommandSet[] = {FB_NVME_COMMAND_SET_STATUS(FB_NVME_STATUS_ROW)};
#undef FB_NVME_STATUS_ROW

std::string_view find(std::span<const Named> table, Status code) {
  for (const Named& row : table) {
    if (row.status == code) return row.name;
  }
  return {};
}

}  // namespace

std::string name_of(Status status) {
  const Status code = status.code();
  for (const std::span<const Named> table : {std::span<const Named>{kCommon}, std::span<const Named>{kFabricsCommon}}) {
    if (const std::string_view name = find(table, code); !name.empty()) return std::string(name);
  }
  const std::string_view fabrics = find(kFabrics, code), command_set = find(kCommandSet, code);
  const bool may_be_fabrics = status.family() != StatusFamily::command_set && !fabrics.empty();
  const bool may_be_command_set = status.family() != StatusFamily::fabrics && !command_set.empty();
  if (may_be_fabrics && may_be_command_set) return fmt::format("{} or {}", fabrics, command_set);
  if (may_be_fabrics) return std::string(fabrics);
  if (may_be_command_set) return std::string(command_set);
  const bool vendor = code.sc() >= 0xC0 || code.sct() == unsigned(StatusCodeType::vendor);
  return vendor ? "Vendor Specific" : "Reserved";
}

std::string code_text(Status status) { return fmt::format("{}/{:02X}h", status.sct(), status.sc()); }

std::string to_string(Status status) { return fmt::format("{} ({})", name_of(status), code_text(status)); }

}  // namespace fb::nvme
