// What a reservation keeps other hosts from.
#include "conformance/cases/nvme/fdp_scene.h"
#include "conformance/cases/nvme/reservation_scene.h"
#include "conformance/runner/embedded_controller.h"

namespace fb::conformance {

namespace {

namespace oncs = nvme::oncs_bits;

constexpr std::uint64_t kLba = 24;
/// Host 0 holds the reservation, host 1 is registered, host 2 is not.
constexpr std::size_t kHolder = 0, kRegistrant = 1, kStranger = 2;

const arranged with_formats{"namespaces that may be formatted", [](EmbeddedSetup& setup) { setup.subsystem.format = true; }};

class AccessScene {
 public:
  AccessScene(ControllerBench& bench, Check& check) : scene(bench, check, 3), bench_(bench), check_(check) {}

  void hold(ReservationType type) {
    scene.held(type, 2);
    type_ = type;
  }
  bool claims(unsigned bit) { return (bench_.declared().identify().get(nvme::id_ctrl::oncs) & bit) != 0; }

  /// The block has known content before, so that what reads it succeeds or fails for one reason.
  void reads(std::size_t host, bool allowed) {
    check_.precondition_success(scene.write(kHolder, kLba, 0x21), "Write of the holder");
    const Bytes block = pattern(0x21, 1, scene.block_bytes());
    judge(scene.read(host, kLba), allowed, "Read", host);
    if (claims(oncs::compare)) {
      judge(scene.io(host).send(host::compare(scene.nsid(), kLba, 1), block).wait(), allowed, "Compare", host);
    }
    if (claims(oncs::verify)) {
      judge(scene.io(host).send(host::verify(scene.nsid(), kLba, 1)).wait(), allowed, "Verify", host);
    }
  }

  /// What is refused changes nothing.
  void writes(std::size_t host, bool allowed) {
    check_.precondition_success(scene.write(kHolder, kLba, 0x21), "Write of the holder");
    const Bytes block = pattern(0x21, 1, scene.block_bytes());
    judge(scene.write(host, kLba, 0x42), allowed, "Write", host);
    if (claims(oncs::write_zeroes)) {
      judge(scene.io(host).send(host::write_zeroes(scene.nsid(), kLba, 1)).wait(), allowed, "Write Zeroes", host);
    }
    if (claims(oncs::write_uncorrectable)) {
      judge(scene.io(host).send(host::write_uncorrectable(scene.nsid(), kLba, 1)).wait(), allowed, "Write Uncorrectable", host);
    }
    if (claims(oncs::dataset_management)) {
      const auto range = host::dsm_range(kLba, 1);
      judge(scene.io(host).send(host::deallocate(scene.nsid(), 1), range.bytes()).wait(), allowed, "Dataset Management", host);
    }
    judge(scene.io(host).send(host::flush(scene.nsid())).wait(), allowed, "Flush", host);
    const auto read = scene.read(kHolder, kLba);
    if (!allowed && check_.success(read, "Read of the holder")) check_.bytes("the block", read.data, block);
    check_.precondition_success(scene.write(kHolder, kLba, 0x21), "Write of the holder");
  }

  ReservationScene scene;

 private:
  void judge(const host::RawReply& reply, bool allowed, std::string_view command, std::size_t host) {
    constexpr std::string_view kWho[] = {"the holder", "a registrant", "a host that is not registered"};
    const std::string what = std::string(command) + " of " + std::string(kWho[host]) + ", " + std::string(name_of(type_));
    if (allowed) {
      check_.success(reply, what);
    } else {
      check_.status(reply, sc::reservation_conflict, what);
    }
  }

  ControllerBench& bench_;
  Check& check_;
  ReservationType type_ = ReservationType::none;
};

/// Each type of the product for which `chosen` says yes.
template <class Chosen, class Do>
void for_types(ControllerBench& bench, Check& check, Chosen chosen, Do&& act) {
  AccessScene access(bench, check);
  bool any = false;
  for (const ReservationType type : kReservationTypes) {
    if (!chosen(type) || !claims_type(bench.declared(), type)) continue;
    any = true;
    access.hold(type);
    act(access, type);
    check.precondition_success(access.scene.clear(kHolder, access.scene.key(kHolder)), "Clear");
  }
  check.precondition(any, "the product has such a type");
}

constexpr bool every(ReservationType) { return true; }
constexpr bool of_the_holder(ReservationType type) { return !of_all_registrants(type) && !of_registrants_only(type); }
constexpr bool of_registrants(ReservationType type) { return !of_the_holder(type); }
constexpr bool for_writers(ReservationType type) { return !excludes_readers(type); }

}  // namespace

CONFORMANCE_CASE(holder_has_access, "nvme.reservation.access.holder", roles::controller, reservations) {
  for_types(bench, check, every, [](AccessScene& access, ReservationType) {
    access.reads(kHolder, true);
    access.writes(kHolder, true);
  });
}

CONFORMANCE_CASE(strangers_do_not_write, "nvme.reservation.access.write", roles::controller, reservations, reaches{"reservation.access"}) {
  for_types(bench, check, every, [](AccessScene& access, ReservationType) { access.writes(kStranger, false); });
}

CONFORMANCE_CASE(strangers_do_not_read_what_is_exclusive, "nvme.reservation.access.read", roles::controller, reservations,
                 reaches{"reservation.access"}) {
  for_types(bench, check, nvme::excludes_readers, [](AccessScene& access, ReservationType) { access.reads(kStranger, false); });
}

CONFORMANCE_CASE(write_exclusive_lets_all_read, "nvme.reservation.access.readers", roles::controller, reservations) {
  for_types(bench, check, for_writers, [](AccessScene& access, ReservationType) {
    access.reads(kStranger, true);
    access.reads(kRegistrant, true);
  });
}

CONFORMANCE_CASE(registrants_have_access, "nvme.reservation.access.registrants", roles::controller, reservations) {
  for_types(bench, check, of_registrants, [](AccessScene& access, ReservationType) {
    access.reads(kRegistrant, true);
    access.writes(kRegistrant, true);
  });
}

CONFORMANCE_CASE(registrants_are_kept_out_too, "nvme.reservation.access.exclusive", roles::controller, reservations,
                 reaches{"reservation.access"}) {
  for_types(bench, check, of_the_holder, [](AccessScene& access, ReservationType type) {
    access.writes(kRegistrant, false);
    access.reads(kRegistrant, !nvme::excludes_readers(type));
  });
}

CONFORMANCE_CASE(everybody_may_report_and_register, "nvme.reservation.access.reservation-commands", roles::controller,
                 needs(claims_types<ReservationType::exclusive_access>)) {
  ReservationScene scene(bench, check, 2);
  scene.held(ReservationType::exclusive_access);
  const auto reply = scene.io(1).send(host::reservation_report(scene.nsid(), 128), 128).wait();
  if (check.success(reply, "Reservation Report of a host that is not registered")) {
    check.equal("type of the reservation", scene.parse(reply.data).type, ReservationType::exclusive_access);
  }
  check.success(scene.register_key(1, scene.key(1)), "Reservation Register of another host");
}

CONFORMANCE_CASE(strangers_identify_what_is_exclusive, "nvme.reservation.access.admin", roles::controller, having_fdp,
                 needs(claims_types<ReservationType::exclusive_access>)) {
  ReservationScene scene(bench, check, 2);
  scene.held(ReservationType::exclusive_access);
  check.success(scene.association(1).admin().send(host::identify(nvme::Cns::identify_namespace, scene.nsid()), 4096).wait(),
                "Identify Namespace of a host that is not registered");
  // Neither is of the groups that a reservation is about, whether or not the namespace has placement handles.
  if (kHasFdp(bench.declared())) return;
  const auto judge = [&](const host::RawReply& reply, std::string_view what) {
    const std::string name = std::string(what) + " of a host that is not registered";
    check.that(!nvme::same_code(reply.status(), sc::reservation_conflict), name + " is no conflict", "Reservation Conflict");
  };
  judge(scene.io(1).send(host::reclaim_unit_handle_status(scene.nsid(), 512), 512).wait(), "I/O Management Receive");
  const Bytes list(2);
  judge(scene.io(1).send(host::reclaim_unit_handle_update(scene.nsid(), 1), list).wait(), "I/O Management Send");
}

CONFORMANCE_CASE(strangers_do_not_format, "nvme.reservation.access.format", roles::controller, with_formats,
                 reaches{"reservation.access"}) {
  for_types(bench, check, every, [&](AccessScene& access, ReservationType type) {
    ReservationScene& scene = access.scene;
    check.precondition_success(scene.write(kHolder, kLba, 0x21), "Write of the holder");
    const auto format = [&](std::size_t host) { return scene.association(host).admin().send(format_unchanged(bench.declared())).wait(); };
    check.status(format(kStranger), sc::reservation_conflict, "Format NVM, " + std::string(name_of(type)));
    const auto read = scene.read(kHolder, kLba);
    if (check.success(read, "Read")) check.bytes("the block", read.data, pattern(0x21, 1, scene.block_bytes()));
    check.success(format(kHolder), "Format NVM of the holder");
  });
}

namespace {

/// What a stranger is refused, and a block of the holder's that is there still.
template <class Act>
void strangers_are_refused(ControllerBench& bench, Check& check, std::string_view what, Act&& act) {
  ReservationScene scene(bench, check, 2);
  scene.held(ReservationType::write_exclusive);
  check.precondition_success(scene.write(0, kLba, 0x21), "Write of the holder");
  check.status(act(scene), sc::reservation_conflict, what);
  const auto read = scene.read(0, kLba);
  if (check.success(read, "Read")) check.bytes("the block", read.data, pattern(0x21, 1, scene.block_bytes()));
}
const arranged with_what_is_lost{"namespaces to lose", [](EmbeddedSetup& setup) {
                                   setup.subsystem.reservations = true;
                                   setup.subsystem.sanitize = {};
                                   setup.subsystem.namespace_management.supported = true;
                                 }};

}  // namespace

CONFORMANCE_CASE(strangers_do_not_sanitize, "nvme.reservation.access.sanitize", roles::controller, with_what_is_lost,
                 reaches{"reservation.access"}) {
  strangers_are_refused(bench, check, "Sanitize", [](ReservationScene& scene) {
    return scene.association(1).admin().send(host::sanitize(nvme::SanitizeAction::crypto_erase)).wait();
  });
}

CONFORMANCE_CASE(strangers_do_not_detach, "nvme.reservation.access.attachment", roles::controller, with_what_is_lost,
                 reaches{"reservation.access"}) {
  strangers_are_refused(bench, check, "Namespace Attachment", [](ReservationScene& scene) {
    Bytes list(nvme::kIdentifySize);
    const std::uint16_t holder[] = {scene.association(0).cntlid()};
    nvme::write_controller_list(list, holder);
    return scene.association(1).admin().send(host::detach_namespace(scene.nsid()), list).wait();
  });
}

CONFORMANCE_CASE(strangers_do_not_delete, "nvme.reservation.access.deletion", roles::controller, with_what_is_lost,
                 reaches{"reservation.access"}) {
  strangers_are_refused(bench, check, "Namespace Management", [](ReservationScene& scene) {
    return scene.association(1).admin().send(host::delete_namespace(scene.nsid())).wait();
  });
}

}  // namespace fb::conformance
