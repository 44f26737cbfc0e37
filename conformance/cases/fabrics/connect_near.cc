// Connect with names and identifiers that differ from the right ones in a byte, a bit, the case or the length.
#include <cctype>

#include <fmt/format.h>

#include "conformance/cases/fabrics/common.h"
#include "conformance/runner/arranger.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

struct NearName {
  std::string name, what;
};

/// What is no longer the name, though most of it is.
std::vector<NearName> near_names(const std::string& name) {
  std::vector<NearName> near;
  near.push_back({name.substr(0, name.size() - 1), "without its last character"});
  near.push_back({name + "0", "with a further character"});
  std::string last = name;
  last.back() = last.back() == '0' ? '1' : '0';
  near.push_back({last, "with another last character"});
  std::string middle = name;
  char& changed = middle[name.size() / 2];
  changed = changed == 'a' ? 'b' : 'a';
  near.push_back({middle, "with another character in its middle"});
  std::string other_case = name;
  for (std::size_t i = name.find(':'); i < name.size(); ++i) {
    other_case[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
  }
  if (other_case != name) near.push_back({other_case, "in capitals"});
  return near;
}

void set_name(host::ConnectCommand& command, const auto& field, const std::string& name) {
  Bytes bytes(fabrics::kNqnFieldSize);
  std::copy(name.begin(), name.end(), bytes.begin());
  command.data.set(field, ByteView{bytes});
}

host::RawReply try_io(Check& check, RawAssociation& association, const host::ConnectCommand& command) {
  return answered(check, association.io_transport().send(command).wait());
}

/// The name of the subsystem: as Connect has it, which a product that has not said its name does without.
std::string name_of_subsystem(ControllerBench& bench) {
  (void)bench.connect_command();
  return bench.nqn();
}

/// Of no form that says which characters it has: what is near to it is a name too.
constexpr std::string_view kPlainHost = "nqn.2026-11.org.fabricbench:host.plain.7";

}  // namespace

CONFORMANCE_CASE(connect_compares_the_whole_subnqn, "fabrics.connect.subnqn.near", roles::controller) {
  for (const NearName& near : near_names(name_of_subsystem(bench))) {
    auto command = bench.connect_command();
    set_name(command, cd::subnqn, near.name);
    const auto reply = answered(check, try_connect(bench, command));
    check.status(reply, sc::connect_invalid_parameters, "Connect to the name of the subsystem " + near.what);
  }
}

CONFORMANCE_CASE(connect_compares_the_whole_hostnqn, "fabrics.connect.hostnqn.near", roles::controller,
                 arranges{{Request::host_allow, Request::any_host}}) {
  bench.arranger().allow_host(std::string(kBenchHostNqn));
  bench.arranger().allow_host(std::string(kPlainHost));
  bench.arranger().allow_any_host(false);
  for (const NearName& near : near_names(std::string(kPlainHost))) {
    check.status(answered(check, try_connect(bench, bench.connect_command({.hostnqn = near.name}))),
                 one_of(sc::connect_invalid_host, sc::connect_invalid_parameters),
                 "Connect with the name of a host that is allowed, " + near.what);
  }
  check.success(answered(check, try_connect(bench, bench.connect_command({.hostnqn = std::string(kPlainHost)}))),
                "Connect with the name itself");
}

CONFORMANCE_CASE(io_connect_compares_every_byte, "fabrics.connect.io-near", roles::controller) {
  RawAssociation& association = bench.associate({.hostnqn = std::string(kPlainHost)});
  const host::ConnectCommand good = association.io_connect();
  // Who knows its hosts and subsystems may look there first.
  const auto refused = one_of(sc::connect_invalid_parameters, sc::connect_invalid_host, sc::controller_busy);
  for (std::size_t byte = 0; byte < kBenchHostId.size(); ++byte) {
    host::ConnectCommand command = good;
    host::HostId other = kBenchHostId;
    other[byte] = static_cast<std::uint8_t>(other[byte] ^ (1u << byte % 8));
    command.data.set(cd::hostid, ByteView{other});
    check.status(try_io(check, association, command), refused, fmt::format("I/O Connect with one bit of byte {} of HOSTID changed", byte));
  }
  for (unsigned bit = 0; bit < 16; ++bit) {
    const auto other = static_cast<std::uint16_t>(association.cntlid() ^ (1u << bit));
    host::ConnectCommand command = good;
    command.data.set(cd::cntlid, other);
    check.status(try_io(check, association, command), refused, fmt::format("I/O Connect with bit {} of CNTLID changed", bit));
  }
  for (const NearName& near : near_names(std::string(kPlainHost))) {
    host::ConnectCommand command = good;
    set_name(command, cd::hostnqn, near.name);
    check.status(try_io(check, association, command), refused, "I/O Connect with the HOSTNQN of the admin queue " + near.what);
  }
  for (const NearName& near : near_names(name_of_subsystem(bench))) {
    host::ConnectCommand command = good;
    set_name(command, cd::subnqn, near.name);
    check.status(try_io(check, association, command), refused, "I/O Connect with the SUBNQN of the admin queue " + near.what);
  }
  check.success(try_io(check, association, good), "I/O Connect of what is right");
}

CONFORMANCE_CASE(io_connect_takes_every_queue_granted, "fabrics.connect.qid.every", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto granted = association.admin().send(host::set_features(nvme::FeatureId::number_of_queues, 0x00FE'00FE)).wait();
  check.precondition_success(granted, "Set Features, Number of Queues");
  const std::uint32_t most = std::min(granted.dw0() & 0xFFFF, granted.dw0() >> 16) + 1;
  const auto entries = static_cast<std::uint16_t>(std::min<std::uint32_t>(16, bench.declared().queue_entries_max()));
  check.precondition(most <= 128, "the product grants no more queues than the bench opens");
  for (auto qid = static_cast<std::uint16_t>(most); qid >= 1; --qid) {
    host::RawQueue& queue = bench.unconnected_queue({.qid = qid, .entries = entries, .cntlid = association.cntlid()});
    const host::RawConnection made = queue.connect_transport().wait();
    check.require(made.connected, fmt::format("the connection for queue {} is accepted", qid), made.end.text);
    const auto reply = answered(check, queue.send(association.io_connect(qid, entries)).wait());
    check.success(reply, fmt::format("Connect of queue {} of {}", qid, most));
  }
}

}  // namespace fb::conformance
