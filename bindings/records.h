// Every structure of the wire/ folders as a Python type: a run of bytes with named fields, from the same declarations
// that the engines use.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "bindings/convert.h"
#include "wire/layout.h"

namespace fb::python {

struct FieldInfo {
  std::string_view name;
  std::size_t offset = 0;
  std::size_t size = 0;
  unsigned width = 0;    ///< bits; 0: a run of bytes
  bool counter = false;  ///< a run of bytes that is one number
  bool zero_based = false;
  bool flag = false;
  std::uint64_t (*get)(const std::uint8_t*) = nullptr;
  void (*set)(std::uint8_t*, std::uint64_t) = nullptr;
};

struct LayoutInfo {
  std::string_view name;
  std::string_view module;  ///< the module in Python: fabricbench.wire.MODULE
  std::size_t size = 0;
  std::vector<FieldInfo> fields;
};

/// A record: its layout, and its bytes or those of another record that it looks into.
struct WireRecord {
  const LayoutInfo* layout = nullptr;
  std::shared_ptr<Bytes> bytes;
};

const std::vector<LayoutInfo>& layouts();
const LayoutInfo* find_layout(std::string_view name);
/// A new object of the layout's Python type, with these bytes (cut, or filled with zeroes).
py::object make_record(const LayoutInfo& layout, ByteView bytes);
/// The record that a Python object is, or null. Cheaper than a cast.
const WireRecord* as_record(const py::handle& value);
/// The bytes of a record, or of anything with a buffer.
Bytes record_bytes(const py::handle& value, std::string_view field);
/// The same of a record; each C++ layout goes by one name.
template <class L>
py::object record_object(std::string_view name, const Record<L>& record) {
  static const LayoutInfo* const layout = find_layout(name);
  return make_record(*layout, record.bytes());
}

void bind_records(py::module_& m);

}  // namespace fb::python
