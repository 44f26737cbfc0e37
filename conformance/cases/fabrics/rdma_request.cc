// Connection requests and accepts: the private data of the connection manager's messages.
#include "conformance/cases/fabrics/common.h"
#include "conformance/cases/fabrics/own_device.h"
#include "conformance/runner/verbs_user.h"
#include "sim/rdma/softroce/softroce.h"
#include "wire/fabrics/rdma_private_data.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

namespace rq = fabrics::rdma_request;
using fabrics::RdmaRejectStatus;

constexpr std::uint16_t kEntries = 32;
constexpr std::uint32_t kConnections = 24;

Record<fabrics::RdmaRequest> good_request() {
  Record<fabrics::RdmaRequest> request;
  request.set(rq::hrqsize, kEntries).set(rq::hsqsize, kEntries - 1u);
  return request;
}

/// A connection with this private data, answered or given up.
VerbsQueue& request_connection(ControllerBench& bench, VerbsUser& user, const Record<fabrics::RdmaRequest>& request,
                               std::uint8_t responder_resources = 16, std::uint8_t initiator_depth = 0) {
  rdma::ConnectionParameters parameters;
  parameters.private_data = request.bytes();
  parameters.responder_resources = responder_resources;
  parameters.initiator_depth = initiator_depth;
  VerbsQueue& queue = user.connect(bench.at(), parameters);
  bench.world().run_until(
      [&] {
        return queue.happened(ConnectionEvent::established) || queue.happened(ConnectionEvent::rejected) ||
               queue.happened(ConnectionEvent::unreachable);
      },
      10_s);
  return queue;
}

/// A connection for an I/O queue of this many entries, as `connect` will ask for.
VerbsQueue& connect_io(ControllerBench& bench, Check& check, VerbsUser& user, RawAssociation& association,
                       const host::ConnectCommand& connect, std::uint16_t entries) {
  Record<fabrics::RdmaRequest> request;
  request.set(rq::qid, connect.sqe.get(cs::qid))
      .set(rq::hrqsize, entries)
      .set(rq::hsqsize, entries - 1u)
      .set(rq::cntlid, association.cntlid());
  rdma::ConnectionParameters parameters;
  parameters.private_data = request.bytes();
  parameters.responder_resources = 16;
  VerbsQueue& queue = user.connect(bench.at(), parameters);
  check.precondition(queue.wait_event(ConnectionEvent::established, 10_s), "the connection is accepted");
  return queue;
}

/// For a queue of a size that it may have.
Record<fabrics::RdmaRequest> good_request_for(ControllerBench& bench, unsigned qid) {
  auto request = good_request();
  const unsigned most = qid == 0 ? unsigned{kEntries} : std::min<unsigned>(kEntries, bench.declared().queue_entries_max());
  request.set(rq::qid, qid).set(rq::hsqsize, most - 1).set(rq::hrqsize, most);
  return request;
}

/// The admin queue, the first I/O queue and the last.
std::vector<unsigned> queues_of_a_kind(ControllerBench& bench) { return {0, 1, std::max<unsigned>(bench.declared().io_queues, 1)}; }

/// Rejected by the consumer, with this status in the NVMe private data.
void expect_reject(Check& check, const VerbsQueue& queue, RdmaRejectStatus status) {
  check.require(queue.happened(ConnectionEvent::rejected), "the connection request is rejected",
                queue.happened(ConnectionEvent::established) ? "it is accepted" : "no answer");
  check.equal("reason of the REJ", queue.reject_reason(), fabrics::kRdmaConsumerReject);
  const auto reject = View<fabrics::RdmaReject>::over(queue.private_data());
  check.require(reject.has_value(), "the REJ carries NVMe private data", "it is too short");
  check.equal("RECFMT of the REJ", reject->get(fabrics::rdma_reject::recfmt), 0u);
  check.equal("STS of the REJ", static_cast<unsigned>(reject->get(fabrics::rdma_reject::sts)), static_cast<unsigned>(status));
}

}  // namespace

CONFORMANCE_CASE(request_of_unknown_format_is_rejected, "fabrics.rdma.request.recfmt", roles::controller, reaches{"rdma.reject.recfmt"}) {
  VerbsUser user(bench.world(), bench.device());
  for (unsigned bit = 0; bit < 16; ++bit) {
    auto request = good_request_for(bench, bit % 2);
    request.set(rq::recfmt, 1u << bit);
    expect_reject(check, request_connection(bench, user, request), RdmaRejectStatus::invalid_recfmt);
  }
}

CONFORMANCE_CASE(request_without_send_queue_is_rejected, "fabrics.rdma.request.hsqsize", roles::controller,
                 reaches{"rdma.reject.hsqsize_minimum"}) {
  VerbsUser user(bench.world(), bench.device());
  for (const unsigned qid : queues_of_a_kind(bench)) {
    auto request = good_request_for(bench, qid);
    request.set(rq::hsqsize, 0u);
    expect_reject(check, request_connection(bench, user, request), RdmaRejectStatus::invalid_hsqsize);
  }
}

CONFORMANCE_CASE(request_without_receive_queue_is_rejected, "fabrics.rdma.request.hrqsize", roles::controller,
                 reaches{"rdma.reject.hrqsize"}) {
  VerbsUser user(bench.world(), bench.device());
  for (const unsigned qid : queues_of_a_kind(bench)) {
    auto request = good_request_for(bench, qid);
    request.set(rq::hrqsize, 0u);
    expect_reject(check, request_connection(bench, user, request), RdmaRejectStatus::invalid_hrqsize);
  }
}

CONFORMANCE_CASE(request_for_impossible_queue_is_rejected, "fabrics.rdma.request.qid", roles::controller) {
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = bench.unconnected_queue({.qid = 0xFFFE, .cntlid = association.cntlid()});
  const host::RawConnection made = queue.connect_transport().wait();
  if (!made.connected) {
    check.equal("reason of the REJ", made.end.cm_reason, fabrics::kRdmaConsumerReject);
    check.equal("STS of the REJ", made.end.status, static_cast<std::uint16_t>(RdmaRejectStatus::invalid_qid));
    return;
  }
  check.status(answered(check, queue.send(association.io_connect(0xFFFE)).wait()),
               one_of(sc::connect_invalid_parameters, sc::invalid_queue_identifier), "Connect");
}

CONFORMANCE_CASE(queues_of_every_legal_size_are_accepted, "fabrics.rdma.request.sizes", roles::controller) {
  VerbsUser user(bench.world(), bench.device());
  struct Try {
    unsigned qid, entries, hrqsize;
  };
  const unsigned most = bench.declared().queue_entries_max();
  const unsigned last = std::max<unsigned>(bench.declared().io_queues, 1);
  for (const Try& one : {Try{0, 2, 2}, Try{0, 32, 32}, Try{0, 32, 4096}, Try{1, 2, 2}, Try{1, 129, 129}, Try{1, 257, 257},
                         Try{1, most - 1, most}, Try{1, most, most}, Try{last, 32, 32}, Try{last, most, most}}) {
    if (one.entries < 2 || one.entries > most) continue;
    auto request = good_request();
    request.set(rq::qid, one.qid).set(rq::hsqsize, one.entries - 1).set(rq::hrqsize, one.hrqsize);
    VerbsQueue& queue = request_connection(bench, user, request);
    const std::string what = "a request for queue " + std::to_string(one.qid) + " of " + std::to_string(one.entries) + " entries";
    check.that(queue.happened(ConnectionEvent::established), what + " is accepted", "it is not");
    queue.qp().disconnect();
    queue.wait_event(ConnectionEvent::disconnected, 10_s);
  }
}

CONFORMANCE_CASE(host_without_reads_is_not_read_from, "fabrics.rdma.request.ird", roles::controller) {
  VerbsUser user(bench.world(), bench.device());
  for (const unsigned qid : queues_of_a_kind(bench)) {
    const VerbsQueue& queue = request_connection(bench, user, good_request_for(bench, qid), 0);
    if (queue.happened(ConnectionEvent::established)) {
      check.equal("reads that the controller will have in flight", unsigned{queue.facts().initiator_depth}, 0u);
    } else {
      expect_reject(check, queue, RdmaRejectStatus::invalid_ird);
    }
  }
}

CONFORMANCE_CASE(accept_carries_a_queue_size, "fabrics.rdma.accept.private-data", roles::controller) {
  VerbsUser user(bench.world(), bench.device());
  const VerbsQueue& queue = request_connection(bench, user, good_request());
  check.require(queue.happened(ConnectionEvent::established), "a good request is accepted");
  const auto accept = View<fabrics::RdmaAccept>::over(queue.private_data());
  check.require(accept.has_value(), "the REP carries NVMe private data", "it is too short");
  check.equal("RECFMT", accept->get(fabrics::rdma_accept::recfmt), 0u);
  check.between("CRQSIZE", unsigned{accept->get(fabrics::rdma_accept::crqsize)}, 1u, unsigned{kEntries});
  check.bytes("reserved bytes", ByteView{queue.private_data()}.subspan(4, 28), Bytes(28));
}

CONFORMANCE_CASE(capsules_at_once_meet_a_receive_each, "fabrics.rdma.accept.receives", roles::controller, needs{&a_namespace},
                 needs{&counts_rnr_naks}) {
  constexpr std::uint16_t kFew = 8;
  constexpr std::size_t kRoom = 8192, kResponses = 16 * kRoom;
  RawAssociation& association = bench.associate();
  const host::ConnectCommand connect = association.io_connect({}, kFew);
  VerbsUser user(bench.world(), bench.device());
  VerbsQueue& queue = connect_io(bench, check, user, association, connect, kFew);
  const auto* const device = dynamic_cast<const softroce::SoftRoceDevice*>(&bench.device());
  check.precondition(device != nullptr, "the bench's device counts RNR NAKs");
  const std::uint64_t before = device->counters().rnr_naks_received;
  const unsigned crqsize = Record<fabrics::RdmaAccept>{queue.private_data()}.get(fabrics::rdma_accept::crqsize);
  const unsigned commands = std::min(crqsize, kFew - 1u);
  VerbsMemory& memory = user.memory(kResponses + 16 * kFew);
  // Each has its room: the capsule, and behind it the data.
  const auto send = [&](unsigned number, const nvme::Sqe& sqe, std::size_t bytes) {
    const std::size_t at = number * kRoom;
    const auto sgl = nvme::SglDescriptor::keyed(memory.address() + at + nvme::kSqeSize, static_cast<std::uint32_t>(bytes), memory.rkey());
    const Bytes capsule = capsule_of(sqe, static_cast<std::uint16_t>(number), sgl, {});
    std::copy(capsule.begin(), capsule.end(), memory.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return queue.post_receive(memory, number, kResponses + 16 * number, 16) && queue.post_send({}, memory, at, nvme::kSqeSize);
  };
  const auto succeeds = [&](std::string_view what) {
    const auto came = queue.wait_receive(10_s);
    check.require(came.has_value() && came->status == rdma::CompletionStatus::success, std::string(what) + " is answered", "it is not");
    const auto cqe = View<nvme::CqeLayout>::over(ByteView(memory.bytes).subspan(kResponses + 16 * came->id, 16));
    check.that(cqe->get(nvme::cqe::status).ok(), std::string(what) + " succeeds", "it does not");
  };
  const ByteView said = connect.data.bytes();
  std::copy(said.begin(), said.end(), memory.bytes.begin() + nvme::kSqeSize);
  check.require(send(0, host::as_sqe(connect.sqe), said.size()), "the capsule of Connect is sent");
  succeeds("Connect");
  const std::uint32_t block = bench.declared().block_bytes;
  for (unsigned i = 1; i <= commands; ++i) {
    const bool sent = send(i, host::as_sqe(host::write(bench.nsid(), bench.first_lba(), 1)), block);
    check.require(sent, "the capsule of a Write is sent");
  }
  for (unsigned i = 1; i <= commands; ++i) succeeds("each of " + std::to_string(commands) + " Writes that were sent at once");
  check.equal("RNR NAKs that the host has got", device->counters().rnr_naks_received - before, std::uint64_t{0});
}

CONFORMANCE_CASE(host_memory_may_have_any_address, "fabrics.rdma.data.address", roles::controller, needs{&a_namespace},
                 needs{&chooses_addresses}, beyond_interfaces("the interface chooses the addresses of memory")) {
  constexpr std::uint16_t kFew = 8;
  constexpr std::size_t kCapsule = 2048;  // room for the data of Connect behind it
  RawAssociation& association = bench.associate();
  const host::ConnectCommand connect = association.io_connect({}, kFew);
  VerbsUser user(bench.world(), bench.device());
  VerbsQueue& queue = connect_io(bench, check, user, association, connect, kFew);
  VerbsMemory& memory = user.memory(kCapsule + 16);
  std::uint16_t cid = 1;
  const auto succeeds = [&](const nvme::Sqe& sqe, std::uint64_t address, std::size_t bytes, std::uint32_t key, const std::string& what) {
    const Bytes capsule = capsule_of(sqe, cid++, nvme::SglDescriptor::keyed(address, static_cast<std::uint32_t>(bytes), key), {});
    std::copy(capsule.begin(), capsule.end(), memory.bytes.begin());
    check.require(queue.post_receive(memory, cid, kCapsule, 16) && queue.post_send({}, memory, 0, nvme::kSqeSize), "a capsule is sent");
    const auto came = queue.wait_receive(10_s);
    check.require(came.has_value() && came->status == rdma::CompletionStatus::success, what + " is answered", "it is not");
    const auto cqe = View<nvme::CqeLayout>::over(ByteView(memory.bytes).subspan(kCapsule, 16));
    check.require(cqe->get(nvme::cqe::status).ok(), what + " succeeds", "it does not");
  };
  const ByteView said = connect.data.bytes();
  std::copy(said.begin(), said.end(), memory.bytes.begin() + nvme::kSqeSize);
  succeeds(host::as_sqe(connect.sqe), memory.address() + nvme::kSqeSize, said.size(), memory.rkey(), "Connect");
  const std::uint32_t block = bench.declared().block_bytes;
  std::uint8_t seed = 0x61;
  // The last two are addresses as kernels have them.
  for (const std::uint64_t address : {std::uint64_t{0x1000}, std::uint64_t{0xFFFF'FF00}, std::uint64_t{0x1'0000'0000},
                                      std::uint64_t{0x7FFF'FFFF'F200}, std::uint64_t{0xFFFF'8881'2345'6700}, ~std::uint64_t{0} - 0xFFFF}) {
    const std::string where = " memory at address " + std::to_string(address);
    const Bytes data = pattern(block, seed++);
    Bytes image = data;
    const auto region = user.domain().register_memory_at(address, image, kAllRights);
    succeeds(host::as_sqe(host::write(bench.nsid(), bench.first_lba(), 1)), address, block, region->rkey(), "Write from" + where);
    std::fill(image.begin(), image.end(), std::uint8_t{0xEE});
    succeeds(host::as_sqe(host::read(bench.nsid(), bench.first_lba(), 1)), address, block, region->rkey(), "Read into" + where);
    check.bytes("the data of" + where, image, data);
  }
  const unsigned msdbd = bench.declared().identify().get(nvme::id_ctrl::msdbd);
  if (msdbd == 1 || bench.declared().in_capsule_bytes < 64) return;
  // Two descriptors, far apart.
  const Bytes data = pattern(std::size_t{2} * block, seed);
  Bytes low(data.begin(), data.begin() + block), high(data.begin() + block, data.end());
  constexpr std::uint64_t kLow = 0x2000, kHigh = 0xFFFF'8881'2345'6700;
  const auto first = user.domain().register_memory_at(kLow, low, kAllRights);
  const auto second = user.domain().register_memory_at(kHigh, high, kAllRights);
  Bytes list;
  for (const auto& one :
       {nvme::SglDescriptor::keyed(kLow, block, first->rkey()), nvme::SglDescriptor::keyed(kHigh, block, second->rkey())}) {
    const auto bytes = one.bytes();
    list.insert(list.end(), bytes.begin(), bytes.end());
  }
  for (const bool write : {true, false}) {
    if (!write) {
      std::ranges::fill(low, std::uint8_t{0xEE});
      std::ranges::fill(high, std::uint8_t{0xEE});
    }
    const auto sqe = write ? host::as_sqe(host::write(bench.nsid(), bench.first_lba(), 2))
                           : host::as_sqe(host::read(bench.nsid(), bench.first_lba(), 2));
    const Bytes capsule = capsule_of(sqe, cid++, nvme::SglDescriptor::list_in_capsule(0, 2), list);
    std::copy(capsule.begin(), capsule.end(), memory.bytes.begin());
    check.require(
        queue.post_receive(memory, cid, kCapsule, 16) && queue.post_send({}, memory, 0, static_cast<std::uint32_t>(capsule.size())),
        "a capsule is sent");
    const auto came = queue.wait_receive(10_s);
    check.require(came.has_value() && came->status == rdma::CompletionStatus::success, "a command with two descriptors is answered",
                  "it is not");
    const auto cqe = View<nvme::CqeLayout>::over(ByteView(memory.bytes).subspan(kCapsule, 16));
    check.precondition(cqe->get(nvme::cqe::status).ok(), "the product takes a list of two keyed descriptors");
  }
  check.bytes("the data at the low address", low, ByteView{data}.first(block));
  check.bytes("the data at the high address", high, ByteView{data}.last(block));
}

CONFORMANCE_CASE(accept_offers_no_reads, "fabrics.rdma.accept.depths", roles::controller) {
  VerbsUser user(bench.world(), bench.device());
  for (const std::uint8_t served : {std::uint8_t{2}, std::uint8_t{1}, std::uint8_t{5}, std::uint8_t{16}}) {
    VerbsQueue& queue = request_connection(bench, user, good_request(), served, 4);
    check.require(queue.happened(ConnectionEvent::established), "a good request is accepted");
    check.equal("reads that the controller serves", unsigned{queue.facts().responder_resources}, 0u);
    check.between("reads that the controller will have in flight", unsigned{queue.facts().initiator_depth}, 0u, unsigned{served});
    queue.qp().disconnect();
    queue.wait_event(ConnectionEvent::disconnected, 10_s);
  }
}

CONFORMANCE_CASE(abandoned_connections_leave_room, "fabrics.rdma.request.abandoned", roles::controller,
                 furnished([](EmbeddedSetup& setup) { setup.fabric.connections_max = kConnections; })) {
  VerbsUser user(bench.world(), bench.device());
  for (unsigned i = 0; i < 2 * kConnections; ++i) {
    rdma::ConnectionParameters parameters;
    const auto request = good_request();
    parameters.private_data = request.bytes();
    parameters.responder_resources = 16;
    VerbsQueue& queue = user.connect(bench.at(), parameters);
    // Every other one goes when it is established, the others before.
    if (i % 2 == 1) queue.wait_event(ConnectionEvent::established, 10_s);
    queue.qp().disconnect();
    queue.wait_event(ConnectionEvent::disconnected, 10_s);
    bench.world().run_for(20_ms);
  }
  const VerbsQueue& queue = request_connection(bench, user, good_request());
  check.that(queue.happened(ConnectionEvent::established), "a good request is accepted after many that were abandoned", "it is not");
}

}  // namespace fb::conformance
