// The Streams directive.
#include "conformance/cases/nvme/directive_scene.h"

namespace fb::conformance {

namespace {

namespace sp = nvme::stream_parameters;

std::optional<std::string> formats(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::format_nvm) != 0) return {};
  return "OACS bit 1 (Format NVM) is clear";
}
const arranged with_namespaces_to_lose{"namespaces that may be erased", &set_up_directives};
constexpr unsigned kReservedType = 0xE;

std::string listed(const std::vector<std::uint16_t>& ids) {
  std::string text;
  for (const std::uint16_t id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text.empty() ? "none" : text;
}

}  // namespace

CONFORMANCE_CASE(streams_available_are_within_the_limit, "nvme.streams.parameters", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  const auto streams = scene.streams();
  check.that(streams.get(sp::nssa) <= streams.get(sp::msl), "NSSA is not above MSL",
             std::to_string(streams.get(sp::nssa)) + " of " + std::to_string(streams.get(sp::msl)));
  scene.disable_streams();
}

CONFORMANCE_CASE(streams_are_opened_by_writes, "nvme.streams.open", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  if (!check.success(scene.write(7), "Write with stream 7")) return;
  const auto open = scene.open();
  check.that(open == std::vector<std::uint16_t>{7}, "stream 7 is open", listed(open));
  check.equal("NSO", unsigned{scene.streams().get(sp::nso)}, 1u);
  scene.disable_streams();
}

CONFORMANCE_CASE(stream_0_is_no_stream, "nvme.streams.zero", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  check.success(scene.write(std::uint16_t{0}), "Write with stream 0");
  const auto open = scene.open();
  check.that(open.empty(), "no stream is open", listed(open));
  scene.disable_streams();
}

CONFORMANCE_CASE(streams_store_data, "nvme.streams.data", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  if (!check.success(scene.write(1, 9, 0x66), "Write with stream 9")) return;
  const Bytes data = scene.some_data(0x66);
  const auto reply = scene.manager.io().send(host::read(scene.nsid, 0, 8), data.size()).wait();
  check.require_success(reply, "Read");
  check.bytes("data", reply.data, data);
  scene.disable_streams();
}

CONFORMANCE_CASE(open_streams_ascend, "nvme.streams.order", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  constexpr std::uint16_t kStreams[] = {30, 4, 700};
  for (const std::uint16_t stream : kStreams) scene.open_stream(stream);
  const auto open = scene.open();
  check.that(std::is_sorted(open.begin(), open.end()), "open streams ascend", listed(open));
  std::vector<std::uint16_t> many(std::begin(kStreams), std::end(kStreams));
  if (scene.streams().get(sp::nssa) >= 9) {  // one makes room for another only where it has to
    for (const std::uint16_t stream :
         {std::uint16_t{0x201}, std::uint16_t{1}, std::uint16_t{0xFFFE}, std::uint16_t{31}, std::uint16_t{5}, std::uint16_t{0x101}}) {
      scene.open_stream(stream);
      many.push_back(stream);
    }
    std::ranges::sort(many);
    const auto all = scene.open();
    check.that(all == many, "the nine streams are open, in ascending order", listed(all));
  }
  scene.disable_streams();
}

CONFORMANCE_CASE(writes_of_unknown_directives_are_refused, "nvme.streams.type", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"io.directive"}) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  check.status(scene.write(kReservedType, 1), sc::invalid_field, "Write");
  scene.disable_streams();
}

CONFORMANCE_CASE(writes_ignore_directives_that_are_disabled, "nvme.streams.ignored", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  check.success(scene.write(std::uint16_t{5}), "Write with a stream");
  check.success(scene.write(kReservedType, 1), "Write with a reserved type");
  // Nor do they count where another namespace has them enabled.
  const std::uint32_t other = bench.declared().namespaces.back().nsid;
  if (other == scene.nsid || !scene.supported(nvme::DirectiveType::streams)) return;
  const std::uint32_t mine = std::exchange(scene.nsid, other);
  scene.enable_streams();
  scene.nsid = mine;
  check.success(scene.write(std::uint16_t{5}), "Write with a stream that another namespace has");
  check.success(scene.write(kReservedType, 1), "Write with a reserved type in a namespace without");
  scene.nsid = other;
  scene.disable_streams();
}

CONFORMANCE_CASE(released_streams_are_closed, "nvme.streams.release", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  scene.open_stream(3);
  scene.open_stream(4);
  if (!check.success(scene.release(3), "Directive Send, Release Identifier")) return;
  const auto open = scene.open();
  check.that(open == std::vector<std::uint16_t>{4}, "stream 4 alone is open", listed(open));
  // All sixteen bits of the identifier count; a product with fewer streams may have closed one to make room.
  constexpr std::uint16_t kFar[] = {0x104, 0x8004};
  for (const std::uint16_t far : kFar) {
    if (scene.streams().get(sp::nssa) < 3) break;
    scene.open_stream(far);
    if (!check.success(scene.release(far), "Directive Send, Release Identifier of stream " + std::to_string(far))) break;
    const auto left = scene.open();
    check.that(left == std::vector<std::uint16_t>{4}, "stream 4 is open still, and stream " + std::to_string(far) + " is not",
               listed(left));
  }
  scene.disable_streams();
}

CONFORMANCE_CASE(closed_streams_can_be_released, "nvme.streams.release.unknown", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  for (const std::uint16_t stream : {std::uint16_t{3}, std::uint16_t{4}}) scene.open_stream(stream);
  const auto before = scene.open();
  check.success(scene.release(77), "Directive Send, Release Identifier");
  const auto after = scene.open();
  check.that(after == before, "the streams that were open stay open", listed(after));
  scene.disable_streams();
}

CONFORMANCE_CASE(shared_streams_are_listed_for_all, "nvme.streams.status-all", roles::controller, needs(manages_namespaces),
                 with_namespaces_to_lose) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  check.precondition(scene.streams().get(sp::nssa) >= 4, "there are resources for four streams");
  scene.open_stream(9);
  scene.open_stream(2);
  const std::uint32_t first = scene.nsid;
  scene.nsid = scene.manager.made_and_attached();
  scene.enable_streams();
  scene.allocated(2);
  auto write = host::write(scene.nsid, 0, 8);
  write.set(nvme::rw_sqe::dtype, static_cast<unsigned>(nvme::DirectiveType::streams)).set(nvme::rw_sqe::dspec, 5u);
  check.precondition_success(scene.manager.io().send(write, pattern(0x31, 8, kFirstBlockBytes)).wait(), "Write with a stream");
  const auto only_here = scene.streams();
  check.equal("NSO of the namespace with resources of its own", unsigned{only_here.get(sp::nso)}, 1u);
  check.equal("NSA of the namespace with resources of its own", unsigned{only_here.get(sp::nsa)}, 2u);
  check.equal("NSSO, told of that namespace", unsigned{only_here.get(sp::nsso)}, 2u);
  scene.nsid = nvme::kAllNamespaces;
  const auto shared = scene.open();
  check.that(shared == std::vector<std::uint16_t>{2, 9}, "streams 2 and 9 use resources of the subsystem, stream 5 does not",
             listed(shared));
  scene.nsid = first;
  const auto plain = scene.streams();
  check.equal("NSO of the namespace without", unsigned{plain.get(sp::nso)}, 2u);
  check.equal("NSA of the namespace without", unsigned{plain.get(sp::nsa)}, 0u);
  check.equal("NSSO, told of that namespace", unsigned{plain.get(sp::nsso)}, 2u);
  const auto own = scene.open();
  check.that(own == std::vector<std::uint16_t>{2, 9}, "streams 2 and 9 are open in the first namespace", listed(own));
}

CONFORMANCE_CASE(streams_are_released_in_one_namespace, "nvme.streams.release.broadcast", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"directive.nsid.broadcast"}) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  check.status(scene.release_in(nvme::kAllNamespaces, 3), sc::invalid_field);
  scene.disable_streams();
}

CONFORMANCE_CASE(allocated_resources_are_reported, "nvme.streams.allocate", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  const auto reply = scene.allocate(2);
  check.require_success(reply, "Directive Receive, Allocate Resources");
  check.that((reply.dw0() & 0xFFFF) <= 2, "no more is granted than was asked", std::to_string(reply.dw0() & 0xFFFF));
  check.equal("NSA", unsigned{scene.streams().get(sp::nsa)}, reply.dw0() & 0xFFFF);
  scene.disable_streams();
}

CONFORMANCE_CASE(allocated_resources_are_taken, "nvme.streams.allocate.available", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  const unsigned before = scene.streams().get(sp::nssa);
  const unsigned granted = scene.allocated(3);
  check.equal("NSSA", unsigned{scene.streams().get(sp::nssa)}, before - granted);
  scene.disable_streams();
}

CONFORMANCE_CASE(resources_are_allocated_once, "nvme.streams.allocate.again", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives, reaches{"directive.streams.allocated"}) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  scene.allocated(1);
  check.status(scene.allocate(1), sc::invalid_field);
  scene.disable_streams();
}

CONFORMANCE_CASE(resources_can_be_used_up, "nvme.streams.allocate.none", roles::controller, needs(has_directives), needs(has_namespace),
                 needs(shares_its_namespace), having_directives, reaches{"directive.streams.resources"}) {
  DirectiveScene scene(bench, check);
  host::HostId stranger = kBenchHostId;
  stranger[0] ^= 0xFF;
  DirectiveScene other(bench, check, {.hostnqn = std::string(kOtherHost), .hostid = stranger});
  scene.enable_streams();
  other.enable_streams();
  scene.allocated(0xFFFF);
  check.precondition(scene.streams().get(sp::nssa) == 0, "no stream resources are left");
  // Where identifiers are shared among hosts, what one has been given the other has too.
  check.status(other.allocate(1), one_of(sc::stream_allocation_failed, sc::invalid_field));
  other.disable_streams();
  scene.disable_streams();
}

CONFORMANCE_CASE(open_streams_keep_to_the_resources, "nvme.streams.allocate.limit", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  const unsigned granted = scene.allocated(2);
  for (std::uint16_t stream = 1; stream <= granted + 2; ++stream) {
    if (!check.success(scene.write(stream), "Write with stream " + std::to_string(stream))) return;
  }
  check.that(scene.open().size() <= granted, "no more streams are open than resources allocated", listed(scene.open()));
  scene.disable_streams();
}

CONFORMANCE_CASE(released_resources_are_available, "nvme.streams.resources", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  const unsigned before = scene.streams().get(sp::nssa);
  scene.allocated(2);
  if (!check.success(scene.release_resources(), "Directive Send, Release Resources")) return;
  const auto after = scene.streams();
  check.equal("NSA", unsigned{after.get(sp::nsa)}, 0u);
  check.equal("NSSA", unsigned{after.get(sp::nssa)}, before);
  scene.disable_streams();
}

CONFORMANCE_CASE(no_resources_can_be_released, "nvme.streams.resources.none", roles::controller, needs(has_directives),
                 needs(has_namespace), having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  check.success(scene.release_resources(), "Directive Send, Release Resources");
  scene.disable_streams();
}

CONFORMANCE_CASE(disabling_streams_gives_them_back, "nvme.streams.disable", roles::controller, needs(has_directives), needs(has_namespace),
                 having_directives) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  scene.allocated(2);
  scene.open_stream(5);
  scene.disable_streams();
  check.precondition_success(scene.enable(nvme::DirectiveType::streams), "Directive Send, Enable Directive");
  const auto streams = scene.streams();
  check.equal("NSA", unsigned{streams.get(sp::nsa)}, 0u);
  check.equal("NSO", unsigned{streams.get(sp::nso)}, 0u);
  scene.disable_streams();
}

CONFORMANCE_CASE(formats_close_streams, "nvme.streams.format", roles::controller, needs(formats), with_namespaces_to_lose) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  scene.open_stream(5);
  check.precondition_success(scene.admin().send(format_unchanged(bench.declared())).wait(), "Format NVM");
  check.equal("NSO", unsigned{scene.streams().get(sp::nso)}, 0u);
}

CONFORMANCE_CASE(deletions_give_streams_back, "nvme.streams.deletion", roles::controller, needs(manages_namespaces),
                 with_namespaces_to_lose) {
  DirectiveScene scene(bench, check);
  scene.enable_streams();
  const unsigned before = scene.streams().get(sp::nssa);
  const std::uint32_t first = scene.nsid;
  scene.nsid = scene.manager.made_and_attached();
  scene.enable_streams();
  scene.allocated(2);
  check.precondition_success(scene.manager.remove(scene.nsid), "Namespace Management, delete");
  scene.nsid = first;
  check.equal("NSSA", unsigned{scene.streams().get(sp::nssa)}, before);
}

}  // namespace fb::conformance
