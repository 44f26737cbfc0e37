// Initialisation in the order of NVMe Base 3.5.2, first half: Connect, properties, CC, CSTS.RDY.
#include "model/host/controller_admin.h"
#include "model/host/fault_points.h"
#include "wire/fabrics/property.h"

namespace fb::host {

namespace {

constexpr Duration kPollFirst = Duration::us(500);
constexpr Duration kPollMax = Duration::ms(100);
constexpr Duration kTimeoutUnit = Duration::ms(500);
/// Bits of CAP that have no meaning, and that a host therefore does not look at.
constexpr std::uint64_t kCapReserved = std::uint64_t{3} << 62 | std::uint64_t{0x1F} << 19;

HostError make_error(HostError::Kind kind, std::string text, bool permanent = true) {
  HostError error;
  error.kind = kind;
  error.text = std::move(text);
  error.permanent = permanent;
  return error;
}

Record<fabrics::Cap> cap_of(const ControllerFacts& facts) { return record_from_integer<fabrics::Cap>(facts.cap); }

}  // namespace

// ---- Connect ----

Bytes Controller::connect_bytes(std::uint16_t qid, std::uint16_t entries, nvme::Sqe& sqe) {
  ConnectArguments arguments;
  arguments.qid = qid;
  arguments.entries = entries;
  arguments.hostid = host_.hostid;
  arguments.hostnqn = host_.hostnqn;
  arguments.subnqn = options_.subnqn;
  if (options_.disable_sq_flow_control) {
    arguments.cattr |= fabrics::cattr_bits::disable_sq_flow_control;
  }
  if (options_.individual_queue_deletion) {
    arguments.cattr |= fabrics::cattr_bits::individual_queue_deletion;
  }
  std::string other_name = host_.hostnqn;
  if (qid == 0) {
    arguments.cntlid = options_.cntlid;
    arguments.kato_ms = departs(point::connect_kato_zero) ? 0 : options_.kato_ms;
    if (departs(point::connect_hostid_zero)) arguments.hostid = {};
  } else {
    arguments.cntlid = facts_.cntlid;
    if (departs(point::io_connect_cntlid)) arguments.cntlid = fabrics::kAnyController;
    if (departs(point::io_connect_kato)) arguments.kato_ms = options_.kato_ms + 1000;
    if (departs(point::io_connect_hostid)) arguments.hostid[3] ^= 0xFF;
    if (departs(point::io_connect_hostnqn)) {
      other_name.back() = other_name.back() == '0' ? '1' : '0';
      arguments.hostnqn = other_name;
    }
  }
  ConnectCommand made = host::connect(arguments);
  if (departs(point::connect_recfmt)) made.sqe.set(fabrics::connect_sqe::recfmt, 1);
  if (departs(point::connect_sqsize_zero)) made.sqe.set(fabrics::connect_sqe::sqsize, 0);
  if (departs(point::connect_sqsize_mismatch)) {
    made.sqe.set(fabrics::connect_sqe::sqsize, entries - 2);
  }
  if (qid == 0 && departs(point::connect_admin_qid)) made.sqe.set(fabrics::connect_sqe::qid, 1);
  Bytes data(made.data.bytes().begin(), made.data.bytes().end());
  if (departs(point::connect_nqn_unterminated)) {
    for (const std::size_t field : {std::size_t{256}, std::size_t{512}}) {
      for (std::size_t at = field; at < field + fabrics::kNqnFieldSize; ++at) {
        if (data[at] == 0) data[at] = 'x';
      }
    }
  }
  if (departs(point::connect_data_short)) data.resize(512);
  sqe = as_sqe(made.sqe);
  return data;
}

void Controller::connect_admin() {
  if (departs(point::connect_property_first)) {
    call_here(as_sqe(property_get(fabrics::property::cap)), {}, transport::Direction::none, [](AdminReply&) {});
  }
  nvme::Sqe sqe;
  Bytes data = connect_bytes(0, admin_->entries(), sqe);
  if (departs(point::connect_twice)) {
    call_here(sqe, data, transport::Direction::to_controller, [](AdminReply&) {});
  }
  call_here(sqe, std::move(data), transport::Direction::to_controller, [this](AdminReply& reply) {
    if (reply.answered) on_admin_connected(reply);
  });
  if (departs(point::connect_unawaited)) {
    call_here(as_sqe(property_get(fabrics::property::cap)), {}, transport::Direction::none, [](AdminReply&) {});
  }
}

HostError Controller::refusal(const AdminReply& reply, std::uint16_t qid) const {
  HostError error;
  error.kind = HostError::Kind::refused;
  error.status = reply.status();
  error.text = "Connect of queue " + std::to_string(qid) + " refused: " + nvme::to_string(reply.status());
  if (same_code(error.status, nvme::sc::connect_invalid_parameters)) {
    error.parameter = fabrics::InvalidParameter::from_dw0(reply.dw0());
    error.text += ", offset " + std::to_string(error.parameter.offset) + (error.parameter.in_data ? " of the data" : " of the command");
  }
  // Busy passes; what is wrong with our parameters, our name or the format does not. An I/O queue whose admin queue was
  // taken may be refused because the controller has gone meanwhile: a new association gets a new one.
  const bool ours = error.status.sct() == 1 && !same_code(error.status, nvme::sc::controller_busy);
  error.permanent = qid == 0 && (error.status.dnr() || ours);
  return error;
}

void Controller::on_admin_connected(AdminReply& reply) {
  if (!reply.ok()) {
    fail(refusal(reply, 0));
    return;
  }
  const View<fabrics::ConnectReply> accepted = reply.cqe.as<fabrics::ConnectReply>();
  const std::uint16_t cntlid = accepted.get(fabrics::connect_reply::cntlid);
  if (cntlid >= fabrics::kFirstReservedController && !departs(point::connect_cntlid_reserved)) {
    fail(make_error(HostError::Kind::violation, "Connect names a reserved controller identifier"));
    return;
  }
  const bool asked = options_.cntlid < fabrics::kFirstReservedController;
  if (asked && cntlid != options_.cntlid && !departs(point::connect_cntlid_reserved)) {
    fail(make_error(HostError::Kind::violation, "Connect names another controller than asked for"));
    return;
  }
  // What was known of it stands until Identify tells anew: users ask for commands meanwhile.
  facts_.cntlid = cntlid;
  facts_.subnqn = options_.subnqn;
  facts_.discovery = options_.subnqn == fabrics::kDiscoveryNqn;
  namespaces_.clear();
  events_out_ = 0;
  traffic_seen_ = 0;
  authenticate(*admin_, accepted.get(fabrics::connect_reply::authreq), [this] {
    move(ControllerEvent::connected);
    read_properties();
  });
}

// ---- Properties ----

void Controller::read_properties() {
  auto cap = departs(point::property_cap_size) ? property_get(fabrics::property::cap, fabrics::PropertySize::four)
                                               : property_get(fabrics::property::cap);
  step(cap, [this](AdminReply& cap_reply) {
    facts_.cap = cap_reply.value();
    if ((facts_.cap & kCapReserved) != 0 && departs(point::property_cap_reserved)) {
      return fail(make_error(HostError::Kind::unsupported, "unknown capabilities"));
    }
    step(property_get(fabrics::property::vs), [this](AdminReply& vs_reply) {
      facts_.vs = vs_reply.dw0();
      if (!cap_of(facts_).get(fabrics::cap::crwms)) {
        enable(ready_limit());
        return;
      }
      step(
          property_get(fabrics::property::crto),
          [this](AdminReply& crto_reply) {
            const auto crto = record_from_integer<fabrics::Crto>(crto_reply.dw0());
            Duration limit = ready_limit();
            if (crto_reply.ok()) {
              limit = std::max(limit, kTimeoutUnit * crto.get(fabrics::crto::crwmt));
            }
            enable(limit);
          },
          true);
    });
  });
}

Duration Controller::ready_limit() const {
  // CAP.TO of 0 would leave no time at all: one unit at least.
  const std::uint64_t units = std::max<std::uint64_t>(1, cap_of(facts_).get(fabrics::cap::to));
  return kTimeoutUnit * static_cast<std::int64_t>(units);
}

std::uint32_t Controller::configuration() const {
  const Record<fabrics::Cap> cap = cap_of(facts_);
  Record<fabrics::Cc> cc;
  cc.set(fabrics::cc::en, true);
  const std::uint64_t sets = cap.get(fabrics::cap::css);
  if ((sets & fabrics::cap_css_bits::io_command_sets) != 0) {
    cc.set(fabrics::cc::css, fabrics::CommandSetSelected::all);
  } else if ((sets & fabrics::cap_css_bits::no_io_command_set) != 0) {
    cc.set(fabrics::cc::css, fabrics::CommandSetSelected::admin_only);
  }
  // A discovery controller has no I/O queues: page and entry sizes stay 0.
  if (!facts_.discovery) {
    cc.set(fabrics::cc::mps, cap.get(fabrics::cap::mpsmin))
        .set(fabrics::cc::iosqes, fabrics::kIoSqEntrySizeLog2)
        .set(fabrics::cc::iocqes, fabrics::kIoCqEntrySizeLog2);
  }
  if (departs(point::enable_css)) cc.set(fabrics::cc::css, 3);
  if (departs(point::enable_mps)) cc.set(fabrics::cc::mps, cap.get(fabrics::cap::mpsmax) + 1);
  if (departs(point::enable_iosqes)) cc.set(fabrics::cc::iosqes, 5);
  if (departs(point::enable_iocqes)) cc.set(fabrics::cc::iocqes, 5);
  return static_cast<std::uint32_t>(integer_of(cc));
}

void Controller::enable(Duration limit) {
  const auto look = [this] {
    call_here(as_sqe(identify(nvme::Cns::controller)), Bytes(nvme::kIdentifySize), transport::Direction::from_controller,
              [](AdminReply&) {});
  };
  if (departs(point::identify_before_enable)) look();
  step(property_set(fabrics::property::cc, configuration()), [this, limit, look](AdminReply&) {
    step_deadline_ = world_.now() + (departs(point::ready_impatient) ? std::min(limit, kTimeoutUnit) : limit);
    poll_interval_ = kPollFirst;
    if (departs(point::identify_before_ready)) look();
    if (departs(point::io_connect_before_ready)) {
      facts_.io_entries = options_.queue_entries;
      io_wanted_ = 1;
      move(ControllerEvent::ready);
      connect_next_io_queue();
      return;
    }
    poll_ready();
  });
}

void Controller::poll_ready() {
  step(property_get(fabrics::property::csts), [this](AdminReply& reply) {
    const auto csts = record_from_integer<fabrics::Csts>(reply.dw0());
    if (csts.get(fabrics::csts::cfs) && !departs(point::ready_fatal_ignored)) {
      fail(make_error(HostError::Kind::violation, "CSTS.CFS: fatal status while enabling", false));
      return;
    }
    if (csts.get(fabrics::csts::rdy)) {
      move(ControllerEvent::ready);
      identify_controller();
      return;
    }
    if (world_.now() >= step_deadline_ && !departs(point::ready_waited_for_ever)) {
      fail(make_error(HostError::Kind::timeout, "CSTS.RDY stays 0 beyond the announced time", false));
      return;
    }
    polling_ = Polling::ready;
    world_.loop().schedule_after(step_timer_, poll_interval_);
    poll_interval_ = std::min(poll_interval_ * 2, kPollMax);
  });
}

}  // namespace fb::host
