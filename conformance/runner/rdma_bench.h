// The bench of cases on the RDMA layer and the connection manager: the product is an RDMA device with a
// small program on it, the bench is a peer that says every packet by hand.
#pragma once

#include <list>
#include <memory>

#include "conformance/runner/case.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/raw_roce.h"
#include "conformance/runner/verbs_user.h"

namespace fb::conformance {

using namespace fb::literals;

/// Where the product, or the bench's peer, listens. Not the port of NVMe: dissectors would read the
/// payload as capsules.
inline constexpr std::uint16_t kPlainPort = 7471;

/// A reliable connection between the product and the bench's raw peer.
struct RcConnection {
  RawConnectionFacts facts;     ///< our side of it
  VerbsQueue* queue = nullptr;  ///< the product's side

  RocePacket request(roce::Opcode opcode, std::uint32_t ordinal, Bytes payload = {}) const {
    return facts.request(opcode, ordinal, std::move(payload));
  }
};

class RdmaBench final : public Bench {
 public:
  RdmaBench(World& world, const Environment& environment);
  ~RdmaBench() override;

  /// The program on the product's device.
  VerbsUser& product() { return *user_; }
  /// False when the product's program uses a programming interface on top of the device.
  bool bare() const { return &device_->top() == &device_->soft(); }
  softroce::SoftRoceDevice& device() { return device_->soft(); }
  const softroce::SoftCounters& counters() const { return device_->soft().counters(); }
  /// The bench's peer, and further ones at addresses of their own.
  RawRoce& peer() { return *peer_; }
  RawRoce& another_peer();
  IpAddress address() const { return kProductAddress; }
  IpAddress peer_address() const { return kBenchAddress; }
  net::SimNetwork& network() { return network_->network; }
  net::SimHost& bench_host() { return network_->bench; }

  /// Role responder: the product listens, the peer connects by hand. INCONCLUSIVE when that fails.
  RcConnection connect_to_product(const ListenTerms& terms = {}, const RawRequest& request = {.port = kPlainPort});
  /// Role requester: the product connects, the peer accepts by hand.
  RcConnection connect_from_product(rdma::ConnectionParameters parameters = good_parameters(),
                                    const RawRoce::RawReply& reply = {.responder_resources = 16},
                                    const QueueTerms& terms = {});
  static rdma::ConnectionParameters good_parameters() {
    rdma::ConnectionParameters parameters;
    parameters.responder_resources = 16;
    parameters.initiator_depth = 16;
    return parameters;
  }

 private:
  std::unique_ptr<EmbeddedNetwork> network_;
  std::unique_ptr<softroce::SoftHooks> soft_hooks_;
  std::unique_ptr<DeviceStack> device_;
  std::unique_ptr<VerbsUser> user_;
  std::unique_ptr<RawRoce> peer_;
  std::list<std::unique_ptr<RawRoce>> more_peers_;
  bool listening_ = false;
};

}  // namespace fb::conformance
