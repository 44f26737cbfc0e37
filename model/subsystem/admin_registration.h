// Discovery Information Management, the Fabric Zoning commands of a centralized discovery controller without zones, and the
// log pages that tell of registrations.
#pragma once

#include <vector>

#include "model/subsystem/controller_part.h"
#include "wire/fabrics/registration.h"

namespace fb::subsystem {

struct RegisteredEntry;

class RegistrationCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void manage(const Command& command);
  void manage_data(const Command& command);
  void zoning(const Command& command);

  bool supports_log(std::uint8_t lid) const;
  Bytes log(const Command& command) const;
  /// LIDSP of a log page, in Supported Log Pages.
  std::uint16_t log_parameter(std::uint8_t lid) const;
  /// A part of the Host Discovery log is read: whether it is of another generation than the beginning.
  bool host_log_is_stale(std::uint64_t offset);
  void begin_association();
  void end_association();
  void on_reset();

 private:
  bool header_ok(const Command& command, View<fabrics::RegistrationHeader> header, std::size_t bytes) const;
  bool entries_from(const Command& command, ByteView data, std::vector<RegisteredEntry>& entries) const;
  bool entry_ok(const Command& command, ByteView entry, bool of_host) const;
  bool attributes_ok(const Command& command, ByteView entry, bool of_host) const;
  bool addresses_ok(const Command& command, std::vector<RegisteredEntry>& entries) const;
  void carry_out(const Command& command, const std::vector<RegisteredEntry>& entries);

  std::uint64_t genctr_seen_ = 0;
  bool genctr_known_ = false;
};

}  // namespace fb::subsystem
