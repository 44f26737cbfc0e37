// Python values as ours: each conversion names the field and its limits when it refuses.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ip.h"
#include "base/time.h"

namespace fb::python {

namespace py = pybind11;

std::string type_name(const py::handle& value);

/// An int between the two, or something with __index__ (an enumeration); no bool where a number is meant is refused
/// silently: True is 1. TypeError, ValueError.
std::uint64_t integer_of(const py::handle& value, std::string_view field, std::uint64_t low, std::uint64_t high);
template <class T>
T integer_as(const py::handle& value, std::string_view field) {
  return static_cast<T>(integer_of(value, field, 0, std::numeric_limits<T>::max()));
}
bool bool_of(const py::handle& value, std::string_view field);
std::string string_of(const py::handle& value, std::string_view field);
/// bytes, or anything with a buffer.
Bytes bytes_of(const py::handle& value, std::string_view field);
/// Seconds as int or float, "250 us", "10ms", "2s", or datetime.timedelta.
Duration duration_of(const py::handle& value, std::string_view field);
std::optional<Duration> optional_duration(const py::handle& value, std::string_view field);
IpAddress address_of(const py::handle& value, std::string_view field);

inline py::bytes to_python(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
/// Seconds.
inline double seconds(Duration span) { return static_cast<double>(span.count_ns()) / 1e9; }
inline double seconds(Instant at) { return static_cast<double>(at.count_ns()) / 1e9; }

}  // namespace fb::python
