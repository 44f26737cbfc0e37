#include "conformance/runner/product.h"

#include <charconv>

#include "wire/fabrics/nqn.h"

namespace fb::conformance {

namespace {

constexpr std::string_view kTransports[] = {"rdma", "tcp"};
constexpr std::string_view kForm = "rdma://ADDRESS:PORT[/NQN] or tcp://ADDRESS:PORT[/NQN]";

Failure<Problem> wrong(std::string_view text, std::string_view why) {
  return {Problem{"'" + std::string(text) + "': " + std::string(why)}};
}

}  // namespace

std::uint16_t discovery_port(std::string_view transport) { return transport == "tcp" ? 8009 : 4420; }

Result<FabricUrl> parse_fabric_url(std::string_view text, UrlPort known) {
  FabricUrl url;
  std::string_view rest;
  for (const std::string_view transport : kTransports) {
    const std::string scheme = std::string(transport) + "://";
    if (!text.starts_with(scheme)) continue;
    url.transport = transport;
    rest = text.substr(scheme.size());
  }
  if (url.transport.empty()) return wrong(text, "not a URL of the form " + std::string(kForm));
  const std::size_t slash = rest.find('/');
  if (slash != std::string_view::npos) {
    url.nqn = std::string(rest.substr(slash + 1));
    rest = rest.substr(0, slash);
    if (!url.nqn.empty() && !fabrics::valid_nqn(url.nqn)) return wrong(text, "what follows / is no NQN");
  }
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || rest.ends_with(']')) {
    if (known == UrlPort::needed) return wrong(text, "no port: " + url.transport + "://ADDRESS:PORT[/NQN]");
    const auto address = IpAddress::parse(rest);
    if (!address) return wrong(text, "no IP address: '" + std::string(rest) + "'");
    const bool subsystem = !url.nqn.empty() && url.nqn != fabrics::kDiscoveryNqn;
    url.to = {*address, subsystem ? std::uint16_t{4420} : discovery_port(url.transport)};
    return url;
  }
  const auto address = IpAddress::parse(rest.substr(0, colon));
  if (!address) return wrong(text, "no IP address: '" + std::string(rest.substr(0, colon)) + "'");
  const std::string_view digits = rest.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port == 0 || port > 65535) {
    return wrong(text, "no port number: '" + std::string(digits) + "'");
  }
  url.to = {*address, static_cast<std::uint16_t>(port)};
  return url;
}

std::string url_text(std::string_view transport, const Endpoint& at) {
  return std::string(transport) + "://" + to_string(at);
}

Result<Product> parse_product(std::string_view url, std::string_view local) {
  Product product;
  product.url = std::string(url);
  if (url == "embedded") return product;
  if (url.find("://") == std::string_view::npos) {
    return wrong(url, "no such product; known are 'embedded', " + std::string(kForm));
  }
  const auto parsed = parse_fabric_url(url);
  if (!parsed) return Failure{parsed.error()};
  const auto own = net::parse_local_host(local);
  if (!own) return Failure{Problem{"--local: " + own.error().text}};
  if (own->address.is_v4() != parsed->to.address.is_v4()) {
    return wrong(local, "--local and the product's address are of different families");
  }
  if (parsed->transport == "rdma" && own->address == parsed->to.address) {
    return wrong(local, "--local is the product's own address; both sides need UDP port 4791, so each "
                        "has an address of its own (127.0.0.3 for example)");
  }
  product.embedded = false;
  product.transport = parsed->transport;
  product.to = parsed->to;
  product.nqn = parsed->nqn;
  product.local = *own;
  return product;
}

}  // namespace fb::conformance
