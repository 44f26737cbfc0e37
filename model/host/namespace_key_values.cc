// Operations on the pairs of a key value namespace.
#include <algorithm>

#include "model/host/namespace.h"

namespace fb::host {

namespace {

nvme::IoOpcode code_of(nvme::KvOpcode opcode) { return static_cast<nvme::IoOpcode>(opcode); }

}  // namespace

struct Namespace::KeyValueCall final : public IoRequest {
  explicit KeyValueCall(Namespace& owner) : name_space(owner) {}
  void on_done(nvme::Status status) override { name_space.key_value_call_done(*this, status); }

  Namespace& name_space;
  Promise<nvme::Status> answered;
  Promise<Retrieved> retrieved;
  Promise<KeyList> listed;
  Bytes room;
  std::list<std::unique_ptr<IoRequest>>::iterator place;
};

void Namespace::build_key_value(IoRequest& request) const {
  const std::uint32_t nsid = facts_.nsid;
  request.transfer = {};
  request.transfer.data = request.data;
  request.transfer.direction = transport::Direction::from_controller;
  request.may_be_short = true;  // a value, or the keys that there are
  switch (static_cast<nvme::KvOpcode>(request.opcode)) {
    case nvme::KvOpcode::store:
      request.sqe = as_sqe(kv_store(nsid, request.key, request.data.size(), request.key_value_options));
      request.transfer.direction = transport::Direction::to_controller;
      break;
    case nvme::KvOpcode::retrieve:
      request.sqe = as_sqe(kv_retrieve(nsid, request.key, request.data.size(), request.key_value_options));
      break;
    case nvme::KvOpcode::list:
      request.sqe = as_sqe(kv_list(nsid, request.key, request.data.size()));
      break;
    case nvme::KvOpcode::remove:
      request.sqe = as_sqe(kv_delete(nsid, request.key));
      break;
    case nvme::KvOpcode::exist:
      request.sqe = as_sqe(kv_exist(nsid, request.key));
      break;
    default:  // of another command set: the controller refuses it
      request.sqe = as_sqe(host::read(nsid, request.lba, std::max(request.blocks, 1u)));
      request.sqe.set(nvme::sqe::opcode, static_cast<std::uint8_t>(request.opcode));
      break;
  }
  if (request.data.empty()) request.transfer = {};
}

/// What stands in the way before anything is sent; success: nothing.
nvme::Status Namespace::key_value_refusal(ByteView key) const {
  if (!facts_.key_value()) return nvme::sc::invalid_opcode;
  return key.size() <= nvme::kKvKeyMax ? nvme::Status() : nvme::Status(nvme::sc::invalid_key_size);
}

Namespace::KeyValueCall& Namespace::start_key_value_call(nvme::KvOpcode opcode, ByteView key) {
  auto made = std::make_unique<KeyValueCall>(*this);
  KeyValueCall& call = *made;
  key_value_calls_.push_back(std::move(made));
  call.place = std::prev(key_value_calls_.end());
  call.opcode = code_of(opcode);
  call.key = nvme::KvKey::of(key);
  return call;
}

Op<nvme::Status> Namespace::store(ByteView key, ByteView value, std::uint8_t options) {
  auto made = make_op<nvme::Status>(world_, "Store of " + std::to_string(value.size()) + " bytes");
  nvme::Status wrong = key_value_refusal(key);
  if (wrong.ok() && value.size() > max_transfer()) wrong = nvme::sc::invalid_value_size;
  if (!wrong.ok()) {
    made.promise.settle(wrong);
    return made.op;
  }
  KeyValueCall& call = start_key_value_call(nvme::KvOpcode::store, key);
  call.answered = std::move(made.promise);
  call.key_value_options = options;
  call.room.assign(value.begin(), value.end());
  call.data = call.room;
  submit(call);
  return made.op;
}

Op<Retrieved> Namespace::retrieve(ByteView key, std::size_t room, std::uint8_t options) {
  auto made = make_op<Retrieved>(world_, "Retrieve of " + std::to_string(room) + " bytes");
  if (const nvme::Status wrong = key_value_refusal(key); !wrong.ok()) {
    made.promise.settle({wrong});
    return made.op;
  }
  KeyValueCall& call = start_key_value_call(nvme::KvOpcode::retrieve, key);
  call.retrieved = std::move(made.promise);
  call.key_value_options = options;
  call.room.resize(std::min<std::size_t>(room, max_transfer()));
  call.data = call.room;
  submit(call);
  return made.op;
}

Op<nvme::Status> Namespace::delete_key(ByteView key) {
  auto made = make_op<nvme::Status>(world_, "Delete of a key");
  if (const nvme::Status wrong = key_value_refusal(key); !wrong.ok()) {
    made.promise.settle(wrong);
    return made.op;
  }
  KeyValueCall& call = start_key_value_call(nvme::KvOpcode::remove, key);
  call.answered = std::move(made.promise);
  submit(call);
  return made.op;
}

Op<nvme::Status> Namespace::exists(ByteView key) {
  auto made = make_op<nvme::Status>(world_, "Exist of a key");
  if (const nvme::Status wrong = key_value_refusal(key); !wrong.ok()) {
    made.promise.settle(wrong);
    return made.op;
  }
  KeyValueCall& call = start_key_value_call(nvme::KvOpcode::exist, key);
  call.answered = std::move(made.promise);
  submit(call);
  return made.op;
}

Op<KeyList> Namespace::list_keys(ByteView from, std::size_t room) {
  auto made = make_op<KeyList>(world_, "List of keys");
  if (const nvme::Status wrong = key_value_refusal(from); !wrong.ok()) {
    made.promise.settle({wrong, {}});
    return made.op;
  }
  KeyValueCall& call = start_key_value_call(nvme::KvOpcode::list, from);
  call.listed = std::move(made.promise);
  call.room.resize(std::min<std::size_t>(std::max(room, nvme::KvListHeader::size), max_transfer()));
  call.data = call.room;
  submit(call);
  return made.op;
}

void Namespace::key_value_call_done(KeyValueCall& call, nvme::Status status) {
  const std::unique_ptr<IoRequest> held = std::move(*call.place);
  key_value_calls_.erase(call.place);
  if (call.answered) call.answered.settle(status);
  if (call.listed) call.listed.settle({status, status.ok() ? nvme::read_kv_list(call.room).keys : std::vector<nvme::KvKey>{}});
  if (!call.retrieved) return;
  Retrieved done{status};
  if (status.ok()) {
    done.size = static_cast<std::uint32_t>(call.result);
    call.room.resize(std::min<std::size_t>(call.room.size(), done.size));
    done.value = std::move(call.room);
  }
  call.retrieved.settle(std::move(done));
}

}  // namespace fb::host
