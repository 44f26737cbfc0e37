#include "sim/rdma/verbs/listener.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>

#include "sim/net/udp_socket.h"

namespace fb::verbs {

namespace {
// Requests that wait for this process to look at them.
constexpr int kBacklog = 128;
// Private data of a REJ behind what the connection manager has there itself.
constexpr std::size_t kRejectRoom = 148;
}  // namespace

int Listener::open(std::uint16_t port) {
  id_ = make_identifier(s_, *this);
  if (id_ == nullptr) return errno;
  net::socket_detail::SocketAddress at(Endpoint{s_.address, port});
  if (rdma_bind_addr(id_.get(), at.get()) != 0 || rdma_listen(id_.get(), kBacklog) != 0) return errno;
  local_ = {s_.address, ntohs(rdma_get_src_port(id_.get()))};
  return 0;
}

void Listener::on_cm_event(CmEvent event) {
  if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) return;
  handler_.on_connection_request(std::make_unique<ConnectionRequest>(std::move(event.made), std::move(event.facts)));
}

ConnectionRequest::ConnectionRequest(Owned<rdma_cm_id> id, CmFacts facts)
    : id_(std::move(id)), facts_(std::move(facts)), shown_(facts_.get()) {
  set_owner(*id_, *this);
}

ConnectionRequest::~ConnectionRequest() { reject(rdma::reject_reason::no_resources, {}); }

void ConnectionRequest::accept(rdma::QueuePair& qp, const rdma::ConnectionParameters& parameters) {
  if (id_ != nullptr) static_cast<QueuePair&>(qp).accept(std::move(id_), facts_, parameters);
}

void ConnectionRequest::reject(std::uint16_t, ByteView private_data) {
  if (id_ == nullptr) return;
  const std::size_t length = std::min(private_data.size(), kRejectRoom);
  rdma_reject(id_.get(), private_data.data(), static_cast<std::uint8_t>(length));
  id_.reset();
}

}  // namespace fb::verbs
