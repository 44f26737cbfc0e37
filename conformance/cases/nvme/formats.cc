// Identify of LBA formats and of what all namespaces have, and the granularity of namespaces.
#include <algorithm>

#include "conformance/cases/nvme/namespace_scene.h"
#include "conformance/runner/embedded_controller.h"
#include "wire/nvme/identify_namespace.h"

namespace fb::conformance {

namespace {

using nvme::Cns;
namespace id = nvme::id_ns;
namespace gr = nvme::granularity;

constexpr std::uint64_t kStep = 1 << 20;

std::optional<std::string> is_version_2_1(const Declared& declared) {
  if (!declared.known || declared.version_at_least(2, 1)) return {};
  return "VS is below 2.1";
}
std::optional<std::string> tells_granularity(const Declared& declared) {
  const auto bit = nvme::ctratt_bits::namespace_granularity;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::ctratt) & bit) != 0) return {};
  return "CTRATT bit 7 (Namespace Granularity) is clear";
}
const furnished of_version_2_1{[](EmbeddedSetup& setup) { setup.subsystem.version = fabrics::version(2, 1, 0); }};
const furnished in_steps{[](EmbeddedSetup& setup) { setup.subsystem.namespace_management.granularity_bytes = kStep; }};

bool all_zero(ByteView data) {
  return std::all_of(data.begin(), data.end(), [](std::uint8_t byte) { return byte == 0; });
}
host::RawReply of_format(host::RawQueue& admin, Cns cns, unsigned index) {
  auto command = host::identify(cns);
  command.set(nvme::identify_sqe::cnssid, index);
  return admin.send(command, nvme::kIdentifySize).wait();
}
Bytes page_of(host::RawQueue& admin, Cns cns, std::uint32_t nsid, Check& check) {
  const auto reply = admin.send(host::identify(cns, nsid), nvme::kIdentifySize).wait();
  check.precondition_success(reply, "Identify");
  return reply.data;
}
ByteView bytes_at(ByteView page, std::size_t offset, std::size_t size) { return page.subspan(offset, size); }

/// Bytes that a namespace takes.
std::uint64_t taken(Manager& manager, std::uint32_t nsid) {
  return load_le<std::uint64_t>(manager.page(Cns::allocated_namespace, nsid).data() + id::nvmcap.offset);
}
std::uint64_t size_step(Manager& manager, Check& check) {
  const Bytes list = manager.page(Cns::namespace_granularity_list);
  const auto first = element<nvme::GranularityDescriptor>(list, gr::ngd, 0);
  const std::uint64_t step = std::max(first.get(nvme::granularity_descriptor::nsg), first.get(nvme::granularity_descriptor::ncg));
  check.precondition(step != 0, "a granularity is told");
  return step;
}
/// The data of a block in the first format.
std::uint64_t block_bytes(Manager& manager) {
  const Bytes page = manager.page(Cns::identify_namespace, nvme::kAllNamespaces);
  return std::uint64_t{1} << nvme::lba_format_at(page, 0).get(nvme::lba_format::lbads);
}

}  // namespace

CONFORMANCE_CASE(format_pages_tell_no_sizes, "nvme.identify.format-page", roles::controller, needs(is_version_2), needs(has_namespace)) {
  host::RawQueue& admin = bench.associate().admin();
  const Bytes whole = page_of(admin, Cns::identify_namespace, bench.nsid(), check);
  const std::size_t formats = View<nvme::IdentifyNamespace>{whole}.get(id::nlbaf).count();
  for (unsigned index = 0; index < std::min<std::size_t>(formats, 16); ++index) {
    const auto reply = of_format(admin, Cns::namespace_user_data_format, index);
    check.precondition_success(reply, "CNS 09h");
    const std::string which = " of format " + std::to_string(index);
    check.that(all_zero(bytes_at(reply.data, id::nsze.offset, 24)), "NSZE, NCAP and NUSE are 0" + which);
    check.that(all_zero(bytes_at(reply.data, id::nvmcap.offset, 16)), "NVMCAP is 0" + which);
    const std::size_t at = id::lbaf.offset + index * nvme::LbaFormat::size;
    check.bytes("MS and LBADS" + which, bytes_at(reply.data, at, 3), bytes_at(whole, at, 3));
  }
}

CONFORMANCE_CASE(format_pages_of_the_command_set_have_no_mask, "nvme.identify.format-command-set", roles::controller, needs(is_version_2),
                 needs(has_namespace)) {
  host::RawQueue& admin = bench.associate().admin();
  const Bytes whole = page_of(admin, Cns::command_set_namespace, bench.nsid(), check);
  const auto reply = of_format(admin, Cns::command_set_user_data_format, 0);
  check.precondition_success(reply, "CNS 0Ah");
  check.that(all_zero(bytes_at(reply.data, nvme::id_ns_nvm::lbstm.offset, 8)), "LBSTM is 0");
  const std::size_t at = nvme::id_ns_nvm::elbaf.offset;
  check.bytes("the entry of format 0", bytes_at(reply.data, at, 4), bytes_at(whole, at, 4));
}

CONFORMANCE_CASE(unknown_formats_have_no_page, "nvme.identify.format-unknown", roles::controller, needs(is_version_2),
                 reaches{"identify.format"}) {
  host::RawQueue& admin = bench.associate().admin();
  for (const Cns cns : {Cns::namespace_user_data_format, Cns::command_set_user_data_format}) {
    check.precondition_success(of_format(admin, cns, 0), "CNS " + words(static_cast<std::uint8_t>(cns)));
    check.refused(of_format(admin, cns, 0x1FFF), "Identify of a format that there is not");
  }
}

CONFORMANCE_CASE(command_set_page_of_all_namespaces, "nvme.identify.command-set-broadcast", roles::controller, of_version_2_1,
                 needs(is_version_2_1), needs(manages_namespaces)) {
  host::RawQueue& admin = bench.associate().admin();
  const auto command = host::identify(Cns::command_set_namespace, nvme::kAllNamespaces);
  const auto reply = admin.send(command, nvme::kIdentifySize).wait();
  check.require_success(reply, "CNS 05h of all namespaces");
  check.that(all_zero(bytes_at(reply.data, nvme::id_ns_nvm::lbstm.offset, 8)), "LBSTM is 0");
}

CONFORMANCE_CASE(allocated_namespaces_have_an_independent_page, "nvme.identify.allocated-independent", roles::controller, of_version_2_1,
                 needs(is_version_2_1), needs(manages_namespaces), needs(has_namespace)) {
  Manager manager(bench, check);
  const Bytes page = manager.page(Cns::allocated_independent_namespace, bench.nsid());
  check.bytes("CNS 1Fh", page, manager.page(Cns::independent_namespace, bench.nsid()));
  const std::uint32_t nobody = unallocated_nsid(manager, bench, check);
  const auto reply = manager.identify(Cns::allocated_independent_namespace, nobody);
  check.that(!reply.ok() || all_zero(reply.data), "there is nothing of a namespace that is not allocated", "there is something");
}

CONFORMANCE_CASE(granularities_fit_the_formats, "nvme.namespace.granularity.list", roles::controller, in_steps, needs(tells_granularity),
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const auto reply = manager.identify(Cns::namespace_granularity_list);
  check.require_success(reply, "CNS 16h");
  const View<nvme::GranularityList> list{reply.data};
  const std::uint64_t count = list.get(gr::nd).count();
  const Bytes common = manager.page(Cns::identify_namespace, nvme::kAllNamespaces);
  const View<nvme::IdentifyNamespace> all{common};
  const std::uint64_t formats = all.get(id::nlbaf).count() + all.get(id::nulbaf);
  check.equal("descriptors", count, list.get(gr::gdm) ? formats : std::uint64_t{1});
  const std::size_t end = gr::ngd.offset + std::min<std::size_t>(count, nvme::kGranularitiesMax) * nvme::GranularityDescriptor::size;
  check.that(all_zero(bytes_at(reply.data, end, gr::ngd.offset + gr::ngd.size - end)), "zeroes follow the descriptors");
}

CONFORMANCE_CASE(granularity_is_a_hint, "nvme.namespace.granularity.hint", roles::controller, in_steps, needs(tells_granularity),
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint64_t block = block_bytes(manager), step = size_step(manager, check);
  check.precondition(step % block == 0 && step > block, "a granularity of several blocks");
  const std::uint64_t blocks = step / block + 1;
  const auto reply = manager.create({.nsze = blocks, .ncap = blocks});
  const bool full = nvme::same_code(reply.status(), nvme::sc::namespace_insufficient_capacity);
  check.precondition(!full, "there is room for a namespace of two steps");
  check.require_success(reply, "a namespace of no multiple of the granularity");
  (void)manager.remove(reply.dw0());
}

CONFORMANCE_CASE(whole_steps_waste_nothing, "nvme.namespace.granularity.capacity", roles::controller, in_steps, needs(tells_granularity),
                 needs(manages_namespaces)) {
  Manager manager(bench, check);
  const std::uint64_t block = block_bytes(manager), step = size_step(manager, check);
  check.precondition(step % block == 0, "a granularity of whole blocks");
  const std::uint64_t blocks = step / block;
  const std::uint32_t nsid = manager.made({.nsze = blocks, .ncap = blocks});
  const std::uint64_t bytes = taken(manager, nsid);
  check.precondition(bytes != 0, "NVMCAP of the namespace is known");
  check.equal("NVMCAP", bytes, step);
  (void)manager.remove(nsid);
}

}  // namespace fb::conformance
