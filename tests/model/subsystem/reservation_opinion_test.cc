// Long random sequences of reservation commands of four hosts, against a second opinion that is written differently.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/rng.h"
#include "model/subsystem/reservations.h"

namespace fb::subsystem::test {
namespace {

using nvme::ReservationType;

HostId host(unsigned number) {
  HostId id = {};
  id[15] = static_cast<std::uint8_t>(number);
  return id;
}

std::string notices(const ReservationEffects& effects) {
  std::string text;
  for (const auto& [who, what] : effects.notices) {
    text += std::to_string(who[15]) + ":" + std::to_string(static_cast<unsigned>(what)) + " ";
  }
  return text;
}

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
