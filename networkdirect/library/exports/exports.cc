// The loadable library: what a NetworkDirect helper library or a consumer looks for in it.
#include <cstdio>
#include <mutex>
#include <utility>

#include "networkdirect/library/machine_fabric.h"
#include "networkdirect/ndutil/catalogue.h"
#include "networkdirect/provider/provider.h"

namespace {

using namespace fb::networkdirect;

std::mutex lock;
// Not destroyed with the process: programs leave while their devices run.
std::shared_ptr<Fabric>* fabric = nullptr;

}  // namespace

extern "C" {

HRESULT STDAPICALLTYPE DllGetClassObject(REFCLSID id, REFIID iid, LPVOID* out) {
  if (out == nullptr) return E_POINTER;
  *out = nullptr;
  if (!(id == fb::ndutil::kOwnProvider)) return CLASS_E_CLASSNOTAVAILABLE;
  const std::lock_guard guard(lock);
  if (fabric == nullptr) {
    const auto options = options_of_environment();
    if (!options) {
      std::fprintf(stderr, "fabricbench: %s\n", options.error().text.c_str());
      return E_INVALIDARG;
    }
    fabric = new std::shared_ptr<Fabric>(make_machine_fabric(*options));
  }
  return make_provider(*fabric, iid, out);
}

HRESULT STDAPICALLTYPE DllCanUnloadNow() {
  const std::lock_guard guard(lock);
  if (living_objects() != 0) return S_FALSE;
  // Ends the devices' threads: none may run in code that is unloaded.
  delete std::exchange(fabric, nullptr);
  return S_OK;
}

}  // extern "C"
