// The datagram seam: UDP as a protocol engine needs it. Simulated hosts and real sockets implement
// it.
#pragma once

#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/ip.h"
#include "base/result.h"
#include "sim/core/trace.h"

namespace fb::net {

/// A datagram that arrived. The payload is valid only during the call.
struct Arrival {
  Endpoint source;
  Endpoint destination;
  ByteView payload;
  /// The IP header's facts where the port can see them. A UDP socket on IPv4 does not show the
  /// sender's identification.
  std::optional<IpFacts> ip;
};

class DatagramReceiver {
 public:
  virtual void on_datagram(const Arrival& arrival) = 0;
  /// All datagrams that were at hand have been given out: a good moment to acknowledge them.
  virtual void on_batch_end() {}

 protected:
  ~DatagramReceiver() = default;
};

/// Room for one outgoing datagram, filled in place.
struct Outgoing {
  MutableBytes payload;
  /// The IP facts that this datagram will be sent with. Integrity checks that cover them (ICRC) are
  /// computed from these; with segmentation offload the identification counts up.
  IpFacts ip;
};

/// One UDP port of one host. Sending is two steps, so that an engine builds its packet where it
/// will leave from: begin() gives the room, commit() sends it. No other call on the port in
/// between.
class DatagramPort {
 public:
  virtual ~DatagramPort() = default;

  /// `size` bytes of UDP payload to `to`; at most max_payload().
  virtual Outgoing begin(const Endpoint& to, std::size_t size) = 0;
  virtual void commit() = 0;
  /// Hands over what commit() may have kept back to batch. Ports also flush by themselves at the
  /// end of the loop's turn.
  virtual void flush() {}

  virtual void set_receiver(DatagramReceiver* receiver) = 0;
  virtual Endpoint local() const = 0;
  /// IP MTU of the path (1500, 5000 ...); bounds the payload and the RoCE path MTU.
  virtual std::size_t mtu() const = 0;
  std::size_t max_payload() const { return mtu() - (local().address.is_v4() ? 28u : 48u); }
};

/// Opens ports of one host: a simulated one, or this machine.
class DatagramHost {
 public:
  virtual ~DatagramHost() = default;
  /// A port bound to `local`; port 0 takes a free one. Fails when it is taken.
  virtual Result<std::unique_ptr<DatagramPort>> open(const Endpoint& local) = 0;
};

}  // namespace fb::net
