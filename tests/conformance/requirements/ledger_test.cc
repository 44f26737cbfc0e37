#include "conformance/requirements/ledger.h"

#include <gtest/gtest.h>

#include "conformance/requirements/requirement_id.h"

namespace fb::conformance {
namespace {

TEST(Ledger, IsSortedAndFindsById) {
  const auto all = ledger();
  ASSERT_GT(all.size(), 100u);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].id, all[i].id);
  for (const Requirement& one : all) EXPECT_EQ(find_requirement(one.id), &one);
  EXPECT_EQ(find_requirement("fabrics.connect"), nullptr);
  EXPECT_EQ(find_requirement(""), nullptr);
}

TEST(Ledger, EveryEntrySaysWhereItComesFrom) {
  for (const Requirement& one : ledger()) {
    EXPECT_FALSE(one.document.empty()) << one.id;
    EXPECT_FALSE(one.section.empty()) << one.id;
    EXPECT_FALSE(one.answers.empty()) << one.id;
    EXPECT_FALSE(one.roles.empty()) << one.id;
  }
}

TEST(Ledger, IdsAreLookedUpWhileCompiling) {
  static_assert(detail::is_known("fabrics.connect.sqsize.minimum"));
  static_assert(!detail::is_known("fabrics.connect.sqsize.minimu"));
  static_assert(!detail::is_known("fabrics.connect.sqsize.minimum.x"));
  static_assert(!detail::is_known(""));
  constexpr RequirementId id{"fabrics.connect.sqsize.minimum"};
  EXPECT_EQ(suite_of(id.text()), "fabrics");
}

}  // namespace
}  // namespace fb::conformance
