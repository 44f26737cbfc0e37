// Hosts that set their queues up carelessly: Connect, properties, flow control, descriptors.
#include "base/bytes.h"
#include "model/deviations/deviation.h"
#include "wire/fabrics/property.h"
#include "wire/fabrics/transports.h"

namespace fb::deviations {

namespace {

constexpr std::uint8_t kFabrics = 0x7F, kPropertySet = 0x00, kConnect = 0x01, kPropertyGet = 0x04;

/// Changes the Connect commands of a host, entry and data.
class ChangesConnect : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) final {
    if (sqe[0] == kFabrics && sqe[4] == kConnect && data.size() == 1024) change(qid, sqe, data);
  }

 private:
  virtual void change(std::uint16_t qid, MutableBytes sqe, MutableBytes data) = 0;
};

class FillsReservedEntry final : public ChangesConnect {
  void change(std::uint16_t, MutableBytes sqe, MutableBytes) override { sqe[60] = 0xA5; }
};
class FillsReservedData final : public ChangesConnect {
  void change(std::uint16_t, MutableBytes, MutableBytes data) override { data[1023] = 0xA5; }
};
/// CATTR bits 7:5.
class FillsReservedAttributes final : public ChangesConnect {
  void change(std::uint16_t, MutableBytes sqe, MutableBytes) override { sqe[46] |= 0x80; }
};
class NamesInCapitals final : public ChangesConnect {
  void change(std::uint16_t, MutableBytes, MutableBytes data) override {
    for (std::size_t at = 512; at < 515; ++at) data[at] = static_cast<std::uint8_t>(data[at] - 0x20);
  }
};
/// As long as the field, but for the terminator.
class NamesTooLong final : public ChangesConnect {
  void change(std::uint16_t, MutableBytes, MutableBytes data) override {
    for (std::size_t at = 512; at < 767; ++at) data[at] = data[at] == 0 ? std::uint8_t{'x'} : data[at];
  }
};
class NamesTheNextController final : public ChangesConnect {
  void change(std::uint16_t qid, MutableBytes, MutableBytes data) override {
    if (qid == 0) return;
    store_le<std::uint16_t>(data.data() + 16, static_cast<std::uint16_t>(load_le<std::uint16_t>(data.data() + 16) + 1));
  }
};
class CallsEachQueueOne final : public ChangesConnect {
  void change(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (qid != 0) store_le<std::uint16_t>(sqe.data() + 42, 1);
  }
};
class WantsAHugeAdminQueue final : public ChangesConnect {
  void change(std::uint16_t qid, MutableBytes sqe, MutableBytes) override {
    if (qid == 0) store_le<std::uint16_t>(sqe.data() + 44, 4096);
  }
};

/// Changes Property Get, or Property Set.
template <std::uint8_t Type>
class ChangesProperties : public host::HostHooks {
 public:
  void command_out(std::uint16_t, MutableBytes sqe, MutableBytes) final {
    if (sqe[0] == kFabrics && sqe[4] == Type) change(load_le<std::uint32_t>(sqe.data() + 44), sqe);
  }

 private:
  virtual void change(std::uint32_t offset, MutableBytes sqe) = 0;
};

class WritesEightBytes final : public ChangesProperties<kPropertySet> {
  void change(std::uint32_t, MutableBytes sqe) override { sqe[40] = 1; }
};
/// AQA, in place of VS.
class ReadsQueuesInMemory final : public ChangesProperties<kPropertyGet> {
  void change(std::uint32_t offset, MutableBytes sqe) override {
    if (offset == fabrics::property::vs) store_le<std::uint32_t>(sqe.data() + 44, 0x24);
  }
};
class FillsPropertyGet final : public ChangesProperties<kPropertyGet> {
  void change(std::uint32_t, MutableBytes sqe) override { sqe[48] = 0xFF; }
};
class FillsAttributes final : public ChangesProperties<kPropertySet> {
  void change(std::uint32_t, MutableBytes sqe) override { sqe[40] |= 0x08; }
};

/// Sets bits of the CC that enables a controller, and clears others.
template <std::uint32_t Set, std::uint32_t Clear>
class Configures final : public ChangesProperties<kPropertySet> {
  void change(std::uint32_t offset, MutableBytes sqe) override {
    const auto cc = load_le<std::uint32_t>(sqe.data() + 48);
    if (offset == fabrics::property::cc && (cc & 1) != 0) store_le<std::uint32_t>(sqe.data() + 48, (cc & ~Clear) | Set);
  }
};

/// In-capsule data of I/O commands: the descriptor is not that of the data.
template <std::uint8_t Address, std::uint8_t Length>
class MisplacesData final : public host::HostHooks {
 public:
  void capsule_out(std::uint16_t qid, Bytes& capsule) override {
    if (qid == 0 || capsule.size() <= 64 || capsule[0] == kFabrics || capsule[39] != 0x01) return;
    capsule[24] = static_cast<std::uint8_t>(capsule[24] + Address);
    capsule[32] = static_cast<std::uint8_t>(capsule[32] + Length);
  }
};

/// Type and subtype of keyed descriptors of I/O commands.
template <std::uint8_t Type>
class DescribesAs final : public host::HostHooks {
 public:
  void capsule_out(std::uint16_t qid, Bytes& capsule) override {
    if (qid != 0 && capsule.size() >= 64 && capsule[0] == 0x02 && (capsule[39] >> 4) == 4) capsule[39] = Type;
  }
};

}  // namespace

#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})
#define HOST_HOOKS(name, requirement, what, ...) DEVIATION(name, requirement, Product::host, what, hooks<__VA_ARGS__>())

// ---- Connect ----

HOST(host_connects_to_queue_one, "fabrics.host.connect.first-qid", "the first Connect asks for queue 1", "host.connect.admin.qid");
HOST(host_connect_other_format, "fabrics.host.connect.capsule", "Connect carries an unknown record format", "host.connect.recfmt");
HOST(host_connect_short_data, "fabrics.host.connect.capsule", "Connect carries 512 bytes of data", "host.connect.data.short");
DEVIATION(host_connect_smaller_than_request, "fabrics.host.request.private-data", Product::host,
          "Connect names another queue size than the connection request", Departs{"host.connect.sqsize.mismatch"}, fabrics::kRdma);
HOST(host_connects_without_identifier, "fabrics.host.connect.hostid", "the host identifier is 0", "host.connect.hostid.zero");
HOST(host_connects_twice, "fabrics.host.connect.once", "Connect is sent twice on one queue", "host.connect.twice");
HOST(host_connects_without_kato, "fabrics.host.connect.kato", "asks for no keep alive", "host.connect.kato.zero");
HOST(host_does_not_await_connect, "fabrics.host.connect.awaited", "reads a property before Connect is answered", "host.connect.unawaited");
HOST_HOOKS(host_connect_fills_entry, "fabrics.host.connect.reserved", "reserved bytes of the entry are not 0", FillsReservedEntry);
HOST_HOOKS(host_connect_fills_data, "fabrics.host.connect.reserved", "reserved bytes of the data are not 0", FillsReservedData);
HOST_HOOKS(host_connect_fills_attributes, "fabrics.host.connect.reserved", "reserved bits of CATTR are not 0", FillsReservedAttributes);
HOST_HOOKS(host_name_in_capitals, "fabrics.host.connect.names", "the host's name begins with NQN.", NamesInCapitals);
HOST_HOOKS(host_name_too_long, "fabrics.host.connect.names", "the host's name has 255 bytes", NamesTooLong);
HOST_HOOKS(host_io_connect_other_controller, "fabrics.host.connect.io-cntlid", "an I/O queue connects to the next controller",
           NamesTheNextController);
HOST_HOOKS(host_io_connect_one_qid, "fabrics.host.connect.io-qid", "every I/O queue is queue 1", CallsEachQueueOne);
HOST_HOOKS(host_admin_queue_huge, "fabrics.host.connect.admin-size", "an admin queue of 4,097 entries", WantsAHugeAdminQueue);

// ---- properties and initialization ----

HOST(host_reads_half_of_cap, "fabrics.host.property.size", "CAP is read as four bytes", "host.property.cap.size");
HOST_HOOKS(host_writes_cc_as_eight_bytes, "fabrics.host.property.size", "CC is written as eight bytes", WritesEightBytes);
HOST_HOOKS(host_reads_aqa, "fabrics.host.property.offset", "reads the attributes of admin queues in memory", ReadsQueuesInMemory);
HOST_HOOKS(host_property_get_with_value, "fabrics.host.property.reserved", "Property Get carries a value", FillsPropertyGet);
HOST_HOOKS(host_property_reserved_attributes, "fabrics.host.property.reserved", "reserved bits of ATTRIB are not 0", FillsAttributes);
HOST(host_identifies_before_ready, "fabrics.host.init.admin-after-ready", "sends Identify before CSTS.RDY is 1",
     "host.identify.before_ready");
HOST(host_cc_mps_above_cap, "fabrics.host.init.mps", "CC.MPS lies above CAP.MPSMAX", "host.enable.mps");
HOST_HOOKS(host_cc_mps_always_0, "fabrics.host.init.mps", "pages have 4 KiB, whatever CAP.MPSMIN says", Configures<0, 0xFu << 7>);
HOST(host_cc_css_unoffered, "fabrics.host.init.css", "CC.CSS selects what CAP.CSS does not offer", "host.enable.css");
HOST_HOOKS(host_cc_css_always_all, "fabrics.host.init.css", "all command sets are selected, whatever CAP.CSS says",
           Configures<6u << 4, 7u << 4>);
HOST_HOOKS(host_cc_ams_weighted, "fabrics.host.init.cc-rest", "weighted arbitration though CAP does not offer it",
           Configures<1u << 11, 7u << 11>);
HOST_HOOKS(host_cc_reserved_bits, "fabrics.host.init.cc-rest", "reserved bits of CC are set", Configures<0x80000000u, 0>);
HOST(host_ignores_fatal_status, "fabrics.host.init.fatal", "CSTS.CFS is ignored while waiting for CSTS.RDY", "host.ready.fatal.ignored");
HOST(host_looks_at_reserved_bits, "fabrics.host.init.reserved-ignored", "a controller is refused for reserved bits of CAP",
     "host.property.cap.reserved");
HOST(host_enables_before_disabled, "fabrics.host.init.reset-order", "CC.EN is set again before CSTS.RDY is 0", "host.reset.unawaited");

// ---- queues ----

HOST(host_overfills_without_flow_control, "fabrics.host.flow-control.off-bound", "as many commands outstanding as the queue has entries",
     "host.queue.overfilled.no_flow_control");
HOST(host_waits_for_reserved_sqhd, "fabrics.host.flow-control.sqhd-reserved", "SQHD is used although SQ flow control is off",
     "host.queue.sqhd.always_used");
HOST(host_counts_completions_alone, "fabrics.host.flow-control.sqhd-used", "SQHD is ignored although SQ flow control is on",
     "host.queue.flow_control.assumed_off");

// ---- data ----

HOST_HOOKS(host_in_capsule_offset_wrong, "fabrics.host.rdma.in-capsule", "the data begins behind where it is said to",
           MisplacesData<16, 0>);
HOST_HOOKS(host_in_capsule_length_wrong, "fabrics.host.rdma.in-capsule", "there is less data than is said", MisplacesData<0, 64>);
HOST(host_in_capsule_unclaimed, "fabrics.host.rdma.in-capsule-claimed", "in-capsule data that the controller cannot take",
     "rdma.host.capsule.unclaimed");
HOST_HOOKS(host_keyed_subtype_unknown, "fabrics.host.rdma.descriptor", "a keyed descriptor of an unknown subtype", DescribesAs<0x41>);
HOST_HOOKS(host_data_block_in_memory, "fabrics.host.rdma.descriptor", "an address without a key", DescribesAs<0x00>);

#undef HOST
#undef HOST_HOOKS

}  // namespace fb::deviations
