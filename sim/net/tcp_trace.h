// A socket does not show its segments. The trace gets the connection as it would look with one segment
// a call: a handshake, sequence numbers counted from the bytes, acknowledgements of all that was seen.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/ip.h"
#include "sim/core/world.h"

namespace fb::net {

/// How a connection is shown.
struct TcpTraceOptions {
  bool shown = true;                 ///< at all
  std::string_view local = "local";  ///< names of the two ends; they outlive the trace of the connection
  std::string_view peer = "peer";
};

class TcpTrace {
 public:
  TcpTrace(World& world, const Endpoint& local, const Endpoint& peer, const TcpTraceOptions& options = {});

  void ends(const Endpoint& local, const Endpoint& peer);
  void handshake(bool we_began) {
    if (shows()) show_handshake(we_began);
  }
  void refused() {
    if (shows()) show_refused();
  }
  /// The first `size` bytes of the parts.
  void sent(std::span<const ByteView> parts, std::size_t size) {
    if (shows()) show(ours_, theirs_, true, parts, size);
    ours_.bytes += size;
  }
  void received(std::span<const MutableBytes> parts, std::size_t size);
  void received(ByteView bytes) {
    if (shows()) show(theirs_, ours_, false, {&bytes, 1}, bytes.size());
    theirs_.bytes += bytes.size();
  }
  void finished(bool by_us);
  void reset(bool by_us);

 private:
  struct Side {
    std::uint32_t isn = 0;
    std::uint64_t bytes = 0;
    std::uint64_t unacknowledged = 0;
    bool finished = false;
    std::uint32_t next() const { return static_cast<std::uint32_t>(isn + 1 + bytes + (finished ? 1u : 0u)); }
  };
  bool shows() const { return options_.shown && world_.trace().hears_wire(); }
  void show_handshake(bool we_began);
  void show_refused();
  void show(Side& from, Side& to, bool we_send, std::span<const ByteView> parts, std::size_t size);
  void emit(bool we_send, std::uint32_t seq, std::uint32_t ack, std::uint8_t flags, ByteView bytes);

  World& world_;
  TcpTraceOptions options_;
  Endpoint local_, peer_;
  Side ours_, theirs_;
  Bytes room_;
};

}  // namespace fb::net
