// One stream of evidence: everything observable is an event here. pcapng, ladder diagrams, monitors
// and logs are sinks of it. The trace knows no protocol: decoders are handed in as callbacks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ip.h"
#include "base/time.h"

namespace fb {

enum class TraceKind : std::uint8_t { packet, capsule, message, state, fault, note, verdict };

/// IP-level facts of a datagram, beyond its end points.
struct IpFacts {
  std::uint16_t id = 0;  ///< IPv4 identification
  bool dont_fragment = true;
  std::uint8_t tos = 0;  ///< TOS / traffic class
  std::uint8_t ttl = 64;
};

/// Bits of a TCP header's flags.
namespace tcp_flag {
inline constexpr std::uint8_t fin = 0x01;
inline constexpr std::uint8_t syn = 0x02;
inline constexpr std::uint8_t rst = 0x04;
inline constexpr std::uint8_t psh = 0x08;
inline constexpr std::uint8_t ack = 0x10;
}  // namespace tcp_flag

/// Label of notes whose text is a line of an NSS key log. Captures keep it as what decrypts them, and not
/// as a comment.
inline constexpr std::string_view kTlsKeylogLabel = "tls.keylog";

/// The header of a TCP segment, beyond its end points.
struct TcpFacts {
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::uint8_t flags = 0;
  std::uint16_t window = 0;       ///< as the header carries it: scaled, but not in a SYN
  std::uint16_t mss = 0;          ///< option of a SYN; 0 = not there
  std::uint8_t window_shift = 0;  ///< option of a SYN; there when `mss` is
};

/// Where an MCTP packet was seen. A packet with these has no IP end points.
struct MctpFacts {
  std::uint32_t bus = 1;                 ///< number of the medium in this world, from 1 on
  std::uint8_t binding = 0;              ///< physical transport binding id
  std::array<std::uint8_t, 2> source{};  ///< the sender's address on the medium
  std::uint8_t address_size = 0;         ///< bytes of it
  bool broadcast = false;
};

/// One thing that was observed. Views are valid only during on_event().
struct TraceEvent {
  TraceKind kind = TraceKind::note;
  Instant time;
  std::string_view actor;           ///< "host", "target", a link's name
  std::string_view label;           ///< what it is, stable: "roce", "nvme.command", "qp.state"
  std::string_view text;            ///< words, where there are any
  ByteView bytes;                   ///< the packet's UDP or TCP payload, the capsule, the message
  ByteView sent = {};               ///< packets damaged on their way: what their sender sent instead of `bytes`
  Endpoint source;                  ///< packets only
  Endpoint destination;             ///< packets only
  IpFacts ip;                       ///< packets only
  const TcpFacts* tcp = nullptr;    ///< TCP segments only
  const MctpFacts* mctp = nullptr;  ///< MCTP packets only; `bytes` begins with their header
};

class TraceSink {
 public:
  /// What a sink listens for. `wire`: packets and faults; what else there is it may hear or not.
  enum class Hears { wire, everything };

  virtual ~TraceSink() = default;
  virtual void on_event(const TraceEvent& event) = 0;
};

class Trace {
 public:
  /// False while nobody listens for more than the wire: then emitters skip the work of describing.
  bool on() const { return describing_ != 0; }
  /// The same for packets and faults.
  bool hears_wire() const { return !sinks_.empty(); }
  void add_sink(TraceSink& sink, TraceSink::Hears hears = TraceSink::Hears::everything);
  void remove_sink(TraceSink& sink);

  void emit(const TraceEvent& event) {
    for (const Listener& one : sinks_) one.sink->on_event(event);
  }

  /// A mark is a named place that a run has been through ("rc.nak.sequence.sent"). Cases state the
  /// marks they must have reached. Marks are counted whether or not a sink listens.
  void mark(std::string_view name);
  std::uint64_t marks(std::string_view name) const;

  /// Decoders turn the bytes of a label into words for logs and reports.
  using Decoder = std::function<std::string(ByteView)>;
  void set_decoder(std::string label, Decoder decoder) { decoders_[std::move(label)] = std::move(decoder); }
  /// The event's text and its bytes decoded; hexadecimal where there is neither.
  std::string describe(const TraceEvent& event) const;

 private:
  struct Listener {
    TraceSink* sink;
    TraceSink::Hears hears;
  };
  std::vector<Listener> sinks_;
  std::size_t describing_ = 0;  // sinks that hear everything
  std::map<std::string, std::uint64_t, std::less<>> marks_;
  std::map<std::string, Decoder, std::less<>> decoders_;
};

}  // namespace fb
