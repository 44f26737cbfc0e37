#include "sim/fault/kinds.h"

#include <fmt/format.h>

#include <array>

#include "base/assert.h"
#include "base/time.h"

namespace fb::fault {

namespace {

constexpr std::uint64_t us(std::uint64_t n) { return n * 1000; }
constexpr std::uint64_t ms(std::uint64_t n) { return n * 1'000'000; }
constexpr std::uint64_t s(std::uint64_t n) { return n * 1'000'000'000; }

using enum Site;

constexpr std::array<std::string_view, kSites> kSiteNames = {"packet", "segment",    "pdu",   "receive", "key",  "admission",
                                                             "admin",  "completion", "media", "frame",   "step", "passage"};

// clang-format off
constexpr KindFacts kFacts[] = {
    {Kind::drop, "drop", packet, Unit::none, 0, 0, false, "drop {thing}"},
    {Kind::duplicate, "duplicate", packet, Unit::nanoseconds, 0, ms(5), false, "send {thing} once more after {amount}"},
    {Kind::delay, "delay", packet, Unit::nanoseconds, us(1), s(2), false, "delay {thing} by {amount}"},
    {Kind::corrupt, "corrupt", packet, Unit::bit, 0, 65535, false, "flip bit {amount} of {thing}"},
    {Kind::forge, "forge", packet, Unit::bit, 0, 65535, true, "flip bit {amount} of {thing} and make its check right"},
    {Kind::truncate, "truncate", packet, Unit::bytes, 1, 1024, false, "cut {amount} off the end of {thing}"},
    {Kind::partition, "partition", packet, Unit::nanoseconds, us(10), s(30), false, "cut the link for {amount} from {thing} on"},
    {Kind::hold, "hold", packet, Unit::nanoseconds, us(10), s(1), false, "hold the link for {amount} from {thing} on"},
    {Kind::throttle, "throttle", packet, Unit::rate, 100, 1'000'000, false, "let through {amount} for a second from {thing} on"},
    {Kind::mtu, "mtu", packet, Unit::bytes, 68, 9216, false, "packets above {amount} vanish from {thing} on"},
    {Kind::segment_split, "segment_split", segment, Unit::bytes, 1, 1400, false, "cut {thing} after {amount}"},
    {Kind::segment_delay, "segment_delay", segment, Unit::nanoseconds, us(1), s(2), false, "delay {thing} by {amount}"},
    {Kind::segment_lose, "segment_lose", segment, Unit::count, 1, 4, false, "lose {thing} {amount}"},
    {Kind::segment_hold, "segment_hold", segment, Unit::nanoseconds, us(10), s(8), false, "hold the link for {amount} from {thing} on"},
    {Kind::segment_throttle, "segment_throttle", segment, Unit::rate, 100, 1'000'000, false,
     "let through {amount} for a second from {thing} on"},
    {Kind::segment_mtu, "segment_mtu", segment, Unit::bytes, 68, 9216, false, "packets above {amount} vanish from {thing} on"},
    {Kind::segment_reset, "segment_reset", segment, Unit::none, 0, 0, false, "reset the connection at {thing}"},
    {Kind::pdu_drop, "pdu_drop", pdu, Unit::none, 0, 0, true, "leave out {thing}"},
    {Kind::pdu_duplicate, "pdu_duplicate", pdu, Unit::none, 0, 0, true, "send {thing} twice"},
    {Kind::pdu_corrupt, "pdu_corrupt", pdu, Unit::bit, 0, 65535, false, "flip bit {amount} of {thing} where a digest covers it"},
    {Kind::pdu_forge, "pdu_forge", pdu, Unit::bit, 0, 65535, true, "flip bit {amount} of {thing} and make its digests right"},
    {Kind::pdu_truncate, "pdu_truncate", pdu, Unit::bytes, 1, 128, true, "cut {amount} off the end of {thing}"},
    {Kind::receive_missing, "receive_missing", receive, Unit::none, 0, 0, false, "no receive is ready for {thing}"},
    {Kind::queue_pair_error, "queue_pair_error", receive, Unit::none, 0, 0, false, "the queue pair fails at {thing}"},
    {Kind::key_invalidate, "key_invalidate", key, Unit::none, 0, 0, false, "the memory key of {thing} is lost"},
    {Kind::status, "status", admission, Unit::status, 0, 0x7FF, false, "answer {thing} with status {amount}"},
    {Kind::slow, "slow", admission, Unit::nanoseconds, us(1), s(20), false, "execute {thing} {amount} late"},
    {Kind::fatal, "fatal", admission, Unit::none, 0, 0, false, "a fatal controller status at {thing}"},
    {Kind::admin_status, "admin_status", admin, Unit::status, 0, 0x7FF, false, "answer {thing} with status {amount}"},
    {Kind::admin_withhold, "admin_withhold", admin, Unit::none, 0, 0, false, "do not answer {thing}"},
    {Kind::withhold, "withhold", completion, Unit::none, 0, 0, false, "lose {thing}"},
    {Kind::twice, "twice", completion, Unit::none, 0, 0, true, "send {thing} twice"},
    {Kind::disconnect, "disconnect", completion, Unit::none, 0, 0, false, "disconnect in place of {thing}"},
    {Kind::media_error, "media_error", media, Unit::none, 0, 0, false, "{thing} fails if it is a read"},
    {Kind::write_fault, "write_fault", media, Unit::none, 0, 0, false, "{thing} fails if it is a write"},
    {Kind::frame_drop, "frame_drop", frame, Unit::none, 0, 0, false, "drop {thing}"},
    {Kind::frame_nack, "frame_nack", frame, Unit::none, 0, 0, false, "refuse {thing} (NACK)"},
    {Kind::frame_duplicate, "frame_duplicate", frame, Unit::none, 0, 0, false, "send {thing} twice"},
    {Kind::frame_corrupt, "frame_corrupt", frame, Unit::bit, 0, 65535, false, "flip bit {amount} of {thing}"},
    {Kind::frame_tag, "frame_tag", frame, Unit::count, 1, 7, true, "change the message tag of {thing} by {amount}"},
    {Kind::frame_eid, "frame_eid", frame, Unit::count, 1, 255, false, "change the destination EID of {thing} by {amount}"},
    {Kind::frame_sequence, "frame_sequence", frame, Unit::count, 1, 3, false, "change the packet sequence number of {thing} by {amount}"},
    {Kind::controller_reset, "controller_reset", step, Unit::none, 0, 0, false, "the host resets the controller at {thing}"},
    {Kind::subsystem_reset, "subsystem_reset", step, Unit::none, 0, 0, false, "an NVM subsystem reset at {thing}"},
    {Kind::power_cycle, "power_cycle", step, Unit::none, 0, 0, false, "power is lost at {thing}"},
    {Kind::associations_end, "associations_end", step, Unit::none, 0, 0, false, "every association ends at {thing}"},
    {Kind::ana, "ana", step, Unit::state, 0, 0xFF, false, "ANA: {amount} from {thing} on"},
    {Kind::namespace_resize, "namespace_resize", step, Unit::count, 1, 64, false, "the namespace grows by {amount} at {thing}"},
    {Kind::namespace_add, "namespace_add", step, Unit::none, 0, 0, false, "a namespace appears at {thing}"},
    {Kind::namespace_remove, "namespace_remove", step, Unit::none, 0, 0, false, "a spare namespace goes at {thing}"},
    {Kind::endpoint_reset, "endpoint_reset", step, Unit::none, 0, 0, false, "the management endpoint is reset at {thing}"},
    {Kind::pdu_late, "pdu_late", passage, Unit::nanoseconds, us(1), s(20), false, "{thing} is {amount} late, what follows is not"},
    {Kind::pdu_swap, "pdu_swap", passage, Unit::none, 0, 0, true, "{thing} passes behind the one that follows it"},
    {Kind::half_close, "half_close", passage, Unit::none, 0, 0, false, "that half of the connection is closed behind {thing}"},
    {Kind::r2t_late, "r2t_late", passage, Unit::nanoseconds, us(1), s(20), false, "the next R2T from {thing} on is {amount} late"},
    {Kind::response_late, "response_late", passage, Unit::nanoseconds, us(1), s(20), false,
     "the next response from {thing} on is {amount} late"},
    {Kind::keep_alive_lost, "keep_alive_lost", passage, Unit::nanoseconds, ms(1), s(60), false,
     "Keep Alive commands are lost for {amount} from {thing} on"},
    {Kind::change_cid, "change_cid", passage, Unit::count, 1, 0xFFFF, true,
     "the command identifier of the next PDU that has one, from {thing} on, is {amount} more"},
    {Kind::change_ttag, "change_ttag", passage, Unit::count, 1, 0xFFFF, true,
     "the transfer tag of the next PDU that has one, from {thing} on, is {amount} more"},
    {Kind::change_offset, "change_offset", passage, Unit::count, 1, 0xFFFF, true,
     "the data offset of the next PDU that has one, from {thing} on, is {amount} more"},
    {Kind::change_length, "change_length", passage, Unit::count, 1, 0xFFFF, true,
     "the data length of the next PDU that has one, from {thing} on, is {amount} more"},
    {Kind::change_sqhd, "change_sqhd", passage, Unit::count, 1, 0xFFFF, true,
     "the SQ head pointer of the next PDU that has one, from {thing} on, is {amount} more"},
    {Kind::change_nsid, "change_nsid", passage, Unit::count, 1, 0xFFFF, true,
     "the namespace of the next PDU that has one, from {thing} on, is {amount} more"},
    {Kind::change_lba, "change_lba", passage, Unit::count, 1, 0xFFFF, true,
     "the first block of the next PDU that has one, from {thing} on, is {amount} more"},
};
// clang-format on

constexpr bool in_order() {
  std::size_t at = 0;
  for (const KindFacts& facts : kFacts) {
    if (static_cast<std::size_t>(facts.kind) != at++) return false;
  }
  return at == kKinds;
}
static_assert(in_order());

std::string span_text(std::uint64_t ns) {
  if (ns % s(1) == 0) return fmt::format("{} s", ns / s(1));
  // Three digits that matter, and never an exponent.
  const auto number = [](double value) { return value < 100 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value); };
  if (ns >= ms(1)) return number(static_cast<double>(ns) / 1e6) + " ms";
  if (ns >= us(1)) return number(static_cast<double>(ns) / 1e3) + " us";
  return fmt::format("{} ns", ns);
}

/// The upper digits are a group's or a port's number, the last the state of the ANA log.
std::string state_text(std::uint64_t amount) {
  const char* state = "change";
  switch (amount & 0xF) {
    case 1:
      state = "optimized";
      break;
    case 2:
      state = "non-optimized";
      break;
    case 3:
      state = "inaccessible";
      break;
    case 4:
      state = "persistent loss";
      break;
    default:
      break;
  }
  return fmt::format("path {} is {}", amount >> 4, state);
}

}  // namespace

std::string_view name_of(Site site) { return kSiteNames[static_cast<std::size_t>(site)]; }

const KindFacts& facts_of(Kind kind) {
  BENCH_ASSERT(static_cast<std::size_t>(kind) < kKinds, "every kind has its facts");
  return kFacts[static_cast<std::size_t>(kind)];
}

std::span<const KindFacts> all_kinds() { return kFacts; }

const KindFacts* find_kind(std::string_view name) {
  for (const KindFacts& facts : kFacts) {
    if (facts.name == name) return &facts;
  }
  return nullptr;
}

std::string amount_text(Unit unit, std::uint64_t amount) {
  switch (unit) {
    case Unit::none:
      return {};
    case Unit::nanoseconds:
      return amount == 0 ? "no time" : span_text(amount);
    case Unit::count:
      return std::to_string(amount);
    case Unit::bit:
      return fmt::format("{} of byte {}", amount % 8, amount / 8);
    case Unit::bytes:
      return fmt::format("{} byte{}", amount, amount == 1 ? "" : "s");
    case Unit::rate:
      return fmt::format("{} kB/s", amount);
    case Unit::status:
      return fmt::format("{}/{:02X}h", amount >> 8, amount & 0xFF);
    case Unit::state:
      return state_text(amount);
  }
  return {};
}

}  // namespace fb::fault
