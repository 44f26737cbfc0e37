#include "cli/authentication.h"

#include <algorithm>
#include <cctype>

#include "base/suggest.h"

namespace fb::cli {

namespace {

/// A name as it is typed: SHA-256 is sha256.
std::string typed(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '-') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

/// The values that the user named, in that order.
template <class Value>
std::vector<Value> chosen(std::string_view option, const std::vector<std::string>& names, const std::vector<Value>& all) {
  std::vector<Value> values;
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](Value one) { return typed(name_of(one)) == typed(name); });
    if (found == all.end()) {
      std::string known;
      std::vector<std::string> words;
      for (const Value one : all) {
        words.push_back(typed(name_of(one)));
        known += (known.empty() ? "" : ", ") + words.back();
      }
      throw UserError(std::string(option) + ": '" + name + "' is none of " + known + did_you_mean(name, words));
    }
    values.push_back(*found);
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
  if (secret_file.empty() && !hashes.empty()) throw UserError("--dhchap-hash goes with --dhchap-secret-file FILE");
  return hashes.empty() ? auth::all_hashes() : chosen("--dhchap-hash", hashes, auth::all_hashes());
}

std::vector<auth::DhGroup> AuthenticationArguments::chosen_groups() const {
  if (secret_file.empty() && !groups.empty()) throw UserError("--dhchap-group goes with --dhchap-secret-file FILE");
  return groups.empty() ? auth::all_groups() : chosen("--dhchap-group", groups, auth::all_groups());
}

void add_secret_file(CLI::App& command, AuthenticationArguments& arguments) {
  command
      .add_option("--dhchap-secret-file", arguments.secret_file,
                  "DH-HMAC-CHAP secrets, one per line: [HOSTNQN] DHHC-1:... [DHHC-1:... of the controller]; mode 0600")
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
