// A management endpoint: NVMe-MI messages of one MCTP port, for one device. It checks messages, runs the
// two command slots and the control primitives, and gives commands to its agent.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/mi/agent.h"
#include "model/mi/fault_points.h"
#include "model/mi/device.h"
#include "model/mi/hooks.h"
#include "model/mi/options.h"
#include "model/mi/reporter.h"
#include "model/mi/slot.h"
#include "sim/core/world.h"
#include "sim/mctp/port.h"
#include "wire/mi/control.h"

namespace fb::mi {

struct EndpointCounters {
  std::uint64_t messages = 0;   ///< of NVMe-MI, that came whole
  std::uint64_t discarded = 0;  ///< of those: no request that may be answered
  /// The others, by what they ask for.
  std::map<std::pair<MessageKind, std::uint8_t>, std::uint64_t> requests = {};
};

class Endpoint final : private mctp::MessageHandler, private DeviceListener {
 public:
  /// Takes NVMe-MI messages of `port` from now on. Device and port must outlive it.
  Endpoint(World& world, Device& device, mctp::Port& port, EndpointOptions options, EndpointHooks* hooks = nullptr);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Device& device() { return device_; }
  Agent& agent() { return agent_; }
  const EndpointOptions& options() const { return options_; }
  /// What holds for commands that come from now on: how long each takes, and what is said meanwhile.
  void set_pace(Duration latency, const MoreProcessingOptions& more) {
    options_.latency = latency;
    options_.more_processing = more;
  }
  SlotState slot_state(unsigned slot) const { return slots_[slot].state; }
  bool paused(unsigned slot) const { return slots_[slot].paused; }
  const EndpointCounters& counters() const { return counters_; }
  std::uint16_t slot_flags(unsigned slot) const { return slots_[slot].flags; }
  /// Payload of the packets that it sends.
  std::size_t unit() const;

  /// An endpoint reset: power, its own bus, or the Reset command. `of_subsystem` sets NSSRO.
  void reset(bool of_subsystem = false);
  /// Called at each reset, so that who owns the MCTP side can reset it: it is to forget what it was
  /// putting together, and its EID where that is not static.
  void set_on_reset(std::function<void()> call) { on_reset_ = std::move(call); }

 private:
  /// Where an answer goes.
  struct ReturnPath {
    mctp::Eid peer = 0;
    mctp::Eid self = 0;
    mctp::PhysicalAddress to;
    mctp::Tag tag;
    static ReturnPath of(const mctp::Incoming& message);
    bool same_message(mctp::Eid source, mctp::Tag other) const { return peer == source && tag == other; }
  };

  struct Slot {
    Slot(Endpoint& owner, unsigned number) : endpoint(owner), index(number) {}
    Endpoint& endpoint;
    const unsigned index;
    SlotState state = SlotState::idle;
    bool paused = false;
    std::uint16_t flags = 0;  ///< error flags, at their places in Get State
    ReturnPath path;
    std::unique_ptr<Exchange> exchange;
    bool executed = false;
    unsigned more_sent = 0;    ///< how often More Processing Required has been
    Instant due;               ///< when it will have been executed
    Bytes ready;               ///< a response that waits for Resume
    mctp::SendId sending = 0;  ///< the response, or its replay
    mctp::SendId more_sending = 0;
    Bytes stored;  ///< the last response, for Replay
    std::size_t stored_unit = 0;
    /// A replay that waits until the primitive's own answer has left.
    mctp::SendId replay_after = 0;
    mctp::Outgoing replay;

    void on_due() { endpoint.execute(*this); }
    void on_more_due() { endpoint.more_processing(*this); }
    Timer<Slot, &Slot::on_due> due_timer{"mi.slot.due", *this};
    Timer<Slot, &Slot::on_more_due> more_timer{"mi.slot.more", *this};
  };

  // mctp::MessageHandler
  void on_message(const mctp::Incoming& message) override;
  void on_started(const mctp::Incoming& first) override;
  void on_abandoned(mctp::Eid source, mctp::Tag tag, mctp::Abandoned why) override;
  void on_sent(mctp::SendId id, bool delivered) override;
  void on_drop(mctp::Drop why) override;
  // DeviceListener
  void on_subsystem_reset() override { reset(true); }
  void on_link_changed(std::uint8_t port) override { reporter_.on_link_changed(port); }

  // endpoint.cc
  /// True: the message goes no further. A hook may have `answerable` answered all the same.
  bool discard(ByteView message, const Check& check, const mctp::Incoming* answerable = nullptr);
  bool message_ok(const mctp::Incoming& message);
  void raise_flags(std::uint16_t flags);
  void use_unit();
  bool departs(std::string_view point) const { return hooked_ && hooks_.departs(point); }
  static bool is_command(ByteView body);
  mctp::SendId send(const ReturnPath& path, ByteView request, Bytes body, std::size_t unit);
  bool dress(ByteView request, Bytes& body, EndpointHooks::Delivery& delivery);
  void spoil_header(Bytes& body);
  void append_check(Bytes& body);
  void send_event(const Bytes& list);

  // endpoint_slots.cc
  void step(Slot& slot, SlotEvent event);
  void on_command(const mctp::Incoming& message, ByteView body);
  void begin(Slot& slot, const mctp::Incoming& message, ByteView body);
  Duration duration_of(const Exchange& exchange) const;
  void execute(Slot& slot);
  void complete(Slot& slot);
  void respond(Slot& slot);
  void more_processing(Slot& slot);
  void clear(Slot& slot);
  void start_replay(Slot& slot);
  bool forgotten(mctp::Eid source, mctp::Tag tag);
  void give_up(mctp::Eid source, mctp::Tag tag);

  // endpoint_control.cc
  void on_primitive(const mctp::Incoming& message, ByteView body);
  std::uint16_t pause();
  std::uint16_t resume();
  bool unabortable(const Slot& slot);
  std::uint16_t abort(Slot& slot);
  std::uint16_t get_state(Slot& slot, bool clear_flags);
  void replay(Slot& slot, const mctp::Incoming& message, ByteView body, Bytes& answer);

  World& world_;
  Device& device_;
  mctp::Port& port_;
  EndpointOptions options_;
  EndpointHooks& hooks_;
  const bool hooked_;
  Agent agent_;
  Reporter reporter_;
  EndpointCounters counters_;
  std::array<Slot, 2> slots_;
  /// Assemblies whose message is not to be looked at: their slot was busy, or was aborted meanwhile.
  struct Key {
    mctp::Eid source;
    mctp::Tag tag;
  };
  std::vector<Key> ignored_;
  /// Who enabled events: they go there.
  mctp::Eid event_peer_ = 0;
  mctp::SendId event_sending_ = 0;
  mctp::Eid event_sent_to_ = 0;
  mctp::Tag event_tag_;
  bool event_waits_ = false;  ///< held by Pause before it was sent
  Bytes event_held_;
  Instant last_response_;
  std::uint16_t configured_unit_ = mctp::kBaselineUnit;  ///< as it was before a reset
  std::function<void()> on_reset_;
};

}  // namespace fb::mi
