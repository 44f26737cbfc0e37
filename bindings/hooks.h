// Products written in Python: hooks that ask an object of the user's, and only for what it overrides.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/box.h"
#include "model/host/hooks.h"
#include "model/mi/hooks.h"
#include "model/subsystem/hooks.h"

namespace fb::python {

/// A command as a product sees it; a copy, so that it may be kept.
struct SeenCommand {
  std::uint16_t qid = 0;
  Bytes sqe;
  std::optional<std::uint16_t> cntlid;
};

/// Hooks that ask `product`, an object of a subclass of fabricbench.TargetProduct, HostProduct or EndpointProduct;
/// what it leaves as it is goes to `inner`, which may be null.
std::unique_ptr<subsystem::SubsystemHooks> scripted_subsystem(Box& box, py::object product,
                                                              std::unique_ptr<subsystem::SubsystemHooks> inner);
std::unique_ptr<host::HostHooks> scripted_host(Box& box, py::object product, std::unique_ptr<host::HostHooks> inner);
std::unique_ptr<mi::EndpointHooks> scripted_endpoint(Box& box, py::object product, std::unique_ptr<mi::EndpointHooks> inner);

void bind_hooks(py::module_& m);

}  // namespace fb::python
