#include "wire/tcp/pdu.h"

#include <isa-l/crc.h>

namespace fb::tcp {

namespace flag = pdu_flags;

std::uint32_t crc32c(ByteView bytes, std::uint32_t crc) {
  // ISA-L neither inverts what it is given nor what it returns; and takes no const.
  return ~crc32_iscsi(const_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), ~crc);
}

Bytes build_pdu(ByteView header, ByteView data, bool header_digest, bool data_digest, std::size_t alignment) {
  const std::size_t begin =
      data.empty() ? header.size() + (header_digest ? kDigestBytes : 0) : data_offset(header.size(), header_digest, alignment);
  const bool tail = data_digest && !data.empty();
  Bytes made(begin + data.size() + (tail ? kDigestBytes : 0));
  std::copy(header.begin(), header.end(), made.begin());
  std::copy(data.begin(), data.end(), made.begin() + static_cast<std::ptrdiff_t>(begin));
  MutableView<CommonHeader> common{made};
  const unsigned flags = common.get(pdu::flags) | (header_digest ? flag::hdgstf : 0u) | (tail ? flag::ddgstf : 0u);
  common.set(pdu::flags, flags).set(pdu::hlen, header.size()).set(pdu::pdo, data.empty() ? 0 : begin).set(pdu::plen, made.size());
  refresh_digests(made);
  return made;
}

void refresh_digests(MutableBytes pdu) {
  if (pdu.size() < kCommonHeaderBytes) return;
  const View<CommonHeader> common{pdu};
  const std::uint8_t flags = common.get(pdu::flags);
  const std::size_t hlen = common.get(pdu::hlen);
  if ((flags & flag::hdgstf) != 0 && hlen + kDigestBytes <= pdu.size()) {
    store_le<std::uint32_t>(&pdu[hlen], crc32c(pdu.first(hlen)));
  }
  const std::size_t begin = common.get(pdu::pdo);
  if ((flags & flag::ddgstf) != 0 && begin != 0 && begin + kDigestBytes <= pdu.size()) {
    const std::size_t bytes = pdu.size() - kDigestBytes - begin;
    store_le<std::uint32_t>(&pdu[begin + bytes], crc32c(pdu.subspan(begin, bytes)));
  }
}

}  // namespace fb::tcp
