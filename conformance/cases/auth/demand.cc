// The demand to authenticate, and the commands that carry the messages.
#include <functional>

#include "conformance/cases/auth/common.h"
#include "wire/fabrics/connect.h"

namespace fb::conformance {

using namespace auth_cases;

namespace {

namespace prop = fabrics::property;

/// A good first message in a command that is altered.
host::RawReply send_altered(ControllerBench& bench, Check& check, const std::function<void(Record<fabrics::AuthSqe>&)>& alter) {
  Exchange exchange(bench, check, connected_queue(bench));
  const Bytes message = encoded(exchange.negotiate);
  auto command = host::authentication_send(message.size());
  alter(command);
  return exchange.queue().send(command, message).wait();
}

/// I/O commands that are not done yet when a transaction ends.
const arranged with_slow_commands{"authentication, and commands that take their time", [](EmbeddedSetup& setup) {
                                    demanding(setup);
                                    setup.subsystem.io_latency = 2_s;
                                  }};

}  // namespace

// What these two look at, a product shows without secrets.
CONFORMANCE_CASE(auth_demand_is_announced, "auth.controller.demand.announced", roles::controller, furnished{&demanding}) {
  host::RawQueue& queue = bench.raw_queue();
  const host::RawReply connected = queue.send(bench.connect_command()).wait();
  check.precondition_success(connected, "Connect");
  const auto authreq = connected.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq);
  const host::RawReply reply = queue.send(host::property_get(prop::vs)).wait();
  const bool demanded = reply.answered() && nvme::same_code(reply.status(), sc::authentication_required);
  const bool announced = (authreq & (fabrics::authreq_bits::authentication_transaction | fabrics::authreq_bits::secure_channel)) != 0;
  if (!demanded && !announced) throw NotOffered{"the product demands no authentication"};
  check.that(announced == demanded, "AUTHREQ says what the controller does",
             announced ? "ATR is 1, and commands are executed" : "AUTHREQ is 0, and commands are refused");
}

CONFORMANCE_CASE(auth_demand_has_defined_bits, "auth.controller.demand.reserved", roles::controller, furnished{&demanding}) {
  const host::RawReply connected = bench.raw_queue().send(bench.connect_command()).wait();
  check.require_success(connected, "Connect");
  const auto authreq = connected.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq);
  check.equal("reserved bits of AUTHREQ", authreq & ~7u, 0u);
}

CONFORMANCE_CASE(auth_comes_before_fabrics_commands, "auth.controller.demand.fabrics-command", roles::controller, authenticates{&demanding},
                 reaches{"auth.required"}) {
  host::RawQueue& queue = connected_queue(bench);
  check.status(queue.send(host::property_get(prop::cap)).wait(), sc::authentication_required, "Property Get before authentication");
  check.status(queue.send(host::property_set(prop::cc, 0)).wait(), sc::authentication_required, "Property Set before authentication");
}

CONFORMANCE_CASE(auth_comes_before_admin_commands, "auth.controller.demand.admin-command", roles::controller, authenticates{&demanding}) {
  host::RawQueue& queue = connected_queue(bench);
  // The controller is not enabled either: that reason may come first.
  const auto either = one_of(sc::authentication_required, sc::command_sequence_error);
  check.status(queue.send(host::identify(nvme::Cns::controller), 4096).wait(), either, "Identify before authentication");
  check.status(queue.send(host::keep_alive()).wait(), either, "Keep Alive before authentication");
}

CONFORMANCE_CASE(auth_of_an_io_queue_is_its_own, "auth.controller.demand.io-queue", roles::controller, authenticates{&demanding},
                 reaches{"auth.required"}) {
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = association.io_transport();
  const host::RawReply connected = queue.send(association.io_connect()).wait();
  check.precondition_success(connected, "Connect of the I/O queue");
  const auto authreq = connected.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq);
  if (authreq == 0) {
    // The controller may leave it at the admin queue's, and then may not ask later.
    check.success(queue.send(host::flush(bench.nsid())).wait(), "Flush on an I/O queue whose Connect response has AUTHREQ 0");
  }
  check.precondition(authreq != 0, "the controller asks for authentication on an I/O queue");
  check.status(queue.send(host::flush(bench.nsid())).wait(), sc::authentication_required, "Flush before authentication of the I/O queue");
  const std::string why = bench.authenticate(queue);
  check.require(why.empty(), "the I/O queue authenticates", why);
  check.success(queue.send(host::flush(bench.nsid())).wait(), "Flush after it");
}

CONFORMANCE_CASE(auth_send_refuses_reserved_protocol, "auth.controller.command.secp", roles::controller, authenticates{&demanding},
                 reaches{"auth.secp"}) {
  // Reserved in SPC-5; three of them differ from the protocol of NVMe in one bit. Other such values belong to protocols.
  for (const unsigned other : {0x55u, 0x69u, 0xA9u, 0xC9u}) {
    check.refused(send_altered(bench, check, [&](auto& command) { command.set(fabrics::auth_sqe::secp, other); }),
                  "Authentication Send with security protocol " + words(other));
  }
}

CONFORMANCE_CASE(auth_send_refuses_other_specific_field, "auth.controller.command.spsp", roles::controller, authenticates{&demanding},
                 reaches{"auth.spsp"}) {
  for (unsigned bit = 0; bit < 8; ++bit) {
    const unsigned other = fabrics::kNvmeSecuritySpecific ^ (1u << bit);
    check.status(send_altered(bench, check, [&](auto& command) { command.set(fabrics::auth_sqe::spsp0, other); }), sc::invalid_field,
                 "Authentication Send with SPSP0 " + words(other));
    check.status(send_altered(bench, check, [&](auto& command) { command.set(fabrics::auth_sqe::spsp1, other); }), sc::invalid_field,
                 "Authentication Send with SPSP1 " + words(other));
  }
}

CONFORMANCE_CASE(auth_send_refuses_nothing, "auth.controller.command.length", roles::controller, authenticates{&demanding},
                 reaches{"auth.length"}) {
  const auto reply = send_altered(bench, check, [](auto& command) { command.set(fabrics::auth_sqe::length, 0u); });
  check.refused(reply, "Authentication Send of no bytes");
}

CONFORMANCE_CASE(auth_receive_returns_whole_message, "auth.controller.command.receive", roles::controller, authenticates{&demanding}) {
  Exchange exchange(bench, check, connected_queue(bench), DhGroup::ffdhe2048);
  exchange.get_challenge();
  exchange.make_reply();
  const AuthSuccess1 success = exchange.get_success1();
  check.equal("T_ID", success.t_id, exchange.negotiate.t_id);
}

CONFORMANCE_CASE(auth_knows_no_host_of_the_subsystems_name, "auth.controller.connect.same-nqn", roles::controller,
                 authenticates{&demanding}, reaches{"connect.hostnqn.subsystem"}) {
  const auto command = bench.connect_command({.hostnqn = bench.nqn()});
  check.status(bench.raw_queue().send(command).wait(), sc::connect_invalid_host);
}

CONFORMANCE_CASE(auth_opens_the_queue, "auth.controller.success.commands", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.done"}) {
  Exchange exchange(bench, check, connected_queue(bench));
  exchange.run();
  check.success(exchange.queue().send(host::property_get(prop::vs)).wait(), "Property Get after authentication");
}

CONFORMANCE_CASE(auth_in_time_or_not_at_all, "auth.controller.timeout.initial", roles::controller, authenticates{&demanding}, lasts{12_s},
                 reaches{"subsystem.auth.timeout"}) {
  const Declared& declared = bench.declared();
  check.precondition(!declared.known || declared.identify().get(nvme::id_ctrl::kas) != 0, "the product has a keep alive timeout");
  constexpr std::uint32_t kKatoMs = 5000;
  // The product rounds it up.
  const std::uint32_t grain = std::max(declared.identify().get(nvme::id_ctrl::kas) * 100u, 100u);
  const Duration kept = Duration::ms((kKatoMs + grain - 1) / grain * grain);
  const Duration limit = kept * 2 + 2_s;
  Exchange exchange(bench, check, connected_queue(bench, kKatoMs));
  exchange.get_challenge();
  bench.world().run_until([&] { return exchange.ended(); }, limit);
  check.that(exchange.ended(), "without a Reply the connection ends after KATO", "it is still there after " + to_string(limit));
}

CONFORMANCE_CASE(auth_is_possible_once_more, "auth.controller.again.accepted", roles::controller, authenticates{&demanding}) {
  host::RawQueue& queue = connected_queue(bench);
  Exchange(bench, check, queue).run();
  Exchange second(bench, check, queue);
  const host::RawReply reply = second.send(encoded(second.negotiate));
  check.require_status(reply, one_of(nvme::Status{}, sc::command_sequence_error), "status of a second AUTH_Negotiate");
  if (!reply.status().ok()) return;
  const Bytes message = second.ask();
  check.that(decoded<AuthChallenge>(message).has_value(), "a second transaction gets its Challenge", message_words(message));
  // What one transaction has computed is nothing to the next, whatever the group.
  for (const DhGroup group : {DhGroup::null, DhGroup::ffdhe2048, DhGroup::ffdhe3072}) {
    host::RawQueue& again = connected_queue(bench);
    for (const std::string_view turn : {"first", "second", "third"}) {
      Exchange exchange(bench, check, again, group);
      exchange.say(encoded(exchange.negotiate));
      const Bytes bytes = exchange.ask();
      const auto challenge = decoded<AuthChallenge>(bytes);
      if (!challenge && turn == "first") break;  // a group that the product does not take
      check.require(challenge.has_value(), "a Challenge in the " + std::string(turn) + " transaction of a queue", message_words(bytes));
      exchange.challenge = *challenge;
      exchange.make_reply();
      exchange.get_success1();
    }
  }
}

CONFORMANCE_CASE(auth_once_more_may_fail, "auth.controller.again.failure", roles::controller, authenticates{&demanding},
                 reaches{"subsystem.auth.failed"}) {
  host::RawQueue& queue = connected_queue(bench);
  Exchange(bench, check, queue).run();
  Exchange second(bench, check, queue);
  const host::RawReply reply = second.send(encoded(second.negotiate));
  check.precondition_success(reply, "a second AUTH_Negotiate");
  check.precondition(decoded<AuthChallenge>(second.ask()).has_value(), "a second Challenge");
  second.refused(encoded(AuthSuccess2{second.negotiate.t_id}), {AuthFailure::incorrect_message});
  second.expect_end("the connection ends after a failed second transaction");

  bench.step("a wrong response in a later transaction");
  host::RawQueue& other = connected_queue(bench);
  Exchange(bench, check, other).run();
  Exchange wrong(bench, check, other);
  wrong.get_challenge();
  wrong.make_reply();
  wrong.reply.response.back() ^= 1;
  wrong.refused(encoded(wrong.reply), {AuthFailure::failed});
  wrong.expect_end("the connection ends after a wrong response in a second transaction");
  if (!bench.authentication().controller_secret) return;

  bench.step("AUTH_Success2 of another transaction in a later transaction");
  host::RawQueue& both = connected_queue(bench);
  Exchange(bench, check, both).run(true);
  Exchange mixed(bench, check, both);
  mixed.get_challenge();
  mixed.make_reply(true);
  mixed.get_success1();
  const auto another = static_cast<std::uint16_t>(mixed.negotiate.t_id + 1);
  mixed.refused(encoded(AuthSuccess2{another}), {AuthFailure::incorrect_payload, AuthFailure::incorrect_message});
  mixed.expect_end("the connection ends after AUTH_Success2 with another T_ID in a second transaction");
}

CONFORMANCE_CASE(auth_failure_terminates_every_command, "auth.controller.again.failure", roles::controller, with_slow_commands,
                 reaches{"subsystem.auth.failed"}) {
  const std::size_t block_bytes = bench.declared().block_bytes;
  {
    host::RawQueue& queue = connected_queue(bench);
    Exchange(bench, check, queue).run();
    Exchange second(bench, check, queue);
    check.precondition_success(second.send(encoded(second.negotiate)), "a second AUTH_Negotiate");
    queue.disconnect();
  }
  for (const bool of_admin : {true, false}) {
    bench.step(of_admin ? "a second transaction of the admin queue fails" : "a second transaction of the second I/O queue fails");
    RawAssociation& association = bench.associate();
    host::RawQueue& second = association.io_transport(bench.io_qid(1));
    const host::RawReply connected = second.send(association.io_connect(bench.io_qid(1))).wait();
    check.precondition_success(connected, "Connect of the second I/O queue");
    const bool asked = connected.as<fabrics::ConnectReply>().get(fabrics::connect_reply::authreq) != 0;
    if (!of_admin && !asked) continue;  // what fails on it first is no reauthentication
    if (asked) Exchange(bench, check, second).run();
    host::RawQueue* const queues[] = {&association.open_io(bench.io_qid(0)), &second};
    host::RawQueue& failing = of_admin ? association.admin() : *queues[1];
    std::vector<std::pair<std::string, Op<host::RawReply>>> open;
    if (of_admin) open.emplace_back("Asynchronous Event Request", association.admin().send(host::async_event_request()));
    for (std::size_t i = of_admin ? 0 : 1; i < std::size(queues); ++i) {
      for (const std::string_view which : {"first", "second"}) {
        open.emplace_back("the " + std::string(which) + " Read on I/O queue " + std::to_string(i + 1),
                          queues[i]->send(host::read(bench.nsid(), bench.first_lba(), 1), block_bytes));
      }
    }
    Exchange wrong(bench, check, failing);
    wrong.get_challenge();
    wrong.make_reply();
    wrong.reply.response.back() ^= 1;
    wrong.refused(encoded(wrong.reply), {AuthFailure::failed});
    auto late = failing.send(of_admin ? host::as_sqe(host::property_get(prop::vs)) : host::flush(bench.nsid()));
    for (auto& [name, command] : open) {
      const auto reply = command.wait_for(kEndSoon);
      check.require(reply && reply->answered(), name + " is answered when reauthentication has failed", "it is not");
      check.status(*reply, sc::operation_denied, name);
    }
    const auto after = late.wait_for(kEndSoon);
    check.that(!after || !after->ok(), "no command is executed behind AUTH_Failure1", "one is");
    wrong.expect_end("the connection ends after a failed second transaction");
  }
}

}  // namespace fb::conformance
