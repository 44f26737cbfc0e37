// R2Ts and C2HData that a host must not take, and the C2HData that it must.
#include "conformance/cases/tcp/host_scene.h"

namespace fb::conformance {

namespace {

using namespace tcp_host_cases;

constexpr std::uint32_t kBytes = 4096;
/// What no command of a host that has just connected is called.
std::uint16_t another(std::uint16_t cid) { return static_cast<std::uint16_t>(cid ^ 0x5A5A); }

Record<tcp::DataPdu> c2h(std::uint16_t cid, std::uint32_t offset, std::uint32_t length, unsigned flags = 0) {
  return data_header(PduType::c2h_data, cid, offset, length, static_cast<std::uint8_t>(flags));
}

/// The host gets a PDU for an identifier that differs from the outstanding one in one high bit: that of a generation, where a
/// host has one.
void near_identifiers_end(HostBench& bench, Check& check, std::uint8_t opcode, std::uint32_t bytes, std::string_view after,
                          const Say& say) {
  Scene scene(bench);
  for (const unsigned bit : {15u, 8u}) {
    scene.caught = nullptr;
    scene.connect();
    scene.catch_command(opcode);
    Bytes& data = bench.keep(pattern(bytes));
    auto doing = opcode == kRead ? bench.product().read(bench.nsid(), 0, data) : bench.product().write(bench.nsid(), 0, data);
    Connection& c = scene.needed(check, "the host sends its command");
    say(c, static_cast<std::uint16_t>(scene.cid ^ 1u << bit));
    expect_host_ends(check, c, bench.world(), after, {{FatalStatus::invalid_header_field, 8}});
    c.reset();
    doing.wait_for(kGoodbye);
    bench.product().disconnect().wait_for(kLong);
  }
}

/// A command runs to its end, and then a PDU for it comes.
void finished_commands_end(HostBench& bench, Check& check, std::uint8_t opcode, std::uint32_t bytes, std::string_view after,
                           const Say& say) {
  Scene scene(bench);
  scene.connect();
  scene.catch_command(opcode);
  const Bytes sent = pattern(bytes);
  Bytes& data = bench.keep(sent);
  auto doing = opcode == kRead ? bench.product().read(bench.nsid(), 0, data) : bench.product().write(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host sends its command");
  if (opcode == kRead) {
    c.say(c2h(scene.cid, 0, bytes, flag::last_pdu), sent);
  } else {
    c.say(r2t(scene.cid, 1, 0, bytes));
    const auto is_last = [](const SeenPdu& pdu) { return pdu.is(PduType::h2c_data) && pdu.has(flag::last_pdu); };
    bench.run_until([&] { return c.ended() || std::ranges::any_of(c.said(), is_last); }, 10_s);
  }
  c.respond(scene.cid);
  const auto status = doing.wait_for(kLong);
  check.precondition(status.has_value() && status->ok(), "the command succeeds");
  say(c, scene.cid);
  expect_host_ends(check, c, bench.world(), after, {{FatalStatus::invalid_header_field, 8}});
  check.bytes("memory of the command that is finished", data, sent);
  c.reset();
}

void write_ends(HostBench& bench, Check& check, std::string_view after, const Say& say, const std::vector<Fatal>& allowed) {
  expect_end_of_command(bench, check, kWrite, kLarge, after, say, allowed);
}
void read_ends(HostBench& bench, Check& check, std::string_view after, const Say& say, const std::vector<Fatal>& allowed) {
  expect_end_of_command(bench, check, kRead, kBytes, after, say, allowed);
}

constexpr host_with kWithoutFlowControl{"disable_sqflow", [](EmbeddedSetup& setup) { setup.connect.disable_sq_flow_control = true; }};

}  // namespace

// ---- R2T ----

CONFORMANCE_CASE(tcp_host_refuses_r2t_of_an_unknown_command, "tcp.host.r2t.cccid", roles::host) {
  write_ends(bench, check, "an R2T for an unknown command",
             [](Connection& c, std::uint16_t cid) { c.say(r2t(another(cid), 1, 0, kLarge)); }, {{FatalStatus::invalid_header_field, 8}});
}

CONFORMANCE_CASE(tcp_host_refuses_r2t_of_a_finished_command, "tcp.host.r2t.cccid", roles::host) {
  finished_commands_end(bench, check, kWrite, kLarge, "an R2T of a command that is finished",
                        [](Connection& c, std::uint16_t cid) { c.say(r2t(cid, 2, 0, 4096)); });
}

CONFORMANCE_CASE(tcp_host_refuses_r2t_of_a_near_identifier, "tcp.host.r2t.cccid", roles::host) {
  near_identifiers_end(bench, check, kWrite, kLarge, "an R2T whose CCCID differs in one bit",
                       [](Connection& c, std::uint16_t cid) { c.say(r2t(cid, 1, 0, kLarge)); });
}

CONFORMANCE_CASE(tcp_host_refuses_r2t_beyond_its_buffer, "tcp.host.r2t.range", roles::host) {
  write_ends(bench, check, "an R2T beyond the buffer", [](Connection& c, std::uint16_t cid) { c.say(r2t(cid, 1, 0, kLarge + 4096)); },
             {{FatalStatus::data_out_of_range}, {FatalStatus::sequence_error}, {FatalStatus::invalid_header_field, 16}});
}

CONFORMANCE_CASE(tcp_host_refuses_r2t_behind_a_hole, "tcp.host.r2t.offset", roles::host) {
  write_ends(bench, check, "an R2T that leaves out the first 4096 bytes",
             [](Connection& c, std::uint16_t cid) { c.say(r2t(cid, 1, 4096, 4096)); }, {{FatalStatus::sequence_error}});
}

CONFORMANCE_CASE(tcp_host_refuses_r2t_for_the_same_bytes, "tcp.host.r2t.offset", roles::host) {
  Scene scene(bench);
  scene.connect();
  Bytes& data = bench.keep(pattern(kLarge));
  scene.catch_command(kWrite);
  auto writing = bench.product().write(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host writes");
  c.say(r2t(scene.cid, 1, 0, 8192));
  bench.run_until([&] { return c.count(PduType::h2c_data) > 0 || c.ended(); }, 10_s);
  check.precondition(c.count(PduType::h2c_data) > 0, "the host answers the first R2T");
  c.say(r2t(scene.cid, 2, 0, 8192));
  expect_host_ends(check, c, bench.world(), "an R2T for data that was sent", {{FatalStatus::sequence_error}});
  c.reset();
  writing.wait_for(kLong);
}

CONFORMANCE_CASE(tcp_host_refuses_more_r2ts_than_it_allows, "tcp.host.r2t.limit", roles::host) {
  write_ends(bench, check, "more R2Ts of one command than MAXR2T allows",
             [](Connection& c, std::uint16_t cid) {
               const std::uint32_t allowed = c.ic_req().get(tcp::ic_req::maxr2t) + 1;
               if (allowed == 0 || allowed > 7) throw CannotArrange{"the host allows so many"};
               Bytes all;
               for (std::uint32_t i = 0; i <= allowed; ++i) {
                 const Bytes one = c.build(r2t(cid, static_cast<std::uint16_t>(i), i * 4096, 4096));
                 all.insert(all.end(), one.begin(), one.end());
               }
               c.say(all);
             },
             {{FatalStatus::limit_exceeded}});
}

CONFORMANCE_CASE(tcp_host_counts_r2ts_up_to_its_maxr2t, "tcp.host.r2t.limit", roles::host,
                 furnished([](EmbeddedSetup& setup) { setup.tcp_host.maxr2t = 2; })) {
  write_ends(bench, check, "one R2T of a command more than MAXR2T allows, after all that it allows",
             [](Connection& c, std::uint16_t cid) {
               const std::uint32_t allowed = c.ic_req().get(tcp::ic_req::maxr2t) + 1;
               if (allowed == 0 || allowed > 7) throw CannotArrange{"the host allows so many"};
               Bytes all;
               for (std::uint32_t i = 0; i <= allowed; ++i) {
                 const Bytes one = c.build(r2t(cid, static_cast<std::uint16_t>(0x0100 + i), i * 512, 512));
                 all.insert(all.end(), one.begin(), one.end());
               }
               c.say(all);
             },
             {{FatalStatus::limit_exceeded}});
}

CONFORMANCE_CASE(tcp_host_refuses_r2t_for_a_read, "tcp.host.r2t.direction", roles::host) {
  read_ends(bench, check, "an R2T for a read", [](Connection& c, std::uint16_t cid) { c.say(r2t(cid, 1, 0, kBytes)); },
            {{FatalStatus::sequence_error}, {FatalStatus::data_out_of_range}, {FatalStatus::invalid_header_field}});
}

CONFORMANCE_CASE(tcp_host_refuses_r2t_for_data_in_its_capsule, "tcp.host.r2t.direction", roles::host) {
  Scene scene(bench);
  scene.connect();
  scene.catch_command(kWrite);
  Bytes& data = bench.keep(pattern(kBytes));
  auto writing = bench.product().write(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host writes");
  const bool inside = !c.said().empty() && c.said().back().data().size() == kBytes;
  if (!inside) {
    c.reset();
    writing.wait_for(kGoodbye);
    throw NotOffered{"the host does not send 4096 bytes in a capsule"};
  }
  c.say(r2t(scene.cid, 1, 0, kBytes));
  expect_host_ends(check, c, bench.world(), "an R2T for data that was in the capsule",
                   {{FatalStatus::sequence_error}, {FatalStatus::data_out_of_range}, {FatalStatus::invalid_header_field}});
  c.reset();
  writing.wait_for(kGoodbye);
}

CONFORMANCE_CASE(tcp_host_refuses_r2t_for_nothing, "tcp.host.r2t.length", roles::host) {
  write_ends(bench, check, "an R2T of no bytes", [](Connection& c, std::uint16_t cid) { c.say(r2t(cid, 1, 0, 0)); },
             {{FatalStatus::invalid_header_field, 16}, {FatalStatus::sequence_error}});
}

// ---- C2HData ----

CONFORMANCE_CASE(tcp_host_takes_c2hdata_and_a_response, "tcp.host.c2hdata.taken", roles::host) {
  Scene scene(bench);
  scene.connect();
  scene.catch_command(kRead);
  Bytes& data = bench.keep(Bytes(kBytes));
  auto reading = bench.product().read(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host reads");
  const Bytes sent = pattern(kBytes, 77);
  c.say(c2h(scene.cid, 0, 1024), ByteView(sent).first(1024));
  c.say(c2h(scene.cid, 1024, 512), ByteView(sent).subspan(1024, 512));
  c.say(c2h(scene.cid, 1536, 2560, flag::last_pdu), ByteView(sent).subspan(1536));
  c.respond(scene.cid);
  const auto status = reading.wait_for(20_s);
  check.require(status.has_value(), "the read ends", "it still waits");
  check.success(*status, "read");
  check.bytes("data of the read", data, sent);
}

CONFORMANCE_CASE(tcp_host_takes_success_for_a_response, "tcp.host.c2hdata.success", roles::host, kWithoutFlowControl) {
  Scene scene(bench);
  Connection& io = scene.connect();
  check.precondition((io.cattr() & fabrics::cattr_bits::disable_sq_flow_control) != 0, "the host disables SQ flow control");
  scene.catch_command(kRead);
  Bytes& data = bench.keep(Bytes(kBytes));
  auto reading = bench.product().read(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host reads");
  const Bytes sent = pattern(kBytes, 77);
  c.say(c2h(scene.cid, 0, kBytes, flag::last_pdu | flag::success), sent);
  const auto status = reading.wait_for(10_s);
  check.require(status.has_value(), "SUCCESS ends the read", "it still waits");
  check.success(*status, "read");
  check.bytes("data of the read", data, sent);
}

CONFORMANCE_CASE(tcp_host_knows_what_to_make_of_success, "tcp.host.c2hdata.success-flow-control", roles::host) {
  Scene scene(bench);
  Connection& io = scene.connect();
  check.precondition((io.cattr() & fabrics::cattr_bits::disable_sq_flow_control) == 0, "the host uses SQ flow control");
  scene.catch_command(kRead);
  Bytes& data = bench.keep(Bytes(kBytes));
  auto reading = bench.product().read(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host reads");
  const Bytes sent = pattern(kBytes, 77);
  c.say(c2h(scene.cid, 0, kBytes, flag::last_pdu | flag::success), sent);
  bench.run_until([&] { return c.ended() || reading.settled(); }, 10_s);
  check.that(c.ended() || reading.settled(), "the host takes SUCCESS, or ends the connection", "it waits for what never comes");
  if (!c.ended()) check.bytes("data of the read", data, sent);
  c.reset();
  reading.wait_for(kLong);
}

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_of_an_unknown_command, "tcp.host.c2hdata.cccid", roles::host) {
  read_ends(bench, check, "C2HData for an unknown command",
            [](Connection& c, std::uint16_t cid) { c.say(c2h(another(cid), 0, kBytes, flag::last_pdu), pattern(kBytes)); },
            {{FatalStatus::invalid_header_field, 8}});
}

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_of_a_finished_command, "tcp.host.c2hdata.cccid", roles::host) {
  finished_commands_end(bench, check, kRead, kBytes, "C2HData of a command that is finished",
                        [](Connection& c, std::uint16_t cid) { c.say(c2h(cid, 0, kBytes, flag::last_pdu), pattern(kBytes, 7)); });
}

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_of_a_near_identifier, "tcp.host.c2hdata.cccid", roles::host) {
  near_identifiers_end(bench, check, kRead, kBytes, "C2HData whose CCCID differs in one bit",
                       [](Connection& c, std::uint16_t cid) { c.say(c2h(cid, 0, kBytes, flag::last_pdu), pattern(kBytes)); });
}

namespace {

/// A read of kBytes is answered by `say`, which sends more: the host ends the connection, and the memory behind its buffer stays.
void overrun_ends(HostBench& bench, Check& check, std::string_view what, const Say& say) {
  Scene scene(bench);
  scene.connect();
  scene.catch_command(kRead);
  const Bytes before = pattern(2 * kBytes, 200);
  Bytes& memory = bench.keep(before);
  auto reading = bench.product().read(bench.nsid(), 0, MutableBytes(memory).first(kBytes));
  Connection& c = scene.needed(check, "the host reads");
  say(c, scene.cid);
  expect_host_ends(check, c, bench.world(), what, {{FatalStatus::data_out_of_range}});
  check.bytes("memory behind the buffer", ByteView(memory).subspan(kBytes), ByteView(before).subspan(kBytes));
  c.reset();
  reading.wait_for(kLong);
}

}  // namespace

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_beyond_its_buffer, "tcp.host.c2hdata.range", roles::host) {
  overrun_ends(bench, check, "C2HData beyond the buffer",
               [](Connection& c, std::uint16_t cid) { c.say(c2h(cid, 0, 2 * kBytes, flag::last_pdu), pattern(2 * kBytes)); });
}

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_just_beyond_its_buffer, "tcp.host.c2hdata.range", roles::host) {
  overrun_ends(bench, check, "C2HData that ends 4 bytes beyond the buffer", [](Connection& c, std::uint16_t cid) {
    constexpr std::uint32_t kMore = 4;
    c.say(c2h(cid, 0, kBytes / 2), pattern(kBytes / 2));
    c.say(c2h(cid, kBytes / 2, kBytes / 2 + kMore, flag::last_pdu), pattern(kBytes / 2 + kMore));
  });
}

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_behind_a_hole, "tcp.host.c2hdata.offset", roles::host) {
  read_ends(bench, check, "C2HData that leaves out 512 bytes",
            [](Connection& c, std::uint16_t cid) {
              c.say(c2h(cid, 0, 1024), pattern(1024));
              c.say(c2h(cid, 1536, kBytes - 1536, flag::last_pdu), pattern(kBytes - 1536));
            },
            {{FatalStatus::sequence_error}});
}

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_after_the_last, "tcp.host.c2hdata.after-last", roles::host) {
  read_ends(bench, check, "C2HData after LAST_PDU",
            [](Connection& c, std::uint16_t cid) {
              c.say(c2h(cid, 0, 2048, flag::last_pdu), pattern(2048));
              c.say(c2h(cid, 2048, 2048), pattern(2048));
            },
            {{FatalStatus::sequence_error}});
}

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_for_a_write, "tcp.host.c2hdata.direction", roles::host) {
  write_ends(bench, check, "C2HData for a write",
             [](Connection& c, std::uint16_t cid) { c.say(c2h(cid, 0, 4096, flag::last_pdu), pattern(4096)); },
             {{FatalStatus::sequence_error}});
}

CONFORMANCE_CASE(tcp_host_refuses_c2hdata_of_another_length, "tcp.host.c2hdata.datal", roles::host, sends_malformed) {
  read_ends(bench, check, "C2HData whose DATAL is not the length of its data",
            [](Connection& c, std::uint16_t cid) { c.say(c2h(cid, 0, 2048, flag::last_pdu), pattern(kBytes)); },
            {{FatalStatus::invalid_header_field, 16}, {FatalStatus::invalid_header_field, 4}});
}

CONFORMANCE_CASE(tcp_host_refuses_success_without_last, "tcp.host.c2hdata.success-without-last", roles::host, kWithoutFlowControl) {
  read_ends(bench, check, "SUCCESS without LAST_PDU",
            [](Connection& c, std::uint16_t cid) { c.say(c2h(cid, 0, kBytes, flag::success), pattern(kBytes)); },
            {{FatalStatus::invalid_header_field, 1}});
}

CONFORMANCE_CASE(tcp_host_does_not_take_success_for_half_the_data, "tcp.host.c2hdata.success-short", roles::host) {
  Scene scene(bench);
  scene.connect();
  scene.catch_command(kRead);
  Bytes& data = bench.keep(Bytes(kBytes));
  auto reading = bench.product().read(bench.nsid(), 0, data);
  Connection& c = scene.needed(check, "the host reads");
  c.say(c2h(scene.cid, 0, 2048, flag::last_pdu | flag::success), pattern(2048));
  bench.run_until([&] { return c.ended() || reading.settled(); }, 10_s);
  const bool good = !c.ended() && reading.settled() && reading.wait_for(1_s)->ok();
  check.that(!good, "a read of which half has come is no success", "it was reported as one");
  c.reset();
  reading.wait_for(kLong);
}

}  // namespace fb::conformance
