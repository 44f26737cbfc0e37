#include "model/drive/drive.h"

#include <utility>

#include "base/result.h"

namespace fb::mi {

mctp::DeviceOptions drive_node_options() {
  mctp::DeviceOptions made;
  made.uuid = mctp::control::Uuid{0x5e, 0x27, 0x1c, 0x0a, 0x41, 0x90, 0x4f, 0x6b, 0x9d, 0x13, 0x7a, 0x55, 0x08, 0xe2, 0xbc, 0x31};
  made.types = {
      {.type = static_cast<std::uint8_t>(mctp::MessageType::nvme_mi), .versions = {{0xF2, 0xF0, 0xFF, 0}}}};  // as DeviceOptions::revision
  return made;
}

namespace {

/// The device reads its capacity from them.
subsystem::Subsystem& with(subsystem::Subsystem& subsystem, std::vector<subsystem::NamespaceOptions>& namespaces) {
  for (subsystem::NamespaceOptions& one : namespaces) {
    const auto added = subsystem.add_namespace(std::move(one));
    if (!added) throw UserError("the drive's namespace: " + added.error().text);
  }
  return subsystem;
}

}  // namespace

Drive::Drive(World& world, mctp::SimpleDevice& node, DriveOptions options, const DriveHooks& hooks)
    : node_(node),
      subsystem_(world, options.subsystem, hooks.subsystem),
      device_(with(subsystem_, options.namespaces), options.device),
      endpoint_(world, device_, node.endpoint(), options.endpoint, hooks.endpoint) {
  node.endpoint().set_hooks(hooks.mctp);
  endpoint_.set_on_reset([this, keeps = options.reset_keeps_eid] {
    if (keeps) {
      node_.endpoint().reset();
    } else {
      node_.reset();
    }
  });
}

}  // namespace fb::mi
