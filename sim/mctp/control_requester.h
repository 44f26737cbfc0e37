// The requester's side of the MCTP control protocol on one port: instance IDs, one request outstanding a
// peer, retries with the same instance ID (DSP0236 1.3.1, section 11; times of the binding).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/core/op.h"
#include "sim/mctp/endpoint.h"

namespace fb::mctp {

/// Whom a request is for: an EID, or whoever is at a physical address (then the EID may be null).
struct ControlPeer {
  Eid eid = kNullEid;
  PhysicalAddress to;
  auto operator<=>(const ControlPeer&) const = default;
};

enum class ControlEnd : std::uint8_t {
  answered,
  no_answer,     ///< after the last try
  not_delivered  ///< the medium gave it up: nobody is there
};

struct ControlReply {
  ControlEnd end = ControlEnd::answered;
  control::Completion completion = control::Completion::success;
  Bytes message;          ///< the whole response
  Eid source = kNullEid;  ///< who answered
  PhysicalAddress from;
  int tries = 0;
  Duration took{};  ///< from the request's last packet to the response

  bool ok() const { return end == ControlEnd::answered && completion == control::Completion::success; }
  /// Behind the completion code.
  ByteView data() const { return ByteView(message).subspan(control::kResponseHeader); }
  /// The response as a structure; nothing when it did not succeed or is too short for it.
  template <class L>
  std::optional<View<L>> as() const {
    return ok() ? View<L>::over(message) : std::nullopt;
  }
};

struct ControlRequesterOptions {
  int retries = -1;        ///< below 0: as the binding says (MN1)
  Duration retry_after{};  ///< zero: as the binding says (MT2)
};

struct ControlRequesterCounters {
  std::uint64_t requests = 0;
  std::uint64_t tries = 0;
  std::uint64_t answered = 0;
  std::uint64_t no_answer = 0;
  std::uint64_t not_delivered = 0;
  std::uint64_t strays = 0;  ///< responses that nobody waited for, or that do not fit
};

class ControlRequester {
 public:
  using Then = std::function<void(const ControlReply&)>;

  explicit ControlRequester(Endpoint& endpoint, const ControlRequesterOptions& options = {});
  ~ControlRequester();
  ControlRequester(const ControlRequester&) = delete;
  ControlRequester& operator=(const ControlRequester&) = delete;

  /// Requests to one peer are sent one after the other; `then` is called once.
  void ask(const ControlPeer& peer, control::Command command, Bytes data, Then then);
  Op<ControlReply> ask(const ControlPeer& peer, control::Command command, Bytes data = {});
  /// A broadcast request: all that answer within `window`, in the order of their answers.
  Op<std::vector<ControlReply>> ask_all(control::Command command, Bytes data, Duration window);
  void ask_all(control::Command command, Bytes data, Duration window, std::function<void(const std::vector<ControlReply>&)> then);
  /// No answer is expected.
  void tell(const ControlPeer& peer, control::Command command, Bytes data = {});

  /// Any message of type control without the tag owner's bit.
  void on_response(const Incoming& message);
  void on_sent(SendId id, bool delivered);

  /// Everything that is asked ends without an answer.
  void reset();
  std::size_t pending() const { return asks_.size(); }
  const ControlRequesterCounters& counters() const { return counters_; }

 private:
  struct Ask {
    ControlPeer peer;
    control::Command command = control::Command::get_endpoint_id;
    Bytes data;
    Then then;
    std::function<void(const std::vector<ControlReply>&)> then_all;
    std::vector<ControlReply> replies;
    bool everybody = false;
    Duration window{};
    bool begun = false;
    std::uint8_t instance = 0;
    Tag tag;
    int tries = 0;
    SendId sending = 0;  // not yet left
    Instant first_sent;
    Instant last_sent;
    Instant deadline = Instant::never();
  };

  void begin_what_may();
  bool peer_is_busy(std::size_t index) const;
  void send_try(Ask& ask);
  void settle(std::size_t index, ControlReply reply);
  void settle_all(std::size_t index);
  std::size_t find_answered(const Incoming& message) const;
  void on_timer();
  void arm();

  Endpoint& endpoint_;
  ControlRequesterOptions options_;
  std::vector<std::unique_ptr<Ask>> asks_;  // in the order of asking
  std::map<ControlPeer, std::uint8_t> instances_;
  std::uint8_t next_datagram_tag_ = 0;
  ControlRequesterCounters counters_;
  Timer<ControlRequester, &ControlRequester::on_timer> timer_{"mctp.control.retry", *this};
};

class ControlDevice;
class ControlResponder;

/// Both sides on one port: what MCTP calls a control-capable endpoint.
class Control final : public MessageHandler {
 public:
  Control(Endpoint& endpoint, ControlDevice& device, const ControlRequesterOptions& options = {});
  ~Control();

  ControlResponder& responder() { return *responder_; }
  ControlRequester& requester() { return requester_; }
  Endpoint& endpoint() { return endpoint_; }
  /// Discovery Notify to the bus owner: it is known, or the root complex.
  Op<ControlReply> notify_owner();

 private:
  void on_message(const Incoming& message) override;
  void on_sent(SendId id, bool delivered) override;

  Endpoint& endpoint_;
  std::unique_ptr<ControlResponder> responder_;
  ControlRequester requester_;
};

}  // namespace fb::mctp
