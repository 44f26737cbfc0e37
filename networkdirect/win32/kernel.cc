#include "networkdirect/win32/kernel.h"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <link.h>

// Where a copy of this library keeps the Kernel, if it is the one that does. Found by name among the loaded objects:
// programs export it (an option of the link, in CMakeLists.txt), shared objects do by its visibility. The number
// changes with the layout of Kernel.
extern "C" {
__attribute__((visibility("default"), used)) std::atomic<fb::win32::Kernel*> fabricbench_win32_kernel_2{nullptr};
}

namespace fb::win32 {

namespace {

using Slot = std::atomic<Kernel*>;

// Names first, questions later: the list is locked while it is walked.
int collect(dl_phdr_info* info, std::size_t, void* names) {
  static_cast<std::vector<std::string>*>(names)->push_back(info->dlpi_name == nullptr ? "" : info->dlpi_name);
  return 0;
}

// The first object in the order of loading that has a slot, whatever the scope it was loaded into: a Python extension's
// names, say, are not seen by a plain dlsym. That object must not go away, and so is never unloaded.
Slot& shared_slot() {
  std::vector<std::string> names;
  dl_iterate_phdr(&collect, &names);
  for (const std::string& name : names) {
    void* object = dlopen(name.empty() ? nullptr : name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) continue;
    void* slot = dlsym(object, "fabricbench_win32_kernel_2");
    if (slot != nullptr) {
      Dl_info owner = {};
      if (dladdr(slot, &owner) != 0 && !name.empty()) dlopen(owner.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
    dlclose(object);
    if (slot != nullptr) return *static_cast<Slot*>(slot);
  }
  return fabricbench_win32_kernel_2;
}

Kernel& shared_kernel() {
  Slot& slot = shared_slot();
  Kernel* made = new Kernel;
  pthread_key_create(&made->last_error, nullptr);
  Kernel* present = nullptr;
  if (slot.compare_exchange_strong(present, made)) return *made;
  pthread_key_delete(made->last_error);
  delete made;
  if (present->size != sizeof(Kernel)) {
    std::fputs("fabricbench: two builds of the Win32 layer in one process do not fit together\n", stderr);
    std::abort();
  }
  return *present;
}

}  // namespace

Kernel& kernel() {
  static Kernel& one = shared_kernel();
  return one;
}

void pin_this_module() {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&pin_this_module), &self) != 0) {
    dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

Deadline deadline_in(DWORD milliseconds) {
  if (milliseconds == INFINITE) return kNever;
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

bool wait_on(std::condition_variable& condition, Lock& lock, Deadline deadline) {
  const Blocked blocked;
  return wait_until_poked(condition, lock, deadline);
}

bool wait_until_poked(std::condition_variable& condition, Lock& lock, Deadline deadline) {
  if (deadline == kNever) {
    condition.wait(lock);
    return true;
  }
  return condition.wait_until(lock, deadline) == std::cv_status::no_timeout;
}

}  // namespace fb::win32

using fb::win32::kernel;

DWORD GetLastError() { return static_cast<DWORD>(reinterpret_cast<std::uintptr_t>(pthread_getspecific(kernel().last_error))); }

void SetLastError(DWORD error) { pthread_setspecific(kernel().last_error, reinterpret_cast<void*>(static_cast<std::uintptr_t>(error))); }
