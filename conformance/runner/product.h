// The product under test: an emulated one in the case's own world, or a real one at an address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "conformance/runner/device_layer.h"
#include "model/auth/policy.h"
#include "model/auth/psk.h"
#include "sim/net/local_host.h"

namespace fb::conformance {

struct EmbeddedSetup;

struct Product {
  std::string url = "embedded";
  bool embedded = true;
  /// Embedded: only cases over this transport, over it alone; empty: each over all of its own.
  std::string transport = {};
  /// Embedded: of all RDMA devices, the bench's too.
  DeviceLayer layer = DeviceLayer::none;
  /// Embedded: makes it another kind of product than the usual one; a case's own wishes come afterwards.
  std::function<void(EmbeddedSetup&)> vary = {};
  // Of a real product:
  Endpoint to = {};
  std::string nqn = {};       ///< empty: the first one that its discovery service lists
  std::string nameless = {};  ///< why it is not known which one that is
  net::LocalHost local = {};  ///< our own side
  /// Over RDMA: our own side is this device of this machine, by rdma-core, "rxe0"; empty: softroce.
  std::string own_device = {};
  /// What our own host authenticates with; empty: nothing.
  std::vector<auth::SecretPair> secrets = {};
  /// Over TCP: every connection of ours is TLS with these keys.
  bool tls = false;
  auth::PskStore keys = {};
  int identity_version = 1;
  bool slow = false;  ///< run the cases too that take long in real time
  /// An RDMA device of this machine, by rdma-core: "rxe0". `local` is then a host of the bench's on a link with it.
  std::string device = {};
  /// A host: its owner's program, which makes it do what cases ask for; `local` is where the bench's subsystem is.
  std::string command = {};
  /// What that program says that it can do.
  std::vector<std::string> abilities = {};
  bool is_host() const { return !command.empty(); }
  bool able(std::string_view what) const { return std::find(abilities.begin(), abilities.end(), what) != abilities.end(); }
  // Of a management endpoint:
  std::string path = {};      ///< its serial port
  std::uint32_t network = 1;  ///< behind a kernel
  std::uint8_t eid = 9;
  std::uint64_t nonce = 0;  ///< keeps the device GUIDs of different runs apart
  /// A controller or an endpoint: its owner's program, which makes happen to it what cases request (--arrange).
  std::string arranger = {};
  /// What that program says that it can do.
  std::vector<std::string> arrangeable = {};
};

/// "rdma://ADDRESS:PORT[/NQN]" and "tcp://ADDRESS:PORT[/NQN]".
struct FabricUrl {
  std::string transport;  ///< a name of transports.h
  Endpoint to;
  std::string nqn;
};
/// Whether a URL may leave out its port.
enum class UrlPort : std::uint8_t {
  needed,
  /// Over TCP it may be 0 as well: of a listener, whose port the system chooses.
  chosen,
  /// Then it is that of a subsystem that the URL names (4420), otherwise that of a discovery service
  /// (4420 for RDMA, 8009 for TCP).
  known
};
/// Where a discovery service is found unless somebody says otherwise.
std::uint16_t discovery_port(std::string_view transport);
/// The Problem names the text and what is wrong with it.
Result<FabricUrl> parse_fabric_url(std::string_view text, UrlPort port = UrlPort::needed);
/// "tcp://127.0.0.1:4420".
std::string url_text(std::string_view transport, const Endpoint& at);

/// What a product is at, where a kernel has its medium.
inline constexpr std::string_view kKernelTransport = "kernel";
/// What cases on a NetworkDirect provider run over.
inline constexpr std::string_view kProviderTransport = "nd";
/// A management endpoint, by what it is at; not a controller.
constexpr bool is_medium(std::string_view transport) {
  return transport == "smbus" || transport == "serial" || transport == "pcie" || transport == kKernelTransport;
}

/// "verbs:NAME".
inline constexpr std::string_view kVerbsProduct = "verbs:";
/// "host:COMMAND".
inline constexpr std::string_view kHostProduct = "host:";

/// Of a device that the bench opens for a real product: kernels take two with one GUID for one that restarted.
std::uint64_t fresh_guid(const Product& product);

/// "embedded", a URL, or what it is at; `local` is our own side for what is not embedded.
Result<Product> parse_product(std::string_view url, std::string_view local);

}  // namespace fb::conformance
