// fabricbench networkdirect: which providers programs find. The catalogue is Winsock's; where there is no Windows it is a
// file, and the calls are the same.
#include <ws2spi.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/document.h"
#include "cli/networkdirect.h"
#include "cli/usage.h"

namespace fb::cli {

namespace {

using namespace ndutil;

struct NetworkDirectArguments {
  std::string path;
  std::string guid;
  std::string name;
  std::string which;
  bool json = false;
};

std::vector<ProviderEntry> providers() {
  INT error = 0;
  auto found = read_catalogue(&error);
  if (found) return *std::move(found);
  throw UserError("the catalogue of providers cannot be read (Winsock error " + std::to_string(error) +
                  "); if it is a file, FABRICBENCH_PROVIDERS names it");
}

[[noreturn]] void refuse(const std::string& what, INT error) {
  const std::string why = error == WSAEACCES ? "no permission, or no such folder" : "Winsock error " + std::to_string(error);
  throw UserError(what + ": the catalogue of providers cannot be changed: " + why);
}

bool is_catalogued(const GUID& id) {
  const auto all = providers();
  return std::any_of(all.begin(), all.end(), [&id](const ProviderEntry& entry) { return entry.catalogued && entry.id == id; });
}

void install(const NetworkDirectArguments& arguments) {
  ProviderEntry made = provider_named(arguments.path, arguments.guid);
  made.name = wide(arguments.name);
  if (made.name.empty()) made.name = L"NetworkDirect provider " + std::filesystem::path(made.library).filename().wstring();
  const std::string shown = narrow(made.path);
  if (made.path.size() >= MAX_PATH) throw UserError(shown + ": the catalogue accepts paths of up to 259 characters");
  if (made.name.size() > WSAPROTOCOL_LEN) throw UserError("--name: the catalogue accepts names of up to 255 characters");
  check_library(made, !arguments.guid.empty());
  const std::string id = narrow(print_guid(made.id));
  if (is_catalogued(made.id)) throw UserError(id + " is already in the catalogue; 'fabricbench networkdirect remove' removes it");
  if (const int error = put_into_catalogue(made)) refuse(shown, error);
  // Wine says that all is well and keeps nothing.
  if (!is_catalogued(made.id)) {
    throw UserError("this system has no catalogue of providers; " + narrow(kLibrariesVariable) + "=" + id + "=" + shown +
                    " in the environment does the same for a program");
  }
  if (arguments.json)
    print_document({{"installed", {{"guid", id}, {"path", shown}}}});
  else
    std::printf("installed %s %s\n", id.c_str(), shown.c_str());
}

void remove(const NetworkDirectArguments& arguments) {
  const auto id = parse_guid(wide(arguments.which));
  const std::wstring library = id ? std::wstring() : expand_environment(path_to_keep(arguments.which));
  std::vector<ProviderEntry> found;
  bool in_environment = false;
  for (const ProviderEntry& entry : providers()) {
    const bool meant = id ? entry.id == *id : entry.library == library;
    if (meant && !entry.catalogued) in_environment = true;
    const bool taken = std::any_of(found.begin(), found.end(), [&entry](const ProviderEntry& other) { return other.id == entry.id; });
    if (meant && entry.catalogued && !taken) found.push_back(entry);
  }
  const std::string hint = in_environment ? narrow(kLibrariesVariable) + " names it" : "'fabricbench networkdirect list' prints it";
  if (found.empty()) throw UserError(arguments.which + ": not in the catalogue; " + hint);
  nlohmann::ordered_json removed = nlohmann::ordered_json::array();
  for (ProviderEntry& entry : found) {
    INT error = 0;
    if (WSCDeinstallProvider(&entry.id, &error) != 0) refuse(narrow(print_guid(entry.id)), error);
    if (!arguments.json) std::printf("removed %s %s\n", narrow(print_guid(entry.id)).c_str(), narrow(entry.path).c_str());
    removed.push_back({{"guid", narrow(print_guid(entry.id))}, {"path", narrow(entry.path)}});
  }
  if (arguments.json) print_document({{"removed", removed}});
}

std::string text_of(const Address& address) {
  char text[NI_MAXHOST] = {};
  SOCKADDR_INET inet = address.get();
  const int error = getnameinfo(reinterpret_cast<const sockaddr*>(&inet), static_cast<socklen_t>(address.size()), text, sizeof text,
                                nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text : "?";
}

std::string version_text(int version) {
  return version == ND_VERSION_2 ? "2" : version == ND_VERSION_1 ? "1" : "unknown " + hex(static_cast<std::uint32_t>(version));
}

nlohmann::ordered_json describe(const ProviderEntry& entry) {
  const Inspection found = inspect(entry);
  nlohmann::ordered_json json = {{"guid", narrow(print_guid(entry.id))},
                                 {"version", version_text(entry.version)},
                                 {"path", narrow(entry.path)},
                                 {"name", narrow(entry.name)},
                                 {"source", entry.catalogued ? "catalogue" : "environment"},
                                 {"loads", found.loads},
                                 {"problem", nullptr},
                                 {"addresses", nlohmann::ordered_json::array()}};
  if (!found.problem.empty()) json["problem"] = found.problem;
  for (const Address& address : found.addresses) json["addresses"].push_back(text_of(address));
  return json;
}

std::string list_text(const nlohmann::ordered_json& all) {
  std::string text;
  for (const auto& provider : all) {
    const auto word = [&provider](const char* key) { return provider[key].get<std::string>(); };
    text += word("guid") + " version " + word("version") + " " + word("path") + "\n";
    text += "    " + (word("source") == "catalogue" ? word("name") : narrow(kLibrariesVariable)) + "\n    ";
    if (provider["problem"].is_string()) {
      text += (provider["loads"] ? "loads, but " : "of no use: ") + word("problem");
    } else {
      text += "loads; ";
      if (provider["addresses"].empty()) text += "no addresses";
      for (std::size_t i = 0; i < provider["addresses"].size(); ++i) {
        text += (i == 0 ? "" : ", ") + provider["addresses"][i].get<std::string>();
      }
    }
    text += "\n";
  }
  return text + std::to_string(all.size()) + (all.size() == 1 ? " provider\n" : " providers\n");
}

void list(const NetworkDirectArguments& arguments) {
  WSADATA data = {};
  if (WSAStartup(MAKEWORD(2, 2), &data) != 0) throw UserError("Winsock 2.2 is not available");
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ProviderEntry& entry : providers()) all.push_back(describe(entry));
  WSACleanup();
  if (arguments.json) {
    print_document({{"providers", all}});
  } else {
    std::fputs(list_text(all).c_str(), stdout);
  }
}

}  // namespace

void add_networkdirect(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<NetworkDirectArguments>();
  CLI::App* group = app.add_subcommand("networkdirect", "NetworkDirect providers: install, remove, list; a verifier of programs");
  group->require_subcommand(1);
  set_help(*group, "  fabricbench networkdirect list\n");
  const auto does = [&outcome, arguments](CLI::App& command, void (*work)(const NetworkDirectArguments&)) {
    command.callback([&outcome, arguments, work] {
      outcome.code = exit_code::good;
      work(*arguments);
    });
  };

  CLI::App* adder = group->add_subcommand("install", "Add a provider to the catalogue that programs read");
  set_help(*adder,
           "  fabricbench networkdirect install\n"
           "  fabricbench networkdirect install ./my-provider.so --guid 01234567-89AB-CDEF-0123-456789ABCDEF\n",
           exit_codes("installed", "not used"));
  adder->add_flag("--json", arguments->json, "Print the result as one JSON document");
  adder->add_option("path", arguments->path, "Library of the provider; default: the project's own")->type_name("PATH");
  adder->add_option("--guid", arguments->guid, "Class to request from its DllGetClassObject")->type_name("GUID");
  adder->add_option("--name", arguments->name, "Display name")->type_name("NAME");
  does(*adder, &install);

  CLI::App* remover = group->add_subcommand("remove", "Remove a provider from the catalogue");
  set_help(*remover, "  fabricbench networkdirect remove ./my-provider.so\n", exit_codes("removed", "not used"));
  remover->add_flag("--json", arguments->json, "Print the result as one JSON document");
  remover->add_option("which", arguments->which, "Its GUID, or the path of its library")->required()->type_name("GUID|PATH");
  does(*remover, &remove);

  CLI::App* lister = group->add_subcommand("list", "List all providers, whether they load, and their addresses");
  set_help(*lister, "  fabricbench networkdirect list --json\n", exit_codes("success", "not used"));
  lister->add_flag("--json", arguments->json, "Print one JSON document");
  does(*lister, &list);

  add_networkdirect_verify(*group, outcome);
}

}  // namespace fb::cli
