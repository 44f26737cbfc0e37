// Management endpoints: what they say of themselves stays, what is set is returned, and lengths and limits are those that they
// state. State is kept by endpoint; one endpoint's commands may change the device behind another, which is then forgotten.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>

#include "conformance/evidence/behind_the_wire.h"
#include "conformance/oracle/management.h"
#include "wire/mctp/control.h"
#include "wire/mi/control.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/health.h"
#include "wire/mi/tunnels.h"

namespace fb::oracle {

namespace {

using namespace evidence;
using mctp::control::Command;
using mi::ConfigurationId;
using mi::DataType;
using mi::MessageKind;
using mi::Opcode;
using mi::Primitive;
using mi::Status;
using monitors::Rule;

/// What is asked for, with whatever chooses among several of it.
using ValueName = std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>;

/// A value that follows from what was seen, since that moment.
struct Known {
  Bytes value;
  std::uint64_t since = 0;
};

/// Bytes that follow from what was read and written.
class Image {
 public:
  void put(std::size_t offset, ByteView bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes_[offset + i] = bytes[i];
  }
  void clear() { bytes_.clear(); }
  /// The first byte that differs from what is known.
  std::optional<std::size_t> differs(std::size_t offset, ByteView bytes) const {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto found = bytes_.find(offset + i);
      if (found != bytes_.end() && found->second != bytes[i]) return offset + i;
    }
    return std::nullopt;
  }

 private:
  std::map<std::size_t, std::uint8_t> bytes_;
};

struct Request {
  Bytes body;
  std::uint64_t began = 0;
  bool certain = true;               ///< the answer is to this one, and not to one before it with the same tag
  std::optional<Known> before = {};  ///< what it asks to change
};

struct StatedPort {
  mi::PortType type = mi::PortType::inactive;
  unsigned unit_max = 0, frequency_max = 0;
};

struct Slot {
  std::uint16_t flags = 0;  ///< error flags that are set at least
  std::uint64_t since = 0;
};

/// By bus and EID.
using EndpointKey = std::pair<std::uint32_t, std::uint8_t>;
/// Requester and tag.
using Asker = std::pair<std::uint8_t, std::uint8_t>;

struct EndpointState {
  std::map<Asker, Request> requests;
  std::map<ValueName, Known> values;
  std::optional<unsigned> ports;
  std::map<unsigned, StatedPort> port;
  std::optional<unsigned> revision;  ///< major and minor number
  Image vpd, buffer;
  std::uint64_t vpd_changed = 0, buffer_changed = 0;
  Slot slots[2];
  std::optional<std::uint64_t> resumed;
  std::optional<std::uint16_t> composite;
  std::uint64_t composite_since = 0;
};

std::uint8_t code(Opcode opcode) { return static_cast<std::uint8_t>(opcode); }

class Management final : public monitors::Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::mctp | heard::words; }

  void on_words(const WordsSeen& seen) override {
    if (seen.kind == TraceKind::fault) states_.clear();
    if (seen.label != kBehindTheWireLabel) return;
    states_.clear();
    tampered_ = true;
  }

  void on_mctp_packet(const MctpPacketSeen& seen) override {
    if (!seen.at.genuine()) states_.clear();
  }

  void on_mctp_message(const MctpMessageSeen& seen) override {
    ++order_;
    if (!seen.at.genuine() || !complete_) return;
    const Asker from = seen.tag_owner ? Asker{seen.source, seen.tag} : Asker{seen.destination, seen.tag};
    if (seen.type == mctp::MessageType::control) return on_control(seen, from);
    if (seen.type == mctp::MessageType::nvme_mi) on_management(seen, from);
  }

 private:
  EndpointState& state(const Sight& at, std::uint8_t eid) { return states_[{at.from.bus, eid}]; }

  // ---- MCTP control ----

  void on_control(const MctpMessageSeen& seen, const Asker& from) {
    if (seen.message.size() < mctp::control::kRequestHeader) return;
    const std::uint8_t responder = seen.tag_owner ? seen.destination : seen.source;
    const auto command = static_cast<Command>(seen.message[2]);
    if (command == Command::set_endpoint_id) return states_.clear();  // whoever has which EID now
    if (responder == mctp::kNullEid || responder == mctp::kBroadcastEid) return;
    EndpointState& endpoint = state(seen.at, responder);
    if (seen.tag_owner) return keep(endpoint, from, seen.message);
    const auto asked = take(endpoint, from);
    if (!asked || seen.message.size() < mctp::control::kResponseHeader || asked->body.size() < mctp::control::kRequestHeader) return;
    if ((asked->body[0] & 0x7F) != 0 || asked->body[2] != seen.message[2] || seen.message[3] != 0) return;
    const ByteView data = seen.message.subspan(mctp::control::kResponseHeader);
    judged(Rule::oracle_mctp_identity);
    if (command == Command::get_endpoint_id && !data.empty() && data[0] != responder) {
      say(Rule::oracle_mctp_identity, seen.at, fmt::format("Get Endpoint ID returns {} from EID {}", data[0], responder));
    }
    const bool constant = command == Command::get_endpoint_uuid || command == Command::get_version_support ||
                          command == Command::get_message_type_support || command == Command::get_vendor_support;
    if (!constant) return;
    const std::uint32_t selector = asked->body.size() > 3 ? asked->body[3] : 0xFFFFu;
    constexpr std::uint8_t kControl = 0xFF;
    same(endpoint, {kControl, seen.message[2], selector}, data, *asked, Rule::oracle_mctp_identity, seen.at,
         mctp::control::name_of(command));
  }

  // ---- requests and answers ----

  void keep(EndpointState& endpoint, const Asker& from, ByteView body) {
    const bool again = endpoint.requests.count(from) != 0;
    endpoint.requests[from] = Request{Bytes(body.begin(), body.end()), order_, !again, {}};
  }
  static std::optional<Request> take(EndpointState& endpoint, const Asker& from) {
    const auto found = endpoint.requests.find(from);
    if (found == endpoint.requests.end()) return std::nullopt;
    std::optional<Request> request;
    if (found->second.certain) request.emplace(std::move(found->second));
    endpoint.requests.erase(found);
    return request;
  }

  /// The first answer says what it is; later ones say the same.
  void same(EndpointState& endpoint, const ValueName& name, ByteView data, const Request& asked, Rule rule, const Sight& at,
            std::string_view what) {
    const auto found = endpoint.values.find(name);
    if (found == endpoint.values.end()) {
      endpoint.values[name] = {Bytes(data.begin(), data.end()), order_};
      return;
    }
    if (found->second.since > asked.began) return;
    judged(rule);
    if (!std::equal(data.begin(), data.end(), found->second.value.begin(), found->second.value.end())) {
      say(rule, at, fmt::format("{} returns another value than before, and nothing has changed it", what));
      found->second = {Bytes(data.begin(), data.end()), order_};
    }
  }

  void on_management(const MctpMessageSeen& seen, const Asker& from) {
    const std::uint8_t responder = seen.tag_owner ? seen.destination : seen.source;
    if (responder == mctp::kNullEid || !seen.integrity || seen.message.size() < mi::kHeaderSize + mi::kMicSize) return;
    if (!mi::mic_ok(seen.message)) return;
    const ByteView body = seen.message.first(seen.message.size() - mi::kMicSize);
    const View<mi::MessageHeader> header{body};
    const MessageKind kind = header.get(mi::header::nmimt);
    if (header.get(mi::header::ror) == seen.tag_owner || kind == MessageKind::async_event) return;
    if (seen.tag_owner) return on_request(seen, from, responder, body, kind);
    EndpointState& endpoint = state(seen.at, responder);
    if (body.size() < mi::kResponseMin || View<mi::AnyResponse>{body}.get(mi::response::status) == Status::more_processing) return;
    const auto request = take(endpoint, from);
    if (!request || request->body.size() < mi::AnyRequest::size) return;
    const View<mi::MessageHeader> their{request->body};
    if (their.get(mi::header::mt) != mi::kNvmeMiType || their.get(mi::header::nmimt) != kind ||
        their.get(mi::header::csi) != header.get(mi::header::csi)) {
      return;
    }
    at_ = &seen.at;
    if (kind == MessageKind::control_primitive) return on_primitive(endpoint, *request, body);
    on_answer(endpoint, *request, body, kind);
  }

  void on_request(const MctpMessageSeen& seen, const Asker& from, std::uint8_t responder, ByteView body, MessageKind kind) {
    if (body.size() < mi::AnyRequest::size) return;
    // A register may reset the subsystem as the command does.
    const bool writes_registers = kind == MessageKind::pcie_command && (body[4] & 1) != 0;
    if (writes_registers || (kind == MessageKind::mi_command && body[4] == code(Opcode::reset))) return states_.clear();
    EndpointState& endpoint = state(seen.at, responder);
    keep(endpoint, from, body);
    Request& request = endpoint.requests[from];
    const View<mi::MessageHeader> header{body};
    if (kind != MessageKind::control_primitive) {
      if (header.get(mi::header::ciap)) endpoint.resumed.reset();
      if (header.get(mi::header::meb)) change_buffer(endpoint);
    } else if (body[4] != static_cast<std::uint8_t>(Primitive::get_state)) {
      endpoint.resumed.reset();
    }
    if (kind == MessageKind::mi_command && body.size() >= mi::MiRequest::size) begin_change(responder, endpoint, request, body);
  }

  // ---- what commands change ----

  static std::optional<ValueName> configured(ByteView body) {
    const auto id = static_cast<ConfigurationId>(body[mi::configuration::id.offset]);
    if (id != ConfigurationId::smbus_frequency && id != ConfigurationId::transmission_unit) return std::nullopt;
    return ValueName{code(Opcode::configuration_get), body[mi::configuration::id.offset], body[mi::configuration::portid.offset]};
  }
  void change_buffer(EndpointState& endpoint) {
    endpoint.buffer.clear();
    endpoint.buffer_changed = order_;
  }

  void begin_change(std::uint8_t responder, EndpointState& endpoint, Request& request, ByteView body) {
    switch (static_cast<Opcode>(body[4])) {
      case Opcode::configuration_set: {
        if (body[mi::configuration::id.offset] == static_cast<std::uint8_t>(ConfigurationId::health_status_change)) {
          endpoint.composite.reset();
        }
        const auto name = configured(body);
        if (!name) return;
        if (const auto found = endpoint.values.find(*name); found != endpoint.values.end()) request.before = found->second;
        for (auto& [key, other] : states_) other.values.erase(*name);
        return;
      }
      case Opcode::subsystem_health_poll:
        if (View<mi::SubsystemHealthPoll>{body}.get(mi::subsystem_poll::cs)) endpoint.composite.reset();
        return;
      case Opcode::vpd_write:
        for (auto& [key, other] : states_) {
          if (key.second != responder) other.vpd.clear();
          other.vpd_changed = order_;
        }
        return;
      case Opcode::buffer_write:
        endpoint.buffer_changed = order_;
        return;
      default:
        return;
    }
  }

  /// Nobody else asks to change the same at the same time.
  static bool alone(const EndpointState& endpoint, Opcode opcode) {
    for (const auto& [from, request] : endpoint.requests) {
      const bool command = request.body.size() > 4 && (request.body[0] & 0x7F) == mi::kNvmeMiType && (request.body[1] >> 3 & 0xF) == 1;
      if (command && request.body[4] == code(opcode)) return false;
    }
    return true;
  }

  // ---- answers to commands ----

  void on_answer(EndpointState& endpoint, const Request& asked, ByteView body, MessageKind kind) {
    const Status status = View<mi::AnyResponse>{body}.get(mi::response::status);
    location_ = View<mi::ErrorResponse>{body}.get(mi::response::pel_byte);
    judged(Rule::oracle_mi_lengths);
    if (status != Status::success) {
      judge_error(asked, body, status);
    } else if (kind == MessageKind::pcie_command) {
      judge_pcie_length(asked, body);
    } else if (kind == MessageKind::admin_command) {
      judge_admin_length(endpoint, asked, body);
    }
    if (kind == MessageKind::mi_command && asked.body.size() >= mi::MiRequest::size) on_mi_answer(endpoint, asked, body, status);
  }

  void judge_error(const Request& asked, ByteView body, Status status) {
    constexpr std::uint8_t kVendorSpecific = 0xE0;
    if (static_cast<std::uint8_t>(status) >= kVendorSpecific) return;
    if (body.size() != mi::kResponseMin) {
      say(Rule::oracle_mi_lengths, *at_, fmt::format("{} in {} bytes", mi::name_of(status), body.size()));
    }
    if (status != Status::invalid_parameter) return;
    // Request Data that is not there may be what is invalid.
    const std::uint16_t byte = View<mi::ErrorResponse>{body}.get(mi::response::pel_byte);
    if (byte > asked.body.size()) {
      say(Rule::oracle_mi_lengths, *at_, fmt::format("Invalid Parameter at byte {} of a request of {}", byte, asked.body.size()));
    }
  }
  void is_long(std::size_t size, std::size_t expected, std::string_view what) {
    if (size != expected) {
      say(Rule::oracle_mi_lengths, *at_, fmt::format("{} bytes of data of {}, which has {}", size, what, expected));
    }
  }
  void judge_pcie_length(const Request& asked, ByteView body) {
    if (asked.body.size() < mi::PcieRequest::size) return;
    const bool read = (asked.body[4] & 1) == 0;
    const std::size_t length = View<mi::PcieRequest>{asked.body}.get(mi::pcie_request::length);
    is_long(body.size() - mi::kResponseMin, read ? (length + 3) / 4 * 4 : 0, "a PCIe command");
  }
  void judge_admin_length(const EndpointState& endpoint, const Request& asked, ByteView body) {
    if (body.size() < mi::AdminResponse::size) return is_long(body.size(), mi::AdminResponse::size, "an Admin command");
    if (asked.body.size() < mi::AdminRequest::size) return;
    const View<mi::AdminRequest> request{asked.body};
    const bool counts = request.get(mi::admin_request::dlenv) || endpoint.revision.value_or(0) >= 0x102;
    const std::size_t most = counts ? request.get(mi::admin_request::dlen) : mi::kDataMax;
    const std::size_t size = body.size() - mi::AdminResponse::size;
    if (size > most) say(Rule::oracle_mi_lengths, *at_, fmt::format("{} bytes of data, and DLEN is {}", size, most));
    if (counts && (most > mi::kDataMax || most % 4 != 0)) {
      say(Rule::oracle_mi_limits, *at_, fmt::format("DLEN {} is taken", most));
    }
  }

  void on_mi_answer(EndpointState& endpoint, const Request& asked, ByteView body, Status status) {
    const ByteView data = body.subspan(mi::kResponseMin);
    const std::uint32_t nmresp = View<mi::MiResponse>{body}.get(mi::response::nmresp);
    const bool in_buffer = View<mi::MessageHeader>{asked.body}.get(mi::header::meb);
    const bool ok = status == Status::success;
    switch (static_cast<Opcode>(asked.body[4])) {
      case Opcode::read_data_structure:
        return on_structure(endpoint, asked, data, nmresp, status);
      case Opcode::subsystem_health_poll:
        if (ok) on_health(endpoint, asked, data);
        return;
      case Opcode::controller_health_poll:
        if (ok) on_controllers(endpoint, asked, data, nmresp);
        return;
      case Opcode::configuration_get:
        return on_get(endpoint, asked, data, nmresp, status);
      case Opcode::configuration_set:
        return on_set(endpoint, asked, data, status);
      case Opcode::vpd_read: {
        const View<mi::VpdAccess> access{asked.body};
        if (!ok || in_buffer) return;
        is_long(data.size(), access.get(mi::vpd_access::dlen), "VPD Read");
        if (endpoint.vpd_changed >= asked.began || !alone(endpoint, Opcode::vpd_write)) return;
        read_image(endpoint.vpd, access.get(mi::vpd_access::dofst), data, Rule::oracle_mi_vpd, "VPD");
        return;
      }
      case Opcode::vpd_write: {
        const View<mi::VpdAccess> access{asked.body};
        endpoint.vpd_changed = order_;
        if (!ok) return;
        is_long(data.size(), 0, "VPD Write");
        if (in_buffer || !alone(endpoint, Opcode::vpd_write)) return endpoint.vpd.clear();
        endpoint.vpd.put(access.get(mi::vpd_access::dofst), ByteView{asked.body}.subspan(mi::MiRequest::size));
        return;
      }
      case Opcode::buffer_read: {
        const View<mi::BufferAccess> access{asked.body};
        if (!ok) return;
        is_long(data.size(), access.get(mi::buffer_access::dlen), "Management Endpoint Buffer Read");
        if (tampered_ || endpoint.buffer_changed >= asked.began || !alone(endpoint, Opcode::buffer_write)) return;
        read_image(endpoint.buffer, access.get(mi::buffer_access::dofst), data, Rule::oracle_mi_buffer, "the buffer");
        return;
      }
      case Opcode::buffer_write: {
        endpoint.buffer_changed = order_;
        if (!ok) return;
        is_long(data.size(), 0, "Management Endpoint Buffer Write");
        if (!alone(endpoint, Opcode::buffer_write)) return endpoint.buffer.clear();
        endpoint.buffer.put(View<mi::BufferAccess>{asked.body}.get(mi::buffer_access::dofst),
                            ByteView{asked.body}.subspan(mi::MiRequest::size));
        return;
      }
      default:
        return;
    }
  }

  void read_image(Image& image, std::size_t offset, ByteView data, Rule rule, std::string_view what) {
    judged(rule);
    if (const auto at = image.differs(offset, data)) {
      say(rule, *at_, fmt::format("byte {} of {} is not the one that was read or written last", *at, what));
    }
    image.put(offset, data);
  }

  // ---- data structures ----

  void on_structure(EndpointState& endpoint, const Request& asked, ByteView data, std::uint32_t nmresp, Status status) {
    const View<mi::ReadDataStructure> request{asked.body};
    const auto type = static_cast<DataType>(request.get(mi::read_ds::dtyp));
    const unsigned portid = request.get(mi::read_ds::portid);
    if (type == DataType::port_information && endpoint.ports) {
      limit(status, portid < *endpoint.ports, fmt::format("information of port {} of {}", portid, *endpoint.ports));
    }
    if (status != Status::success) return;
    is_long(data.size(), nmresp & 0xFFFF, "a data structure whose length is told");
    constexpr std::size_t kFixed = 32;
    const bool list =
        type != DataType::subsystem_information && type != DataType::port_information && type != DataType::controller_information;
    if (!list) is_long(data.size(), kFixed, "a data structure");
    if (list && data.size() >= 2) is_long(data.size(), 2u + 2u * load_le<std::uint16_t>(data.data()), "a list by its count");
    if (list || data.size() != kFixed) return;
    Bytes kept(data.begin(), data.end());
    if (type == DataType::subsystem_information) {
      endpoint.ports = View<mi::SubsystemInfo>{data}.get(mi::subsystem_info::nump).count();
      endpoint.revision = unsigned{data[1]} << 8 | data[2];
    }
    if (type == DataType::port_information) learn_port(endpoint, portid, kept);
    const bool of_controller = type == DataType::controller_information;
    if (of_controller && tampered_) return;
    if (of_controller) {
      kept[mi::controller_info::pri_valid.offset] = kept[mi::controller_info::segment.offset] = 0;
      kept[mi::controller_info::bus.offset] = kept[mi::controller_info::bus.offset + 1] = 0;
    }
    same(endpoint,
         {code(Opcode::read_data_structure), static_cast<std::uint8_t>(type),
          of_controller ? request.get(mi::read_ds::ctrlid) : portid * (type == DataType::port_information ? 1u : 0u)},
         kept, asked, Rule::oracle_mi_structures, *at_, "Read NVMe-MI Data Structure");
  }

  /// What of it stays: a link may go down and come up again, and a two-wire address may be assigned.
  static void learn_port(EndpointState& endpoint, unsigned number, Bytes& bytes) {
    const View<mi::TwoWirePortInfo> info{bytes};
    StatedPort& port = endpoint.port[number];
    port.type = info.get(mi::port_info::prttyp);
    port.unit_max = info.get(mi::port_info::mmtus);
    port.frequency_max = port.type == mi::PortType::two_wire ? info.get(mi::port_info::mmefreq) : 0;
    if (port.type == mi::PortType::two_wire) bytes[mi::port_info::cvpdaddr.offset] = bytes[mi::port_info::cmeaddr.offset] = 0;
    if (port.type != mi::PortType::pcie) return;
    bytes[mi::port_info::mps.offset] = bytes[mi::port_info::cls.offset] = bytes[mi::port_info::nlw.offset] = 0;
  }

  /// A parameter within what the endpoint states is not invalid, one beyond it is. Bits of the header may be what is invalid.
  void limit(Status status, bool within, std::string what) {
    judged(Rule::oracle_mi_limits);
    const bool refused = status == Status::invalid_parameter && location_ >= mi::mi_request::nmd0.offset;
    if (within && refused) say(Rule::oracle_mi_limits, *at_, what + " is refused");
    if (!within && status == Status::success) say(Rule::oracle_mi_limits, *at_, what + " succeeds");
  }

  // ---- health ----

  void on_health(EndpointState& endpoint, const Request& asked, ByteView data) {
    is_long(data.size(), mi::SubsystemHealth::size, "the NVM Subsystem Health Status Poll");
    if (data.size() != mi::SubsystemHealth::size) return;
    const std::uint16_t now = View<mi::SubsystemHealth>{data}.get(mi::subsystem_health::ccs);
    if (endpoint.composite && endpoint.composite_since < asked.began) {
      judged(Rule::oracle_mi_flags);
      if ((*endpoint.composite & ~now) != 0) {
        say(Rule::oracle_mi_flags, *at_,
            fmt::format("changes {:04X}h of the composite status were not cleared, and have gone", *endpoint.composite & ~now));
      }
    }
    const bool clears = View<mi::SubsystemHealthPoll>{asked.body}.get(mi::subsystem_poll::cs);
    endpoint.composite = clears ? std::uint16_t{0} : now;
    endpoint.composite_since = order_;
  }

  void on_controllers(const EndpointState& endpoint, const Request& asked, ByteView data, std::uint32_t nmresp) {
    const View<mi::ControllerHealthPoll> request{asked.body};
    const std::size_t entries = nmresp >> mi::kRentShift & 0xFF;
    constexpr std::size_t kEntry = mi::ControllerHealth::size;
    // Before 1.0a RENT was one less.
    const bool one_less = endpoint.revision.value_or(0x100) <= 0x100 && data.size() == (entries + 1) * kEntry;
    if (!one_less) is_long(data.size(), entries * kEntry, "a poll that counts its entries");
    if (data.size() > kEntry * request.get(mi::controller_poll::maxrent).count()) {
      say(Rule::oracle_mi_limits, *at_,
          fmt::format("{} bytes of entries where {} entries are allowed", data.size(), request.get(mi::controller_poll::maxrent).count()));
    }
    unsigned least = request.get(mi::controller_poll::sctlid);
    judged(Rule::oracle_mi_limits);
    for (std::size_t at = 0; at + kEntry <= data.size(); at += kEntry) {
      const unsigned id = load_le<std::uint16_t>(&data[at]);
      if (id < least) say(Rule::oracle_mi_limits, *at_, fmt::format("an entry of controller {} where {} is the least", id, least));
      least = id + 1;
    }
  }

  // ---- configuration ----

  static unsigned value_of(ByteView body, bool frequency) {
    if (frequency) return View<mi::FrequencyConfiguration>{body}.get(mi::configuration::sfreq);
    return View<mi::UnitConfiguration>{body}.get(mi::configuration::unit);
  }

  void judge_configuration(const EndpointState& endpoint, const Request& asked, Status status, bool sets) {
    const auto id = static_cast<ConfigurationId>(asked.body[mi::configuration::id.offset]);
    const unsigned number = asked.body[mi::configuration::portid.offset];
    const bool frequency = id == ConfigurationId::smbus_frequency;
    if (!configured(asked.body) || !endpoint.ports || asked.body.size() != mi::MiRequest::size) return;
    if (number >= *endpoint.ports) return limit(status, false, fmt::format("a configuration of port {} of {}", number, *endpoint.ports));
    const auto found = endpoint.port.find(number);
    if (found == endpoint.port.end() || found->second.type == mi::PortType::inactive) return;
    const StatedPort& port = found->second;
    if (frequency && port.type != mi::PortType::two_wire) {
      if (sets) limit(status, false, fmt::format("a frequency of port {}, which is no two-wire port", number));
      return;
    }
    if (frequency && port.frequency_max == 0) return;
    const unsigned value = value_of(asked.body, frequency);
    const unsigned least = frequency ? 1u : static_cast<unsigned>(mctp::kBaselineUnit);
    const unsigned most = frequency ? port.frequency_max : port.unit_max;
    // A medium may have no use for a unit of any number of bytes.
    constexpr unsigned kStep = 16;
    const bool within = value >= least && value <= most;
    if (sets && within && !frequency && value % kStep != 0 && value != most) return;
    limit(status, !sets || within,
          fmt::format("configuration {} of port {} with {} of {}", static_cast<unsigned>(id), number, value, most));
  }

  void on_get(EndpointState& endpoint, const Request& asked, ByteView data, std::uint32_t nmresp, Status status) {
    judge_configuration(endpoint, asked, status, false);
    const auto name = configured(asked.body);
    if (status != Status::success || !name) return;
    is_long(data.size(), 0, "Configuration Get");
    if (!alone(endpoint, Opcode::configuration_set)) return;
    const Bytes value = {static_cast<std::uint8_t>(nmresp), static_cast<std::uint8_t>(nmresp >> 8)};
    same(endpoint, *name, value, asked, Rule::oracle_mi_configuration, *at_, "Configuration Get");
  }

  void on_set(EndpointState& endpoint, const Request& asked, ByteView data, Status status) {
    judge_configuration(endpoint, asked, status, true);
    const auto name = configured(asked.body);
    if (!name || !alone(endpoint, Opcode::configuration_set)) return;
    if (status != Status::success) {
      if (asked.before) endpoint.values[*name] = {asked.before->value, order_};
      return;
    }
    is_long(data.size(), 0, "Configuration Set");
    const bool frequency = std::get<1>(*name) == static_cast<std::uint8_t>(ConfigurationId::smbus_frequency);
    const unsigned value = value_of(asked.body, frequency);
    endpoint.values[*name] = {{static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8)}, order_};
  }

  // ---- primitives ----

  void on_primitive(EndpointState& endpoint, const Request& asked, ByteView body) {
    if (View<mi::AnyResponse>{body}.get(mi::response::status) != Status::success) return;
    const auto what = static_cast<Primitive>(asked.body[4]);
    const unsigned csi = View<mi::MessageHeader>{body}.get(mi::header::csi);
    if (what == Primitive::get_state) return on_state(endpoint, endpoint.slots[csi], asked, load_le<std::uint16_t>(&body[6]));
    if (what == Primitive::resume) endpoint.resumed = order_;
    if (what == Primitive::abort || what == Primitive::replay) endpoint.slots[csi] = {};
  }

  void on_state(EndpointState& endpoint, Slot& slot, const Request& asked, std::uint16_t cpsr) {
    constexpr std::uint16_t kFlags = 0x7FF8, kPaused = 0x8000;
    judged(Rule::oracle_mi_flags);
    if (slot.since < asked.began && (slot.flags & ~cpsr) != 0) {
      say(Rule::oracle_mi_flags, *at_, fmt::format("error flags {:04X}h were not cleared, and have gone", slot.flags & ~cpsr));
    }
    if (endpoint.resumed && *endpoint.resumed < asked.began && (cpsr & kPaused) != 0) {
      say(Rule::oracle_mi_flags, *at_, "PFLG is set after Resume");
    }
    slot.flags = cpsr & kFlags;
    slot.since = order_;
    // Which flags a slot has of its own the revisions say differently.
    if (!View<mi::GetStateRequest>{asked.body}.get(mi::primitive::cesf)) return;
    for (Slot& one : endpoint.slots) one.flags = 0;
  }

  std::map<EndpointKey, EndpointState> states_;
  const Sight* at_ = nullptr;
  std::uint64_t order_ = 0;
  std::uint16_t location_ = 0;  ///< of the error at hand
  bool tampered_ = false;
};

}  // namespace

std::unique_ptr<monitors::Judge> judge_management_by_oracle(monitors::Findings& findings, bool complete) {
  return std::make_unique<Management>(findings, complete);
}

}  // namespace fb::oracle
