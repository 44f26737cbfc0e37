#include "conformance/runner/product.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <optional>

#include "base/ip_scope.h"
#include "base/rng.h"
#include "base/suggest.h"
#include "conformance/runner/library_product.h"
#include "sim/net/resolve.h"
#include "wire/fabrics/nqn.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

namespace {

constexpr std::string_view kForm = "rdma://ADDRESS:PORT[/NQN] or tcp://ADDRESS:PORT[/NQN]";

Failure<Problem> wrong(std::string_view text, std::string_view why) {
  return {Problem{"'" + std::string(text) + "': " + std::string(why)}};
}

/// "; did you mean 'tcp://127.0.0.1:4420'?" for what lacks the scheme, its colon or the port, or has the scheme in capitals or misspelt.
std::string url_meant(std::string_view text) {
  const std::size_t end = text.find("://");
  std::string_view rest = text, scheme;
  if (end != std::string_view::npos) {
    scheme = text.substr(0, end);
    rest = text.substr(end + 3);
  } else if (const std::size_t slashes = text.find("//"); slashes != std::string_view::npos) {
    scheme = text.substr(0, slashes);
    rest = text.substr(slashes + 2);
  }
  std::string lower(scheme);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string_view meant = scheme.empty() || lower == "http" || lower == "nvme" || lower == "nvme-tcp" ? fabrics::kTcp
                           : lower == "roce" || lower == "nvme-rdma"                                   ? fabrics::kRdma
                                                                                                       : "";
  if (meant.empty()) meant = nearest_word(lower, {fabrics::kTcp, fabrics::kRdma});
  const std::size_t colon = rest.rfind(':');
  const bool has_port = colon != std::string_view::npos && colon + 1 < rest.size() && rest[colon + 1] >= '0' && rest[colon + 1] <= '9';
  const bool is_address = IpAddress::parse(rest).has_value();
  if (meant.empty() || (!has_port && !is_address)) return {};
  const bool six = is_address && rest.find(':') != std::string_view::npos;
  const std::string host = six ? "[" + std::string(rest) + "]" : std::string(rest);
  return "; did you mean '" + std::string(meant) + "://" + host + (is_address ? ":4420" : "") + "'?";
}

/// Products answer to names that are no NQN ("nvmet-test"), and are tested under them.
bool usable_name(std::string_view name) {
  return name.size() <= fabrics::kNqnBytesMax &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

}  // namespace

std::uint16_t discovery_port(std::string_view transport) { return fabrics::transport_named(transport).discovery_port; }

Result<FabricUrl> parse_fabric_url(std::string_view text, UrlPort known) {
  FabricUrl url;
  std::string_view rest;
  for (const fabrics::Transport& known_transport : fabrics::kTransports) {
    const std::string_view transport = known_transport.name;
    const std::string scheme = std::string(transport) + "://";
    if (!text.starts_with(scheme)) continue;
    url.transport = transport;
    rest = text.substr(scheme.size());
  }
  if (url.transport.empty()) return wrong(text, "not a URL of the form " + std::string(kForm) + url_meant(text));
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    url.nqn = std::string(rest.substr(slash + 1));
    rest = rest.substr(0, slash);
    if (!usable_name(url.nqn))
      return wrong(text, "what follows the / is longer than an NQN may be (223 bytes), or holds control characters");
  }
  const std::size_t colon = rest.rfind(':');
  const bool has_port = colon != std::string_view::npos && !rest.ends_with(']');
  if (!has_port && known != UrlPort::known) return wrong(text, "no port: " + url.transport + "://ADDRESS:PORT[/NQN]");
  const bool subsystem = !url.nqn.empty() && url.nqn != fabrics::kDiscoveryNqn;
  unsigned port = subsystem ? 4420 : discovery_port(url.transport);
  if (has_port) {
    const std::string_view digits = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    const bool zero_is_good = known == UrlPort::chosen && url.transport == fabrics::kTcp;
    if (error != std::errc() || end != digits.data() + digits.size() || (port == 0 && !zero_is_good) || port > 65535) {
      return wrong(text, "no port number: '" + std::string(digits) + "'");
    }
    rest = rest.substr(0, colon);
  }
  const auto number = static_cast<std::uint16_t>(port);
  const auto address = url.transport == fabrics::kTcp ? net::resolve_service(rest, number) : net::resolve_host(rest);
  if (!address) return wrong(text, address.error().text);
  if (url.transport == fabrics::kRdma && scope_of(*address) != 0) {
    return wrong(text, "RoCEv2 from this bench does not use link-local addresses; give both sides a routable one");
  }
  url.to = {*address, number};
  return url;
}

std::string url_text(std::string_view transport, const Endpoint& at) { return std::string(transport) + "://" + to_string(at); }

namespace {

/// A whole number that stands alone, within bounds.
std::optional<std::uint32_t> number_in(std::string_view text, std::uint32_t low, std::uint32_t high) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}

/// mctp:NET,EID as nvme-cli has it.
Result<Product> parse_kernel_endpoint(std::string_view url, Product product) {
  const std::string_view rest = url.substr(std::string_view("mctp:").size());
  const std::size_t comma = rest.find(',');
  if (comma == std::string_view::npos) return wrong(url, "no EID: mctp:NET,EID");
  const auto network = number_in(rest.substr(0, comma), 0, 0xFFFFFFFFu);
  const auto eid = number_in(rest.substr(comma + 1), 8, 254);
  if (!network) return wrong(url, "no network number: '" + std::string(rest.substr(0, comma)) + "'");
  if (!eid) return wrong(url, "not an EID from 8 to 254: '" + std::string(rest.substr(comma + 1)) + "'");
  product.network = *network;
  product.eid = static_cast<std::uint8_t>(*eid);
  product.transport = kKernelTransport;
  return product;
}

/// verbs:NAME. The kernel has UDP port 4791 of all its addresses: the bench's peer has to be another host.
Result<Product> parse_device(std::string_view url, std::string_view local, Product product) {
  product.device = std::string(url.substr(kVerbsProduct.size()));
  product.transport = fabrics::kRdma;
  if (product.device.empty()) return wrong(url, "the name of the device is missing: verbs:NAME");
  if (local.empty()) return wrong(url, "the bench must be another host on a link with it: --local packet:INTERFACE,ADDRESS");
  const auto own = net::parse_local_host(local);
  if (!own) return Failure{Problem{"--local: " + own.error().text}};
  if (!own->own_link()) {
    return wrong(local,
                 "--local is an address of this machine, which the RDMA device would use itself; "
                 "packet:INTERFACE,ADDRESS is another host");
  }
  product.local = *own;
  return product;
}

/// host:COMMAND. It connects to the bench, which needs an address that it reaches.
Result<Product> parse_host(std::string_view url, std::string_view local, Product product) {
  product.command = std::string(url.substr(kHostProduct.size()));
  product.transport = fabrics::kTcp;
  if (product.command.empty()) return wrong(url, "the program that drives the host is missing: host:COMMAND");
  if (local.empty()) return wrong(url, "the bench needs an address that the host can reach: --local ADDRESS");
  const auto own = net::parse_local_host(local);
  if (!own) return Failure{Problem{"--local: " + own.error().text}};
  product.local = *own;
  return product;
}

}  // namespace

std::uint64_t fresh_guid(const Product& product) {
  static std::atomic<std::uint64_t> opened{0};
  return mix64(product.nonce + ++opened) | 1;
}

Result<DeviceLayer> parse_device_layer(std::string_view text) {
  if (text == "softroce") return DeviceLayer::none;
  if (text == "ND:default") return DeviceLayer::networkdirect;
  if (text == "NDK:default") return DeviceLayer::ndk;
  return wrong(text, "no such device for the embedded product; known are softroce, ND:default and NDK:default" +
                         did_you_mean(text, std::vector<std::string_view>{"softroce", "ND:default", "NDK:default"}));
}

Result<Product> parse_product(std::string_view url, std::string_view local) {
  Product product;
  product.url = std::string(url);
  if (url == "embedded") return product;
  product.embedded = false;
  if (url.starts_with("ND:")) {
    product.path = std::string(url.substr(std::string_view("ND:").size()));
    product.transport = kProviderTransport;
    if (product.path.empty()) return wrong(url, "the path of the provider's library is missing: ND:PATH");
    if (local.empty()) return product;
    const auto adapter = net::resolve_host(local);
    if (!adapter) return Failure{Problem{"--local: " + adapter.error().text}};
    product.local.address = *adapter;
    return product;
  }
  if (url.starts_with(kLibraryProduct)) {
    product.path = std::string(url.substr(kLibraryProduct.size()));
    product.transport = fabrics::kTcp;
    if (product.path.empty()) return wrong(url, "the path of the library is missing: lib:PATH");
    if (!local.empty()) return wrong(url, "--local is for a product at an address; a library needs none");
    return product;
  }
  if (url.starts_with("mctp:")) return parse_kernel_endpoint(url, std::move(product));
  if (url.starts_with("serial:")) {
    product.path = std::string(url.substr(std::string_view("serial:").size()));
    product.transport = "serial";
    if (product.path.empty()) return wrong(url, "the path is missing: serial:PATH");
    return product;
  }
  if (url.starts_with(kVerbsProduct)) return parse_device(url, local, std::move(product));
  if (url.starts_with(kHostProduct)) return parse_host(url, local, std::move(product));
  if (url.find("://") == std::string_view::npos) {
    return wrong(url, "no such product; known are 'embedded', " + std::string(kForm) +
                          ", mctp:NET,EID, serial:PATH, ND:PATH, verbs:NAME, host:COMMAND and lib:PATH" + url_meant(url));
  }
  const auto parsed = parse_fabric_url(url);
  if (!parsed) return Failure{parsed.error()};
  const auto own = net::parse_local_host(local);
  if (!own) return Failure{Problem{"--local: " + own.error().text}};
  if (own->address.is_v4() != parsed->to.address.is_v4()) {
    return wrong(local, "--local and the product's address are of different families");
  }
  if (parsed->transport == fabrics::kRdma && own->address == parsed->to.address) {
    return wrong(local,
                 "--local is the product's own address; both sides need UDP port 4791, so each "
                 "has an address of its own (127.0.0.3 for example)");
  }
  product.transport = parsed->transport;
  product.to = parsed->to;
  product.nqn = parsed->nqn;
  product.local = *own;
  return product;
}

}  // namespace fb::conformance
