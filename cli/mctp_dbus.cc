#include "cli/mctp_dbus.h"

#include <fmt/format.h>
#include <systemd/sd-bus.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/result.h"

namespace fb::cli {

namespace {

constexpr char kOldName[] = "xyz.openbmc_project.MCTP";
constexpr char kOldRoot[] = "/xyz/openbmc_project/mctp";
constexpr char kNewName[] = "au.com.codeconstruct.MCTP1";
constexpr char kNewRoot[] = "/au/com/codeconstruct/mctp1";
constexpr char kOwnName[] = "org.fabricbench";
constexpr char kOwnRoot[] = "/org/fabricbench";
constexpr char kEndpointControl[] = "au.com.codeconstruct.MCTP.Endpoint1";

/// The daemon asks three times within TRECLAIM whether an endpoint is there again.
constexpr unsigned kRecoverPolls = 3;
constexpr Duration kRecoverPause = Duration::ms(2250);

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

}  // namespace

struct MctpDbus::Endpoint {
  MctpDbus& owner;
  mctp::Network& network;
  mctp::KnownEndpoint known;
  bool local;
  std::string old_path, new_path;
  std::vector<sd_bus_slot*> slots = {};
  bool degraded = false;
  unsigned polls = 0;

  Key key() const { return {network.number(), known.eid}; }
  void on_poll() { owner.poll_health(*this); }
  Timer<Endpoint, &Endpoint::on_poll> poll_timer{"mctp.dbus.recover", *this};
};

struct MctpDbus::Link {
  MctpDbus& owner;
  mctp::Network& network;
  std::size_t port;
};

struct MctpDbus::NetworkObject {
  MctpDbus& owner;
  mctp::Network& network;
};

struct MctpDbus::DriveObject {
  MctpDrive& drive;
};

// ---- properties and methods, as sd-bus calls them ----

namespace {

template <class T>
T& of(void* data) {
  return *static_cast<T*>(data);
}
using Endpoint = MctpDbus::Endpoint;

int get_eid(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "y", of<Endpoint>(data).known.eid);
}
int get_network(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "u", of<Endpoint>(data).network.number());
}
int get_signed_network(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "i", static_cast<std::int32_t>(of<Endpoint>(data).network.number()));
}
int get_types(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  const auto& types = of<Endpoint>(data).known.types;
  return sd_bus_message_append_array(reply, 'y', types.data(), types.size());
}
int get_vendor_types(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  int result = sd_bus_message_open_container(reply, 'a', "(yvq)");
  for (const mctp::VendorSupport& one : of<Endpoint>(data).known.vendors) {
    if (result < 0) return result;
    const auto format = static_cast<std::uint8_t>(one.format);
    result = one.format == mctp::control::VendorFormat::pci
                 ? sd_bus_message_append(reply, "(yvq)", format, "q", static_cast<std::uint16_t>(one.vendor), one.command_set)
                 : sd_bus_message_append(reply, "(yvq)", format, "u", one.vendor, one.command_set);
  }
  return result < 0 ? result : sd_bus_message_close_container(reply);
}
int get_uuid(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "s", text_of(*of<Endpoint>(data).known.uuid).c_str());
}
int get_connectivity(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "s", of<Endpoint>(data).degraded ? "Degraded" : "Available");
}
int set_mtu(sd_bus_message* call, void* data, sd_bus_error* error) {
  std::uint32_t mtu = 0;
  if (const int failed = sd_bus_message_read(call, "u", &mtu); failed < 0) return failed;
  if (mtu < 68 || mtu > 4096) return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "an MTU is 68 to 4096");
  auto& endpoint = of<Endpoint>(data);
  endpoint.owner.set_mtu(endpoint, mtu);
  return sd_bus_reply_method_return(call, "");
}
int remove_endpoint(sd_bus_message* call, void* data, sd_bus_error* error) {
  auto& endpoint = of<Endpoint>(data);
  if (endpoint.local) return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "it belongs to the bus owner");
  endpoint.owner.remove(endpoint);
  return sd_bus_reply_method_return(call, "");
}
int recover_endpoint(sd_bus_message* call, void* data, sd_bus_error* error) {
  auto& endpoint = of<Endpoint>(data);
  if (endpoint.local) return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "it belongs to the bus owner");
  endpoint.owner.recover(endpoint);
  return sd_bus_reply_method_return(call, "");
}

int get_link_network(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "u", of<MctpDbus::Link>(data).network.number());
}
int get_role(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*, sd_bus_error*) {
  return sd_bus_message_append(reply, "s", "BusOwner");
}
int set_role(sd_bus*, const char*, const char*, const char*, sd_bus_message*, void*, sd_bus_error* error) {
  return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "the role is set already");
}

/// Where a device is on SMBus, as other tools of Linux say it: the address in seven bits.
int read_place(sd_bus_message* call, mctp::PhysicalAddress& address, sd_bus_error* error) {
  const void* bytes = nullptr;
  std::size_t size = 0;
  if (const int failed = sd_bus_message_read_array(call, 'y', &bytes, &size); failed < 0) return failed;
  const std::uint8_t seven = size == 1 ? *static_cast<const std::uint8_t*>(bytes) : std::uint8_t{0xFF};
  if (seven > 0x7F) return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "an address is one byte of seven bits");
  address = mctp::smbus_address(static_cast<std::uint8_t>(seven << 1));
  return 0;
}
MctpDbus::Call held(sd_bus_message* call) { return {sd_bus_message_ref(call), &sd_bus_message_unref}; }

template <mctp::Assigning Assigning>
int look(sd_bus_message* call, void* data, sd_bus_error* error) {
  auto& link = of<MctpDbus::Link>(data);
  mctp::PhysicalAddress address;
  if (const int failed = read_place(call, address, error); failed < 0) return failed;
  link.owner.look_at(link, address, Assigning, mctp::kNullEid, held(call));
  return 1;
}
int look_static(sd_bus_message* call, void* data, sd_bus_error* error) {
  auto& link = of<MctpDbus::Link>(data);
  mctp::PhysicalAddress address;
  if (const int failed = read_place(call, address, error); failed < 0) return failed;
  std::uint8_t eid = 0;
  if (const int failed = sd_bus_message_read(call, "y", &eid); failed < 0) return failed;
  if (eid < mctp::kFirstEid || eid == mctp::kBroadcastEid) {
    return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "an EID is 8 to 254");
  }
  link.owner.look_at(link, address, mctp::Assigning::always, eid, held(call));
  return 1;
}

int get_local_eids(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  const mctp::Eid eid = of<MctpDbus::NetworkObject>(data).network.owner().eid();
  return sd_bus_message_append_array(reply, 'y', &eid, 1);
}
int learn_eid(sd_bus_message* call, void* data, sd_bus_error* error) {
  auto& network = of<MctpDbus::NetworkObject>(data);
  std::uint8_t eid = 0;
  if (const int failed = sd_bus_message_read(call, "y", &eid); failed < 0) return failed;
  const Endpoint* const found = network.owner.find({network.network.number(), eid});
  // Whoever can be reached has been found already: there are no bridges here.
  if (found == nullptr) return sd_bus_error_set_errno(error, EHOSTUNREACH);
  return sd_bus_reply_method_return(call, "sb", found->new_path.c_str(), 0);
}

int get_present(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void* data, sd_bus_error*) {
  return sd_bus_message_append(reply, "b", static_cast<int>(of<MctpDbus::DriveObject>(data).drive.present()));
}
template <bool Present>
int plug(sd_bus_message* call, void* data, sd_bus_error*) {
  of<MctpDbus::DriveObject>(data).drive.set_present(Present);
  sd_bus_emit_properties_changed(sd_bus_message_get_bus(call), sd_bus_message_get_path(call), sd_bus_message_get_interface(call), "Present",
                                 nullptr);
  return sd_bus_reply_method_return(call, "");
}

constexpr unsigned kConst = SD_BUS_VTABLE_PROPERTY_CONST;
constexpr unsigned kChanges = SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
constexpr unsigned kOpen = SD_BUS_VTABLE_UNPRIVILEGED;
const sd_bus_vtable kOldEndpointTable[] = {SD_BUS_VTABLE_START(0), SD_BUS_PROPERTY("EID", "y", get_eid, 0, kConst),
                                           SD_BUS_PROPERTY("NetworkId", "i", get_signed_network, 0, kConst),
                                           SD_BUS_PROPERTY("SupportedMessageTypes", "ay", get_types, 0, kConst), SD_BUS_VTABLE_END};
const sd_bus_vtable kEndpointTable[] = {SD_BUS_VTABLE_START(0),
                                        SD_BUS_PROPERTY("EID", "y", get_eid, 0, kConst),
                                        SD_BUS_PROPERTY("NetworkId", "u", get_network, 0, kConst),
                                        SD_BUS_PROPERTY("SupportedMessageTypes", "ay", get_types, 0, kConst),
                                        SD_BUS_PROPERTY("VendorDefinedMessageTypes", "a(yvq)", get_vendor_types, 0, kConst),
                                        SD_BUS_VTABLE_END};
const sd_bus_vtable kSignedEndpointTable[] = {SD_BUS_VTABLE_START(0),
                                              SD_BUS_PROPERTY("EID", "y", get_eid, 0, kConst),
                                              SD_BUS_PROPERTY("NetworkId", "i", get_signed_network, 0, kConst),
                                              SD_BUS_PROPERTY("SupportedMessageTypes", "ay", get_types, 0, kConst),
                                              SD_BUS_PROPERTY("VendorDefinedMessageTypes", "a(yvq)", get_vendor_types, 0, kConst),
                                              SD_BUS_VTABLE_END};
const sd_bus_vtable kUuidTable[] = {SD_BUS_VTABLE_START(0), SD_BUS_PROPERTY("UUID", "s", get_uuid, 0, kConst), SD_BUS_VTABLE_END};
const sd_bus_vtable kEndpointControlTable[] = {SD_BUS_VTABLE_START(0),
                                               SD_BUS_PROPERTY("Connectivity", "s", get_connectivity, 0, kChanges),
                                               SD_BUS_METHOD("SetMTU", "u", "", set_mtu, kOpen),
                                               SD_BUS_METHOD("Remove", "", "", remove_endpoint, kOpen),
                                               SD_BUS_METHOD("Recover", "", "", recover_endpoint, kOpen),
                                               SD_BUS_VTABLE_END};
const sd_bus_vtable kLinkTable[] = {SD_BUS_VTABLE_START(0), SD_BUS_PROPERTY("NetworkId", "u", get_link_network, 0, kChanges),
                                    SD_BUS_WRITABLE_PROPERTY("Role", "s", get_role, set_role, 0, kChanges | kOpen), SD_BUS_VTABLE_END};
const sd_bus_vtable kLinkOwnerTable[] = {SD_BUS_VTABLE_START(0),
                                         SD_BUS_METHOD("SetupEndpoint", "ay", "yisb", look<mctp::Assigning::missing>, kOpen),
                                         SD_BUS_METHOD("AssignEndpoint", "ay", "yisb", look<mctp::Assigning::always>, kOpen),
                                         SD_BUS_METHOD("AssignEndpointStatic", "ayy", "yisb", look_static, kOpen),
                                         SD_BUS_METHOD("LearnEndpoint", "ay", "yisb", look<mctp::Assigning::never>, kOpen),
                                         SD_BUS_VTABLE_END};
const sd_bus_vtable kNetworkTable[] = {SD_BUS_VTABLE_START(0), SD_BUS_PROPERTY("LocalEIDs", "ay", get_local_eids, 0, kConst),
                                       SD_BUS_METHOD("LearnEndpoint", "y", "sb", learn_eid, kOpen), SD_BUS_VTABLE_END};
const sd_bus_vtable kDriveTable[] = {SD_BUS_VTABLE_START(0), SD_BUS_PROPERTY("Present", "b", get_present, 0, kChanges),
                                     SD_BUS_METHOD("Plug", "", "", plug<true>, kOpen), SD_BUS_METHOD("Unplug", "", "", plug<false>, kOpen),
                                     SD_BUS_VTABLE_END};

}  // namespace

// ---- the connection ----

MctpDbus::MctpDbus(World& world, MctpBus& bus, const std::filesystem::path& directory, bool signed_network_id, SetMtu set_mtu)
    : world_(world), daemon_(directory), signed_network_id_(signed_network_id), set_mtu_(std::move(set_mtu)) {
  try {
    connect();
    publish_bus(bus);
    for (const char* name : {kOldName, kNewName, kOwnName}) good(sd_bus_request_name(connection_, name, 0), name);
  } catch (...) {
    sd_bus_unref(connection_);
    throw;
  }
  announced_ = true;
  world_.real_loop()->watch(sd_bus_get_fd(connection_), *this);
  on_readable();
}

MctpDbus::~MctpDbus() {
  world_.real_loop()->unwatch(sd_bus_get_fd(connection_));
  for (auto& [key, endpoint] : endpoints_) {
    for (sd_bus_slot* slot : endpoint->slots) sd_bus_slot_unref(slot);
  }
  sd_bus_unref(connection_);
}

void MctpDbus::connect() {
  good(sd_bus_new(&connection_), "a connection");
  good(sd_bus_set_address(connection_, daemon_.address().c_str()), "the address");
  good(sd_bus_set_bus_client(connection_, 1), "the connection");
  good(sd_bus_start(connection_), "connecting");
  for (const char* root : {kOldRoot, kNewRoot, kOwnRoot}) {
    good(sd_bus_add_object_manager(connection_, nullptr, root), root);
  }
}

void MctpDbus::on_readable() {
  while (sd_bus_process(connection_, nullptr) > 0) {
  }
  sd_bus_flush(connection_);
}

/// Calls that were answered from elsewhere may have left more to do as well.
void MctpDbus::flush() { on_readable(); }

// ---- objects ----

void MctpDbus::add(const std::string& path, const char* interface, const sd_bus_vtable* table, void* data,
                   std::vector<sd_bus_slot*>* slots) {
  sd_bus_slot* slot = nullptr;
  good(sd_bus_add_object_vtable(connection_, slots == nullptr ? nullptr : &slot, path.c_str(), interface, table, data), interface);
  if (slots != nullptr) slots->push_back(slot);
}

void MctpDbus::publish_bus(MctpBus& bus) {
  unsigned number = 0;
  for (const auto& network : bus.bus().networks()) {
    networks_.push_back(std::make_unique<NetworkObject>(NetworkObject{*this, *network}));
    add(fmt::format("{}/networks/{}", kNewRoot, network->number()), "au.com.codeconstruct.MCTP.Network1", kNetworkTable,
        networks_.back().get());
    for (std::size_t port = 0; port < network->owner().ports(); ++port) {
      links_.push_back(std::make_unique<Link>(Link{*this, *network, port}));
      const std::string path = fmt::format("{}/interfaces/mctpi2c{}", kNewRoot, ++number);
      add(path, "au.com.codeconstruct.MCTP.Interface1", kLinkTable, links_.back().get());
      add(path, "au.com.codeconstruct.MCTP.BusOwner1", kLinkOwnerTable, links_.back().get());
    }
    mctp::KnownEndpoint ours;
    ours.eid = network->owner().eid();
    ours.types = {static_cast<std::uint8_t>(mctp::MessageType::control)};
    ours.uuid = network->owner().device().options().uuid;
    publish(*network, ours, true);
    for (const auto& [eid, known] : network->known()) publish(*network, known, false);
  }
  for (const auto& drive : bus.drives()) {
    drives_.push_back(std::make_unique<DriveObject>(DriveObject{*drive}));
    add(fmt::format("{}/drives/{}", kOwnRoot, drive->serial()), "org.fabricbench.Drive1", kDriveTable, drives_.back().get());
  }
}

void MctpDbus::publish(mctp::Network& network, const mctp::KnownEndpoint& known, bool local) {
  const std::uint32_t number = network.number();
  auto made = std::unique_ptr<Endpoint>(new Endpoint{*this, network, known, local, fmt::format("{}/{}/{}", kOldRoot, number, known.eid),
                                                     fmt::format("{}/networks/{}/endpoints/{}", kNewRoot, number, known.eid)});
  Endpoint& endpoint = *made;
  endpoints_[endpoint.key()] = std::move(made);
  const auto both = [&](const std::string& path, const sd_bus_vtable* table) {
    add(path, "xyz.openbmc_project.MCTP.Endpoint", table, &endpoint, &endpoint.slots);
    if (known.uuid) add(path, "xyz.openbmc_project.Common.UUID", kUuidTable, &endpoint, &endpoint.slots);
  };
  both(endpoint.new_path, signed_network_id_ ? kSignedEndpointTable : kEndpointTable);
  add(endpoint.new_path, kEndpointControl, kEndpointControlTable, &endpoint, &endpoint.slots);
  if (announced_) sd_bus_emit_object_added(connection_, endpoint.new_path.c_str());
  if (local) return;
  both(endpoint.old_path, kOldEndpointTable);
  if (announced_) sd_bus_emit_object_added(connection_, endpoint.old_path.c_str());
}

void MctpDbus::unpublish(const Key& key) {
  const auto found = endpoints_.find(key);
  if (found == endpoints_.end()) return;
  for (const std::string* path : {&found->second->new_path, &found->second->old_path}) {
    sd_bus_emit_object_removed(connection_, path->c_str());
  }
  for (sd_bus_slot* slot : found->second->slots) sd_bus_slot_unref(slot);
  endpoints_.erase(found);
}

MctpDbus::Endpoint* MctpDbus::find(const Key& key) {
  const auto found = endpoints_.find(key);
  return found == endpoints_.end() ? nullptr : found->second.get();
}

MctpDbus::Endpoint* MctpDbus::find_at(const Link& link, const mctp::PhysicalAddress& address) {
  for (const auto& [key, one] : endpoints_) {
    const bool here = &one->network == &link.network && one->known.port == link.port && one->known.address == address;
    if (here && !one->local) return one.get();
  }
  return nullptr;
}

// ---- what is asked of them ----

void MctpDbus::set_mtu(const Endpoint& endpoint, std::uint32_t mtu) { set_mtu_(endpoint.network.number(), endpoint.known.eid, mtu); }

void MctpDbus::look_at(Link& link, const mctp::PhysicalAddress& address, mctp::Assigning assigning, mctp::Eid wanted, Call call) {
  const auto done = [this, &link, address, wanted, call](const mctp::EnumerationReport& report) {
    mctp::Network& network = link.network;
    const auto& known = network.known();
    const auto there = std::find_if(known.begin(), known.end(),
                                    [&](const auto& one) { return one.second.port == link.port && one.second.address == address; });
    const Endpoint* const before = find_at(link, address);
    const bool moved = before != nullptr && (there == known.end() || there->first != before->known.eid);
    if (moved) unpublish(before->key());
    const bool as_wanted = there != known.end() && (wanted == mctp::kNullEid || there->first == wanted);
    if (!as_wanted || report.faulty > 0) {
      sd_bus_reply_method_errno(call.get(), report.found == 0 ? ETIMEDOUT : report.no_eid_left > 0 ? EADDRNOTAVAIL : EEXIST, nullptr);
      return flush();
    }
    const Key key{network.number(), there->first};
    const bool is_new = find(key) == nullptr;
    if (is_new) publish(network, there->second, false);
    sd_bus_reply_method_return(call.get(), "yisb", key.second, static_cast<std::int32_t>(key.first), find(key)->new_path.c_str(),
                               static_cast<int>(is_new));
    flush();
  };
  link.network.bus_owner(link.port).look_at(address, assigning, wanted, while_alive(done));
}

void MctpDbus::remove(Endpoint& endpoint) {
  endpoint.network.bus_owner(endpoint.known.port).remove(endpoint.known.eid);
  unpublish(endpoint.key());
}

void MctpDbus::recover(Endpoint& endpoint) {
  if (endpoint.degraded) return;
  endpoint.degraded = true;
  endpoint.polls = kRecoverPolls;
  sd_bus_emit_properties_changed(connection_, endpoint.new_path.c_str(), kEndpointControl, "Connectivity", nullptr);
  world_.loop().schedule_after(endpoint.poll_timer, Duration{});
}

void MctpDbus::poll_health(Endpoint& endpoint) {
  --endpoint.polls;
  const Key key = endpoint.key();
  mctp::BusOwner& owner = endpoint.network.bus_owner(endpoint.known.port);
  owner.requester().ask({mctp::kNullEid, endpoint.known.address}, mctp::control::Command::get_endpoint_id, {},
                        while_alive([this, key](const mctp::ControlReply& reply) { on_polled(key, reply); }));
}

void MctpDbus::on_polled(const Key& key, const mctp::ControlReply& reply) {
  Endpoint* const endpoint = find(key);
  if (endpoint == nullptr) return;  // removed meanwhile
  const auto response = reply.as<mctp::control::GetEidResponse>();
  if (!response) {
    if (endpoint->polls > 0) {
      world_.loop().schedule_after(endpoint->poll_timer, kRecoverPause);
    } else {
      remove(*endpoint);
    }
    return flush();
  }
  if (response->get(mctp::control::get_eid_response::eid) == key.second) return recovered(key);
  // Reset, or another device in its place: its UUID tells.
  endpoint->network.bus_owner(endpoint->known.port)
      .requester()
      .ask({mctp::kNullEid, endpoint->known.address}, mctp::control::Command::get_endpoint_uuid, {},
           while_alive([this, key](const mctp::ControlReply& answer) {
             const Endpoint* const asked = find(key);
             const auto said = answer.as<mctp::control::UuidResponse>();
             if (asked == nullptr) return;
             const bool same =
                 said && asked->known.uuid && std::ranges::equal(said->get(mctp::control::uuid_response::uuid), *asked->known.uuid);
             replace(key, same);
           }));
}

/// The device at that place has lost its EID. The same one gets it again, another one another.
void MctpDbus::replace(const Key& key, bool same_device) {
  Endpoint& endpoint = *find(key);
  mctp::Network& network = endpoint.network;
  mctp::BusOwner& owner = network.bus_owner(endpoint.known.port);
  const mctp::PhysicalAddress address = endpoint.known.address;
  const std::size_t port = endpoint.known.port;
  if (!same_device) remove(endpoint);
  owner.look_at(address, mctp::Assigning::always, mctp::kNullEid,
                while_alive([this, key, &network, address, port, same_device](const mctp::EnumerationReport&) {
                  for (const auto& [eid, known] : network.known()) {
                    if (known.port != port || known.address != address) continue;
                    if (same_device && eid == key.second) return recovered(key);
                    if (find({key.first, eid}) == nullptr) publish(network, known, false);
                    if (same_device) unpublish(key);
                    return flush();
                  }
                  unpublish(key);
                  flush();
                }));
  flush();
}

void MctpDbus::recovered(const Key& key) {
  Endpoint* const endpoint = find(key);
  if (endpoint == nullptr) return;
  endpoint->degraded = false;
  sd_bus_emit_properties_changed(connection_, endpoint->new_path.c_str(), kEndpointControl, "Connectivity", nullptr);
  flush();
}

}  // namespace fb::cli
