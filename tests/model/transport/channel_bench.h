// A host end and a target end of channels, for tests of any fabric: the target moves data as commands
// of a toy command set tell it, the host records what it is told.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/transport/controller_channel.h"
#include "model/transport/hooks.h"
#include "model/transport/host_channel.h"
#include "sim/core/world.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/sqe.h"

namespace fb::transport::testing {

inline constexpr std::uint8_t kWrite = 0x01;  ///< pull cdw10 bytes
inline constexpr std::uint8_t kRead = 0x02;   ///< push cdw10 bytes of pattern(cdw11)
inline constexpr std::uint8_t kHold = 0x00;   ///< answered by release_held()

inline Bytes pattern(std::uint32_t seed, std::size_t size) {
  Bytes made(size);
  Rng rng(seed, "pattern");
  rng.fill(made);
  return made;
}

/// One connection as the target sees it.
class TargetQueue final : public ControllerChannelHandler {
 public:
  explicit TargetQueue(std::unique_ptr<ControllerChannel> c) : channel(std::move(c)) { channel->set_handler(this); }

  void on_command(ArrivedCommand& command) override {
    ++commands;
    last_sqe.assign(command.sqe.begin(), command.sqe.end());
    last_in_capsule.assign(command.in_capsule.begin(), command.in_capsule.end());
    const View<nvme::SqeLayout> sqe{command.sqe};
    const std::uint8_t opcode = sqe.get(nvme::sqe::opcode);
    const std::uint32_t bytes = sqe.get(nvme::sqe::cdw10);
    if (opcode == kHold) {
      held.push_back(&command);
      return;
    }
    const nvme::Status status = channel->stage(command, bytes);
    if (!status.ok()) return finish(command, status);
    if (opcode == kWrite) {
      channel->pull(command);
      if (during_pull) during_pull(command);
      return;
    }
    if (data_source) {
      data_source(command.data);
    } else {
      const Bytes data = pattern(sqe.get(nvme::sqe::cdw11), bytes);
      std::copy(data.begin(), data.end(), command.data.begin());
    }
    channel->push(command, bytes);
    if (hold_pushed) {
      held.push_back(&command);
    } else {
      finish(command, {});
    }
  }
  void on_pulled(ArrivedCommand& command) override {
    written.assign(command.data.begin(), command.data.end());
    if (hold_pulled) {
      held.push_back(&command);
    } else {
      finish(command, {});
    }
  }
  void on_end(std::string_view why) override {
    ended.emplace_back(why);
    held.clear();
    if (destroy_on_end) channel.reset();
  }
  void finish(ArrivedCommand& command, nvme::Status status) {
    nvme::Cqe cqe;
    cqe.set(nvme::cqe::cid, View<nvme::SqeLayout>{command.sqe}.get(nvme::sqe::cid));
    cqe.set(nvme::cqe::status, status);
    channel->respond(command, cqe.bytes());
  }
  void release_held() {
    const auto all = std::move(held);
    held.clear();
    for (ArrivedCommand* command : all) finish(*command, {});
  }

  std::unique_ptr<ControllerChannel> channel;
  std::vector<ArrivedCommand*> held;
  std::vector<std::string> ended;
  std::function<void(MutableBytes)> data_source;
  std::function<void(ArrivedCommand&)> during_pull;
  Bytes last_sqe, last_in_capsule, written;
  std::size_t commands = 0;
  bool hold_pulled = false;
  bool hold_pushed = false;
  bool destroy_on_end = false;
};

class Target final : public ControllerAcceptor {
 public:
  void on_channel(std::unique_ptr<ControllerChannel> channel) override {
    queues.push_back(std::make_unique<TargetQueue>(std::move(channel)));
  }
  std::vector<std::unique_ptr<TargetQueue>> queues;
};

struct Answer {
  std::uint16_t cid = 0;
  nvme::Status status;
  ResponseFacts facts;
};

/// One connection as the host sees it. Slot and CID are the same number.
class HostQueue final : public HostChannelHandler {
 public:
  explicit HostQueue(HostFabric& fabric) : channel(fabric.make_channel(*this)) {}

  void on_connected(const ChannelFacts& f) override {
    connected = true;
    facts = f;
  }
  void on_response(ByteView cqe, const ResponseFacts& f) override {
    const View<nvme::CqeLayout> view{cqe};
    const std::uint16_t cid = view.get(nvme::cqe::cid);
    answers.push_back({cid, view.get(nvme::cqe::status), f});
    if (destroy_on_response) return channel.reset();
    if (auto_release && cid < slots && channel->release(cid, f)) on_released(cid);
  }
  void on_released(std::uint16_t slot) override {
    released.push_back(slot);
    if (on_free) on_free(slot);
  }
  void on_end(const ChannelEnd& end) override {
    ends.push_back(end);
    if (destroy_on_end) channel.reset();
  }

  static nvme::Sqe make(std::uint8_t opcode, std::uint16_t cid, std::size_t bytes, std::uint32_t seed = 0) {
    nvme::Sqe sqe;
    sqe.set(nvme::sqe::opcode, opcode).set(nvme::sqe::cid, cid);
    sqe.set(nvme::sqe::cdw10, static_cast<std::uint32_t>(bytes)).set(nvme::sqe::cdw11, seed);
    return sqe;
  }
  bool write(std::uint16_t slot, MutableBytes data, bool allow_in_capsule = true) {
    nvme::Sqe sqe = make(kWrite, slot, data.size());
    return channel->send(slot, sqe.mutable_bytes(), {Direction::to_controller, data, allow_in_capsule, false});
  }
  bool read(std::uint16_t slot, MutableBytes data, std::uint32_t seed) {
    nvme::Sqe sqe = make(kRead, slot, data.size(), seed);
    return channel->send(slot, sqe.mutable_bytes(), {Direction::from_controller, data, true, false});
  }
  bool hold(std::uint16_t slot) {
    nvme::Sqe sqe = make(kHold, slot, 0);
    return channel->send(slot, sqe.mutable_bytes(), {});
  }
  /// A command whose SGL the test wrote itself.
  bool raw(const nvme::Sqe& sqe, ByteView behind = {}) {
    Bytes capsule(sqe.bytes().begin(), sqe.bytes().end());
    capsule.insert(capsule.end(), behind.begin(), behind.end());
    return channel->send_raw(capsule);
  }

  std::unique_ptr<HostChannel> channel;
  std::uint16_t slots = 128;
  bool connected = false;
  ChannelFacts facts;
  std::vector<Answer> answers;
  std::vector<std::uint16_t> released;
  std::vector<ChannelEnd> ends;
  std::function<void(std::uint16_t)> on_free;
  bool auto_release = true;
  bool destroy_on_response = false;
  bool destroy_on_end = false;
};

/// Hooks that depart at chosen points and count what passes.
class TestHooks final : public TransportHooks {
 public:
  bool departs(std::string_view point) override {
    const auto found = on.find(point);
    if (found == on.end()) return false;
    ++found->second;
    return true;
  }
  void private_data_out(std::string_view message, Bytes& data) override {
    if (const auto f = out.find(message); f != out.end()) data = f->second;
  }
  void private_data_in(std::string_view message, ByteView data) override { in[std::string(message)] = Bytes(data.begin(), data.end()); }
  void capsule_out(std::uint16_t, Bytes& capsule) override {
    ++capsules_out;
    last_out = capsule;
  }
  void capsule_in(std::uint16_t, ByteView capsule) override {
    ++capsules_in;
    last_in.assign(capsule.begin(), capsule.end());
  }
  void set(std::string_view point) { on[std::string(point)] = 0; }

  std::map<std::string, int, std::less<>> on;
  std::map<std::string, Bytes, std::less<>> out;
  std::map<std::string, Bytes, std::less<>> in;
  int capsules_out = 0, capsules_in = 0;
  Bytes last_out, last_in;
};

}  // namespace fb::transport::testing
