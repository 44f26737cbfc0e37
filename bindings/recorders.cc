#include <fmt/format.h>
#include <pybind11/stl.h>

#include "base/or_throw.h"
#include "bindings/box.h"
#include "bindings/convert.h"
#include "bindings/parts.h"
#include "bindings/said.h"
#include "conformance/evidence/dissector.h"
#include "conformance/evidence/said.h"
#include "conformance/monitors/monitors.h"
#include "sim/capture/pcapng.h"

namespace fb::python {

py::list said_list(const std::vector<evidence::Said>& said) {
  py::list all;
  for (const evidence::Said& one : said) {
    py::dict fields;
    for (const auto& field : one.fields) fields[py::str(field.name)] = field.value;
    all.append(py::make_tuple(seconds(one.time), one.from, one.to, one.actor, one.layer, one.label, one.packet, one.struck, fields));
  }
  return all;
}

py::list finding_list(const std::vector<monitors::Finding>& findings) {
  py::list all;
  for (const monitors::Finding& finding : findings) {
    const monitors::RuleFacts& rule = monitors::facts_of(finding.rule);
    py::dict one;
    one["rule"] = std::string(rule.name);
    one["requirement"] = std::string(rule.requirement);
    one["level"] = monitors::only_advises(finding.rule) ? "recommended" : "mandatory";
    one["packet"] = finding.packet;
    one["time"] = seconds(finding.time);
    one["actor"] = finding.actor;
    one["text"] = finding.text;
    all.append(one);
  }
  return all;
}

namespace {

/// Listens to a world's trace until it is closed.
class Recorder {
 public:
  Recorder(World& world, bool monitors, const std::string& title)
      : world_(world), writer_({.title = title, .decoders = &world.trace()}), dissector_({.complete = world.real_loop() == nullptr}) {
    dissector_.add(said_);
    world.trace().add_sink(writer_);
    world.trace().add_sink(dissector_);
    if (monitors)
      // Scripts change products from inside.
      world.trace().add_sink(watch_.emplace(evidence::DissectorOptions{.complete = world.real_loop() == nullptr}, false));
  }
  ~Recorder() {
    world_.trace().remove_sink(writer_);
    world_.trace().remove_sink(dissector_);
    if (watch_) world_.trace().remove_sink(*watch_);
  }

  const capture::PcapngWriter& writer() const { return writer_; }
  const evidence::SaidList& said() const { return said_; }
  /// What is certain by now.
  std::vector<monitors::Finding> findings() {
    if (!watch_) return {};
    watch_->finish();
    return watch_->findings();
  }

 private:
  World& world_;
  capture::PcapngWriter writer_;
  evidence::Dissector dissector_;
  evidence::SaidList said_;
  std::optional<monitors::Monitors> watch_;
};

/// Tells a Python callable of every event.
class Listener final : public TraceSink {
 public:
  Listener(Box& box, py::object call) : box_(box), world_(box.world()), call_(std::move(call)) { world_.trace().add_sink(*this); }
  ~Listener() override { world_.trace().remove_sink(*this); }
  void on_event(const TraceEvent& event) override {
    constexpr const char* kKinds[] = {"packet", "capsule", "message", "state", "fault", "note", "verdict"};
    call_back(box_, [&] {
      call_(kKinds[static_cast<std::size_t>(event.kind)], seconds(event.time), std::string(event.actor), std::string(event.label),
            std::string(event.text), to_python(event.bytes));
    });
  }

 private:
  Box& box_;
  World& world_;
  py::object call_;
};

}  // namespace

void bind_recorders(py::module_& m) {
  py::class_<Held<Recorder>>(m, "Recorder")
      .def_property_readonly("packets", [](const Held<Recorder>& self) { return self.look().writer().packets(); })
      .def("capture", [](const Held<Recorder>& self) { return to_python(self.look().writer().bytes()); })
      .def("save", [](const Held<Recorder>& self, const std::string& path) { or_throw(self.look().writer().write_file(path)); })
      .def("said", [](const Held<Recorder>& self) { return said_list(self.look().said().said()); })
      .def_property_readonly("said_left_out", [](const Held<Recorder>& self) { return self.look().said().left_out(); })
      .def("findings", [](const Held<Recorder>& self) { return finding_list(self.look().findings()); });
  m.def("listen", [](const std::shared_ptr<Box>& box, const py::object& call) {
    if (PyCallable_Check(call.ptr()) == 0) throw py::type_error("listen: something that can be called is wanted, not " + type_name(call));
    box->check();
    box->keep_below(std::make_unique<Listener>(*box, call));
  });
  m.def("make_recorder", [](const std::shared_ptr<Box>& box, bool monitors, const std::string& title) {
    return Held<Recorder>{box, &box->keep_below(std::make_unique<Recorder>(box->world(), monitors, title))};
  });
}

}  // namespace fb::python
