#include "bindings/hooks.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "bindings/convert.h"
#include "bindings/names.h"
#include "bindings/records.h"
#include "model/subsystem/controller.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"

namespace fb::python {

namespace {

/// A method of the user's object: empty where it is the base class's own.
py::object overridden(const py::object& product, const char* base, const char* method) {
  const py::object here = py::module_::import("fabricbench._products").attr(base);
  const py::object type = py::type::of(product);
  if (!py::hasattr(type, method)) return {};
  if (type.attr(method).is(here.attr(method)) && !py::hasattr(product, "__dict__")) return {};
  if (type.attr(method).is(here.attr(method)) && !product.attr("__dict__").contains(method)) return {};
  return product.attr(method);
}

SeenCommand seen(const subsystem::CommandContext& command) {
  SeenCommand made{command.qid, Bytes(command.sqe.begin(), command.sqe.end()), {}};
  if (command.controller != nullptr) made.cntlid = command.controller->cntlid();
  return made;
}

py::object bytearray_of(ByteView bytes) {
  return py::reinterpret_steal<py::object>(
      PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()), static_cast<py::ssize_t>(bytes.size())));
}

/// Python gets a copy that it may change, and the model what became of it: a view that outlives the call harms nobody.
template <class Call>
void with_copy(MutableBytes bytes, const char* what, Call&& call) {
  const py::object copy = bytearray_of(bytes);
  call(copy);
  if (static_cast<std::size_t>(PyByteArray_Size(copy.ptr())) != bytes.size()) {
    throw py::value_error(fmt::format("{}: it has {} bytes, and keeps its length", what, bytes.size()));
  }
  std::copy_n(reinterpret_cast<const std::uint8_t*>(PyByteArray_AsString(copy.ptr())), bytes.size(), bytes.begin());
}

/// The transport's hooks, for every product that has one.
template <class Base>
class Scripted : public Base {
 public:
  Scripted(Box& box, py::object product, const char* base, std::unique_ptr<Base> inner)
      : box_(box), inner_(std::move(inner)), product_(std::move(product)), base_(base) {
    departs_ = method("departs");
    capsule_out_ = method("capsule_out");
    capsule_in_ = method("capsule_in");
    pdus_out_ = method("pdus_out");
    private_data_out_ = method("private_data_out");
  }

  bool departs(std::string_view point) override {
    bool answer = inner_ != nullptr && inner_->departs(point);
    if (departs_) call_back(box_, [&] { answer = bool_of(departs_(point), "departs") || answer; });
    return answer;
  }
  void capsule_out(std::uint16_t qid, Bytes& capsule) override {
    if (inner_ != nullptr) inner_->capsule_out(qid, capsule);
    if (capsule_out_) replace(capsule, "capsule_out", [&](const py::bytes& bytes) { return capsule_out_(qid, bytes); });
  }
  void capsule_in(std::uint16_t qid, ByteView capsule) override {
    if (inner_ != nullptr) inner_->capsule_in(qid, capsule);
    if (capsule_in_) call_back(box_, [&] { capsule_in_(qid, to_python(capsule)); });
  }
  void private_data_out(std::string_view message, Bytes& data) override {
    if (inner_ != nullptr) inner_->private_data_out(message, data);
    if (private_data_out_) {
      replace(data, "private_data_out", [&](const py::bytes& bytes) { return private_data_out_(message, bytes); });
    }
  }
  void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) override {
    if (inner_ != nullptr) inner_->pdus_out(qid, pdus);
    if (!pdus_out_) return;
    call_back(box_, [&] {
      py::list list;
      for (const Bytes& pdu : pdus) list.append(to_python(pdu));
      const py::object said = pdus_out_(qid, list);
      if (said.is_none()) return;
      std::vector<Bytes> made;
      for (const auto& one : said) made.push_back(bytes_of(one, "pdus_out"));
      pdus = std::move(made);
    });
  }

 protected:
  py::object method(const char* name) const { return overridden(product_, base_, name); }
  template <class Call>
  void replace(Bytes& bytes, const char* what, Call&& call) {
    call_back(box_, [&] {
      const py::object said = call(to_python(bytes));
      if (!said.is_none()) bytes = bytes_of(said, what);
    });
  }
  Box& box_;
  std::unique_ptr<Base> inner_;

 private:
  py::object product_;
  const char* base_;
  py::object departs_, capsule_out_, capsule_in_, pdus_out_, private_data_out_;
};

class ScriptedSubsystem final : public Scripted<subsystem::SubsystemHooks> {
 public:
  using Context = subsystem::CommandContext;
  ScriptedSubsystem(Box& box, py::object product, std::unique_ptr<subsystem::SubsystemHooks> inner)
      : Scripted(box, std::move(product), "TargetProduct", std::move(inner)) {
    refuses_ = method("refuses");
    admission_ = method("admission");
    own_command_ = method("own_command");
    execute_ = method("execute");
    latency_ = method("latency");
    property_read_ = method("property_read");
    property_write_ = method("property_write");
    data_out_ = method("data_out");
    data_in_ = method("data_in");
    completion_ = method("completion");
  }

  bool refuses(const Context& command, subsystem::Refusal& refusal) override {
    bool answer = inner_ == nullptr || inner_->refuses(command, refusal);
    if (!refuses_) return answer;
    call_back(box_, [&] {
      const py::object said = refuses_(seen(command), refusal.check, refusal.status);
      if (said.is_none()) return;
      if (PyBool_Check(said.ptr())) {
        answer = said.ptr() == Py_True;
      } else {
        refusal.status = status_of(said, "refuses");
        answer = true;
      }
    });
    return answer;
  }
  std::optional<nvme::Status> admission(const Context& command) override {
    std::optional<nvme::Status> answer;
    if (inner_ != nullptr) answer = inner_->admission(command);
    if (!admission_) return answer;
    call_back(box_, [&] {
      const py::object said = admission_(seen(command));
      if (!said.is_none()) answer = status_of(said, "admission");
    });
    return answer;
  }
  std::optional<std::size_t> own_command(const Context& command) override {
    std::optional<std::size_t> answer;
    if (inner_ != nullptr) answer = inner_->own_command(command);
    if (!own_command_) return answer;
    call_back(box_, [&] {
      const py::object said = own_command_(seen(command));
      if (!said.is_none()) answer = integer_of(said, "own_command", 0, 1u << 30);
    });
    return answer;
  }
  Executed execute(const Context& command, MutableBytes data) override {
    Executed executed;
    if (!execute_) return inner_ != nullptr ? inner_->execute(command, data) : executed;
    call_back(box_, [&] {
      py::object said;
      with_copy(data, "execute", [&](const py::object& copy) { said = execute_(seen(command), copy); });
      if (said.is_none()) return;
      if (PyTuple_Check(said.ptr())) {
        const auto both = said.cast<py::tuple>();
        if (both.size() != 2) throw py::value_error("execute: a Status is wanted, or a Status and DW0 with DW1");
        executed.status = status_of(both[0], "execute");
        executed.dwords = integer_of(both[1], "execute", 0, ~std::uint64_t{0});
      } else {
        executed.status = status_of(said, "execute");
      }
    });
    return executed;
  }
  Duration latency(const Context& command) override {
    Duration answer = inner_ != nullptr ? inner_->latency(command) : Duration{};
    if (!latency_) return answer;
    call_back(box_, [&] {
      const py::object said = latency_(seen(command));
      if (!said.is_none()) answer = answer + duration_of(said, "latency");
    });
    return answer;
  }
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    if (inner_ != nullptr) inner_->property_read(offset, value);
    if (!property_read_) return;
    call_back(box_, [&] {
      const py::object said = property_read_(offset, value);
      if (!said.is_none()) value = integer_of(said, "property_read", 0, ~std::uint64_t{0});
    });
  }
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    bool written = inner_ == nullptr || inner_->property_write(offset, value);
    if (!property_write_) return written;
    call_back(box_, [&] {
      const py::object said = property_write_(offset, value);
      if (said.is_none()) return;
      if (said.ptr() == Py_False) {
        written = false;
      } else {
        value = integer_of(said, "property_write", 0, ~std::uint64_t{0});
      }
    });
    return written;
  }
  void queue_secured(std::uint16_t qid, std::string_view identity) override {
    if (inner_ != nullptr) inner_->queue_secured(qid, identity);
  }
  void data_out(const Context& command, MutableBytes data) override {
    if (inner_ != nullptr) inner_->data_out(command, data);
    if (data_out_) change(data_out_, command, data, "data_out");
  }
  void data_in(const Context& command, MutableBytes data) override {
    if (inner_ != nullptr) inner_->data_in(command, data);
    if (data_in_) change(data_in_, command, data, "data_in");
  }
  Answer completion(const Context& command, MutableBytes cqe) override {
    Answer answer = inner_ != nullptr ? inner_->completion(command, cqe) : Answer::send;
    if (!completion_) return answer;
    call_back(box_, [&] {
      const py::object record = make_record(*find_layout("Cqe"), cqe);
      const py::object said = completion_(seen(command), record);
      const Bytes bytes = record_bytes(record, "completion");
      std::copy(bytes.begin(), bytes.end(), cqe.begin());
      if (!said.is_none()) answer = static_cast<Answer>(integer_of(said, "completion", 0, 3));
    });
    return answer;
  }

 private:
  void change(const py::object& method, const Context& command, MutableBytes data, const char* what) {
    call_back(box_, [&] { with_copy(data, what, [&](const py::object& copy) { method(seen(command), copy); }); });
  }
  py::object refuses_, admission_, own_command_, execute_, latency_, property_read_, property_write_, data_out_, data_in_, completion_;
};

class ScriptedHost final : public Scripted<host::HostHooks> {
 public:
  ScriptedHost(Box& box, py::object product, std::unique_ptr<host::HostHooks> inner)
      : Scripted(box, std::move(product), "HostProduct", std::move(inner)), command_out_(method("command_out")) {}

  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) override {
    if (inner_ != nullptr) inner_->command_out(qid, sqe, data);
    if (!command_out_) return;
    call_back(box_, [&] {
      const py::object record = make_record(*find_layout("Sqe"), sqe);
      with_copy(data, "command_out", [&](const py::object& copy) { command_out_(qid, record, copy); });
      const Bytes bytes = record_bytes(record, "command_out");
      std::copy(bytes.begin(), bytes.end(), sqe.begin());
    });
  }

 private:
  py::object command_out_;
};

class ScriptedEndpoint final : public mi::EndpointHooks {
 public:
  using Context = mi::MessageContext;
  ScriptedEndpoint(Box& box, py::object product, std::unique_ptr<mi::EndpointHooks> inner) : box_(box), inner_(std::move(inner)) {
    const auto method = [&](const char* name) { return overridden(product, "EndpointProduct", name); };
    departs_ = method("departs");
    message_in_ = method("message_in");
    admission_ = method("admission");
    delay_ = method("delay");
    response_ = method("response");
    message_out_ = method("message_out");
  }

  bool departs(std::string_view point) override {
    bool answer = inner_ != nullptr && inner_->departs(point);
    if (departs_) call_back(box_, [&] { answer = bool_of(departs_(point), "departs") || answer; });
    return answer;
  }
  bool refuses(const Context& message, mi::Refusal& refusal) override { return inner_ == nullptr || inner_->refuses(message, refusal); }
  bool message_in(ByteView message) override {
    bool taken = inner_ == nullptr || inner_->message_in(message);
    if (message_in_) {
      call_back(box_, [&] {
        const py::object said = message_in_(to_python(message));
        if (!said.is_none()) taken = bool_of(said, "message_in");
      });
    }
    return taken;
  }
  std::optional<mi::Status> admission(const Context& message) override {
    std::optional<mi::Status> answer;
    if (inner_ != nullptr) answer = inner_->admission(message);
    if (!admission_) return answer;
    call_back(box_, [&] {
      const py::object said = admission_(to_python(message.request));
      if (!said.is_none()) answer = static_cast<mi::Status>(integer_of(said, "admission", 0, 255));
    });
    return answer;
  }
  Duration delay(const Context& message) override {
    Duration answer = inner_ != nullptr ? inner_->delay(message) : Duration{};
    if (!delay_) return answer;
    call_back(box_, [&] {
      const py::object said = delay_(to_python(message.request));
      if (!said.is_none()) answer = answer + duration_of(said, "delay");
    });
    return answer;
  }
  void response(const Context& message, Bytes& body) override {
    if (inner_ != nullptr) inner_->response(message, body);
    if (!response_) return;
    call_back(box_, [&] {
      const py::object said = response_(to_python(message.request), to_python(body));
      if (!said.is_none()) body = bytes_of(said, "response");
    });
  }
  Delivery message_out(const Context& message, Bytes& bytes) override {
    Delivery answer = inner_ != nullptr ? inner_->message_out(message, bytes) : Delivery::send;
    if (!message_out_) return answer;
    call_back(box_, [&] {
      const py::object said = message_out_(to_python(message.request), to_python(bytes));
      if (said.is_none()) return;
      if (PyIndex_Check(said.ptr()) != 0) {
        answer = static_cast<Delivery>(integer_of(said, "message_out", 0, 2));
      } else {
        bytes = bytes_of(said, "message_out");
      }
    });
    return answer;
  }
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (inner_ != nullptr) inner_->slave_read(slave, offset, bytes);
  }

 private:
  Box& box_;
  std::unique_ptr<mi::EndpointHooks> inner_;
  py::object departs_, message_in_, admission_, delay_, response_, message_out_;
};

std::string_view name_of(const SeenCommand& command) {
  const std::uint8_t opcode = command.sqe[0];
  if (opcode == nvme::kFabricsOpcode) return nvme::fabrics_type_name(command.sqe[4]);
  return command.qid == 0 ? nvme::admin_opcode_name(opcode) : nvme::io_opcode_name(opcode);
}

}  // namespace

std::unique_ptr<subsystem::SubsystemHooks> scripted_subsystem(Box& box, py::object product,
                                                              std::unique_ptr<subsystem::SubsystemHooks> inner) {
  return std::make_unique<ScriptedSubsystem>(box, std::move(product), std::move(inner));
}
std::unique_ptr<host::HostHooks> scripted_host(Box& box, py::object product, std::unique_ptr<host::HostHooks> inner) {
  return std::make_unique<ScriptedHost>(box, std::move(product), std::move(inner));
}
std::unique_ptr<mi::EndpointHooks> scripted_endpoint(Box& box, py::object product, std::unique_ptr<mi::EndpointHooks> inner) {
  return std::make_unique<ScriptedEndpoint>(box, std::move(product), std::move(inner));
}

void bind_hooks(py::module_& m) {
  py::class_<SeenCommand>(m, "SeenCommand", "A command as a product in Python sees it: a copy, which may be kept.")
      .def_readonly("qid", &SeenCommand::qid, "Of its queue; 0 for the admin queue.")
      .def_readonly("cntlid", &SeenCommand::cntlid, "Controller identifier; None before there is a controller.")
      .def_property_readonly(
          "opcode", [](const SeenCommand& c) { return c.sqe[0]; }, "Its opcode.")
      .def_property_readonly(
          "cid", [](const SeenCommand& c) { return load_le<std::uint16_t>(&c.sqe[2]); }, "Command Identifier.")
      .def_property_readonly(
          "nsid", [](const SeenCommand& c) { return load_le<std::uint32_t>(&c.sqe[4]); }, "Namespace identifier.")
      .def_property_readonly("name", &name_of, "Of the command, in the specification's words.")
      .def_property_readonly(
          "sqe", [](const SeenCommand& c) { return make_record(*find_layout("Sqe"), c.sqe); },
          "The entry; ``command.sqe.view(wire.ReadWriteSqe)`` for the fields of a command of its own.")
      .def("__repr__", [](const SeenCommand& c) {
        return fmt::format("<{} on queue {}, CID {}>", name_of(c), c.qid, load_le<std::uint16_t>(&c.sqe[2]));
      });
}

}  // namespace fb::python
