// The basic management command, told wrongly.
#include "model/deviations/deviation.h"
#include "model/deviations/endpoint_speech.h"
#include "model/drive/drive.h"
#include "model/mi/fault_points.h"

namespace fb::deviations {

namespace {

/// Changes one byte of the 32; checks are left as they are.
class BasicByte final : public mi::EndpointHooks {
 public:
  BasicByte(std::size_t at, unsigned flip) : at_(at), flip_(static_cast<std::uint8_t>(flip)) {}
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (slave != Slave::basic_management || at_ < offset || at_ - offset >= bytes.size()) return;
    bytes[at_ - offset] ^= flip_;
  }

 private:
  std::size_t at_;
  std::uint8_t flip_;
};
/// The second block only comes when it is asked for.
class BlocksApart final : public mi::EndpointHooks {
 public:
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (slave == Slave::basic_management && offset == 0 && bytes.size() > 8) bytes.resize(8);
  }
};
/// Says what it said first.
class NeverUpdated final : public mi::EndpointHooks {
 public:
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (slave != Slave::basic_management || offset != 0) return;
    if (first_.empty()) first_ = bytes;
    bytes = first_;
  }

 private:
  Bytes first_;
};
void not_claimed(const mi::MessageContext& message, Bytes& body) {
  const bool port = is_mi(message, mi::Opcode::read_data_structure) && nmd0_of(message) >> 24 == 1;
  if (port && is_success(body) && body.size() > 8 + 12 && body[8] == 2) body[8 + 12] &= 0xFE;
}

/// Whatever has happened.
class ArbitrationAlwaysSet final : public mi::EndpointHooks {
 public:
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (slave == Slave::basic_management && offset == 0 && bytes.size() > 1) bytes[1] |= 0x80;
  }
};
class ArbitrationNeverSet final : public mi::EndpointHooks {
 public:
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (slave == Slave::basic_management && offset == 0 && bytes.size() > 1) bytes[1] &= 0x7F;
  }
};

constexpr std::size_t kFlags = 1, kWarnings = 2, kReserved = 5, kStatusPec = 7, kIdentityLength = 8, kVendor = 9, kSerial = 11,
                      kIdentityPec = 31;

}  // namespace

DEVIATION(basic_management_not_claimed, "mi.basic.smbus.present", Product::endpoint, "has the basic management command and does not say so",
          hooks<ResponseChanged, &not_claimed>());
DEVIATION(basic_length_wrong, "mi.basic.smbus.status", Product::endpoint, "gives its status another length", hooks<BasicByte, 0, 0x01>());
DEVIATION(basic_bits_clear, "mi.basic.smbus.status", Product::endpoint, "clears the bits of the status that are always set",
          hooks<BasicByte, kFlags, 0x03>());
DEVIATION(basic_never_ready, "mi.basic.smbus.status", Product::endpoint, "is never ready", hooks<BasicByte, kFlags, 0x40>());
DEVIATION(basic_reserved_set, "mi.basic.smbus.status", Product::endpoint, "sets a reserved byte of the status",
          hooks<BasicByte, kReserved, 0x07>());
DEVIATION(basic_identity_length_wrong, "mi.basic.smbus.identity", Product::endpoint, "gives its identity another length",
          hooks<BasicByte, kIdentityLength, 0x02>());
DEVIATION(basic_vendor_wrong, "mi.basic.smbus.identity", Product::endpoint, "names another vendor", hooks<BasicByte, kVendor, 0x10>());
DEVIATION(basic_serial_wrong, "mi.basic.smbus.identity", Product::endpoint, "names another serial number",
          hooks<BasicByte, kSerial, 0x01>());
DEVIATION(basic_status_check_wrong, "mi.basic.smbus.pec", Product::endpoint, "has a wrong check behind its status",
          hooks<BasicByte, kStatusPec, 0x80>());
DEVIATION(basic_identity_check_wrong, "mi.basic.smbus.pec", Product::endpoint, "has a wrong check behind its identity",
          hooks<BasicByte, kIdentityPec, 0x01>());
DEVIATION(basic_arbitration_is_always_good, "mi.basic.smbus.arbitration", Product::endpoint, "always says that there was no contention",
          hooks<ArbitrationAlwaysSet>());
DEVIATION(basic_arbitration_is_never_good, "mi.basic.smbus.arbitration", Product::endpoint, "never sets the arbitration bit",
          hooks<ArbitrationNeverSet>());
DEVIATION(basic_arbitration_is_not_cleared, "mi.basic.smbus.arbitration", Product::endpoint, "ignores Send Byte FFh",
          Departs{mi::departure::basic_arbitration_stays});
DEVIATION(basic_arbitration_is_inverted, "mi.basic.smbus.arbitration", Product::endpoint, "sets the arbitration bit for contention",
          Departs{mi::departure::basic_arbitration_inverted});
DEVIATION(basic_blocks_apart, "mi.basic.smbus.whole", Product::endpoint, "sends nothing behind the block that was asked for",
          hooks<BlocksApart>());
DEVIATION(basic_status_never_updated, "mi.basic.smbus.health", Product::endpoint, "tells for ever what it told first",
          hooks<NeverUpdated>());
DEVIATION(basic_warnings_not_inverted, "mi.basic.smbus.health", Product::endpoint, "gives its warnings the other way round",
          hooks<BasicByte, kWarnings, 0xFF>());

}  // namespace fb::deviations
