// Directives, streams, and Command and Feature Lockdown.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/directives.h"
#include "wire/nvme/lockdown.h"
#include "wire/nvme/logs.h"

namespace fb::deviations {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;
namespace departure = subsystem::departure;
namespace dp = nvme::directive_parameters;
namespace op = nvme::directive_operation;

bool is(const CommandContext& command, AdminOpcode opcode) { return is_admin(command, static_cast<std::uint8_t>(opcode)); }
/// Directive Send or Receive of a type and an operation.
bool directs(const CommandContext& command, AdminOpcode opcode, nvme::DirectiveType type, unsigned operation) {
  return is(command, opcode) && command.sqe[45] == static_cast<std::uint8_t>(type) && command.sqe[44] == operation;
}
bool returns_parameters(const CommandContext& command, MutableBytes data) {
  return directs(command, AdminOpcode::directive_receive, nvme::DirectiveType::identify, op::identify_return_parameters) &&
         data.size() >= 96;
}
bool returns_streams(const CommandContext& command, MutableBytes data) {
  return directs(command, AdminOpcode::directive_receive, nvme::DirectiveType::streams, op::streams_return_parameters) &&
         data.size() >= nvme::StreamParameters::size;
}
void without_identify(const CommandContext& command, MutableBytes data) {
  if (returns_parameters(command, data)) data[dp::enabled.offset] &= 0xFE;
}
void enables_what_is_not_there(const CommandContext& command, MutableBytes data) {
  if (returns_parameters(command, data)) data[dp::enabled.offset + 1] |= 0x80;
}
void claims_persistence(const CommandContext& command, MutableBytes data) {
  if (returns_parameters(command, data)) data[dp::persistent.offset] |= 2;
}
void offers_too_many(const CommandContext& command, MutableBytes data) {
  if (returns_streams(command, data)) data[nvme::stream_parameters::nssa.offset] = 0xFF;
}
void grants_more_than_asked(const CommandContext& command, MutableBytes data) {
  if (returns_streams(command, data)) data[nvme::stream_parameters::nso.offset] = 9;
}
/// Directives are the affair of the controller that was told.
class OfOneController final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::directive_send)) by_ = command.controller;
    return {};
  }
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (returns_parameters(command, data) && command.controller != by_) data[dp::enabled.offset] &= 1;
  }

 private:
  const subsystem::Controller* by_ = nullptr;
};
/// Once enabled by one, enabled for all.
class OfAllHosts final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::directive_send)) enabled_ = true;
    return {};
  }
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (returns_parameters(command, data) && enabled_) data[dp::enabled.offset] |= 2;
  }

 private:
  bool enabled_ = false;
};
/// A reset of any controller disables.
class AnyResetDisables final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::directive_send)) enabler_ = command.controller;
    return {};
  }
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (returns_parameters(command, data) && enabler_ != nullptr && command.controller != enabler_) {
      data[dp::enabled.offset] &= 1;
    }
  }

 private:
  const subsystem::Controller* enabler_ = nullptr;
};
std::optional<nvme::Status> loses_streamed_data(const CommandContext& command) {
  const bool streamed = is_io(command, static_cast<std::uint8_t>(IoOpcode::write)) && (command.sqe[50] >> 4) == 1;
  if (!streamed) return {};
  return nvme::sc::success;
}
/// Whatever a write says of directives must be enabled.
std::optional<nvme::Status> wants_no_directives(const CommandContext& command) {
  const bool directed = is_io(command, static_cast<std::uint8_t>(IoOpcode::write)) && (command.sqe[50] >> 4) != 0;
  if (!directed || command.controller == nullptr) return {};
  const auto& host = command.controller->host().hostid;
  const auto nsid = load_le<std::uint32_t>(command.sqe.data() + 4);
  if (command.controller->subsystem().directives().enabled(host, nsid)) return {};
  return nvme::sc::invalid_field;
}
std::optional<nvme::Status> wants_streams(const CommandContext& command) {
  const bool streamed = is_io(command, static_cast<std::uint8_t>(IoOpcode::write)) && (command.sqe[50] >> 4) == 1 &&
                        load_le<std::uint16_t>(command.sqe.data() + 54) == 0;
  if (!streamed) return {};
  return nvme::sc::invalid_field;
}
std::optional<nvme::Status> releases_what_is_open_alone(const CommandContext& command) {
  if (!directs(command, AdminOpcode::directive_send, nvme::DirectiveType::streams, op::streams_release_identifier)) return {};
  if (load_le<std::uint32_t>(command.sqe.data() + 4) == nvme::kAllNamespaces) return {};
  return nvme::sc::invalid_field;
}
std::optional<nvme::Status> releases_what_is_allocated_alone(const CommandContext& command) {
  if (!directs(command, AdminOpcode::directive_send, nvme::DirectiveType::streams, op::streams_release_resources)) return {};
  return nvme::sc::invalid_field;
}
/// Get Status adds streams that nobody has room for.
void opens_without_limit(const CommandContext& command, MutableBytes data) {
  const bool status = directs(command, AdminOpcode::directive_receive, nvme::DirectiveType::streams, op::streams_get_status);
  if (!status || data.size() < 16) return;
  for (std::uint16_t i = 0; i < 4; ++i) store_le(data.data() + 2 + 2 * i, static_cast<std::uint16_t>(i + 1));
  store_le(data.data(), std::uint16_t{4});
}
/// Get Status of all namespaces is empty.
void lists_no_shared_streams(const CommandContext& command, MutableBytes data) {
  const bool status = directs(command, AdminOpcode::directive_receive, nvme::DirectiveType::streams, op::streams_get_status);
  const bool all = load_le<std::uint32_t>(command.sqe.data() + 4) == nvme::kAllNamespaces;
  if (status && all) std::fill(data.begin(), data.end(), std::uint8_t{0});
}

bool reads_lockdown(const CommandContext& command, MutableBytes data) {
  return is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(nvme::LogPage::lockdown) &&
         data.size() >= 4;
}
std::optional<nvme::Status> no_lockdown_log(const CommandContext& command) {
  const bool reads =
      is(command, AdminOpcode::get_log_page) && (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(nvme::LogPage::lockdown);
  if (!reads) return {};
  return nvme::sc::invalid_log_page;
}
void selects_nothing(const CommandContext& command, MutableBytes data) {
  if (reads_lockdown(command, data)) data[0] = 0;
}
/// As soon as anything is prohibited, everything is.
class ProhibitsAll final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::lockdown)) {
      prohibits_ = (cdw10_of(command) & 0x10) != 0;
      return {};
    }
    if (prohibits_ && is(command, AdminOpcode::identify)) return nvme::sc::prohibited_by_lockdown;
    return {};
  }

 private:
  bool prohibits_ = false;
};
/// Features that may not be set cannot be read.
class HidesFeatures final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::lockdown)) {
      fid_ = (cdw10_of(command) & 0x1F) == 0x12 ? static_cast<int>(cdw10_of(command) >> 8 & 0xFF) : -1;
      return {};
    }
    if (is(command, AdminOpcode::get_features) && static_cast<int>(cdw10_of(command) & 0xFF) == fid_) {
      return nvme::sc::prohibited_by_lockdown;
    }
    return {};
  }

 private:
  int fid_ = -1;
};
class RefusesRepetition final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (!is(command, AdminOpcode::lockdown)) return {};
    const std::uint32_t asked = cdw10_of(command);
    if (asked == last_) return nvme::sc::invalid_field;
    last_ = asked;
    return {};
  }

 private:
  std::uint32_t last_ = 0xFFFFFFFF;
};
/// Lockdown binds the controller that was told.
class BindsOneController final : public subsystem::SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (is(command, AdminOpcode::lockdown)) by_ = command.controller;
    return {};
  }
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    return refusal.check != "lockdown.command" || command.controller == by_;
  }

 private:
  const subsystem::Controller* by_ = nullptr;
};

}  // namespace

DEVIATION(directives_without_identify, "nvme.directives.claim", Product::controller, "does not enable the Identify directive",
          hooks<AlteringDataOut, &without_identify>());
DEVIATION(directives_enabled_unsupported, "nvme.directives.enabled", Product::controller, "enables a directive that it does not support",
          hooks<AlteringDataOut, &enables_what_is_not_there>());
DEVIATION(directives_claim_persistence, "nvme.directives.persistent", Product::controller, "says that Streams persists across resets",
          hooks<AlteringDataOut, &claims_persistence>());
DEVIATION(directives_of_any_type, "nvme.directives.type", Product::controller, "takes commands for any directive",
          Tolerate{"directive.type"});
DEVIATION(directives_work_disabled, "nvme.directives.disabled", Product::controller, "executes commands for a disabled directive",
          Tolerate{"directive.disabled"});
DEVIATION(directives_stay_enabled, "nvme.directives.enable", Product::controller, "disables nothing",
          Departs{departure::streams_stay_enabled});
DEVIATION(identify_directive_switched, "nvme.directives.enable.identify", Product::controller, "lets the Identify directive be disabled",
          Tolerate{"directive.enable"});
DEVIATION(unknown_directives_enabled, "nvme.directives.enable.unsupported", Product::controller,
          "says success to enabling what it does not support", Tolerate{"directive.enable"});
DEVIATION(directives_of_all_namespaces, "nvme.directives.broadcast", Product::controller, "returns the parameters of all namespaces",
          Tolerate{"directive.nsid.broadcast"});
DEVIATION(directives_of_a_controller, "nvme.directives.controllers", Product::controller, "keeps directives apart by controller",
          hooks<OfOneController>());
DEVIATION(directives_of_all_hosts, "nvme.directives.hosts", Product::controller, "enables directives for all hosts", hooks<OfAllHosts>());
DEVIATION(directives_survive_resets, "nvme.directives.reset", Product::controller, "keeps directives through a reset",
          Departs{departure::streams_survive_reset});
DEVIATION(directives_end_with_any_reset, "nvme.directives.reset.other", Product::controller,
          "disables directives at the reset of any controller", hooks<AnyResetDisables>());
DEVIATION(streams_beyond_the_limit, "nvme.streams.parameters", Product::controller, "offers more streams than it has",
          hooks<AlteringDataOut, &offers_too_many>());
DEVIATION(streams_never_opened, "nvme.streams.open", Product::controller, "opens no stream", Departs{departure::streams_never_open});
DEVIATION(stream_0_refused, "nvme.streams.zero", Product::controller, "refuses writes with stream 0", hooks<Answering, &wants_streams>());
DEVIATION(streams_lose_data, "nvme.streams.data", Product::controller, "loses the data of streams",
          hooks<Answering, &loses_streamed_data>());
DEVIATION(streams_descend, "nvme.streams.order", Product::controller, "lists open streams in descending order",
          Departs{departure::streams_order});
DEVIATION(streams_of_any_type, "nvme.streams.type", Product::controller, "takes writes with any directive", Tolerate{"io.directive"});
DEVIATION(streams_not_ignored, "nvme.streams.ignored", Product::controller, "refuses writes with a directive that is disabled",
          hooks<Answering, &wants_no_directives>());
DEVIATION(streams_of_nobody, "nvme.streams.status-all", Product::controller, "lists no streams for all namespaces",
          hooks<AlteringDataOut, &lists_no_shared_streams>());
DEVIATION(streams_not_released, "nvme.streams.release", Product::controller, "keeps released streams open",
          Departs{departure::streams_stay_open});
DEVIATION(closed_streams_not_released, "nvme.streams.release.unknown", Product::controller, "refuses to release what is not open",
          hooks<Answering, &releases_what_is_open_alone>());
DEVIATION(streams_released_everywhere, "nvme.streams.release.broadcast", Product::controller, "releases a stream in all namespaces",
          Tolerate{"directive.nsid.broadcast"});
DEVIATION(stream_resources_unreported, "nvme.streams.allocate", Product::controller, "does not report what it granted",
          Departs{departure::streams_allocated});
DEVIATION(stream_resources_granted_twice, "nvme.streams.allocate.available", Product::controller, "offers to others what it granted",
          Departs{departure::streams_available});
DEVIATION(stream_resources_added, "nvme.streams.allocate.again", Product::controller, "lets a host allocate again",
          Tolerate{"directive.streams.allocated"});
DEVIATION(streams_without_limit, "nvme.streams.allocate.limit", Product::controller, "has more streams open than resources",
          hooks<AlteringDataOut, &opens_without_limit>());
DEVIATION(stream_resources_kept, "nvme.streams.resources", Product::controller, "does not take resources back",
          Departs{departure::streams_kept});
DEVIATION(no_stream_resources_released, "nvme.streams.resources.none", Product::controller,
          "refuses to release resources where there are none", hooks<Answering, &releases_what_is_allocated_alone>());
DEVIATION(disabled_streams_stay, "nvme.streams.disable", Product::controller, "keeps streams that are disabled",
          hooks<AlteringDataOut, &grants_more_than_asked>());
DEVIATION(formatted_streams_stay, "nvme.streams.format", Product::controller, "keeps streams through a format",
          Departs{departure::streams_outlive_format});
DEVIATION(deleted_streams_stay, "nvme.streams.deletion", Product::controller, "keeps the streams of a deleted namespace",
          Departs{departure::streams_outlive_namespace});
DEVIATION(directives_of_any_operation, "nvme.directives.operation", Product::controller, "serves operations that are reserved",
          Tolerate{"directive.operation"});
DEVIATION(directives_beyond_all_namespaces, "nvme.directives.namespace", Product::controller,
          "tells of directives of a namespace that cannot be", Tolerate{"directive.nsid"});
DEVIATION(directives_of_inactive_namespaces, "nvme.directives.namespace", Product::controller,
          "tells of directives of an inactive namespace", Tolerate{"directive.nsid.inactive"});
DEVIATION(streams_of_nothing, "nvme.streams.allocate.none", Product::controller, "says success where no stream resources are left",
          Tolerate{"directive.streams.resources"});
DEVIATION(lockdown_of_reserved_scopes, "nvme.lockdown.reserved", Product::controller, "says success to a reserved scope",
          AnswerWith{"lockdown.scope", nvme::sc::success});
DEVIATION(lockdown_of_reserved_interfaces, "nvme.lockdown.reserved", Product::controller, "takes a reserved interface",
          Tolerate{"lockdown.interface"});
DEVIATION(lockdown_log_of_reserved_scopes, "nvme.lockdown.log.reserved", Product::controller, "has lists of reserved scopes",
          Tolerate{"log.lockdown.selection"});
DEVIATION(lockdown_without_log, "nvme.lockdown.claim", Product::controller, "has no log of what is locked down",
          hooks<Answering, &no_lockdown_log>());
DEVIATION(lockdown_log_of_nothing, "nvme.lockdown.log.selection", Product::controller, "does not repeat what its log holds",
          hooks<AlteringDataOut, &selects_nothing>());
DEVIATION(lockdown_log_descends, "nvme.lockdown.log.order", Product::controller, "lists codes in descending order",
          Departs{departure::lockdown_order});
DEVIATION(lockdown_unlisted, "nvme.lockdown.log.prohibited", Product::controller, "does not list what is prohibited",
          Departs{departure::lockdown_hidden});
DEVIATION(lockdown_without_effect, "nvme.lockdown.command", Product::controller, "prohibits nothing", Departs{departure::lockdown_nothing});
DEVIATION(lockdown_of_everything, "nvme.lockdown.command.others", Product::controller, "prohibits everything at once",
          hooks<ProhibitsAll>());
DEVIATION(lockdown_for_ever, "nvme.lockdown.allow", Product::controller, "does not allow again", Departs{departure::lockdown_sticks});
DEVIATION(locked_features_set, "nvme.lockdown.feature", Product::controller, "sets features that are prohibited",
          Tolerate{"lockdown.feature"});
DEVIATION(locked_features_hidden, "nvme.lockdown.feature.read", Product::controller, "refuses to read features that may not be set",
          hooks<HidesFeatures>());
DEVIATION(lockdown_of_anything, "nvme.lockdown.code", Product::controller, "says success to prohibiting what it cannot",
          Tolerate{"lockdown.code"});
DEVIATION(lockdown_once, "nvme.lockdown.again", Product::controller, "refuses to prohibit twice", hooks<RefusesRepetition>());
DEVIATION(lockdown_of_no_endpoint, "nvme.lockdown.interface", Product::controller,
          "prohibits commands of an endpoint that it does not have", Tolerate{"lockdown.endpoint"});
DEVIATION(lockdown_of_pcie, "nvme.lockdown.pcie", Product::controller, "prohibits PCIe commands in the admin queue",
          AnswerWith{"lockdown.scope", nvme::sc::success});
DEVIATION(lockdown_of_one_controller, "nvme.lockdown.controllers", Product::controller, "binds one controller alone",
          hooks<BindsOneController>());
DEVIATION(lockdown_ends_with_a_reset, "nvme.lockdown.reset", Product::controller, "lifts prohibitions at an NVM subsystem reset",
          Departs{departure::lockdown_reset});
DEVIATION(lockdown_outlives_the_power, "nvme.lockdown.power", Product::controller, "keeps prohibitions through a power cycle",
          Departs{departure::lockdown_power});
DEVIATION(streams_released_in_vain, "nvme.streams.any-order", Product::controller, "keeps released streams open among others",
          Departs{departure::streams_stay_open});

}  // namespace fb::deviations
