// The table of registrations by itself: the access of every kind of host under every type, the rules one by one, and
// long random sequences against a second opinion that is written differently.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "base/rng.h"
#include "model/subsystem/reservations.h"

namespace fb::subsystem::test {
namespace {

using nvme::ReservationNotice;
using nvme::ReservationType;
using enum ReservationType;

constexpr ReservationType kTypes[] = {write_exclusive,
                                      exclusive_access,
                                      write_exclusive_registrants_only,
                                      exclusive_access_registrants_only,
                                      write_exclusive_all_registrants,
                                      exclusive_access_all_registrants};

HostId host(unsigned number) {
  HostId id = {};
  id[15] = static_cast<std::uint8_t>(number);
  return id;
}

/// Host 1 holds, host 2 is registered, host 3 is not.
ReservationTable held(ReservationType type) {
  ReservationTable table;
  table.register_key(host(1), 11);
  table.register_key(host(2), 22);
  table.acquire(host(1), type);
  return table;
}

std::string notices(const ReservationEffects& effects) {
  std::string text;
  for (const auto& [who, what] : effects.notices) {
    text += std::to_string(who[15]) + ":" + std::to_string(static_cast<unsigned>(what)) + " ";
  }
  return text;
}

// The base specification's table "Command Behavior in the Presence of a Reservation".
TEST(ReservationTable, AccessByTypeAndHost) {
  struct Row {
    ReservationType type;
    bool holder_reads, holder_writes, registrant_reads, registrant_writes, stranger_reads, stranger_writes;
  };
  constexpr Row kRows[] = {
      {none, true, true, true, true, true, true},
      {write_exclusive, true, true, true, false, true, false},
      {exclusive_access, true, true, false, false, false, false},
      {write_exclusive_registrants_only, true, true, true, true, true, false},
      {exclusive_access_registrants_only, true, true, true, true, false, false},
      {write_exclusive_all_registrants, true, true, true, true, true, false},
      {exclusive_access_all_registrants, true, true, true, true, false, false},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(name_of(row.type)));
    const ReservationTable table = held(row.type);
    EXPECT_EQ(table.allows(host(1), Access::read), row.holder_reads);
    EXPECT_EQ(table.allows(host(1), Access::write), row.holder_writes);
    EXPECT_EQ(table.allows(host(2), Access::read), row.registrant_reads);
    EXPECT_EQ(table.allows(host(2), Access::write), row.registrant_writes);
    EXPECT_EQ(table.allows(host(3), Access::read), row.stranger_reads);
    EXPECT_EQ(table.allows(host(3), Access::write), row.stranger_writes);
    EXPECT_EQ(table.holds(host(2)), row.type != none && of_all_registrants(row.type));
    EXPECT_FALSE(table.holds(host(3)));
  }
}

TEST(ReservationTable, KeysGuardEverything) {
  const ReservationTable table = held(write_exclusive);
  EXPECT_EQ(table.may_register(host(1), 11), Objection::none);
  EXPECT_EQ(table.may_register(host(1), 12), Objection::key);
  EXPECT_EQ(table.may_register(host(3), 11), Objection::none);
  for (const auto& [who, key] : {std::pair{1u, 12u}, {3u, 0u}, {3u, 11u}}) {
    EXPECT_EQ(table.may_unregister(host(who), key, false), Objection::key);
    EXPECT_EQ(table.may_unregister(host(who), key, true), Objection::none);
    EXPECT_EQ(table.may_replace(host(who), key, false), Objection::key);
    EXPECT_EQ(table.may_replace(host(who), key, true), Objection::none);
    EXPECT_EQ(table.may_acquire(host(who), key, write_exclusive), Objection::key);
    EXPECT_EQ(table.may_preempt(host(who), key, 11), Objection::key);
    EXPECT_EQ(table.may_release(host(who), key, write_exclusive), Objection::key);
    EXPECT_EQ(table.may_clear(host(who), key), Objection::key);
  }
  EXPECT_EQ(table.may_acquire(host(1), 11, write_exclusive), Objection::none);
  EXPECT_EQ(table.may_acquire(host(1), 11, exclusive_access), Objection::held);
  EXPECT_EQ(table.may_acquire(host(2), 22, write_exclusive), Objection::held);
  EXPECT_EQ(table.may_release(host(1), 11, exclusive_access), Objection::type);
  EXPECT_EQ(table.may_release(host(2), 22, exclusive_access), Objection::none);
  EXPECT_EQ(table.may_preempt(host(2), 22, 0), Objection::zero_key);
  EXPECT_EQ(table.may_preempt(host(2), 22, 33), Objection::unknown_key);
  EXPECT_EQ(held(none).may_preempt(host(2), 22, 0), Objection::unknown_key);
  EXPECT_EQ(held(write_exclusive_all_registrants).may_preempt(host(2), 22, 0), Objection::none);
  EXPECT_EQ(held(write_exclusive_all_registrants).may_acquire(host(2), 22, write_exclusive_all_registrants),
            Objection::none);
}

TEST(ReservationTable, ReleaseTellsWhomItGivesAccess) {
  for (const ReservationType type : kTypes) {
    SCOPED_TRACE(std::string(name_of(type)));
    const bool told = of_registrants_only(type) || of_all_registrants(type);
    ReservationTable table = held(type);
    EXPECT_EQ(notices(table.release(host(1))), told ? "2:2 " : "");
    EXPECT_FALSE(table.held());
    EXPECT_EQ(table.registrants().size(), 2u);
    table = held(type);
    const bool holds = of_all_registrants(type);
    EXPECT_EQ(notices(table.release(host(2))), holds ? "1:2 " : "");
    EXPECT_EQ(table.held(), !holds);
    table = held(type);
    EXPECT_EQ(notices(table.unregister(host(1))), of_registrants_only(type) ? "2:2 " : "");
    EXPECT_EQ(table.held(), of_all_registrants(type));
    EXPECT_EQ(notices(table.unregister(host(2))), "");
    EXPECT_FALSE(table.held());
  }
}

TEST(ReservationTable, PreemptingTheHolder) {
  ReservationTable table = held(write_exclusive);
  table.register_key(host(3), 33);
  table.register_key(host(4), 11);  // the holder's key
  const ReservationEffects effects = table.preempt(host(2), 11, exclusive_access);
  EXPECT_EQ(notices(effects), "1:1 4:1 3:2 ");
  EXPECT_EQ(effects.preempted, (std::vector<HostId>{host(1), host(4)}));
  EXPECT_TRUE(table.holds(host(2)));
  EXPECT_EQ(table.type(), exclusive_access);
  EXPECT_EQ(table.registrants(), (std::vector<ReservationTable::Registrant>{{host(2), 22}, {host(3), 33}}));
  // Of the same type it changes nothing for those that remain.
  EXPECT_EQ(notices(table.preempt(host(3), 22, exclusive_access)), "2:1 ");
}

TEST(ReservationTable, PreemptingOthersAndOneself) {
  ReservationTable table = held(write_exclusive);
  EXPECT_EQ(notices(table.preempt(host(1), 22, exclusive_access)), "2:1 ");
  EXPECT_EQ(table.type(), write_exclusive);
  EXPECT_EQ(notices(table.preempt(host(1), 11, exclusive_access)), "");
  EXPECT_EQ(table.type(), exclusive_access);
  EXPECT_TRUE(table.holds(host(1)));
  table = held(none);
  EXPECT_EQ(notices(table.preempt(host(1), 11, exclusive_access)), "");
  EXPECT_FALSE(table.registered(host(1)));
  EXPECT_FALSE(table.held());
}

TEST(ReservationTable, PreemptingAllRegistrants) {
  ReservationTable table = held(write_exclusive_all_registrants);
  table.register_key(host(3), 22);
  ReservationTable some = table;
  EXPECT_EQ(notices(some.preempt(host(1), 22, exclusive_access)), "2:1 3:1 ");
  EXPECT_EQ(some.type(), write_exclusive_all_registrants);
  EXPECT_EQ(notices(some.preempt(host(1), 11, exclusive_access)), "");
  EXPECT_FALSE(some.held());
  EXPECT_EQ(notices(table.preempt(host(3), 0, exclusive_access)), "1:1 2:1 ");
  EXPECT_EQ(table.type(), exclusive_access);
  EXPECT_TRUE(table.holds(host(3)));
  EXPECT_EQ(table.registrants().size(), 1u);
}

TEST(ReservationTable, PowerTakesWhatDoesNotPersist) {
  ReservationTable table = held(exclusive_access);
  table.set_mask(0xE);
  table.set_persists(true);
  table.on_power_loss();
  EXPECT_TRUE(table.holds(host(1)));
  EXPECT_EQ(table.mask(), 0u);
  table.set_persists(false);
  table.on_power_loss();
  EXPECT_FALSE(table.held());
  EXPECT_TRUE(table.registrants().empty());
}

TEST(ReservationLog, GivesPagesOneByOne) {
  namespace rn = nvme::reservation_notification;
  ReservationLog log;
  EXPECT_EQ(log.page(), Bytes(64));
  for (std::uint32_t nsid = 1; nsid <= 300; ++nsid) log.add(ReservationNotice::reservation_released, nsid);
  for (unsigned i = 0; i < 256; ++i) {
    const Bytes page = log.page();
    const View<nvme::ReservationNotification> view{page};
    EXPECT_EQ(view.get(rn::lpc), i + 1u);
    EXPECT_EQ(view.get(rn::nalp), 255u - i);
    EXPECT_EQ(view.get(rn::nsid), i + 1u);
    log.pop();
  }
  EXPECT_EQ(log.page(), Bytes(64));
  log.pop();
  // What was lost was counted.
  log.add(ReservationNotice::registration_preempted, 7);
  const Bytes page = log.page();
  EXPECT_EQ(View<nvme::ReservationNotification>{page}.get(rn::lpc), 301u);
}

// ---- a second opinion ----

/// One map of keys, and a set of holders that is worked out anew after every command: what the rules say, not how
/// the table does it.
struct Opinion {
  std::map<unsigned, std::uint64_t> keys;
  std::optional<unsigned> owner;  ///< while one host holds
  unsigned type = 0;
  std::uint32_t generation = 0;
  std::string told;

  bool all() const { return type == 5 || type == 6; }
  std::set<unsigned> holders() const {
    std::set<unsigned> found;
    if (type == 0) return found;
    if (!all()) return {*owner};
    for (const auto& [who, key] : keys) found.insert(who);
    return found;
  }
  bool good(unsigned who, std::uint64_t key) const { return keys.contains(who) && keys.at(who) == key; }
  void tell(unsigned by, const std::set<unsigned>& whom, unsigned what) {
    for (const unsigned who : whom) {
      if (who != by) told += std::to_string(who) + ":" + std::to_string(what) + " ";
    }
  }
  std::set<unsigned> everybody() const {
    std::set<unsigned> found;
    for (const auto& [who, key] : keys) found.insert(who);
    return found;
  }
  /// Nobody holds what nobody can hold.
  void settle() {
    if (all() && keys.empty()) type = 0;
    if (type != 0 && !all() && !keys.contains(*owner)) type = 0;
  }

  bool register_key(unsigned who, std::uint64_t key) {
    if (keys.contains(who) && keys[who] != key) return false;
    keys[who] = key;
    ++generation;
    return true;
  }
  bool replace(unsigned who, std::uint64_t current, std::uint64_t key, bool ignore) {
    if (!ignore && !good(who, current)) return false;
    keys[who] = key;
    ++generation;
    return true;
  }
  bool unregister(unsigned who, std::uint64_t current, bool ignore) {
    if (!ignore && !good(who, current)) return false;
    const unsigned before = type;
    keys.erase(who);
    ++generation;
    settle();
    if (type == 0 && (before == 3 || before == 4)) tell(who, everybody(), 2);
    return true;
  }
  bool acquire(unsigned who, std::uint64_t current, unsigned wanted) {
    if (!good(who, current)) return false;
    if (type == 0) {
      type = wanted;
      owner = who;
      return true;
    }
    return holders().contains(who) && type == wanted;
  }
  bool release(unsigned who, std::uint64_t current, unsigned said) {
    if (!good(who, current)) return false;
    if (!holders().contains(who)) return true;
    if (said != type) return false;
    if (type > 2) tell(who, everybody(), 2);
    type = 0;
    return true;
  }
  bool clear(unsigned who, std::uint64_t current) {
    if (!good(who, current)) return false;
    tell(who, everybody(), 3);
    keys.clear();
    type = 0;
    ++generation;
    return true;
  }
  bool preempt(unsigned who, std::uint64_t current, std::uint64_t victim, unsigned wanted) {
    if (!good(who, current)) return false;
    std::set<unsigned> victims;
    for (const auto& [one, key] : keys) {
      if (key == victim) victims.insert(one);
    }
    bool takes_over = false;
    if (all() && victim == 0) {
      victims = everybody();
      takes_over = true;
    } else if (type != 0 && !all() && keys.at(*owner) == victim) {
      takes_over = true;
    } else if (victims.empty()) {
      return false;
    }
    if (takes_over) victims.erase(who);
    for (const unsigned one : victims) keys.erase(one);
    tell(who, victims, 1);
    ++generation;
    if (takes_over) {
      if (type != wanted) tell(who, everybody(), 2);
      type = wanted;
      owner = who;
    }
    settle();
    return true;
  }
};

void compare(const ReservationTable& table, const Opinion& opinion) {
  ASSERT_EQ(static_cast<unsigned>(table.type()), opinion.type);
  ASSERT_EQ(table.generation(), opinion.generation);
  ASSERT_EQ(table.registrants().size(), opinion.keys.size());
  const std::set<unsigned> holders = opinion.holders();
  for (unsigned who = 1; who <= 4; ++who) {
    ASSERT_EQ(table.registered(host(who)), opinion.keys.contains(who)) << who;
    ASSERT_EQ(table.holds(host(who)), holders.contains(who)) << who;
    const bool reads_open = opinion.type == 0 || opinion.type % 2 == 1;
    const bool in = opinion.type == 0 || holders.contains(who) || (opinion.type > 2 && opinion.keys.contains(who));
    ASSERT_EQ(table.allows(host(who), Access::write), in) << who;
    ASSERT_EQ(table.allows(host(who), Access::read), in || reads_open) << who;
  }
  for (const auto& one : table.registrants()) ASSERT_EQ(one.key, opinion.keys.at(one.host[15]));
}

/// Notices in the order of hosts: nobody hears in a different order from another.
std::string sorted(const std::string& text) {
  std::multiset<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find(' ', at);
    words.insert(text.substr(at, end - at));
    at = end + 1;
  }
  std::string out;
  for (const std::string& word : words) out += word + ' ';
  return out;
}

class RandomReservations : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomReservations, AgreeWithASecondOpinion) {
  Rng random(GetParam());
  ReservationTable table;
  Opinion opinion;
  unsigned done = 0;
  for (unsigned step = 0; step < 20'000; ++step) {
    const auto who = static_cast<unsigned>(1 + random.below(4));
    const auto any_key = [&] { return random.below(4); };
    const std::uint64_t key = any_key();
    const bool knows = random.below(4) != 0 && opinion.keys.contains(who);
    const std::uint64_t current = knows ? opinion.keys.at(who) : any_key();
    const bool ignore = random.below(8) == 0;
    const auto type_number = static_cast<unsigned>(1 + random.below(6));
    const auto type = static_cast<ReservationType>(type_number);
    opinion.told.clear();
    ReservationEffects effects;
    Objection objection = Objection::none;
    bool expected = false;
    switch (random.below(9)) {
      case 0:
      case 1:
        objection = table.may_register(host(who), key);
        if (objection == Objection::none) table.register_key(host(who), key);
        expected = opinion.register_key(who, key);
        break;
      case 2:
        objection = table.may_unregister(host(who), current, ignore);
        if (objection == Objection::none) effects = table.unregister(host(who));
        expected = opinion.unregister(who, current, ignore);
        break;
      case 3:
        objection = table.may_replace(host(who), current, ignore);
        if (objection == Objection::none) table.register_key(host(who), key);
        expected = opinion.replace(who, current, key, ignore);
        break;
      case 4:
      case 5:
        objection = table.may_acquire(host(who), current, type);
        if (objection == Objection::none) table.acquire(host(who), type);
        expected = opinion.acquire(who, current, type_number);
        break;
      case 6:
        objection = table.may_preempt(host(who), current, key);
        if (objection == Objection::none) effects = table.preempt(host(who), key, type);
        expected = opinion.preempt(who, current, key, type_number);
        break;
      case 7:
        objection = table.may_release(host(who), current, type);
        if (objection == Objection::none) effects = table.release(host(who));
        expected = opinion.release(who, current, type_number);
        break;
      default:
        if (random.below(4) != 0) continue;
        objection = table.may_clear(host(who), current);
        if (objection == Objection::none) effects = table.clear(host(who));
        expected = opinion.clear(who, current);
        break;
    }
    SCOPED_TRACE("step " + std::to_string(step));
    ASSERT_EQ(objection == Objection::none, expected);
    ASSERT_EQ(sorted(notices(effects)), sorted(opinion.told));
    ASSERT_NO_FATAL_FAILURE(compare(table, opinion));
    done += expected;
  }
  EXPECT_GT(done, 5'000u);
}

INSTANTIATE_TEST_SUITE_P(, RandomReservations, ::testing::Range(std::uint64_t{1}, std::uint64_t{9}));

}  // namespace
}  // namespace fb::subsystem::test
