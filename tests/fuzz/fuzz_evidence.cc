// Evidence comes from anywhere: any capture file is read, put into words and judged without harm, and a
// second reading says the same.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "conformance/evidence/said.h"
#include "conformance/evidence/tls_opener.h"
#include "conformance/monitors/monitors.h"

namespace {

struct Reading {
  std::size_t findings = 0, said = 0;
  std::uint64_t commands = 0, last_packet = 0;
  bool operator==(const Reading&) const = default;
};

Reading read(fb::ByteView file, bool capture) {
  fb::evidence::TlsKeys keys;
  fb::monitors::Monitors monitors({.capture = capture, .tcp_ports = {5000}, .tls_keys = &keys});
  fb::evidence::SaidList words({.entries_max = 1000, .segments = true});
  monitors.dissector().add(words);
  fb::capture::CaptureReader reader(file);
  fb::capture::CapturedPacket packet;
  for (;;) {
    const fb::Result<bool> got = reader.next(packet);
    if (!got || !*got) break;
    if (keys.size() == 0 && !reader.tls_keys().empty()) keys.add(reader.tls_keys());
    monitors.on_packet(packet);
  }
  monitors.finish();
  Reading done{monitors.findings().size(), words.said().size(), monitors.dissector().counts().commands, 0};
  for (const auto& finding : monitors.findings()) {
    BENCH_ASSERT(finding.packet >= done.last_packet, "findings come in the order of packets");
    BENCH_ASSERT(!finding.text.empty(), "a finding says what it is");
    done.last_packet = finding.packet;
  }
  return done;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const bool capture : {false, true}) {
    const Reading one = read({data, size}, capture);
    BENCH_ASSERT(one == read({data, size}, capture), "the same file, the same verdicts");
  }
  return 0;
}
