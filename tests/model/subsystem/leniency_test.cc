// The words for a refused command, and what a target may be told to let pass.
#include "model/subsystem/leniency.h"

#include <gtest/gtest.h>

#include <set>

#include "model/host/commands.h"
#include "model/subsystem/checks.h"

namespace fb::subsystem {
namespace {

struct Attempt {
  host::ConnectCommand command;
  Bytes data;
  nvme::Sqe sqe;

  explicit Attempt(std::string_view hostnqn)
      : command(host::connect({.hostnqn = hostnqn, .subnqn = "nqn.2026-11.org.example:disk"})),
        data(command.data.bytes().begin(), command.data.bytes().end()),
        sqe(host::as_sqe(command.sqe)) {}
  RefusedCommand refused(const Check& check) const {
    return {.peer = {IpAddress::v4(192, 0, 2, 1), 40000},
            .qid = 0,
            .sqe = sqe.bytes(),
            .data = data,
            .same_cid = {},
            .check = check.name,
            .status = check.status,
            .parameter_offset = check.parameter_offset,
            .parameter_in_data = check.parameter_in_data};
  }
};

TEST(RefusedConnect, IsALineWithFieldReasonAndWhatLetsItPass) {
  EXPECT_EQ(line_for(Attempt("").refused(check::connect_hostnqn_syntax)),
            "refused Connect of queue 0 from 192.0.2.1:40000: HOSTNQN is empty; Connect Invalid Parameters (1/82h), offset 512 of "
            "the data (--lenient hostnqn takes it)");
  const struct {
    const char *hostnqn, *says;
  } rows[] = {
      {"nqn.2014-08.org.nvmexpress:uuid:laptop", "HOSTNQN 'nqn.2014-08.org.nvmexpress:uuid:laptop' has no UUID behind 'uuid:'"},
      {"laptop", "HOSTNQN 'laptop' does not begin with 'nqn.'"},
      {"nqn.laptop", "HOSTNQN 'nqn.laptop' is no NQN"},
      {"nqn.\x01\xff", "HOSTNQN 'nqn.\\x01\\xff' is no NQN"},
  };
  for (const auto& row : rows) {
    const std::string line = line_for(Attempt(row.hostnqn).refused(check::connect_hostnqn_syntax));
    EXPECT_NE(line.find(row.says), std::string::npos) << line;
  }
}

TEST(RefusedConnect, HasWordsForEveryCheck) {
  const Attempt attempt("nqn.2026-11.org.example:host");
  std::set<std::string> lines;
  const Check* const all[] = {
#define FB_CHECK(id, name, status, dnr, ipo, ips) &check::id,
      FB_CONNECT_CHECKS(FB_CHECK)
#undef FB_CHECK
  };
  for (const Check* const one : all) {
    const RefusedCommand refused = attempt.refused(*one);
    EXPECT_TRUE(worth_a_line(refused));
    const std::string line = line_for(refused);
    EXPECT_EQ(line.find(one->name), std::string::npos) << "a name of ours is no reason: " << line;
    EXPECT_NE(line.find(nvme::to_string(one->status)), std::string::npos) << line;
    EXPECT_TRUE(lines.insert(line).second || one->name.starts_with("connect.io")) << line;
  }
}

TEST(RefusedConnect, NeedsNoData) {
  const Attempt attempt("x");
  RefusedCommand refused = attempt.refused(check::connect_recfmt);
  refused.data = {};
  EXPECT_NE(line_for(refused).find("RECFMT 0 is not known"), std::string::npos);
}

TEST(RefusedCommand, SaysWhoseIdentifierItHas) {
  nvme::Sqe event, shutdown = host::as_sqe(host::property_set(0x14, 0x4001));
  event.set(nvme::sqe::opcode, 0x0C).set(nvme::sqe::cid, 7);
  shutdown.set(nvme::sqe::cid, 7);
  RefusedCommand refused{.peer = {IpAddress::v4(192, 0, 2, 1), 40000},
                         .sqe = shutdown.bytes(),
                         .data = {},
                         .same_cid = event.bytes(),
                         .check = check::cid_unique.name,
                         .status = check::cid_unique.status};
  EXPECT_TRUE(worth_a_line(refused));
  const std::string line = line_for(refused);
  EXPECT_NE(line.find("refused Property Set of queue 0"), std::string::npos) << line;
  EXPECT_NE(line.find("identifier 0007h is that of an outstanding Asynchronous Event Request"), std::string::npos) << line;
  EXPECT_NE(line.find("Command ID Conflict (0/03h)"), std::string::npos) << line;
  refused.check = check::property_offset.name;
  EXPECT_FALSE(worth_a_line(refused)) << "a host is refused this and that all day";
}

TEST(Leniency, NamesChecksThatAre) {
  std::set<std::string_view> known, names, taken;
#define FB_CHECK(id, name, ...) known.insert(name);
  FB_CONNECT_CHECKS(FB_CHECK)
  FB_COMMAND_CHECKS(FB_CHECK)
#undef FB_CHECK
  for (const Leniency& one : leniencies()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_EQ(find_leniency(one.name), &one);
    for (const std::string_view check : one.checks) {
      EXPECT_TRUE(known.contains(check)) << check;
      EXPECT_TRUE(taken.insert(check).second) << check;
      EXPECT_EQ(leniency_about(check), &one);
    }
  }
  EXPECT_EQ(find_leniency("hostname"), nullptr);
  EXPECT_EQ(leniency_about("connect.subnqn.known"), nullptr);
}

}  // namespace
}  // namespace fb::subsystem
