// Between a host under test and the bench's TCP controller: every connection of the host is passed on,
// PDU by PDU, so that a case sees the host's bytes as they came, changes what the controller says, or
// takes the controller's place and says anything.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "conformance/runner/raw_tcp.h"

namespace fb::conformance {

class TcpMiddle final : net::StreamAcceptor {
 public:
  class Connection;
  /// One PDU on its way: it may be changed, left out, or joined by others.
  using Alter = std::function<void(Connection&, std::vector<Bytes>&)>;

  /// Listens on `local`, an address of `host`; passes on to `controller`.
  TcpMiddle(World& world, net::StreamHost& host, const Endpoint& local, const Endpoint& controller);
  ~TcpMiddle();

  Endpoint at() const { return listener_->local(); }
  Alter to_host;
  Alter to_controller;

  /// Every connection of the host, oldest first.
  const std::deque<std::unique_ptr<Connection>>& connections() const { return connections_; }
  /// The newest whose Connect named this queue; nullptr when there was none.
  Connection* of_queue(std::uint16_t qid) const;

 private:
  friend class Connection;
  void on_stream(std::unique_ptr<net::Stream> stream) override;

  World& world_;
  net::StreamHost& host_;
  IpAddress local_;
  Endpoint controller_;
  std::deque<std::unique_ptr<Connection>> connections_;
  std::unique_ptr<net::StreamListener> listener_;
};

class TcpMiddle::Connection {
 public:
  Connection(TcpMiddle& middle, std::unique_ptr<net::Stream> host, std::size_t number);
  ~Connection();

  /// 0 is the first connection that the host made.
  std::size_t number() const { return number_; }
  /// From the Connect command.
  std::optional<std::uint16_t> qid() const { return qid_; }
  std::uint8_t cattr() const { return cattr_; }
  /// What the host has said, oldest first, before anything was altered.
  const std::vector<SeenPdu>& said() const { return said_; }
  std::size_t count(tcp::PduType type) const;
  /// As the host asked and was answered.
  const Record<tcp::IcReq>& ic_req() const { return ic_req_; }
  const Record<tcp::IcResp>& ic_resp() const { return ic_resp_; }
  /// The host has closed or reset the connection.
  bool ended() const;

  /// From now on nothing passes in either direction: the case plays the controller.
  void cut_off() { cut_off_ = true; }
  /// Exactly these bytes, to the host.
  void say(ByteView bytes);
  /// A PDU that is right for what was negotiated.
  template <class L>
  void say(const Record<L>& header, ByteView data = {}) {
    say(ByteView(build(header, data)));
  }
  template <class L>
  Bytes build(const Record<L>& header, ByteView data = {}) const {
    const tcp::PduShape* shape = tcp::shape_of(header.bytes()[0]);
    const bool digests = shape != nullptr && shape->digests;
    return tcp::build_pdu(header.bytes(), data, digests && ic_resp_.get(tcp::ic_resp::hdgst_enable),
                          digests && ic_resp_.get(tcp::ic_resp::ddgst_enable),
                          tcp::alignment_of(std::min(ic_req_.get(tcp::ic_req::hpda), tcp::kAlignmentMax)));
  }
  /// A response capsule with an SQHD that is right; and saying it.
  Bytes response(std::uint16_t cid) const;
  void respond(std::uint16_t cid) { say(response(cid)); }
  /// Bytes to the host leave one at a time.
  void dribble();
  /// Our end of the connection, behind what was said; or at once.
  void finish();
  void reset();

 private:
  class Leg;
  void from_host(Bytes pdu);
  void from_controller(Bytes pdu);
  void over(Leg& leg, bool reset);
  void learn(const SeenPdu& pdu);

  TcpMiddle& middle_;
  std::size_t number_;
  bool cut_off_ = false;
  std::optional<std::uint16_t> qid_;
  std::uint8_t cattr_ = 0;
  std::uint32_t entries_ = 1;
  std::uint32_t capsules_ = 0;
  std::vector<SeenPdu> said_;
  Record<tcp::IcReq> ic_req_;
  Record<tcp::IcResp> ic_resp_;
  std::unique_ptr<Leg> host_;
  std::unique_ptr<Leg> controller_;
};

/// May a host end the connection without an H2CTermReq?
enum class Silence : bool { forbidden, allowed };

/// The host ends the connection; an H2CTermReq is one of `allowed`. That it sends one at all is a rule of its own
/// (tcp.host.termreq.sent), unless `silence` says otherwise.
void expect_host_ends(Check& check, TcpMiddle::Connection& connection, World& world, std::string_view after,
                      const std::vector<Fatal>& allowed, Silence silence = Silence::allowed);

}  // namespace fb::conformance
