// What can go wrong, by name: where it strikes, what its amount means, whether a protocol can notice it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fb::fault {

/// What a decision point counts. Each is one side of a place: "packet:host->target" counts the datagrams that the
/// host sends to the target.
enum class Site : std::uint8_t {
  packet,      ///< datagrams of one direction of a link
  segment,     ///< TCP segments with data, SYN or FIN, of one direction of a link
  pdu,         ///< PDUs of NVMe/TCP that one side sends
  receive,     ///< messages that take a receive of one RDMA device
  key,         ///< packets that use a memory key of one RDMA device
  admission,   ///< I/O commands that the subsystem fetches
  admin,       ///< admin commands, Fabrics commands apart, that the subsystem fetches
  completion,  ///< completions of I/O commands
  media,       ///< reads and writes of a namespace's blocks
  frame,       ///< frames of one MCTP medium
  step,        ///< steps of the workload as they begin
  passage      ///< PDUs of NVMe/TCP that one side sends through a proxy
};
inline constexpr std::size_t kSites = 12;
std::string_view name_of(Site site);

enum class Kind : std::uint8_t {
  // packet
  drop,
  duplicate,
  delay,
  corrupt,
  forge,
  truncate,
  partition,
  hold,
  throttle,
  mtu,
  // segment
  segment_split,
  segment_delay,
  segment_lose,
  segment_hold,
  segment_throttle,
  segment_mtu,
  segment_reset,
  // pdu
  pdu_drop,
  pdu_duplicate,
  pdu_corrupt,
  pdu_forge,
  pdu_truncate,
  // receive, key
  receive_missing,
  queue_pair_error,
  key_invalidate,
  // admission, admin
  status,
  slow,
  fatal,
  admin_status,
  admin_withhold,
  // completion
  withhold,
  twice,
  disconnect,
  // media
  media_error,
  write_fault,
  // frame
  frame_drop,
  frame_nack,
  frame_duplicate,
  frame_corrupt,
  frame_tag,
  frame_eid,
  frame_sequence,
  // step
  controller_reset,
  subsystem_reset,
  power_cycle,
  associations_end,
  ana,
  namespace_resize,
  namespace_add,
  namespace_remove,
  endpoint_reset,
  // passage
  pdu_late,
  pdu_swap,
  half_close,
  r2t_late,
  response_late,
  keep_alive_lost,
  change_cid,
  change_ttag,
  change_offset,
  change_length,
  change_sqhd,
  change_nsid,
  change_lba
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::change_lba) + 1;

/// What a number beside a decision means.
enum class Unit : std::uint8_t { none, nanoseconds, count, bit, bytes, rate, status, state };

struct KindFacts {
  Kind kind;
  std::string_view name;  ///< in plans and replay files; stable
  Site site;
  Unit unit;
  std::uint64_t low, high;  ///< amounts that a plan may name; what it draws from where it names none
  /// Nothing in the protocol can notice it: wrong data or a wrong answer is no defect of a product then.
  bool lies;
  std::string_view story;  ///< "drop {thing}"; {amount} and {thing} are filled in
};

const KindFacts& facts_of(Kind kind);
std::span<const KindFacts> all_kinds();
inline std::string_view name_of(Kind kind) { return facts_of(kind).name; }
/// Null for a name that there is none of.
const KindFacts* find_kind(std::string_view name);
/// "2 ms", "3", "path 3/03h" ...
std::string amount_text(Unit unit, std::uint64_t amount);

}  // namespace fb::fault
