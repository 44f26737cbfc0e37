#include "cli/drive/kernel_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>

#include "cli/drive/refused.h"

namespace fb::drive {

namespace {

namespace files = std::filesystem;

const files::path kClass = "/sys/class/nvme";
constexpr const char* kDiscovery = "nqn.2014-08.org.nvmexpress.discovery";

std::string first_line(const files::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> names_in(const files::path& folder) {
  std::vector<std::string> names;
  std::error_code gone;
  for (files::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone)) {
    names.push_back(at->path().filename().string());
  }
  return names;
}

}  // namespace

std::vector<Controller> controllers() {
  std::vector<Controller> found;
  for (const std::string& name : names_in(kClass)) {
    const std::string subnqn = attribute(name, "subsysnqn");
    const bool discovery = subnqn == kDiscovery || attribute(name, "cntrltype") == "discovery";
    found.push_back({name, attribute(name, "transport"), subnqn, attribute(name, "state"), discovery});
  }
  return found;
}

std::string traddr_of(const std::string& controller) {
  // "traddr=192.0.2.7,trsvcid=4420,src_addr=192.0.2.8"
  const std::string key = "traddr=", address = attribute(controller, "address");
  if (!address.starts_with(key)) return {};
  return address.substr(key.size(), address.find(',') - key.size());
}

std::string attribute(const std::string& controller, const std::string& name) { return first_line(kClass / controller / name); }

int set_attribute(const std::string& controller, const std::string& name, const std::string& value) {
  const int fd = open((kClass / controller / name).c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const ssize_t written = write(fd, value.data(), value.size());
  const int error = written < 0 ? errno : 0;
  close(fd);
  return error;
}

std::string make_controller(const std::string& options) {
  const auto refuse = [](const std::string& why) { throw Refused(std::string(kFabrics) + ": " + why); };
  const int fd = open(kFabrics, O_RDWR | O_CLOEXEC);
  if (fd < 0) refuse(std::strerror(errno));
  const bool taken = write(fd, options.data(), options.size()) >= 0;
  const int error = errno;
  char answer[256];
  const ssize_t size = taken ? read(fd, answer, sizeof answer) : 0;
  close(fd);
  if (!taken) refuse(std::strerror(error));
  // "instance=0,cntlid=1"
  const std::string said(answer, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::smatch number;
  if (!std::regex_search(said, number, std::regex("instance=([0-9]+)"))) refuse("it names no controller");
  return "nvme" + number[1].str();
}

std::vector<Disk> disks_of(const std::string& controller) {
  // A path of native multipath, nvme0c1n1, is hidden behind the subsystem's nvme0n1.
  static const std::regex kName("(nvme[0-9]+)(c[0-9]+)?(n[0-9]+)");
  std::vector<Disk> found;
  for (const std::string& name : names_in(kClass / controller)) {
    std::smatch parts;
    if (!std::regex_match(name, parts, kName)) continue;
    const std::string number = first_line(kClass / controller / name / "nsid");
    std::uint32_t nsid = 0;
    std::from_chars(number.data(), number.data() + number.size(), nsid);
    const std::string node = "/dev/" + parts[1].str() + parts[3].str();
    if (nsid != 0 && access(node.c_str(), F_OK) == 0) found.push_back({node, nsid});
  }
  return found;
}

bool joins_paths() { return first_line("/sys/module/nvme_core/parameters/multipath") == "Y"; }

bool can_authenticate() {
  // What the host shares with the target is a module of its own, whose name has changed.
  for (const char* const shared : {"nvme_auth", "nvme_common"}) {
    if (files::exists(files::path("/sys/module") / shared / "holders/nvme_core")) return true;
  }
  if (files::exists("/sys/module/nvme_core/initstate")) return false;
  // Nothing is a module. The list of symbols is long, and tells.
  std::ifstream symbols("/proc/kallsyms");
  for (std::string line; std::getline(symbols, line);) {
    if (line.ends_with(" nvme_auth_negotiate")) return true;
  }
  return false;
}

}  // namespace fb::drive
