// The Key Value command set.
#pragma once

#include <map>

#include "model/subsystem/controller_part.h"
#include "wire/nvme/kv.h"

namespace fb::subsystem {

class KeyValueCommands : ControllerPart {
 public:
  using ControllerPart::ControllerPart;

  /// An I/O command to a key value namespace, or one that only the Key Value command set has. Flush and the reservation commands
  /// are those of all command sets.
  bool concerns(const Command& command) const;
  void start(const Command& command);
  /// In the effects log of the command set.
  bool supported(std::uint8_t opcode) const;
  /// The data of a Store has come.
  void take_data(const Command& command);
  /// Format NVM with this number fits the namespace. False: the command has been answered.
  bool format_fits(const Command& command, std::size_t index);
  void format_one(const Command& command, Namespace& ns);
  void format(Namespace& ns, std::size_t index);
  void set_delete_fails(Namespace& ns, bool on);
  /// NUSE.
  std::uint64_t bytes_in_use(const Namespace& ns) const;
  void on_reset();
  void on_end();

 private:
  Namespace* key_value_namespace(const Command& command) const;
  /// Those of the namespace.
  KeyValueStore& pairs_of(Namespace& ns) const;
  bool key_fits(const Command& command, const KeyValueStore& pairs);
  nvme::KvKey key_of(const Command& command) const;
  bool reservation_permits(const Command& command, const Namespace& ns);
  bool writable(const Command& command, const Namespace& ns);
  bool store_permitted(const Command& command, Namespace& ns);
  void store(const Command& command, Namespace& ns);
  void store_data(const Command& command, Namespace& ns, ByteView value);
  void retrieve(const Command& command, Namespace& ns);
  void delete_key(const Command& command, Namespace& ns);
  void exist(const Command& command, Namespace& ns);
  void list(const Command& command, Namespace& ns);
  std::vector<nvme::KvKey> keys_to_list(const Command& command, Namespace& ns);
  void lose_all();

  // What deviations remember.
  std::map<std::uint32_t, std::uint64_t> nuse_above_, nuse_below_;  ///< by NSID
  std::map<nvme::KvKey, Bytes> deleted_;
  nvme::KvKey last_deleted_;
  bool reversed_ = false;
};

}  // namespace fb::subsystem
