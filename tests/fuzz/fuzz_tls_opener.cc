// What a listener makes of a TLS connection: anybody's records, and anybody's key log.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "conformance/evidence/tls_opener.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The key log comes first, up to a zero; behind it pieces: a byte with the direction and the length, then the bytes.
  const fb::ByteView all{data, size};
  std::size_t at = 0;
  while (at < size && all[at] != 0) ++at;
  fb::evidence::TlsKeys keys;
  keys.add(std::string(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at)));
  fb::evidence::TlsOpener opener(keys);
  fb::Bytes plain;
  bool goes_on = true;
  for (++at; at < size;) {
    const bool by_client = (all[at] & 0x80) != 0;
    const std::size_t length = std::min<std::size_t>(std::size_t{all[at] & 0x7Fu} * 8, size - at - 1);
    const bool went_on = goes_on;
    goes_on = opener.feed(by_client, all.subspan(at + 1, length), plain);
    BENCH_ASSERT(went_on || !goes_on, "what was given up stays given up");
    BENCH_ASSERT(goes_on || !opener.why().empty(), "and it is said why");
    at += 1 + length;
  }
  BENCH_ASSERT(plain.size() <= size, "no more than there was");
  return 0;
}
