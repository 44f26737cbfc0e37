// What the owner of a bus gives the bridges on it, and what it tells them. The bench plays the bridge.
#include <algorithm>

#include "conformance/cases/mctp/owner_exchange.h"

namespace fb::conformance {

namespace {

using mctp::control::Command;

constexpr std::uint8_t kAccepted = 0, kRejected = 1;
constexpr std::uint8_t kAsked = 5;
/// More requests than any table needs.
constexpr unsigned kTablesMost = 600;

bool in_range(mctp::Eid eid, unsigned first, unsigned count) { return eid >= first && eid < first + count; }

/// The first device is a bridge that asks for five EIDs; with `takes`, it accepts what it is given.
struct PlayedBridge {
  unsigned count = 0, first = 0, operation = 0;
  std::vector<Bytes> updates;  ///< data of Routing Information Update
  std::vector<unsigned> asked_behind;
  /// Entries of an answer to Get Routing Table Entries, and by how much handles rise.
  unsigned per_answer = 64;
  unsigned handle_step = 3;
  unsigned tables_asked = 0;
  std::size_t cut = 0;   ///< bytes that are left out at the end of a table
  bool endless = false;  ///< every table has one behind it
  bool silent = false;
};
void play_bridge(BusBench& bench, PlayedBridge& state, bool takes, unsigned behind = 0) {
  bench.device().script = [&, takes, behind](const SeenMessage& request, Bytes good) {
    const auto with = [&](const Bytes& data) {
      good.resize(4);
      good[3] = 0x00;
      good.insert(good.end(), data.begin(), data.end());
      return good;
    };
    if (state.silent) return Bytes{};
    const auto command = static_cast<Command>(request.body[2]);
    const mctp::Eid own = bench.device().eid();
    if (request.destination != mctp::kNullEid && request.destination != own && request.destination != mctp::kBroadcastEid) {
      state.asked_behind.push_back(request.destination);
    }
    switch (command) {
      case Command::get_endpoint_id:
        good[5] |= 0x10;
        return good;
      case Command::set_endpoint_id:
        return with({0x01, request.body[4], kAsked});
      case Command::allocate_endpoint_ids:
        state.operation = request.body[3];
        state.count = request.body[4];
        state.first = request.body[5];
        if (!takes) return with({kRejected, kAsked, 0xA0});
        return with({kAccepted, kAsked, request.body[5]});
      case Command::routing_information_update:
        state.updates.emplace_back(request.body.begin() + 3, request.body.end());
        return with({});
      case Command::get_routing_table: {
        if (request.destination == own) ++state.tables_asked;
        if (state.endless && request.destination == own) {
          // Enough is enough: from then on it is silent, so that the case has an end.
          if (state.tables_asked > 2 * kTablesMost) return Bytes{};
          const auto next = static_cast<std::uint8_t>(1 + state.tables_asked % 0xFE);
          return with({next, 1, 1, static_cast<std::uint8_t>(state.first), 0x01, 0x02, 0x0B, 2, 0x01, 0x00});
        }
        const unsigned from = request.body[3] / state.handle_step * state.per_answer;
        const unsigned to = std::min(behind, from + state.per_answer);
        const unsigned next = to < behind ? request.body[3] + state.handle_step : 0xFFu;
        Bytes table = {static_cast<std::uint8_t>(next), static_cast<std::uint8_t>(to - std::min(from, to))};
        for (unsigned i = from; i < to; ++i) {
          const auto eid = static_cast<std::uint8_t>(state.first + i);
          table.insert(table.end(), {1, eid, 0x01, 0x02, 0x0B, 2, 0x01, static_cast<std::uint8_t>(i)});
        }
        table.resize(table.size() - std::min(state.cut, table.size() - 2));
        return with(table);
      }
      default:
        return good;
    }
  };
}

}  // namespace

CONFORMANCE_CASE(owners_give_bridges_their_pool, "mctp.bus.bridge.pool", roles::bus, over_buses) {
  PlayedBridge state;
  play_bridge(bench, state, true);
  std::vector<PlayedDevice*> others = {&bench.add_device(), &bench.add_device(), &bench.add_device()};
  bench.enumerate();
  const mctp::Eid own = bench.device().eid();
  check.precondition(own != 0, "the bridge is given an EID");
  check.require(state.count > 0, "Allocate Endpoint IDs is sent to a bridge that needs a pool", "it is not");
  check.equal("operation: allocate", state.operation, 0u);
  check.equal("EIDs that are given", state.count, unsigned{kAsked});
  check.that(state.first >= mctp::kFirstEid && state.first + state.count <= mctp::kBroadcastEid, "they are from 8 to 254",
             words(state.first));
  const mctp::Eid owner = bench.device().requests_of(Command::set_endpoint_id).front()->source;
  for (const mctp::Eid taken : {own, owner, others[0]->eid(), others[1]->eid(), others[2]->eid()}) {
    check.that(!in_range(taken, state.first, state.count), "nobody else has one of them", words(taken));
  }
  // Given once: another enumeration gives the same.
  const unsigned before = state.first;
  bench.enumerate();
  check.equal("first EID of the pool after another enumeration", state.first, before);
  PlayedDevice& asks = *others[0];
  for (unsigned eid = state.first; eid < state.first + state.count; ++eid) {
    const OwnerAnswer answer = ask(asks, Command::resolve_endpoint_id, {static_cast<std::uint8_t>(eid)});
    if (!succeeds(check, answer, fmt::format("Resolve Endpoint ID {} of the pool", eid)) || answer.data().empty()) continue;
    check.bytes("physical address: the bridge's", answer.data().subspan(1), address_of(bench.device()));
  }
  bool listed = false;
  for (const Route& one : routing_table(asks, check)) {
    if (one.first == own && one.size == 1) check.equal("entry type of the bridge", one.type, 2u);
    if (one.first == state.first && one.size == state.count) listed = one.type == 3 && one.address == address_of(bench.device());
  }
  check.that(listed, "the pool is in the routing table as a range without the bridge, at the bridge's address", "it is not");
}

CONFORMANCE_CASE(a_rejected_pool_is_not_routed, "mctp.bus.bridge.rejected", roles::bus, over_buses) {
  PlayedBridge state;
  play_bridge(bench, state, false);
  PlayedDevice& other = bench.add_device();
  bench.enumerate();
  check.precondition(bench.device().eid() != 0 && other.eid() != 0 && state.count > 0, "the bridge is offered a pool");
  for (const Route& one : routing_table(other, check)) {
    check.that(!in_range(static_cast<mctp::Eid>(state.first), one.first, one.size), "no route for EIDs that the bridge has rejected",
               words(state.first));
  }
  // They are there for others again.
  PlayedBridge second;
  play_bridge(bench, second, true);
  bench.enumerate();
  check.equal("EIDs of the next offer", second.count, unsigned{kAsked});
}

CONFORMANCE_CASE(owners_tell_bridges_of_the_others, "mctp.bus.bridge.update", roles::bus, over_buses) {
  PlayedBridge state;
  play_bridge(bench, state, true);
  std::vector<PlayedDevice*> others;
  for (unsigned i = 0; i < 9; ++i) others.push_back(&bench.add_device());
  bench.enumerate();
  check.precondition(bench.device().eid() != 0, "the bridge is given an EID");
  check.require(!state.updates.empty(), "Routing Information Update is sent to a bridge", "it is not");
  const Bytes own = address_of(bench.device());
  std::map<unsigned, Bytes> told;
  for (const Bytes& data : state.updates) {
    check.that(data.size() + 3 <= mctp::control::kMessageMax, "an update is one packet", words(data.size()));
    const std::size_t step = 3 + own.size();
    if (!check.equal("bytes of an update", data.size(), 1 + data[0] * step)) continue;
    for (std::size_t at = 1; at < data.size(); at += step) {
      check.that((data[at] & 0xF0) == 0 && data[at] <= 3, "entry types are 0 to 3", words(data[at]));
      const Bytes address(data.begin() + static_cast<std::ptrdiff_t>(at) + 3, data.begin() + static_cast<std::ptrdiff_t>(at + step));
      for (unsigned eid = data[at + 2]; eid < data[at + 2] + unsigned{data[at + 1]}; ++eid) told[eid] = address;
    }
  }
  for (PlayedDevice* device : others) {
    const auto found = told.find(device->eid());
    if (!check.that(found != told.end(), fmt::format("Routing Information Update names EID {}", device->eid()), "it is not")) continue;
    check.bytes("its physical address", found->second, address_of(*device));
  }
  const SeenMessage& first = *bench.device().requests_of(Command::set_endpoint_id).front();
  check.that(told.count(first.source) == 1, "Routing Information Update names the owner", words(first.source));
  check.bytes("physical address of the owner", told[first.source], bytes_of(first.from));
  for (unsigned eid = state.first; eid < state.first + state.count; ++eid) {
    check.that(told.count(eid) == 0, "it is not told of its own pool", words(eid));
  }
}

CONFORMANCE_CASE(owners_ask_who_is_behind_a_bridge, "mctp.bus.bridge.learn", roles::bus, over_buses) {
  PlayedBridge state;
  play_bridge(bench, state, true, 3);
  PlayedDevice& other = bench.add_device();
  bench.enumerate();
  const mctp::Eid own = bench.device().eid();
  check.precondition(own != 0 && other.eid() != 0 && state.count == kAsked, "the bridge is given its EIDs");
  const auto& asked = state.asked_behind;
  for (unsigned i = 0; i < 3; ++i) {
    const auto eid = static_cast<mctp::Eid>(state.first + i);
    check.that(std::count(asked.begin(), asked.end(), eid) >= 1, fmt::format("EID {} behind the bridge is asked", eid), "it is not");
  }
  check.that(std::none_of(asked.begin(), asked.end(), [&](unsigned eid) { return eid < state.first || eid >= state.first + 3; }),
             "nobody else is asked through the bridge", words(asked.empty() ? 0u : asked.back()));
}

CONFORMANCE_CASE(owners_read_routing_tables_to_their_end, "mctp.bus.bridge.learn", roles::bus, over_buses) {
  for (const auto& [per_answer, step] : {std::pair{1u, 3u}, {2u, 3u}, {4u, 3u}, {1u, 1u}, {2u, 1u}}) {
    PlayedBridge state;
    state.per_answer = per_answer;
    state.handle_step = step;
    play_bridge(bench, state, true, kAsked);
    bench.enumerate();
    check.precondition(bench.device().eid() != 0, "the bridge is given an EID");
    const auto& asked = state.asked_behind;
    for (unsigned i = 0; i < kAsked; ++i) {
      const auto eid = static_cast<mctp::Eid>(state.first + i);
      const std::string what = fmt::format("EID {} of a table that comes by {}", eid, per_answer);
      check.that(std::count(asked.begin(), asked.end(), eid) >= 1, what + " is asked", "it is not");
    }
    // The next round begins with a bridge that has gone and has come back.
    state.silent = true;
    bench.enumerate();
    bench.device().raw().set_eid(mctp::kNullEid);
  }
  PlayedBridge state;
  play_bridge(bench, state, true, kAsked);
  const auto survives = [&](std::string_view what) {
    bench.enumerate();
    check.precondition(bench.device().eid() != 0 && state.tables_asked > 0, "the owner asks for the routing table of the bridge");
    check.that(ask(bench.device(), Command::get_endpoint_id).ok(), "the owner serves after " + std::string(what));
  };
  for (const std::size_t cut : {std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{100}}) {
    state.cut = cut;
    survives("a table that is shorter than its count says");
  }
  state.cut = 0;
  state.endless = true;
  state.tables_asked = 0;
  survives("a table without an end");
  check.that(state.tables_asked <= kTablesMost, "a table without an end is not read for ever",
             std::to_string(state.tables_asked) + " requests");
}

CONFORMANCE_CASE(with_a_bridge_its_eids_are_gone, "mctp.bus.owner.gone", roles::bus, over_buses) {
  PlayedBridge state;
  play_bridge(bench, state, true, 3);
  PlayedDevice& other = bench.add_device();
  bench.enumerate();
  const mctp::Eid own = bench.device().eid();
  check.precondition(own != 0 && other.eid() != 0 && state.count == kAsked, "the bridge is given its EIDs");
  check.precondition(ask(other, Command::resolve_endpoint_id, {own}).ok(), "the bridge's EID is resolved");
  state.silent = true;
  bench.enumerate();
  check.precondition(bench.known().count(own) == 0, "the owner has noticed that the bridge is gone");
  std::vector<mctp::Eid> gone = {own};
  for (unsigned i = 0; i < state.count; ++i) gone.push_back(static_cast<mctp::Eid>(state.first + i));
  for (const Route& one : routing_table(other, check)) {
    for (const mctp::Eid eid : gone) {
      check.that(!in_range(eid, one.first, one.size), "no entry covers an EID of a bridge that has gone", words(eid));
    }
  }
  for (const mctp::Eid eid : gone) {
    check.that(!ask(other, Command::resolve_endpoint_id, {eid}).ok(), fmt::format("EID {} of the bridge is no longer resolved", eid));
    check.equal(fmt::format("entries for EID {} of the bridge", eid), bench.known().count(eid), 0u);
  }
  check.that(ask(other, Command::resolve_endpoint_id, {other.eid()}).ok(), "who is still there is resolved");
}

CONFORMANCE_CASE(reclaimed_eids_come_last, "mctp.bus.eid.reclaimed-last", roles::bus, over_smbus) {
  PlayedDevice& gone = bench.add_device();
  bench.enumerate();
  const mctp::Eid had = gone.eid();
  check.precondition(had != 0 && bench.device().eid() != 0, "both devices are given an EID");
  gone.script = [](const SeenMessage&, const Bytes&) { return Bytes{}; };
  bench.enumerate();
  check.precondition(bench.known().count(had) == 0, "the owner has noticed that one is gone");
  bench.world().run_for(Duration::s(30));
  for (int i = 0; i < 3; ++i) {
    PlayedDevice& next = bench.add_device();
    bench.enumerate();
    check.that(next.eid() != 0 && next.eid() != had, "a newcomer is given an EID that nobody had", words(next.eid()));
  }
}

}  // namespace fb::conformance
