// What the commands of `fabricbench networkdirect` share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/common.h"
#include "networkdirect/ndutil/catalogue.h"
#include "networkdirect/ndutil/library.h"

namespace fb::cli {

std::wstring wide(const std::string& text);
std::string narrow(const std::wstring& text);
std::string hex(std::uint32_t value);

/// What comes of loading a provider's library and asking it.
struct Inspection {
  bool loads = false;
  bool is_provider = false;
  std::string problem;  ///< why it is of no use, in a few words; empty when it is
  std::vector<ndutil::Address> addresses;
};
Inspection inspect(const ndutil::ProviderEntry& entry);

/// A library of the project: below lib next to the command's folder, or beside the command.
std::filesystem::path library_of_project(const std::filesystem::path& name);

/// The project's provider where none is given. It need not be there; a GUID is made where none is given.
ndutil::ProviderEntry provider_named(const std::string& path, const std::string& guid);
/// A path as it goes into the catalogue: from the root, unless a variable begins or is in it.
std::wstring path_to_keep(const std::string& given);
/// UserError unless it can be loaded and gives a provider.
void check_library(const ndutil::ProviderEntry& entry, bool class_named);

/// Takes a provider of version 2 into the catalogue: zero, or Winsock's error.
int put_into_catalogue(ndutil::ProviderEntry& entry);

void add_networkdirect_verify(CLI::App& group, Outcome& outcome);

}  // namespace fb::cli
