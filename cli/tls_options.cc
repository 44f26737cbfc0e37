#include "cli/tls_options.h"

#include "wire/fabrics/transports.h"

#include <cstdio>
#include <utility>

namespace fb::cli {

namespace {

void add_common(CLI::App& command, TlsArguments& arguments) {
  command.add_option("--psk-file", arguments.psk_file, "TLS keys, one per line: [HOSTNQN SUBNQN] NVMeTLSkey-1:...; mode 0600")
      ->type_name("FILE");
  command.add_flag("--psk-compat", arguments.old_derivation, "Derive keys as libnvme before 1.14 did");
}

void add_identity_version(CLI::App& command, TlsArguments& arguments) {
  command.add_option("--psk-identity-version", arguments.identity_version, "Version of the PSK identity; older peers know only 0")
      ->check(CLI::Range(0, 1))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void add_tls_target(CLI::App& command, TlsArguments& arguments) {
  command.add_flag("--tls", arguments.on, "TLS 1.3 required on every tcp:// listener");
  command.add_flag("--tls-optional", arguments.optional, "TLS 1.3 for hosts that begin with it; plain TCP too");
  command.add_flag("--tls-concat", arguments.concatenated, "Like --tls-optional; DH-HMAC-CHAP generates the keys (--dhchap-secret-file)");
  add_common(command, arguments);
}

void add_tls_host(CLI::App& command, TlsArguments& arguments) {
  command.add_flag("--tls", arguments.on, "TLS 1.3 on every connection (tcp://)");
  add_common(command, arguments);
  add_identity_version(command, arguments);
}

void add_tls_proxy(CLI::App& command, TlsArguments& arguments) {
  command.add_flag("--tls", arguments.on, "Open the TLS of hosts, judge, and close it again towards controllers");
  add_common(command, arguments);
  add_identity_version(command, arguments);
}

std::optional<auth::PskStore> tls_keys(const TlsArguments& arguments) {
  if (arguments.on && (arguments.optional || arguments.concatenated)) {
    throw UserError("--tls refuses plain connections, which --tls-optional and --tls-concat begin with: choose one of them");
  }
  if (!arguments.any() && !arguments.psk_file.empty()) throw UserError("--psk-file goes with --tls");
  if (!arguments.any() && arguments.old_derivation) throw UserError("--psk-compat goes with --tls");
  if (!arguments.any()) return std::nullopt;
  if (arguments.psk_file.empty() && arguments.concatenated) return auth::PskStore();
  if (arguments.psk_file.empty()) throw UserError("--tls needs the keys: --psk-file FILE");
  auth::PskStore keys = or_throw(auth::PskStore::read_file(arguments.psk_file));
  if (arguments.old_derivation) keys.set_derivation(auth::PskDerivation::old_libnvme);
  return keys;
}

void check_tls_transport(const TlsArguments& arguments, const std::string& transport, const std::string& url) {
  if (arguments.any() && transport != fabrics::kTcp) {
    throw UserError("TLS is for NVMe/TCP (tcp://...), not " + url);
  }
}

CaptureFile::CaptureFile(World& world, std::string path, const std::string& title) : world_(world), path_(std::move(path)) {
  if (path_.empty()) return;
  file_ = or_throw(capture::GrowingFile::create(path_, {.title = title, .decoders = &world.trace()}));
  if (!file_->problem().empty()) throw UserError(file_->problem());
  file_->on_problem([](const std::string& problem) { std::fprintf(stderr, "fabricbench: %s; the capture ends here\n", problem.c_str()); });
  world_.trace().add_sink(*file_);
}

CaptureFile::~CaptureFile() {
  if (file_ != nullptr) world_.trace().remove_sink(*file_);
}

}  // namespace fb::cli
