// How long registering memory takes, and how many registrations a second several threads get. Requests are waited for in two ways:
// through an event whose low bit keeps them out of the completion port, and through the port.
#include "addresses.h"
#include "connection.h"

namespace {

// An event of Windows as an OVERLAPPED carries it: with the low bit set nothing goes to the completion port.
class QuietRequest {
 public:
  QuietRequest() : event_(CreateEventW(nullptr, FALSE, FALSE, nullptr)) {
    if (event_ == nullptr) fail_with_last_error("CreateEvent");
  }
  QuietRequest(const QuietRequest&) = delete;
  QuietRequest& operator=(const QuietRequest&) = delete;
  ~QuietRequest() { CloseHandle(event_); }

  OVERLAPPED* begin() {
    overlapped_ = {};
    overlapped_.hEvent = reinterpret_cast<HANDLE>(reinterpret_cast<ULONG_PTR>(event_) | 1);
    return &overlapped_;
  }
  void expect(IND2Overlapped* object, HRESULT status, DWORD patience_ms, const char* call) {
    while (status == ND_PENDING) {
      if (WaitForSingleObject(event_, patience_ms) != WAIT_OBJECT_0) throw Failure{call, ND_TIMEOUT, "its event was not set"};
      status = object->GetOverlappedResult(&overlapped_, FALSE);
    }
    check(status, call);
  }

 private:
  OVERLAPPED overlapped_ = {};
  HANDLE event_;
};

void expect_through(Port& port, IND2Overlapped* object, OVERLAPPED* overlapped, HRESULT status, DWORD patience_ms, const char* call) {
  if (status == ND_PENDING) {
    bool succeeded = false;
    OVERLAPPED* const done = port.next(patience_ms, &succeeded);
    if (done == nullptr) throw Failure{call, ND_TIMEOUT, "nothing came through the port"};
    if (done != overlapped) fail(call, "the port gave another request");
    status = object->GetOverlappedResult(overlapped, FALSE);
    if (succeeded != (status == ND_SUCCESS)) fail(call, "the port and the provider disagree");
  }
  check(status, call);
}

struct Latency {
  double to_register = 0;
  double to_deregister = 0;
};

template <typename Register, typename Deregister>
Latency measure(ULONG rounds, Register register_once, Deregister deregister_once) {
  Latency sum;
  for (ULONG i = 0; i < rounds; ++i) {
    const double begin = now();
    register_once();
    const double middle = now();
    deregister_once();
    sum.to_register += middle - begin;
    sum.to_deregister += now() - middle;
  }
  return {sum.to_register / rounds * 1e6, sum.to_deregister / rounds * 1e6};
}

constexpr ULONG kFlags = ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_ALLOW_REMOTE_WRITE;

void print_latencies(Device& device, Port& port, const Options& options) {
  Ref<IND2MemoryRegion> region;
  check(device->CreateMemoryRegion(IID_IND2MemoryRegion, device.file(), region.put()), "CreateMemoryRegion");
  std::vector<BYTE> memory(options.largest);
  QuietRequest quiet;
  OVERLAPPED overlapped = {};
  const DWORD patience = options.patience_ms;
  printf("%10s %8s   %22s   %22s\n", "", "", "through an event", "through the port");
  printf("%10s %8s %12s %11s %12s %11s\n", "bytes", "rounds", "register/us", "deregister", "register/us", "deregister");
  for (const ULONG size : message_sizes(options.largest)) {
    const ULONG rounds = rounds_of(size, options.count_or(1000));
    const Latency by_event = measure(
        rounds, [&] { quiet.expect(region.get(), region->Register(memory.data(), size, kFlags, quiet.begin()), patience, "Register"); },
        [&] { quiet.expect(region.get(), region->Deregister(quiet.begin()), patience, "Deregister"); });
    if (port.next(0) != nullptr) fail("GetQueuedCompletionStatus", "a request with the low bit set came through the port");
    const Latency by_port = measure(
        rounds,
        [&] {
          overlapped = {};
          const HRESULT status = region->Register(memory.data(), size, kFlags, &overlapped);
          expect_through(port, region.get(), &overlapped, status, patience, "Register");
        },
        [&] {
          overlapped = {};
          expect_through(port, region.get(), &overlapped, region->Deregister(&overlapped), patience, "Deregister");
        });
    printf("%10u %8u %12.2f %11.2f %12.2f %11.2f\n", static_cast<unsigned>(size), static_cast<unsigned>(rounds), by_event.to_register,
           by_event.to_deregister, by_port.to_register, by_port.to_deregister);
    fflush(stdout);
  }
}

// One memory region that is registered and deregistered by turns, by whichever thread hears that it is done.
struct Work {
  std::vector<BYTE> memory;
  OVERLAPPED overlapped = {};
  // Goes first at the end: then nobody uses the other two.
  Ref<IND2MemoryRegion> region;
  ULONG left = 0;
  bool registered = false;
  // Reported by ourselves: the provider need not know of it.
  bool finished_at_once = false;
};

struct Race {
  Port* port = nullptr;
  DWORD patience_ms = 0;
  std::vector<Work> works;
  LONG64 volatile running = 0;
  LONG64 volatile registrations = 0;
  LONG64 volatile failed = 0;
  Failure failure = {"", ND_SUCCESS, {}};
};

void start(Race& race, Work& work) {
  work.overlapped = {};
  work.finished_at_once = false;
  const HRESULT status = work.registered ? work.region->Deregister(&work.overlapped)
                                         : work.region->Register(work.memory.data(), work.memory.size(), kFlags, &work.overlapped);
  // Finished at once: then the file reports nothing, and we do.
  if (status == ND_SUCCESS) {
    work.finished_at_once = true;
    race.port->post(&work.overlapped);
  } else if (status != ND_PENDING) {
    check(status, work.registered ? "Deregister" : "Register");
  }
}

void go_on(Race& race, Work& work) {
  if (!work.finished_at_once) check(work.region->GetOverlappedResult(&work.overlapped, FALSE), work.registered ? "Deregister" : "Register");
  work.registered = !work.registered;
  if (!work.registered) {
    InterlockedIncrement64(&race.registrations);
    if (--work.left == 0) {
      InterlockedDecrement64(&race.running);
      return;
    }
  }
  start(race, work);
}

DWORD WINAPI run_thread(LPVOID parameter) {
  Race& race = *static_cast<Race*>(parameter);
  try {
    Patience patience(race.patience_ms);
    while (InterlockedAdd64(&race.running, 0) > 0 && InterlockedAdd64(&race.failed, 0) == 0) {
      OVERLAPPED* const done = race.port->next(10);
      if (done == nullptr) {
        patience.check("Register");
        continue;
      }
      patience = Patience(race.patience_ms);
      go_on(race, *CONTAINING_RECORD(done, Work, overlapped));
    }
  } catch (const Failure& failure) {
    if (InterlockedIncrement64(&race.failed) == 1) race.failure = failure;
  }
  return 0;
}

void print_rate(Device& device, Port& port, const Options& options, ULONG threads) {
  constexpr SIZE_T kBytes = 64 << 10;
  Race race;
  race.port = &port;
  race.patience_ms = options.patience_ms;
  race.works.resize(SIZE_T{threads} * 4);
  race.running = static_cast<LONG64>(race.works.size());
  for (Work& work : race.works) {
    check(device->CreateMemoryRegion(IID_IND2MemoryRegion, device.file(), work.region.put()), "CreateMemoryRegion");
    work.memory.resize(kBytes);
    work.left = options.count_or(1000);
  }
  const double begin = now();
  for (Work& work : race.works) start(race, work);
  {
    Threads all;
    for (ULONG i = 0; i < threads; ++i) all.start(run_thread, &race);
  }
  const double seconds = now() - begin;
  if (race.failed != 0) throw race.failure;
  printf("%10u %10u %14.0f\n", static_cast<unsigned>(threads), static_cast<unsigned>(race.works.size()),
         static_cast<double>(race.registrations) / seconds);
  fflush(stdout);
}

void run(const Options& options) {
  Device device(said_or_first(options));
  Port port;
  port.associate(device.file());
  print_latencies(device, port, options);
  printf("\n%10s %10s %14s\n", "threads", "regions", "64 KiB/s");
  for (ULONG threads = 1; threads < options.threads; threads *= 2) print_rate(device, port, options, threads);
  print_rate(device, port, options, options.threads);
}

const Program kProgram = {"nd_register", "how long registering memory takes, and how often it can be done", "AtCGT", 0, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
