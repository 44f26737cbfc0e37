// The persistent event log: its header, its contexts, and that it lasts.
#include "conformance/cases/nvme/persistent_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

namespace pl = nvme::persistent_log;
using Action = nvme::PersistentLogAction;

std::string text_of(ByteView bytes) {
  std::string text(bytes.begin(), bytes.end());
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}
template <class Field>
std::string header_text(const Record<nvme::PersistentLogHeader>& header, const Field& field) {
  return text_of(header.bytes().subspan(field.offset, field.size));
}
template <class Field>
std::string identity_text(ControllerBench& bench, const Field& field) {
  return text_of(ByteView{bench.declared().controller}.subspan(field.offset, field.size));
}

/// Something that a subsystem records.
void make_an_event(PersistentScene& scene) {
  scene.manager.association.disable();
  scene.manager.association.enable();
}

}  // namespace

CONFORMANCE_CASE(persistent_log_is_there_where_claimed, "nvme.persistent.claim", roles::controller, needs(kClaimsPersistentLog),
                 having_persistent_log) {
  PersistentScene scene(bench, check);
  const Bytes identity = scene.manager.page(nvme::Cns::controller);
  check.that(View<nvme::IdentifyController>{identity}.get(nvme::id_ctrl::pels) != 0, "PELS is not 0", "it is 0");
  check.precondition_success(scene.release(), "Get Log Page that releases a context");  // somebody else's, perhaps
  check.success(scene.read(Action::establish_and_read), "Get Log Page that establishes a context");
}

CONFORMANCE_CASE(persistent_log_names_the_subsystem, "nvme.persistent.header", roles::controller, needs(kClaimsPersistentLog),
                 having_persistent_log) {
  PersistentScene scene(bench, check);
  const auto header = scene.establish();
  check.equal("log page identifier", unsigned{header.get(pl::lid)}, 0x0Du);
  check.equal("serial number", header_text(header, pl::sn), identity_text(bench, nvme::id_ctrl::sn));
  check.equal("model number", header_text(header, pl::mn), identity_text(bench, nvme::id_ctrl::mn));
  check.equal("subsystem", header_text(header, pl::subnqn), identity_text(bench, nvme::id_ctrl::subnqn));
}

CONFORMANCE_CASE(persistent_log_is_as_long_as_it_says, "nvme.persistent.length", roles::controller, needs(kClaimsPersistentLog),
                 having_persistent_log) {
  PersistentScene scene(bench, check);
  make_an_event(scene);
  make_an_event(scene);
  const auto header = scene.establish();
  const Bytes log = scene.whole(header);
  nvme::PersistentEventWalk walk(log);
  nvme::PersistentEvent event;
  std::uint32_t count = 0;
  std::size_t bytes = header.get(pl::lhl) + nvme::kPersistentLogUncounted;
  ByteView last;
  while (walk.next(event)) {
    ++count;
    last = event.data;
  }
  check.that(!walk.damaged(), "the events follow each other", "one leaves the log");
  check.equal("events", count, header.get(pl::tnev));
  if (!last.empty()) bytes = static_cast<std::size_t>(last.data() + last.size() - log.data());
  check.equal("bytes of header and events", std::uint64_t{bytes}, header.get(pl::tll));
}

CONFORMANCE_CASE(persistent_events_are_of_supported_types, "nvme.persistent.supported", roles::controller, needs(kClaimsPersistentLog),
                 having_persistent_log) {
  PersistentScene scene(bench, check);
  make_an_event(scene);
  const auto header = scene.establish();
  const Bytes log = scene.whole(header);
  nvme::PersistentEventWalk walk(log);
  nvme::PersistentEvent event;
  while (walk.next(event)) {
    const auto type = static_cast<unsigned>(event.type);
    if (!check.that(PersistentScene::supports(header, event.type), "events are of supported types",
                    "one of type " + std::to_string(type))) {
      return;
    }
  }
}

CONFORMANCE_CASE(persistent_log_needs_a_context, "nvme.persistent.context.none", roles::controller, needs(kClaimsPersistentLog),
                 having_persistent_log, reaches{"log.persistent.context"}) {
  PersistentScene scene(bench, check);
  check.status(scene.read(Action::read), sc::command_sequence_error);
}

CONFORMANCE_CASE(persistent_context_is_established_once, "nvme.persistent.context.again", roles::controller, needs(kClaimsPersistentLog),
                 having_persistent_log, reaches{"log.persistent.established"}) {
  PersistentScene scene(bench, check);
  (void)scene.establish();
  check.status(scene.read(Action::establish_and_read), sc::command_sequence_error);
  check.precondition_success(scene.release(), "Get Log Page that releases the context");
}

CONFORMANCE_CASE(persistent_context_ends_with_its_release, "nvme.persistent.context.released", roles::controller,
                 needs(kClaimsPersistentLog), having_persistent_log, reaches{"log.persistent.context"}) {
  PersistentScene scene(bench, check);
  (void)scene.establish();
  check.precondition_success(scene.read(Action::read), "Get Log Page in the context");
  check.precondition_success(scene.release(), "Get Log Page that releases the context");
  check.status(scene.read(Action::read), sc::command_sequence_error);
}

CONFORMANCE_CASE(persistent_context_does_not_change, "nvme.persistent.context.stable", roles::controller, needs(kClaimsPersistentLog),
                 needs(claims_oncs<nvme::oncs_bits::timestamp>), having_persistent_log) {
  PersistentScene scene(bench, check);
  const auto header = scene.establish();
  const Bytes before = scene.whole(header);
  // An event that ends no context.
  const auto set = scene.admin().send(host::set_features(nvme::FeatureId::timestamp, 0), Bytes(nvme::Timestamp::size)).wait();
  check.precondition_success(set, "Set Features, Timestamp");
  const auto reply = scene.read(Action::read, 0, 512);
  check.require_success(reply, "Get Log Page in the context");
  check.bytes("header", reply.data, ByteView{before}.first(512));
  const Bytes after = scene.whole(header);
  check.that(after == before, "the events are the same", "they have changed");
}

CONFORMANCE_CASE(persistent_events_survive_resets, "nvme.persistent.kept", roles::controller,
                 arranged("an NVM subsystem reset", [](EmbeddedSetup& setup) {
                   setup.subsystem.persistent_log = {};
                   setup.subsystem.subsystem_reset = true;
                 })) {
  std::vector<KeptEvent> before;
  {
    PersistentScene scene(bench, check);
    make_an_event(scene);
    before = scene.events();
  }
  check.precondition(!before.empty(), "there are events");
  bench.subsystem().reset_subsystem();
  bench.world().run_for(kSettled);
  PersistentScene scene(bench, check);
  const auto lost = new_events(scene.events(), before);
  check.that(lost.empty(), "the earlier events are there still", std::to_string(lost.size()) + " are gone");
}

CONFORMANCE_CASE(persistent_generation_follows_changes, "nvme.persistent.generation", roles::controller, needs(kClaimsPersistentLog),
                 needs(is_version_2), having_persistent_log) {
  PersistentScene scene(bench, check);
  const unsigned before = scene.establish().get(pl::gnum);
  check.precondition_success(scene.release(), "Get Log Page that releases the context");
  make_an_event(scene);
  const unsigned after = scene.establish().get(pl::gnum);
  check.that(before != after, "GNUM is another one", std::to_string(after) + " again");
}

CONFORMANCE_CASE(persistent_log_tells_the_hours, "nvme.persistent.hours", roles::controller,
                 arranged("a product that has run for a thousand hours", [](EmbeddedSetup& setup) {
                   setup.subsystem.persistent_log = {};
                   setup.subsystem.power_on_hours = 1000;
                 })) {
  PersistentScene scene(bench, check);
  const auto smart = scene.admin().send(host::get_log(nvme::LogPage::smart, 512), 512).wait();
  check.precondition_success(smart, "Get Log Page 02h");
  const auto hours = load_le<std::uint64_t>(smart.data.data() + nvme::smart::poh.offset);
  check.precondition(hours >= 1000, "the SMART log tells the hours");
  const auto header = scene.establish();
  check.between("power-on hours of the header", load_le<std::uint64_t>(header.bytes().data() + pl::poh.offset), hours, hours + 1);
}

}  // namespace fb::conformance
