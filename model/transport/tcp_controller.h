// Controller side of NVMe/TCP: a listener, and what its connections share - memory for data, bounds,
// and the time that a connection may take to say ICReq.
#pragma once

#include <memory>
#include <vector>

#include "model/transport/controller_channel.h"
#include "model/transport/staging_pool.h"
#include "model/transport/tcp_link.h"

namespace fb::transport {

class TcpControllerChannel;

struct TcpControllerOptions {
  bool header_digest = true;  ///< granted to hosts that ask for it
  bool data_digest = true;
  std::uint8_t cpda = 0;  ///< alignment of data from the host, in dwords minus one
  std::uint32_t maxh2cdata = 128 * 1024;
  std::uint32_t r2t_bytes = 256 * 1024;        ///< most that one R2T asks for; a multiple of 4
  std::uint32_t c2h_data_bytes = 1024 * 1024;  ///< most data in one C2HData; a multiple of 4
  /// Ends a good read with SUCCESS in its last C2HData where SQ flow control is off.
  bool success_flag = true;
  /// From the accepted connection to a whole ICReq.
  Duration greeting_timeout = Duration::s(10);
  /// Connections without an ICReq, at once; one more, and the oldest of them goes: whoever speaks
  /// NVMe/TCP says it at once, and gets through however many do not.
  std::size_t greetings_max = 512;
  /// What the stream host makes of its connections: for the facts alone.
  ChannelSecurity security = ChannelSecurity::none;
};

/// Where there are as many connections as may be, those give way, oldest first, that have not said
/// ICReq, then those that have not said Connect: associations stay, and new ones come about.
///
/// Channels must be gone before the fabric, the fabric before the stream host.
class TcpControllerFabric final : public ControllerFabric, net::StreamAcceptor {
 public:
  /// Listens on `local` and the port of the options. Fails when that is taken.
  static Result<std::unique_ptr<TcpControllerFabric>> start(World& world, net::StreamHost& host, const IpAddress& local,
                                                            const ControllerFabricOptions& options, const TcpControllerOptions& tcp,
                                                            ControllerAcceptor& acceptor, TransportHooks* hooks = nullptr);
  ~TcpControllerFabric() override;

  ControllerFabricFacts facts() const override;
  Endpoint local() const override { return listener_->local(); }

  /// Connections that exist, those included that have not said ICReq.
  std::uint32_t connections() const { return connections_; }
  const TcpCounters& counters() const { return shared_.counters; }
  std::size_t staging_used() const { return pool_.bytes_used(); }
  /// Connections that are over but for their last bytes.
  std::size_t lingering() const { return shared_.lingering(); }

 private:
  friend class TcpControllerChannel;

  TcpControllerFabric(World& world, const ControllerFabricOptions& options, const TcpControllerOptions& tcp, ControllerAcceptor& acceptor,
                      TransportHooks* hooks);
  void on_stream(std::unique_ptr<net::Stream> stream) override;
  /// The channel has exchanged ICReq and ICResp: it goes to the acceptor.
  void adopt(TcpControllerChannel& channel);
  /// The channel's host has begun an association, or the channel is over.
  void not_idle(TcpControllerChannel& channel) { std::erase(idle_, &channel); }
  /// The connection ended before anybody had the channel; it goes when the turn is over.
  void discard(TcpControllerChannel& channel);
  void bury();

  TcpShared shared_;
  ControllerFabricOptions options_;
  TcpControllerOptions tcp_;
  ControllerAcceptor& acceptor_;
  StagingPool pool_;
  std::uint32_t connections_ = 0;
  std::vector<std::unique_ptr<TcpControllerChannel>> greeting_;  ///< oldest first
  std::vector<TcpControllerChannel*> idle_;                      ///< have said ICReq and not Connect; oldest first
  std::vector<std::unique_ptr<TcpControllerChannel>> dead_;
  Timer<TcpControllerFabric, &TcpControllerFabric::bury> bury_{"transport.tcp.bury", *this};
  std::unique_ptr<net::StreamListener> listener_;
};

}  // namespace fb::transport
