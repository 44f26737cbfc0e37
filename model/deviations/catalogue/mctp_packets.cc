// Packets of an endpoint: headers and sizes, both ways, and message tags.
#include <array>

#include "model/deviations/catalogue/mctp_shapes.h"

namespace fb::deviations {

namespace {

using mctp::control::Command;
using shape::eom;
using shape::som;

// ---- out ----

void version_0(Bytes& packet) { packet[0] = 0; }
void version_2(Bytes& packet) { packet[0] = 2; }
void version_2_later(Bytes& packet) {
  if (!som(packet)) packet[0] = 2;
}
void reserved_bits(Bytes& packet) { packet[0] |= 0x10; }
void high_reserved_bit_later(Bytes& packet) {
  if (!som(packet)) packet[0] |= 0x80;
}
void source_0(Bytes& packet) { packet[2] = 0; }
void source_0_later(Bytes& packet) {
  if (!som(packet)) packet[2] = 0;
}
void destination_0_later(Bytes& packet) {
  if (!som(packet)) packet[1] = 0;
}
void null_destination_is_8(Bytes& packet) {
  if (packet[1] == 0) packet[1] = 8;
}
void destination_0(Bytes& packet) { packet[1] = 0; }
void number_0(Bytes& packet) { packet[3] &= 0xCF; }
void som_on_all(Bytes& packet) { packet[3] |= 0x80; }
void eom_never(Bytes& packet) { packet[3] &= 0xBF; }
void som_never(Bytes& packet) { packet[3] &= 0x7F; }
void eom_on_all(Bytes& packet) { packet[3] |= 0x40; }
void tag_0(Bytes& packet) { packet[3] &= 0xF8; }
void next_tag(Bytes& packet) { packet[3] = static_cast<std::uint8_t>((packet[3] & 0xF8) | ((packet[3] + 1) & 7)); }
void two_bits_of_the_tag(Bytes& packet) { packet[3] &= 0xFB; }
void owns_its_tag(Bytes& packet) { packet[3] |= 0x08; }
void owns_its_tag_later(Bytes& packet) {
  if (!som(packet)) packet[3] |= 0x08;
}
void next_tag_later(Bytes& packet) {
  if (!som(packet)) next_tag(packet);
}

/// Gives packets of a message other numbers than they have.
class Numbers final : public mctp::EndpointHooks {
 public:
  explicit Numbers(unsigned (*number)(unsigned)) : number_(number) {}
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    for (Bytes& packet : packets) {
      if (som(packet)) count_ = 0;
      packet[3] = static_cast<std::uint8_t>((packet[3] & 0xCF) | (number_(count_++) & 3) << 4);
    }
  }

 private:
  unsigned (*number_)(unsigned);
  unsigned count_ = 0;
};
unsigned up_to_three(unsigned count) { return count < 3 ? count : 3; }
unsigned by_twos(unsigned count) { return count * 2; }
unsigned downwards(unsigned count) { return 4 - (count & 3); }
unsigned skips_zero(unsigned count) { return count == 0 ? 0 : (count - 1) % 3 + 1; }

/// Cuts packets that are not the last into smaller ones, in one message.
class CutsSmaller final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    std::vector<Bytes> made;
    for (Bytes& packet : packets) {
      if (som(packet)) number_ = 0;
      if (eom(packet) || packet.size() <= 4 + 40) {
        put(made, std::move(packet));
        continue;
      }
      Bytes rest(packet.begin(), packet.begin() + 4);
      rest.insert(rest.end(), packet.begin() + 4 + 40, packet.end());
      rest[3] &= 0x7F;
      packet.resize(4 + 40);
      put(made, std::move(packet));
      put(made, std::move(rest));
    }
    packets = std::move(made);
  }

 private:
  void put(std::vector<Bytes>& made, Bytes packet) {
    packet[3] = static_cast<std::uint8_t>((packet[3] & 0xCF) | (number_++ & 3) << 4);
    made.push_back(std::move(packet));
  }
  unsigned number_ = 0;
};

/// Joins two packets to one of 128 bytes that nobody has agreed to. Larger ones stay: the medium has no room for two.
class JoinsTwo final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress&, std::vector<Bytes>& packets) override {
    Bytes packet = std::move(packets.front());
    packets.clear();
    if (som(packet)) number_ = 0;
    if (held_.empty() && !eom(packet) && packet.size() <= kBaselinePacket) {
      held_ = std::move(packet);
      return;
    }
    if (!held_.empty()) {
      held_.insert(held_.end(), packet.begin() + 4, packet.end());
      if (eom(packet)) held_[3] |= 0x40;
      packet = std::exchange(held_, {});
    }
    packet[3] = static_cast<std::uint8_t>((packet[3] & 0xCF) | (number_++ & 3) << 4);
    packets.push_back(std::move(packet));
  }

 private:
  static constexpr std::size_t kBaselinePacket = 4 + mctp::kBaselineUnit;
  Bytes held_;
  unsigned number_ = 0;
};

/// A last packet of nothing behind one that was full, or a byte too many.
void leaves_a_byte_out(Bytes& packet) {
  if (!som(packet) && eom(packet) && packet.size() > 5) packet.pop_back();
}

// ---- in ----

void drops_reserved_bits(Bytes& packet) {
  if ((packet[0] & 0xF0) != 0) packet.clear();
}
void takes_versions_0_and_1(Bytes& packet) {
  if ((packet[0] & 0x0F) == 0) packet[0] = 1;
}
void takes_any_odd_version(Bytes& packet) {
  if ((packet[0] & 1) != 0) packet[0] = 1;
}
void takes_reserved_destinations(Bytes& packet) {
  if (packet[1] < 8) packet[1] = 0;
}
void takes_254_as_broadcast(Bytes& packet) {
  if (packet[1] == 0xFE) packet[1] = 0;
}
void deaf_to_null_destination(Bytes& packet) {
  if (packet[1] == 0) packet.clear();
}
void deaf_to_null_source(Bytes& packet) {
  if (packet[2] == 0) packet.clear();
}
void deaf_to_high_eids(Bytes& packet) {
  if (packet[1] >= 0x80 && packet[1] != 0xFF) packet.clear();
}
void owns_every_tag(Bytes& packet) { packet[3] |= 0x08; }
void deaf_to_full_packets(Bytes& packet) {
  if (packet.size() >= 4 + 64) packet.clear();
}
void deaf_to_short_packets(Bytes& packet) {
  if (som(packet) && eom(packet) && packet.size() < 4 + 8 && packet[6] != 0x01 && packet[6] != 0x02) packet.clear();
}

/// Remembers the EIDs that it was given, and takes packets to any of them.
class KeepsFormerEids final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() > 8 && shape::starts_control(packet) && packet[6] == 0x01) known_[packet[8]] = true;
    if (packet.size() > 4 && known_[packet[1]]) packet[1] = 0;
  }

 private:
  std::array<bool, 256> known_{};
};

/// Reads what a short packet does not have from the one before it.
class ReadsOldBytes final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() <= 4 && before_.size() > packet.size()) {
      packet.insert(packet.end(), before_.begin() + static_cast<std::ptrdiff_t>(packet.size()), before_.end());
    }
    before_ = packet;
  }

 private:
  Bytes before_;
};

/// Has no buffer left after some packets that were none of its own.
class LosesBuffers final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    const bool sound = packet.size() > 4 && packet[0] == 1;
    if (!sound && lost_ < 40) ++lost_;
    if (lost_ >= 40) packet.clear();
  }

 private:
  unsigned lost_ = 0;
};

/// Answers what is no message it knows with its last answer.
class RepliesToNoise final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() > 4 && packet[0] == 1 && som(packet) && packet[4] == 0x55) {
      const Bytes request = {0x00, 0x80, 0x02};
      packet.resize(4);
      packet[3] = 0xC8;
      packet.insert(packet.end(), request.begin(), request.end());
    }
  }
};

}  // namespace

DEVIATION(sends_packets_of_version_0, "mctp.packet.version", Product::endpoint, "sends packets of header version 0",
          hooks<PacketsOut<version_0>>());
DEVIATION(sends_packets_of_version_2, "mctp.packet.version", Product::endpoint, "sends packets of header version 2",
          hooks<PacketsOut<version_2>>());
DEVIATION(sends_version_2_behind_the_first_packet, "mctp.packet.version", Product::endpoint,
          "sends further packets of a message with header version 2", hooks<PacketsOut<version_2_later>>());
DEVIATION(sets_reserved_bits_of_packets, "mctp.packet.reserved", Product::endpoint, "sets a reserved bit of every packet",
          hooks<PacketsOut<reserved_bits>>());
DEVIATION(sets_reserved_bits_behind_the_first_packet, "mctp.packet.reserved", Product::endpoint, "sets a reserved bit of further packets",
          hooks<PacketsOut<high_reserved_bit_later>>());
DEVIATION(takes_packets_of_any_version, "mctp.packet.version-checked", Product::endpoint, "takes packets of any header version",
          Departs{mctp::departure::kVersion});
DEVIATION(takes_packets_of_version_0, "mctp.packet.version-checked", Product::endpoint, "takes packets of header version 0",
          hooks<PacketsIn<takes_versions_0_and_1>>());
DEVIATION(looks_at_one_bit_of_the_version, "mctp.packet.version-checked", Product::endpoint, "takes packets of any odd header version",
          hooks<PacketsIn<takes_any_odd_version>>());
DEVIATION(drops_packets_with_reserved_bits, "mctp.packet.reserved-ignored", Product::endpoint,
          "takes reserved bits for a part of the version", hooks<PacketsIn<drops_reserved_bits>>());
DEVIATION(takes_packets_for_any_eid, "mctp.packet.destination", Product::endpoint, "takes packets for other EIDs as its own",
          Departs{mctp::departure::kDestination});
DEVIATION(takes_packets_for_reserved_eids, "mctp.packet.destination", Product::endpoint, "takes packets for EIDs 1 to 7 as its own",
          hooks<PacketsIn<takes_reserved_destinations>>());
DEVIATION(takes_packets_for_eid_254, "mctp.packet.destination", Product::endpoint, "takes packets for EID 254 as its own",
          hooks<PacketsIn<takes_254_as_broadcast>>());
DEVIATION(deaf_to_eid_0, "mctp.packet.null-destination", Product::endpoint, "does not take packets for EID 0",
          hooks<PacketsIn<deaf_to_null_destination>>());
DEVIATION(answers_from_eid_0, "mctp.packet.own-eid", Product::endpoint, "answers from EID 0 whatever it was given",
          hooks<PacketsOut<source_0>>());
DEVIATION(answers_to_eid_0, "mctp.packet.own-eid", Product::endpoint, "answers to EID 0 whoever asked", hooks<PacketsOut<destination_0>>());
DEVIATION(deaf_to_high_eids_of_its_own, "mctp.packet.own-eid", Product::endpoint, "does not take packets for EIDs from 128 on",
          hooks<PacketsIn<deaf_to_high_eids>>());
DEVIATION(takes_packets_for_former_eids, "mctp.packet.former-eid", Product::endpoint, "takes packets for every EID that it ever had",
          hooks<KeepsFormerEids>());
DEVIATION(deaf_to_requests_from_eid_0, "mctp.packet.null-source", Product::endpoint, "does not take packets from EID 0",
          hooks<PacketsIn<deaf_to_null_source>>());
DEVIATION(answers_eid_0_at_eid_8, "mctp.packet.null-source", Product::endpoint, "answers requests from EID 0 to EID 8",
          hooks<PacketsOut<null_destination_is_8>>());
DEVIATION(reads_on_behind_short_packets, "mctp.packet.short", Product::endpoint,
          "reads what a short packet does not have from the packet before", hooks<ReadsOldBytes>());
DEVIATION(deaf_to_packets_of_64_bytes, "mctp.packet.unit.baseline", Product::endpoint, "does not take packets of 64 bytes",
          hooks<PacketsIn<deaf_to_full_packets>>());
DEVIATION(deaf_to_packets_below_8_bytes, "mctp.packet.unit.baseline", Product::endpoint, "does not take packets below 8 bytes",
          hooks<PacketsIn<deaf_to_short_packets>>());
DEVIATION(takes_packets_above_the_unit, "mctp.packet.unit.above", Product::endpoint, "takes packets above the unit that is agreed",
          Departs{mctp::departure::kUnitAbove});
DEVIATION(takes_parts_below_64_bytes, "mctp.packet.unit.below", Product::endpoint, "takes parts below 64 bytes that are not the last",
          Departs{mctp::departure::kUnitBelow});
DEVIATION(sends_parts_of_unequal_size, "mctp.packet.unit.sent", Product::endpoint, "sends parts of 40 and 24 bytes", hooks<CutsSmaller>());
DEVIATION(sends_parts_of_128_bytes, "mctp.packet.unit.sent", Product::endpoint, "sends parts of 128 bytes that nobody has agreed to",
          hooks<JoinsTwo>());
DEVIATION(leaves_out_the_last_byte, "mctp.packet.unit.sent", Product::endpoint, "sends the last packet of a message a byte short",
          hooks<PacketsOut<leaves_a_byte_out>>());
DEVIATION(numbers_all_packets_0, "mctp.packet.sequence", Product::endpoint, "gives every packet the number 0",
          hooks<PacketsOut<number_0>>());
DEVIATION(numbers_packets_up_to_3, "mctp.packet.sequence", Product::endpoint, "counts packets up to 3 and stays there",
          hooks<Numbers, up_to_three>());
DEVIATION(numbers_packets_by_twos, "mctp.packet.sequence", Product::endpoint, "counts packets by twos", hooks<Numbers, by_twos>());
DEVIATION(numbers_packets_downwards, "mctp.packet.sequence", Product::endpoint, "counts packets downwards", hooks<Numbers, downwards>());
DEVIATION(numbers_packets_without_0, "mctp.packet.sequence", Product::endpoint, "leaves 0 out when it counts packets on",
          hooks<Numbers, skips_zero>());
DEVIATION(sets_som_on_every_packet, "mctp.packet.start-end", Product::endpoint, "sets SOM on every packet",
          hooks<PacketsOut<som_on_all>>());
DEVIATION(sets_som_on_no_packet, "mctp.packet.start-end", Product::endpoint, "sets SOM on no packet", hooks<PacketsOut<som_never>>());
DEVIATION(sets_eom_on_every_packet, "mctp.packet.start-end", Product::endpoint, "sets EOM on every packet",
          hooks<PacketsOut<eom_on_all>>());
DEVIATION(sets_eom_on_no_packet, "mctp.packet.start-end", Product::endpoint, "sets EOM on no packet", hooks<PacketsOut<eom_never>>());
DEVIATION(loses_buffers_to_bad_packets, "mctp.packet.noise", Product::endpoint, "listens no more after forty bad packets",
          hooks<LosesBuffers>());
DEVIATION(answers_noise, "mctp.packet.noise", Product::endpoint, "answers messages of a type that nobody has", hooks<RepliesToNoise>());
DEVIATION(answers_with_tag_0, "mctp.tag.echoed", Product::endpoint, "answers with tag 0 whatever was asked", hooks<PacketsOut<tag_0>>());
DEVIATION(answers_with_the_next_tag, "mctp.tag.echoed", Product::endpoint, "answers with the next tag", hooks<PacketsOut<next_tag>>());
DEVIATION(answers_with_two_bits_of_the_tag, "mctp.tag.echoed", Product::endpoint, "answers with the low two bits of the tag",
          hooks<PacketsOut<two_bits_of_the_tag>>());
DEVIATION(answers_own_their_tag, "mctp.tag.owner", Product::endpoint, "sets the tag owner bit in answers",
          hooks<PacketsOut<owns_its_tag>>());
DEVIATION(answers_own_their_tag_later, "mctp.tag.owner", Product::endpoint, "sets the tag owner bit in further packets of answers",
          hooks<PacketsOut<owns_its_tag_later>>());
DEVIATION(changes_the_tag_in_an_answer, "mctp.tag.constant", Product::endpoint, "sends further packets of an answer with another tag",
          hooks<PacketsOut<next_tag_later>>());
DEVIATION(changes_the_source_in_an_answer, "mctp.tag.constant", Product::endpoint, "sends further packets of an answer from EID 0",
          hooks<PacketsOut<source_0_later>>());
DEVIATION(changes_the_destination_in_an_answer, "mctp.tag.constant", Product::endpoint, "sends further packets of an answer to EID 0",
          hooks<PacketsOut<destination_0_later>>());
DEVIATION(takes_answers_for_requests, "mctp.tag.unexpected", Product::endpoint, "does not look at the tag owner bit of what comes",
          hooks<PacketsIn<owns_every_tag>>());

}  // namespace fb::deviations
