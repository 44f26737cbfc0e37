// Controllers that are wrong around their queues, properties and timers.
#include "model/deviations/catalogue/tolerance.h"

namespace fb::deviations {

namespace {

namespace prop = fabrics::property;

/// Property Set takes any width, or writes anywhere; Property Get is as it should be.
template <bool AnyWidth>
class SetsProperties final : public SubsystemHooks {
 public:
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    const bool ours = AnyWidth ? refusal.check == "property.size"
                               : (refusal.check == "property.offset" || refusal.check == "property.read_only") &&
                                     load_le<std::uint32_t>(command.sqe.data() + 44) >= kBehindProperties;
    const bool sets =
        command.sqe[0] == nvme::kFabricsOpcode && command.sqe[4] == static_cast<std::uint8_t>(fabrics::FabricsType::property_set);
    return !ours || !sets;
  }

 private:
  static constexpr std::uint32_t kBehindProperties = 0x1000;
};

class IgnoresAbruptShutdown final : public SubsystemHooks {
 public:
  bool property_write(std::uint32_t offset, std::uint64_t& value) override { return offset != prop::cc || (value >> 14 & 3) != 2; }
};

/// Commands of identifier 0 are not answered.
class LosesIdentifierZero final : public SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes) override {
    const bool ours = command.qid == 0 && load_le<std::uint16_t>(command.sqe.data() + 2) == 0;
    return ours ? Answer::withhold : Answer::send;
  }
};

}  // namespace

DEVIATION(responses_of_the_next_command, "fabrics.completion.identifier", Product::controller,
          "responses carry the next command identifier", Departs{"sub.cqe.cid"});
DEVIATION(identifier_zero_unanswered, "fabrics.completion.identifier", Product::controller, "commands of identifier 0 are not answered",
          hooks<LosesIdentifierZero>());
DEVIATION(sqhd_runs_ahead, "fabrics.flow-control.not-ahead", Product::controller, "SQHD is one entry past what was fetched",
          Departs{"sub.sqhd.ahead"});
DEVIATION(queues_not_granted_that_are, "fabrics.connect.qid.above-granted", Product::controller,
          "takes queues beyond the number that it granted", Tolerate{"connect.io.qid.granted"});
DEVIATION(queues_granted_that_are_not, "fabrics.connect.qid.granted", Product::controller,
          "Number of Queues grants more queues than there are", Departs{"sub.feature.queues"});
DEVIATION(csts_ready_at_all_times, "fabrics.property.vs-cc-csts", Product::controller, "CSTS.RDY is 1 while CC.EN is 0",
          Departs{"sub.csts.rdy.early"});
DEVIATION(reset_is_ignored, "fabrics.reset.clears-ready", Product::controller, "CC.EN cannot be cleared", Departs{"sub.cc.en.sticks"});
DEVIATION(shutdown_status_outlives_reset, "fabrics.reset.shutdown-status", Product::controller, "a controller reset leaves CSTS.SHST",
          Departs{"sub.csts.shst.stays"});
DEVIATION(abrupt_shutdown_ignored, "fabrics.shutdown.abrupt", Product::controller, "an abrupt shutdown never completes",
          hooks<IgnoresAbruptShutdown>());
DEVIATION(keep_alive_runs_before_enable, "fabrics.keep-alive.before-enable", Product::controller,
          "the keep alive timer runs before the controller is enabled", Departs{"sub.kato.before_ready"});
DEVIATION(keep_alive_runs_after_shutdown, "fabrics.keep-alive.after-shutdown", Product::controller,
          "the keep alive timer runs on after a shutdown", Departs{"sub.kato.after_shutdown"});
DEVIATION(traffic_is_no_sign_of_life, "fabrics.keep-alive.traffic", Product::controller,
          "commands do not restart a timer that is said to be traffic based", Departs{"sub.kato.traffic"});
DEVIATION(timeout_of_zero_is_a_default, "fabrics.keep-alive.disabled", Product::controller,
          "takes a keep alive timeout of 0 for 30 seconds", Departs{"sub.kato.zero"});
DEVIATION(new_timeout_is_only_told, "fabrics.keep-alive.set", Product::controller,
          "a new keep alive timeout reads back, and the timer keeps the old one", Departs{"sub.kato.set"});
DEVIATION(cc_reads_zero, "fabrics.property.cc-reads-back", Product::controller, "CC always reads 0", Departs{"sub.cc.reads_zero"});
DEVIATION(cc_reads_enable_alone, "fabrics.property.cc-reads-back", Product::controller, "all of CC but EN reads 0",
          hooks<PropertyReads<prop::cc, 0xFFFFFFFE, 0>>());
DEVIATION(property_sets_anywhere, "fabrics.property.set-unknown", Product::controller, "a Property Set succeeds where there is no property",
          hooks<SetsProperties<false>>());
DEVIATION(property_sets_any_width, "fabrics.property.set-wrong-width", Product::controller, "CC can be set with 8 bytes",
          hooks<SetsProperties<true>>());
DEVIATION(nssr_has_no_effect, "fabrics.property.nssr-resets", Product::controller, "NSSR is written without effect",
          Departs{"sub.nssr.ignored"});

}  // namespace fb::deviations
