// What to do with a command that was answered with an error.
#pragma once

#include "model/host/controller.h"

namespace fb::host {

struct RetryDecision {
  enum class Kind : std::uint8_t {
    report,     ///< the caller gets the status
    again,      ///< the same command, after `delay`
    other_path  ///< the path is at fault: another one, or this one after `delay`
  };
  Kind kind = Kind::report;
  Duration delay;
};

/// `attempts` is how often the command has been sent. DNR, statuses that another attempt cannot
/// change, and the limit end in report; CRD chooses the delay where the controller was told that it
/// counts.
RetryDecision decide_retry(nvme::Status status, unsigned attempts, const Controller& controller);

}  // namespace fb::host
