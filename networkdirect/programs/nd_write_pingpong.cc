// To and fro by Write alone: each side puts its message into the other one's memory, and sees the answer when the last byte of its
// own has changed. That needs an adapter that writes in order, and no completion at the receiving side.
#include <cstring>
#include <memory>

#include "connection.h"

namespace {

constexpr UINT32 kProgramNumber = 3;

// The last byte of a message: never 0, which says that nothing has come, and each round another one.
BYTE mark_of(ULONGLONG round) { return static_cast<BYTE>(round % 250 + 1); }

class Player {
 public:
  Player(Device& device, const Options& options) : options_(options), connection(device, options, {1, 2, options.sges, 0}) {
    if ((device.info().AdapterFlags & ND_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED) == 0) {
      throw Failure{"Query", ND_NOT_SUPPORTED, "the adapter does not write in order"};
    }
  }

  void prepare(Device& device, ULONG largest) {
    pattern_ = std::make_unique<Pattern>(largest);
    incoming_ = std::make_unique<Memory>(device, largest, ND_MR_FLAG_ALLOW_REMOTE_WRITE);
    outgoing_ = std::make_unique<Memory>(device, largest, 0);
  }

  void describe(Hello& hello) const {
    hello.address = reinterpret_cast<UINT64>(incoming_->data());
    hello.token = incoming_->remote_token();
  }

  void take_description(const Hello& hello) { remote_ = hello; }

  // Before the peer may write the message.
  void expect_later(ULONG size) {
    volatile BYTE* const last = incoming_->data() + size - 1;
    *last = 0;
    MemoryBarrier();
  }

  void write(ULONG size, ULONGLONG round, ULONGLONG contents) {
    pattern_->fill(outgoing_->data(), size - 1, contents);
    outgoing_->data()[size - 1] = mark_of(round);
    const Pieces pieces(outgoing_->data(), size, options_.sges, outgoing_->token());
    check(connection->Write(this, pieces.get(), pieces.count(), remote_.address, remote_.token, connection.inline_flag(size)), "Write");
  }

  // The buffer of a Write is ours again when it has completed. The client's goodbye may come before the last one has.
  void finish_writing() {
    while (!take(Nd2RequestTypeWrite)) {
    }
  }

  void await_goodbye() {
    while (!left_) take(Nd2RequestTypeReceive);
  }

  void await(ULONG size, ULONGLONG round, ULONGLONG contents) {
    const volatile BYTE* const last = incoming_->data() + size - 1;
    Patience patience(options_.patience_ms);
    while (*last == 0) patience.step("data");
    MemoryBarrier();
    if (*last != mark_of(round)) fail("data", "the last byte is of another round");
    pattern_->verify(incoming_->data(), size - 1, contents);
  }

 private:
  bool take(ND2_REQUEST_TYPE wanted) {
    const ND2_RESULT result = connection.next();
    check_result(result, result.RequestType == Nd2RequestTypeReceive ? Nd2RequestTypeReceive : Nd2RequestTypeWrite);
    if (result.RequestType == Nd2RequestTypeReceive) left_ = true;
    return result.RequestType == wanted;
  }

  const Options& options_;
  bool left_ = false;
  Hello remote_;
  std::unique_ptr<Pattern> pattern_;
  std::unique_ptr<Memory> incoming_;
  std::unique_ptr<Memory> outgoing_;

 public:
  // Last, so that it goes first: then nothing uses the memory any more.
  Connection connection;
};

void serve(Device& device, const Options& options, Listener& listener) {
  Player player(device, options);
  Hello hello = player.connection.await(listener, kProgramNumber);
  player.take_description(hello);
  player.prepare(device, hello.largest);
  player.describe(hello);
  const std::vector<ULONG> sizes = message_sizes(hello.largest);
  player.expect_later(sizes[0]);
  player.connection.post_goodbye();
  player.connection.accept(hello);
  ULONGLONG round = 0;
  for (SIZE_T at = 0; at < sizes.size(); ++at) {
    const ULONG rounds = rounds_of(sizes[at], hello.count);
    for (ULONG i = 0; i < rounds; ++i, ++round) {
      player.await(sizes[at], round, round * 2);
      // The next ping may come as soon as the pong is out.
      if (i + 1 < rounds) {
        player.expect_later(sizes[at]);
      } else if (at + 1 < sizes.size()) {
        player.expect_later(sizes[at + 1]);
      }
      player.write(sizes[at], round, round * 2 + 1);
      player.finish_writing();
    }
  }
  player.await_goodbye();
  player.connection.disconnect();
}

void run_client(Device& device, const Options& options) {
  Player player(device, options);
  Hello hello;
  hello.program = kProgramNumber;
  hello.count = options.count_or(1000);
  hello.largest = options.largest;
  player.prepare(device, hello.largest);
  player.describe(hello);
  player.take_description(player.connection.connect(hello));
  printf("%10s %10s %14s %14s\n", "bytes", "rounds", "latency/us", "MB/s");
  fflush(stdout);
  ULONGLONG round = 0;
  for (const ULONG size : message_sizes(hello.largest)) {
    const ULONG rounds = rounds_of(size, hello.count);
    const double begin = now();
    for (ULONG i = 0; i < rounds; ++i, ++round) {
      player.expect_later(size);
      player.write(size, round, round * 2);
      player.await(size, round, round * 2 + 1);
      player.finish_writing();
    }
    const double latency = (now() - begin) / rounds / 2 * 1e6;
    printf("%10u %10u %14.2f %14.2f\n", static_cast<unsigned>(size), static_cast<unsigned>(rounds), latency, size / latency);
    fflush(stdout);
  }
  player.connection.leave();
}

void run(const Options& options) {
  Device device(local_address(options));
  if (!options.server) {
    run_client(device, options);
    return;
  }
  Listener listener(device, options.address);
  for (ULONG i = 0; i < options.count_or(1); ++i) serve(device, options, listener);
}

const Program kProgram = {"nd_write_pingpong", "to and fro by Write, seen in memory", "scbpnCGLT", 54403, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
