// Modules are shared objects; the environment is the process's.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#include "networkdirect/win32/kernel.h"

namespace fb::win32 {

namespace {

HMODULE load(const char* name) {
  if (name == nullptr || *name == 0) {
    SetLastError(ERROR_INVALID_PARAMETER);
    return nullptr;
  }
  // Its first use calls the loader too, and would lose what dlerror() says about the module.
  Kernel& k = kernel();
  // Outside the lock: what is loaded may run code that comes here.
  void* module = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    SetLastError(ERROR_MOD_NOT_FOUND);
    return nullptr;
  }
  const Lock lock(k.lock);
  ++k.modules[module];
  return static_cast<HMODULE>(module);
}

/// The value of a variable whose name is between two percent signs; null where there is none.
template <typename Char, typename Get>
std::basic_string<Char> expand(const Char* source, const Get& get) {
  std::basic_string<Char> out;
  while (*source != 0) {
    if (*source != '%') {
      out += *source++;
      continue;
    }
    const Char* end = source + 1;
    while (*end != 0 && *end != '%') ++end;
    if (*end == 0) {
      out += source;
      break;
    }
    std::basic_string<Char> value;
    if (get(std::basic_string<Char>(source + 1, end), value)) {
      out += value;
      source = end + 1;
    } else {
      // Stays as it is; the second sign may begin a name itself.
      out.append(source, end);
      source = end;
    }
  }
  return out;
}

bool get_narrow(const std::string& name, std::string& value) {
  const char* found = std::getenv(name.c_str());
  if (found != nullptr) value = found;
  return found != nullptr;
}

bool get_wide(const std::wstring& name, std::wstring& value) {
  std::string narrow;
  if (!get_narrow(to_narrow(name.c_str()), narrow)) return false;
  value = to_wide(narrow);
  return true;
}

/// Characters with the terminator, written if they fit.
template <typename Char>
DWORD deliver(const std::basic_string<Char>& text, Char* target, DWORD target_chars) {
  const auto needed = static_cast<DWORD>(text.size() + 1);
  if (target != nullptr && needed <= target_chars) std::copy_n(text.c_str(), needed, target);
  return needed;
}

template <typename Char>
DWORD deliver_variable(bool found, const std::basic_string<Char>& value, Char* target, DWORD target_chars) {
  if (!found) {
    SetLastError(ERROR_ENVVAR_NOT_FOUND);
    return 0;
  }
  const DWORD needed = deliver(value, target, target_chars);
  return needed <= target_chars ? needed - 1 : needed;
}

}  // namespace

}  // namespace fb::win32

using namespace fb::win32;

HMODULE LoadLibraryExA(LPCSTR name, HANDLE, DWORD flags) {
  if ((flags & LOAD_LIBRARY_AS_DATAFILE) != 0) {
    SetLastError(ERROR_NOT_SUPPORTED);
    return nullptr;
  }
  return load(name);
}

HMODULE LoadLibraryExW(LPCWSTR name, HANDLE reserved, DWORD flags) {
  return LoadLibraryExA(name == nullptr ? nullptr : to_narrow(name).c_str(), reserved, flags);
}

HMODULE LoadLibraryA(LPCSTR name) { return LoadLibraryExA(name, nullptr, 0); }
HMODULE LoadLibraryW(LPCWSTR name) { return LoadLibraryExW(name, nullptr, 0); }

FARPROC GetProcAddress(HMODULE module, LPCSTR name) {
  Kernel& k = kernel();
  {
    const Lock lock(k.lock);
    if (k.modules.count(module) == 0) {
      SetLastError(ERROR_INVALID_HANDLE);
      return nullptr;
    }
  }
  // A number instead of a name is an ordinal, and shared objects have none.
  const bool ordinal = reinterpret_cast<std::uintptr_t>(name) < 0x10000;
  void* found = ordinal ? nullptr : dlsym(module, name);
  if (found == nullptr) SetLastError(ERROR_PROC_NOT_FOUND);
  return reinterpret_cast<FARPROC>(found);
}

BOOL FreeLibrary(HMODULE module) {
  Kernel& k = kernel();
  {
    const Lock lock(k.lock);
    const auto at = k.modules.find(module);
    if (at == k.modules.end()) return fail(ERROR_MOD_NOT_FOUND);
    if (--at->second == 0) k.modules.erase(at);
  }
  return dlclose(module) == 0 ? TRUE : fail(ERROR_MOD_NOT_FOUND);
}

DWORD ExpandEnvironmentStringsW(LPCWSTR source, LPWSTR target, DWORD target_chars) {
  if (source == nullptr) return fail(ERROR_INVALID_PARAMETER), 0;
  return deliver(expand(source, get_wide), target, target_chars);
}

DWORD ExpandEnvironmentStringsA(LPCSTR source, LPSTR target, DWORD target_chars) {
  if (source == nullptr) return fail(ERROR_INVALID_PARAMETER), 0;
  return deliver(expand(source, get_narrow), target, target_chars);
}

DWORD GetEnvironmentVariableW(LPCWSTR name, LPWSTR value, DWORD value_chars) {
  std::wstring found;
  const bool there = name != nullptr && get_wide(name, found);
  return deliver_variable(there, found, value, value_chars);
}

DWORD GetEnvironmentVariableA(LPCSTR name, LPSTR value, DWORD value_chars) {
  std::string found;
  const bool there = name != nullptr && get_narrow(name, found);
  return deliver_variable(there, found, value, value_chars);
}

// The wide value stays as long as the process: asked for again, it is the same text until the variable changes.
wchar_t* _wgetenv(const wchar_t* name) {
  static std::mutex lock;
  static std::map<std::wstring, std::wstring> values;
  std::wstring value;
  if (name == nullptr || !get_wide(name, value)) return nullptr;
  const std::scoped_lock held(lock);
  std::wstring& kept = values[name];
  if (kept != value) kept = value;
  return kept.data();
}
