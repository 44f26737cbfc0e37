// libnvme-mi against the bus that it finds behind its sockets: exits 0 when every answer is the emulated
// drive's. Run by the tests under `fabricbench mctp exec`; with "scan", endpoints come from D-Bus; "unit N"
// only sets the transmission unit of endpoint 9.
#include <libnvme-mi.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

/// The library takes no list of an even number: its answers have a length that is no multiple of 4.
constexpr int kControllers = 3;

int g_faults = 0;

void expect(bool holds, const char* what, long got = 0) {
  if (holds) return;
  ++g_faults;
  std::fprintf(stderr, "not so: %s (%ld, errno %d)\n", what, got, errno);
}

/// NVMe-MI status of a command that the drive does not have.
bool is_refused(int status) {
  return status > 0 && nvme_status_get_type(status) == NVME_STATUS_TYPE_MI &&
         nvme_status_equals(status, NVME_STATUS_TYPE_MI, NVME_MI_RESP_INVALID_OPCODE);
}

void check_management(nvme_mi_ep_t endpoint) {
  nvme_mi_read_nvm_ss_info subsystem = {};
  expect(nvme_mi_mi_read_mi_data_subsys(endpoint, &subsystem) == 0, "subsystem information");
  expect(subsystem.nump == 1 && subsystem.mjr >= 1, "two ports, version 1 or later", subsystem.nump);
  nvme_mi_read_port_info port = {};
  expect(nvme_mi_mi_read_mi_data_port(endpoint, 1, &port) == 0 && port.portt == 2, "port 1 is a two-wire port", port.portt);
  nvme_ctrl_list list = {};
  expect(nvme_mi_mi_read_mi_data_ctrl_list(endpoint, 0, &list) == 0, "controller list");
  expect(le16toh(list.num) == kControllers && le16toh(list.identifier[0]) == 1 && le16toh(list.identifier[2]) == 3, "controllers 1 to 3",
         le16toh(list.num));
  expect(nvme_mi_mi_read_mi_data_ctrl_list(endpoint, 3, &list) == 0 && le16toh(list.num) == 1, "controllers from 3 on");
  nvme_mi_read_ctrl_info controller = {};
  expect(nvme_mi_mi_read_mi_data_ctrl(endpoint, 1, &controller) == 0 && le16toh(controller.vid) == 0xFB0E, "controller information",
         le16toh(controller.vid));
  nvme_mi_nvm_ss_health_status health = {};
  expect(nvme_mi_mi_subsystem_health_status_poll(endpoint, true, &health) == 0, "health poll");
  expect((health.nss & 0x20) != 0 && health.sw == 0xFF && health.ctemp == 37, "a healthy drive at 37 degrees", health.ctemp);
  std::uint16_t unit = 0;
  expect(nvme_mi_mi_config_get_mctp_mtu(endpoint, 1, &unit) == 0 && unit == 64, "transmission unit", unit);
  expect(nvme_mi_mi_config_set_mctp_mtu(endpoint, 1, 128) == 0, "a larger unit");
  expect(nvme_mi_mi_config_get_mctp_mtu(endpoint, 1, &unit) == 0 && unit == 128, "it is kept", unit);
  nvme_mi_config_smbus_freq frequency = {};
  expect(nvme_mi_mi_config_get_smbus_freq(endpoint, 1, &frequency) == 0 && frequency == NVME_MI_CONFIG_SMBUS_FREQ_100kHz, "frequency",
         frequency);
  expect(nvme_mi_mi_config_set_smbus_freq(endpoint, 1, NVME_MI_CONFIG_SMBUS_FREQ_400kHz) == 0, "400 kHz");
  expect(nvme_mi_mi_config_set_health_status_change(endpoint, 0xFFF) == 0, "changes cleared");
}

void check_commands(nvme_mi_ctrl_t controller) {
  nvme_id_ctrl id = {};
  expect(nvme_mi_admin_identify_ctrl(controller, &id) == 0 && std::memcmp(id.mn, "fabricbench emulated drive", 26) == 0,
         "Identify Controller");
  nvme_id_ns space = {};
  expect(nvme_mi_admin_identify_ns(controller, 1, &space) == 0 && le64toh(space.nsze) == 0x20000, "Identify Namespace");
  nvme_smart_log smart = {};
  expect(nvme_mi_admin_get_log_smart(controller, NVME_NSID_ALL, false, &smart) == 0 && smart.temperature[0] == 0x36, "SMART log",
         smart.temperature[0]);
  std::vector<char> image(4096, 1);
  std::memcpy(image.data(), "FBFW3.1     ", 12);
  nvme_fw_download_args download = {};
  download.args_size = sizeof download;
  download.data = reinterpret_cast<__u32*>(image.data());
  download.data_len = 4096;
  expect(nvme_mi_admin_fw_download(controller, &download) == 0, "Firmware Image Download");
  nvme_fw_commit_args commit = {};
  commit.args_size = sizeof commit;
  commit.slot = 2;
  commit.action = NVME_FW_COMMIT_CA_REPLACE_AND_ACTIVATE_IMMEDIATE;
  expect(nvme_mi_admin_fw_commit(controller, &commit) == 0, "Firmware Commit");
  expect(nvme_mi_admin_identify_ctrl(controller, &id) == 0 && std::memcmp(id.fr, "3.1     ", 8) == 0, "the firmware runs");
  nvme_security_receive_args security = {};
  security.args_size = sizeof security;
  security.data = image.data();
  security.data_len = 512;
  security.al = 512;
  expect(nvme_mi_admin_security_recv(controller, &security) == 0 && image[7] == 2, "Security Receive of the list");
  nvme_format_nvm_args format = {};
  format.args_size = sizeof format;
  format.nsid = 1;
  format.lbaf = 1;
  expect(nvme_mi_admin_format_nvm(controller, &format) == 0, "Format NVM");
  expect(nvme_mi_admin_identify_ns(controller, 1, &space) == 0 && le64toh(space.nsze) == 0x4000, "in blocks of 4096 then");
  format.lbaf = 0;
  expect(nvme_mi_admin_format_nvm(controller, &format) == 0, "Format NVM, back to 512");
  nvme_id_ns made = {};
  made.nsze = made.ncap = htole64(2048);
  __u32 nsid = 0;
  nvme_ns_mgmt_args management = {};
  management.args_size = sizeof management;
  management.ns = &made;
  management.result = &nsid;
  management.sel = NVME_NS_MGMT_SEL_CREATE;
  expect(nvme_mi_admin_ns_mgmt(controller, &management) == 0 && nsid == 2, "a namespace is made", nsid);
  nvme_ctrl_list to = {};
  to.num = htole16(1);
  to.identifier[0] = id.cntlid;
  nvme_ns_attach_args attachment = {};
  attachment.args_size = sizeof attachment;
  attachment.ctrlist = &to;
  attachment.nsid = nsid;
  attachment.sel = NVME_NS_ATTACH_SEL_CTRL_ATTACH;
  expect(nvme_mi_admin_ns_attach(controller, &attachment) == 0, "it is attached");
  expect(nvme_mi_admin_identify_ns(controller, nsid, &space) == 0 && le64toh(space.nsze) == 2048, "it is active");
  management.ns = nullptr;
  management.nsid = nsid;
  management.sel = NVME_NS_MGMT_SEL_DELETE;
  expect(nvme_mi_admin_ns_mgmt(controller, &management) == 0, "it is deleted");
  nvme_sanitize_nvm_args sanitize = {};
  sanitize.args_size = sizeof sanitize;
  sanitize.sanact = NVME_SANITIZE_SANACT_EXIT_FAILURE;
  expect(nvme_mi_admin_sanitize_nvm(controller, &sanitize) == 0, "nothing to recover from");
  nvme_self_test_log tests = {};
  expect(nvme_mi_admin_get_log_device_self_test(controller, &tests) == 0 && tests.current_operation == 0, "self-test log");
  __u32 nothing = 0;
  expect(is_refused(nvme_mi_admin_admin_passthru(controller, 0x1C, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, nullptr, 0, nullptr, 0, &nothing)),
         "Virtualization Management is refused");
}

/// Microseconds of an Identify, there and back: the median.
double identify_us(nvme_mi_ctrl_t controller) {
  std::vector<double> times;
  nvme_id_ctrl id = {};
  for (int i = 0; i < 300; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    expect(nvme_mi_admin_identify_ctrl(controller, &id) == 0, "Identify");
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const bool scan = argc > 1 && std::string(argv[1]) == "scan";
  nvme_root_t root = scan ? nvme_mi_scan_mctp() : nvme_mi_create_root(stderr, DEFAULT_LOGLEVEL);
  expect(root != nullptr, "a root");
  if (root == nullptr) return 1;
  if (argc > 2 && std::string(argv[1]) == "unit") {
    nvme_mi_ep_t const endpoint = nvme_mi_open_mctp(root, 1, 9);
    const bool set =
        endpoint != nullptr && nvme_mi_mi_config_set_mctp_mtu(endpoint, 1, static_cast<std::uint16_t>(std::atoi(argv[2]))) == 0;
    nvme_mi_free_root(root);
    return set ? 0 : 1;
  }
  if (!scan) {
    expect(nvme_mi_open_mctp(root, 1, 9) != nullptr, "endpoint 9");
    expect(nvme_mi_open_mctp(root, 1, 10) != nullptr, "endpoint 10");
  }
  int endpoints = 0;
  double identify = 0;
  for (nvme_mi_ep_t at = nvme_mi_first_endpoint(root); at != nullptr; at = nvme_mi_next_endpoint(root, at)) {
    ++endpoints;
    check_management(at);
    expect(nvme_mi_scan_ep(at, true) == 0, "the controllers are found");
    int controllers = 0;
    for (nvme_mi_ctrl_t c = nvme_mi_first_ctrl(at); c != nullptr; c = nvme_mi_next_ctrl(at, c)) {
      ++controllers;
      check_commands(c);
      if (endpoints == 1 && controllers == 1) identify = identify_us(c);
    }
    // All that came in the larger unit.
    expect(nvme_mi_mi_config_set_mctp_mtu(at, 1, 64) == 0, "the usual unit");
    expect(controllers == kControllers, "all controllers", controllers);
  }
  expect(endpoints == 2, "two endpoints", endpoints);
  nvme_mi_free_root(root);
  std::printf("%d endpoints, %d faults, Identify in %.0f us\n", endpoints, g_faults, identify);
  return g_faults == 0 ? 0 : 1;
}
