// A bus as the system's MCTP daemon publishes it, on a D-Bus daemon of our own: what libnvme's scan and OpenBMC's
// services look for, and what they call. Both generations of the daemon's names are there:
//
//   xyz.openbmc_project.MCTP       /xyz/openbmc_project/mctp/NET/EID
//   au.com.codeconstruct.MCTP1     /au/com/codeconstruct/mctp1/interfaces/NAME
//                                  /au/com/codeconstruct/mctp1/networks/NET
//                                  /au/com/codeconstruct/mctp1/networks/NET/endpoints/EID
//
// The older has the endpoints that were found; the newer our own as well, and all that mctpd 2 has with them: Interface1
// and BusOwner1 of interfaces, Network1 of networks, Endpoint (NetworkId u, or i where a user asks for it) and Endpoint1
// of endpoints, Common.UUID where there is one. Objects come and go with InterfacesAdded and InterfacesRemoved.
//
//   org.fabricbench                /org/fabricbench/drives/SERIAL
//
// is ours: Drive1 there has Present b, Unplug() and Plug().
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/dbus_daemon.h"
#include "cli/mctp_bus.h"

struct sd_bus;
struct sd_bus_message;
struct sd_bus_vtable;
struct sd_bus_slot;

namespace fb::cli {

class MctpDbus final : private FdHandler {
 public:
  /// Called when somebody sets the unit (the largest packet with its header) of an endpoint.
  using SetMtu = std::function<void(std::uint32_t network, mctp::Eid eid, std::uint32_t mtu)>;

  /// Publishes what is known of the bus now. `signed_network_id`: as older libnvme reads it, with the newer name too.
  /// Throws UserError when the daemon does not start. The bus outlives it.
  MctpDbus(World& world, MctpBus& bus, const std::filesystem::path& directory, bool signed_network_id, SetMtu set_mtu);
  ~MctpDbus();
  MctpDbus(const MctpDbus&) = delete;
  MctpDbus& operator=(const MctpDbus&) = delete;

  /// For DBUS_SYSTEM_BUS_ADDRESS.
  const std::string& address() const { return daemon_.address(); }

  // ---- what the objects' methods are made of: mctp_dbus.cc ----

  struct Endpoint;
  struct Link;
  struct NetworkObject;
  struct DriveObject;
  using Key = std::pair<std::uint32_t, mctp::Eid>;
  using Call = std::shared_ptr<sd_bus_message>;

  /// Looks at a place of an interface, publishes who is there, and answers the call with what came of it.
  void look_at(Link& link, const mctp::PhysicalAddress& address, mctp::Assigning assigning, mctp::Eid wanted, Call call);
  void set_mtu(const Endpoint& endpoint, std::uint32_t mtu);
  /// It is forgotten, by the owner of its bus as well.
  void remove(Endpoint& endpoint);
  /// Asks it for its EID until it answers or is given up.
  void recover(Endpoint& endpoint);
  void poll_health(Endpoint& endpoint);
  Endpoint* find(const Key& key);
  Endpoint* find_at(const Link& link, const mctp::PhysicalAddress& address);
  /// Sends what is waiting; after calls that do not come from the connection.
  void flush();

 private:
  void connect();
  void publish_bus(MctpBus& bus);
  void publish(mctp::Network& network, const mctp::KnownEndpoint& known, bool local);
  void unpublish(const Key& key);
  void add(const std::string& path, const char* interface, const sd_bus_vtable* table, void* data,
           std::vector<sd_bus_slot*>* slots = nullptr);
  void recovered(const Key& key);
  void on_polled(const Key& key, const mctp::ControlReply& reply);
  void replace(const Key& key, bool same_device);
  void on_readable() override;
  template <class Work>
  auto while_alive(Work work) {
    return [alive = std::weak_ptr<int>(alive_), work = std::move(work)](const auto&... results) {
      if (!alive.expired()) work(results...);
    };
  }

  World& world_;
  DbusDaemon daemon_;
  bool signed_network_id_;
  SetMtu set_mtu_;
  sd_bus* connection_ = nullptr;
  bool announced_ = false;  ///< from now on everything that comes and goes is told
  std::map<Key, std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<NetworkObject>> networks_;
  std::vector<std::unique_ptr<DriveObject>> drives_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace fb::cli
