// What a completion queue does: the kinds of Notify, several of them at once, the order of cancelled ones, depth, overrun. Entries
// come from receives that are flushed, which needs no connection, and from messages that the adapter sends to itself.
#include <span>

#include "addresses.h"
#include "loop.h"

namespace {

// Everything that a check uses. The queue under test has a file of its own, whose completions go to the port.
struct Bench {
  Bench(const Options& given) : options(given), device(said_or_first(given)) {
    check(device->CreateOverlappedFile(&watched), "CreateOverlappedFile");
    port.associate(watched);
    queue = make_queue(64);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    queue.reset();
    CloseHandle(watched);
  }

  Ref<IND2CompletionQueue> make_queue(ULONG depth) {
    Ref<IND2CompletionQueue> made;
    check(device->CreateCompletionQueue(IID_IND2CompletionQueue, watched, depth, 0, 0, made.put()), "CreateCompletionQueue");
    return made;
  }

  const Options& options;
  Device device;
  HANDLE watched = nullptr;
  Port port;
  // Of every Notify: a check that fails leaves some pending until its queue goes.
  OVERLAPPED overlapped[16] = {};
  Ref<IND2CompletionQueue> queue;
};

// Receives that are flushed: `count` entries with the status ND_CANCELED. Their queue pair must stay until they are reaped.
Ref<IND2QueuePair> add_entries(Bench& bench, IND2CompletionQueue* queue, ULONG count) {
  Ref<IND2QueuePair> pair;
  check(bench.device->CreateQueuePair(IID_IND2QueuePair, queue, queue, &bench, count, 1, 1, 1, 0, pair.put()), "CreateQueuePair");
  for (ULONG i = 0; i < count; ++i) {
    check(pair->Receive(reinterpret_cast<VOID*>(static_cast<ULONG_PTR>(i)), nullptr, 0), "Receive");
  }
  check(pair->Flush(), "Flush");
  return pair;
}

void reap_flushed(Bench& bench, ULONG count) {
  Patience patience(bench.options.patience_ms);
  for (ULONG i = 0; i < count;) {
    ND2_RESULT result = {};
    if (bench.queue->GetResults(&result, 1) == 0) {
      patience.step("GetResults");
      continue;
    }
    if (result.Status != ND_CANCELED) throw Failure{"Flush", result.Status, "of a flushed receive"};
    if (result.RequestType != Nd2RequestTypeReceive) fail("Flush", "the entry is of no receive");
    if (result.QueuePairContext != &bench) fail("Flush", "the entry names another queue pair");
    if (reinterpret_cast<ULONG_PTR>(result.RequestContext) != i) fail("Flush", "the entries are out of order");
    ++i;
  }
}

void notify(Bench& bench, ULONG type, OVERLAPPED& overlapped) {
  overlapped = {};
  const HRESULT status = bench.queue->Notify(type, &overlapped);
  if (status != ND_PENDING) throw Failure{"Notify", status, "although the queue is empty"};
}

void expect_packet(Bench& bench, OVERLAPPED& overlapped, HRESULT wanted, DWORD milliseconds) {
  bool succeeded = false;
  OVERLAPPED* const done = bench.port.next(milliseconds, &succeeded);
  if (done == nullptr) throw Failure{"Notify", ND_TIMEOUT, "nothing came through the port"};
  if (done != &overlapped) fail("Notify", "the port gave another request");
  const HRESULT status = bench.queue->GetOverlappedResult(done, FALSE);
  if (status != wanted) throw Failure{"Notify", status, std::string("instead of ") + status_name(wanted)};
  if (succeeded != (wanted == ND_SUCCESS)) fail("Notify", "the port and the provider disagree");
}

void expect_silence(Bench& bench, const char* why) {
  if (bench.port.next(100) != nullptr) fail("Notify", why);
}

void any(Bench& bench) {
  OVERLAPPED& overlapped = bench.overlapped[0];
  notify(bench, ND_CQ_NOTIFY_ANY, overlapped);
  expect_silence(bench, "completed without an entry");
  const auto pair = add_entries(bench, bench.queue.get(), 3);
  expect_packet(bench, overlapped, ND_SUCCESS, bench.options.patience_ms);
  reap_flushed(bench, 3);
}

void several(Bench& bench) {
  const auto all = std::span(bench.overlapped).first(5);
  for (OVERLAPPED& each : all) notify(bench, ND_CQ_NOTIFY_ANY, each);
  const auto first = add_entries(bench, bench.queue.get(), 1);
  for (OVERLAPPED& each : all) expect_packet(bench, each, ND_SUCCESS, bench.options.patience_ms);
  reap_flushed(bench, 1);
  const auto second = add_entries(bench, bench.queue.get(), 1);
  expect_silence(bench, "completed twice");
  reap_flushed(bench, 1);
}

void cancelled(Bench& bench) {
  const auto all = std::span(bench.overlapped).first(9);
  ULONG type = ND_CQ_NOTIFY_ERRORS;
  for (ULONG round = 0; round < bench.options.count_or(100); ++round) {
    for (OVERLAPPED& each : all) notify(bench, type++ % 3, each);
    check(bench.queue->CancelOverlappedRequests(), "CancelOverlappedRequests");
    // They are in the port before the call has returned, in the order in which they were made.
    for (OVERLAPPED& each : all) expect_packet(bench, each, ND_CANCELED, 0);
  }
}

void errors_alone(Bench& bench) {
  OVERLAPPED& overlapped = bench.overlapped[0];
  notify(bench, ND_CQ_NOTIFY_ERRORS, overlapped);
  const auto pair = add_entries(bench, bench.queue.get(), 1);
  reap_flushed(bench, 1);
  expect_silence(bench, "ERRORS heard of an entry");
  check(bench.queue->CancelOverlappedRequests(), "CancelOverlappedRequests");
  expect_packet(bench, overlapped, ND_CANCELED, 0);
}

void failed_entries(Bench& bench) {
  OVERLAPPED& overlapped = bench.overlapped[0];
  notify(bench, ND_CQ_NOTIFY_SOLICITED, overlapped);
  const auto pair = add_entries(bench, bench.queue.get(), 1);
  expect_packet(bench, overlapped, ND_SUCCESS, bench.options.patience_ms);
  reap_flushed(bench, 1);
}

void late(Bench& bench) {
  Request request(bench.options.patience_ms);
  const auto pair = add_entries(bench, bench.queue.get(), 2);
  // Whoever looks, finds nothing more and then asks must hear of what came in between.
  request.expect(bench.queue.get(), bench.queue->Notify(ND_CQ_NOTIFY_ANY, request.begin()), "Notify");
  while (bench.port.next(100) != nullptr) {
  }
  reap_flushed(bench, 2);
}

void depth(Bench& bench) {
  Ref<IND2CompletionQueue> queue;
  const ULONG most = bench.device.info().MaxCompletionQueueDepth;
  check(bench.device->CreateCompletionQueue(IID_IND2CompletionQueue, bench.watched, most, 0, 0, queue.put()), "CreateCompletionQueue");
  if (most == 0xFFFFFFFF) return;
  queue.reset();
  const HRESULT status = bench.device->CreateCompletionQueue(IID_IND2CompletionQueue, bench.watched, most + 1, 0, 0, queue.put());
  if (status != ND_INVALID_PARAMETER_3) throw Failure{"CreateCompletionQueue", status, "for a queue above the greatest depth"};
}

void resize(Bench& bench) {
  const bool can = (bench.device.info().AdapterFlags & ND_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED) != 0;
  if (!can) {
    const HRESULT status = bench.queue->Resize(128);
    if (status != ND_NOT_SUPPORTED) throw Failure{"Resize", status, "although the adapter does not resize"};
    return;
  }
  const auto pair = add_entries(bench, bench.queue.get(), 8);
  // All of them are there: a flush is done when the last one is.
  OVERLAPPED& overlapped = bench.overlapped[0];
  overlapped = {};
  const HRESULT told = bench.queue->Notify(ND_CQ_NOTIFY_ANY, &overlapped);
  if (told == ND_PENDING) expect_packet(bench, overlapped, ND_SUCCESS, bench.options.patience_ms);
  check(bench.queue->Resize(128), "Resize");
  const HRESULT status = bench.queue->Resize(4);
  if (status != ND_BUFFER_OVERFLOW) throw Failure{"Resize", status, "below the entries that are there"};
  reap_flushed(bench, 8);
  check(bench.queue->Resize(64), "Resize");
}

void released(Bench& bench) {
  OVERLAPPED& overlapped = bench.overlapped[0];
  overlapped = {};
  Ref<IND2CompletionQueue> queue = bench.make_queue(8);
  const HRESULT status = queue->Notify(ND_CQ_NOTIFY_ANY, &overlapped);
  if (status != ND_PENDING) throw Failure{"Notify", status, "although the queue is empty"};
  queue.reset();
  // A provider may report it as cancelled, or drop it; it may not report it later.
  bool succeeded = false;
  if (bench.port.next(0, &succeeded) != nullptr && succeeded) fail("Release", "Notify succeeded");
  expect_silence(bench, "completed after its queue was released");
}

// More entries than a queue holds end it, and that must be heard. Providers hold more than they were asked for.
void overrun(Bench& bench) {
  constexpr ULONG kBatch = 64;
  constexpr ULONG kBatches = 1024;
  std::vector<Ref<IND2QueuePair>> pairs;
  const Ref<IND2CompletionQueue> queue = bench.make_queue(4);
  OVERLAPPED& overlapped = bench.overlapped[0];
  overlapped = {};
  const HRESULT started = queue->Notify(ND_CQ_NOTIFY_ERRORS, &overlapped);
  if (started != ND_PENDING) throw Failure{"Notify", started, "although the queue is empty"};
  bool heard = false;
  while (!heard && pairs.size() < kBatches) {
    pairs.push_back(add_entries(bench, queue.get(), kBatch));
    heard = bench.port.next(1) != nullptr;
  }
  const ULONG added = kBatch * static_cast<ULONG>(pairs.size());
  if (heard) {
    const HRESULT first = queue->GetOverlappedResult(&overlapped, FALSE);
    if (first != ND_BUFFER_OVERFLOW) throw Failure{"Notify", first, "for a queue that has overrun"};
    OVERLAPPED& again = bench.overlapped[1];
    again = {};
    HRESULT second = queue->Notify(ND_CQ_NOTIFY_ANY, &again);
    if (second == ND_PENDING && bench.port.next(bench.options.patience_ms) == &again) second = queue->GetOverlappedResult(&again, FALSE);
    if (second != ND_BUFFER_OVERFLOW) throw Failure{"Notify", second, "after the queue has overrun"};
    printf("    overrun within %u entries, asked for 4\n", static_cast<unsigned>(added));
    return;
  }
  ULONG reaped = 0;
  ND2_RESULT results[kBatch];
  while (const ULONG got = queue->GetResults(results, kBatch)) reaped += got;
  if (reaped != added) fail("GetResults", "entries are missing, and nothing was heard of an overrun");
  printf("    no overrun within %u entries\n", static_cast<unsigned>(added));
  check(queue->CancelOverlappedRequests(), "CancelOverlappedRequests");
  bench.port.next(0);
}

void solicited(Bench& bench) {
  Loop loop(bench.device, bench.queue.get(), bench.options);
  OVERLAPPED& overlapped = bench.overlapped[0];
  notify(bench, ND_CQ_NOTIFY_SOLICITED, overlapped);
  loop.send(0);
  expect_silence(bench, "SOLICITED heard of a message that asked for nothing");
  loop.reap_received();
  loop.send(ND_OP_FLAG_SEND_AND_SOLICIT_EVENT);
  expect_packet(bench, overlapped, ND_SUCCESS, bench.options.patience_ms);
  loop.reap_received();
}

void upgraded(Bench& bench) {
  Loop loop(bench.device, bench.queue.get(), bench.options);
  OVERLAPPED& first = bench.overlapped[0];
  OVERLAPPED& second = bench.overlapped[1];
  notify(bench, ND_CQ_NOTIFY_SOLICITED, first);
  notify(bench, ND_CQ_NOTIFY_ANY, second);
  loop.send(0);
  expect_packet(bench, first, ND_SUCCESS, bench.options.patience_ms);
  expect_packet(bench, second, ND_SUCCESS, bench.options.patience_ms);
  loop.reap_received();
}

void run(const Options& options) {
  Bench bench(options);
  const struct {
    const char* name;
    void (*run)(Bench&);
    bool connects;
  } checks[] = {
      {"Notify ANY hears of the next entry", any, false},
      {"one entry completes all that are pending, in order", several, false},
      {"cancelled ones come in order, at once", cancelled, false},
      {"Notify ERRORS hears of no entry", errors_alone, false},
      {"Notify SOLICITED hears of failed entries", failed_entries, false},
      {"Notify SOLICITED hears of solicited messages alone", solicited, true},
      {"ANY makes a pending SOLICITED hear of everything", upgraded, true},
      {"entries from before Notify are heard of", late, false},
      {"depth up to the greatest, and no further", depth, false},
      {"Resize keeps what is there", resize, false},
      {"a queue that goes takes its requests along", released, false},
      {"a queue that overruns says so", overrun, false},
  };
  const bool loops = (bench.device.info().AdapterFlags & ND_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED) != 0;
  for (const auto& each : checks) {
    const bool possible = loops || !each.connects;
    try {
      if (possible) each.run(bench);
    } catch (Failure& failure) {
      failure.why += std::string(failure.why.empty() ? "" : ", ") + "in: " + each.name;
      throw;
    }
    printf("%-56s %s\n", each.name, possible ? "ok" : "not without loopback");
    fflush(stdout);
  }
}

const Program kProgram = {"nd_cq", "what a completion queue does", "ACT", 0, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
