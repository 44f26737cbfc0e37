#include "networkdirect/ndk/consumer/memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "networkdirect/ndk/consumer/misdeeds.h"
#include "networkdirect/ndk/consumer/translate.h"

namespace fb::ndk::consumer {

namespace {

/// An MDL counts its bytes in 32 bits.
constexpr std::size_t kMdlBytes = 1u << 30;

std::uint64_t pages_of(std::size_t bytes, ULONG offset) { return (std::uint64_t{offset} + bytes + PAGE_SIZE - 1) >> PAGE_SHIFT; }

}  // namespace

MdlChain::MdlChain(MutableBytes memory, ULONG offset) {
  std::uint8_t* at = memory.data();
  std::size_t left = memory.size();
  do {
    // Pieces end where a page ends, so that each but the first begins at offset 0.
    const std::size_t bytes = std::min(left, kMdlBytes - offset);
    MDL& mdl = mdls_.emplace_back();
    MmInitializeMdl(&mdl, at, bytes);
    mdl.StartVa = reinterpret_cast<VOID*>(reinterpret_cast<std::uintptr_t>(at) - offset);
    mdl.ByteOffset = offset;
    at += bytes;
    left -= bytes;
    offset = 0;
  } while (left > 0);
  for (std::size_t i = 1; i < mdls_.size(); ++i) mdls_[i - 1].Next = &mdls_[i];
}

// ---- protection domain ----

void DomainCore::open() {
  create<NDK_PD>([&](auto completion, PVOID context,
                     NDK_PD** place) { return s.adapter.Dispatch->NdkCreatePd(&s.adapter, completion, context, place); },
                 [this](NTSTATUS status, NDK_OBJECT_HEADER* object) {
                   pd_ = reinterpret_cast<NDK_PD*>(object);
                   settle(status);
                 });
}

void DomainCore::begin_close() {
  if (pd_ == nullptr || s.departs("pd.leaked")) return gone();
  close_object(s, "pd", pd_->Dispatch->NdkClosePd, pd_->Header, [this] { gone(); });
}

// ---- logical addresses ----

Lam::Lam(std::shared_ptr<Shared> shared, MutableBytes memory, ULONG offset)
    : Object(std::move(shared)), mdls_(memory, offset), length_(memory.size()) {
  const std::size_t pages = static_cast<std::size_t>(pages_of(length_, offset));
  size_ = static_cast<ULONG>(sizeof(NDK_LOGICAL_ADDRESS_MAPPING) + pages * sizeof(NDK_LOGICAL_ADDRESS));
}

void Lam::open() { build(); }

void Lam::build() {
  storage_.assign((size_ + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t), 0);
  const ULONG given = size_;
  const SIZE_T length = length_ + (s.departs("lam.beyond_mdl") ? PAGE_SIZE : 0);
  request(
      [&](auto completion, PVOID context) {
        auto* mapping = reinterpret_cast<NDK_LOGICAL_ADDRESS_MAPPING*>(storage_.data());
        return s.adapter.Dispatch->NdkBuildLAM(&s.adapter, mdls_.get(), length, completion, context, mapping, &size_, &offset_);
      },
      [this, given](NTSTATUS status, NDK_OBJECT_HEADER*) {
        if (status == STATUS_BUFFER_TOO_SMALL && size_ > given) return build();
        settle(status);
      });
}

void Lam::release_early() {
  if (released_ || !ready()) return;
  released_ = true;
  s.adapter.Dispatch->NdkReleaseLAM(&s.adapter, reinterpret_cast<NDK_LOGICAL_ADDRESS_MAPPING*>(storage_.data()));
}

void Lam::begin_close() {
  if (ready() && !s.departs("lam.leaked")) {
    const bool twice = s.departs("lam.released_twice");
    release_early();
    if (twice) {
      released_ = false;
      release_early();
    }
  }
  gone();
}

// ---- regions ----

RegionCore::RegionCore(std::shared_ptr<DomainCore> domain, std::shared_ptr<Shared> shared)
    : Object(std::move(shared)), domain_(std::move(domain)), handle_(s.next_handle++ << 8) {
  s.by_handle[handle_] = this;
}

void RegionCore::forget() { s.by_handle.erase(handle_); }

std::uint8_t* RegionCore::pointer(std::uint64_t address, std::size_t length) const {
  const std::uint64_t offset = address - iova;
  if (address < iova || offset > memory.size() || length > memory.size() - offset) return nullptr;
  return memory.data() + offset;
}

void RegionCore::create_mr(bool fast, std::function<void()> then) {
  // The domain's end of creation finds the region alive: one that nobody wants waits for its own.
  domain_->when_settled([this, fast, then = std::move(then)] {
    if (!domain_->ready() || closing()) return settle(domain_->ready() ? STATUS_CANCELLED : domain_->status());
    create<NDK_MR>(
        [&](auto completion, PVOID context, NDK_MR** place) {
          NDK_PD& pd = domain_->pd();
          return pd.Dispatch->NdkCreateMr(&pd, fast ? 1 : 0, completion, context, place);
        },
        [this, then](NTSTATUS status, NDK_OBJECT_HEADER* object) {
          mr_ = reinterpret_cast<NDK_MR*>(object);
          if (status != STATUS_SUCCESS || closing()) return settle(status != STATUS_SUCCESS ? status : STATUS_CANCELLED);
          if (s.departs("mr.token_early")) mr_->Dispatch->NdkGetLocalTokenFromMr(mr_);
          then();
        });
  });
}

void RegionCore::open_plain(MutableBytes covered, rdma::Access access, const std::uint64_t* chosen) {
  memory = covered;
  iova = chosen != nullptr ? *chosen : address_of(covered.data());
  mdls_ = std::make_unique<MdlChain>(covered, page_offset(address_of(covered.data())));
  const bool sink = (s.info.AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED) == 0;
  const ULONG flags = region_flags(access, sink);
  create_mr(s.departs("mr.register_of_fast"), [this, flags, at = chosen != nullptr] { register_plain(flags, at); });
}

void RegionCore::register_plain(ULONG flags, bool chosen) {
  const auto self = weak_from_this().lock();  // the end of the registration may drop the region
  const SIZE_T length = memory.size() + (s.departs("mr.beyond_mdl") ? PAGE_SIZE : 0);
  const auto call = [this, length, flags, chosen](auto completion, PVOID context) {
    if (chosen) return s.register_at(mr_, mdls_->get(), length, iova, flags, completion, context);
    return mr_->Dispatch->NdkRegisterMr(mr_, mdls_->get(), length, flags, completion, context);
  };
  const NTSTATUS status = request(call, [this](NTSTATUS end, NDK_OBJECT_HEADER*) { take_tokens(end); });
  if (status == STATUS_PENDING && !settled() && s.departs("mdl.changed_in_flight")) mdls_->get()->ByteCount = 0;
  // A consumer that takes "pending" for "done" has no tokens yet and asks for them all the same.
  if (status == STATUS_PENDING && !settled() && s.departs("pending.taken_for_done")) {
    mr_->Dispatch->NdkGetRemoteTokenFromMr(mr_);
  }
  if (s.departs("mr.registered_twice")) request(call, [](NTSTATUS, NDK_OBJECT_HEADER*) {});
}

void RegionCore::open_fast(std::size_t max_bytes) {
  fast_ = true;
  max_bytes_ = max_bytes;
  const ULONG pages = static_cast<ULONG>(pages_of(max_bytes, PAGE_SIZE - 1));
  create_mr(!s.departs("mr.fast_of_plain"), [this, pages] {
    if (s.departs("mr.uninitialised")) return take_tokens(STATUS_SUCCESS);
    ULONG count = std::min(pages, s.info.FRMRPageCount);
    if (s.departs("mr.too_many_pages")) count = s.info.FRMRPageCount + 1;
    const BOOLEAN remote = s.departs("mr.local_only") ? 0 : 1;
    request(
        [&](auto completion, PVOID context) { return mr_->Dispatch->NdkInitializeFastRegisterMr(mr_, count, remote, completion, context); },
        [this](NTSTATUS status, NDK_OBJECT_HEADER*) { take_tokens(status); });
  });
}

void RegionCore::take_tokens(NTSTATUS status) {
  if (status == STATUS_SUCCESS) {
    registered_ = true;
    local_token_ = mr_->Dispatch->NdkGetLocalTokenFromMr(mr_);
    remote_token_ = mr_->Dispatch->NdkGetRemoteTokenFromMr(mr_);
    if (fast_) s.handle_of_token[remote_token_] = handle_;
  }
  settle(status);
}

void RegionCore::begin_close() {
  forget();
  if (mr_ == nullptr) return gone();
  if (fast_ || !registered_ || s.departs("mr.close_without_deregister")) return close_mr();
  request([this](auto completion, PVOID context) { return mr_->Dispatch->NdkDeregisterMr(mr_, completion, context); },
          [this](NTSTATUS, NDK_OBJECT_HEADER*) {
            if (s.departs("mr.deregistered_twice")) {
              request([this](auto completion, PVOID context) { return mr_->Dispatch->NdkDeregisterMr(mr_, completion, context); },
                      [](NTSTATUS, NDK_OBJECT_HEADER*) {});
            }
            close_mr();
          });
}

void RegionCore::close_mr() {
  if (s.departs("mr.leaked")) return gone();
  close_object(s, "mr", mr_->Dispatch->NdkCloseMr, mr_->Header, [this] { gone(); });
}

// ---- what users hold ----

Domain::Domain(std::shared_ptr<DomainCore> core, std::shared_ptr<Shared> shared) : core_(std::move(core)), shared_(std::move(shared)) {
  fill_reserve();
  for (const auto& region : reserve_) region->await("the initialisation of fast regions");
}

Domain::~Domain() {
  for (const auto& region : reserve_) region->forget();
}

std::unique_ptr<rdma::MemoryRegion> Domain::finish(std::shared_ptr<RegionCore> region) {
  region->await("the registration of memory");
  if (region->settled() && !region->ready()) {
    throw UserError(fmt::format("the NDK provider registers no memory: status 0x{:08x}", static_cast<unsigned>(region->status())));
  }
  return std::make_unique<Region>(std::move(region));
}

std::unique_ptr<rdma::MemoryRegion> Domain::register_memory(MutableBytes memory, rdma::Access access) {
  if (shared_->register_at != nullptr) {
    const std::uint64_t iova = shared_->next_iova;
    // A page between two regions: what goes beyond one hits nothing.
    shared_->next_iova += (memory.size() + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE + PAGE_SIZE;
    return register_memory_at(iova, memory, access);
  }
  auto region = make_object<RegionCore>(core_, shared_);
  region->open_plain(memory, access, nullptr);
  return finish(std::move(region));
}

std::unique_ptr<rdma::MemoryRegion> Domain::register_memory_at(std::uint64_t iova, MutableBytes memory, rdma::Access access) {
  const bool natural = iova == address_of(memory.data());
  if (!natural && shared_->register_at == nullptr) {
    throw UserError("the NDK provider has no extension to register memory at an address of one's choice");
  }
  auto region = make_object<RegionCore>(core_, shared_);
  region->open_plain(memory, access, natural ? nullptr : &iova);
  return finish(std::move(region));
}

std::unique_ptr<rdma::MemoryRegion> Domain::allocate_fast_region(std::size_t max_bytes) {
  const auto found = std::find_if(reserve_.begin(), reserve_.end(), [](const auto& region) { return region->ready(); });
  std::shared_ptr<RegionCore> region;
  if (found != reserve_.end()) {
    // All of the reserve are as large as regions can be.
    region = std::move(*found);
    reserve_.erase(found);
  } else {
    region = make_object<RegionCore>(core_, shared_);
    region->open_fast(std::min<std::size_t>(max_bytes, shared_->limits.max_fast_register_bytes));
  }
  fill_reserve();
  return finish(std::move(region));
}

void Domain::fill_reserve() {
  while (shared_->limits.fast_registration && reserve_.size() < shared_->options.spare_fast_regions) {
    reserve_.push_back(make_object<RegionCore>(core_, shared_));
    reserve_.back()->open_fast(shared_->limits.max_fast_register_bytes);
  }
}

std::uint32_t Region::rkey() const {
  if (!core_->settled()) core_->await("the registration of memory");
  if (core_->settled()) return core_->remote_token();
  throw UserError("the NDK provider pends the registration of memory whose remote key is needed inside an event");
}

}  // namespace fb::ndk::consumer
