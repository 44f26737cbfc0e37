// A management requester: NVMe-MI requests over one MCTP port, asynchronous on the world's loop. It takes
// tags, waits through More Processing Required, and checks every response; what is wrong with one is a
// Violation in the reply, never an exception. Below stands a raw level that sends any bytes.
//
//   mi::Requester requester(world, port, {});
//   auto info = requester.read_subsystem(9).wait();
//   auto page = requester.identify(9, 1, nvme::Cns::controller).wait();
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/mi/fault_points.h"
#include "model/mi/hooks.h"
#include "sim/core/op.h"
#include "sim/core/world.h"
#include "sim/mctp/port.h"
#include "wire/mi/control.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/events.h"
#include "wire/mi/health.h"
#include "wire/mi/message.h"
#include "wire/mi/tunnels.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/sqe.h"

namespace fb::mi {

struct RequesterOptions {
  /// For the first message that answers a request.
  Duration timeout = Duration::s(5);
  /// For the rest after More Processing Required; 0 in it takes `timeout`. Longer times are cut to this.
  Duration more_processing_max = Duration::s(600);
  /// More of them for one command are a violation.
  unsigned more_processing_count_max = 1;
  /// Reserved bits that are set in a response are a violation.
  bool reserved_checked = true;
  /// Events are acknowledged as they come.
  bool acknowledge_events = true;
};

/// What is wrong with a response: the rule that it breaks, and where.
struct Violation {
  std::string_view rule;  ///< "response.mic"
  std::size_t offset = 0;
  std::uint64_t got = 0;
  std::uint64_t allowed = 0;
};
std::string to_string(const Violation& violation);

enum class Outcome : std::uint8_t {
  answered,  ///< with any status
  timed_out,
  violation,  ///< an answer that is none
};

struct Reply {
  Outcome outcome = Outcome::timed_out;
  /// From the header on, without its check.
  Bytes message;
  std::optional<Violation> violation;
  unsigned more_processing = 0;  ///< how often More Processing Required came before
  std::uint16_t more_time = 0;   ///< MPRT of the last one
  mctp::Tag tag;
  Instant sent, first, answered;  ///< `first`: when the first message came back

  Status status() const {
    return message.size() >= kResponseMin ? View<AnyResponse>{message}.get(response::status) : Status::internal_error;
  }
  /// An answer, and its status is Success.
  bool ok() const { return outcome == Outcome::answered && status() == Status::success; }
  std::uint32_t nmresp() const { return message.size() >= kResponseMin ? View<MiResponse>{message}.get(response::nmresp) : 0; }
  /// Where Invalid Parameter says that the fault is.
  ParameterError error_at() const {
    if (message.size() < kResponseMin) return {};
    const View<ErrorResponse> view{message};
    return {view.get(response::pel_byte), view.get(response::pel_bit)};
  }
  /// Data of an MI or PCIe response.
  ByteView data() const { return tail(kResponseMin); }
  /// Of an Admin response.
  ByteView admin_data() const { return tail(AdminResponse::size); }
  nvme::Status nvme_status() const {
    return message.size() >= AdminResponse::size
               ? View<AdminResponse>{message}.get(admin_response::nvme_status).of(nvme::StatusFamily::command_set)
               : nvme::Status::make(7, 0xFF);
  }
  std::uint32_t dw0() const { return message.size() >= AdminResponse::size ? View<AdminResponse>{message}.get(admin_response::dw0) : 0; }
  std::uint16_t cpsr() const {
    return message.size() >= PrimitiveResponse::size ? View<PrimitiveResponse>{message}.get(primitive_response::cpsr) : std::uint16_t{0};
  }
  /// Both levels say success.
  bool admin_ok() const { return ok() && message.size() >= AdminResponse::size && nvme_status().ok(); }

 private:
  ByteView tail(std::size_t from) const { return message.size() <= from ? ByteView{} : ByteView{message}.subspan(from); }
};

/// A reply and what it says, where it says it well.
template <class T>
struct Answer {
  Reply reply;
  std::optional<T> value;
  bool ok() const { return value.has_value(); }
};

/// A message as it is, for who wants to say what is illegal.
struct RawRequest {
  mctp::Eid peer = 0;
  mctp::PhysicalAddress to = {};
  Bytes message = {};                 ///< with its check, or without
  std::optional<mctp::Tag> tag = {};  ///< nothing: a free one is taken
  std::size_t unit = mctp::kBaselineUnit;
  unsigned answers = 1;  ///< settles when so many have come
  Duration wait = Duration::ms(500);
};

/// Which slot, and what else stands in the header.
struct CommandTerms {
  unsigned slot = 0;
  bool auto_pause = false;
  bool in_buffer = false;
  std::optional<Duration> timeout = {};
};

struct ReplayReply {
  Reply primitive;
  /// What was sent again, from the packet asked for on, as it came and unchecked; empty: nothing.
  Bytes message;
};

struct EventReport {
  mctp::Eid peer = 0;
  OccurrenceList list;
  std::optional<Violation> violation;
};

class Requester final : private mctp::MessageHandler {
 public:
  /// Takes NVMe-MI messages of `port` from now on.
  Requester(World& world, mctp::Port& port, RequesterOptions options = {}, RequesterHooks* hooks = nullptr);
  ~Requester();
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  // ---- any request ----

  /// `body` without its check; CSI says which slot. Commands to a slot in use wait their turn.
  Op<Reply> request(mctp::Eid peer, Bytes body, std::optional<Duration> timeout = {});
  /// Sends bytes as they are; gives the messages that came back with the same tag, as they are.
  Op<std::vector<Bytes>> send_raw(RawRequest request);

  // ---- MI commands: requester_calls.cc ----

  Op<Reply> command(mctp::Eid peer, Opcode opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, Bytes data = {},
                    CommandTerms terms = {});
  Op<Answer<Record<SubsystemInfo>>> read_subsystem(mctp::Eid peer);
  Op<Answer<Record<PortInfo>>> read_port(mctp::Eid peer, std::uint8_t port);
  Op<Answer<std::vector<std::uint16_t>>> read_controllers(mctp::Eid peer, std::uint16_t first = 0);
  Op<Answer<Record<ControllerInfo>>> read_controller(mctp::Eid peer, std::uint16_t cntlid);
  Op<Answer<std::vector<SupportedCommand>>> read_optional_commands(mctp::Eid peer, std::uint16_t cntlid);
  Op<Answer<std::vector<SupportedCommand>>> read_buffer_commands(mctp::Eid peer);
  Op<Answer<Record<SubsystemHealth>>> poll_subsystem(mctp::Eid peer, bool clear = false);
  struct PollTerms {
    std::uint16_t first = 0;
    unsigned entries_max = 255;
    bool all = true, plain = true, physical = true, virtual_functions = true;
    bool clear = false;
    std::uint8_t selection = 0;  ///< CSTS, CTEMP, PDLU, SPARE, CWARN from bit 0 on
  };
  Op<Answer<std::vector<Record<ControllerHealth>>>> poll_controllers(mctp::Eid peer, PollTerms terms);
  Op<Reply> get_configuration(mctp::Eid peer, ConfigurationId id, std::uint8_t port = 0);
  Op<Reply> set_frequency(mctp::Eid peer, std::uint8_t port, std::uint8_t frequency);
  /// The requester's own port takes packets of that size from now on.
  Op<Reply> set_unit(mctp::Eid peer, std::uint8_t port, std::uint16_t unit);
  Op<Reply> clear_health(mctp::Eid peer, std::uint32_t positions);
  Op<Answer<Bytes>> read_vpd(mctp::Eid peer, std::uint16_t offset, std::uint16_t length);
  Op<Reply> write_vpd(mctp::Eid peer, std::uint16_t offset, Bytes data);
  Op<Reply> reset_subsystem(mctp::Eid peer, std::uint8_t type = 0);
  Op<Reply> shut_down(mctp::Eid peer, bool abrupt = false);
  Op<Answer<Bytes>> read_buffer(mctp::Eid peer, std::uint32_t offset, std::uint32_t length);
  Op<Reply> write_buffer(mctp::Eid peer, std::uint32_t offset, Bytes data);
  Op<Answer<Bytes>> receive_ses(mctp::Eid peer, std::uint8_t page, std::uint16_t length);
  Op<Reply> send_ses(mctp::Eid peer, Bytes page);

  // ---- control primitives ----

  Op<Reply> primitive(mctp::Eid peer, Primitive primitive, unsigned slot = 0, std::uint16_t parameter = 0);
  Op<ReplayReply> replay(mctp::Eid peer, unsigned slot, std::uint8_t first_packet = 0);

  // ---- Admin and PCIe commands ----

  struct AdminTerms {
    std::uint32_t dofst = 0;
    std::uint32_t dlen = 0;
    std::uint8_t flags = 0;
    CommandTerms command = {};
  };
  /// `data` goes to the controller; DLEN is its size then.
  Op<Reply> admin(mctp::Eid peer, std::uint16_t cntlid, const nvme::Sqe& sqe, AdminTerms terms, Bytes data = {});
  Op<Answer<Bytes>> identify(mctp::Eid peer, std::uint16_t cntlid, nvme::Cns cns, std::uint32_t nsid = 0, std::uint32_t dofst = 0,
                             std::uint32_t dlen = kDataMax);
  Op<Reply> get_feature(mctp::Eid peer, std::uint16_t cntlid, std::uint8_t fid, std::uint32_t cdw11 = 0);
  Op<Reply> set_feature(mctp::Eid peer, std::uint16_t cntlid, std::uint8_t fid, std::uint32_t cdw11, Bytes data = {});
  Op<Reply> pcie(mctp::Eid peer, std::uint16_t cntlid, PcieOpcode opcode, std::uint64_t offset, std::uint16_t length, std::uint8_t bar = 0,
                 Bytes data = {}, CommandTerms terms = {});

  // ---- what takes several commands: requester_sequences.cc ----

  /// A whole log page in pieces of at most 4,096 bytes, RAE in all but the last.
  Op<Answer<Bytes>> get_log(mctp::Eid peer, std::uint16_t cntlid, std::uint8_t lid, std::size_t length,
                            std::uint32_t nsid = nvme::kAllNamespaces, std::size_t piece = kDataMax);
  /// The first `length` bytes of the VPD in pieces.
  Op<Answer<Bytes>> read_whole_vpd(mctp::Eid peer, std::size_t length, std::size_t piece = 256);

  // ---- asynchronous events: requester_events.cc ----

  struct EventTerms {
    std::uint8_t delay_s = 0;
    std::uint8_t retry_100ms = 10;
    bool controllers = true, physical = true, virtual_functions = true;
  };
  Op<Answer<std::vector<EventState>>> supported_events(mctp::Eid peer);
  /// Switches these events; gives what had occurred.
  Op<Answer<OccurrenceList>> synchronize_events(mctp::Eid peer, std::vector<EventState> events, EventTerms terms);
  Op<Answer<OccurrenceList>> acknowledge_events(mctp::Eid peer);
  void on_event(std::function<void(const EventReport&)> call) { event_listener_ = std::move(call); }

  /// Messages that answer nothing, counted.
  std::uint64_t strays() const { return strays_; }

 private:
  struct Pending;
  using PendingList = std::list<std::unique_ptr<Pending>>;

  // mctp::MessageHandler
  void on_message(const mctp::Incoming& message) override;

  void start(Pending& pending);
  void start_waiting(mctp::Eid peer);
  bool may_start(const Pending& pending) const;
  void on_answer(Pending& pending, ByteView message);
  void on_raw_answer(Pending& pending, ByteView message);
  void on_replayed(Pending& pending, ByteView message);
  void on_timeout(Pending& pending);
  void settle(Pending& pending);
  std::optional<Violation> check(const Pending& pending, ByteView message) const;
  std::optional<Violation> check_form(const Pending& pending, ByteView body) const;
  void on_event_message(const mctp::Incoming& message);
  bool departs(std::string_view point) const { return hooked_ && hooks_.departs(point); }

  template <class L>
  Op<Answer<Record<L>>> read_structure(mctp::Eid peer, DataType type, std::uint8_t port, std::uint16_t cntlid);

  World& world_;
  mctp::Port& port_;
  RequesterOptions options_;
  RequesterHooks& hooks_;
  const bool hooked_;
  PendingList pending_;
  std::uint64_t strays_ = 0;
  std::uint8_t next_primitive_tag_ = 0;
  std::size_t unit_taken_ = mctp::kBaselineUnit;   ///< the largest that any peer was told to send
  std::map<mctp::Eid, std::uint8_t> generations_;  ///< the last one seen of each peer
  std::function<void(const EventReport&)> event_listener_;
};

}  // namespace fb::mi
