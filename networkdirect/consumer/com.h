// A reference of COM that is owned.
#pragma once

#include <ndspi.h>

#include <utility>

namespace fb::networkdirect::consumer {

template <class T>
class Com {
 public:
  Com() = default;
  Com(Com&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Com& operator=(Com&& other) noexcept {
    if (this != &other) {
      reset();
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  ~Com() { reset(); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  /// Where a provider puts a new object.
  void** out() {
    reset();
    return reinterpret_cast<void**>(&object_);
  }
  void reset() {
    if (T* object = std::exchange(object_, nullptr)) object->Release();
  }
  /// Without its Release.
  T* leave() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

}  // namespace fb::networkdirect::consumer
