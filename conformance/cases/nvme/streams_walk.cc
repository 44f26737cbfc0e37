// Streams of two hosts in two namespaces, opened, released and allocated in any order.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "conformance/cases/nvme/directive_scene.h"

namespace fb::conformance {

namespace {

namespace sp = nvme::stream_parameters;

constexpr unsigned kSteps = 120;
constexpr std::uint16_t kStreams = 13;

/// Few, so that they are used up.
const furnished few_streams{[](EmbeddedSetup& setup) {
  set_up_directives(setup);
  setup.subsystem.directives.streams = 6;
  setup.namespaces.clear();
  for (const std::uint32_t nsid : {1u, 2u}) setup.namespaces.push_back({.nsid = nsid});
}};

/// What one host sees of its streams in one namespace.
struct View1 {
  std::vector<std::uint16_t> open;
  unsigned limit = 0, available = 0, allocated = 0, reported = 0;

  bool has(std::uint16_t stream) const { return std::find(open.begin(), open.end(), stream) != open.end(); }
};

/// A host at a namespace.
struct Place {
  DirectiveScene* scene;
  std::uint32_t nsid;
  std::string name;

  View1 look() const {
    scene->nsid = nsid;
    const auto parameters = scene->streams();
    return {scene->open(), parameters.get(sp::msl), parameters.get(sp::nssa), parameters.get(sp::nsa), parameters.get(sp::nso)};
  }
  host::RawReply write(std::uint16_t stream) const {
    scene->nsid = nsid;
    return scene->write(stream);
  }
};

class Walk {
 public:
  Walk(Check& check, std::vector<Place> places, Rng draw) : check_(check), places_(std::move(places)), draw_(std::move(draw)) {
    for (const Place& place : places_) before_.push_back(place.look());
  }

  /// False: something was wrong, and what follows would be too.
  bool step(unsigned number) {
    const std::size_t at = draw_.below(places_.size());
    const auto action = draw_.below(10);
    const auto stream = static_cast<std::uint16_t>(draw_.below(kStreams));
    const Place& place = places_[at];
    const std::string where = fmt::format("{}, step {}", place.name, number);
    const bool good = action < 6    ? write(at, stream, where)
                      : action < 8  ? release(at, stream, where)
                      : action == 8 ? allocate(at, static_cast<std::uint16_t>(1 + stream % 3), where)
                                    : release_resources(at, where);
    return good && agrees(where);
  }

 private:
  /// What each place sees now; `at` is where something was done.
  std::vector<View1> look() const {
    std::vector<View1> now;
    for (const Place& place : places_) now.push_back(place.look());
    return now;
  }
  bool keep(std::vector<View1> now) {
    before_ = std::move(now);
    return true;
  }

  bool write(std::size_t at, std::uint16_t stream, const std::string& where) {
    if (!check_.success(places_[at].write(stream), fmt::format("Write with stream {}, {}", stream, where))) return false;
    const View1& was = before_[at];
    const auto now = look();
    const bool resources = was.allocated != 0 || was.available != 0;
    if (stream != 0 && resources &&
        !check_.that(now[at].has(stream), fmt::format("stream {} is open after a Write, {}", stream, where), "it is not"))
      return false;
    if (stream == 0 && !check_.that(now[at].open == was.open, fmt::format("stream 0 changes nothing, {}", where), "it does")) return false;
    // At most one makes room; with resources of its own, one of the same place.
    unsigned closed = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (i != at && was.allocated != 0 && !unchanged(now[i], before_[i], where)) return false;
      for (const std::uint16_t one : before_[i].open) closed += !now[i].has(one);
    }
    const unsigned most = was.has(stream) || stream == 0 ? 0 : 1;
    if (!check_.that(closed <= most, fmt::format("at most {} stream is closed for stream {}, {}", most, stream, where),
                     fmt::format("{} are", closed)))
      return false;
    return keep(now);
  }

  bool release(std::size_t at, std::uint16_t stream, const std::string& where) {
    places_[at].scene->nsid = places_[at].nsid;
    if (stream == 0) return true;
    if (!check_.success(places_[at].scene->release(stream), fmt::format("Release Identifier of stream {}, {}", stream, where)))
      return false;
    const auto now = look();
    for (std::size_t i = 0; i < now.size(); ++i) {
      View1 expected = before_[i];
      if (i == at) std::erase(expected.open, stream);
      if (!unchanged(now[i], expected, where)) return false;
    }
    return keep(now);
  }

  bool allocate(std::size_t at, std::uint16_t wanted, const std::string& where) {
    const View1& was = before_[at];
    if (was.allocated != 0) return true;  // another case
    places_[at].scene->nsid = places_[at].nsid;
    const auto reply = places_[at].scene->allocate(wanted);
    if (was.available == 0 || !reply.ok()) return keep(look());
    const unsigned granted = reply.dw0() & 0xFFFF;
    const auto now = look();
    if (!check_.equal(fmt::format("NSA, {}", where), now[at].allocated, granted)) return false;
    if (!check_.between(fmt::format("resources that are granted, {}", where), granted, 1u, std::min<unsigned>(wanted, was.available)))
      return false;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (i != at && before_[i].allocated != 0 &&
          !check_.that(now[i].open == before_[i].open, "who has resources keeps its streams, " + where, "it does not"))
        return false;
      if (!check_.equal(fmt::format("NSSA of {}, {}", places_[i].name, where), now[i].available, was.available - granted)) return false;
    }
    return keep(now);
  }

  bool release_resources(std::size_t at, const std::string& where) {
    places_[at].scene->nsid = places_[at].nsid;
    if (!check_.success(places_[at].scene->release_resources(), "Release Resources, " + where)) return false;
    const unsigned given_back = before_[at].allocated;
    const auto now = look();
    for (std::size_t i = 0; i < now.size(); ++i) {
      const std::string who = places_[i].name + ", " + where;
      if (!check_.equal("NSSA of " + who, now[i].available, before_[i].available + given_back)) return false;
      if (!check_.equal("NSA of " + who, now[i].allocated, i == at ? 0u : before_[i].allocated)) return false;
      if (i == at && given_back != 0) continue;
      if (!check_.that(now[i].open == before_[i].open, "the open streams stay open, " + who, "they do not")) return false;
    }
    return keep(now);
  }

  bool unchanged(const View1& now, const View1& expected, const std::string& where) {
    const bool same = now.open == expected.open && now.allocated == expected.allocated && now.available == expected.available;
    return check_.that(same, "nothing else changes, " + where, "it does");
  }

  bool agrees(const std::string& where) {
    std::size_t shared = 0;
    unsigned allocated = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const View1& now = before_[i];
      const std::string who = places_[i].name + ", " + where;
      if (!check_.equal("NSO of " + who, std::size_t{now.reported}, now.open.size())) return false;
      if (!check_.that(std::is_sorted(now.open.begin(), now.open.end()), "open streams ascend, " + who, "they do not")) return false;
      if (now.allocated == 0) shared += now.open.size();
      if (now.allocated != 0 && !check_.that(now.open.size() <= now.allocated, "no more open streams than NSA, " + who, "there are"))
        return false;
      allocated += now.allocated;
    }
    const View1& any = before_.front();
    if (!check_.that(shared <= any.available, "no more shared streams are open than NSSA, " + where, std::to_string(shared))) return false;
    return check_.that(allocated + any.available <= any.limit, "NSA and NSSA together are within MSL, " + where,
                       std::to_string(allocated + any.available));
  }

  Check& check_;
  std::vector<Place> places_;
  Rng draw_;
  std::vector<View1> before_;
};

}  // namespace

CONFORMANCE_CASE(streams_go_any_way, "nvme.streams.any-order", roles::controller, needs(has_directives), needs(has_namespace),
                 needs(shares_its_namespace), needs(has_two_namespaces), few_streams) {
  DirectiveScene mine(bench, check);
  host::HostId stranger = kBenchHostId;
  stranger[0] ^= 0xFF;
  DirectiveScene other(bench, check, {.hostnqn = std::string(kOtherHost), .hostid = stranger});
  std::vector<Place> places;
  const std::uint32_t first = bench.nsid(), second = bench.declared().namespaces.back().nsid;
  check.precondition(first != second, "two namespaces");
  for (const host::NamespaceFacts& facts : bench.declared().namespaces)
    check.precondition(facts.nsid != second || facts.layout.bytes() == bench.declared().block_bytes, "two namespaces of one format");
  for (DirectiveScene* scene : {&mine, &other}) {
    scene->need_streams();
    for (const std::uint32_t nsid : {first, second}) {
      scene->nsid = nsid;
      scene->enable_streams();
      places.push_back({scene, nsid, fmt::format("{} host in namespace {}", scene == &mine ? "first" : "second", nsid)});
    }
  }
  check.precondition(mine.streams().get(sp::msl) <= 64, "few streams");
  Walk walk(check, places, bench.random("case.streams"));
  bool good = true;
  for (unsigned number = 1; good && number <= kSteps; ++number) good = walk.step(number);
  for (const Place& place : places) {
    place.scene->nsid = place.nsid;
    place.scene->disable_streams();
  }
}

}  // namespace fb::conformance
