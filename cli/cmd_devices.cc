// fabricbench devices: the RDMA devices of this machine, as --device takes them.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/document.h"
#include "cli/usage.h"
#include "sim/rdma/verbs/device_list.h"

namespace fb::cli {

namespace {

std::string addresses_text(const verbs::DeviceFacts& device) {
  std::string text;
  for (const IpAddress& one : device.addresses) text += (text.empty() ? "" : ", ") + to_string(one);
  return text;
}

std::string guid_text(std::uint64_t guid) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48, guid >> 32 & 0xFFFF, guid >> 16 & 0xFFFF, guid & 0xFFFF);
}

void print_table(const std::vector<verbs::DeviceFacts>& devices) {
  fmt::print("{:<20} {:<20} {:<10} {:<6} {:>5}  {}\n", "device", "node GUID", "transport", "port", "MTU", "addresses");
  for (const verbs::DeviceFacts& one : devices) {
    fmt::print("{:<20} {:<20} {:<10} {:<6} {:>5}  {}\n", "verbs:" + one.name, guid_text(one.node_guid), one.transport,
               one.active ? "active" : "down", one.mtu_bytes, addresses_text(one));
  }
}

void print_json(const std::vector<verbs::DeviceFacts>& devices) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const verbs::DeviceFacts& one : devices) {
    nlohmann::ordered_json addresses = nlohmann::ordered_json::array();
    for (const IpAddress& address : one.addresses) addresses.push_back(to_string(address));
    all.push_back({{"name", "verbs:" + one.name},
                   {"node_guid", guid_text(one.node_guid)},
                   {"transport", one.transport},
                   {"active", one.active},
                   {"mtu", one.mtu_bytes},
                   {"addresses", addresses}});
  }
  print_document({{"devices", all}});
}

int run_devices(bool json) {
  const auto devices = or_throw(verbs::list_devices());
  if (json) {
    print_json(devices);
    return exit_code::good;
  }
  if (devices.empty()) throw UserError("this machine has no RDMA device; " + std::string(verbs::how_to_make_one()));
  print_table(devices);
  return exit_code::good;
}

}  // namespace

void add_devices(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("devices", "List the RDMA devices of this machine, for --device");
  set_help(*command, "  fabricbench devices\n",
           "The software device, softroce, needs none of them.\n" + exit_codes("devices were listed", "not used"));
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON document");
  command->callback([json, &outcome] { outcome.code = run_devices(*json); });
}

}  // namespace fb::cli
