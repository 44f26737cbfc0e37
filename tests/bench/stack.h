// The whole stack for benchmarks: a target behind a listener and a host with its queues, over whatever
// fabric they are given (rdma_stack.h, tcp_stack.h).
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/rng.h"
#include "model/host/queue.h"
#include "model/host/raw_queue.h"
#include "model/subsystem/target.h"
#include "tests/bench/machine.h"
#include "wire/fabrics/connect.h"

namespace fb::bench {

inline constexpr std::string_view kHostNqn = "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-000000000001";

/// A subsystem with one namespace of 4 KiB blocks behind a listener.
struct TargetSide {
  struct Options {
    std::uint64_t blocks = 65536;
    std::uint64_t blocks_written = 0;  ///< with a pattern, from the first on
    std::uint16_t io_queues_max = 16;
    bool null = false;                 ///< the namespace keeps nothing and reads as zeroes
    std::uint8_t protection_type = 0;  ///< with 8 bytes of metadata
    /// What the I/O needs and nothing else: no ANA, no reservations, no directives, no Lockdown.
    bool bare = false;
  };
  using Listen = std::function<std::unique_ptr<transport::ControllerFabric>(const transport::ControllerFabricOptions&,
                                                                            transport::ControllerAcceptor&)>;

  /// `listen` opens the fabric of `address`.
  TargetSide(World& w, const IpAddress& address, const Options& options, const Listen& listen) : world(w) {
    subsystem::SubsystemOptions system;
    system.io_queues_max = options.io_queues_max;
    if (options.bare) {
      system.ana = system.reservations = false;
      system.directives.supported = system.lockdown.supported = false;
    }
    disk = &target.add_subsystem(system);
    subsystem::NamespaceOptions space;
    space.block_bytes = 4096;
    space.blocks = options.blocks;
    space.protection_type = options.protection_type;
    if (options.protection_type != 0) space.metadata_bytes = 8;
    if (options.null) space.store = subsystem::make_null_store(options.blocks * 4096);
    subsystem::Namespace& made = *disk->add_namespace(std::move(space)).value();
    Bytes block(made.block_bytes());
    for (std::uint64_t lba = 0; lba < options.blocks_written; ++lba) {
      std::fill(block.begin(), block.end(), static_cast<std::uint8_t>(lba * 7 + 1));
      if (made.layout().is_protected()) nvme::protect(made.layout(), block, {.reference = lba});
      BENCH_ASSERT(made.write(lba, block).ok(), "the namespace takes its pattern");
    }
    subsystem::PortOptions port;
    port.traddr = to_string(address);
    target.add_port(port);
    transport::ControllerFabricOptions fabric;
    fabric.io_queues_max = options.io_queues_max;
    listener = listen(fabric, target.acceptor());
    target.set_listener(1, *listener);
  }

  World& world;
  std::unique_ptr<transport::ControllerFabric> listener;  // outlives the target's channels
  subsystem::Target target{world};
  subsystem::Subsystem* disk = nullptr;
};

/// A host with one admin queue.
struct HostSide {
  HostSide(World& w, const Endpoint& target, std::unique_ptr<transport::HostFabric> over) : world(w), to(target), fabric(std::move(over)) {}

  /// Admin queue connected, controller enabled.
  void enable() {
    admin = std::make_unique<host::RawQueue>(world, *fabric, host::RawQueueOptions{.to = to});
    BENCH_ASSERT(admin->connect_transport().wait().connected, "the transport connects");
    const auto reply = admin->send(host::connect({.hostid = {1}, .hostnqn = kHostNqn, .subnqn = subsystem::kDefaultSubsystemNqn})).wait();
    BENCH_ASSERT(reply.ok(), "Connect succeeds");
    cntlid = static_cast<std::uint16_t>(reply.dw0() & 0xFFFF);
    constexpr std::uint32_t kEnable = 6u << 16 | 4u << 20 | 1;
    BENCH_ASSERT(admin->send(host::property_set(0x14, kEnable)).wait().ok(), "CC is written");
    world.run_until([&] { return (admin->send(host::property_get(0x1C)).wait().value() & 1) != 0; }, Duration::s(1));
  }

  /// Number of Queues: true when the controller grants so many I/O queues.
  bool request_queues(std::uint16_t count) {
    const std::uint32_t asked = count - 1u;
    const auto reply = admin->send(host::set_features(7, asked << 16 | asked)).wait();
    return reply.ok() && (reply.dw0() & 0xFFFF) >= asked && reply.dw0() >> 16 >= asked;
  }

  World& world;
  Endpoint to;
  std::unique_ptr<transport::HostFabric> fabric;
  std::unique_ptr<host::RawQueue> admin;
  std::uint16_t cntlid = 0;
};

/// An I/O queue that keeps `depth` reads of `bytes` in flight, without allocation.
class IoLoop final : host::QueueHandler {
 public:
  struct Options {
    std::uint16_t qid = 1;
    bool random = false;       ///< where the reads are, instead of one after the other
    bool flow_control = true;  ///< of the submission queue: asked for
    bool strips = false;       ///< protection information is checked and stripped
    bool writes = false;       ///< instead of reads
  };
  /// The reads go round the first `blocks` of the namespace.
  IoLoop(HostSide& side, std::uint16_t depth, std::uint32_t bytes, std::uint64_t blocks) : IoLoop(side, depth, bytes, blocks, Options{}) {}
  IoLoop(HostSide& side, std::uint16_t depth, std::uint32_t bytes, std::uint64_t blocks, const Options& options)
      : side_(side),
        bytes_(bytes),
        blocks_(blocks),
        random_(options.random),
        strips_(options.strips),
        writes_(options.writes),
        queue_(side.world, *side.fabric, *this, {.qid = options.qid, .entries = 128, .cntlid = side.cntlid, .in_capsule_bytes = 4096}) {
    queue_.open(side_.to);
    side_.world.run_until([&] { return queue_.connected(); }, Duration::s(1));
    BENCH_ASSERT(queue_.connected(), "the I/O queue's transport connects");
    Connector connector;
    const std::uint8_t cattr = options.flow_control ? std::uint8_t{0} : fabrics::cattr_bits::disable_sq_flow_control;
    const host::ConnectCommand command = host::connect({.qid = options.qid,
                                                        .entries = 128,
                                                        .cattr = cattr,
                                                        .cntlid = side_.cntlid,
                                                        .hostid = {1},
                                                        .hostnqn = kHostNqn,
                                                        .subnqn = subsystem::kDefaultSubsystemNqn});
    Bytes data(command.data.bytes().begin(), command.data.bytes().end());
    connector.sqe = host::as_sqe(command.sqe);
    connector.transfer = {transport::Direction::to_controller, data, false, false};
    queue_.submit(connector);
    side_.world.run_until([&] { return connector.done; }, Duration::s(1));
    BENCH_ASSERT(connector.ok, "I/O Connect succeeds");
    set_depth(depth);
  }

  /// Between runs.
  void set_depth(std::uint16_t depth) {
    reads_.clear();
    for (std::uint16_t i = 0; i < depth; ++i) reads_.push_back(std::make_unique<Read>(*this, i));
  }

  /// Runs until `count` more have completed; a read that is done starts the next. Puts down how long
  /// each took where that is asked for, in seconds.
  void run(std::uint64_t count, std::vector<double>* seconds = nullptr) {
    const std::uint64_t goal = completed_ + count;
    seconds_ = seconds;
    left_ = count;
    for (auto& read : reads_) {
      if (!read->pending()) start(*read);
    }
    side_.world.run_until([&] { return completed_ >= goal; }, Duration::s(3600));
    BENCH_ASSERT(completed_ >= goal && failed_ == 0, "every read succeeds");
  }

  /// Whether the last reads brought what TargetSide wrote.
  bool holds_pattern() const {
    for (const auto& read : reads_) {
      for (std::size_t at = 0; at < read->data.size(); at += 512) {
        const std::uint64_t lba = read->lba + at / 4096;
        if (read->data[at] != static_cast<std::uint8_t>(lba * 7 + 1)) return false;
      }
    }
    return true;
  }

 private:
  struct Connector final : host::Command {
    void on_complete(const nvme::Cqe& cqe, bool answered) override {
      done = true;
      ok = answered && cqe.get(nvme::cqe::status).ok();
    }
    bool done = false, ok = false;
  };
  struct Read final : host::Command {
    Read(IoLoop& l, std::uint16_t index) : loop(l), data(l.bytes_), lba(index) {}
    void on_complete(const nvme::Cqe& cqe, bool answered) override {
      ++loop.completed_;
      if (loop.seconds_ != nullptr) loop.seconds_->push_back(seconds_now() - started);
      if (!answered || !cqe.get(nvme::cqe::status).ok()) ++loop.failed_;
      if (loop.left_ > 0) loop.start(*this);
    }
    IoLoop& loop;
    Bytes data;
    std::uint64_t lba;
    double started = 0;
  };
  void start(Read& read) {
    if (left_ == 0) return;
    --left_;
    const std::uint64_t places = blocks_ - bytes_ / 4096 + 1;
    read.lba = random_ ? rng_.below(places) : (read.lba + 128) % places;
    read.sqe = host::as_sqe(host::read(1, read.lba, bytes_ / 4096));
    read.transfer = {transport::Direction::from_controller, read.data, true, false};
    if (writes_) {
      read.sqe.set(nvme::sqe::opcode, static_cast<std::uint8_t>(nvme::IoOpcode::write));
      read.transfer = {transport::Direction::to_controller, read.data, true, false};
    }
    if (strips_) {
      read.sqe.edit<nvme::ReadWriteSqe>()
          .set(nvme::rw_sqe::pract, true)
          .set(nvme::rw_sqe::prchk_guard, true)
          .set(nvme::rw_sqe::prchk_ref, true)
          .set(nvme::rw_sqe::ilbrt, static_cast<std::uint32_t>(read.lba));
    }
    if (seconds_ != nullptr) read.started = seconds_now();
    queue_.submit(read);
  }
  void on_queue_connected(host::Queue&, const transport::ChannelFacts&) override {}
  void on_queue_end(host::Queue&, const transport::ChannelEnd&) override {}
  Duration on_queue_timeout(host::Queue&, host::Command&) override { return Duration::s(30); }
  void on_queue_violation(host::Queue&, std::string_view) override { ++failed_; }

  HostSide& side_;
  std::uint32_t bytes_;
  std::uint64_t blocks_;
  bool random_;
  bool strips_;
  bool writes_;
  Rng rng_{1};
  host::Queue queue_;
  std::vector<std::unique_ptr<Read>> reads_;
  std::uint64_t completed_ = 0, failed_ = 0, left_ = 0;
  std::vector<double>* seconds_ = nullptr;
};

}  // namespace fb::bench
