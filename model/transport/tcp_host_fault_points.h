// The named points at which the host side of NVMe/TCP asks TransportHooks::departs(): the checks of what
// arrives, which a careless host leaves out, and some ways of its own.
#pragma once

#include <string_view>

#include "base/fault_point.h"

namespace fb::transport {

inline constexpr FaultPoint kTcpHostFaultPoints[] = {
    {"tcp.host.ic_req.pfv", "ICReq has PFV 0"},
    {"tcp.host.ic_req.hpda", "HPDA is at most 31"},
    {"tcp.host.early_capsule", "nothing but ICReq comes before ICResp"},
    {"tcp.host.ic_resp.timeout", "a host does not wait for ICResp for ever"},
    {"tcp.host.ic_resp.pfv", "an unknown PFV ends the connection"},
    {"tcp.host.ic_resp.cpda", "a CPDA above 31 ends the connection"},
    {"tcp.host.ic_resp.digest", "a digest that was not asked for ends the connection"},
    {"tcp.host.ic_resp.maxh2cdata", "an impossible MAXH2CDATA ends the connection"},
    {"tcp.host.ic.plen", "an ICResp of another length ends the connection"},
    {"tcp.host.sequence", "ICResp comes first, and once"},
    {"tcp.host.digest.always", "there are no digests that were not negotiated"},
    {"tcp.host.digest.together", "each digest is used where it was granted, whatever became of the other"},
    {"tcp.host.ddgst.ignored", "data with a wrong digest is not reported as good"},
    {"tcp.host.ddgst.fatal", "a wrong data digest does not end the connection"},
    {"tcp.host.pdu.type", "a PDU of a reserved type ends the connection"},
    {"tcp.host.pdu.direction", "a PDU that goes the other way ends the connection"},
    {"tcp.host.pdu.hdgstf", "HDGSTF is as negotiated"},
    {"tcp.host.pdu.ddgstf", "DDGSTF is as negotiated"},
    {"tcp.host.pdu.hdgst", "a wrong header digest ends the connection"},
    {"tcp.host.pdu.hlen", "a wrong HLEN ends the connection"},
    {"tcp.host.pdu.plen", "a PLEN that cannot be ends the connection"},
    {"tcp.host.pdu.pdo", "a PDO that cannot be ends the connection"},
    {"tcp.host.capsule.alignment", "data begins where CPDA allows"},
    {"tcp.host.capsule.too_long", "a capsule is not longer than the controller takes"},
    {"tcp.host.h2c_data.too_long", "no H2CData has more than MAXH2CDATA"},
    {"tcp.host.r2t.cccid", "an R2T for an unknown command ends the connection"},
    {"tcp.host.r2t.direction", "an R2T for a command without data to fetch ends the connection"},
    {"tcp.host.r2t.length", "an R2T for nothing ends the connection"},
    {"tcp.host.r2t.range", "an R2T beyond the buffer ends the connection"},
    {"tcp.host.r2t.offset", "R2Ts of a command follow one another"},
    {"tcp.host.r2t.limit", "no more R2Ts than MAXR2T allows"},
    {"tcp.host.c2h_data.cccid", "C2HData for an unknown command ends the connection"},
    {"tcp.host.c2h_data.direction", "C2HData for a command that gets none ends the connection"},
    {"tcp.host.c2h_data.success", "SUCCESS stands in the last C2HData alone"},
    {"tcp.host.c2h_data.after_last", "nothing comes after the last C2HData"},
    {"tcp.host.c2h_data.datal", "DATAL is the length of the data"},
    {"tcp.host.c2h_data.range", "C2HData beyond the buffer ends the connection"},
    {"tcp.host.c2h_data.offset", "C2HData has no holes"},
    {"tcp.host.c2h_data.first_only", "all the data of a command is taken"},
    {"tcp.host.c2h_data.short_success", "SUCCESS needs all the data"},
    {"tcp.host.c2h_data.success_ignored", "SUCCESS completes the command"},
    {"tcp.host.term_req.ignored", "C2HTermReq ends the connection"},
    {"tcp.host.term_req.length", "a C2HTermReq of no possible length ends the connection"},
    {"tcp.host.lost.completes", "a lost connection completes no command"},
    {"tcp.term_req.never", "a fatal error is told by H2CTermReq"},
    {"tcp.stream.split", "a PDU may come in any pieces"},
};

}  // namespace fb::transport
