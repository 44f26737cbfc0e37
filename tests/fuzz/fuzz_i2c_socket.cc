// Any program may write anything into the unix socket of the I2C adapters: frames that no preload library of ours sends, with a pipe
// or without, from several files that come and go. Nothing breaks, nothing leaks, others are served.
//
// The input is a list of steps: a byte that chooses a file (bits 1:0) and what to do (bits 4:2: 0 and 1 a frame with a pipe, 2 a
// frame without, 3 close it, 4 bytes that are no frame, 5 time passes), then the frame.
#include <signal.h>

#include <array>

#include "sim/mctp/i2c_server.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/socket_client.h"

namespace fb::mctp {
namespace {

struct Memory final : SmbusSlave {
  void on_write(ByteView bytes) override { first = bytes.empty() ? 0 : bytes[0]; }
  Bytes on_read(std::size_t count) override { return Bytes(count, first); }
  std::uint8_t first = 0;
};

class Target {
 public:
  Target() : directory_(fuzz::make_directory()), world_(World::make_real(1)), adapter_(*world_, {.name = "i2c-1", .timing = false}) {
    adapter_.bus().set_slave(0xA6, &memory_);
    auto opened = I2cServer::open(*world_, {&adapter_}, directory_ + "/i2c");
    if (!opened) std::abort();
    server_ = std::move(opened).value();
    files_.fill(-1);
  }
  ~Target() {
    for (const int fd : files_) {
      if (fd >= 0) ::close(fd);
    }
    server_.reset();
    settle();
    adapter_.bus().set_slave(0xA6, nullptr);
    ::rmdir(directory_.c_str());
  }

  void step(fuzz::Input& input) {
    const std::uint8_t what = input.byte();
    int& fd = files_[what & 3u];
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
    if (fd < 0) fd = fuzz::connect_to_socket(server_->path());
    if (action == 4) {
      fuzz::send_with(fd, input.bytes(input.byte()), (what & 0x80) != 0);
    } else {
      I2cFrame frame;
      Bytes bytes = input.bytes(sizeof frame);
      bytes.resize(sizeof frame);
      std::memcpy(&frame, bytes.data(), sizeof frame);
      frame.call = static_cast<I2cCall>(static_cast<std::uint32_t>(frame.call) % 8);
      if ((what & 0x40) != 0) frame.value %= 8;
      frame.size %= 12;
      std::memcpy(bytes.data(), &frame, sizeof frame);
      const Bytes payload = input.bytes(input.byte());
      bytes.insert(bytes.end(), payload.begin(), payload.end());
      fuzz::send_with(fd, bytes, action != 2);
    }
    settle();
  }

  /// A program that behaves is served whatever the others do.
  void served() {
    const int fd = fuzz::connect_to_socket(server_->path());
    I2cFrame frame;
    frame.value = 1;
    const auto ask = [&] {
      if (fuzz::asked(fd, frame, [this] { settle(); }).error != 0) std::abort();
    };
    ask();
    frame.call = I2cCall::slave;
    frame.value = 0x53;
    ask();
    frame.call = I2cCall::read;
    frame.value = 4;
    ask();
    ::close(fd);
  }

 private:
  void settle() {
    for (int i = 0; i < 8; ++i) world_->run_for({});
  }

  std::string directory_;
  std::unique_ptr<World> world_;
  I2cAdapter adapter_;
  Memory memory_;
  std::unique_ptr<I2cServer> server_;
  std::array<int, 4> files_;
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
