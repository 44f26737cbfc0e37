#include "conformance/runner/arranger.h"

#include <gtest/gtest.h>

#include <set>

#include "conformance/runner/product.h"

namespace fb::conformance {
namespace {

void some_change(EmbeddedSetup&) {}

TEST(Requests, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(kLastRequest); ++i) names.insert(name_of(static_cast<Request>(i)));
  EXPECT_EQ(names.size(), static_cast<unsigned>(kLastRequest) + 1);
  EXPECT_FALSE(names.contains(""));
}

TEST(Arranges, NamesItsRequestsAndKeepsAChangeOfOthers) {
  CaseOptions options;
  arranges{{Request::link, Request::ana_state}, &some_change}.apply(options);
  arranges{{Request::temperature}}.apply(options);
  EXPECT_EQ(requests_of(options), (std::vector<std::string_view>{"ana_state", "temperature", "link"}));
  EXPECT_EQ(options.arrange, &some_change);
}

TEST(NotArranged, SaysWhatIsMissing) {
  CaseOptions options;
  Product product;
  EXPECT_EQ(not_arranged(options, product), std::nullopt);
  arranges{{Request::ana_state, Request::link}}.apply(options);
  EXPECT_NE(not_arranged(options, product)->find("--arrange"), std::string::npos);
  product.arranger = "program";
  product.arrangeable = {"ana_state"};
  EXPECT_NE(not_arranged(options, product)->find("'link'"), std::string::npos);
  product.arrangeable.push_back("link");
  EXPECT_EQ(not_arranged(options, product), std::nullopt);
}

}  // namespace
}  // namespace fb::conformance
