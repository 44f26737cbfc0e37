#include "cli/mctp_counters.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "conformance/report/document.h"
#include "wire/mi/message.h"

namespace fb::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_name(mi::MessageKind kind) {
  switch (kind) {
    case mi::MessageKind::control_primitive:
      return "primitive";
    case mi::MessageKind::mi_command:
      return "mi";
    case mi::MessageKind::admin_command:
      return "admin";
    case mi::MessageKind::pcie_command:
      return "pcie";
    case mi::MessageKind::async_event:
      break;
  }
  return "other";
}

Json of_drive(MctpDrive& drive) {
  const mctp::Endpoint& end = drive.node().endpoint();
  const mi::EndpointCounters& counted = drive.endpoint().counters();
  Json requests = Json::array();
  for (const auto& [asked, count] : counted.requests) {
    requests.push_back({{"kind", kind_name(asked.first)},
                        {"opcode", asked.second},
                        {"name", mi::request_name(asked.first, asked.second)},
                        {"count", count}});
  }
  Json drops = Json::object();
  for (std::size_t i = 0; i < mctp::kDrops; ++i) {
    const auto why = static_cast<mctp::Drop>(i);
    if (const auto count = end.assembly().dropped(why)) drops[std::string(name_of(why))] = count;
  }
  Json abandoned = Json::object();
  for (std::size_t i = 0; i < mctp::kAbandons; ++i) {
    const auto why = static_cast<mctp::Abandoned>(i);
    if (const auto count = end.assembly().ended(why)) abandoned[std::string(name_of(why))] = count;
  }
  return {{"network", drive.network()},
          {"eid", end.eid()},
          {"serial", drive.serial()},
          {"packets_in", end.assembly().packets},
          {"packets_out", end.counters().packets_out},
          {"packets_dropped", std::move(drops)},
          {"messages_abandoned", std::move(abandoned)},
          {"nvme_mi_messages", counted.messages},
          {"nvme_mi_discarded", counted.discarded},
          {"requests", std::move(requests)}};
}

}  // namespace

std::string counters_json(const std::vector<MctpDrive*>& drives) {
  Json made = {{"endpoints", Json::array()}};
  for (MctpDrive* const drive : drives) made["endpoints"].push_back(of_drive(*drive));
  return conformance::versioned(std::move(made)).dump(2) + "\n";
}

CountersFile::CountersFile(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_.open(path);
  if (!file_) throw UserError("--counters " + path + ": " + std::strerror(errno));
}

void CountersFile::write(const std::vector<MctpDrive*>& drives) {
  if (path_.empty()) return;
  file_ << counters_json(drives) << std::flush;
  if (!file_) throw UserError("--counters " + path_ + ": " + std::strerror(errno));
}

}  // namespace fb::cli
