// The named points at which the transports ask TransportHooks::departs().
#pragma once

#include <cstdint>
#include <string_view>

#include "base/fault_point.h"

namespace fb::transport {

inline constexpr FaultPoint kTransportFaultPoints[] = {
    {"rdma.reject.private_data_length", "short private data in a connection request is refused with status 1"},
    {"rdma.reject.recfmt", "an unknown record format is refused with status 2"},
    {"rdma.reject.qid", "a queue identifier beyond those there are is refused with status 3"},
    {"rdma.reject.hsqsize_minimum", "a submission queue of one entry is refused with status 4"},
    {"rdma.reject.hsqsize_maximum", "a submission queue that is too large is refused with status 4"},
    {"rdma.reject.hrqsize", "a host without receive entries is refused with status 5"},
    {"rdma.reject.responder_resources", "a host that serves no RDMA READ is refused with status 7"},
    {"rdma.reject.resources", "connections beyond the bound are refused with status 6"},
    {"rdma.reject.status", "the status in a reject is one of those defined"},
    {"rdma.reject.reason", "a reject with NVMe private data has the CM reason consumer defined"},
    {"rdma.connection.abandoned", "a connection that was never established does not count any more"},
    {"rdma.accept.recfmt", "private data of an accept has record format 0"},
    {"rdma.accept.crqsize", "CRQSIZE is not above the size of the host's queue"},
    {"rdma.accept.receives", "there are as many receives as CRQSIZE says"},
    {"rdma.reject.last_entry", "a queue of the largest size is accepted"},
    {"rdma.sgl.list_types", "the descriptors of a list are keyed data blocks"},
    {"rdma.sgl.in_capsule_read", "a command that reads has no data in its capsule"},
    {"rdma.data.address", "addresses of the host's memory count in all their bits"},
    {"rdma.accept.responder_resources", "the controller offers no RDMA READs, not even to a host that asks for them"},
    {"rdma.capsule.admin_room", "a capsule longer than 64 bytes is not taken on the admin queue"},
    {"rdma.capsule.short", "a capsule shorter than 64 bytes ends the connection"},
    {"rdma.sgl.type", "an SGL descriptor type that is not supported is refused"},
    {"rdma.sgl.subtype", "an unknown subtype of a keyed descriptor is refused"},
    {"rdma.sgl.in_capsule_admin", "in-capsule data is refused on the admin queue"},
    {"rdma.sgl.offset", "an offset outside the capsule is refused"},
    {"rdma.sgl.length", "an SGL shorter than the transfer is refused"},
    {"rdma.sgl.list_length", "a last segment whose length is not a multiple of 16 is refused"},
    {"rdma.sgl.list_count", "more descriptors than MSDBD are refused"},
    {"rdma.data.after_response", "data arrives before the response"},
    {"rdma.data.again_after_response", "host memory is left alone once the response is sent"},
    {"rdma.data.left_key", "memory of a finished command whose key was left to the host is left alone"},
    {"rdma.data.beyond_length", "no more is written than the command transfers"},
    {"rdma.data.short", "all that the command transfers is written"},
    {"rdma.invalidate.never", "nothing: a controller may leave invalidation to the host, who has to see it"},
    {"rdma.invalidate.not_asked", "a key is invalidated only where the host asked for it"},
    {"rdma.invalidate.wrong_key", "no key but the command's is invalidated"},
    {"rdma.invalidate.first_key", "of several keys the last one is invalidated"},
    {"rdma.response.two_sends", "a response is one SEND"},
    {"rdma.response.longer", "a response capsule has 16 bytes"},
    {"rdma.host.request.recfmt", "private data of a connection request has record format 0"},
    {"rdma.host.request.qid", "the request names the queue that Connect names later"},
    {"rdma.host.request.hrqsize", "the host has receive entries"},
    {"rdma.host.request.hsqsize", "HSQSIZE equals the SQSIZE of Connect"},
    {"rdma.host.request.cntlid", "CNTLID is 0 on the admin queue and the controller's on an I/O queue"},
    {"rdma.host.request.length", "private data of a connection request has 32 bytes"},
    {"rdma.host.request.responder_resources", "the host serves RDMA READs"},
    {"rdma.host.request.initiator_depth", "the host does not ask to read from the controller"},
    {"rdma.host.sgl.keyed_length", "the SGL is as long as the transfer"},
    {"rdma.host.capsule.admin_in_capsule", "data goes into no capsule of the admin queue"},
    {"rdma.host.capsule.too_long", "a capsule is not longer than the controller's capsules may be"},
    {"rdma.host.invalidate.ignore_bogus", "a response that invalidated a wrong key ends the connection"},
    {"rdma.host.response.length", "a response capsule of another length than 16 bytes ends the connection"},
    {"rdma.host.invalidate.no_local", "a key that the controller did not invalidate is invalidated by the host"},
};

}  // namespace fb::transport
