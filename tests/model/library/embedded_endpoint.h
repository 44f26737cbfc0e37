// The embedded management endpoint as a library of fabricbench/product.h: a port whose messages are what the bench passes on.
#pragma once

#include <memory>

#include "include/fabricbench/product.h"
#include "model/drive/options.h"
#include "model/mi/endpoint.h"
#include "model/subsystem/subsystem.h"

namespace fb::library {

class EmbeddedEndpoint final : public mctp::Port {
 public:
  EmbeddedEndpoint(World& world, fb_bench& bench);

  void on_message(const fb_mi_message& message) { handler_->on_message(incoming(message)); }
  void on_started(const fb_mi_message& first) { handler_->on_started(incoming(first)); }
  void on_abandoned(std::uint8_t eid, mctp::Tag tag, int why) { handler_->on_abandoned(eid, tag, static_cast<mctp::Abandoned>(why)); }
  void on_sent(std::uint64_t id, bool delivered) { handler_->on_sent(id, delivered); }
  void on_drop(int why) { handler_->on_drop(static_cast<mctp::Drop>(why)); }

 private:
  static mctp::Incoming incoming(const fb_mi_message& message);
  mctp::Eid eid() const override { return mctp::kNullEid; }  // messages with no source of their own get the bench's
  std::size_t unit_max() const override { return bench_.mi_unit_max; }
  void set_unit(std::size_t unit) override { bench_.mi_set_unit(&bench_, static_cast<std::uint32_t>(unit)); }
  void set_handler(mctp::MessageType, mctp::MessageHandler* handler, std::size_t) override { handler_ = handler; }
  std::optional<mctp::Tag> take_tag(mctp::Eid peer) override;
  void release_tag(mctp::Eid peer, mctp::Tag tag) override { bench_.mi_release_tag(&bench_, peer, tag.value); }
  mctp::SendId send(mctp::Outgoing message) override;
  void hold(mctp::SendId id) override { bench_.mi_hold(&bench_, id); }
  void resume(mctp::SendId id) override { bench_.mi_resume(&bench_, id); }
  void withdraw(mctp::SendId id) override { bench_.mi_withdraw(&bench_, id); }
  std::size_t packets_sent(mctp::SendId id) const override { return bench_.mi_packets_sent(&bench_, id); }

  fb_bench& bench_;
  mctp::MessageHandler* handler_ = nullptr;
  mi::DriveOptions options_;
  subsystem::Subsystem subsystem_;
  std::unique_ptr<mi::Device> device_;
  std::unique_ptr<mi::Endpoint> endpoint_;
};

}  // namespace fb::library
