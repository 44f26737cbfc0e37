// Telemetry, log pages 07h (host-initiated) and 08h (controller-initiated): a header of one block, then blocks of
// 512 bytes. Three areas begin with block 1 and end later and later (base specification, Telemetry).
#pragma once

#include "wire/layout.h"

namespace fb::nvme {

namespace telemetry {
inline constexpr Le<"lid", 0, std::uint8_t> lid{};
inline constexpr Le<"ieee", 5, U24> ieee{};
/// The last block of an area; 0: there is nothing in it.
inline constexpr Le<"da1lb", 8, std::uint16_t> da1lb{};
inline constexpr Le<"da2lb", 10, std::uint16_t> da2lb{};
inline constexpr Le<"da3lb", 12, std::uint16_t> da3lb{};
inline constexpr Le<"da4lb", 16, std::uint32_t> da4lb{};
/// Whose state it is: 1 the controller's, 2 the subsystem's. One byte later in log 08h.
inline constexpr Le<"ths", 380, std::uint8_t> ths{};
/// Counts captures of log 07h; in log 08h this byte is the scope.
inline constexpr Le<"thdgn", 381, std::uint8_t> thdgn{};
/// 1: there is controller-initiated data that nobody has acknowledged. The same in both pages.
inline constexpr Le<"tcda", 382, std::uint8_t> tcda{};
inline constexpr Le<"tcdgn", 383, std::uint8_t> tcdgn{};
inline constexpr BytesField<"reason", 384, 128> reason{};
}  // namespace telemetry
using TelemetryHeader = Layout<512, telemetry::lid, telemetry::ieee, telemetry::da1lb, telemetry::da2lb, telemetry::da3lb, telemetry::da4lb,
                               telemetry::ths, telemetry::thdgn, telemetry::tcda, telemetry::tcdgn, telemetry::reason>;

inline constexpr std::size_t kTelemetryBlock = 512;
inline constexpr std::uint8_t kTelemetryOfController = 1;
inline constexpr std::uint8_t kTelemetryOfSubsystem = 2;
/// Bit 0 of the log specific parameter of log 07h: a capture is to be made.
inline constexpr std::uint8_t kCreateTelemetry = 1u << 0;

}  // namespace fb::nvme
