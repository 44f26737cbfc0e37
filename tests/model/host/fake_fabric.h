// A fabric whose far side is a test: every capsule goes to one function, responses come back when the
// test says so. For what no honest controller does.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "model/transport/host_channel.h"
#include "sim/core/world.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::host {

class FakeChannel;

struct FakeCommand {
  nvme::Sqe sqe;
  transport::HostTransfer transfer;
  std::uint16_t slot = 0;
  bool raw = false;
};

class FakeFabric final : public transport::HostFabric {
 public:
  explicit FakeFabric(World& w) : world(w) {}
  std::unique_ptr<transport::HostChannel> make_channel(transport::HostChannelHandler& handler) override;
  std::string_view name() const override { return "fake"; }

  World& world;
  Duration latency = Duration::us(10);
  /// Called with each command when it arrives at the far side.
  std::function<void(FakeChannel&, FakeCommand&)> on_command = [](FakeChannel&, FakeCommand&) {};
  /// Decides on connection requests: an end refuses.
  std::function<std::optional<transport::ChannelEnd>(const transport::ChannelOptions&)> on_connect;
  std::vector<FakeChannel*> channels;  ///< in the order made; null when destroyed
  /// Releases of memory take another `latency` when set.
  bool slow_release = false;
  bool never_release = false;
};

class FakeChannel final : public transport::HostChannel {
 public:
  FakeChannel(FakeFabric& fabric, transport::HostChannelHandler& handler, std::size_t index)
      : fabric_(fabric), handler_(handler), index_(index) {}
  ~FakeChannel() override { fabric_.channels[index_] = nullptr; }

  void connect(const Endpoint&, const transport::ChannelOptions& wanted) override {
    options = wanted;
    later([this] {
      if (fabric_.on_connect) {
        if (const auto refusal = fabric_.on_connect(options)) {
          end(*refusal);
          return;
        }
      }
      up = true;
      handler_.on_connected({options.entries, 0});
    });
  }
  bool send(std::uint16_t slot, MutableBytes sqe, const transport::HostTransfer& transfer) override {
    if (!up) return false;
    arrive({nvme::Sqe{ByteView{sqe}}, transfer, slot, false});
    return true;
  }
  bool release(std::uint16_t slot, const transport::ResponseFacts&) override {
    if (fabric_.never_release) return false;
    if (!fabric_.slow_release) return true;
    later([this, slot] {
      if (!ended) handler_.on_released(slot);
    });
    return false;
  }
  void disconnect() override {
    up = false;
    later([this] { end({transport::ChannelEnd::Kind::closed, 0, 0, "closed"}); });
  }
  bool send_raw(ByteView capsule) override {
    if (!up) return false;
    arrive({nvme::Sqe{capsule}, {}, 0, true});
    return true;
  }
  RemoteBuffer expose(std::uint16_t slot, MutableBytes) override { return {0x1000u * (slot + 1u), slot + 1u}; }

  // ---- the far side ----

  /// Answers with success (or `status`) and this SQHD.
  void respond(const nvme::Sqe& sqe, std::uint16_t sqhd, nvme::Status status = {}, std::uint64_t value = 0) {
    nvme::Cqe cqe;
    cqe.set(nvme::cqe::cid, sqe.get(nvme::sqe::cid))
        .set(nvme::cqe::sqhd, sqhd)
        .set(nvme::cqe::status, status)
        .set(nvme::cqe::dw0, value & 0xFFFFFFFF)
        .set(nvme::cqe::dw1, value >> 32);
    respond_raw(cqe);
  }
  void respond_raw(const nvme::Cqe& cqe) {
    later([this, cqe] {
      if (up) handler_.on_response(cqe.bytes(), {});
    });
  }
  /// As NVMe/TCP does with SUCCESS in C2HData: there is no response capsule.
  void succeed(const nvme::Sqe& sqe) {
    nvme::Cqe cqe;
    cqe.set(nvme::cqe::cid, sqe.get(nvme::sqe::cid));
    later([this, cqe] {
      if (up) handler_.on_response(cqe.bytes(), {.success_flag = true});
    });
  }
  /// Success for a command whose data did not all come.
  void succeed_without(const nvme::Sqe& sqe, std::uint16_t sqhd) {
    nvme::Cqe cqe;
    cqe.set(nvme::cqe::cid, sqe.get(nvme::sqe::cid)).set(nvme::cqe::sqhd, sqhd);
    later([this, cqe] {
      if (up) handler_.on_response(cqe.bytes(), {.data_missing = true});
    });
  }
  void end(const transport::ChannelEnd& why) {
    if (ended) return;
    ended = true;
    up = false;
    handler_.on_end(why);
  }

  transport::ChannelOptions options;
  bool up = false;
  bool ended = false;
  std::vector<nvme::Sqe> seen;

 private:
  void arrive(FakeCommand command) {
    later([this, command]() mutable {
      if (ended) return;
      seen.push_back(command.sqe);
      fabric_.on_command(*this, command);
    });
  }
  void later(std::function<void()> what) {
    todo_.push_back({fabric_.world.now() + fabric_.latency, std::move(what)});
    if (!timer_.scheduled()) fabric_.world.loop().schedule(timer_, todo_.front().first);
  }
  void run() {
    const auto what = std::move(todo_.front().second);
    todo_.pop_front();
    if (!todo_.empty()) fabric_.world.loop().schedule(timer_, todo_.front().first);
    what();
  }

  FakeFabric& fabric_;
  transport::HostChannelHandler& handler_;
  std::size_t index_;
  std::deque<std::pair<Instant, std::function<void()>>> todo_;
  Timer<FakeChannel, &FakeChannel::run> timer_{"test.fake.channel", *this};
};

inline std::unique_ptr<transport::HostChannel> FakeFabric::make_channel(transport::HostChannelHandler& handler) {
  auto made = std::make_unique<FakeChannel>(*this, handler, channels.size());
  channels.push_back(made.get());
  return made;
}

}  // namespace fb::host
