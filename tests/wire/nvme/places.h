// Compares a layout with offsets that were written down apart from its declaration.
#pragma once

#include <initializer_list>

#include <gtest/gtest.h>

#include "wire/layout.h"

namespace fb {

struct Place {
  std::string_view name;
  std::size_t offset;
  std::size_t size;
};

template <class L>
void expect_places(std::initializer_list<Place> places) {
  for (const Place& place : places) {
    bool found = false;
    L::for_each([&](auto field) {
      using F = decltype(field);
      if (F::name != place.name) return;
      found = true;
      EXPECT_EQ(F::offset, place.offset) << place.name;
      EXPECT_EQ(F::size, place.size) << place.name;
    });
    EXPECT_TRUE(found) << place.name;
  }
}

}  // namespace fb
