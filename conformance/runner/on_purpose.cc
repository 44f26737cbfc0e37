// Which rules the bench itself breaks, case by case: that is how these cases find out what a product does
// about it. Sorted by case; a new line belongs to a new case, and to nothing else.
#include <algorithm>
#include <utility>

#include "conformance/runner/watched.h"

namespace fb::conformance {

namespace {

using monitors::Rule;

constexpr std::pair<std::string_view, Rule> kOnPurpose[] = {
    {"", Rule::rdma_icrc},
};

}  // namespace

bool on_purpose(std::string_view name, Rule rule) {
  return std::binary_search(std::begin(kOnPurpose), std::end(kOnPurpose), std::pair{name, rule});
}

}  // namespace fb::conformance
