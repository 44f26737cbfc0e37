// What all objects of a provider have in common: reference counts, identity, and a place in the list of living objects. The
// list is what makes foreign and released pointers harmless (an IUnknown that is not in it is refused, never called), and
// what DllCanUnloadNow looks at.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <map>

#include <ndspi.h>

#include "networkdirect/provider/fault_points.h"

namespace fb::networkdirect {

enum class Kind : std::uint8_t {
  factory,
  provider,
  adapter,
  completion_queue,
  memory_region,
  memory_window,
  shared_receive_queue,
  queue_pair,
  connector,
  listener
};

/// The part of an object that others may hold on to after its last reference is gone. Made and destroyed on the device's
/// thread.
class Core {
 public:
  virtual ~Core() = default;
};

/// The living objects of this library, in all adapters.
class LiveObjects {
 public:
  static LiveObjects& instance();

  void add(const void* object, Kind kind, std::shared_ptr<Core> core);
  void remove(const void* object);
  /// The core of a living object of that kind; empty for anything else, whatever the pointer.
  std::shared_ptr<Core> find(const void* object, Kind kind) const;
  std::size_t count() const;
  std::size_t count(Kind kind) const;

 private:
  struct Entry {
    Kind kind;
    std::shared_ptr<Core> core;
  };
  mutable std::mutex lock_;
  std::map<const void*, Entry> objects_;  // looked up; its order means nothing
};

/// `unknown` as a core of class C; empty when it is no living object of that kind.
template <class C>
std::shared_ptr<C> core_of(IUnknown* unknown) {
  return std::static_pointer_cast<C>(LiveObjects::instance().find(unknown, C::kKind));
}

/// IUnknown for an interface. The derived class says what it is known by, and what its last Release does.
template <class Interface>
class Object : public Interface {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID iid, void** out) final {
    if (out == nullptr) return ND_INVALID_PARAMETER_2;
    *out = nullptr;
    const bool known = iid == IID_IUnknown ? !departs(departure::kUnknownUnanswered) : answers(iid);
    if (!known && !departs(departure::kAnswersAnyInterface)) return E_NOINTERFACE;
    AddRef();
    *out = static_cast<Interface*>(this);
    return ND_SUCCESS;
  }
  ULONG STDMETHODCALLTYPE AddRef() final { return references_.fetch_add(1, std::memory_order_relaxed) + 1; }
  ULONG STDMETHODCALLTYPE Release() final {
    const ULONG left = references_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if (left == 0) {
      const ULONG said = departs(departure::kReleaseNotZero) ? 1 : 0;
      LiveObjects::instance().remove(static_cast<IUnknown*>(this));
      released();
      delete this;
      return said;
    }
    return left;
  }

 protected:
  Object() = default;
  virtual ~Object() = default;
  virtual bool answers(REFIID iid) const = 0;
  /// Objects that can be told to depart say so; the others are always honest.
  virtual bool departs(std::string_view point) const {
    (void)point;
    return false;
  }
  /// The last reference is gone: pending requests end before this returns.
  virtual void released() {}
  void live(Kind kind, std::shared_ptr<Core> core) { LiveObjects::instance().add(static_cast<IUnknown*>(this), kind, std::move(core)); }

 private:
  std::atomic<ULONG> references_{1};
};

/// Hands a new object out as the interface that was asked for. Its only reference goes to the caller, or it is gone.
template <class T>
HRESULT give(T* object, REFIID iid, void** out) {
  const HRESULT status = object->QueryInterface(iid, out);
  object->Release();
  return status;
}

}  // namespace fb::networkdirect
