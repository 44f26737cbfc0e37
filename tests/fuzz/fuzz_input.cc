// Any text where a user writes one: product URLs, addresses, sizes, replay tokens, expectation files. It
// is taken or refused with words; what is taken reads back as the same.
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "cli/common.h"
#include "conformance/runner/product.h"
#include "conformance/runner/raw_roce.h"
#include "conformance/runner/replay.h"
#include "conformance/runner/waivers.h"
#include "tests/fuzz/input.h"

namespace {

using namespace fb;               // NOLINT: a program of its own
using namespace fb::conformance;  // NOLINT

template <class T>
bool taken(const Result<T>& result) {
  if (result) return true;
  BENCH_ASSERT(!result.error().text.empty(), "a refusal says why");
  return false;
}

void read_token(std::string_view text) {
  const auto token = parse_replay_token(text);
  if (taken(token)) {
    BENCH_ASSERT(parse_replay_token(to_string(token.value())).value() == token.value(),
                 "a token reads back");
  }
  // The same with a check word that fits, so that the fields behind it are reached.
  ReplayToken made;
  made.case_name = std::string(text.substr(0, text.find(':')));
  made.dut = std::string(text.substr(text.size() / 2));
  (void)taken(parse_replay_token(to_string(made)));
}

void read_packet(ByteView bytes) {
  const auto packet = parse_roce(bytes);
  if (!packet) return;
  (void)packet->describe();
  (void)to_bytes(*packet);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const std::uint8_t what = in.byte();
  const std::string_view text = in.text();
  switch (what % 7) {
    case 0:
      (void)taken(parse_fabric_url(text));
      (void)taken(parse_fabric_url(text, UrlPort::known));
      break;
    case 1:
      (void)taken(parse_product(text.substr(text.size() / 3), text.substr(0, text.size() / 3)));
      break;
    case 2:
      read_token(text);
      break;
    case 3:
      (void)taken(cli::parse_size(text));
      break;
    case 4:
      if (const auto address = IpAddress::parse(text)) {
        BENCH_ASSERT(IpAddress::parse(to_string(*address)) == address, "an address reads back");
      }
      break;
    case 5:
      (void)taken(parse_expectations(std::string(text), "expectations.yaml"));
      break;
    default:
      read_packet(in.bytes(4200));
  }
  return 0;
}
