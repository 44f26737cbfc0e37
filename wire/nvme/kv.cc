#include "wire/nvme/kv.h"

namespace fb::nvme {

std::string_view kv_opcode_name(std::uint8_t opcode) {
  switch (static_cast<KvOpcode>(opcode)) {
    case KvOpcode::store:
      return "Store";
    case KvOpcode::retrieve:
      return "Retrieve";
    case KvOpcode::list:
      return "List";
    case KvOpcode::remove:
      return "Delete";
    case KvOpcode::exist:
      return "Exist";
  }
  return {};
}

std::array<std::uint8_t, kKvKeyMax> key_bytes_of(const View<KvSqe>& sqe) {
  std::array<std::uint8_t, kKvKeyMax> bytes{};
  store_le(bytes.data(), sqe.get(kv_sqe::key_low));
  store_le(bytes.data() + 8, sqe.get(kv_sqe::key_high));
  return bytes;
}

KvKey key_of(const View<KvSqe>& sqe) {
  const auto bytes = key_bytes_of(sqe);
  return KvKey::of(ByteView{bytes}.first(std::min<std::size_t>(sqe.get(kv_sqe::kl), kKvKeyMax)));
}

void set_key(Record<KvSqe>& sqe, const KvKey& key) {
  sqe.set(kv_sqe::key_low, load_le<std::uint64_t>(key.bytes.data()))
      .set(kv_sqe::key_high, load_le<std::uint64_t>(key.bytes.data() + 8))
      .set(kv_sqe::kl, key.length);
}

KvList read_kv_list(ByteView list) {
  KvList made;
  const auto header = View<KvListHeader>::over(list);
  if (!header) return made;
  made.count = header->get(kv_list::nrk);
  ByteView rest = list.subspan(KvListHeader::size);
  while (made.keys.size() < made.count && rest.size() >= KvListEntryHeader::size) {
    const std::size_t length = load_le<std::uint16_t>(rest.data());
    if (length > kKvKeyMax || rest.size() < list_entry_bytes(length)) break;
    made.keys.push_back(KvKey::of(rest.subspan(KvListEntryHeader::size, length)));
    rest = rest.subspan(std::min(rest.size(), list_entry_step(length)));
  }
  made.whole = made.keys.size() == made.count;
  return made;
}

std::size_t write_kv_list(MutableBytes place, const std::vector<KvKey>& keys) {
  std::fill(place.begin(), place.end(), std::uint8_t{0});
  if (place.size() < KvListHeader::size) return 0;
  std::size_t at = KvListHeader::size, count = 0;
  for (const KvKey& key : keys) {
    if (at + list_entry_bytes(key.length) > place.size()) break;
    store_le(place.data() + at, std::uint16_t{key.length});
    std::copy_n(key.bytes.begin(), key.length, place.begin() + static_cast<std::ptrdiff_t>(at + KvListEntryHeader::size));
    at += list_entry_step(key.length);
    ++count;
    if (at >= place.size()) break;
  }
  MutableView<KvListHeader>{place.first(KvListHeader::size)}.set(kv_list::nrk, count);
  return count;
}

}  // namespace fb::nvme
