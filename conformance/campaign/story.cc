// What happens in a world, in sentences.
#include <fmt/format.h>

#include "conformance/campaign/shapes.h"
#include "conformance/campaign/shrink.h"

namespace fb::conformance {

namespace {

std::string many(std::uint64_t count, std::string_view thing) { return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s"); }

std::string fabric_words(const FabricShape& shape) {
  std::string text =
      fmt::format("{} over {} through {} to one namespace of {} blocks of {} bytes, {} of up to {} entries each",
                  shape.hosts == 1 ? "One host" : "Two hosts", shape.kind == WorldKind::rdma ? "RDMA" : "TCP", many(shape.paths, "path"),
                  shape.blocks, shape.block_bytes, many(shape.io_queues, "I/O queue"), shape.entries);
  if (shape.protection_type != 0) text += ", with protection information";
  if (shape.cache) text += ", behind a volatile write cache";
  if (shape.kind == WorldKind::tcp && (shape.header_digest || shape.data_digest)) {
    text += fmt::format(", with {}{}{} digests", shape.header_digest ? "header" : "",
                        shape.header_digest && shape.data_digest ? " and " : "", shape.data_digest ? "data" : "");
  }
  return text + ".";
}

std::string steps_words(const std::vector<Step>& steps) {
  constexpr std::size_t kTold = 8;
  if (steps.empty()) return "They connect and leave.";
  std::string text;
  for (std::size_t i = 0; i < std::min(kTold, steps.size()); ++i) {
    text +=
        (i == 0 ? "" : ", ") + fmt::format("{} {}+{} (worker {})", name_of(steps[i].deed), steps[i].at, steps[i].count, steps[i].worker);
  }
  if (steps.size() > kTold) text += fmt::format(" and {} more", steps.size() - kTold);
  return "Steps: " + text + ".";
}

}  // namespace

std::vector<std::string> tell_story(const Recipe& recipe, const WorldOutcome& outcome) {
  std::vector<std::string> story;
  const auto kind = world_kind(recipe.workload, recipe.seed);
  if (!kind) return story;
  if (kind.value() == WorldKind::management) {
    const ManagementShape shape = management_shape(recipe.seed);
    story.push_back(fmt::format("{} on {} and a management requester.", many(shape.drives, "drive"), shape.medium));
  } else {
    const bool simulated = recipe.product.empty();
    story.push_back(fabric_words(simulated ? fabric_shape(kind.value(), recipe.seed) : product_shape(recipe.seed)));
    if (!simulated) story.push_back(fmt::format("The product is {}.", recipe.product));
  }
  for (const std::string& deviation : recipe.deviations) story.push_back(fmt::format("Planted: {}.", deviation));
  story.push_back(steps_words(recipe.steps));
  for (const fault::Strike& strike : outcome.strikes) {
    story.push_back(fmt::format("At {:.6f} s: {}.", static_cast<double>(strike.at.count_ns()) / 1e9, fault::tell(strike.decision)));
  }
  if (outcome.strikes.empty()) story.push_back("No fault strikes.");
  story.push_back(outcome.signature.empty() ? "The world passes." : fmt::format("Seen: {} ({}).", outcome.text, outcome.signature));
  return story;
}

}  // namespace fb::conformance
