// Messages to and fro: Send on one side, Receive on the other. Half the time of a round is the latency.
#include <memory>

#include "connection.h"

namespace {

constexpr UINT32 kProgramNumber = 2;

// One side. Rounds are numbered through all sizes; a ping has an even number among the contents, its pong the next one.
class Player {
 public:
  Player(Device& device, const Options& options) : options_(options), connection(device, options, {2, 2, options.sges, 0}) {}

  void prepare(Device& device, ULONG largest) {
    pattern_ = std::make_unique<Pattern>(largest);
    largest_ = largest;
    incoming_ = std::make_unique<Memory>(device, SIZE_T{largest} * 2, ND_MR_FLAG_ALLOW_LOCAL_WRITE);
    outgoing_ = std::make_unique<Memory>(device, largest, ND_MR_FLAG_ALLOW_LOCAL_WRITE);
  }

  void post_receive(ULONGLONG round) {
    const Pieces pieces(place(round), largest_, options_.sges, incoming_->token());
    check(connection->Receive(this, pieces.get(), pieces.count()), "Receive");
  }

  void send(ULONG size, ULONGLONG contents) {
    // The buffer is free again when the message before has been acknowledged.
    while (sending_) take();
    pattern_->fill(outgoing_->data(), size, contents);
    const Pieces pieces(outgoing_->data(), size, options_.sges, outgoing_->token());
    check(connection->Send(this, pieces.get(), pieces.count(), connection.inline_flag(size)), "Send");
    sending_ = true;
  }

  void receive(ULONG size, ULONGLONG round, ULONGLONG contents) {
    while (!arrived_) take();
    arrived_ = false;
    if (bytes_ != size) fail("Receive", "a message of another size");
    pattern_->verify(place(round), size, contents);
  }

  void receive_goodbye() {
    while (!arrived_) take();
    if (bytes_ != 0) fail("Receive", "a message after the last one");
  }

  void finish_sending() {
    while (sending_) take();
  }

 private:
  BYTE* place(ULONGLONG round) const { return incoming_->data() + round % 2 * largest_; }

  void take() {
    const ND2_RESULT result = connection.next();
    if (result.RequestType == Nd2RequestTypeSend) {
      check_result(result, Nd2RequestTypeSend);
      sending_ = false;
    } else {
      check_result(result, Nd2RequestTypeReceive);
      arrived_ = true;
      bytes_ = result.BytesTransferred;
    }
  }

  const Options& options_;
  ULONG largest_ = 0;
  bool sending_ = false;
  bool arrived_ = false;
  ULONG bytes_ = 0;
  std::unique_ptr<Pattern> pattern_;
  std::unique_ptr<Memory> incoming_;
  std::unique_ptr<Memory> outgoing_;

 public:
  // Last, so that it goes first: then nothing uses the memory any more.
  Connection connection;
};

ULONGLONG rounds_in_all(const Hello& hello) {
  ULONGLONG all = 0;
  for (const ULONG size : message_sizes(hello.largest)) all += rounds_of(size, hello.count);
  return all;
}

void serve(Device& device, const Options& options, Listener& listener) {
  Player player(device, options);
  const Hello hello = player.connection.await(listener, kProgramNumber);
  player.prepare(device, hello.largest);
  player.post_receive(0);
  player.connection.accept(hello);
  const ULONGLONG all = rounds_in_all(hello);
  ULONGLONG round = 0;
  for (const ULONG size : message_sizes(hello.largest)) {
    for (ULONG i = 0; i < rounds_of(size, hello.count); ++i, ++round) {
      player.receive(size, round, round * 2);
      if (round + 1 < all) {
        player.post_receive(round + 1);
      } else {
        player.connection.post_goodbye();
      }
      player.send(size, round * 2 + 1);
    }
  }
  player.finish_sending();
  player.receive_goodbye();
  player.connection.disconnect();
}

void run_client(Device& device, const Options& options) {
  Hello hello;
  hello.program = kProgramNumber;
  hello.count = options.count_or(1000);
  hello.largest = options.largest;
  Player player(device, options);
  player.prepare(device, hello.largest);
  player.connection.connect(hello);
  printf("%10s %10s %14s %14s\n", "bytes", "rounds", "latency/us", "MB/s");
  fflush(stdout);
  ULONGLONG round = 0;
  for (const ULONG size : message_sizes(hello.largest)) {
    const ULONG rounds = rounds_of(size, hello.count);
    const double begin = now();
    for (ULONG i = 0; i < rounds; ++i, ++round) {
      player.post_receive(round);
      player.send(size, round * 2);
      player.receive(size, round, round * 2 + 1);
    }
    player.finish_sending();
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

const Program kProgram = {"nd_pingpong", "messages to and fro, by Send and Receive", "scbpnCGLT", 54402, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
