// What stands between the connection manager and the rest of the device. The manager knows MADs,
// communication IDs and timers; the device knows packets and queue pairs.
#pragma once

#include <memory>

#include "sim/core/world.h"
#include "sim/rdma/device.h"
#include "sim/rdma/softroce/hooks.h"

namespace fb::softroce {

/// What a connection's messages have settled about its path.
struct PathFacts {
  IpAddress peer;
  std::uint8_t mtu_code = 3;  ///< 1 = 256 ... 5 = 4096
  std::uint32_t peer_qpn = 0;
  std::uint32_t receive_psn = 0;         ///< PSN of the first request we accept
  std::uint32_t send_psn = 0;            ///< PSN of the first request we send
  std::uint8_t responder_resources = 0;  ///< reads and atomics that we serve at a time
  std::uint8_t initiator_depth = 0;      ///< reads and atomics that we have in flight
  std::uint8_t ack_timeout_code = 0;     ///< 4.096 us * 2^code; 0 = never
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry_count = 7;
  std::uint8_t min_rnr_timer_code = 0;  ///< what our RNR NAKs ask for
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
};

/// A queue pair as the connection manager sees it. The five reports reach the user's
/// ConnectionHandler from an event of their own, so the manager may make them from anywhere.
class CmQueuePair {
 public:
  virtual std::uint32_t number() const = 0;
  virtual rdma::QpState state() const = 0;
  virtual void to_ready_to_receive(const PathFacts& path) = 0;
  virtual void to_ready_to_send(const PathFacts& path) = 0;
  virtual void to_error() = 0;

  /// Views in the arguments are copied.
  virtual void established(const rdma::ConnectionFacts& facts) = 0;
  virtual void accepted(const rdma::ConnectionFacts& facts) = 0;
  virtual void rejected(std::uint16_t reason, ByteView private_data) = 0;
  virtual void unreachable() = 0;
  virtual void disconnected() = 0;

 protected:
  ~CmQueuePair() = default;
};

/// What a device may set of its connection manager. Timeout codes t of the CM mean 2^(t-8) ms.
struct CmOptions {
  /// What our REQs ask of the peer's retransmit timer, and what ours is when we are active:
  /// 4.096 us * 2^16 = 268 ms. Linux says 19 (2.1 s), which makes each lost READ response cost that.
  std::uint8_t local_ack_timeout_code = 16;
  std::uint8_t target_ack_delay_code = 10;  ///< how late our acknowledgements may be, said in REPs
  std::uint8_t cm_response_timeout_code = 20;
  std::uint8_t packet_lifetime_code = 18;
  std::uint8_t max_cm_retries = 15;
  std::uint8_t min_rnr_timer_code = 12;  ///< 0.64 ms
  /// Connections that may wait for their end of the handshake; further REQs get REJ 3.
  std::uint32_t half_open_max = 1024;     ///< per listener
  std::uint32_t connections_max = 65536;  ///< all, with those in TIMEWAIT
};

/// The connection manager as the device sees it.
class CmCore {
 public:
  virtual ~CmCore() = default;
  virtual void connect(CmQueuePair& qp, const Endpoint& to, const rdma::ConnectionParameters& parameters) = 0;
  virtual void disconnect(CmQueuePair& qp) = 0;
  /// The two answers to a reply that was held back.
  virtual void confirm(CmQueuePair& qp) = 0;
  virtual void refuse(CmQueuePair& qp, std::uint16_t reason, ByteView private_data) = 0;
  /// The queue pair is being destroyed; it is not touched again.
  virtual void forget(CmQueuePair& qp) = 0;
  virtual Result<std::unique_ptr<rdma::Listener>> listen(std::uint16_t port, rdma::ListenHandler& handler) = 0;
  /// A MAD of 256 bytes arrived on QP1.
  virtual void on_mad(const Endpoint& from, const IpAddress& to, ByteView mad256) = 0;
  /// A valid request arrived on a queue pair that is still ready_to_receive.
  virtual void data_before_rtu(std::uint32_t qpn) = 0;
  /// A connection of that queue pair number is not quite over (TIMEWAIT): packets of it may still
  /// be on their way, so the number must not go to a new queue pair.
  virtual bool qpn_lingers(std::uint32_t qpn) const {
    (void)qpn;
    return false;
  }
};

/// What the device does for the connection manager.
class CmServices {
 public:
  /// A UD packet from QP1 to QP1 of `to`, Q_Key 0x80010000.
  virtual void send_mad(const IpAddress& to, ByteView mad256) = 0;
  virtual IpAddress address() const = 0;
  /// Largest path MTU code that the port can carry.
  virtual std::uint8_t mtu_code() const = 0;
  virtual World& world() = 0;
  virtual std::uint64_t ca_guid() const = 0;
  virtual std::uint32_t random_psn() = 0;
  virtual rdma::DeviceLimits limits() const = 0;
  virtual SoftHooks& hooks() = 0;
  /// Name of the device, for random streams and the trace.
  virtual std::string_view name() const = 0;
  /// The queue pair of this device behind the user's reference (ConnectionRequest::accept).
  virtual CmQueuePair& queue_pair_of(rdma::QueuePair& qp) = 0;

 protected:
  ~CmServices() = default;
};

/// Implemented in cm.cc.
std::unique_ptr<CmCore> make_connection_manager(CmServices& services, const CmOptions& options = {});

}  // namespace fb::softroce
