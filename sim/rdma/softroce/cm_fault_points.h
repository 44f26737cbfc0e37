// The named points at which the connection manager can be told to depart from the protocol, each of
// which breaks one requirement. SoftHooks::departs() is asked with the name.
#pragma once

#include <span>
#include <string_view>

#include "base/fault_point.h"

namespace fb::softroce {

namespace cm_departure {
// Reception.
inline constexpr std::string_view kBaseVersionUnchecked = "cm.mad.base_version.unchecked";
inline constexpr std::string_view kClassUnchecked = "cm.mad.class.unchecked";
inline constexpr std::string_view kMethodUnchecked = "cm.mad.method.unchecked";
inline constexpr std::string_view kClassPortInfoSilent = "cm.class_port_info.silent";
// REQ.
inline constexpr std::string_view kDuplicateReqSilent = "cm.req.duplicate.silent";
inline constexpr std::string_view kDuplicateReqNewConnection = "cm.req.duplicate.new_connection";
inline constexpr std::string_view kStaleAccepted = "cm.req.stale.accepted";
inline constexpr std::string_view kNoListenerReason = "cm.req.no_listener.reason_wrong";
inline constexpr std::string_view kNoListenerSilent = "cm.req.no_listener.silent";
inline constexpr std::string_view kServiceIdUnchecked = "cm.req.service_id.port_space_unchecked";
inline constexpr std::string_view kForeignGidAccepted = "cm.req.foreign_gid.accepted";
inline constexpr std::string_view kForeignGidNoInfo = "cm.req.foreign_gid.no_info";
inline constexpr std::string_view kIpHeaderUnchecked = "cm.req.ip_header.unchecked";
inline constexpr std::string_view kTransportUnchecked = "cm.req.transport.unchecked";
inline constexpr std::string_view kMtuUnchecked = "cm.req.mtu.unchecked";
inline constexpr std::string_view kMtuOneMore = "cm.req.mtu.one_more";
inline constexpr std::string_view kAnswersToPacketSource = "cm.answer.to_packet_source";
inline constexpr std::string_view kAlternatePathAccepted = "cm.req.alternate_path.accepted";
// REP, RTU, data.
inline constexpr std::string_view kRepeatedRepNewPsn = "cm.rep.repeat.new_psn";
inline constexpr std::string_view kRepTidFresh = "cm.rep.tid.fresh";
inline constexpr std::string_view kRepWrongCommId = "cm.rep.remote_comm_id.wrong";
inline constexpr std::string_view kPsnSwapped = "cm.psn.swapped";
inline constexpr std::string_view kDepthNotClamped = "cm.depth.not_clamped";
inline constexpr std::string_view kRepIdsUnchecked = "cm.rep.ids.unchecked";
inline constexpr std::string_view kRepRnrIgnored = "cm.rep.rnr_retry.ignored";
inline constexpr std::string_view kRtuNotRepeated = "cm.rtu.not_repeated";
inline constexpr std::string_view kRtuIdsUnchecked = "cm.rtu.ids.unchecked";
inline constexpr std::string_view kDataBeforeRtuIgnored = "cm.data_before_rtu.ignored";
// REQ as the active side says it.
inline constexpr std::string_view kReqServiceIdWrong = "cm.req.sent.service_id_wrong";
inline constexpr std::string_view kReqIpHeaderMapped = "cm.req.sent.ip_header_mapped";
inline constexpr std::string_view kReqMtuTooLarge = "cm.req.sent.mtu_too_large";
inline constexpr std::string_view kReqPkeyWrong = "cm.req.sent.pkey_wrong";
// REJ, MRA.
inline constexpr std::string_view kRejectWithoutPrivateData = "cm.rej.private_data.missing";
inline constexpr std::string_view kRejectDataCut = "cm.rej.private_data.cut";
inline constexpr std::string_view kConsumerRejectReason = "cm.rej.consumer.reason_wrong";
inline constexpr std::string_view kTimeoutRejectWithoutGuid = "cm.rej.timeout.no_guid";
inline constexpr std::string_view kTimeoutRejectIgnored = "cm.rej.timeout.ignored";
inline constexpr std::string_view kRejIgnored = "cm.rej.ignored";
inline constexpr std::string_view kMraIgnored = "cm.mra.ignored";
// Timers.
inline constexpr std::string_view kOneResendTooMany = "cm.resend.one_too_many";
inline constexpr std::string_view kResendEarly = "cm.resend.early";
inline constexpr std::string_view kNeverResends = "cm.resend.never";
inline constexpr std::string_view kGivesUpSilently = "cm.give_up.silent";
inline constexpr std::string_view kGiveUpKeepsQueuePair = "cm.give_up.keeps_queue_pair";
inline constexpr std::string_view kTimewaitSkipped = "cm.timewait.skipped";
// The end.
inline constexpr std::string_view kUnknownDreqSilent = "cm.dreq.unknown.silent";
inline constexpr std::string_view kUnknownDreqObeyed = "cm.dreq.unknown.obeyed";
inline constexpr std::string_view kDreqWrongQpnAccepted = "cm.dreq.wrong_qpn.accepted";
inline constexpr std::string_view kTimewaitDreqSilent = "cm.dreq.timewait.silent";
inline constexpr std::string_view kUnansweredDreqSilent = "cm.dreq.unanswered.silent";
inline constexpr std::string_view kCrossingDreqIgnored = "cm.dreq.crossing.ignored";
inline constexpr std::string_view kDrepIdsUnchecked = "cm.drep.ids.unchecked";
inline constexpr std::string_view kDrepTidFresh = "cm.drep.tid.fresh";
// What is not served.
inline constexpr std::string_view kSidrSilent = "cm.sidr.silent";
}  // namespace cm_departure

inline constexpr FaultPoint kCmFaultPoints[] = {
    {cm_departure::kBaseVersionUnchecked, "a MAD with another base version is processed"},
    {cm_departure::kClassUnchecked, "a MAD of another class or class version is processed"},
    {cm_departure::kMethodUnchecked, "a CM message with a method other than Send is processed"},
    {cm_departure::kClassPortInfoSilent, "Get(ClassPortInfo) is not answered"},
    {cm_departure::kDuplicateReqSilent, "a repeated REQ gets no answer while the REP is out"},
    {cm_departure::kDuplicateReqNewConnection, "a repeated REQ opens a second connection"},
    {cm_departure::kStaleAccepted, "a REQ for a queue pair that is still connected is accepted"},
    {cm_departure::kNoListenerReason, "a REQ for a port without listener is rejected as 28"},
    {cm_departure::kNoListenerSilent, "a REQ for a port without listener is not answered"},
    {cm_departure::kServiceIdUnchecked, "a REQ of the UDP port space reaches a TCP listener"},
    {cm_departure::kForeignGidAccepted, "a REQ for somebody else's GID is accepted"},
    {cm_departure::kForeignGidNoInfo, "REJ 12 does not name the right GID"},
    {cm_departure::kIpHeaderUnchecked, "a bad IP addressing header is accepted"},
    {cm_departure::kTransportUnchecked, "a REQ for another service type than RC is accepted"},
    {cm_departure::kMtuUnchecked, "a path MTU beyond the port's, or no MTU at all, is accepted"},
    {cm_departure::kMtuOneMore, "a path MTU one step beyond the port's is accepted"},
    {cm_departure::kAnswersToPacketSource,
     "answers go to where the packet came from, not to the "
     "primary local GID"},
    {cm_departure::kAlternatePathAccepted, "the REP claims an alternate path that nobody serves"},
    {cm_departure::kRepeatedRepNewPsn, "a repeated REP announces another starting PSN"},
    {cm_departure::kRepTidFresh, "the REP has a transaction ID of its own"},
    {cm_departure::kRepWrongCommId, "the REP names another remote communication ID"},
    {cm_departure::kPsnSwapped, "the announced starting PSN is taken as our own send PSN"},
    {cm_departure::kDepthNotClamped, "depths beyond what the peer offered are promised and used"},
    {cm_departure::kRepIdsUnchecked, "a REP for another REQ is taken as the answer"},
    {cm_departure::kRepRnrIgnored, "the RNR retry count of a REP is not used"},
    {cm_departure::kRtuNotRepeated, "a repeated REP is not answered with the RTU"},
    {cm_departure::kRtuIdsUnchecked, "an RTU that names another ID of the peer confirms"},
    {cm_departure::kDataBeforeRtuIgnored, "data before the RTU does not establish"},
    {cm_departure::kReqServiceIdWrong, "the REQ's service ID is of the UDP port space"},
    {cm_departure::kReqIpHeaderMapped, "the REQ's IP header has IPv4 in the ::ffff form"},
    {cm_departure::kReqMtuTooLarge, "the REQ asks for a path MTU beyond the port's"},
    {cm_departure::kReqPkeyWrong, "the REQ names another P_Key than the default"},
    {cm_departure::kRejectWithoutPrivateData, "a consumer's REJ loses its private data"},
    {cm_departure::kRejectDataCut, "a consumer's REJ carries 140 bytes of private data at most"},
    {cm_departure::kConsumerRejectReason, "a consumer's REJ has another reason than given"},
    {cm_departure::kTimeoutRejectWithoutGuid, "REJ 4 does not carry our CA GUID"},
    {cm_departure::kTimeoutRejectIgnored, "REJ 4 with the peer's GUID ends nothing"},
    {cm_departure::kRejIgnored, "a REJ of the REQ ends nothing"},
    {cm_departure::kMraIgnored, "an MRA does not extend the wait"},
    {cm_departure::kOneResendTooMany, "one resend more than the retry count allows"},
    {cm_departure::kResendEarly, "resends come in a quarter of the agreed time"},
    {cm_departure::kNeverResends, "an unanswered message is never sent again"},
    {cm_departure::kGivesUpSilently, "no REJ 4 after the last unanswered resend"},
    {cm_departure::kGiveUpKeepsQueuePair, "the queue pair of a REP that nobody answers stays usable"},
    {cm_departure::kTimewaitSkipped, "IDs and QPN are free at once after the end"},
    {cm_departure::kUnknownDreqSilent, "a DREQ for an unknown connection gets no DREP"},
    {cm_departure::kUnknownDreqObeyed, "a DREQ that names another peer's ID ends the connection"},
    {cm_departure::kDreqWrongQpnAccepted, "a DREQ with another remote QPN ends the connection"},
    {cm_departure::kTimewaitDreqSilent, "a repeated DREQ in TIMEWAIT gets no DREP"},
    {cm_departure::kUnansweredDreqSilent, "the program is not told of the end when nobody answers its DREQ"},
    {cm_departure::kCrossingDreqIgnored, "a DREQ that crosses ours is not answered"},
    {cm_departure::kDrepIdsUnchecked, "a DREP that names another ID of the peer ends the connection"},
    {cm_departure::kDrepTidFresh, "the DREP does not echo the DREQ's transaction ID"},
    {cm_departure::kSidrSilent, "a SIDR_REQ gets no SIDR_REP"},
};

inline std::span<const FaultPoint> cm_fault_points() { return kCmFaultPoints; }

}  // namespace fb::softroce
