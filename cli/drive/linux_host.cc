#include "cli/drive/linux_host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>

#include "cli/drive/disk_io.h"
#include "cli/drive/keyring.h"
#include "cli/drive/refused.h"
#include "model/auth/psk.h"
#include "wire/fabrics/nqn.h"
#include "wire/fabrics/transports.h"

namespace fb::drive {

namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// A host whose controller is silent waits as long as the kernel says: nothing here is shorter than that.
constexpr Limit kProgram = 300s;
constexpr Limit kUsable = 60s;
constexpr Limit kEnding = 60s;
/// A controller without a namespace has shown none after this time; one with several has shown the last.
constexpr Limit kNoDisk = 3s, kLastDisk = 300ms;
constexpr Limit kPartitions = 5s;
constexpr Limit kNewDisk = 2s;

void extend(std::vector<std::string>& words, const std::vector<std::string>& with) { words.insert(words.end(), with.begin(), with.end()); }

bool on_path(const std::string& program) {
  const char* const path = getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

/// As nvme-cli has it.
Name name_of_this_machine() {
  const Ended told = run({"nvme", "show-hostnqn"}, 30s);
  Name name{told.output.substr(0, told.output.find('\n')), ""};
  if (!told.ok() || !fabrics::valid_nqn(name.hostnqn)) throw Refused("nvme show-hostnqn: " + told.why());
  std::getline(std::ifstream("/etc/nvme/hostid"), name.hostid);
  const std::size_t uuid = name.hostnqn.find("uuid:");
  if (name.hostid.empty() && uuid != std::string::npos) name.hostid = name.hostnqn.substr(uuid + 5);
  if (name.hostid.empty()) throw Refused("no /etc/nvme/hostid: `nvme gen-hostnqn` generates a name that contains one");
  return name;
}

bool is_live(const std::string& controller) { return attribute(controller, "state") == "live"; }

/// Until the kernel has found the namespaces of a new controller, and the partitions of these.
void wait_for_disks(const std::string& controller) {
  std::size_t count = 0;
  wait_until([&] { return (count = disks_of(controller).size()) > 0; }, kNoDisk);
  if (count == 0) return;
  while (wait_until([&] { return disks_of(controller).size() != count; }, kLastDisk)) count = disks_of(controller).size();
  for (const Disk& one : disks_of(controller)) {
    Job look([&] {
      try {
        look_at_disk(one.node);
      } catch (const Refused&) {
      }
      return std::string();
    });
    look.wait(kPartitions);
  }
}

void wait_until_usable(const std::string& controller) {
  const bool live = wait_until([&] { return is_live(controller) || attribute(controller, "state").empty(); }, kUsable);
  if (!live || !is_live(controller)) throw Refused(controller + " does not become live");
  wait_for_disks(controller);
}

}  // namespace

LinuxHost::LinuxHost(const HostOptions& options) : options_(options) {
  for (const Controller& one : controllers()) others_.insert(one.name);
}

std::string LinuxHost::missing() {
  if (geteuid() != 0) return "controlling this machine's NVMe host requires root";
  if (!on_path("nvme")) return "no nvme on PATH: nvme-cli is needed to control this machine's NVMe host";
  if (access(kFabrics, F_OK) != 0) run({"modprobe", "nvme-fabrics"}, 30s);
  if (access(kFabrics, F_OK) != 0) return std::string("no ") + kFabrics + ": the kernel module nvme-fabrics provides it";
  return {};
}

json LinuxHost::greet(const json& hello) {
  bench_ = bench_of(hello);
  note(hello);
  const Ended loaded = run({"modprobe", "nvme-" + bench_.transport}, 30s);
  if (!loaded.ok()) throw Refused(fmt::format("no module nvme-{}: {}", bench_.transport, loaded.why()));
  utsname system{};
  uname(&system);
  json can = json::array();
  for (const auto& [word, action] : actions()) can.push_back(word);
  for (const char* const word : {"digests", "disable_sqflow", "zones"}) can.push_back(word);
  if (can_authenticate()) can.push_back("dhchap");
  json content = {{"name", fmt::format("{} {}", system.sysname, system.release)}, {"joins_paths", joins_paths()}};
  if (options_.tls && bench_.transport == fabrics::kTcp) {
    if (!has_nvme_keyring()) throw Refused("--tls: the kernel has no keyring .nvme, which its module nvme_keyring creates");
    name_ = name_of_this_machine();
    content["hostnqn"] = name_.hostnqn;
    can.push_back("tls");
  }
  content["can"] = can;
  return content;
}

void LinuxHost::note(const json& request) {
  const auto subnqn = request.find("subnqn");
  if (subnqn != request.end() && subnqn->is_string()) subsystems_.insert(subnqn->get<std::string>());
  // The name of one that has gone may be ours next.
  std::set<std::string> left;
  for (const Controller& one : controllers()) {
    if (others_.contains(one.name)) left.insert(one.name);
  }
  others_ = left;
}

json LinuxHost::perform(const json& request) {
  const std::string what = request.at("do").get<std::string>();
  const auto found = actions().find(what);
  if (found == actions().end()) throw Refused("no request '" + what + "'");
  return (this->*found->second)(request);
}

const std::map<std::string, LinuxHost::Action>& LinuxHost::actions() {
  static const std::map<std::string, Action> kActions = {
      {"connect", &LinuxHost::connect},
      {"disconnect", &LinuxHost::disconnect},
      {"discover", &LinuxHost::discover},
      {"watch", &LinuxHost::watch},
      {"connect_discovered", &LinuxHost::connect_discovered},
      {"reset", &LinuxHost::reset},
      {"reauthenticate", &LinuxHost::reauthenticate},
      {"read", &LinuxHost::read},
      {"write", &LinuxHost::write},
      {"flush", &LinuxHost::flush},
  };
  return kActions;
}

std::string LinuxHost::connect_securely(const json& request) const {
  if (name_.hostnqn.empty()) throw Refused("connecting over TLS: host drive was not given --tls");
  const auto keys = auth::PskStore::parse(request.at("tls_key").get<std::string>(), "tls_key");
  if (!keys) throw Refused(keys.error().text);
  const auto psk = keys->for_pair(name_.hostnqn, request.at("subnqn").get<std::string>(), 1);
  if (!psk) throw Refused(psk.error().text);
  put_psk(psk->identity, psk->key);
  const std::string line = connect_line(request, bench_, name_);
  if (options_.verbose) fmt::print(stderr, "{}: {}\n", kFabrics, line);
  return make_controller(line);
}

json LinuxHost::connect(const json& request) {
  if (request.contains("tls_key")) {
    wait_until_usable(connect_securely(request));
    return json::object();
  }
  const Ended ended = nvme(connect_words(request, bench_));
  if (!ended.ok()) throw Refused("nvme connect: " + ended.why());
  std::smatch name;
  if (!std::regex_search(ended.output, name, std::regex("nvme[0-9]+"))) {
    throw Refused("nvme connect returned no controller: " + ended.why());
  }
  wait_until_usable(name.str());
  return json::object();
}

json LinuxHost::disconnect(const json&) {
  if (!end_all(kEnding)) throw Refused("some associations did not end");
  return json::object();
}

std::vector<std::string> LinuxHost::at_the_bench(const char* command) const {
  return {command, "--transport=" + bench_.transport, "--traddr=" + bench_.traddr, "--trsvcid=" + bench_.trsvcid};
}

json LinuxHost::discover(const json&) {
  nvme_or_refuse(at_the_bench("discover"));
  return json::object();
}

json LinuxHost::watch(const json&) {
  std::vector<std::string> words = at_the_bench("discover");
  words.push_back("--persistent");
  extend(words, impatient_words());
  nvme_or_refuse(words);
  return json::object();
}

json LinuxHost::connect_discovered(const json&) {
  std::set<std::string> before;
  for (const Controller& one : ours()) before.insert(one.name);
  std::vector<std::string> words = at_the_bench("connect-all");
  words.push_back("--nr-io-queues=1");
  extend(words, impatient_words());
  nvme_or_refuse(words);
  bool any = false;
  for (const Controller& one : ours()) {
    if (one.discovery || before.contains(one.name)) continue;
    any = true;
    wait_until_usable(one.name);
  }
  if (!any) throw Refused("nvme connect-all connected to nothing");
  return json::object();
}

json LinuxHost::reset(const json&) {
  nvme_or_refuse({"reset", "/dev/" + first()});
  return json::object();
}

json LinuxHost::reauthenticate(const json&) {
  const std::string controller = first();
  const std::string secret = attribute(controller, "dhchap_secret");
  if (secret.empty() || secret == "none") throw Refused(controller + " has no secret to authenticate with");
  // The kernel authenticates again when it is given a secret, be it the one that it has.
  if (const int error = set_attribute(controller, "dhchap_secret", secret); error != 0) {
    throw Refused(fmt::format("{}: dhchap_secret: {}", controller, std::strerror(error)));
  }
  return json::object();
}

json LinuxHost::read(const json& request) {
  const auto bytes = request.at("bytes").get<std::size_t>();
  return {{"data", to_hex(read_disk(disk(request.at("nsid")), request.at("lba"), bytes))}};
}

json LinuxHost::write(const json& request) {
  const Bytes data = from_hex(request.at("data").get<std::string>());
  write_disk(disk(request.at("nsid")), request.at("lba"), data);
  return json::object();
}

json LinuxHost::flush(const json& request) {
  const auto nsid = request.at("nsid").get<std::uint32_t>();
  flush_disk(disk(nsid), nsid);
  return json::object();
}

Ended LinuxHost::nvme(const std::vector<std::string>& words) const {
  std::vector<std::string> whole = {"nvme"};
  extend(whole, words);
  const Ended ended = run(whole, kProgram);
  if (options_.verbose) {
    fmt::print(stderr, "{}\n{}[{}]\n", fmt::join(whole, " "), ended.output, ended.late ? "late" : std::to_string(ended.status));
  }
  return ended;
}

void LinuxHost::nvme_or_refuse(const std::vector<std::string>& words) const {
  const Ended ended = nvme(words);
  // Of a discovery log that it cannot read, nvme-cli 2.3 says so and exits with 0.
  const bool failed = !ended.ok() || ended.output.find("failed to get discovery log") != std::string::npos;
  if (failed) throw Refused(fmt::format("nvme {}: {}", words[0], ended.why()));
}

std::vector<Controller> LinuxHost::ours() const {
  std::vector<Controller> found = controllers();
  std::erase_if(found, [&](const Controller& one) {
    if (others_.contains(one.name) || one.transport != bench_.transport) return true;
    if (!one.discovery) return !subsystems_.contains(one.subnqn);
    return one.state == "live" && traddr_of(one.name) != bench_.traddr;
  });
  std::sort(found.begin(), found.end(), [](const Controller& a, const Controller& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
  return found;
}

std::string LinuxHost::first() const {
  for (const Controller& one : ours()) {
    if (!one.discovery) return one.name;
  }
  throw Refused("no controller");
}

std::string LinuxHost::disk(std::uint32_t nsid) const {
  std::string node;
  wait_until(
      [&] {
        for (const Controller& controller : ours()) {
          for (const Disk& one : disks_of(controller.name)) {
            if (one.nsid == nsid) node = one.node;
            if (!node.empty()) return true;
          }
        }
        return false;
      },
      kNewDisk);
  if (node.empty()) throw Refused(fmt::format("no block device for namespace {}", nsid));
  return node;
}

bool LinuxHost::end_all(Limit limit) {
  // What `nvme disconnect` writes too, but that looks at every device before, and waits for those that are silent. One
  // that is still being made refuses, and is asked again.
  std::map<std::string, Job> ending;
  const auto all_gone = [&] {
    const std::vector<Controller> left = ours();
    for (const Controller& one : left) {
      const auto asked = ending.find(one.name);
      if (asked != ending.end() && !asked->second.wait(0ms)) continue;
      ending.erase(one.name);
      ending.emplace(one.name, Job([&] {
                       set_attribute(one.name, "delete_controller", "1");
                       return std::string();
                     }));
    }
    return left.empty();
  };
  return wait_until(all_gone, limit);
}

}  // namespace fb::drive
