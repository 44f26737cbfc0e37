#include "bindings/host_key_values.h"

#include <fmt/format.h>

#include "bindings/errors.h"

namespace fb::python {

namespace {

py::bytes as_bytes(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

py::object listed(const host::KeyList& list) {
  py::list keys;
  for (const nvme::KvKey& key : list.keys) keys.append(as_bytes(key.view()));
  return keys;
}

}  // namespace

std::unique_ptr<PyOp> key_value_op(const std::shared_ptr<Box>& box, host::Namespace& space, const KeyValueArguments& arguments) {
  const std::string what = fmt::format("{} in namespace {}", nvme::kv_opcode_name(nvme::opcode_of(arguments.opcode)), space.nsid());
  const auto plain = [&](Op<nvme::Status> op) {
    return make_py_op(box, std::move(op), [what](const nvme::Status& status) -> py::object {
      check_status(status, what);
      return py::none();
    });
  };
  switch (arguments.opcode) {
    case nvme::KvOpcode::store:
      return plain(space.store(arguments.key, arguments.value, arguments.options));
    case nvme::KvOpcode::remove:
      return plain(space.delete_key(arguments.key));
    case nvme::KvOpcode::exist:
      return make_py_op(box, space.exists(arguments.key), [what](const nvme::Status& status) -> py::object {
        if (same_code(status, nvme::sc::key_does_not_exist)) return py::bool_(false);
        check_status(status, what);
        return py::bool_(true);
      });
    case nvme::KvOpcode::retrieve:
      return make_py_op(box, space.retrieve(arguments.key, arguments.room, arguments.options),
                        [what](const host::Retrieved& done) -> py::object {
                          check_status(done.status, what);
                          return py::make_tuple(as_bytes(done.value), done.size);
                        });
    case nvme::KvOpcode::list:
      return make_py_op(box, space.list_keys(arguments.key, arguments.room), [what](const host::KeyList& list) -> py::object {
        check_status(list.status, what);
        return listed(list);
      });
  }
  throw py::value_error("opcode: not of the Key Value command set");
}

}  // namespace fb::python
