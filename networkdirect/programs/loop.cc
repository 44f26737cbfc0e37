#include "loop.h"

Loop::Loop(Device& device, IND2CompletionQueue* received, const Options& options)
    : received_(received), patience_ms_(options.patience_ms), first_(patience_ms_), second_(patience_ms_) {
  check(device->CreateCompletionQueue(IID_IND2CompletionQueue, device.file(), 8, 0, 0, sent_.put()), "CreateCompletionQueue");
  check(device->CreateQueuePair(IID_IND2QueuePair, sent_.get(), sent_.get(), this, 4, 4, 1, 1, 0, sender_.put()), "CreateQueuePair");
  check(device->CreateQueuePair(IID_IND2QueuePair, received, received, this, 4, 4, 1, 1, 0, receiver_.put()), "CreateQueuePair");
  check(device->CreateConnector(IID_IND2Connector, device.file(), active_.put()), "CreateConnector");
  check(device->CreateConnector(IID_IND2Connector, device.file(), passive_.put()), "CreateConnector");
  connect(device);
}

// Both ends are told, and neither needs to succeed: the other one may have ended the connection.
Loop::~Loop() {
  try {
    first_.finish(active_.get(), active_->Disconnect(first_.begin()), "Disconnect");
    second_.finish(passive_.get(), passive_->Disconnect(second_.begin()), "Disconnect");
  } catch (const Failure&) {
    // The objects go with their connection.
  }
}

void Loop::connect(Device& device) {
  Ref<IND2Listener> listener;
  check(device->CreateListener(IID_IND2Listener, device.file(), listener.put()), "CreateListener");
  Address address = device.local();
  address.set_port(0);
  check(listener->Bind(address.get(), address.length), "Bind");
  check(listener->Listen(0), "Listen");
  check(active_->Bind(address.get(), address.length), "Bind");
  ULONG length = sizeof(address.storage);
  check(listener->GetLocalAddress(reinterpret_cast<struct sockaddr*>(&address.storage), &length), "GetLocalAddress");
  // One thread plays both sides: each starts its part before the other one's is waited for.
  const HRESULT asked = listener->GetConnectionRequest(passive_.get(), first_.begin());
  const HRESULT connecting = active_->Connect(sender_.get(), address.get(), address.length, 0, 0, nullptr, 0, second_.begin());
  first_.expect(listener.get(), asked, "GetConnectionRequest");
  const HRESULT accepting = passive_->Accept(receiver_.get(), 0, 0, nullptr, 0, first_.begin());
  second_.expect(active_.get(), connecting, "Connect");
  const HRESULT completing = active_->CompleteConnect(second_.begin());
  second_.expect(active_.get(), completing, "CompleteConnect");
  first_.expect(passive_.get(), accepting, "Accept");
}

void Loop::send(ULONG flags) {
  check(receiver_->Receive(nullptr, nullptr, 0), "Receive");
  check(sender_->Send(nullptr, nullptr, 0, flags), "Send");
  reap(sent_.get(), Nd2RequestTypeSend);
}

void Loop::reap(IND2CompletionQueue* queue, ND2_REQUEST_TYPE type) {
  Patience patience(patience_ms_);
  ND2_RESULT result = {};
  while (queue->GetResults(&result, 1) == 0) patience.step("GetResults");
  check_result(result, type);
}
