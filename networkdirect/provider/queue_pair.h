// Queue pairs. A consumer's requests wait in rings of ours until the device's thread hands them on; a device queue pair
// exists from the first attempt to connect on, so that an attempt that failed leaves everything as it was.
#pragma once

#include <atomic>
#include <vector>

#include "networkdirect/provider/adapter_core.h"
#include "networkdirect/provider/completion_queue.h"
#include "networkdirect/provider/memory.h"
#include "networkdirect/provider/shared_receive_queue.h"

namespace fb::networkdirect {

UINT64 total_length(const ND2_SGE* sges, ULONG count);
void copy_sges(const ND2_SGE* sges, ULONG count, rdma::Sge* to);
HRESULT status_of(rdma::CompletionStatus status, ND2_REQUEST_TYPE type);

class ConnectorCore;

struct QueuePairTerms {
  void* context = nullptr;
  ULONG receive_depth = 0;
  ULONG initiator_depth = 0;
  ULONG max_receive_sges = 0;
  ULONG max_initiator_sges = 0;
  ULONG inline_bytes = 0;
};

class QueuePairCore final : public Core, public Doorbell {
 public:
  static constexpr Kind kKind = Kind::queue_pair;
  /// On the device's thread. `shared` may be null.
  QueuePairCore(std::shared_ptr<AdapterCore> adapter, std::shared_ptr<CompletionQueueCore> receive_queue,
                std::shared_ptr<CompletionQueueCore> initiator_queue, std::shared_ptr<SharedReceiveQueueCore> shared,
                const QueuePairTerms& terms);
  ~QueuePairCore() override;

  AdapterCore& adapter() { return *adapter_; }
  const std::shared_ptr<AdapterCore>& shared_adapter() const { return adapter_; }
  bool shares_receives() const { return shared_ != nullptr; }

  /// A request for the initiator queue. From any thread.
  struct Request {
    ND2_REQUEST_TYPE type = Nd2RequestTypeSend;
    rdma::SendOpcode opcode = rdma::SendOpcode::send;
    void* context = nullptr;
    ULONG flags = 0;
    UINT64 remote_address = 0;
    UINT32 rkey = 0;
    // Bind and Invalidate.
    std::shared_ptr<MemoryWindowCore> window = {};
    std::shared_ptr<MemoryRegionCore> region = {};
    MutableBytes memory = {};
    std::uint8_t key_byte = 0;
  };
  HRESULT post(Request&& request, const ND2_SGE* sges, ULONG count);
  HRESULT post_receive(void* context, const ND2_SGE* sges, ULONG count);

  // On the device's thread, for the connector.
  enum class Phase : std::uint8_t { idle, connecting, connected, ended };
  Phase phase() const { return phase_; }
  /// A device queue pair for an attempt to connect.
  rdma::QueuePair& attach(rdma::ConnectionHandler& handler, std::shared_ptr<ConnectorCore> connector);
  rdma::QueuePair* device_queue_pair() { return device_queue_pair_.get(); }
  const std::shared_ptr<ConnectorCore>& connector() const { return connector_; }
  /// The device may take receives from now on: the connection is about to be made.
  void give_receives();
  void connected();
  /// The attempt has failed; the queue pair is as it was before.
  void detach();
  /// The connection is over: what is outstanding is, or will be, cancelled.
  void ended();
  void flush();

  void on_completion(CompletionQueueCore& queue, const rdma::Completion& completion);

 private:
  // What was posted, by its number: the oldest that is not done is head, the next for the device is given.
  struct Ring {
    std::uint64_t head = 0, given = 0, tail = 0;
  };
  /// What is wrong with the buffers of a request for the initiator queue; nothing if ND_SUCCESS.
  HRESULT judge(const Request& request, const ND2_SGE* sges, ULONG count) const;
  /// A request that departs from the honest one in what it does, not in how it ends.
  void distort(Request& request, rdma::SendRequest& send, std::size_t at);
  HRESULT failure(const rdma::Completion& completion, ND2_REQUEST_TYPE type, HRESULT honest) const;
  void deliver(CompletionQueueCore& queue, const ND2_RESULT& result, bool loud);
  void give_held();
  void answer() override;
  void give_requests();
  void give(Request& request, std::uint64_t number);
  void cancel_receives();
  void cancel_requests();
  std::size_t slot(std::uint64_t number, std::size_t slots) const { return static_cast<std::size_t>(number % slots); }
  ND2_RESULT result(HRESULT status, void* context, ND2_REQUEST_TYPE type) const;

  std::shared_ptr<AdapterCore> adapter_;
  std::shared_ptr<CompletionQueueCore> receive_queue_, initiator_queue_;
  std::shared_ptr<SharedReceiveQueueCore> shared_;
  const QueuePairTerms terms_;
  std::unique_ptr<rdma::QueuePair> device_queue_pair_;
  std::shared_ptr<ConnectorCore> connector_;
  std::vector<std::shared_ptr<MemoryWindowCore>> windows_;  // bound here
  std::atomic<Phase> phase_{Phase::idle};
  bool receiving_ = false;  // the strand changes it, under receive_lock_

  // Results of Sends that wait for the peer's response, and those behind them.
  struct Held {
    ND2_RESULT result;
    bool loud;
  };
  std::vector<Held> held_;
  Timer<QueuePairCore, &QueuePairCore::give_held> holding_{"networkdirect.send.response", *this};

  std::mutex send_lock_, receive_lock_;
  Ring sends_, receives_;
  std::vector<Request> requests_;
  std::vector<ULONG> request_sges_;
  std::vector<rdma::Sge> send_sges_;
  Bytes inline_data_;
  std::unique_ptr<rdma::MemoryRegion> inline_region_;
  struct Receive {
    void* context = nullptr;
    ULONG sges = 0;
  };
  std::vector<Receive> posted_;
  std::vector<rdma::Sge> receive_sges_;
};

class QueuePair final : public Object<IND2QueuePair> {
 public:
  explicit QueuePair(std::shared_ptr<QueuePairCore> core) : core_(std::move(core)) { live(Kind::queue_pair, core_); }

  HRESULT STDMETHODCALLTYPE Flush() override;
  HRESULT STDMETHODCALLTYPE Send(VOID* context, const ND2_SGE sges[], ULONG count, ULONG flags) override;
  HRESULT STDMETHODCALLTYPE Receive(VOID* context, const ND2_SGE sges[], ULONG count) override;
  HRESULT STDMETHODCALLTYPE Bind(VOID* context, IUnknown* region, IUnknown* window, const VOID* buffer, SIZE_T bytes, ULONG flags) override;
  HRESULT STDMETHODCALLTYPE Invalidate(VOID* context, IUnknown* window, ULONG flags) override;
  HRESULT STDMETHODCALLTYPE Read(VOID* context, const ND2_SGE sges[], ULONG count, UINT64 address, UINT32 token, ULONG flags) override;
  HRESULT STDMETHODCALLTYPE Write(VOID* context, const ND2_SGE sges[], ULONG count, UINT64 address, UINT32 token, ULONG flags) override;

 private:
  bool answers(REFIID iid) const override { return iid == IID_IND2QueuePair; }
  void released() override;
  std::shared_ptr<QueuePairCore> core_;
};

}  // namespace fb::networkdirect
