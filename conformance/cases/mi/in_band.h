// NVMe-MI commands of a host: NVMe-MI Send and Receive on the admin queue of a controller.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "conformance/runner/controller_bench.h"
#include "conformance/runner/managed_setup.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/health.h"
#include "wire/mi/message.h"
#include "wire/nvme/logs.h"

namespace fb::conformance {

inline std::optional<std::string> tunnels(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::nvme_mi) != 0) return {};
  return "OACS bit 6 (NVMe-MI Send and Receive) is clear";
}
/// NVMSR has the bits.
template <std::uint8_t Bits>
std::optional<std::string> is_subsystem(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::nvmsr) & Bits) == Bits) return {};
  return "NVMSR does not have the bits " + std::to_string(Bits);
}
inline constexpr std::uint8_t kStorageDevice = 1, kEnclosure = 2;

inline void set_in_band(EmbeddedSetup& setup) { setup.managed->in_band = true; }
inline const furnished having_in_band{&set_in_band};

/// The message header of an NVMe-MI command in band.
inline constexpr std::uint32_t kInBandHeader = 0x0804;
inline constexpr std::uint32_t kMeb = 1u << 16, kCiap = 1u << 17;
/// What the host's buffer holds before.
inline constexpr std::uint8_t kUntouched = 0xA5;
inline constexpr std::size_t kMostRoom = 4096;

constexpr std::size_t in_dwords(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

/// What came back: the NVMe completion, and the tunneled response that it stands for.
struct InBandAnswer {
  host::RawReply reply;

  mi::Status tunneled() const { return static_cast<mi::Status>(reply.dw0() & 0xFF); }
  std::uint32_t nmresp() const { return reply.dw0() >> 8; }
  bool ok() const { return reply.ok() && tunneled() == mi::Status::success; }
  /// The command is not there, which an optional one need not be.
  bool missing() const { return reply.ok() && tunneled() == mi::Status::invalid_opcode; }
  mi::ParameterError error_at() const {
    return {static_cast<std::uint16_t>(reply.dw0() >> 16), static_cast<std::uint8_t>(reply.dw0() >> 8 & 7)};
  }
  ByteView data(std::size_t bytes) const { return ByteView{reply.data}.first(std::min(bytes, reply.data.size())); }
  std::string describe() const {
    if (!reply.answered()) return "no response, the connection ended: " + reply.end->text;
    return reply.ok() ? fmt::format("tunneled status {}, NMRESP {:06x}h", mi::name_of(tunneled()), nmresp()) : words(reply.status());
  }
};

struct InBandTerms {
  std::uint32_t header = kInBandHeader;
  std::size_t room = kMostRoom;  ///< of Receive
};

inline host::RawCommand in_band_command(bool send, std::uint8_t opcode, std::uint32_t nmd0, std::uint32_t nmd1, ByteView data,
                                        const InBandTerms& terms = {}) {
  host::RawCommand command;
  command.sqe.set(nvme::sqe::opcode, static_cast<std::uint8_t>(send ? nvme::AdminOpcode::nvme_mi_send : nvme::AdminOpcode::nvme_mi_receive))
      .set(nvme::sqe::cdw10, terms.header)
      .set(nvme::sqe::cdw11, std::uint32_t{opcode})
      .set(nvme::sqe::cdw12, nmd0)
      .set(nvme::sqe::cdw13, nmd1);
  if (send && !data.empty()) {
    command.data.assign(data.begin(), data.end());
    command.data.resize(in_dwords(data.size()));
    command.direction = transport::Direction::to_controller;
  } else if (!send && terms.room != 0) {
    command.data.assign(terms.room, kUntouched);
    command.direction = transport::Direction::from_controller;
  }
  return command;
}

/// NVMe-MI commands on the admin queue of an association.
class InBandScene {
 public:
  explicit InBandScene(ControllerBench& bench, const AssociationOptions& options = {}) : association(bench.associate(options)) {}

  InBandAnswer receive(mi::Opcode opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, const InBandTerms& terms = {}) {
    return say(false, static_cast<std::uint8_t>(opcode), nmd0, nmd1, {}, terms);
  }
  InBandAnswer send(mi::Opcode opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, ByteView data = {}, const InBandTerms& terms = {}) {
    return say(true, static_cast<std::uint8_t>(opcode), nmd0, nmd1, data, terms);
  }
  InBandAnswer say(bool send, std::uint8_t opcode, std::uint32_t nmd0, std::uint32_t nmd1, ByteView data = {},
                   const InBandTerms& terms = {}) {
    return {association.admin().send_command(in_band_command(send, opcode, nmd0, nmd1, data, terms)).wait()};
  }
  InBandAnswer structure(mi::DataType type, std::uint16_t cntlid = 0, std::uint8_t port = 0, const InBandTerms& terms = {}) {
    const auto nmd0 = static_cast<std::uint32_t>(type) << 24 | std::uint32_t{port} << 16 | cntlid;
    return receive(mi::Opcode::read_data_structure, nmd0, 0, terms);
  }

  RawAssociation& association;
};

/// NVMe status Success, and this tunneled status.
inline bool tunneled_is(Check& check, const InBandAnswer& answer, const OneOf<mi::Status>& legal, const std::string& what) {
  return check.success(answer.reply, "NVMe status of " + what) && check.equal("tunneled status of " + what, answer.tunneled(), legal);
}
inline bool tunneled_success(Check& check, const InBandAnswer& answer, const std::string& what) {
  return tunneled_is(check, answer, one_of(mi::Status::success), what);
}
/// An answer, but none that says that it was done.
inline bool not_done(Check& check, const InBandAnswer& answer, const std::string& what) {
  return check.that(answer.reply.answered() && !answer.ok(), what + " is an error", answer.describe());
}
/// For what a case needs and does not judge: INCONCLUSIVE without it.
inline void needed(Check& check, const InBandAnswer& answer, const std::string& what) {
  if (!answer.ok()) check.inconclusive(what + ": " + answer.describe());
}

/// The structure with its padding taken off by the length that it tells; INCONCLUSIVE without it.
inline Bytes structure_of(InBandScene& scene, Check& check, mi::DataType type, std::uint16_t cntlid = 0, std::uint8_t port = 0) {
  const InBandAnswer answer = scene.structure(type, cntlid, port);
  needed(check, answer, "Read NVMe-MI Data Structure");
  const ByteView data = answer.data(answer.nmresp() & 0xFFFF);
  return {data.begin(), data.end()};
}
inline std::vector<std::uint16_t> controllers_of(InBandScene& scene, Check& check) {
  const auto ids = mi::parse_controller_list(structure_of(scene, check, mi::DataType::controller_list));
  check.precondition(ids && !ids->empty(), "a list of controllers");
  return *ids;
}

/// Of Controller Health Status Poll.
namespace chsp {
inline constexpr std::uint32_t kAll = 1u << 31, kEvery = 7u << 24, kMost = 254u << 16;
inline constexpr std::uint32_t kClear = 1u << 31;
inline constexpr std::size_t kEntry = mi::ControllerHealth::size;
}  // namespace chsp
/// Of NVM Subsystem Health Status Poll: CS.
inline constexpr std::uint32_t kClearStatus = 1u << 31;

/// The composite controller status; INCONCLUSIVE without it.
inline std::uint16_t composite_of(InBandScene& scene, Check& check, bool clear = false) {
  const InBandAnswer answer =
      scene.receive(mi::Opcode::subsystem_health_poll, 0, clear ? kClearStatus : 0, {.room = mi::SubsystemHealth::size});
  needed(check, answer, "NVM Subsystem Health Status Poll");
  return load_le<std::uint16_t>(answer.reply.data.data() + 4);
}
/// The Controller Health Status Changed Flags of all controllers: what sets a bit of the composite status is that one of these goes
/// from 0 to 1.
inline void clear_changed_flags(InBandScene& scene, Check& check) {
  needed(check, scene.receive(mi::Opcode::controller_health_poll, chsp::kAll | chsp::kEvery | chsp::kMost, chsp::kClear),
         "Controller Health Status Poll with CCF");
}
/// CC.EN to 0 and to 1 again.
inline void restart(RawAssociation& association) {
  association.disable();
  association.enable();
}

}  // namespace fb::conformance
