#include "conformance/report/finding_json.h"

namespace fb::conformance {

nlohmann::ordered_json finding_json(const monitors::Finding& found) {
  const monitors::RuleFacts& rule = monitors::facts_of(found.rule);
  return {{"rule", rule.name},
          {"requirement", rule.requirement},
          {"level", monitors::only_advises(found.rule) ? "recommended" : "mandatory"},
          {"packet", found.packet},
          {"time", static_cast<double>(found.time.count_ns()) / 1e9},
          {"text", found.text},
          {"from", to_string(found.blamed)},
          {"layer", monitors::name_of(rule.layer)},
          {"sentence", rule.sentence}};
}

}  // namespace fb::conformance
