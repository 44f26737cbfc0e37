// Discovery entries that lead elsewhere, properties with values that cannot be, and Connects answered with another's.
#include <algorithm>

#include "model/deviations/alter.h"
#include "model/deviations/catalogue/tolerance.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::deviations {

namespace {

namespace de = fabrics::discovery_entry;
namespace prop = fabrics::property;

bool on_discovery(const CommandContext& command) {
  return command.controller != nullptr && command.controller->subsystem().discovery() != nullptr;
}
bool reads_discovery(const CommandContext& command) { return on_discovery(command) && is_admin(command, 0x02); }

constexpr std::size_t kPiece = fabrics::DiscoveryEntry::size;

/// Calls `change` for each entry of NVM subsystems that is read whole.
template <auto Change>
void alter_entries(const CommandContext& command, MutableBytes data) {
  if (!reads_discovery(command)) return;
  const std::uint32_t offset = load_le<std::uint32_t>(command.sqe.data() + 48);
  for (std::size_t at = offset == 0 ? kPiece : 0; at + kPiece <= data.size(); at += kPiece) {
    MutableView<fabrics::DiscoveryEntry> entry{data.subspan(at, kPiece)};
    if (entry.get(de::subtype) == fabrics::SubsystemType::nvm) Change(data.subspan(at, kPiece));
  }
}
template <auto Change>
constexpr Effect entries() {
  return hooks<AlteringDataOut, &alter_entries<Change>>();
}

template <std::size_t At, std::uint8_t Set, std::uint8_t Clear = 0>
void entry_byte(MutableBytes entry) {
  entry[At] = static_cast<std::uint8_t>((entry[At] & ~Clear) | Set);
}
void other_transport(MutableBytes entry) { entry[de::trtype.offset] = entry[de::trtype.offset] == 1 ? 3 : 1; }
void other_family(MutableBytes entry) { entry[de::adrfam.offset] = entry[de::adrfam.offset] == 1 ? 2 : 1; }
void other_address(MutableBytes entry) { put_text(entry.subspan(de::traddr.offset, de::traddr.size), "192.0.2.250", ' '); }
void any_address(MutableBytes entry) { put_text(entry.subspan(de::traddr.offset, de::traddr.size), "0.0.0.0", ' '); }
void other_port(MutableBytes entry) { put_text(entry.subspan(de::trsvcid.offset, de::trsvcid.size), "4999", ' '); }
/// What was in the field before shows behind its text.
void stale_name(MutableBytes entry) { entry[de::subnqn.offset + 250] = 'x'; }
void stale_address(MutableBytes entry) { entry[de::traddr.offset + 200] = 'x'; }

template <std::size_t At, std::uint8_t Set>
void header_byte(const CommandContext& command, MutableBytes data) {
  const bool first = load_le<std::uint32_t>(command.sqe.data() + 48) == 0;
  if (reads_discovery(command) && first && data.size() > At) data[At] |= Set;
}

/// Ports have another number at every read.
class NumbersPortsAnew final : public SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!reads_discovery(command)) return;
    const std::size_t begin = load_le<std::uint32_t>(command.sqe.data() + 48) == 0 ? kPiece : 0;
    for (std::size_t at = begin; at + kPiece <= data.size(); at += kPiece) {
      MutableView<fabrics::DiscoveryEntry>{data.subspan(at, kPiece)}.set(de::portid, 100u + ++reads_);
    }
  }

 private:
  std::uint32_t reads_ = 0;
};

/// Lists the first entry once more, as another port.
class ListsAPortTwice final : public SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!reads_discovery(command) || load_le<std::uint32_t>(command.sqe.data() + 48) != 0 || data.size() < kPiece) return;
    MutableView<fabrics::DiscoveryHeader> header{data.first(kPiece)};
    header.set(fabrics::discovery_header::numrec, header.get(fabrics::discovery_header::numrec) + 1);
    if (data.size() < 3 * kPiece) return;
    std::copy(data.begin() + kPiece, data.begin() + 2 * kPiece, data.end() - kPiece);
    MutableView<fabrics::DiscoveryEntry>{data.subspan(data.size() - kPiece, kPiece)}.set(de::portid, 77u);
  }
};

template <std::size_t At, std::uint8_t Set, std::uint8_t Clear>
void discovery_identify_byte(const CommandContext& command, MutableBytes data) {
  if (!on_discovery(command) || !identifies(command, nvme::Cns::controller) || data.size() <= At + 1) return;
  data[At] = static_cast<std::uint8_t>((data[At] & ~Clear) | Set);
}
void discovery_without_maxcmd(const CommandContext& command, MutableBytes data) {
  if (!on_discovery(command) || !identifies(command, nvme::Cns::controller)) return;
  MutableView<nvme::IdentifyController>{data}.set(nvme::id_ctrl::maxcmd, 0u);
}
void discovery_other_name(const CommandContext& command, MutableBytes data) {
  if (!on_discovery(command) || !identifies(command, nvme::Cns::controller)) return;
  put_text(data.subspan(nvme::id_ctrl::subnqn.offset, nvme::id_ctrl::subnqn.size), "nqn.2026-11.org.example:elsewhere", '\0');
}

/// CAP with another value of a field of `Bits` bits from `Shift` on.
template <unsigned Shift, unsigned Bits, std::uint64_t Value>
constexpr Effect cap_field() {
  constexpr std::uint64_t kMask = ((std::uint64_t{1} << Bits) - 1) << Shift;
  return hooks<PropertyReads<prop::cap, kMask, Value << Shift>>();
}

std::uint32_t offset_of(const CommandContext& command) { return load_le<std::uint32_t>(command.sqe.data() + 44); }
bool is_property_command(const CommandContext& command) {
  return fctype_of(command) == static_cast<std::uint8_t>(nvme::FabricsType::property_get) ||
         fctype_of(command) == static_cast<std::uint8_t>(nvme::FabricsType::property_set);
}
bool is_of_property(const Refusal& refusal) {
  return refusal.check == "property.offset" || refusal.check == "property.size" || refusal.check == "property.read_only";
}

/// Reads 0 where memory-based controllers have properties.
bool reads_zero_anywhere(const CommandContext& command, Refusal& refusal) {
  const std::uint32_t offset = is_property_command(command) ? offset_of(command) : 0;
  return !is_of_property(refusal) || offset < 0x24 || offset > 0x60 || offset % 4 != 0;
}
/// And inside the dwords of those that there are.
bool reads_inside_dwords(const CommandContext& command, Refusal& refusal) {
  const std::uint32_t offset = is_property_command(command) ? offset_of(command) : 0;
  return !is_of_property(refusal) || offset % 4 == 0;
}
bool knows_nssd(const CommandContext& command, Refusal& refusal) {
  return !is_of_property(refusal) || !is_property_command(command) || offset_of(command) != prop::nssd;
}

/// Falls over a CC that changes while it is enabled: it stays ready for ever.
class StumblesOverCc final : public SubsystemHooks {
 public:
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    if (offset != prop::cc) return true;
    const bool enabled = (value & 1) != 0;
    if (enabled && before_ && (*before_ & 1) != 0 && (value & kWatched) != (*before_ & kWatched)) stuck_ = true;
    before_ = value;
    return !stuck_ || enabled;
  }
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    if (offset == prop::csts && stuck_) value |= 1;
  }

 private:
  static constexpr std::uint64_t kWatched = 0x00FF07F0;  // IOCQES, IOSQES, MPS, CSS
  std::optional<std::uint64_t> before_;
  bool stuck_ = false;
};

Answer names_another_controller(const CommandContext& command, MutableBytes cqe) {
  const bool io = is_connect(command) && load_le<std::uint16_t>(command.sqe.data() + fabrics::connect_sqe::qid.offset) != 0;
  if (!io) return Answer::send;
  if (nvme::Cqe{cqe}.get(nvme::cqe::status).ok()) ++cqe[0];
  return Answer::send;
}

/// Get Features tells of a timeout that is one granule longer.
Answer one_granule_more(const CommandContext& command, MutableBytes cqe) {
  const bool gets = is_admin(command, 0x0A) && (cdw10_of(command) & 0xFF) == 0x0F;
  if (gets && load_le<std::uint32_t>(cqe.data()) != 0) store_le<std::uint32_t>(cqe.data(), load_le<std::uint32_t>(cqe.data()) + 1000);
  return Answer::send;
}

}  // namespace

DEVIATION(discovery_other_trtype, "fabrics.discovery.leads-back", Product::controller, "lists the subsystem with another transport",
          entries<&other_transport>());
DEVIATION(discovery_other_adrfam, "fabrics.discovery.leads-back", Product::controller, "lists the subsystem with another address family",
          entries<&other_family>());
DEVIATION(discovery_other_traddr, "fabrics.discovery.leads-back", Product::controller, "lists the subsystem at another address",
          entries<&other_address>());
DEVIATION(discovery_other_trsvcid, "fabrics.discovery.leads-back", Product::controller, "lists the subsystem at another port",
          entries<&other_port>());
DEVIATION(discovery_family_of_another, "fabrics.discovery.address-family", Product::controller,
          "names another address family than that of the address", entries<&other_family>());
DEVIATION(discovery_any_address, "fabrics.discovery.address-family", Product::controller, "lists the address that stands for any",
          entries<&any_address>());
DEVIATION(discovery_name_with_rest, "fabrics.discovery.padding", Product::controller, "leaves bytes behind the name in SUBNQN",
          entries<&stale_name>());
DEVIATION(discovery_address_with_rest, "fabrics.discovery.padding", Product::controller, "leaves bytes behind the address in TRADDR",
          entries<&stale_address>());
DEVIATION(discovery_header_reserved, "fabrics.discovery.reserved", Product::controller, "leaves reserved bytes of the header set",
          hooks<AlteringDataOut, &header_byte<500, 1>>());
DEVIATION(discovery_eflags_reserved, "fabrics.discovery.reserved", Product::controller, "sets a reserved bit of EFLAGS",
          entries<&entry_byte<11, 0x80>>());
DEVIATION(discovery_entry_reserved, "fabrics.discovery.reserved", Product::controller, "leaves reserved bytes of an entry set",
          entries<&entry_byte<100, 0x01>>());
DEVIATION(discovery_tsas_reserved, "fabrics.discovery.reserved", Product::controller, "leaves reserved bytes of TSAS set",
          entries<&entry_byte<1000, 0x01>>());
DEVIATION(discovery_treq_reserved, "fabrics.discovery.treq", Product::controller, "TREQ has a reserved secure channel requirement",
          entries<&entry_byte<3, 0x03>>());
DEVIATION(discovery_treq_channel, "fabrics.discovery.treq", Product::controller, "TREQ requires a secure channel of a plain port",
          entries<&entry_byte<3, 0x01, 0x03>>());
DEVIATION(discovery_treq_authentication, "fabrics.discovery.treq", Product::controller, "TREQ requires authentication that nobody asks for",
          entries<&entry_byte<3, 0x10>>());
DEVIATION(discovery_treq_flow_control, "fabrics.discovery.treq", Product::controller, "TREQ denies connections without SQ flow control",
          entries<&entry_byte<3, 0, 0x04>>());
DEVIATION(discovery_subsystem_persistent, "fabrics.discovery.eflags", Product::controller, "EPCSD is set for an NVM subsystem",
          entries<&entry_byte<10, 0x02>>());
DEVIATION(discovery_subsystem_duplicate, "fabrics.discovery.eflags", Product::controller, "DUPRETINFO is set for an NVM subsystem",
          entries<&entry_byte<10, 0x01>>());
DEVIATION(discovery_ports_numbered_anew, "fabrics.discovery.stable", Product::controller, "gives ports another number at each read",
          hooks<NumbersPortsAnew>());
DEVIATION(discovery_port_listed_twice, "fabrics.discovery.portid", Product::controller, "lists an address a second time as another port",
          hooks<ListsAPortTwice>());
DEVIATION(discovery_without_maxcmd, "fabrics.discovery.identity", Product::controller, "MAXCMD of a discovery controller is 0",
          hooks<AlteringDataOut, &discovery_without_maxcmd>());
DEVIATION(discovery_other_subnqn, "fabrics.discovery.identity", Product::controller, "a discovery controller names another subsystem",
          hooks<AlteringDataOut, &discovery_other_name>());
DEVIATION(discovery_other_cntlid, "fabrics.discovery.identity", Product::controller, "a discovery controller names another controller",
          hooks<AlteringDataOut, &discovery_identify_byte<78, 0x40, 0>>());
DEVIATION(property_cap_reserved, "fabrics.property.reserved", Product::controller, "sets reserved bits of CAP", cap_field<19, 5, 0x03>());
DEVIATION(property_csts_reserved, "fabrics.property.reserved", Product::controller, "sets reserved bits of CSTS",
          hooks<PropertyReads<prop::csts, 0, 0x80000000>>());
DEVIATION(property_cc_reserved, "fabrics.property.reserved", Product::controller, "sets reserved bits of CC",
          hooks<PropertyReads<prop::cc, 0, 0x80000000>>());
DEVIATION(property_css_reserved, "fabrics.property.reserved", Product::controller, "sets reserved bits of CAP.CSS",
          cap_field<38, 5, 0x02>());
DEVIATION(property_cap_memory, "fabrics.property.cap-agreement", Product::controller, "CAP announces a Controller Memory Buffer",
          cap_field<57, 1, 1>());
DEVIATION(property_cap_shutdown, "fabrics.property.cap-agreement", Product::controller, "CAP has NSSES without NSSS",
          cap_field<61, 1, 1>());
DEVIATION(property_cap_not_ready_with_media, "fabrics.property.cap-agreement", Product::controller, "CAP.CRMS.CRWMS is clear",
          cap_field<59, 1, 0>());
DEVIATION(property_version_unknown, "fabrics.property.version", Product::controller, "VS is 1.9",
          hooks<PropertyReads<prop::vs, 0xFFFFFFFF, 0x00010900>>());
DEVIATION(property_timeout_zero, "fabrics.property.ready-timeout", Product::controller, "CAP.TO is 0", cap_field<24, 8, 0>());
DEVIATION(property_anywhere, "fabrics.property.every-offset", Product::controller, "reads 0 where PCI Express has properties",
          hooks<Refusing, &reads_zero_anywhere>());
DEVIATION(property_inside_dwords, "fabrics.property.every-offset", Product::controller, "reads 0 inside dwords",
          hooks<Refusing, &reads_inside_dwords>());
DEVIATION(property_nssd_taken, "fabrics.property.nssd", Product::controller, "takes NSSD without its feature",
          hooks<Refusing, &knows_nssd>());
DEVIATION(property_cc_while_enabled_sticks, "fabrics.property.cc-while-enabled", Product::controller,
          "cannot be reset after CC changed while enabled", hooks<StumblesOverCc>());
DEVIATION(connect_takes_host_identifier_0, "fabrics.connect.hostid.zero", Product::controller, "takes a Host Identifier of 0 unannounced",
          Tolerate{"connect.hostid.zero"});
DEVIATION(discovery_announces_host_identifier_0, "fabrics.connect.hostid.zero", Product::controller,
          "announces a Host Identifier of 0 that it refuses", entries<&entry_byte<3, 0x08>>());
DEVIATION(connect_refuses_announced_host_identifier_0, "fabrics.connect.hostid.zero-announced", Product::controller,
          "refuses a Host Identifier of 0 that it announces to take", Departs{"sub.connect.hostid"});
DEVIATION(io_connect_names_another_controller, "fabrics.connect.io-cntlid", Product::controller,
          "an I/O Connect is answered with another CNTLID", hooks<AlteringCompletions, &names_another_controller>());
DEVIATION(property_mqes_largest, "fabrics.connect.sqsize.claimed", Product::controller, "CAP.MQES claims 65,536 entries",
          cap_field<0, 16, 0xFFFF>());
DEVIATION(keep_alive_above_next_multiple, "fabrics.keep-alive.next-multiple", Product::controller,
          "keeps a timeout one granule longer than the next multiple", hooks<AlteringCompletions, &one_granule_more>());

}  // namespace fb::deviations
