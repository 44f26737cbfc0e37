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
constexpr Named kCommon[] = {FB_NVME_GENERIC_STATUS(FB_NVME_STATUS_ROW) FB_NVME_COMMAND_STATUS(
    FB_NVME_STATUS_ROW) FB_NVME_MEDIA_AND_PATH_STATUS(FB_NVME_STATUS_ROW)};
constexpr Named kFabrics[] = {FB_NVME_FABRICS_STATUS(FB_NVME_STATUS_ROW)};
constexpr Named kNvm[] = {FB_NVME_NVM_STATUS(FB_NVME_STATUS_ROW)};
#undef FB_NVME_STATUS_ROW

std::string_view find(std::span<const Named> table, Status code) {
  for (const Named& row : table) {
    if (row.status == code) return row.name;
  }
  return {};
}

}  // namespace

std::string_view name_of(Status status, bool fabrics) {
  const Status code = status.code();
  if (const std::string_view name = find(kCommon, code); !name.empty()) return name;
  const std::span<const Named> first = fabrics ? std::span<const Named>{kFabrics} : kNvm;
  const std::span<const Named> second = fabrics ? std::span<const Named>{kNvm} : kFabrics;
  if (const std::string_view name = find(first, code); !name.empty()) return name;
  if (const std::string_view name = find(second, code); !name.empty()) return name;
  const bool vendor = code.sc() >= 0xC0 || code.sct() == unsigned(StatusCodeType::vendor);
  return vendor ? "Vendor Specific" : "Reserved";
}

std::string code_text(Status status) {
  return fmt::format("{}/{:02X}h", status.sct(), status.sc());
}

std::string to_string(Status status, bool fabrics) {
  return fmt::format("{} ({})", name_of(status, fabrics), code_text(status));
}

}  // namespace fb::nvme
