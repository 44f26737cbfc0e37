#include "conformance/evidence/said.h"

#include <gtest/gtest.h>

#include "conformance/evidence/dissector.h"

namespace fb::evidence {
namespace {

TEST(Said, NothingFromNothing) {
  SaidList list;
  Dissector dissector;
  dissector.add(list);
  dissector.on_event({});
  EXPECT_EQ(dissector.counts().packets, 0u);
  ASSERT_EQ(list.said().size(), 1u);
  EXPECT_EQ(list.said()[0].layer, "note");
}

}  // namespace
}  // namespace fb::evidence
