// Two queue pairs of one program, connected with each other over one adapter.
#pragma once

#include "connection.h"

class Loop {
 public:
  // The receiving side completes into `received`.
  Loop(Device& device, IND2CompletionQueue* received, const Options& options);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  // An empty message, sent and acknowledged. Its receive is reaped separately.
  void send(ULONG flags);
  void reap_received() { reap(received_, Nd2RequestTypeReceive); }

 private:
  void connect(Device& device);
  void reap(IND2CompletionQueue* queue, ND2_REQUEST_TYPE type);

  IND2CompletionQueue* received_;
  DWORD patience_ms_;
  Request first_;
  Request second_;
  Ref<IND2CompletionQueue> sent_;
  Ref<IND2QueuePair> sender_;
  Ref<IND2QueuePair> receiver_;
  Ref<IND2Connector> active_;
  Ref<IND2Connector> passive_;
};
