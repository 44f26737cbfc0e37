#include <fabricbench/bus.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/parts.h"
#include "base/or_throw.h"
#include "model/drive/drive.h"
#include "model/drive/variants.h"
#include "model/mi/requester.h"
#include "sim/fault/frame_faults.h"
#include "sim/mctp/network.h"

namespace fabricbench {

namespace {

struct Drive {
  std::unique_ptr<fb::subsystem::SubsystemHooks> subsystem_hooks;
  std::unique_ptr<fb::mi::EndpointHooks> endpoint_hooks;
  std::unique_ptr<fb::mctp::EndpointHooks> mctp_hooks;
  std::unique_ptr<fb::mi::Drive> drive;
};

MiReply reply_of(const fb::mi::Reply& reply) {
  MiReply made;
  made.answered = reply.outcome == fb::mi::Outcome::answered;
  made.message = reply.message;
  if (reply.outcome == fb::mi::Outcome::timed_out) {
    made.text = "no answer";
  } else if (reply.violation) {
    made.text = fb::mi::to_string(*reply.violation);
  } else {
    made.status = static_cast<std::uint8_t>(reply.status());
    made.text = fb::mi::name_of(reply.status());
  }
  return made;
}

}  // namespace

struct Bus::Part {
  explicit Part(fb::World& of) : world(of), network(of) {}
  fb::World& world;
  fb::mctp::Network network;
  std::unique_ptr<fb::fault::FrameFaults> faults;
  std::size_t segment = 0;
  std::vector<std::unique_ptr<Drive>> drives;
  std::unique_ptr<fb::mi::Requester> requester;

  fb::mctp::PhysicalAddress next_address() {
    if (network.segment(segment).smbus() != nullptr) {
      constexpr std::uint8_t kFirst = 0x3A;
      return fb::mctp::smbus_address(static_cast<std::uint8_t>(kFirst + 2 * drives.size()));
    }
    if (network.segment(segment).pcie() != nullptr) return fb::mctp::pcie_address(static_cast<std::uint16_t>(0x100 * (drives.size() + 1)));
    return {};
  }
};

Bus World::add_bus(const std::string& medium) {
  return guarded([&] {
    auto made = std::make_unique<Bus::Part>(*part_->world);
    fb::fault::FrameShape shape{};
    if (medium == "smbus") {
      made->segment = made->network.add_smbus({.name = "bus"});
      shape = fb::fault::FrameShape::smbus;
    } else if (medium == "pcie") {
      made->segment = made->network.add_pcie({.name = "bus"});
      shape = fb::fault::FrameShape::pcie;
    } else if (medium == "serial") {
      made->segment = made->network.add_serial({.name = "bus"});
      shape = fb::fault::FrameShape::serial;
    } else {
      throw Error("medium: '" + medium + "'; there are smbus, pcie and serial");
    }
    if (part_->faults.points() != nullptr) {
      made->faults = std::make_unique<fb::fault::FrameFaults>(*part_->faults.points(), "bus", shape);
      made->network.segment(made->segment).set_filter(made->faults.get());
    }
    return Bus(part_->keep(std::move(made)));
  });
}

std::uint8_t Bus::add_drive(const DriveOptions& options) {
  return guarded([&] {
    constexpr std::size_t kMost = 32;
    const bool serial = part_->network.segment(part_->segment).serial() != nullptr;
    if (part_->drives.size() == (serial ? 1 : kMost)) throw Error("the bus has no place for another drive");
    fb::mi::DriveOptions chosen;
    if (!options.kind.empty()) {
      const fb::mi::DriveVariant* const found = fb::mi::find_drive_variant(options.kind);
      if (found == nullptr) throw Error("no kind of drive is called '" + options.kind + "'");
      found->vary(chosen);
    }
    chosen.endpoint.port = part_->network.segment(part_->segment).pcie() != nullptr ? 0 : 1;
    using enum fb::deviations::Product;
    auto side = std::make_unique<Drive>();
    const auto deviations = deviations_named(options.deviations, {endpoint, controller}, {"smbus", "pcie", "serial"});
    deviations.alter(chosen);
    side->subsystem_hooks = deviations.subsystem_hooks();
    side->endpoint_hooks = deviations.endpoint_hooks();
    side->mctp_hooks = deviations.mctp_hooks(endpoint);
    fb::mctp::SimpleDevice& node = part_->network.add_endpoint(part_->segment, part_->next_address(), chosen.node, chosen.end);
    side->drive = std::make_unique<fb::mi::Drive>(
        part_->world, node, std::move(chosen),
        fb::mi::DriveHooks{side->subsystem_hooks.get(), side->endpoint_hooks.get(), side->mctp_hooks.get()});
    part_->drives.push_back(std::move(side));
    part_->network.enumerate();
    if (part_->requester == nullptr) part_->requester = std::make_unique<fb::mi::Requester>(part_->world, part_->network.port());
    return node.endpoint().eid();
  });
}

namespace {

void check_drives(bool there) {
  if (!there) throw Error("the bus has no drive: add_drive() comes first");
}

}  // namespace

MiReply Bus::command(std::uint8_t eid, std::uint8_t opcode, std::uint32_t nmd0, std::uint32_t nmd1, const Bytes& data) {
  return guarded([&] {
    check_drives(part_->requester != nullptr);
    return reply_of(part_->requester->command(eid, static_cast<fb::mi::Opcode>(opcode), nmd0, nmd1, data).wait());
  });
}

MiReply Bus::request(std::uint8_t eid, const Bytes& body) {
  return guarded([&] {
    check_drives(part_->requester != nullptr);
    return reply_of(part_->requester->request(eid, body).wait());
  });
}

MiReply Bus::admin(std::uint8_t eid, std::uint16_t cntlid, const Command& command, std::uint32_t length) {
  return guarded([&] {
    check_drives(part_->requester != nullptr);
    fb::mi::Requester::AdminTerms terms;
    terms.dlen = length;
    return reply_of(part_->requester->admin(eid, cntlid, sqe_of(command), terms).wait());
  });
}

}  // namespace fabricbench
