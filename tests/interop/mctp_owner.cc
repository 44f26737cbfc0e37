// A bus owner on Linux's own MCTP stack, for a guest that has no tools for it: puts the MCTP line discipline on
// a terminal, brings the interface up with an EID of its own, gives the endpoint beyond the line its EID, routes
// to it, and asks it what it speaks. Says what it saw and ends; a child holds the line until it is ended.
//
//   mctp_owner TERMINAL OWN-EID ENDPOINT-EID
// Before the kernel's headers, which then leave out what both define.
#include <net/if.h>

#include <dirent.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/mctp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/tty.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace fb::interop {

namespace {

// glibc of Debian 12 has AF_MCTP, but not the level of its options.
constexpr int kMctpLevel = 285;
constexpr int kPatienceMs = 5000;

constexpr std::uint8_t kControlType = 0x00, kNvmeMiType = 0x04;
constexpr std::uint8_t kRequestBit = 0x80;
constexpr std::uint8_t kSetEndpointId = 0x01, kGetEndpointId = 0x02, kGetMessageTypes = 0x05;

using Body = std::vector<std::uint8_t>;

class OwnerFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void fail_with_errno(const std::string& what) { throw OwnerFailure(what + ": " + std::strerror(errno)); }

/// A file descriptor that goes with its scope.
class Descriptor {
 public:
  Descriptor(int fd, const std::string& what) : fd_(fd) {
    if (fd_ < 0) fail_with_errno(what);
  }
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// ---- the line ----

std::vector<std::string> interfaces() {
  std::vector<std::string> found;
  DIR* folder = opendir("/sys/class/net");
  if (folder == nullptr) fail_with_errno("/sys/class/net");
  while (const dirent* entry = readdir(folder)) found.emplace_back(entry->d_name);
  closedir(folder);
  return found;
}

/// The terminal carries frames from here on, for as long as it is open; the name of its interface.
std::string attach(int terminal) {
  termios settings{};
  if (tcgetattr(terminal, &settings) != 0) fail_with_errno("tcgetattr");
  cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  cfsetspeed(&settings, B115200);
  if (tcsetattr(terminal, TCSANOW, &settings) != 0) fail_with_errno("tcsetattr");
  const std::vector<std::string> before = interfaces();
  const int discipline = N_MCTP;
  if (ioctl(terminal, TIOCSETD, &discipline) != 0) fail_with_errno("the line discipline for MCTP");
  for (const std::string& name : interfaces()) {
    const bool is_new = std::find(before.begin(), before.end(), name) == before.end();
    if (is_new && name.starts_with("mctpserial")) return name;
  }
  throw OwnerFailure("no interface came with the line discipline");
}

// ---- rtnetlink ----

/// One request: its fixed part, then attributes.
template <typename Fixed>
class NetlinkRequest {
 public:
  NetlinkRequest(std::uint16_t type, const Fixed& fixed) {
    bytes_.resize(NLMSG_LENGTH(sizeof fixed));
    std::memcpy(&bytes_[NLMSG_HDRLEN], &fixed, sizeof fixed);
    header_.nlmsg_type = type;
    header_.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
  }

  template <typename Value>
  NetlinkRequest& add(std::uint16_t type, const Value& value) {
    rtattr attribute{};
    attribute.rta_len = RTA_LENGTH(sizeof value);
    attribute.rta_type = type;
    const std::size_t at = NLMSG_ALIGN(bytes_.size());
    bytes_.resize(at + RTA_SPACE(sizeof value));
    std::memcpy(&bytes_[at], &attribute, sizeof attribute);
    std::memcpy(&bytes_[at + RTA_LENGTH(0)], &value, sizeof value);
    return *this;
  }

  void send(const std::string& what) {
    const Descriptor netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), "netlink");
    header_.nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    if (::send(netlink.get(), bytes_.data(), bytes_.size(), 0) < 0) fail_with_errno(what);
    std::array<std::uint8_t, 4096> answer{};
    const ssize_t size = recv(netlink.get(), answer.data(), answer.size(), 0);
    nlmsghdr head{};
    nlmsgerr said{};
    if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof said))) throw OwnerFailure(what + ": a short answer");
    std::memcpy(&head, answer.data(), sizeof head);
    std::memcpy(&said, &answer[NLMSG_HDRLEN], sizeof said);
    if (head.nlmsg_type != NLMSG_ERROR) throw OwnerFailure(what + ": not the answer that was asked for");
    errno = -said.error;
    if (said.error != 0) fail_with_errno(what);
  }

 private:
  nlmsghdr header_{};
  Body bytes_;
};

void bring_up(unsigned interface, std::uint8_t own) {
  ifinfomsg link{};
  link.ifi_index = static_cast<int>(interface);
  link.ifi_flags = link.ifi_change = IFF_UP;
  // A link that is there is changed, not made.
  NetlinkRequest<ifinfomsg>(RTM_SETLINK, link).send("the interface does not come up");
  ifaddrmsg address{};
  address.ifa_family = AF_MCTP;
  address.ifa_index = interface;
  NetlinkRequest<ifaddrmsg>(RTM_NEWADDR, address).add(IFA_LOCAL, own).send("the interface takes no EID");
}

void route_to(unsigned interface, std::uint8_t eid) {
  rtmsg route{};
  route.rtm_family = AF_MCTP;
  route.rtm_type = RTN_UNICAST;
  NetlinkRequest<rtmsg>(RTM_NEWROUTE, route).add(RTA_DST, eid).add(RTA_OIF, interface).send("no route");
}

// ---- the control protocol ----

/// Whom a question is for: an EID by the routes, or whoever is on the interface, whatever its EID.
struct Whom {
  std::uint8_t eid = 0;
  unsigned interface = 0;
};

/// What stands behind the completion code of the answer.
Body ask(const Whom& whom, std::uint8_t command, const Body& parameters, const std::string& what) {
  const Descriptor mctp(socket(AF_MCTP, SOCK_DGRAM | SOCK_CLOEXEC, 0), "AF_MCTP");
  sockaddr_mctp_ext to{};
  to.smctp_base.smctp_family = AF_MCTP;
  to.smctp_base.smctp_network = MCTP_NET_ANY;
  to.smctp_base.smctp_addr.s_addr = whom.eid;
  to.smctp_base.smctp_type = kControlType;
  to.smctp_base.smctp_tag = MCTP_TAG_OWNER;
  socklen_t length = sizeof to.smctp_base;
  if (whom.interface != 0) {
    const int yes = 1;
    if (setsockopt(mctp.get(), kMctpLevel, MCTP_OPT_ADDR_EXT, &yes, sizeof yes) != 0) fail_with_errno("MCTP_OPT_ADDR_EXT");
    to.smctp_ifindex = static_cast<int>(whom.interface);
    length = sizeof to;
  }
  Body question{kRequestBit, command};
  question.insert(question.end(), parameters.begin(), parameters.end());
  if (sendto(mctp.get(), question.data(), question.size(), 0, reinterpret_cast<const sockaddr*>(&to), length) < 0) {
    fail_with_errno(what);
  }
  pollfd waiting{mctp.get(), POLLIN, 0};
  if (poll(&waiting, 1, kPatienceMs) != 1) throw OwnerFailure(what + ": no answer");
  Body answer(256);
  const ssize_t size = recv(mctp.get(), answer.data(), answer.size(), 0);
  if (size < 3) throw OwnerFailure(what + ": a short answer");
  answer.resize(static_cast<std::size_t>(size));
  if (answer[0] != 0 || answer[1] != command) throw OwnerFailure(what + ": the answer is not to this question");
  if (answer[2] != 0) throw OwnerFailure(what + ": completion code " + std::to_string(answer[2]));
  return {answer.begin() + 3, answer.end()};
}

void introduce(unsigned interface, std::uint8_t eid) {
  const Body assigned = ask({.interface = interface}, kSetEndpointId, {0, eid}, "Set Endpoint ID");
  if (assigned.size() != 3 || (assigned[0] & 0x30) != 0 || assigned[1] != eid) {
    throw OwnerFailure("Set Endpoint ID: the endpoint did not take it");
  }
  route_to(interface, eid);
  const Body known = ask({.eid = eid}, kGetEndpointId, {}, "Get Endpoint ID");
  if (known.size() != 3 || known[0] != eid) throw OwnerFailure("Get Endpoint ID: another EID");
  const Body types = ask({.eid = eid}, kGetMessageTypes, {}, "Get Message Type Support");
  if (types.empty() || types.size() != types[0] + std::size_t{1}) throw OwnerFailure("Get Message Type Support: no list");
  if (std::find(types.begin() + 1, types.end(), kNvmeMiType) == types.end()) {
    throw OwnerFailure("Get Message Type Support: no NVMe-MI");
  }
}

std::uint8_t eid_of(const char* text) {
  unsigned value = 0;
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || at != end || value < 8 || value > 254) throw OwnerFailure(std::string(text) + " is no EID");
  return static_cast<std::uint8_t>(value);
}

/// Whoever started us gets on; the line is held until somebody ends the child, whose number is told.
pid_t hold() {
  const pid_t child = fork();
  if (child < 0) fail_with_errno("fork");
  if (child > 0) return child;
  setsid();
  for (const int standard : {0, 1, 2}) close(standard);
  for (;;) pause();
}

int run(std::span<char*> arguments) {
  if (arguments.size() != 4) {
    std::fprintf(stderr, "usage: mctp_owner TERMINAL OWN-EID ENDPOINT-EID\n");
    return 2;
  }
  try {
    const std::uint8_t own = eid_of(arguments[2]), eid = eid_of(arguments[3]);
    const Descriptor terminal(open(arguments[1], O_RDWR | O_NOCTTY), arguments[1]);
    const std::string name = attach(terminal.get());
    const unsigned interface = if_nametoindex(name.c_str());
    bring_up(interface, own);
    introduce(interface, eid);
    std::printf("endpoint %u on %s, held by %d\n", unsigned{eid}, name.c_str(), static_cast<int>(hold()));
  } catch (const OwnerFailure& failure) {
    std::fprintf(stderr, "mctp_owner: %s\n", failure.what());
    return 1;
  }
  return 0;
}

}  // namespace

}  // namespace fb::interop

int main(int count, char** arguments) { return fb::interop::run({arguments, static_cast<std::size_t>(count)}); }
