// A client of the control socket says anything: each line gets an answer that is JSON, or none where it asked for none, and the
// target goes on.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/assert.h"
#include "cli/control/target_control.h"

namespace {

using namespace fb;
using namespace fb::cli;

class NoSockets final : public TargetListeners {
 public:
  std::vector<Listener> list() const override { return all_; }
  void add(const std::string& url, bool discovery_only) override { all_.push_back({url, 1, discovery_only}); }
  void remove(const std::string& url) override {
    std::erase_if(all_, [&](const Listener& one) { return one.url == url; });
  }

 private:
  std::vector<Listener> all_ = {{"tcp://192.0.2.1:4420", 1, false}};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view lines(reinterpret_cast<const char*>(data), size);
  // Files of this machine are none of a fuzzer's.
  if (lines.find("file") != std::string_view::npos || lines.find("\\u") != std::string_view::npos) return 0;
  const auto world = World::make_virtual(1);
  ToldDevice device;
  ToldSubsystem told(*world);
  subsystem::Target target(*world, &told);
  target.add_port({});
  BENCH_ASSERT(target.add_subsystem({}).add_namespace({.blocks = 64}).ok(), "there is room");
  NoSockets sockets;
  const TargetControl control({target, told, &device, sockets});
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string answer = control.rpc().answer(lines.substr(0, end));
    BENCH_ASSERT(answer.empty() || nlohmann::json::accept(answer), "an answer is JSON");
    BENCH_ASSERT(answer.find('\n') == std::string::npos, "an answer is a line");
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    try {
      world->run_for(Duration::ms(1));
    } catch (const WaitFailure&) {
      return 0;  // target.stop
    }
  }
  return 0;
}
