// Namespaces that hosts make, delete and attach.
#include <algorithm>
#include <map>

#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/logs.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::Cns;
namespace departure = subsystem::departure;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
std::uint32_t nsid_of(const CommandContext& command) { return load_le<std::uint32_t>(command.sqe.data() + 4); }
std::uint16_t number_at(ByteView data, std::size_t index) { return load_le<std::uint16_t>(data.data() + 2 * index); }

void attachment_unclaimed(const CommandContext& command, MutableBytes data) {
  if (is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == 5 && data.size() == 4096) data[4 * 0x15] = 0;
}
void first_allocated_missing(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, Cns::allocated_namespace_list)) return;
  std::rotate(data.begin(), data.begin() + 4, data.end());
  std::fill(data.end() - 4, data.end(), std::uint8_t{0});
}
void allocated_from_the_first(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, Cns::allocated_namespace_list) || nsid_of(command) == 0) return;
  std::rotate(data.begin(), data.end() - 4, data.end());
  store_le(data.data(), nsid_of(command));
}
void allocated_size_other(const CommandContext& command, MutableBytes data) {
  if (identifies(command, Cns::allocated_namespace) && data[0] != 0xFF) data[0] ^= 1;
}
void unallocated_has_a_size(const CommandContext& command, MutableBytes data) {
  const bool empty = std::all_of(data.begin(), data.end(), [](std::uint8_t byte) { return byte == 0; });
  if (identifies(command, Cns::allocated_namespace) && empty) data[8] = 1;
}
void no_controllers(const CommandContext& command, MutableBytes data) {
  if (identifies(command, Cns::namespace_controller_list)) store_le(data.data(), std::uint16_t{0});
}
void controllers_from_the_first(const CommandContext& command, MutableBytes data) {
  const auto cntid = static_cast<std::uint16_t>(cdw10_of(command) >> 16);
  if (!identifies(command, Cns::namespace_controller_list) || cntid == 0) return;
  store_le(data.data(), std::uint16_t{1});
  store_le(data.data() + 2, static_cast<std::uint16_t>(cntid - 1));
}
void one_controller_more(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, Cns::namespace_controller_list)) return;
  const std::uint16_t count = number_at(data, 0);
  store_le(data.data(), static_cast<std::uint16_t>(count + 1));
  store_le(data.data() + 2 + 2 * count, std::uint16_t{0xEEEE});
}
std::optional<nvme::Status> nothing_in_common(const CommandContext& command) {
  if (!identifies(command, Cns::identify_namespace) || nsid_of(command) != 0xFFFFFFFF) return {};
  return nvme::sc::invalid_namespace_or_format;
}
void more_free_than_there_is(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, Cns::controller) || data.size() < 512) return;
  const auto total = load_le<std::uint64_t>(data.data() + nvme::id_ctrl::tnvmcap.offset);
  store_le(data.data() + nvme::id_ctrl::unvmcap.offset, total + 4096);
}

/// What was written to a namespace is read from one that took its place.
class RemembersWrites final : public subsystem::SubsystemHooks {
 public:
  void data_in(const CommandContext& command, MutableBytes data) override {
    if (is_io(command, 0x01)) written_[slba_of(command)] = Bytes(data.begin(), data.end());
  }
  void data_out(const CommandContext& command, MutableBytes data) override {
    const auto found = written_.find(slba_of(command));
    const bool empty = std::all_of(data.begin(), data.end(), [](std::uint8_t byte) { return byte == 0; });
    if (!is_io(command, 0x02) || !empty || found == written_.end() || found->second.size() != data.size()) return;
    std::copy(found->second.begin(), found->second.end(), data.begin());
  }

 private:
  std::map<std::uint64_t, Bytes> written_;
};

subsystem::Namespace* target_of(const CommandContext& command) {
  return command.controller == nullptr ? nullptr : command.controller->subsystem().find_namespace(nsid_of(command));
}
std::optional<nvme::Status> attached_stay(const CommandContext& command) {
  if (!is(command, AdminOpcode::namespace_management) || (cdw10_of(command) & 15) != 1) return {};
  const subsystem::Namespace* const ns = target_of(command);
  if (ns == nullptr || ns->attachments().none()) return {};
  return nvme::sc::namespace_already_attached;
}
std::optional<nvme::Status> all_are_private(const CommandContext& command) {
  if (!is(command, AdminOpcode::namespace_attachment) || (cdw10_of(command) & 15) != 0) return {};
  const subsystem::Namespace* const ns = target_of(command);
  if (ns == nullptr || ns->attachments().none()) return {};
  return nvme::sc::namespace_is_private;
}
/// A list of one controller becomes one of the first two.
void all_are_detached(const CommandContext& command, MutableBytes data) {
  if (!is(command, AdminOpcode::namespace_attachment) || (cdw10_of(command) & 15) != 1 || data.size() < 6) return;
  store_le(data.data(), std::uint16_t{2});
  store_le(data.data() + 2, std::uint16_t{1});
  store_le(data.data() + 4, std::uint16_t{2});
}

}  // namespace

DEVIATION(namespaces_without_attachment, "nvme.namespace.claim", Product::controller,
          "claims Namespace Management without Namespace Attachment", hooks<AlteringDataOut, &attachment_unclaimed>());
DEVIATION(allocated_list_without_the_first, "nvme.namespace.allocated.list", Product::controller,
          "leaves the first namespace out of the allocated list", hooks<AlteringDataOut, &first_allocated_missing>());
DEVIATION(allocated_list_from_its_start, "nvme.namespace.allocated.start", Product::controller,
          "begins the allocated list with the NSID of the command", hooks<AlteringDataOut, &allocated_from_the_first>());
DEVIATION(allocated_namespace_of_another_size, "nvme.namespace.allocated.identify", Product::controller,
          "tells another size of an allocated namespace", hooks<AlteringDataOut, &allocated_size_other>());
DEVIATION(unallocated_namespace_has_a_capacity, "nvme.namespace.allocated.unallocated", Product::controller,
          "tells a capacity of an NSID that is not allocated", hooks<AlteringDataOut, &unallocated_has_a_size>());
DEVIATION(namespace_without_controllers, "nvme.namespace.controllers.list", Product::controller, "lists no controllers of a namespace",
          hooks<AlteringDataOut, &no_controllers>());
DEVIATION(namespace_controllers_from_below, "nvme.namespace.controllers.start", Product::controller, "lists controllers below CNTID",
          hooks<AlteringDataOut, &controllers_from_the_first>());
DEVIATION(namespace_of_a_foreign_controller, "nvme.namespace.controllers.known", Product::controller,
          "lists a controller that the subsystem does not have", hooks<AlteringDataOut, &one_controller_more>());
DEVIATION(namespaces_have_nothing_in_common, "nvme.namespace.common", Product::controller, "refuses Identify Namespace with FFFFFFFFh",
          hooks<Answering, &nothing_in_common>());
DEVIATION(more_unallocated_than_total, "nvme.namespace.capacity", Product::controller,
          "tells more unallocated capacity than there is in all", hooks<AlteringDataOut, &more_free_than_there_is>());

DEVIATION(namespace_selection_of_any_kind, "nvme.namespace.select.reserved", Product::controller,
          "takes a reserved selection for a creation", Tolerate{"namespace.management.select"});
DEVIATION(creation_for_any_command_set, "nvme.namespace.create.command-set", Product::controller,
          "makes namespaces for command sets that it does not have", Tolerate{"namespace.create.csi"});
DEVIATION(creation_names_another_nsid, "nvme.namespace.create", Product::controller, "names the NSID behind the one it created",
          Departs{departure::nsm_nsid});
DEVIATION(creation_is_not_allocated, "nvme.namespace.create", Product::controller, "lists the attached namespaces as the allocated ones",
          Departs{departure::nsa_active});
DEVIATION(creation_attaches, "nvme.namespace.create.detached", Product::controller, "attaches what it creates",
          Departs{departure::nsm_attached});
DEVIATION(creation_is_listed_as_active, "nvme.namespace.create.detached", Product::controller, "lists all namespaces as active",
          Departs{departure::nsa_listed});
DEVIATION(creation_has_all_controllers, "nvme.namespace.create.detached", Product::controller,
          "lists every controller as one of every namespace", Departs{departure::nsa_controllers});
DEVIATION(creation_is_smaller, "nvme.namespace.create.attributes", Product::controller, "creates half of what it was asked for",
          Departs{departure::nsm_size});
DEVIATION(creation_costs_nothing, "nvme.namespace.create.capacity", Product::controller, "tells all its capacity as unallocated",
          Departs{departure::nsm_capacity_stays});
DEVIATION(creation_has_an_old_name, "nvme.namespace.create.names", Product::controller,
          "gives a namespace the names of the last one with its NSID", Departs{departure::nsm_names});
DEVIATION(creation_has_old_data, "nvme.namespace.create.empty", Product::controller, "shows the data of a deleted namespace in a new one",
          hooks<RemembersWrites>());
DEVIATION(creation_of_any_size, "nvme.namespace.create.too-large", Product::controller, "creates namespaces beyond its capacity",
          Tolerate{"namespace.create.capacity"});
DEVIATION(creation_of_any_number, "nvme.namespace.create.too-many", Product::controller, "creates namespaces beyond its number",
          Tolerate{"namespace.create.identifier"});
DEVIATION(creation_in_any_format, "nvme.namespace.create.format", Product::controller, "creates namespaces in formats that are not there",
          Tolerate{"namespace.create.format"});
DEVIATION(creation_always_thin, "nvme.namespace.create.thin", Product::controller,
          "takes less capacity than size without thin provisioning", Tolerate{"namespace.create.thin"});
DEVIATION(creation_thin_is_a_field, "nvme.namespace.create.thin", Product::controller, "calls less capacity than size an invalid field",
          AnswerWith{"namespace.create.thin", nvme::sc::invalid_field});
DEVIATION(creation_with_too_much_capacity, "nvme.namespace.create.order", Product::controller, "takes more capacity than size",
          Tolerate{"namespace.create.size"});
DEVIATION(creation_of_no_blocks, "nvme.namespace.create.nothing", Product::controller, "takes a size of no blocks",
          Tolerate{"namespace.create.size"});
DEVIATION(creation_in_any_ana_group, "nvme.namespace.create.ana-group", Product::controller, "takes ANA groups that are not there",
          Tolerate{"namespace.create.ana_group"});
DEVIATION(thin_namespace_without_end, "nvme.namespace.create.thin-full", Product::controller,
          "takes more blocks than the capacity of a namespace", Tolerate{"io.capacity"});
DEVIATION(deletion_deletes_nothing, "nvme.namespace.delete", Product::controller, "says success to a deletion and does nothing",
          Departs{departure::nsm_kept});
DEVIATION(deletion_of_detached_alone, "nvme.namespace.delete.attached", Product::controller, "refuses to delete what is attached",
          hooks<Answering, &attached_stay>());
DEVIATION(deletion_leaves_io, "nvme.namespace.delete.io", Product::controller, "gives I/O of a deleted namespace to another one",
          Tolerate{"io.nsid.inactive"});
DEVIATION(deletion_of_the_first, "nvme.namespace.delete.all", Product::controller, "deletes the first namespace when told all",
          Departs{departure::nsm_one});
DEVIATION(deletion_of_nothing, "nvme.namespace.delete.unallocated", Product::controller,
          "says success to the deletion of a namespace that is not there", Tolerate{"namespace.delete.unallocated"});
DEVIATION(deletion_of_any_nsid, "nvme.namespace.delete.unallocated", Product::controller,
          "says success to the deletion of an NSID that cannot be", Tolerate{"namespace.delete.nsid"});
DEVIATION(deletion_of_what_is_protected, "nvme.namespace.delete.write-protected", Product::controller,
          "deletes a namespace that is write protected", Tolerate{"namespace.delete.write_protected"});
DEVIATION(deletion_is_silent, "nvme.namespace.delete.announced", Product::controller, "announces no deletion",
          Departs{departure::subsystem_offline});

DEVIATION(attachment_does_nothing, "nvme.namespace.attach", Product::controller, "says success to an attachment and does nothing",
          Departs{departure::nsa_ineffective});
DEVIATION(attachment_to_all, "nvme.namespace.attach.named", Product::controller, "attaches to all controllers when told one",
          Departs{departure::nsa_all});
DEVIATION(attachment_any_number_of_times, "nvme.namespace.attach.twice", Product::controller, "says success to an attachment that is there",
          Tolerate{"namespace.attachment.attached"});
DEVIATION(attachment_of_private_namespaces, "nvme.namespace.attach.private", Product::controller,
          "attaches a private namespace to two controllers", Tolerate{"namespace.attachment.private"});
DEVIATION(attachment_to_one_alone, "nvme.namespace.attach.shared", Product::controller, "calls every namespace private",
          hooks<Answering, &all_are_private>());
DEVIATION(attachment_to_anybody, "nvme.namespace.attach.controller", Product::controller, "passes over controllers that are not there",
          Tolerate{"namespace.attachment.list"});
DEVIATION(attachment_to_anybody_is_a_field, "nvme.namespace.attach.controller", Product::controller,
          "calls a controller that is not there an invalid field", AnswerWith{"namespace.attachment.list", nvme::sc::invalid_field});
DEVIATION(attachment_of_nothing, "nvme.namespace.attach.unallocated", Product::controller,
          "says success to the attachment of what is not there", Tolerate{"namespace.attachment.unallocated"});
DEVIATION(attachment_of_all, "nvme.namespace.attach.broadcast", Product::controller, "says success to the attachment of FFFFFFFFh",
          Tolerate{"namespace.attachment.nsid"});
DEVIATION(attachment_selection_of_any_kind, "nvme.namespace.attach.select", Product::controller,
          "takes a reserved selection for an attachment", Tolerate{"namespace.attachment.select"});
DEVIATION(attachment_is_silent, "nvme.namespace.attach.announced", Product::controller, "announces no attachment",
          Departs{departure::nsa_silent});
DEVIATION(attachment_without_access, "nvme.namespace.attach.ana", Product::controller, "attaches where there is no access",
          Tolerate{"namespace.attachment.ana"});
DEVIATION(attachments_without_limit, "nvme.namespace.attach.limit", Product::controller, "attaches more namespaces than MAXCNA",
          Tolerate{"namespace.attachment.limit"});
DEVIATION(attachments_out_of_profile, "nvme.namespace.attach.command-set", Product::controller,
          "attaches namespaces of command sets that are not enabled", Tolerate{"namespace.attachment.command_set"});
DEVIATION(attachments_end_with_a_reset, "nvme.namespace.attach.kept", Product::controller, "detaches at a controller reset",
          Departs{departure::nsa_reset});
DEVIATION(detachment_does_nothing, "nvme.namespace.detach", Product::controller, "says success to a detachment and does nothing",
          Departs{departure::nsa_stays});
DEVIATION(detachment_leaves_io, "nvme.namespace.detach.io", Product::controller, "takes I/O to detached namespaces",
          Departs{departure::nsa_io});
DEVIATION(detachment_erases, "nvme.namespace.detach.data", Product::controller, "erases what it detaches", Departs{departure::nsa_erases});
DEVIATION(detachment_from_all, "nvme.namespace.detach.others", Product::controller, "detaches from other controllers too",
          hooks<AlteringDataIn, &all_are_detached>());
DEVIATION(detachment_any_number_of_times, "nvme.namespace.detach.missing", Product::controller,
          "says success to a detachment of what is not attached", Tolerate{"namespace.attachment.not_attached"});
DEVIATION(detachment_leaves_the_ana_log, "nvme.namespace.detach.ana", Product::controller, "names detached namespaces in its ANA log",
          Departs{departure::nsa_ana_log});
DEVIATION(changed_list_ends_at_its_end, "nvme.namespace.changed.overflow", Product::controller,
          "cuts the changed namespace list at 1,024 entries", Departs{departure::changed_list_cut});

}  // namespace fb::deviations
