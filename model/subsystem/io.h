// The NVM command set: addressing, media, protection information, fused pairs and the write cache.
#pragma once

#include "model/subsystem/controller_part.h"
#include "wire/nvme/protection.h"

namespace fb::subsystem {

/// What a command of the NVM command set addresses.
struct IoTarget {
  Namespace* ns = nullptr;  ///< null only when a deviation skipped the check
  std::uint64_t slba = 0;
  std::uint32_t blocks = 0;
  bool in_range = false;
  bool strips = false;    ///< the controller inserts and strips protection information
  bool remaps = false;    ///< reference tags are to say where Zone Append has put the blocks
  std::size_t bytes = 0;  ///< that Read, Write and Compare move
};

class IoCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  bool on_fuse(const Command& command);
  void on_fused_data(const Command& command);
  bool io_supported(std::uint8_t opcode) const;
  void start_io(const Command& command);
  bool find_namespace(const Command& command, Namespace*& ns);
  /// What this controller's port has to the namespace's ANA group; optimized where there is no ANA.
  nvme::AnaState ana_state_of(const Namespace& ns) const;
  /// An attached namespace that cannot be reached here now; null: there is none.
  const Namespace* unreachable_namespace() const;
  bool check_path(const Command& command, const Namespace& ns);
  bool find_target(const Command& command, IoTarget& target);
  IoTarget target_of(const Command& command, Namespace* ns);
  bool check_io(const Command& command, IoTarget& target);
  bool writable(const Command& command, const Namespace* ns);
  void count_io(Namespace& ns, std::size_t bytes, bool write);
  void write(const Command& command);
  void store(const Command& command, const IoTarget& target, MutableBytes whole, std::uint64_t result);
  void compare(const Command& command);
  void dataset_management_data(const Command& command);
  nvme::Status after_write(Namespace& ns, std::uint64_t slba, std::uint64_t count, bool fua);
  nvme::Status set_write_cache(bool on);
  bool check_protection_order(const Command& command, const IoTarget& target);
  bool check_tags_from(const Command& command, const nvme::BlockLayout& layout, ByteView whole, const nvme::ProtectionChecks& checks,
                       nvme::ProtectionTags tags, std::uint64_t lba);
  bool take_protected(const Command& command, const IoTarget& target, MutableBytes& whole);

 private:
  friend class Controller;

  void break_fused(Queue& queue);
  bool compares_atomically(const Namespace* ns, std::uint64_t slba, std::uint64_t blocks) const;
  void start_fused(const Command& first, const Command& second);
  void read(const Command& command, const IoTarget& target);
  bool compare_data(const Command& command, const IoTarget& target);
  void write_zeroes(const Command& command, const IoTarget& target);
  void write_uncorrectable(const Command& command, const IoTarget& target);
  void verify(const Command& command, const IoTarget& target);
  void flush(const Command& command);
  void dataset_management(const Command& command, Namespace* ns);
  bool commit_before(const Command& command, const IoTarget& target);
  nvme::ProtectionTags expected_tags(const Command& command, const Namespace& ns) const;
  bool check_blocks(const Command& command, const IoTarget& target, ByteView whole);
  void read_protected(const Command& command, const IoTarget& target);
  bool compare_protected(const Command& command, const IoTarget& target);
  bool verify_protected(const Command& command, const IoTarget& target);
  nvme::Status zero_protected(const Command& command, const IoTarget& target);
};

}  // namespace fb::subsystem
