// What a careless connection manager says and accepts.
#include "model/deviations/deviation.h"
#include "sim/rdma/softroce/cm_fault_points.h"
#include "wire/rdma/cm_messages.h"

namespace fb::deviations {

namespace point = softroce::cm_departure;

namespace {

cm::Attribute attribute_of(ByteView mad) { return View<cm::MadHeader>{mad}.get(cm::mad::attribute); }
template <class L>
MutableView<L> message_in(MutableBytes mad) {
  return MutableView<L>{mad.subspan(cm::kMadHeaderBytes)};
}

/// From the third connection on, the REP announces the PSN of the first one.
struct StaleAnnouncement final : softroce::SoftHooks {
  bool mad_out(MutableBytes mad) override {
    if (attribute_of(mad) != cm::Attribute::rep) return true;
    auto rep = message_in<cm::Rep>(mad);
    if (++replies == 1) first_psn = rep.get(cm::rep::starting_psn);
    if (replies >= 3) rep.set(cm::rep::starting_psn, first_psn);
    return true;
  }
  int replies = 0;
  std::uint32_t first_psn = 0;
};

/// A repeated REP has lost its private data.
struct ForgetfulRepetition final : softroce::SoftHooks {
  bool mad_out(MutableBytes mad) override {
    if (attribute_of(mad) != cm::Attribute::rep) return true;
    auto rep = message_in<cm::Rep>(mad);
    const std::uint32_t id = rep.get(cm::rep::local_comm_id);
    if (id == last_id) rep.set(cm::rep::private_data, ByteView{});
    last_id = id;
    return true;
  }
  std::uint32_t last_id = 0;
};

/// The DREP has its two IDs the wrong way round.
struct SwappedDrep final : softroce::SoftHooks {
  bool mad_out(MutableBytes mad) override {
    if (attribute_of(mad) != cm::Attribute::drep) return true;
    auto drep = message_in<cm::Drep>(mad);
    const std::uint32_t local = drep.get(cm::drep::local_comm_id);
    const std::uint32_t remote = drep.get(cm::drep::remote_comm_id);
    drep.set(cm::drep::local_comm_id, remote).set(cm::drep::remote_comm_id, local);
    return true;
  }
};

}  // namespace

// REQ.
DEVIATION(cm_ignores_duplicate_req, "cm.req.duplicate", Product::cm, "does not answer a repeated REQ", Departs{point::kDuplicateReqSilent});
DEVIATION(cm_duplicate_req_connects_twice, "cm.req.duplicate", Product::cm, "a repeated REQ opens a second connection",
          Departs{point::kDuplicateReqNewConnection});
DEVIATION(cm_accepts_stale, "cm.req.stale", Product::cm, "accepts a REQ for a queue pair that is connected",
          Departs{point::kStaleAccepted});
DEVIATION(cm_accepts_any_transport, "cm.req.transport-type", Product::cm, "accepts a REQ for another service than RC",
          Departs{point::kTransportUnchecked});
DEVIATION(cm_ip_header_unchecked, "cm.req.ip-header-version", Product::cm, "does not look at the IP addressing header",
          Departs{point::kIpHeaderUnchecked});
DEVIATION(cm_accepts_foreign_gid, "cm.req.foreign-gid", Product::cm, "accepts a REQ for somebody else's GID",
          Departs{point::kForeignGidAccepted});

// REP and RTU.
DEVIATION(cm_announces_stale_psn, "cm.rep.psn", Product::cm, "announces the starting PSN of an earlier connection",
          hooks<StaleAnnouncement>());
DEVIATION(cm_repeats_rep_without_data, "cm.rep.repeated", Product::cm, "a repeated REP has no private data", hooks<ForgetfulRepetition>());
DEVIATION(cm_depths_not_clamped, "cm.rep.depths", Product::cm, "asks for more reads than the peer serves",
          Departs{point::kDepthNotClamped});
DEVIATION(cm_insists_on_rtu, "cm.rtu.data-before", Product::cm, "data before the RTU does not establish",
          Departs{point::kDataBeforeRtuIgnored});

// The end.
DEVIATION(cm_drep_swaps_ids, "cm.dreq.answered", Product::cm, "the DREP has its IDs swapped", hooks<SwappedDrep>());
DEVIATION(cm_drep_other_transaction, "cm.dreq.answered", Product::cm, "the DREP does not echo the transaction of the DREQ",
          Departs{point::kDrepTidFresh});
DEVIATION(cm_obeys_unknown_dreq, "cm.dreq.unknown", Product::cm, "a DREQ with somebody else's ID ends the connection",
          Departs{point::kUnknownDreqObeyed});
DEVIATION(cm_dreq_qpn_unchecked, "cm.dreq.wrong-qpn", Product::cm, "a DREQ for another queue pair ends the connection",
          Departs{point::kDreqWrongQpnAccepted});
DEVIATION(cm_ignores_repeated_dreq, "cm.dreq.repeated", Product::cm, "a repeated DREQ gets no DREP", Departs{point::kTimewaitDreqSilent});

// Management datagrams.
DEVIATION(cm_base_version_unchecked, "cm.mad.malformed", Product::cm, "processes a MAD of another base version",
          Departs{point::kBaseVersionUnchecked});
DEVIATION(cm_class_unchecked, "cm.mad.malformed", Product::cm, "processes a MAD of another class", Departs{point::kClassUnchecked});
DEVIATION(cm_method_unchecked, "cm.mad.malformed", Product::cm, "processes a MAD of another method", Departs{point::kMethodUnchecked});
DEVIATION(cm_qkey_unchecked, "cm.mad.qkey", Product::rdma, "processes a MAD with another Q_Key",
          departs(softroce::Departure::accept_bad_qkey));

// The active side.
DEVIATION(cm_req_of_udp_port_space, "cm.active.req-fields", Product::cm, "the service ID of the REQ is of the UDP port space",
          Departs{point::kReqServiceIdWrong});
DEVIATION(cm_req_mapped_addresses, "cm.active.req-fields", Product::cm, "the IP header of the REQ has IPv4 in its mapped form",
          Departs{point::kReqIpHeaderMapped});
DEVIATION(cm_req_mtu_too_large, "cm.active.req-fields", Product::cm, "the REQ asks for a path MTU beyond the largest",
          Departs{point::kReqMtuTooLarge});
DEVIATION(cm_req_other_partition, "cm.active.req-fields", Product::cm, "the REQ names another partition", Departs{point::kReqPkeyWrong});
DEVIATION(cm_confirms_once, "cm.active.rtu", Product::cm, "a repeated REP is not answered with the RTU", Departs{point::kRtuNotRepeated});
DEVIATION(cm_req_never_resent, "cm.active.req-repeated", Product::cm, "an unanswered REQ is never sent again",
          Departs{point::kNeverResends});
DEVIATION(cm_req_resent_too_often, "cm.active.req-repeated", Product::cm, "one resend more than the retry count allows",
          Departs{point::kOneResendTooMany});
DEVIATION(cm_ignores_mra, "cm.active.mra", Product::cm, "an MRA does not extend the wait", Departs{point::kMraIgnored});

}  // namespace fb::deviations
