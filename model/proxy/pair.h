// Inside of the proxy: a connection of a host and the one to its controller.
#pragma once

#include <optional>

#include "model/proxy/faults.h"
#include "model/proxy/pdu_stream.h"
#include "model/proxy/tcp_proxy.h"
#include "sim/net/tcp_trace.h"

namespace fb::proxy {

class Pair final {
 public:
  Pair(TcpProxy& proxy, std::unique_ptr<net::Stream> host, const Route& route, std::vector<Renamed> names);
  ~Pair();
  bool over() const { return over_; }
  void close();

 private:
  /// One of the two connections, and what is to leave on it.
  class Leg final : public net::StreamHandler, public PacedPipe::Outlet {
   public:
    Leg(Pair& pair, bool is_host) : pair_(pair), is_host_(is_host) {}
    void on_connected() override;
    void on_readable() override { pair_.pull(*this); }
    void on_writable() override;
    void on_flush() override {}
    void on_end(const net::StreamEnd& end) override { pair_.ended(*this, end); }
    // What leaves under faults.
    std::size_t send(ByteView bytes) override;
    void finish() override { pair_.finish_leg(*this); }
    void reset() override { pair_.reset_both(); }

    /// Sends, and keeps what there is no room for.
    void write(ByteView bytes);
    std::size_t backlog() const { return unsent_.size() - at_; }

    Pair& pair_;
    bool is_host_;
    std::unique_ptr<net::Stream> stream_;
    bool open_ = false;
    bool finished_by_peer_ = false;
    bool finishing_ = false;  // our end follows what is unsent
    bool finished_by_us_ = false;
    std::optional<PacedPipe> pipe_;  // under faults
    PduCutter cutter_;               // of what arrives here
    HeaderWalk walk_;
    bool whole_pdus_ = false;  // what arrives is cut by cutter_
   private:
    Bytes unsent_;
    std::size_t at_ = 0;
  };

  struct Late {
    Instant due;
    Bytes pdu;
    Leg* to;
    enum class Why : std::uint8_t { slow, late, swapped } why;  // slow commands still meet the faults of PDUs
  };

  Leg& other(const Leg& leg) { return &leg == &host_ ? controller_ : host_; }
  bool under_faults() const { return faults_ != nullptr; }
  void connect(const Route& route);
  void unreachable(const std::string& why);
  void pull(Leg& from);
  void pull_again();
  void pass(Leg& from, ByteView bytes);
  void pass_quietly(Leg& from, ByteView bytes);
  void follow_host(ByteView bytes);
  void pass_log_pages(ByteView bytes);
  void pass_whole(Leg& from, ByteView bytes);
  void on_pdu(Leg& from, Bytes pdu);
  void deliver(Leg& to, std::vector<Bytes>& pdus);
  void on_passage(Leg& to, Bytes pdu);
  void hold(Late late);
  void held_due();
  void saw_header(ByteView header);
  void judge(const Leg& from, ByteView bytes);
  void ended(Leg& leg, const net::StreamEnd& end);
  void peer_finished(Leg& from);
  void finish_leg(Leg& leg);
  void reset_both();
  void flushed(Leg& leg);
  void finish_over();

  TcpProxy& proxy_;
  World& world_;
  FaultSites* faults_;
  Leg host_{*this, true}, controller_{*this, false};
  net::TcpTrace host_view_;
  std::optional<net::TcpTrace> controller_view_;  // under faults
  std::optional<CommandFaults> commands_;
  std::optional<DiscoveryRewriter> rewriter_;
  bool is_io_ = false;  // no log page of discovery comes here
  bool over_ = false;
  bool resetting_ = false;  // once what is unsent has left
  std::vector<Late> late_;  // PDUs that faults hold back
  Timer<Pair, &Pair::pull_again> again_{"proxy.pull", *this};
  Timer<Pair, &Pair::held_due> held_{"proxy.held", *this};
  Timer<Pair, &Pair::reset_both> give_up_{"proxy.give-up", *this};
};

}  // namespace fb::proxy
