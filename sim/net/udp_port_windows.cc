// This machine's UDP on Winsock. One datagram a call; Windows tells a socket's events through an event, which is the
// descriptor that the loop knows.
//
// The identification of IPv4 packets is Windows' own business, and RoCEv2's integrity check covers it. What is sent from
// here is computed for 0, which is what Wine on Linux sends; peers that see the header need IPv6 (which has none).
#include "sim/net/udp_port.h"

#include <winsock2.h>
#include <ws2tcpip.h>
// After the two: they need its types.
#include <iphlpapi.h>
#include <mswsock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/lifetime.h"

namespace fb::net {

namespace {

constexpr std::size_t kBacklogBytes = 512 * 1024;  // outgoing datagrams that wait for the system
constexpr unsigned kReceiveMost = 32;              // datagrams of a turn
constexpr DWORD kConnectionReset = 0x9800000C;     // SIO_UDP_CONNRESET, which not every header has

/// Winsock counts its users.
class WinsockUse {
 public:
  WinsockUse() {
    WSADATA data;
    good_ = WSAStartup(MAKEWORD(2, 2), &data) == 0;
  }
  WinsockUse(WinsockUse&& other) noexcept : good_(std::exchange(other.good_, false)) {}
  WinsockUse& operator=(WinsockUse&&) = delete;
  ~WinsockUse() {
    if (good_) WSACleanup();
  }
  bool good() const { return good_; }

 private:
  bool good_ = false;
};

/// A socket address of either family.
struct SocketAddress {
  sockaddr_storage storage = {};
  int length = sizeof(sockaddr_storage);

  SocketAddress() = default;
  explicit SocketAddress(const Endpoint& endpoint) {
    const auto& bytes = endpoint.address.bytes();
    if (endpoint.address.is_v4()) {
      auto* to = reinterpret_cast<sockaddr_in*>(&storage);
      to->sin_family = AF_INET;
      to->sin_port = htons(endpoint.port);
      std::memcpy(&to->sin_addr, bytes.data() + 12, 4);
      length = sizeof *to;
    } else {
      auto* to = reinterpret_cast<sockaddr_in6*>(&storage);
      to->sin6_family = AF_INET6;
      to->sin6_port = htons(endpoint.port);
      std::memcpy(&to->sin6_addr, bytes.data(), 16);
      length = sizeof *to;
    }
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

std::optional<Endpoint> endpoint_at(const sockaddr* address) {
  std::array<std::uint8_t, 16> bytes = {};
  if (address->sa_family == AF_INET) {
    const auto* from = reinterpret_cast<const sockaddr_in*>(address);
    std::memcpy(bytes.data(), &from->sin_addr, 4);
    return Endpoint{IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]), ntohs(from->sin_port)};
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  const auto* from = reinterpret_cast<const sockaddr_in6*>(address);
  std::memcpy(bytes.data(), &from->sin6_addr, 16);
  return Endpoint{IpAddress::v6(bytes), ntohs(from->sin6_port)};
}

void set_option(SOCKET socket, int level, int name, int value) {
  setsockopt(socket, level, name, reinterpret_cast<const char*>(&value), sizeof value);
}

std::string words_of(int error) {
  switch (error) {
    case WSAEADDRINUSE:
      return "address already in use";
    case WSAEADDRNOTAVAIL:
      return "cannot assign requested address (no interface of this machine has it)";
    case WSAEACCES:
      return "permission denied";
    case WSAEAFNOSUPPORT:
      return "address family not supported";
    default:
      return fmt::format("Winsock error {}", error);
  }
}

Failure<Problem> problem(const Endpoint& local, int error) {
  return Failure{Problem{fmt::format("UDP {}: {}", to_string(local), words_of(error))}};
}

/// IP MTU of the interface that has the address; 65536 when it is not known.
std::size_t interface_mtu(const IpAddress& address) {
  constexpr std::size_t kUnknown = 65536;
  constexpr ULONG kFlags = GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER;
  ULONG bytes = 0;
  GetAdaptersAddresses(AF_UNSPEC, kFlags, nullptr, nullptr, &bytes);
  std::vector<std::uint64_t> room(bytes / sizeof(std::uint64_t) + 1);
  auto* first = reinterpret_cast<IP_ADAPTER_ADDRESSES*>(room.data());
  if (GetAdaptersAddresses(AF_UNSPEC, kFlags, nullptr, first, &bytes) != NO_ERROR) return kUnknown;
  for (const auto* at = first; at != nullptr; at = at->Next) {
    for (const auto* unicast = at->FirstUnicastAddress; unicast != nullptr; unicast = unicast->Next) {
      const auto endpoint = endpoint_at(unicast->Address.lpSockaddr);
      if (endpoint && endpoint->address == address) return std::min<std::size_t>(at->Mtu, kUnknown);
    }
  }
  return kUnknown;
}

struct OpenSocket {
  SOCKET socket = INVALID_SOCKET;
  HANDLE event = nullptr;
  Endpoint local;
};

Result<OpenSocket> open_udp(const Endpoint& local, int buffer_bytes) {
  const bool v4 = local.address.is_v4();
  if (local.address == IpAddress{} || local.address == IpAddress::v4(0, 0, 0, 0)) {
    return Failure{Problem{fmt::format("UDP {}: name one address; RoCE packets are checked against it", to_string(local))}};
  }
  const SOCKET made = WSASocketW(v4 ? AF_INET : AF_INET6, SOCK_DGRAM, IPPROTO_UDP, nullptr, 0, WSA_FLAG_OVERLAPPED);
  if (made == INVALID_SOCKET) return problem(local, WSAGetLastError());
  set_option(made, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_DONTFRAGMENT : IPV6_DONTFRAG, 1);
  if (!v4) set_option(made, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set_option(made, SOL_SOCKET, SO_RCVBUF, buffer_bytes);
  set_option(made, SOL_SOCKET, SO_SNDBUF, buffer_bytes);
  // A port that nobody has open is not an error of this socket.
  BOOL no = FALSE;
  DWORD ignored = 0;
  WSAIoctl(made, kConnectionReset, &no, sizeof no, nullptr, 0, &ignored, nullptr, nullptr);
  SocketAddress address(local);
  const HANDLE event = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  if (bind(made, address.get(), address.length) != 0 || WSAEventSelect(made, event, FD_READ | FD_WRITE) != 0) {
    const int error = WSAGetLastError();
    closesocket(made);
    CloseHandle(event);
    return problem(local, error);
  }
  SocketAddress bound;
  getsockname(made, bound.get(), &bound.length);
  return OpenSocket{made, event, endpoint_at(bound.get()).value_or(local)};
}

}  // namespace

class UdpPort final : public DatagramPort, private FdHandler, private TurnEndHandler {
 public:
  UdpPort(RealHost& host, WinsockUse winsock, const OpenSocket& opened, std::size_t mtu)
      : host_(host),
        loop_(*host.world_.real_loop()),
        winsock_(std::move(winsock)),
        socket_(opened.socket),
        event_(opened.event),
        local_(opened.local),
        mtu_(mtu),
        receive_(65'536) {
    loop_.watch(descriptor(), *this);
  }
  ~UdpPort() override {
    flush();  // a last word (a disconnect) still leaves
    loop_.cancel_turn_end(*this);
    loop_.unwatch(descriptor());
    closesocket(socket_);
    CloseHandle(event_);
  }

  Outgoing begin(const Endpoint& to, std::size_t size) override {
    BENCH_ASSERT(size <= max_payload(), "a datagram is never longer than max_payload()");
    pending_ = {to, Bytes(size)};
    return {pending_.bytes, IpFacts{}};
  }
  void commit() override {
    const bool unsendable = pending_.to.address.is_v4() != local_.address.is_v4() || pending_.to.port == 0;
    if (unsendable || backlog_bytes_ + pending_.bytes.size() > kBacklogBytes) {
      ++(unsendable ? host_.counters_.dropped_unsendable : host_.counters_.dropped_backlog);
      trace(TraceKind::fault, local_, pending_.to, pending_.bytes, "dropped: cannot be sent");
      return;
    }
    trace(TraceKind::packet, local_, pending_.to, pending_.bytes, "");
    backlog_bytes_ += pending_.bytes.size();
    backlog_.push_back(std::move(pending_));
    ask_for_turn_end();
  }
  void flush() override {
    while (!backlog_.empty()) {
      const Datagram& first = backlog_.front();
      SocketAddress to(first.to);
      ++host_.counters_.send_calls;
      const int sent =
          sendto(socket_, reinterpret_cast<const char*>(first.bytes.data()), static_cast<int>(first.bytes.size()), 0, to.get(), to.length);
      if (sent < 0 && WSAGetLastError() == WSAEWOULDBLOCK) {
        ++host_.counters_.blocked;
        return;  // the event tells of room
      }
      ++(sent < 0 ? host_.counters_.dropped_unsendable : host_.counters_.sent);
      backlog_bytes_ -= first.bytes.size();
      backlog_.pop_front();
    }
  }
  void set_receiver(DatagramReceiver* receiver) override { receiver_ = receiver; }
  Endpoint local() const override { return local_; }
  std::size_t mtu() const override { return mtu_; }

 private:
  struct Datagram {
    Endpoint to;
    Bytes bytes;
  };

  int descriptor() const { return static_cast<int>(reinterpret_cast<std::intptr_t>(event_)); }
  bool pollable() const override { return true; }
  bool poll() override { return receive(); }
  void on_readable() override {
    WSANETWORKEVENTS told;
    WSAEnumNetworkEvents(socket_, nullptr, &told);  // they are told of again only when they have been asked for
    receive();
  }
  void on_writable() override { flush(); }

  /// False when nothing was there.
  bool receive() {
    const Lifetime::Watch watch(lifetime_);
    unsigned count = 0;
    for (; count < kReceiveMost; ++count) {
      SocketAddress from;
      ++host_.counters_.receive_calls;
      const int length =
          recvfrom(socket_, reinterpret_cast<char*>(receive_.data()), static_cast<int>(receive_.size()), 0, from.get(), &from.length);
      if (length < 0 && WSAGetLastError() == WSAEWOULDBLOCK) break;
      const auto source = endpoint_at(from.get());
      if (length < 0 || !source) {
        ++host_.counters_.dropped_received;
        continue;
      }
      ++host_.counters_.received;
      Arrival arrival{*source, local_, ByteView(receive_).first(static_cast<std::size_t>(length)), std::nullopt};
      if (!local_.address.is_v4()) arrival.ip = IpFacts{};
      trace(TraceKind::packet, *source, local_, arrival.payload, "");
      if (receiver_ != nullptr) receiver_->on_datagram(arrival);
      if (watch.gone()) return true;
    }
    if (count == 0) return false;
    // The rest in the next turn: answers to this batch leave first.
    if (count == kReceiveMost) SetEvent(event_);
    batch_open_ = true;
    ask_for_turn_end();
    return true;
  }
  void ask_for_turn_end() {
    if (std::exchange(turn_end_asked_, true)) return;
    loop_.at_turn_end(*this);
  }
  void on_turn_end() override {
    turn_end_asked_ = false;
    if (std::exchange(batch_open_, false) && receiver_ != nullptr) {
      const Lifetime::Watch watch(lifetime_);
      receiver_->on_batch_end();
      if (watch.gone()) return;
    }
    flush();
  }
  void trace(TraceKind kind, const Endpoint& source, const Endpoint& destination, ByteView bytes, std::string_view text) {
    if (!host_.world_.trace().hears_wire()) return;
    TraceEvent event;
    event.kind = kind;
    event.time = host_.world_.now();
    event.actor = source == local_ ? "local" : "peer";
    event.label = "udp";
    event.text = text;
    event.bytes = bytes;
    event.source = source;
    event.destination = destination;
    host_.world_.trace().emit(event);
  }

  RealHost& host_;
  RealLoop& loop_;
  WinsockUse winsock_;
  SOCKET socket_;
  HANDLE event_;
  Endpoint local_;
  std::size_t mtu_;
  DatagramReceiver* receiver_ = nullptr;
  Datagram pending_;
  std::deque<Datagram> backlog_;
  std::size_t backlog_bytes_ = 0;
  Bytes receive_;
  Lifetime lifetime_;  // the receiver may close the port from inside a callback
  bool turn_end_asked_ = false;
  bool batch_open_ = false;  // datagrams were given out, on_batch_end() is owed
};

RealHost::RealHost(World& world, const RealHostOptions& options) : world_(world), options_(options), segmentation_(false) {
  BENCH_ASSERT(world.real_loop() != nullptr, "sockets need a world in real time");
}

Result<std::unique_ptr<DatagramPort>> RealHost::open(const Endpoint& local) {
  WinsockUse winsock;
  if (!winsock.good()) return Failure{Problem{"Winsock does not start"}};
  auto opened = open_udp(local, options_.socket_buffer_bytes);
  if (!opened) return Failure{opened.error()};
  const std::size_t mtu = std::min(interface_mtu(local.address), options_.mtu_max);
  return std::unique_ptr<DatagramPort>(std::make_unique<UdpPort>(*this, std::move(winsock), *opened, mtu));
}

Result<std::unique_ptr<Stream>> RealHost::connect(const Endpoint&, const Endpoint& to, StreamHandler&) {
  return Failure{Problem{"TCP " + to_string(to) + ": on Windows there is UDP alone"}};
}

Result<std::unique_ptr<StreamListener>> RealHost::listen(const Endpoint& local, StreamAcceptor&) {
  return Failure{Problem{"TCP " + to_string(local) + ": on Windows there is UDP alone"}};
}

}  // namespace fb::net
