// The trace as a pcapng file: each packet with the Ethernet, IP and UDP or TCP headers that it would have
// on a wire, or as an MCTP packet on an interface of its own, and every other event as a comment on the
// packet that follows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "sim/core/trace.h"

namespace fb::capture {

struct PcapngOptions {
  std::string title = {};  ///< the case's name; the comment of the file
  std::string interface = "fabric";
  std::int64_t epoch_ns = 0;          ///< what Instant 0 is in the file
  std::size_t bytes_max = 256 << 20;  ///< further packets are counted, not kept
  const Trace* decoders = nullptr;    ///< turns events without words into words
};

class PcapngWriter final : public TraceSink {
 public:
  explicit PcapngWriter(const PcapngOptions& options = {});

  /// Packets, and faults that took one off the wire, become packets; the rest comments.
  void on_event(const TraceEvent& event) override;
  /// A comment on the next packet.
  void comment(std::string_view text);

  /// A line of a TLS key log ("CLIENT_TRAFFIC_SECRET_0 ..."): whoever reads the file can decrypt. The
  /// lines stand in front of all packets.
  void add_tls_keys(std::string_view keylog_line);

  /// The file as it stands. Comments that no packet followed are put on the last one.
  Bytes bytes() const;
  /// Writes bytes() so that the path holds the whole file or what it held before.
  Result<void> write_file(const std::string& path) const;

  /// Takes away the blocks that are whole: for a file that is written while it grows. bytes() then has the rest, and its end.
  /// TLS keys stand in front of the packets that came after them.
  Bytes take();

  std::uint64_t packets() const { return packets_; }
  std::uint64_t packets_left_out() const { return left_out_; }

 private:
  void add_packet(const TraceEvent& event);
  void add_segments(const TraceEvent& event);
  void add_mctp(const TraceEvent& event);
  void add_interface(std::uint32_t link, std::string_view name);
  template <class Append>
  void add_frame(const TraceEvent& event, Append&& append, std::uint32_t interface = 0);

  PcapngOptions options_;
  Bytes file_;
  bool has_mctp_ = false;    // the interface of MCTP packets stands in the file
  std::size_t preface_ = 0;  // bytes in front of the first packet
  std::string tls_keys_;
  std::string pending_;  // comments for the next packet, one a line
  std::size_t pending_lost_ = 0;
  std::size_t last_packet_ = 0;  // offset of its block; 0 before the first
  std::uint64_t packets_ = 0;
  std::uint64_t left_out_ = 0;
};

/// Replaces the file at `path`, or that which a symbolic link there leads to, or leaves it as it was. Devices, pipes and the like
/// are written to. The Problem names the path.
Result<void> write_atomically(const std::string& path, ByteView bytes);

}  // namespace fb::capture
