// Hosts that do not know how to leave, forget one of two controllers, or misread a discovery service.
#include "model/deviations/deviation.h"

namespace fb::deviations {

namespace {

/// Departs at one point from the second time on that it is asked: of two associations, in the second.
class DepartsOnTheSecond : public host::HostHooks {
 public:
  explicit DepartsOnTheSecond(std::string_view point) : point_(point) {}
  bool departs(std::string_view point) override { return point == point_ && ++asked_ > 1; }

 private:
  std::string_view point_;
  unsigned asked_ = 0;
};

class ShutsOneDown final : public DepartsOnTheSecond {
 public:
  ShutsOneDown() : DepartsOnTheSecond("host.shutdown.omitted") {}
};

class KeepsOneAlive final : public DepartsOnTheSecond {
 public:
  KeepsOneAlive() : DepartsOnTheSecond("host.keep_alive.omitted") {}
};

/// From its second association on, the host gives another Host Identifier.
class ChangesItsIdentifier final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) override {
    if (sqe[0] != 0x7F || sqe[4] != 0x01 || data.size() < 16) return;
    if (qid == 0) ++associations_;
    if (associations_ > 1) data[15] ^= 0x5A;
  }

 private:
  unsigned associations_ = 0;
};

}  // namespace

#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})

HOST(host_speaks_after_its_shutdown, "fabrics.host.shutdown.quiet", "admin commands after CC.SHN was set", "host.shutdown.commands_after");
DEVIATION(host_shuts_one_of_two_down, "fabrics.host.shutdown.each", Product::host, "of two controllers, one is left without a shutdown",
          hooks<ShutsOneDown>());
HOST(host_disconnects_its_admin_queue, "fabrics.host.disconnect.io-only", "Disconnect is sent on the admin queue", "host.disconnect.admin");
HOST(host_ignores_a_lost_io_queue, "fabrics.host.io-queue.lost", "the loss of an I/O queue has no consequence", "host.queue.loss.ignored");
DEVIATION(host_keeps_one_of_two_alive, "fabrics.host.keep-alive.each", Product::host, "of two controllers, one gets Keep Alive commands",
          hooks<KeepsOneAlive>());
DEVIATION(host_is_another_on_its_second_path, "fabrics.host.paths.identity", Product::host,
          "the second path connects with another Host Identifier", hooks<ChangesItsIdentifier>());
HOST(host_takes_a_restart_for_an_empty_log, "fabrics.host.discovery.restart", "Discover Restart is taken for an empty log",
     "host.discovery.restart.ignored");
HOST(host_ignores_discovery_notices, "fabrics.host.discovery.notice", "the log is not read again after a change event",
     "host.discovery.event.ignored");
HOST(host_hears_of_one_discovery_change, "fabrics.host.discovery.notice-again", "no new Asynchronous Event Request after the first notice",
     "host.aer.not_rearmed");
HOST(host_retains_discovery_changes, "fabrics.host.discovery.notice-again", "the log is read with RAE = 1", "host.event.log.rae");
HOST(host_lets_a_discovery_service_expire, "fabrics.host.discovery.keep-alive", "no Keep Alive to a discovery service",
     "host.keep_alive.omitted");
HOST(host_forgets_a_discovery_service, "fabrics.host.discovery.reconnect", "a lost discovery service is not connected to again",
     "host.reconnect.omitted");
HOST(host_stays_with_a_discovery_service, "fabrics.host.discovery.leaves", "a connection without persistence is left open",
     "host.discovery.left_connected");

#undef HOST

}  // namespace fb::deviations
