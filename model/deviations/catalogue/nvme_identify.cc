// Identify: controllers that misinform their hosts.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

void aligned_sgls(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::controller)) return;
  MutableView<nvme::IdentifyController> id{data};
  id.set(nvme::id_ctrl::sgls, (id.get(nvme::id_ctrl::sgls) & ~3u) | 2u);
}

void unkeyed_sgls(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::controller)) return;
  MutableView<nvme::IdentifyController> id{data};
  id.set(nvme::id_ctrl::sgls, id.get(nvme::id_ctrl::sgls) & ~nvme::sgls_bits::keyed);
}

template <auto Field>
void identify_zeroed(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::controller)) return;
  std::fill_n(data.begin() + Field.offset, Field.size, std::uint8_t{0});
}

std::optional<nvme::Status> knows_no_namespace(const CommandContext& command) {
  return identifies(command, nvme::Cns::identify_namespace) ? std::optional(nvme::sc::invalid_namespace_or_format) : std::nullopt;
}

void missing_format(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::identify_namespace)) return;
  MutableView<nvme::IdentifyNamespace> ns{data};
  if (ns.get(nvme::id_ns::nsze) != 0) ns.set(nvme::id_ns::flbas_low, 15);
}

void never_ready(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::independent_namespace)) return;
  MutableView<nvme::IdentifyNamespaceIndependent>{data}.set(nvme::id_ns_independent::nstat, 0);
}

void not_shared(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, nvme::Cns::independent_namespace)) return;
  MutableView<nvme::IdentifyNamespaceIndependent>{data}.set(nvme::id_ns_independent::nmic, 0);
}

}  // namespace

DEVIATION(identify_names_another_controller, "nvme.identify.controller.cntlid", Product::controller,
          "Identify reports the identifier of another controller", Departs{"sub.cntlid.identify"});
DEVIATION(identify_names_another_subsystem, "nvme.identify.controller.cntlid", Product::controller,
          "Identify reports the name of another subsystem", Departs{"sub.identify.subnqn"});
DEVIATION(identify_page_is_cut, "nvme.identify.whole", Product::controller, "Identify brings four bytes less than its page has",
          Departs{"sub.identify.short"});
DEVIATION(identify_knows_no_namespace, "nvme.identify.active-known", Product::controller, "namespaces are listed, and unknown to Identify",
          hooks<Answering, &knows_no_namespace>());
DEVIATION(identify_without_firmware_slots, "nvme.identify.firmware-slots", Product::controller, "FRMW is 0",
          hooks<AlteringDataOut, &identify_zeroed<nvme::id_ctrl::frmw>>());
DEVIATION(identify_without_model, "nvme.identify.controller.text", Product::controller, "the model number is all zeroes",
          hooks<AlteringDataOut, &identify_zeroed<nvme::id_ctrl::mn>>());
DEVIATION(identify_without_version, "nvme.identify.controller.version", Product::controller, "VER is 0",
          hooks<AlteringDataOut, &identify_zeroed<nvme::id_ctrl::ver>>());
DEVIATION(identify_without_entry_sizes, "nvme.identify.controller.entry-sizes", Product::controller, "SQES is 0",
          hooks<AlteringDataOut, &identify_zeroed<nvme::id_ctrl::sqes_min>>());
DEVIATION(identify_capsules_too_small, "nvme.identify.controller.fabrics", Product::controller,
          "IOCCSZ announces capsules that hold no command", Departs{"sub.identify.ioccsz"});
DEVIATION(identify_without_maxcmd, "nvme.identify.controller.fabrics", Product::controller, "MAXCMD is 0", Departs{"sub.identify.maxcmd"});
DEVIATION(identify_aligned_sgls, "nvme.identify.controller.sgls", Product::controller, "SGLS asks for dword alignment",
          hooks<AlteringDataOut, &aligned_sgls>());
DEVIATION(identify_unkeyed_sgls, "nvme.identify.controller.sgls", Product::controller, "SGLS does not offer keyed descriptors",
          hooks<AlteringDataOut, &unkeyed_sgls>());
DEVIATION(identify_takes_any_cns, "nvme.identify.unknown-cns", Product::controller, "answers an unknown CNS with zeroes",
          Tolerate{"identify.cns"});
DEVIATION(active_list_descends, "nvme.identify.active-list", Product::controller, "the active namespace list descends",
          Departs{"sub.identify.list.order"});
DEVIATION(active_list_from_the_first, "nvme.identify.active-list", Product::controller,
          "the active namespace list ignores where it is to start", Departs{"sub.identify.list.start"});
DEVIATION(active_list_after_the_last, "nvme.identify.active-list-limit", Product::controller,
          "gives an active namespace list after FFFFFFFEh", Tolerate{"identify.list.start"});
DEVIATION(identify_more_used_than_there_is, "nvme.identify.namespace-sizes", Product::controller, "NUSE exceeds NCAP",
          Departs{"sub.identify.nuse"});
DEVIATION(identify_missing_format, "nvme.identify.namespace-sizes", Product::controller, "FLBAS names a format that does not exist",
          hooks<AlteringDataOut, &missing_format>());
DEVIATION(identify_inactive_is_active, "nvme.identify.namespace-inactive", Product::controller,
          "an inactive namespace gets the data of another", Departs{"sub.identify.inactive"});
DEVIATION(descriptor_of_wrong_length, "nvme.identify.descriptors", Product::controller, "a descriptor has 15 bytes instead of 16",
          Departs{"sub.identify.descriptors"});
DEVIATION(descriptors_without_command_set, "nvme.identify.descriptors", Product::controller, "no descriptor names the command set",
          Departs{"sub.identify.csi"});
DEVIATION(independent_never_ready, "nvme.identify.independent-namespace", Product::controller, "a namespace is reported as not ready",
          hooks<AlteringDataOut, &never_ready>());
DEVIATION(independent_not_shared, "nvme.identify.independent-namespace", Product::controller, "a shared namespace is reported as private",
          hooks<AlteringDataOut, &not_shared>());

}  // namespace fb::deviations
