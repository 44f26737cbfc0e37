// To and fro by Read alone: a side lays its message out in its own memory and raises the turn in front of it; the other one
// reads the turn until it has risen, then the message. Nobody but the reader has completions.
#include <cstring>
#include <memory>

#include "connection.h"

namespace {

constexpr UINT32 kProgramNumber = 4;

// What the peer may read. The message begins on a cache line of its own.
struct Mailbox {
  volatile LONG64 turn;
  BYTE unused[56];
  BYTE* message() { return reinterpret_cast<BYTE*>(this + 1); }
};

class Player {
 public:
  Player(Device& device, const Options& options) : options_(options), connection(device, options, {1, 2, options.sges, 1}) {
    if (device.info().MaxInboundReadLimit == 0 || device.info().MaxOutboundReadLimit == 0) {
      throw Failure{"Query", ND_NOT_SUPPORTED, "the adapter does not read"};
    }
  }

  void prepare(Device& device, ULONG largest) {
    pattern_ = std::make_unique<Pattern>(largest);
    mailbox_memory_ = std::make_unique<Memory>(device, sizeof(Mailbox) + largest, ND_MR_FLAG_ALLOW_REMOTE_READ);
    copy_memory_ = std::make_unique<Memory>(device, sizeof(Mailbox) + largest, ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_RDMA_READ_SINK);
    mailbox_ = reinterpret_cast<Mailbox*>(mailbox_memory_->data());
    copy_ = reinterpret_cast<Mailbox*>(copy_memory_->data());
  }

  void describe(Hello& hello) const {
    hello.address = reinterpret_cast<UINT64>(mailbox_);
    hello.token = mailbox_memory_->remote_token();
  }

  void take_description(const Hello& hello) { remote_ = hello; }

  // The peer has read what was here before, or it would not have raised its own turn.
  void lay_out(ULONG size, ULONGLONG round, ULONGLONG contents) {
    pattern_->fill(mailbox_->message(), size, contents);
    InterlockedExchange64(&mailbox_->turn, static_cast<LONG64>(round + 1));
  }

  // How many times the turn was read.
  ULONGLONG fetch(ULONG size, ULONGLONG round, ULONGLONG contents) {
    const auto wanted = static_cast<LONG64>(round + 1);
    ULONGLONG reads = 0;
    Patience patience(options_.patience_ms);
    for (;;) {
      read(reinterpret_cast<BYTE*>(copy_), sizeof(copy_->turn), 1, 0, 0);
      ++reads;
      if (copy_->turn == wanted) break;
      if (copy_->turn > wanted) fail("data", "the turn is of a later round");
      patience.step("data");
    }
    read(copy_->message(), size, options_.sges, sizeof(Mailbox), ND_OP_FLAG_READ_FENCE);
    pattern_->verify(copy_->message(), size, contents);
    return reads;
  }

 private:
  void read(BYTE* to, ULONG bytes, ULONG pieces_most, UINT64 offset, ULONG flags) {
    const Pieces pieces(to, bytes, pieces_most, copy_memory_->token());
    check(connection->Read(this, pieces.get(), pieces.count(), remote_.address + offset, remote_.token, flags), "Read");
    connection.expect(Nd2RequestTypeRead);
  }

  const Options& options_;
  Hello remote_;
  std::unique_ptr<Pattern> pattern_;
  std::unique_ptr<Memory> mailbox_memory_;
  std::unique_ptr<Memory> copy_memory_;
  Mailbox* mailbox_ = nullptr;
  Mailbox* copy_ = nullptr;

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
  player.connection.accept(hello);
  ULONGLONG round = 0;
  for (const ULONG size : message_sizes(hello.largest)) {
    for (ULONG i = 0; i < rounds_of(size, hello.count); ++i, ++round) {
      player.fetch(size, round, round * 2);
      player.lay_out(size, round, round * 2 + 1);
    }
  }
  // The client still reads the last message; it disconnects when it has.
  player.connection.await_disconnect();
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
  printf("%10s %10s %14s %14s %14s\n", "bytes", "rounds", "latency/us", "MB/s", "reads/round");
  fflush(stdout);
  ULONGLONG round = 0;
  for (const ULONG size : message_sizes(hello.largest)) {
    const ULONG rounds = rounds_of(size, hello.count);
    const double begin = now();
    ULONGLONG reads = 0;
    for (ULONG i = 0; i < rounds; ++i, ++round) {
      player.lay_out(size, round, round * 2);
      reads += player.fetch(size, round, round * 2 + 1) + 1;
    }
    const double latency = (now() - begin) / rounds / 2 * 1e6;
    printf("%10u %10u %14.2f %14.2f %14.1f\n", static_cast<unsigned>(size), static_cast<unsigned>(rounds), latency, size / latency,
           static_cast<double>(reads) / rounds);
    fflush(stdout);
  }
  player.connection.disconnect();
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

const Program kProgram = {"nd_read_pingpong", "to and fro by Read, out of the other one's memory", "scbpnCGLT", 54404, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
