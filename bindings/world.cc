// Worlds, their network, and what is recorded of them.
#include <fmt/format.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "base/or_throw.h"
#include "base/suggest.h"
#include "bindings/convert.h"
#include "bindings/errors.h"
#include "bindings/machine.h"
#include "bindings/op.h"
#include "bindings/parts.h"
#include "bindings/product_options.h"
#include "conformance/runner/product.h"

namespace fb::python {

namespace {

using HeldMachine = Held<Machine>;

/// An operation that settles at a time.
class Alarm final : public Event {
 public:
  Alarm(World& world, Promise<bool> promise) : Event("python.sleep"), world_(world), promise_(std::move(promise)) {}
  void start(Duration span) { world_.loop().schedule_after(*this, span); }
  bool over() const { return !promise_; }

 private:
  void fire() override {
    Promise<bool> promise = std::move(promise_);
    promise.settle(true);
  }
  World& world_;
  Promise<bool> promise_;
};

/// Alarms of a world; those that rang are dropped when the next is set.
struct Alarms {
  Alarms() = default;
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;
  std::vector<std::unique_ptr<Alarm>> all;
};

std::unique_ptr<PyOp> sleep(const std::shared_ptr<Box>& box, Alarms& alarms, const py::object& span) {
  World& world = box->world();
  const Duration time = duration_of(span, "span");
  auto [promise, op] = make_op<bool>(world, "sleep of " + to_string(time));
  std::erase_if(alarms.all, [](const auto& alarm) { return alarm->over(); });
  alarms.all.push_back(std::make_unique<Alarm>(world, std::move(promise)));
  alarms.all.back()->start(time);
  return make_py_op(box, std::move(op), [](const bool&) -> py::object { return py::none(); });
}

/// Runs until one of them is over; its number. None: the time has passed. Throws what a wait would.
py::object run_until_any(Box& box, const std::vector<PyOp*>& ops, const py::object& limit) {
  for (PyOp* const op : ops) op->waited();
  std::size_t found = ops.size();
  const auto any = [&] {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (!ops[i]->over()) continue;
      found = i;
      return true;
    }
    return false;
  };
  const auto span = optional_duration(limit, "limit");
  const auto end = box.run(any, box.after(span));
  if (!end) return py::int_(found);
  if (*end == WaitEnd::timed_out) return py::none();
  throw_wait_error(*end, "", &box.world(), span);
}

void run_for(Box& box, const py::object& span) {
  World& world = box.world();
  const Instant until = world.now() + duration_of(span, "span");
  const auto end = box.run([] { return false; }, until);
  if (end == WaitEnd::deadlock) world.loop().pass_time(until);
}

py::dict counters_of(const net::LinkCounters& counters) {
  py::dict all;
  all["sent"] = counters.sent;
  all["sent_bytes"] = counters.sent_bytes;
  all["delivered"] = counters.delivered;
  all["duplicated"] = counters.duplicated;
  all["delayed"] = counters.delayed;
  all["corrupted"] = counters.corrupted;
  all["dropped_by_filter"] = counters.dropped_by_filter;
  all["dropped_queue_full"] = counters.dropped_queue_full;
  all["dropped_no_receiver"] = counters.dropped_no_receiver;
  return all;
}

net::SimHost& sim_host(Fabric& fabric, const std::string& name) {
  net::SimHost* const found = fabric.network().find_host(name);
  if (found == nullptr) throw py::value_error("no machine is called '" + name + "'");
  return *found;
}

}  // namespace

void bind_world(py::module_& m) {
  py::class_<Box, std::shared_ptr<Box>>(m, "World")
      .def(py::init<std::uint64_t, bool, bool>())
      .def("close", &Box::close)
      .def_property_readonly("closed", &Box::closed)
      .def_property_readonly("now_ns", [](Box& box) { return box.look().now().count_ns(); })
      .def_property_readonly("seed", [](Box& box) { return box.look().seed(); })
      .def_property_readonly("digest", [](Box& box) { return box.look().digest(); })
      .def_property_readonly("events_run", [](Box& box) { return box.look().loop().events_run(); })
      .def_property(
          "patience", [](Box& box) { return seconds(box.world().patience()); },
          [](Box& box, const py::object& span) { box.world().set_patience(duration_of(span, "patience")); })
      .def("run_for", &run_for)
      .def("run_until_idle",
           [](Box& box, const py::object& limit) {
             return box.run([] { return false; }, box.after(duration_of(limit, "limit"))) == WaitEnd::deadlock;
           })
      .def("run_until_any", &run_until_any)
      .def("run_until",
           [](Box& box, const py::function& done, const py::object& limit) {
             // Asked between events, with the lock: for conditions that no operation stands for.
             bool met = false;
             const auto ask = [&] {
               call_back(box, [&] { met = done().cast<bool>(); });
               return met;
             };
             const auto end = box.run(ask, box.after(optional_duration(limit, "limit")));
             return !end.has_value() || met;
           })
      .def("watch_ops", [](Box& box, std::string package) { box.watch_ops(std::make_shared<OpWatch>(std::move(package))); })
      .def("unobserved_ops",
           [](Box& box) {
             box.look();
             return box.op_watch() == nullptr ? py::list() : box.op_watch()->report();
           })
      .def("pending", [](Box& box) { return box.world().describe_pending(); })
      .def("marks", [](Box& box, const std::string& name) { return box.world().trace().marks(name); })
      .def("note",
           [](Box& box, const std::string& text) {
             TraceEvent event;
             event.kind = TraceKind::note;
             event.time = box.world().now();
             event.actor = "script";
             event.label = "script";
             event.text = text;
             box.world().trace().emit(event);
           })
      .def("random", [](Box& box, const std::string& name, std::size_t count) {
        Rng rng = box.world().stream("python." + name);
        std::vector<std::uint64_t> drawn(count);
        for (auto& word : drawn) word = rng.next();
        return drawn;
      });

  m.def("parse_url", [](const std::string& text) {
    const auto url = or_throw(conformance::parse_fabric_url(text, conformance::UrlPort::known));
    return py::make_tuple(url.transport, to_string(url.to.address), url.to.port, url.nqn);
  });
  m.def("nearest_word", [](const std::string& typed, const std::vector<std::string>& known) {
    return std::string(nearest_word(typed, {known.begin(), known.end()}));
  });

  py::class_<Alarms>(m, "Alarms");
  m.def(
      "make_alarms", [](const std::shared_ptr<Box>& box) { return &box->keep_below(std::make_unique<Alarms>()); },
      py::return_value_policy::reference);
  m.def("sleep", &sleep);

  py::class_<Fabric>(m, "Fabric").def_property_readonly("faults", &Fabric::faults, py::return_value_policy::reference);
  m.def(
      "make_fabric",
      [](const std::shared_ptr<Box>& box, const py::dict& links, const py::object& bits_a_second, const py::object& plan,
         std::uint64_t seed) {
        World& world = box->world();
        net::LinkOptions options;
        set_options(options, links, "links");
        if (!bits_a_second.is_none()) {
          options.bandwidth = static_cast<std::int64_t>(integer_of(bits_a_second, "bandwidth", 0, 1ull << 62));
        }
        return &box->keep_below(std::make_unique<Fabric>(*box, options, make_faults(world, plan, seed)));
      },
      py::return_value_policy::reference);
  py::class_<HeldMachine>(m, "Machine")
      .def_property_readonly("name", [](const HeldMachine& self) { return self->name(); })
      .def_property_readonly("address", [](const HeldMachine& self) { return to_string(self->address()); });
  m.def("make_machine", [](const std::shared_ptr<Box>& box, Fabric* fabric, const std::string& name, const std::string& address,
                           std::uint8_t mtu_code, const std::string& device, bool hidden) {
    box->check();
    const conformance::DeviceLayer layer = or_throw(conformance::parse_device_layer(device));
    std::unique_ptr<Machine> made;
    if (fabric != nullptr) {
      if (fabric->network().find_host(name) != nullptr) throw py::value_error("name: there is a machine '" + name + "'");
      made = std::make_unique<Machine>(*box, *fabric, name, address_of(py::str(address), "address"));
    } else {
      made = std::make_unique<Machine>(*box, name, or_throw(net::parse_local_host(address)), hidden);
    }
    made->set_mtu_code_max(mtu_code);
    made->set_layer(layer);
    return HeldMachine{box, &box->keep_below(std::move(made))};
  });

  // Links, by the names of their ends.
  m.def("link_cut",
        [](const std::shared_ptr<Box>& box, Fabric& fabric, const std::string& from, const std::string& to, const py::object& span) {
          World& world = box->world();
          sim_host(fabric, from), sim_host(fabric, to);
          LinkControl::Direction& direction = fabric.control().direction(from + "->" + to);
          direction.cut_until = span.is_none() ? Instant::never() : world.now() + duration_of(span, "span");
        });
  m.def("link_restore", [](const std::shared_ptr<Box>& box, Fabric& fabric, const std::string& from, const std::string& to) {
    box->check();
    fabric.control().direction(from + "->" + to).cut_until = Instant();
  });
  m.def("link_drop",
        [](const std::shared_ptr<Box>& box, Fabric& fabric, const std::string& from, const std::string& to, std::uint64_t count) {
          box->check();
          sim_host(fabric, from), sim_host(fabric, to);
          fabric.control().direction(from + "->" + to).drop = count;
        });
  m.def("link_watch",
        [](const std::shared_ptr<Box>& box, Fabric& fabric, const std::string& from, const std::string& to, const py::object& call) {
          box->check();
          sim_host(fabric, from), sim_host(fabric, to);
          fabric.control().direction(from + "->" + to).watch = call.is_none() ? py::object() : call;
        });
  m.def("link_set", [](const std::shared_ptr<Box>& box, Fabric& fabric, const std::string& from, const std::string& to,
                       const py::dict& options, const py::object& bits_a_second) {
    box->check();
    net::SimHost& a = sim_host(fabric, from);
    net::SimHost& b = sim_host(fabric, to);
    net::LinkOptions chosen = fabric.network().link(a, b);
    set_options(chosen, options, "link");
    if (!bits_a_second.is_none()) chosen.bandwidth = static_cast<std::int64_t>(integer_of(bits_a_second, "bandwidth", 0, 1ull << 62));
    fabric.network().set_link(a, b, chosen);
  });
  m.def("link_counters", [](const std::shared_ptr<Box>& box, Fabric& fabric, const std::string& from, const std::string& to) {
    box->check();
    return counters_of(fabric.network().counters(sim_host(fabric, from), sim_host(fabric, to)));
  });
}

}  // namespace fb::python
