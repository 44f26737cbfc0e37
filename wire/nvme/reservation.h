// Data of the reservation commands.
#pragma once

#include <iterator>
#include <string_view>

#include "wire/layout.h"

namespace fb::nvme {

enum class ReservationType : std::uint8_t {
  none = 0,
  write_exclusive = 1,
  exclusive_access = 2,
  write_exclusive_registrants_only = 3,
  exclusive_access_registrants_only = 4,
  write_exclusive_all_registrants = 5,
  exclusive_access_all_registrants = 6,
};

constexpr std::string_view name_of(ReservationType type) {
  constexpr std::string_view kNames[] = {"no reservation",
                                         "Write Exclusive",
                                         "Exclusive Access",
                                         "Write Exclusive - Registrants Only",
                                         "Exclusive Access - Registrants Only",
                                         "Write Exclusive - All Registrants",
                                         "Exclusive Access - All Registrants"};
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "reserved";
}
/// All registrants hold the reservation.
constexpr bool of_all_registrants(ReservationType type) {
  return type == ReservationType::write_exclusive_all_registrants || type == ReservationType::exclusive_access_all_registrants;
}
constexpr bool of_registrants_only(ReservationType type) {
  return type == ReservationType::write_exclusive_registrants_only || type == ReservationType::exclusive_access_registrants_only;
}
constexpr bool excludes_readers(ReservationType type) {
  return type == ReservationType::exclusive_access || type == ReservationType::exclusive_access_registrants_only ||
         type == ReservationType::exclusive_access_all_registrants;
}

enum class RegisterAction : std::uint8_t { register_key = 0, unregister_key = 1, replace_key = 2 };
enum class AcquireAction : std::uint8_t { acquire = 0, preempt = 1, preempt_and_abort = 2 };
enum class ReleaseAction : std::uint8_t { release = 0, clear = 1 };

namespace rescap_bits {
inline constexpr std::uint8_t ptpl = 1u << 0;
inline constexpr std::uint8_t write_exclusive = 1u << 1;
inline constexpr std::uint8_t exclusive_access = 1u << 2;
inline constexpr std::uint8_t write_exclusive_registrants_only = 1u << 3;
inline constexpr std::uint8_t exclusive_access_registrants_only = 1u << 4;
inline constexpr std::uint8_t write_exclusive_all_registrants = 1u << 5;
inline constexpr std::uint8_t exclusive_access_all_registrants = 1u << 6;
inline constexpr std::uint8_t iekey_1_3 = 1u << 7;
}  // namespace rescap_bits

/// Data of Register and Acquire: the current key, and the new or the preempted one. Release carries
/// the first alone.
namespace reservation_keys {
inline constexpr Le<"crkey", 0, std::uint64_t> crkey{};
inline constexpr Le<"other", 8, std::uint64_t> other{};
}  // namespace reservation_keys
using ReservationKeys = Layout<16, reservation_keys::crkey, reservation_keys::other>;
using ReservationKey = Layout<8, reservation_keys::crkey>;

namespace reservation_status {
inline constexpr Le<"gen", 0, std::uint32_t> gen{};
inline constexpr Le<"rtype", 4, std::uint8_t, ReservationType> rtype{};
inline constexpr Le<"regstrnt", 5, std::uint16_t> regstrnt{};
inline constexpr Le<"ptpls", 9, std::uint8_t> ptpls{};
}  // namespace reservation_status
/// Extended form: 64 bytes, then a RegisteredController for each registrant.
using ReservationStatus =
    Layout<64, reservation_status::gen, reservation_status::rtype, reservation_status::regstrnt, reservation_status::ptpls>;
/// The form for hosts with identifiers of 64 bits: 24 bytes, then a ShortRegisteredController for each.
using ShortReservationStatus =
    Layout<24, reservation_status::gen, reservation_status::rtype, reservation_status::regstrnt, reservation_status::ptpls>;

namespace registered_controller {
inline constexpr Le<"cntlid", 0, std::uint16_t> cntlid{};
inline constexpr LeBits<"holder", 2, std::uint8_t, 0, 0, bool> holder{};
inline constexpr Le<"rkey", 8, std::uint64_t> rkey{};
inline constexpr BytesField<"hostid", 16, 16> hostid{};
}  // namespace registered_controller
using RegisteredController =
    Layout<64, registered_controller::cntlid, registered_controller::holder, registered_controller::rkey, registered_controller::hostid>;

namespace short_registered_controller {
inline constexpr BytesField<"hostid", 8, 8> hostid{};
inline constexpr Le<"rkey", 16, std::uint64_t> rkey{};
}  // namespace short_registered_controller
using ShortRegisteredController = Layout<24, registered_controller::cntlid, registered_controller::holder,
                                         short_registered_controller::hostid, short_registered_controller::rkey>;

/// CNTLID of a registrant that no controller of the subsystem is associated with, or that a dynamic one is.
inline constexpr std::uint16_t kNoRegisteredController = 0xFFFF;

/// CPTPL of Reservation Register.
enum class PersistChange : std::uint8_t { none = 0, reserved = 1, clear = 2, set = 3 };

}  // namespace fb::nvme
