// What a host says while it makes an association, and what it does when that is refused.
#include <algorithm>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/host_bench.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/property.h"
#include "wire/fabrics/rdma_private_data.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kConnect = 0x01, kPropertySet = 0x00;
constexpr std::uint8_t kIdentify = 0x06, kSetFeatures = 0x09;
constexpr std::uint32_t kCc = 0x14, kCsts = 0x1C;
/// More attempts than a host makes that has understood the answer.
constexpr std::size_t kFewAttempts = 5;

std::vector<const SeenCommand*> connects_of(HostBench& bench, bool io) {
  std::vector<const SeenCommand*> found;
  for (const SeenCommand* seen : bench.fabrics_commands(kConnect)) {
    if ((seen->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid) != 0) == io) {
      found.push_back(seen);
    }
  }
  return found;
}

View<fabrics::ConnectData> data_of(const SeenCommand& connect) { return View<fabrics::ConnectData>{connect.data}; }

bool writes_cc(const SeenCommand& seen) { return seen.fctype() == kPropertySet && seen.cdw(11) == kCc; }

Answer answer_with(MutableBytes cqe, nvme::Status status) {
  MutableView<nvme::CqeLayout>{cqe}.set(nvme::cqe::status, status);
  return Answer::send;
}

/// Lets the host try, with a controller that looks away: what it says is judged by the case alone.
void let_it_connect(HostBench& bench) {
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  bench.product().connect({}).wait_for(30_s);
}

}  // namespace

CONFORMANCE_CASE(host_request_private_data, "fabrics.host.request.private-data", roles::host, over_rdma) {
  let_it_connect(bench);
  check.precondition(!bench.requests().empty(), "a connection request arrives");
  const Bytes& data = bench.requests().front();
  const auto request = View<fabrics::RdmaRequest>::over(data);
  check.require(request.has_value(), "32 bytes of private data", std::to_string(data.size()));
  check.equal("RECFMT", request->get(fabrics::rdma_request::recfmt), 0u);
  check.equal("QID", request->get(fabrics::rdma_request::qid), 0u);
  check.that(request->get(fabrics::rdma_request::hrqsize) >= 1, "HRQSIZE is at least 1");
  for (const Bytes& each : bench.requests()) {
    constexpr std::size_t kReserved = 10;  // to the end
    const ByteView reserved = ByteView{each}.subspan(std::min(kReserved, each.size()));
    const bool clear = std::all_of(reserved.begin(), reserved.end(), [](std::uint8_t byte) { return byte == 0; });
    check.that(clear, "reserved bytes of the private data of each queue are 0", "they are not");
  }
  const auto connects = connects_of(bench, false);
  check.precondition(!connects.empty(), "an admin Connect arrives");
  check.equal("HSQSIZE", request->get(fabrics::rdma_request::hsqsize).raw(),
              connects.front()->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::sqsize).raw());
}

CONFORMANCE_CASE(host_connect_is_first, "fabrics.host.connect.capsule", roles::host) {
  let_it_connect(bench);
  const auto admin = bench.commands(0);
  check.precondition(!admin.empty(), "commands arrive");
  const SeenCommand& first = *admin.front();
  check.require(first.fctype() == kConnect, "the first command is Connect");
  const auto sqe = first.as<fabrics::ConnectSqe>();
  check.equal("RECFMT", sqe.get(fabrics::connect_sqe::recfmt), 0u);
  check.equal("QID", sqe.get(fabrics::connect_sqe::qid), 0u);
  check.that(sqe.get(fabrics::connect_sqe::sqsize).raw() >= 1, "SQSIZE is at least 1", "0");
  check.require(first.data.size() == fabrics::ConnectData::size, "1024 bytes of data", std::to_string(first.data.size()));
  for (const ByteView name :
       {ByteView(data_of(first).get(fabrics::connect_data::subnqn)), ByteView(data_of(first).get(fabrics::connect_data::hostnqn))}) {
    const auto terminated = std::find(name.begin(), name.end(), std::uint8_t{0});
    check.that(terminated != name.end() && terminated != name.begin(), "names are terminated");
  }
}

CONFORMANCE_CASE(host_asks_for_any_controller, "fabrics.host.connect.dynamic-cntlid", roles::host) {
  let_it_connect(bench);
  const auto connects = connects_of(bench, false);
  check.precondition(!connects.empty() && connects.front()->data.size() == fabrics::ConnectData::size,
                     "an admin Connect with its data arrives");
  check.equal("CNTLID", data_of(*connects.front()).get(fabrics::connect_data::cntlid), fabrics::kAnyController);
}

CONFORMANCE_CASE(host_io_connect_keeps_its_identity, "fabrics.host.connect.io-identity", roles::host) {
  let_it_connect(bench);
  const auto admin = connects_of(bench, false), io = connects_of(bench, true);
  check.precondition(!admin.empty() && !io.empty(), "admin and I/O Connects arrive");
  for (const SeenCommand* one : bench.fabrics_commands(kConnect)) {
    check.precondition(one->data.size() == fabrics::ConnectData::size, "the data of each Connect");
  }
  const auto first = data_of(*admin.front());
  for (const SeenCommand* one : io) {
    const auto data = data_of(*one);
    // A controller ignores a HOSTID of 0 in the Connect of an I/O queue.
    const auto hostid = data.get(fabrics::connect_data::hostid);
    if (std::ranges::any_of(hostid, [](auto byte) { return byte != 0; })) {
      check.bytes("HOSTID", hostid, first.get(fabrics::connect_data::hostid));
    }
    check.bytes("HOSTNQN", data.get(fabrics::connect_data::hostnqn), first.get(fabrics::connect_data::hostnqn));
    check.bytes("SUBNQN", data.get(fabrics::connect_data::subnqn), first.get(fabrics::connect_data::subnqn));
    check.that(data.get(fabrics::connect_data::cntlid) != fabrics::kAnyController, "the controller identifier of the association", "FFFFh");
  }
}

CONFORMANCE_CASE(host_io_connect_has_no_kato, "fabrics.host.connect.io-kato", roles::host) {
  let_it_connect(bench);
  const auto io = connects_of(bench, true);
  check.precondition(!io.empty(), "an I/O Connect arrives");
  for (const SeenCommand* one : io) {
    check.equal("KATO", one->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::kato), 0u);
  }
}

CONFORMANCE_CASE(host_refuses_reserved_cntlid, "fabrics.host.connect.cntlid-reserved", roles::host) {
  bench.script.completion = [](const CommandContext& command, MutableBytes cqe) {
    if (command.qid == 0 && command.sqe[0] == 0x7F && command.sqe[4] == kConnect) {
      store_le<std::uint16_t>(cqe.data(), 0xFFF0);
    }
    return Answer::send;
  };
  // The rest fits: only the rule about reserved identifiers speaks against this controller.
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    const bool controller = command.sqe[0] == kIdentify && command.sqe[40] == 0x01;
    if (controller && data.size() >= 80) store_le<std::uint16_t>(data.data() + 78, 0xFFF0);
  };
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.that(!outcome || !outcome->ok, "the host does not use controller FFF0h", "it connected");
  check.that(connects_of(bench, true).empty(), "no I/O queue is connected");
}

CONFORMANCE_CASE(host_refuses_another_cntlid_in_identify, "fabrics.host.connect.cntlid-mismatch", roles::host) {
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    const bool controller = command.sqe[0] == kIdentify && command.sqe[40] == 0x01;
    if (command.qid == 0 && controller && data.size() >= 80) data[78] ^= 0x55;
  };
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.that(!outcome || !outcome->ok, "the host does not use this controller", "it connected");
}

CONFORMANCE_CASE(host_does_not_repeat_a_refused_connect, "fabrics.host.connect.no-blind-retry", roles::host) {
  bench.script.completion = [](const CommandContext& command, MutableBytes cqe) {
    if (command.sqe[0] != 0x7F || command.sqe[4] != kConnect) return Answer::send;
    return answer_with(cqe, sc::connect_invalid_parameters);
  };
  const auto outcome = bench.product().connect({}).wait_for(60_s);
  check.that(!outcome || !outcome->ok, "the host reports that it did not connect");
  check.precondition(!connects_of(bench, false).empty(), "a Connect arrives");
  check.between<std::size_t>("Connects in a minute", connects_of(bench, false).size(), 1, kFewAttempts);
}

CONFORMANCE_CASE(host_waits_when_the_controller_is_busy, "fabrics.host.connect.busy-retry", roles::host) {
  bench.script.completion = [](const CommandContext& command, MutableBytes cqe) {
    if (command.sqe[0] != 0x7F || command.sqe[4] != kConnect) return Answer::send;
    return answer_with(cqe, sc::controller_busy);
  };
  bench.product().connect({}).wait_for(10_s);
  const auto connects = connects_of(bench, false);
  check.precondition(!connects.empty(), "a Connect arrives");
  check.that(connects.size() <= 100, "attempts have a delay between them", std::to_string(connects.size()) + " Connects in ten seconds");
}

CONFORMANCE_CASE(host_stops_when_it_cannot_authenticate, "fabrics.host.connect.auth-required", roles::host) {
  bench.script.completion = [](const CommandContext& command, MutableBytes cqe) {
    // AUTHREQ.ATR: the host has to authenticate before anything else.
    if (command.sqe[0] == 0x7F && command.sqe[4] == kConnect) cqe[2] = 0x02;
    return Answer::send;
  };
  const auto outcome = bench.product().connect({}).wait_for(30_s);
  check.that(!outcome || !outcome->ok, "the host reports that it did not connect");
  for (const SeenCommand* seen : bench.commands(0)) {
    const bool allowed = seen->fctype() == kConnect || seen->fctype() == 0x05 || seen->fctype() == 0x06;
    check.that(allowed, "nothing but Connect and authentication", "another command");
  }
}

CONFORMANCE_CASE(host_reports_a_rejected_request, "fabrics.host.request.reject-reported", roles::host) {
  bench.target().hide(bench.target().port(1), bench.subsystem());
  bench.script.departs = [](std::string_view) { return false; };
  bench.connect_options().to.port = 4421;  // nobody listens there
  const auto outcome = bench.product().connect({}).wait_for(60_s);
  check.require(outcome.has_value(), "the host gives up within a minute");
  check.that(!outcome->ok, "the host reports that it did not connect");
}

CONFORMANCE_CASE(host_enables_before_identify, "fabrics.host.init.order", roles::host) {
  let_it_connect(bench);
  bool enabled = false;
  bool asked = false;
  for (const SeenCommand* seen : bench.commands(0)) {
    if (writes_cc(*seen) && (seen->cdw(12) & 1) != 0) enabled = true;
    if (seen->opcode() != 0x7F && !asked) {
      asked = true;
      check.that(enabled, "admin commands after CC.EN = 1", "one came before");
    }
  }
  check.precondition(enabled && asked, "the controller is enabled and asked something");
}

CONFORMANCE_CASE(host_writes_a_legal_cc, "fabrics.host.init.cc", roles::host) {
  let_it_connect(bench);
  bool seen_enable = false;
  for (const SeenCommand* seen : bench.commands(0)) {
    if (!writes_cc(*seen) || (seen->cdw(12) & 1) == 0) continue;
    seen_enable = true;
    const auto cc = record_from_integer<fabrics::Cc>(seen->cdw(12));
    // They are not needed before there are I/O queues.
    check.equal("IOSQES", static_cast<unsigned>(cc.get(fabrics::cc::iosqes)), one_of(6u, 0u));
    check.equal("IOCQES", static_cast<unsigned>(cc.get(fabrics::cc::iocqes)), one_of(4u, 0u));
    check.equal("MPS (MPSMIN = MPSMAX = 0)", cc.get(fabrics::cc::mps), 0u);
    check.equal("CSS", static_cast<unsigned>(cc.get(fabrics::cc::css)), one_of(0u, 6u));
  }
  check.precondition(seen_enable, "the host enables the controller");
}

CONFORMANCE_CASE(host_gives_up_a_controller_that_is_never_ready, "fabrics.host.init.ready-timeout", roles::host) {
  bool polled = false;
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset != kCsts) return;
    polled = true;
    value &= ~std::uint64_t{1};
  };
  // CAP.TO of the bench's controller says 15 s; twice that is generous.
  const Instant start = bench.world().now();
  // A timeout long enough that only CAP.TO ends this.
  const auto outcome = bench.product().connect({.kato_ms = 120000}).wait_for(120_s);
  check.precondition(polled, "the host reads CSTS");
  check.require(outcome.has_value(), "the host gives this controller up", "it still waits");
  check.that(!outcome->ok, "the host reports that it did not connect");
  check.between("time until it gives up", bench.world().now() - start, 14_s, 40_s);
}

CONFORMANCE_CASE(host_connects_io_after_ready, "fabrics.host.init.io-after-ready", roles::host) {
  Instant ready = Instant::never();
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset == kCsts && (value & 1) != 0) ready = std::min(ready, bench.world().now());
  };
  bench.product().connect({}).wait_for(5_s);
  const auto io = connects_of(bench, true);
  check.precondition(!io.empty(), "an I/O Connect arrives");
  check.that(io.front()->at >= ready, "I/O queues after CSTS.RDY = 1 was read", "an I/O Connect came before");
}

CONFORMANCE_CASE(host_negotiates_the_number_of_queues, "fabrics.host.init.number-of-queues", roles::host) {
  bench.script.completion = [](const CommandContext& command, MutableBytes cqe) {
    if (command.qid == 0 && command.sqe[0] == kSetFeatures && command.sqe[40] == 0x07) {
      store_le<std::uint32_t>(cqe.data(), 0x00010003);  // two completion queues for four others: two queues
    }
    return Answer::send;
  };
  bench.product().connect({.io_queues = 4}).wait_for(5_s);
  Instant asked = Instant::never();
  for (const SeenCommand* seen : bench.commands_of(kSetFeatures)) {
    if (seen->qid == 0 && (seen->cdw(10) & 0xFF) == 0x07) asked = std::min(asked, seen->at);
  }
  const auto io = connects_of(bench, true);
  check.precondition(!io.empty(), "an I/O Connect arrives");
  check.that(asked <= io.front()->at, "Number of Queues comes before the first I/O Connect");
  for (const SeenCommand* one : io) {
    check.that(one->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid) <= 2, "no more queues than were granted", "a third one");
  }
}

CONFORMANCE_CASE(host_keeps_to_mqes, "fabrics.host.init.queue-size", roles::host,
                 furnished([](EmbeddedSetup& setup) { setup.subsystem.io_entries_max = 16; })) {
  // MAXCMD may be more than a queue holds, and then bounds nothing.
  bench.script.data_out = [](const CommandContext& command, MutableBytes data) {
    constexpr std::size_t kMaxcmd = 514;
    const bool controller = command.qid == 0 && command.sqe[0] == 0x06 && command.sqe[40] == 0x01;
    if (controller && data.size() == 4096) store_le(&data[kMaxcmd], std::uint16_t{128});
  };
  bench.product().connect({.queue_entries = 128}).wait_for(5_s);
  const auto io = connects_of(bench, true);
  if (io.empty()) {
    check.precondition(bench.requests().size() >= 2, "an I/O queue is tried");
    for (std::size_t i = 1; i < bench.requests().size(); ++i) {
      const View<fabrics::RdmaRequest> request{bench.requests()[i]};
      check.that(request.get(fabrics::rdma_request::hsqsize).raw() <= 15, "HSQSIZE <= 15");
    }
  }
  for (const SeenCommand* one : io) {
    check.that(one->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::sqsize).raw() <= 15, "SQSIZE <= CAP.MQES");
  }
}

CONFORMANCE_CASE(host_shuts_down_in_order, "fabrics.host.shutdown", roles::host) {
  bench.connect_product();
  bench.forget_seen();
  bench.product().disconnect().wait();
  bool shut = false;
  for (const SeenCommand* seen : bench.commands(0)) {
    if (writes_cc(*seen) && (seen->cdw(12) >> 14 & 3) != 0) shut = true;
  }
  check.that(shut, "CC.SHN is set before the host leaves");
}

}  // namespace fb::conformance
