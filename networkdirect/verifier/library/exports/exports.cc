// The loadable library: for a consumer's helper library it is a provider like any other.
#include <exception>
#include <new>

#include "networkdirect/verifier/library/watch.h"

using fb::networkdirect::verifier::Watch;

extern "C" {

HRESULT STDAPICALLTYPE DllGetClassObject(REFCLSID id, REFIID iid, LPVOID* out) {
  try {
    return Watch::instance().class_object(id, iid, out);
  } catch (const std::bad_alloc&) {
    return ND_NO_MEMORY;
  } catch (const std::exception&) {
    return ND_UNSUCCESSFUL;  // a path that is no text
  }
}

HRESULT STDAPICALLTYPE DllCanUnloadNow() {
  Watch* const watch = Watch::existing();
  return watch == nullptr ? S_OK : watch->can_unload_now();
}

// When the loader ends the process, after the destructors of everybody's static objects, in which programs still release.
__attribute__((destructor)) static void end_of_process() {
  if (Watch* const watch = Watch::existing()) watch->process_ends();
}

}  // extern "C"
