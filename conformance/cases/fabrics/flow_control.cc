// SQ flow control, Disconnect, and what the loss of a queue means.
#include "conformance/cases/fabrics/common.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

constexpr std::uint16_t kEntries = 8;

std::uint16_t sqhd(const host::RawReply& reply) { return reply.cqe.get(nvme::cqe::sqhd); }

/// SQHD of successive answers advances by one entry a command, around the queue of kEntries.
void expect_advance(Check& check, RawAssociation& association) {
  const auto command = host::property_get(prop::vs);
  std::uint16_t last = sqhd(answered(check, association.admin().send(command).wait()));
  for (unsigned i = 0; i < 2 * kEntries; ++i) {
    const std::uint16_t next = sqhd(answered(check, association.admin().send(command).wait()));
    check.equal("SQHD of the next response", next, (last + 1) % kEntries);
    last = next;
  }
}

const furnished without_disconnect{[](EmbeddedSetup& setup) { setup.subsystem.individual_queue_deletion = false; }};

std::optional<std::string> has_a_namespace(const Declared& declared) {
  if (!declared.known || declared.nsid != 0) return std::nullopt;
  return "no active namespace";
}
std::optional<std::string> no_disconnect_command(const Declared& declared) {
  if ((declared.identify().get(nvme::id_ctrl::ofcs) & 1) == 0) return std::nullopt;
  return "OFCS bit 0 is set: there is a Disconnect command";
}

void slow_io(EmbeddedSetup& setup) { setup.subsystem.io_latency = Duration::ms(10); }

}  // namespace

CONFORMANCE_CASE(sqhd_follows_the_commands, "fabrics.flow-control.on", roles::controller) {
  host::RawQueue& queue = bench.raw_queue({.entries = kEntries});
  const host::RawReply connected = answered(check, queue.send(bench.connect_command({.entries = kEntries})).wait());
  check.require_success(connected, "Connect");
  check.that(sqhd(connected) < kEntries, "SQHD of the Connect response lies in the queue", words(sqhd(connected)));
  RawAssociation& association = bench.associate({.enable = false, .entries = kEntries});
  expect_advance(check, association);
}

CONFORMANCE_CASE(sqhd_is_zero_without_flow_control, "fabrics.flow-control.off", roles::controller) {
  host::RawQueue& queue = bench.raw_queue({.entries = kEntries});
  const auto command = bench.connect_command({.entries = kEntries, .cattr = fabrics::cattr_bits::disable_sq_flow_control});
  const host::RawReply connected = answered(check, queue.send(command).wait());
  check.require_success(connected, "Connect");
  const bool off = sqhd(connected) == nvme::kSqFlowControlDisabled;
  check.that(off || sqhd(connected) < kEntries, "SQHD is FFFFh or lies in the queue", words(sqhd(connected)));
  for (unsigned i = 0; i < 3 && off; ++i) {
    const host::RawReply reply = answered(check, queue.send(host::property_get(prop::vs)).wait());
    check.equal("SQHD without flow control", sqhd(reply), 0u);
  }
}

CONFORMANCE_CASE(sqhd_is_zero_without_flow_control_on_io_queues, "fabrics.flow-control.off", roles::controller, needs{&has_a_namespace}) {
  const auto entries = static_cast<std::uint16_t>(std::min<std::uint32_t>(kEntries, bench.declared().queue_entries_max()));
  check.precondition(entries >= 2, "CAP.MQES leaves room for two entries");
  RawAssociation& association = bench.associate();
  for (const std::uint16_t qid : io_queues_of(bench, association)) {
    const std::string which = " of I/O queue " + std::to_string(qid);
    host::ConnectCommand connect = association.io_connect(qid, entries);
    connect.sqe.set(cs::cattr, fabrics::cattr_bits::disable_sq_flow_control);
    host::RawQueue& queue = association.io_transport(qid, entries);
    const host::RawReply connected = answered(check, queue.send(connect).wait());
    check.require_success(connected, "Connect" + which);
    const bool off = sqhd(connected) == nvme::kSqFlowControlDisabled;
    check.that(off || sqhd(connected) < entries, "SQHD in the Connect response" + which + " is FFFFh or lies in the queue",
               words(sqhd(connected)));
    std::uint16_t last = sqhd(connected);
    for (unsigned i = 0; i < 2 * entries; ++i) {
      const host::RawReply reply = answered(check, queue.send(host::flush(bench.nsid())).wait());
      const std::uint16_t expected = off ? std::uint16_t{0} : static_cast<std::uint16_t>((last + 1) % entries);
      check.equal("SQHD in the next response" + which, sqhd(reply), expected);
      last = sqhd(reply);
    }
  }
}

CONFORMANCE_CASE(queue_takes_as_many_commands_as_it_holds, "fabrics.flow-control.capacity", roles::controller, needs{&has_a_namespace},
                 furnished{&slow_io}) {
  RawAssociation& association = bench.associate();
  const auto most = static_cast<unsigned>((association.property(prop::cap) & 0xFFFF) + 1);
  const auto entries = static_cast<std::uint16_t>(std::min<unsigned>(kEntries, most));
  host::RawQueue& io = association.open_io({}, entries);
  std::vector<Op<host::RawReply>> flushes;
  for (unsigned i = 0; i + 1u < entries; ++i) flushes.push_back(io.send(host::flush(bench.nsid())));
  for (auto& flush : flushes) check.success(flush.wait(), "one of as many Flushes as the queue holds");
  expect_association(check, association);
}

CONFORMANCE_CASE(overfilled_queue_ends_the_association, "fabrics.flow-control.overfill", roles::controller,
                 arranged{"I/O commands that take their time", &slow_io}, reaches{"subsystem.sq.overfilled"}) {
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = association.io_transport();
  check.precondition_success(queue.send(association.io_connect({}, kEntries)).wait(), "I/O Connect");
  for (unsigned i = 0; i < kEntries; ++i) queue.post({.sqe = host::flush(bench.nsid())});
  check.that(queue.ended().wait_for(5_s).has_value(), "one command more than the queue holds ends the connection");
  check.that(association.admin().ended().wait_for(5_s).has_value(), "the association ends");
}

CONFORMANCE_CASE(disconnect_of_admin_queue_is_refused, "fabrics.disconnect.admin-queue", roles::controller, needs{&disconnect_command},
                 reaches{"disconnect.admin_queue"}) {
  RawAssociation& association = bench.associate();
  check.status(answered(check, association.admin().send(host::disconnect()).wait()), sc::invalid_queue_type);
  expect_association(check, association);
}

CONFORMANCE_CASE(disconnect_that_is_not_supported_is_refused, "fabrics.disconnect.unsupported", roles::controller, without_disconnect,
                 needs{&no_disconnect_command}, reaches{"disconnect.supported"}) {
  host::RawQueue& queue = bench.associate().open_io();
  check.status(answered(check, queue.send(host::disconnect()).wait()), one_of(sc::invalid_opcode, sc::invalid_field));
}

CONFORMANCE_CASE(disconnect_refuses_unknown_record_format, "fabrics.disconnect.recfmt", roles::controller, needs{&disconnect_command},
                 reaches{"disconnect.recfmt"}) {
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = association.open_io({}, RawAssociation::kUsual, fabrics::cattr_bits::individual_queue_deletion);
  for (unsigned bit = 0; bit < 16; ++bit) {
    auto command = host::disconnect();
    command.set(fabrics::disconnect_sqe::recfmt, 1u << bit);
    check.status(answered(check, queue.send(command).wait()), sc::incompatible_format,
                 "Disconnect with bit " + std::to_string(bit) + " of RECFMT");
  }
}

CONFORMANCE_CASE(disconnect_is_answered_last, "fabrics.disconnect.last-response", roles::controller, needs{&disconnect_command},
                 needs{&a_namespace}) {
  constexpr std::uint8_t kIndividually = fabrics::cattr_bits::individual_queue_deletion;
  RawAssociation& association = bench.associate({.cattr = kIndividually});
  host::RawQueue& queue = association.open_io({}, RawAssociation::kUsual, kIndividually);
  host::RawQueue& other = association.open_io(bench.io_qid(1), RawAssociation::kUsual, kIndividually);
  const auto end = [&](host::RawQueue& which) {
    const auto reply = which.send(host::disconnect()).wait_for(5_s);
    check.require(reply && reply->answered(), "Disconnect is answered");
    check.success(*reply, "Disconnect");
    which.post({.sqe = host::flush(bench.nsid())});
    const auto late = which.next_response().wait_for(500_ms);
    check.that(!late || !late->answered(), "the response to Disconnect is the last on its queue", "a Flush behind it was answered");
    expect_association(check, association, "the admin queue goes on");
  };
  end(queue);
  check.success(answered(check, other.send(host::flush(bench.nsid())).wait()), "Flush on another queue");
  end(other);
}

CONFORMANCE_CASE(lost_io_queue_ends_the_association, "fabrics.association.io-queue-lost", roles::controller) {
  std::size_t count = 1;
  for (std::size_t lost = 0; lost < count; ++lost) {
    RawAssociation& association = bench.associate();
    const std::vector<host::RawQueue*> queues = open_queues(bench, association);
    count = queues.size();
    if (lost >= count) break;
    queues[lost]->disconnect();
    const bool ended = association.admin().ended().wait_for(10_s).has_value();
    const std::string what = "the admin connection ends with that of I/O queue " + std::to_string(queues[lost]->options().qid);
    if (!check.that(ended, what, "it stays")) return;
  }
}

}  // namespace fb::conformance
