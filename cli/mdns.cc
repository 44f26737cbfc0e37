#include "cli/mdns.h"

#include <fmt/format.h>
#include <systemd/sd-bus.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "base/ip_scope.h"
#include "base/result.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

namespace {

constexpr char kAvahi[] = "org.freedesktop.Avahi";
constexpr char kServer[] = "org.freedesktop.Avahi.Server";
constexpr char kGroup[] = "org.freedesktop.Avahi.EntryGroup";
constexpr char kBrowser[] = "org.freedesktop.Avahi.ServiceBrowser";
constexpr int kAnyInterface = -1;
constexpr int kAnyProtocol = -1;
constexpr unsigned kNoReverse = 16;  // the address has a name of its own already
constexpr int kGroupCollision = 3;
constexpr int kGroupFailure = 4;
constexpr std::size_t kNameBytesMax = 63;

struct Type {
  std::string_view transport;
  const char* service;
};
constexpr Type kTypes[] = {{fabrics::kTcp, "_nvme-disc._tcp"}, {fabrics::kRdma, "_nvme-disc._udp"}};

struct Unref {
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
  void operator()(sd_bus_slot* slot) const { sd_bus_slot_unref(slot); }
};
using Message = std::unique_ptr<sd_bus_message, Unref>;
using Slot = std::unique_ptr<sd_bus_slot, Unref>;

/// Of one call; freed with it.
struct BusError {
  sd_bus_error value = SD_BUS_ERROR_NULL;
  ~BusError() { sd_bus_error_free(&value); }
};

void good(int result, const char* what, const BusError* error = nullptr) {
  if (result >= 0) return;
  const bool said = error != nullptr && error->value.message != nullptr;
  throw UserError(fmt::format("mDNS, {}: {}; is avahi-daemon running?", what, said ? error->value.message : std::strerror(-result)));
}

sd_bus* system_bus() {
  sd_bus* bus = nullptr;
  good(sd_bus_open_system(&bus), "the system bus");
  return bus;
}

/// Calls a method; `append` adds its arguments.
template <class Append>
Message call(sd_bus* bus, const std::string& path, const char* interface_name, const char* method, Append&& append) {
  sd_bus_message* raw = nullptr;
  good(sd_bus_message_new_method_call(bus, &raw, kAvahi, path.c_str(), interface_name, method), method);
  const Message request(raw);
  good(append(raw), method);
  BusError error;
  sd_bus_message* reply = nullptr;
  good(sd_bus_call(bus, raw, 0, &error.value, &reply), method, &error);
  return Message(reply);
}

int nothing(sd_bus_message*) { return 0; }

/// "fabricbench-192-0-2-7.local": a name that stands for this address and no other of the machine.
std::string host_name_of(const IpAddress& address) {
  std::string text = to_string(without_scope(address));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '.' || c == ':'; }, '-');
  return "fabricbench-" + text + ".local";
}

int append_text(sd_bus_message* message, const std::vector<std::string>& lines) {
  int result = sd_bus_message_open_container(message, 'a', "ay");
  for (const std::string& line : lines) {
    if (result >= 0) result = sd_bus_message_append_array(message, 'y', line.data(), line.size());
  }
  return result < 0 ? result : sd_bus_message_close_container(message);
}

void add_service(sd_bus* bus, const std::string& group, const MdnsService& service) {
  const auto type = std::ranges::find(kTypes, std::string_view(service.transport), &Type::transport);
  if (type == std::end(kTypes)) throw UserError("mDNS has no service type for " + service.transport);
  const std::string host = host_name_of(service.at.address);
  const std::string address = to_string(without_scope(service.at.address));
  const std::uint32_t scope = scope_of(service.at.address);
  const int where = scope != 0 ? static_cast<int>(scope) : kAnyInterface;
  call(bus, group, kGroup, "AddAddress", [&](sd_bus_message* m) {
    return sd_bus_message_append(m, "iiuss", where, kAnyProtocol, kNoReverse, host.c_str(), address.c_str());
  });
  call(bus, group, kGroup, "AddService", [&](sd_bus_message* m) {
    const std::string name = service.name.substr(0, kNameBytesMax);
    const int result = sd_bus_message_append(m, "iiussssq", where, kAnyProtocol, 0u, name.c_str(), type->service, "", host.c_str(),
                                             static_cast<unsigned>(service.at.port));
    return result < 0 ? result : append_text(m, {"p=" + service.transport, "NQN=" + service.nqn});
  });
}

// ---- finding ----

struct Item {
  int interface_index;
  int protocol;
  std::string name, type, domain;
  auto key() const { return std::tie(name, type, domain, interface_index, protocol); }
  bool operator<(const Item& other) const { return key() < other.key(); }
};

struct Browsing {
  std::vector<Item> items;
  std::size_t finished = 0;
};

int on_signal(sd_bus_message* message, void* data, sd_bus_error*) {
  auto& browsing = *static_cast<Browsing*>(data);
  if (sd_bus_message_is_signal(message, kBrowser, "AllForNow") > 0 || sd_bus_message_is_signal(message, kBrowser, "Failure") > 0) {
    ++browsing.finished;
  } else if (sd_bus_message_is_signal(message, kBrowser, "ItemNew") > 0) {
    int where = 0, protocol = 0;
    const char *name = nullptr, *type = nullptr, *domain = nullptr;
    if (sd_bus_message_read(message, "iisss", &where, &protocol, &name, &type, &domain) >= 0) {
      browsing.items.push_back({where, protocol, name, type, domain});
    }
  }
  return 0;
}

/// Of a TXT record, whose keys may be written in either case.
std::map<std::string, std::string> read_text(sd_bus_message* message) {
  std::map<std::string, std::string> found;
  if (sd_bus_message_enter_container(message, 'a', "ay") < 0) return found;
  const void* bytes = nullptr;
  std::size_t size = 0;
  while (sd_bus_message_read_array(message, 'y', &bytes, &size) > 0) {
    const std::string_view line(static_cast<const char*>(bytes), size);
    const std::size_t equals = line.find('=');
    std::string key(line.substr(0, equals));
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
    if (equals != std::string_view::npos) found.emplace(std::move(key), line.substr(equals + 1));
  }
  sd_bus_message_exit_container(message);
  return found;
}

/// Nothing where the service is gone, or says what nobody can connect to.
std::optional<MdnsService> resolve(sd_bus* bus, const Item& item) {
  BusError error;
  sd_bus_message* raw = nullptr;
  if (sd_bus_call_method(bus, kAvahi, "/", kServer, "ResolveService", &error.value, &raw, "iisssiu", item.interface_index, item.protocol,
                         item.name.c_str(), item.type.c_str(), item.domain.c_str(), kAnyProtocol, 0u) < 0) {
    return std::nullopt;
  }
  const Message reply(raw);
  int where = 0, protocol = 0, address_protocol = 0;
  const char *name = nullptr, *type = nullptr, *domain = nullptr, *host = nullptr, *address = nullptr;
  std::uint16_t port = 0;
  if (sd_bus_message_read(raw, "iissssisq", &where, &protocol, &name, &type, &domain, &host, &address_protocol, &address, &port) < 0) {
    return std::nullopt;
  }
  auto text = read_text(raw);
  auto at = IpAddress::parse(address);
  if (!at || port == 0) return std::nullopt;
  const bool link_local = !at->is_v4() && at->bytes()[0] == 0xFE && (at->bytes()[1] & 0xC0) == 0x80;
  if (link_local && where > 0) at = with_scope(*at, static_cast<std::uint32_t>(where));
  const auto known = std::ranges::find(kTypes, item.type, &Type::service);
  const std::string_view by_type = known != std::end(kTypes) ? known->transport : fabrics::kTcp;
  std::string transport = text.contains("p") ? text["p"] : std::string(by_type);
  if (transport == "roce") transport = fabrics::kRdma;
  return MdnsService{name, std::move(transport), {*at, port}, text["nqn"], host};
}

}  // namespace

void MdnsAnnouncement::CloseBus::operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }

MdnsAnnouncement::MdnsAnnouncement(const std::vector<MdnsService>& services) : bus_(system_bus()) {
  const Message made = call(bus_.get(), "/", kServer, "EntryGroupNew", nothing);
  const char* path = nullptr;
  good(sd_bus_message_read(made.get(), "o", &path), "EntryGroupNew");
  const std::string group = path;
  for (const MdnsService& service : services) add_service(bus_.get(), group, service);
  call(bus_.get(), group, kGroup, "Commit", nothing);
  const Message said = call(bus_.get(), group, kGroup, "GetState", nothing);
  int state = 0;
  good(sd_bus_message_read(said.get(), "i", &state), "GetState");
  if (state == kGroupCollision || state == kGroupFailure) throw UserError("mDNS: another service has the same name already");
}

MdnsAnnouncement::~MdnsAnnouncement() = default;

std::vector<MdnsService> mdns_services(Duration patience) {
  struct Close {
    void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
  };
  const std::unique_ptr<sd_bus, Close> bus(system_bus());
  Browsing browsing;
  sd_bus_slot* raw = nullptr;
  good(sd_bus_match_signal(bus.get(), &raw, kAvahi, nullptr, kBrowser, nullptr, on_signal, &browsing), "signals");
  const Slot slot(raw);
  for (const Type& type : kTypes) {
    call(bus.get(), "/", kServer, "ServiceBrowserNew",
         [&](sd_bus_message* m) { return sd_bus_message_append(m, "iissu", kAnyInterface, kAnyProtocol, type.service, "", 0u); });
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(patience.count_ns());
  while (browsing.finished < std::size(kTypes)) {
    const int result = sd_bus_process(bus.get(), nullptr);
    good(result, "signals");
    if (result > 0) continue;
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()).count();
    if (left <= 0) break;
    good(sd_bus_wait(bus.get(), static_cast<std::uint64_t>(left)), "signals");
  }
  std::sort(browsing.items.begin(), browsing.items.end());
  std::map<std::tuple<std::string, Endpoint, std::string>, MdnsService> found;  // one is often seen on several interfaces
  for (const Item& item : browsing.items) {
    if (auto service = resolve(bus.get(), item)) found.try_emplace({service->name, service->at, service->transport}, *service);
  }
  std::vector<MdnsService> services;
  for (auto& [key, service] : found) services.push_back(std::move(service));
  return services;
}

}  // namespace fb::cli
