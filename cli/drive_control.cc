#include "cli/drive_control.h"

#include <algorithm>

#include "base/or_throw.h"
#include "cli/control/target_parameters.h"

namespace fb::cli {

namespace {

/// Which drive: one of these.
std::vector<RpcParameter> of_drive(std::vector<RpcParameter> more = {}) {
  std::vector<RpcParameter> parameters = {a_number("drive", "Number of the drive, as drive.list has it", 1, 0xFFFF),
                                          a_number("eid", "Its endpoint identifier", 8, 254), a_text("serial", "Its serial number")};
  parameters.insert(parameters.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return parameters;
}

}  // namespace

DriveControl::DriveControl(World& world, std::vector<MctpDrive*> drives) : world_(world), drives_(std::move(drives)) {
  add_drive_methods();
  add_health_methods();
  add_pace_methods();
  add_deviation_methods();
}

MctpDrive& DriveControl::drive_of(const RpcArguments& arguments) const {
  const bool named = arguments.has("drive") || arguments.has("eid") || arguments.has("serial");
  if (!named && drives_.size() > 1)
    throw RpcError(RpcError::kInvalidParameters, "there are several drives: name one by drive, eid or serial");
  MctpDrive* found = nullptr;
  for (std::size_t i = 0; i < drives_.size(); ++i) {
    MctpDrive& one = *drives_[i];
    if (arguments.has("drive") && arguments.number("drive") != i + 1) continue;
    if (arguments.has("eid") && arguments.number("eid") != one.node().endpoint().eid()) continue;
    if (arguments.has("serial") && arguments.text("serial") != one.serial()) continue;
    if (found != nullptr) fail("several drives are so: EIDs are the same on several networks");
    found = &one;
  }
  if (found == nullptr) fail("there is no such drive");
  return *found;
}

DriveControl::Json DriveControl::drive_json(std::size_t index) const {
  MctpDrive& drive = *drives_[index];
  const subsystem::Subsystem& disk = drive.disk();
  return {{"drive", index + 1},
          {"network", drive.network()},
          {"eid", drive.node().endpoint().eid()},
          {"serial", drive.serial()},
          {"present", drive.present()},
          {"temperature", disk.temperature()},
          {"firmware", drive.disk().firmware().running()},
          {"latency_ms", drive.endpoint().options().latency.count_ms()}};
}

void DriveControl::add_drive_methods() {
  rpc_.add({"drive.list", "Every drive", {}, [this](const RpcArguments&) {
              Json all = Json::array();
              for (std::size_t i = 0; i < drives_.size(); ++i) all.push_back(drive_json(i));
              return all;
            }});
  const auto present = [this](bool on) {
    return [this, on](const RpcArguments& arguments) {
      MctpDrive& drive = drive_of(arguments);
      if (!drive.removable()) fail("a drive on a serial line cannot be pulled");
      if (drive.present() == on) fail(on ? "the drive is there" : "the drive is gone already");
      drive.set_present(on);
      return true;
    };
  };
  rpc_.add({"drive.remove", "Pull a drive out of its slot", of_drive(), present(false)});
  rpc_.add({"drive.insert", "Put a drive back, which is a power-on", of_drive(), present(true)});
  rpc_.add({"drive.reset", "Reset the NVM subsystem of a drive", of_drive(), [this](const RpcArguments& arguments) {
              drive_of(arguments).disk().reset_subsystem();
              return true;
            }});
  rpc_.add({"drive.power_cycle", "Power loss and return", of_drive(), [this](const RpcArguments& arguments) {
              MctpDrive& drive = drive_of(arguments);
              drive.disk().power_cycle();
              drive.endpoint().reset();
              drive.node().reset();
              return true;
            }});
  rpc_.add({"endpoint.reset", "Reset the management endpoint of a drive", of_drive(), [this](const RpcArguments& arguments) {
              drive_of(arguments).endpoint().reset();
              return true;
            }});
  rpc_.add({"link.set", "Take a PCI Express link of a drive down, or up again; requesters get the event that follows",
            of_drive({a_number("port", "Port of the drive", 0, 0xFF, true), a_flag("on", "Up or down", true)}),
            [this](const RpcArguments& arguments) {
              mi::Device& device = drive_of(arguments).device();
              const auto port = static_cast<std::uint8_t>(arguments.number("port"));
              if (!device.has_port(port) || device.port(port).type != mi::PortType::pcie) {
                fail("port " + std::to_string(port) + " of the drive is none of PCI Express");
              }
              device.set_link(port, arguments.flag("on"));
              return true;
            }});
  rpc_.add({"firmware.set", "Other firmware runs at once, as if it had been activated without a reset",
            of_drive({a_text("revision", "At most 8 characters", true), a_number("slot", "Slot that it runs from (the active one)", 1, 7)}),
            [this](const RpcArguments& arguments) {
              subsystem::FirmwareSlots& slots = drive_of(arguments).disk().firmware();
              const auto slot = static_cast<unsigned>(arguments.number("slot", slots.active()));
              const std::string revision = arguments.text("revision");
              if (revision.empty() || revision.size() > 8) fail("revision: 1 to 8 characters");
              if (!slots.exists(slot)) fail("the drive has no slot " + std::to_string(slot));
              slots.store(slot, revision);
              slots.activate(slot);
              return true;
            }});
  rpc_.add({"controller.list", "Controllers of a drive", of_drive(), [this](const RpcArguments& arguments) {
              Json all = Json::array();
              for (const auto& [cntlid, controller] : drive_of(arguments).disk().controllers()) {
                all.push_back({{"cntlid", cntlid}, {"state", name_of(controller->state())}, {"csts", controller->csts()}});
              }
              return all;
            }});
  rpc_.add({"stats", "Counters since the start", {}, [this](const RpcArguments&) { return statistics(); }});
  rpc_.add({"server.stop", "End the server in order", {}, [this](const RpcArguments&) {
              world_.interrupt();
              return true;
            }});
}

void DriveControl::add_health_methods() {
  rpc_.add({"health.get", "What the health of a drive is", of_drive(), [this](const RpcArguments& arguments) {
              const subsystem::Subsystem& disk = drive_of(arguments).disk();
              return Json{{"temperature", disk.temperature()},
                          {"critical_warning", disk.critical_warning()},
                          {"available_spare", disk.available_spare()},
                          {"percentage_used", disk.percentage_used()}};
            }});
  rpc_.add({"health.set", "Change the health of a drive; requesters get the events that follow from it",
            of_drive({a_number("temperature", "Composite temperature in kelvins", 0, 0xFFFF),
                      a_number("critical_warning", "Bits of the critical warning", 0, 0x3F), a_number("available_spare", "Percent", 0, 100),
                      a_number("percentage_used", "Percent; it may pass 100", 0, 255)}),
            [this](const RpcArguments& arguments) {
              subsystem::Subsystem& disk = drive_of(arguments).disk();
              if (const auto value = arguments.maybe<std::uint16_t>("temperature")) disk.set_temperature(*value);
              if (const auto value = arguments.maybe<std::uint8_t>("available_spare")) disk.set_available_spare(*value);
              if (const auto value = arguments.maybe<std::uint8_t>("percentage_used")) disk.set_percentage_used(*value);
              if (const auto value = arguments.maybe<std::uint8_t>("critical_warning")) disk.set_critical_warning(*value);
              return true;
            }});
}

void DriveControl::add_pace_methods() {
  rpc_.add({"pace.set", "How long commands take that come from now on, and the More Processing Required responses meanwhile",
            of_drive({a_time("latency", "Time of every command; beyond 90ms the drive asks for more time"),
                      a_number("more_count", "More Processing Required responses to one command (1)", 1, 0xFFFF),
                      a_flag("endless", "They come without end, and the response never (false)"),
                      a_time("more_interval", "Time between two of them (100ms)"),
                      a_number("more_time", "Time that each of them asks for, units of 100 ms", 0, 0xFFFF)}),
            [this](const RpcArguments& arguments) {
              mi::Endpoint& endpoint = drive_of(arguments).endpoint();
              mi::MoreProcessingOptions more;
              more.count = static_cast<unsigned>(arguments.number("more_count", more.count));
              more.endless = arguments.flag("endless");
              more.interval = arguments.duration("more_interval", more.interval);
              more.time = arguments.maybe<std::uint16_t>("more_time");
              endpoint.set_pace(arguments.duration("latency"), more);
              return true;
            }});
}

void DriveControl::add_deviation_methods() {
  rpc_.add({"deviation.list", "Deviations of a drive that are switched on", of_drive(),
            [this](const RpcArguments& arguments) { return Json(drive_of(arguments).deviations()); }});
  rpc_.add({"deviation.on", "Switch deviations of a drive on (fabricbench list --deviations)",
            of_drive({{.name = "names", .type = RpcParameter::Type::texts, .description = "Names of deviations", .required = true}}),
            [this](const RpcArguments& arguments) {
              MctpDrive& drive = drive_of(arguments);
              std::vector<std::string> names = drive.deviations();
              for (const std::string& one : arguments.texts("names")) names.push_back(one);
              drive.set_deviations(names);
              return Json(drive.deviations());
            }});
  rpc_.add({"deviation.off", "Switch deviations of a drive off",
            of_drive({{.name = "names", .type = RpcParameter::Type::texts, .description = "Names; left out: all"}}),
            [this](const RpcArguments& arguments) {
              MctpDrive& drive = drive_of(arguments);
              std::vector<std::string> names;
              if (arguments.has("names")) names = drive.deviations();
              for (const std::string& one : arguments.texts("names")) {
                if (std::erase(names, one) == 0) fail(one + " is not switched on");
              }
              drive.set_deviations(names);
              return Json(drive.deviations());
            }});
}

DriveControl::Json DriveControl::statistics() const {
  Json drives = Json::array();
  for (std::size_t i = 0; i < drives_.size(); ++i) {
    const mi::EndpointCounters& counters = drives_[i]->endpoint().counters();
    drives.push_back({{"serial", drives_[i]->serial()},
                      {"drive", std::to_string(i + 1)},
                      {"messages", counters.messages},
                      {"discarded", counters.discarded},
                      {"temperature_kelvins", drives_[i]->disk().temperature()}});
  }
  return {{"uptime_seconds", (world_.now() - started_).count_ms() / 1000}, {"drives", drives}};
}

}  // namespace fb::cli
