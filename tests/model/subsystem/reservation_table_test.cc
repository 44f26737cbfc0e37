// The table of registrations by itself: the access of every kind of host under every type, and the rules one by one.
#include <gtest/gtest.h>

#include <string>

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
  EXPECT_EQ(held(write_exclusive_all_registrants).may_acquire(host(2), 22, write_exclusive_all_registrants), Objection::none);
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

}  // namespace
}  // namespace fb::subsystem::test
