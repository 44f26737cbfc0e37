// The named points at which the controller side of NVMe/TCP asks TransportHooks::departs(). The names of
// received PDUs' checks are those of PduFault::check.
#pragma once

#include "model/transport/fault_points.h"

namespace fb::transport {

inline constexpr FaultPoint kTcpControllerFaultPoints[] = {
    {"tcp.ic.plen", "an ICReq of another length ends the connection"},
    {"tcp.ic_req.pfv", "an ICReq of another format is refused"},
    {"tcp.ic_req.hpda", "an HPDA above 31 is refused"},
    {"tcp.ic_req.first", "nothing is taken before ICReq"},
    {"tcp.ic_req.second", "a second ICReq is refused"},
    {"tcp.pdu.type", "a PDU of a reserved type is refused"},
    {"tcp.pdu.direction", "a PDU that only controllers send is refused"},
    {"tcp.pdu.hlen", "a wrong HLEN is refused"},
    {"tcp.pdu.plen", "a PLEN shorter than the PDU's header is refused"},
    {"tcp.pdu.pdo", "a PDO that is wrong or not aligned is refused"},
    {"tcp.pdu.hdgstf", "HDGSTF is set as negotiated"},
    {"tcp.pdu.ddgstf", "DDGSTF is set as negotiated"},
    {"tcp.pdu.hdgst", "a wrong header digest ends the connection"},
    {"tcp.pdu.ddgst", "a wrong data digest fails its command"},
    {"tcp.term_req.length", "a TermReq of an impossible length ends the connection"},
    {"tcp.term_req.received", "a TermReq ends the connection"},
    {"tcp.term_req.never", "a fatal error is answered by a TermReq"},
    {"tcp.capsule.admin_room", "an admin capsule takes 8192 bytes"},
    {"tcp.capsule.room", "a capsule with too much data is refused"},
    {"tcp.sgl.type", "a descriptor of another type is refused"},
    {"tcp.sgl.offset", "an offset outside of the capsule is refused"},
    {"tcp.sgl.read_inside", "data to the host has no place in a capsule"},
    {"tcp.sgl.length", "a descriptor shorter than the data is refused"},
    {"tcp.r2t.small", "small data that is in no capsule is asked for"},
    {"tcp.r2t.limit", "R2Ts outstanding keep to MAXR2T"},
    {"tcp.h2c_data.ttag", "H2CData without an R2T is refused"},
    {"tcp.h2c_data.cccid", "H2CData of another command is refused"},
    {"tcp.h2c_data.after_last", "H2CData after the last is refused"},
    {"tcp.h2c_data.datal", "DATAL is held against the data"},
    {"tcp.h2c_data.limit", "H2CData keeps to MAXH2CDATA"},
    {"tcp.h2c_data.range", "H2CData keeps to the range of its R2T"},
    {"tcp.h2c_data.offset", "H2CData continues the data before it"},
    {"tcp.h2c_data.early_last", "LAST_PDU is at the end of the R2T"},
    {"tcp.h2c_data.below", "H2CData begins no sooner than its R2T"},
    {"tcp.h2c_data.last_ends", "LAST_PDU does not stand for data that lacks"},
    {"tcp.c2h_data.alignment", "data is aligned to HPDA"},
    {"tcp.success.always", "SUCCESS is for hosts without SQ flow control"},
    {"tcp.stream.split", "PDUs may come in pieces"},
};

}  // namespace fb::transport
