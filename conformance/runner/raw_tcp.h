// NVMe/TCP by hand: a connection on which a case says any bytes, and sees every PDU that comes back as
// it came. For controller cases it is a host that validates nothing.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/runner/check.h"
#include "model/host/commands.h"
#include "sim/core/world.h"
#include "sim/net/stream.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"
#include "wire/tcp/pdu.h"

namespace fb::conformance {

/// A PDU as it arrived, digests and all.
struct SeenPdu {
  Instant at;
  Bytes bytes;

  std::uint8_t type() const { return bytes[0]; }
  bool is(tcp::PduType wanted) const { return bytes[0] == static_cast<std::uint8_t>(wanted); }
  std::uint8_t flags() const { return bytes[1]; }
  bool has(std::uint8_t flag) const { return (bytes[1] & flag) != 0; }
  std::size_t hlen() const { return bytes[2]; }
  std::size_t pdo() const { return bytes[3]; }
  template <class L>
  View<L> as() const {
    return View<L>{bytes};  // next() gives no PDU shorter than its type's header
  }
  /// From PDO to the end, without a data digest that the flags speak of.
  ByteView data() const;
  /// Whether the digests that the flags speak of are right.
  bool header_digest_good() const;
  bool data_digest_good() const;
  std::string text() const { return tcp::describe_pdu(bytes); }
};

class RawTcp final : private net::StreamHandler {
 public:
  /// Longest wait for an answer of the product.
  static constexpr Duration kPatience = Duration::s(10);

  RawTcp(World& world, net::StreamHost& host, const IpAddress& local);
  ~RawTcp();

  /// The TCP connection; CannotArrange when there is none to be had.
  void connect(const Endpoint& to);
  /// A good ICReq.
  static Record<tcp::IcReq> ic_req();
  /// connect(), ICReq, ICResp; digests and alignments are kept from then on. CannotArrange without.
  void greet(const Endpoint& to, const Record<tcp::IcReq>& request = ic_req());
  const Record<tcp::IcResp>& greeting() const { return greeting_; }

  /// Exactly these bytes.
  void send(ByteView bytes);
  /// A PDU that is right for what was negotiated: `header` has its type and its own fields.
  template <class L>
  void send(const Record<L>& header, ByteView data = {}) {
    send(ByteView(build(header.bytes(), data)));
  }
  Bytes build(ByteView header, ByteView data = {}) const;
  template <class L>
  Bytes build(const Record<L>& header, ByteView data = {}) const {
    return build(header.bytes(), data);
  }
  /// A command capsule with its CID as it is; with data, that goes into the capsule.
  static Record<tcp::CapsuleCmd> capsule(ByteView sqe);
  void send_command(const nvme::Sqe& sqe, ByteView in_capsule = {});
  /// A Connect whose data goes in the capsule.
  void send_connect(const host::ConnectCommand& command, std::uint16_t cid = 1);
  /// How a command has ended: its response capsule, or SUCCESS in its last C2HData. Nothing: it has not, or a TermReq came.
  std::optional<nvme::Cqe> completion(std::uint16_t cid, Duration limit = kPatience);
  /// The answer to a command that the case needs and does not judge.
  nvme::Cqe needed_response(std::uint16_t cid, std::string_view what);

  /// The next PDU; nothing when the product ends the connection or is silent for `limit`.
  std::optional<SeenPdu> next(Duration limit = kPatience);
  /// The next PDU of a type; others before it are passed over and stay in seen(). Nothing is waited for behind a TermReq.
  std::optional<SeenPdu> next(tcp::PduType type, Duration limit = kPatience);
  /// Everything that has come so far, oldest first.
  const std::vector<SeenPdu>& seen() const { return seen_; }
  /// True once the product has closed or reset the connection.
  bool wait_closed(Duration limit = kPatience);
  bool closed() const { return closed_; }
  /// What the product did since our last bytes, in place of what was awaited: "C2HTermReq FES 1 (...)", "the connection
  /// ended", "silence".
  std::string instead() const;
  /// Our side's end.
  void finish();
  void close();
  World& world() { return world_; }

 private:
  void on_connected() override { connected_ = true; }
  void on_readable() override;
  void on_writable() override;
  void on_flush() override {}
  void on_end(const net::StreamEnd& end) override;
  void cut();

  World& world_;
  net::StreamHost& host_;
  IpAddress local_;
  std::unique_ptr<net::Stream> stream_;
  bool connected_ = false;
  bool closed_ = false;
  std::string why_;
  Record<tcp::IcResp> greeting_;
  bool header_digest_ = false;
  bool data_digest_ = false;
  std::size_t alignment_ = 4;
  Bytes unsent_;
  Bytes incoming_;
  std::vector<SeenPdu> seen_;
  std::size_t taken_ = 0;
  std::size_t seen_before_ = 0;  ///< PDUs that had come when we sent our last bytes
};

/// What a fatal error may be answered with.
struct Fatal {
  tcp::FatalStatus fes;
  std::optional<std::uint32_t> fei = {};  ///< empty: any
};

/// In words, as a TermReq of this type (one for each direction).
std::string text_of(const Fatal& fatal, tcp::PduType term_req);

/// A TermReq says one of `allowed`; `expected` are the words for a failure.
void judge_term_req(Check& check, const std::string& what, const SeenPdu& term, const std::vector<Fatal>& allowed,
                    const std::vector<std::string>& expected);

/// The product answers with a C2HTermReq of one of these, sends nothing after it, and the connection
/// ends. `offending` is the PDU that was wrong: its header must come back in the TermReq. A real product that does not so ends
/// the case.
void expect_fatal(Check& check, RawTcp& raw, std::string_view after, const std::vector<Fatal>& allowed, ByteView offending = {});

}  // namespace fb::conformance
