// Reservation notifications: the log page, the event, the mask.
#include "conformance/cases/nvme/reservation_scene.h"
#include "wire/nvme/events.h"
#include "wire/nvme/features.h"

namespace fb::conformance {

namespace {

using nvme::ReservationNotice;
namespace rn = nvme::reservation_notification;

constexpr ReservationType kExclusive = ReservationType::write_exclusive;
constexpr ReservationType kRegistrants = ReservationType::write_exclusive_registrants_only;
constexpr ReservationType kAll = ReservationType::write_exclusive_all_registrants;
const furnished four_namespaces{[](EmbeddedSetup& setup) {
  setup.namespaces.clear();
  for (const std::uint32_t nsid : {1u, 2u, 3u, 6u}) setup.namespaces.push_back({.nsid = nsid});
}};
const needs exclusive{claims_types<kExclusive>};
const needs registrants_only{claims_types<kRegistrants>};
const needs all_registrants{claims_types<kAll>};

constexpr nvme::Event kEvent{nvme::EventType::command_set, nvme::event_info::command_set_reservation,
                             lid_of(nvme::LogPage::reservation_notification)};

struct Notice {
  std::uint64_t count = 0;
  ReservationNotice what = ReservationNotice::empty;
  unsigned more = 0;
  std::uint32_t nsid = 0;
};

Notice next_notice(Check& check, RawAssociation& association) {
  const auto bytes = static_cast<std::uint32_t>(nvme::ReservationNotification::size);
  const auto reply = association.admin().send(host::get_log(nvme::LogPage::reservation_notification, bytes), bytes).wait();
  check.require_success(reply, "Get Log Page 80h");
  const View<nvme::ReservationNotification> page{reply.data};
  return {page.get(rn::lpc), page.get(rn::rnlpt), page.get(rn::nalp), page.get(rn::nsid)};
}

std::string say(ReservationNotice what) { return "type " + std::to_string(static_cast<unsigned>(what)); }

/// The page tells of `what`, and of nothing else.
void tells(Check& check, ReservationScene& scene, std::size_t host, ReservationNotice what) {
  const Notice notice = next_notice(check, scene.association(host));
  check.equal("notification for host " + std::to_string(host), say(notice.what), say(what));
  if (what == ReservationNotice::empty) return;
  check.equal("NSID of the notification", notice.nsid, scene.nsid());
  check.that(notice.count != 0, "the notification is counted", "its count is 0");
}

Op<host::RawReply> listen(ReservationScene& scene, std::size_t host) {
  return scene.association(host).admin().send(host::async_event_request());
}

void event_comes(Check& check, Op<host::RawReply>& request) {
  const auto reply = request.wait_for(kSoon);
  check.require(reply.has_value(), "an event comes");
  check.require_success(*reply);
  check.equal("event", nvme::Event::from_dw0(reply->dw0()), kEvent);
}

/// Of the namespace, or of one that is named; none masked at the end of the case.
class Mask {
 public:
  Mask(ReservationScene& scene, std::uint32_t mask) : Mask(scene, mask, scene.nsid()) {}
  Mask(ReservationScene& scene, std::uint32_t mask, std::uint32_t nsid) : scene_(scene), nsid_(nsid) { reply = set(mask).wait(); }
  ~Mask() { set(0).wait_for(kSoon); }
  Mask(const Mask&) = delete;
  Mask& operator=(const Mask&) = delete;
  host::RawReply reply;

 private:
  Op<host::RawReply> set(std::uint32_t mask) {
    auto command = host::set_features(nvme::FeatureId::reservation_notification_mask, mask);
    command.set(nvme::sqe::nsid, nsid_);
    return scene_.association(0).admin().send(command);
  }
  ReservationScene& scene_;
  std::uint32_t nsid_;
};

host::RawReply read_mask(ReservationScene& scene, std::uint32_t nsid) {
  auto command = host::get_features(nvme::FeatureId::reservation_notification_mask);
  command.set(nvme::sqe::nsid, nsid);
  return scene.association(0).admin().send(command).wait();
}

constexpr std::uint32_t kMaskReleased = 1u << 2, kMaskPreempted = 1u << 3;

/// With each type of reservation that has registrants only, `ends` ends the one of the first host, and the others are told.
template <class Ends>
void registrants_hear(ControllerBench& bench, Check& check, std::string_view what, Ends&& ends) {
  for (const ReservationType type : kReservationTypes) {
    if (!of_registrants_only(type) || !claims_type(bench.declared(), type)) continue;
    bench.step("another type of reservation");
    ReservationScene scene(bench, check, 3);
    scene.held(type, 3);
    auto event = listen(scene, 1);
    check.precondition_success(ends(scene, type), what);
    event_comes(check, event);
    tells(check, scene, 1, ReservationNotice::reservation_released);
    tells(check, scene, 2, ReservationNotice::reservation_released);
    tells(check, scene, 0, ReservationNotice::empty);
  }
}

}  // namespace

CONFORMANCE_CASE(notice_log_is_empty_without_notices, "nvme.reservation.notice.empty", roles::controller, reservations) {
  ReservationScene scene(bench, check, 1);
  const Notice notice = next_notice(check, scene.association(0));
  check.equal("notification", say(notice.what), say(ReservationNotice::empty));
  check.equal("count", notice.count, 0u);
}

CONFORMANCE_CASE(preempted_registrant_is_told, "nvme.reservation.notice.preempted", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 3);
  scene.held(kExclusive, 2);
  // Another host has the same key.
  scene.registered(2, scene.key(0));
  auto event = listen(scene, 0);
  check.precondition_success(scene.preempt(1, scene.key(0), kExclusive), "Preempt");
  event_comes(check, event);
  for (const std::size_t host : {0u, 2u}) tells(check, scene, host, ReservationNotice::registration_preempted);
}

CONFORMANCE_CASE(registrants_hear_of_a_release, "nvme.reservation.notice.released", roles::controller, registrants_only) {
  registrants_hear(bench, check, "Release", [](ReservationScene& scene, ReservationType type) { return scene.release(0, type); });
}

CONFORMANCE_CASE(registrants_hear_of_a_holder_that_leaves, "nvme.reservation.notice.unregistered", roles::controller, registrants_only) {
  registrants_hear(bench, check, "Unregister", [](ReservationScene& scene, ReservationType) { return scene.unregister(0, scene.key(0)); });
}

CONFORMANCE_CASE(registrants_hear_of_a_clear, "nvme.reservation.notice.cleared", roles::controller, exclusive) {
  for (const ReservationType type : kReservationTypes) {
    if (!claims_type(bench.declared(), type)) continue;
    bench.step("another type of reservation");
    ReservationScene scene(bench, check, 3);
    scene.held(type, 3);
    auto event = listen(scene, 0);
    check.precondition_success(scene.clear(1, scene.key(1)), "Clear");
    event_comes(check, event);
    tells(check, scene, 0, ReservationNotice::reservation_preempted);
    tells(check, scene, 2, ReservationNotice::reservation_preempted);
  }
}

CONFORMANCE_CASE(exclusive_release_is_no_news, "nvme.reservation.notice.exclusive", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive, 2);
  check.precondition_success(scene.release(0, kExclusive), "Release");
  tells(check, scene, 1, ReservationNotice::empty);
}

CONFORMANCE_CASE(issuer_is_not_told, "nvme.reservation.notice.issuer", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  scene.held(kExclusive, 2);
  check.precondition_success(scene.preempt(1, scene.key(0), kExclusive), "Preempt");
  tells(check, scene, 1, ReservationNotice::empty);
  scene.registered(0, scene.key(0));
  check.precondition_success(scene.clear(1, scene.key(1)), "Clear");
  tells(check, scene, 1, ReservationNotice::empty);
}

CONFORMANCE_CASE(strangers_are_not_told, "nvme.reservation.notice.strangers", roles::controller, registrants_only) {
  ReservationScene scene(bench, check, 3);
  scene.held(kRegistrants, 2);
  check.precondition_success(scene.release(0, kRegistrants), "Release");
  tells(check, scene, 2, ReservationNotice::empty);
}

CONFORMANCE_CASE(every_controller_of_the_host_is_told, "nvme.reservation.notice.controllers", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  RawAssociation& second = scene.second_association(0);
  scene.held(kExclusive, 2);
  check.precondition_success(scene.preempt(1, scene.key(0), kExclusive), "Preempt");
  tells(check, scene, 0, ReservationNotice::registration_preempted);
  const Notice notice = next_notice(check, second);
  check.equal("notification at the other controller", say(notice.what), say(ReservationNotice::registration_preempted));
}

CONFORMANCE_CASE(notices_come_one_by_one, "nvme.reservation.notice.queue", roles::controller, registrants_only) {
  ReservationScene scene(bench, check, 2);
  scene.all_registered(2);
  check.precondition_success(scene.acquire(0, kRegistrants), "Acquire");
  check.precondition_success(scene.release(0, kRegistrants), "Release");
  check.precondition_success(scene.clear(0, scene.key(0)), "Clear");
  const Notice first = next_notice(check, scene.association(1));
  const Notice second = next_notice(check, scene.association(1));
  const Notice third = next_notice(check, scene.association(1));
  check.equal("first notification", say(first.what), say(ReservationNotice::reservation_released));
  check.equal("second notification", say(second.what), say(ReservationNotice::reservation_preempted));
  check.that(second.count > first.count, "the count rises", words(first.count) + " is followed by " + words(second.count));
  check.equal("after the last one", say(third.what), say(ReservationNotice::empty));
  // A Controller Level Reset sets the count to 0, and each notification adds 1.
  scene.reset(1);
  scene.all_registered(2);
  check.precondition_success(scene.acquire(0, kRegistrants), "Acquire");
  check.precondition_success(scene.release(0, kRegistrants), "Release");
  const Notice anew = next_notice(check, scene.association(1));
  check.equal("first notification after a reset", say(anew.what), say(ReservationNotice::reservation_released));
  check.equal("count of the first notification after a reset", anew.count, 1u);
}

CONFORMANCE_CASE(notices_say_how_many_there_are, "nvme.reservation.notice.available", roles::controller, registrants_only) {
  ReservationScene scene(bench, check, 2);
  scene.all_registered(2);
  constexpr unsigned kReleases = 5;
  for (unsigned i = 0; i < kReleases; ++i) {
    check.precondition_success(scene.acquire(0, kRegistrants), "Acquire");
    check.precondition_success(scene.release(0, kRegistrants), "Release");
  }
  check.precondition_success(scene.clear(0, scene.key(0)), "Clear");
  for (unsigned left = kReleases + 1; left-- > 0;) {
    if (!check.equal("NALP", next_notice(check, scene.association(1)).more, left)) return;
  }
}

CONFORMANCE_CASE(masked_notices_do_not_come, "nvme.reservation.notice.mask", roles::controller, exclusive) {
  ReservationScene scene(bench, check, 2);
  Record<nvme::ReservationMask> mask;
  mask.set(nvme::reservation_mask::regpre, true);
  const Mask masked(scene, static_cast<std::uint32_t>(integer_of(mask)));
  check.require_success(masked.reply, "Set Features, Reservation Notification Mask");
  scene.held(kExclusive, 2);
  check.precondition_success(scene.preempt(1, scene.key(0), kExclusive), "Preempt");
  tells(check, scene, 0, ReservationNotice::empty);
  scene.registered(0, scene.key(0));
  check.precondition_success(scene.clear(1, scene.key(1)), "Clear");
  tells(check, scene, 0, ReservationNotice::reservation_preempted);
}

CONFORMANCE_CASE(all_registrants_hear_of_a_release, "nvme.reservation.notice.released-all", roles::controller, all_registrants) {
  ReservationScene scene(bench, check, 2);
  scene.held(kAll, 2);
  check.precondition_success(scene.release(0, kAll), "Release");
  tells(check, scene, 1, ReservationNotice::reservation_released);
}

CONFORMANCE_CASE(registrants_hear_of_another_type, "nvme.reservation.notice.type", roles::controller, exclusive, registrants_only) {
  ReservationScene scene(bench, check, 3);
  scene.held(kExclusive, 3);
  check.precondition_success(scene.preempt(1, scene.key(0), kRegistrants), "Preempt with another type");
  tells(check, scene, 2, ReservationNotice::reservation_released);
}

CONFORMANCE_CASE(each_notice_has_its_mask, "nvme.reservation.notice.masks", roles::controller, registrants_only) {
  ReservationScene scene(bench, check, 2);
  {
    const Mask masked(scene, kMaskReleased);
    check.require_success(masked.reply, "Set Features, Reservation Notification Mask");
    scene.held(kRegistrants, 2);
    check.precondition_success(scene.release(0, kRegistrants), "Release");
    tells(check, scene, 1, ReservationNotice::empty);
    check.precondition_success(scene.clear(0, scene.key(0)), "Clear");
    tells(check, scene, 1, ReservationNotice::reservation_preempted);
  }
  const Mask masked(scene, kMaskPreempted);
  check.require_success(masked.reply, "Set Features, Reservation Notification Mask");
  scene.held(kRegistrants, 2);
  check.precondition_success(scene.release(0, kRegistrants), "Release");
  tells(check, scene, 1, ReservationNotice::reservation_released);
  check.precondition_success(scene.clear(0, scene.key(0)), "Clear");
  tells(check, scene, 1, ReservationNotice::empty);
}

CONFORMANCE_CASE(mask_is_of_its_namespace, "nvme.reservation.notice.mask-namespace", roles::controller, reservations,
                 needs(has_two_namespaces), four_namespaces) {
  ReservationScene scene(bench, check, 1);
  const auto& all = bench.declared().namespaces;
  for (const host::NamespaceFacts& one : all) {
    std::vector<std::uint32_t> before;
    for (const host::NamespaceFacts& other : all) {
      const auto mask = read_mask(scene, other.nsid);
      check.precondition_success(mask, "Get Features of each namespace");
      before.push_back(mask.dw0());
    }
    const Mask masked(scene, kMaskReleased, one.nsid);
    check.require_success(masked.reply, "Set Features, Reservation Notification Mask");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto after = read_mask(scene, all[i].nsid);
      const std::string which =
          "mask of namespace " + std::to_string(all[i].nsid) + " when that of " + std::to_string(one.nsid) + " is set";
      if (check.success(after, "Get Features")) check.equal(which, after.dw0(), all[i].nsid == one.nsid ? kMaskReleased : before[i]);
    }
  }
}

CONFORMANCE_CASE(mask_of_all_is_of_each, "nvme.reservation.notice.mask-all", roles::controller, reservations, needs(has_two_namespaces),
                 four_namespaces) {
  ReservationScene scene(bench, check, 1);
  const auto& all = bench.declared().namespaces;
  check.precondition_success(read_mask(scene, all.at(1).nsid), "Get Features of another namespace");
  for (const std::uint32_t mask : {kMaskReleased, kMaskPreempted}) {
    const Mask masked(scene, mask, nvme::kAllNamespaces);
    check.require_success(masked.reply, "Set Features of all namespaces");
    for (const host::NamespaceFacts& one : all) {
      const auto got = read_mask(scene, one.nsid);
      if (check.success(got, "Get Features")) check.equal("mask of namespace " + std::to_string(one.nsid), got.dw0(), mask);
    }
  }
}

CONFORMANCE_CASE(mask_can_be_read, "nvme.reservation.notice.mask-read", roles::controller, reservations) {
  ReservationScene scene(bench, check, 1);
  constexpr std::uint32_t kReleased = 1u << 2;
  const Mask masked(scene, kReleased);
  check.require_success(masked.reply, "Set Features, Reservation Notification Mask");
  auto command = host::get_features(nvme::FeatureId::reservation_notification_mask);
  command.set(nvme::sqe::nsid, scene.nsid());
  const auto got = scene.association(0).admin().send(command).wait();
  if (check.success(got, "Get Features")) check.equal("mask", got.dw0(), kReleased);
}

}  // namespace fb::conformance
