#include "sim/rdma/verbs/cm_events.h"

#include <cstring>

#include "sim/net/udp_socket.h"

namespace fb::verbs {

namespace {

Endpoint endpoint_of(const sockaddr* address) {
  net::socket_detail::SocketAddress made;
  const std::size_t length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(made.get(), address, length);
  return made.endpoint().value_or(Endpoint{});
}

CmFacts facts_of(const rdma_cm_event& event) {
  CmFacts made;
  const rdma_conn_param& told = event.param.conn;
  made.facts.peer = endpoint_of(rdma_get_peer_addr(event.id));
  // The event has them as they are for the one who hears it.
  made.facts.responder_resources = told.initiator_depth;
  made.facts.initiator_depth = told.responder_resources;
  made.facts.rnr_retry_count = told.rnr_retry_count;
  const auto* const data = static_cast<const std::uint8_t*>(told.private_data);
  if (data != nullptr) made.private_data.assign(data, data + told.private_data_len);
  return made;
}

}  // namespace

rdma::ConnectionFacts CmFacts::get() const {
  rdma::ConnectionFacts made = facts;
  made.private_data = private_data;
  return made;
}

Owned<rdma_cm_id> make_identifier(Shared& shared, CmOwner& owner) {
  rdma_cm_id* made = nullptr;
  if (rdma_create_id(shared.channel.get(), &made, nullptr, RDMA_PS_TCP) != 0) return nullptr;
  set_owner(*made, owner);
  return Owned<rdma_cm_id>(made);
}

void set_owner(rdma_cm_id& id, CmOwner& owner) { id.context = &owner; }

CmEvents::CmEvents(Shared& shared) : s_(shared) {
  set_nonblocking(s_.channel->fd);
  s_.loop.watch(s_.channel->fd, *this);
}

CmEvents::~CmEvents() { s_.loop.unwatch(s_.channel->fd); }

void CmEvents::on_readable() {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(s_.channel.get(), &event) == 0) {
    const bool asks = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    CmEvent taken{event->event, event->status, Owned<rdma_cm_id>(asks ? event->id : nullptr), facts_of(*event)};
    auto* const owner = static_cast<CmOwner*>((asks ? event->listen_id : event->id)->context);
    // At once: an identifier cannot be destroyed while one of its events is out.
    rdma_ack_cm_event(event);
    owner->on_cm_event(std::move(taken));
  }
}

}  // namespace fb::verbs
