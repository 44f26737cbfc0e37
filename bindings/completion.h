// The answer to a command, on either level.
#pragma once

#include <optional>
#include <string>

#include "bindings/box.h"
#include "model/host/raw_queue.h"
#include "model/host/types.h"

namespace fb::python {

struct Completion {
  nvme::Cqe cqe;
  Bytes data;
  double at = 0;
  std::string end;  ///< the connection ended first: why
  bool answered = true;
  nvme::StatusFamily family = nvme::StatusFamily::unknown;  ///< of the command, by which its status is named
  std::optional<std::uint32_t> invalidated;

  nvme::Status status() const { return cqe.get(nvme::cqe::status).of(family); }
};

Completion completion_of(const host::RawReply& reply);
Completion completion_of(const host::AdminReply& reply);

void bind_completion(py::module_& m);

}  // namespace fb::python
