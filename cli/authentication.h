// Options about DH-HMAC-CHAP, the same for a target, a host and a run.
#pragma once

#include <string>
#include <vector>

#include "cli/common.h"
#include "model/auth/policy.h"

namespace fb::cli {

struct AuthenticationArguments {
  std::string secret_file;
  std::vector<std::string> hashes;  ///< by preference; empty: all
  std::vector<std::string> groups;  ///< likewise

  /// What the file holds; nothing without one. UserError when it cannot be used.
  std::vector<auth::SecretPair> secrets() const;
  std::vector<auth::AuthHash> chosen_hashes() const;
  std::vector<auth::DhGroup> chosen_groups() const;
};

/// --dhchap-secret-file.
void add_secret_file(CLI::App& command, AuthenticationArguments& arguments);
/// The same with --dhchap-hash and --dhchap-group, for who takes part in negotiations.
void add_authentication(CLI::App& command, AuthenticationArguments& arguments);

}  // namespace fb::cli
