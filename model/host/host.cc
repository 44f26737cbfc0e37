#include "model/host/host.h"

#include <algorithm>

namespace fb::host {

Host::Host(World& world, transport::HostFabric& fabric, HostOptions options, PathPolicy policy)
    : world_(world), fabric_(fabric), options_(std::move(options)), policy_(policy) {
  if (options_.nonces == nullptr) {
    options_.nonces = auth::make_nonces(world, "host.auth/" + options_.actor + options_.hostnqn);
  }
}

Host::~Host() {
  closing_ = true;
  // First the ways, so that what comes back from the queues finds none and is reported.
  for (auto& name_space : namespaces_) name_space->close();
  controllers_.clear();
}

Op<Controller::Outcome> Host::connect(ConnectOptions options) {
  controllers_.push_back(
      std::make_unique<Controller>(world_, fabric_, options_, std::move(options), static_cast<ControllerListener&>(*this)));
  return controllers_.back()->connect();
}

Op<bool> Host::shutdown_all() {
  auto made = make_op<bool>(world_, "shutdown of every controller");
  all_gone_.push_back(std::move(made.promise));
  for (Controller* controller : controllers()) controller->shutdown();
  check_all_gone();
  return made.op;
}

void Host::check_all_gone() {
  const bool all = std::all_of(controllers_.begin(), controllers_.end(), [](const auto& c) { return c->state() == ControllerState::gone; });
  if (!all) return;
  for (auto& promise : std::exchange(all_gone_, {})) promise.settle(true);
}

void Host::forget_gone() {
  for (const auto& controller : controllers_) {
    if (controller->state() != ControllerState::gone) continue;
    for (auto& name_space : namespaces_) name_space->remove_path(*controller);
  }
  for (const auto& recovery : recoveries_) forget_recovery(*recovery);
  std::erase_if(controllers_, [](const auto& c) { return c->state() == ControllerState::gone; });
}

std::vector<Controller*> Host::controllers() const {
  std::vector<Controller*> list;
  for (const auto& controller : controllers_) list.push_back(controller.get());
  return list;
}

std::vector<Namespace*> Host::namespaces() const {
  std::vector<Namespace*> list;
  for (const auto& name_space : namespaces_) list.push_back(name_space.get());
  return list;
}

Namespace* Host::find(std::string_view subnqn, std::uint32_t nsid) const {
  for (const auto& name_space : namespaces_) {
    if (name_space->subnqn() == subnqn && name_space->nsid() == nsid && !name_space->paths().all().empty()) {
      return name_space.get();
    }
  }
  return nullptr;
}

Namespace* Host::find(const Controller& controller, std::uint32_t nsid) const {
  for (const auto& name_space : namespaces_) {
    if (name_space->nsid() == nsid && name_space->has_path(controller)) return name_space.get();
  }
  return nullptr;
}

void Host::add_listener(ControllerListener& listener) { listeners_.push_back(&listener); }

void Host::remove_listener(ControllerListener& listener) { std::erase(listeners_, &listener); }

void Host::on_state(Controller& controller, ControllerState state) {
  if (closing_) return;
  if (state == ControllerState::live) match_namespaces(controller);
  if (state == ControllerState::recovering) recover(controller);
  for (auto& name_space : namespaces_) name_space->paths_changed();
  for (ControllerListener* listener : std::vector(listeners_)) {
    listener->on_state(controller, state);
  }
  if (state == ControllerState::gone) check_all_gone();
}

void Host::on_event(Controller& controller, const nvme::Event& event, ByteView log) {
  if (event.lid == static_cast<std::uint8_t>(nvme::LogPage::cross_controller_reset)) take_reset_log(controller, log);
  for (ControllerListener* listener : std::vector(listeners_)) {
    listener->on_event(controller, event, log);
  }
}

void Host::on_namespaces(Controller& controller) {
  match_namespaces(controller);
  for (ControllerListener* listener : std::vector(listeners_)) listener->on_namespaces(controller);
}

void Host::on_ana(Controller& controller) {
  for (auto& name_space : namespaces_) name_space->paths_changed();
  for (ControllerListener* listener : std::vector(listeners_)) listener->on_ana(controller);
}

void Host::on_tolerated(Controller& controller, std::string_view what) {
  for (ControllerListener* listener : std::vector(listeners_)) listener->on_tolerated(controller, what);
}

void Host::match_namespaces(Controller& controller) {
  const std::string& subnqn = controller.options().subnqn;
  for (auto& name_space : namespaces_) {
    if (!name_space->has_path(controller)) continue;
    const auto& list = controller.namespaces();
    const bool still =
        std::any_of(list.begin(), list.end(), [&](const NamespaceFacts& facts) { return name_space->matches(subnqn, facts); });
    if (!still) name_space->remove_path(controller);
  }
  for (const NamespaceFacts& facts : controller.namespaces()) {
    const auto known = std::find_if(namespaces_.begin(), namespaces_.end(), [&](const std::unique_ptr<Namespace>& candidate) {
      if (!candidate->matches(subnqn, facts)) return false;
      // A private namespace belongs to one controller; the same number elsewhere is another.
      return facts.shared || candidate->has_path(controller) || candidate->paths().all().empty();
    });
    if (known != namespaces_.end()) {
      (*known)->add_path(controller, facts);
      continue;
    }
    namespaces_.push_back(std::make_unique<Namespace>(world_, subnqn, facts, policy_));
    namespaces_.back()->add_path(controller, facts);
  }
}

}  // namespace fb::host
