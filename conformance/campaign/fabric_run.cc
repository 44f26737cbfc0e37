#include "conformance/campaign/fabric_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "conformance/campaign/fabric_worker.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

using fault::Decision;
using fault::Kind;
using host::ControllerState;

namespace {

constexpr Duration kMendAfter = Duration::s(3);
constexpr unsigned kConnectTries = 30;

nvme::AnaState state_of(std::uint64_t amount) {
  switch (amount & 0xF) {
    case 0:
    case 1:
      return nvme::AnaState::optimized;
    case 2:
      return nvme::AnaState::non_optimized;
    case 3:
      return nvme::AnaState::inaccessible;
    case 4:
      return nvme::AnaState::persistent_loss;
    default:
      return nvme::AnaState::change;
  }
}

}  // namespace

class FabricRun::Mending {
 public:
  Mending(FabricRun& run, std::uint16_t portid) : run_(run), portid_(portid) {
    run.world_.loop().schedule(timer_, run.world_.now() + kMendAfter);
  }

 private:
  void on_due() { run_.mend(portid_); }
  FabricRun& run_;
  std::uint16_t portid_;
  Timer<Mending, &Mending::on_due> timer_{"campaign.ana", *this};
};

FabricRun::FabricRun(World& world, const Recipe& recipe, std::unique_ptr<Scene> scene, fault::Points& points, Judge& judge)
    : world_(world),
      recipe_(recipe),
      points_(points),
      step_point_(points.at({fault::Site::step, {}})),
      judge_(judge),
      truth_(scene->shape().blocks, scene->shape().block_bytes),
      reservations_(scene->shape().hosts),
      scene_(std::move(scene)) {
  const FabricShape& shape = scene_->shape();
  const std::size_t all = std::size_t{shape.hosts} * shape.workers;
  for (std::size_t i = 0; i < all; ++i) workers_.push_back(std::make_unique<Worker>(*this, i % shape.hosts));
  for (const Step& step : recipe.steps) workers_[step.worker % all]->add(step);
  for (std::size_t i = 0; i < scene_->hosts(); ++i) scene_->host(i).add_listener(*this);
}

FabricRun::~FabricRun() {
  over_ = true;
  for (std::size_t i = 0; i < scene_->hosts(); ++i) scene_->host(i).remove_listener(*this);
}

void FabricRun::on_state(host::Controller& controller, ControllerState state) {
  if (state != ControllerState::recovering && state != ControllerState::gone) return;
  const host::HostError& error = controller.error();
  if (error.kind != host::HostError::Kind::violation) return;
  judge_.fails("the host saw a violation: " + without_numbers(error.text), error.text);
}

bool FabricRun::connect_all() {
  for (std::size_t host = 0; host < scene_->hosts(); ++host) {
    for (std::size_t path = 0; path < scene_->shape().paths; ++path) {
      bool connected = false;
      std::string why;
      for (unsigned i = 0; i < kConnectTries && !connected; ++i) {
        const auto outcome = scene_->host(host).connect(scene_->connect_options(path)).wait();
        connected = outcome.ok();
        if (connected) break;
        why = outcome.error().text;
        scene_->host(host).forget_gone();
        world_.run_for(Duration::s(1));
      }
      if (connected) continue;
      judge_.breaks_promise("host: cannot connect", why);
      return false;
    }
  }
  return true;
}

void FabricRun::before_step() {
  for (const Decision& decision : step_point_.next()) {
    apply(decision);
    step_point_.struck(decision);
  }
}

void FabricRun::apply(const Decision& decision) {
  if (decision.kind == Kind::controller_reset) return reset_first_controller();
  if (scene_->subsystem() == nullptr) return;
  subsystem::Subsystem& disk = *scene_->subsystem();
  switch (decision.kind) {
    case Kind::subsystem_reset:
      return disk.reset_subsystem();
    case Kind::power_cycle:
      disk.power_cycle();
      if (scene_->shape().cache) truth_.power_lost();
      reservations_.power_lost(truth_.now());
      return;
    case Kind::associations_end:
      return disk.end_associations("a fault");
    case Kind::ana:
      return set_path_state(decision);
    case Kind::namespace_resize:
      disk.resize_namespace(kWatchedNsid, scene_->shape().blocks + std::min(decision.amount, kSpareBlocks));
      return;
    case Kind::namespace_add:
      if (disk.find_namespace(kSpareNsid) == nullptr) {
        subsystem::NamespaceOptions spare;
        spare.nsid = kSpareNsid;
        spare.blocks = 128;
        BENCH_ASSERT(disk.add_namespace(std::move(spare)).ok(), "there is room for a spare namespace");
      }
      return;
    case Kind::namespace_remove:
      disk.remove_namespace(kSpareNsid);
      return;
    default:
      return;
  }
}

void FabricRun::reset_first_controller() {
  for (host::Controller* controller : scene_->host(0).controllers()) {
    if (!controller->live()) continue;
    controller->reset();
    return;
  }
}

void FabricRun::set_path_state(const Decision& decision) {
  const auto portid = static_cast<std::uint16_t>(decision.amount >> 4);
  if (portid == 0 || portid > scene_->shape().paths) return;
  if (lost_paths_.contains(portid)) return;
  const nvme::AnaState state = state_of(decision.amount);
  scene_->subsystem()->set_ana_state(1, state, portid);
  if (state == nvme::AnaState::persistent_loss) {
    lost_paths_.insert(portid);
    return;
  }
  mendings_.push_back(std::make_unique<Mending>(*this, portid));
}

void FabricRun::mend(std::uint16_t portid) {
  if (scene_->subsystem() == nullptr) return;
  if (!lost_paths_.contains(portid)) scene_->subsystem()->set_ana_state(1, nvme::AnaState::optimized, portid);
}

bool FabricRun::explained(nvme::Status status, Instant began) const {
  for (const fault::Strike& strike : points_.strikes()) {
    if (strike.at < began) continue;
    const auto amount = static_cast<unsigned>(strike.decision.amount);
    switch (strike.decision.kind) {
      case Kind::status:
        if (same_code(status, nvme::Status::make(amount >> 8, amount & 0xFF))) return true;
        break;
      case Kind::media_error:
        if (same_code(status, nvme::sc::unrecovered_read_error)) return true;
        break;
      case Kind::write_fault:
        if (same_code(status, nvme::sc::write_fault)) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

void FabricRun::run() {
  if (!connect_all()) return;
  busy_ = workers_.size();
  for (auto& worker : workers_) worker->start();
  if (!world_.run_until([this] { return busy_ == 0; }, scene_->patience())) {
    std::string stuck;
    for (auto& worker : workers_) {
      if (!worker->done()) stuck += (stuck.empty() ? "" : "; ") + worker->describe();
    }
    judge_.breaks_promise("stuck", "never done: " + stuck);
  }
  if (!judge_.failed()) finish();
}

void FabricRun::finish() {
  points_.disarm();
  for (std::uint16_t portid = 1; portid <= scene_->shape().paths; ++portid) mend(portid);
  if (!recover()) return;
  for (std::size_t i = 0; i < scene_->hosts() && !judge_.failed(); ++i) read_all(*scene_->watched(i));
  if (!judge_.failed()) leave();
}

bool FabricRun::recover() {
  const auto settled = [this] {
    for (std::size_t i = 0; i < scene_->hosts(); ++i) {
      for (const host::Controller* controller : scene_->host(i).controllers()) {
        if (!controller->live() && controller->state() != ControllerState::gone) return false;
      }
    }
    return true;
  };
  if (!world_.run_until(settled, scene_->patience())) {
    judge_.breaks_promise("host: does not recover", "an association is neither back nor given up");
    return false;
  }
  for (std::size_t i = 0; i < scene_->hosts(); ++i) {
    for (const host::Controller* controller : scene_->host(i).controllers()) {
      if (controller->live()) continue;
      judge_.breaks_promise("host: gave up", "an association is gone: " + controller->error().text);
      return false;
    }
    if (scene_->watched(i) == nullptr) {
      judge_.breaks_promise("host: no namespace", "the namespace is not seen any more");
      return false;
    }
  }
  return true;
}

void FabricRun::read_all(host::Namespace& space) {
  const std::uint64_t blocks = truth_.blocks();
  Bytes first(blocks * truth_.block_bytes()), again(first.size()), sent(blocks * space.block_bytes());
  for (Bytes* buffer : {&first, &again}) {
    const BlockTruth::Tick tick = truth_.now();
    const auto status = space.read(0, sent).wait_for(scene_->patience());
    if (!status || !status->ok()) {
      judge_.breaks_promise("stuck at the end", status ? "read: " + nvme::to_string(*status) : "a read has no end");
      return;
    }
    truth_.narrow(sent, *buffer);
    // Pieces of the read may lie on both sides of a transfer limit: each block counts by itself.
    for (std::uint64_t lba = 0; lba < blocks; ++lba) {
      const ByteView block = ByteView(*buffer).subspan(lba * truth_.block_bytes(), truth_.block_bytes());
      if (const auto why = truth_.check(lba, block, tick)) {
        judge_.fails("data: " + why->substr(0, why->find(':')), "at the end: " + *why);
        return;
      }
    }
  }
  if (first != again) judge_.fails("data: unstable", "two reads at the end differ");
}

void FabricRun::leave() {
  for (std::size_t i = 0; i < scene_->hosts(); ++i) {
    if (!scene_->host(i).shutdown_all().wait_for(std::min(scene_->patience(), Duration::s(300)))) {
      judge_.breaks_promise("host: does not leave", "a shutdown has no end");
      return;
    }
  }
  subsystem::Subsystem* const disk = scene_->subsystem();
  if (disk == nullptr) return;  // a real world has no end of events
  if (!world_.run_until_idle(Duration::s(900))) {
    judge_.fails("restless", "something goes on for ever: " + world_.describe_pending());
    return;
  }
  if (!disk->controllers().empty()) {
    judge_.fails("leak: controllers", fmt::format("{} controllers stay without hosts", disk->controllers().size()));
  } else if (scene_->connections() != 0) {
    judge_.fails("leak: connections", fmt::format("{} connections stay", scene_->connections()));
  }
}

}  // namespace fb::conformance
