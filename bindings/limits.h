// Numbers that a product could not work with: refused by name, never replaced by others.
#pragma once

#include <fmt/format.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <limits>
#include <string_view>

namespace fb::python {

template <class T>
void require_within(std::string_view field, T value, T low, T high = std::numeric_limits<T>::max()) {
  if (value >= low && value <= high) return;
  throw pybind11::value_error(fmt::format("{}: {} is outside {} to {}", field, value, low, high));
}

/// Of PDUs whose data begins where the data before it ended.
inline void require_dwords(std::string_view field, std::uint32_t bytes) {
  if (bytes != 0 && bytes % 4 == 0) return;
  throw pybind11::value_error(fmt::format("{}: {} is no multiple of 4 above 0", field, bytes));
}

}  // namespace fb::python
