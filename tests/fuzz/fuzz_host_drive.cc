// Whoever reaches `fabricbench host drive` says anything, in pieces of any size: a request is a number and a word, and
// what is not formed as it should be is refused with words, in one line.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "cli/drive/protocol.h"

namespace {

using namespace fb::drive;
using nlohmann::json;

const Bench kBench{"tcp", "192.0.2.8", "4420"};

void answer(const json& outcome) {
  const std::string line = to_line(outcome);
  BENCH_ASSERT(line.find('\n') == std::string::npos, "an answer is a line");
  const json read = json::parse(line);
  BENCH_ASSERT(read["ok"].is_boolean(), "an answer says what became of it");
  BENCH_ASSERT(read["ok"] || !read["text"].empty(), "a refusal says why");
}

void take(const Request& request) {
  answer(outcome_of([&] {
    const Bench bench = bench_of(request.body);
    return json{{"traddr", bench.traddr}, {"trsvcid", bench.trsvcid}};
  }));
  answer(outcome_of([&] {
    const auto words = connect_words(request.body, kBench);
    for (std::size_t n = 1; n < words.size(); ++n) {
      BENCH_ASSERT(words[n].starts_with("--"), "what a bench says is the value of an option, and none itself");
    }
    return json{{"words", words}};
  }));
  answer(outcome_of([&] {
    const std::string line = connect_line(request.body, kBench, {"nqn.host", "0f"});
    BENCH_ASSERT(line.ends_with(",hostnqn=nqn.host,hostid=0f,tls"), "what a bench says adds no option");
    BENCH_ASSERT(line.find('\n') == std::string::npos, "the kernel is told one line");
    BENCH_ASSERT(line.find(",hostnqn=") == line.rfind(",hostnqn="), "one name");
    return json{{"line", line}};
  }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] + 1u;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  Lines lines;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    lines.hear(text.substr(at, piece));
    while (const auto line = lines.next()) {
      BENCH_ASSERT(line->find('\n') == std::string::npos, "a line has one end");
      if (const auto request = request_of(*line)) take(*request);
    }
  }
  return 0;
}
