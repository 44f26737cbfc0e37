// What wakes the thread of a device out of its loop, and what wakes a caller that waits for it.
#pragma once

#include <atomic>

namespace fb::networkdirect {

class Signal {
 public:
  Signal();
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  /// For RealLoop::watch.
  int descriptor() const { return descriptor_; }
  /// From any thread.
  void set();
  /// On the loop's thread, before it looks what there is to do.
  void clear();

 private:
  int descriptor_;
};

/// The end of a call, for one who waits.
class Done {
 public:
  void wait();
  void tell();

 private:
  std::atomic<bool> done_{false};
};

}  // namespace fb::networkdirect
