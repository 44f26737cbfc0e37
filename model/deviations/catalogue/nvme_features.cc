// Get Features and Set Features.
#include "model/deviations/alter.h"
#include "model/deviations/deviation.h"
#include "wire/nvme/features.h"
#include "wire/nvme/opcodes.h"

namespace fb::deviations {

namespace {

bool gets_feature(const CommandContext& command, nvme::FeatureId id) {
  return is_admin(command, static_cast<std::uint8_t>(nvme::AdminOpcode::get_features)) &&
         (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(id);
}

std::optional<nvme::Status> no_error_recovery(const CommandContext& command) {
  if (!gets_feature(command, nvme::FeatureId::error_recovery)) return {};
  return nvme::sc::invalid_field;
}

std::optional<nvme::Status> threshold_stays(const CommandContext& command) {
  const bool sets = is_admin(command, static_cast<std::uint8_t>(nvme::AdminOpcode::set_features)) &&
                    (cdw10_of(command) & 0xFF) == static_cast<std::uint32_t>(nvme::FeatureId::temperature_threshold);
  if (!sets) return {};
  return nvme::sc::internal_error;
}

void another_host(const CommandContext& command, MutableBytes data) {
  if (gets_feature(command, nvme::FeatureId::host_identifier)) data[3] ^= 0x40;
}

}  // namespace

DEVIATION(feature_error_recovery_missing, "nvme.features.mandatory", Product::controller, "the Error Recovery feature does not exist",
          hooks<Answering, &no_error_recovery>());
DEVIATION(feature_threshold_cannot_be_set, "nvme.features.changeable", Product::controller,
          "the temperature threshold is called changeable, and cannot be set", hooks<Answering, &threshold_stays>());
DEVIATION(features_take_any_identifier, "nvme.features.unknown", Product::controller, "features that do not exist can be read and set",
          Tolerate{"feature.fid"});
DEVIATION(features_pretend_to_save, "nvme.features.not-saveable", Product::controller, "accepts to save a feature that it does not save",
          Tolerate{"feature.save"});
DEVIATION(number_of_queues_takes_ffff, "nvme.features.number-of-queues-invalid", Product::controller, "accepts Number of Queues FFFFh",
          Tolerate{"feature.queues.reserved"});
DEVIATION(number_of_queues_at_any_time, "nvme.features.number-of-queues-late", Product::controller,
          "accepts Number of Queues while I/O queues exist", Tolerate{"feature.queues.sequence"});
DEVIATION(host_identifier_changes, "nvme.features.host-identifier-set", Product::controller, "accepts another host identifier",
          Tolerate{"feature.hostid.set"});
DEVIATION(host_identifier_of_another, "nvme.features.host-identifier-get", Product::controller,
          "gives a host identifier that is not the host's", hooks<AlteringDataOut, &another_host>());
DEVIATION(host_identifier_short, "nvme.features.host-identifier-64", Product::controller, "gives half of the host identifier",
          Tolerate{"feature.hostid.exhid"});
DEVIATION(keep_alive_not_rounded, "nvme.features.keep-alive-get", Product::controller, "the keep alive timeout is not rounded up",
          Departs{"sub.kato.not_rounded"});

}  // namespace fb::deviations
