// An rdma::Device on any NetworkDirect provider: what a program for Windows would be, in a world of one thread. NVMe hosts
// and controllers run on it unchanged. The provider may live in the same world or on threads of its own; its packets come
// to one completion port, and from there to the loop, so that nothing polls.
//
// What NetworkDirect has not, and the limits say: fast registration (it has memory windows instead), keys of one's choice,
// remote invalidation, immediate data, atomics. Besides:
//  - There is one protection domain an adapter. Several can be allocated, but memory of one can be reached through queue
//    pairs of another.
//  - Registration and deregistration wait for the provider: with one that has threads, some microseconds. A provider in the
//    same world must have answered by the time it returns; one that has not makes register_memory() throw UserError.
//  - A region's address is its pointer. With the extension of this project's provider (provider/extension.h) it is a number
//    of this device's instead, so that packets do not depend on where memory lies, and register_memory_at() takes any;
//    without it that throws UserError for all but the pointer.
//  - Local keys are the device's own. Remote keys are numbers: NetworkDirect has its remote tokens in network order, so that
//    rkey() is ntohl(token) and requests carry htonl(rkey). A provider that has them in host order does not talk to
//    peers of another kind.
//  - It knows no queue pair numbers (they are the device's own), no reject reasons (a refusal with private data other than
//    zeros counts as the consumer's, 28; one without as that of an unknown service, 8; refuse() and reject() say 28
//    whatever they are given), no retry counts, no solicited flag in completions.
//  - A queue pair's error is told by the completion of the request that failed. Without one (the peer did what it may not)
//    the connection simply ends: on_disconnected().
//  - fail() flushes what is posted; a foreign provider may go on receiving until the connection ends.
//  - Private data longer than the adapter takes makes connect() and accept() throw UserError.
#pragma once

#include <ndspi.h>

#include <memory>
#include <string_view>

#include "sim/core/world.h"
#include "sim/rdma/device.h"

namespace fb::networkdirect {

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
  /// The adapter's address that connections leave from and listeners stand on. The default is the first that it has.
  IpAddress address;
  /// Connection requests that a listener asks for at the same time.
  std::uint32_t waiting_connectors = 8;
  /// Null is honest. Must outlive the device.
  ConsumerHooks* hooks = nullptr;
};

/// To be called on the thread of the world. The device holds a reference of the adapter. When it is destroyed while the
/// provider still owes it the end of a request, what that needs stays until then; the world is not needed for it.
/// Throws UserError when the adapter tells nothing about itself or has not the address.
std::unique_ptr<rdma::Device> make_networkdirect_device(World& world, IND2Adapter& adapter, const ConsumerOptions& options = {});

/// What NetworkDirect has in place of fast registration: a part of a registered region, open to the peer of one queue pair from
/// bind() to invalidate(). Its key is good as soon as bind() has returned, its address is the region's.
class WindowRegion : public rdma::MemoryRegion {
 public:
  /// A request on a connected queue pair; it completes as fast_register. `access` is remote_read, remote_write or both; `in` is
  /// a region of the same device, for remote_write one with local_write. False when the provider does not take it.
  virtual bool bind(rdma::QueuePair& qp, std::uint64_t id, rdma::MemoryRegion& in, std::uint64_t offset, std::uint64_t length,
                    rdma::Access access) = 0;
  /// Completes as local_invalidate. On the queue pair that it was bound on.
  virtual bool invalidate(rdma::QueuePair& qp, std::uint64_t id) = 0;
};

/// Of a device that make_networkdirect_device() made. Null when the provider makes none. The window goes before the device does.
std::unique_ptr<WindowRegion> create_memory_window(rdma::Device& device);

}  // namespace fb::networkdirect
