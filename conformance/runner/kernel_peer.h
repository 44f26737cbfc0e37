// The bench behind a kernel's AF_MCTP: whole messages, no packets. The kernel chooses the tags; cases count on
// theirs, so they are translated.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>

#include "conformance/runner/check.h"
#include "conformance/runner/raw_mctp.h"
#include "sim/mctp/af_mctp.h"

namespace fb::conformance {

class KernelPeer final : public MctpPeer, private mctp::MessageHandler {
 public:
  /// Throws UserError where this kernel has no AF_MCTP. `calls` as in AfMctpPort.
  KernelPeer(World& world, std::uint32_t network, mctp::Eid product, mctp::KernelCalls* calls = nullptr);
  ~KernelPeer() override;

  /// CannotArrange where the kernel does not take the message.
  void send_message(ByteView body, const MctpTerms& terms = {}) override;
  std::optional<SeenMessage> next_message(Duration limit) override;
  void untake(SeenMessage message) override { messages_.push_front(std::move(message)); }

 private:
  void on_message(const mctp::Incoming& message) override;
  void on_sent(mctp::SendId id, bool delivered) override;

  World& world_;
  mctp::Eid product_;
  std::unique_ptr<mctp::AfMctpPort> port_;
  std::array<std::optional<mctp::Tag>, 8> kernel_tags_;  // by the case's tag
  std::deque<SeenMessage> messages_;
  std::optional<bool> taken_;  // by the kernel: what was sent last
};

}  // namespace fb::conformance
