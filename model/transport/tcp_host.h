// Host side of NVMe/TCP: one connection a queue, data in capsules where it fits, R2Ts answered in order,
// C2HData put straight into the caller's memory.
#pragma once

#include <memory>
#include <vector>

#include "model/transport/host_channel.h"
#include "model/transport/tcp_link.h"
#include "wire/fabrics/transports.h"

namespace fb::transport {

struct TcpHostOptions {
  bool header_digest = false;
  bool data_digest = false;
  /// A controller that declines a digest that was asked for: go on without it, or give up.
  bool digest_required = false;
  std::uint8_t hpda = 0;     ///< alignment of C2HData, in dwords minus one
  std::uint32_t maxr2t = 0;  ///< R2Ts of one command at a time, minus one
  /// From the begin of connecting to ICResp.
  Duration connect_timeout = Duration::s(10);
};

/// Where streams come from that are TLS with the key of a host and a subsystem.
class SecureStreams {
 public:
  /// For the connect() that follows at once; fails when there is no such key.
  virtual Result<net::StreamHost*> streams_for(std::string_view hostnqn, std::string_view subnqn) = 0;

 protected:
  ~SecureStreams() = default;
};

/// Channels must be gone before the fabric, the fabric before the stream host.
class TcpHostFabric final : public HostFabric {
 public:
  /// Connects from `local`, an address of `host`.
  TcpHostFabric(World& world, net::StreamHost& host, const IpAddress& local, const TcpHostOptions& options = {},
                TransportHooks* hooks = nullptr);

  std::unique_ptr<HostChannel> make_channel(HostChannelHandler& handler) override;
  std::string_view name() const override { return fabrics::kTcp; }
  bool secures() const override { return secure_ != nullptr; }
  /// What secured channels use; must outlive them.
  void set_secure_streams(SecureStreams* streams) { secure_ = streams; }
  TcpHostOptions& options() { return options_; }
  const TcpCounters& counters() const { return shared_.counters; }

 private:
  friend class TcpHostChannel;

  TcpShared shared_;
  net::StreamHost& host_;
  SecureStreams* secure_ = nullptr;
  IpAddress local_;
  TcpHostOptions options_;
};

class TcpHostChannel final : public HostChannel, TcpLinkOwner {
 public:
  TcpHostChannel(TcpHostFabric& fabric, HostChannelHandler& handler);
  ~TcpHostChannel() override;

  void connect(const Endpoint& to, const ChannelOptions& options) override;
  bool send(std::uint16_t slot, MutableBytes sqe, const HostTransfer& transfer) override;
  bool release(std::uint16_t slot, const ResponseFacts& facts) override;
  void disconnect() override;
  std::string_view awaits() const override { return state_ == State::greeting ? std::string_view("ICResp") : std::string_view(); }
  bool send_raw(ByteView capsule) override;
  RemoteBuffer expose(std::uint16_t slot, MutableBytes data) override;

 private:
  enum class State : std::uint8_t { idle, connecting, greeting, connected, ended };

  /// What an R2T asks for.
  struct Request {
    std::uint16_t ttag = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  struct Slot {
    MutableBytes data;
    std::uint16_t cid = 0;
    Direction direction = Direction::none;
    bool outstanding = false;
    bool in_capsule = false;
    bool damaged = false;       ///< a C2HData had a wrong data digest
    bool last_seen = false;     ///< C2HData with LAST_PDU
    bool releasing = false;     ///< on_released() is owed
    bool may_be_short = false;  ///< the command allocates a length, and may return less
    std::uint32_t moved = 0;    ///< bytes received, or asked for by R2Ts
    std::uint32_t r2ts = 0;     ///< answered R2Ts whose data has not left
    std::uint32_t sending = 0;  ///< PDUs with its data that have not left
  };

  bool overlooks(std::string_view check) override;
  std::optional<PduFault> on_header(PduIn& pdu) override;
  std::optional<PduFault> on_pdu(const PduIn& pdu) override;
  void on_link_open() override;
  void on_sent(std::uint32_t cookie) override;
  void on_link_end(const net::StreamEnd& end, const PduFault* fault) override;

  void greet();
  std::optional<PduFault> greeted(const PduIn& pdu);
  std::optional<PduFault> place_data(PduIn& pdu);
  std::optional<PduFault> data_done(const PduIn& pdu);
  std::optional<PduFault> request_to_transfer(const PduIn& pdu);
  bool send_capsule(ByteView capsule);
  void send_data(std::uint16_t index, const Request& request);
  void respond(const PduIn& pdu);
  void deliver(ByteView cqe, const ResponseFacts& facts = {});
  Slot* slot_of(std::uint16_t cid);
  std::uint16_t index_of(const Slot& slot) const { return static_cast<std::uint16_t>(&slot - slots_.data()); }
  std::size_t in_capsule_room(ByteView sqe) const;
  bool departs_at(std::string_view point) const;
  bool ask_hooks(std::string_view point) const;
  void complete_all();
  void end(ChannelEnd end);
  void on_timeout();
  void fail_soon();

  TcpHostFabric& fabric_;
  HostChannelHandler& handler_;
  ChannelOptions options_;
  State state_ = State::idle;
  std::unique_ptr<TcpLink> link_;
  std::vector<Slot> slots_;
  std::size_t slot_mask_ = 0;
  std::uint32_t maxh2cdata_ = 0;
  std::array<std::uint8_t, tcp::kTermReqMax> term_data_ = {};
  std::string term_text_;
  std::string soon_text_;
  Timer<TcpHostChannel, &TcpHostChannel::on_timeout> timeout_{"transport.tcp.connect", *this};
  Timer<TcpHostChannel, &TcpHostChannel::fail_soon> fail_soon_{"transport.tcp.failed", *this};
};

}  // namespace fb::transport
