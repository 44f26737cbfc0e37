// What the objects of the consumer have in common: how a call that may pend is made, how an object comes to be and
// how it goes. Everything on the heap of a provider is held by one Object, and that by shared pointers whose last
// owner begins the close; the Object is freed when the provider has called back for the last time.
#pragma once

#include <ndkpi.h>

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "networkdirect/ndk/consumer/ndk_device.h"

namespace fb::ndk::consumer {

class QueuePairCore;
class RegionCore;

/// One device: what its objects share. Lives as long as any of them.
struct Shared {
  Shared(World& w, NDK_ADAPTER& a, const ConsumerOptions& o) : world(w), adapter(a), options(o) {}

  /// True outside of events, where the loop may be stepped.
  bool may_wait() const { return !world.loop().inside_event(); }
  /// Steps the world until done(). Throws UserError when that never comes; `what` is what was asked for.
  void wait(const std::function<bool()>& done, std::string_view what) const;
  bool departs(std::string_view point) const { return options.hooks != nullptr && options.hooks->departs(point); }
  /// The fast region with this remote token; null when there is none, or none any more.
  RegionCore* fast_region(std::uint32_t token) const {
    const auto handle = handle_of_token.find(token);
    const auto found = handle == handle_of_token.end() ? by_handle.end() : by_handle.find(handle->second);
    return found == by_handle.end() ? nullptr : found->second;
  }
  bool knows(USHORT major, USHORT minor) const { return version.Major > major || (version.Major == major && version.Minor >= minor); }

  World& world;
  NDK_ADAPTER& adapter;
  ConsumerOptions options;
  NDK_ADAPTER_INFO info = {};
  /// The provider's extension to register at a chosen I/O address; null when it has none.
  using RegisterAt = NTSTATUS (*)(NDK_MR*, MDL*, SIZE_T, UINT64 address, ULONG flags, NDK_FN_REQUEST_COMPLETION, PVOID);
  RegisterAt register_at = nullptr;
  NDK_VERSION version = {1, 1};  ///< what provider and options have in common
  rdma::DeviceLimits limits;
  std::uint32_t next_handle = 1;
  std::uint32_t next_number = 1;
  std::uint64_t next_iova = 0x100000;
  /// Looked up, never walked.
  std::map<std::uint32_t, RegionCore*> by_handle;
  std::map<std::uint32_t, std::uint32_t> handle_of_token;  ///< of the last fast region with that remote token, which may be gone
  std::map<std::uint32_t, QueuePairCore*> by_number;
};

/// The end of one call that may pend: with success `object` is what was created, if anything was.
using Done = std::function<void(NTSTATUS status, NDK_OBJECT_HEADER* object)>;

/// The context of one such call. Frees itself in the callback, which may come before the call has returned.
class Ticket {
 public:
  explicit Ticket(Done done) : done_(std::move(done)) {}
  static VOID on_request(PVOID context, NTSTATUS status) { finish(context, status, nullptr); }
  static VOID on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER* object) { finish(context, status, object); }
  static VOID on_close(PVOID context) { finish(context, STATUS_SUCCESS, nullptr); }

 private:
  static void finish(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER* object) {
    std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(context));
    ticket->done_(status, object);
  }
  friend void settle_inline(Ticket* ticket, NTSTATUS status, NDK_OBJECT_HEADER* object);
  Done done_;
};

/// For a call that did not pend: its callback will not come.
inline void settle_inline(Ticket* ticket, NTSTATUS status, NDK_OBJECT_HEADER* object) { Ticket::finish(ticket, status, object); }

/// Makes a call with a request completion: `call(completion, context)`. Done runs inside, or from the callback.
template <class Call>
NTSTATUS request(Call&& call, Done done) {
  auto* ticket = new Ticket(std::move(done));
  const NTSTATUS status = call(&Ticket::on_request, static_cast<PVOID>(ticket));
  if (status != STATUS_PENDING) settle_inline(ticket, status, nullptr);
  return status;
}

/// Makes a call that creates an object of type T: `call(completion, context, &place)`.
template <class T, class Call>
NTSTATUS create(Call&& call, Done done) {
  auto* ticket = new Ticket(std::move(done));
  T* place = nullptr;
  const NTSTATUS status = call(&Ticket::on_create, static_cast<PVOID>(ticket), &place);
  if (status != STATUS_PENDING) {
    settle_inline(ticket, status, status == STATUS_SUCCESS && place != nullptr ? &place->Header : nullptr);
  }
  return status;
}

/// Closes an object of the provider.
inline void close(NTSTATUS (*function)(NDK_OBJECT_HEADER*, NDK_FN_CLOSE_COMPLETION, PVOID), NDK_OBJECT_HEADER& object,
                  std::function<void()> done) {
  auto* ticket = new Ticket([done = std::move(done)](NTSTATUS, NDK_OBJECT_HEADER*) { done(); });
  if (function(&object, &Ticket::on_close, ticket) != STATUS_PENDING) settle_inline(ticket, STATUS_SUCCESS, nullptr);
}

/// An object of the provider's and what belongs to it. Comes to be settled once: ready or failed.
class Object : public std::enable_shared_from_this<Object> {
 public:
  explicit Object(std::shared_ptr<Shared> shared) : s(*shared), shared_(std::move(shared)) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  bool ready() const { return settled_ && status_ == STATUS_SUCCESS; }
  bool settled() const { return settled_; }
  NTSTATUS status() const { return status_; }
  /// Runs `then` when the object is ready or has failed: at once when it is.
  void when_settled(std::function<void()> then);
  /// Outside of events, steps the world until the object is settled. False when it is not, or failed.
  bool await(std::string_view what);

  Shared& s;

 protected:
  virtual ~Object() = default;
  /// The last owner is gone: closes what there is and calls gone(), now or later.
  virtual void begin_close() = 0;
  void settle(NTSTATUS status);
  void gone() { delete this; }
  bool closing() const { return closing_; }

  std::shared_ptr<Shared> shared_;

 private:
  template <class T, class... Arguments>
  friend std::shared_ptr<T> make_object(Arguments&&... arguments);
  void release();

  bool settled_ = false;
  bool closing_ = false;
  NTSTATUS status_ = STATUS_PENDING;
  std::vector<std::function<void()>> waiting_;
};

template <class T, class... Arguments>
std::shared_ptr<T> make_object(Arguments&&... arguments) {
  T* made = new T(std::forward<Arguments>(arguments)...);
  return std::shared_ptr<T>(made, [](Object* object) { object->release(); });
}

}  // namespace fb::ndk::consumer
