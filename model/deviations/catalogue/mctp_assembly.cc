// Messages of several packets on their way into an endpoint.
#include <array>

#include "model/deviations/catalogue/mctp_shapes.h"
#include "model/drive/drive.h"

namespace fb::deviations {

namespace {

using shape::eom;
using shape::som;
using shape::tag;

/// Knows, by tag, whether a message has begun.
class WithTags : public mctp::EndpointHooks {
 protected:
  bool begun(const Bytes& packet) const { return begun_[tag(packet)]; }
  void note(const Bytes& packet) {
    if (som(packet)) begun_[tag(packet)] = true;
    if (eom(packet)) begun_[tag(packet)] = false;
  }

 private:
  std::array<bool, 8> begun_{};
};

/// Takes a packet for a start where none was; EOM tells which of them.
class StraysAreStarts final : public WithTags {
 public:
  explicit StraysAreStarts(bool ends) : ends_(ends) {}
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() <= 4) return;
    if (!som(packet) && !begun(packet) && eom(packet) == ends_) packet[3] |= 0x80;
    note(packet);
  }

 private:
  bool ends_;
};

void deaf_to_other_first_numbers(Bytes& packet) {
  if (som(packet) && (packet[3] & 0x30) != 0) packet.clear();
}

/// Leaves out a packet that is the same as the one before.
class LeavesOutDuplicates final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet == before_ && packet.size() > 4 && !som(packet)) {
      packet.clear();
    } else {
      before_ = packet;
    }
  }

 private:
  Bytes before_;
};

/// Stops for good at a middle packet of another size than the first.
class HangsOnAnotherSize final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() <= 4) return;
    if (som(packet)) first_ = packet.size();
    hangs_ = hangs_ || (!som(packet) && !eom(packet) && packet.size() != first_);
    if (hangs_) packet.clear();
  }

 private:
  std::size_t first_ = 0;
  bool hangs_ = false;
};

void joins_answers_to_requests(Bytes& packet) {
  if (!som(packet)) packet[3] |= 0x08;
}

/// Each message that begins takes a buffer, and gives it back when it ends.
class KeepsBuffers final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() <= 4 || som(packet) == eom(packet)) return;
    if (som(packet)) {
      if (taken_ >= 16) {
        packet.clear();
      } else {
        ++taken_;
      }
    } else if (taken_ > 0) {
      --taken_;
    }
  }

 private:
  unsigned taken_ = 0;
};

void any_type_is_control(Bytes& packet) {
  if (som(packet) && (packet[4] & 0x7F) != 0x04) packet[4] = 0;
}
void any_type_is_nvme_mi(Bytes& packet) {
  if (som(packet) && (packet[4] & 0x7F) != 0) packet[4] = 0x84;
}
void type_of_three_bits(Bytes& packet) {
  if (som(packet)) packet[4] &= 0x87;
}
void spdm_is_control(Bytes& packet) {
  if (som(packet) && (packet[4] & 0x7F) == 0x05) packet[4] = 0;
}

void as_linux(mi::DriveOptions& options) { options.end.reassembles_as_linux = true; }

}  // namespace

DEVIATION(takes_a_middle_for_a_start, "mctp.assembly.stray-middle", Product::endpoint,
          "takes a middle packet for a start where no message has begun", hooks<StraysAreStarts, false>());
DEVIATION(takes_an_end_for_a_message, "mctp.assembly.stray-end", Product::endpoint, "takes an end for a whole message where none has begun",
          hooks<StraysAreStarts, true>());
DEVIATION(wants_messages_to_begin_with_0, "mctp.assembly.first-number", Product::endpoint,
          "takes only messages whose first packet has the number 0", hooks<PacketsIn<deaf_to_other_first_numbers>>());
DEVIATION(keeps_the_old_message_on_a_new_start, "mctp.assembly.restart", Product::endpoint,
          "drops a new start instead of the message that had begun", Departs{mctp::departure::kRestart});
DEVIATION(drops_both_messages_on_a_new_start, "mctp.assembly.restart", Product::endpoint,
          "drops a new start and the message that had begun, as Linux does", AlterDrive{as_linux});
DEVIATION(does_not_look_at_numbers, "mctp.assembly.sequence", Product::endpoint, "does not look at sequence numbers",
          Departs{mctp::departure::kSequence});
DEVIATION(drops_only_the_packet_out_of_sequence, "mctp.assembly.sequence", Product::endpoint,
          "goes on with a message behind a packet out of sequence, as Linux does", AlterDrive{as_linux});
DEVIATION(leaves_out_packets_that_come_twice, "mctp.assembly.duplicate", Product::endpoint, "leaves out packets that come twice",
          hooks<LeavesOutDuplicates>());
DEVIATION(hangs_on_a_middle_packet_of_another_size, "mctp.assembly.size", Product::endpoint,
          "listens no more behind a middle packet of another size", hooks<HangsOnAnotherSize>());
DEVIATION(assembles_senders_together, "mctp.assembly.sources", Product::endpoint,
          "another requester's start ends a message that has begun (F28)", Departs{mctp::departure::kKeySource});
DEVIATION(assembles_tags_together, "mctp.assembly.tags", Product::endpoint, "a message of any tag ends the one that has begun",
          Departs{mctp::departure::kKeyTag});
DEVIATION(assembles_answers_with_requests, "mctp.assembly.owner", Product::endpoint, "knows messages apart without the tag owner bit (F27)",
          hooks<PacketsIn<joins_answers_to_requests>>());
DEVIATION(waits_for_ever_for_a_packet, "mctp.assembly.timeout", Product::endpoint, "never gives up a message that has begun (F27)",
          Departs{mctp::departure::kGap});
DEVIATION(gives_a_message_the_time_of_a_packet, "mctp.assembly.slow", Product::endpoint,
          "gives up messages that take longer as a whole than a packet may", Departs{mctp::departure::kGapOfAll});
DEVIATION(never_frees_the_buffer_of_an_unfinished_message, "mctp.assembly.unfinished", Product::endpoint,
          "has sixteen buffers, and loses one to each message that does not end", hooks<KeepsBuffers>());
DEVIATION(takes_any_type_for_control, "mctp.message.type", Product::endpoint, "takes messages of any type for control messages",
          hooks<PacketsIn<any_type_is_control>>());
DEVIATION(takes_any_type_for_nvme_mi, "mctp.message.type", Product::endpoint, "takes messages of any type for NVMe-MI",
          hooks<PacketsIn<any_type_is_nvme_mi>>());
DEVIATION(looks_at_three_bits_of_the_type, "mctp.message.type", Product::endpoint, "looks at three bits of the message type",
          hooks<PacketsIn<type_of_three_bits>>());
DEVIATION(takes_spdm_for_control, "mctp.message.type", Product::endpoint, "takes SPDM for control messages",
          hooks<PacketsIn<spdm_is_control>>());

}  // namespace fb::deviations
