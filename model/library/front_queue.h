// One queue of a product that is a library: Connect, the order of commands, SQHD, and the end.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "include/fabricbench/product.h"
#include "model/transport/controller_channel.h"
#include "sim/core/loop.h"
#include "wire/nvme/status.h"

namespace fb::library {

class Front;

class FrontQueue final : public transport::ControllerChannelHandler {
 public:
  FrontQueue(Front& front, std::unique_ptr<transport::ControllerChannel> channel);

  transport::ControllerChannel& channel() { return *channel_; }
  bool alive() const { return alive_; }
  bool connected() const { return connected_; }
  /// The library's pointer.
  void* controller() const { return controller_; }
  std::uint16_t qid() const { return qid_; }

  /// Ends the connection; its commands are void. Nobody is told.
  void close(std::string_view why);
  /// The commands of the library are void, but for one.
  void drop_commands(const transport::ArrivedCommand* except = nullptr);
  /// What is left after Disconnect is completed; then nothing is executed any more.
  void retire(const transport::ArrivedCommand& disconnect);
  /// Sends a completion as the library made it, with the queue's SQHD.
  void respond(transport::ArrivedCommand& arrived, ByteView cqe);
  void complete(transport::ArrivedCommand& arrived, nvme::Status status, std::uint64_t dwords = 0);

  // ControllerChannelHandler
  void on_command(transport::ArrivedCommand& arrived) override;
  void on_pulled(transport::ArrivedCommand& arrived) override;
  void on_end(std::string_view why) override;

 private:
  void take(transport::ArrivedCommand& arrived);
  bool holds(const transport::ArrivedCommand& arrived) const;
  bool same_cid(const transport::ArrivedCommand& arrived) const;
  bool overfilled() const;
  void overfill();
  void on_idle();
  void emit(transport::ArrivedCommand& arrived, std::uint16_t cid, nvme::Status status, std::uint64_t dwords, std::uint16_t sqhd);
  std::uint16_t head() const;

  // front_connect.cc
  void start_connect(transport::ArrivedCommand& arrived);
  void finish_connect(transport::ArrivedCommand& arrived);
  void refuse_connect(transport::ArrivedCommand& arrived, std::uint16_t offset, bool in_data);
  bool well_formed(transport::ArrivedCommand& arrived);
  void ask_to_connect(transport::ArrivedCommand& arrived);
  void property(transport::ArrivedCommand& arrived, bool set);
  void disconnect(transport::ArrivedCommand& arrived);

  Front& front_;
  std::unique_ptr<transport::ControllerChannel> channel_;
  bool alive_ = true;
  bool connected_ = false;
  bool retired_ = false;
  void* controller_ = nullptr;
  std::uint16_t qid_ = 0;
  std::uint32_t entries_;
  bool flow_control_ = true;
  std::uint64_t fetched_ = 0;                            ///< commands taken out of the submission queue
  std::uint64_t reported_ = 0;                           ///< the same when SQHD was last sent to the host
  std::vector<transport::ArrivedCommand*> outstanding_;  ///< oldest first
  /// Runs before Connect, and after Disconnect.
  Timer<FrontQueue, &FrontQueue::on_idle> idle_timer_{"library.queue.idle", *this};
};

}  // namespace fb::library
