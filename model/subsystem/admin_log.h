// Get Log Page: each page, and what reading it acknowledges. Keeps the persistent event log told.
#pragma once

#include "model/subsystem/controller_part.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/persistent_events.h"

namespace fb::subsystem {

class LogPages : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void get_log_page(const Command& command);
  void record(nvme::PersistentEventType type, ByteView data);
  void record_firmware(const Command& command, std::string_view before, std::string_view wanted, nvme::Status status);
  void record_feature(const Command& command, std::uint32_t dw0 = 0);
  void record_namespace(const Command& command, const Namespace* ns);

 private:
  friend class Controller;

  bool log_supported(std::uint8_t lid) const;
  bool log_of_namespace(const Command& command);
  void acknowledge_log(std::uint8_t lid, std::uint16_t group, std::uint32_t nsid);
  Bytes log_page(const Command& command, std::uint8_t lid);
  Bytes log_supported_pages() const;
  Bytes log_firmware() const;
  Bytes log_changed_namespaces() const;
  Bytes log_effects(std::uint8_t command_set) const;
  Bytes log_ana(bool groups_only) const;
  Bytes log_feature_effects() const;
  bool log_request_ok(const Command& command, nvme::LogPage page);
  bool persistent_context_ok(const Command& command, nvme::PersistentLogAction action);
  Bytes log_persistent(const Command& command);
  Bytes log_endurance_events() const;
  Bytes log_lockdown(const Command& command) const;
  Bytes log_changed_zones(std::uint32_t nsid) const;

  Bytes persistent_context_;  ///< empty: there is none
};

}  // namespace fb::subsystem
