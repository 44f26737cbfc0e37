// Any bytes may be in the file of a boot table. What was read is written and read again without a difference.
//
// The input: a byte of options (1 makes the checksum and the length right), then the table.
#include <cstdlib>
#include <numeric>

#include "tests/fuzz/input.h"
#include "wire/fabrics/nbft.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fb;  // NOLINT: a program of its own
  fuzz::Input in(data, size);
  const bool repaired = (in.byte() & 1) != 0;
  Bytes bytes = in.bytes(size);
  if (repaired && bytes.size() >= nbft::Header::size) {
    store_le<std::uint32_t>(&bytes[4], static_cast<std::uint32_t>(bytes.size()));
    bytes[9] = 0;
    bytes[9] = static_cast<std::uint8_t>(-std::accumulate(bytes.begin(), bytes.end(), 0));
  }
  const auto table = nbft::parse(bytes);
  if (!table) return 0;
  const auto again = nbft::parse(nbft::build(*table));
  if (!again || again->interfaces != table->interfaces || again->services != table->services || again->namespaces != table->namespaces) {
    std::abort();
  }
  return 0;
}
