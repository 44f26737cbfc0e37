// The commands of the fabric: Connect, Property Get and Set, Disconnect. What does not depend on the controller is decided here.
#include <algorithm>
#include <optional>
#include <string>

#include "model/library/front.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/disconnect.h"
#include "wire/fabrics/property.h"

namespace fb::library {

namespace sc = nvme::sc;
namespace cs = fabrics::connect_sqe;
namespace cd = fabrics::connect_data;
namespace ps = fabrics::property_sqe;

namespace {
/// How long a host may take to end the connection of a queue that it disconnected.
constexpr Duration kRetirement = Duration::s(1);
}  // namespace

void FrontQueue::start_connect(transport::ArrivedCommand& arrived) {
  if (View<fabrics::ConnectSqe>{arrived.sqe}.get(cs::recfmt) != fabrics::kConnectRecordFormat) {
    return complete(arrived, nvme::Status(sc::incompatible_format).with_dnr());
  }
  const nvme::Status status = channel_->stage(arrived, fabrics::ConnectData::size);
  if (!status.ok()) return complete(arrived, status.with_dnr());
  channel_->pull(arrived);
}

void FrontQueue::refuse_connect(transport::ArrivedCommand& arrived, std::uint16_t offset, bool in_data) {
  complete(arrived, nvme::Status(sc::connect_invalid_parameters).with_dnr(), fabrics::InvalidParameter{offset, in_data}.dw0());
}

bool FrontQueue::well_formed(transport::ArrivedCommand& arrived) {
  const View<fabrics::ConnectSqe> sqe{arrived.sqe};
  const View<fabrics::ConnectData> data{arrived.data};
  const auto refused = [&](std::uint16_t offset, bool in_data) {
    refuse_connect(arrived, offset, in_data);
    return false;
  };
  const std::uint16_t qid = sqe.get(cs::qid);
  const std::optional<std::uint16_t> requested = channel_->requested_qid();
  if (requested && *requested != qid) return refused(cs::qid.offset, false);
  const auto subnqn = fabrics::terminated_text(data.get(cd::subnqn));
  if (!subnqn || !fabrics::valid_nqn(*subnqn)) return refused(cd::subnqn.offset, true);
  const auto hostnqn = fabrics::terminated_text(data.get(cd::hostnqn));
  if (!hostnqn || !fabrics::valid_nqn(*hostnqn)) return refused(cd::hostnqn.offset, true);
  const std::uint64_t entries = sqe.get(cs::sqsize).count();
  const std::uint32_t most = qid == fabrics::kAdminQueue ? front_.table().admin_entries : front_.table().io_entries;
  if (entries < 2 || entries > most || entries > channel_->entries()) return refused(cs::sqsize.offset, false);
  if (qid == fabrics::kAdminQueue) return true;
  const std::uint16_t cntlid = data.get(cd::cntlid);
  const Front::Association* const association = front_.association_of(*subnqn, cntlid);
  if (association == nullptr && !front_.knows(*subnqn)) return refused(cd::subnqn.offset, true);
  if (association == nullptr) return refused(cd::cntlid.offset, true);
  if (*hostnqn != association->hostnqn) return refused(cd::hostnqn.offset, true);
  const ByteView hostid = data.get(cd::hostid);
  const bool zero = std::ranges::all_of(hostid, [](std::uint8_t byte) { return byte == 0; });
  if (!zero && !std::ranges::equal(hostid, association->hostid)) return refused(cd::hostid.offset, true);
  if (front_.queue_of(association->controller, qid) == nullptr) return true;
  complete(arrived, nvme::Status(sc::command_sequence_error).with_dnr());
  return false;
}

void FrontQueue::finish_connect(transport::ArrivedCommand& arrived) {
  if (connected_) return complete(arrived, nvme::Status(sc::command_sequence_error).with_dnr());  // it overtook its sibling
  if (well_formed(arrived)) ask_to_connect(arrived);
}

void FrontQueue::ask_to_connect(transport::ArrivedCommand& arrived) {
  const View<fabrics::ConnectSqe> sqe{arrived.sqe};
  const View<fabrics::ConnectData> data{arrived.data};
  const std::string hostnqn = fabrics::terminated_text(data.get(cd::hostnqn)).value();
  const std::string subnqn = fabrics::terminated_text(data.get(cd::subnqn)).value();
  fb_connect asked = {};
  asked.qid = sqe.get(cs::qid);
  asked.cntlid = data.get(cd::cntlid);
  if (asked.qid != fabrics::kAdminQueue) asked.controller = front_.association_of(subnqn, asked.cntlid)->controller;
  asked.entries = static_cast<std::uint32_t>(sqe.get(cs::sqsize).count());
  asked.kato_ms = sqe.get(cs::kato);
  asked.cattr = sqe.get(cs::cattr);
  std::ranges::copy(data.get(cd::hostid), asked.hostid);
  asked.hostnqn = hostnqn.c_str();
  asked.subnqn = subnqn.c_str();
  fb_connected reply = {};
  fb_status answer = 0;
  if (!front_.call("connect()", [&] { answer = front_.table().connect(front_.product_, &asked, &reply); }) || !alive_) return;
  const nvme::Status status = nvme::Status::from_raw(answer);
  if (!status.ok()) {
    const bool names_parameter = nvme::same_code(status, sc::connect_invalid_parameters);
    const fabrics::InvalidParameter at{reply.invalid_offset, reply.invalid_in_data != 0};
    return complete(arrived, status, names_parameter ? at.dw0() : 0);
  }
  if (asked.controller != nullptr && front_.association_of(asked.controller) == nullptr) return close("the association is over");
  const bool admin = asked.qid == fabrics::kAdminQueue;
  controller_ = admin ? reply.controller : asked.controller;
  if (admin && (controller_ == nullptr || front_.association_of(controller_) != nullptr)) {
    front_.blame(controller_ == nullptr ? "connect() gave no controller" : "connect() gave the controller of another association");
    return close("no controller");
  }
  if (admin) {
    front_.associations_.push_back(std::make_unique<Front::Association>(
        Front::Association{controller_, reply.cntlid, hostnqn, subnqn, std::to_array(asked.hostid), false}));
  }
  connected_ = true;
  qid_ = asked.qid;
  entries_ = asked.entries;
  flow_control_ = (asked.cattr & fabrics::cattr_bits::disable_sq_flow_control) == 0 || reply.no_flow_control == 0;
  front_.world_.loop().cancel(idle_timer_);
  complete(arrived, sc::success, reply.cntlid | std::uint32_t{reply.authreq} << 16);
}

void FrontQueue::property(transport::ArrivedCommand& arrived, bool set) {
  const View<fabrics::PropertySetSqe> sqe{arrived.sqe};
  const auto size = sqe.get(ps::size);
  const bool known_size = size == fabrics::PropertySize::four || size == fabrics::PropertySize::eight;
  if (qid_ != fabrics::kAdminQueue || !known_size) return complete(arrived, nvme::Status(sc::invalid_field).with_dnr());
  const std::uint32_t bytes = size == fabrics::PropertySize::eight ? 8 : 4;
  const std::uint32_t offset = sqe.get(ps::ofst);
  std::uint64_t value = set ? sqe.get(ps::value) : 0;
  if (bytes == 4) value &= 0xFFFFFFFF;
  fb_status answer = 0;
  const bool returned = front_.call(set ? "property_set()" : "property_get()", [&] {
    void* const product = front_.product_;
    answer = set ? front_.table().property_set(product, controller_, offset, bytes, value)
                 : front_.table().property_get(product, controller_, offset, bytes, &value);
  });
  if (!returned || !alive_) return;
  const nvme::Status status = nvme::Status::from_raw(answer);
  if (!set && bytes == 4) value &= 0xFFFFFFFF;
  if (set && status.ok()) {
    std::erase(outstanding_, &arrived);  // the one command that a reset leaves
    front_.on_property_set(*this, offset, value);
    outstanding_.push_back(&arrived);
  }
  complete(arrived, status, set || !status.ok() ? 0 : value);
}

void FrontQueue::disconnect(transport::ArrivedCommand& arrived) {
  const auto refused = [&](nvme::Status status) { complete(arrived, status.with_dnr()); };
  if (front_.table().disconnect == nullptr) return refused(sc::invalid_opcode);
  if (View<fabrics::DisconnectSqe>{arrived.sqe}.get(fabrics::disconnect_sqe::recfmt) != fabrics::kDisconnectRecordFormat) {
    return refused(sc::incompatible_format);
  }
  if (qid_ == fabrics::kAdminQueue) return refused(sc::invalid_queue_type);
  fb_status answer = 0;
  if (!front_.call("disconnect()", [&] { answer = front_.table().disconnect(front_.product_, controller_, qid_); }) || !alive_) return;
  const nvme::Status status = nvme::Status::from_raw(answer);
  if (!status.ok()) return complete(arrived, status);
  retire(arrived);
  complete(arrived, sc::success);
  if (alive_) front_.world_.loop().schedule_after(idle_timer_, kRetirement);
}

}  // namespace fb::library
