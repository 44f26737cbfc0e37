// A requirement id that is looked up while compiling: an id that no ledger holds does not compile.
// Cases below conformance/cases/AREA see the ids of that area; everything else sees all of them.
#pragma once

#include <string_view>

#ifdef FB_LEDGER_AREA
#define FB_LEDGER_TEXT_(x) #x
#define FB_LEDGER_TEXT(x) FB_LEDGER_TEXT_(x)
// A path has no blanks.
// clang-format off
#define FB_LEDGER_HEADER_(area) FB_LEDGER_TEXT(conformance/requirements/ids_##area.h)
// clang-format on
#define FB_LEDGER_HEADER(area) FB_LEDGER_HEADER_(area)
#include FB_LEDGER_HEADER(FB_LEDGER_AREA)
#else
#include "conformance/requirements/ledger_ids.h"
#endif

namespace fb::conformance {

namespace detail {

template <std::size_t N>
consteval bool holds(const std::string_view (&ids)[N], std::string_view id) {
  std::size_t low = 0, high = N;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (ids[middle] < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < N && ids[low] == id;
}

#ifdef FB_LEDGER_AREA
#define FB_LEDGER_IDS_(area) ids_##area
#define FB_LEDGER_IDS(area) FB_LEDGER_IDS_(area)
consteval bool is_known(std::string_view id) { return holds(FB_LEDGER_IDS(FB_LEDGER_AREA)::kIds, id); }
#else
consteval bool is_known(std::string_view id) {
  bool found = false;
#define FB_LEDGER_LOOK(area) found = found || holds(ids_##area::kIds, id);
  FB_LEDGER_AREAS(FB_LEDGER_LOOK);
#undef FB_LEDGER_LOOK
  return found;
}
#endif

/// Not constexpr on purpose: reaching it is the compile error.
void no_ledger_holds_this_requirement_id();

}  // namespace detail

class RequirementId {
 public:
  consteval RequirementId(const char* id) : text_(id) {
    if (!detail::is_known(text_)) detail::no_ledger_holds_this_requirement_id();
  }
  constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace fb::conformance
