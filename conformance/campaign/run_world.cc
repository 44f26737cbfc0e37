#include "conformance/campaign/run_world.h"

#include <fmt/format.h>


#include "base/or_throw.h"
#include "conformance/campaign/fabric_run.h"
#include "conformance/campaign/management_run.h"
#include "conformance/monitors/monitors.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

namespace {

void run_kind(WorldKind kind, World& world, const Recipe& recipe, fault::Points& points,
              const deviations::DeviationSet& deviations, Judge& judge) {
  if (kind == WorldKind::management) {
    ManagementRun(world, recipe, management_shape(recipe.seed), points, deviations, judge).run();
  } else {
    FabricRun(world, recipe, fabric_shape(kind, recipe.seed), points, deviations, judge).run();
  }
}

/// Whether what was seen may not be what was said: rules would blame the sender for it. Frames are seen where they
/// arrive, and a forgery is believed.
bool hides_what_was_said(const fault::Decision& decision) {
  switch (decision.kind) {
    case fault::Kind::forge:
    case fault::Kind::twice:
      return true;
    default:
      return decision.place.site == fault::Site::pdu || decision.place.site == fault::Site::frame;
  }
}

void weigh_findings(monitors::Monitors& watch, const std::vector<fault::Strike>& strikes, Judge& judge) {
  watch.finish();
  for (const fault::Strike& strike : strikes) {
    if (hides_what_was_said(strike.decision)) return;
  }
  for (const monitors::Finding& finding : watch.findings()) {
    if (monitors::only_advises(finding.rule)) continue;
    const monitors::RuleFacts& rule = monitors::facts_of(finding.rule);
    judge.fails("rule: " + std::string(rule.name), fmt::format("packet {}: {}", finding.packet, finding.text));
  }
}

}  // namespace

WorldOutcome run_world(const Recipe& recipe, const WorldOptions& options) {
  const WorldKind kind = or_throw(world_kind(recipe.workload, recipe.seed));
  const auto deviations = or_throw(deviations::DeviationSet::of_names(recipe.deviations));
  const auto world = World::make_virtual(mix64(recipe.seed));
  const Interrupter::Guard guard(options.interrupter, *world);
  if (options.sink != nullptr) world->trace().add_sink(*options.sink);
  // Steps of a world change the product itself, which the oracle does not see.
  monitors::Monitors watch({.complete = true}, false);
  world->trace().add_sink(watch, TraceSink::Hears::wire);
  fault::Points points(*world, recipe.schedule);
  Judge judge;
  WorldOutcome outcome;
  std::string broken;
  try {
    run_kind(kind, *world, recipe, points, deviations, judge);
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) throw;
    judge.breaks_promise("stuck: " + without_numbers(failure.what()).substr(0, 60), failure.what());
  } catch (const UserError&) {
    throw;
  } catch (const std::exception& problem) {
    broken = problem.what();
  }
  outcome.strikes = points.strikes();
  weigh_findings(watch, outcome.strikes, judge);
  judge.tell(outcome);
  if (!broken.empty()) {
    // Whatever the faults were: nothing may break the bench or its products.
    outcome.verdict = WorldVerdict::fail;
    outcome.signature = "broken: " + without_numbers(broken).substr(0, 80);
    outcome.text = broken;
  }
  outcome.digest = mix64(world->digest() ^ static_cast<std::uint64_t>(outcome.verdict)) ^ hash_name(outcome.signature);
  outcome.virtual_ns = world->now().count_ns();
  return outcome;
}

}  // namespace fb::conformance
