#include "cli/host_discover.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/document.h"
#include "cli/mdns.h"

namespace fb::cli {

namespace {

using Json = nlohmann::ordered_json;

/// Avahi says when it has asked everybody, after about a second.
constexpr Duration kMdnsPatience = Duration::s(5);

const char* kind_of(const host::DiscoveredEntry& entry) {
  return entry.subtype == fabrics::SubsystemType::nvm        ? "subsystem"
         : entry.subtype == fabrics::SubsystemType::referral ? "referral"
                                                             : "discovery";
}

const char* tls_of(const host::DiscoveredEntry& entry) {
  if (entry.sectype == fabrics::TcpSecurity::none) return "none";
  const bool required = (entry.treq & fabrics::treq_bits::secure_channel_mask) == fabrics::treq_bits::secure_channel_required;
  return required ? "required" : "offered";
}

Json log_json(const host::DiscoveryResult& result) {
  Json entries = Json::array();
  for (const host::DiscoveredEntry& entry : result.entries) {
    entries.push_back({{"kind", kind_of(entry)},
                       {"traddr", entry.traddr},
                       {"trsvcid", entry.trsvcid},
                       {"subnqn", entry.subnqn},
                       {"portid", entry.portid},
                       {"cntlid", entry.cntlid},
                       {"tls", tls_of(entry)}});
  }
  return {{"genctr", result.genctr}, {"entries", std::move(entries)}};
}

void print_log(const host::DiscoveryResult& result) {
  fmt::print("generation {}, {} entries\n", result.genctr, result.entries.size());
  for (const host::DiscoveredEntry& entry : result.entries) {
    const std::string tls = tls_of(entry);
    fmt::print("  {:<9} {}:{}  {}{}\n", kind_of(entry), entry.traddr, entry.trsvcid, entry.subnqn,
               tls == "none" ? "" : "  (TLS " + tls + ")");
  }
  flush_output();
}

int list_one(HostSession& session, const DiscoverArguments& arguments) {
  if (!arguments.persistent) {
    const host::DiscoveryResult found = session.discover(!arguments.no_referrals);
    arguments.host.json ? print_document(log_json(found)) : print_log(found);
    return 0;
  }
  try {
    session.watch(!arguments.no_referrals, print_log);
  } catch (const WaitFailure& failure) {
    if (failure.end() != WaitEnd::interrupted) throw;
  }
  return 0;
}

/// "mdns:" asks the local network in place of one service.
bool by_mdns(const std::string& url) { return url == "mdns:" || url == "mdns"; }

/// Every service that is announced, and the log of each that can be asked.
int run_discover_by_mdns(const DiscoverArguments& arguments) {
  if (arguments.persistent) throw UserError("--persistent stays with one service: give its URL in place of mdns:");
  const std::vector<MdnsService> services = mdns_services(kMdnsPatience);
  if (services.empty()) throw UserError("mdns: nobody announces a discovery service on the local network");
  Json all = Json::array();
  bool failed = false;
  for (const MdnsService& service : services) {
    DiscoverArguments one = arguments;
    const std::string url = conformance::url_text(service.transport, service.at);
    one.host.url = service.nqn.empty() ? url : url + "/" + service.nqn;
    Json said = {{"url", url}, {"nqn", service.nqn}, {"name", service.name}, {"host", service.host}};
    if (!arguments.host.json) fmt::print("{} {}  ({})\n", url, service.nqn, service.name);
    try {
      const int code = guarded(one.host, [&](HostSession& session) {
        const host::DiscoveryResult found = session.discover(!arguments.no_referrals);
        arguments.host.json ? said.update(log_json(found)) : print_log(found);
        return 0;
      });
      if (code != 0) return code;
    } catch (const UserError& wrong) {
      failed = true;
      said["error"] = wrong.what();
      if (!arguments.host.json) fmt::print("  {}\n", wrong.what());
    }
    all.push_back(std::move(said));
  }
  if (arguments.host.json) print_document({{"services", all}});
  flush_output();
  return failed ? 1 : 0;
}

}  // namespace

int run_discover(const DiscoverArguments& arguments) {
  if (by_mdns(arguments.host.url)) return run_discover_by_mdns(arguments);
  return guarded(arguments.host, [&](HostSession& session) { return list_one(session, arguments); });
}

}  // namespace fb::cli
