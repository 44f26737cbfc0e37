#include "model/host/commands.h"

namespace fb::host {

namespace {

Record<nvme::KvSqe> key_value(nvme::KvOpcode opcode, std::uint32_t nsid, const nvme::KvKey& key, std::size_t bytes, std::uint8_t options) {
  Record<nvme::KvSqe> sqe;
  sqe.set(nvme::sqe::opcode, nvme::opcode_of(opcode))
      .set(nvme::sqe::psdt, nvme::Psdt::sgl)
      .set(nvme::sqe::nsid, nsid)
      .set(nvme::kv_sqe::size, static_cast<std::uint32_t>(bytes))
      .set(nvme::kv_sqe::options, options);
  nvme::set_key(sqe, key);
  return sqe;
}

}  // namespace

Record<nvme::KvSqe> kv_store(std::uint32_t nsid, const nvme::KvKey& key, std::size_t bytes, std::uint8_t options) {
  return key_value(nvme::KvOpcode::store, nsid, key, bytes, options);
}

Record<nvme::KvSqe> kv_retrieve(std::uint32_t nsid, const nvme::KvKey& key, std::size_t bytes, std::uint8_t options) {
  return key_value(nvme::KvOpcode::retrieve, nsid, key, bytes, options);
}

Record<nvme::KvSqe> kv_delete(std::uint32_t nsid, const nvme::KvKey& key) { return key_value(nvme::KvOpcode::remove, nsid, key, 0, 0); }

Record<nvme::KvSqe> kv_exist(std::uint32_t nsid, const nvme::KvKey& key) { return key_value(nvme::KvOpcode::exist, nsid, key, 0, 0); }

Record<nvme::KvSqe> kv_list(std::uint32_t nsid, const nvme::KvKey& from, std::size_t bytes) {
  return key_value(nvme::KvOpcode::list, nsid, from, bytes, 0);
}

}  // namespace fb::host
