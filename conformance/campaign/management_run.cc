#include "conformance/campaign/management_run.h"

#include <fmt/format.h>

#include <deque>

#include "conformance/runner/managed_setup.h"

namespace fb::conformance {

using fault::Kind;

namespace {

constexpr mctp::Eid kOwnEid = 8;
constexpr mctp::Eid kFirstDrive = 9;
/// Questions that no answer comes to are asked so often.
constexpr unsigned kTries = fault::Budget{}.frames + 1;
constexpr Duration kPatience = Duration::s(3600);
constexpr std::uint8_t kTemperatureThreshold = 0x04;
constexpr std::uint32_t kThresholdAtFirst = 0x157;

fault::FrameShape frames_of(std::string_view medium) {
  if (medium == "smbus") return fault::FrameShape::smbus;
  return medium == "pcie" ? fault::FrameShape::pcie : fault::FrameShape::serial;
}

std::unique_ptr<mctp::Segment> segment_of(World& world, std::string_view medium) {
  if (medium == "smbus") return std::make_unique<mctp::Segment>(world, mctp::SmbusOptions{.name = "bus", .clock_hz = 400'000});
  if (medium == "pcie") return std::make_unique<mctp::Segment>(world, mctp::PcieOptions{.name = "bus"});
  return std::make_unique<mctp::Segment>(world, mctp::SerialOptions{.name = "bus"});
}

Bytes copy_of(ByteView bytes) { return Bytes(bytes.begin(), bytes.end()); }

template <class Value>
Bytes content_of(const Value& value) {
  if constexpr (requires { value.bytes(); }) {
    return copy_of(value.bytes());
  } else if constexpr (std::is_same_v<Value, Bytes>) {
    return value;
  } else {
    Bytes bytes;
    for (const std::uint16_t id : value) {
      bytes.push_back(static_cast<std::uint8_t>(id));
      bytes.push_back(static_cast<std::uint8_t>(id >> 8));
    }
    return bytes;
  }
}

/// A threshold's value and how long it may stand.
struct Setting {
  std::uint32_t value = 0;
  std::uint64_t began = 0, ended = 0;  ///< 0: not acknowledged
};

}  // namespace

struct ManagementRun::DriveSide {
  mctp::Eid eid = 0;
  std::unique_ptr<mi::EndpointHooks> mi_hooks;
  std::unique_ptr<mctp::EndpointHooks> mctp_hooks;
  std::unique_ptr<mctp::SimpleDevice> node;
  std::unique_ptr<mi::Drive> drive;
  std::map<Deed, Bytes> says;
  std::vector<Setting> settings{{kThresholdAtFirst, 0, 1}};
  std::uint64_t tick = 1;

  /// Whether the threshold may have this value in an answer to a question of `asked`.
  bool may_stand(std::uint32_t value, std::uint64_t asked) const {
    for (const Setting& setting : settings) {
      if (setting.value != value) continue;
      bool gone = false;
      for (const Setting& later : settings) {
        gone = gone || (setting.ended != 0 && later.ended != 0 && later.began > setting.ended && later.ended < asked);
      }
      if (!gone) return true;
    }
    return false;
  }
};

class ManagementRun::Worker {
 public:
  explicit Worker(ManagementRun& run) : run_(run) {}
  void add(const Step& step) { steps_.push_back(step); }
  bool done() const { return steps_.empty() && !step_; }
  std::string describe() const { return step_ ? to_string(*step_) : "nothing"; }

  void schedule() {
    if (steps_.empty()) {
      --run_.busy_;
      return;
    }
    run_.world_.loop().schedule(timer_, run_.world_.now() + Duration::us(steps_.front().pause_us));
  }

 private:
  void begin() {
    step_ = steps_.front();
    steps_.pop_front();
    run_.before_step();
    drive_ = run_.drives_[step_->at % run_.drives_.size()].get();
    tries_ = 0;
    if (step_->deed == Deed::set_feature) {
      setting_ = drive_->settings.size();
      // Above what the drive's temperature is, so that no warning begins.
      drive_->settings.push_back({350 + static_cast<std::uint32_t>(setting_), ++drive_->tick, 0});
    }
    ask();
  }
  void ask() {
    ++tries_;
    asked_ = ++drive_->tick;
    run_.ask(*step_, *drive_, setting_, [this](const mi::Reply& reply, Bytes content) { on_answer(reply, std::move(content)); });
  }
  void on_answer(const mi::Reply& reply, Bytes content) {
    if (run_.over_) return;
    // Two faults can leave a message that lacks a packet and has no gap: its check tells, and it is no answer.
    const bool damaged = reply.outcome == mi::Outcome::violation && reply.violation->rule == "response.mic";
    if (reply.outcome == mi::Outcome::violation && !damaged) {
      run_.judge_.fails("management: violation of " + std::string(reply.violation->rule),
                        to_string(*step_) + ": " + mi::to_string(*reply.violation));
    } else if (reply.outcome == mi::Outcome::timed_out || damaged) {
      if (tries_ < kTries) return run_.world_.loop().schedule(again_, run_.world_.now() + Duration::ms(10));
      run_.judge_.breaks_promise("management: no answer", fmt::format("{}: asked {} times", to_string(*step_), tries_));
    } else if (step_->deed == Deed::vpd_write && reply.status() == mi::Status::vpd_updates_exceeded) {
      // Long worlds wear it out.
    } else if (!reply.ok()) {
      run_.judge_.fails(fmt::format("management: {} answered with {}", name_of(step_->deed), mi::name_of(reply.status())),
                        to_string(*step_));
    } else if (step_->deed == Deed::set_feature) {
      drive_->settings[setting_].ended = ++drive_->tick;
    } else if (step_->deed == Deed::configuration) {
      if (!drive_->may_stand(load_le<std::uint32_t>(content.data()), asked_)) {
        run_.judge_.fails("management: stale feature",
                          fmt::format("{}: the threshold is {}", to_string(*step_), load_le<std::uint32_t>(content.data())));
      }
    } else {
      run_.check(*step_, *drive_, content);
    }
    step_.reset();
    schedule();
  }

  ManagementRun& run_;
  std::deque<Step> steps_;
  std::optional<Step> step_;
  DriveSide* drive_ = nullptr;
  unsigned tries_ = 0;
  std::uint64_t asked_ = 0;
  std::size_t setting_ = 0;
  Timer<Worker, &Worker::begin> timer_{"campaign.step", *this};
  Timer<Worker, &Worker::ask> again_{"campaign.again", *this};
};

ManagementRun::ManagementRun(World& world, const Recipe& recipe, const ManagementShape& shape, fault::Points& points,
                             const deviations::DeviationSet& deviations, Judge& judge)
    : world_(world),
      shape_(shape),
      points_(points),
      step_point_(points.at({fault::Site::step, {}})),
      judge_(judge),
      frames_(points, "bus", frames_of(shape.medium)),
      segment_(segment_of(world, shape.medium)),
      own_hooks_(deviations.mctp_hooks(deviations::Product::management_requester)),
      requester_hooks_(deviations.requester_hooks()) {
  mctp::Binding& own = segment_->attach("requester", bench_address_on(shape.medium), true);
  own_ = std::make_unique<mctp::Endpoint>(world, own, mctp::EndpointOptions{.name = "requester", .eid = kOwnEid});
  own_->set_hooks(own_hooks_.get());
  for (std::size_t i = 0; i < shape.drives; ++i) add_drive(i, deviations);
  requester_ = std::make_unique<mi::Requester>(world, *own_, mi::RequesterOptions{}, requester_hooks_.get());
  for (unsigned i = 0; i < shape.workers; ++i) workers_.push_back(std::make_unique<Worker>(*this));
  for (const Step& step : recipe.steps) workers_[step.worker % shape.workers]->add(step);
}

ManagementRun::~ManagementRun() {
  over_ = true;
  requester_.reset();
  workers_.clear();
}

void ManagementRun::add_drive(std::size_t index, const deviations::DeviationSet& deviations) {
  auto side = std::make_unique<DriveSide>();
  side->eid = static_cast<mctp::Eid>(kFirstDrive + index);
  side->mi_hooks = deviations.endpoint_hooks();
  side->mctp_hooks = deviations.mctp_hooks(deviations::Product::endpoint);
  mi::DriveOptions options;
  options.subsystem.serial = fmt::format("FB{:010}", index + 1);
  options.subsystem.static_cntlids = {1, 2};
  options.end.name = fmt::format("drive{}", index + 1);
  options.end.eid = options.node.static_eid = side->eid;  // there is no bus owner to give it back after a reset
  if (shape_.medium == "pcie") options.endpoint.port = 0;
  deviations.alter(options);
  const mctp::PhysicalAddress at = product_address_on(shape_.medium, static_cast<unsigned>(index));
  side->node = std::make_unique<mctp::SimpleDevice>(world_, segment_->attach(options.end.name, at), options.node, options.end);
  side->drive = std::make_unique<mi::Drive>(world_, *side->node, std::move(options),
                                            mi::DriveHooks{nullptr, side->mi_hooks.get(), side->mctp_hooks.get()});
  own_->set_route(side->eid, side->eid, at);
  side->node->endpoint().set_route(kOwnEid, kOwnEid, bench_address_on(shape_.medium));
  drives_.push_back(std::move(side));
}

void ManagementRun::ask(const Step& step, DriveSide& drive, std::size_t setting, Then then) {
  const auto told = [then](const auto& answer) { then(answer.reply, answer.value ? content_of(*answer.value) : Bytes{}); };
  const mctp::Eid eid = drive.eid;
  const auto offset = static_cast<std::uint16_t>(step.at % (kVpdBytes - step.count));
  switch (step.deed) {
    case Deed::health:
      return requester_->poll_subsystem(eid).on_settled(told);
    case Deed::subsystem_info:
      return requester_->read_subsystem(eid).on_settled(told);
    case Deed::controllers:
      return requester_->read_controllers(eid).on_settled(told);
    case Deed::vpd_read:
      return requester_->read_vpd(eid, offset, static_cast<std::uint16_t>(step.count)).on_settled(told);
    case Deed::vpd_write: {
      const ByteView there = ByteView(drive.says[Deed::vpd_read]).subspan(offset, step.count);
      return requester_->write_vpd(eid, offset, copy_of(there)).on_settled([then](const mi::Reply& reply) { then(reply, {}); });
    }
    case Deed::identify:
      return requester_->identify(eid, 1, nvme::Cns::controller).on_settled(told);
    case Deed::smart:
      return requester_->get_log(eid, 1, 0x02, 512).on_settled(told);
    case Deed::set_feature:
      return requester_->set_feature(eid, 1, kTemperatureThreshold, drive.settings[setting].value)
          .on_settled([then](const mi::Reply& reply) { then(reply, {}); });
    default:
      return requester_->get_feature(eid, 1, kTemperatureThreshold).on_settled([then](const mi::Reply& reply) {
        Bytes value(4);
        store_le<std::uint32_t>(value.data(), reply.dw0() & 0xFFFF);
        then(reply, value);
      });
  }
}

void ManagementRun::check(const Step& step, DriveSide& drive, const Bytes& content) {
  if (step.deed == Deed::vpd_write) return;
  Bytes expected = drive.says[step.deed];
  Bytes seen = content;
  if (step.deed == Deed::vpd_read) {
    const std::size_t offset = step.at % (kVpdBytes - step.count);
    expected = copy_of(ByteView(expected).subspan(offset, step.count));
  }
  if (step.deed == Deed::health) {
    // The composite controller status tells what has changed since it was read last.
    expected.resize(4);
    seen.resize(std::min<std::size_t>(seen.size(), 4));
  }
  if (step.deed == Deed::identify && seen.size() == expected.size()) {
    // How often the vital product data may still be written counts down.
    seen[nvme::id_ctrl::vwci.offset] = expected[nvme::id_ctrl::vwci.offset];
  }
  if (seen == expected) return;
  judge_.fails(fmt::format("management: wrong {}", name_of(step.deed)),
               fmt::format("{}: drive {} says something else than before", to_string(step), drive.eid));
}

bool ManagementRun::ask_in_peace(DriveSide& drive, bool compare) {
  for (const Deed deed : {Deed::health, Deed::subsystem_info, Deed::controllers, Deed::vpd_read, Deed::identify, Deed::smart}) {
    Step step;
    step.deed = deed;
    step.count = deed == Deed::vpd_read ? kVpdBytes - 1 : 1;
    bool answered = false;
    mi::Reply reply;
    Bytes content;
    ask(step, drive, 0, [&](const mi::Reply& got, Bytes bytes) {
      answered = true;
      reply = got;
      content = std::move(bytes);
    });
    world_.run_until([&] { return answered; }, kPatience);
    if (!answered || !reply.ok()) {
      judge_.breaks_promise("management: silent in peace", fmt::format("{}: no good answer though nothing disturbs", name_of(deed)));
      return false;
    }
    if (compare) {
      check(step, drive, content);
    } else {
      if (deed == Deed::vpd_read) content.push_back(0);
      drive.says[deed] = std::move(content);
    }
  }
  return true;
}

void ManagementRun::before_step() {
  for (const fault::Decision& decision : step_point_.next()) {
    if (decision.kind != Kind::endpoint_reset) continue;
    drives_.front()->drive->endpoint().reset(false);
    step_point_.struck(decision);
  }
}

void ManagementRun::run() {
  for (auto& drive : drives_) {
    if (!ask_in_peace(*drive, false)) return;
  }
  segment_->set_filter(&frames_);
  busy_ = workers_.size();
  for (auto& worker : workers_) worker->schedule();
  if (!world_.run_until([this] { return busy_ == 0; }, kPatience)) {
    std::string stuck;
    for (auto& worker : workers_) {
      if (!worker->done()) stuck += (stuck.empty() ? "" : "; ") + worker->describe();
    }
    judge_.breaks_promise("stuck", "never done: " + stuck);
    return;
  }
  points_.disarm();
  segment_->set_filter(nullptr);
  // What was on its way is forgotten by then.
  world_.run_for(Duration::s(10));
  for (auto& drive : drives_) {
    if (!judge_.failed()) ask_in_peace(*drive, true);
  }
}

}  // namespace fb::conformance
