#include "model/transport/rdma_rules.h"

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/sqe.h"

namespace fb::transport {

namespace {

using nvme::SglDescriptor;
using nvme::SglType;
using nvme::Status;

constexpr std::size_t kSglOffset = 24;

bool is_keyed(const SglDescriptor& descriptor) {
  return descriptor.type == SglType::keyed_data_block &&
         (descriptor.subtype == nvme::sgl_subtype::address || descriptor.subtype == nvme::sgl_subtype::invalidate_key);
}

KeyedSegment to_segment(const SglDescriptor& descriptor) {
  return {descriptor.address, descriptor.length, descriptor.key, descriptor.subtype == nvme::sgl_subtype::invalidate_key};
}

bool beyond(std::uint64_t offset, std::uint64_t length, std::size_t room) { return offset > room || length > room - offset; }

Status read_keyed(const SglDescriptor& descriptor, std::size_t bytes, TransportHooks* hooks, SglPlan& plan) {
  if (descriptor.length < bytes && !departs(hooks, "rdma.sgl.length")) {
    return nvme::sc::data_sgl_length_invalid;
  }
  plan.kind = SglPlan::Kind::keyed;
  plan.segments = 1;
  plan.first = plan.last = to_segment(descriptor);
  return {};
}

Status read_in_capsule(const SglDescriptor& descriptor, ByteView sqe, ByteView in_capsule, std::size_t bytes, TransportHooks* hooks,
                       SglPlan& plan) {
  // Data to the host has no way through a command capsule. Bits 1:0 of the opcode, and of FCTYPE,
  // say the direction.
  const std::uint8_t code = sqe[0] == nvme::kFabricsOpcode ? sqe[4] : sqe[0];
  if (!departs(hooks, "rdma.sgl.in_capsule_read") && bytes > 0 && (code & 3) == 2) return nvme::sc::sgl_descriptor_type_invalid;
  const bool outside = beyond(descriptor.address, descriptor.length, in_capsule.size());
  if (outside && !departs(hooks, "rdma.sgl.offset")) return nvme::sc::sgl_offset_invalid;
  if (descriptor.length < bytes && !departs(hooks, "rdma.sgl.length")) {
    return nvme::sc::data_sgl_length_invalid;
  }
  plan.kind = SglPlan::Kind::in_capsule;
  plan.offset = static_cast<std::uint32_t>(std::min<std::uint64_t>(descriptor.address, in_capsule.size()));
  return {};
}

Status read_list(const SglDescriptor& segment, ByteView in_capsule, const SglLimits& limits, std::size_t bytes, TransportHooks* hooks,
                 SglPlan& plan) {
  if (segment.length == 0 || segment.length % SglDescriptor::kSize != 0) {
    if (!departs(hooks, "rdma.sgl.list_length")) return nvme::sc::invalid_sgl_segment_descriptor;
  }
  if (beyond(segment.address, segment.length, in_capsule.size())) {
    return nvme::sc::sgl_offset_invalid;
  }
  const std::size_t count = segment.length / SglDescriptor::kSize;
  const std::size_t most = std::min<std::size_t>(limits.msdbd, kSegmentsMax);
  if (count > most && (count > kSegmentsMax || !departs(hooks, "rdma.sgl.list_count"))) {
    return nvme::sc::invalid_number_of_sgl_descriptors;
  }
  plan.list = true;
  plan.offset = static_cast<std::uint32_t>(segment.address);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ByteView at = in_capsule.subspan(plan.offset + i * SglDescriptor::kSize);
    const SglDescriptor descriptor = SglDescriptor::parse(at);
    if (!is_keyed(descriptor) && !departs(hooks, "rdma.sgl.list_types")) return nvme::sc::sgl_descriptor_type_invalid;
    sum += descriptor.length;
    if (i == 0) plan.first = to_segment(descriptor);
    plan.last = to_segment(descriptor);
  }
  if (sum < bytes && !departs(hooks, "rdma.sgl.length")) return nvme::sc::data_sgl_length_invalid;
  plan.kind = count == 0 ? SglPlan::Kind::none : SglPlan::Kind::keyed;
  plan.segments = static_cast<std::uint8_t>(count);
  return {};
}

}  // namespace

Status read_sgl(ByteView sqe, ByteView in_capsule, const SglLimits& limits, std::size_t bytes, TransportHooks* hooks, SglPlan& plan) {
  plan = {};
  const SglDescriptor descriptor = SglDescriptor::parse(sqe.subspan(kSglOffset));
  if (is_keyed(descriptor)) return read_keyed(descriptor, bytes, hooks, plan);
  const bool offset = descriptor.subtype == nvme::sgl_subtype::offset;
  // An admin queue's capsules have no room behind the command, so nothing can lie there.
  const bool room = limits.capsule_room > 0;
  if (!room && offset && departs(hooks, "rdma.sgl.in_capsule_admin")) return {};
  if (descriptor.type == SglType::data_block && offset && room) {
    return read_in_capsule(descriptor, sqe, in_capsule, bytes, hooks, plan);
  }
  if (descriptor.type == SglType::last_segment && offset && room) {
    return read_list(descriptor, in_capsule, limits, bytes, hooks, plan);
  }
  if (descriptor.type == SglType::keyed_data_block) {
    // Another subtype of the keyed descriptor, read as if it were an address.
    if (departs(hooks, "rdma.sgl.subtype")) return read_keyed(descriptor, bytes, hooks, plan);
  } else if (departs(hooks, "rdma.sgl.type")) {
    return {};
  }
  return nvme::sc::sgl_descriptor_type_invalid;
}

KeyedSegment segment_of(const SglPlan& plan, ByteView in_capsule, std::size_t index) {
  BENCH_ASSERT(plan.kind == SglPlan::Kind::keyed && index < plan.segments, "no such segment");
  if (!plan.list) return plan.first;
  return to_segment(SglDescriptor::parse(in_capsule.subspan(plan.offset + index * SglDescriptor::kSize)));
}

QueueRequest read_queue_request(ByteView private_data) {
  namespace field = fabrics::rdma_request;
  const Record<fabrics::RdmaRequest> request{private_data};
  QueueRequest made;
  made.qid = request.get(field::qid);
  made.hrqsize = request.get(field::hrqsize);
  made.entries = static_cast<std::uint32_t>(request.get(field::hsqsize).count());
  made.cntlid = request.get(field::cntlid);
  return made;
}

std::optional<QueueRefusal> check_queue_request(ByteView private_data, std::uint8_t responder_resources,
                                                const ControllerFabricOptions& options, std::uint32_t connections, TransportHooks* hooks) {
  using Sts = fabrics::RdmaRejectStatus;
  const Record<fabrics::RdmaRequest> record{private_data};
  const QueueRequest request = read_queue_request(private_data);
  const bool admin = request.qid == 0;
  const std::uint32_t entries_max = admin ? options.admin_entries_max : options.io_entries_max;
  const struct {
    bool fails;
    std::string_view point;
    Sts status;
  } checks[] = {
      {private_data.size() < fabrics::RdmaRequest::size, "rdma.reject.private_data_length", Sts::invalid_private_data_length},
      {record.get(fabrics::rdma_request::recfmt) != fabrics::kRdmaRecordFormat, "rdma.reject.recfmt", Sts::invalid_recfmt},
      {request.qid > options.io_queues_max, "rdma.reject.qid", Sts::invalid_qid},
      // A queue has at least two entries, and HSQSIZE is 0's based.
      {request.entries < 2, "rdma.reject.hsqsize_minimum", Sts::invalid_hsqsize},
      {request.entries > entries_max, "rdma.reject.hsqsize_maximum", Sts::invalid_hsqsize},
      {request.hrqsize == 0, "rdma.reject.hrqsize", Sts::invalid_hrqsize},
      // Without reads we could never fetch the data of Connect.
      {responder_resources == 0, "rdma.reject.responder_resources", Sts::invalid_ird},
      {connections >= options.connections_max, "rdma.reject.resources", Sts::no_resources},
  };
  if (request.entries == entries_max && departs(hooks, "rdma.reject.last_entry")) {
    return QueueRefusal{"rdma.reject.hsqsize_maximum", Sts::invalid_hsqsize};
  }
  for (const auto& check : checks) {
    if (check.fails && !departs(hooks, check.point)) return QueueRefusal{check.point, check.status};
  }
  return std::nullopt;
}

Bytes make_queue_request(const ChannelOptions& options, TransportHooks* hooks) {
  namespace field = fabrics::rdma_request;
  Record<fabrics::RdmaRequest> request;
  const unsigned entries = options.entries;
  request.set(field::recfmt, departs(hooks, "rdma.host.request.recfmt") ? 1u : 0u);
  request.set(field::qid, options.qid + (departs(hooks, "rdma.host.request.qid") ? 1u : 0u));
  request.set(field::hrqsize, departs(hooks, "rdma.host.request.hrqsize") ? 0u : entries);
  request.set(field::hsqsize, departs(hooks, "rdma.host.request.hsqsize") ? entries / 2 - 1 : entries - 1);
  const unsigned cntlid = options.qid == 0 ? 0u : options.cntlid;
  request.set(field::cntlid, cntlid ^ (departs(hooks, "rdma.host.request.cntlid") ? 0x5A5u : 0u));
  Bytes data(request.bytes().begin(), request.bytes().end());
  if (departs(hooks, "rdma.host.request.length")) data.pop_back();
  if (hooks != nullptr) hooks->private_data_out("req", data);
  return data;
}

Bytes make_queue_accept(const QueueRequest& request, TransportHooks* hooks) {
  namespace field = fabrics::rdma_accept;
  Record<fabrics::RdmaAccept> accept;
  accept.set(field::recfmt, departs(hooks, "rdma.accept.recfmt") ? 1u : 0u);
  // As 0's based as HSQSIZE: the two are to be equal where RNR is not relied upon.
  accept.set(field::crqsize, departs(hooks, "rdma.accept.crqsize") ? request.entries + 7 : request.entries - 1);
  Bytes data(accept.bytes().begin(), accept.bytes().end());
  if (hooks != nullptr) hooks->private_data_out("rep", data);
  return data;
}

Bytes make_queue_reject(fabrics::RdmaRejectStatus status, TransportHooks* hooks) {
  namespace field = fabrics::rdma_reject;
  Record<fabrics::RdmaReject> reject;
  const unsigned sts = static_cast<unsigned>(status);
  reject.set(field::recfmt, fabrics::kRdmaRecordFormat);
  reject.set(field::sts, departs(hooks, "rdma.reject.status") ? sts + 0x40 : sts);
  Bytes data(reject.bytes().begin(), reject.bytes().end());
  if (hooks != nullptr) hooks->private_data_out("rej", data);
  return data;
}

ChannelEnd refused_end(std::uint16_t cm_reason, ByteView private_data) {
  ChannelEnd end;
  end.kind = ChannelEnd::Kind::refused;
  end.cm_reason = cm_reason;
  end.text = "connection refused: CM reject reason " + std::to_string(cm_reason);
  const auto reject = View<fabrics::RdmaReject>::over(private_data);
  if (cm_reason == fabrics::kRdmaConsumerReject && reject) {
    end.status = static_cast<std::uint16_t>(reject->get(fabrics::rdma_reject::sts));
    end.text += ", NVMe/RDMA status " + std::to_string(end.status) + " (";
    end.text += name_of(reject->get(fabrics::rdma_reject::sts));
    end.text += ")";
  }
  return end;
}

void write_sgl(MutableBytes sqe, const std::array<std::uint8_t, 16>& descriptor) {
  sqe[1] = static_cast<std::uint8_t>((sqe[1] & 0x3F) | 0x40);
  std::copy_n(descriptor.begin(), descriptor.size(), sqe.begin() + kSglOffset);
}

void trace_capsule(World& world, std::string_view actor, bool command, bool sent, std::uint16_t qid, ByteView capsule) {
  const std::string text = (sent ? "out qid " : "in qid ") + std::to_string(qid);
  TraceEvent event;
  event.kind = TraceKind::capsule;
  event.time = world.now();
  event.actor = actor;
  event.label = command ? "nvme.command" : "nvme.completion";
  event.text = text;
  event.bytes = capsule;
  world.trace().emit(event);
}

ControllerFabricFacts rdma_fabric_facts(const ControllerFabricOptions& options) {
  constexpr std::uint32_t kSgl = 1u, kKeyed = 1u << 2, kLongerSgl = 1u << 18, kOffset = 1u << 20;
  ControllerFabricFacts facts;
  facts.name = fabrics::kRdma;
  facts.trtype = 1;
  facts.in_capsule_bytes = options.in_capsule_bytes;
  facts.msdbd = options.msdbd;
  facts.sgls = kSgl | kKeyed | kLongerSgl | (options.in_capsule_bytes > 0 ? kOffset : 0);
  return facts;
}

}  // namespace fb::transport
