#include "bindings/records.h"

#include <fmt/format.h>

#include <unordered_map>

namespace fb::python {

namespace {

/// A field of a record type: a descriptor.
struct Field {
  const LayoutInfo* layout = nullptr;
  const FieldInfo* info = nullptr;
};

/// Python types and their layouts, both ways. Looked up, never walked in an order that matters.
struct Types {
  std::unordered_map<const LayoutInfo*, py::object> of_layout;
  std::unordered_map<const PyObject*, const LayoutInfo*> of_type;
};
Types& types() {
  // Never destroyed: at the end of the interpreter nobody may let go of its objects.
  static auto* const known = new Types;
  return *known;
}

py::object get_field(const FieldInfo& field, const Bytes& bytes) {
  if (field.width == 0) {
    const ByteView content = ByteView(bytes).subspan(field.offset, field.size);
    if (!field.counter) return to_python(content);
    return py::reinterpret_steal<py::object>(_PyLong_FromByteArray(content.data(), content.size(), 1, 0));
  }
  const std::uint64_t raw = field.get(bytes.data());
  if (field.flag) return py::bool_(raw != 0);
  return py::int_(raw);
}

void set_field(const FieldInfo& field, Bytes& bytes, const py::handle& value) {
  if (field.width != 0) {
    const std::uint64_t high = field.width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << field.width) - 1;
    field.set(bytes.data(), integer_of(value, field.name, 0, high));
    return;
  }
  Bytes content;
  if (field.counter && PyIndex_Check(value.ptr()) != 0) {
    const py::int_ number(py::reinterpret_borrow<py::object>(value));
    if (number < py::int_(0) || number.attr("bit_length")() > py::int_(8 * field.size)) {
      const auto shown = std::string(py::str(py::handle(number)));
      throw py::value_error(fmt::format("{}: {} is no number of {} bytes", field.name, shown, field.size));
    }
    content = bytes_of(number.attr("to_bytes")(field.size, "little"), field.name);
  } else if (PyUnicode_Check(value.ptr()) != 0) {
    const auto text = value.cast<std::string>();
    content.assign(text.begin(), text.end());
  } else {
    content = bytes_of(value, field.name);
  }
  if (content.size() > field.size) {
    throw py::value_error(fmt::format("{}: {} bytes do not fit into {}", field.name, content.size(), field.size));
  }
  content.resize(field.size);
  std::copy(content.begin(), content.end(), bytes.begin() + static_cast<std::ptrdiff_t>(field.offset));
}

const FieldInfo* find_field(const LayoutInfo& layout, std::string_view name) {
  for (const FieldInfo& field : layout.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string text_of_bytes(ByteView bytes) {
  std::size_t used = bytes.size();
  while (used > 0 && (bytes[used - 1] == 0 || bytes[used - 1] == ' ')) --used;
  const ByteView shown = bytes.first(used);
  const bool printable = std::all_of(shown.begin(), shown.end(), [](std::uint8_t b) { return b >= 0x20 && b < 0x7F; });
  if (printable) return "'" + std::string(shown.begin(), shown.end()) + "'";
  return used > 16 ? fmt::format("0x{}...", to_hex(shown.first(16))) : "0x" + to_hex(shown);
}

/// Fields that are not zero.
std::string describe(const WireRecord& record) {
  std::string text = "<" + std::string(record.layout->name);
  for (const FieldInfo& field : record.layout->fields) {
    if (field.width == 0) {
      const ByteView bytes = ByteView(*record.bytes).subspan(field.offset, field.size);
      if (std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; })) continue;
      text +=
          fmt::format(" {}={}", field.name, field.counter ? std::string(py::str(get_field(field, *record.bytes))) : text_of_bytes(bytes));
      continue;
    }
    const std::uint64_t raw = field.get(record.bytes->data());
    if (field.flag) {
      if (raw != 0) text += fmt::format(" {}", field.name);
    } else if (field.zero_based) {
      text += fmt::format(" {}={} ({})", field.name, raw, raw + 1);
    } else if (raw != 0) {
      text += raw > 9999 ? fmt::format(" {}={:#x}", field.name, raw) : fmt::format(" {}={}", field.name, raw);
    }
  }
  return text + ">";
}

const LayoutInfo& layout_of_type(const py::handle& type) {
  const auto found = types().of_type.find(type.ptr());
  if (found != types().of_type.end()) return *found->second;
  // A subclass of somebody's own.
  if (PyType_Check(type.ptr()) != 0) {
    for (const LayoutInfo& layout : layouts()) {
      const py::object& known = types().of_layout.at(&layout);
      if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), reinterpret_cast<PyTypeObject*>(known.ptr())) != 0) return layout;
    }
  }
  throw py::type_error("Record: one of the types of fabricbench.wire is wanted");
}

void begin(const py::object& self, WireRecord& record, const py::object& data, const py::kwargs& fields) {
  record.layout = &layout_of_type(py::type::of(self));
  record.bytes = std::make_shared<Bytes>(record.layout->size);
  if (!data.is_none()) {
    const Bytes from = bytes_of(data, std::string(record.layout->name));
    if (from.size() < record.layout->size) {
      throw py::value_error(fmt::format("{}: {} bytes are too few, it has {}", record.layout->name, from.size(), record.layout->size));
    }
    std::copy_n(from.begin(), record.layout->size, record.bytes->begin());
  }
  for (const auto& [key, value] : fields) {
    const auto name = key.cast<std::string>();
    const FieldInfo* const field = find_field(*record.layout, name);
    if (field == nullptr) throw py::type_error(fmt::format("{} has no field '{}'", record.layout->name, name));
    set_field(*field, *record.bytes, value);
  }
}

}  // namespace

const LayoutInfo* find_layout(std::string_view name) {
  for (const LayoutInfo& layout : layouts()) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

py::object make_record(const LayoutInfo& layout, ByteView bytes) {
  auto record = std::make_unique<WireRecord>();
  record->layout = &layout;
  record->bytes = std::make_shared<Bytes>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), layout.size)));
  record->bytes->resize(layout.size);
  // As the type's own constructor would, without the detour through its arguments: this is on the path of every
  // command.
  auto* const type = reinterpret_cast<PyTypeObject*>(types().of_layout.at(&layout).ptr());
  py::object made = py::reinterpret_steal<py::object>(py::detail::make_new_instance(type));
  auto* const instance = reinterpret_cast<py::detail::instance*>(made.ptr());
  static const py::detail::type_info* const known = py::detail::get_type_info(typeid(WireRecord));
  py::detail::value_and_holder slot = instance->get_value_and_holder(known);
  slot.value_ptr() = record.release();
  slot.type->init_instance(instance, nullptr);
  return made;
}

const WireRecord* as_record(const py::handle& value) {
  if (types().of_type.find(reinterpret_cast<const PyObject*>(Py_TYPE(value.ptr()))) == types().of_type.end()) {
    return py::isinstance<WireRecord>(value) ? &value.cast<const WireRecord&>() : nullptr;
  }
  const auto* const instance = reinterpret_cast<const py::detail::instance*>(value.ptr());
  BENCH_ASSERT(instance->simple_layout, "the record types have one base");
  return static_cast<const WireRecord*>(instance->simple_value_holder[0]);
}

Bytes record_bytes(const py::handle& value, std::string_view field) {
  if (const WireRecord* const record = as_record(value)) return *record->bytes;
  return bytes_of(value, field);
}

void bind_records(py::module_& m) {
  py::class_<Field>(m, "Field", "A field of a record type: what it gives, what it takes, and where it stands.")
      .def("__get__",
           [](py::object self, const py::object& record, const py::object&) -> py::object {
             if (record.is_none()) return self;
             return get_field(*self.cast<Field&>().info, *record.cast<WireRecord&>().bytes);
           })
      .def("__set__", [](const Field& field, WireRecord& record, const py::object& value) { set_field(*field.info, *record.bytes, value); })
      .def_property_readonly(
          "name", [](const Field& field) { return field.info->name; }, "As the record has it.")
      .def_property_readonly(
          "offset", [](const Field& field) { return field.info->offset; }, "Its first byte.")
      .def_property_readonly(
          "size", [](const Field& field) { return field.info->size; }, "Bytes that it touches.")
      .def_property_readonly(
          "bits", [](const Field& field) { return field.info->counter ? 8 * field.info->size : field.info->width; },
          "Of a number or a flag; 0: it is a run of bytes.")
      .def_property_readonly(
          "zero_based", [](const Field& field) { return field.info->zero_based; }, "A 0's based count: 0 means one.")
      .def("__repr__", [](const Field& field) {
        const FieldInfo& info = *field.info;
        return fmt::format("<field {} of {}: byte {}, {}>", info.name, field.layout->name, info.offset,
                           info.width == 0 ? fmt::format("{} bytes", info.size) : fmt::format("{} bits", info.width));
      });
  py::class_<WireRecord> record(m, "Record", py::buffer_protocol(),
                                "A structure of the wire: bytes with named fields. fabricbench.wire has a class for each.");
  record
      .def(
          "__init__",
          [](py::detail::value_and_holder& slot, const py::object& data, const py::kwargs& fields) {
            auto made = std::make_unique<WireRecord>();
            begin(py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(slot.inst)), *made, data, fields);
            slot.value_ptr() = made.release();
          },
          py::detail::is_new_style_constructor(), py::arg("data") = py::none())
      .def_buffer([](const WireRecord& held) {
        return py::buffer_info(held.bytes->data(), 1, py::format_descriptor<std::uint8_t>::format(),
                               static_cast<py::ssize_t>(held.bytes->size()));
      })
      .def("__bytes__", [](const WireRecord& held) { return to_python(*held.bytes); })
      .def("__len__", [](const WireRecord& held) { return held.bytes->size(); })
      .def("__repr__", &describe)
      .def("__eq__",
           [](const WireRecord& held, const py::object& other) {
             if (!py::isinstance<WireRecord>(other)) return false;
             const auto& right = other.cast<WireRecord&>();
             return held.layout == right.layout && *held.bytes == *right.bytes;
           })
      .def(
          "view",
          [](const WireRecord& held, const py::object& type) {
            const LayoutInfo& layout = layout_of_type(type);
            if (held.bytes->size() < layout.size) {
              throw py::value_error(fmt::format("{}: {} bytes are too few, it has {}", layout.name, held.bytes->size(), layout.size));
            }
            py::object made = type(to_python(*held.bytes));
            made.cast<WireRecord&>().bytes = held.bytes;
            return made;
          },
          py::arg("type"), "The same bytes as another structure: a change of one is seen in the other.")
      .def(
          "copy",
          [](const py::object& self, const py::kwargs& fields) {
            py::object made = py::type::of(self)(self);
            for (const auto& [key, value] : fields) {
              const auto name = key.cast<std::string>();
              const auto& layout = *made.cast<WireRecord&>().layout;
              const FieldInfo* const field = find_field(layout, name);
              if (field == nullptr) throw py::type_error(fmt::format("{} has no field '{}'", layout.name, name));
              set_field(*field, *made.cast<WireRecord&>().bytes, value);
            }
            return made;
          },
          "A copy with other values in these fields.")
      .def(
          "fields",
          [](const WireRecord& held) {
            py::dict all;
            for (const FieldInfo& field : held.layout->fields) all[py::str(std::string(field.name))] = get_field(field, *held.bytes);
            return all;
          },
          "Every field by name.");
  record.attr("__hash__") = py::none();
  // One Python type a layout.
  const py::object type = py::module_::import("builtins").attr("type");
  py::dict all;
  for (const LayoutInfo& layout : layouts()) {
    py::dict content;
    content["__module__"] = "fabricbench.wire";
    content["__slots__"] = py::make_tuple();
    for (const FieldInfo& field : layout.fields) content[py::str(std::string(field.name))] = py::cast(Field{&layout, &field});
    const std::string name(layout.name);
    py::object made = type(py::str(name), py::make_tuple(record), content);
    made.attr("SIZE") = layout.size;
    types().of_layout[&layout] = made;
    types().of_type[made.ptr()] = &layout;
    all[py::str(name)] = made;
  }
  m.attr("record_types") = all;
}

}  // namespace fb::python
