// The bench of cases on the RDMA layer and the connection manager: the product is an RDMA device with a
// small program on it, the bench is a peer that says every packet by hand. The device is the emulated one, in a network of
// the case's own, or one of this machine; then the peer is another host on a link with it.
#pragma once

#include <list>
#include <memory>

#include "conformance/runner/case.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/raw_roce.h"
#include "conformance/runner/verbs_user.h"
#include "sim/net/local_host.h"

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

  bool embedded() const override { return emulated_ != nullptr; }
  /// A device of this machine lives on: its queues are ended, and what they say is answered.
  void finish() override;

  /// The program on the product's device.
  VerbsUser& product() { return *user_; }
  /// False when the product's program uses a programming interface on top of the device.
  bool bare() const { return !embedded() || &emulated_->device.top() == &emulated_->device.soft(); }
  /// Embedded alone.
  softroce::SoftRoceDevice& device() { return emulated_->device.soft(); }
  /// Whether the emulated device has counted any; of a real one nobody knows, and it is taken to have.
  bool counted(std::uint64_t softroce::SoftCounters::*counter) const {
    return !embedded() || emulated_->device.soft().counters().*counter > 0;
  }
  /// The bench's peer, and further ones at addresses that differ from its own in one byte (of the 16; embedded alone, which).
  RawRoce& peer() { return *peer_; }
  RawRoce& another_peer(std::size_t differing_byte = 15);
  /// How far from the truth a time between two packets may be.
  Duration jitter() const { return embedded() ? Duration{} : Duration::ms(25); }
  IpAddress address() const { return address_; }
  IpAddress peer_address() const { return peer_address_; }

  /// Role responder: the product listens, the peer connects by hand. INCONCLUSIVE when that fails.
  RcConnection connect_to_product(const ListenTerms& terms = {}, const RawRequest& request = {.port = kPlainPort});
  /// Role requester: the product connects, the peer accepts by hand.
  RcConnection connect_from_product(rdma::ConnectionParameters parameters = good_parameters(),
                                    const RawRoce::RawReply& reply = {.responder_resources = 16}, const QueueTerms& terms = {});
  static rdma::ConnectionParameters good_parameters() {
    rdma::ConnectionParameters parameters;
    parameters.responder_resources = 16;
    parameters.initiator_depth = 16;
    return parameters;
  }

 private:
  struct Emulated {
    Emulated(World& world, const Environment& environment);
    EmbeddedNetwork network;
    std::unique_ptr<softroce::SoftHooks> hooks;
    DeviceStack device;
  };
  /// Of this machine.
  struct Real {
    Real(World& world, const Product& product);
    net::LocalHost local;
    std::unique_ptr<rdma::Device> device;
    std::list<std::unique_ptr<net::DatagramHost>> hosts;
  };

  std::unique_ptr<RawRoce> make_peer(const IpAddress& at);
  void keep_another_connection();

  bool near_wrap_;
  std::unique_ptr<Emulated> emulated_;
  std::unique_ptr<Real> real_;
  IpAddress address_ = kProductAddress;
  IpAddress peer_address_ = kBenchAddress;
  std::unique_ptr<VerbsUser> user_;
  std::unique_ptr<RawRoce> peer_;
  std::list<std::unique_ptr<RawRoce>> more_peers_;
  std::unique_ptr<VerbsUser> other_user_;
  bool listening_ = false;
};

}  // namespace fb::conformance
