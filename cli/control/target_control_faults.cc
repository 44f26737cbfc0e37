// What goes wrong on request: rules about commands, deviations, fault plans; and the counters.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/or_throw.h"
#include "cli/control/target_control.h"
#include "cli/control/target_parameters.h"
#include "wire/nvme/opcodes.h"

namespace fb::cli {

namespace {

using Action = CommandRule::Action;
using Queues = CommandRule::Queues;
using Json = nlohmann::ordered_json;

std::vector<RpcParameter> rule_parameters(std::vector<RpcParameter> more) {
  std::vector<RpcParameter> parameters = {
      a_word("queues", "Which commands (io)", {"any", "admin", "io", "fabrics"}),
      a_number("opcode", "Opcode", 0, 255),
      a_number("nsid", "Namespace identifier", 0, 0xFFFFFFFF),
      a_number("qid", "Queue", 0, 0xFFFE),
      of_controller(false),
      {.name = "count", .type = RpcParameter::Type::number, .description = "Commands that it applies to (1); 0: without end"}};
  parameters.insert(parameters.begin(), more.begin(), more.end());
  return parameters;
}

CommandRule rule_from(const RpcArguments& arguments, Action action) {
  CommandRule rule;
  const std::string queues = arguments.text("queues", "io");
  for (const Queues one : {Queues::any, Queues::admin, Queues::io, Queues::fabrics}) {
    if (name_of(one) == queues) rule.queues = one;
  }
  rule.action = action;
  rule.opcode = arguments.maybe<std::uint8_t>("opcode");
  rule.nsid = arguments.maybe<std::uint32_t>("nsid");
  rule.qid = arguments.maybe<std::uint16_t>("qid");
  rule.cntlid = arguments.maybe<std::uint16_t>("cntlid");
  const std::uint64_t count = arguments.number("count", 1);
  rule.left = count == 0 ? CommandRule::kEndless : count;
  return rule;
}

Json rule_json(const CommandRule& rule) {
  Json made = {{"id", rule.id}, {"action", name_of(rule.action)}, {"queues", name_of(rule.queues)}};
  if (rule.opcode) made["opcode"] = *rule.opcode;
  if (rule.nsid) made["nsid"] = *rule.nsid;
  if (rule.qid) made["qid"] = *rule.qid;
  if (rule.cntlid) made["cntlid"] = *rule.cntlid;
  if (rule.action == Action::fail) made["status"] = to_string(rule.status);
  made["left"] = rule.left == CommandRule::kEndless ? Json() : Json(rule.left);
  made["applied"] = rule.struck;
  return made;
}

/// A plan's text, or that of the file that is named.
fault::Plan plan_from(const RpcArguments& arguments) {
  if (arguments.has("plan") == arguments.has("file")) {
    throw RpcError(RpcError::kInvalidParameters, "either 'plan', the text of a plan, or 'file', its path on the target's machine");
  }
  if (arguments.has("plan")) return or_throw(fault::parse_plan(arguments.text("plan"), "plan"));
  std::ifstream file(arguments.text("file"));
  if (!file) fail(arguments.text("file") + ": cannot be read");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return or_throw(fault::parse_plan(text, arguments.text("file")));
}

}  // namespace

void TargetControl::add_command_methods() {
  rpc_.add({"command.fail", "Answer the next commands that match with a status, without executing them",
            rule_parameters({a_number("sct", "Status code type (0)", 0, 7), a_number("sc", "Status code", 0, 255, true),
                             a_flag("dnr", "Do Not Retry (false)")}),
            [this](const RpcArguments& arguments) {
              CommandRule rule = rule_from(arguments, Action::fail);
              const auto sct = static_cast<unsigned>(arguments.number("sct")), sc = static_cast<unsigned>(arguments.number("sc"));
              const auto status = nvme::Status::make(sct, sc);
              if (status.ok()) fail("sct, sc: a success is no failure");
              rule.status = status.with_dnr(arguments.flag("dnr"));
              return told_.add_rule(rule);
            }});
  rpc_.add({"command.delay", "Execute the next I/O commands that match later", rule_parameters({a_time("time", "How much later", true)}),
            [this](const RpcArguments& arguments) {
              CommandRule rule = rule_from(arguments, Action::delay);
              if (rule.queues != Queues::io) fail("queues: only I/O commands can be delayed");
              rule.time = arguments.duration("time");
              return told_.add_rule(rule);
            }});
  const auto plain = [this](Action action) {
    return [this, action](const RpcArguments& arguments) { return told_.add_rule(rule_from(arguments, action)); };
  };
  rpc_.add({"command.drop", "Execute the next commands that match, and send no completion", rule_parameters({}), plain(Action::drop)});
  rpc_.add({"command.repeat", "Complete the next commands that match twice", rule_parameters({}), plain(Action::repeat)});
  rpc_.add({"command.disconnect", "Close the connection in place of the completion of the next commands that match", rule_parameters({}),
            plain(Action::disconnect)});
  rpc_.add({"command.list", "Rules that apply to further commands", {}, [this](const RpcArguments&) {
              Json all = Json::array();
              for (const CommandRule& rule : told_.rules()) all.push_back(rule_json(rule));
              return all;
            }});
  rpc_.add({"command.clear",
            "Remove a rule, or all of them",
            {a_number("id", "What the method that made it has answered", 1, CommandRule::kEndless)},
            [this](const RpcArguments& arguments) {
              if (!arguments.has("id")) {
                told_.clear_rules();
              } else if (!told_.remove_rule(arguments.number("id"))) {
                fail("there is no rule " + std::to_string(arguments.number("id")));
              }
              return true;
            }});
}

// ---- deviations ----

void TargetControl::apply() {
  const auto chosen = or_throw(deviations::DeviationSet::of_names(deviations_));
  told_.set(chosen, plan_.get());
  if (device_ != nullptr) device_->set(chosen, plan_.get());
}

/// A name that nobody knows, or one that cannot show here, changes nothing.
void TargetControl::switch_deviations(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto chosen = or_throw(deviations::DeviationSet::of_names(names));
  for (const deviations::Deviation* one : chosen.chosen()) {
    using deviations::Product;
    const bool of_device = one->product == Product::rdma || one->product == Product::cm;
    if (of_device && device_ == nullptr) fail(std::string(one->name) + " is a deviation of an RDMA device, which the target does not have");
    if (!of_device && one->product != Product::controller) {
      fail(std::string(one->name) + " is a deviation of a " + std::string(name_of(one->product)) + ", not of a controller");
    }
  }
  deviations_ = chosen.names();
  apply();
}

void TargetControl::add_deviation_methods() {
  rpc_.add({"deviation.list", "Deviations that are switched on", {}, [this](const RpcArguments&) { return Json(deviations_); }});
  rpc_.add({"deviation.on",
            "Switch deviations on (fabricbench list --deviations)",
            {{.name = "names", .type = RpcParameter::Type::texts, .description = "Names of deviations", .required = true}},
            [this](const RpcArguments& arguments) {
              std::vector<std::string> names = deviations_;
              for (const std::string& one : arguments.texts("names")) names.push_back(one);
              switch_deviations(std::move(names));
              return Json(deviations_);
            }});
  rpc_.add({"deviation.off",
            "Switch deviations off",
            {{.name = "names", .type = RpcParameter::Type::texts, .description = "Names; left out: all"}},
            [this](const RpcArguments& arguments) {
              const auto off = or_throw(deviations::DeviationSet::of_names(arguments.texts("names"))).names();
              for (const std::string& one : off) {
                if (std::find(deviations_.begin(), deviations_.end(), one) == deviations_.end()) fail(one + " is not switched on");
              }
              std::vector<std::string> names;
              if (arguments.has("names")) names = deviations_;
              std::erase_if(names, [&](const std::string& one) { return std::find(off.begin(), off.end(), one) != off.end(); });
              switch_deviations(std::move(names));
              return Json(deviations_);
            }});
}

// ---- fault plans ----

void TargetControl::add_fault_methods() {
  rpc_.add({"fault.start",
            "Let a fault plan strike from now on, in place of the one before",
            {a_text("plan", "The plan, YAML"),
             a_text("file", "Its path on the target's machine"),
             {.name = "seed", .type = RpcParameter::Type::number, .description = "Seed of its decisions (1)"}},
            [this](const RpcArguments& arguments) {
              auto made = std::make_unique<PlanInForce>(world_, plan_from(arguments), arguments.number("seed", 1), device_ != nullptr);
              // The hooks of the plan before refer to it: they go first.
              const auto before = std::exchange(plan_, std::move(made));
              apply();
              return Json{{"plan", plan_->plan().name}, {"rules", plan_->plan().rules.size()}, {"seed", plan_->seed()}};
            }});
  rpc_.add({"fault.stop", "Let no plan strike any more", {}, [this](const RpcArguments&) {
              if (plan_ == nullptr) fail("no fault plan is in force");
              const auto before = std::exchange(plan_, nullptr);
              apply();
              return Json{{"strikes", before->points().strikes().size()}};
            }});
  rpc_.add({"fault.status", "The active plan and the faults that occurred", {}, [this](const RpcArguments&) {
              if (plan_ == nullptr) return Json{{"plan", nullptr}};
              Json strikes = Json::array();
              for (const fault::Strike& one : plan_->points().strikes()) {
                strikes.push_back({{"time_ns", one.at.count_ns()}, {"decision", to_string(one.decision)}, {"text", tell(one.decision)}});
              }
              return Json{{"plan", plan_->plan().name}, {"seed", plan_->seed()}, {"strikes", strikes}};
            }});
}

// ---- counters ----

TargetControl::Json TargetControl::statistics() const {
  Json namespaces = Json::array();
  std::size_t controllers = 0;
  for (const auto& subsystem : target_.subsystems()) {
    for (const auto& [cntlid, controller] : subsystem->controllers()) controllers += controller->in_association() ? 1 : 0;
    for (const auto& [nsid, space] : subsystem->namespaces()) {
      const subsystem::IoTotals& totals = space->totals();
      namespaces.push_back({{"nqn", subsystem->options().nqn},
                            {"nsid", std::to_string(nsid)},
                            {"reads", totals.reads},
                            {"writes", totals.writes},
                            {"bytes_read", totals.bytes_read},
                            {"bytes_written", totals.bytes_written}});
    }
  }
  std::size_t connections = 0;
  for (const auto& port : target_.ports()) {
    connections += static_cast<std::size_t>(
        std::count_if(port->connections().begin(), port->connections().end(), [](const auto& queue) { return queue->alive(); }));
  }
  return {{"uptime_seconds", (world_.now() - started_).count_ms() / 1000},
          {"controllers", controllers},
          {"connections", connections},
          {"commands", told_.fetched()},
          {"completions", told_.completed()},
          {"failed_completions", told_.failed()},
          {"rule_strikes", told_.rules_struck()},
          {"fault_strikes", plan_ != nullptr ? plan_->points().strikes().size() : 0},
          {"deviations", deviations_.size()},
          {"namespaces", namespaces}};
}

void TargetControl::add_statistics_methods() {
  rpc_.add({"stats", "Counters since the start", {}, [this](const RpcArguments&) { return statistics(); }});
  rpc_.add({"target.stop", "End the target in order", {}, [this](const RpcArguments&) {
              world_.interrupt();
              return true;
            }});
}

}  // namespace fb::cli
