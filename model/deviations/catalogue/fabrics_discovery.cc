// The discovery service.
#include "model/deviations/catalogue/tolerance.h"
#include "model/subsystem/controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/logs.h"

namespace fb::deviations {

namespace {

bool on_discovery(const CommandContext& command) {
  return command.controller != nullptr && command.controller->subsystem().discovery() != nullptr;
}

/// A discovery controller lets I/O queues in.
struct DiscoveryIoQueues final : ToleratesChain {
  DiscoveryIoQueues() : ToleratesChain({"connect.io.discovery", "connect.io.qid.range", "connect.io.qid.granted"}) {}
};

class DiscoveryIdentifiesAsIo final : public SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!on_discovery(command) || opcode_of(command) != 0x06 || data.size() < 4096) return;
    MutableView<nvme::IdentifyController>{data}.set(nvme::id_ctrl::cntrltype, 1u);
  }
};

class DiscoveryTakesAnyCommand final : public SubsystemHooks {
 public:
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    return refusal.check != "admin.opcode" || !on_discovery(command);
  }
};

class DiscoveryRefusesKeepAlive final : public SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (on_discovery(command) && opcode_of(command) == 0x18) return nvme::sc::invalid_opcode;
    return std::nullopt;
  }
};

/// Both what has changed in the log and what has not is read on without a word.
class DiscoveryForgetsOffset final : public SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!on_discovery(command) || opcode_of(command) != 0x02) return;
    const View<nvme::SqeLayout> sqe{command.sqe};
    if (sqe.get(nvme::sqe::cdw12) != 0 && !data.empty()) data[0] ^= 0xFF;
  }
};

/// Entries do not say what RDMA they mean.
class DiscoveryWithoutTsas final : public SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!on_discovery(command) || opcode_of(command) != 0x02) return;
    constexpr std::size_t kEntry = fabrics::DiscoveryEntry::size;
    for (std::size_t at = kEntry; at + kEntry <= data.size(); at += kEntry) {
      std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(at + fabrics::discovery_entry::qptype.offset), 3, std::uint8_t{0});
    }
  }
};

/// Referrals are listed as if they were NVM subsystems.
class ReferralsAsSubsystems final : public SubsystemHooks {
 public:
  void data_out(const CommandContext& command, MutableBytes data) override {
    if (!on_discovery(command) || opcode_of(command) != 0x02) return;
    constexpr std::size_t kEntry = fabrics::DiscoveryEntry::size;
    for (std::size_t at = kEntry; at + kEntry <= data.size(); at += kEntry) {
      MutableView<fabrics::DiscoveryEntry>{data.subspan(at, kEntry)}.set(fabrics::discovery_entry::subtype, fabrics::SubsystemType::nvm);
    }
  }
};

}  // namespace

DEVIATION(discovery_numrec_too_large, "fabrics.discovery.log-header", Product::controller, "counts an entry that is not there",
          Departs{"sub.discovery.numrec"});
DEVIATION(discovery_trtype_reserved, "fabrics.discovery.entries", Product::controller, "lists entries of a reserved transport type",
          Departs{"sub.discovery.trtype"});
DEVIATION(discovery_trsvcid_words, "fabrics.discovery.entries", Product::controller, "lists a service id that is not a port",
          Departs{"sub.discovery.trsvcid"});
DEVIATION(discovery_asqsz_small, "fabrics.discovery.entries", Product::controller, "lists an admin queue below 32 entries",
          Departs{"sub.discovery.asqsz"});
DEVIATION(discovery_cntlid_zero, "fabrics.discovery.entries", Product::controller, "lists controller 0 for a dynamic subsystem",
          Departs{"sub.discovery.cntlid"});
DEVIATION(discovery_subtype_referral, "fabrics.discovery.entries", Product::controller, "lists NVM subsystems as referrals",
          Departs{"sub.discovery.subtype"});
DEVIATION(discovery_without_tsas, "fabrics.discovery.rdma.tsas", Product::controller,
          "leaves the transport specific part of an entry empty", hooks<DiscoveryWithoutTsas>());
DEVIATION(discovery_genctr_counts_reads, "fabrics.discovery.genctr-stable", Product::controller, "counts every read of the log as a change",
          Departs{"sub.discovery.genctr.runs"});
DEVIATION(discovery_genctr_stays, "fabrics.discovery.genctr-counts", Product::controller, "does not count changes of the log",
          Departs{"sub.discovery.genctr.stays"});
DEVIATION(discovery_parts_differ, "fabrics.discovery.parts", Product::controller, "serves another part than was asked for",
          hooks<DiscoveryForgetsOffset>());
DEVIATION(discovery_takes_io_queues, "fabrics.discovery.no-io-commands", Product::controller,
          "connects I/O queues to a discovery controller", hooks<DiscoveryIoQueues>());
DEVIATION(discovery_identifies_as_io, "fabrics.discovery.identify", Product::controller,
          "identifies a discovery controller as an I/O controller", hooks<DiscoveryIdentifiesAsIo>());
DEVIATION(discovery_takes_any_command, "fabrics.discovery.prohibited-command", Product::controller,
          "succeeds in commands that a discovery controller has not", hooks<DiscoveryTakesAnyCommand>());
DEVIATION(discovery_refuses_keep_alive, "fabrics.discovery.keep-alive-persistent", Product::controller,
          "accepts a persistent connection and refuses its Keep Alive", hooks<DiscoveryRefusesKeepAlive>());
DEVIATION(discovery_takes_keep_alive_without_events, "fabrics.discovery.keep-alive-refused", Product::controller,
          "takes a keep alive timeout though it announces nothing", Tolerate{"connect.kato.discovery"});
DEVIATION(discovery_event_not_armed, "fabrics.discovery.event", Product::controller, "does not announce changes of the log",
          Departs{"sub.discovery.unannounced"});
DEVIATION(discovery_shows_all, "fabrics.discovery.host-filter", Product::controller, "lists subsystems that the host may not use",
          Departs{"sub.discovery.filter"});
DEVIATION(discovery_referral_as_subsystem, "fabrics.discovery.referral", Product::controller, "lists referrals as NVM subsystems",
          hooks<ReferralsAsSubsystems>());

}  // namespace fb::deviations
