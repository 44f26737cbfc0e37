#include "sim/rdma/verbs/memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>

#include "base/result.h"
#include "sim/rdma/verbs/device_list.h"
#include "sim/rdma/verbs/translate.h"

namespace fb::verbs {

namespace {

/// What the kernel lets this process pin, where that is the likely reason.
std::string locked_memory_words() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return fmt::format(" (this process may lock {} KiB: ulimit -l)", limit.rlim_cur / 1024);
}

}  // namespace

std::unique_ptr<rdma::MemoryRegion> Domain::register_memory(MutableBytes memory, rdma::Access access) {
  Owned<ibv_mr> object(ibv_reg_mr(object_.get(), memory.data(), memory.size(), access_flags(access)));
  if (object != nullptr) return std::make_unique<Region>(std::move(object));
  throw UserError(fmt::format("verbs:{}: {} bytes of memory cannot be registered: {}{}", s_.name, memory.size(), words_of(errno),
                              locked_memory_words()));
}

std::unique_ptr<rdma::MemoryRegion> Domain::register_memory_at(std::uint64_t iova, MutableBytes memory, rdma::Access access) {
  // Drivers want the place within a page to be the memory's, and data that are sent inline are read at their address.
  if (iova != reinterpret_cast<std::uintptr_t>(memory.data())) {
    throw UserError(fmt::format("verbs:{}: memory is registered at its own address alone", s_.name));
  }
  return register_memory(memory, access);
}

std::unique_ptr<rdma::MemoryRegion> Domain::allocate_fast_region(std::size_t) {
  throw UserError(fmt::format("verbs:{}: no fast registration in user space: see DeviceLimits::fast_registration", s_.name));
}

}  // namespace fb::verbs
