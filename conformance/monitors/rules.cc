#include "conformance/monitors/rules.h"

#include "conformance/requirements/ledger.h"
#include "conformance/requirements/requirement_id.h"
#include "wire/fabrics/transports.h"

namespace fb::monitors {

namespace {

// The ids are looked up while compiling.
constexpr std::string_view id_of(conformance::RequirementId id) { return id.text(); }

constexpr RuleFacts kCatalogue[] = {
#define FB_MONITOR_ROW(id, requirement, layer, sentence) {#id, id_of(requirement), Layer::layer, sentence},
    FB_MONITOR_RULES(FB_MONITOR_ROW)
#undef FB_MONITOR_ROW
};

}  // namespace

std::span<const RuleFacts> catalogue() { return kCatalogue; }
const RuleFacts& facts_of(Rule rule) { return kCatalogue[static_cast<std::size_t>(rule)]; }

bool only_advises(Rule rule) {
  const conformance::Requirement* const requirement = conformance::find_requirement(facts_of(rule).requirement);
  return requirement != nullptr && requirement->level != "mandatory";
}

bool is_answer_to_fault(Rule rule) { return rule >= Rule::tcp_answers_header_digest && rule <= Rule::tcp_answers_transfer_tag; }

bool judges_hosts(Rule rule) {
  const conformance::Requirement* const requirement = conformance::find_requirement(facts_of(rule).requirement);
  return facts_of(rule).layer == Layer::oracle && requirement != nullptr && requirement->roles.size() == 1 &&
         requirement->roles.front() == "host";
}

std::string_view name_of(Layer layer) {
  constexpr std::string_view kNames[] = {fabrics::kRdma, "cm", "nvme", fabrics::kTcp, "mctp", "mi", "oracle"};
  return kNames[static_cast<std::size_t>(layer)];
}

}  // namespace fb::monitors
