// What lanes put around the cases on controllers.
#include <algorithm>

#include "conformance/runner/controller_bench.h"
#include "conformance/runner/questions.h"
#include "model/host/namespace.h"

namespace fb::conformance {

namespace {

/// For a connection that was left.
constexpr Duration kGone = Duration::s(5);
constexpr std::string_view kNeighbourNqn = "nqn.2014-08.org.nvmexpress:uuid:c2a7f0de-41b5-4d6e-9a53-77d1e2b4a9f0";
constexpr host::HostId kNeighbourId = {0xc2, 0xa7, 0xf0, 0xde, 0x41, 0xb5, 0x4d, 0x6e, 0x9a, 0x53, 0x77, 0xd1, 0xe2, 0xb4, 0xa9, 0xf0};

}  // namespace

/// A host that is connected beside that of the case, and may be busy.
class ControllerBench::Neighbour {
 public:
  Neighbour(ControllerBench& bench, bool any_host) : bench_(bench), host_(bench.world(), bench.fabric(), named(any_host)) {}

  /// One association, with two I/O queues where the product grants them.
  void connect(host::ConnectOptions options) {
    options.io_queues = 2;
    const auto outcome = host_.connect(std::move(options)).wait();
    if (!outcome) throw CannotArrange{"another host cannot connect: " + outcome.error().text};
    controller_ = outcome.value();
  }
  /// From now on sends a command every now and then. Not for ever: cases wait for worlds in which nothing happens any more.
  void begin() { bench_.world().loop().schedule_after(timer_, kInterval); }
  Op<bool> leave() { return host_.shutdown_all(); }

 private:
  static constexpr Duration kInterval = Duration::us(300);
  static constexpr unsigned kCommands = 60;

  static host::HostOptions named(bool any_host) {
    host::HostOptions options;
    options.hostnqn = any_host ? kNeighbourNqn : kBenchHostNqn;
    options.hostid = kNeighbourId;
    options.actor = "neighbour";
    return options;
  }
  void on_timer() {
    if (!controller_->live()) return;
    host::Namespace* const space = host_.find(*controller_, bench_.nsid());
    if (sent_ % 3 == 0 || space == nullptr) {
      controller_->call_admin(host::as_sqe(host::get_features(nvme::FeatureId::number_of_queues)), {}, transport::Direction::none,
                              [](host::AdminReply&) {});
    } else {
      space->flush();
    }
    if (++sent_ < kCommands) begin();
  }

  ControllerBench& bench_;
  host::Host host_;
  host::Controller* controller_ = nullptr;
  unsigned sent_ = 0;
  Timer<Neighbour, &Neighbour::on_timer> timer_{"bench.neighbour", *this};
};

void ControllerBench::begin_lane(bool any_host) {
  if (around_.earlier != Surroundings::Earlier::none) come_and_go();
  if (around_.neighbour) meet_neighbour(any_host);
}

/// An association of the case's own host, with an I/O queue that is used, that is over before the case begins.
void ControllerBench::come_and_go() {
  RawAssociation& association = associate();
  host::RawQueue& io = association.open_io();
  if (nsid() != 0) (void)io.send(host::flush(nsid())).wait();
  if (around_.earlier == Surroundings::Earlier::shut_down) {
    constexpr std::uint32_t kNormalShutdown = 1u << 14, kShutdownStatus = 3u << 2, kComplete = 2u << 2;
    (void)association.set_property(fabrics::property::cc, association.enabling_cc() | kNormalShutdown);
    if (!association.wait_csts(kShutdownStatus, kComplete, kGone)) throw CannotArrange{"CSTS.SHST does not say that shutdown is complete"};
  }
  io.disconnect();
  association.admin().disconnect();
  io.ended().wait_for(kGone);
  association.admin().ended().wait_for(kGone);
  // A product keeps an association that was lost for a while; one that was shut down is over.
  world().run_for(kGone);
}

void ControllerBench::meet_neighbour(bool any_host) {
  neighbour_ = std::make_shared<Neighbour>(*this, any_host && !secured_ && !authentication_.secret);
  host::ConnectOptions options;
  options.to = at_;
  options.subnqn = nqn_;
  options.cntlid = declared().any_cntlid;
  options.kato_ms = declared().usual_kato_ms;
  if (secured_) options.tls = host::TlsUse::always;
  options.authentication.secret = authentication_.secret;
  neighbour_->connect(std::move(options));
  if (around_.busy) neighbour_->begin();
}

void ControllerBench::part_from_neighbour() {
  if (!neighbour_) return;
  Op<bool> gone = neighbour_->leave();
  world().run_until([&] { return gone.settled(); }, kGone);
}

void ControllerBench::wear(host::RawQueue& queue) {
  if (!around_.near_wrap || nsid() == 0) return;
  for (std::uint32_t i = 2; i < queue.options().entries && queue.connected(); ++i) (void)queue.send(host::flush(nsid())).wait();
}

std::uint16_t ControllerBench::io_qid(unsigned index) {
  std::uint16_t first = around_.io_queue;
  if (first == Surroundings::kLastQueue) first = std::max<std::uint16_t>(declared().io_queues, 1);
  if (index == 0) return first;
  return static_cast<std::uint16_t>(index < first ? index : index + 1);
}

std::uint64_t ControllerBench::first_lba() {
  constexpr std::uint64_t kRoom = 1u << 17;
  if (!around_.last_blocks) return 0;
  const std::uint64_t all = declared().blocks;
  return all > kRoom ? all - kRoom : 0;
}

std::uint32_t ControllerBench::blocks(std::uint32_t usual, std::uint32_t block_bytes) {
  if (around_.transfer_bytes == 0) return usual;
  const std::uint32_t block = std::max(block_bytes, 512u);
  const std::uint64_t most = declared().transfer_max();
  std::uint64_t wanted = usual;
  if (around_.transfer_bytes == Surroundings::kMdts) {
    wanted = most / block;
  } else if (around_.transfer_bytes != 0) {
    wanted = around_.transfer_bytes / block + 1;
  }
  if (most != 0) wanted = std::min(wanted, most / block);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(wanted, usual));
}

void RawAssociation::surround() {
  // A host has the queues that it asked for: more than one where its first is not queue 1.
  constexpr std::uint16_t kForACase = 4;
  const std::uint16_t qid = bench_.io_qid();
  if (qid > 1) {
    const std::uint32_t pairs = std::max(qid, std::min(kForACase, bench_.declared().io_queues)) - 1u;
    (void)admin_.send(host::set_features(nvme::FeatureId::number_of_queues, pairs << 16 | pairs)).wait();
  }
  if (bench_.around().reset) {
    host::RawQueue& io = open_io();
    disable();
    io.disconnect();
    io.ended().wait_for(kGone);
    enable();
  }
  if (bench_.environment_.lane != nullptr && bench_.environment_.lane->name == kQuestionsLane) ask_everything(admin_, bench_.declared());
}

}  // namespace fb::conformance
