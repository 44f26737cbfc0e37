// Every list and every reserved value of Identify, from every place that a list can begin at.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

using nvme::Cns;

constexpr std::uint32_t kListStartMax = 0xFFFFFFFD;

std::optional<std::string> tells_all_namespaces(const Declared& declared) {
  if (!declared.known || (!declared.namespaces.empty() && declared.namespaces.size() < 64)) return {};
  return "there are no namespaces, or too many to try every start of a list";
}

template <class Id>
std::vector<Id> from(const std::vector<Id>& all, std::uint64_t least) {
  std::vector<Id> rest;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rest), [&](Id id) { return id >= least; });
  return rest;
}

/// Around every identifier, and both ends.
template <class Id>
std::vector<std::uint64_t> starts_of(const std::vector<Id>& all, std::uint64_t last) {
  std::vector<std::uint64_t> starts = {0, 1, 0x100, 0xFFFF, last};
  for (const Id id : all) {
    for (const std::uint64_t start : {std::uint64_t{id} - 1, std::uint64_t{id}, std::uint64_t{id} + 1, std::uint64_t{id} | 0x8000}) {
      if (start <= last) starts.push_back(start);
    }
  }
  return starts;
}

std::string text_of(const auto& ids) { return fmt::format("{}", fmt::join(ids, ", ")); }

}  // namespace

CONFORMANCE_CASE(namespace_lists_begin_after_every_start, "nvme.identify.list-starts", roles::controller, needs(tells_all_namespaces)) {
  RawAssociation& association = bench.associate();
  const auto ask = [&](Cns cns, std::uint64_t start) {
    return association.admin().send(host::identify(cns, static_cast<std::uint32_t>(start)), nvme::kIdentifySize).wait();
  };
  for (const Cns cns : {Cns::active_namespace_list, Cns::command_set_active_namespace_list, Cns::allocated_namespace_list,
                        Cns::command_set_allocated_namespace_list}) {
    const auto whole = ask(cns, 0);
    if (!whole.ok()) continue;
    const std::string name(nvme::cns_name(static_cast<std::uint8_t>(cns)));
    const auto all = nvme::read_namespace_list(whole.data);
    check.that(std::is_sorted(all.begin(), all.end()), name + " ascends", text_of(all));
    for (const std::uint64_t start : starts_of(all, kListStartMax)) {
      const auto reply = ask(cns, start);
      if (!check.success(reply, fmt::format("{} from {}", name, start))) continue;
      const auto got = nvme::read_namespace_list(reply.data);
      check.that(got == from(all, start + 1), fmt::format("{} from {} has what is greater", name, start), text_of(got));
    }
  }
}

CONFORMANCE_CASE(controller_lists_begin_at_every_start, "nvme.identify.controller-list-starts", roles::controller, needs(has_namespace)) {
  RawAssociation& association = bench.associate();
  (void)bench.associate();  // so that the list has another one
  bool listed = false;
  for (const Cns cns : {Cns::controller_list, Cns::namespace_controller_list}) {
    const auto ask = [&](std::uint64_t start) {
      auto command = host::identify(cns, cns == Cns::namespace_controller_list ? bench.nsid() : 0);
      command.set(nvme::identify_sqe::cntid, start);
      return association.admin().send(command, nvme::kIdentifySize).wait();
    };
    const auto whole = ask(0);
    if (!whole.ok()) continue;
    listed = true;
    const std::string name(nvme::cns_name(static_cast<std::uint8_t>(cns)));
    const auto all = nvme::read_controller_list(whole.data);
    check.that(std::is_sorted(all.begin(), all.end()), name + " ascends", text_of(all));
    for (const std::uint64_t start : starts_of(all, 0xFFFF)) {
      const auto reply = ask(start);
      if (!check.success(reply, fmt::format("{} from {}", name, start))) continue;
      const auto got = nvme::read_controller_list(reply.data);
      check.that(got == from(all, start), fmt::format("{} from {} has that and what is greater", name, start), text_of(got));
    }
  }
  check.precondition(listed, "the product has a controller list");
}

CONFORMANCE_CASE(every_reserved_structure_is_refused, "nvme.identify.every-reserved", roles::controller) {
  // What no revision up to 2.3 has given a meaning.
  constexpr unsigned kFirstReserved = 0x40;
  RawAssociation& association = bench.associate();
  for (unsigned cns = kFirstReserved; cns < 256; ++cns) {
    check.status(association.admin().send(host::identify(static_cast<Cns>(cns), bench.nsid()), nvme::kIdentifySize).wait(),
                 one_of(sc::invalid_field), fmt::format("Identify with CNS {:02X}h", cns));
  }
}

}  // namespace fb::conformance
