// Which providers there are: the NetworkDirect entries of the Winsock catalogue, and those that the environment names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ndsupport.h>

namespace fb::ndutil {

/// Names libraries of providers besides the catalogue, separated by ';', each as PATH or {GUID}=PATH. It is for
/// systems that have no catalogue (Wine), and for trying a provider without installing it.
inline constexpr const wchar_t* kLibrariesVariable = L"FABRICBENCH_PROVIDER_LIBRARIES";

/// The project's own provider: its class, and the file that it is in; and the file of the verifier that stands in front of any.
inline constexpr GUID kOwnProvider = {0x6D1C2E74, 0x93B5, 0x4A0F, {0xA8, 0x52, 0x0E, 0xC7, 0x41, 0x9F, 0x36, 0xDB}};
#ifdef _WIN32
inline constexpr const wchar_t* kOwnLibrary = L"fabricbench_networkdirect.dll";
inline constexpr const wchar_t* kVerifierLibrary = L"fabricbench_networkdirect_verifier.dll";
#else
inline constexpr const wchar_t* kOwnLibrary = L"libfabricbench_networkdirect.so";
inline constexpr const wchar_t* kVerifierLibrary = L"libfabricbench_networkdirect_verifier.so";
#endif

struct ProviderEntry {
  GUID id = {};
  int version = 0;       ///< ND_VERSION_1 or ND_VERSION_2 (2 in the entry is that too), or whatever else the entry says
  std::wstring path;     ///< as it is catalogued
  std::wstring library;  ///< the same with the environment's values in it
  std::wstring name;
  bool catalogued = true;  ///< otherwise the environment names it

  /// The helper library works with version 2 alone.
  bool usable() const { return version == ND_VERSION_2 && !library.empty(); }
};
/// The same library for the same class; names and origins may differ.
bool same_provider(const ProviderEntry& a, const ProviderEntry& b);

/// Every provider once, whatever the number of its entries, those of the environment last. Empty when the catalogue
/// cannot be read; `error`, where given, is the system's reason then.
std::optional<std::vector<ProviderEntry>> read_catalogue(INT* error = nullptr);

/// Whether an entry announces NetworkDirect, of any version.
bool is_networkdirect(const WSAPROTOCOL_INFOW& entry);
/// The entry by which a provider of version 2 is installed; one of AF_INET6 stands for both families.
WSAPROTOCOL_INFOW entry_of_version_2(const GUID& id, const std::wstring& name);

/// %NAME% becomes the value of NAME.
std::wstring expand_environment(const std::wstring& text);

/// The class for a library when nobody names one: the project's own for its own, otherwise one made from the path,
/// always the same.
GUID default_provider_id(const std::wstring& path);
/// With braces or without.
std::optional<GUID> parse_guid(std::wstring_view text);
/// {XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX}
std::wstring print_guid(const GUID& id);

}  // namespace fb::ndutil
