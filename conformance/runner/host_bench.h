// The bench of host cases: the product is a host, the bench plays the subsystem with an emulated target
// that records what arrives and misbehaves as the case's script says.
//
//   CONFORMANCE_CASE(..., roles::host) {
//     bench.script.completion = [](const CommandContext& c, MutableBytes cqe) { ...; return Answer::send; };
//     auto outcome = bench.product().connect({}).wait();
//     for (const SeenCommand& seen : bench.commands(1)) ...
//   }
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "conformance/runner/case.h"
#include "conformance/runner/embedded.h"
#include "conformance/runner/environment.h"
#include "model/host/discovery_client.h"
#include "model/host/host.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/sqe.h"

namespace fb::subsystem {
class Subsystem;
class Target;
}  // namespace fb::subsystem

namespace fb::conformance {

class DrivenHost;
class EmbeddedController;

using namespace fb::literals;
namespace sc = fb::nvme::sc;
using subsystem::CommandContext;
using Answer = subsystem::SubsystemHooks::Answer;

/// A command capsule as it arrived at the bench.
struct SeenCommand {
  Instant at;
  std::uint16_t qid = 0;
  nvme::Sqe sqe;
  Bytes capsule;  ///< the whole capsule
  Bytes data;     ///< what the bench's controller got from the host for it, once it has
  /// The controller that it came to; of a Connect to an admin queue, the one that it was given. 0: none (a refused
  /// Connect, or a command without one).
  std::uint16_t cntlid = 0;

  std::uint8_t opcode() const { return sqe.bytes()[0]; }
  /// Fabrics commands: FCTYPE; 0xFF otherwise.
  std::uint8_t fctype() const { return opcode() == 0x7F ? sqe.bytes()[4] : 0xFF; }
  std::uint16_t cid() const { return load_le<std::uint16_t>(sqe.bytes().data() + 2); }
  std::uint32_t nsid() const { return load_le<std::uint32_t>(sqe.bytes().data() + 4); }
  std::uint32_t cdw(unsigned index) const { return load_le<std::uint32_t>(sqe.bytes().data() + 4 * index); }
  template <class L>
  View<L> as() const {
    return sqe.as<L>();
  }
};

/// How the bench's controller departs from good behaviour. What is empty behaves.
struct SubsystemScript {
  std::function<std::optional<nvme::Status>(const CommandContext&)> admission;
  std::function<bool(const CommandContext&, subsystem::Refusal&)> refuses;
  std::function<void(std::uint32_t offset, std::uint64_t& value)> property_read;
  std::function<bool(std::uint32_t offset, std::uint64_t& value)> property_write;
  std::function<void(const CommandContext&, MutableBytes data)> data_out;
  std::function<Answer(const CommandContext&, MutableBytes cqe)> completion;
  std::function<void(std::string_view message, Bytes& data)> private_data_out;
  std::function<void(std::uint16_t qid, Bytes& capsule)> capsule_out;
  std::function<bool(std::string_view point)> departs;
  /// TCP PDUs of the bench's controller on their way out, see TransportHooks::pdus_out().
  std::function<void(std::uint16_t qid, std::vector<Bytes>& pdus)> pdus_out;
};

struct HostOutcome {
  bool ok = false;
  std::string text;  ///< why not
  nvme::Status status = {};
};

/// What a host under test can be asked to do. The emulated host implements it; so do adapters that
/// drive somebody else's.
class HostUnderTest {
 public:
  struct Request {
    std::string subnqn = {};
    std::uint16_t io_queues = 1;
    std::uint16_t queue_entries = 128;
    std::uint32_t kato_ms = 5000;
    /// Another address than the usual one: HostBench::open_port().
    std::optional<Endpoint> at = {};
  };
  /// The status of a read or write that did not succeed, where the host does not tell it.
  static constexpr nvme::Status kUntold = nvme::Status::make(7, 0xFF);
  virtual ~HostUnderTest() = default;
  /// The name that it connects under; empty where it does not tell it.
  virtual std::string hostnqn() const = 0;
  virtual Op<HostOutcome> connect(const Request& request) = 0;
  /// Ends every association in order.
  virtual Op<HostOutcome> disconnect() = 0;
  virtual Op<HostOutcome> discover() = 0;
  /// Asks the discovery service, and stays connected to hear of changes.
  virtual Op<HostOutcome> watch() = 0;
  /// Whether associations with one subsystem are paths to the same namespaces: read() and write() then take any of
  /// them. A host that does not join them is as good, but the cases about paths cannot tell.
  virtual bool joins_paths() const { return true; }
  /// Asks the discovery service and connects to the first NVM subsystem that it lists.
  virtual Op<HostOutcome> connect_discovered() = 0;
  /// A controller reset on the host's own initiative.
  virtual Op<HostOutcome> reset() = 0;
  /// One more authentication of every queue.
  virtual Op<HostOutcome> reauthenticate() = 0;
  /// The memory is of the bench (HostBench::keep()): a host that does not answer may come back to it when the case is over.
  virtual Op<nvme::Status> read(std::uint32_t nsid, std::uint64_t lba, MutableBytes data) = 0;
  virtual Op<nvme::Status> write(std::uint32_t nsid, std::uint64_t lba, MutableBytes data) = 0;
  virtual Op<nvme::Status> flush(std::uint32_t nsid) = 0;
};

class HostBench final : public Bench, private subsystem::SubsystemHooks {
 public:
  HostBench(World& world, const Environment& environment);
  ~HostBench() override;

  void finish() override;
  bool embedded() const override { return driven_ == nullptr; }
  std::string product_gone() const override;

  HostUnderTest& product() { return *product_; }
  /// An association as the scene of a case. INCONCLUSIVE when the host does not connect: whether it
  /// does is for the cases that are about connecting.
  void connect_product(const HostUnderTest::Request& request = {});
  /// The emulated host itself (say so with arranged{} when a case needs it).
  host::Host& emulated_host();
  /// How connect() of the emulated host is told to connect: may be changed before.
  host::ConnectOptions& connect_options() { return connect_; }

  /// The bench's controller misbehaves like this, from now on.
  SubsystemScript script;
  subsystem::Target& target();
  subsystem::Subsystem& subsystem();
  const std::string& nqn();
  Endpoint at() const { return at_; }
  /// The first namespace of a case, and the lane's surroundings.
  std::uint32_t nsid() const { return nsid_; }
  const Surroundings& around() const { return around_; }
  /// A place for what stands between the host and the bench's controller, over TCP; once a case.
  struct Between {
    net::StreamHost& host;
    Endpoint at;
  };
  Between between();
  /// One more port of the subsystem, at the same address: another path for the host.
  Endpoint open_port(std::uint16_t portid);

  /// Every command capsule that has arrived, oldest first; of one queue; of one opcode.
  const std::deque<SeenCommand>& commands() const { return commands_; }
  std::vector<const SeenCommand*> commands(std::uint16_t qid) const;
  std::vector<const SeenCommand*> commands_of(std::uint8_t opcode) const;
  std::vector<const SeenCommand*> fabrics_commands(std::uint8_t fctype) const;
  /// Private data of the connection requests that have arrived.
  const std::vector<Bytes>& requests() const { return requests_; }
  /// Queues that the host has begun to connect, over any transport.
  std::size_t connections() const { return connections_; }
  /// Headers of the TCP PDUs that have arrived, with their queue.
  struct SeenPdu {
    Instant at;
    std::uint16_t qid = 0;
    Bytes header;
  };
  const std::deque<SeenPdu>& pdus() const { return pdus_; }
  /// The PSK identity of each queue that was connected, in the order of the Connect commands; empty for
  /// one without TLS.
  const std::vector<std::string>& identities() const { return identities_; }
  /// Where the bench may listen by itself.
  net::StreamHost& listening_host() { return *streams_; }
  std::string_view transport() const { return transport_; }
  void forget_seen();
  /// Memory for reads and writes of the host, there as long as the bench is: a case may leave while they are under way.
  Bytes& keep(Bytes memory) { return kept_.emplace_back(std::move(memory)); }

  /// Steps the world until `done()`; false after `limit` (or when nothing can happen any more).
  template <class Done>
  bool run_until(Done&& done, Duration limit) {
    return world().run_until(std::forward<Done>(done), limit);
  }

 private:
  /// The emulated host, on a simulated network with the bench.
  void make_emulated(const Environment& environment, EmbeddedSetup& setup);
  /// The bench is on this machine, or where the product's `local` says.
  void make_driven(const Environment& environment, EmbeddedSetup& setup);
  /// What the lane puts around the case. host_lane.cc
  void begin_lane(const Environment& environment, const EmbeddedSetup& setup);
  void lose_and_return();
  void part_from_neighbour();

  bool departs(std::string_view point) override;
  void private_data_out(std::string_view message, Bytes& data) override;
  void private_data_in(std::string_view message, ByteView data) override;
  void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) override;
  void pdu_in(std::uint16_t qid, ByteView header) override;
  void capsule_out(std::uint16_t qid, Bytes& capsule) override;
  void capsule_in(std::uint16_t qid, ByteView capsule) override;
  bool refuses(const CommandContext& command, subsystem::Refusal& refusal) override;
  std::optional<nvme::Status> admission(const CommandContext& command) override;
  void property_read(std::uint32_t offset, std::uint64_t& value) override;
  bool property_write(std::uint32_t offset, std::uint64_t& value) override;
  void data_out(const CommandContext& command, MutableBytes data) override;
  void queue_secured(std::uint16_t qid, std::string_view identity) override;
  void data_in(const CommandContext& command, MutableBytes data) override;
  Answer completion(const CommandContext& command, MutableBytes cqe) override;
  /// The capsule of this command, the newest where several are equal.
  SeenCommand* find_seen(const CommandContext& command);

  Surroundings around_;
  std::uint32_t nsid_ = 1;
  Endpoint at_;
  host::ConnectOptions connect_;
  std::deque<Bytes> kept_;
  std::deque<SeenCommand> commands_;
  std::vector<Bytes> requests_;
  std::deque<SeenPdu> pdus_;
  std::size_t connections_ = 0;
  std::vector<std::string> identities_;
  std::string_view transport_;
  std::unique_ptr<EmbeddedNetwork> network_;
  std::unique_ptr<net::DatagramHost> machine_;
  std::unique_ptr<net::StreamHost> machine_streams_;
  net::StreamHost* streams_ = nullptr;
  std::unique_ptr<EmbeddedController> controller_;
  std::unique_ptr<host::HostHooks> host_hooks_;
  std::unique_ptr<softroce::SoftHooks> soft_hooks_;
  std::unique_ptr<EmbeddedHostFabric> side_;
  std::unique_ptr<host::Host> host_;
  std::unique_ptr<HostUnderTest> product_;
  DrivenHost* driven_ = nullptr;  // the product, where it is no emulated one
  class Neighbour;
  std::shared_ptr<Neighbour> neighbour_;  // shared: its type is known to host_lane.cc alone
};

}  // namespace fb::conformance
