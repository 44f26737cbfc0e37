// Adapters and the memory that is registered on them: described memory, mappings, protection domains, regions, windows.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "networkdirect/ndk/kernel/extension.h"
#include "networkdirect/ndk/verifier/session.h"

namespace fb::ndk::verifier {

/// A chain of MDLs as it was when a call took it. The provider works with a copy, which stays whatever the consumer does.
class MdlCopy {
 public:
  explicit MdlCopy(MDL* first);
  MDL* get() { return copies_.empty() ? nullptr : copies_.data(); }
  std::uint64_t bytes() const { return bytes_; }
  /// How many of them lie side by side from the first one on.
  std::uint64_t contiguous_bytes() const { return contiguous_bytes_; }
  const std::uint8_t* memory() const { return memory_; }
  /// The consumer's own is no longer what it was. It may be gone.
  bool changed() const;

 private:
  std::vector<const MDL*> originals_;
  std::vector<MDL> seen_;
  std::vector<MDL> copies_;
  const std::uint8_t* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t contiguous_bytes_ = 0;
};

/// False: nothing is described. The findings are made.
bool judge_mdl(Call& call, const MdlCopy& copy, std::uint64_t length);

/// What NdkBuildLAM has made.
struct Mapping {
  const NDK_LOGICAL_ADDRESS_MAPPING* place = nullptr;
  PVOID adapter_context = nullptr;
  std::vector<LONGLONG> pages;
  unsigned uses = 0;  ///< by regions that are valid or about to be invalid, and by requests
};

class Adapter final : public NDK_ADAPTER, public Wrapper {
 public:
  /// Asks the provider's what it is.
  Adapter(Session& session, NDK_ADAPTER& inner);
  NDK_ADAPTER& inner() const { return inner_; }
  bool info_known() const { return info_known_; }
  const NDK_ADAPTER_INFO& info() const { return info_; }
  bool flag(ULONG bit) const { return !info_known_ || (info_.AdapterFlags & bit) != 0; }
  /// A living mapping with that page. Null: there is none, or more than one (then `any`).
  Mapping* mapping_of(LONGLONG page, bool& any) const;
  /// The mapping whose own array of pages this is.
  Mapping* mapping_of(const NDK_LOGICAL_ADDRESS* pages) const;
  std::size_t living_mappings() const { return by_place_.size(); }
  static void let_go(Mapping* mapping) {
    if (mapping != nullptr) --mapping->uses;
  }

  ChosenAddressDispatch extension = {};  ///< the provider's
  std::vector<class ProtectionDomain*> domains;
  /// To connect: from which port to where, and whose they are.
  std::map<std::pair<std::uint16_t, Endpoint>, const class Connector*> attempts;

  static NTSTATUS query_info(NDK_ADAPTER* adapter, NDK_ADAPTER_INFO* info, ULONG* size);
  static NTSTATUS create_cq(NDK_ADAPTER* adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK callback, PVOID callback_context,
                            GROUP_AFFINITY* affinity, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_CQ** place);
  static NTSTATUS create_pd(NDK_ADAPTER* adapter, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_PD** place);
  static NTSTATUS create_endpoint(NDK_ADAPTER* adapter, PSOCKADDR address, ULONG length, NDK_FN_CREATE_COMPLETION completion, PVOID context,
                                  NDK_SHARED_ENDPOINT** place);
  static NTSTATUS create_connector(NDK_ADAPTER* adapter, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_CONNECTOR** place);
  static NTSTATUS create_listener(NDK_ADAPTER* adapter, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                                  NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_LISTENER** place);
  static NTSTATUS build_lam(NDK_ADAPTER* adapter, MDL* mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION completion, PVOID context,
                            NDK_LOGICAL_ADDRESS_MAPPING* mapping, ULONG* size, ULONG* offset);
  static VOID release_lam(NDK_ADAPTER* adapter, NDK_LOGICAL_ADDRESS_MAPPING* mapping);

 private:
  friend class Session;
  /// Adapters are closed by other ways than objects.
  NTSTATUS close_inner(NDK_FN_CLOSE_COMPLETION, PVOID) override { return STATUS_NOT_SUPPORTED; }
  void built(NDK_LOGICAL_ADDRESS_MAPPING* place);
  void forget(Mapping& mapping);

  NDK_ADAPTER& inner_;
  bool info_known_ = false;
  NDK_ADAPTER_INFO info_ = {};
  std::vector<std::unique_ptr<Mapping>> mappings_;  // released ones are used again
  std::vector<Mapping*> free_;
  std::map<const void*, Mapping*> by_place_;         // living
  std::map<LONGLONG, std::vector<Mapping*>> pages_;  // of living ones
  std::set<const void*> released_;                   // where one was and none has been made since
};

class MemoryRegion;

class ProtectionDomain final : public Shell<NDK_PD, NdkObjectTypePd, &Tables::pd, &NDK_PD_DISPATCH::NdkClosePd> {
 public:
  using Shell::Shell;
  bool privileged(UINT32 token) const { return privileged_token_.has_value() && *privileged_token_ == token; }

  /// By local token: regions that are registered, or were and nobody has the token since.
  std::map<UINT32, MemoryRegion*> local_tokens;
  std::map<UINT32, MemoryRegion*> remote_tokens;
  std::vector<class MemoryWindow*> windows;

  static NTSTATUS create_mr(NDK_PD* domain, BOOLEAN fast, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_MR** place);
  static NTSTATUS create_mw(NDK_PD* domain, NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_MW** place);
  static NTSTATUS create_srq(NDK_PD* domain, ULONG depth, ULONG sges, ULONG threshold, NDK_FN_SRQ_NOTIFICATION_CALLBACK callback,
                             PVOID callback_context, GROUP_AFFINITY* affinity, NDK_FN_CREATE_COMPLETION completion, PVOID context,
                             NDK_SRQ** place);
  static NTSTATUS create_qp(NDK_PD* domain, NDK_CQ* receive_cq, NDK_CQ* initiator_cq, PVOID qp_context, ULONG receive_depth,
                            ULONG initiator_depth, ULONG receive_sges, ULONG initiator_sges, ULONG inline_bytes,
                            NDK_FN_CREATE_COMPLETION completion, PVOID context, NDK_QP** place);
  static NTSTATUS create_qp_with_srq(NDK_PD* domain, NDK_CQ* receive_cq, NDK_CQ* initiator_cq, NDK_SRQ* srq, PVOID qp_context,
                                     ULONG initiator_depth, ULONG initiator_sges, ULONG inline_bytes, NDK_FN_CREATE_COMPLETION completion,
                                     PVOID context, NDK_QP** place);
  static VOID get_privileged_token(NDK_PD* domain, UINT32* token);

 private:
  void judge_queue_pair(Call& call, ULONG initiator_depth, ULONG initiator_sges, ULONG inline_bytes) const;
  std::optional<UINT32> privileged_token_;
};

class MemoryRegion final : public Shell<NDK_MR, NdkObjectTypeMr, &Tables::mr, &NDK_MR_DISPATCH::NdkCloseMr> {
 public:
  MemoryRegion(Session& session, ProtectionDomain& domain, bool fast) : Shell(session, *domain.adapter()), domain_(domain), fast_(fast) {}
  ProtectionDomain& domain() const { return domain_; }
  bool fast() const { return fast_; }

  /// Of a plain region the registration, of a fast one the initialisation.
  enum class Phase : std::uint8_t { empty, beginning, ready, ending };
  enum class Validity : std::uint8_t { invalid, valid, unknown };
  Phase phase = Phase::empty;
  Validity validity = Validity::invalid;  ///< of a fast region, as its requests were posted
  std::uint64_t last_change = 0;          ///< the request that made it so
  Mapping* mapping = nullptr;             ///< that a fast region uses, or has used until an invalidation is done
  std::uint64_t first = 0;                ///< where it begins
  std::uint64_t bytes = 0;
  ULONG flags = 0;  ///< NDK_MR_FLAG of a plain region, NDK_OP_FLAG of a fast one
  ULONG pages = 0;
  bool remote_access = false;
  unsigned uses = 0;     ///< by requests that are outstanding
  unsigned windows = 0;  ///< bound in it

  bool covers(std::uint64_t address, std::uint64_t length) const {
    return address >= first && length <= bytes && address - first <= bytes - length;
  }
  bool writable() const { return (flags & (fast_ ? NDK_OP_FLAG_ALLOW_LOCAL_WRITE : NDK_MR_FLAG_ALLOW_LOCAL_WRITE)) != 0 || sink(); }
  bool sink() const { return (flags & (fast_ ? NDK_OP_FLAG_RDMA_READ_SINK : NDK_MR_FLAG_RDMA_READ_SINK)) != 0; }
  void use(Mapping* used);

  static NTSTATUS register_mr(NDK_MR* region, MDL* mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS register_at(NDK_MR* region, MDL* mdl, SIZE_T length, UINT64 address, ULONG flags, NDK_FN_REQUEST_COMPLETION completion,
                              PVOID context);
  static NTSTATUS deregister(NDK_MR* region, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static NTSTATUS initialize(NDK_MR* region, ULONG pages, BOOLEAN remote, NDK_FN_REQUEST_COMPLETION completion, PVOID context);
  static UINT32 get_local_token(NDK_MR* region);
  static UINT32 get_remote_token(NDK_MR* region);

 private:
  NTSTATUS begin_register(Call& call, MDL* mdl, SIZE_T length, const UINT64* address, ULONG flags, NDK_FN_REQUEST_COMPLETION completion,
                          PVOID context);
  void note_tokens();
  void closing(Call& call) override;
  void closed() override;

  ProtectionDomain& domain_;
  const bool fast_;
};

class MemoryWindow final : public Shell<NDK_MW, NdkObjectTypeMw, &Tables::mw, &NDK_MW_DISPATCH::NdkCloseMw> {
 public:
  MemoryWindow(Session& session, ProtectionDomain& domain) : Shell(session, *domain.adapter()), domain_(domain) {}
  ProtectionDomain& domain() const { return domain_; }

  enum class Binding : std::uint8_t { none, bound, unknown };
  Binding binding = Binding::none;
  MemoryRegion* region = nullptr;  ///< that it is bound in
  const QueuePair* queue_pair = nullptr;
  void bind(MemoryRegion& to, const QueuePair& on);
  void unbind(Binding now);

  static UINT32 get_remote_token(NDK_MW* window);

 private:
  void closing(Call&) override { unbind(Binding::none); }
  ProtectionDomain& domain_;
};

}  // namespace fb::ndk::verifier
