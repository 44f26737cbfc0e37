// One MCTP endpoint on one attachment to a medium: fragmentation and assembly, tags, addressing. What the
// messages mean is for the handlers of their types.
//
// Handlers may send, hold and withdraw in any call; they may not destroy the endpoint. The binding stays
// until after its endpoint.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/world.h"
#include "sim/mctp/assembly.h"
#include "sim/mctp/binding.h"
#include "sim/mctp/hooks.h"
#include "sim/mctp/tags.h"

namespace fb::mctp {

struct EndpointOptions {
  std::string name = "endpoint";
  Eid eid = kNullEid;
  std::size_t unit_max = 4096;  ///< what unit_max() says, where the binding has room for it
  bool reassembles_as_linux = false;
  bool address_in_key = false;  ///< see AssemblyOptions
  std::size_t assemblies_max = 32;
  std::size_t forwards_max = 64;  ///< packets of others that may wait here
};

struct EndpointCounters {
  std::uint64_t packets_out = 0;
  std::uint64_t packets_undelivered = 0;
  std::uint64_t messages_out = 0;
  std::uint64_t messages_undelivered = 0;
  std::uint64_t forwarded = 0;
  std::uint64_t forwards_lost = 0;  ///< no room, or not delivered
};

class Endpoint;

/// Asked for packets to EIDs that are not the endpoint's own: the bridge that it belongs to.
class Forwarder {
 public:
  virtual Belongs forward(Endpoint& arrived_at, Eid destination, ByteView packet) = 0;

 protected:
  ~Forwarder() = default;
};

class Endpoint final : public Port, private PacketSink, private AssemblySink {
 public:
  Endpoint(World& world, Binding& binding, const EndpointOptions& options = {});
  ~Endpoint() override;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Eid eid() const override { return eid_; }
  std::size_t unit_max() const override;
  void set_unit(std::size_t unit) override;
  void set_handler(MessageType type, MessageHandler* handler, std::size_t size_max) override;
  std::optional<Tag> take_tag(Eid peer) override { return tags_.take(peer); }
  void release_tag(Eid peer, Tag tag) override { tags_.release(peer, tag); }
  SendId send(Outgoing message) override;
  void hold(SendId id) override;
  void resume(SendId id) override;
  void withdraw(SendId id) override;
  std::size_t packets_sent(SendId id) const override;

  /// The tags towards a peer, for who shares them among several endpoints.
  TagTable& tags() { return tags_; }
  void set_eid(Eid eid);
  /// Null: the honest endpoint.
  void set_hooks(EndpointHooks* hooks) {
    hooks_ = hooks;
    binding_.set_hooks(hooks);
  }
  EndpointHooks* hooks() const { return hooks_; }
  bool departs(std::string_view point) const { return hooks_ != nullptr && hooks_->departs(point); }
  void set_forwarder(Forwarder* forwarder) { forwarder_ = forwarder; }

  /// Where packets for these EIDs go on the medium. Goes before what was learned from packets that came.
  void set_route(Eid first, Eid last, const PhysicalAddress& to);
  void clear_route(Eid first, Eid last);
  /// Empty when nobody said.
  PhysicalAddress route_of(Eid eid) const;

  /// Any bytes as a packet, in their turn: the raw level below messages.
  void send_packet(const PhysicalAddress& to, Bytes packet);
  /// A packet of others, as it came. False when too many wait.
  bool forward(const PhysicalAddress& to, ByteView packet);

  /// Everything on its way in and out is forgotten, without a word; tags, routes and the EID stay.
  void reset();

  World& world() { return world_; }
  Binding& binding() { return binding_; }
  const EndpointOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }
  const EndpointCounters& counters() const { return counters_; }
  const AssemblyCounters& assembly() const { return assembler_.counters(); }
  const Assembler& assembler() const { return assembler_; }
  /// Messages and packets that wait to leave.
  std::size_t queued() const { return sendings_.size() + raw_.size(); }

 private:
  struct Sending {
    SendId id = 0;
    Outgoing message;
    std::size_t offset = 0;   // bytes that have been given to the binding
    std::size_t packets = 0;  // that have left
    std::uint8_t sequence = 0;
    bool held = false;
  };
  struct Raw {
    PhysicalAddress to;
    Bytes packet;
    bool foreign = false;
  };
  struct Listener {
    MessageHandler* handler = nullptr;
    std::size_t size_max = 0;
  };
  enum class InFlight : std::uint8_t { nothing, message, raw, foreign };

  // PacketSink
  void on_packet(const PhysicalAddress& from, ByteView packet) override;
  void on_damaged() override { assembler_.on_damaged(); }
  void on_packet_sent(bool delivered) override;
  // AssemblySink
  Belongs belongs(Eid destination, const PhysicalAddress& from, ByteView packet) override;
  bool expects(Eid source, Tag tag) override { return tags_.expects(source, tag.value); }
  std::size_t size_max(std::uint8_t type) override { return listeners_[type].size_max; }
  bool tolerates(std::string_view point) override { return departs(point); }
  void on_message(const Incoming& message) override;
  void on_started(const Incoming& first) override;
  void on_abandoned(std::uint8_t type, Eid source, Tag tag, Abandoned why) override;
  void on_drop(Drop why) override;

  void pump();
  std::size_t next_sending() const;
  bool waits_for_another(std::size_t index) const;
  void send_part(Sending& sending);
  void send_raw();
  void give_to_binding(const PhysicalAddress& to);
  void finish_part(bool delivered);
  std::size_t find(SendId id) const;
  void remove(std::size_t index);
  void on_left_out();
  void on_gap();
  void arm_gap();

  World& world_;
  Binding& binding_;
  EndpointOptions options_;
  Eid eid_;
  EndpointHooks* hooks_ = nullptr;
  Forwarder* forwarder_ = nullptr;
  Assembler assembler_;
  TagTable tags_;
  std::array<Listener, 128> listeners_{};
  std::vector<MessageHandler*> handlers_;  // each once
  std::array<PhysicalAddress, 256> routes_{};
  std::array<PhysicalAddress, 256> learned_{};
  std::vector<Sending> sendings_;
  std::size_t turn_ = 0;  // whose packet is next, where it may
  std::deque<Raw> raw_;
  std::size_t foreign_waiting_ = 0;
  bool raw_was_last_ = false;
  InFlight in_flight_ = InFlight::nothing;
  SendId in_flight_id_ = 0;
  std::vector<Bytes> hooked_;  // what hooks made of one packet, still to be sent
  PhysicalAddress hooked_to_;
  bool hooked_delivered_ = true;
  Bytes packet_;
  SendId last_id_ = 0;
  EndpointCounters counters_;
  Timer<Endpoint, &Endpoint::on_left_out> left_out_{"mctp.left_out", *this};
  Timer<Endpoint, &Endpoint::on_gap> gap_{"mctp.gap", *this};
};

}  // namespace fb::mctp
