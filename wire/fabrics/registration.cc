#include "wire/fabrics/registration.h"

#include <algorithm>

namespace fb::fabrics {

namespace {

namespace de = discovery_entry;
namespace ee = extended_entry;
namespace ea = extended_attribute;

template <class F>
bool same(ByteView one, ByteView other, const F&) {
  return std::ranges::equal(one.subspan(F::offset, F::size), other.subspan(F::offset, F::size));
}

}  // namespace

std::optional<std::vector<Attribute>> attributes_of(ByteView entry) {
  if (entry.size() < ExtendedEntry::size) return std::nullopt;
  const View<ExtendedEntry> fixed{entry};
  if (fixed.get(ee::tel) != entry.size()) return std::nullopt;
  std::vector<Attribute> found;
  std::size_t at = ExtendedEntry::size;
  for (unsigned i = 0; i < fixed.get(ee::numexat); ++i) {
    if (entry.size() - at < ExtendedAttribute::size) return std::nullopt;
    const View<ExtendedAttribute> head{entry.subspan(at)};
    const std::size_t length = head.get(ea::exatlen);
    at += ExtendedAttribute::size;
    if (entry.size() - at < length) return std::nullopt;
    const ByteView value = entry.subspan(at, length);
    found.push_back({head.get(ea::exattype), Bytes(value.begin(), value.end())});
    at += length;
  }
  if (at != entry.size()) return std::nullopt;
  return found;
}

Bytes extended(ByteView entry, std::span<const Attribute> attributes) {
  Bytes made(entry.begin(), entry.begin() + static_cast<std::ptrdiff_t>(std::min(entry.size(), DiscoveryEntry::size)));
  made.resize(ExtendedEntry::size);
  for (const Attribute& one : attributes) {
    Record<ExtendedAttribute> head;
    head.set(ea::exattype, one.type).set(ea::exatlen, static_cast<std::uint16_t>(one.value.size()));
    made.insert(made.end(), head.bytes().begin(), head.bytes().end());
    made.insert(made.end(), one.value.begin(), one.value.end());
  }
  MutableView<ExtendedEntry>{made}.set(ee::tel, static_cast<std::uint32_t>(made.size())).set(ee::numexat, attributes.size());
  return made;
}

Attribute label(std::string_view text) {
  Bytes value(text.begin(), text.end());
  value.resize((value.size() + 3) / 4 * 4);
  return {AttributeType::label_ascii, std::move(value)};
}

bool same_key(ByteView one, ByteView other, EntryKeyType type) {
  const bool common = same(one, other, de::trtype) && same(one, other, de::adrfam) && same(one, other, de::trsvcid) &&
                      same(one, other, ee::tsas) && same(one, other, de::subnqn);
  if (!common) return false;
  return type == EntryKeyType::port_id ? same(one, other, de::portid) : same(one, other, de::traddr);
}

Bytes RegistrationData::bytes() const {
  Record<RegistrationHeader> header;
  std::size_t length = RegistrationHeader::size;
  for (const Bytes& entry : entries) length += entry.size();
  header.set(registration::tdl, static_cast<std::uint32_t>(length))
      .set(registration::nument, entries.size())
      .set(registration::entfmt, entfmt)
      .set(registration::etype, etype)
      .set(registration::portlcl, port_local ? 1u : 0u)
      .set(registration::ektype, ektype);
  set_text(header, registration::eid, eid, '\0');
  set_text(header, registration::ename, ename, ' ');
  set_text(header, registration::ever, ever, ' ');
  Bytes data(header.bytes().begin(), header.bytes().end());
  for (const Bytes& entry : entries) data.insert(data.end(), entry.begin(), entry.end());
  return data;
}

std::size_t entry_length(ByteView data, std::size_t at, EntryFormat format) {
  if (at > data.size()) return 0;
  const std::size_t left = data.size() - at;
  if (format == EntryFormat::basic) return left < DiscoveryEntry::size ? 0 : DiscoveryEntry::size;
  if (left < ExtendedEntry::size) return 0;
  const std::size_t length = View<ExtendedEntry>{data.subspan(at)}.get(ee::tel);
  return length < ExtendedEntry::size || length > left ? 0 : length;
}

}  // namespace fb::fabrics
