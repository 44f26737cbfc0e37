// Schedules on the products: hooks that let faults strike where the honest models speak, and pass everything on to
// other hooks behind them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "model/host/hooks.h"
#include "model/subsystem/block_store.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/hooks.h"
#include "sim/fault/points.h"
#include "sim/rdma/softroce/hooks.h"

namespace fb::faults {

/// What happens to PDUs of NVMe/TCP that a side sends.
class PduFaults {
 public:
  PduFaults(fault::Points& points, std::string side) : point_(points.at({fault::Site::pdu, std::move(side)})) {}
  void apply(std::vector<Bytes>& pdus);

 private:
  fault::Point& point_;
};

/// Hooks of a transport that let the faults of one side's PDUs strike; `inner` may be null.
template <class Base>
class TransportFaults : public Base {
 public:
  TransportFaults(fault::Points& points, std::string side, std::unique_ptr<Base> inner)
      : inner_(std::move(inner)), pdus_(points, std::move(side)) {}

  bool departs(std::string_view point) override { return inner_ != nullptr && inner_->departs(point); }
  void private_data_out(std::string_view message, Bytes& data) override {
    if (inner_ != nullptr) inner_->private_data_out(message, data);
  }
  void capsule_out(std::uint16_t qid, Bytes& capsule) override {
    if (inner_ != nullptr) inner_->capsule_out(qid, capsule);
  }
  void capsule_in(std::uint16_t qid, ByteView capsule) override {
    if (inner_ != nullptr) inner_->capsule_in(qid, capsule);
  }
  void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) override {
    if (inner_ != nullptr) inner_->pdus_out(qid, pdus);
    pdus_.apply(pdus);
  }
  void pdu_in(std::uint16_t qid, ByteView header) override {
    if (inner_ != nullptr) inner_->pdu_in(qid, header);
  }
  void private_data_in(std::string_view message, ByteView data) override {
    if (inner_ != nullptr) inner_->private_data_in(message, data);
  }

 protected:
  std::unique_ptr<Base> inner_;

 private:
  PduFaults pdus_;
};

class FaultyHost final : public TransportFaults<host::HostHooks> {
 public:
  using TransportFaults::TransportFaults;
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) override {
    if (inner_ != nullptr) inner_->command_out(qid, sqe, data);
  }
};

class FaultySubsystem final : public TransportFaults<subsystem::SubsystemHooks> {
 public:
  FaultySubsystem(World& world, fault::Points& points, std::string side, std::unique_ptr<subsystem::SubsystemHooks> inner);

  bool refuses(const subsystem::CommandContext& command, subsystem::Refusal& refusal) override;
  std::optional<nvme::Status> admission(const subsystem::CommandContext& command) override;
  std::optional<std::size_t> own_command(const subsystem::CommandContext& command) override {
    return inner_ != nullptr ? inner_->own_command(command) : std::nullopt;
  }
  Executed execute(const subsystem::CommandContext& command, MutableBytes data) override {
    return inner_ != nullptr ? inner_->execute(command, data) : Executed{};
  }
  Duration latency(const subsystem::CommandContext& command) override;
  void property_read(std::uint32_t offset, std::uint64_t& value) override;
  bool property_write(std::uint32_t offset, std::uint64_t& value) override;
  void queue_secured(std::uint16_t qid, std::string_view identity) override;
  void data_out(const subsystem::CommandContext& command, MutableBytes data) override;
  void data_in(const subsystem::CommandContext& command, MutableBytes data) override;
  Answer completion(const subsystem::CommandContext& command, MutableBytes cqe) override;

 private:
  /// Of an I/O command that stands alone; fused pairs and Fabrics commands are left in peace.
  std::optional<nvme::Status> admit_io(const subsystem::CommandContext& command);
  std::optional<nvme::Status> admit_admin(const subsystem::CommandContext& command);
  void on_fatal();

  World& world_;
  fault::Point& io_;
  fault::Point& admin_;
  fault::Point& completions_;
  std::map<std::pair<std::uint16_t, std::uint16_t>, Duration> late_;  ///< by queue and command identifier
  std::map<std::uint16_t, fault::Decision> withheld_;                 ///< admin commands by identifier
  subsystem::Controller* failing_ = nullptr;
  Timer<FaultySubsystem, &FaultySubsystem::on_fatal> fatal_{"fault.fatal", *this};
};

/// Of an RDMA device.
class FaultyDevice final : public softroce::SoftHooks {
 public:
  FaultyDevice(fault::Points& points, const std::string& side, std::unique_ptr<softroce::SoftHooks> inner)
      : inner_(std::move(inner)), receives_(points.at({fault::Site::receive, side})), keys_(points.at({fault::Site::key, side})) {}

  bool departs(std::string_view point) override { return inner_ != nullptr && inner_->departs(point); }
  Receiver receiver() override;
  bool key_lost() override;
  void packet_out(MutableBytes packet) override {
    if (inner_ != nullptr) inner_->packet_out(packet);
  }
  bool mad_out(MutableBytes mad) override { return inner_ == nullptr || inner_->mad_out(mad); }

 private:
  std::unique_ptr<softroce::SoftHooks> inner_;
  fault::Point& receives_;
  fault::Point& keys_;
};

/// A namespace's blocks, some of which cannot be read or written when they are asked for.
std::unique_ptr<subsystem::BlockStore> faulty_store(fault::Points& points, std::string name, std::unique_ptr<subsystem::BlockStore> store);

}  // namespace fb::faults
