// What the controller cases of the Fabrics area share: queues before Connect, and replies that may be
// the end of the connection.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "conformance/runner/controller_bench.h"
#include "conformance/runner/real_time.h"

namespace fb::conformance::fabrics_cases {

namespace cs = fabrics::connect_sqe;
namespace cd = fabrics::connect_data;
namespace prop = fabrics::property;

/// A reply that must be a response: the end of the connection is a FAIL, and ends the case.
inline const host::RawReply& answered(Check& check, const host::RawReply& reply, std::string_view what = "the answer") {
  if (!reply.answered()) {
    check.fails(what, {"a response"}, "the connection ended: " + reply.end->text);
    throw LeaveCase{};
  }
  return reply;
}

/// 1/82h, pointing at the byte of the command or of its data that is wrong.
inline void expect_invalid_parameter(Check& check, const host::RawReply& reply, fabrics::InvalidParameter expected) {
  answered(check, reply);
  if (!check.status(reply, sc::connect_invalid_parameters)) return;
  const auto refusal = reply.as<fabrics::ConnectRefusal>();
  check.equal("IPO", refusal.get(fabrics::connect_reply::ipo), expected.offset);
  check.equal("IATTR.IPS", refusal.get(fabrics::connect_reply::ips), expected.in_data);
}

/// The answer to a Connect on a fresh queue.
inline host::RawReply try_connect(ControllerBench& bench, const host::ConnectCommand& command, host::RawQueueOptions options = {}) {
  return bench.raw_queue(options).send(command).wait();
}

/// The association still serves Fabrics commands.
inline void expect_association(Check& check, RawAssociation& association, std::string_view what = "the association goes on") {
  const host::RawReply reply = association.admin().send(host::property_get(prop::vs)).wait();
  check.that(reply.ok(), what, reply.answered() ? nvme::to_string(reply.status()) : reply.end->text);
}

/// For rules of every controller, before it is enabled: the discovery service's where the name of the subsystem is not known.
inline RawAssociation& any_controller(ControllerBench& bench) {
  AssociationOptions options{.enable = false};
  if (bench.nqn().empty()) options.subnqn = fabrics::kDiscoveryNqn;
  return bench.associate(options);
}

/// In real time a busy machine may let more time pass than the case wanted: a controller that takes the association for dead
/// then is right.
inline void leave_if_late(Check& check, Duration passed, Duration timeout) {
  if (passed < timeout) return;
  check.inconclusive("this machine is busy: " + to_string(passed) + " passed without a command, and the timeout is " + to_string(timeout));
}

/// CAP.TO as a time; never nothing.
inline Duration ready_limit(RawAssociation& association) {
  const auto cap = record_from_integer<fabrics::Cap>(association.property(prop::cap));
  return Duration::ms(500) * (std::int64_t{cap.get(fabrics::cap::to)} + 1);
}

/// CC.EN = 1, judged: RDY within the time that CAP announces.
inline void expect_enable(Check& check, RawAssociation& association) {
  const Duration limit = ready_limit(association);
  check.require_success(answered(check, association.set_property(prop::cc, association.enabling_cc())), "Property Set of CC");
  check.require(association.wait_csts(1, 1, limit), "CSTS.RDY is 1 within CAP.TO");
}

/// CC.EN = 0, judged.
inline void expect_disable(Check& check, RawAssociation& association) {
  const Duration limit = ready_limit(association);
  check.require_success(answered(check, association.set_property(prop::cc, 0)), "Property Set of CC");
  check.require(association.wait_csts(1, 0, limit), "CSTS.RDY is 0 within CAP.TO");
}

/// I/O queues of a case that looks at more than one: up to three, as many as the product grants who asks for them.
inline std::vector<std::uint16_t> io_queues_of(ControllerBench& bench, RawAssociation& association) {
  constexpr std::uint32_t kWanted = 3;
  const std::uint32_t pairs = std::max<std::uint32_t>(kWanted, bench.io_qid()) - 1;
  const auto wish = host::set_features(nvme::FeatureId::number_of_queues, pairs << 16 | pairs);
  const host::RawReply reply = association.admin().send(wish).wait();
  const std::uint32_t granted = reply.ok() ? std::min(reply.dw0() & 0xFFFF, reply.dw0() >> 16) + 1 : 1;
  std::vector<std::uint16_t> qids;
  for (unsigned i = 0; i < std::min(kWanted, granted); ++i) qids.push_back(bench.io_qid(i));
  return qids;
}
inline std::vector<host::RawQueue*> open_queues(ControllerBench& bench, RawAssociation& association) {
  std::vector<host::RawQueue*> queues;
  for (const std::uint16_t qid : io_queues_of(bench, association)) queues.push_back(&association.open_io(qid));
  return queues;
}

/// A read or write of an I/O queue whose SGL is `sgl`, for exposed or in-capsule memory.
inline host::RawCommand with_sgl(const nvme::Sqe& command, const nvme::SglDescriptor& sgl) {
  host::RawCommand made{.sqe = command, .keep_dptr = true};
  made.sqe.set(nvme::sqe::psdt, nvme::Psdt::sgl).set(nvme::sqe::sgl1, ByteView{sgl.bytes()});
  return made;
}

/// A command capsule by hand: the entry with an in-capsule descriptor, and what follows it.
inline Bytes capsule_of(nvme::Sqe command, std::uint16_t cid, const nvme::SglDescriptor& sgl, ByteView data) {
  command.set(nvme::sqe::cid, cid).set(nvme::sqe::psdt, nvme::Psdt::sgl).set(nvme::sqe::sgl1, ByteView{sgl.bytes()});
  Bytes capsule(command.bytes().begin(), command.bytes().end());
  // Not insert(): g++ 12 takes it for a copy beyond the entry.
  for (const std::uint8_t byte : data) capsule.push_back(byte);
  return capsule;
}

/// Bytes that tell their place, different for each seed byte.
inline Bytes pattern(std::size_t bytes, std::uint8_t seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::uint8_t>(i * 7 + i / 256 + seed);
  return made;
}

// ---- applicability ----

inline std::optional<std::string> a_namespace(const Declared& declared) {
  if (declared.nsid != 0) return std::nullopt;
  return "no active namespace";
}
inline std::optional<std::string> disconnect_command(const Declared& declared) {
  if ((declared.identify().get(nvme::id_ctrl::ofcs) & 1) != 0) return std::nullopt;
  return "OFCS bit 0 is clear";
}
inline std::optional<std::string> version_2(const Declared& declared) {
  if (declared.version_at_least(2, 0)) return std::nullopt;
  return "VS is below 2.0";
}
inline std::optional<std::string> keep_alive(const Declared& declared) {
  if (declared.identify().get(nvme::id_ctrl::kas) != 0) return std::nullopt;
  return "KAS is 0";
}
/// The bench makes queues of at most 1024 entries.
inline std::optional<std::string> mqes_within_bench(const Declared& declared) {
  if (declared.queue_entries_max() < 1024) return std::nullopt;
  return "CAP.MQES is beyond the largest queue of the bench";
}
/// One block of 512 or 4096 bytes fits twice into a capsule.
inline std::optional<std::string> in_capsule_data(const Declared& declared) {
  if (declared.nsid == 0) return "no active namespace";
  if (declared.in_capsule_bytes >= 2 * declared.block_bytes) return std::nullopt;
  return "IOCCSZ leaves no room for two blocks in a capsule";
}
/// Over RDMA: a list of as many keyed descriptors as MSDBD says lies in a capsule.
inline std::optional<std::string> lists_in_capsules(const Declared& declared) {
  if (declared.nsid == 0) return "no active namespace";
  const unsigned most = declared.identify().get(nvme::id_ctrl::msdbd);
  if (most == 1) return "MSDBD is 1";
  if (declared.in_capsule_bytes < (most + 1) * nvme::SglDescriptor::kSize || declared.in_capsule_bytes < 64) {
    return "IOCCSZ leaves no room for a list of descriptors";
  }
  return std::nullopt;
}

}  // namespace fb::conformance::fabrics_cases
