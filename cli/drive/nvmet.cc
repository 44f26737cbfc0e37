#include "cli/drive/nvmet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "cli/drive/refused.h"

namespace fb::drive {

namespace {

namespace files = std::filesystem;
using nlohmann::json;

constexpr const char* kReferral = "fabricbench";

std::string read_line(const files::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

[[noreturn]] void refuse(const files::path& path, int error) { throw Refused(path.string() + ": " + std::strerror(error)); }

void write_line(const files::path& path, const std::string& value) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) refuse(path, errno);
  const ssize_t written = write(fd, value.data(), value.size());
  const int error = errno;
  close(fd);
  if (written < 0) refuse(path, error);
}

void make_folder(const files::path& path) {
  std::error_code error;
  files::create_directory(path, error);
  if (error) refuse(path, error.value());
}

void remove_entry(const files::path& path) {
  std::error_code error;
  files::remove(path, error);
  if (error) refuse(path, error.value());
}

void link_entry(const files::path& to, const files::path& path) {
  std::error_code error;
  files::create_symlink(to, path, error);
  if (error && error != std::errc::file_exists) refuse(path, error.value());
}

std::vector<std::string> entries_of(const files::path& folder) {
  std::vector<std::string> names;
  std::error_code gone;
  for (files::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone)) {
    names.push_back(at->path().filename().string());
  }
  return names;
}

std::string text_or_number(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// A name of configfs is one entry of a folder.
std::string entry(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) throw Refused("'" + name + "' is no name");
  return name;
}

}  // namespace

std::string Nvmet::missing() {
  if (access((root_ / "subsystems").c_str(), R_OK | X_OK) != 0) {
    return (root_ / "subsystems").string() + ": " + std::strerror(errno) + "; load nvmet (modprobe nvmet), and mount configfs";
  }
  if (access((root_ / "subsystems").c_str(), W_OK) != 0) return (root_ / "subsystems").string() + ": " + std::strerror(errno);
  return {};
}

std::filesystem::path Nvmet::port_of(const json& hello) const {
  const std::string traddr = hello.at("traddr"), transport = hello.at("transport"), trsvcid = text_or_number(hello.at("trsvcid"));
  for (const std::string& name : entries_of(root_ / "ports")) {
    const Path port = root_ / "ports" / name;
    const std::string at = read_line(port / "addr_traddr");
    const bool any = at == "0.0.0.0" || at == "::";
    if (read_line(port / "addr_trtype") == transport && read_line(port / "addr_trsvcid") == trsvcid && (any || at == traddr)) return port;
  }
  throw Refused(fmt::format("no port of nvmet at {}://{}:{}", transport, traddr, trsvcid));
}

bool Nvmet::namespaces_are_files() const {
  const auto all = entries_of(subsystem_ / "namespaces");
  for (const std::string& name : all) {
    const Path space = subsystem_ / "namespaces" / name;
    std::error_code error;
    if (!files::is_regular_file(read_line(space / "device_path"), error) || !files::exists(space / "revalidate_size", error)) return false;
  }
  return !all.empty();
}

json Nvmet::greet(const json& hello) {
  subsystem_ = root_ / "subsystems" / entry(hello.value("subnqn", ""));
  if (!files::is_directory(subsystem_)) throw Refused("no subsystem of nvmet: " + subsystem_.string());
  port_ = port_of(hello);
  any_ = read_line(subsystem_ / "attr_allow_any_host") == "1";
  for (const std::string& name : entries_of(subsystem_ / "allowed_hosts")) hosts_.insert(name);
  std::vector<std::string> can;
  for (const auto& [word, action] : actions()) {
    if (word == "namespace_resize" && !namespaces_are_files()) continue;
    // Without a subsystem the kernel closes the port, and with it the connections of its discovery service.
    if (word == "subsystem_hide" && entries_of(port_ / "subsystems").size() < 2) continue;
    if (word == "ana_state" && !files::is_directory(port_ / "ana_groups")) continue;
    can.push_back(word);
  }
  utsname system{};
  uname(&system);
  return {{"name", fmt::format("nvmet of {} {}", system.sysname, system.release)}, {"can", can}};
}

const std::map<std::string, Nvmet::Action>& Nvmet::actions() {
  static const std::map<std::string, Action> kActions = {
      {"ana_state", &Nvmet::ana_state},
      {"namespace_resize", &Nvmet::namespace_resize},
      {"namespace_attach", &Nvmet::namespace_attach},
      {"namespace_detach", &Nvmet::namespace_detach},
      {"host_allow", &Nvmet::host_allow},
      {"host_disallow", &Nvmet::host_disallow},
      {"any_host", &Nvmet::any_host},
      {"referral_add", &Nvmet::referral_add},
      {"referral_remove", &Nvmet::referral_remove},
      {"subsystem_hide", &Nvmet::subsystem_hide},
  };
  return kActions;
}

json Nvmet::perform(const json& request) {
  const std::string what = request.at("do").get<std::string>();
  const auto found = actions().find(what);
  if (found == actions().end()) throw Refused("no request '" + what + "'");
  (this->*found->second)(request);
  return json::object();
}

std::string Nvmet::end(Limit) {
  const std::string wrong = undo_.run();
  return wrong.empty() ? "" : "the target is not what it was: " + wrong;
}

void Nvmet::change(const Path& attribute, const std::string& value) {
  if (!files::exists(attribute)) refuse(attribute, ENOENT);
  const std::string before = read_line(attribute);
  undo_.once(attribute.string(), [attribute, before] { write_line(attribute, before); });
  write_line(attribute, value);
}

std::filesystem::path Nvmet::space(const json& request) const {
  const Path found = subsystem_ / "namespaces" / std::to_string(request.at("nsid").get<std::uint32_t>());
  if (!files::is_directory(found)) throw Refused("no namespace " + found.string());
  return found;
}

void Nvmet::ana_state(const json& request) {
  const std::string group = std::to_string(request.at("group").get<std::uint32_t>());
  change(port_ / "ana_groups" / group / "ana_state", request.at("state").get<std::string>());
}

void Nvmet::namespace_resize(const json& request) {
  const Path folder = space(request), store = read_line(folder / "device_path");
  const std::uint64_t bytes = request.at("blocks").get<std::uint64_t>() * request.at("block_bytes").get<std::uint64_t>();
  const auto resize = [folder, store](std::uint64_t size) {
    std::error_code error;
    files::resize_file(store, size, error);
    if (error) refuse(store, error.value());
    write_line(folder / "revalidate_size", "1");
  };
  undo_.once(store.string(), [resize, before = files::file_size(store)] { resize(before); });
  resize(bytes);
}

// A namespace of nvmet is attached to every controller or to none.
void Nvmet::namespace_attach(const json& request) { change(space(request) / "enable", "1"); }
void Nvmet::namespace_detach(const json& request) { change(space(request) / "enable", "0"); }

void Nvmet::remember_hosts() {
  undo_.once("hosts", [this, any = any_, hosts = hosts_] {
    any_ = any;
    hosts_ = hosts;
    apply_hosts();
  });
}

void Nvmet::apply_hosts() {
  const Path list = subsystem_ / "allowed_hosts";
  const auto linked = entries_of(list);
  for (const std::string& name : linked) {
    if (any_ || !hosts_.contains(name)) remove_entry(list / name);
  }
  const std::string any = any_ ? "1" : "0";
  if (read_line(subsystem_ / "attr_allow_any_host") != any) write_line(subsystem_ / "attr_allow_any_host", any);
  if (any_) return;
  for (const std::string& name : hosts_) {
    if (!files::exists(root_ / "hosts" / name)) make_folder(root_ / "hosts" / name);
    link_entry(root_ / "hosts" / name, list / name);
  }
}

void Nvmet::host_allow(const json& request) {
  remember_hosts();
  hosts_.insert(entry(request.at("hostnqn")));
  apply_hosts();
}

void Nvmet::host_disallow(const json& request) {
  remember_hosts();
  hosts_.erase(request.at("hostnqn").get<std::string>());
  apply_hosts();
}

void Nvmet::any_host(const json& request) {
  remember_hosts();
  any_ = request.at("on").get<bool>();
  apply_hosts();
}

void Nvmet::referral_add(const json& request) {
  const Path referral = port_ / "referrals" / kReferral;
  make_folder(referral);
  undo_.once("referral", [referral] {
    if (!files::exists(referral)) return;
    write_line(referral / "enable", "0");
    remove_entry(referral);
  });
  const std::string traddr = request.at("traddr");
  write_line(referral / "addr_trtype", request.at("transport"));
  write_line(referral / "addr_adrfam", traddr.find(':') == std::string::npos ? "ipv4" : "ipv6");
  write_line(referral / "addr_traddr", traddr);
  write_line(referral / "addr_trsvcid", text_or_number(request.at("trsvcid")));
  write_line(referral / "enable", "1");
}

void Nvmet::referral_remove(const json&) {
  const Path referral = port_ / "referrals" / kReferral;
  write_line(referral / "enable", "0");
  remove_entry(referral);
}

void Nvmet::subsystem_hide(const json&) {
  const Path shown = port_ / "subsystems" / subsystem_.filename();
  undo_.once(shown.string(), [this, shown] { link_entry(subsystem_, shown); });
  remove_entry(shown);
}

}  // namespace fb::drive
