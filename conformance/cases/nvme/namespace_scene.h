// What the cases about namespaces that are made and attached by command share.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "conformance/cases/nvme/scene.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

inline std::optional<std::string> manages_namespaces(const Declared& declared) {
  const auto bit = nvme::oacs_bits::namespace_management;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & bit) != 0) return {};
  return "OACS bit 3 (Namespace Management) is clear";
}

/// With endurance groups UNVMCAP is what is in none of them, whatever namespaces take.
inline std::optional<std::string> has_no_endurance_groups(const Declared& declared) {
  const auto bit = nvme::ctratt_bits::endurance_groups;
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::ctratt) & bit) == 0) return {};
  return "CTRATT bit 4 (Endurance Groups) is set";
}

/// What a namespace is to be like.
struct Shape {
  std::uint64_t nsze = 2048;
  std::uint64_t ncap = 2048;
  unsigned lbaf = 0;
  unsigned nmic = nvme::nmic_bits::shared;
  std::uint32_t anagrpid = 0;
  bool extended = false;  ///< metadata goes with the data
};

inline constexpr std::string_view kOtherHost = "nqn.2026-11.org.fabricbench:other";
/// Bytes of a block in the first format of the emulated product.
inline constexpr std::uint32_t kFirstBlockBytes = 512;

/// A host that manages namespaces.
class Manager {
 public:
  Manager(ControllerBench& bench, Check& check, const AssociationOptions& options = {})
      : association(bench.associate(options)), check_(check) {}

  host::RawQueue& admin() { return association.admin(); }
  std::uint16_t cntlid() const { return association.cntlid(); }

  static Bytes described(const Shape& shape) {
    Bytes data(nvme::kIdentifySize);
    MutableView<nvme::IdentifyNamespace>{data}
        .set(nvme::id_ns::nsze, shape.nsze)
        .set(nvme::id_ns::ncap, shape.ncap)
        .set(nvme::id_ns::flbas_low, shape.lbaf & 15)
        .set(nvme::id_ns::flbas_extended, shape.extended)
        .set(nvme::id_ns::nmic, shape.nmic)
        .set(nvme::id_ns::anagrpid, shape.anagrpid);
    return data;
  }
  host::RawReply create(const Shape& shape) { return admin().send(host::create_namespace(), described(shape)).wait(); }
  /// A namespace that the case does not judge the creation of.
  std::uint32_t made(const Shape& shape = {}) {
    const auto reply = create(shape);
    check_.precondition_success(reply, "Namespace Management, create");
    return reply.dw0();
  }
  std::uint32_t made_and_attached(const Shape& shape = {}) {
    const std::uint32_t nsid = made(shape);
    check_.precondition_success(attach(nsid, {cntlid()}), "Namespace Attachment");
    return nsid;
  }
  host::RawReply remove(std::uint32_t nsid) { return admin().send(host::delete_namespace(nsid)).wait(); }
  host::RawReply attach(std::uint32_t nsid, std::vector<std::uint16_t> ids) {
    return admin().send(host::attach_namespace(nsid), controllers(std::move(ids))).wait();
  }
  host::RawReply detach(std::uint32_t nsid, std::vector<std::uint16_t> ids) {
    return admin().send(host::detach_namespace(nsid), controllers(std::move(ids))).wait();
  }
  static Bytes controllers(const std::vector<std::uint16_t>& ids) {
    Bytes list(nvme::kIdentifySize);
    nvme::write_controller_list(list, ids);
    return list;
  }

  host::RawReply identify(nvme::Cns cns, std::uint32_t nsid = 0, std::uint16_t cntid = 0) {
    auto command = host::identify(cns, nsid);
    command.set(nvme::identify_sqe::cntid, cntid);
    return admin().send(command, nvme::kIdentifySize).wait();
  }
  Bytes page(nvme::Cns cns, std::uint32_t nsid = 0, std::uint16_t cntid = 0) {
    const auto reply = identify(cns, nsid, cntid);
    check_.precondition_success(reply, "Identify");
    return reply.data;
  }
  std::vector<std::uint32_t> list(nvme::Cns cns, std::uint32_t after = 0) { return nvme::read_namespace_list(page(cns, after)); }
  bool active(std::uint32_t nsid) { return holds(list(nvme::Cns::active_namespace_list, nsid - 1), nsid); }
  bool allocated(std::uint32_t nsid) { return holds(list(nvme::Cns::allocated_namespace_list, nsid - 1), nsid); }
  std::vector<std::uint16_t> controllers_of(std::uint32_t nsid) {
    return nvme::read_controller_list(page(nvme::Cns::namespace_controller_list, nsid));
  }
  std::uint64_t unallocated_bytes() { return load_le<std::uint64_t>(page(nvme::Cns::controller).data() + nvme::id_ctrl::unvmcap.offset); }

  host::RawQueue& io() {
    if (io_ == nullptr) io_ = &association.open_io();
    return *io_;
  }
  host::RawReply write(std::uint32_t nsid, std::uint64_t lba, ByteView data) {
    const auto blocks = static_cast<std::uint32_t>(data.size() / kFirstBlockBytes);
    return io().send(host::write(nsid, lba, blocks), data).wait();
  }
  host::RawReply read(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
    return io().send(host::read(nsid, lba, blocks), std::size_t{blocks} * kFirstBlockBytes).wait();
  }
  /// Blocks with known content, which the case does not judge.
  Bytes prepare(std::uint32_t nsid, std::uint8_t mark, std::uint64_t lba = 0) {
    const Bytes data = pattern(mark, 8, kFirstBlockBytes);
    check_.precondition_success(write(nsid, lba, data), "Write");
    return data;
  }

  template <class T>
  static bool holds(const std::vector<T>& ids, T id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }

  RawAssociation& association;

 private:
  Check& check_;
  host::RawQueue* io_ = nullptr;
};

/// An NSID that may be but is not allocated; INCONCLUSIVE without one.
inline std::uint32_t unallocated_nsid(Manager& manager, ControllerBench& bench, Check& check) {
  const auto ids = manager.list(nvme::Cns::allocated_namespace_list);
  std::uint32_t nsid = 1;
  while (Manager::holds(ids, nsid)) ++nsid;
  check.precondition(nsid <= bench.declared().identify().get(nvme::id_ctrl::nn), "an NSID is not allocated");
  return nsid;
}

inline void listen_for_namespaces(Manager& manager, Check& check) {
  const auto enabled = nvme::event_config_bits::namespace_attribute;
  check.precondition_success(manager.admin().send(host::set_features(nvme::FeatureId::async_event_configuration, enabled)).wait(),
                             "Set Features");
  // What was to be told before is told.
  check.precondition_success(manager.admin().send(host::get_log(nvme::LogPage::changed_namespaces, 4096), 4096).wait(), "Get Log Page");
}

/// The event of a changed namespace comes soon.
template <class Pending>
bool is_told(Manager& manager, Pending& request, std::uint32_t nsid, Check& check) {
  const auto event = request.wait_for(kSoon);
  check.require(event.has_value(), "an event comes");
  check.equal("event", event->dw0() & 0xFFFFFF, 0x040002u);
  const auto log = manager.admin().send(host::get_log(nvme::LogPage::changed_namespaces, 4096), 4096).wait();
  if (!check.success(log, "Get Log Page")) return false;
  return check.that(Manager::holds(nvme::read_namespace_list(log.data), nsid), "the changed namespace list has the NSID");
}

}  // namespace fb::conformance
