// Configuration Get and Set that do not keep to their rules.
#include "model/deviations/deviation.h"
#include "model/deviations/endpoint_speech.h"
#include "model/drive/drive.h"
#include "model/mi/fault_points.h"

namespace fb::deviations {

using mi::MessageContext;
using mi::Opcode;
using mi::Status;

namespace {

constexpr std::uint8_t kFrequency = static_cast<std::uint8_t>(mi::ConfigurationId::smbus_frequency);
constexpr std::uint8_t kHealth = static_cast<std::uint8_t>(mi::ConfigurationId::health_status_change);
constexpr std::uint8_t kUnit = static_cast<std::uint8_t>(mi::ConfigurationId::transmission_unit);

bool is_get(const MessageContext& message, std::uint8_t id) {
  return is_mi(message, Opcode::configuration_get) && (nmd0_of(message) & 0xFF) == id;
}
bool is_set(const MessageContext& message, std::uint8_t id) {
  return is_mi(message, Opcode::configuration_set) && (nmd0_of(message) & 0xFF) == id;
}

bool takes_one_reserved(const MessageContext& message, mi::Refusal& refusal) {
  return refusal.check != "mi.config.id" || (nmd0_of(message) & 0xFF) != 0x56;
}
bool takes_reserved_sets(const MessageContext& message, mi::Refusal& refusal) {
  return refusal.check != "mi.config.id" || !is_mi(message, Opcode::configuration_set);
}
void no_frequency(const MessageContext& message, Bytes& body) {
  if (is_get(message, kFrequency) && is_success(body)) body[5] = 0;
}
void frequency_with_rubbish(const MessageContext& message, Bytes& body) {
  if (is_get(message, kFrequency) && is_success(body)) body[7] = 0x5A;
}
void health_with_data(const MessageContext& message, Bytes& body) {
  if (is_get(message, kHealth) && is_success(body)) body.resize(body.size() + 4);
}
std::optional<Status> health_not_readable(const MessageContext& message) {
  if (!is_get(message, kHealth)) return std::nullopt;
  return Status::invalid_parameter;
}
void unit_of_128(const MessageContext& message, Bytes& body) {
  if (is_get(message, kUnit) && is_success(body) && body[5] == 64 && body[6] == 0) body[5] = 128;
}
bool takes_units_below_64(const MessageContext& message, mi::Refusal& refusal) {
  return refusal.check != "mi.config.unit" || (nmd1_of(message) & 0xFFFF) >= 64;
}
bool takes_units_above_the_maximum(const MessageContext& message, mi::Refusal& refusal) {
  return refusal.check != "mi.config.unit" || (nmd1_of(message) & 0xFFFF) < 64;
}

/// One unit for all ports.
class UnitShared final : public mi::EndpointHooks {
 public:
  void response(const MessageContext& message, Bytes& body) override {
    if (!is_success(body)) return;
    if (is_set(message, kUnit)) unit_ = static_cast<std::uint16_t>(nmd1_of(message));
    if (is_get(message, kUnit) && unit_ != 0) store_le(&body[5], unit_);
  }

 private:
  std::uint16_t unit_ = 0;
};

/// A packet buffer for 64 bytes, whatever was agreed.
class SmallPacketBuffer final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    constexpr std::size_t kLargest = 4 + 64;
    if (packet.size() > kLargest) packet.clear();
  }
};

}  // namespace

DEVIATION(reserved_configurations_answered, "mi.config.id.reserved", Product::endpoint,
          "answers reserved configuration identifiers with success", Tolerate{"mi.config.id"});
DEVIATION(one_reserved_configuration_answered, "mi.config.id.reserved", Product::endpoint,
          "has a configuration under a reserved identifier", hooks<SomeRefused, &takes_one_reserved>());
DEVIATION(reserved_configurations_set, "mi.config.id.reserved", Product::endpoint, "takes values for reserved configuration identifiers",
          hooks<SomeRefused, &takes_reserved_sets>());
DEVIATION(reserved_configurations_as_opcodes, "mi.config.id.reserved", Product::endpoint,
          "calls a reserved configuration identifier an invalid opcode", AnswerMi{"mi.config.id", Status::invalid_opcode});
DEVIATION(reserved_configurations_located_elsewhere, "mi.config.id.reserved", Product::endpoint,
          "points at the opcode when the configuration identifier is wrong", AnswerMi{"mi.config.id", Status::invalid_parameter, {4, 0}});

DEVIATION(two_wire_port_without_frequency, "mi.config.frequency.get", Product::endpoint, "has no frequency for its two-wire port",
          hooks<ResponseChanged, &no_frequency>());
DEVIATION(frequency_with_rubbish_behind, "mi.config.frequency.get", Product::endpoint, "sets reserved bits beside the frequency",
          hooks<ResponseChanged, &frequency_with_rubbish>());
DEVIATION(frequency_not_kept, "mi.config.frequency.set", Product::endpoint, "forgets the frequency that was set",
          Departs{mi::departure::config_not_kept});
DEVIATION(any_frequency_taken, "mi.config.frequency.unsupported", Product::endpoint, "takes frequencies that the port does not have",
          Tolerate{"mi.config.sfreq"});
DEVIATION(frequency_located_at_the_identifier, "mi.config.frequency.unsupported", Product::endpoint,
          "points at the identifier when the frequency is wrong", AnswerMi{"mi.config.sfreq", Status::invalid_parameter, {8, 0}});
DEVIATION(any_port_has_a_frequency, "mi.config.frequency.port", Product::endpoint, "has a frequency for ports that are no two-wire ports",
          Tolerate{"mi.config.sfreq.port"});
DEVIATION(frequency_port_located_elsewhere, "mi.config.frequency.port", Product::endpoint, "points at the frequency when the port is wrong",
          AnswerMi{"mi.config.sfreq.port", Status::invalid_parameter, {9, 0}});

DEVIATION(health_change_returns_data, "mi.config.health.get", Product::endpoint, "returns data for Health Status Change",
          hooks<ResponseChanged, &health_with_data>());
DEVIATION(health_change_not_readable, "mi.config.health.get", Product::endpoint, "refuses to read Health Status Change",
          hooks<SomeNotServed, &health_not_readable>());
DEVIATION(health_change_by_positions, "mi.config.health.set", Product::endpoint, "clears the composite status bits by their own positions",
          Departs{mi::departure::health_clears_wrong_bit});
DEVIATION(health_change_without_effect, "mi.config.health.set", Product::endpoint, "clears nothing with Health Status Change",
          Departs{mi::departure::config_not_kept});

DEVIATION(unit_of_128_at_first, "mi.config.unit.default", Product::endpoint, "begins with a unit of 128 bytes",
          hooks<ResponseChanged, &unit_of_128>());
DEVIATION(unit_not_kept, "mi.config.unit.set", Product::endpoint, "forgets the unit that was set", Departs{mi::departure::config_not_kept});
DEVIATION(unit_of_all_ports, "mi.config.unit.set", Product::endpoint, "has one unit for all ports", hooks<UnitShared>());
DEVIATION(unit_never_used, "mi.config.unit.used", Product::endpoint, "sends 64 bytes a packet whatever unit was set",
          Departs{mi::departure::unit_ignored});
DEVIATION(larger_packets_not_taken, "mi.config.unit.used", Product::endpoint, "takes no packets above 64 bytes whatever unit was set",
          hooks<SmallPacketBuffer>());
DEVIATION(any_unit_taken, "mi.config.unit.range", Product::endpoint, "takes any unit", Tolerate{"mi.config.unit"});
DEVIATION(units_below_64_taken, "mi.config.unit.range", Product::endpoint, "takes units below 64 bytes",
          hooks<SomeRefused, &takes_units_below_64>());
DEVIATION(units_above_the_maximum_taken, "mi.config.unit.range", Product::endpoint, "takes units above what it says is its maximum",
          hooks<SomeRefused, &takes_units_above_the_maximum>());
DEVIATION(unit_located_at_the_identifier, "mi.config.unit.range", Product::endpoint, "points at the identifier when the unit is wrong",
          AnswerMi{"mi.config.unit", Status::invalid_parameter, {8, 0}});
DEVIATION(any_port_has_a_unit, "mi.config.unit.port", Product::endpoint, "has a unit for ports that there are not",
          Tolerate{"mi.config.unit.port"});
DEVIATION(unit_port_located_elsewhere, "mi.config.unit.port", Product::endpoint, "points at the unit when the port is wrong",
          AnswerMi{"mi.config.unit.port", Status::invalid_parameter, {12, 0}});

DEVIATION(configurations_with_data_taken, "mi.config.request.data", Product::endpoint, "ignores data behind configuration commands",
          Tolerate{"mi.command.size"});
DEVIATION(short_configurations_taken, "mi.config.request.size", Product::endpoint,
          "takes what is missing of a configuration command for zero", Tolerate{"mi.command.size"});
DEVIATION(short_configurations_as_parameters, "mi.config.request.size", Product::endpoint,
          "calls a short configuration command an invalid parameter", AnswerMi{"mi.command.size", Status::invalid_parameter, {8, 0}});

}  // namespace fb::deviations
