// A program that drives a host says anything: a line of the input for each thing that it is asked. What is asked is answered
// all the same, once, and nobody is believed after nonsense.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/assert.h"
#include "base/result.h"
#include "conformance/runner/check.h"
#include "conformance/runner/driven_host.h"

namespace {

using namespace fb;
using namespace fb::conformance;

class Anybody final : public Driver {
 public:
  Anybody(World& world, std::string_view lines, DriverListener& listener) : world_(world), lines_(lines), listener_(listener) {}
  void send(std::string_view) override {
    ++owed_;
    if (owed_ == 1) world_.loop().schedule_after(answer_, Duration::us(1));
  }
  bool end(Duration) override { return true; }

 private:
  void answer() {
    if (--owed_ > 0) world_.loop().schedule_after(answer_, Duration::us(1));
    if (lines_.empty()) return listener_.on_end("it says no more");
    const std::size_t end = lines_.find('\n');
    const std::string_view line = lines_.substr(0, end);
    lines_.remove_prefix(end == std::string_view::npos ? lines_.size() : end + 1);
    listener_.on_line(line);
  }

  World& world_;
  std::string_view lines_;
  DriverListener& listener_;
  int owed_ = 0;
  Timer<Anybody, &Anybody::answer> answer_{"fuzz.answer", *this};
};

template <class T>
void expect_an_answer(Op<T> op) {
  BENCH_ASSERT(op.wait_for(Duration::s(1)).has_value(), "what is asked is answered");
}

void live(DrivenHost& host) {
  Bytes data(4);
  const auto offered = [](const auto& ask) {
    try {
      ask();
    } catch (const NotOffered&) {
    }
  };
  offered([&] { expect_an_answer(host.connect({})); });
  offered([&] { expect_an_answer(host.read(1, 0, data)); });
  offered([&] { expect_an_answer(host.write(1, 0, data)); });
  offered([&] {
    const Op<HostOutcome> one = host.discover(), other = host.reset();
    expect_an_answer(one);
    expect_an_answer(other);
  });
  offered([&] { expect_an_answer(host.flush(1)); });
  offered([&] { expect_an_answer(host.disconnect()); });
  host.end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view lines(reinterpret_cast<const char*>(data), size);
  const auto world = World::make_virtual(1);
  const host::ConnectOptions connect;
  try {
    DrivenHost host(*world, [&](DriverListener& listener) { return std::make_unique<Anybody>(*world, lines, listener); }, "tcp", connect,
                    {});
    live(host);
  } catch (const UserError& told) {
    BENCH_ASSERT(std::string_view(told.what()).starts_with("the host's program"), "a user is told whose fault it is");
  }
  return 0;
}
