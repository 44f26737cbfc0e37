// Hooks of a running product that can be told what to do: deviations and a fault plan that are switched on and off, and
// rules about the next commands that match.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/deviations/deviation.h"
#include "model/faults/hooks.h"
#include "sim/fault/plan.h"

namespace fb::cli {

/// What is to happen to commands of one kind.
struct CommandRule {
  enum class Queues : std::uint8_t { any, admin, io, fabrics };
  enum class Action : std::uint8_t {
    fail,       ///< answered with `status` instead of being executed
    delay,      ///< executed `time` later, or at `until`; I/O commands alone
    drop,       ///< executed, and never completed
    repeat,     ///< completed twice
    disconnect  ///< executed; its connection is closed in place of the completion
  };

  static constexpr std::uint64_t kEndless = ~std::uint64_t{0};

  std::uint64_t id = 0;
  Queues queues = Queues::io;
  std::optional<std::uint16_t> qid;
  std::optional<std::uint16_t> cntlid;
  std::optional<std::uint8_t> opcode;
  std::optional<std::uint32_t> nsid;
  Action action = Action::fail;
  nvme::Status status = nvme::sc::internal_error;
  Duration time;
  Instant until = Instant::never();  ///< a delay ends then, whenever it began
  std::uint64_t left = 1;            ///< commands that it applies to yet
  std::uint64_t struck = 0;          ///< commands that it has applied to

  bool matches(const subsystem::CommandContext& command) const;
};
std::string_view name_of(CommandRule::Queues queues);
std::string_view name_of(CommandRule::Action action);

/// A fault plan, and where it has struck.
class PlanInForce {
 public:
  /// UserError where a rule of the plan has no place in a target that is reached over these transports.
  PlanInForce(World& world, fault::Plan plan, std::uint64_t seed, bool rdma);
  const fault::Plan& plan() const { return plan_; }
  std::uint64_t seed() const { return seed_; }
  fault::Points& points() { return points_; }

 private:
  fault::Plan plan_;
  std::uint64_t seed_;
  fault::Points points_;
};

/// For the subsystem and the transports of a target. What is switched does not touch commands that are under way.
class ToldSubsystem final : public subsystem::SubsystemHooks {
 public:
  explicit ToldSubsystem(World& world) : world_(world) {}

  void set(const deviations::DeviationSet& deviations, PlanInForce* plan);

  /// The rule's identifier.
  std::uint64_t add_rule(CommandRule rule);
  /// False where there is none.
  bool remove_rule(std::uint64_t id);
  void clear_rules() { rules_.clear(); }
  /// Those that apply to further commands, oldest first.
  const std::vector<CommandRule>& rules();
  /// Commands that rules have been applied to since the start.
  std::uint64_t rules_struck() const { return struck_; }
  /// Commands that the product has fetched, and completions that it has sent.
  std::uint64_t fetched() const { return fetched_; }
  std::uint64_t completed() const { return completed_; }
  /// Completions with a status other than success.
  std::uint64_t failed() const { return failed_; }

  bool departs(std::string_view point) override { return inner_ != nullptr && inner_->departs(point); }
  void private_data_out(std::string_view message, Bytes& data) override {
    if (inner_ != nullptr) inner_->private_data_out(message, data);
  }
  void capsule_out(std::uint16_t qid, Bytes& capsule) override {
    if (inner_ != nullptr) inner_->capsule_out(qid, capsule);
  }
  void capsule_in(std::uint16_t qid, ByteView capsule) override {
    if (inner_ != nullptr) inner_->capsule_in(qid, capsule);
  }
  void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) override {
    if (inner_ != nullptr) inner_->pdus_out(qid, pdus);
  }
  void pdu_in(std::uint16_t qid, ByteView header) override {
    if (inner_ != nullptr) inner_->pdu_in(qid, header);
  }
  void private_data_in(std::string_view message, ByteView data) override {
    if (inner_ != nullptr) inner_->private_data_in(message, data);
  }
  bool refuses(const subsystem::CommandContext& command, subsystem::Refusal& refusal) override {
    return inner_ == nullptr || inner_->refuses(command, refusal);
  }
  std::optional<nvme::Status> admission(const subsystem::CommandContext& command) override;
  std::optional<std::size_t> own_command(const subsystem::CommandContext& command) override {
    return inner_ != nullptr ? inner_->own_command(command) : std::nullopt;
  }
  Executed execute(const subsystem::CommandContext& command, MutableBytes data) override {
    return inner_ != nullptr ? inner_->execute(command, data) : Executed{};
  }
  Duration latency(const subsystem::CommandContext& command) override;
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    if (inner_ != nullptr) inner_->property_read(offset, value);
  }
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    return inner_ == nullptr || inner_->property_write(offset, value);
  }
  void queue_secured(std::uint16_t qid, std::string_view identity) override {
    if (inner_ != nullptr) inner_->queue_secured(qid, identity);
  }
  void data_out(const subsystem::CommandContext& command, MutableBytes data) override {
    if (inner_ != nullptr) inner_->data_out(command, data);
  }
  void data_in(const subsystem::CommandContext& command, MutableBytes data) override {
    if (inner_ != nullptr) inner_->data_in(command, data);
  }
  Answer completion(const subsystem::CommandContext& command, MutableBytes cqe) override;

 private:
  /// The oldest rule with one of these actions that matches; it is counted, and goes with its last command.
  std::optional<CommandRule> take(const subsystem::CommandContext& command, std::initializer_list<CommandRule::Action> actions);

  World& world_;
  std::unique_ptr<subsystem::SubsystemHooks> inner_;
  std::vector<CommandRule> rules_;
  std::uint64_t next_rule_ = 1;
  std::uint64_t struck_ = 0, fetched_ = 0, completed_ = 0, failed_ = 0;
};

/// The same for the software RDMA device of a target.
class ToldDevice final : public softroce::SoftHooks {
 public:
  void set(const deviations::DeviationSet& deviations, PlanInForce* plan);

  bool departs(std::string_view point) override { return inner_ != nullptr && inner_->departs(point); }
  Receiver receiver() override { return inner_ != nullptr ? inner_->receiver() : Receiver::ready; }
  bool key_lost() override { return inner_ != nullptr && inner_->key_lost(); }
  void packet_out(MutableBytes packet) override {
    if (inner_ != nullptr) inner_->packet_out(packet);
  }
  bool mad_out(MutableBytes mad) override { return inner_ == nullptr || inner_->mad_out(mad); }

 private:
  std::unique_ptr<softroce::SoftHooks> inner_;
};

}  // namespace fb::cli
