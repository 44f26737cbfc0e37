// What a careless connection manager says and accepts: the departures that break the further rules.
#include <algorithm>

#include "model/deviations/deviation.h"
#include "sim/rdma/softroce/cm_fault_points.h"
#include "sim/rdma/verbs_types.h"
#include "wire/rdma/cm_messages.h"

namespace fb::deviations {

namespace point = softroce::cm_departure;

namespace {

cm::Attribute attribute_of(ByteView mad) { return View<cm::MadHeader>{mad}.get(cm::mad::attribute); }
template <class L>
MutableView<L> message_in(MutableBytes mad) {
  return MutableView<L>{mad.subspan(cm::kMadHeaderBytes)};
}

/// Every message of one kind is spoilt on its way out.
template <cm::Attribute Kind, void (*Spoil)(MutableBytes mad)>
struct Spoils final : softroce::SoftHooks {
  bool mad_out(MutableBytes mad) override {
    if (attribute_of(mad) == Kind) Spoil(mad);
    return true;
  }
};

/// Messages of one kind are spoilt from the second one on.
template <cm::Attribute Kind, void (*Spoil)(MutableBytes mad)>
struct SpoilsLater final : softroce::SoftHooks {
  bool mad_out(MutableBytes mad) override {
    if (attribute_of(mad) == Kind && ++seen > 1) Spoil(mad);
    return true;
  }
  int seen = 0;
};

/// Messages of one kind never leave.
template <cm::Attribute Kind>
struct Swallows final : softroce::SoftHooks {
  bool mad_out(MutableBytes mad) override { return attribute_of(mad) != Kind; }
};

void other_transaction(MutableBytes mad) {
  MutableView<cm::MadHeader> header{mad};
  header.set(cm::mad::tid, header.get(cm::mad::tid) + 1);
}
void method_send(MutableBytes mad) { MutableView<cm::MadHeader>{mad}.set(cm::mad::method, cm::Method::send); }
void other_remote_id(MutableBytes mad) {
  auto ids = message_in<cm::Ids>(mad);
  ids.set(cm::ids::remote_comm_id, ids.get(cm::ids::remote_comm_id) ^ 1);
}
void swapped_ids(MutableBytes mad) {
  auto ids = message_in<cm::Ids>(mad);
  const std::uint32_t local = ids.get(cm::ids::local_comm_id);
  const std::uint32_t remote = ids.get(cm::ids::remote_comm_id);
  ids.set(cm::ids::local_comm_id, remote).set(cm::ids::remote_comm_id, local);
}
/// Data moves `by` bytes behind where it belongs, as if a header stood there.
template <class L, class Field>
void moved(MutableBytes mad, const Field& field, std::size_t from, std::size_t by) {
  auto message = message_in<L>(mad);
  const auto view = message.get(field);
  Bytes data(view.begin(), view.end());
  std::copy_backward(data.begin() + static_cast<std::ptrdiff_t>(from), data.end() - static_cast<std::ptrdiff_t>(by), data.end());
  std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(from), by, std::uint8_t{0});
  message.set(field, data);
}

void rep_without_guid(MutableBytes mad) { message_in<cm::Rep>(mad).set(cm::rep::local_ca_guid, 0u); }
void rep_with_ip_header(MutableBytes mad) { moved<cm::Rep>(mad, cm::rep::private_data, 0, cm::IpHeader::size); }
void rej_with_ip_header(MutableBytes mad) { moved<cm::Rej>(mad, cm::rej::private_data, 0, cm::IpHeader::size); }
void rej_about_rep(MutableBytes mad) { message_in<cm::Rej>(mad).set(cm::rej::about, cm::About::rep); }
void rej_for_large_mtu(MutableBytes mad) {
  const std::uint8_t kLargest[] = {5};
  message_in<cm::Rej>(mad).set(cm::rej::info, kLargest);
}
void rej_without_id(MutableBytes mad) {
  auto rej = message_in<cm::Rej>(mad);
  if (rej.get(cm::rej::reason) == fb::rdma::reject_reason::timeout) rej.set(cm::rej::local_comm_id, 0u);
}
void mra_about_rep(MutableBytes mad) { message_in<cm::Mra>(mad).set(cm::mra::about, cm::About::rep); }
void req_with_longer_header(MutableBytes mad) { moved<cm::Req>(mad, cm::req::private_data, cm::IpHeader::size, 4); }
void dreq_of_other_qpn(MutableBytes mad) {
  auto dreq = message_in<cm::Dreq>(mad);
  dreq.set(cm::dreq::remote_qpn, dreq.get(cm::dreq::remote_qpn) ^ 1);
}
void alternate_path_loaded(MutableBytes mad) { message_in<cm::Apr>(mad).set(cm::apr::status, cm::AprStatus::loaded); }
void datagram_service_found(MutableBytes mad) {
  message_in<cm::SidrRep>(mad).set(cm::sidr_rep::status, cm::SidrStatus::valid).set(cm::sidr_rep::qpn, 2u);
}
void other_datagram_request(MutableBytes mad) {
  auto rep = message_in<cm::SidrRep>(mad);
  rep.set(cm::sidr_rep::request_id, rep.get(cm::sidr_rep::request_id) + 1);
}

using cm::Attribute;

}  // namespace

// REQ.
DEVIATION(cm_port_space_unchecked, "cm.req.port-space", Product::cm, "a REQ of the UDP port space reaches a listener of the TCP port space",
          Departs{point::kServiceIdUnchecked});
DEVIATION(cm_foreign_gid_without_info, "cm.req.foreign-gid.info", Product::cm, "REJ 12 does not say which GID would do",
          Departs{point::kForeignGidNoInfo});
DEVIATION(cm_mtu_unchecked, "cm.req.mtu", Product::cm, "accepts any path MTU", Departs{point::kMtuUnchecked});
DEVIATION(cm_names_too_large_mtu, "cm.req.mtu.info", Product::cm, "REJ 26 names a path MTU that would not do either",
          hooks<Spoils<Attribute::rej, &rej_for_large_mtu>>());
DEVIATION(cm_addresses_unchecked, "cm.req.ip-header-address", Product::cm, "takes any IP version and address of the IP addressing header",
          Departs{point::kIpHeaderUnchecked});
DEVIATION(cm_answers_packet_source, "cm.answer.return-path", Product::cm, "answers to where the packet came from",
          Departs{point::kAnswersToPacketSource});
DEVIATION(cm_accepts_alternate_path, "cm.req.alternate-path", Product::cm, "accepts an alternate path that nobody serves",
          Departs{point::kAlternatePathAccepted});

// REP, REJ, MRA, RTU.
DEVIATION(cm_duplicate_req_new_psn, "cm.req.duplicate", Product::cm, "a repeated REP announces another starting PSN",
          Departs{point::kRepeatedRepNewPsn});
DEVIATION(cm_swaps_psns, "cm.rep.psn", Product::cm, "takes the announced starting PSN as its own", Departs{point::kPsnSwapped});
DEVIATION(cm_rep_other_transaction, "cm.rep.echoes", Product::cm, "the REP has a transaction of its own", Departs{point::kRepTidFresh});
DEVIATION(cm_rep_other_request, "cm.rep.echoes", Product::cm, "the REP names another REQ", Departs{point::kRepWrongCommId});
DEVIATION(cm_rep_without_guid, "cm.rep.echoes", Product::cm, "the REP names no CA GUID",
          hooks<Spoils<Attribute::rep, &rep_without_guid>>());
DEVIATION(cm_rep_with_ip_header, "cm.rep.private-data", Product::cm, "leaves room for an IP addressing header in the REP",
          hooks<Spoils<Attribute::rep, &rep_with_ip_header>>());
DEVIATION(cm_rej_without_data, "cm.rej.consumer", Product::cm, "loses the private data of a REJ",
          Departs{point::kRejectWithoutPrivateData});
DEVIATION(cm_rej_other_reason, "cm.rej.consumer", Product::cm, "rejects with another reason than its program's",
          Departs{point::kConsumerRejectReason});
DEVIATION(cm_rej_about_rep, "cm.rej.consumer", Product::cm, "says that it rejects a REP", hooks<Spoils<Attribute::rej, &rej_about_rep>>());
DEVIATION(cm_rej_with_ip_header, "cm.rej.consumer", Product::cm, "leaves room for an IP addressing header in the REJ",
          hooks<Spoils<Attribute::rej, &rej_with_ip_header>>());
DEVIATION(cm_rej_other_transaction, "cm.rej.consumer", Product::cm, "the REJ has a transaction of its own",
          hooks<Spoils<Attribute::rej, &other_transaction>>());
DEVIATION(cm_rej_other_request, "cm.req.transport-type", Product::cm, "the REJ names another REQ",
          hooks<Spoils<Attribute::rej, &other_remote_id>>());
DEVIATION(cm_resends_rep_early, "cm.rep.repeat-time", Product::cm, "repeats the REP in a quarter of the agreed time",
          Departs{point::kResendEarly});
DEVIATION(cm_resends_rep_too_often, "cm.rep.repeat-count", Product::cm, "repeats the REP once more than it may",
          Departs{point::kOneResendTooMany});
DEVIATION(cm_never_resends_rep, "cm.rep.repeated", Product::cm, "never repeats a REP", Departs{point::kNeverResends});
DEVIATION(cm_gives_up_silently, "cm.give-up.said", Product::cm, "gives up without a word", Departs{point::kGivesUpSilently});
DEVIATION(cm_ignores_timeout_rej, "cm.rej.timeout.obeyed", Product::cm, "does not know whose timeout a REJ 4 is",
          Departs{point::kTimeoutRejectIgnored});
DEVIATION(cm_timeout_rej_without_guid, "cm.rej.timeout.guid", Product::cm, "REJ 4 does not carry the CA GUID",
          Departs{point::kTimeoutRejectWithoutGuid});
DEVIATION(cm_timeout_rej_without_id, "cm.rej.timeout.guid", Product::cm, "REJ 4 does not name its sender's comm ID",
          hooks<Spoils<Attribute::rej, &rej_without_id>>());
DEVIATION(cm_rtu_unchecked, "cm.rtu.ids", Product::cm, "takes an RTU that names another ID of its sender",
          Departs{point::kRtuIdsUnchecked});
DEVIATION(cm_mra_other_request, "cm.mra.fields", Product::cm, "the MRA has its IDs swapped", hooks<Spoils<Attribute::mra, &swapped_ids>>());
DEVIATION(cm_mra_about_rep, "cm.mra.fields", Product::cm, "the MRA speaks of a REP", hooks<Spoils<Attribute::mra, &mra_about_rep>>());

// The active side.
DEVIATION(cm_req_data_misplaced, "cm.active.private-data", Product::cm, "puts the program's data four bytes too far into the REQ",
          hooks<Spoils<Attribute::req, &req_with_longer_header>>());
DEVIATION(cm_req_changes, "cm.active.req-repeated", Product::cm, "a repeated REQ has another transaction",
          hooks<SpoilsLater<Attribute::req, &other_transaction>>());
DEVIATION(cm_swaps_psns_actively, "cm.active.psn", Product::cm, "starts with the PSN of its own REQ", Departs{point::kPsnSwapped});
DEVIATION(cm_ignores_offered_depth, "cm.active.depth", Product::cm, "has more reads in flight than the REP allows",
          Departs{point::kDepthNotClamped});
DEVIATION(cm_ignores_rej, "cm.active.rejected", Product::cm, "goes on asking after a REJ", Departs{point::kRejIgnored});
DEVIATION(cm_takes_any_rep, "cm.active.rep-ids", Product::cm, "takes a REP for another REQ", Departs{point::kRepIdsUnchecked});
DEVIATION(cm_resends_req_early, "cm.active.repeat-time", Product::cm, "repeats the REQ in a quarter of the agreed time",
          Departs{point::kResendEarly});
DEVIATION(cm_never_confirms, "cm.active.rtu", Product::cm, "sends no RTU", hooks<Swallows<Attribute::rtu>>());
DEVIATION(cm_rtu_swaps_ids, "cm.active.rtu", Product::cm, "the RTU has its IDs swapped", hooks<Spoils<Attribute::rtu, &swapped_ids>>());

// The end.
DEVIATION(cm_dreq_other_qpn, "cm.dreq.sent", Product::cm, "the DREQ names another queue pair",
          hooks<Spoils<Attribute::dreq, &dreq_of_other_qpn>>());
DEVIATION(cm_dreq_swaps_ids, "cm.dreq.sent", Product::cm, "the DREQ has its IDs swapped", hooks<Spoils<Attribute::dreq, &swapped_ids>>());
DEVIATION(cm_leaves_silently, "cm.dreq.sent", Product::cm, "ends a connection without a word", hooks<Swallows<Attribute::dreq>>());
DEVIATION(cm_dreq_never_resent, "cm.dreq.sent.repeated", Product::cm, "sends a DREQ once", Departs{point::kNeverResends});
DEVIATION(cm_dreq_changes, "cm.dreq.sent.repeated", Product::cm, "a repeated DREQ has another transaction",
          hooks<SpoilsLater<Attribute::dreq, &other_transaction>>());
DEVIATION(cm_ignores_crossing_dreq, "cm.dreq.crossing", Product::cm, "does not answer a DREQ that crosses its own",
          Departs{point::kCrossingDreqIgnored});
DEVIATION(cm_ignores_unknown_dreq, "cm.dreq.unknown-answered", Product::cm, "does not answer a DREQ for an unknown connection",
          Departs{point::kUnknownDreqSilent});
DEVIATION(cm_forgets_at_once, "cm.timewait.late-req", Product::cm, "forgets a connection as soon as it is over",
          Departs{point::kTimewaitSkipped});

// What is not served.
DEVIATION(cm_class_port_info_silent, "cm.mad.class-port-info", Product::cm, "does not answer Get(ClassPortInfo)",
          Departs{point::kClassPortInfoSilent});
DEVIATION(cm_class_port_info_sent, "cm.mad.class-port-info", Product::cm, "answers a Get with a Send",
          hooks<Spoils<Attribute::class_port_info, &method_send>>());
DEVIATION(cm_loads_any_path, "cm.lap.refused", Product::cm, "says that it has loaded whatever path a LAP names",
          hooks<Spoils<Attribute::apr, &alternate_path_loaded>>());
DEVIATION(cm_sidr_silent, "cm.sidr.refused", Product::cm, "does not answer a SIDR_REQ", Departs{point::kSidrSilent});
DEVIATION(cm_sidr_invents_service, "cm.sidr.refused", Product::cm, "names a queue pair for a service that is not there",
          hooks<Spoils<Attribute::sidr_rep, &datagram_service_found>>());
DEVIATION(cm_sidr_other_request, "cm.sidr.refused", Product::cm, "the SIDR_REP names another request",
          hooks<Spoils<Attribute::sidr_rep, &other_datagram_request>>());

}  // namespace fb::deviations
