// Firmware Image Download and Firmware Commit.
#pragma once

#include "model/subsystem/controller_part.h"
#include "model/subsystem/firmware.h"

namespace fb::subsystem {

class FirmwareCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void firmware_download(const Command& command);
  void firmware_download_data(const Command& command);
  void firmware_commit(const Command& command);
  void reset_firmware();

 private:
  friend class Controller;

  FirmwareDownload download_;
};

}  // namespace fb::subsystem
