// Protection domains, memory regions, memory windows.
//
// NdkFastRegister covers pages that lie wherever the consumer's mappings put them. Side by side, as one MDL describes them,
// the device maps them as they are. Otherwise, since an rdma::Device maps one piece of memory, the provider gives the
// device a piece of its own and keeps the two alike: whenever the consumer calls a function of a queue pair or
// completion queue and whenever it is called back, what it has written goes there and what peers have written
// comes back, until it releases the mapping. A consumer that waits for bytes without asking for completions would
// wait for ever.
#pragma once

#include "networkdirect/ndk/provider/adapter.h"

namespace fb::ndk::provider {

class ProtectionDomain final : public NDK_PD, public Object {
 public:
  explicit ProtectionDomain(Adapter& adapter);
  rdma::ProtectionDomain& device_domain() { return *device_; }

  static NTSTATUS create(NDK_ADAPTER* adapter, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_PD** place);
  static VOID privileged_token(NDK_PD* domain, UINT32* token);

 private:
  void take_down() override;
  std::shared_ptr<rdma::ProtectionDomain> device_;
};

/// The token that stands for all logical addresses, in SGEs of our own alone. No device has a key of this index.
inline constexpr UINT32 kPrivilegedToken = 0xFFFFFF50;

class MemoryRegion final : public NDK_MR, public Object {
 public:
  MemoryRegion(ProtectionDomain& domain, bool fast);
  ProtectionDomain& domain() const { return domain_; }
  bool fast() const { return fast_; }
  /// NdkRegisterMr or NdkInitializeFastRegisterMr has been done.
  bool ready() const { return region_ != nullptr; }
  rdma::MemoryRegion& device_region() { return *region_; }
  UINT32 remote_token() const;
  std::uint8_t key_byte() const { return key_byte_; }

  // Of NdkRegisterMr's.
  bool covers(const void* address, SIZE_T length) const;
  bool allows_local_write() const { return (flags_ & NDK_MR_FLAG_ALLOW_LOCAL_WRITE) != 0; }
  std::uint64_t remote_address(const void* address) const {
    return remote_base_ + static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(address) - memory_.data());
  }

  // Of fast ones.
  ULONG pages() const { return pages_; }
  bool remote_allowed() const { return remote_allowed_; }
  /// What the device shall map for these pieces: the memory itself, or a copy when they are several. Copies made earlier
  /// stay where the device may still use them: the last `most` of them.
  MutableBytes mapped(const std::vector<MutableBytes>& pieces, std::size_t most);
  /// Makes copies and memory alike; see the top.
  void bring_up_to_date();
  /// The consumer is about to take this memory back.
  void stop_copying(MutableBytes memory);

  static NTSTATUS create(NDK_PD* domain, BOOLEAN fast, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_MR** place);
  static NTSTATUS register_mr(NDK_MR* region, MDL* mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS register_at(NDK_MR* region, MDL* mdl, SIZE_T length, UINT64 address, ULONG flags, NDK_FN_REQUEST_COMPLETION completion,
                              PVOID context);
  static NTSTATUS deregister(NDK_MR* region, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS initialize_fast(NDK_MR* region, ULONG pages, BOOLEAN remote, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static UINT32 get_remote_token(NDK_MR* region);
  static UINT32 get_local_token(NDK_MR* region);

 private:
  NTSTATUS begin_register(MDL* mdl, SIZE_T length, const UINT64* address, ULONG flags, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  NTSTATUS do_register(MutableBytes memory, std::optional<UINT64> address, ULONG flags);
  void take_down() override;

  struct Copy {
    std::vector<MutableBytes> pieces;  // none: they are the consumer's again
    Bytes copy;                        // what the device maps
    Bytes before;                      // both, when they were last alike
  };
  static void bring_up_to_date(Copy& copy);
  ProtectionDomain& domain_;
  const bool fast_;
  bool busy_ = false;  // a registration is on its way
  std::unique_ptr<rdma::MemoryRegion> region_;
  std::unique_ptr<rdma::MemoryRegion> remote_region_;  // where peers see other addresses than the consumer
  MutableBytes memory_;
  std::uint64_t remote_base_ = 0;
  ULONG flags_ = 0;
  ULONG pages_ = 0;
  bool remote_allowed_ = false;
  std::uint8_t key_byte_ = 0;
  std::deque<Copy> copies_;
  std::vector<std::unique_ptr<rdma::MemoryRegion>> kept_;  // a departure
};

class MemoryWindow final : public NDK_MW, public Object {
 public:
  explicit MemoryWindow(ProtectionDomain& domain);
  ProtectionDomain& domain() const { return domain_; }
  rdma::MemoryRegion& device_region() { return *region_; }
  UINT32 token() const { return token_; }

  bool bound() const { return region_of_ != nullptr; }
  /// A bind has been posted: the region stays as long as it holds. Returns the byte of the key. `among` are the windows
  /// of the queue pair; this one is there until it is unbound.
  std::uint8_t bind_to(MemoryRegion& region, std::vector<MemoryWindow*>& among);
  /// An invalidation has been posted, or a bind could not be.
  void unbind();
  /// The queue pair that it was bound on is gone: it can be bound afresh.
  void renew();

  static NTSTATUS create(NDK_PD* domain, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_MW** place);
  static UINT32 get_remote_token(NDK_MW* window);

 private:
  void take_down() override;

  ProtectionDomain& domain_;
  std::unique_ptr<rdma::MemoryRegion> region_;
  MemoryRegion* region_of_ = nullptr;
  std::vector<MemoryWindow*>* among_ = nullptr;
  UINT32 token_ = 0;
};

}  // namespace fb::ndk::provider
