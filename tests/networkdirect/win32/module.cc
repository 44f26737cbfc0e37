// A shared object such as a provider is: with a copy of the Win32 layer of its own, loaded at run time.
#include <optional>

#include "networkdirect/win32/overlapped_file.h"
#include "windows.h"

extern "C" {

__declspec(dllexport) BOOL module_sets(HANDLE event) { return SetEvent(event); }
__declspec(dllexport) HANDLE module_makes_event() { return CreateEventW(nullptr, TRUE, TRUE, nullptr); }
__declspec(dllexport) void module_leaves_error(DWORD error) { SetLastError(error); }
__declspec(dllexport) BOOL module_completes(HANDLE file, OVERLAPPED* overlapped, LONG status) {
  const auto served = fb::win32::OverlappedFile::of(file);
  if (!served || !served->begin(*overlapped)) return FALSE;
  served->complete(*overlapped, status, 7);
  return TRUE;
}

}  // extern "C"
