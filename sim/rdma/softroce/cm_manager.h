// The connection manager: what arrives are MADs, calls of the device and deadlines; what leaves are
// MADs and reports to queue pairs. One CmConnection is one communication ID, from the first message
// to the end of TIMEWAIT. Messages are matched by communication IDs, never by transaction ID.
//
// Lifetimes: connection requests and listeners may be destroyed in any order and from inside any
// callback; after each call into a handler nothing of the connection is touched again.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "sim/rdma/softroce/cm_fault_points.h"
#include "sim/rdma/softroce/cm_seam.h"
#include "sim/rdma/softroce/cm_states.h"
#include "wire/rdma/cm_messages.h"

namespace fb::softroce {

class ConnectionManager;
class CmListener;
class CmRequest;

/// How long a CM timeout code lasts: 2^(code-8) ms, at least one.
constexpr Duration cm_timeout(std::uint8_t code) { return Duration::ms(std::int64_t{1} << (code > 8 ? code - 8 : 0)); }

/// One end of one connection.
class CmConnection final : public Event {
 public:
  explicit CmConnection(ConnectionManager& manager) : Event("cm.timer"), manager_(manager) {}

  CmState state = CmState::idle;
  bool active = false;          ///< we sent the REQ
  bool alternate_path = false;  ///< the REQ names one
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;  ///< 0 until the peer has said it
  std::uint64_t remote_guid = 0;
  std::uint64_t tid = 0;        ///< of the REQ; all but DREQ and DREP carry it
  std::uint32_t local_qpn = 0;  ///< 0 until a queue pair belongs to it
  std::uint32_t peer_psn = 0;   ///< starting PSN that the peer announced
  CmQueuePair* qp = nullptr;    ///< nullptr once forgotten or reported as over
  PathFacts path;
  rdma::ConnectionFacts facts;                   ///< without private data
  std::uint8_t offered_responder_resources = 0;  ///< active: what our REQ said
  std::uint8_t offered_initiator_depth = 0;
  bool hold_reply = false;         ///< active: the user decides on the REP
  CmListener* listener = nullptr;  ///< passive, while half open
  CmRequest* request = nullptr;    ///< passive, while the listener decides

  cm::Mad outstanding;  ///< what is sent again until answered
  Duration resend_interval;
  std::uint8_t resends = 15;  ///< how often at most
  std::uint8_t resends_left = 0;

 private:
  void fire() override;
  ConnectionManager& manager_;
};

class CmListener final : public rdma::Listener {
 public:
  CmListener(ConnectionManager& manager, std::uint16_t port, rdma::ListenHandler& handler)
      : handler_(handler), manager_(&manager), port_(port) {}
  ~CmListener() override;
  Endpoint local() const override;

 private:
  friend class ConnectionManager;
  rdma::ListenHandler& handler_;
  ConnectionManager* manager_;  ///< nullptr when the manager is gone
  std::uint16_t port_;
  std::uint32_t half_open_ = 0;
};

class CmRequest final : public rdma::ConnectionRequest {
 public:
  CmRequest(ConnectionManager& manager, CmConnection& connection, ByteView private_data);
  ~CmRequest() override;
  const rdma::ConnectionFacts& facts() const override { return facts_; }
  void accept(rdma::QueuePair& qp, const rdma::ConnectionParameters& parameters) override;
  void reject(std::uint16_t reason, ByteView private_data) override;

 private:
  friend class ConnectionManager;
  std::shared_ptr<ConnectionManager*> manager_;  ///< holds nullptr when the manager is gone
  CmConnection* connection_;                     ///< nullptr once answered, or when the peer gave up
  bool answered_ = false;
  rdma::ConnectionFacts facts_;
  std::array<std::uint8_t, cm::kReqConsumerBytes> private_data_ = {};
};

class ConnectionManager final : public CmCore {
 public:
  ConnectionManager(CmServices& services, const CmOptions& options);
  ~ConnectionManager() override;

  void connect(CmQueuePair& qp, const Endpoint& to, const rdma::ConnectionParameters& parameters) override;
  void disconnect(CmQueuePair& qp) override;
  void confirm(CmQueuePair& qp) override;
  void refuse(CmQueuePair& qp, std::uint16_t why, ByteView private_data) override;
  void forget(CmQueuePair& qp) override;
  Result<std::unique_ptr<rdma::Listener>> listen(std::uint16_t port, rdma::ListenHandler& handler) override;
  void on_mad(const Endpoint& from, const IpAddress& to, ByteView mad) override;
  void data_before_rtu(std::uint32_t qpn) override;
  bool qpn_lingers(std::uint32_t qpn) const override { return lingering_.contains(qpn); }

  /// Connections with those in TIMEWAIT.
  std::size_t connections() const { return by_id_.size(); }

 private:
  friend class CmConnection;
  friend class CmListener;
  friend class CmRequest;
  using RemoteKey = std::pair<std::uint64_t, std::uint32_t>;

  /// Why a REQ is refused; reason 0 when it is not.
  struct Refusal {
    std::uint16_t reason = 0;
    std::array<std::uint8_t, 16> info = {};
    std::uint8_t info_length = 0;
  };

  // cm.cc: calls of the device, the listener's answers, deadlines.
  void accept(CmConnection& connection, CmQueuePair& qp, const rdma::ConnectionParameters& parameters);
  void reject(CmConnection& connection, std::uint16_t reason, ByteView private_data);
  void drop_listener(CmListener& listener);
  void on_deadline(CmConnection& connection);
  void on_unanswered(CmConnection& connection);

  // cm.cc: what several paths share.
  CmConnection& open(bool active);
  bool move(CmConnection& connection, CmEvent event);
  void attach(CmConnection& connection, CmQueuePair& qp);
  CmQueuePair* detach(CmConnection& connection);
  void know_remote(CmConnection& connection, std::uint32_t id, std::uint64_t guid, std::uint32_t qpn);
  void establish_passive(CmConnection& connection, CmEvent event);
  void begin_disconnect(CmConnection& connection);
  void withdraw(CmConnection& connection, std::uint16_t reason);
  void end_stale(CmConnection& connection);
  void end(CmConnection& connection);
  void enter_timewait(CmConnection& connection);
  void remove(CmConnection& connection);
  void forget_request(CmConnection& connection);
  void expect_answer(CmConnection& connection);
  CmConnection* by_qpn(std::uint32_t qpn);
  CmConnection* by_ids(std::uint32_t local, std::uint32_t remote);
  CmConnection* by_remote_id(std::uint64_t guid, std::uint32_t id);
  CmConnection* by_remote_qpn(std::uint64_t guid, std::uint32_t qpn);

  // cm_receive.cc: one function a message.
  void on_get(const IpAddress& from, ByteView mad);
  void on_message(const IpAddress& from, ByteView mad);
  void on_req(const IpAddress& from, ByteView mad);
  void on_repeated_req(CmConnection& connection, const IpAddress& answer_to, ByteView mad);
  void open_passive(const IpAddress& answer_to, ByteView mad);
  Refusal judge_req(ByteView mad);
  bool ip_header_is_good(ByteView req_private_data);
  void on_rep(const IpAddress& from, ByteView mad);
  void accept_rep(CmConnection& connection, ByteView mad);
  void refuse_rep(CmConnection& connection, std::uint16_t why, ByteView private_data);
  void on_rtu(ByteView mad);
  void on_mra(ByteView mad);
  void on_rej(ByteView mad);
  CmConnection* rejected_connection(ByteView mad);
  bool retry_with_smaller_mtu(CmConnection& connection, ByteView mad);
  void on_dreq(const IpAddress& from, ByteView mad);
  void on_drep(ByteView mad);
  void on_lap(const IpAddress& from, ByteView mad);
  void on_sidr_req(const IpAddress& from, ByteView mad);
  bool is_usable(const IpAddress& address) const;

  // cm_send.cc: composing and sending.
  void send(const IpAddress& to, const cm::Mad& mad);
  void compose_req(CmConnection& connection, const Endpoint& to, const rdma::ConnectionParameters& parameters);
  void compose_rep(CmConnection& connection, const rdma::ConnectionParameters& parameters);
  void send_rtu(const CmConnection& connection);
  void compose_dreq(CmConnection& connection);
  void send_drep(const IpAddress& to, ByteView dreq);
  void send_mra(const CmConnection& connection, cm::About about);
  void send_reject(const CmConnection& connection, cm::About about, std::uint16_t reason, ByteView private_data);
  /// The answer to a message that belongs to no connection.
  void answer_reject(const IpAddress& to, ByteView mad, cm::About about, const Refusal& refusal);
  void trace_mad(std::string_view direction, const IpAddress& peer, ByteView mad);

  Trace& trace() { return services_.world().trace(); }
  Loop& loop() { return services_.world().loop(); }
  bool departs(std::string_view point) { return services_.hooks().departs(point); }
  std::uint64_t new_tid() { return random_.next(); }

  CmServices& services_;
  const CmOptions options_;
  Rng random_;
  std::map<std::uint32_t, std::unique_ptr<CmConnection>> by_id_;
  std::map<RemoteKey, CmConnection*> by_remote_id_;
  std::map<RemoteKey, CmConnection*> by_remote_qpn_;
  std::map<std::uint32_t, CmConnection*> by_qpn_;  ///< those with a queue pair
  std::multiset<std::uint32_t> lingering_;         ///< QPNs of those without one any more
  std::map<std::uint16_t, CmListener*> listeners_;
  std::shared_ptr<ConnectionManager*> self_;  ///< for requests, which may outlive us
};

}  // namespace fb::softroce
