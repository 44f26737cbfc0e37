// The named points at which the controller side of NVMe/TCP asks TransportHooks::departs(). The names of
// received PDUs' checks are those of PduFault::check.
#pragma once

#include "model/transport/departure_points.h"

namespace fb::transport {

inline constexpr TransportDeparture kTcpControllerDeparturePoints[] = {
    {TransportDeparture::Product::controller, "tcp.ic.plen", "an ICReq of another length ends the connection"},
    {TransportDeparture::Product::controller, "tcp.ic_req.pfv", "an ICReq of another format is refused"},
    {TransportDeparture::Product::controller, "tcp.ic_req.hpda", "an HPDA above 31 is refused"},
    {TransportDeparture::Product::controller, "tcp.ic_req.first", "nothing is taken before ICReq"},
    {TransportDeparture::Product::controller, "tcp.ic_req.second", "a second ICReq is refused"},
    {TransportDeparture::Product::controller, "tcp.pdu.type", "a PDU of a reserved type is refused"},
    {TransportDeparture::Product::controller, "tcp.pdu.direction", "a PDU that only controllers send is refused"},
    {TransportDeparture::Product::controller, "tcp.pdu.hlen", "a wrong HLEN is refused"},
    {TransportDeparture::Product::controller, "tcp.pdu.plen", "a PLEN shorter than the PDU's header is refused"},
    {TransportDeparture::Product::controller, "tcp.pdu.pdo", "a PDO that is wrong or not aligned is refused"},
    {TransportDeparture::Product::controller, "tcp.pdu.hdgstf", "HDGSTF is set as negotiated"},
    {TransportDeparture::Product::controller, "tcp.pdu.ddgstf", "DDGSTF is set as negotiated"},
    {TransportDeparture::Product::controller, "tcp.pdu.hdgst", "a wrong header digest ends the connection"},
    {TransportDeparture::Product::controller, "tcp.pdu.ddgst", "a wrong data digest fails its command"},
    {TransportDeparture::Product::controller, "tcp.term_req.length",
     "a TermReq of an impossible length ends the connection"},
    {TransportDeparture::Product::controller, "tcp.term_req.received", "a TermReq ends the connection"},
    {TransportDeparture::Product::controller, "tcp.term_req.never", "a fatal error is answered by a TermReq"},
    {TransportDeparture::Product::controller, "tcp.capsule.admin_room", "an admin capsule takes 8192 bytes"},
    {TransportDeparture::Product::controller, "tcp.capsule.room", "a capsule with too much data is refused"},
    {TransportDeparture::Product::controller, "tcp.sgl.type", "a descriptor of another type is refused"},
    {TransportDeparture::Product::controller, "tcp.sgl.offset", "an offset outside of the capsule is refused"},
    {TransportDeparture::Product::controller, "tcp.sgl.read_inside", "data to the host has no place in a capsule"},
    {TransportDeparture::Product::controller, "tcp.sgl.length", "a descriptor shorter than the data is refused"},
    {TransportDeparture::Product::controller, "tcp.r2t.small", "small data that is in no capsule is asked for"},
    {TransportDeparture::Product::controller, "tcp.r2t.limit", "R2Ts outstanding keep to MAXR2T"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.ttag", "H2CData without an R2T is refused"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.cccid", "H2CData of another command is refused"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.after_last", "H2CData after the last is refused"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.datal", "DATAL is held against the data"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.limit", "H2CData keeps to MAXH2CDATA"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.range", "H2CData keeps to the range of its R2T"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.offset", "H2CData continues the data before it"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.early_last", "LAST_PDU is at the end of the R2T"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.below", "H2CData begins no sooner than its R2T"},
    {TransportDeparture::Product::controller, "tcp.h2c_data.last_ends", "LAST_PDU does not stand for data that lacks"},
    {TransportDeparture::Product::controller, "tcp.c2h_data.alignment", "data is aligned to HPDA"},
    {TransportDeparture::Product::controller, "tcp.success.always",
     "SUCCESS is for hosts without SQ flow control"},
    {TransportDeparture::Product::controller, "tcp.stream.split", "PDUs may come in pieces"},
};

}  // namespace fb::transport
