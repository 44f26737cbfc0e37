#include <fabricbench/faults.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/parts.h"
#include "base/or_throw.h"
#include "sim/rdma/softroce/icrc.h"

namespace fabricbench {

fb::net::Verdict Faults::Part::on_packet(fb::net::PacketContext& packet) {
  fb::net::Verdict verdict;
  if (network_faults_ != nullptr) verdict = network_faults_->on_packet(packet);
  const auto found = directions.find(packet.link);
  if (found == directions.end()) return verdict;
  Direction& way = found->second;
  if (way.drop > 0) {
    --way.drop;
    verdict.drop = true;
  }
  if (packet.now < way.cut_until) verdict.drop = true;
  way.dropped += verdict.drop ? 1 : 0;
  return verdict;
}

fb::net::SegmentVerdict Faults::Part::on_segment(const fb::net::SegmentContext& segment) {
  fb::net::SegmentVerdict verdict;
  if (network_faults_ != nullptr) verdict = network_faults_->on_segment(segment);
  const auto found = directions.find(segment.link);
  if (found == directions.end()) return verdict;
  Direction& way = found->second;
  if (way.drop > 0) {
    --way.drop;
    ++way.dropped;
    ++verdict.lost;
  }
  if (segment.now < way.cut_until) {
    // TCP hides the loss: what was sent arrives when the link is back.
    verdict.delay = std::max(verdict.delay, std::min(way.cut_until - segment.now, fb::Duration::s(3600)));
  }
  return verdict;
}

Faults::Part::Direction& Faults::Part::direction(const std::string& from, const std::string& to) {
  for (const std::string& name : {from, to}) {
    if (network->find_host(name) == nullptr) throw Error("no machine is called '" + name + "'");
  }
  return directions[from + "->" + to];
}

void Faults::Part::install(std::function<std::vector<fb::fault::Decision>(const fb::fault::Place&)> draw) {
  points_ = std::make_unique<fb::fault::Points>(*world, std::move(draw));
  network_faults_ = std::make_unique<fb::fault::NetworkFaults>(*points_, &fb::softroce::reseal);
}

namespace {

void check_fresh(fb::fault::Points* points, bool machines) {
  if (points != nullptr) throw Error("faults: the world has a plan or a schedule already");
  if (machines) throw Error("faults: a plan or a schedule comes before the first subsystem and host");
}

}  // namespace

void Faults::plan(const std::string& yaml) {
  guarded([&] {
    check_fresh(part_->points(), part_->has_machines);
    auto plan = std::make_shared<fb::fault::Plan>(fb::or_throw(fb::fault::parse_plan(yaml, "plan")));
    part_->install(
        [plan, seed = part_->world->seed()](const fb::fault::Place& place) { return fb::fault::generate(*plan, seed, {place}).decisions; });
  });
}

void Faults::schedule(const std::vector<std::string>& decisions) {
  guarded([&] {
    check_fresh(part_->points(), part_->has_machines);
    auto all = std::make_shared<std::vector<fb::fault::Decision>>();
    for (const std::string& one : decisions) all->push_back(fb::or_throw(fb::fault::parse_decision(one)));
    std::sort(all->begin(), all->end());
    part_->install([all](const fb::fault::Place& place) {
      std::vector<fb::fault::Decision> here = *all;
      std::erase_if(here, [&](const fb::fault::Decision& decision) { return decision.place != place; });
      return here;
    });
  });
}

void Faults::drop(const std::string& from, const std::string& to, std::uint64_t count) { part_->direction(from, to).drop = count; }

void Faults::cut(const std::string& from, const std::string& to, Duration span) {
  part_->direction(from, to).cut_until = part_->world->now() + fb::Duration::ns(span.count());
}

void Faults::restore(const std::string& from, const std::string& to) { part_->direction(from, to).cut_until = {}; }

std::uint64_t Faults::dropped(const std::string& from, const std::string& to) const { return part_->direction(from, to).dropped; }

std::vector<std::string> Faults::occurred() const {
  std::vector<std::string> all;
  if (part_->points() == nullptr) return all;
  for (const fb::fault::Strike& strike : part_->points()->strikes()) all.push_back(fb::fault::tell(strike.decision));
  return all;
}

}  // namespace fabricbench
