// One caller of a block device: its steps, one after the other.
#pragma once

#include <deque>

#include "conformance/campaign/fabric_run.h"

namespace fb::conformance {

class FabricRun::Worker {
 public:
  Worker(FabricRun& run, std::size_t host);
  ~Worker();

  void add(const Step& step) { steps_.push_back(step); }
  void start();
  bool done() const { return steps_.empty() && !step_; }
  /// What it waits for.
  std::string describe() const { return step_ ? to_string(*step_) : "nothing"; }

 private:
  using Status = nvme::Status;

  void schedule();
  void begin();
  void carry_out(host::Namespace& space);
  void read(host::Namespace& space);
  void write(host::Namespace& space);
  void compare(host::Namespace& space);
  void compare_and_write(host::Namespace& space);
  /// Write Zeroes, Dataset Management.
  void clear(host::Namespace& space);
  void flush(host::Namespace& space);
  void reserve();
  void release();
  /// A command of its own on the first path that is there; without one, or without an answer, `then` is told so.
  using Answered = std::function<void(std::optional<Status>)>;
  void call(const nvme::Sqe& sqe, Bytes data, Answered then);
  /// The data as the namespace has it: where the host keeps the protection information, with room for it.
  MutableBytes widened(const host::Namespace& space, ByteView data, Bytes& buffer) const;
  void check_read(Status status);
  /// `then` looks at the end of the command; afterwards comes the next step.
  template <class Then>
  void await(Op<Status> op, Then then);
  void next();
  /// A command that changes blocks has ended: whether it may have ended so, in the light of reservations. False: it was
  /// refused for one, rightly.
  bool may_end(Status status);
  void on_changed(Status status);
  /// A command failed: whether it was allowed to.
  void failed(Status status);
  void wrong(const std::string& what);
  std::uint64_t bytes() const { return std::uint64_t{step_->count} * run_.truth_.block_bytes(); }

  FabricRun& run_;
  std::size_t host_;
  std::deque<Step> steps_;
  std::optional<Step> step_;
  Instant began_;
  BlockTruth::Tick tick_ = 0;
  BlockTruth::Id id_ = 0;
  Bytes data_, other_;
  Bytes sent_, sent_other_;  ///< the same as they are handed over
  class Call;
  std::unique_ptr<Call> call_;
  Timer<Worker, &Worker::begin> timer_{"campaign.step", *this};
};

}  // namespace fb::conformance
