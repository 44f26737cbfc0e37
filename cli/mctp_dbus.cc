#include "cli/mctp_dbus.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/result.h"
#include "cli/program.h"

namespace fb::cli {

namespace {

using Published = MctpDbus::Published;

constexpr char kOldName[] = "xyz.openbmc_project.MCTP";
constexpr char kOldRoot[] = "/xyz/openbmc_project/mctp";
constexpr char kNewName[] = "au.com.codeconstruct.MCTP1";
constexpr char kNewRoot[] = "/au/com/codeconstruct/mctp1";

const Published& of(void* data) { return *static_cast<const Published*>(data); }

int get_eid(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "y", of(data).eid);
}
int get_network(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "u", of(data).network);
}
int get_signed_network(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data,
                       sd_bus_error*) {
  return sd_bus_message_append(reply, "i", static_cast<std::int32_t>(of(data).network));
}
int get_types(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append_array(reply, 'y', of(data).types.data(), of(data).types.size());
}
int get_uuid(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "s", of(data).uuid.c_str());
}
int get_connectivity(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*, sd_bus_error*) {
  return sd_bus_message_append(reply, "s", "Available");
}
int set_mtu(sd_bus_message* call, void* data, sd_bus_error* error) {
  std::uint32_t mtu = 0;
  if (const int failed = sd_bus_message_read(call, "u", &mtu); failed < 0) return failed;
  if (mtu < 68 || mtu > 4096) return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "an MTU is 68 to 4096");
  (*of(data).set_mtu)(of(data).network, of(data).eid, mtu);
  return sd_bus_reply_method_return(call, "");
}

constexpr unsigned kConst = SD_BUS_VTABLE_PROPERTY_CONST;
const sd_bus_vtable kOldEndpoint[] = {SD_BUS_VTABLE_START(0),
                                      SD_BUS_PROPERTY("EID", "y", get_eid, 0, kConst),
                                      SD_BUS_PROPERTY("NetworkId", "i", get_signed_network, 0, kConst),
                                      SD_BUS_PROPERTY("SupportedMessageTypes", "ay", get_types, 0, kConst),
                                      SD_BUS_VTABLE_END};
const sd_bus_vtable kNewEndpoint[] = {SD_BUS_VTABLE_START(0),
                                      SD_BUS_PROPERTY("EID", "y", get_eid, 0, kConst),
                                      SD_BUS_PROPERTY("NetworkId", "u", get_network, 0, kConst),
                                      SD_BUS_PROPERTY("SupportedMessageTypes", "ay", get_types, 0, kConst),
                                      SD_BUS_VTABLE_END};
const sd_bus_vtable kUuid[] = {SD_BUS_VTABLE_START(0), SD_BUS_PROPERTY("UUID", "s", get_uuid, 0, kConst),
                               SD_BUS_VTABLE_END};
const sd_bus_vtable kEndpointControl[] = {
    SD_BUS_VTABLE_START(0), SD_BUS_PROPERTY("Connectivity", "s", get_connectivity, 0, kConst),
    SD_BUS_METHOD("SetMTU", "u", "", set_mtu, SD_BUS_VTABLE_UNPRIVILEGED), SD_BUS_VTABLE_END};

std::string text_of(const mctp::control::Uuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

void good(int result, const char* what) {
  if (result < 0) throw UserError(fmt::format("D-Bus, {}: {}", what, std::strerror(-result)));
}

/// Waits until the daemon says its address: its socket is there before it takes connections. False when it ends before
/// that, or says nothing in time.
bool says_its_address(int output) {
  constexpr int kPatience_ms = 10'000;
  char last = 0;
  while (last != '\n') {
    pollfd readable{output, POLLIN, 0};
    const int ready = ::poll(&readable, 1, kPatience_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || read(output, &last, 1) != 1) return false;
  }
  return true;
}

}  // namespace

MctpDbus::MctpDbus(World& world, mctp::Bus& bus, const std::filesystem::path& directory, SetMtu set_mtu)
    : world_(world), set_mtu_(std::move(set_mtu)) {
  start_daemon(directory);
  try {
    connect();
    for (const auto& network : bus.networks()) {
      for (const auto& [eid, known] : network->known()) {
        publish({network->number(), eid, known.types, known.uuid ? text_of(*known.uuid) : "", &set_mtu_});
      }
    }
    good(sd_bus_request_name(connection_, kOldName, 0), kOldName);
    good(sd_bus_request_name(connection_, kNewName, 0), kNewName);
  } catch (...) {
    end();
    throw;
  }
  world_.real_loop()->watch(sd_bus_get_fd(connection_), *this);
  on_readable();
}

MctpDbus::~MctpDbus() {
  world_.real_loop()->unwatch(sd_bus_get_fd(connection_));
  end();
}

void MctpDbus::end() {
  sd_bus_unref(connection_);
  kill(daemon_, SIGTERM);
  waitpid(daemon_, nullptr, 0);
}

void MctpDbus::start_daemon(const std::filesystem::path& directory) {
  const std::filesystem::path socket = directory / "dbus";
  const std::filesystem::path config = directory / "dbus.conf";
  const std::filesystem::path errors = directory / "dbus.errors";
  address_ = "unix:path=" + socket.string();
  std::ofstream(config) << "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" "
                           "\"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
                           "<busconfig><type>session</type><listen>"
                        << address_
                        << "</listen><policy context=\"default\"><allow user=\"*\"/><allow own=\"*\"/>"
                           "<allow send_type=\"method_call\"/><allow send_type=\"signal\"/>"
                           "<allow send_type=\"method_return\"/><allow send_type=\"error\"/>"
                           "<allow receive_type=\"method_call\"/><allow receive_type=\"signal\"/>"
                           "<allow receive_type=\"method_return\"/><allow receive_type=\"error\"/>"
                           "</policy></busconfig>\n";
  // A file takes its complaints, for they come as long as it lives.
  OpenFile complaints(open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  Pipe output = make_pipe();
  // It goes with us even when we are killed.
  daemon_ = start_program({"setpriv", "--pdeathsig", "TERM", "dbus-daemon", "--nofork", "--nopidfile", "--print-address",
                           "--config-file=" + config.string()},
                          own_environment(), {.output = output.write_end.fd(), .errors = complaints.fd()});
  output.write_end.close();
  if (says_its_address(output.read_end.fd())) return;
  end();
  std::string why;
  std::getline(std::ifstream(errors), why);
  throw UserError("dbus-daemon: it does not start: " + (why.empty() ? "it says nothing" : why));
}

void MctpDbus::connect() {
  good(sd_bus_new(&connection_), "a connection");
  good(sd_bus_set_address(connection_, address_.c_str()), "the address");
  good(sd_bus_set_bus_client(connection_, 1), "the connection");
  good(sd_bus_start(connection_), "connecting");
  good(sd_bus_add_object_manager(connection_, nullptr, kOldRoot), kOldRoot);
  good(sd_bus_add_object_manager(connection_, nullptr, kNewRoot), kNewRoot);
}

void MctpDbus::publish(const Published& endpoint) {
  published_.push_back(std::make_unique<Published>(endpoint));
  Published* const kept = published_.back().get();
  const std::string old_path = fmt::format("{}/{}/{}", kOldRoot, kept->network, kept->eid);
  const std::string new_path = fmt::format("{}/networks/{}/endpoints/{}", kNewRoot, kept->network, kept->eid);
  const auto add = [&](const std::string& path, const char* interface, const sd_bus_vtable* table) {
    good(sd_bus_add_object_vtable(connection_, nullptr, path.c_str(), interface, table, kept), interface);
  };
  add(old_path, "xyz.openbmc_project.MCTP.Endpoint", kOldEndpoint);
  add(new_path, "xyz.openbmc_project.MCTP.Endpoint", kNewEndpoint);
  add(new_path, "au.com.codeconstruct.MCTP.Endpoint1", kEndpointControl);
  if (kept->uuid.empty()) return;
  add(old_path, "xyz.openbmc_project.Common.UUID", kUuid);
  add(new_path, "xyz.openbmc_project.Common.UUID", kUuid);
}

void MctpDbus::on_readable() {
  while (sd_bus_process(connection_, nullptr) > 0) {
  }
  sd_bus_flush(connection_);
}

}  // namespace fb::cli
