// Connect of the admin queue: its parameters, its answer, what a refusal leaves behind.
#include <set>

#include "conformance/cases/fabrics/common.h"
#include "conformance/runner/arranger.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

constexpr fabrics::InvalidParameter kSqsize = fabrics::InvalidParameter::in_command(cs::sqsize);
constexpr fabrics::InvalidParameter kSubnqn = fabrics::InvalidParameter::in_connect_data(cd::subnqn);
constexpr fabrics::InvalidParameter kHostnqn = fabrics::InvalidParameter::in_connect_data(cd::hostnqn);
constexpr fabrics::InvalidParameter kCntlid = fabrics::InvalidParameter::in_connect_data(cd::cntlid);

constexpr std::string_view kStranger = "nqn.2014-08.org.nvmexpress:uuid:0badcafe-0000-4000-8000-00000000beef";

/// All bytes of a name field are used: there is no terminator.
Bytes unterminated(std::string_view text) {
  Bytes field(fabrics::kNqnFieldSize, 'a');
  std::copy(text.begin(), text.end(), field.begin());
  return field;
}

std::optional<std::string> chooses_controllers(const Declared& declared) {
  if (!declared.known || declared.any_cntlid == fabrics::kAnyController) return {};
  return "controllers are static: a host may ask for one";
}

void static_model(EmbeddedSetup& setup) {
  setup.subsystem.controllers = subsystem::ControllerModel::static_controllers;
  setup.subsystem.static_cntlids = {1, 2};
  setup.subsystem.allow_any_host = true;
}

const furnished few_controllers{[](EmbeddedSetup& setup) { setup.subsystem.controllers_max = 4; }};

/// The whole error information log of an association.
Bytes error_log(ControllerBench& bench, RawAssociation& association) {
  const std::size_t entries = std::min<std::size_t>(bench.declared().identify().get(nvme::id_ctrl::elpe).count(), 64);
  const auto command = host::get_log(nvme::LogPage::error_information, static_cast<std::uint32_t>(entries * 64));
  const host::RawReply reply = association.admin().send(command, entries * 64).wait();
  if (!reply.ok()) throw CannotArrange{"the error log cannot be read"};
  return reply.data;
}

}  // namespace

CONFORMANCE_CASE(commands_before_connect_are_refused, "fabrics.connect.first", roles::controller, reaches{"command.before_connect"}) {
  host::RawQueue& queue = bench.raw_queue();
  const auto refusals = one_of(sc::command_sequence_error, sc::invalid_opcode);
  check.status(answered(check, queue.send(host::property_get(prop::cap)).wait()), refusals, "Property Get before Connect");
  const auto identify = host::identify(nvme::Cns::controller);
  check.status(answered(check, queue.send(identify, 4096).wait()), refusals, "Identify before Connect");
}

CONFORMANCE_CASE(connect_refuses_unknown_record_format, "fabrics.connect.recfmt", roles::controller, reaches{"connect.recfmt"}) {
  for (unsigned bit = 0; bit < 16; ++bit) {
    host::ConnectCommand command = bench.connect_command();
    command.sqe.set(cs::recfmt, 1u << bit);
    check.status(answered(check, try_connect(bench, command)), sc::incompatible_format,
                 "Connect with bit " + std::to_string(bit) + " of RECFMT");
  }
}

CONFORMANCE_CASE(connect_refuses_sqsize_zero, "fabrics.connect.sqsize.minimum", roles::controller, reaches{"connect.sqsize.minimum"}) {
  host::ConnectCommand command = bench.connect_command();
  command.sqe.set(cs::sqsize, 0u);
  expect_invalid_parameter(check, try_connect(bench, command), kSqsize);
}

CONFORMANCE_CASE(connect_refuses_unknown_subsystem, "fabrics.connect.subnqn.unknown", roles::controller, reaches{"connect.subnqn.known"}) {
  const auto command = bench.connect_command({.subnqn = bench.nqn() + ".not-there"});
  expect_invalid_parameter(check, try_connect(bench, command), kSubnqn);
}

CONFORMANCE_CASE(connect_refuses_unterminated_subnqn, "fabrics.connect.subnqn.unterminated", roles::controller,
                 reaches{"connect.subnqn.terminated"}) {
  host::ConnectCommand command = bench.connect_command();
  command.data.set(cd::subnqn, ByteView{unterminated(bench.nqn())});
  expect_invalid_parameter(check, try_connect(bench, command), kSubnqn);
}

CONFORMANCE_CASE(connect_refuses_unterminated_hostnqn, "fabrics.connect.hostnqn.unterminated", roles::controller,
                 reaches{"connect.hostnqn.terminated"}) {
  host::ConnectCommand command = bench.connect_command();
  command.data.set(cd::hostnqn, ByteView{unterminated(kBenchHostNqn)});
  expect_invalid_parameter(check, try_connect(bench, command), kHostnqn);
}

CONFORMANCE_CASE(connect_takes_the_longest_hostnqn, "fabrics.connect.hostnqn.longest", roles::controller) {
  std::string name = "nqn.2024-01.com.example:";
  name.resize(fabrics::kNqnBytesMax, 'x');
  const host::RawReply reply = answered(check, bench.raw_queue().send(bench.connect_command({.hostnqn = name})).wait());
  check.precondition(reply.ok() || !nvme::same_code(reply.status(), nvme::sc::connect_invalid_host), "the product lets unknown hosts in");
  check.success(reply, "Connect of a host whose name has 223 bytes");
}

CONFORMANCE_CASE(connect_refuses_empty_hostnqn, "fabrics.connect.hostnqn.empty", roles::controller, reaches{"connect.hostnqn.syntax"}) {
  const auto command = bench.connect_command({.hostnqn = ""});
  const host::RawReply reply = answered(check, try_connect(bench, command));
  check.status(reply, one_of(sc::connect_invalid_parameters, sc::connect_invalid_host));
  if (nvme::same_code(reply.status(), sc::connect_invalid_parameters)) {
    expect_invalid_parameter(check, reply, kHostnqn);
  }
}

CONFORMANCE_CASE(connect_refuses_host_that_is_not_allowed, "fabrics.connect.host-not-allowed", roles::controller,
                 arranges{{Request::host_allow, Request::any_host}}, reaches{"connect.host.allowed"}) {
  bench.arranger().allow_host(std::string(kBenchHostNqn));
  bench.arranger().allow_any_host(false);
  check.status(answered(check, try_connect(bench, bench.connect_command({.hostnqn = std::string(kStranger)}))),
               one_of(sc::connect_invalid_host, sc::connect_invalid_parameters));
  check.success(answered(check, try_connect(bench, bench.connect_command())), "status for a host that is allowed");
}

CONFORMANCE_CASE(connect_leaves_choice_of_dynamic_controller, "fabrics.connect.cntlid.dynamic", roles::controller,
                 needs{&chooses_controllers}, reaches{"connect.cntlid.dynamic"}) {
  expect_invalid_parameter(check, try_connect(bench, bench.connect_command({.cntlid = 1})), kCntlid);
}

CONFORMANCE_CASE(connect_refuses_reserved_cntlid, "fabrics.connect.cntlid.reserved", roles::controller,
                 reaches{"connect.cntlid.reserved"}) {
  for (std::uint16_t cntlid = fabrics::kFirstReservedController; cntlid < fabrics::kAnyStaticController; ++cntlid) {
    bench.step("Connect with CNTLID " + words(cntlid));
    expect_invalid_parameter(check, try_connect(bench, bench.connect_command({.cntlid = cntlid})), kCntlid);
  }
}

CONFORMANCE_CASE(connect_refuses_any_controller_of_static_model, "fabrics.connect.cntlid.static-any", roles::controller,
                 arranged{"the static controller model", &static_model}, reaches{"connect.cntlid.static"}) {
  const auto command = bench.connect_command({.cntlid = fabrics::kAnyController});
  expect_invalid_parameter(check, try_connect(bench, command), kCntlid);
}

CONFORMANCE_CASE(connect_finds_static_controller_busy, "fabrics.connect.cntlid.static-busy", roles::controller,
                 arranged{"the static controller model", &static_model}, reaches{"connect.controller.free"}) {
  RawAssociation& first = bench.associate({.enable = false, .cntlid = 1});
  const auto command = bench.connect_command({.cntlid = 1, .hostnqn = std::string(kStranger)});
  check.status(answered(check, try_connect(bench, command)), sc::controller_busy);
  expect_association(check, first, "the first host keeps its controller");
}

CONFORMANCE_CASE(connect_finds_no_static_controller_of_that_name, "fabrics.connect.cntlid.static-unknown", roles::controller,
                 arranged{"the static controller model", &static_model}, reaches{"connect.cntlid.exists"}) {
  const auto reply = answered(check, try_connect(bench, bench.connect_command({.cntlid = 3})));
  check.status(reply, one_of(sc::connect_invalid_parameters, sc::controller_busy, sc::connect_invalid_host));
}

CONFORMANCE_CASE(connect_gives_no_controller_that_is_taken, "fabrics.connect.cntlid.left", roles::controller, few_controllers,
                 reaches{"connect.controller.left"}) {
  constexpr int kMost = 12;
  std::set<std::uint16_t> given;
  for (int i = 0; i < kMost; ++i) {
    host::RawQueue& queue = bench.unconnected_queue();
    // Who takes no further connection, or no further host, has nothing to hand out.
    if (!queue.connect_transport().wait().connected) break;
    const host::RawReply reply = answered(check, queue.send(bench.connect_command()).wait());
    if (!reply.ok()) break;
    const std::uint16_t cntlid = reply.as<fabrics::ConnectReply>().get(fabrics::connect_reply::cntlid);
    check.that(given.insert(cntlid).second, "a controller that is taken is not given again", words(cntlid));
  }
  check.precondition(!given.empty(), "an association comes about");
}

CONFORMANCE_CASE(connect_gives_identifier_that_identify_reports, "fabrics.connect.cntlid.allocated", roles::controller) {
  RawAssociation& association = bench.associate();
  check.that(association.cntlid() < fabrics::kFirstReservedController, "CNTLID of the Connect response is below FFF0h",
             words(association.cntlid()));
  const auto identify = host::identify(nvme::Cns::controller);
  const host::RawReply reply = answered(check, association.admin().send(identify, 4096).wait());
  check.require_success(reply, "Identify");
  check.equal("CNTLID of Identify", View<nvme::IdentifyController>{reply.data}.get(nvme::id_ctrl::cntlid), association.cntlid());
}

CONFORMANCE_CASE(connect_gives_each_association_its_own_identifier, "fabrics.connect.cntlid.unique", roles::controller) {
  const std::uint16_t first = bench.associate({.enable = false}).cntlid();
  const std::uint16_t second = bench.associate({.enable = false, .hostnqn = std::string(kStranger)}).cntlid();
  check.that(first != second, "two associations have different controller identifiers", "both have " + words(first));
}

CONFORMANCE_CASE(connect_reply_uses_defined_authreq_bits, "fabrics.connect.authreq", roles::controller) {
  const host::RawReply reply = answered(check, try_connect(bench, bench.connect_command()));
  check.require_success(reply);
  const auto authreq = reply.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq);
  check.equal("reserved bits of AUTHREQ", authreq & ~7u, 0u);
}

CONFORMANCE_CASE(second_connect_on_admin_queue_is_refused, "fabrics.connect.twice-on-one-queue", roles::controller,
                 reaches{"connect.queue.connected"}) {
  RawAssociation& association = bench.associate();
  const host::RawReply reply = association.admin().send(bench.connect_command()).wait();
  check.status(answered(check, reply), one_of(sc::command_sequence_error, sc::invalid_queue_identifier, sc::connect_invalid_parameters));
  expect_association(check, association);
}

CONFORMANCE_CASE(failed_connect_is_not_an_invalid_field, "fabrics.connect.no-invalid-field", roles::controller,
                 reaches{"connect.kato.maximum"}) {
  std::vector<host::ConnectCommand> attempts;
  attempts.push_back(bench.connect_command({.kato_ms = 0xFFFFFFFF}));
  attempts.push_back(bench.connect_command({.subnqn = "not-a-name"}));
  attempts.push_back(bench.connect_command());
  attempts.back().sqe.set(cs::qid, 0xFFFFu);
  attempts.push_back(bench.connect_command());
  attempts.back().sqe.set(cs::sqsize, 0xFFFFu);
  attempts.push_back(bench.connect_command({.hostid = {}}));
  for (const host::ConnectCommand& command : attempts) {
    const host::RawReply reply = answered(check, try_connect(bench, command));
    check.that(!nvme::same_code(reply.status(), sc::invalid_field), "a failed Connect has a status of its own",
               nvme::to_string(reply.status()));
  }
}

CONFORMANCE_CASE(failed_connect_adds_no_error_log_entry, "fabrics.connect.no-error-log", roles::controller,
                 reaches{"connect.queue.connected"}) {
  RawAssociation& association = bench.associate();
  const Bytes before = error_log(bench, association);
  check.refused(answered(check, association.admin().send(bench.connect_command()).wait()), "status of a second Connect");
  host::ConnectCommand command = association.io_connect();
  command.sqe.set(cs::sqsize, 0u);
  check.refused(answered(check, association.io_transport().send(command).wait()), "status of an I/O Connect with SQSIZE 0");
  check.bytes("the error log", error_log(bench, association), before);
}

CONFORMANCE_CASE(host_that_left_can_connect_again, "fabrics.association.reconnect", roles::controller) {
  RawAssociation& association = bench.associate();
  association.admin().disconnect();
  association.admin().ended().wait();
  check.success(answered(check, try_connect(bench, bench.connect_command())), "Connect after the association was left");
}

}  // namespace fb::conformance
