// The extension module of the package fabricbench. Its surface is the package's own business: people use what
// stands in fabricbench/__init__.py.
#include "bindings/completion.h"
#include "bindings/errors.h"
#include "bindings/hooks.h"
#include "bindings/host.h"
#include "bindings/names.h"
#include "bindings/op.h"
#include "bindings/options.h"
#include "bindings/parts.h"
#include "bindings/records.h"
#include "bindings/target.h"
#include "conformance/runner/runner.h"

PYBIND11_MODULE(_core, m) {
  using namespace fb::python;
  bind_errors();
  bind_names(m);
  bind_records(m);
  bind_op(m);
  bind_completion(m);
  bind_hooks(m);
  bind_world(m);
  bind_faults(m);
  bind_target(m);
  bind_host(m);
  bind_raw_queue(m);
  bind_raw_peers(m);
  bind_commands(m);
  bind_management(m);
  bind_recorders(m);
  bind_suite(m);
  bind_campaign(m);
  m.attr("enums") = enum_tables();
  m.attr("option_tables") = option_tables();
  m.attr("__version__") = std::string(fb::conformance::tool_version());
}
