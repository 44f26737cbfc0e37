#include "model/subsystem/management.h"

#include <algorithm>
#include <utility>

#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"

namespace fb::subsystem {

namespace {
/// Data to the requester is not limited here: the tunnel gives it on in pieces.
constexpr std::size_t kRoom = std::size_t{1} << 24;
}  // namespace

/// The channel of a queue that has just one command in its life.
class ManagedChannel final : public transport::ControllerChannel {
 public:
  ManagedChannel(ManagedCommand& command, Bytes data) : command_(&command), host_data_(std::move(data)) {}

  void set_handler(transport::ControllerChannelHandler* handler) override { handler_ = handler; }
  nvme::Status stage(transport::ArrivedCommand& command, std::size_t bytes) override {
    const bool inward = nvme::direction_of(command.sqe[0]) == nvme::DataDirection::host_to_controller;
    if (bytes > (inward ? host_data_.size() : kRoom)) return nvme::sc::data_sgl_length_invalid;
    staged_.assign(bytes, 0);
    command.data = staged_;
    return nvme::sc::success;
  }
  void pull(transport::ArrivedCommand& command) override {
    std::copy_n(host_data_.begin(), std::min(host_data_.size(), staged_.size()), staged_.begin());
    handler_->on_pulled(command);
  }
  void push(transport::ArrivedCommand&, std::size_t bytes) override {
    pushed_.assign(staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  void respond(transport::ArrivedCommand&, ByteView cqe) override {
    const View<nvme::CqeLayout> view{cqe};
    const nvme::Status status = view.get(nvme::cqe::status);
    const std::uint64_t high = view.get(nvme::cqe::dw1);
    settle({status, high << 32 | view.get(nvme::cqe::dw0), status.ok() ? std::move(pushed_) : Bytes{}});
  }
  void drop(transport::ArrivedCommand&) override { close(); }
  void close() override { settle({nvme::sc::abort_requested, 0, {}}); }

  std::optional<std::uint16_t> requested_qid() const override { return std::nullopt; }
  std::uint32_t entries() const override { return 2; }
  Endpoint peer() const override { return {}; }
  Endpoint local() const override { return {}; }

  void forget() { command_ = nullptr; }
  void arrive(ByteView sqe) {
    std::copy_n(sqe.begin(), arrived_.sqe.size(), arrived_.sqe.begin());
    arrived_.channel = this;
    handler_->on_command(arrived_);
  }

 private:
  void settle(ManagedAnswer answer) {
    if (ManagedCommand* const command = std::exchange(command_, nullptr)) command->settle(std::move(answer));
  }

  ManagedCommand* command_;
  Bytes host_data_;
  Bytes staged_;
  Bytes pushed_;
  transport::ArrivedCommand arrived_;
  transport::ControllerChannelHandler* handler_ = nullptr;
};

ManagedCommand::ManagedCommand(Port& port, Controller& controller, ByteView sqe, Bytes data) : port_(port) {
  auto channel = std::make_unique<ManagedChannel>(*this, std::move(data));
  channel_ = channel.get();
  queue_ = std::make_unique<Queue>(port, std::move(channel));
  queue_->attach_management(controller);
  BENCH_ASSERT(sqe.size() >= sqe_.size(), "an Admin command has 64 bytes");
  std::copy_n(sqe.begin(), sqe_.size(), sqe_.begin());
}

ManagedCommand::~ManagedCommand() { channel_->forget(); }

void ManagedCommand::start() {
  starting_ = true;
  channel_->arrive(sqe_);
  starting_ = false;
}

void ManagedCommand::settle(ManagedAnswer answer) {
  answer_ = std::move(answer);
  if (!starting_) port_.world().loop().schedule(timer_, port_.world().now());
}

void ManagedCommand::tell() {
  if (then_) std::exchange(then_, nullptr)();
}

}  // namespace fb::subsystem
