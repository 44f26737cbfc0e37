// Identify of LBA formats and of what all namespaces have, and the granularity of namespaces.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::Cns;
namespace departure = subsystem::departure;

bool whole(MutableBytes data) { return data.size() == nvme::kIdentifySize; }
void tells_a_size(const CommandContext& command, MutableBytes data) {
  if (identifies(command, Cns::namespace_user_data_format) && whole(data)) store_le(data.data(), std::uint64_t{4096});
}
void has_a_mask(const CommandContext& command, MutableBytes data) {
  if (identifies(command, Cns::command_set_user_data_format) && whole(data)) data[0] = 0xFF;
}
void has_a_common_mask(const CommandContext& command, MutableBytes data) {
  const bool all = load_le<std::uint32_t>(command.sqe.data() + 4) == nvme::kAllNamespaces;
  if (identifies(command, Cns::command_set_namespace) && all && whole(data)) data[0] = 0xFF;
}
std::optional<nvme::Status> has_no_common_page(const CommandContext& command) {
  const bool all = load_le<std::uint32_t>(command.sqe.data() + 4) == nvme::kAllNamespaces;
  if (!identifies(command, Cns::command_set_namespace) || !all) return {};
  return nvme::sc::invalid_namespace_or_format;
}
void shows_all_as_shared(const CommandContext& command, MutableBytes data) {
  if (identifies(command, Cns::allocated_independent_namespace) && whole(data)) {
    data[nvme::id_ns_independent::nmic.offset] ^= nvme::nmic_bits::shared;
  }
}
void has_too_many_steps(const CommandContext& command, MutableBytes data) {
  if (identifies(command, Cns::namespace_granularity_list) && whole(data)) data[nvme::granularity::nd.offset] = 5;
}
void has_steps_behind_the_last(const CommandContext& command, MutableBytes data) {
  if (identifies(command, Cns::namespace_granularity_list) && whole(data)) data[nvme::granularity::ngd.offset + 100] = 1;
}
void takes_a_step_more(const CommandContext& command, MutableBytes data) {
  if (!identifies(command, Cns::allocated_namespace) || !whole(data)) return;
  std::uint8_t* const at = data.data() + nvme::id_ns::nvmcap.offset;
  store_le(at, load_le<std::uint64_t>(at) + (std::uint64_t{1} << 20));
}

}  // namespace

DEVIATION(format_page_with_sizes, "nvme.identify.format-page", Product::controller, "tells the size of a namespace in the page of a format",
          hooks<AlteringDataOut, &tells_a_size>());
DEVIATION(format_page_of_another, "nvme.identify.format-page", Product::controller, "tells another block size in the page of a format",
          Departs{departure::identify_format_wrong});
DEVIATION(format_page_with_a_mask, "nvme.identify.format-command-set", Product::controller,
          "has a storage tag mask in the page of a format", hooks<AlteringDataOut, &has_a_mask>());
DEVIATION(format_page_of_nothing, "nvme.identify.format-unknown", Product::controller, "has pages of formats that there are not",
          Tolerate{"identify.format"});
DEVIATION(common_page_with_a_mask, "nvme.identify.command-set-broadcast", Product::controller, "has a storage tag mask of all namespaces",
          hooks<AlteringDataOut, &has_a_common_mask>());
DEVIATION(common_page_missing, "nvme.identify.command-set-broadcast", Product::controller, "tells nothing of all namespaces",
          hooks<Answering, &has_no_common_page>());
DEVIATION(allocated_independent_other, "nvme.identify.allocated-independent", Product::controller,
          "tells something else of allocated namespaces than of attached ones", hooks<AlteringDataOut, &shows_all_as_shared>());
DEVIATION(granularity_of_no_format, "nvme.namespace.granularity.list", Product::controller, "has more granularities than formats",
          hooks<AlteringDataOut, &has_too_many_steps>());
DEVIATION(granularity_behind_the_last, "nvme.namespace.granularity.list", Product::controller, "has granularities behind the last",
          hooks<AlteringDataOut, &has_steps_behind_the_last>());
DEVIATION(granularity_enforced, "nvme.namespace.granularity.hint", Product::controller, "makes namespaces in whole steps alone",
          Departs{departure::nsm_granularity});
DEVIATION(granularity_wasted, "nvme.namespace.granularity.capacity", Product::controller, "takes more capacity than a whole step",
          hooks<AlteringDataOut, &takes_a_step_more>());

}  // namespace fb::deviations
