// Requests that the cases on commands, tunnels and events are made of, and verdicts over their answers.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "conformance/cases/mi/exchange.h"
#include "wire/mi/vpd.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/identify_controller.h"

namespace fb::conformance {

inline constexpr std::uint32_t kNoNamespace = 0;

/// The endpoint's port can do more than the baseline.
inline std::optional<std::string> larger_units(const Declared& declared) {
  if (declared.endpoint.unit_max() > mctp::kBaselineUnit) return std::nullopt;
  return "the port has no transmission unit above 64 bytes";
}

// ---- verdicts ----

/// Success with exactly so many bytes of data.
inline bool success_with(Check& check, const MiAnswer& answer, std::size_t bytes, std::string_view what) {
  if (!success(check, answer, what)) return false;
  return check.equal("bytes of data of " + std::string(what), answer.data().size(), bytes);
}
/// One of these statuses, in the eight bytes of an error response.
inline bool refused(Check& check, const MiAnswer& answer, const OneOf<mi::Status>& legal, std::string_view what) {
  if (!status_is(check, answer, legal, what)) return false;
  return check.equal("bytes of the response to " + std::string(what), answer.body.size(), mi::kResponseMin);
}
inline bool refused(Check& check, const MiAnswer& answer, mi::Status legal, std::string_view what) {
  return refused(check, answer, one_of(legal), what);
}
/// Invalid Parameter that points at the lowest bit of the field that begins with this byte.
inline bool refused_at(Check& check, const MiAnswer& answer, std::uint16_t byte, std::string_view what) {
  if (!refused(check, answer, mi::Status::invalid_parameter, what)) return false;
  return check.equal("parameter error location of " + std::string(what), answer.error_at(), mi::ParameterError{byte, 0});
}
/// Data where none belongs: which of the two sizes is wrong, is left to the product.
inline bool size_refused(Check& check, const MiAnswer& answer, std::string_view what) {
  return refused(check, answer, one_of(mi::Status::invalid_command_size, mi::Status::invalid_data_size), what);
}
/// An Admin command that failed at either level, without data.
inline bool admin_refused(Check& check, const MiAnswer& answer, std::string_view what) {
  if (!answer.answered() || !answer.mic_good) {
    check.fails(what, {"a refusal, by NVMe-MI or in the completion"}, answer.describe());
    return false;
  }
  if (!answer.ok()) {
    return check.equal("bytes of the response to " + std::string(what), answer.body.size(), mi::kResponseMin);
  }
  const bool no = check.that(!answer.admin_ok(), std::string(what) + " is refused", "it succeeded");
  return check.equal("data of " + std::string(what), answer.admin_data().size(), 0u) && no;
}

// ---- MI commands ----

inline MiAnswer configure(EndpointBench& bench, mi::ConfigurationId id, std::uint32_t rest = 0, std::uint32_t nmd1 = 0) {
  return bench.command(mi::Opcode::configuration_set, static_cast<std::uint32_t>(id) | rest, nmd1);
}
inline MiAnswer configuration(EndpointBench& bench, mi::ConfigurationId id, std::uint32_t rest = 0) {
  return bench.command(mi::Opcode::configuration_get, static_cast<std::uint32_t>(id) | rest);
}
constexpr std::uint32_t port_bits(unsigned port) { return static_cast<std::uint32_t>(port) << 24; }

inline MiAnswer vpd_read(EndpointBench& bench, std::uint16_t offset, std::uint16_t length, const MiTerms& terms = {}) {
  return bench.command(mi::Opcode::vpd_read, offset, length, {}, terms);
}
inline MiAnswer vpd_write(EndpointBench& bench, std::uint16_t offset, std::uint16_t length, ByteView data, const MiTerms& terms = {}) {
  return bench.command(mi::Opcode::vpd_write, offset, length, data, terms);
}
/// How many bytes of VPD there are, by where reading one of them ceases to succeed.
inline std::uint32_t vpd_size(EndpointBench& bench, Check& check) {
  precondition(check, vpd_read(bench, 0, 1), "VPD Read of one byte");
  std::uint32_t readable = 0, end = 0x10000;
  while (end - readable > 1) {
    const std::uint32_t middle = (readable + end) / 2;
    (vpd_read(bench, static_cast<std::uint16_t>(middle), 1).ok() ? readable : end) = middle;
  }
  return end;
}
/// The whole VPD, in the largest pieces that a message holds.
inline Bytes whole_vpd(EndpointBench& bench, Check& check) {
  const std::uint32_t size = vpd_size(bench, check);
  check.precondition(size >= 256, "the VPD has 256 bytes");
  Bytes image;
  while (image.size() < size) {
    const std::size_t piece = std::min<std::size_t>(size - image.size(), mi::kDataMax);
    const MiAnswer answer = vpd_read(bench, static_cast<std::uint16_t>(image.size()), static_cast<std::uint16_t>(piece));
    precondition(check, answer, "VPD Read");
    if (answer.data().size() != piece) check.inconclusive("VPD Read returns another length than was asked for");
    image.insert(image.end(), answer.data().begin(), answer.data().end());
  }
  return image;
}

/// A VPD that is read-only denies every write, and a product is free to say so first: INCONCLUSIVE then.
/// Asked with the last four bytes as they are, once a write was denied.
inline void unless_read_only(EndpointBench& bench, Check& check, const Bytes& image, const MiAnswer& answer) {
  if (!answer.answered() || answer.status() != mi::Status::access_denied) return;
  const auto last = static_cast<std::uint16_t>(image.size() - 4);
  const MiAnswer again = vpd_write(bench, last, 4, ByteView{image}.last(4));
  if (again.answered() && again.status() == mi::Status::access_denied) check.inconclusive("the VPD is read-only");
}

inline MiAnswer buffer_read(EndpointBench& bench, std::uint32_t offset, std::uint32_t length) {
  return bench.command(mi::Opcode::buffer_read, offset, length);
}
inline MiAnswer buffer_write(EndpointBench& bench, std::uint32_t offset, ByteView data) {
  return bench.command(mi::Opcode::buffer_write, offset, static_cast<std::uint32_t>(data.size()), data);
}
/// `size` bytes that differ from their neighbours, from those of another `seed`, and from zero.
inline Bytes pattern_of(std::size_t size, unsigned seed) {
  Bytes made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::uint8_t>((i * 7 + i / 251 + seed * 31) % 255 + 1);
  return made;
}

/// The Controller Health Status Changed Flags of all controllers: what sets a bit of the composite status is that one of these goes
/// from 0 to 1.
inline void clear_changed_flags(EndpointBench& bench, Check& check) {
  constexpr std::uint32_t kAllControllers = 1u << 31 | 7u << 24 | 254u << 16, kClearFlags = 1u << 31;
  precondition(check, bench.command(mi::Opcode::controller_health_poll, kAllControllers, kClearFlags),
               "Controller Health Status Poll with CCF");
}
/// The eight bytes of the subsystem's health.
inline Bytes health(EndpointBench& bench, Check& check, bool clear = false) {
  const MiAnswer answer = bench.command(mi::Opcode::subsystem_health_poll, 0, clear ? 0x80000000u : 0u);
  precondition(check, answer, "NVM Subsystem Health Status Poll");
  check.precondition(answer.data().size() == mi::SubsystemHealth::size, "the health poll has eight bytes");
  return {answer.data().begin(), answer.data().end()};
}

// ---- Admin commands ----

inline nvme::Sqe admin_command(nvme::AdminOpcode opcode, std::uint32_t cdw10 = 0, std::uint32_t nsid = kNoNamespace) {
  nvme::Sqe made;
  made.set(nvme::sqe::opcode, static_cast<std::uint8_t>(opcode)).set(nvme::sqe::cdw10, cdw10).set(nvme::sqe::nsid, nsid);
  return made;
}
inline nvme::Sqe identify_controller_command() {
  return admin_command(nvme::AdminOpcode::identify, static_cast<std::uint32_t>(nvme::Cns::controller));
}
inline nvme::Sqe log_command(std::uint8_t lid, std::uint64_t offset, std::uint32_t length, std::uint32_t nsid = kNoNamespace) {
  Record<nvme::GetLogPageSqe> made;
  made.set(nvme::sqe::opcode, static_cast<std::uint8_t>(nvme::AdminOpcode::get_log_page))
      .set(nvme::sqe::nsid, nsid)
      .set(nvme::get_log_sqe::lid, lid);
  nvme::set_log_range(made, offset, length);
  return nvme::Sqe{made.bytes()};
}
/// The first controller that the product lists. INCONCLUSIVE without one.
inline std::uint16_t a_controller(const EndpointBench& bench, Check& check) {
  if (bench.declared().controllers.empty()) check.inconclusive("the product lists no controller");
  return bench.declared().controllers.front();
}
/// Identifiers that no controller has: behind the last one, and the largest. Not 0: products are known to
/// take it for their first.
inline std::vector<std::uint16_t> unknown_controllers(const EndpointBench& bench) {
  const auto& known = bench.declared().controllers;
  std::vector<std::uint16_t> unknown;
  const unsigned last = known.empty() ? 0u : *std::max_element(known.begin(), known.end());
  for (const unsigned id : {last + 1, 0x1000u, 0xFFF0u, 0xFFFFu}) {
    const auto candidate = static_cast<std::uint16_t>(id);
    if (std::find(known.begin(), known.end(), candidate) == known.end() && candidate != 0) unknown.push_back(candidate);
  }
  return unknown;
}
/// Identify Controller, whole. INCONCLUSIVE without it.
inline Bytes identity(EndpointBench& bench, Check& check, std::uint16_t cntlid) {
  const MiAnswer answer = bench.admin(cntlid, identify_controller_command(), 0, mi::kDataMax);
  if (!answer.admin_ok() || answer.admin_data().size() != mi::kDataMax) {
    check.inconclusive("Identify Controller: " + answer.describe());
  }
  return {answer.admin_data().begin(), answer.admin_data().end()};
}

// ---- resets ----

/// After a reset of the subsystem: the endpoint is waited for, and given its EID again (behind a kernel its bus
/// owner does so). INCONCLUSIVE when it does not come back.
inline void wait_for_eid(EndpointBench& bench, Check& check) {
  constexpr int kTries = 30;
  const ControlTerms anybody{.destination = mctp::kNullEid};
  for (int i = 0; i < kTries; ++i) {
    const bool there = bench.declared().control
                           ? bench.control(mctp::control::Command::get_endpoint_id, {}, anybody).answered()
                           : bench.primitive(mi::Primitive::get_state, 0, 0, 1, {.tag = 7, .within = Duration::s(1)}).answered();
    if (!there) continue;
    bench.assign();
    return;
  }
  check.inconclusive("the endpoint does not come back from the reset");
}
/// The same, until it serves NVMe-MI; false when it never does.
inline bool serves_again(EndpointBench& bench, Check& check) {
  wait_for_eid(bench, check);
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    if (bench.command(mi::Opcode::read_data_structure, 0, 0, {}, {.within = Duration::s(1)}).ok()) return true;
  }
  return false;
}
/// Resets the subsystem with the Reset command, and has the endpoint back.
inline void reset_and_return(EndpointBench& bench, Check& check) {
  bench.say(mi_message(static_cast<std::uint8_t>(mi::Opcode::reset)));
  bench.silent();
  if (!serves_again(bench, check)) check.inconclusive("the endpoint does not serve NVMe-MI after the reset");
}

}  // namespace fb::conformance
