// A host over RDMA whose controller leaves keys to it, or answers with capsules of another length.
#include <algorithm>
#include <utility>

#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/host_bench.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kConnect = 0x01, kWrite = 0x01, kRead = 0x02;
constexpr std::size_t kBytes = 8192, kReads = 9;

bool is_io_at(const CommandContext& command, std::uint8_t opcode, std::uint64_t lba) {
  return command.qid != 0 && command.sqe[0] == opcode && load_le<std::uint64_t>(&command.sqe[40]) == lba;
}

/// The key of one of several reads is left to the host, which then uses its memory for something else.
void takes_back_keys(HostBench& bench, Check& check) {
  struct Try {
    unsigned rounds;   ///< of reads before, so that memory and keys have been used
    std::size_t left;  ///< which of nine reads at once is left its key
  };
  for (const Try& one : {Try{0, 0}, Try{0, 1}, Try{0, 2}, Try{3, 1}, Try{12, 0}}) {
    // The reads go to different queues, several to each: each queue takes its keys back.
    bench.connect_product({.io_queues = 3});
    for (std::size_t i = 0; i <= kReads; ++i) {
      Bytes& out = bench.keep(Bytes(kBytes, static_cast<std::uint8_t>(0x11 * (i + 1))));
      check.require_success(bench.product().write(bench.nsid(), 64 * i, out).wait(), "write");
    }
    std::vector<Bytes*> in;
    const auto read_all = [&] {
      std::vector<Op<nvme::Status>> reads;
      in.clear();
      for (std::size_t i = 0; i < kReads; ++i) {
        in.push_back(&bench.keep(Bytes(kBytes)));
        reads.push_back(bench.product().read(bench.nsid(), 64 * i, *in.back()));
      }
      for (auto& read : reads) check.require_success(read.wait(), "read");
    };
    for (unsigned round = 0; round < one.rounds; ++round) read_all();
    bool leaves = false, reaches_back = false;
    std::uint16_t answers_on = 0, left_on = 0;
    bench.script.completion = [&](const CommandContext& command, MutableBytes) {
      answers_on = command.qid;
      leaves = left_on == 0 && is_io_at(command, kRead, 64 * one.left);
      if (leaves) left_on = command.qid;
      return Answer::send;
    };
    bench.script.departs = [&](std::string_view point) {
      if (point == "rdma.invalidate.never") return std::exchange(leaves, false);
      // A key belongs to its queue's connection.
      if (point != "rdma.data.left_key" || answers_on != left_on || !std::exchange(reaches_back, false)) return false;
      bench.mark("bench.left_key");
      return true;
    };
    read_all();
    const std::string which =
        "read " + std::to_string(one.left) + " of nine, whose key is left to the host after " + std::to_string(one.rounds) + " rounds";
    const Bytes mine = *in[one.left];
    check.bytes("data of " + which, mine, Bytes(kBytes, static_cast<std::uint8_t>(0x11 * (one.left + 1))));
    bench.step("the data of the next read goes to the memory of " + which);
    reaches_back = true;
    for (std::size_t i = 0; i < 3 && reaches_back; ++i) {
      Op<nvme::Status> next = bench.product().read(bench.nsid(), 64 * kReads, bench.keep(Bytes(kBytes)));
      next.wait_for(300_s);
    }
    check.bytes("memory of " + which, *in[one.left], mine);
    bench.script = {};
    bench.product().disconnect().wait_for(60_s);
  }
}

}  // namespace

CONFORMANCE_CASE(host_takes_back_each_key, "fabrics.host.invalidate.ignored", roles::host, over_rdma, reaches{"bench.left_key"}) {
  takes_back_keys(bench, check);
}

CONFORMANCE_CASE(host_takes_back_each_region, "fabrics.host.invalidate.ignored", roles::host, over_rdma,
                 furnished([](EmbeddedSetup& setup) { setup.limits.fast_registration = false; }), reaches{"bench.left_key"},
                 beyond_interfaces("the interface registers memory by requests in a queue alone")) {
  takes_back_keys(bench, check);
}

CONFORMANCE_CASE(host_takes_no_response_of_another_length, "fabrics.host.response.length", roles::host, over_rdma,
                 reaches{"bench.other_length"}, sends_malformed) {
  for (const std::size_t bytes : {std::size_t{17}, std::size_t{20}, std::size_t{32}, std::size_t{15}}) {
    bench.connect_product();
    bench.forget_seen();
    bool changed = false, now = false;
    bench.script.completion = [&](const CommandContext& command, MutableBytes) {
      now = !changed && is_io_at(command, kWrite, 200);
      return Answer::send;
    };
    bench.script.capsule_out = [&](std::uint16_t qid, Bytes& capsule) {
      if (qid == 0 || !std::exchange(now, false)) return;
      changed = true;
      bench.mark("bench.other_length");
      capsule.resize(bytes);
    };
    const auto written = bench.product().write(bench.nsid(), 200, bench.keep(Bytes(512, 0x77))).wait_for(300_s);
    check.precondition(changed, "the write is answered");
    const bool again = !bench.fabrics_commands(kConnect).empty();
    check.that(again || !written || !written->ok(), "a response of " + std::to_string(bytes) + " bytes ends the association",
               "it is taken for a completion");
    bench.script = {};
    bench.product().disconnect().wait_for(60_s);
  }
}

}  // namespace fb::conformance
