// Namespaces, their blocks, and the health of the subsystem.
#include "base/or_throw.h"
#include "cli/control/target_control.h"
#include "cli/control/target_parameters.h"
#include "cli/control/target_words.h"

namespace fb::cli {

using subsystem::Namespace;
using subsystem::Subsystem;

namespace {

nlohmann::ordered_json namespace_json(const Namespace& space) {
  return {{"nsid", space.nsid()},
          {"blocks", space.blocks()},
          {"block_bytes", space.layout().data_bytes},
          {"metadata_bytes", space.layout().metadata_bytes},
          {"protection_type", space.layout().protection_type},
          {"ana_group", space.ana_group()},
          {"zoned", space.zoned()},
          {"write_protected", space.write_protection() != 0},
          {"reads", space.totals().reads},
          {"writes", space.totals().writes},
          {"bytes_read", space.totals().bytes_read},
          {"bytes_written", space.totals().bytes_written}};
}

RpcParameter first_block() {
  return {.name = "lba", .type = RpcParameter::Type::number, .description = "First logical block", .required = true};
}
RpcParameter block_count() { return a_number("blocks", "Number of blocks (1)", 1, 1u << 20); }

struct Range {
  std::uint64_t lba, blocks;
};

Range range_in(const Namespace& space, const RpcArguments& arguments) {
  const Range range = {arguments.number("lba"), arguments.number("blocks", 1)};
  if (!space.in_range(range.lba, range.blocks)) {
    fail("blocks " + std::to_string(range.lba) + " + " + std::to_string(range.blocks) + " are beyond the namespace's " +
         std::to_string(space.blocks()));
  }
  return range;
}

std::size_t zone_at(const Namespace& space, const RpcArguments& arguments) {
  if (!space.zoned()) fail("namespace " + std::to_string(space.nsid()) + " is not zoned");
  const std::uint64_t lba = arguments.number("lba");
  if (!space.in_range(lba, 1)) fail("block " + std::to_string(lba) + " is beyond the namespace");
  return space.zones()->index_of(lba);
}

std::string hex_of(ByteView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

}  // namespace

void TargetControl::add_namespace_methods() {
  rpc_.add({"namespace.list", "Namespaces of a subsystem", {of_subsystem()}, [this](const RpcArguments& arguments) {
              Json all = Json::array();
              for (const auto& [nsid, space] : subsystem_of(arguments).namespaces()) all.push_back(namespace_json(*space));
              return all;
            }});
  rpc_.add({"namespace.add",
            "Add a namespace; hosts are notified",
            {of_subsystem(), a_text("spec", "What --namespace takes, such as 64M,bs=4096", true),
             a_number("nsid", "Namespace identifier; left out: the lowest that is free", 1, 0xFFFFFFFE),
             a_number("ana_group", "ANA group (1)", 1, 0xFFFFFFFF), a_flag("attached", "Attach it to every controller (true)"),
             a_flag("shared", "Several controllers can attach it (true)")},
            [this](const RpcArguments& arguments) {
              Subsystem& subsystem = subsystem_of(arguments);
              subsystem::NamespaceOptions options = namespace_from(arguments.text("spec"));
              if (options.key_value_bytes != 0 && !subsystem.options().key_value.supported) {
                fail("the subsystem cannot hold key value namespaces: add one with key_value=true");
              }
              if (options.zones.zone_blocks != 0 && !subsystem.options().zoned.supported) {
                fail("the subsystem cannot hold zoned namespaces: add one with zoned=true");
              }
              options.nsid = static_cast<std::uint32_t>(arguments.number("nsid"));
              options.ana_group = static_cast<std::uint32_t>(arguments.number("ana_group", 1));
              if (options.ana_group > subsystem.options().ana_groups_max) {
                fail("ana_group: the subsystem has " + std::to_string(subsystem.options().ana_groups_max) + " groups");
              }
              options.attached = arguments.flag("attached", true);
              options.shared = arguments.flag("shared", true);
              // Names are not used again: a host could take the new namespace for the old one.
              options.incarnation = subsystem.incarnations(options.nsid != 0 ? options.nsid : subsystem.free_nsid());
              return namespace_json(*or_throw(subsystem.add_namespace(std::move(options))));
            }});
  rpc_.add({"namespace.remove",
            "Delete a namespace; hosts are notified",
            {of_subsystem(), of_namespace()},
            [this](const RpcArguments& arguments) {
              const std::uint32_t nsid = namespace_of(arguments).nsid();
              return subsystem_of(arguments).remove_namespace(nsid);
            }});
  rpc_.add({"namespace.resize",
            "Change the size of a namespace, up to that of its store; hosts are notified",
            {of_subsystem(),
             of_namespace(),
             {.name = "size", .type = RpcParameter::Type::size, .description = "New size in bytes of data", .required = true, .low = 1}},
            [this](const RpcArguments& arguments) {
              Namespace& space = namespace_of(arguments);
              const std::uint64_t bytes = arguments.size("size");
              if (bytes % space.layout().data_bytes != 0) fail("size: not a whole number of blocks");
              if (!subsystem_of(arguments).resize_namespace(space.nsid(), bytes / space.layout().data_bytes)) {
                fail("namespace " + std::to_string(space.nsid()) + " cannot have that size");
              }
              return namespace_json(space);
            }});
  const auto attach = [this](bool attached) {
    return [this, attached](const RpcArguments& arguments) {
      Namespace& space = namespace_of(arguments);
      subsystem_of(arguments).set_attached(space, controller_of(arguments), attached);
      return true;
    };
  };
  rpc_.add({"namespace.attach",
            "Attach a namespace to a controller; its host is notified",
            {of_subsystem(), of_namespace(), of_controller()},
            attach(true)});
  rpc_.add({"namespace.detach",
            "Detach a namespace from a controller; its host is notified",
            {of_subsystem(), of_namespace(), of_controller()},
            attach(false)});
  rpc_.add({"namespace.protect",
            "Switch write protection",
            {of_subsystem(), of_namespace(), a_flag("on", "On or off", true)},
            [this](const RpcArguments& arguments) {
              namespace_of(arguments).set_write_protection(arguments.flag("on") ? 1 : 0);
              return true;
            }});
  rpc_.add({"namespace.spoil",
            "Make blocks unreadable until they are written again (Unrecovered Read Error)",
            {of_subsystem(), of_namespace(), first_block(), block_count(), a_flag("silent", "Hosts are not notified (false)"),
             a_flag("unnoticed", "The product does not know which blocks are lost before it looks (false)")},
            [this](const RpcArguments& arguments) {
              Namespace& space = namespace_of(arguments);
              const Range range = range_in(space, arguments);
              if (arguments.flag("unnoticed")) {
                subsystem_of(arguments).fail_media(space, range.lba, range.blocks);
              } else if (arguments.flag("silent")) {
                space.damage(range.lba, range.blocks, false);
              } else {
                subsystem_of(arguments).damage_blocks(space, range.lba, range.blocks);
              }
              return true;
            }});
  rpc_.add({"namespace.corrupt",
            "Change one byte of a block that is stored: silent data corruption",
            {of_subsystem(), of_namespace(), first_block(), a_number("offset", "Byte of the block (0)", 0, 0xFFFF)},
            [this](const RpcArguments& arguments) {
              Namespace& space = namespace_of(arguments);
              const Range range = range_in(space, arguments);
              Bytes block(space.block_bytes());
              const std::uint64_t offset = arguments.number("offset");
              if (offset >= block.size()) fail("offset: the block has " + std::to_string(block.size()) + " bytes");
              const std::uint64_t at = range.lba * block.size();
              or_throw(space.store().read(at, block));
              block[offset] ^= 0xFF;
              or_throw(space.store().write(at, block));
              return true;
            }});
  rpc_.add({"namespace.read",
            "Blocks as they are stored, in hexadecimal digits",
            {of_subsystem(), of_namespace(), first_block(), a_number("blocks", "Number of blocks (1)", 1, 64)},
            [this](const RpcArguments& arguments) {
              Namespace& space = namespace_of(arguments);
              const Range range = range_in(space, arguments);
              Bytes data(range.blocks * space.block_bytes());
              const nvme::Status status = space.read(range.lba, data);
              if (!status.ok()) fail(to_string(status));
              return hex_of(data);
            }});
  rpc_.add({"namespace.write",
            "Store blocks behind the back of hosts",
            {of_subsystem(), of_namespace(), first_block(), a_text("data", "Whole blocks in hexadecimal digits", true)},
            [this](const RpcArguments& arguments) {
              Namespace& space = namespace_of(arguments);
              Bytes data = from_hex(arguments.text("data"));
              if (data.empty()) fail("data: not in hexadecimal digits");
              if (data.size() % space.block_bytes() != 0) {
                fail("data: " + std::to_string(data.size()) + " bytes are no whole blocks of " + std::to_string(space.block_bytes()));
              }
              const std::uint64_t lba = arguments.number("lba"), blocks = data.size() / space.block_bytes();
              if (!space.in_range(lba, blocks)) fail("lba: beyond the namespace's " + std::to_string(space.blocks()) + " blocks");
              const nvme::Status status = space.write(lba, data);
              if (!status.ok()) fail(to_string(status));
              return true;
            }});
  rpc_.add({"zone.offline",
            "Take the zone of a block offline; hosts are notified",
            {of_subsystem(), of_namespace(), first_block()},
            [this](const RpcArguments& arguments) {
              Namespace& space = namespace_of(arguments);
              subsystem_of(arguments).take_zone_offline(space, zone_at(space, arguments));
              return true;
            }});
  rpc_.add({"zone.read_only",
            "Make the zone of a block read only; hosts are notified",
            {of_subsystem(), of_namespace(), first_block()},
            [this](const RpcArguments& arguments) {
              Namespace& space = namespace_of(arguments);
              subsystem_of(arguments).make_zone_read_only(space, zone_at(space, arguments));
              return true;
            }});
}

void TargetControl::add_health_methods() {
  rpc_.add({"health.get", "What the SMART log says", {of_subsystem()}, [this](const RpcArguments& arguments) {
              const Subsystem& subsystem = subsystem_of(arguments);
              return Json{{"temperature", subsystem.temperature()},
                          {"critical_warning", subsystem.critical_warning()},
                          {"available_spare", subsystem.available_spare()},
                          {"percentage_used", subsystem.percentage_used()}};
            }});
  rpc_.add({"health.set",
            "Change what the SMART log says; hosts get the events that follow from it",
            {of_subsystem(), a_number("temperature", "Composite temperature in kelvins", 0, 0xFFFF),
             a_number("critical_warning", "Bits of the critical warning", 0, 0x3F), a_number("available_spare", "Percent", 0, 100),
             a_number("percentage_used", "Percent; it may pass 100", 0, 255)},
            [this](const RpcArguments& arguments) {
              Subsystem& subsystem = subsystem_of(arguments);
              if (const auto value = arguments.maybe<std::uint16_t>("temperature")) subsystem.set_temperature(*value);
              if (const auto value = arguments.maybe<std::uint8_t>("available_spare")) subsystem.set_available_spare(*value);
              if (const auto value = arguments.maybe<std::uint8_t>("percentage_used")) subsystem.set_percentage_used(*value);
              if (const auto value = arguments.maybe<std::uint8_t>("critical_warning")) subsystem.set_critical_warning(*value);
              return true;
            }});
}

}  // namespace fb::cli
