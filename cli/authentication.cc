#include "cli/authentication.h"

#include <array>
#include <utility>

namespace fb::cli {

namespace {

constexpr std::array<std::pair<std::string_view, auth::AuthHash>, 3> kHashes = {{
    {"sha256", auth::AuthHash::sha_256},
    {"sha384", auth::AuthHash::sha_384},
    {"sha512", auth::AuthHash::sha_512},
}};

constexpr std::array<std::pair<std::string_view, auth::DhGroup>, 6> kGroups = {{
    {"null", auth::DhGroup::null},
    {"ffdhe2048", auth::DhGroup::ffdhe2048},
    {"ffdhe3072", auth::DhGroup::ffdhe3072},
    {"ffdhe4096", auth::DhGroup::ffdhe4096},
    {"ffdhe6144", auth::DhGroup::ffdhe6144},
    {"ffdhe8192", auth::DhGroup::ffdhe8192},
}};

template <class Table>
auto chosen(std::string_view option, const std::vector<std::string>& names, const Table& table) {
  std::vector<typename Table::value_type::second_type> values;
  for (const std::string& name : names) {
    std::string known;
    bool found = false;
    for (const auto& [text, value] : table) {
      if (name == text) {
        values.push_back(value);
        found = true;
      }
      known += (known.empty() ? "" : ", ") + std::string(text);
    }
    if (!found) throw UserError(std::string(option) + ": '" + name + "' is none of " + known);
  }
  return values;
}

}  // namespace

std::vector<auth::SecretPair> AuthenticationArguments::secrets() const {
  if (secret_file.empty()) return {};
  auto known = or_throw(auth::read_secret_file(secret_file));
  if (known.empty()) throw UserError(secret_file + ": holds no secret");
  return known;
}

std::vector<auth::AuthHash> AuthenticationArguments::chosen_hashes() const {
  return hashes.empty() ? auth::all_hashes() : chosen("--dhchap-hash", hashes, kHashes);
}

std::vector<auth::DhGroup> AuthenticationArguments::chosen_groups() const {
  return groups.empty() ? auth::all_groups() : chosen("--dhchap-group", groups, kGroups);
}

void add_secret_file(CLI::App& command, AuthenticationArguments& arguments) {
  command.add_option("--dhchap-secret-file", arguments.secret_file,
                  "DH-HMAC-CHAP: lines '[HOSTNQN] DHHC-1:... [DHHC-1:... of the controller]', mode 0600")
      ->type_name("FILE");
}

void add_authentication(CLI::App& command, AuthenticationArguments& arguments) {
  add_secret_file(command, arguments);
  command.add_option("--dhchap-hash", arguments.hashes, "Only these (sha256, sha384, sha512), by preference")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--dhchap-group", arguments.groups, "Only these (null, ffdhe2048, ... ffdhe8192), by preference")
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false);
}

}  // namespace fb::cli
