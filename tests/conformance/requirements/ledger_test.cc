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

TEST(Ledger, CitationsNameTheirSections) {
  Requirement one{};
  one.document = "NVMe Base";
  one.revision = "2.3";
  one.section = "8.1.26";
  one.section_title = "Sanitize Operations";
  EXPECT_EQ(citation(one), "NVMe Base 2.3, 8.1.26 Sanitize Operations");
  one.section = "4.1.1, 5.2.10";
  one.section_title = "Common SQE; Format NVM command";
  EXPECT_EQ(citation(one), "NVMe Base 2.3, 4.1.1 Common SQE, 5.2.10 Format NVM command");
  one.section_title = "";
  EXPECT_EQ(citation(one), "NVMe Base 2.3, 4.1.1, 5.2.10");
  one.section = one.section_title = "NdkRead";  // a page, cited by its name
  EXPECT_EQ(citation(one), "NVMe Base 2.3, NdkRead");
}

TEST(Ledger, NearlyEverySectionIsKnown) {
  std::size_t known = 0, checked = 0;
  for (const Requirement& one : ledger()) {
    known += one.section_title.empty() ? 0 : 1;
    checked += one.section_checked ? 1 : 0;
    EXPECT_FALSE(one.document_name.empty()) << one.id;
    EXPECT_FALSE(one.subject.empty()) << one.id;
  }
  EXPECT_GE(known * 100, ledger().size() * 98);
  EXPECT_GE(checked * 100, ledger().size() * 90);
  EXPECT_EQ(find_requirement("fabrics.connect.sqsize.minimum")->subject, "connect");
}

TEST(Ledger, IdsAreLookedUpWhileCompiling) {
  static_assert(detail::is_known("fabrics.connect.sqsize.minimum"));
  static_assert(!detail::is_known("fabrics.connect.sqsize.minimu"));
  static_assert(!detail::is_known("fabrics.connect.sqsize.minimum.x"));
  static_assert(!detail::is_known(""));
  constexpr RequirementId id{"fabrics.connect.sqsize.minimum"};
  EXPECT_EQ(suite_of(id.text()), "fabrics");
  EXPECT_EQ(suite_of("fabrics.discovery.many"), "discovery");
  EXPECT_EQ(suite_of("fabrics.host.discovery.notice"), "discovery");
  EXPECT_EQ(suite_of("discovery.cdc.identify"), "discovery");
}

}  // namespace
}  // namespace fb::conformance
