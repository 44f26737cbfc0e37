#include "cli/drive/job.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace fb::drive {
namespace {

using namespace std::chrono_literals;

TEST(Job, SaysItsLine) {
  Job job([] { return std::string("done"); });
  EXPECT_TRUE(job.wait(10s));
  EXPECT_EQ(job.line(), "done");
}

TEST(Job, SaysALongLine) {
  const std::string text(3'000'000, 'x');
  Job job([&] { return text; });
  EXPECT_TRUE(job.wait(10s));
  EXPECT_EQ(job.line(), text);
}

TEST(Job, IsWaitedForNoLongerThanItMay) {
  Job job([] {
    pause();
    return std::string();
  });
  EXPECT_FALSE(job.wait(50ms));
  EXPECT_EQ(job.line(), std::nullopt);
}

TEST(Job, MayGoWithoutAWord) {
  Job job([]() -> std::string { _exit(3); });
  EXPECT_TRUE(job.wait(10s));
  EXPECT_EQ(job.line(), std::nullopt);
}

TEST(Job, EndsWithItsOwner) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    Job job([&] {
      pause();
      return std::string();
    });
    close(ends[1]);
  }
  // The child had the other end: it reads as ended when the child has.
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(Run, BringsBackBothStreamsAndTheCode) {
  const Ended ended = run({"sh", "-c", "echo one; echo two >&2; exit 3"}, 10s);
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.output, "one\ntwo\n");
  EXPECT_EQ(ended.why(), "two");
}

TEST(Run, TakesWordsAsTheyAre) {
  const Ended ended = run({"printf", "%s", "$HOME; `id` \"'"}, 10s);
  EXPECT_TRUE(ended.ok());
  EXPECT_EQ(ended.output, "$HOME; `id` \"'");
}

TEST(Run, KillsWhoIsLate) {
  const Ended ended = run({"sleep", "100"}, 50ms);
  EXPECT_TRUE(ended.late);
  EXPECT_FALSE(ended.ok());
  EXPECT_EQ(ended.why(), "it does not end");
}

TEST(Run, NamesAProgramThatIsNotThere) {
  const Ended ended = run({"no-such-program"}, 10s);
  EXPECT_EQ(ended.status, 127);
  EXPECT_EQ(ended.why(), "no-such-program: No such file or directory");
}

}  // namespace
}  // namespace fb::drive
