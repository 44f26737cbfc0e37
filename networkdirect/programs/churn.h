// Many connections at once around one completion port. Each is a small machine that whichever thread hears of it moves on; what
// it does next is the business of the server and of the client.
#pragma once

#include <memory>

#include "connection.h"

enum class Step { request, connecting, completing, accepting, hearing, disconnecting, idle };

struct Slot {
  OVERLAPPED overlapped = {};
  Step step = Step::idle;
  // Reported by ourselves: the provider need not know of it.
  bool finished_at_once = false;
  HRESULT at_once = ND_SUCCESS;
  ULONG number = 0;
  ULONG tries = 0;
  double begun = 0;
  Ref<IND2QueuePair> pair;
  // Goes first at the end: then nobody uses the rest.
  Ref<IND2Connector> connector;
};

// What both sides share: slots, threads, the first failure.
class Churn {
 public:
  Churn(Device& device, const Options& options);
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;
  virtual ~Churn() = default;

  // Until as many connections have ended as are wanted, or something fails.
  void run(Port& port);

 protected:
  // Objects of requests that are still pending must go before the port does. Each last class does it when it goes, too: an
  // exception may come before the threads do.
  void drain();

  virtual void begin_all() = 0;
  // `status` is the outcome of the step that the slot stands at.
  virtual void go_on(Slot& slot, HRESULT status) = 0;
  virtual void cancel_waiting() {}
  virtual bool patient() const { return false; }

  // Makes the slot's next step: `call` is given the OVERLAPPED. It may finish at once; then the file reports nothing.
  template <typename Call>
  void start(Slot& slot, Step step, Call call) {
    const Kept<IND2Connector> connector(slot.connector);
    const Kept<IND2QueuePair> pair(slot.pair);
    started(slot, call(prepare(slot, step)));
  }
  void create_pair(Slot& slot);
  void create_connector(Slot& slot);
  void hear(Slot& slot) {
    start(slot, Step::hearing, [&](OVERLAPPED* overlapped) { return slot.connector->NotifyDisconnect(overlapped); });
  }
  void disconnect(Slot& slot) {
    start(slot, Step::disconnecting, [&](OVERLAPPED* overlapped) { return slot.connector->Disconnect(overlapped); });
  }
  static const char* name(Step step);
  // The peer may have taken the connection down already.
  static bool is_gone(HRESULT status) { return status == ND_SUCCESS || status == ND_CONNECTION_INVALID; }

  Device& device_;
  const Options& options_;
  Port* port_ = nullptr;
  Ref<IND2CompletionQueue> queue_;
  std::vector<std::unique_ptr<Slot>> slots_;
  // Connections that have come to their end; with as many as there should be, the threads stop.
  LONG64 volatile ended_ = 0;
  LONG64 volatile wanted_ = 0;

 private:
  static DWORD WINAPI run_thread(LPVOID parameter);
  void started(Slot& slot, HRESULT status);
  OVERLAPPED* prepare(Slot& slot, Step step);
  bool over();
  void work();
  void handle(Slot& slot);
  // The outcome of a slot's GetConnectionRequest.
  virtual HRESULT request_result(Slot& slot) = 0;

  LONG64 volatile failed_ = 0;
  Failure failure_ = {"", ND_SUCCESS, {}};
};
