#include "wire/mi/control.h"

namespace fb::mi {

std::string_view name_of(Primitive primitive) {
  switch (primitive) {
    case Primitive::pause:
      return "Pause";
    case Primitive::resume:
      return "Resume";
    case Primitive::abort:
      return "Abort";
    case Primitive::get_state:
      return "Get State";
    case Primitive::replay:
      return "Replay";
  }
  return static_cast<unsigned>(primitive) >= 0xF0 ? "Vendor Specific" : "Reserved";
}

std::string_view name_of(SlotState state) {
  constexpr std::string_view kNames[] = {"Idle", "Receive", "Process", "Transmit"};
  return kNames[static_cast<std::size_t>(state) & 3];
}

}  // namespace fb::mi
