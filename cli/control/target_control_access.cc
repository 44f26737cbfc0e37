// Who reaches what: ANA states, hosts, listeners, referrals.
#include <algorithm>

#include "base/or_throw.h"
#include "cli/control/target_control.h"
#include "cli/control/target_parameters.h"
#include "cli/control/target_words.h"
#include "wire/fabrics/nqn.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

using subsystem::Subsystem;

namespace {

struct AnaWord {
  std::string_view word;
  nvme::AnaState state;
};
constexpr AnaWord kAnaWords[] = {{"optimized", nvme::AnaState::optimized},
                                 {"non-optimized", nvme::AnaState::non_optimized},
                                 {"inaccessible", nvme::AnaState::inaccessible},
                                 {"persistent-loss", nvme::AnaState::persistent_loss},
                                 {"change", nvme::AnaState::change}};

std::vector<std::string_view> ana_words() {
  std::vector<std::string_view> words;
  for (const AnaWord& one : kAnaWords) words.push_back(one.word);
  return words;
}

nvme::AnaState ana_state_of(const std::string& word) {
  return std::find_if(std::begin(kAnaWords), std::end(kAnaWords), [&](const AnaWord& one) { return one.word == word; })->state;
}

std::string_view word_for(nvme::AnaState state) {
  return std::find_if(std::begin(kAnaWords), std::end(kAnaWords), [&](const AnaWord& one) { return one.state == state; })->word;
}

nlohmann::ordered_json referral_json(const subsystem::Referral& referral) {
  return {{"traddr", referral.traddr},
          {"trsvcid", referral.trsvcid},
          {"transport", referral.trtype == 3 ? fabrics::kTcp : fabrics::kRdma},
          {"subnqn", referral.subnqn}};
}

}  // namespace

void TargetControl::add_discovery_methods() {
  rpc_.add(
      {"ana.get", "ANA states of the groups that hold namespaces, at each port", {of_subsystem()}, [this](const RpcArguments& arguments) {
         const Subsystem& subsystem = subsystem_of(arguments);
         std::vector<std::uint32_t> groups;
         for (const auto& [nsid, space] : subsystem.namespaces()) groups.push_back(space->ana_group());
         std::sort(groups.begin(), groups.end());
         groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
         Json all = Json::array();
         for (const std::uint32_t group : groups) {
           for (const auto& port : target_.ports()) {
             const std::uint16_t portid = port->options().portid;
             all.push_back({{"group", group}, {"portid", portid}, {"state", word_for(subsystem.ana_state(group, portid))}});
           }
         }
         return all;
       }});
  rpc_.add({"ana.set",
            "Set the ANA state of a group; hosts are notified",
            {of_subsystem(), a_word("state", "ANA state", ana_words(), true), a_number("group", "ANA group (1)", 1, 0xFFFFFFFF),
             a_number("portid", "Port; left out: every port", 1, 0xFFFF)},
            [this](const RpcArguments& arguments) {
              Subsystem& subsystem = subsystem_of(arguments);
              const auto group = static_cast<std::uint32_t>(arguments.number("group", 1));
              if (!subsystem.options().ana) fail("the subsystem has no asymmetric namespace access");
              if (group > subsystem.options().ana_groups_max) fail("there is no ANA group " + std::to_string(group));
              const auto portid = static_cast<std::uint16_t>(arguments.number("portid"));
              const auto& ports = target_.ports();
              const auto is_it = [&](const auto& one) { return one->options().portid == portid; };
              if (portid != 0 && std::none_of(ports.begin(), ports.end(), is_it)) {
                fail("there is no port " + std::to_string(portid));
              }
              subsystem.set_ana_state(group, ana_state_of(arguments.text("state")), portid);
              return true;
            }});
  rpc_.add({"referral.list", "Referrals of the discovery service", {}, [this](const RpcArguments&) {
              Json all = Json::array();
              for (const subsystem::Referral& one : referrals_) all.push_back(referral_json(one));
              return all;
            }});
  rpc_.add({"referral.add",
            "Add a referral; hosts are notified",
            {a_text("url", "tcp://HOST:PORT or rdma://HOST:PORT", true)},
            [this](const RpcArguments& arguments) {
              referrals_.push_back(referral_from(arguments.text("url")));
              target_.discovery().add_referral(referrals_.back());
              return referral_json(referrals_.back());
            }});
  rpc_.add({"referral.remove",
            "Remove a referral; hosts are notified",
            {a_text("url", "As it was added", true)},
            [this](const RpcArguments& arguments) {
              const auto wanted = referral_json(referral_from(arguments.text("url")));
              const auto gone = std::erase_if(referrals_, [&](const auto& one) { return referral_json(one) == wanted; });
              if (gone == 0) fail("there is no referral to " + arguments.text("url"));
              target_.discovery().clear_referrals();
              for (const subsystem::Referral& one : referrals_) target_.discovery().add_referral(one);
              return true;
            }});
}

void TargetControl::add_host_methods() {
  const RpcParameter hostnqn = a_text("hostnqn", "NQN of the host", true);
  rpc_.add({"host.allow", "Let a host connect", {of_subsystem(), hostnqn}, [this](const RpcArguments& arguments) {
              if (!fabrics::valid_nqn(arguments.text("hostnqn"))) fail("'" + arguments.text("hostnqn") + "' is no NVMe qualified name");
              subsystem_of(arguments).allow_host(arguments.text("hostnqn"));
              return true;
            }});
  rpc_.add({"host.disallow", "Let a host no longer connect", {of_subsystem(), hostnqn}, [this](const RpcArguments& arguments) {
              subsystem_of(arguments).disallow_host(arguments.text("hostnqn"));
              return true;
            }});
  rpc_.add({"host.allow_any",
            "Let every host connect, or those alone that are allowed",
            {of_subsystem(), a_flag("on", "On or off", true)},
            [this](const RpcArguments& arguments) {
              subsystem_of(arguments).allow_any_host(arguments.flag("on"));
              return true;
            }});
}

void TargetControl::add_listener_methods() {
  rpc_.add({"listener.list", "Where the target listens", {}, [this](const RpcArguments&) {
              Json all = Json::array();
              for (const auto& one : listeners_.list()) {
                all.push_back({{"url", one.url}, {"portid", one.portid}, {"kind", one.discovery_only ? "discovery" : "subsystem"}});
              }
              return all;
            }});
  rpc_.add({"listener.add",
            "Listen at a further port of the target's address",
            {a_text("url", "tcp://HOST:PORT or rdma://HOST:PORT", true), a_flag("discovery_only", "The discovery service alone (false)")},
            [this](const RpcArguments& arguments) {
              if (!switched_off_.empty()) fail("the power is off");
              listeners_.add(arguments.text("url"), arguments.flag("discovery_only"));
              return true;
            }});
  rpc_.add({"listener.remove",
            "Stop listening, and end what came through the listener",
            {a_text("url", "As listener.list has it", true)},
            [this](const RpcArguments& arguments) {
              listeners_.remove(arguments.text("url"));
              return true;
            }});
}

}  // namespace fb::cli
