// Options as keyword arguments: one row a member, from which come the check of what Python gives and the stubs.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bindings/convert.h"

namespace fb::python {

template <class S>
struct OptionRow {
  std::string_view name;
  std::string type;  ///< as a stub says it
  void (*set)(S&, const py::handle&, const std::string& field);
};

/// The rows of a structure, and its name in the stubs: product_options.h says which structures have them.
template <class S>
struct Options;

template <class S>
concept HasOptions = requires {
  Options<S>::rows();
};

/// Throws TypeError for what there is not, and names what comes near.
[[noreturn]] void no_such_option(std::string_view what, std::string_view name, const std::vector<std::string_view>& known);

template <class S>
void set_options(S& options, const py::dict& given, const std::string& what) {
  for (const auto& [key, value] : given) {
    const auto name = string_of(key, what);
    const OptionRow<S>* found = nullptr;
    for (const auto& row : Options<S>::rows()) {
      if (row.name == name) found = &row;
    }
    if (found == nullptr) {
      std::vector<std::string_view> known;
      for (const auto& row : Options<S>::rows()) known.push_back(row.name);
      no_such_option(what, name, known);
    }
    found->set(options, value, what + "." + name);
  }
}

template <class T>
void assign(T& to, const py::handle& value, const std::string& field) {
  if constexpr (std::is_same_v<T, bool>) {
    to = bool_of(value, field);
  } else if constexpr (std::is_same_v<T, Duration>) {
    to = duration_of(value, field);
  } else if constexpr (std::is_same_v<T, std::string>) {
    to = string_of(value, field);
  } else if constexpr (std::is_same_v<T, IpAddress>) {
    to = address_of(value, field);
  } else if constexpr (std::is_enum_v<T>) {
    to = static_cast<T>(integer_as<std::underlying_type_t<T>>(value, field));
  } else if constexpr (std::is_unsigned_v<T>) {
    to = integer_as<T>(value, field);
  } else if constexpr (HasOptions<T>) {
    if (!py::isinstance<py::dict>(value)) throw py::type_error(field + ": a dict of options is wanted, not " + type_name(value));
    set_options(to, py::reinterpret_borrow<py::dict>(value), field);
  } else if constexpr (requires { to.has_value(); }) {
    if (value.is_none()) return to.reset();
    typename T::value_type made{};
    assign(made, value, field);
    to = std::move(made);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    const Bytes bytes = bytes_of(value, field);
    if (bytes.size() != to.size()) {
      throw py::value_error(field + ": " + std::to_string(to.size()) + " bytes are wanted, not " + std::to_string(bytes.size()));
    }
    std::copy(bytes.begin(), bytes.end(), to.begin());
  } else {  // a list
    if (PyUnicode_Check(value.ptr()) != 0 || PySequence_Check(value.ptr()) == 0) {
      throw py::type_error(field + ": a list is wanted, not " + type_name(value));
    }
    T made;
    for (const auto& item : py::reinterpret_borrow<py::sequence>(value)) {
      typename T::value_type one{};
      assign(one, item, field);
      made.push_back(std::move(one));
    }
    to = std::move(made);
  }
}

template <class T>
std::string stub_type() {
  if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (std::is_same_v<T, Duration>) {
    return "Time";
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, IpAddress>) {
    return "str";
  } else if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {
    return "int";
  } else if constexpr (HasOptions<T>) {
    return std::string(Options<T>::name());
  } else if constexpr (requires(T t) { t.has_value(); }) {
    return stub_type<typename T::value_type>() + " | None";
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    return "bytes";
  } else {
    return "Sequence[" + stub_type<typename T::value_type>() + "]";
  }
}

// clang-format off
#define FB_OPTION(S, member)                                                   \
  ::fb::python::OptionRow<S> {                                                 \
    #member, ::fb::python::stub_type<decltype(S::member)>(),                   \
        [](S& to, const ::pybind11::handle& value, const std::string& field) { \
          ::fb::python::assign(to.member, value, field);                       \
        }                                                                      \
  }
// clang-format on

/// All tables, for the stubs: {name: {option: type}}.
py::dict option_tables();

}  // namespace fb::python
