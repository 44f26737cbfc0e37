// One NVMe/TCP connection below its PDUs' meaning, the same on both sides: PDUs are cut out of the
// stream and put into it, digests and alignment kept, fatal errors answered with a TermReq and the close
// that belongs to it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "model/transport/hooks.h"
#include "model/transport/tcp_receiver.h"
#include "sim/core/world.h"
#include "sim/net/stream.h"

namespace fb::transport {

class TcpLink;

/// What the connections of one fabric have done.
struct TcpCounters {
  std::uint64_t pdus_in = 0;
  std::uint64_t pdus_out = 0;
  std::uint64_t receives = 0;  ///< calls of a stream that brought something
  std::uint64_t sends = 0;     ///< calls of a stream
};

/// What the connections of one fabric share: the scratch buffer that they receive into, and
/// connections that are over but for their last bytes.
class TcpShared {
 public:
  TcpShared(World& the_world, TransportHooks* the_hooks);
  ~TcpShared();

  World& world;
  TransportHooks* hooks;
  TcpCounters counters;
  /// Most bytes that a connection receives at once beside those that have their place.
  MutableBytes scratch();
  /// PDUs of one send(); more than this gains nothing.
  static constexpr std::size_t kItemsAtOnce = 128;
  /// Where a connection lists the parts of what it sends at once: header, data and digest of each PDU.
  std::array<ByteView, 3 * kItemsAtOnce> parts;
  /// Lets `last` arrive, reads and forgets what still comes, and closes when the peer does or after
  /// 30 seconds, as the specification allows.
  void linger(std::unique_ptr<net::Stream> stream, Bytes last);
  std::size_t lingering() const { return lingering_.size(); }

 private:
  class Lingerer;
  void reap();

  std::vector<std::uint8_t> scratch_;
  std::vector<std::unique_ptr<Lingerer>> lingering_;
  Timer<TcpShared, &TcpShared::reap> reap_{"transport.tcp.reap", *this};
};

class TcpLinkOwner : public PduSink {
 public:
  /// A stream that was begun by connect() is open.
  virtual void on_link_open() = 0;
  /// All the bytes of a PDU that was sent with this cookie have left; its data may change.
  virtual void on_sent(std::uint32_t cookie) = 0;
  /// The connection is over, for this reason; the last call. `fault`: we ended it.
  virtual void on_link_end(const net::StreamEnd& end, const PduFault* fault) = 0;

 protected:
  ~TcpLinkOwner() = default;
};

class TcpLink final : private net::StreamHandler {
 public:
  /// Longest time in which a PDU that has begun may make no progress.
  static constexpr Duration kPduTimeout = Duration::s(30);
  /// PDUs that wait to be sent before a controller stops to receive: a host that sends commands and
  /// never reads what they are answered with gets no further. Hosts always receive, so that never
  /// both sides wait for each other; what they owe is bounded by their own commands.
  static constexpr std::size_t kBacklogMost = 8192;

  TcpLink(TcpShared& shared, TcpSide side, TcpLinkOwner& owner);
  ~TcpLink();
  TcpLink(const TcpLink&) = delete;
  TcpLink& operator=(const TcpLink&) = delete;

  /// Takes over a stream.
  void start(std::unique_ptr<net::Stream> stream);
  net::StreamHandler& handler() { return *this; }

  /// What was negotiated, from the next PDU on.
  void set_digests(bool header, bool data);
  bool header_digest() const { return header_digest_; }
  bool data_digest() const { return data_digest_; }
  /// Alignment of data that we send (announced by the peer), and of data that we get (by us).
  void set_alignment(std::size_t out, std::size_t in);
  /// The queue that hooks and traces are told about.
  void set_qid(std::uint16_t qid) { qid_ = qid; }

  /// Sends a PDU: `header` with type and flags set; HLEN, PDO, PLEN and digests are filled in. `data`
  /// is sent from where it lies and stays until on_sent(cookie); a cookie of 0 asks for no call.
  void send(ByteView header, ByteView data = {}, std::uint32_t cookie = 0);
  /// The same with data that is copied.
  void send_copy(ByteView header, ByteView data);
  /// Exactly these bytes.
  void send_raw(ByteView bytes);
  /// Whether PDUs wait to be sent, and how many.
  bool backlog() const { return first_ != items_.size(); }
  std::size_t backlog_pdus() const { return items_.size() - first_; }

  /// A fatal error: a TermReq with the header of the PDU under way, then the end; on_link_end()
  /// follows from inside this call.
  void fail(const PduFault& fault);
  /// The same with a header of the caller's choice.
  void fail(const PduFault& fault, ByteView offending);
  /// Orderly end: what was sent still arrives, unless the peer has left more than a megabyte of it
  /// unread. No call follows.
  void close();
  bool open() const { return stream_ != nullptr && !ended_; }

  Endpoint peer() const { return peer_; }
  Endpoint local() const { return local_; }
  /// Of an accepted stream: see net::Stream.
  std::string_view identity() const { return identity_; }

 private:
  /// A PDU on its way out.
  struct Item {
    Item() {}                                            // leaves the arrays as they are
    std::array<std::uint8_t, 2 * tcp::kHeaderMax> head;  ///< header, digest, padding
    std::uint16_t head_bytes = 0;
    bool has_tail = false;
    std::array<std::uint8_t, tcp::kDigestBytes> tail;
    ByteView data;
    std::uint32_t cookie = 0;
    std::size_t size() const { return head_bytes + data.size() + (has_tail ? tail.size() : 0); }
  };

  void on_connected() override;
  void on_readable() override;
  void on_writable() override;
  void on_flush() override;
  void on_end(const net::StreamEnd& end) override;

  Item& add_item();
  void push_bytes(Bytes bytes);
  void depart(const Item& item);
  void want_flush();
  void flush();
  bool flush_some();
  bool choked() const;
  std::span<const ByteView> gather(std::size_t& total);
  void retire(std::size_t sent);
  Bytes unsent(bool whole);
  void end(net::StreamEnd why, const PduFault* fault);
  void watch_progress();
  void on_stall();
  void trace(std::string_view text, ByteView pdu);

  TcpShared& shared_;
  TcpSide side_;
  TcpLinkOwner& owner_;
  PduReceiver receiver_;
  std::unique_ptr<net::Stream> stream_;
  Endpoint peer_;
  Endpoint local_;
  std::string identity_;
  std::uint16_t qid_ = 0;
  bool header_digest_ = false;
  bool data_digest_ = false;
  std::size_t alignment_out_ = 4;
  bool ended_ = false;
  bool blocked_ = false;  ///< the stream took less than it was offered
  bool flush_wanted_ = false;
  bool flushing_ = false;
  std::size_t unflushed_ = 0;  ///< bytes of data since the last flush
  bool held_back_ = false;     ///< what arrives waits until less waits to be sent
  Lifetime lifetime_;          ///< the owner may destroy this from what it is told
  /// Items [first_, size) wait, oldest first; taken from the front, and packed when they have all gone.
  std::vector<Item> items_;
  std::size_t first_ = 0;
  std::size_t first_sent_ = 0;  ///< bytes of the first that have left
  std::deque<Bytes> owned_;     ///< bytes of raw PDUs in items_, oldest first
  std::uint64_t stalled_pdus_ = 0;
  Timer<TcpLink, &TcpLink::on_stall> stall_{"transport.tcp.stall", *this};
  Timer<TcpLink, &TcpLink::on_readable> resume_{"transport.tcp.resume", *this};
};

}  // namespace fb::transport
