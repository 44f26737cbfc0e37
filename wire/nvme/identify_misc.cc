#include "wire/nvme/identify_misc.h"

namespace fb::nvme {

std::vector<std::uint32_t> read_namespace_list(ByteView data) {
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < kNamespaceListMax && (i + 1) * 4 <= data.size(); ++i) {
    const auto id = load_le<std::uint32_t>(data.data() + i * 4);
    if (id == 0) break;
    ids.push_back(id);
  }
  return ids;
}

void write_namespace_list(MutableBytes data, std::span<const std::uint32_t> ids) {
  std::fill(data.begin(), data.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < ids.size() && (i + 1) * 4 <= data.size(); ++i) {
    store_le(data.data() + i * 4, ids[i]);
  }
}

std::vector<std::uint16_t> read_controller_list(ByteView data) {
  std::vector<std::uint16_t> ids;
  if (data.size() < 2) return ids;
  const std::size_t said = load_le<std::uint16_t>(data.data());
  for (std::size_t i = 0; i < said && (i + 2) * 2 <= data.size(); ++i) {
    ids.push_back(load_le<std::uint16_t>(data.data() + (i + 1) * 2));
  }
  return ids;
}

void write_controller_list(MutableBytes data, std::span<const std::uint16_t> ids) {
  std::fill(data.begin(), data.end(), std::uint8_t{0});
  if (data.size() < 2) return;
  const std::size_t count = std::min(ids.size(), data.size() / 2 - 1);
  store_le(data.data(), static_cast<std::uint16_t>(count));
  for (std::size_t i = 0; i < count; ++i) store_le(data.data() + (i + 1) * 2, ids[i]);
}

bool NamespaceIdWalk::next(NamespaceId& out) {
  const auto header = View<NamespaceIdHeader>::over(rest_);
  if (!header || header->get(ns_descriptor::nidl) == 0) return false;
  const std::size_t length = header->get(ns_descriptor::nidl);
  if (rest_.size() < NamespaceIdHeader::size + length) {
    damaged_ = true;
    rest_ = {};
    return false;
  }
  out = {header->get(ns_descriptor::nidt), rest_.subspan(NamespaceIdHeader::size, length)};
  rest_ = rest_.subspan(NamespaceIdHeader::size + length);
  return true;
}

bool append_namespace_id(MutableBytes data, std::size_t& at, NamespaceIdType type, ByteView id) {
  const std::size_t needed = NamespaceIdHeader::size + id.size();
  if (id.size() > 0xFF || at > data.size() || data.size() - at < needed) return false;
  const MutableBytes place = data.subspan(at, needed);
  std::fill(place.begin(), place.end(), std::uint8_t{0});
  MutableView<NamespaceIdHeader>{place}.set(ns_descriptor::nidt, type).set(ns_descriptor::nidl, id.size());
  std::copy(id.begin(), id.end(), place.begin() + NamespaceIdHeader::size);
  at += needed;
  return true;
}

}  // namespace fb::nvme
