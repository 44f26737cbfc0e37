#include "conformance/campaign/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/or_throw.h"
#include "base/rng.h"
#include "conformance/campaign/shapes.h"
#include "conformance/runner/product.h"
#include "model/proxy/faults.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

namespace {

constexpr std::array<std::string_view, kDeeds> kDeedNames = {"read",         "write",         "flush",     "compare",  "compare_and_write",
                                                             "write_zeroes", "deallocate",    "verify",    "rescan",   "reserve",
                                                             "release",      "health",        "vpd_write", "vpd_read", "subsystem_info",
                                                             "controllers",  "configuration", "identify",  "smart",    "set_feature"};

/// A deed by its share of a hundred.
struct Share {
  Deed deed;
  unsigned percent;
};

Deed draw(Rng& rng, std::initializer_list<Share> shares) {
  auto left = static_cast<unsigned>(rng.below(100));
  for (const Share& share : shares) {
    if (left < share.percent) return share.deed;
    left -= share.percent;
  }
  return shares.begin()->deed;
}

Step fabric_step(Rng& rng, const FabricShape& shape) {
  Step step;
  step.worker = static_cast<unsigned>(rng.below(std::uint64_t{shape.hosts} * shape.workers));
  step.deed = draw(rng, {{Deed::write, 40},
                         {Deed::read, 30},
                         {Deed::flush, 8},
                         {Deed::compare, 5},
                         {Deed::compare_and_write, 6},
                         {Deed::write_zeroes, 4},
                         {Deed::deallocate, 3},
                         {Deed::verify, 2},
                         {Deed::rescan, 2}});
  if (shape.reservations && rng.chance(1, 10)) step.deed = rng.chance(1, 2) ? Deed::reserve : Deed::release;
  step.count = static_cast<std::uint32_t>(rng.between(1, rng.chance(1, 8) ? 16 : 4));
  step.at = rng.below(shape.blocks - step.count + 1);
  step.pause_us = rng.chance(1, 3) ? static_cast<std::uint32_t>(rng.below(2000)) : 0;
  if (rng.chance(1, 40)) step.pause_us = static_cast<std::uint32_t>(rng.below(3'000'000));
  return step;
}

Step management_step(Rng& rng, const ManagementShape& shape) {
  Step step;
  step.worker = static_cast<unsigned>(rng.below(shape.workers));
  step.deed = draw(rng, {{Deed::health, 15},
                         {Deed::subsystem_info, 10},
                         {Deed::controllers, 10},
                         {Deed::configuration, 10},
                         {Deed::vpd_read, 10},
                         {Deed::vpd_write, 10},
                         {Deed::identify, 15},
                         {Deed::smart, 10},
                         {Deed::set_feature, 10}});
  step.at = rng.below(200);
  step.count = static_cast<std::uint32_t>(rng.between(1, 56));
  if (step.deed == Deed::vpd_write) step.count = static_cast<std::uint32_t>(rng.between(1, 120));
  step.pause_us = rng.chance(1, 3) ? static_cast<std::uint32_t>(rng.below(20'000)) : 0;
  return step;
}

bool take_number(std::string_view& text, std::uint64_t& value) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

fault::Rule rule(fault::Kind kind, std::uint64_t every, unsigned most, std::uint64_t low = 0, std::uint64_t high = 0) {
  fault::Rule made;
  made.kind = kind;
  made.every = every;
  made.most = most;
  made.low = low;
  made.high = high;
  return made;
}

fault::Plan make_standard_plan() {
  using enum fault::Kind;
  constexpr std::uint64_t kUs = 1000, kMs = 1'000'000;
  fault::Plan plan;
  plan.name = "standard";
  plan.swarm = true;
  plan.rules = {
      rule(drop, 60, 12),
      rule(duplicate, 80, 8, 0, 2 * kMs),
      rule(delay, 60, 10, kUs, 3 * kMs),
      rule(delay, 300, 1, 100 * kMs, 2000 * kMs),
      rule(corrupt, 100, 6, 0, 32767),
      rule(truncate, 150, 3, 1, 64),
      rule(partition, 400, 1, kMs, 6000 * kMs),
      rule(hold, 200, 2, 10 * kUs, 200 * kMs),
      rule(segment_split, 3, 60, 1, 1400),
      rule(segment_delay, 40, 8, kUs, 3 * kMs),
      rule(segment_lose, 60, 4, 1, 2),
      rule(segment_hold, 250, 1, kMs, 6000 * kMs),
      rule(segment_reset, 300, 1),
      rule(pdu_corrupt, 300, 1, 0, 32767),
      rule(receive_missing, 40, 6),
      rule(queue_pair_error, 300, 1),
      rule(key_invalidate, 300, 1),
      rule(status, 80, 1, 0x006, 0x006),  // Internal Error
      rule(status, 80, 1, 0x082, 0x082),  // Namespace Not Ready
      rule(status, 80, 1, 0x022, 0x022),  // Transient Transport Error
      rule(status, 80, 1, 0x303, 0x303),  // Asymmetric Access Transition
      rule(slow, 30, 4, kUs, 50 * kMs),
      rule(slow, 200, 1, 1000 * kMs, 8000 * kMs),
      rule(fatal, 300, 1),
      rule(admin_status, 30, 1, 0x006, 0x006),
      rule(admin_withhold, 60, 1),
      rule(withhold, 200, 1),
      rule(disconnect, 200, 1),
      rule(media_error, 200, 1),
      rule(write_fault, 200, 1),
      rule(frame_drop, 60, 6),
      rule(frame_nack, 60, 6),
      rule(frame_duplicate, 60, 6),
      rule(frame_corrupt, 60, 6, 0, 2047),
      rule(frame_eid, 120, 2, 1, 255),
      rule(frame_sequence, 120, 2, 1, 3),
      rule(controller_reset, 80, 1),
      rule(subsystem_reset, 150, 1),
      rule(power_cycle, 100, 1),
      rule(associations_end, 150, 1),
      rule(ana, 60, 1, 0x12, 0x13),
      rule(ana, 60, 1, 0x22, 0x23),
      rule(ana, 80, 1, 0x1F, 0x1F),
      rule(namespace_add, 100, 1),
      rule(namespace_remove, 150, 1),
      rule(namespace_resize, 100, 1, 1, 64),
      rule(endpoint_reset, 60, 1),
      rule(throttle, 300, 1, 200, 20'000),
      rule(segment_throttle, 300, 1, 200, 20'000),
      rule(ana, 200, 1, 0x24, 0x24),
  };
  return plan;
}

fault::Plan make_rdma_product_plan() {
  using enum fault::Kind;
  constexpr std::uint64_t kUs = 1000, kMs = 1'000'000;
  fault::Plan plan;
  plan.name = "product";
  plan.swarm = true;
  plan.rules = {
      rule(drop, 60, 20),
      rule(duplicate, 60, 20),
      rule(delay, 60, 20, kUs, 3 * kMs),
      rule(corrupt, 80, 10),
      rule(truncate, 120, 5, 1, 64),
      rule(hold, 300, 1, kMs, 100 * kMs),
      rule(partition, 400, 1, kMs, 50 * kMs),
      rule(throttle, 300, 1, 2000, 20'000),
      rule(controller_reset, 80, 1),
  };
  return plan;
}

fault::Plan make_product_plan() {
  using enum fault::Kind;
  constexpr std::uint64_t kUs = 1000, kMs = 1'000'000;
  fault::Plan plan;
  plan.name = "product";
  plan.swarm = true;
  plan.rules = {
      rule(segment_split, 3, 60, 1, 1400),
      rule(segment_delay, 40, 8, kUs, 3 * kMs),
      rule(segment_hold, 250, 1, kMs, 400 * kMs),
      rule(segment_reset, 300, 1),
      rule(segment_throttle, 300, 1, 2000, 20'000),
      rule(status, 80, 1, 0x006, 0x006),  // Internal Error
      rule(status, 80, 1, 0x082, 0x082),  // Namespace Not Ready
      rule(status, 80, 1, 0x022, 0x022),  // Transient Transport Error
      rule(status, 80, 1, 0x303, 0x303),  // Asymmetric Access Transition
      rule(slow, 30, 4, kUs, 50 * kMs),
      rule(disconnect, 200, 1),
      rule(media_error, 200, 1),
      rule(write_fault, 200, 1),
      rule(controller_reset, 80, 1),
  };
  return plan;
}

}  // namespace

std::string_view name_of(Deed deed) { return kDeedNames[static_cast<std::size_t>(deed)]; }

std::string to_string(const Step& step) {
  std::string text = fmt::format("{} {} {}+{}", step.worker, name_of(step.deed), step.at, step.count);
  if (step.pause_us != 0) text += fmt::format(" @{}", step.pause_us);
  return text;
}

Result<Step> parse_step(std::string_view text) {
  const auto wrong = Failure{Problem{fmt::format("not a step: '{}': it has the form WORKER DEED AT+COUNT [@PAUSE]", text)}};
  Step step;
  std::uint64_t worker = 0, count = 0, pause = 0;
  if (!take_number(text, worker) || worker > 1000 || !take(text, " ")) return wrong;
  const std::string_view name = text.substr(0, text.find(' '));
  std::size_t deed = 0;
  while (deed < kDeeds && kDeedNames[deed] != name) ++deed;
  if (deed == kDeeds) return wrong;
  text.remove_prefix(name.size());
  if (!take(text, " ") || !take_number(text, step.at) || !take(text, "+") || !take_number(text, count)) return wrong;
  if (take(text, " @") && !take_number(text, pause)) return wrong;
  if (!text.empty() || count == 0 || count > 4096 || pause > 0xFFFF'FFFF || step.at > 1'000'000) return wrong;
  step.worker = static_cast<unsigned>(worker);
  step.deed = static_cast<Deed>(deed);
  step.count = static_cast<std::uint32_t>(count);
  step.pause_us = static_cast<std::uint32_t>(pause);
  return step;
}

const fault::Plan& standard_plan() {
  static const fault::Plan plan = make_standard_plan();
  return plan;
}

Result<Recipe> make_recipe(const std::string& workload, std::uint64_t seed, const fault::Plan& plan, std::size_t steps) {
  const auto kind = world_kind(workload, seed);
  if (!kind) return Failure{kind.error()};
  Recipe recipe;
  recipe.workload = workload;
  recipe.seed = seed;
  Rng rng(seed, "steps");
  if (kind.value() == WorldKind::management) {
    const ManagementShape shape = management_shape(seed);
    for (std::size_t i = 0; i < steps; ++i) recipe.steps.push_back(management_step(rng, shape));
    recipe.schedule = fault::generate(plan, seed, places_of(shape));
  } else {
    const FabricShape shape = fabric_shape(kind.value(), seed);
    for (std::size_t i = 0; i < steps; ++i) recipe.steps.push_back(fabric_step(rng, shape));
    recipe.schedule = fault::generate(plan, seed, places_of(shape));
  }
  return recipe;
}

const fault::Plan& product_plan(std::string_view transport) {
  static const fault::Plan tcp = make_product_plan(), rdma = make_rdma_product_plan();
  return transport == fabrics::kRdma ? rdma : tcp;
}

Result<void> reaches_product(const fault::Plan& plan, std::string_view transport) {
  fault::Plan rest = plan;
  std::erase_if(rest.rules, [](const fault::Rule& one) { return one.kind == fault::Kind::controller_reset; });
  return proxy::reaches(rest, transport);
}

Recipe make_product_recipe(const std::string& product, std::uint64_t seed, const fault::Plan& plan, std::size_t steps) {
  Recipe recipe;
  recipe.workload = or_throw(parse_fabric_url(product)).transport;
  recipe.product = product;
  recipe.seed = seed;
  Rng rng(seed, "steps");
  const FabricShape shape = product_shape(seed);
  constexpr std::uint32_t kLongestPause_us = 100'000;  // time is real
  for (std::size_t i = 0; i < steps; ++i) {
    recipe.steps.push_back(fabric_step(rng, shape));
    recipe.steps.back().pause_us = std::min(recipe.steps.back().pause_us, kLongestPause_us);
  }
  recipe.schedule = fault::generate(plan, seed, places_before_product(recipe.workload));
  return recipe;
}

}  // namespace fb::conformance
