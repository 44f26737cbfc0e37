#include "connection.h"

#include <cstring>

Device::Device(const Address& local) : local_(local) {
  check(NdOpenAdapter(IID_IND2Adapter, local.get(), local.length, adapter_.put()), "NdOpenAdapter");
  info_.InfoVersion = ND_VERSION_2;
  ULONG bytes = sizeof(info_);
  check(adapter_->Query(&info_, &bytes), "Query");
  check(adapter_->CreateOverlappedFile(&file_), "CreateOverlappedFile");
}

ULONG Device::inline_most() const {
  return info_.InlineRequestThreshold < info_.MaxInlineDataSize ? info_.InlineRequestThreshold : info_.MaxInlineDataSize;
}

Address local_address(const Options& options) {
  if (options.server) return options.address;
  if (options.local.length != 0) return options.local;
  Address local;
  SIZE_T bytes = sizeof(local.storage);
  check(NdResolveAddress(options.address.get(), options.address.length, reinterpret_cast<struct sockaddr*>(&local.storage), &bytes),
        "NdResolveAddress");
  local.length = static_cast<ULONG>(bytes);
  return local;
}

Memory::Memory(Device& device, SIZE_T bytes, ULONG flags) : size_(bytes) {
  check(device->CreateMemoryRegion(IID_IND2MemoryRegion, device.file(), region_.put()), "CreateMemoryRegion");
  data_ = static_cast<BYTE*>(VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  if (data_ == nullptr) fail_with_last_error("VirtualAlloc");
  try {
    request_.expect(region_.get(), region_->Register(data_, bytes, flags, request_.begin()), "Register");
  } catch (...) {
    VirtualFree(data_, 0, MEM_RELEASE);
    throw;
  }
}

// Pages must not go before the adapter has let go of them.
Memory::~Memory() {
  request_.finish(region_.get(), region_->Deregister(request_.begin()), "Deregister");
  region_.reset();
  VirtualFree(data_, 0, MEM_RELEASE);
}

Pieces::Pieces(BYTE* data, ULONG bytes, ULONG most, UINT32 token) {
  const ULONG count = bytes < most ? bytes : most;
  for (ULONG i = 0; i < count; ++i) {
    const ULONG piece = i + 1 == count ? bytes - bytes / count * i : bytes / count;
    pieces_.push_back({data, piece, token});
    data += piece;
  }
}

Listener::Listener(Device& device, const Address& address) {
  check(device->CreateListener(IID_IND2Listener, device.file(), listener_.put()), "CreateListener");
  check(listener_->Bind(address.get(), address.length), "Bind");
  check(listener_->Listen(0), "Listen");
  Address bound;
  bound.length = sizeof(bound.storage);
  check(listener_->GetLocalAddress(reinterpret_cast<struct sockaddr*>(&bound.storage), &bound.length), "GetLocalAddress");
  printf("listening %s\n", bound.text().c_str());
  fflush(stdout);
}

Connection::Connection(Device& device, const Options& options, const Sizes& sizes)
    : options_(options),
      local_(device.local()),
      sizes_(sizes),
      inline_most_(device.inline_most()),
      request_(options.patience_ms),
      notified_(options.patience_ms),
      gone_(options.patience_ms) {
  check(device->CreateCompletionQueue(IID_IND2CompletionQueue, device.file(), sizes.receives + sizes.requests, 0, 0, queue_.put()),
        "CreateCompletionQueue");
  check(device->CreateQueuePair(IID_IND2QueuePair, queue_.get(), queue_.get(), this, sizes.receives, sizes.requests, sizes.sges, sizes.sges,
                                inline_most_, pair_.put()),
        "CreateQueuePair");
  check(device->CreateConnector(IID_IND2Connector, device.file(), connector_.put()), "CreateConnector");
}

// The events must outlive the requests that set them.
Connection::~Connection() {
  if (gone_started_ == ND_PENDING) {
    connector_->CancelOverlappedRequests();
    try {
      gone_.finish(connector_.get(), ND_PENDING, "NotifyDisconnect");
    } catch (const Failure&) {
      // Cancelled again, and over; the program is ending anyway.
    }
  }
  connector_.reset();
  pair_.reset();
  queue_.reset();
}

Hello Connection::await(Listener& listener, UINT32 program, bool known) {
  if (!known) request_.set_patience(INFINITE);
  request_.expect(listener.get(), listener->GetConnectionRequest(connector_.get(), request_.begin()), "GetConnectionRequest");
  request_.set_patience(options_.patience_ms);
  Hello hello;
  ULONG bytes = sizeof(hello);
  // Some fabrics pad the private data: what is too long is cut off, and that is fine.
  const HRESULT status = connector_->GetPrivateData(&hello, &bytes);
  if (status != ND_BUFFER_OVERFLOW) check(status, "GetPrivateData");
  if (bytes < sizeof(hello) || hello.program != program) {
    connector_->Reject(nullptr, 0);
    fail("GetPrivateData", "the client is another program");
  }
  return hello;
}

void Connection::accept(const Hello& hello) {
  request_.expect(connector_.get(), connector_->Accept(pair_.get(), sizes_.reads, sizes_.reads, &hello, sizeof(hello), request_.begin()),
                  "Accept");
  hear_of_disconnect();
}

Hello Connection::connect(const Hello& hello) {
  check(connector_->Bind(local_.get(), local_.length), "Bind");
  request_.expect(connector_.get(),
                  connector_->Connect(pair_.get(), options_.address.get(), options_.address.length, sizes_.reads, sizes_.reads, &hello,
                                      sizeof(hello), request_.begin()),
                  "Connect");
  Hello theirs;
  ULONG bytes = sizeof(theirs);
  const HRESULT status = connector_->GetPrivateData(&theirs, &bytes);
  if (status != ND_BUFFER_OVERFLOW) check(status, "GetPrivateData");
  if (bytes < sizeof(theirs) || theirs.program != hello.program) {
    connector_->Reject(nullptr, 0);
    fail("GetPrivateData", "the server is another program");
  }
  request_.expect(connector_.get(), connector_->CompleteConnect(request_.begin()), "CompleteConnect");
  hear_of_disconnect();
  return theirs;
}

void Connection::hear_of_disconnect() {
  gone_started_ = connector_->NotifyDisconnect(gone_.begin());
  // A peer that is quick may have gone already.
  if (gone_started_ != ND_PENDING && gone_started_ != ND_CONNECTION_INVALID) check(gone_started_, "NotifyDisconnect");
}

void Connection::leave() {
  check(pair_->Send(this, nullptr, 0, ND_OP_FLAG_SILENT_SUCCESS), "Send");
  await_disconnect();
}

void Connection::disconnect() {
  const HRESULT status = request_.finish(connector_.get(), connector_->Disconnect(request_.begin()), "Disconnect");
  // The peer has been faster, or the connection has failed before.
  if (status != ND_CONNECTION_INVALID) check(status, "Disconnect");
}

void Connection::await_disconnect() {
  const HRESULT started = std::exchange(gone_started_, ND_SUCCESS);
  const HRESULT status = gone_.finish(connector_.get(), started, "NotifyDisconnect");
  if (status != ND_CONNECTION_INVALID) check(status, "NotifyDisconnect");
  disconnect();
}

ND2_RESULT Connection::next() {
  ND2_RESULT result = {};
  Patience patience(options_.patience_ms);
  while (queue_->GetResults(&result, 1) == 0) {
    if (options_.blocking) {
      notified_.expect(queue_.get(), queue_->Notify(ND_CQ_NOTIFY_ANY, notified_.begin()), "Notify");
    } else {
      patience.step("GetResults");
    }
  }
  return result;
}

ND2_RESULT Connection::expect(ND2_REQUEST_TYPE type) {
  const ND2_RESULT result = next();
  check_result(result, type);
  return result;
}

const char* request_name(ND2_REQUEST_TYPE type) {
  switch (type) {
    case Nd2RequestTypeReceive:
      return "Receive";
    case Nd2RequestTypeSend:
      return "Send";
    case Nd2RequestTypeBind:
      return "Bind";
    case Nd2RequestTypeInvalidate:
      return "Invalidate";
    case Nd2RequestTypeRead:
      return "Read";
    case Nd2RequestTypeWrite:
      return "Write";
    default:
      return "GetResults";
  }
}

void check_result(const ND2_RESULT& result, ND2_REQUEST_TYPE type) {
  if (result.Status != ND_SUCCESS) throw Failure{request_name(result.RequestType), result.Status, "in its completion"};
  if (result.RequestType != type) {
    fail("GetResults", (std::string("a completion of ") + request_name(result.RequestType) + " for " + request_name(type)).c_str());
  }
}

namespace {

constexpr ULONG kPatterns = 251;

}  // namespace

Pattern::Pattern(ULONG largest) : bytes_(SIZE_T{largest} + kPatterns) {
  UINT32 value = 0x2545F491;
  for (BYTE& each : bytes_) {
    value = value * 1664525 + 1013904223;
    each = static_cast<BYTE>(value >> 24);
  }
}

void Pattern::fill(BYTE* to, ULONG bytes, ULONGLONG sequence) const { memcpy(to, &bytes_[sequence % kPatterns], bytes); }

void Pattern::verify(const BYTE* from, ULONG bytes, ULONGLONG sequence) const {
  const BYTE* const right = &bytes_[sequence % kPatterns];
  if (memcmp(from, right, bytes) == 0) return;
  ULONG at = 0;
  while (from[at] == right[at]) ++at;
  const std::string where = " is wrong at byte " + std::to_string(at) + " of " + std::to_string(bytes);
  fail("data", ("message " + std::to_string(sequence) + where).c_str());
}
