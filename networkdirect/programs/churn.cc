#include "churn.h"

Churn::Churn(Device& device, const Options& options) : device_(device), options_(options) {
  check(device_->CreateCompletionQueue(IID_IND2CompletionQueue, device_.file(), 2 * options.depth, 0, 0, queue_.put()),
        "CreateCompletionQueue");
}

void Churn::run(Port& port) {
  port_ = &port;
  for (ULONG i = 0; i < options_.depth; ++i) slots_.push_back(std::make_unique<Slot>());
  begin_all();
  {
    Threads threads;
    for (ULONG i = 0; i < options_.threads; ++i) threads.start(run_thread, this);
  }
  drain();
  if (InterlockedAdd64(&failed_, 0) != 0) throw failure_;
}

void Churn::drain() {
  if (slots_.empty()) return;
  cancel_waiting();
  slots_.clear();
  while (port_->next(0) != nullptr) {
  }
}

void Churn::started(Slot& slot, HRESULT status) {
  if (status == ND_PENDING) return;
  slot.finished_at_once = true;
  slot.at_once = status;
  port_->post(&slot.overlapped);
}

OVERLAPPED* Churn::prepare(Slot& slot, Step step) {
  slot.overlapped = {};
  slot.finished_at_once = false;
  slot.step = step;
  return &slot.overlapped;
}

void Churn::create_pair(Slot& slot) {
  check(device_->CreateQueuePair(IID_IND2QueuePair, queue_.get(), queue_.get(), &slot, 1, 1, 1, 1, 0, slot.pair.put()), "CreateQueuePair");
}

void Churn::create_connector(Slot& slot) {
  check(device_->CreateConnector(IID_IND2Connector, device_.file(), slot.connector.put()), "CreateConnector");
}

const char* Churn::name(Step step) {
  switch (step) {
    case Step::request:
      return "GetConnectionRequest";
    case Step::connecting:
      return "Connect";
    case Step::completing:
      return "CompleteConnect";
    case Step::accepting:
      return "Accept";
    case Step::hearing:
      return "NotifyDisconnect";
    case Step::disconnecting:
      return "Disconnect";
    case Step::idle:
      break;
  }
  return "GetQueuedCompletionStatus";
}

bool Churn::over() {
  const LONG64 wanted = InterlockedAdd64(&wanted_, 0);
  return InterlockedAdd64(&failed_, 0) != 0 || (wanted != 0 && InterlockedAdd64(&ended_, 0) >= wanted);
}

DWORD WINAPI Churn::run_thread(LPVOID parameter) {
  static_cast<Churn*>(parameter)->work();
  return 0;
}

void Churn::work() {
  try {
    Patience patience(options_.patience_ms);
    while (!over()) {
      OVERLAPPED* const done = port_->next(20);
      if (done != nullptr) {
        patience = Patience(options_.patience_ms);
        handle(*CONTAINING_RECORD(done, Slot, overlapped));
      } else if (!patient()) {
        patience.check("GetQueuedCompletionStatus");
      }
    }
  } catch (const Failure& failure) {
    if (InterlockedIncrement64(&failed_) == 1) failure_ = failure;
  }
}

void Churn::handle(Slot& slot) {
  HRESULT status = slot.at_once;
  if (!slot.finished_at_once) {
    status = slot.step == Step::request ? request_result(slot) : slot.connector->GetOverlappedResult(&slot.overlapped, FALSE);
  }
  // It goes on by itself: the provider will tell again.
  if (status == ND_PENDING) return;
  go_on(slot, status);
}
