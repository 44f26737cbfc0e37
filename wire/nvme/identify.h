// The Identify command's selector values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fb::nvme {

enum class Cns : std::uint8_t {
  identify_namespace = 0x00,
  controller = 0x01,
  active_namespace_list = 0x02,
  namespace_id_descriptors = 0x03,
  nvm_set_list = 0x04,
  command_set_namespace = 0x05,
  command_set_controller = 0x06,
  command_set_active_namespace_list = 0x07,
  independent_namespace = 0x08,
  namespace_user_data_format = 0x09,
  command_set_user_data_format = 0x0A,
  allocated_namespace_list = 0x10,
  allocated_namespace = 0x11,
  namespace_controller_list = 0x12,
  controller_list = 0x13,
  primary_controller_capabilities = 0x14,
  secondary_controller_list = 0x15,
  namespace_granularity_list = 0x16,
  uuid_list = 0x17,
  domain_list = 0x18,
  endurance_group_list = 0x19,
  command_set_allocated_namespace_list = 0x1A,
  command_set_allocated_namespace = 0x1B,
  command_set_combinations = 0x1C,
  underlying_namespace_list = 0x1D,
  ports_list = 0x1E,
  allocated_independent_namespace = 0x1F,
  controller_state_formats = 0x20,
};

/// "Active Namespace ID List"; "Reserved" or "Vendor Specific" for others.
std::string_view cns_name(std::uint8_t cns);

enum class CommandSet : std::uint8_t {
  nvm = 0,
  key_value = 1,
  zoned = 2,
  subsystem_local_memory = 3,
  computational_programs = 4,
};

/// Every Identify data structure.
inline constexpr std::size_t kIdentifySize = 4096;

}  // namespace fb::nvme
