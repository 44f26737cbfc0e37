#include "cli/control/target_control.h"

#include <algorithm>

#include "base/or_throw.h"
#include "cli/control/target_parameters.h"
#include "model/subsystem/check_options.h"
#include "wire/fabrics/nqn.h"

namespace fb::cli {

using subsystem::Controller;
using subsystem::Namespace;
using subsystem::Queue;
using subsystem::Subsystem;

TargetControl::TargetControl(Parts parts)
    : world_(parts.target.world()),
      target_(parts.target),
      told_(parts.told),
      device_(parts.device),
      listeners_(parts.listeners),
      deviations_(std::move(parts.deviations)),
      referrals_(std::move(parts.referrals)) {
  apply();
  add_subsystem_methods();
  add_controller_methods();
  add_namespace_methods();
  add_health_methods();
  add_discovery_methods();
  add_host_methods();
  add_listener_methods();
  add_command_methods();
  add_deviation_methods();
  add_fault_methods();
  add_statistics_methods();
}

TargetControl::~TargetControl() {
  // The target may go on, without the plan.
  told_.set({}, nullptr);
  if (device_ != nullptr) device_->set({}, nullptr);
}

// ---- what calls name ----

Subsystem& TargetControl::subsystem_of(const RpcArguments& arguments) const {
  if (!arguments.has("nqn")) {
    if (target_.subsystems().empty()) fail("the target has no subsystem");
    return *target_.subsystems().front();
  }
  Subsystem* const found = target_.find_subsystem(arguments.text("nqn"));
  if (found == nullptr) fail("there is no subsystem " + arguments.text("nqn"));
  return *found;
}

Namespace& TargetControl::namespace_of(const RpcArguments& arguments) const {
  const auto nsid = static_cast<std::uint32_t>(arguments.number("nsid"));
  Namespace* const found = subsystem_of(arguments).find_namespace(nsid);
  if (found == nullptr) fail("there is no namespace " + std::to_string(nsid));
  return *found;
}

Controller& TargetControl::controller_of(const RpcArguments& arguments) const {
  const auto cntlid = static_cast<std::uint16_t>(arguments.number("cntlid"));
  Controller* const found = subsystem_of(arguments).find_controller(cntlid);
  if (found == nullptr) fail("there is no controller " + std::to_string(cntlid));
  return *found;
}

Queue& TargetControl::connection_of(const RpcArguments& arguments) const {
  const Controller& controller = controller_of(arguments);
  const auto qid = static_cast<std::uint16_t>(arguments.number("qid"));
  for (const auto& port : target_.ports()) {
    for (const auto& queue : port->connections()) {
      if (queue->alive() && queue->controller() == &controller && queue->qid() == qid) return *queue;
    }
  }
  fail("controller " + std::to_string(controller.cntlid()) + " has no queue " + std::to_string(qid));
}

// ---- subsystems ----

TargetControl::Json TargetControl::subsystem_json(Subsystem& subsystem) const {
  Json controllers = Json::array();
  for (const auto& [cntlid, controller] : subsystem.controllers()) {
    if (controller->in_association()) controllers.push_back(cntlid);
  }
  Json namespaces = Json::array();
  for (const auto& [nsid, space] : subsystem.namespaces()) namespaces.push_back(nsid);
  return {{"nqn", subsystem.options().nqn},
          {"serial", subsystem.options().serial},
          {"model", subsystem.options().model},
          {"namespaces", namespaces},
          {"controllers", controllers},
          {"temperature", subsystem.temperature()},
          {"firmware", subsystem.firmware().running()},
          {"firmware_slot", subsystem.firmware().active()},
          {"sanitizing", subsystem.sanitizer().running()},
          {"allow_any_host", subsystem.options().allow_any_host},
          {"allowed_hosts", subsystem.options().allowed_hosts}};
}

void TargetControl::add_subsystem_methods() {
  rpc_.add({"subsystem.list", "Subsystems with their namespaces and the controllers that have a host", {}, [this](const RpcArguments&) {
              Json all = Json::array();
              for (const auto& one : target_.subsystems()) all.push_back(subsystem_json(*one));
              return all;
            }});
  rpc_.add({"subsystem.add",
            "Add a subsystem, reachable through every port but those of the discovery service alone",
            {a_text("nqn", "Its NQN", true), a_text("serial", "Serial number, at most 20 characters"),
             a_flag("allow_any_host", "Let every host connect (true)"), a_flag("zoned", "It can hold zoned namespaces"),
             a_flag("key_value", "It can hold key value namespaces")},
            [this](const RpcArguments& arguments) {
              subsystem::SubsystemOptions options;
              options.nqn = arguments.text("nqn");
              options.serial = arguments.text("serial", options.serial);
              options.allow_any_host = arguments.flag("allow_any_host", true);
              options.zoned.supported = arguments.flag("zoned", false);
              options.key_value.supported = arguments.flag("key_value", false);
              if (!fabrics::valid_nqn(options.nqn)) fail("'" + options.nqn + "' is no NVMe qualified name");
              if (target_.find_subsystem(options.nqn) != nullptr) fail("the target has " + options.nqn + " already");
              or_throw(subsystem::check_options(options));
              Subsystem& made = target_.add_subsystem(std::move(options));
              for (const TargetListeners::Listener& one : listeners_.list()) {
                if (one.discovery_only) target_.hide(target_.port(one.portid), made);
              }
              return subsystem_json(made);
            }});
  rpc_.add({"subsystem.remove",
            "Remove a subsystem and end its associations",
            {a_text("nqn", "Its NQN", true)},
            [this](const RpcArguments& arguments) {
              target_.remove_subsystem(subsystem_of(arguments));
              return true;
            }});
  rpc_.add({"subsystem.reset", "NVM Subsystem Reset: every association ends", {of_subsystem()}, [this](const RpcArguments& arguments) {
              subsystem_of(arguments).reset_subsystem();
              return true;
            }});
  rpc_.add({"subsystem.disconnect", "End every association without a reset", {of_subsystem()}, [this](const RpcArguments& arguments) {
              subsystem_of(arguments).end_associations("told by the control socket");
              return true;
            }});
  rpc_.add({"subsystem.moved",
            "Answer Connect with Connect Restart Discovery",
            {of_subsystem(), a_flag("on", "On or off", true)},
            [this](const RpcArguments& arguments) {
              subsystem_of(arguments).set_moved(arguments.flag("on"));
              return true;
            }});
  const auto shown = [this](bool on) {
    return [this, on](const RpcArguments& arguments) {
      Subsystem& subsystem = subsystem_of(arguments);
      const auto portid = static_cast<std::uint16_t>(arguments.number("portid"));
      for (const auto& port : target_.ports()) {
        if (port->options().portid != portid) continue;
        on ? target_.expose(*port, subsystem) : target_.hide(*port, subsystem);
        return true;
      }
      fail("there is no port " + std::to_string(portid));
    };
  };
  const RpcParameter of_port = a_number("portid", "Port (connection.list, ana.get)", 0, 0xFFFF, true);
  rpc_.add({"subsystem.hide", "Make a subsystem unreachable through a port", {of_subsystem(), of_port}, shown(false)});
  rpc_.add({"subsystem.expose", "Make a subsystem reachable through a port", {of_subsystem(), of_port}, shown(true)});
  rpc_.add({"power.off",
            "Power loss: what is volatile is lost, and nothing listens until power.on",
            {a_time("time", "Power returns by itself after this time")},
            [this](const RpcArguments& arguments) {
              power_off();
              if (arguments.has("time")) world_.loop().schedule_after(power_, arguments.duration("time"));
              return true;
            }});
  rpc_.add({"power.on", "The listeners return", {}, [this](const RpcArguments&) {
              if (switched_off_.empty()) fail("the power is on");
              power_on();
              return true;
            }});
}

void TargetControl::power_off() {
  if (!switched_off_.empty()) fail("the power is off");
  for (const auto& subsystem : target_.subsystems()) subsystem->power_cycle();
  switched_off_ = listeners_.list();
  for (const TargetListeners::Listener& one : switched_off_) listeners_.remove(one.url);
}

void TargetControl::power_on() {
  world_.loop().cancel(power_);
  for (const TargetListeners::Listener& one : std::exchange(switched_off_, {})) listeners_.add(one.url, one.discovery_only);
}

// ---- controllers and connections ----

void TargetControl::add_controller_methods() {
  rpc_.add({"controller.list", "Controllers that have a host", {of_subsystem()}, [this](const RpcArguments& arguments) {
              Json all = Json::array();
              for (const auto& [cntlid, controller] : subsystem_of(arguments).controllers()) {
                if (!controller->in_association()) continue;
                all.push_back({{"cntlid", cntlid},
                               {"hostnqn", controller->host().hostnqn},
                               {"hostid", to_hex(controller->host().hostid)},
                               {"state", name_of(controller->state())},
                               {"csts", controller->csts()},
                               {"keep_alive_ms", controller->kato_ms()},
                               {"io_queues", controller->io_queues().size()},
                               {"secured", controller->secured()}});
              }
              return all;
            }});
  rpc_.add({"controller.fail",
            "Fatal status: CSTS.CFS is set and the association ends",
            {of_subsystem(), of_controller()},
            [this](const RpcArguments& arguments) {
              Controller& controller = controller_of(arguments);
              if (!controller.in_association()) fail("the controller has no host");
              controller.fail_association("told by the control socket");
              return true;
            }});
  rpc_.add({"controller.disconnect",
            "End the association of one controller",
            {of_subsystem(), of_controller()},
            [this](const RpcArguments& arguments) {
              controller_of(arguments).end_association("told by the control socket");
              return true;
            }});
  rpc_.add(
      {"event.send",
       "Raise an asynchronous event; the host gets it if it has enabled and asked for it",
       {of_subsystem(), of_controller(false),
        a_word("type", "Asynchronous event type", {"error", "smart", "notice", "immediate", "one_shot", "command_set", "vendor"}, true),
        a_number("info", "Asynchronous event information", 0, 255, true), a_number("log", "Log page identifier", 0, 255, true),
        a_number("parameter", "Event specific parameter", 0, 0xFFFFFFFF)},
       [this](const RpcArguments& arguments) {
         const std::map<std::string, nvme::EventType> types = {
             {"error", nvme::EventType::error},       {"smart", nvme::EventType::smart},
             {"notice", nvme::EventType::notice},     {"immediate", nvme::EventType::immediate},
             {"one_shot", nvme::EventType::one_shot}, {"command_set", nvme::EventType::command_set},
             {"vendor", nvme::EventType::vendor}};
         const nvme::Event event = {.type = types.at(arguments.text("type")),
                                    .info = static_cast<std::uint8_t>(arguments.number("info")),
                                    .lid = static_cast<std::uint8_t>(arguments.number("log")),
                                    .parameter = static_cast<std::uint32_t>(arguments.number("parameter"))};
         Subsystem& subsystem = subsystem_of(arguments);
         if (arguments.has("cntlid")) {
           controller_of(arguments).raise(event);
         } else {
           for (const auto& [cntlid, controller] : subsystem.controllers()) controller->raise(event);
         }
         return true;
       }});
  rpc_.add({"connection.list", "Connections of every listener", {}, [this](const RpcArguments&) {
              Json all = Json::array();
              for (const auto& port : target_.ports()) {
                for (const auto& queue : port->connections()) {
                  if (!queue->alive()) continue;
                  const Controller* const controller = queue->controller();
                  all.push_back({{"portid", port->options().portid},
                                 {"cntlid", controller != nullptr ? Json(controller->cntlid()) : Json()},
                                 {"qid", queue->qid()},
                                 {"entries", queue->entries()},
                                 {"peer", to_string(queue->channel().peer())},
                                 {"local", to_string(queue->channel().local())},
                                 {"secured", queue->secured()},
                                 {"commands", queue->commands_fetched()}});
                }
              }
              return all;
            }});
  rpc_.add({"connection.drop",
            "Close the connection of one queue",
            {of_subsystem(), of_controller(), a_number("qid", "Queue; 0: the admin queue", 0, 0xFFFE, true)},
            [this](const RpcArguments& arguments) {
              Queue& queue = connection_of(arguments);
              queue.controller()->drop_queue(queue, "told by the control socket");
              return true;
            }});
  rpc_.add({"connection.stall",
            "Execute no I/O command of a queue before this time has passed",
            {of_subsystem(), of_controller(), a_number("qid", "I/O queue", 1, 0xFFFE, true), a_time("time", "How long", true)},
            [this](const RpcArguments& arguments) {
              const Queue& queue = connection_of(arguments);
              CommandRule rule;
              rule.qid = queue.qid();
              rule.cntlid = static_cast<std::uint16_t>(arguments.number("cntlid"));
              rule.action = CommandRule::Action::delay;
              rule.until = world_.now() + arguments.duration("time");
              rule.left = CommandRule::kEndless;
              return told_.add_rule(rule);
            }});
}

}  // namespace fb::cli
