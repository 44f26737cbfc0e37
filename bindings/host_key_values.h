// Operations on a key value namespace for Python.
#pragma once

#include <memory>
#include <string>

#include "bindings/op.h"
#include "model/host/namespace.h"
#include "wire/nvme/kv.h"

namespace fb::python {

/// What one command of the Key Value command set is given.
struct KeyValueArguments {
  nvme::KvOpcode opcode = nvme::KvOpcode::exist;
  Bytes key;
  Bytes value;           ///< of Store
  std::size_t room = 0;  ///< of Retrieve and List
  std::uint8_t options = 0;
};

/// Store and Delete give nothing, Exist a bool, Retrieve a value with its size, List a list of keys.
std::unique_ptr<PyOp> key_value_op(const std::shared_ptr<Box>& box, host::Namespace& space, const KeyValueArguments& arguments);

}  // namespace fb::python
