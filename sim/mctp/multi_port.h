// Several endpoints of one device as one port: what is sent goes out where its destination is, what comes in
// anywhere comes to the same handlers. All share one EID.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/mctp/endpoint.h"

namespace fb::mctp {

class MultiPort final : public Port {
 public:
  /// Says through which of the endpoints an EID is reached; any number for one that is not known.
  using Chooser = std::function<std::size_t(Eid)>;

  MultiPort(std::vector<Endpoint*> endpoints, Chooser chooser);
  ~MultiPort() override;
  MultiPort(const MultiPort&) = delete;
  MultiPort& operator=(const MultiPort&) = delete;

  Eid eid() const override { return endpoints_.front()->eid(); }
  /// The smallest of all.
  std::size_t unit_max() const override;
  void set_unit(std::size_t unit) override;
  void set_handler(MessageType type, MessageHandler* handler, std::size_t size_max) override;
  /// Towards the null EID: of all endpoints, since the answer may come to any.
  std::optional<Tag> take_tag(Eid peer) override;
  void release_tag(Eid peer, Tag tag) override;
  SendId send(Outgoing message) override;
  void hold(SendId id) override { of(id).hold(inner(id)); }
  void resume(SendId id) override { of(id).resume(inner(id)); }
  void withdraw(SendId id) override { of(id).withdraw(inner(id)); }
  std::size_t packets_sent(SendId id) const override { return endpoints_[index_of(id)]->packets_sent(inner(id)); }

 private:
  class Relay;

  std::size_t choose(Eid eid) const;
  Endpoint& at(Eid eid) { return *endpoints_[choose(eid)]; }
  // An id of ours names the endpoint in its last digit, in the number system of their count.
  std::size_t index_of(SendId id) const { return static_cast<std::size_t>(id % endpoints_.size()); }
  SendId inner(SendId id) const { return id / endpoints_.size(); }
  Endpoint& of(SendId id) { return *endpoints_[index_of(id)]; }

  std::vector<Endpoint*> endpoints_;
  Chooser chooser_;
  std::vector<std::unique_ptr<Relay>> relays_;
};

}  // namespace fb::mctp
