#include "cli/control/told_subsystem.h"

#include <algorithm>

#include "wire/nvme/sqe.h"

namespace fb::cli {

namespace {

using subsystem::CommandContext;

/// How places of a target are called in plans.
constexpr char kSide[] = "target";

bool within_reach(fault::Site site, bool rdma) {
  switch (site) {
    case fault::Site::pdu:
    case fault::Site::admission:
    case fault::Site::admin:
    case fault::Site::completion:
      return true;
    case fault::Site::receive:
    case fault::Site::key:
      return rdma;
    default:
      return false;
  }
}

fault::Plan checked(fault::Plan plan, bool rdma) {
  for (const fault::Rule& rule : plan.rules) {
    const fault::KindFacts& kind = fault::facts_of(rule.kind);
    const std::string at = plan.source + (rule.line > 0 ? ":" + std::to_string(rule.line) : "") + ": ";
    if (!within_reach(kind.site, rdma)) {
      throw UserError(at + std::string(kind.name) + " is a fault of a " + std::string(name_of(kind.site)) +
                      ", which this target cannot reach" + (rdma ? "" : "; 'fabricbench proxy' reaches segments"));
    }
    if (!rule.where.empty() && rule.where != kSide) {
      throw UserError(at + "there is no place '" + rule.where + "'; a target has '" + kSide + "' alone");
    }
  }
  return plan;
}

}  // namespace

std::string_view name_of(CommandRule::Queues queues) {
  constexpr std::string_view kNames[] = {"any", "admin", "io", "fabrics"};
  return kNames[static_cast<std::size_t>(queues)];
}

std::string_view name_of(CommandRule::Action action) {
  constexpr std::string_view kNames[] = {"fail", "delay", "drop", "repeat", "disconnect"};
  return kNames[static_cast<std::size_t>(action)];
}

bool CommandRule::matches(const CommandContext& command) const {
  const View<nvme::SqeLayout> sqe{command.sqe};
  const bool is_fabrics = sqe.get(nvme::sqe::opcode) == nvme::kFabricsOpcode;
  switch (queues) {
    case Queues::any:
      break;
    case Queues::fabrics:
      if (!is_fabrics) return false;
      break;
    case Queues::admin:
      if (is_fabrics || command.qid != 0) return false;
      break;
    case Queues::io:
      if (is_fabrics || command.qid == 0) return false;
      break;
  }
  if (qid && command.qid != *qid) return false;
  if (opcode && sqe.get(nvme::sqe::opcode) != *opcode) return false;
  if (nsid && sqe.get(nvme::sqe::nsid) != *nsid) return false;
  return !cntlid || (command.controller != nullptr && command.controller->cntlid() == *cntlid);
}

PlanInForce::PlanInForce(World& world, fault::Plan plan, std::uint64_t seed, bool rdma)
    : plan_(checked(std::move(plan), rdma)),
      seed_(seed),
      points_(world, [this](const fault::Place& place) { return fault::generate(plan_, seed_, {place}).decisions; }) {}

void ToldSubsystem::set(const deviations::DeviationSet& deviations, PlanInForce* plan) {
  inner_ = deviations.subsystem_hooks();
  if (plan != nullptr) inner_ = std::make_unique<faults::FaultySubsystem>(world_, plan->points(), kSide, std::move(inner_));
}

void ToldDevice::set(const deviations::DeviationSet& deviations, PlanInForce* plan) {
  inner_ = deviations.soft_hooks();
  if (plan != nullptr) inner_ = std::make_unique<faults::FaultyDevice>(plan->points(), kSide, std::move(inner_));
}

std::uint64_t ToldSubsystem::add_rule(CommandRule rule) {
  rule.id = next_rule_++;
  rules_.push_back(rule);
  return rule.id;
}

bool ToldSubsystem::remove_rule(std::uint64_t id) {
  return std::erase_if(rules_, [&](const CommandRule& rule) { return rule.id == id; }) > 0;
}

const std::vector<CommandRule>& ToldSubsystem::rules() {
  std::erase_if(rules_, [&](const CommandRule& rule) { return rule.until <= world_.now(); });
  return rules_;
}

std::optional<CommandRule> ToldSubsystem::take(const CommandContext& command, std::initializer_list<CommandRule::Action> actions) {
  rules();
  const auto at = std::find_if(rules_.begin(), rules_.end(), [&](const CommandRule& rule) {
    return std::find(actions.begin(), actions.end(), rule.action) != actions.end() && rule.matches(command);
  });
  if (at == rules_.end()) return std::nullopt;
  ++struck_;
  ++at->struck;
  const CommandRule taken = *at;
  if (taken.left != CommandRule::kEndless && --at->left == 0) rules_.erase(at);
  return taken;
}

std::optional<nvme::Status> ToldSubsystem::admission(const CommandContext& command) {
  ++fetched_;
  if (!rules_.empty()) {
    if (const auto rule = take(command, {CommandRule::Action::fail})) return rule->status;
  }
  return inner_ != nullptr ? inner_->admission(command) : std::nullopt;
}

Duration ToldSubsystem::latency(const CommandContext& command) {
  const Duration own = inner_ != nullptr ? inner_->latency(command) : Duration{};
  if (rules_.empty()) return own;
  const auto rule = take(command, {CommandRule::Action::delay});
  if (!rule) return own;
  return std::max(own, rule->until == Instant::never() ? own + rule->time : rule->until - world_.now());
}

ToldSubsystem::Answer ToldSubsystem::completion(const CommandContext& command, MutableBytes cqe) {
  ++completed_;
  if ((load_le<std::uint16_t>(cqe.data() + 14) >> 1 & 0x7FF) != 0) ++failed_;
  const Answer answer = inner_ != nullptr ? inner_->completion(command, cqe) : Answer::send;
  if (rules_.empty()) return answer;
  using Action = CommandRule::Action;
  const auto rule = take(command, {Action::drop, Action::repeat, Action::disconnect});
  if (!rule) return answer;
  switch (rule->action) {
    case Action::drop:
      return Answer::withhold;
    case Action::repeat:
      return Answer::send_twice;
    default:
      return Answer::disconnect_instead;
  }
}

}  // namespace fb::cli
