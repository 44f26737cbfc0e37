#include "bindings/convert.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace fb::python {

std::string type_name(const py::handle& value) {
  return value.is_none() ? "None" : py::str(py::type::of(value).attr("__name__")).cast<std::string>();
}

std::uint64_t integer_of(const py::handle& value, std::string_view field, std::uint64_t low, std::uint64_t high) {
  const auto outside = [&](const std::string& text) {
    return py::value_error(fmt::format("{}: {} is outside {} to {}", field, text, low, high));
  };
  PyObject* const index = PyNumber_Index(value.ptr());
  if (index == nullptr) {
    PyErr_Clear();
    throw py::type_error(fmt::format("{}: an int is wanted, not {}", field, type_name(value)));
  }
  const py::object number = py::reinterpret_steal<py::object>(index);
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(index, &overflow);
  std::uint64_t got = static_cast<std::uint64_t>(small);
  if (overflow > 0) {
    got = PyLong_AsUnsignedLongLong(index);
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      throw outside(py::str(number).cast<std::string>());
    }
  } else if (overflow < 0 || small < 0) {
    throw outside(py::str(number).cast<std::string>());
  }
  if (got < low || got > high) throw outside(std::to_string(got));
  return got;
}

bool bool_of(const py::handle& value, std::string_view field) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  return integer_of(value, field, 0, 1) == 1;
}

std::string string_of(const py::handle& value, std::string_view field) {
  if (PyUnicode_Check(value.ptr()) == 0) {
    throw py::type_error(fmt::format("{}: a str is wanted, not {}", field, type_name(value)));
  }
  return value.cast<std::string>();
}

Bytes bytes_of(const py::handle& value, std::string_view field) {
  Py_buffer view;
  if (PyObject_CheckBuffer(value.ptr()) == 0 || PyObject_GetBuffer(value.ptr(), &view, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    throw py::type_error(fmt::format("{}: bytes are wanted, not {}", field, type_name(value)));
  }
  const auto* from = static_cast<const std::uint8_t*>(view.buf);
  Bytes bytes(from, from + view.len);
  PyBuffer_Release(&view);
  return bytes;
}

namespace {

Duration in_range(double seconds, std::string_view field) {
  if (!(seconds >= 0) || seconds > 9e9) throw py::value_error(fmt::format("{}: {} s is outside 0 to 9e9 s", field, seconds));
  return Duration::ns(std::llround(seconds * 1e9));
}

Duration parse_duration(std::string_view text, std::string_view field) {
  const auto wrong = py::value_error(fmt::format("{}: '{}' is no time; write 2.5, '250 us', '10ms' or '2 s'", field, text));
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{}) throw wrong;
  std::string_view unit(read.ptr, static_cast<std::size_t>(text.data() + text.size() - read.ptr));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
  for (const auto& [name, factor] : kUnits) {
    if (unit == name) return in_range(number * factor, field);
  }
  throw wrong;
}

}  // namespace

Duration duration_of(const py::handle& value, std::string_view field) {
  if (PyUnicode_Check(value.ptr()) != 0) return parse_duration(value.cast<std::string>(), field);
  if (PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0) {
    return Duration::s(static_cast<std::int64_t>(integer_of(value, field, 0, 9'000'000'000)));
  }
  if (PyFloat_Check(value.ptr()) != 0) return in_range(PyFloat_AS_DOUBLE(value.ptr()), field);
  if (py::hasattr(value, "total_seconds")) return in_range(value.attr("total_seconds")().cast<double>(), field);
  throw py::type_error(fmt::format("{}: a time is wanted (seconds, '10 ms' or a timedelta), not {}", field, type_name(value)));
}

std::optional<Duration> optional_duration(const py::handle& value, std::string_view field) {
  if (value.is_none()) return std::nullopt;
  return duration_of(value, field);
}

IpAddress address_of(const py::handle& value, std::string_view field) {
  const std::string text = py::str(value).cast<std::string>();
  const auto address = IpAddress::parse(text);
  if (!address) throw py::value_error(fmt::format("{}: '{}' is no IP address", field, text));
  return *address;
}

}  // namespace fb::python
