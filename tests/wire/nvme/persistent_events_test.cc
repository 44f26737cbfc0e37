// The layouts of the persistent event log, of telemetry and of directives, and the walk over events.
#include "wire/nvme/persistent_events.h"

#include <gtest/gtest.h>

#include "wire/nvme/directives.h"
#include "wire/nvme/endurance.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/telemetry.h"

namespace fb::nvme {
namespace {

/// A log of events with these lengths of data, and so many vendor specific bytes before each.
Bytes log_of(std::initializer_list<std::size_t> lengths, std::size_t vendor = 0) {
  Bytes log(PersistentLogHeader::size);
  for (const std::size_t length : lengths) {
    Record<PersistentEventHeader> header;
    header.set(persistent_event::type, PersistentEventType::vendor)
        .set(persistent_event::ehl, PersistentEventHeader::size - kPersistentEventUncounted)
        .set(persistent_event::cntlid, 7u)
        .set(persistent_event::vsil, vendor)
        .set(persistent_event::el, vendor + length);
    log.insert(log.end(), header.bytes().begin(), header.bytes().end());
    log.insert(log.end(), vendor, std::uint8_t{0xEE});
    for (std::size_t i = 0; i < length; ++i) log.push_back(static_cast<std::uint8_t>(i));
  }
  MutableView<PersistentLogHeader>{MutableBytes{log}.first(PersistentLogHeader::size)}
      .set(persistent_log::lhl, PersistentLogHeader::size - kPersistentLogUncounted)
      .set(persistent_log::tnev, lengths.size())
      .set(persistent_log::tll, log.size());
  return log;
}

std::size_t events_of(ByteView log, bool& damaged) {
  PersistentEventWalk walk(log);
  PersistentEvent event;
  std::size_t count = 0;
  while (walk.next(event)) ++count;
  damaged = walk.damaged();
  return count;
}

TEST(PersistentEvents, FollowEachOther) {
  const Bytes log = log_of({0, 3, 512}, 5);
  PersistentEventWalk walk(log);
  PersistentEvent event;
  for (const std::size_t length : {0u, 3u, 512u}) {
    ASSERT_TRUE(walk.next(event));
    EXPECT_EQ(event.type, PersistentEventType::vendor);
    EXPECT_EQ(event.cntlid, 7u);
    ASSERT_EQ(event.data.size(), length);
    if (length != 0) {
      EXPECT_EQ(event.data.back(), static_cast<std::uint8_t>(length - 1));
    }
  }
  EXPECT_FALSE(walk.next(event));
  EXPECT_FALSE(walk.damaged());
}

TEST(PersistentEvents, EndWhereTheLogDoes) {
  const Bytes whole = log_of({4, 40, 400});
  bool damaged = false;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_LT(events_of(ByteView{whole}.first(size), damaged), 3u) << size;
    EXPECT_TRUE(damaged) << size;
  }
  EXPECT_EQ(events_of(whole, damaged), 3u);
  EXPECT_FALSE(damaged);
}

TEST(PersistentEvents, DamageIsSeen) {
  const std::size_t first = PersistentLogHeader::size;
  bool damaged = false;
  const auto broken = [&](std::size_t at, std::uint8_t value) {
    Bytes log = log_of({8, 8});
    log[at] = value;
    (void)events_of(log, damaged);
    return damaged;
  };
  EXPECT_TRUE(broken(persistent_log::lhl.offset, 1));
  EXPECT_TRUE(broken(persistent_log::tnev.offset, 3));
  EXPECT_TRUE(broken(first + persistent_event::ehl.offset, 4));
  EXPECT_TRUE(broken(first + persistent_event::vsil.offset, 9));
  EXPECT_TRUE(broken(first + persistent_event::el.offset + 1, 0x7F));
}

TEST(HistoryLayouts, StandWhereTheyShould) {
  Record<TelemetryHeader> telemetry;
  telemetry.set(telemetry::thdgn, 0x11u).set(telemetry::tcda, 1u).set(telemetry::tcdgn, 0x22u);
  EXPECT_EQ(telemetry.bytes()[381], 0x11);
  EXPECT_EQ(telemetry.bytes()[382], 1);
  EXPECT_EQ(telemetry.bytes()[383], 0x22);
  Sqe enable;
  enable.edit<EnableDirectiveSqe>()
      .set(directive_sqe::dtype, DirectiveType::identify)
      .set(directive_sqe::doper, directive_operation::identify_enable)
      .set(directive_sqe::tdtype, DirectiveType::streams)
      .set(directive_sqe::endir, true);
  EXPECT_EQ(enable.get(sqe::cdw11), 0x00000001u);
  EXPECT_EQ(enable.get(sqe::cdw12), 0x00000101u);
  Sqe release;
  release.edit<DirectiveSqe>()
      .set(directive_sqe::dtype, DirectiveType::streams)
      .set(directive_sqe::doper, directive_operation::streams_release_identifier)
      .set(directive_sqe::dspec, 0x1234u);
  EXPECT_EQ(release.get(sqe::cdw11), 0x12340101u);
  Sqe lock;
  lock.edit<LockdownSqe>()
      .set(lockdown_sqe::scp, LockdownScope::set_features)
      .set(lockdown_sqe::prhbt, true)
      .set(lockdown_sqe::ifc, LockdownInterface::both)
      .set(lockdown_sqe::ofi, 0x84u);
  EXPECT_EQ(lock.get(sqe::cdw10), 0x8432u);
  Sqe capacity;
  capacity.edit<CapacityManagementSqe>()
      .set(capacity_sqe::oper, CapacityOperation::create_nvm_set)
      .set(capacity_sqe::elid, 5u)
      .set(capacity_sqe::cap, 0x1122334455667788u);
  EXPECT_EQ(capacity.get(sqe::cdw10), 0x00050003u);
  EXPECT_EQ(capacity.get(sqe::cdw11), 0x55667788u);
  EXPECT_EQ(capacity.get(sqe::cdw12), 0x11223344u);
}

}  // namespace
}  // namespace fb::nvme
