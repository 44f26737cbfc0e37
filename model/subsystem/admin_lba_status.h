// Get LBA Status, its log page and its feature.
#pragma once

#include <map>

#include "model/subsystem/controller_part.h"
#include "model/subsystem/block_ranges.h"

namespace fb::subsystem {

class LbaStatusCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  void get_lba_status(const Command& command);
  Bytes log_lba_status(const Command& command);
  void release_lba_status();
  void reset_lba_status();
  void announce_lba_status();
  std::uint32_t lba_status_attributes(const ControllerFeatures& from) const;
  void set_lba_status_attributes(const Command& command, std::uint32_t value);

 private:
  friend class Controller;

  Bytes make_lba_status_log() const;

  std::uint16_t lba_status_generation_ = 0;
  bool lba_status_news_ = false;  ///< something that the host has not read
  Bytes lba_status_page_;         ///< what a host is reading; empty: nobody does
  /// By NSID: where a scan has been asked for, until the host has read so.
  std::map<std::uint32_t, BlockRanges> media_failures_;
  Timer<LbaStatusCommands, &LbaStatusCommands::announce_lba_status> lba_status_timer_{"subsystem.lba_status", *this};
};

}  // namespace fb::subsystem
