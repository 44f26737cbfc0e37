// What becomes of an association in which one command of the host fails: each of them, in each way.
#include <fmt/format.h>

#include <array>
#include <tuple>

#include "conformance/cases/nvme/host_scene.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kSetFeatures = 0x09, kConnect = 0x01, kDisconnect = 0x08;
constexpr std::uint8_t kAnaLog = 0x0C;
constexpr std::uint8_t kNumberOfQueues = 0x07;

/// A command of the initialization: opcode and what it is about (FCTYPE and property, CNS and CSI, feature, log page).
struct Kind {
  std::uint16_t qid = 0;
  std::uint8_t opcode = 0;
  std::uint32_t about = 0;
  bool operator==(const Kind&) const = default;
};

Kind kind_of(std::uint16_t qid, ByteView sqe) {
  const std::uint32_t cdw10 = load_le<std::uint32_t>(&sqe[40]), cdw11 = load_le<std::uint32_t>(&sqe[44]);
  std::uint32_t about = 0;
  if (sqe[0] == nvme::kFabricsOpcode) about = sqe[4] == kConnect || sqe[4] == kDisconnect ? sqe[4] : sqe[4] | cdw11 << 8;
  if (sqe[0] == opcode::kIdentify) about = (cdw10 & 0xFF) | (cdw11 >> 24) << 8;
  if (sqe[0] == opcode::kGetLog || sqe[0] == kSetFeatures) about = cdw10 & 0xFF;
  return {qid, sqe[0], about};
}

bool is_fabrics(const Kind& kind) { return kind.opcode == nvme::kFabricsOpcode; }

std::string name_of(const Kind& kind) {
  if (is_fabrics(kind)) {
    const auto type = static_cast<std::uint8_t>(kind.about);
    const std::string_view name = nvme::fabrics_type_name(type);
    return type == kConnect || type == kDisconnect ? fmt::format("{} of queue {}", name, kind.qid)
                                                   : fmt::format("{} of offset {:X}h", name, kind.about >> 8);
  }
  return fmt::format("{} ({:X}h)", nvme::admin_opcode_name(kind.opcode), kind.about);
}

/// Every kind of command that brings the host up, without those that it sends at its leisure.
std::vector<Kind> kinds_of(const HostBench& bench) {
  std::vector<Kind> kinds;
  for (const SeenCommand& seen : bench.commands()) {
    if (seen.qid != 0 && seen.fctype() != kConnect) continue;
    if (seen.qid == 0 && (seen.opcode() == opcode::kEventRequest || seen.opcode() == opcode::kKeepAlive)) continue;
    const Kind kind = kind_of(seen.qid, seen.sqe.bytes());
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

const HostUnderTest::Request kSeveralQueues{.io_queues = 2};

/// What the host sends while it does something, undisturbed, and then leaves.
template <class Doing>
std::vector<Kind> kinds_while(HostBench& bench, Check& check, Doing&& doing) {
  bench.forget_seen();
  doing();
  const std::vector<Kind> kinds = kinds_of(bench);
  check.precondition(!kinds.empty(), "commands arrive");
  check.precondition(bench.product().disconnect().wait_for(120_s).has_value(), "the host disconnects");
  if (bench.embedded()) bench.emulated_host().forget_gone();
  return kinds;
}

/// A host that has connected once, and has left again.
std::vector<Kind> learn_kinds(HostBench& bench, Check& check) {
  return kinds_while(bench, check, [&] { bench.connect_product(kSeveralQueues); });
}

/// Commands of a kind fail with this status, so many times.
void fail(HostBench& bench, const Kind& kind, nvme::Status status, unsigned times) {
  auto meant = [kind, left = times](const CommandContext& command) mutable {
    if (left == 0 || kind_of(command.qid, command.sqe) != kind) return false;
    --left;
    return true;
  };
  // What is not asked of the admission has been carried out, and its answer is another one.
  if (is_fabrics(kind)) {
    bench.script.completion = [meant, status](const CommandContext& command, MutableBytes cqe) mutable {
      if (meant(command)) MutableView<nvme::CqeLayout>{cqe}.set(nvme::cqe::status, status);
      return Answer::send;
    };
  } else {
    bench.script.admission = [meant, status](const CommandContext& command) mutable {
      return meant(command) ? std::optional(status) : std::nullopt;
    };
  }
}

constexpr unsigned kAlways = ~0u;

struct Failure {
  std::string_view name;
  nvme::Status status;
  unsigned times;
};
constexpr std::array<Failure, 2> kFailures = {
    {{"fails", sc::internal_error, kAlways}, {"is refused", sc::invalid_field.with_dnr(), kAlways}}};

/// What is worth another attempt.
constexpr std::array<nvme::Status, 5> kTransient = {sc::internal_error, sc::command_interrupted, sc::transient_transport_error,
                                                    sc::admin_command_media_not_ready, sc::namespace_not_ready};

struct Sweep {
  std::string_view what;
  Duration limit = 600_s;
  unsigned times = kAlways;  ///< that a command fails at most
  bool connects = false;     ///< without Connect there is nothing to report but an error
};

/// Each kind of command fails in each way, is not answered, or takes the connection with it, while the host does something, which
/// has to end in one way or the other.
template <class Start>
void sweep(HostBench& bench, Check& check, const std::vector<Kind>& kinds, const Sweep& sweep, Start&& start) {
  const auto judge = [&](const std::string& when, bool hopeless, auto&& arrange) {
    bench.forget_seen();
    auto doing = start(arrange);
    const std::optional<HostOutcome> outcome = doing.wait_for(sweep.limit);
    check.require(outcome.has_value(), fmt::format("{} ends or reports an error when {}", sweep.what, when),
                  "neither in " + to_string(sweep.limit));
    if (hopeless) check.that(!outcome->ok, fmt::format("{} reports an error when {}", sweep.what, when), "it reports success");
    bench.script = {};
    check.require(bench.product().disconnect().wait_for(120_s).has_value(), "the host leaves after " + when, "it does not in two minutes");
    if (bench.embedded()) bench.emulated_host().forget_gone();
  };
  for (const Kind& kind : kinds) {
    for (const Failure& failure : kFailures)
      judge(fmt::format("{} {}", name_of(kind), failure.name), sweep.connects && kind == Kind{0, nvme::kFabricsOpcode, kConnect},
            [&] { fail(bench, kind, failure.status, std::min(failure.times, sweep.times)); });
    for (const Answer instead : {Answer::disconnect_instead, Answer::withhold}) {
      judge(fmt::format("{} {}", name_of(kind), instead == Answer::withhold ? "is not answered" : "loses the connection"), false, [&] {
        bench.script.completion = [kind, instead, done = false](const CommandContext& command, MutableBytes) mutable {
          if (done || kind_of(command.qid, command.sqe) != kind) return Answer::send;
          done = true;
          return instead;
        };
      });
    }
  }
}

/// The host connects, and its first namespace can be used.
void goes_on(HostBench& bench, Check& check, const std::string& when) {
  const auto outcome = bench.product().connect(kSeveralQueues).wait_for(60_s);
  check.require(outcome.has_value() && outcome->ok, "the host connects although " + when,
                outcome.has_value() ? outcome->text : std::string("no end in a minute"));
  const auto read = bench.product().read(bench.nsid(), 0, bench.keep(Bytes(4096))).wait_for(60_s);
  check.that(read.has_value() && read->ok(), "a read succeeds although " + when, "it does not");
  bench.script = {};
  check.require(bench.product().disconnect().wait_for(120_s).has_value(), "the host leaves after " + when, "it does not in two minutes");
}

/// Much that a host asks about, so that there is much that may fail.
void much_to_ask(EmbeddedSetup& setup) {
  setup.subsystem.ana = true;
  setup.subsystem.metadata = true;
  setup.subsystem.zoned = {.supported = true, .append_limit = 1};
  setup.subsystem.version = std::max(setup.subsystem.version, fabrics::version(2, 0, 0));  // the first with several command sets
  setup.namespaces.push_back({.nsid = 3, .blocks = 1024, .zones = {.zone_blocks = 64}});
  setup.namespaces.push_back({.nsid = 5, .blocks = 77, .metadata_bytes = 8, .protection_type = 1});
}
const arranged a_host_that_has_much_to_ask{"namespaces of several command sets, and a host that asks for all of it", &much_to_ask};

/// Without these no host knows what to use, or whether a namespace is the one that it knew.
bool is_needed(const Kind& kind) {
  const bool feature = kind.opcode == kSetFeatures && kind.about == kNumberOfQueues;
  const bool page = kind.opcode == opcode::kIdentify && kind.about <= 0x03;
  // Whether a host goes on with fewer I/O queues than it wanted is its own choice.
  return is_fabrics(kind) || feature || page || (kind.opcode == opcode::kGetLog && kind.about == kAnaLog);
}

}  // namespace

CONFORMANCE_CASE(host_ends_its_attempt_whatever_fails, "nvme.host.failure.reported", roles::host, lasts(3600_s)) {
  const auto kinds = learn_kinds(bench, check);
  sweep(bench, check, kinds, {.what = "a connection attempt", .connects = true}, [&](auto&& arrange) {
    arrange();
    return bench.product().connect(kSeveralQueues);
  });
}

CONFORMANCE_CASE(host_ends_its_discovery_whatever_fails, "nvme.host.failure.reported", roles::host, lasts(3600_s)) {
  const auto kinds =
      kinds_while(bench, check, [&] { check.precondition(bench.product().discover().wait_for(60_s).has_value(), "discovery ends"); });
  sweep(bench, check, kinds, {.what = "discovery", .limit = 200_s, .connects = true}, [&](auto&& arrange) {
    arrange();
    return bench.product().discover();
  });
}

CONFORMANCE_CASE(host_ends_its_reset_whatever_fails, "nvme.host.failure.reported", roles::host, lasts(3600_s)) {
  bench.connect_product(kSeveralQueues);
  auto kinds = kinds_while(bench, check, [&] { check.precondition(bench.product().reset().wait_for(60_s).has_value(), "a reset ends"); });
  // The rest is sent by a host that connects, too.
  std::erase_if(kinds, [](const Kind& kind) { return !is_fabrics(kind); });
  // Before a controller that hears nothing ends the association.
  const Duration limit = bench.embedded() ? 120_s : 1200_s;
  sweep(bench, check, kinds, {.what = "a controller reset", .limit = limit, .times = 3}, [&](auto&& arrange) {
    bench.connect_product(kSeveralQueues);
    arrange();
    return bench.product().reset();
  });
}

CONFORMANCE_CASE(host_leaves_whatever_fails, "nvme.host.failure.reported", roles::host, lasts(3600_s)) {
  bench.connect_product(kSeveralQueues);
  auto kinds =
      kinds_while(bench, check, [&] { check.precondition(bench.product().disconnect().wait_for(120_s).has_value(), "the host leaves"); });
  for (std::uint16_t qid = 1; qid <= kSeveralQueues.io_queues; ++qid) kinds.push_back({qid, nvme::kFabricsOpcode, kDisconnect});
  sweep(bench, check, kinds, {.what = "a shutdown"}, [&](auto&& arrange) {
    bench.connect_product(kSeveralQueues);
    arrange();
    return bench.product().disconnect();
  });
}

CONFORMANCE_CASE(host_repeats_what_fails_for_a_moment, "nvme.host.failure.repeated", roles::host, a_host_that_has_much_to_ask) {
  std::size_t turn = 0;
  for (const Kind& kind : learn_kinds(bench, check)) {
    // That no queue can be had at the moment is another matter.
    if (is_fabrics(kind) && kind.about == kConnect) continue;
    const nvme::Status status = kTransient[turn++ % kTransient.size()];
    fail(bench, kind, status, 2);
    goes_on(bench, check, fmt::format("{} fails twice with {}", name_of(kind), nvme::to_string(status)));
  }
}

CONFORMANCE_CASE(host_does_without_optional_commands, "nvme.host.failure.optional", roles::host, a_host_that_has_much_to_ask) {
  unsigned refused = 0;
  for (const Kind& kind : learn_kinds(bench, check)) {
    if (is_needed(kind)) continue;
    ++refused;
    fail(bench, kind, sc::invalid_field.with_dnr(), kAlways);
    goes_on(bench, check, fmt::format("{} is refused", name_of(kind)));
  }
  check.precondition(refused > 0, "the host asks for what it can do without");
}

namespace {

/// One thing that changes, and how the host knows of it.
struct Change {
  std::string_view name;
  Kind fails;
};
constexpr std::array<Change, 5> kChanges = {{{"the log page of changed namespaces", {0, opcode::kGetLog, 0x04}},
                                             {"the list of namespaces", {0, opcode::kIdentify, 0x02}},
                                             {"Identify Namespace", {0, opcode::kIdentify, 0x00}},
                                             {"the descriptors of a namespace", {0, opcode::kIdentify, 0x03}},
                                             {"the ANA log", {0, opcode::kGetLog, kAnaLog}}}};

const host::NamespaceFacts* facts_of(HostBench& bench, std::uint32_t nsid) {
  const auto controllers = bench.emulated_host().controllers();
  if (controllers.empty()) return nullptr;
  const auto& all = controllers.front()->namespaces();
  const auto at = std::find_if(all.begin(), all.end(), [nsid](const host::NamespaceFacts& facts) { return facts.nsid == nsid; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

CONFORMANCE_CASE(host_reads_later_what_it_could_not_read, "nvme.host.failure.later", roles::host, a_host_that_has_much_to_ask) {
  // Each time it is a failure of its own: a host that counts them over its life gives up after a while.
  constexpr unsigned kRounds = 4, kFails = 4;
  bench.connect_product();
  const std::uint32_t nsid = bench.nsid();
  for (unsigned round = 0; round < kRounds; ++round) {
    for (const Change& change : kChanges) {
      const std::string when = fmt::format("after {} could not be read, round {}", change.name, round + 1);
      const std::uint64_t blocks = bench.subsystem().find_namespace(nsid)->blocks() - 8;
      const auto state = round % 2 == 0 ? nvme::AnaState::non_optimized : nvme::AnaState::optimized;
      fail(bench, change.fails, sc::internal_error, kFails);
      check.precondition(bench.subsystem().resize_namespace(nsid, blocks), "the namespace has another size");
      bench.subsystem().set_ana_state(1, state);
      bench.run_until([] { return false; }, 20_s);
      const host::NamespaceFacts* const facts = facts_of(bench, nsid);
      check.require(facts != nullptr, "the namespace is there " + when, "it is not");
      check.equal("blocks " + when, facts->blocks, blocks);
      const host::Controller& controller = *bench.emulated_host().controllers().front();
      check.that(controller.ana_state(facts->ana_group) == state, "the ANA state is known " + when, "another one");
      bench.script = {};
    }
  }
  // Refused once and for all: the namespaces themselves tell.
  const Change& refused = kChanges.front();
  const std::uint64_t blocks = bench.subsystem().find_namespace(nsid)->blocks() - 8;
  fail(bench, refused.fails, sc::invalid_field.with_dnr(), kAlways);
  check.precondition(bench.subsystem().resize_namespace(nsid, blocks), "the namespace has another size");
  bench.run_until([] { return false; }, 20_s);
  const host::NamespaceFacts* const facts = facts_of(bench, nsid);
  check.require(facts != nullptr, fmt::format("the namespace is there after {} was refused", refused.name), "it is not");
  check.equal(fmt::format("blocks after {} was refused", refused.name), facts->blocks, blocks);
  bench.script = {};
}

}  // namespace fb::conformance
