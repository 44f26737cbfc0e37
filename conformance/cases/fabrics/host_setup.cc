// The Connect commands of a host, field by field.
#include "conformance/cases/fabrics/host_setup.h"

#include <optional>
#include <set>

#include "model/subsystem/subsystem.h"

namespace fb::conformance {

using namespace host_setup;

namespace {

constexpr std::size_t kLongestName = 223;

std::string name_in(ByteView field) {
  const auto end = std::find(field.begin(), field.end(), std::uint8_t{0});
  return std::string(field.begin(), end);
}

}  // namespace

CONFORMANCE_CASE(host_begins_with_the_admin_queue, "fabrics.host.connect.first-qid", roles::host) {
  let_it_connect(bench);
  const auto connects = bench.fabrics_commands(kConnect);
  check.precondition(!connects.empty(), "a Connect arrives");
  check.equal("QID of the first Connect", connects.front()->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid), fabrics::kAdminQueue);
}

CONFORMANCE_CASE(host_names_itself_by_an_identifier, "fabrics.host.connect.hostid", roles::host) {
  check.precondition(!bench.subsystem().options().allow_zero_hostid, "a controller that needs an identifier");
  let_it_connect(bench);
  const auto connects = connects_of(bench, false);
  check.precondition(!connects.empty() && has_data(*connects.front()), "an admin Connect with its data arrives");
  check.that(!all_zero(data_of(*connects.front()).get(fabrics::connect_data::hostid)), "a host identifier", "0");
}

CONFORMANCE_CASE(host_connects_a_queue_once, "fabrics.host.connect.once", roles::host) {
  let_it_connect(bench);
  const std::size_t connects = bench.fabrics_commands(kConnect).size();
  check.precondition(connects > 0, "a Connect arrives");
  check.that(connects <= bench.connections(), "one Connect on each connection",
             std::to_string(connects) + " on " + std::to_string(bench.connections()));
}

CONFORMANCE_CASE(host_says_how_long_it_may_be_silent, "fabrics.host.connect.kato", roles::host) {
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  bench.product().connect({.kato_ms = 5000}).wait_for(30_s);
  const auto connects = connects_of(bench, false);
  check.precondition(!connects.empty(), "an admin Connect arrives");
  check.that(connects.front()->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::kato) != 0, "a keep alive timeout", "0, which is none");
}

CONFORMANCE_CASE(host_waits_for_the_answer_to_connect, "fabrics.host.connect.awaited", roles::host, reaches{"bench.held"}) {
  bool held = false;
  bench.script.completion = [&](const CommandContext& command, MutableBytes) {
    if (!is_connect(command)) return Answer::send;
    bench.mark("bench.held");
    held = true;
    return Answer::withhold;
  };
  auto connecting = bench.product().connect({});
  check.precondition(bench.run_until([&] { return held; }, 30_s), "a Connect arrives");
  bench.run_until([&] { return connecting.settled(); }, 2_s);
  for (const SeenCommand& seen : bench.commands()) {
    check.that(seen.fctype() == kConnect, "nothing but Connect before its answer", "another command");
  }
}

CONFORMANCE_CASE(host_leaves_reserved_bytes_of_connect_alone, "fabrics.host.connect.reserved", roles::host) {
  let_it_connect(bench);
  const auto connects = bench.fabrics_commands(kConnect);
  check.precondition(!connects.empty(), "a Connect arrives");
  for (const SeenCommand* one : connects) {
    const ByteView entry = one->sqe.bytes();
    zero(check, "bytes 5 to 23 of the entry", entry.subspan(5, 19));
    zero(check, "the bits of byte 47 of the entry", entry.subspan(47, 1));
    zero(check, "bytes 54 to 63 of the entry", entry.subspan(54, 10));
    check.equal("reserved bits of CATTR", entry[46] >> 5, 0);
    check.precondition(has_data(*one), "the data of each Connect");
    zero(check, "bytes 18 to 255 of the data", ByteView(one->data).subspan(18, 238));
    zero(check, "bytes 768 to 1023 of the data", ByteView(one->data).subspan(768, 256));
  }
}

CONFORMANCE_CASE(host_names_are_qualified_names, "fabrics.host.connect.names", roles::host) {
  let_it_connect(bench);
  const auto connects = bench.fabrics_commands(kConnect);
  check.precondition(!connects.empty(), "a Connect arrives");
  for (const SeenCommand* one : connects) {
    check.precondition(has_data(*one), "the data of each Connect");
    const std::string host = name_in(data_of(*one).get(fabrics::connect_data::hostnqn));
    const std::string subsystem = name_in(data_of(*one).get(fabrics::connect_data::subnqn));
    check.that(host.size() <= kLongestName, "a name of at most 223 bytes", std::to_string(host.size()));
    check.that(host.starts_with("nqn."), "a name that begins with \"nqn.\"", host);
    if (!bench.product().hostnqn().empty()) check.equal("HOSTNQN", host, bench.product().hostnqn());
    check.equal("SUBNQN", subsystem, bench.nqn());
  }
}

CONFORMANCE_CASE(host_io_connect_names_its_controller, "fabrics.host.connect.io-cntlid", roles::host) {
  let_it_connect(bench);
  std::optional<std::uint16_t> named;  // by the association that was made last
  std::size_t looked = 0;
  for (const SeenCommand* one : bench.fabrics_commands(kConnect)) {
    check.precondition(has_data(*one), "the data of each Connect");
    if (one->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid) == 0) {
      named = one->cntlid;
      continue;
    }
    check.precondition(named.has_value(), "an admin Connect comes first");
    ++looked;
    check.equal("CNTLID", data_of(*one).get(fabrics::connect_data::cntlid), *named);
  }
  check.precondition(looked > 0, "admin and I/O Connects arrive");
}

CONFORMANCE_CASE(host_gives_each_queue_its_own_identifier, "fabrics.host.connect.io-qid", roles::host) {
  unsigned granted = 0xFFFE;
  bench.script.completion = [&](const CommandContext& command, MutableBytes cqe) {
    if (command.qid == 0 && command.sqe[0] == kSetFeatures && command.sqe[40] == 0x07) {
      const unsigned submission = load_le<std::uint16_t>(cqe.data());
      const unsigned completion = load_le<std::uint16_t>(cqe.data() + 2);
      granted = std::min(submission, completion) + 1;
    }
    return Answer::send;
  };
  bench.product().connect({.io_queues = 3}).wait_for(5_s);
  std::set<std::uint16_t> qids;
  std::size_t associations = 0, queues = 0;
  for (const SeenCommand* seen : bench.fabrics_commands(kConnect)) {
    const std::uint16_t qid = seen->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::qid);
    if (qid == 0 && ++associations > 1) break;  // another association has its own queues
    if (qid == 0) continue;
    ++queues;
    check.that(qid <= granted, "an identifier up to the number of queues", std::to_string(qid));
    check.that(qids.insert(qid).second, "an identifier of its own", "that of another queue");
  }
  check.precondition(queues >= 2, "two I/O Connects arrive");
}

CONFORMANCE_CASE(host_admin_queue_has_a_legal_size, "fabrics.host.connect.admin-size", roles::host) {
  let_it_connect(bench);
  const auto connects = connects_of(bench, false);
  check.precondition(!connects.empty(), "an admin Connect arrives");
  for (const SeenCommand* one : connects) {
    check.between<unsigned>("SQSIZE", one->as<fabrics::ConnectSqe>().get(fabrics::connect_sqe::sqsize).raw(), 1, 4095);
  }
}

}  // namespace fb::conformance
