// Device Self-test.
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

namespace sc = nvme::sc;
using nvme::SelfTestCode;

void SelfTestCommand::self_test(const Command& command) {
  Queue& queue = *command.queue;
  SelfTests& tests = subsystem_.self_tests();
  const SelfTestCode code = command.as<nvme::SelfTestSqe>().get(nvme::self_test_sqe::stc);
  if (code == SelfTestCode::abort) {
    tests.abort(nvme::SelfTestOutcome::aborted_by_command);
    return queue.complete(command, sc::success);
  }
  const bool known = code == SelfTestCode::short_test || code == SelfTestCode::extended_test;
  if (!known && queue.refuse(command, check::self_test_code)) return;
  const std::uint32_t nsid = command.nsid();
  if (nsid != 0 && nsid != nvme::kAllNamespaces && controller_.active_namespace(nsid) == nullptr) {
    const bool valid = nsid <= subsystem_.options().namespaces_max;
    if (queue.refuse(command, valid ? check::self_test_inactive : check::self_test_nsid)) return;
  }
  if (tests.running()) {
    if (!queue.refuse(command, check::self_test_running)) queue.complete(command, sc::success);
    return;
  }
  if (known) tests.start(code, nsid, controller_.cntlid_);
  queue.complete(command, sc::success);
}

Bytes SelfTestCommand::log_self_test() const { return subsystem_.self_tests().log(); }

}  // namespace fb::subsystem
