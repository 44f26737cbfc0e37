// An adapter, memory that it knows, and one connection over it: what a program with one peer needs.
#pragma once

#include "common.h"

// An adapter at a local address, and one overlapped file for all objects made from it.
class Device {
 public:
  explicit Device(const Address& local);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { CloseHandle(file_); }

  IND2Adapter* operator->() const { return adapter_.get(); }
  IND2Adapter* adapter() const { return adapter_.get(); }
  HANDLE file() const { return file_; }
  const ND2_ADAPTER_INFO& info() const { return info_; }
  const Address& local() const { return local_; }
  // Messages up to here may be sent inline.
  ULONG inline_most() const;

 private:
  Address local_;
  Ref<IND2Adapter> adapter_;
  ND2_ADAPTER_INFO info_ = {};
  HANDLE file_ = nullptr;
};

// Where this end of the connection stands: said with --local, or what the route to the server names.
Address local_address(const Options& options);

// Pages of memory, registered as long as it lives.
class Memory {
 public:
  Memory(Device& device, SIZE_T bytes, ULONG flags);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  BYTE* data() const { return data_; }
  SIZE_T size() const { return size_; }
  UINT32 token() const { return region_->GetLocalToken(); }
  UINT32 remote_token() const { return region_->GetRemoteToken(); }
  IND2MemoryRegion* region() const { return region_.get(); }

 private:
  BYTE* data_ = nullptr;
  SIZE_T size_;
  Request request_;
  Ref<IND2MemoryRegion> region_;
};

// A message in up to `most` pieces. The array is read during the call alone, so that it may be a temporary.
class Pieces {
 public:
  Pieces(BYTE* data, ULONG bytes, ULONG most, UINT32 token);
  const ND2_SGE* get() const { return pieces_.empty() ? nullptr : pieces_.data(); }
  ULONG count() const { return static_cast<ULONG>(pieces_.size()); }

 private:
  std::vector<ND2_SGE> pieces_;
};

// What the two ends tell each other in the private data. It is little-endian, as the machines are; the token is passed on as
// it was given.
struct Hello {
  UINT32 program = 0;
  UINT32 count = 0;
  UINT32 largest = 0;
  UINT32 token = 0;
  UINT64 address = 0;
  UINT32 depth = 0;
  UINT32 extra = 0;
};

class Listener {
 public:
  // Says where it listens, for whoever started the program.
  Listener(Device& device, const Address& address);
  IND2Listener* get() const { return listener_.get(); }
  IND2Listener* operator->() const { return listener_.get(); }

 private:
  Ref<IND2Listener> listener_;
};

struct Sizes {
  ULONG receives = 1;
  ULONG requests = 1;
  ULONG sges = 1;
  ULONG reads = 0;  // read limit, both ways
};

// A connector, a queue pair and its completion queue.
class Connection {
 public:
  Connection(Device& device, const Options& options, const Sizes& sizes);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Server: await() takes the next request, accept() answers it. Receives may be posted at any time before.
  // It waits as long as it takes, unless the client is known to be there already.
  Hello await(Listener& listener, UINT32 program, bool known = false);
  void accept(const Hello& hello);
  // Client.
  Hello connect(const Hello& hello);
  // The end when all has gone well. What is under way when a connection ends is cancelled, the acknowledgement of the
  // last message too: so the client says goodbye when nothing of its own is left, and the server disconnects when
  // nothing of either is. The goodbye is an empty message, for which the server has posted a receive.
  void leave();
  void post_goodbye() { check(pair_->Receive(this, nullptr, 0), "Receive"); }
  // Otherwise: one side disconnects, the other one waits for it.
  void disconnect();
  void await_disconnect();

  IND2QueuePair* operator->() const { return pair_.get(); }
  IND2QueuePair* pair() const { return pair_.get(); }
  IND2CompletionQueue* queue() const { return queue_.get(); }
  ULONG inline_flag(ULONG bytes) const { return bytes != 0 && bytes <= inline_most_ ? ND_OP_FLAG_INLINE : 0; }

  // The next completion, whatever it says; empty-handed it throws when the patience is over.
  ND2_RESULT next();
  // The next completion, which must be a success of that type.
  ND2_RESULT expect(ND2_REQUEST_TYPE type);

 private:
  void hear_of_disconnect();

  const Options& options_;
  Address local_;
  Sizes sizes_;
  ULONG inline_most_;
  Request request_;
  Request notified_;
  Request gone_;
  HRESULT gone_started_ = ND_CONNECTION_INVALID;
  Ref<IND2CompletionQueue> queue_;
  Ref<IND2QueuePair> pair_;
  Ref<IND2Connector> connector_;
};

// Throws unless the completion is a success of that type.
void check_result(const ND2_RESULT& result, ND2_REQUEST_TYPE type);
const char* request_name(ND2_REQUEST_TYPE type);

// Contents of messages: each sequence number has its own, and each byte depends on its place.
class Pattern {
 public:
  explicit Pattern(ULONG largest);
  void fill(BYTE* to, ULONG bytes, ULONGLONG sequence) const;
  // Throws unless the bytes are those of the sequence number.
  void verify(const BYTE* from, ULONG bytes, ULONGLONG sequence) const;

 private:
  std::vector<BYTE> bytes_;
};
