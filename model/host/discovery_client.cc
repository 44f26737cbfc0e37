#include "model/host/discovery_client.h"

#include <algorithm>

#include "model/host/fault_points.h"
#include "wire/fabrics/transports.h"

namespace fb::host {

namespace {

/// A log that will not hold still is given up after this many readings.
constexpr unsigned kReadings = 10;
/// More entries than this is not a discovery log.
constexpr std::uint64_t kEntriesMax = 65536;
/// A circle of referrals, with the departure on, would never end: this ends it.
constexpr unsigned kServicesMax = 256;

template <class F>
std::string field_text(const View<fabrics::DiscoveryEntry>& entry, const F& field) {
  return text_of(entry.get(field));
}

}  // namespace

Result<ConnectOptions, HostError> options_for(Host& host, const DiscoveredEntry& entry, ConnectOptions options) {
  options.to = entry.to;
  options.subnqn = entry.subnqn;
  const bool required = (entry.treq & fabrics::treq_bits::secure_channel_mask) == fabrics::treq_bits::secure_channel_required;
  HostHooks* const hooks = host.options().hooks;
  if (hooks != nullptr && hooks->departs(point::discovery_tls_ignored)) {
    options.tls = TlsUse::never;
    return options;
  }
  if (host.fabric().secures() && !options.authentication.secure_channel) {
    options.tls = TlsUse::always;
  } else if (required) {
    HostError error;
    error.kind = HostError::Kind::unsupported;
    error.permanent = true;
    error.text = entry.subnqn + " at " + to_string(entry.to) + " requires a secure channel, and this host has no TLS keys";
    return Failure{std::move(error)};
  }
  return options;
}

/// One log that is being read.
struct DiscoveryClient::Reading {
  Controller* controller = nullptr;
  unsigned left = kReadings;
  unsigned reads = 0;
  std::uint64_t genctr = 0;
  std::uint64_t entries = 0;
  Bytes log;
  std::function<void(DiscoveryResult)> done;
};

DiscoveryClient::DiscoveryClient(Host& host) : host_(host) { host_.add_listener(*this); }
DiscoveryClient::~DiscoveryClient() { host_.remove_listener(*this); }

Op<DiscoveryClient::Outcome> DiscoveryClient::discover(const DiscoveryOptions& options) {
  auto made = make_op<Outcome>(host_.world(), "discovery at " + to_string(options.to));
  BENCH_ASSERT(!promise_, "one discovery at a time");
  options_ = options;
  promise_ = std::move(made.promise);
  result_ = {};
  asked_.clear();
  todo_.assign(1, Service{options.to, options.subnqn, 0, options.tls});
  ask_next();
  return made.op;
}

bool DiscoveryClient::seen(const Service& service) const {
  return std::any_of(asked_.begin(), asked_.end(),
                     [&](const Service& old) { return old.to == service.to && old.subnqn == service.subnqn; });
}

void DiscoveryClient::ask_next() {
  if (todo_.empty() || asked_.size() >= kServicesMax) {
    finish();
    return;
  }
  current_ = todo_.front();
  todo_.erase(todo_.begin());
  asked_.push_back(current_);
  const bool stays = options_.persistent && asked_.size() == 1;
  ConnectOptions connect;
  connect.to = current_.to;
  connect.subnqn = current_.subnqn;
  connect.io_queues = 0;
  connect.kato_ms = stays ? options_.kato_ms : 0;
  connect.transfer_max_bytes = options_.part_bytes;
  connect.admin_timeout = options_.admin_timeout;
  connect.scan_namespaces = false;
  connect.authentication = options_.authentication;
  connect.tls = current_.tls;
  if (current_.subnqn == fabrics::kDiscoveryNqn) {
    connect.authentication.controller_secret.reset();
    connect.authentication.required = false;
  }
  host_.connect(connect).on_settled(while_alive([this, stays](const Controller::Outcome& outcome) {
    if (!outcome.ok()) {
      if (asked_.size() == 1) {
        promise_.settle(Failure{outcome.error()});
        return;
      }
      result_.unreachable.push_back(outcome.error());
      ask_next();
      return;
    }
    Controller* const controller = outcome.value();
    if (stays) persistent_ = controller;
    auto reading = std::make_shared<Reading>();
    reading->controller = controller;
    reading->done = [this, controller](DiscoveryResult result) { service_done(*controller, std::move(result)); };
    read_header(std::move(reading));
  }));
}

// ---- One log ----

bool DiscoveryClient::failed(std::shared_ptr<Reading> reading, AdminReply& reply, bool& restart) {
  restart = false;
  if (reply.ok()) return false;
  if (reply.answered && same_code(reply.status(), nvme::sc::discover_restart)) {
    if (reading->controller->departs(point::discovery_restart_ignored)) {
      reading->log.assign(fabrics::DiscoveryHeader::size, 0);
      finish_reading(reading);
      return true;
    }
    restart = true;
    return true;
  }
  HostError error;
  error.kind = reply.answered ? HostError::Kind::command : HostError::Kind::transport;
  error.status = reply.status();
  error.text = reply.answered ? "discovery log page: " + nvme::to_string(reply.status())
                              : std::string("the connection ended while the log was read");
  fail_reading(reading, std::move(error));
  return true;
}

void DiscoveryClient::again(std::shared_ptr<Reading> reading) {
  host_.world().trace().mark("host.discovery.reread");
  if (--reading->left == 0) {
    HostError error;
    error.kind = HostError::Kind::violation;
    error.text = "the discovery log changes faster than it can be read";
    fail_reading(reading, std::move(error));
    return;
  }
  read_header(std::move(reading));
}

void DiscoveryClient::read_header(std::shared_ptr<Reading> reading) {
  reading->controller->call_log(
      nvme::LogPage::discovery, fabrics::DiscoveryHeader::size, 0, while_alive([this, reading](AdminReply& reply) {
        bool restart = false;
        if (failed(reading, reply, restart)) {
          if (restart) again(reading);
          return;
        }
        const View<fabrics::DiscoveryHeader> header{reply.data};
        reading->genctr = header.get(fabrics::discovery_header::genctr);
        reading->entries = header.get(fabrics::discovery_header::numrec);
        const bool known = header.get(fabrics::discovery_header::recfmt) == 0;
        if (!known || reading->entries > kEntriesMax) {
          HostError error;
          error.kind = HostError::Kind::violation;
          error.text = known ? "the discovery log claims too many entries" : "the discovery log has an unknown record format";
          fail_reading(reading, std::move(error));
          return;
        }
        if (reading->entries == 0) {
          reading->log = std::move(reply.data);
          ++reading->reads;
          finish_reading(reading);
          return;
        }
        read_whole(reading);
      }));
}

void DiscoveryClient::read_whole(std::shared_ptr<Reading> reading) {
  const auto length = static_cast<std::uint32_t>(fabrics::DiscoveryHeader::size + reading->entries * fabrics::DiscoveryEntry::size);
  reading->controller->call_log(nvme::LogPage::discovery, length, 0, while_alive([this, reading](AdminReply& reply) {
                                  bool restart = false;
                                  if (failed(reading, reply, restart)) {
                                    if (restart) again(reading);
                                    return;
                                  }
                                  ++reading->reads;
                                  reading->log = std::move(reply.data);
                                  check_generation(reading);
                                }));
}

void DiscoveryClient::check_generation(std::shared_ptr<Reading> reading) {
  // The parts may be of different moments; the generation counter tells.
  reading->controller->call_log(nvme::LogPage::discovery, fabrics::DiscoveryHeader::size, 0,
                                while_alive([this, reading](AdminReply& reply) {
                                  bool restart = false;
                                  if (failed(reading, reply, restart)) {
                                    if (restart) again(reading);
                                    return;
                                  }
                                  const View<fabrics::DiscoveryHeader> header{reply.data};
                                  const View<fabrics::DiscoveryHeader> first{reading->log};
                                  const std::uint64_t now = header.get(fabrics::discovery_header::genctr);
                                  const bool still = now == reading->genctr && now == first.get(fabrics::discovery_header::genctr);
                                  if (!still && !reading->controller->departs(point::discovery_genctr_ignored)) {
                                    again(reading);
                                    return;
                                  }
                                  finish_reading(reading);
                                }));
}

void DiscoveryClient::finish_reading(std::shared_ptr<Reading> reading) {
  DiscoveryResult result = parse(reading->log);
  result.log_reads = reading->reads;
  reading->done(std::move(result));
}

void DiscoveryClient::fail_reading(std::shared_ptr<Reading> reading, HostError error) {
  if (rereading_ && reading->controller == persistent_) {
    rereading_ = false;
    return;
  }
  if (reading->controller != persistent_ || promise_) reading->controller->disconnect();
  if (asked_.size() == 1) {
    if (promise_) promise_.settle(Failure{std::move(error)});
    return;
  }
  result_.unreachable.push_back(std::move(error));
  ask_next();
}

DiscoveryResult DiscoveryClient::parse(ByteView log) const {
  DiscoveryResult result;
  const View<fabrics::DiscoveryHeader> header{log};
  result.genctr = header.get(fabrics::discovery_header::genctr);
  const std::uint64_t count = header.get(fabrics::discovery_header::numrec);
  const fabrics::TransportType ours = fabrics::transport_named(host_.fabric().name()).type;
  const bool any_transport = host_.options().hooks != nullptr && host_.options().hooks->departs(point::discovery_trtype_any);
  const bool any_port = host_.options().hooks != nullptr && host_.options().hooks->departs(point::discovery_trsvcid_any);
  for (std::uint64_t i = 0; i < count; ++i) {
    const ByteView bytes = fabrics::discovery_entry_at(log, i);
    if (bytes.empty()) break;
    namespace field = fabrics::discovery_entry;
    const View<fabrics::DiscoveryEntry> entry{bytes};
    DiscoveredEntry made;
    made.trtype = entry.get(field::trtype);
    made.adrfam = entry.get(field::adrfam);
    made.subtype = entry.get(field::subtype);
    made.portid = entry.get(field::portid);
    made.cntlid = entry.get(field::cntlid);
    made.asqsz = entry.get(field::asqsz);
    made.treq = entry.get(field::treq);
    made.eflags = entry.get(field::eflags);
    if (made.trtype == fabrics::TransportType::tcp) {
      made.sectype = View<fabrics::TcpDiscoveryEntry>{bytes}.get(field::sectype);
    }
    made.subnqn = fabrics::terminated_text(entry.get(field::subnqn)).value_or("");
    made.traddr = field_text(entry, field::traddr);
    made.trsvcid = field_text(entry, field::trsvcid);
    const auto address = IpAddress::parse(made.traddr);
    auto port = fabrics::decimal_port(entry.get(field::trsvcid));
    if (!port && any_port) port = std::uint16_t{4420};
    made.usable = (made.trtype == ours || any_transport) && address.has_value() && port.has_value() && !made.subnqn.empty();
    if (made.usable) made.to = Endpoint{*address, *port};
    result.entries.push_back(std::move(made));
  }
  return result;
}

// ---- Several services ----

void DiscoveryClient::service_done(Controller& controller, DiscoveryResult result) {
  if (asked_.size() == 1) result_.genctr = result.genctr;
  ++result_.services;
  result_.log_reads += result.log_reads;
  result_.entries.insert(result_.entries.end(), result.entries.begin(), result.entries.end());
  add_referrals(result, current_.depth);
  if (&controller == persistent_ || controller.departs(point::discovery_left_connected)) {
    ask_next();
    return;
  }
  // A connection without persistence is short. The next service waits until it is gone.
  controller.shutdown().on_settled(while_alive([this](const Result<void, HostError>&) { ask_next(); }));
}

void DiscoveryClient::add_referrals(const DiscoveryResult& result, unsigned depth) {
  if (!options_.follow_referrals) return;
  HostHooks* const hooks = host_.options().hooks;
  const auto departs = [hooks](std::string_view name) { return hooks != nullptr && hooks->departs(name); };
  if (depth >= options_.referral_depth) return;
  for (const DiscoveredEntry& entry : result.entries) {
    if (entry.subtype != fabrics::SubsystemType::referral || !entry.usable) continue;
    auto secured = options_for(host_, entry, {.authentication = options_.authentication});
    if (!secured) {
      result_.unreachable.push_back(secured.error());
      continue;
    }
    Service next{entry.to, entry.subnqn, depth + 1, secured->tls};
    const bool queued =
        std::any_of(todo_.begin(), todo_.end(), [&](const Service& other) { return other.to == next.to && other.subnqn == next.subnqn; });
    if ((seen(next) || queued) && !departs(point::discovery_referral_loop)) continue;
    todo_.push_back(std::move(next));
  }
}

void DiscoveryClient::finish() {
  if (promise_) promise_.settle(std::move(result_));
}

// ---- Persistent ----

void DiscoveryClient::on_event(Controller& controller, const nvme::Event& event, ByteView) {
  if (&controller != persistent_ || event.type != nvme::EventType::notice || event.info != nvme::event_info::notice_discovery_log ||
      controller.departs(point::discovery_event_ignored)) {
    return;
  }
  read_again(controller);
}

void DiscoveryClient::read_again(Controller& controller) {
  if (rereading_) {
    read_again_ = true;
    return;
  }
  rereading_ = true;
  auto reading = std::make_shared<Reading>();
  reading->controller = persistent_;
  reading->done = [this, &controller](DiscoveryResult result) {
    rereading_ = false;
    host_.world().trace().mark("host.discovery.changed");
    if (on_change_) on_change_(result);
    if (std::exchange(read_again_, false)) read_again(controller);
  };
  read_header(std::move(reading));
}

void DiscoveryClient::on_state(Controller& controller, ControllerState state) {
  if (&controller != persistent_) return;
  if (state == ControllerState::gone) persistent_ = nullptr;
  if (state == ControllerState::recovering) was_lost_ = true;
  // Nobody told us of what changed while the connection was away.
  if (state == ControllerState::live && std::exchange(was_lost_, false) && !promise_) read_again(controller);
}

void DiscoveryClient::leave() {
  if (persistent_ != nullptr) persistent_->shutdown();
}

}  // namespace fb::host
