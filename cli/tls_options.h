// Options for TLS, the same for every command that speaks NVMe/TCP, and for captures of what it says.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/common.h"
#include "conformance/runner/product.h"
#include "model/tls/tls_side.h"
#include "sim/capture/growing_file.h"

namespace fb::cli {

/// How long a handshake with a real peer may take. No specification has a limit; a peer that is emulated, or on a
/// machine that is busy, needs many seconds for its part of the key exchange.
inline constexpr Duration kHandshakePatience = Duration::s(60);

struct TlsArguments {
  bool on = false;
  bool optional = false;      ///< a target: plain connections too
  bool concatenated = false;  ///< keys are made by authentication
  std::string psk_file;
  int identity_version = 1;
  bool old_derivation = false;
  bool any() const { return on || optional || concatenated; }
};

void add_tls_target(CLI::App& command, TlsArguments& arguments);
void add_tls_host(CLI::App& command, TlsArguments& arguments);
void add_tls_proxy(CLI::App& command, TlsArguments& arguments);

/// The keys of the file, where TLS was asked for. UserError when the options do not go together, or the
/// file is not as it has to be.
std::optional<auth::PskStore> tls_keys(const TlsArguments& arguments);
/// UserError when TLS was asked for and the transport has none.
void check_tls_transport(const TlsArguments& arguments, const std::string& transport, const std::string& url);

/// Writes what a world says to a file while it runs, keys of TLS sessions included; nothing without a path. On a full disk the
/// capture ends with one line on standard error.
class CaptureFile {
 public:
  CaptureFile(World& world, std::string path, const std::string& title);
  ~CaptureFile();
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;

 private:
  World& world_;
  std::string path_;
  std::unique_ptr<capture::GrowingFile> file_;
};

}  // namespace fb::cli
