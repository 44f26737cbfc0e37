// The bench of controller cases: the product is a controller, the bench plays the host, on two levels.
// The raw level (raw_queue, RawAssociation) says anything; connect_host() is a host that behaves.
//
// Helpers that set the scene leave the case as INCONCLUSIVE when the product does not play along; what
// a case judges, it sends itself.
#pragma once

#include <list>
#include <memory>
#include <optional>

#include "conformance/runner/case.h"
#include "conformance/runner/declared.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/environment.h"
#include "model/host/discovery_client.h"
#include "model/host/host.h"
#include "model/host/raw_queue.h"
#include "sim/net/local_host.h"

namespace fb::subsystem {
class Subsystem;
class Target;
}  // namespace fb::subsystem

namespace fb::conformance {

class Arranger;
class EmbeddedController;

using namespace fb::literals;  // cases write 10_ms
namespace sc = fb::nvme::sc;

class ControllerBench;

/// An association made by hand: the admin queue after a good Connect, and the I/O queues opened on it.
class RawAssociation {
 public:
  RawAssociation(ControllerBench& bench, host::RawQueue& admin, host::ConnectCommand command, std::uint16_t cntlid)
      : bench_(bench), admin_(admin), command_(std::move(command)), cntlid_(cntlid) {}

  host::RawQueue& admin() { return admin_; }
  std::uint16_t cntlid() const { return cntlid_; }
  /// The value of a property that must be readable.
  std::uint64_t property(std::uint32_t offset);
  host::RawReply set_property(std::uint32_t offset, std::uint64_t value) { return admin_.send(host::property_set(offset, value)).wait(); }
  /// CC as a host would write it to enable this controller.
  std::uint32_t enabling_cc();
  /// CC.EN = 1, then waits for CSTS.RDY; within CAP.TO or the case is INCONCLUSIVE.
  void enable();
  /// CC.EN = 0, then waits for CSTS.RDY = 0.
  void disable();
  /// Polls CSTS until the bits under `mask` equal `value`; false after `limit`.
  bool wait_csts(std::uint32_t mask, std::uint32_t value, Duration limit);
  /// Entries of I/O queues unless a case says otherwise: 32, or as many as the product's may have.
  static constexpr std::uint16_t kUsual = 0;
  /// An I/O queue, connected; without `qid` the bench's first one, ControllerBench::io_qid().
  host::RawQueue& open_io(std::optional<std::uint16_t> qid = {}, std::uint16_t entries = kUsual, std::uint8_t cattr = 0);
  /// A good Connect for that queue, to be altered and sent on a raw_queue({.qid = ...}).
  host::ConnectCommand io_connect(std::optional<std::uint16_t> qid = {}, std::uint16_t entries = kUsual) const;
  /// A transport connection for an I/O queue of this controller, without Connect.
  host::RawQueue& io_transport(std::optional<std::uint16_t> qid = {}, std::uint16_t entries = kUsual);

 private:
  friend class ControllerBench;
  std::uint16_t entries_of(std::uint16_t asked) const;
  /// What the lane wants of a controller before a case has it.
  void surround();
  ControllerBench& bench_;
  host::RawQueue& admin_;
  host::ConnectCommand command_;
  std::uint16_t cntlid_;
};

struct AssociationOptions {
  bool enable = true;
  bool authenticate = true;  ///< where the product demands it
  std::uint16_t entries = 32;
  std::optional<std::uint32_t> kato_ms = {};  ///< without: as the product is usually connected
  std::uint8_t cattr = 0;
  std::optional<std::uint16_t> cntlid = {};  ///< without: the product chooses
  std::string hostnqn = std::string(kBenchHostNqn);
  host::HostId hostid = kBenchHostId;
  std::string subnqn = {};  ///< empty: the product's
};

class ControllerBench final : public Bench {
 public:
  ControllerBench(World& world, const Environment& environment);
  ~ControllerBench() override;

  bool embedded() const override { return product_ != nullptr; }
  void finish() override;

  /// Where the product listens, and the name of its subsystem.
  const Endpoint& at() const { return at_; }
  const std::string& nqn() const { return nqn_; }
  /// What the product declares. INCONCLUSIVE where a real one could not be asked.
  const Declared& declared();
  /// The same as far as it is known.
  const Declared& known_so_far() const { return environment_.declared(); }
  /// The first namespace: what declared() says.
  std::uint32_t nsid() { return declared().nsid; }
  /// The lane's surroundings.
  const Surroundings& around() const { return around_; }
  /// The `index`th I/O queue of a case, from 0: 1, 2, 3 ... unless the lane begins with another.
  std::uint16_t io_qid(unsigned index = 0);
  /// Where I/O of a case begins in the first namespace: 0, but in the lane of the last blocks.
  std::uint64_t first_lba();
  /// Blocks of a transfer whose length the case leaves open; `usual` unless the lane wants long ones.
  std::uint32_t blocks(std::uint32_t usual, std::uint32_t block_bytes);
  std::uint32_t blocks(std::uint32_t usual) { return blocks(usual, declared().block_bytes); }

  // ---- raw level ----

  /// A queue that is not connected yet. `options.to` is filled in when it is not set. Where the product is
  /// one with TLS, the queue is too, with the key of the two names in the options or the usual ones.
  host::RawQueue& unconnected_queue(host::RawQueueOptions options = {});
  /// A queue without TLS in any case.
  host::RawQueue& plain_queue(host::RawQueueOptions options = {});
  /// The same with its transport connection made.
  host::RawQueue& raw_queue(host::RawQueueOptions options = {});
  /// A good Connect for the admin queue of the product, to be altered.
  host::ConnectCommand connect_command(const AssociationOptions& options = {}) const;
  /// Transport, Connect, and (unless told otherwise) CC.EN = 1.
  RawAssociation& associate(const AssociationOptions& options = {});
  transport::HostFabric& fabric() { return side_->fabric(); }
  /// The bench's RDMA device, for connections whose private data is made by hand.
  rdma::Device& device() { return side_->device(); }
  /// The bench's streams, for PDUs that are made by hand: over TLS where the product has it.
  net::StreamHost& streams();
  /// Without TLS.
  net::StreamHost& plain_streams() { return side_->streams(); }
  /// Null where the bench has no keys.
  transport::TlsSide* tls() { return side_->tls(); }
  /// The key of the bench's host for the product; CannotArrange when there is none.
  auth::TlsPsk tls_psk(int version = 1);
  IpAddress local() const { return local_; }
  /// a name of transports.h.
  std::string_view transport() const { return environment_.transport; }
  const Product& product_facts() const { return *environment_.product; }
  /// Every queue is TLS.
  bool secured() const { return secured_; }
  /// INCONCLUSIVE where the product is known to answer no first message of a connection.
  void needs_transport() const;

  // ---- authentication ----

  /// What the bench's own hosts authenticate with; without a secret they cannot.
  const host::AuthenticationOptions& authentication() const { return authentication_; }
  auth::NonceSource& nonces() { return *nonces_; }
  /// A well-behaved transaction on a queue that is connected. Empty, or what went wrong.
  std::string authenticate(host::RawQueue& queue, bool mutual = false);
  /// The same where the answer to a Connect demands it; INCONCLUSIVE when it fails.
  void authenticate_if_asked(host::RawQueue& queue, const host::RawReply& connected);

  // ---- a host that behaves ----

  host::Host& host();
  /// An association of that host; `to` and `subnqn` are filled in when they are not set.
  host::Controller::Outcome connect_host(host::ConnectOptions options = {});

  // ---- what no host can bring about: of real products too (say so with arranges{}) ----

  Arranger& arranger();

  // ---- behind the product's back: emulated products alone (say so with arranged{}) ----

  subsystem::Target& target();
  subsystem::Subsystem& subsystem();
  EmbeddedController& product();
  net::SimNetwork& network();

 private:
  CannotArrange nameless() const;
  friend class RawAssociation;
  /// Makes the associations that are there before the case begins, and those that were there. controller_lane.cc
  void begin_lane(bool any_host);
  void come_and_go();
  void meet_neighbour(bool any_host);
  void part_from_neighbour();
  /// Uses an I/O queue until its heads are about to wrap, where the lane wants that.
  void wear(host::RawQueue& queue);

  const Environment& environment_;
  Surroundings around_;
  std::unique_ptr<EmbeddedNetwork> network_;
  std::unique_ptr<subsystem::SubsystemHooks> subsystem_hooks_;
  std::unique_ptr<softroce::SoftHooks> soft_hooks_;
  std::unique_ptr<EmbeddedController> product_;
  Endpoint at_;
  IpAddress local_;
  std::string nqn_;
  std::unique_ptr<EmbeddedHostFabric> side_;
  std::list<std::unique_ptr<host::RawQueue>> queues_;
  std::list<RawAssociation> associations_;
  host::AuthenticationOptions authentication_;
  bool secured_ = false;
  std::unique_ptr<auth::NonceSource> nonces_;
  std::unique_ptr<host::Host> host_;
  class Neighbour;
  std::shared_ptr<Neighbour> neighbour_;  // shared: its type is known to controller_lane.cc alone
  std::unique_ptr<Arranger> arranger_;
};

}  // namespace fb::conformance
