// Work of C++ that lasts and knows an Interrupter: done in a thread of its own, while the caller's looks at signals.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <future>

#include "conformance/runner/runner.h"

namespace fb::python {

namespace py = pybind11;

/// The result of work(); KeyboardInterrupt, or whatever a signal handler raises, after having stopped it.
template <class Work>
auto run_interruptibly(conformance::Interrupter& interrupter, Work&& work) {
  auto done = std::async(std::launch::async, std::forward<Work>(work));
  bool signalled = false;
  for (;;) {
    std::future_status status;
    {
      const py::gil_scoped_release free;
      status = done.wait_for(std::chrono::milliseconds(20));
    }
    if (status == std::future_status::ready) break;
    if (signalled || PyErr_CheckSignals() == 0) continue;
    signalled = true;
    interrupter.fire();
    // What the handler raised stands until the work has stopped.
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    {
      const py::gil_scoped_release free;
      done.wait();
    }
    try {
      static_cast<void>(done.get());
    } catch (...) {  // it was interrupted
    }
    PyErr_Restore(type, value, trace);
    throw py::error_already_set();
  }
  return done.get();
}

}  // namespace fb::python
