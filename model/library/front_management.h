// The MCTP side of a product that is a library: NVMe-MI messages of a port go to the library, and what it sends goes to the port.
#pragma once

#include <functional>

#include "include/fabricbench/product.h"
#include "sim/mctp/port.h"

namespace fb::library {

class Front;

class FrontManagement final : public mctp::MessageHandler {
 public:
  /// Takes NVMe-MI messages of `port`, which outlives it. `reset` resets the MCTP side of the endpoint; its argument says whether the
  /// EID stays.
  FrontManagement(Front& front, mctp::Port& port, std::function<void(bool)> reset);
  ~FrontManagement();
  FrontManagement(const FrontManagement&) = delete;
  FrontManagement& operator=(const FrontManagement&) = delete;

  // ---- services ----

  std::uint64_t send(const fb_mi_message* message);
  mctp::Port& port() { return port_; }
  void set_unit(std::uint32_t unit);
  std::int32_t take_tag(std::uint8_t eid);
  void release_tag(std::uint8_t eid, std::uint8_t tag) { port_.release_tag(eid, {tag, true}); }
  void reset(bool keep_eid) { reset_(keep_eid); }

  // mctp::MessageHandler
  void on_message(const mctp::Incoming& message) override;
  void on_started(const mctp::Incoming& first) override;
  void on_abandoned(mctp::Eid source, mctp::Tag tag, mctp::Abandoned why) override;
  void on_sent(mctp::SendId id, bool delivered) override;
  void on_drop(mctp::Drop why) override;

 private:
  void give(const char* name, void (*to)(void*, const fb_mi_message*), const mctp::Incoming& message);

  Front& front_;
  mctp::Port& port_;
  std::function<void(bool)> reset_;
  Bytes body_;  ///< of the message that is being sent; no local, since a library's bad pointer leaves send() by a jump
};

}  // namespace fb::library
