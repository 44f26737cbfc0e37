// What the simulated media share: a filter that may do something to each frame, and the trace.
#pragma once

#include <string>

#include "sim/core/world.h"
#include "sim/mctp/binding.h"

namespace fb::mctp {

/// A frame that is about to be put on a medium.
struct FrameContext {
  std::string_view medium;
  std::string_view sender;    ///< name of the attachment that it comes from
  std::uint64_t ordinal = 0;  ///< counts the medium's frames from 0; a frame that is sent again counts again
  Instant now;
  PhysicalAddress source;
  Bytes& frame;  ///< may be changed; then say so in FrameVerdict::corrupted
};

struct FrameVerdict {
  bool nack = false;       ///< SMBus: the receiver does not acknowledge; elsewhere the same as drop
  bool drop = false;       ///< it leaves, and nobody receives it
  bool corrupted = false;  ///< the filter has changed the frame
  std::uint32_t duplicates = 0;
};

/// Sees every frame of a medium once, in the order of sending.
class FrameFilter {
 public:
  virtual FrameVerdict on_frame(FrameContext& context) = 0;

 protected:
  ~FrameFilter() = default;
};

inline constexpr std::string_view kTraceLabel = "mctp";
inline constexpr std::string_view kTraceDamaged = "mctp.damaged";
inline constexpr std::string_view kTraceNack = "mctp.nack";

/// A medium's name and number in the trace.
struct MediumName {
  std::string name;
  std::uint32_t bus = 1;
};

/// A packet that has crossed a medium.
void trace_packet(World& world, const MediumName& medium, std::string_view actor, control::BindingId binding, const PhysicalAddress& source,
                  ByteView packet, std::string_view text = {});
/// A frame that came to nothing, and why.
void trace_fault(World& world, std::string_view label, std::string_view actor, std::string_view text, ByteView frame);

}  // namespace fb::mctp
