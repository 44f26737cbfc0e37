// Connect of I/O queues.
#include "conformance/cases/fabrics/common.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

constexpr fabrics::InvalidParameter kSqsize = fabrics::InvalidParameter::in_command(cs::sqsize);

/// The answer to an I/O Connect on a fresh transport connection.
host::RawReply try_io(Check& check, RawAssociation& association, const host::ConnectCommand& command) {
  return answered(check, association.io_transport().send(command).wait());
}

}  // namespace

CONFORMANCE_CASE(io_connect_refuses_sqsize_zero, "fabrics.connect.sqsize.minimum-io", roles::controller,
                 reaches{"connect.sqsize.minimum"}) {
  RawAssociation& association = bench.associate();
  host::ConnectCommand command = association.io_connect();
  command.sqe.set(cs::sqsize, 0u);
  expect_invalid_parameter(check, try_io(check, association, command), kSqsize);
}

CONFORMANCE_CASE(io_connect_refuses_queue_above_mqes, "fabrics.connect.sqsize.above-mqes", roles::controller, needs{&mqes_within_bench}) {
  RawAssociation& association = bench.associate();
  const auto entries = static_cast<std::uint16_t>(bench.declared().queue_entries_max() + 1);
  std::vector<std::uint16_t> queues{bench.io_qid()};
  const std::uint32_t last = std::max(bench.io_qid(), bench.io_qid(1)) - 1u;
  const auto granted = association.admin().send(host::set_features(nvme::FeatureId::number_of_queues, last << 16 | last)).wait();
  if (granted.ok() && (granted.dw0() & 0xFFFF) >= last && (granted.dw0() >> 16) >= last) queues.push_back(bench.io_qid(1));
  for (const std::uint16_t qid : queues) {
    host::RawQueue& queue = bench.unconnected_queue({.qid = qid, .entries = entries, .cntlid = association.cntlid()});
    const host::RawConnection made = queue.connect_transport().wait();
    if (!made.connected) {
      check.equal("NVMe/RDMA status of the reject", made.end.status,
                  static_cast<std::uint16_t>(fabrics::RdmaRejectStatus::invalid_hsqsize));
      continue;
    }
    expect_invalid_parameter(check, queue.send(association.io_connect(qid, entries)).wait(), kSqsize);
  }
}

CONFORMANCE_CASE(io_connect_takes_queue_of_mqes, "fabrics.connect.sqsize.mqes", roles::controller, needs{&mqes_within_bench}) {
  RawAssociation& association = bench.associate();
  const auto entries = static_cast<std::uint16_t>(bench.declared().queue_entries_max());
  host::RawQueue& queue = bench.unconnected_queue({.qid = bench.io_qid(), .entries = entries, .cntlid = association.cntlid()});
  const host::RawConnection made = queue.connect_transport().wait();
  check.require(made.connected, "the transport connection is accepted", made.end.text);
  check.success(answered(check, queue.send(association.io_connect({}, entries)).wait()));
}

CONFORMANCE_CASE(io_connect_refuses_queue_beyond_limit, "fabrics.connect.qid.above-limit", roles::controller) {
  RawAssociation& association = bench.associate();
  host::ConnectCommand command = association.io_connect();
  command.sqe.set(cs::qid, 0xFFFEu);
  const host::RawReply reply = try_io(check, association, command);
  check.status(reply, one_of(sc::connect_invalid_parameters, sc::invalid_queue_identifier));
  if (nvme::same_code(reply.status(), sc::connect_invalid_parameters)) {
    expect_invalid_parameter(check, reply, fabrics::InvalidParameter::in_command(cs::qid));
  }
}

CONFORMANCE_CASE(io_connect_refuses_queue_in_use, "fabrics.connect.qid.duplicate", roles::controller, needs{&a_namespace},
                 reaches{"connect.io.qid.exists"}) {
  RawAssociation& association = bench.associate();
  const std::uint32_t last = std::max(bench.io_qid(), bench.io_qid(1)) - 1u;
  const auto granted = association.admin().send(host::set_features(nvme::FeatureId::number_of_queues, last << 16 | last)).wait();
  host::RawQueue& first = association.open_io();
  check.status(try_io(check, association, association.io_connect()),
               one_of(sc::invalid_queue_identifier, sc::command_sequence_error, sc::connect_invalid_parameters));
  const host::RawReply reply = first.send(host::flush(bench.nsid())).wait();
  check.success(answered(check, reply, "the first queue"), "the first queue goes on");
  if (!granted.ok() || (granted.dw0() & 0xFFFF) < last || granted.dw0() >> 16 < last) return;
  host::RawQueue& second = association.open_io(bench.io_qid(1));
  const auto again = association.io_transport(bench.io_qid(1)).send(association.io_connect(bench.io_qid(1))).wait();
  check.status(answered(check, again), one_of(sc::invalid_queue_identifier, sc::command_sequence_error, sc::connect_invalid_parameters),
               "Connect to the second queue once more");
  check.success(answered(check, second.send(host::flush(bench.nsid())).wait(), "the second queue"), "the second queue goes on");
}

CONFORMANCE_CASE(io_connect_is_refused_before_enable, "fabrics.connect.io-before-enable", roles::controller, reaches{"connect.io.ready"}) {
  RawAssociation& association = bench.associate({.enable = false});
  check.precondition(association.cntlid() < fabrics::kFirstReservedController, "the Connect response names a controller");
  check.status(try_io(check, association, association.io_connect()), sc::connect_invalid_parameters);
}

CONFORMANCE_CASE(io_connect_refuses_other_hostnqn, "fabrics.connect.io-other-hostnqn", roles::controller, reaches{"connect.io.hostnqn"}) {
  RawAssociation& association = bench.associate();
  host::ConnectCommand command = association.io_connect();
  Bytes name(fabrics::kNqnFieldSize);
  const std::string other = "nqn.2014-08.org.nvmexpress:uuid:0badcafe-0000-4000-8000-00000000beef";
  std::copy(other.begin(), other.end(), name.begin());
  command.data.set(cd::hostnqn, ByteView{name});
  const host::RawReply reply = try_io(check, association, command);
  // A controller that knows its hosts may look there first: then nothing is known about this check.
  check.precondition(!nvme::same_code(reply.status(), sc::connect_invalid_host), "any host may connect");
  expect_invalid_parameter(check, reply, fabrics::InvalidParameter::in_connect_data(cd::hostnqn));
}

CONFORMANCE_CASE(io_connect_refuses_other_subnqn, "fabrics.connect.io-other-subnqn", roles::controller, reaches{"connect.subnqn.known"}) {
  RawAssociation& association = bench.associate();
  host::ConnectCommand command = association.io_connect();
  Bytes name(fabrics::kNqnFieldSize);
  const std::string other = bench.nqn() + ".other";
  std::copy(other.begin(), other.end(), name.begin());
  command.data.set(cd::subnqn, ByteView{name});
  expect_invalid_parameter(check, try_io(check, association, command), fabrics::InvalidParameter::in_connect_data(cd::subnqn));
}

CONFORMANCE_CASE(io_connect_refuses_other_cntlid, "fabrics.connect.io-other-cntlid", roles::controller, reaches{"connect.io.cntlid"}) {
  RawAssociation& association = bench.associate();
  host::ConnectCommand command = association.io_connect();
  command.data.set(cd::cntlid, association.cntlid() ^ 0x2A5u);
  expect_invalid_parameter(check, try_io(check, association, command), fabrics::InvalidParameter::in_connect_data(cd::cntlid));
}

CONFORMANCE_CASE(io_connect_refuses_an_ended_association, "fabrics.connect.io-ended-association", roles::controller, lasts{5_s}) {
  RawAssociation& association = bench.associate();
  const host::ConnectCommand command = association.io_connect();
  association.admin().disconnect();
  bench.world().run_for(wait_limit(bench.world(), 1_s));  // the controller notices
  check.status(try_io(check, association, command), one_of(sc::connect_invalid_parameters, sc::controller_busy),
               "Connect of the I/O queue");
}

CONFORMANCE_CASE(io_connect_refuses_other_hostid, "fabrics.connect.io-other-hostid", roles::controller, reaches{"connect.io.hostid"}) {
  RawAssociation& association = bench.associate();
  host::ConnectCommand command = association.io_connect();
  host::HostId other = kBenchHostId;
  other[0] = static_cast<std::uint8_t>(~other[0]);
  command.data.set(cd::hostid, ByteView{other});
  expect_invalid_parameter(check, try_io(check, association, command), fabrics::InvalidParameter::in_connect_data(cd::hostid));
}

}  // namespace fb::conformance
