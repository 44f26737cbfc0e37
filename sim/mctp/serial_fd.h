// Serial MCTP on a file descriptor of this machine, on the RealLoop: a serial port, a pseudo-terminal, or a
// stream socket on which another program speaks the same frames.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sim/mctp/serial_line.h"

namespace fb::mctp {

struct SerialFdOptions {
  std::string name = "serial";
  std::uint32_t bus = 1;    ///< number in the trace
  unsigned baud = 115'200;  ///< of a real port; one of the usual rates
  /// Packets take the time of the rate, where no port sees to that.
  bool paced = false;
  std::size_t unit_max = kBaselineUnit;
  serial::Unescape unescape = serial::Unescape::strict;
};

class SerialFd final : public Binding, private FdHandler {
 public:
  /// A device, or a unix stream socket that somebody listens on. The Problem names the path. `world` is
  /// a real one.
  static Result<std::unique_ptr<SerialFd>> open(World& world, const std::string& path, const SerialFdOptions& options = {});
  /// A new pseudo-terminal; peer_path() is what others open.
  static Result<std::unique_ptr<SerialFd>> open_pty(World& world, const SerialFdOptions& options = {});
  /// Takes over a descriptor, as one end of a socket pair.
  SerialFd(World& world, int fd, const SerialFdOptions& options = {});
  ~SerialFd() override;
  SerialFd(const SerialFd&) = delete;
  SerialFd& operator=(const SerialFd&) = delete;

  const BindingFacts& facts() const override { return facts_; }
  PhysicalAddress address() const override { return {}; }
  void set_sink(PacketSink* sink) override { sink_ = sink; }
  void send(const PhysicalAddress& to, ByteView packet) override;
  /// Whatever bytes; on_packet_sent() follows.
  void send_frame(Bytes bytes);
  /// Told of all bytes that come in, before they are looked at.
  void set_tap(std::function<void(ByteView)> tap) { tap_ = std::move(tap); }

  const std::string& peer_path() const { return peer_path_; }
  /// The other side has gone; it may come back on a pseudo-terminal or a port.
  bool hung_up() const { return hung_up_; }
  const SerialReceiver::Counters& counters() const { return receiver_.counters(); }

 private:
  void on_readable() override;
  void on_writable() override;
  void flush();
  void receive(ByteView bytes);
  void hang_up();
  void listen_again();
  void tell_sent();

  World& world_;
  RealLoop& loop_;
  int fd_;
  bool is_socket_ = false;
  int peer_fd_ = -1;  // keeps a pseudo-terminal alive while nobody has it open
  std::string peer_path_;
  SerialFdOptions options_;
  MediumName medium_;
  BindingFacts facts_;
  SerialReceiver receiver_;
  PacketSink* sink_ = nullptr;
  std::function<void(ByteView)> tap_;
  Bytes out_;
  std::size_t written_ = 0;
  bool hung_up_ = false;
  bool delivered_ = true;
  Timer<SerialFd, &SerialFd::listen_again> again_{"serial.again", *this};
  Timer<SerialFd, &SerialFd::flush> through_{"serial.through", *this};
  Timer<SerialFd, &SerialFd::tell_sent> sent_{"serial.sent", *this};
};

}  // namespace fb::mctp
