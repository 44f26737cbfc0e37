#include <fabricbench/world.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/parts.h"
#include "base/or_throw.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/runner.h"
#include "model/deviations/shown.h"

namespace fabricbench {

namespace {

std::string line_of(const fb::evidence::Said& said) {
  const double at = static_cast<double>(said.time.count_ns()) / 1e9;
  const std::string who = said.to.empty() ? said.actor : said.from + " -> " + said.to;
  const std::string struck = said.struck.empty() ? "" : "  [" + said.struck + "]";
  return fmt::format("{:14.9f}  {:<28}  {:<5}  {}{}\n", at, who, said.layer, said.label, struck);
}

}  // namespace

Command::Command(std::uint8_t opcode, std::uint32_t nsid) {
  set(0, opcode, 1);
  set(1, 0x40, 1);  // PSDT: an SGL, as in every command over Fabrics
  set(4, nsid, 4);
}

Command& Command::cdw(unsigned number, std::uint32_t value) {
  if (number < 2 || number > 15)
    throw Error(fmt::format("CDW{}: an entry has CDW0 to CDW15, and CDW0 and CDW1 are its opcode and NSID", number));
  return set(4 * number, value, 4);
}

Command& Command::set(unsigned offset, std::uint64_t value, unsigned bytes) {
  if (bytes == 0 || bytes > 8 || offset + bytes > bytes_.size())
    throw Error(fmt::format("{} bytes at {} are not within an entry of 64", bytes, offset));
  for (unsigned i = 0; i < bytes; ++i) bytes_[offset + i] = static_cast<std::uint8_t>(value >> 8 * i);
  return *this;
}

Status status_of(fb::nvme::Status status) {
  return {static_cast<std::uint8_t>(status.sct()), static_cast<std::uint8_t>(status.sc()), status.dnr(), fb::nvme::to_string(status)};
}

void check_status(fb::nvme::Status status, const std::string& what) {
  if (!status.ok()) throw CommandError(what + ": " + fb::nvme::to_string(status), status_of(status));
}

fb::nvme::Sqe sqe_of(const Command& command) { return fb::nvme::Sqe{fb::ByteView{command.bytes()}}; }

fb::deviations::DeviationSet deviations_named(const std::vector<std::string>& names, const std::vector<fb::deviations::Product>& products,
                                              const std::vector<std::string>& transports) {
  fb::deviations::DeviationSet chosen = fb::or_throw(fb::deviations::DeviationSet::of_names(names));
  if (const auto shown = fb::deviations::can_be_shown(chosen, products, transports); !shown) {
    throw fb::UserError("deviations: " + shown.error().text);
  }
  return chosen;
}

Recorder::Recorder(fb::World& of)
    : world(of),
      writer({.title = "fabricbench", .decoders = &of.trace()}),
      dissector({.complete = true}),
      monitors(fb::evidence::DissectorOptions{.complete = true}, false) {  // users change products from inside
  dissector.add(said);
  world.trace().add_sink(writer);
  world.trace().add_sink(dissector);
  world.trace().add_sink(monitors);
}

Recorder::~Recorder() {
  world.trace().remove_sink(writer);
  world.trace().remove_sink(dissector);
  world.trace().remove_sink(monitors);
}

Machine::Machine(fb::World& world, fb::net::SimNetwork& network, Faults::Part& faults, const std::string& name, const fb::IpAddress& at,
                 std::unique_ptr<fb::softroce::SoftHooks> own)
    : host(network.add_host(name, at)), address(at), address_text(fb::to_string(at)), hooks(std::move(own)) {
  if (faults.points() != nullptr) hooks = std::make_unique<fb::faults::FaultyDevice>(*faults.points(), name, std::move(hooks));
  fb::softroce::SoftRoceOptions options;
  options.name = name;
  options.address = address;
  options.hooks = hooks.get();
  device = fb::or_throw(fb::softroce::make_softroce(world, host, options));
}

World::Part::Part(std::uint64_t seed) : world(fb::World::make_virtual(seed)) {
  network = std::make_unique<fb::net::SimNetwork>(*world, fb::net::LinkOptions{});
  faults.world = world.get();
  faults.network = network.get();
  network->set_filter(&faults);
  network->set_stream_filter(&faults);
  recorder = std::make_unique<Recorder>(*world);
}

World::Part::~Part() {
  while (!parts.empty()) parts.pop_back();
}

std::unique_ptr<Machine> World::Part::make_machine(const std::string& name, std::unique_ptr<fb::softroce::SoftHooks> hooks) {
  if (name.empty()) throw Error("a machine needs a name");
  if (network->find_host(name) != nullptr) throw Error("name: there is a machine '" + name + "'");
  if (machines == 250) throw Error("a world has 250 machines at most");
  faults.has_machines = true;
  return std::make_unique<Machine>(*world, *network, faults, name, fb::IpAddress::v4(10, 0, 0, ++machines), std::move(hooks));
}

World::World(std::uint64_t seed) : part_(std::make_unique<Part>(seed)) {}
World::~World() = default;

Faults World::faults() { return Faults(part_->faults); }

void World::run_for(Duration span) {
  if (span.count() < 0) throw Error("run_for: time does not go back");
  guarded([&] { part_->world->run_for(fb::Duration::ns(span.count())); });
}

Duration World::now() const { return Duration(part_->world->now().count_ns()); }
std::uint64_t World::seed() const { return part_->world->seed(); }
std::uint64_t World::digest() const { return part_->world->digest(); }

void World::note(const std::string& text) {
  fb::TraceEvent event;
  event.kind = fb::TraceKind::note;
  event.time = part_->world->now();
  event.actor = "test";
  event.label = "test";
  event.text = text;
  part_->world->trace().emit(event);
}

std::string World::ladder(std::size_t lines) const {
  const std::vector<fb::evidence::Said>& said = part_->recorder->said.said();
  const std::size_t half = std::max<std::size_t>(lines / 2, 1);
  std::string text;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (said.size() > 2 * half && i == half) {
      text += fmt::format("{:>16}  ... {} more ...\n", "", said.size() - 2 * half);
      i = said.size() - half;
    }
    text += line_of(said[i]);
  }
  return text;
}

std::vector<Finding> World::findings() {
  std::vector<Finding> all;
  part_->recorder->monitors.finish();
  for (const fb::monitors::Finding& one : part_->recorder->monitors.findings()) {
    const fb::monitors::RuleFacts& rule = fb::monitors::facts_of(one.rule);
    all.push_back({std::string(rule.name), std::string(rule.requirement), !fb::monitors::only_advises(one.rule), one.actor, one.text});
  }
  return all;
}

void World::save_capture(const std::string& path) const {
  guarded([&] { fb::or_throw(part_->recorder->writer.write_file(path)); });
}

std::string requirement_text(const std::string& id) {
  const fb::conformance::Requirement* const found = fb::conformance::find_requirement(id);
  if (found == nullptr) throw Error("there is no requirement '" + id + "': see `fabricbench requirements`");
  return fmt::format("{}: {}", fb::conformance::citation(*found), found->text);
}

std::string version() { return std::string(fb::conformance::tool_version()); }

}  // namespace fabricbench
