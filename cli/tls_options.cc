#include "cli/tls_options.h"

#include <cstdio>
#include <utility>

namespace fb::cli {

namespace {

void add_common(CLI::App& command, TlsArguments& arguments) {
  command
      .add_option("--psk-file", arguments.psk_file,
                  "Keys for TLS, a line each: [HOSTNQN SUBNQN] NVMeTLSkey-1:...; mode 0600")
      ->type_name("FILE");
  command.add_flag("--psk-compat", arguments.old_derivation,
                   "Derive keys as libnvme before 1.14 did");
}

}  // namespace

void add_tls_target(CLI::App& command, TlsArguments& arguments) {
  command.add_flag("--tls", arguments.on, "TLS 1.3 on every tcp:// listener, and nothing without");
  command.add_flag("--tls-optional", arguments.optional, "TLS 1.3 for those who begin with it; plain TCP too");
  command.add_flag("--tls-concat", arguments.concatenated,
                   "As --tls-optional; DH-HMAC-CHAP makes the keys (--dhchap-secret-file)");
  add_common(command, arguments);
}

void add_tls_host(CLI::App& command, TlsArguments& arguments) {
  command.add_flag("--tls", arguments.on, "TLS 1.3 on every connection (tcp://)");
  add_common(command, arguments);
  command
      .add_option("--psk-identity-version", arguments.identity_version,
                  "Of the PSK identity: 0 is what older peers know")
      ->check(CLI::Range(0, 1))
      ->capture_default_str();
}

std::optional<auth::PskStore> tls_keys(const TlsArguments& arguments) {
  if (arguments.on && (arguments.optional || arguments.concatenated)) {
    throw UserError("--tls takes nothing without TLS: --tls-optional and --tls-concat begin without");
  }
  if (!arguments.any() && !arguments.psk_file.empty()) throw UserError("--psk-file goes with --tls");
  if (!arguments.any()) return std::nullopt;
  if (arguments.psk_file.empty() && arguments.concatenated) return auth::PskStore();
  if (arguments.psk_file.empty()) throw UserError("--tls needs the keys: --psk-file FILE");
  auth::PskStore keys = or_throw(auth::PskStore::read_file(arguments.psk_file));
  if (arguments.old_derivation) keys.set_derivation(auth::PskDerivation::old_libnvme);
  return keys;
}

void check_tls_transport(const TlsArguments& arguments, const std::string& transport,
                         const std::string& url) {
  if (arguments.any() && transport != "tcp") {
    throw UserError("TLS is of NVMe/TCP: " + url);
  }
}

CaptureFile::CaptureFile(World& world, std::string path, const std::string& title)
    : world_(world), path_(std::move(path)) {
  if (path_.empty()) return;
  writer_.emplace(capture::PcapngOptions{.title = title, .decoders = &world.trace()});
  or_throw(writer_->write_file(path_));
  world_.trace().add_sink(*writer_);
}

CaptureFile::~CaptureFile() {
  if (!writer_) return;
  world_.trace().remove_sink(*writer_);
  if (const auto written = writer_->write_file(path_); !written) {
    std::fprintf(stderr, "fabricbench: %s\n", written.error().text.c_str());
  }
}

}  // namespace fb::cli
