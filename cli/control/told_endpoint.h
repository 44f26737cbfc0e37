// Hooks of a running drive whose deviations are switched on and off.
#pragma once

#include <memory>

#include "model/deviations/deviation.h"

namespace fb::cli {

/// Of its management endpoint.
class ToldEndpoint final : public mi::EndpointHooks {
 public:
  void set(std::unique_ptr<mi::EndpointHooks> inner) { inner_ = std::move(inner); }

  bool departs(std::string_view point) override { return inner_ != nullptr && inner_->departs(point); }
  bool refuses(const mi::MessageContext& message, mi::Refusal& refusal) override {
    return inner_ == nullptr || inner_->refuses(message, refusal);
  }
  bool message_in(ByteView message) override { return inner_ == nullptr || inner_->message_in(message); }
  std::optional<mi::Status> admission(const mi::MessageContext& message) override {
    return inner_ != nullptr ? inner_->admission(message) : std::nullopt;
  }
  Duration delay(const mi::MessageContext& message) override { return inner_ != nullptr ? inner_->delay(message) : Duration{}; }
  void response(const mi::MessageContext& message, Bytes& body) override {
    if (inner_ != nullptr) inner_->response(message, body);
  }
  Delivery message_out(const mi::MessageContext& message, Bytes& bytes) override {
    return inner_ != nullptr ? inner_->message_out(message, bytes) : Delivery::send;
  }
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    if (inner_ != nullptr) inner_->slave_read(slave, offset, bytes);
  }

 private:
  std::unique_ptr<mi::EndpointHooks> inner_;
};

/// Of its MCTP side.
class ToldMctp final : public mctp::EndpointHooks {
 public:
  void set(std::unique_ptr<mctp::EndpointHooks> inner) { inner_ = std::move(inner); }

  bool departs(std::string_view point) override { return inner_ != nullptr && inner_->departs(point); }
  void packets_out(mctp::PhysicalAddress& to, std::vector<Bytes>& packets) override {
    if (inner_ != nullptr) inner_->packets_out(to, packets);
  }
  void packet_in(const mctp::PhysicalAddress& from, Bytes& packet) override {
    if (inner_ != nullptr) inner_->packet_in(from, packet);
  }
  void frame_out(Bytes& frame) override {
    if (inner_ != nullptr) inner_->frame_out(frame);
  }
  void frame_in(Bytes& frame) override {
    if (inner_ != nullptr) inner_->frame_in(frame);
  }
  bool control_answer(ByteView request, Bytes& answer) override { return inner_ == nullptr || inner_->control_answer(request, answer); }

 private:
  std::unique_ptr<mctp::EndpointHooks> inner_;
};

}  // namespace fb::cli
