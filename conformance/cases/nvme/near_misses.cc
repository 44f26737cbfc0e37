// Values that differ from the right one in one bit: what is named by a value is named by all of it.
#include <fmt/format.h>

#include "conformance/cases/nvme/reservation_scene.h"
#include "conformance/cases/nvme/scene.h"

namespace fb::conformance {

namespace {

/// The key with one bit of each byte changed.
template <class Judge>
void for_each_near_key(std::uint64_t key, Judge&& judge) {
  for (unsigned byte = 0; byte < 8; ++byte) {
    judge(key ^ (std::uint64_t{1} << (8 * byte + byte)), fmt::format("a key that differs in one bit of byte {}", byte));
  }
}

}  // namespace

CONFORMANCE_CASE(abort_compares_the_whole_identifier, "nvme.abort.every-bit", roles::controller) {
  constexpr std::uint16_t kCid = 0x1A2B;
  RawAssociation& association = bench.associate();
  auto request = host::async_event_request();
  request.set(nvme::sqe::cid, kCid);
  auto event = association.admin().send(request);
  const auto early = event.wait_for(kSilence / 10);
  check.precondition(!early.has_value(), "no event is waiting for a request");
  const auto judge = [&](std::uint16_t sqid, std::uint16_t cid, const std::string& what) {
    const auto reply = association.admin().send(host::abort(sqid, cid)).wait();
    // A queue that is not there may be refused.
    if (!reply.ok() && sqid != 0) return void(check.refused(reply, what));
    if (check.success(reply, what)) check.equal("DW0 bit 0 of " + what, reply.dw0() & nvme::kAbortNotDone, 1u);
  };
  for (unsigned bit = 0; bit < 16; ++bit) {
    const auto flipped = static_cast<std::uint16_t>(1u << bit);
    judge(0, kCid ^ flipped, fmt::format("Abort with bit {} of the identifier changed", bit));
    judge(flipped, kCid, fmt::format("Abort with bit {} of SQID set", bit));
  }
  check.that(!event.wait_for(kSilence), "the request of another identifier goes on", "it ended");
}

CONFORMANCE_CASE(every_byte_of_a_key_counts, "nvme.reservation.every-key-byte", roles::controller, reservations) {
  ReservationScene scene(bench, check, 2);
  const auto type = std::find_if(std::begin(kReservationTypes), std::end(kReservationTypes),
                                 [&](ReservationType one) { return claims_type(bench.declared(), one); });
  check.precondition(type != std::end(kReservationTypes), "RESCAP claims a type");
  scene.held(*type, 2);
  const std::uint64_t own = ReservationScene::key(0), other = ReservationScene::key(1);
  for_each_near_key(own, [&](std::uint64_t near, const std::string& what) {
    check.status(scene.acquire(0, *type, near), sc::reservation_conflict, "Acquire with " + what);
    check.status(scene.release(0, *type, near), sc::reservation_conflict, "Release with " + what);
    check.status(scene.clear(0, near), sc::reservation_conflict, "Clear with " + what);
    check.status(scene.replace(0, near, ReservationScene::kOtherKey), sc::reservation_conflict, "Replace with " + what);
    check.status(scene.unregister(0, near), sc::reservation_conflict, "Unregister with " + what);
    check.status(scene.register_key(0, near), sc::reservation_conflict, "Register once more with " + what);
  });
  for_each_near_key(other, [&](std::uint64_t near, const std::string& what) {
    if (near == own) return;
    check.status(scene.preempt(0, near, *type), sc::reservation_conflict, "Preempt of " + what);
  });
  scene.is_registered(0, own);
  scene.is_registered(1, other);
  scene.is_held_by(0, *type);
  if (nvme::of_all_registrants(*type)) return;
  // Nor does a Preempt end the registration of a key that is nearly the one it names.
  std::uint64_t current = other;
  for_each_near_key(own, [&](std::uint64_t near, const std::string& what) {
    check.precondition_success(scene.replace(1, current, near), "Reservation Register of " + what);
    current = near;
    check.success(scene.preempt(0, own, *type), "Preempt of the host's own key beside " + what);
    scene.is_registered(1, near);
    scene.is_held_by(0, *type);
  });
}

}  // namespace fb::conformance
