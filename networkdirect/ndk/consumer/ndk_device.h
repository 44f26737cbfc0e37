// An rdma::Device on any NDK provider: what a driver in the kernel would be, in a world of one thread. NVMe hosts
// and controllers run on it unchanged.
//
// A provider may answer anything with STATUS_PENDING. Outside of events the device then steps the world until the
// answer is there. Inside an event it cannot: objects are handed out at once, and what is asked of them waits in
// line until they exist; an object that fails after all takes no requests, and a queue pair says on_queue_error().
// Three things need their answer on the spot and throw UserError inside an event when the provider has not given it:
//  - MemoryRegion::rkey() of memory registered with remote rights (local keys are the device's own and always there);
//  - the same of a fast region, unless one is left in the protection domain's reserve
//    (ConsumerOptions::spare_fast_regions);
//  - Device::listen(), which fails with a Problem.
//
// Memory. I/O addresses are chosen with the provider's extension for that if it has one (kernel/extension.h), so that
// packets do not depend on where memory lies. Without it they are pointers, and register_memory_at() throws
// UserError. Fast registration describes the memory by an MDL whose byte offset is that of the wanted I/O address, so
// that any address can be had; a provider that finds another offset in it makes post_send() refuse.
//
// A region that is destroyed inside an event is deregistered from then on, and if the provider pends that, for a while
// longer: its memory should not be freed in that event. Everything else may be destroyed as rdma/device.h says. Closes
// run in the order of the objects' dependence and end in callbacks; until the last of them the adapter must not be
// closed. Providers of this project wait for that in their adapter's close.
//
// NDK knows no queue pair numbers, no reject reasons, no error events of queue pairs and no private data in answers to
// an accept: numbers are the device's own, a refusal with private data counts as the consumer's (28), one without as
// that of an unknown service (8), and a queue pair's error is noticed by the first completion that tells of it.
#pragma once

#include <ndkpi.h>

#include <memory>
#include <string_view>

#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::ndk {

/// Where the consumer speaks. The default is honest.
class ConsumerHooks {
 public:
  virtual ~ConsumerHooks() = default;
  /// True when the consumer shall break a rule of the interface at `point` (see kConsumerFaultPoints).
  virtual bool departs(std::string_view point) {
    (void)point;
    return false;
  }
};

struct ConsumerOptions {
  /// An address of the adapter: connections leave from it and listeners stand on it. NDK has no query for it.
  IpAddress address;
  /// Nothing that came with a later version is used, whatever the provider has.
  NDK_VERSION version = {2, 1};
  /// Fast regions that each protection domain keeps ready: as many may be needed inside one event, and until a provider
  /// that pends has made others.
  std::uint32_t spare_fast_regions = 64;
  /// Null is honest. Must outlive the adapter's close.
  ConsumerHooks* hooks = nullptr;
};

/// The adapter is open, of version 1.1 or later, and stays so until after the device's objects and the device are
/// destroyed. To be called at PASSIVE_LEVEL. Throws UserError when the adapter tells nothing about itself.
std::unique_ptr<rdma::Device> make_ndk_device(World& world, NDK_ADAPTER& adapter, const ConsumerOptions& options);

}  // namespace fb::ndk
