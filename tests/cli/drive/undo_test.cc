#include "cli/drive/undo.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fb::drive {
namespace {

TEST(Undo, PutsBackTheLatestFirstAndWhatWasFirstOfEachThing) {
  Undo undo;
  std::string done;
  undo.once("a", [&] { done += "a1 "; });
  undo.once("b", [&] { done += "b1 "; });
  undo.once("a", [&] { done += "a2 "; });
  EXPECT_TRUE(undo.knows("a"));
  EXPECT_FALSE(undo.knows("c"));
  EXPECT_EQ(undo.run(), "");
  EXPECT_EQ(done, "b1 a1 ");
  EXPECT_EQ(undo.run(), "");
  EXPECT_EQ(done, "b1 a1 ");
}

TEST(Undo, GoesOnBehindAStepThatFails) {
  Undo undo;
  bool done = false;
  undo.once("a", [&] { done = true; });
  undo.once("b", [] { throw std::runtime_error("no b"); });
  undo.once("c", [] { throw std::runtime_error("no c"); });
  EXPECT_EQ(undo.run(), "no c; no b");
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace fb::drive
