#include "cli/replay_world.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/document.h"
#include "conformance/campaign/run_world.h"
#include "conformance/campaign/shrink.h"
#include "conformance/report/exchange.h"
#include "conformance/report/page.h"
#include "conformance/report/report.h"
#include "sim/capture/pcapng.h"

namespace fb::cli {

using namespace conformance;

ReplayFile read_replay_file(const std::string& path) { return or_throw(parse_replay_file(read_text(path), path)); }

namespace {

/// Hears for the capture and for the page.
class Listener final : public TraceSink {
 public:
  explicit Listener(const std::string& title) : writer({.title = title}), exchange(true) {}
  void on_event(const TraceEvent& event) override {
    writer.on_event(event);
    exchange.on_event(event);
  }
  capture::PcapngWriter writer;
  ExchangeRecorder exchange;
};

void write_page(const std::string& path, const std::string& report, const WorldOutcome& outcome, bool same,
                const std::vector<std::string>& story, ExchangeRecorder& exchange) {
  const WorldFacts facts{.name = std::filesystem::path(path).filename().string(),
                         .verdict = std::string(name_of(outcome.verdict)),
                         .signature = outcome.signature,
                         .text = outcome.text,
                         .story = story,
                         .command = "fabricbench replay " + path,
                         .digest = digest_text(outcome.digest),
                         .as_recorded = same,
                         .virtual_ns = outcome.virtual_ns,
                         .capture = "captures/world.pcapng"};
  const std::string page = world_html(facts, exchange.ladder(kLadderOfWorld));
  or_throw(capture::write_atomically(report + "/index.html", Bytes(page.begin(), page.end())));
}

std::string keep_capture(const capture::PcapngWriter& writer, const std::string& report) {
  const std::filesystem::path path = std::filesystem::path(report) / "captures" / "world.pcapng";
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) throw UserError(path.parent_path().string() + ": " + error.message());
  or_throw(writer.write_file(path.string()));
  return path.string();
}

}  // namespace

int replay_world(const std::string& path, const std::string& report, bool json, unsigned times) {
  const ReplayFile file = read_replay_file(path);
  const bool simulated = file.recipe.product.empty();
  Interrupter interrupter;
  const SignalWatcher watcher([&] { interrupter.fire(); });
  ProgressLine progress;
  std::unique_ptr<Listener> listener;
  WorldOutcome outcome;
  unsigned shown = 0, failed = 0;
  for (unsigned run = 0; run < times; ++run) {
    progress.show(fmt::format("run {} of {}, the failure was seen in {}", run + 1, times, shown));
    auto heard = report.empty() ? nullptr : std::make_unique<Listener>(path);
    WorldOutcome made = run_world(file.recipe, {.sink = heard.get(), .interrupter = &interrupter});
    const bool fails = made.verdict == WorldVerdict::fail;
    const bool shows = fails && made.signature == file.signature;
    failed += fails ? 1 : 0;
    shown += shows ? 1 : 0;
    if (!shows && shown > 0) continue;
    outcome = std::move(made);
    listener = std::move(heard);
  }
  progress.clear();
  const std::string capture = listener ? keep_capture(listener->writer, report) : "";
  const bool same = outcome.signature == file.signature && (!simulated || outcome.digest == file.digest);
  const std::vector<std::string> story = tell_story(file.recipe, outcome);
  if (listener) write_page(path, report, outcome, same, story, listener->exchange);
  if (json) {
    nlohmann::ordered_json document = {{"verdict", name_of(outcome.verdict)},
                                       {"signature", outcome.signature},
                                       {"text", outcome.text},
                                       {"digest", digest_text(outcome.digest)},
                                       {"as_recorded", same},
                                       {"capture", capture},
                                       {"runs", times},
                                       {"shown", shown},
                                       {"story", story}};
    print_document(std::move(document));
  } else {
    for (const std::string& sentence : story) std::puts(sentence.c_str());
    const std::string verdict(name_of(outcome.verdict));
    if (simulated) {
      std::printf("%s: %s, digest %s (%s)\n", path.c_str(), verdict.c_str(), digest_text(outcome.digest).c_str(),
                  same ? "as recorded" : "the file has another digest");
    } else {
      std::printf("%s: %s; '%s' was seen in %u of %u\n", path.c_str(), verdict.c_str(), file.signature.c_str(), shown, times);
    }
    if (!capture.empty()) std::printf("packets in %s, the exchange in %s/index.html\n", capture.c_str(), report.c_str());
  }
  // A world that is not the recorded one says nothing about what was recorded.
  return failed > 0 || (simulated && !same) ? exit_code::red : exit_code::good;
}

}  // namespace fb::cli
