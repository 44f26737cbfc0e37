#include "bindings/found_connect.h"

#include "sim/core/op.h"

namespace fb::python {

namespace {

class FoundConnect final : public Event {
 public:
  using Outcome = host::Controller::Outcome;
  FoundConnect(HostSide& side, host::ConnectOptions options, Promise<Outcome> promise)
      : Event("python.discovered"), side_(side), options_(std::move(options)), promise_(std::move(promise)), client_(side.host()) {
    host::DiscoveryOptions asked;
    asked.to = options_.to;
    asked.authentication = options_.authentication;
    asked.tls = options_.tls;
    auto op = client_.discover(asked);
    op.on_settled([this, alive = std::weak_ptr(alive_)](const host::DiscoveryClient::Outcome& outcome) {
      if (alive.expired()) return;
      found_.emplace(outcome);
      side_.world().loop().schedule_after(*this, {});  // not inside the client's own call
    });
  }

 private:
  void fire() override {
    if (!*found_) return promise_.settle(Failure{found_->error()});
    const host::DiscoveredEntry* chosen = nullptr;
    for (const host::DiscoveredEntry& entry : (*found_)->entries) {
      if (!entry.usable || entry.subtype != fabrics::SubsystemType::nvm) continue;
      if (chosen == nullptr || (entry.to == options_.to && chosen->to != options_.to)) chosen = &entry;
    }
    if (chosen == nullptr) {
      return promise_.settle(
          Failure{host::HostError{.text = "the discovery service at " + to_string(options_.to) + " lists no subsystem for this host"}});
    }
    auto possible = host::options_for(side_.host(), *chosen, options_);
    if (!possible) return promise_.settle(Failure{possible.error()});
    auto op = side_.host().connect(*possible);
    op.on_settled([this, alive = std::weak_ptr(alive_)](const Outcome& outcome) {
      if (!alive.expired()) promise_.settle(outcome);
    });
  }

  HostSide& side_;
  host::ConnectOptions options_;
  Promise<Outcome> promise_;
  host::DiscoveryClient client_;
  std::optional<host::DiscoveryClient::Outcome> found_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // the host may settle what it is asked when this is gone
};

}  // namespace

Op<host::Controller::Outcome> connect_to_found(Box& box, HostSide& side, host::ConnectOptions options) {
  auto [promise, op] = make_op<host::Controller::Outcome>(side.world(), "connect to what is discovered at " + to_string(options.to));
  box.keep(std::make_unique<FoundConnect>(side, std::move(options), std::move(promise)));
  return op;
}

}  // namespace fb::python
