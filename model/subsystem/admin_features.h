// Get Features and Set Features.
#pragma once

#include "model/subsystem/controller_part.h"
#include "wire/nvme/features.h"

namespace fb::subsystem {

class FeatureCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void get_features(const Command& command);
  void set_features(const Command& command);
  void set_features_data(const Command& command);
  void keep_feature(const Command& command, std::uint8_t fid, std::uint32_t value);

 private:
  friend class Controller;

  bool feature_addresses_namespace(const Command& command, std::uint8_t fid);
  std::uint32_t feature_value(const ControllerFeatures& from, std::uint8_t fid, std::uint32_t cdw11, std::uint32_t nsid) const;
  bool saveable(std::uint8_t fid) const;
  bool temperature_ok(const Command& command, std::uint32_t cdw11);
  void set_timestamp(const Command& command);
  bool feature_acceptable(const Command& command, std::uint8_t fid, std::uint32_t value);
  void set_feature_value(const Command& command, std::uint8_t fid);
  void set_endurance_events(const Command& command, std::uint32_t value);
  void set_queues(const Command& command, std::uint32_t value);
  void set_kato(const Command& command, std::uint32_t kato_ms);
  void set_write_protection(const Command& command, std::uint32_t value);
  void set_reservation_feature(const Command& command, nvme::FeatureId fid, std::uint32_t value);
};

}  // namespace fb::subsystem
