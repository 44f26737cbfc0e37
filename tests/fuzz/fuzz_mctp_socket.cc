// Any program may write anything into the unix socket of a bus: frames that no preload library of ours sends, with
// a pipe or without, from several sockets that come and go. Nothing breaks, nothing leaks, others are served.
//
// The input is a list of steps: a byte that chooses a socket (bits 1:0) and what to do (bits 4:2: 0 and 1 a frame
// with a pipe, 2 a frame without, 3 close it, 4 bytes that are no frame, 5 time passes), then the frame.
#include <signal.h>

#include <array>

#include "sim/mctp/socket_server.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/socket_client.h"

namespace fb::mctp {
namespace {

/// Answers every message, so that replies come too.
struct Echo final : MessageHandler {
  explicit Echo(Endpoint& at) : endpoint(at) { endpoint.set_handler(MessageType::nvme_mi, this, 4224); }
  ~Echo() { endpoint.set_handler(MessageType::nvme_mi, nullptr, 0); }
  void on_message(const Incoming& message) override {
    if (!message.tag.owner) return;
    Outgoing out;
    out.destination = message.source;
    out.to = message.from;
    out.tag = {message.tag.value, false};
    out.body.assign(message.body.begin(), message.body.end());
    endpoint.send(std::move(out));
  }
  Endpoint& endpoint;
};

class Target {
 public:
  Target() : directory_(fuzz::make_directory()), world_(World::make_real(1)), bus_(*world_) {
    Network& network = bus_.add_network({.number = 1, .timing = false});
    const std::size_t segment = network.add_smbus({.timing = false});
    SimpleDevice& device = network.add_endpoint(segment, smbus_address(0x3A), {.types = {{4, {}}}});
    network.enumerate();
    echo_.emplace(device.endpoint());
    auto opened = SocketServer::open(*world_, bus_, directory_ + "/bus");
    if (!opened) std::abort();
    server_ = std::move(opened).value();
    sockets_.fill(-1);
  }
  ~Target() {
    for (const int fd : sockets_) {
      if (fd >= 0) ::close(fd);
    }
    server_.reset();
    ::rmdir(directory_.c_str());
  }

  void step(fuzz::Input& input) {
    const std::uint8_t what = input.byte();
    int& fd = sockets_[what & 3u];
    const unsigned action = what >> 2 & 7u;
    if (action == 3 && fd >= 0) {
      ::close(fd);
      fd = -1;
      return settle();
    }
    if (action == 5) {
      world_->run_for(Duration::ms(1));
      return;
    }
    if (fd < 0) fd = connect_one();
    if (action == 4) {
      const Bytes bytes = input.bytes(input.byte());
      fuzz::send_with(fd, bytes, (what & 0x80) != 0);
    } else {
      SocketFrame frame;
      Bytes raw = input.bytes(sizeof frame);
      raw.resize(sizeof frame);
      std::memcpy(&frame, raw.data(), sizeof frame);
      frame.call = static_cast<SocketCall>(static_cast<std::uint32_t>(frame.call) % 12);
      frame.network %= 3;
      Bytes bytes(sizeof frame);
      std::memcpy(bytes.data(), &frame, sizeof frame);
      const Bytes payload = input.bytes(input.byte());
      bytes.insert(bytes.end(), payload.begin(), payload.end());
      fuzz::send_with(fd, bytes, action != 2);
    }
    settle();
  }

  /// A socket that behaves is served whatever the others do.
  void served() {
    SocketFrame frame;
    frame.call = SocketCall::is_extended;
    const int fd = connect_one();
    if (fuzz::asked(fd, frame, [this] { settle(); }).error != 0) std::abort();
    ::close(fd);
  }

 private:
  int connect_one() {
    const int fd = fuzz::connect_to_socket(server_->path());
    settle();
    return fd;
  }
  void settle() {
    for (int i = 0; i < 3; ++i) world_->run_for({});
  }

  std::string directory_;
  std::unique_ptr<World> world_;
  Bus bus_;
  std::optional<Echo> echo_;
  std::unique_ptr<SocketServer> server_;
  std::array<int, 4> sockets_;
};

}  // namespace
}  // namespace fb::mctp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // As the command does: a program may have gone before its answer.
  static const auto ignored = ::signal(SIGPIPE, SIG_IGN);
  (void)ignored;
  fb::fuzz::Input input(data, size);
  fb::mctp::Target target;
  for (int steps = 0; steps < 200 && !input.empty(); ++steps) target.step(input);
  target.served();
  return 0;
}
