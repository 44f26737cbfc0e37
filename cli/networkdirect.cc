#include "cli/networkdirect.h"

#include <dlfcn.h>

#include <ws2spi.h>

#include <cstdio>

namespace fb::cli {

using namespace ndutil;

namespace {

GUID parse_or_throw(const std::string& text) {
  const auto id = parse_guid(wide(text));
  if (!id) throw UserError("'" + text + "' is not a GUID; GUIDs look like {6D1C2E74-93B5-4A0F-A852-0EC7419F36DB}");
  return *id;
}

std::filesystem::path own_folder() {
#ifdef _WIN32
  WCHAR path[MAX_PATH] = {};
  GetModuleFileNameW(nullptr, path, MAX_PATH);
  return std::filesystem::path(path).parent_path();
#else
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
#endif
}

}  // namespace

std::wstring wide(const std::string& text) {
  try {
    return std::filesystem::path(text).wstring();
  } catch (const std::exception&) {
    throw UserError("the argument is not UTF-8 text");
  }
}
std::string narrow(const std::wstring& text) { return std::filesystem::path(text).string(); }

std::string hex(std::uint32_t value) {
  char text[12];
  std::snprintf(text, sizeof text, "0x%08X", static_cast<unsigned>(value));
  return text;
}

Inspection inspect(const ProviderEntry& entry) {
  const auto number = [](HRESULT status) { return " (" + hex(static_cast<std::uint32_t>(status)) + ")"; };
  Inspection found;
  Library library(entry);
  const HRESULT loaded = library.load();
  found.loads = loaded != ND_DEVICE_NOT_READY;
  ProviderPointer provider;
  HRESULT status = ND_SUCCESS;
  if (!found.loads) {
    const char* const why = dlerror();
    found.problem = "it cannot be loaded as a library" + (why == nullptr ? std::string() : ": " + std::string(why));
  } else if (entry.version != ND_VERSION_2) {
    found.problem = "only version 2 is used";
  } else if (FAILED(loaded)) {
    found.problem = "it exports no DllGetClassObject";
  } else if (FAILED(status = library.provider(provider))) {
    found.problem = "it returns no provider of version 2 for class " + narrow(print_guid(entry.id)) + number(status);
  } else {
    found.is_provider = true;
    status = query_addresses(*provider, found.addresses);
    if (FAILED(status)) found.problem = "it reports no addresses" + number(status);
  }
  provider.reset();
  library.unload_if_unused();
  return found;
}

std::filesystem::path library_of_project(const std::filesystem::path& name) {
  const std::filesystem::path beside = own_folder();
  const std::filesystem::path lib = beside.parent_path() / "lib";
  for (const auto& folder : {lib, lib / "fabricbench", beside}) {
    if (std::filesystem::exists(folder / name)) return folder / name;
  }
  throw UserError((lib / name).string() + ": the project's " + (name == kOwnLibrary ? "provider" : "verifier") + " is not there" +
                  (name == kOwnLibrary ? "; name the library of another" : ""));
}

std::wstring path_to_keep(const std::string& given) {
  const std::wstring text = wide(given);
  if (expand_environment(text) != text) return text;
  return std::filesystem::absolute(text).lexically_normal().wstring();
}

ProviderEntry provider_named(const std::string& path, const std::string& guid) {
  ProviderEntry made;
  made.version = ND_VERSION_2;
  made.path = path.empty() ? library_of_project(kOwnLibrary).wstring() : path_to_keep(path);
  made.library = expand_environment(made.path);
  made.id = guid.empty() ? default_provider_id(made.path) : parse_or_throw(guid);
  return made;
}

// Addresses are the machine's affair: a provider may be installed before it has any.
void check_library(const ProviderEntry& entry, bool class_named) {
  const std::string shown = narrow(entry.library);
  std::error_code error;
  if (!std::filesystem::exists(entry.library, error)) throw UserError(shown + ": no such file");
  const Inspection found = inspect(entry);
  if (found.is_provider) return;
  throw UserError(shown + ": " + found.problem + (found.loads && !class_named ? "; --guid names another class" : ""));
}

int put_into_catalogue(ProviderEntry& entry) {
  WSAPROTOCOL_INFOW made = entry_of_version_2(entry.id, entry.name);
  INT error = 0;
  return WSCInstallProvider(&entry.id, entry.path.c_str(), &made, 1, &error) == 0 ? 0 : error;
}

}  // namespace fb::cli
