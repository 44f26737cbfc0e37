// TCP sockets of this machine behind the stream seam; RealHost (udp_port.h) opens them.
#pragma once

#include <cstdint>
#include <memory>

#include "base/lifetime.h"
#include "sim/core/world.h"
#include "sim/net/stream.h"
#include "sim/net/tcp_trace.h"
#include "sim/net/udp_port.h"

namespace fb::net {

/// One connected, or connecting, socket. Bytes go straight between the kernel and the user's memory: it
/// has no buffer of its own.
class TcpStream final : public Stream, private FdHandler, private TurnEndHandler {
 public:
  enum class State : std::uint8_t {
    connecting,
    open,
    ending,  ///< broken, which the handler will hear behind what had arrived
    over
  };

  TcpStream(RealHost& host, int fd, State state, const Endpoint& local, const Endpoint& peer);
  ~TcpStream() override;

  void set_handler(StreamHandler* handler) override;
  std::size_t receive(std::span<const MutableBytes> into) override;
  bool finished() const override { return finished_; }
  std::size_t send(std::span<const ByteView> parts) override;
  void request_flush() override;
  void finish() override;
  void abort() override;
  void close() override;
  Endpoint local() const override { return local_; }
  Endpoint peer() const override { return peer_; }

  /// connect() has said at once how it ends; 0: well.
  void connected_at_once(int error);

 private:
  void on_readable() override;
  void on_writable() override;
  bool pollable() const override { return state_ == State::open; }
  bool poll() override;
  void on_turn_end() override;
  void look_at_error();
  void check_connected();
  void connect_due();
  void settled();
  void fail(int error);
  void fail(StreamEnd::Kind kind, std::string text);
  void tell_end();
  void watch();
  void release();

  RealHost& host_;
  RealLoop& loop_;
  int fd_;
  State state_;
  Endpoint local_, peer_;
  StreamHandler* handler_ = nullptr;
  bool armed_ = true;    // receive() has come up short since the last on_readable()
  bool reading_ = true;  // input is watched for
  bool watched_ = false;
  bool blocked_ = false;   // output is watched for
  bool finished_ = false;  // by the peer
  bool half_closed_ = false;
  bool flush_asked_ = false;
  int connect_error_ = 0;
  StreamEnd why_;
  Lifetime lifetime_;  // the handler may destroy the stream from inside a callback
  TcpTrace trace_;
  Timer<TcpStream, &TcpStream::settled> settled_{"net.tcp.settled", *this};
  Timer<TcpStream, &TcpStream::tell_end> end_{"net.tcp.end", *this};
  Timer<TcpStream, &TcpStream::connect_due> connect_timer_{"net.tcp.connect", *this};
};

class TcpListener final : public StreamListener, private FdHandler {
 public:
  TcpListener(RealHost& host, int fd, const Endpoint& local, StreamAcceptor& acceptor);
  ~TcpListener() override;
  Endpoint local() const override { return local_; }

 private:
  void on_readable() override;
  void resume();

  RealHost& host_;
  RealLoop& loop_;
  int fd_;
  Endpoint local_;
  StreamAcceptor& acceptor_;
  Lifetime lifetime_;  // so may the acceptor the listener
  Timer<TcpListener, &TcpListener::resume> resume_{"net.tcp.resume", *this};
};

}  // namespace fb::net
