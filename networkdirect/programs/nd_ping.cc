// Messages one way, as many as the server has receives for. Each size begins with an empty message from the client, which the
// server answers when its receives are posted; while it posts further ones, every empty message from the server
// is worth a batch of them.
#include <memory>

#include "connection.h"

namespace {

constexpr UINT32 kProgramNumber = 1;
constexpr ULONG kMemoryMost = 32 << 20;
// Empty messages that the client may not have reaped yet: the answer and the credits.
constexpr ULONG kCreditReceives = 8;

// How one size is sent; both sides reckon alike.
struct Phase {
  Phase(ULONG size, const Hello& hello) : bytes(size), rounds(rounds_of(size, hello.count)) {
    slots = hello.depth;
    if (slots > kMemoryMost / size) slots = kMemoryMost / size;
    if (slots > rounds) slots = rounds;
    if (slots == 0) slots = 1;
    batch = slots < 2 ? 1 : slots / 2;
    credit_messages = (rounds - slots + batch - 1) / batch;
  }
  ULONG bytes;
  ULONG rounds;
  ULONG slots;
  ULONG batch;
  ULONG credit_messages;
};

SIZE_T memory_for(const Hello& hello) {
  SIZE_T most = 0;
  for (const ULONG size : message_sizes(hello.largest)) {
    const Phase phase(size, hello);
    if (most < SIZE_T{phase.slots} * size) most = SIZE_T{phase.slots} * size;
  }
  return most;
}

class Server {
 public:
  Server(Device& device, const Options& options) : options_(options), connection_(device, options, sizes(options)) {}

  ULONGLONG serve(Device& device, Listener& listener) {
    Hello hello = connection_.await(listener, kProgramNumber);
    if (hello.depth > options_.depth) hello.depth = options_.depth;
    pattern_ = std::make_unique<Pattern>(hello.largest);
    memory_ = std::make_unique<Memory>(device, memory_for(hello), ND_MR_FLAG_ALLOW_LOCAL_WRITE);
    post_empty();
    connection_.accept(hello);
    ULONGLONG received = 0;
    for (const ULONG size : message_sizes(hello.largest)) {
      receive_all(Phase(size, hello), received);
      received += Phase(size, hello).rounds;
    }
    // The receive for a further size gets the goodbye.
    if (take_message() != 0) fail("Receive", "a message after the last one");
    while (sending_ != 0) take();
    connection_.disconnect();
    return received;
  }

 private:
  static Sizes sizes(const Options& options) { return {options.depth + 1, kCreditReceives, options.sges, 0}; }

  // For the message that begins a size.
  void post_empty() { check(connection_->Receive(this, nullptr, 0), "Receive"); }

  void post(const Phase& phase, ULONG number) {
    const Pieces pieces(place(phase, number), phase.bytes, options_.sges, memory_->token());
    check(connection_->Receive(this, pieces.get(), pieces.count()), "Receive");
    // Receives are used up in order: the next size's first message comes after this size's last.
    if (number + 1 == phase.rounds) post_empty();
  }

  void send_empty() {
    while (sending_ == kCreditReceives) fail_unless_sent(connection_.next());
    check(connection_->Send(this, nullptr, 0, 0), "Send");
    ++sending_;
  }

  void fail_unless_sent(const ND2_RESULT& result) {
    check_result(result, Nd2RequestTypeSend);
    --sending_;
  }

  // The next message, past the completions of our own sends.
  ULONG take_message() {
    for (;;) {
      const ND2_RESULT result = connection_.next();
      if (result.RequestType != Nd2RequestTypeSend) {
        check_result(result, Nd2RequestTypeReceive);
        return result.BytesTransferred;
      }
      fail_unless_sent(result);
    }
  }

  void take() { fail_unless_sent(connection_.next()); }

  void receive_all(const Phase& phase, ULONGLONG first) {
    if (take_message() != 0) fail("Receive", "the first message of a size is not empty");
    ULONG posted = 0;
    while (posted < phase.slots) post(phase, posted++);
    send_empty();
    ULONG fresh = 0;
    for (ULONG i = 0; i < phase.rounds; ++i) {
      if (take_message() != phase.bytes) fail("Receive", "a message of another size");
      pattern_->verify(place(phase, i), phase.bytes, first + i);
      if (posted == phase.rounds) continue;
      post(phase, posted++);
      if (++fresh < phase.batch && posted < phase.rounds) continue;
      send_empty();
      fresh = 0;
    }
  }

  BYTE* place(const Phase& phase, ULONG number) const { return memory_->data() + SIZE_T{number % phase.slots} * phase.bytes; }

  const Options& options_;
  std::unique_ptr<Pattern> pattern_;
  std::unique_ptr<Memory> memory_;
  ULONG sending_ = 0;
  Connection connection_;
};

class Client {
 public:
  Client(Device& device, const Options& options)
      : options_(options), pattern_(options.largest), connection_(device, options, {kCreditReceives, options.depth + 1, options.sges, 0}) {
    Hello hello;
    hello.program = kProgramNumber;
    hello.count = options.count_or(1000);
    hello.largest = options.largest;
    hello.depth = options.depth;
    memory_ = std::make_unique<Memory>(device, memory_for(hello), 0);
    for (ULONG i = 0; i < kCreditReceives; ++i) post_empty();
    agreed_ = connection_.connect(hello);
  }

  void run() {
    printf("%10s %10s %14s %14s %10s\n", "bytes", "messages", "messages/s", "MB/s", "how");
    fflush(stdout);
    ULONGLONG first = 0;
    for (const ULONG size : message_sizes(agreed_.largest)) {
      const Phase phase(size, agreed_);
      begin();
      const double start = now();
      send_all(phase, first);
      const double seconds = now() - start;
      first += phase.rounds;
      printf("%10u %10u %14.0f %14.2f %10s\n", static_cast<unsigned>(size), static_cast<unsigned>(phase.rounds), phase.rounds / seconds,
             static_cast<double>(size) * phase.rounds / seconds / 1e6, connection_.inline_flag(size) != 0 ? "inline" : "");
      fflush(stdout);
    }
    connection_.leave();
  }

 private:
  void post_empty() { check(connection_->Receive(this, nullptr, 0), "Receive"); }

  // The empty message and its answer, in whatever order their completions come.
  void begin() {
    check(connection_->Send(this, nullptr, 0, 0), "Send");
    bool sent = false;
    bool answered = false;
    while (!sent || !answered) {
      const ND2_RESULT result = connection_.next();
      check_result(result, result.RequestType == Nd2RequestTypeSend ? Nd2RequestTypeSend : Nd2RequestTypeReceive);
      if (result.RequestType == Nd2RequestTypeSend) {
        sent = true;
      } else {
        answered = true;
        post_empty();
      }
    }
  }

  void send_all(const Phase& phase, ULONGLONG first) {
    ULONG sent = 0;
    ULONG completed = 0;
    ULONG credits = phase.slots;
    ULONG credit_messages = 0;
    while (completed < phase.rounds || credit_messages < phase.credit_messages) {
      for (; sent < phase.rounds && credits != 0 && sent - completed < phase.slots; ++sent, --credits) send(phase, sent, first + sent);
      const ND2_RESULT result = connection_.next();
      check_result(result, result.RequestType == Nd2RequestTypeSend ? Nd2RequestTypeSend : Nd2RequestTypeReceive);
      if (result.RequestType == Nd2RequestTypeSend) {
        ++completed;
      } else {
        post_empty();
        ++credit_messages;
        credits += phase.batch;
      }
    }
  }

  void send(const Phase& phase, ULONG number, ULONGLONG contents) {
    BYTE* const place = memory_->data() + SIZE_T{number % phase.slots} * phase.bytes;
    pattern_.fill(place, phase.bytes, contents);
    const Pieces pieces(place, phase.bytes, options_.sges, memory_->token());
    check(connection_->Send(this, pieces.get(), pieces.count(), connection_.inline_flag(phase.bytes)), "Send");
  }

  const Options& options_;
  Pattern pattern_;
  std::unique_ptr<Memory> memory_;
  Hello agreed_;
  Connection connection_;
};

void run(const Options& options) {
  Device device(local_address(options));
  if (!options.server) {
    Client client(device, options);
    client.run();
    return;
  }
  Listener listener(device, options.address);
  for (ULONG i = 0; i < options.count_or(1); ++i) {
    Server server(device, options);
    printf("received %llu messages, all as sent\n", static_cast<unsigned long long>(server.serve(device, listener)));
    fflush(stdout);
  }
}

const Program kProgram = {"nd_ping", "messages one way, with credits", "scbpnqCGLT", 54401, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
