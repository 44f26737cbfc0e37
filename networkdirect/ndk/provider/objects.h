// What all objects of the provider have in common: who depends on whom, how they close, and how a call that may pend is
// answered.
//
// An object is held by its consumer from creation to close, by everything that stands on it (its dependants), and by
// pins: callbacks that run or are still to come. When it is closed, nothing stands on it and nothing pins it, it takes
// itself down, calls back, and lets go of what it stands on.
#pragma once

#include <ndkpi.h>

#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "networkdirect/ndk/provider/miniport.h"

namespace fb::ndk::provider {

class Adapter;

class Object {
 public:
  Object(Adapter& adapter, NDK_OBJECT_TYPE type);
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Adapter& adapter() const { return adapter_; }
  NDK_OBJECT_TYPE type() const { return type_; }
  bool closing() const { return closing_; }

  /// NDK_FN_CLOSE_OBJECT. The object may be gone afterwards.
  NTSTATUS close(NDK_FN_CLOSE_COMPLETION completion, PVOID context);
  /// This object stands on `antecedent` until let_go() or its own end.
  void stand_on(Object& antecedent);
  void let_go(Object& antecedent);
  bool stood_on() const { return dependants_ > 0; }
  void pin() { ++pins_; }
  /// The object may be gone afterwards.
  void unpin();

 protected:
  virtual ~Object();
  /// The consumer has closed it: what is pending is cancelled. Not the object's end, but nobody calls it any more.
  virtual void begin_close() {}
  /// Nothing stands on it: what it has of the device, and of addresses, is given back.
  virtual void take_down() {}

 private:
  friend class Adapter;
  bool may_end() const { return pins_ == 0 && dependants_ == 0; }
  void settle();
  void finish();
  void end();

  Adapter& adapter_;
  const NDK_OBJECT_TYPE type_;
  std::vector<Object*> antecedents_;
  std::size_t dependants_ = 0;
  std::size_t pins_ = 0;
  bool closing_ = false;
  bool inside_close_ = false;
  bool finishing_ = false;
  bool told_ = false;  // a departure: the close was told before it was over
  NDK_FN_CLOSE_COMPLETION completion_ = nullptr;
  PVOID context_ = nullptr;
  std::list<Object*>::iterator place_;
};

/// Keeps an object while something of its consumer's runs.
class Pin {
 public:
  explicit Pin(Object& object) : object_(object) { object.pin(); }
  ~Pin() { object_.unpin(); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  Object& object_;
};

/// Fills in what consumers see of an object.
void begin_header(NDK_OBJECT_HEADER& header, const Adapter& adapter, NDK_OBJECT_TYPE type);

/// The provider's object behind the one that consumers see.
template <class T, class Ndk>
T& of(Ndk* object) {
  return *static_cast<T*>(object);
}

/// NDK_FN_CLOSE_OBJECT of a T that consumers see as Ndk.
template <class T, class Ndk>
NTSTATUS close_of(NDK_OBJECT_HEADER* header, NDK_FN_CLOSE_COMPLETION completion, PVOID context) {
  return static_cast<T*>(reinterpret_cast<Ndk*>(header))->close(completion, context);
}

}  // namespace fb::ndk::provider
