// Connections made and taken down as fast as it goes, by several threads around one completion port. Each connection is a small
// machine that whichever thread hears of it moves on. Odd ones are taken down by the server, even ones by the client; the
// other side hears of it by NotifyDisconnect.
#include "churn.h"

namespace {

constexpr UINT32 kProgramNumber = 5;

class Server : public Churn {
 public:
  Server(Device& device, const Options& options, Listener& listener) : Churn(device, options), listener_(listener) {}
  ~Server() override { drain(); }

  ULONGLONG served() const { return static_cast<ULONGLONG>(ended_); }

 protected:
  void begin_all() override {
    for (auto& slot : slots_) await(*slot);
  }
  // Nobody says when the first client comes.
  bool patient() const override { return wanted_ == 0; }

  void cancel_waiting() override { listener_->CancelOverlappedRequests(); }

  HRESULT request_result(Slot& slot) override { return listener_->GetOverlappedResult(&slot.overlapped, FALSE); }

  void go_on(Slot& slot, HRESULT status) override {
    switch (slot.step) {
      case Step::request:
        accept(slot, status);
        return;
      case Step::accepting:
        // A client that gave up: the next one, please.
        if (status == ND_CONNECTION_ABORTED || status == ND_CONNECTION_REFUSED) {
          await(slot);
          return;
        }
        check(status, name(slot.step));
        if (slot.number % 2 == 0) {
          hear(slot);
        } else {
          disconnect(slot);
        }
        return;
      case Step::hearing:
        if (!is_gone(status)) check(status, name(slot.step));
        disconnect(slot);
        return;
      case Step::disconnecting:
        if (!is_gone(status)) check(status, name(slot.step));
        await(slot);
        InterlockedIncrement64(&ended_);
        return;
      default:
        fail(name(slot.step), "a completion that nobody asked for");
    }
  }

 private:
  void await(Slot& slot) {
    slot.pair.reset();
    create_connector(slot);
    start(slot, Step::request, [&](OVERLAPPED* overlapped) { return listener_->GetConnectionRequest(slot.connector.get(), overlapped); });
  }

  void accept(Slot& slot, HRESULT status) {
    check(status, name(slot.step));
    Hello hello;
    ULONG bytes = sizeof(hello);
    const HRESULT got = slot.connector->GetPrivateData(&hello, &bytes);
    if (got != ND_BUFFER_OVERFLOW) check(got, "GetPrivateData");
    if (bytes < sizeof(hello) || hello.program != kProgramNumber || hello.count == 0) {
      slot.connector->Reject(nullptr, 0);
      fail("GetPrivateData", "the client is another program");
    }
    InterlockedExchange64(&wanted_, hello.count);
    slot.number = hello.extra;
    create_pair(slot);
    start(slot, Step::accepting,
          [&](OVERLAPPED* overlapped) { return slot.connector->Accept(slot.pair.get(), 0, 0, &hello, sizeof(hello), overlapped); });
  }

  Listener& listener_;
};

class Client : public Churn {
 public:
  Client(Device& device, const Options& options) : Churn(device, options) { wanted_ = options.count_or(1000); }
  ~Client() override { drain(); }

  void report(double seconds) const {
    printf("%12s %12s %12s %16s %14s %8s\n", "threads", "at once", "connections", "connections/s", "latency/us", "retries");
    printf("%12u %12u %12lld %16.0f %14.1f %8lld\n", static_cast<unsigned>(options_.threads), static_cast<unsigned>(options_.depth),
           static_cast<long long>(ended_), static_cast<double>(ended_) / seconds,
           static_cast<double>(microseconds_) / static_cast<double>(ended_), static_cast<long long>(retries_));
  }

 protected:
  void begin_all() override {
    for (auto& slot : slots_) open(*slot);
  }

  HRESULT request_result(Slot&) override { return ND_INTERNAL_ERROR; }

  void go_on(Slot& slot, HRESULT status) override {
    switch (slot.step) {
      case Step::connecting:
        if (may_try_again(status) && ++slot.tries < 10) {
          InterlockedIncrement64(&retries_);
          connect(slot);
          return;
        }
        check(status, name(slot.step));
        start(slot, Step::completing, [&](OVERLAPPED* overlapped) { return slot.connector->CompleteConnect(overlapped); });
        return;
      case Step::completing:
        check(status, name(slot.step));
        InterlockedAdd64(&microseconds_, static_cast<LONG64>((now() - slot.begun) * 1e6));
        if (slot.number % 2 == 0) {
          disconnect(slot);
        } else {
          hear(slot);
        }
        return;
      case Step::hearing:
        if (!is_gone(status)) check(status, name(slot.step));
        disconnect(slot);
        return;
      case Step::disconnecting:
        if (!is_gone(status)) check(status, name(slot.step));
        slot.connector.reset();
        slot.pair.reset();
        open(slot);
        InterlockedIncrement64(&ended_);
        return;
      default:
        fail(name(slot.step), "a completion that nobody asked for");
    }
  }

 private:
  // A server that has no connector ready at this moment refuses.
  static bool may_try_again(HRESULT status) { return status == ND_CONNECTION_REFUSED || status == ND_TIMEOUT || status == ND_IO_TIMEOUT; }

  void open(Slot& slot) {
    slot.step = Step::idle;
    const LONG64 number = InterlockedIncrement64(&opened_) - 1;
    if (number >= wanted_) return;
    slot.number = static_cast<ULONG>(number);
    slot.tries = 0;
    slot.begun = now();
    create_connector(slot);
    create_pair(slot);
    check(slot.connector->Bind(device_.local().get(), device_.local().length), "Bind");
    connect(slot);
  }

  void connect(Slot& slot) {
    Hello hello;
    hello.program = kProgramNumber;
    hello.count = static_cast<UINT32>(wanted_);
    hello.extra = slot.number;
    start(slot, Step::connecting, [&](OVERLAPPED* overlapped) {
      return slot.connector->Connect(slot.pair.get(), options_.address.get(), options_.address.length, 0, 0, &hello, sizeof(hello),
                                     overlapped);
    });
  }

  LONG64 volatile opened_ = 0;
  LONG64 volatile retries_ = 0;
  LONG64 volatile microseconds_ = 0;
};

void run(const Options& options) {
  Device device(local_address(options));
  Port port;
  port.associate(device.file());
  if (!options.server) {
    Client client(device, options);
    const double begin = now();
    client.run(port);
    client.report(now() - begin);
    return;
  }
  Listener listener(device, options.address);
  for (ULONG i = 0; i < options.count_or(1); ++i) {
    Server server(device, options, listener);
    server.run(port);
    printf("served %llu connections\n", static_cast<unsigned long long>(server.served()));
    fflush(stdout);
  }
}

const Program kProgram = {"nd_connect_rate", "connections made and taken down", "scqtCLT", 54405, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
