// Reads pcap and pcapng files, of either byte order, and gives their UDP datagrams and TCP segments: of a file in memory,
// or of one whose bytes still arrive. Any bytes will do: what is broken ends in a Problem that says where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "sim/capture/frame.h"
#include "sim/core/trace.h"

namespace fb::capture {

/// Bytes in their order, as they arrive: a pipe, or a file that is decompressed on the way.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// At least one byte and at most as many as there is room for; waits for it. 0 at the end.
  virtual Result<std::size_t> read(MutableBytes into) = 0;
};

/// A UDP datagram or TCP segment of a capture. Views are into the file's bytes; of a source they hold until the next packet.
struct CapturedPacket {
  std::uint64_t number = 0;  ///< of the frame in the file, from 1
  std::int64_t time_ns = 0;  ///< since 1970
  CarriedPacket carried;
  std::string_view comment;  ///< the first, in pcapng files

  /// As a trace event that happened `time_ns - epoch_ns` after the start of a world. It refers to this
  /// packet.
  TraceEvent as_event(std::int64_t epoch_ns) const;
};

/// Frames that hold neither, by reason.
struct SkippedFrames {
  std::uint64_t other_protocol = 0;
  std::uint64_t fragments = 0;
  std::uint64_t cut_short = 0;  ///< the capture kept only their start
  std::uint64_t malformed = 0;
  std::uint64_t unknown_link = 0;
};

class CaptureReader {
 public:
  /// `file` must outlive the reader and its packets.
  explicit CaptureReader(ByteView file) : window_(file) {}
  explicit CaptureReader(ByteSource& source) : source_(&source) {}

  /// The next packet: true, or false at the end. After a Problem there is no more.
  Result<bool> next(CapturedPacket& packet);

  const SkippedFrames& skipped() const { return skipped_; }
  std::uint64_t frames() const { return frames_; }
  /// Lines of TLS key logs in what was read so far: Decryption Secrets Blocks.
  const std::string& tls_keys() const { return tls_keys_; }

 private:
  enum class Format { unknown, pcap, pcapng };
  struct Interface {
    std::uint32_t link = 0;
    std::uint32_t snap = 0;       // bytes kept of a frame; 0 = all
    std::uint8_t resolution = 6;  // as in the file: decimal digits, or with bit 7 binary ones
    std::int64_t offset_s = 0;
  };
  struct Frame {
    std::uint32_t link = 0;
    std::int64_t time_ns = 0;
    ByteView bytes;
    std::size_t original = 0;  // on the wire; 0 = unknown
    std::string_view comment;
  };

  /// What is to be read next, `wanted` bytes of it where there are as many.
  Result<ByteView> rest(std::size_t wanted);
  Result<bool> detect();
  Result<bool> next_frame(Frame& frame);
  Result<bool> next_record(Frame& frame);
  Result<bool> next_block(Frame& frame, bool& has_frame);
  Result<bool> begin_section(ByteView block);
  void keep_secrets(ByteView body);
  Result<bool> add_interface(ByteView body);
  Result<bool> read_packet(std::uint32_t type, ByteView body, Frame& frame);
  bool take(const Frame& frame, CapturedPacket& packet);
  template <class Visit>
  void each_option(ByteView options, Visit&& visit) const;
  Failure<Problem> broken(const std::string& what);

  std::uint16_t u16(ByteView bytes, std::size_t at) const { return load<std::uint16_t>(&bytes[at], order_); }
  std::uint32_t u32(ByteView bytes, std::size_t at) const { return load<std::uint32_t>(&bytes[at], order_); }

  ByteView window_;  // of the file: from window_at_ on
  std::uint64_t window_at_ = 0;
  std::uint64_t at_ = 0;
  ByteSource* source_ = nullptr;  // of what comes behind the window
  Bytes buffer_;
  Format format_ = Format::unknown;
  bool ended_ = false;
  std::endian order_ = std::endian::little;
  std::uint32_t pcap_link_ = 0;
  std::int64_t pcap_unit_ns_ = 1000;
  std::size_t pcap_record_ = 0;  // bytes in front of each packet
  std::vector<Interface> interfaces_;
  std::string tls_keys_;
  std::uint64_t frames_ = 0;
  SkippedFrames skipped_;
};

/// The bytes of a file; the Problem names it.
Result<Bytes> read_file(const std::string& path);

}  // namespace fb::capture
