// What is allocated in its lifetime may be lost: a product that departs from a rule leaves what others wait for in vain.
#pragma once

// Of sanitizers' runtimes; null without one.
extern "C" __attribute__((weak)) void __lsan_disable();
extern "C" __attribute__((weak)) void __lsan_enable();

namespace fb {

class LeaksOnPurpose {
 public:
  LeaksOnPurpose() {
    if (__lsan_disable != nullptr) __lsan_disable();
  }
  ~LeaksOnPurpose() {
    if (__lsan_enable != nullptr) __lsan_enable();
  }
  LeaksOnPurpose(const LeaksOnPurpose&) = delete;
  LeaksOnPurpose& operator=(const LeaksOnPurpose&) = delete;
};

}  // namespace fb
