// The other end of rdma-core's own programs, on the software RDMA device: rping, ibv_rc_pingpong and perftest
// (ib_write_bw, ib_read_bw, ib_send_bw) of somebody's machine meet it as the server. It serves one client,
// says what it saw, and ends; the exit code is 0 when everything was as the program has it.
//
//   verbs_peer ADDRESS rping|pingpong|perftest
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "conformance/runner/verbs_user.h"
#include "sim/net/udp_port.h"
#include "sim/rdma/softroce/softroce.h"

namespace fb::interop {

namespace {

using conformance::VerbsMemory;
using conformance::VerbsQueue;
using conformance::VerbsUser;
using rdma::Completion;
using rdma::CompletionStatus;
using rdma::SendOpcode;

const Duration kPatience = Duration::s(30);
constexpr std::uint16_t kRpingPort = 7174, kExchangePort = 18515;
constexpr std::uint32_t kPsn = 0x3A5C71;
const std::string kDone("done", 5);  // with the zero behind it

/// What the peer did wrong, or did not do.
class PeerFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void expect(bool good, const std::string& what) {
  if (!good) throw PeerFailure(what);
}

/// The TCP connection on which programs without a connection manager tell each other their queue pairs. The
/// world goes on while somebody waits here.
class Exchange {
 public:
  /// `meanwhile` is what is done again and again while somebody waits.
  Exchange(
      World& world, const std::string& address, std::function<void()> meanwhile = [] {})
      : world_(world), meanwhile_(std::move(meanwhile)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in local = {};
    local.sin_family = AF_INET;
    local.sin_port = htons(kExchangePort);
    inet_pton(AF_INET, address.c_str(), &local.sin_addr);
    const int yes = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    expect(bind(listener_, reinterpret_cast<sockaddr*>(&local), sizeof local) == 0 && listen(listener_, 1) == 0,
           fmt::format("TCP port {} is taken", kExchangePort));
  }
  ~Exchange() {
    if (stream_ >= 0) close(stream_);
    close(listener_);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void accept_one() {
    wait("a TCP connection", [this] {
      stream_ = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
      return stream_ >= 0;
    });
  }
  /// The next message: each waits for its answer, so that what has come is one. Empty at the end.
  std::string receive() {
    std::string text(256, '\0');
    ssize_t got = -1;
    wait("a message over TCP", [&] {
      got = recv(stream_, text.data(), text.size(), 0);
      return got >= 0;
    });
    text.resize(static_cast<std::size_t>(got));
    return text;
  }
  void send(const std::string& text) {
    expect(::send(stream_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()),
           "the TCP connection takes a short message");
  }

 private:
  template <class Done>
  void wait(const char* what, Done&& done) {
    const Instant end = world_.now() + kPatience;
    while (!done()) {
      expect(world_.now() < end, std::string(what) + " did not come");
      world_.run_for(Duration::us(200));
      meanwhile_();
    }
  }
  World& world_;
  std::function<void()> meanwhile_;
  int listener_;
  int stream_ = -1;
};

class Server {
 public:
  explicit Server(const IpAddress& address) : world_(World::make_real(1)), host_(*world_), address_(address) {
    softroce::SoftRoceOptions options;
    options.name = "verbs_peer";
    options.address = address;
    auto made = softroce::make_softroce(*world_, host_, options);
    if (!made) throw PeerFailure(made.error().text);
    device_ = std::move(made).value();
    user_ = std::make_unique<VerbsUser>(*world_, *device_);
  }

  void rping();
  void pingpong();
  void perftest();

 private:
  /// The completion of what was sent, which must have gone well.
  void sent(VerbsQueue& queue, const char* what) {
    const auto done = queue.wait_send(kPatience);
    expect(done.has_value(), std::string(what) + " is not completed");
    expect(done->status == CompletionStatus::success, fmt::format("{}: {}", what, name_of(done->status)));
  }
  void to_peer(VerbsQueue& queue, softroce::PathFacts path) {
    path.send_psn = kPsn;
    path.responder_resources = path.initiator_depth = 128;
    path.ack_timeout_code = 14;
    path.min_rnr_timer_code = 12;
    softroce::CmQueuePair& seam = device_->seam_of(queue.qp());
    seam.to_ready_to_receive(path);
    seam.to_ready_to_send(path);
  }

  std::unique_ptr<World> world_;
  net::RealHost host_;
  IpAddress address_;
  std::unique_ptr<softroce::SoftRoceDevice> device_;
  std::unique_ptr<VerbsUser> user_;
};

/// Where the peer's memory is: both messages of rping have this form.
struct Advertised {
  std::uint64_t address;
  std::uint32_t rkey, bytes;
  explicit Advertised(ByteView message)
      : address(load_be<std::uint64_t>(message.data())),
        rkey(load_be<std::uint32_t>(message.data() + 8)),
        bytes(load_be<std::uint32_t>(message.data() + 12)) {}
};
constexpr std::uint32_t kAdvertisedBytes = 16;

/// The client offers a buffer, which is read; it offers another, into which the same bytes are written.
void Server::rping() {
  constexpr std::uint32_t kMostMessages = 2048, kMostBytes = 64 << 10;
  conformance::ListenTerms terms;
  terms.receives = kMostMessages;
  terms.receive_bytes = kAdvertisedBytes;
  terms.queue.receive_entries = kMostMessages;
  user_->listen(kRpingPort, terms);
  std::puts("listening");
  world_->run_until([this] { return user_->accepted() != nullptr; }, kPatience);
  expect(user_->accepted() != nullptr, "no connection request");
  VerbsQueue& queue = *user_->accepted();
  VerbsMemory& data = user_->memory(kMostBytes);
  VerbsMemory& go_ahead = user_->memory(kAdvertisedBytes);
  unsigned rounds = 0;
  const auto next_offer = [&]() -> std::optional<Advertised> {
    const auto message = queue.wait_receive(kPatience);
    expect(message.has_value(), "the client offers no memory");
    if (message->status == CompletionStatus::flushed) return std::nullopt;
    expect(message->status == CompletionStatus::success && message->byte_length == kAdvertisedBytes,
           fmt::format("an offer of {} bytes: {}", message->byte_length, name_of(message->status)));
    const Advertised offer(user_->received(message->id, kAdvertisedBytes));
    expect(offer.bytes <= kMostBytes, "the client offers more than rping does");
    return offer;
  };
  const auto move = [&](SendOpcode opcode, const Advertised& offer, const char* what) {
    rdma::SendRequest request;
    request.opcode = opcode;
    request.remote_address = offer.address;
    request.rkey = offer.rkey;
    expect(queue.post_send(request, data, 0, offer.bytes), what);
    sent(queue, what);
    expect(queue.post_send({}, go_ahead, 0, kAdvertisedBytes), "SEND");
    sent(queue, "SEND");
  };
  while (const auto source = next_offer()) {
    move(SendOpcode::rdma_read, *source, "RDMA READ");
    const std::string begins = fmt::format("rdma-ping-{}: ", rounds);
    expect(std::memcmp(data.bytes.data(), begins.data(), begins.size()) == 0, "the data does not begin with " + begins);
    const auto sink = next_offer();
    expect(sink.has_value() && sink->bytes == source->bytes, "the client takes back what it gave");
    move(SendOpcode::rdma_write, *sink, "RDMA WRITE");
    ++rounds;
  }
  expect(queue.wait_event(conformance::ConnectionEvent::disconnected, kPatience), "the client disconnects");
  fmt::print("rping: {} rounds\n", rounds);
}

/// Every message is sent back.
void Server::pingpong() {
  constexpr std::uint32_t kBytes = 4096, kReceives = 256;
  const std::size_t size = sizeof "0000:000000:000000:00000000000000000000000000000000";
  Exchange exchange(*world_, to_string(address_));
  VerbsQueue& queue = user_->make_queue({.send_entries = kReceives, .receive_entries = kReceives});
  VerbsMemory& memory = user_->memory(std::size_t{kBytes} * kReceives);
  for (std::uint32_t i = 0; i < kReceives; ++i) queue.post_receive(memory, i, std::uint64_t{i} * kBytes, kBytes);
  std::puts("listening");
  exchange.accept_one();
  const std::string theirs = exchange.receive();
  unsigned lid = 0, qpn = 0, psn = 0, gid_end = 0;
  expect(std::sscanf(theirs.c_str(), "%x:%x:%x:%*24c%8x", &lid, &qpn, &psn, &gid_end) == 4, "no queue pair in " + theirs);
  softroce::PathFacts path;
  path.peer = IpAddress::v4(static_cast<std::uint8_t>(gid_end >> 24), static_cast<std::uint8_t>(gid_end >> 16),
                            static_cast<std::uint8_t>(gid_end >> 8), static_cast<std::uint8_t>(gid_end));
  path.mtu_code = 3;  // 1024, which both sides of the program take
  path.peer_qpn = qpn;
  path.receive_psn = psn;
  to_peer(queue, path);
  std::string ours = fmt::format("{:04x}:{:06x}:{:06x}:", 0, queue.qp().number(), kPsn);
  for (const std::uint8_t byte : address_.bytes()) ours += fmt::format("{:02x}", byte);
  ours.resize(size);
  exchange.send(ours);
  expect(exchange.receive() == kDone, "the client takes our queue pair");
  unsigned messages = 0;
  while (const auto message = queue.wait_receive(messages == 0 ? kPatience : Duration::s(2))) {
    expect(message->status == CompletionStatus::success && message->byte_length == kBytes,
           fmt::format("message {} of {} bytes: {}", messages, message->byte_length, name_of(message->status)));
    const std::uint64_t at = message->id * kBytes;
    expect(queue.post_send({}, memory, at, kBytes), "SEND");
    sent(queue, "SEND");
    queue.post_receive(memory, message->id, at, kBytes);
    ++messages;
  }
  fmt::print("pingpong: {} messages\n", messages);
}

/// The client writes into our memory, reads it or sends to us. Over TCP it says again and again which its queue
/// pair is, as a mark that both have come so far, and is answered with ours. What it says besides (its version,
/// sizes of its machine, its results) may be the same on both sides.
void Server::perftest() {
  constexpr std::uint32_t kBytes = 64 << 10, kReceives = 512;
  constexpr std::size_t kKeyBytes = 108;
  VerbsQueue& queue = user_->make_queue({.send_entries = 16, .receive_entries = kReceives});
  VerbsMemory& memory = user_->memory(1 << 20);
  for (std::uint32_t i = 0; i < kReceives; ++i) queue.post_receive(memory, i, 0, kBytes);
  unsigned received = 0;
  Exchange exchange(*world_, to_string(address_), [&] {
    while (const auto message = queue.wait_receive({})) {
      expect(message->status == CompletionStatus::success, fmt::format("message {}: {}", received, name_of(message->status)));
      queue.post_receive(memory, message->id, 0, kBytes);
      ++received;
    }
  });
  std::puts("listening");
  exchange.accept_one();
  std::string ours =
      fmt::format("{:04x}:{:04x}:{:06x}:{:06x}:{:08x}:{:016x}:", 0, 128, queue.qp().number(), kPsn, memory.rkey(), memory.address());
  for (const std::uint8_t byte : address_.bytes()) ours += fmt::format("{:02x}:", byte);
  ours += "00000000:";
  ours.resize(kKeyBytes);
  bool connected = false;
  for (;;) {
    const std::string theirs = exchange.receive();
    if (theirs.empty() || theirs == kDone) break;
    if (theirs.size() != kKeyBytes) {
      exchange.send(theirs);
      continue;
    }
    if (!connected) {
      unsigned lid = 0, reads = 0, qpn = 0, psn = 0;
      std::array<unsigned, 4> ip = {};
      expect(std::sscanf(theirs.c_str(), "%x:%x:%x:%x:%*8c:%*16c:%*36c%x:%x:%x:%x:", &lid, &reads, &qpn, &psn, &ip[0], &ip[1], &ip[2],
                         &ip[3]) == 8,
             "no queue pair in " + theirs);
      softroce::PathFacts path;
      path.peer = IpAddress::v4(static_cast<std::uint8_t>(ip[0]), static_cast<std::uint8_t>(ip[1]), static_cast<std::uint8_t>(ip[2]),
                                static_cast<std::uint8_t>(ip[3]));
      path.mtu_code = device_->mtu_code();
      path.peer_qpn = qpn;
      path.receive_psn = psn;
      to_peer(queue, path);
      connected = true;
    }
    exchange.send(ours);
  }
  expect(connected, "the client says no queue pair");
  expect(queue.state() == rdma::QpState::ready_to_send, "the queue pair is in order at the end");
  const softroce::SoftCounters& counters = device_->counters();
  fmt::print("perftest: {} messages, {} bytes received, {} bytes sent\n", received, counters.bytes_received, counters.bytes_sent);
}

}  // namespace

int run(const std::string& address_text, const std::string& program) {
  const auto address = IpAddress::parse(address_text);
  if (!address) {
    std::fprintf(stderr, "verbs_peer: '%s' is no address\n", address_text.c_str());
    return 2;
  }
  try {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Server server(*address);
    if (program == "rping") {
      server.rping();
    } else if (program == "pingpong") {
      server.pingpong();
    } else if (program == "perftest") {
      server.perftest();
    } else {
      std::fprintf(stderr, "verbs_peer: no program '%s'\n", program.c_str());
      return 2;
    }
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "verbs_peer: %s\n", failure.what());
    return 1;
  }
}

}  // namespace fb::interop

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("verbs_peer ADDRESS rping|pingpong|perftest\n", stderr);
    return 2;
  }
  return fb::interop::run(words[1], words[2]);
}
