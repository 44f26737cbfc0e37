// Initialisation, second half: what the ready controller is and has. Identify, command set, number of
// queues, I/O queues, events, namespaces.
#include "model/host/controller_admin.h"
#include "model/host/fault_points.h"
#include "model/host/recovery_fault_points.h"
#include "wire/fabrics/property.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/zones.h"

namespace fb::host {

namespace {

constexpr Duration kRetryDelayUnit = Duration::ms(100);
constexpr std::uint32_t kKeyedLengthMax = nvme::SglDescriptor::kKeyedLengthMax;

HostError make_error(HostError::Kind kind, std::string text) {
  HostError error;
  error.kind = kind;
  error.text = std::move(text);
  error.permanent = true;
  return error;
}

Record<fabrics::Cap> cap_of(const ControllerFacts& facts) { return record_from_integer<fabrics::Cap>(facts.cap); }

/// KATT: KATO in whole units of KAS, which is in 100 ms.
Duration keep_alive_time(std::uint32_t kato_ms, std::uint16_t kas) {
  const std::int64_t grain = std::max<std::int64_t>(std::int64_t{kas} * 100, 1);
  return Duration::ms((kato_ms + grain - 1) / grain * grain);
}

}  // namespace

// ---- Identify ----

void Controller::identify_controller() {
  const std::size_t bytes = departs(point::identify_short) ? 512 : nvme::kIdentifySize;
  start_keep_alive();
  step_read(identify(nvme::Cns::controller), bytes, [this](AdminReply& reply) {
    reply.data.resize(nvme::kIdentifySize);
    on_identified(reply);
  });
}

std::optional<HostError> Controller::take_identify(const Bytes& data) {
  using namespace nvme;
  const View<IdentifyController> id{data};
  const auto lacks = [](std::string text) { return make_error(HostError::Kind::unsupported, std::move(text)); };
  if (id.get(id_ctrl::cntlid) != facts_.cntlid && !departs(point::connect_cntlid_mismatch)) {
    return make_error(HostError::Kind::violation, "Identify names another controller than Connect");
  }
  facts_.discovery = facts_.discovery || id.get(id_ctrl::cntrltype) == ControllerType::discovery;
  const unsigned page_shift = 12 + static_cast<unsigned>(cap_of(facts_).get(fabrics::cap::mpsmin));
  const unsigned mdts = id.get(id_ctrl::mdts);
  const std::uint64_t limit = mdts == 0 ? kKeyedLengthMax : std::uint64_t{1} << std::min(mdts + page_shift, 24u);
  if (facts_.identify.empty() || !departs(point::mdts_kept)) {
    facts_.max_transfer = static_cast<std::uint32_t>(std::min<std::uint64_t>({limit, options_.transfer_max_bytes, kKeyedLengthMax}));
  }
  facts_.traffic_keep_alive = (id.get(id_ctrl::ctratt) & ctratt_bits::traffic_based_keep_alive) != 0;
  facts_.ana = (id.get(id_ctrl::cmic) & cmic_bits::ana_reporting) != 0;
  facts_.ana_transition = Duration::s(id.get(id_ctrl::anatt));
  const unsigned kas = departs(point::keep_alive_time_unrounded) ? 0u : id.get(id_ctrl::kas);
  facts_.keep_alive_time = keep_alive_time(options_.kato_ms, static_cast<std::uint16_t>(kas));
  facts_.quiesce = id.get(id_ctrl::cqt) != 0 ? Duration::ms(id.get(id_ctrl::cqt)) : options_.quiesce_unreported;
  facts_.crd[0] = kRetryDelayUnit * id.get(id_ctrl::crdt1);
  facts_.crd[1] = kRetryDelayUnit * id.get(id_ctrl::crdt2);
  facts_.crd[2] = kRetryDelayUnit * id.get(id_ctrl::crdt3);
  facts_.oncs = id.get(id_ctrl::oncs);
  facts_.fuses = id.get(id_ctrl::fuses);
  facts_.ofcs = id.get(id_ctrl::ofcs);
  facts_.oaes = id.get(id_ctrl::oaes);
  facts_.ciu = id.get(id_ctrl::ciu);
  facts_.cirn = id.get(id_ctrl::cirn);
  facts_.reset_limit = id.get(id_ctrl::ccrl);
  facts_.extended_formats = (id.get(id_ctrl::ctratt) & ctratt_bits::extended_lba_formats) != 0;
  facts_.abort_limit = static_cast<unsigned>(id.get(id_ctrl::acl).count());
  facts_.event_limit = static_cast<unsigned>(id.get(id_ctrl::aerl).count());
  facts_.identify = data;
  if (facts_.discovery) return std::nullopt;

  const std::uint32_t sgls = id.get(id_ctrl::sgls);
  if ((sgls & (sgls_bits::supported | sgls_bits::supported_dword_aligned)) == 0) {
    return lacks("the controller supports no SGLs");
  }
  if (fabric_.name() == fabrics::kRdma && (sgls & sgls_bits::keyed) == 0) {
    return lacks("the controller supports no keyed SGLs");
  }
  if (options_.kato_ms != 0 && id.get(id_ctrl::kas) == 0) {
    return lacks("the controller supports no keep alive");
  }
  if (id.get(id_ctrl::icdoff) != 0) return lacks("ICDOFF is not 0");
  if (id.get(id_ctrl::ioccsz) < 4) return lacks("IOCCSZ below one submission queue entry");
  const std::uint64_t capsule = std::uint64_t{id.get(id_ctrl::ioccsz)} * 16 - kSqeSize;
  const bool by_offset = fabric_.name() != fabrics::kRdma || (sgls & sgls_bits::offset_address) != 0 || departs(point::capsule_unclaimed);
  facts_.in_capsule_bytes = by_offset ? static_cast<std::uint32_t>(std::min<std::uint64_t>(capsule, options_.in_capsule_max_bytes)) : 0;
  if (departs(point::capsule_oversized)) {
    facts_.in_capsule_bytes = static_cast<std::uint32_t>(capsule) + 8192;
  }
  std::uint64_t entries = std::min<std::uint64_t>(options_.queue_entries, cap_of(facts_).get(fabrics::cap::mqes).count());
  const std::uint16_t maxcmd = id.get(id_ctrl::maxcmd);
  if (maxcmd != 0) entries = std::min<std::uint64_t>(entries, maxcmd);
  facts_.io_entries = static_cast<std::uint16_t>(std::max<std::uint64_t>(2, entries));
  if (departs(point::io_connect_sqsize_above_mqes)) {
    facts_.io_entries = static_cast<std::uint16_t>(cap_of(facts_).get(fabrics::cap::mqes).count() + 1);
  }
  return std::nullopt;
}

void Controller::on_identified(AdminReply& reply) {
  if (std::optional<HostError> error = take_identify(reply.data)) {
    fail(std::move(*error));
    return;
  }
  if (facts_.discovery || facts_.vs < fabrics::version(2, 0, 0)) {
    choose_command_set();
  } else {
    read_command_limits();
  }
}

void Controller::read_command_limits() {
  // CSI 0: the NVM command set.
  step_read(
      identify(nvme::Cns::command_set_controller), nvme::kIdentifySize,
      [this](AdminReply& reply) {
        if (reply.ok()) {
          const View<nvme::IdentifyControllerNvm> id{reply.data};
          const std::uint64_t page = std::uint64_t{4096} << cap_of(facts_).get(fabrics::cap::mpsmin);
          const auto bytes = [page](unsigned log2) { return log2 == 0 ? 0 : page << std::min(log2, 30u); };
          facts_.verify_max = bytes(id.get(nvme::id_ctrl_nvm::vsl));
          facts_.write_zeroes_max = bytes(id.get(nvme::id_ctrl_nvm::wzsl));
          facts_.write_uncorrectable_max = bytes(id.get(nvme::id_ctrl_nvm::wusl));
        }
        choose_command_set();
      },
      true);
}

void Controller::choose_command_set() {
  facts_.append_max = 0;
  facts_.zoned = false;
  const std::uint64_t sets = cap_of(facts_).get(fabrics::cap::css);
  if (facts_.discovery || (sets & fabrics::cap_css_bits::io_command_sets) == 0) {
    ask_queues();
    return;
  }
  auto command = identify(nvme::Cns::command_set_combinations);
  command.set(nvme::identify_sqe::cntid, 0xFFFF);
  step_read(
      command, nvme::kIdentifySize,
      [this](AdminReply& reply) {
        if (!reply.ok()) {
          ask_queues();
          return;
        }
        take_combinations(reply.data);
      },
      true);
}

/// The first combination that has most of what this host speaks beside the NVM command set: zones count more than key values.
void Controller::take_combinations(ByteView page) {
  constexpr std::uint64_t kNvm = 1, kZoned = 1u << static_cast<unsigned>(nvme::CommandSet::zoned);
  constexpr std::uint64_t kPairs = 1u << static_cast<unsigned>(nvme::CommandSet::key_value);
  std::optional<std::size_t> chosen;
  int best = -1;
  for (std::size_t i = 0; i < nvme::kCommandSetCombinationsMax; ++i) {
    const std::uint64_t sets = nvme::command_set_combination(page, i);
    if ((sets & kNvm) == 0) continue;
    const int worth = departs(point::profile_first) ? 0 : ((sets & kZoned) != 0 ? 2 : 0) + ((sets & kPairs) != 0 ? 1 : 0);
    if (worth <= best) continue;
    best = worth;
    chosen = i;
  }
  if (!chosen) {
    return fail(make_error(HostError::Kind::unsupported, "no combination with the NVM command set"));
  }
  const bool zoned = best >= 2;
  step(
      set_features(nvme::FeatureId::io_command_set_profile, static_cast<std::uint32_t>(*chosen)),
      [this, zoned](AdminReply& reply) { zoned&& reply.ok() ? read_zoned_limits() : ask_queues(); }, true);
}

void Controller::read_zoned_limits() {
  facts_.zoned = true;
  auto command = identify(nvme::Cns::command_set_controller);
  command.set(nvme::identify_sqe::csi, static_cast<std::uint8_t>(nvme::CommandSet::zoned));
  step_read(
      command, nvme::kIdentifySize,
      [this](AdminReply& reply) {
        if (reply.ok()) {
          const unsigned zasl = View<nvme::IdentifyControllerZoned>{reply.data}.get(nvme::id_ctrl_zoned::zasl);
          const unsigned shift = 12 + static_cast<unsigned>(cap_of(facts_).get(fabrics::cap::mpsmin));
          const std::uint64_t limit = std::uint64_t{1} << std::min(zasl + shift, 30u);
          facts_.append_max = std::min<std::uint64_t>(facts_.max_transfer, zasl != 0 ? limit : facts_.max_transfer);
        }
        read_zoned_commands();
      },
      true);
}

/// Zone Append is an optional command, which no bit of Identify claims.
void Controller::read_zoned_commands() {
  const View<nvme::IdentifyController> id{facts_.identify};
  if ((id.get(nvme::id_ctrl::lpa) & nvme::lpa_bits::commands_effects) == 0) return ask_queues();
  auto command = get_log(nvme::LogPage::commands_effects, nvme::CommandEffects::size);
  command.set(nvme::get_log_sqe::csi, static_cast<std::uint8_t>(nvme::CommandSet::zoned));
  step_read(
      command, nvme::CommandEffects::size,
      [this](AdminReply& reply) {
        constexpr auto kAppend = static_cast<std::size_t>(nvme::IoOpcode::zone_append);
        const bool append =
            reply.ok() && element<nvme::CommandEffect>(reply.data, nvme::command_effects::iocs, kAppend).get(nvme::command_effect::csupp);
        if (!append) facts_.append_max = 0;
        ask_queues();
      },
      true);
}

// ---- I/O queues ----

void Controller::ask_queues() {
  io_wanted_ = facts_.discovery ? 0 : options_.io_queues;
  if (io_wanted_ == 0 || departs(point::number_of_queues_unasked)) {
    connect_next_io_queue();
    return;
  }
  Record<nvme::NumberOfQueues> wish;
  const auto count = ZeroBased<std::uint16_t>::of(io_wanted_);
  wish.set(nvme::number_of_queues::nsqr, count).set(nvme::number_of_queues::ncqr, count);
  if (departs(point::number_of_queues_reserved)) {
    wish.set(nvme::number_of_queues::nsqr, 0xFFFF).set(nvme::number_of_queues::ncqr, 0xFFFF);
  }
  step(set_features(nvme::FeatureId::number_of_queues, static_cast<std::uint32_t>(integer_of(wish))), [this](AdminReply& reply) {
    const auto granted = record_from_integer<nvme::NumberOfQueues>(reply.dw0());
    const std::uint64_t pairs =
        std::min(granted.get(nvme::number_of_queues::nsqr).count(), granted.get(nvme::number_of_queues::ncqr).count());
    io_wanted_ = static_cast<std::uint16_t>(std::min<std::uint64_t>(io_wanted_, pairs));
    if (departs(point::number_of_queues_ignored)) {
      io_wanted_ = static_cast<std::uint16_t>(pairs + 1);
    }
    connect_next_io_queue();
  });
}

void Controller::connect_next_io_queue() {
  // After a reset the old queues must be gone before their identifiers are used again.
  if (!buried_.empty()) {
    io_waits_for_buried_ = true;
    return;
  }
  facts_.io_queues = static_cast<std::uint16_t>(io_.size());
  if (io_.size() >= io_wanted_) {
    announce_behavior();
    return;
  }
  QueueOptions queue;
  queue.qid = static_cast<std::uint16_t>(io_.size() + 1);
  queue.entries = facts_.io_entries;
  queue.cntlid = facts_.cntlid;
  queue.in_capsule_bytes = facts_.in_capsule_bytes;
  queue.remote_invalidate = options_.remote_invalidate;
  queue.command_timeout = options_.io_timeout;
  queue.hooks = host_.hooks;
  secure(queue);
  io_.push_back(std::make_unique<Queue>(world_, fabric_, static_cast<QueueHandler&>(*this), queue));
  polling_ = Polling::transport;
  world_.loop().schedule_after(step_timer_, options_.connect_timeout);
  io_.back()->open(options_.to);
}

void Controller::on_io_connected(Queue& queue, AdminReply& reply) {
  if (reply.ok()) {
    const View<fabrics::ConnectReply> accepted = reply.cqe.as<fabrics::ConnectReply>();
    authenticate(queue, accepted.get(fabrics::connect_reply::authreq), [this] { connect_next_io_queue(); });
    return;
  }
  if (io_.size() < 2) {
    fail(refusal(reply, queue.qid()));
    return;
  }
  note("goes on with fewer I/O queues: " + refusal(reply, queue.qid()).text);
  io_wanted_ = static_cast<std::uint16_t>(io_.size() - 1);
  std::unique_ptr<Queue> refused = std::move(io_.back());
  io_.pop_back();
  bury(std::move(refused));
  connect_next_io_queue();
}

// ---- Features and state ----

/// Host Behavior Support, where there is something to enable.
void Controller::announce_behavior() {
  const bool announced = facts_.crd[0] > Duration() || facts_.crd[1] > Duration() || facts_.crd[2] > Duration();
  if ((!announced && !facts_.extended_formats) || facts_.discovery) {
    configure_events();
    return;
  }
  Record<nvme::HostBehavior> behavior;
  behavior.set(nvme::host_behavior::acre, announced ? 1 : 0);
  behavior.set(nvme::host_behavior::lbafee, facts_.extended_formats ? 1 : 0);
  step(
      as_sqe(set_features(nvme::FeatureId::host_behavior_support, 0)), Bytes(behavior.bytes().begin(), behavior.bytes().end()),
      transport::Direction::to_controller,
      [this, announced](AdminReply& reply) {
        facts_.retry_delays = announced && reply.ok();
        configure_events();
      },
      true);
}

void Controller::configure_events() {
  namespace bits = nvme::event_config_bits;
  if (facts_.discovery && options_.kato_ms == 0) {  // not persistent: no events
    read_state_of_namespaces();
    return;
  }
  std::uint32_t wanted = bits::namespace_attribute | bits::firmware_activation | bits::ana_change | bits::discovery_log;
  if (facts_.zoned) wanted |= bits::zone_descriptor;
  const bool follows_resets = facts_.reset_limit != 0 && options_.cross_controller_reset && !departs(point::reset_log_unread);
  if (follows_resets) wanted |= bits::cross_controller_reset;
  wanted &= facts_.oaes;
  if (!facts_.discovery) wanted |= 0x1F;  // every critical warning of SMART
  if (departs(point::aer_config_unsupported)) {
    wanted |= ~facts_.oaes & (bits::zone_descriptor | bits::endurance_group | bits::telemetry);
  }
  step(
      set_features(nvme::FeatureId::async_event_configuration, wanted),
      [this](AdminReply&) {
        arm_events();
        read_state_of_namespaces();
      },
      true);
}

void Controller::read_state_of_namespaces() {
  const auto then_scan = [this] {
    if (facts_.discovery || !options_.scan_namespaces || io_.empty()) {
      become_live();
    } else {
      scan([this] { become_live(); });
    }
  };
  if (facts_.ana) {
    read_ana(then_scan);
  } else {
    then_scan();
  }
}

void Controller::become_live() {
  if (state_ != ControllerState::configuring) return;
  was_live_ = true;
  busy_ = 0;
  delay_ = options_.reconnect_delay;
  error_ = {};
  move(ControllerEvent::configured);
  if (connect_promise_) connect_promise_.settle(this);
  for (auto& promise : std::exchange(reset_promises_, {})) promise.settle({});
}

}  // namespace fb::host
