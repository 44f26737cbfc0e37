// Device self-tests of a subsystem, one at a time, and their last results (base specification, Device Self-test
// Operations).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "sim/core/world.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {

class Subsystem;

/// What a self-test is to find.
struct SelfTestFault {
  std::uint8_t segment = 0;  ///< 0: it is not known
  std::uint32_t nsid = 0;    ///< 0: no namespace in particular
  std::optional<std::uint64_t> lba = {};
};

class SelfTests {
 public:
  explicit SelfTests(Subsystem& subsystem) : subsystem_(subsystem) {}

  bool running() const { return code_ != nvme::SelfTestCode::none; }
  /// NSID 0: the controller alone; FFFFFFFFh: all namespaces too.
  void start(nvme::SelfTestCode code, std::uint32_t nsid, std::uint16_t cntlid);
  /// No effect where nothing runs.
  void abort(nvme::SelfTestOutcome outcome);
  /// The next one that ends by itself finds this.
  void fail_next(const SelfTestFault& fault) { fault_ = fault; }

  void on_controller_reset(std::uint16_t cntlid);
  void on_subsystem_reset();
  void on_namespace_removed(std::uint32_t nsid);
  /// FFFFFFFFh: all.
  void on_format(std::uint32_t nsid);

  Bytes log() const;

 private:
  bool concerns(std::uint32_t nsid) const;
  Duration duration() const;
  unsigned percent() const;
  void finish();
  void end(nvme::SelfTestOutcome outcome);
  bool departs(std::string_view point) const;

  Subsystem& subsystem_;
  nvme::SelfTestCode code_ = nvme::SelfTestCode::none;
  std::uint32_t nsid_ = 0;
  std::uint16_t cntlid_ = 0;
  Instant started_;
  std::optional<SelfTestFault> fault_;
  std::deque<Record<nvme::SelfTestResult>> results_;  ///< newest first
  Timer<SelfTests, &SelfTests::finish> timer_{"subsystem.self_test", *this};
};

}  // namespace fb::subsystem
