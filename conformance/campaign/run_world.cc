#include "conformance/campaign/run_world.h"

#include <fmt/format.h>

#include "base/or_throw.h"
#include "conformance/campaign/fabric_run.h"
#include "conformance/campaign/fabric_scene.h"
#include "conformance/campaign/management_run.h"
#include "conformance/campaign/product_scene.h"
#include "conformance/live/live_judge.h"
#include "conformance/monitors/monitors.h"
#include "conformance/runner/runner.h"

namespace fb::conformance {

namespace {

void run_kind(WorldKind kind, World& world, const Recipe& recipe, fault::Points& points, const deviations::DeviationSet& deviations,
              Judge& judge) {
  if (kind == WorldKind::management) {
    ManagementRun(world, recipe, management_shape(recipe.seed), points, deviations, judge).run();
  } else {
    auto scene = std::make_unique<FabricScene>(world, fabric_shape(kind, recipe.seed), points, deviations);
    FabricRun(world, recipe, std::move(scene), points, judge).run();
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

/// What each side of a product's world said, held against the rules.
void weigh_findings(const live::LiveJudge& watch, Judge& judge) {
  for (const LiveFinding& found : watch.findings()) {
    const monitors::Finding& finding = found.finding;
    if (monitors::only_advises(finding.rule)) continue;
    std::string signature = fmt::format("rule: {} ({})", monitors::facts_of(finding.rule).name, name_of(found.side));
    std::string text = fmt::format("packet {}: {}", finding.packet, finding.text);
    if (monitors::is_answer_to_fault(finding.rule)) {
      judge.fails_at_fault(std::move(signature), std::move(text));
    } else {
      judge.fails(std::move(signature), std::move(text));
    }
  }
}

/// `run` and what it throws; the text of what broke, or nothing.
template <class Run>
std::string run_guarded(Judge& judge, Run&& run) {
  try {
    run();
  } catch (const WaitFailure& failure) {
    if (failure.end() == WaitEnd::interrupted) throw;
    judge.breaks_promise("stuck: " + without_numbers(failure.what()).substr(0, 60), failure.what());
  } catch (const UserError&) {
    throw;
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return {};
}

void conclude(World& world, const Judge& judge, const std::string& broken, WorldOutcome& outcome) {
  judge.tell(outcome);
  if (!broken.empty()) {
    // Whatever the faults were: nothing may break the bench or its products.
    outcome.verdict = WorldVerdict::fail;
    outcome.signature = "broken: " + without_numbers(broken).substr(0, 80);
    outcome.text = broken;
  }
  outcome.digest = mix64(world.digest() ^ static_cast<std::uint64_t>(outcome.verdict)) ^ hash_name(outcome.signature);
  outcome.virtual_ns = world.now().count_ns();
}

/// In real time, with the faults on the way.
WorldOutcome run_on_product(const Recipe& recipe, const WorldOptions& options) {
  const auto world = World::make_real(mix64(recipe.seed));
  const Interrupter::Guard guard(options.interrupter, *world);
  if (options.sink != nullptr) world->trace().add_sink(*options.sink);
  fault::Points points(*world, recipe.schedule);
  const std::unique_ptr<ProductLine> line = ProductLine::open(*world, recipe.product, points);
  live::LiveJudge watch(line->judging());
  Judge judge;
  WorldOutcome outcome;
  const std::string broken = run_guarded(judge, [&] {
    auto scene = std::make_unique<ProductScene>(*line, product_shape(recipe.seed));
    try {
      scene->prepare();
    } catch (const UserError& problem) {
      return judge.fails(kProductUnusable, problem.what());
    }
    world->trace().add_sink(watch, TraceSink::Hears::wire);
    FabricRun(*world, recipe, std::move(scene), points, judge).run();
  });
  line->close();
  watch.finish();
  world->trace().remove_sink(watch);
  outcome.strikes = points.strikes();
  weigh_findings(watch, judge);
  conclude(*world, judge, broken, outcome);
  outcome.digest = hash_name(outcome.signature);  // real time has no other
  return outcome;
}

}  // namespace

WorldOutcome run_world(const Recipe& recipe, const WorldOptions& options) {
  if (!recipe.product.empty()) return run_on_product(recipe, options);
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
  const std::string broken = run_guarded(judge, [&] { run_kind(kind, *world, recipe, points, deviations, judge); });
  outcome.strikes = points.strikes();
  weigh_findings(watch, outcome.strikes, judge);
  conclude(*world, judge, broken, outcome);
  return outcome;
}

}  // namespace fb::conformance
