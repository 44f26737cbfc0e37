// Any text where a user writes one: product URLs, addresses, sizes, replay tokens, expectation files, fault plans,
// files to replay. It is taken or refused with words; what is taken reads back as the same.
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "cli/common.h"
#include "conformance/campaign/campaign.h"
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
    BENCH_ASSERT(parse_replay_token(to_string(token.value())).value() == token.value(), "a token reads back");
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

void read_plan(std::string_view text) {
  const auto plan = fault::parse_plan(text, "plan.yaml");
  if (!taken(plan)) return;
  const auto again = fault::parse_plan(fault::to_yaml(*plan), "again.yaml");
  BENCH_ASSERT(again.ok() && again->rules.size() == plan->rules.size(), "a plan reads back");
}

void read_decision(std::string_view text) {
  if (const auto decision = fault::parse_decision(text); taken(decision)) {
    BENCH_ASSERT(fault::parse_decision(to_string(*decision)).value() == *decision, "a decision reads back");
  }
  if (const auto step = parse_step(text); taken(step)) {
    BENCH_ASSERT(parse_step(to_string(*step)).value() == *step, "a step reads back");
  }
}

void read_world(std::string_view text) {
  const auto file = parse_replay_file(text, "world.json");
  if (!taken(file)) return;
  BENCH_ASSERT(parse_replay_file(to_json(*file), "again.json").ok(), "a file reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const std::uint8_t what = in.byte();
  const std::string_view text = in.text();
  switch (what % 11) {
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
      (void)taken(parse_size(text));
      break;
    case 4:
      if (const auto address = IpAddress::parse(text)) {
        BENCH_ASSERT(IpAddress::parse(to_string(*address)) == address, "an address reads back");
      }
      break;
    case 5:
      (void)taken(parse_expectations(std::string(text), "expectations.yaml"));
      break;
    case 6:
      read_plan(text);
      break;
    case 7:
      read_decision(text);
      break;
    case 8:
      read_world(text);
      break;
    case 9:
      (void)taken(parse_seeds(text));
      break;
    default:
      read_packet(in.bytes(4200));
  }
  return 0;
}
