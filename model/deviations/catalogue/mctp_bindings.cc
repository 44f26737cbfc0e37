// Frames of an endpoint on SMBus, serial lines and PCI Express, and discovery.
#include <algorithm>
#include <array>

#include "model/deviations/catalogue/mctp_shapes.h"
#include "model/drive/drive.h"
#include "sim/mctp/binding.h"
#include "wire/mctp/crc.h"

namespace fb::deviations {

namespace {

using mctp::control::Command;
using mctp::control::Completion;
using shape::is;

// ---- SMBus: address, command code, count, source, packet, PEC ----

void refresh_pec(Bytes& frame) { frame.back() = mctp::pec(ByteView(frame).first(frame.size() - 1)); }
bool pec_holds(const Bytes& frame) { return frame.back() == mctp::pec(ByteView(frame).first(frame.size() - 1)); }

template <std::size_t At, std::uint8_t Value>
void puts(Bytes& frame) {
  frame[At] = Value;
  refresh_pec(frame);
}
template <std::size_t At, std::uint8_t Bits>
void flips(Bytes& frame) {
  frame[At] ^= Bits;
  refresh_pec(frame);
}
void counts_the_pec(Bytes& frame) {
  ++frame[2];
  refresh_pec(frame);
}
void does_not_count_the_source(Bytes& frame) {
  --frame[2];
  refresh_pec(frame);
}
void wrong_pec(Bytes& frame) { frame.back() ^= 0x01; }
void pec_without_the_address(Bytes& frame) { frame.back() = mctp::pec(ByteView(frame).subspan(1, frame.size() - 2)); }
void pec_of_short_writes_alone(Bytes& frame) {
  if (frame.size() > 40) frame.back() = 0;
}
void no_pec(Bytes& frame) { frame.pop_back(); }

void mends_the_pec(Bytes& frame) {
  if (frame.size() > 9) refresh_pec(frame);
}
void does_not_see_bit_0_of_the_pec(Bytes& frame) {
  if (frame.size() <= 9) return;
  frame.back() ^= 0x01;
  if (!pec_holds(frame)) frame.back() ^= 0x01;
}
void takes_any_command(Bytes& frame) {
  if (frame.size() > 9 && pec_holds(frame)) puts<1, 0x0F>(frame);
}
void takes_command_1f(Bytes& frame) {
  if (frame.size() > 9 && frame[1] == 0x1F && pec_holds(frame)) puts<1, 0x0F>(frame);
}
void takes_any_count(Bytes& frame) {
  if (frame.size() <= 9 || !pec_holds(frame)) return;
  frame[2] = static_cast<std::uint8_t>(frame.size() - 4);
  refresh_pec(frame);
}
void takes_smaller_counts(Bytes& frame) {
  if (frame.size() > 9 && frame[2] < frame.size() - 4) takes_any_count(frame);
}

/// Answers wherever the first request came from, or where an EID was first seen.
class AnswersTheFirst final : public mctp::EndpointHooks {
 public:
  explicit AnswersTheFirst(bool any) : any_(any) {}
  void packets_out(mctp::PhysicalAddress& to, std::vector<Bytes>& packets) override {
    const std::uint8_t eid = any_ ? std::uint8_t{0} : packets.front()[1];
    if (first_[eid].size == 0) first_[eid] = to;
    to = first_[eid];
  }

 private:
  bool any_;
  std::array<mctp::PhysicalAddress, 256> first_{};
};

void at_another_address(mi::DriveOptions& options) {
  for (mi::DevicePort& port : options.device.ports) port.endpoint_address = 0x3C;
}

// ---- serial: flag, revision, count, packet with escapes, FCS, flag ----

template <auto Change>
void of_serial(Bytes& frame) {
  if (frame.size() > 6 && frame.front() == 0x7E && frame.back() == 0x7E) Change(frame);
}
/// The frame's revision, count and packet without escapes.
Bytes covered(const Bytes& frame) {
  Bytes plain = {frame[1], frame[2]};
  for (std::size_t at = 3; at + 3 < frame.size(); ++at) {
    const bool escape = frame[at] == 0x7D && at + 4 < frame.size();
    plain.push_back(escape ? static_cast<std::uint8_t>(frame[++at] ^ 0x20) : frame[at]);
  }
  return plain;
}
void put_fcs(Bytes& frame, std::uint16_t value) {
  frame[frame.size() - 3] = static_cast<std::uint8_t>(value >> 8);
  frame[frame.size() - 2] = static_cast<std::uint8_t>(value & 0xFF);
}
void refresh_fcs(Bytes& frame) { put_fcs(frame, mctp::fcs(covered(frame))); }
bool fcs_holds(const Bytes& frame) {
  const std::uint16_t value = mctp::fcs(covered(frame));
  return frame[frame.size() - 3] == value >> 8 && frame[frame.size() - 2] == (value & 0xFF);
}

void revision_2(Bytes& frame) {
  frame[1] = 2;
  refresh_fcs(frame);
}
void counts_the_check(Bytes& frame) {
  frame[2] = static_cast<std::uint8_t>(frame[2] + 2);
  refresh_fcs(frame);
}
void no_end_flag(Bytes& frame) { frame.pop_back(); }
void no_start_flag(Bytes& frame) { frame.erase(frame.begin()); }
void no_escapes(Bytes& frame) {
  const Bytes plain = covered(frame);
  Bytes made = {0x7E};
  made.insert(made.end(), plain.begin(), plain.end());
  made.insert(made.end(), frame.end() - 3, frame.end());
  frame = made;
}
void does_not_escape_escapes(Bytes& frame) {
  for (std::size_t at = 3; at + 4 < frame.size(); ++at) {
    if (frame[at] == 0x7D && frame[at + 1] == 0x5D) frame.erase(frame.begin() + static_cast<std::ptrdiff_t>(at + 1));
  }
}
void low_byte_first(Bytes& frame) { std::swap(frame[frame.size() - 3], frame[frame.size() - 2]); }
void inverted(Bytes& frame) { put_fcs(frame, static_cast<std::uint16_t>(~mctp::fcs(covered(frame)))); }
void from_0(Bytes& frame) { put_fcs(frame, mctp::fcs(covered(frame), 0)); }
void over_escapes(Bytes& frame) { put_fcs(frame, mctp::fcs(ByteView(frame).subspan(1, frame.size() - 4))); }

void does_not_unescape(Bytes& bytes) { std::erase(bytes, std::uint8_t{0x7D}); }
void mends_the_fcs(Bytes& frame) { refresh_fcs(frame); }
void takes_an_fcs_from_0(Bytes& frame) {
  const Bytes as_came = frame;
  from_0(frame);
  if (frame == as_came)
    refresh_fcs(frame);
  else
    frame = as_came;
}
void takes_an_inverted_fcs(Bytes& frame) {
  const Bytes as_came = frame;
  inverted(frame);
  if (frame == as_came)
    refresh_fcs(frame);
  else
    frame = as_came;
}
void takes_any_revision(Bytes& frame) {
  if (!fcs_holds(frame)) return;
  frame[1] = 1;
  refresh_fcs(frame);
}
void takes_revision_0(Bytes& frame) {
  if (frame[1] == 0) takes_any_revision(frame);
}
void takes_any_serial_count(Bytes& frame) {
  if (!fcs_holds(frame)) return;
  frame[2] = static_cast<std::uint8_t>(covered(frame).size() - 2);
  refresh_fcs(frame);
}
/// Hears nothing more behind bytes that are no frame.
class DeafBehindNoise final : public mctp::EndpointHooks {
 public:
  void frame_in(Bytes& bytes) override {
    const bool frame = bytes.size() > 6 && bytes.front() == 0x7E && bytes.back() == 0x7E;
    deaf_ = deaf_ || !frame;
    if (deaf_) bytes.clear();
  }

 private:
  bool deaf_ = false;
};
/// Waits for as many bytes as a byte count that was cut short has said.
class BelievesTheCount final : public mctp::EndpointHooks {
 public:
  void frame_in(Bytes& bytes) override {
    if (bytes.size() == 5 && bytes[2] == 0x20) waits_ = 1000;
    if (waits_ == 0) return;
    waits_ -= std::min(waits_, bytes.size());
    bytes.clear();
  }

 private:
  std::size_t waits_ = 0;
};

// ---- PCI Express: TLP header of 16 bytes, the last four of them the packet's ----

template <std::size_t At, std::uint8_t Value>
void byte_is(Bytes& tlp) {
  tlp[At] = Value;
}
template <std::size_t At, std::uint8_t Bits>
void bits_are_set(Bytes& tlp) {
  tlp[At] |= Bits;
}
void vendor_swapped(Bytes& tlp) { std::swap(tlp[10], tlp[11]); }
void length_in_bytes(Bytes& tlp) { tlp[3] = static_cast<std::uint8_t>(tlp.size() - 16); }
void length_with_the_header(Bytes& tlp) { tlp[3] = static_cast<std::uint8_t>(tlp[3] + 4); }
void target_0(Bytes& tlp) { tlp[8] = tlp[9] = 0x55; }
void no_requester(Bytes& tlp) { tlp[4] = tlp[5] = 0; }
void pads_with_ones(Bytes& tlp) {
  for (unsigned at = 0; at < (tlp[6] >> 4 & 3u); ++at) tlp[tlp.size() - 1 - at] = 0xFF;
}
void says_no_padding(Bytes& tlp) { tlp[6] &= 0xCF; }
void says_one_byte_less(Bytes& tlp) {
  if ((tlp[6] & 0x30) != 0) tlp[6] = static_cast<std::uint8_t>(tlp[6] - 0x10);
}
void takes_padding_for_data(Bytes& tlp) { tlp[6] &= 0xCF; }
void takes_any_vendor(Bytes& tlp) {
  tlp[10] = 0x1A;
  tlp[11] = 0xB4;
}
void looks_at_one_byte_of_the_vendor(Bytes& tlp) { tlp[11] = 0xB4; }
void takes_any_code(Bytes& tlp) { tlp[6] &= 0xF0; }
void takes_type_0(Bytes& tlp) { tlp[7] = 0x7F; }

void deaf_to_all(Bytes& packet) {
  if (packet[1] == 0xFF) packet.clear();
}
/// Answers what came to all by ID.
class AnswersAllById final : public mctp::EndpointHooks {
 public:
  void packets_out(mctp::PhysicalAddress& to, std::vector<Bytes>&) override {
    if (mctp::bdf_of(to) == 0xFFFF) to = mctp::PhysicalAddress{{0, 0}, 2};
  }
};
bool silent_to_discovery(ByteView request, Bytes&) { return !is(request, Command::endpoint_discovery); }
void refuses_discovery(ByteView request, Bytes& answer) {
  if (is(request, Command::endpoint_discovery)) answer = shape::refusal(request, Completion::unsupported_command);
}
/// Counts as discovered once it has answered.
class AnswersDiscoveryOnce final : public mctp::EndpointHooks {
 public:
  bool control_answer(ByteView request, Bytes&) override {
    if (is(request, Command::prepare_for_discovery)) answered_ = false;
    if (!is(request, Command::endpoint_discovery)) return true;
    return !std::exchange(answered_, true);
  }

 private:
  bool answered_ = false;
};
/// Has no EID any more behind Prepare for Endpoint Discovery.
class PrepareTakesTheEid final : public mctp::EndpointHooks {
 public:
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() > 6 && prepared_ && packet[1] != 0 && packet[1] != 0xFF) packet.clear();
    if (packet.size() > 6 && shape::starts_control(packet) && packet[6] == 0x0B) prepared_ = true;
  }

 private:
  bool prepared_ = false;
};
void prepare_says_more(ByteView request, Bytes& answer) {
  if (is(request, Command::prepare_for_discovery)) answer.push_back(0);
}
void refuses_set_discovered(ByteView request, Bytes& answer) {
  if (is(request, Command::set_endpoint_id) && request.size() > 3 && (request[3] & 3) == 3) {
    answer = shape::refusal(request, Completion::invalid_data);
  }
}

}  // namespace

DEVIATION(writes_command_code_0eh, "mctp.smbus.command", Product::endpoint, "writes blocks with command code 0Eh",
          hooks<FramesOut<puts<1, 0x0E>>>());
DEVIATION(counts_the_pec_of_block_writes, "mctp.smbus.count", Product::endpoint, "counts the PEC as well",
          hooks<FramesOut<counts_the_pec>>());
DEVIATION(counts_block_writes_without_the_source, "mctp.smbus.count", Product::endpoint, "does not count the source address",
          hooks<FramesOut<does_not_count_the_source>>());
DEVIATION(clears_bit_0_of_its_address, "mctp.smbus.source", Product::endpoint, "names its address with bit 0 clear, as IPMB does",
          hooks<FramesOut<flips<3, 0x01>>>());
DEVIATION(names_another_address, "mctp.smbus.source", Product::endpoint, "names another address than its own",
          hooks<FramesOut<flips<3, 0x02>>>());
DEVIATION(writes_a_wrong_pec, "mctp.smbus.pec", Product::endpoint, "writes a wrong PEC", hooks<FramesOut<wrong_pec>>());
DEVIATION(writes_a_pec_without_the_address, "mctp.smbus.pec", Product::endpoint, "leaves the address out of the PEC",
          hooks<FramesOut<pec_without_the_address>>());
DEVIATION(writes_no_pec_behind_long_packets, "mctp.smbus.pec", Product::endpoint, "writes 0 for the PEC of long packets",
          hooks<FramesOut<pec_of_short_writes_alone>>());
DEVIATION(writes_no_pec, "mctp.smbus.pec", Product::endpoint, "writes no PEC", hooks<FramesOut<no_pec>>());
DEVIATION(does_not_check_the_pec, "mctp.smbus.pec-checked", Product::endpoint, "takes packets with a wrong PEC",
          hooks<FramesIn<mends_the_pec>>());
DEVIATION(does_not_check_bit_0_of_the_pec, "mctp.smbus.pec-checked", Product::endpoint, "takes packets whose PEC is wrong in bit 0",
          hooks<FramesIn<does_not_see_bit_0_of_the_pec>>());
DEVIATION(takes_any_command_code, "mctp.smbus.other-command", Product::endpoint, "takes blocks of any command code",
          hooks<FramesIn<takes_any_command>>());
DEVIATION(takes_command_code_1fh, "mctp.smbus.other-command", Product::endpoint, "takes blocks of command code 1Fh",
          hooks<FramesIn<takes_command_1f>>());
DEVIATION(does_not_check_the_byte_count, "mctp.smbus.count-checked", Product::endpoint, "takes packets with a wrong byte count",
          hooks<FramesIn<takes_any_count>>());
DEVIATION(takes_byte_counts_that_are_too_small, "mctp.smbus.count-checked", Product::endpoint,
          "takes packets with a byte count that is too small", hooks<FramesIn<takes_smaller_counts>>());
DEVIATION(answers_whoever_came_first, "mctp.smbus.reply-address", Product::endpoint, "answers everybody at the address of the first",
          hooks<AnswersTheFirst, true>());
DEVIATION(never_learns_another_address, "mctp.smbus.reply-address", Product::endpoint, "answers an EID where it was first seen",
          hooks<AnswersTheFirst, false>());
DEVIATION(tries_packets_once, "mctp.smbus.retry", Product::endpoint, "gives up a packet that is not acknowledged at once",
          Departs{mctp::departure::kSmbusRetry});
DEVIATION(stops_behind_a_packet_that_nobody_takes, "mctp.smbus.given-up", Product::endpoint,
          "never sends again behind a packet that is not acknowledged (F29)", Departs{mctp::departure::kSmbusWedged});
DEVIATION(declares_another_smbus_address, "mctp.smbus.address", Product::endpoint, "declares another SMBus address than it has",
          AlterDrive{at_another_address});
DEVIATION(has_discovery_on_smbus, "mctp.smbus.discovery", Product::endpoint, "has endpoint discovery on SMBus",
          Departs{mctp::departure::kControlDiscoveryAnywhere});

DEVIATION(sends_frames_of_revision_2, "mctp.serial.frame", Product::endpoint, "sends frames of revision 2",
          hooks<FramesOut<of_serial<revision_2>>>());
DEVIATION(counts_the_check_of_frames, "mctp.serial.frame", Product::endpoint, "counts the check of a frame as well",
          hooks<FramesOut<of_serial<counts_the_check>>>());
DEVIATION(sends_frames_without_an_end, "mctp.serial.frame", Product::endpoint, "sends no flag behind a frame",
          hooks<FramesOut<of_serial<no_end_flag>>>());
DEVIATION(sends_frames_without_a_start, "mctp.serial.frame", Product::endpoint, "sends no flag before a frame",
          hooks<FramesOut<of_serial<no_start_flag>>>());
DEVIATION(does_not_escape, "mctp.serial.escape", Product::endpoint, "sends flags and escapes as they are",
          hooks<FramesOut<of_serial<no_escapes>>>());
DEVIATION(escapes_flags_alone, "mctp.serial.escape", Product::endpoint, "escapes flags and not escapes",
          hooks<FramesOut<of_serial<does_not_escape_escapes>>>());
DEVIATION(does_not_undo_escapes, "mctp.serial.unescape", Product::endpoint, "leaves escapes in packets as they are",
          hooks<FramesIn<does_not_unescape>>());
DEVIATION(sends_its_check_low_byte_first, "mctp.serial.fcs", Product::endpoint, "sends its check low byte first",
          hooks<FramesOut<of_serial<low_byte_first>>>());
DEVIATION(sends_its_check_inverted, "mctp.serial.fcs", Product::endpoint, "inverts its check, as PPP does",
          hooks<FramesOut<of_serial<inverted>>>());
DEVIATION(begins_its_check_with_0, "mctp.serial.fcs", Product::endpoint, "computes its check from 0 (F30)",
          hooks<FramesOut<of_serial<from_0>>>());
DEVIATION(checks_over_escapes, "mctp.serial.fcs", Product::endpoint, "computes its check over escapes",
          hooks<FramesOut<of_serial<over_escapes>>>());
DEVIATION(does_not_look_at_the_check, "mctp.serial.fcs-checked", Product::endpoint, "takes frames with a wrong check",
          hooks<FramesIn<of_serial<mends_the_fcs>>>());
DEVIATION(takes_checks_from_0_too, "mctp.serial.fcs-checked", Product::endpoint, "takes checks that were computed from 0 as well (F30)",
          hooks<FramesIn<of_serial<takes_an_fcs_from_0>>>());
DEVIATION(takes_inverted_checks_too, "mctp.serial.fcs-checked", Product::endpoint, "takes inverted checks as well",
          hooks<FramesIn<of_serial<takes_an_inverted_fcs>>>());
DEVIATION(takes_frames_of_any_revision, "mctp.serial.revision", Product::endpoint, "takes frames of any revision",
          hooks<FramesIn<of_serial<takes_any_revision>>>());
DEVIATION(takes_frames_of_revision_0, "mctp.serial.revision", Product::endpoint, "takes frames of revision 0",
          hooks<FramesIn<of_serial<takes_revision_0>>>());
DEVIATION(takes_frames_of_any_count, "mctp.serial.count", Product::endpoint, "takes frames with a wrong byte count",
          hooks<FramesIn<of_serial<takes_any_serial_count>>>());
DEVIATION(deaf_behind_noise, "mctp.serial.resync", Product::endpoint, "hears nothing more behind noise", hooks<DeafBehindNoise>());
DEVIATION(believes_a_count_that_was_cut_short, "mctp.serial.resync", Product::endpoint, "waits for the rest of a frame that was cut short",
          hooks<BelievesTheCount>());

DEVIATION(sends_messages_to_everybody, "mctp.vdm.type", Product::endpoint, "broadcasts its answers", hooks<FramesOut<byte_is<0, 0x73>>>());
DEVIATION(sends_messages_in_another_class, "mctp.vdm.type", Product::endpoint, "sends in traffic class 7",
          hooks<FramesOut<byte_is<1, 0x70>>>());
DEVIATION(sends_poisoned_messages, "mctp.vdm.type", Product::endpoint, "sets EP in its messages",
          hooks<FramesOut<bits_are_set<2, 0x40>>>());
DEVIATION(sends_messages_of_type_0, "mctp.vdm.codes", Product::endpoint, "sends vendor defined messages of type 0",
          hooks<FramesOut<byte_is<7, 0x7E>>>());
DEVIATION(sends_its_vendor_low_byte_first, "mctp.vdm.codes", Product::endpoint, "sends the vendor ID low byte first",
          hooks<FramesOut<vendor_swapped>>());
DEVIATION(sends_another_vdm_code, "mctp.vdm.codes", Product::endpoint, "sends VDM code 1", hooks<FramesOut<bits_are_set<6, 0x01>>>());
DEVIATION(sets_the_bits_above_the_padding, "mctp.vdm.codes", Product::endpoint, "sets a reserved bit above the pad length",
          hooks<FramesOut<bits_are_set<6, 0x80>>>());
DEVIATION(says_its_length_in_bytes, "mctp.vdm.length", Product::endpoint, "says its length in bytes", hooks<FramesOut<length_in_bytes>>());
DEVIATION(says_its_length_with_the_header, "mctp.vdm.length", Product::endpoint, "counts its header as well",
          hooks<FramesOut<length_with_the_header>>());
DEVIATION(names_no_requester, "mctp.vdm.ids", Product::endpoint, "sends from requester ID 0", hooks<FramesOut<no_requester>>());
DEVIATION(sends_to_nobody, "mctp.vdm.ids", Product::endpoint, "sends to a target that has not asked", hooks<FramesOut<target_0>>());
DEVIATION(pads_its_messages_with_ones, "mctp.vdm.padding", Product::endpoint, "pads its messages with ones",
          hooks<FramesOut<pads_with_ones>>());
DEVIATION(says_that_it_does_not_pad, "mctp.vdm.padding", Product::endpoint, "says a pad length of 0", hooks<FramesOut<says_no_padding>>());
DEVIATION(says_a_pad_length_too_small, "mctp.vdm.padding", Product::endpoint, "says a pad length that is one too small",
          hooks<FramesOut<says_one_byte_less>>());
DEVIATION(takes_padding_for_a_part, "mctp.vdm.padding-received", Product::endpoint, "takes padding for data",
          hooks<FramesIn<takes_padding_for_data>>());
DEVIATION(takes_messages_of_any_vendor, "mctp.vdm.vendor-checked", Product::endpoint, "takes messages of any vendor",
          hooks<FramesIn<takes_any_vendor>>());
DEVIATION(looks_at_half_of_the_vendor, "mctp.vdm.vendor-checked", Product::endpoint, "looks at one byte of the vendor ID",
          hooks<FramesIn<looks_at_one_byte_of_the_vendor>>());
DEVIATION(takes_any_vdm_code, "mctp.vdm.codes-checked", Product::endpoint, "takes messages of any VDM code",
          hooks<FramesIn<takes_any_code>>());
DEVIATION(takes_messages_of_type_0, "mctp.vdm.codes-checked", Product::endpoint, "takes vendor defined messages of type 0",
          hooks<FramesIn<takes_type_0>>());
DEVIATION(deaf_to_broadcasts, "mctp.vdm.broadcast", Product::endpoint, "does not take what is meant for all",
          hooks<PacketsIn<deaf_to_all>>());
DEVIATION(answers_broadcasts_by_id, "mctp.vdm.broadcast", Product::endpoint, "answers broadcasts by ID", hooks<AnswersAllById>());
DEVIATION(never_answers_discovery, "mctp.vdm.discovery.undiscovered", Product::endpoint, "never answers Endpoint Discovery",
          hooks<ControlAnswers<silent_to_discovery>>());
DEVIATION(does_not_know_discovery, "mctp.vdm.discovery.undiscovered", Product::endpoint, "does not know Endpoint Discovery",
          hooks<ControlAnswers<refuses_discovery>>());
DEVIATION(answers_discovery_once, "mctp.vdm.discovery.undiscovered", Product::endpoint, "takes itself for discovered when it has answered",
          hooks<AnswersDiscoveryOnce>());
DEVIATION(answers_discovery_with_an_eid, "mctp.vdm.discovery.discovered", Product::endpoint,
          "answers Endpoint Discovery with its EID assigned", Departs{mctp::departure::kControlDiscovered});
DEVIATION(loses_its_eid_to_prepare, "mctp.vdm.discovery.prepare", Product::endpoint, "has no EID behind Prepare for Endpoint Discovery",
          hooks<PrepareTakesTheEid>());
DEVIATION(answers_prepare_with_data, "mctp.vdm.discovery.prepare", Product::endpoint,
          "has a byte behind the completion code of Prepare for Endpoint Discovery", hooks<ControlAnswers<prepare_says_more>>());
DEVIATION(refuses_the_discovered_flag, "mctp.vdm.discovery.set-discovered", Product::endpoint, "refuses to set the Discovered flag",
          hooks<ControlAnswers<refuses_set_discovered>>());
DEVIATION(forgets_the_discovered_flag, "mctp.vdm.discovery.set-discovered", Product::endpoint,
          "says success to the Discovered flag and answers discovery", Departs{mctp::departure::kControlDiscovered});

}  // namespace fb::deviations
